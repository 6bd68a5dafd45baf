"""Learners: how one is written (`learner`, `Learner`) and the library of known algorithms."""

from simlib.learners.interface import EXAMPLE, Learner, check_learner, learner
from simlib.learners.library import (
    BUILT_IN,
    by_name,
    epsilon_greedy,
    exp3,
    exp3_anytime,
    exp3_ix,
    greedy,
    guarded_uniform,
    memoryless,
    normalized_odds_router,
    proportional_router,
    round_robin,
    thompson,
    tsallis_inf,
    ucb1,
    uniform_router,
)

__all__ = [
    "BUILT_IN",
    "EXAMPLE",
    "Learner",
    "by_name",
    "check_learner",
    "epsilon_greedy",
    "exp3",
    "exp3_anytime",
    "exp3_ix",
    "greedy",
    "guarded_uniform",
    "learner",
    "memoryless",
    "normalized_odds_router",
    "proportional_router",
    "round_robin",
    "thompson",
    "tsallis_inf",
    "ucb1",
    "uniform_router",
]
