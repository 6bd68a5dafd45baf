"""Admission control of a queueing network of which only the number of jobs is seen.

What this topic offers can be imported from here. It is loaded when first used, so that the exact
modules (``network``, ``product_form``, ``chain``, ``model``, ``mixing``) do not wait for Numba.
"""

from importlib import import_module

_NAMES_OF = {
    "network": ("Network", "parallel", "tandem", "three_tier"),
    "product_form": (
        *("flow_equivalent_rates", "mean_value_analysis", "normalizing_constants"),
        *("product_law", "total_law"),
    ),
    "chain": (
        *("hysteresis", "optimal_informed", "states", "stationary_exact", "stationary_float"),
        "transition_matrix",
    ),
    "model": (
        *("AdmissionModel", "bellman", "model_of", "optimal_threshold", "threshold"),
        "threshold_costs",
    ),
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str):
    if name in _MODULE_OF:
        return getattr(import_module(f"simlib.admission.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
