"""Random numbers: one seed in, one independent generator for each replication and purpose out.

The generator is xoshiro256+ [1]_, written out here instead of taken from NumPy:

* a kernel draws two or three uniforms a step, and a generator inlined into the loop costs about
  one nanosecond a draw, where a call into NumPy's ``Generator`` costs several;
* the benchmark's C program uses the same few lines, so both run on the same numbers;
* a path depends on the seed alone, not on the versions of NumPy or Numba.

The quality of seeding still comes from NumPy: the four words of a state are produced by
:class:`numpy.random.SeedSequence`, whose output is specified and stable. xoshiro256+ has weak
lowest bits; only the upper 53 bits of a word are used.

A generator is its state, an array of four ``uint64``; the functions below are called with it
inside compiled code (and, slowly, from Python), change it in place, and return one draw.

References
----------
.. [1] D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators", ACM
   Transactions on Mathematical Software 47(4), 2021.
"""

import hashlib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import njit
from numpy.random import SeedSequence
from numpy.typing import NDArray

from simlib.arguments import positive_integer

__all__ = [
    "as_seed_sequence",
    "beta",
    "gamma",
    "integer_below",
    "normal",
    "random",
    "replication_seeds",
    "state_of",
    "substreams",
]

# Typed constants: mixing a uint64 with a plain integer would make Numba convert to float or int64.
_SHIFT = np.uint64(17)
_ROTATE = np.uint64(45)
_ROTATE_BACK = np.uint64(19)
_DROPPED_BITS = np.uint64(11)
_UNIT = 2.0**-53


def as_seed_sequence(seed: Any) -> SeedSequence:
    """Return ``seed`` as a SeedSequence.

    Parameters
    ----------
    seed : int or numpy.random.SeedSequence
        A non-negative integer of any size, or a sequence, which is returned as it is.

    Raises
    ------
    ValueError
        For anything else; in particular for ``None``, since an unrepeatable run is never wanted.
    """
    if isinstance(seed, SeedSequence):
        return seed
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
        return SeedSequence(int(seed))
    raise ValueError(
        f"seed = {seed!r}; permitted: a non-negative integer or a numpy.random.SeedSequence"
    )


def _name_words(name: str) -> tuple[int, ...]:
    """Return 128 bits of the name's SHA-256 as four 32-bit words."""
    digest = hashlib.sha256(name.encode()).digest()
    return tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))


def replication_seeds(seed: Any, experiment: str, n: int) -> list[SeedSequence]:
    """Return one independent seed for each replication of an experiment.

    Parameters
    ----------
    seed : int or SeedSequence
        The seed of the whole study.
    experiment : str
        Name of the experiment; two experiments with different names share no random numbers.
    n : int
        Number of replications, at least 1.

    Returns
    -------
    list of SeedSequence
        Entry ``i`` depends on ``seed``, ``experiment`` and ``i`` only, not on ``n``: a study can
        be extended without changing what has been computed.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """
    root = as_seed_sequence(seed)
    n = positive_integer("n", n)
    if not isinstance(experiment, str) or not experiment:
        raise ValueError(f"experiment = {experiment!r}; permitted: a nonempty name")
    entropy = root.entropy if isinstance(root.entropy, Iterable) else [root.entropy]
    # The name's words come first and have a fixed length, so that no two pairs (name, seed)
    # can run together into the same entropy.
    experiment_root = SeedSequence(
        [*_name_words(experiment), *entropy], spawn_key=root.spawn_key, pool_size=root.pool_size
    )
    return experiment_root.spawn(n)


def state_of(seed_sequence: SeedSequence) -> NDArray[np.uint64]:
    """Return the generator's state that a SeedSequence determines.

    Returns
    -------
    ndarray of uint64, shape (4,)
        Never all zero, the one state that xoshiro256+ cannot leave.
    """
    state = seed_sequence.generate_state(4, np.uint64)
    if not state.any():
        state[0] = 1
    return state


def substreams(seed: Any, names: Iterable[str]) -> tuple[NDArray[np.uint64], ...]:
    """Return one independent generator state for each named purpose of a replication.

    A stream is found by its name and not by its position, so it is the same whichever other
    streams are asked for. Two policies run with one seed therefore meet the same arrivals:
    common random numbers.

    Parameters
    ----------
    seed : int or SeedSequence
        Seed of the replication.
    names : iterable of str
        Purposes such as ``"actions"``, ``"rewards"``, ``"arrivals"``, ``"services"``.

    Returns
    -------
    tuple of ndarray of uint64, each of shape (4,)
        In the order of ``names``.
    """
    root = as_seed_sequence(seed)
    return tuple(
        state_of(
            SeedSequence(
                root.entropy,
                spawn_key=(*root.spawn_key, *_name_words(name)),
                pool_size=root.pool_size,
            )
        )
        for name in names
    )


@njit(cache=True, error_model="numpy")
def random(rng):
    """Draw a uniform number from [0, 1).

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        State of the generator, changed in place.

    Returns
    -------
    float
        A multiple of 2**-53 (the upper 53 bits of the next word of xoshiro256+).
    """
    s0 = rng[0]
    s1 = rng[1]
    s2 = rng[2]
    s3 = rng[3]
    word = s0 + s3
    shifted = s1 << _SHIFT
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    rng[0] = s0
    rng[1] = s1
    rng[2] = s2
    rng[3] = (s3 << _ROTATE) | (s3 >> _ROTATE_BACK)
    # Through int64: converting a signed integer to a float is one instruction.
    return np.float64(np.int64(word >> _DROPPED_BITS)) * _UNIT


@njit(cache=True, error_model="numpy")
def integer_below(rng, n):
    """Draw an integer from 0, 1, ..., n - 1.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        State of the generator, changed in place.
    n : int
        At least 1, below 2**53.

    Returns
    -------
    int
        Probabilities differ from 1/n by less than 2**-53 each: invisible below 1e15 draws for any
        number of arms that fits into memory. The result is always below n.
    """
    return np.int64(random(rng) * n)


@njit(cache=True, error_model="numpy")
def normal(rng):
    """Draw from the standard normal law, by Marsaglia's polar method.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        State of the generator, changed in place (2.5 uniforms on average).
    """
    while True:
        x = 2.0 * random(rng) - 1.0
        y = 2.0 * random(rng) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@njit(cache=True, error_model="numpy")
def gamma(rng, shape):
    """Draw from the gamma law of the given shape and scale 1.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        State of the generator, changed in place.
    shape : float
        At least 1 (all that posterior sampling from a uniform prior needs).

    References
    ----------
    G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM
    Transactions on Mathematical Software 26(3), 2000.
    """
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - random(rng)
        if u < 1.0 - 0.0331 * x * x * x * x:
            return d * v
        if math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return d * v


@njit(cache=True, error_model="numpy")
def beta(rng, a, b):
    """Draw from the beta law with parameters ``a`` and ``b``, both at least 1.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        State of the generator, changed in place.
    a, b : float
        Parameters, each at least 1.
    """
    x = gamma(rng, a)
    return x / (x + gamma(rng, b))
