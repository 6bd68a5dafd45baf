"""Many queues whose learners compete for servers with one-packet buffers.

The simulations of this topic can be imported from here. They are loaded when first used, so that
the formulas and exact solutions in ``simlib.strategic.formulas`` and ``exact`` do not wait for
Numba.
"""

from importlib import import_module

_MODULE_OF = {
    "AcceptanceRule": "rules",
    "acceptance_rule": "rules",
    "fixed_priority": "rules",
    "oldest_first": "rules",
    "uniform": "rules",
    "PeriodRun": "system",
    "SystemRun": "system",
    "simulate_periods": "system",
    "simulate_system": "system",
}

__all__ = [
    "AcceptanceRule",
    "PeriodRun",
    "SystemRun",
    "acceptance_rule",
    "fixed_priority",
    "oldest_first",
    "simulate_periods",
    "simulate_system",
    "uniform",
]


def __getattr__(name: str):
    if name in _MODULE_OF:
        return getattr(import_module(f"simlib.strategic.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
