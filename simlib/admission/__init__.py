"""Admission control of a queueing network of which only the number of jobs is seen.

What this topic offers can be imported from here. It is loaded when first used, so that the exact
modules (``network``, ``product_form``, ``chain``, ``model``, ``mixing``) and ``formulas`` do not wait
for Numba.
"""

from importlib import import_module

_NAMES_OF = {
    "network": ("Network", "parallel", "tandem", "three_tier"),
    "product_form": (
        *("flow_equivalent_rates", "mean_value_analysis", "normalizing_constants"),
        *("product_law", "total_law"),
    ),
    "chain": (
        *("exit_rates", "hysteresis", "optimal_informed", "states", "stationary_exact"),
        *("stationary_float", "transition_matrix"),
    ),
    "model": (
        *("AdmissionModel", "bellman", "diameter", "increments", "mean_cost", "model_of"),
        *("optimal_threshold", "threshold", "threshold_costs"),
    ),
    "mixing": ("mixing_time", "module_length", "second_eigenvalue"),
    "simulation": (
        *("AdmissionRule", "AdmissionRun", "admission_rule", "event_table", "hysteresis_rule"),
        "simulate",
    ),
    "evi": ("extended_value_iteration", "generic_extended_value_iteration", "optimistic_row"),
    "learners": (
        *(
            "AdmissionLearner",
            "Episodes",
            "LearnerRun",
            "accept_all",
            "always_reject",
            "experiment",
        ),
        *("fixed_threshold", "known_threshold", "oblivious_modules", "run_learner"),
        *("threshold_bandit", "ucrl2", "ucrl_m", "ucrl_mt"),
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
