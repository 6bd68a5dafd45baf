"""One learner that routes packets to servers with one-packet buffers.

The simulations of this topic can be imported from here. They are loaded when first used, so that
the formulas and exact solutions in ``simlib.recharge.formulas``, ``exact``, ``stationary``,
``optimum`` and ``flow`` do not wait for Numba.
"""

from importlib import import_module

_MODULE_OF = {
    "BanditRun": "bandit",
    "BufferRun": "bandit",
    "StrategyTrace": "bandit",
    "simulate": "bandit",
    "simulate_with_buffers": "bandit",
    "QueueRun": "queue",
    "QueueRuns": "queue",
    "simulate_queue": "queue",
    "simulate_queues": "queue",
}

__all__ = [
    "BanditRun",
    "BufferRun",
    "QueueRun",
    "QueueRuns",
    "StrategyTrace",
    "simulate",
    "simulate_queue",
    "simulate_queues",
    "simulate_with_buffers",
]


def __getattr__(name: str):
    if name in _MODULE_OF:
        return getattr(import_module(f"simlib.recharge.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
