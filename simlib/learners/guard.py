"""What a kernel looks out for while it runs somebody's learner, and how it is reported.

Compiled code cannot raise a helpful message. A kernel therefore returns one of the codes below,
with the step and the value that caused it, and its caller hands them to `raise_run_error`.

Attributes
----------
OK, BAD_ARM, BAD_STATE : int
    Codes: nothing found; an arm that does not exist; a state that is not finite. The last matters
    because an integer made of NaN can be a valid arm, so that nothing else would look wrong.
CHECK_EVERY : int
    Kernels look at the whole state after this many steps. When that fails, the run is repeated
    with a look after every step, to name the first bad one.
"""

from numba import njit

from simlib.learners.interface import Learner

__all__ = [
    "BAD_ARM",
    "BAD_STATE",
    "CHECK_EVERY",
    "OK",
    "first_bad_entry",
    "raise_run_error",
    "raise_unrepeatable",
]

OK = 0
BAD_ARM = 1
BAD_STATE = 2
CHECK_EVERY = 256


@njit(cache=True, error_model="numpy", _nrt=False)
def first_bad_entry(state):
    """Return ``row * arms + arm`` of the first entry that is not finite, or -1."""
    arms = state.shape[1]
    for i in range(state.shape[0]):
        for j in range(arms):
            # Only for infinities and NaN the difference is not zero.
            if state[i, j] - state[i, j] != 0.0:
                return i * arms + j
    return -1


def raise_run_error(
    learner: Learner, state, code: int, step: int, value: int, of: str = ""
) -> None:
    """Raise the ``ValueError`` that describes what a kernel found, if it found anything.

    Parameters
    ----------
    learner : Learner
    state : ndarray, shape (rows, arms)
        The learner's state when the kernel stopped.
    code, step, value : int
        What the kernel reported.
    of : str
        Whose learner it is, such as ``"queue 3"``, where there are several.
    """
    arms = state.shape[1]
    name = f"learner {learner.name} of {of}" if of else f"learner {learner.name}"
    if code == BAD_ARM:
        raise ValueError(
            f"{name}: act returned the arm {value} at step {step}; "
            f"permitted: integers from 0 to {arms - 1}"
        )
    if code == BAD_STATE:
        row, arm = divmod(value, arms)
        raise ValueError(
            f"{name}: state[{row}, {arm}] is {state[row, arm]} after step {step}; "
            f"permitted: finite numbers"
        )


def raise_unrepeatable(learner: Learner) -> None:
    """Raise the ``ValueError`` for a run that failed and whose repetition did not."""
    raise ValueError(
        f"learner {learner.name}: its state stopped being finite in one run, but not when the run "
        f"was repeated with the same seed; permitted: functions of their arguments that draw "
        f"random numbers with simlib.streams.random(rng) only"
    )
