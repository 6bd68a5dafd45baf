"""Contextual queueing bandits: one queue of jobs with contexts, servers with unknown logistic rates.

The simulations of this topic can be imported from here. They are loaded when first used, so that
the formulas in ``simlib.contextual.formulas`` do not wait for Numba.
"""

from importlib import import_module

_NAMES_OF = {
    "model": (
        *("Instance", "Jobs", "draw_jobs", "finite_instance", "instance_of", "random_instance"),
        *("service_rates", "summarise", "table_instance"),
    ),
    "policies": (
        *("Policy", "cqb_epsilon", "cqb_epsilon_opt", "cqb_eta2", "cqb_opt", "cqb_ts", "greedy"),
        *("optimal", "policy", "q_ths", "q_ucb", "uniform"),
    ),
    "simulation": (
        *("PairedRuns", "Path", "Run", "random_experiment", "run_on", "simulate"),
        "simulate_paired",
    ),
    "coupling": (
        *("CoupledPath", "Pairs", "coupled_pairs", "coupled_path", "pairs_on"),
        "switching_queues",
    ),
    "datasets": (
        *("ContextData", "block_averages", "context_data", "instance_from_data", "load_data"),
    ),
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str):
    if name in _MODULE_OF:
        return getattr(import_module(f"simlib.contextual.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
