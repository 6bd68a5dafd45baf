"""The generator against an independent implementation, and the independence of its streams."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.random import SeedSequence

import simlib
from simlib import streams

MASK = 2**64 - 1


def xoshiro256_plus(state):
    """Yield 64-bit words with Python's big integers, after Blackman and Vigna's definition."""
    s = [int(word) for word in state]
    while True:
        yield (s[0] + s[3]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = ((s[3] << 45) | (s[3] >> 19)) & MASK


def uniforms(state):
    for word in xoshiro256_plus(state):
        yield (word >> 11) * 2.0**-53


def test_twin_gives_the_published_words():
    words = xoshiro256_plus([1, 2, 3, 4])
    assert [next(words) for _ in range(5)] == [
        5,
        211106232532999,
        211106635186183,
        9223759065350669058,
        9250833439874351877,
    ]


@pytest.mark.parametrize("seed", [0, 1, 2**70])
def test_random_equals_the_twin(seed):
    state = streams.state_of(SeedSequence(seed))
    twin = uniforms(state.copy())
    assert [streams.random(state) for _ in range(500)] == [next(twin) for _ in range(500)]


def test_integer_below_is_in_range_and_uniform():
    state = streams.state_of(SeedSequence(5))
    draws = np.array([streams.integer_below(state, 7) for _ in range(21_000)])
    counts = np.bincount(draws, minlength=7)
    assert counts.size == 7
    # Chi-square with 6 degrees of freedom: beyond 38.3 with probability 1e-6.
    assert ((counts - 3000) ** 2 / 3000).sum() < 38.3


def test_integer_below_never_reaches_n_at_the_largest_uniform():
    largest = 1.0 - 2.0**-53
    for n in [*range(1, 2000), 2**31 - 1, 2**40 + 1]:
        assert int(largest * n) < n


@pytest.mark.parametrize(
    ("draw", "mean", "variance"),
    [
        (streams.normal, 0.0, 1.0),
        (lambda rng: streams.gamma(rng, 1.0), 1.0, 1.0),
        (lambda rng: streams.gamma(rng, 4.5), 4.5, 4.5),
        (lambda rng: streams.beta(rng, 2.0, 5.0), 2 / 7, 10 / 392),
    ],
)
def test_moments(draw, mean, variance):
    state = streams.state_of(SeedSequence(11))
    n = 20_000
    draws = np.array([draw(state) for _ in range(n)])
    assert abs(draws.mean() - mean) < 5 * np.sqrt(variance / n)
    # The variance of these laws is estimated within 8 % at six standard errors or more.
    assert abs(draws.var() / variance - 1) < 0.12


def test_state_is_never_all_zero():
    class Zero:
        def generate_state(self, n, dtype):
            return np.zeros(n, dtype=dtype)

    assert streams.state_of(Zero()).any()


def test_a_substream_depends_on_its_name_alone():
    actions, rewards = streams.substreams(3, ("actions", "rewards"))
    (alone,) = streams.substreams(3, ("rewards",))
    assert np.array_equal(alone, rewards)
    assert not np.array_equal(actions, rewards)
    (other_seed,) = streams.substreams(4, ("rewards",))
    assert not np.array_equal(alone, other_seed)


def test_replication_seeds_extend_and_separate():
    few = streams.replication_seeds(1, "transient", 2)
    many = streams.replication_seeds(1, "transient", 5)
    states = [tuple(streams.state_of(s)) for s in many]
    assert [tuple(streams.state_of(s)) for s in few] == states[:2]
    others = [
        tuple(streams.state_of(s))
        for seed, name in (
            (1, "tightness"),
            (2, "transient"),
            (SeedSequence(1, spawn_key=(0,)), "transient"),
        )
        for s in streams.replication_seeds(seed, name, 5)
    ]
    assert len({*states, *others}) == 20


def test_replication_seeds_leave_the_seed_sequence_alone():
    root = SeedSequence(1)
    first = streams.replication_seeds(root, "x", 3)
    again = streams.replication_seeds(root, "x", 3)
    assert [s.spawn_key for s in first] == [s.spawn_key for s in again]
    assert root.n_children_spawned == 0


@pytest.mark.parametrize("seed", [None, -1, 1.5, "1", True])
def test_bad_seed(seed):
    with pytest.raises(ValueError, match="seed = "):
        streams.as_seed_sequence(seed)


@pytest.mark.parametrize(("experiment", "n"), [("", 1), (3, 1), ("x", 0), ("x", 1.5), ("x", True)])
def test_bad_replications(experiment, n):
    with pytest.raises(ValueError, match="permitted"):
        streams.replication_seeds(1, experiment, n)


CACHE = """
import os, sys
import simlib
assert "numba" not in sys.modules and "numpy" not in sys.modules
print(os.environ["NUMBA_CACHE_DIR"])
"""


def cache_folder(code=CACHE, **environment):
    clean = {k: v for k, v in os.environ.items() if "NUMBA" not in k}
    root = os.path.dirname(os.path.dirname(simlib.__file__))
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=clean | {"PYTHONPATH": root} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.strip()


def test_cache_folder_is_named_after_the_sources(tmp_path):
    digest = simlib.sources_digest()
    assert cache_folder().endswith(os.path.join(".cache", "numba", digest))
    mine = cache_folder(NUMBA_CACHE_DIR=str(tmp_path))
    assert mine == str(tmp_path / digest)
    # A child inherits the variables and must not nest another folder.
    nested = cache_folder(NUMBA_CACHE_DIR=mine, SIMLIB_NUMBA_CACHE_PARENT=str(tmp_path))
    assert nested == mine


def test_old_caches_are_removed(tmp_path):
    for i in range(6):
        folder = tmp_path / f"{i:024x}"
        folder.mkdir()
        os.utime(folder, (1000 + i, 1000 + i))
    others = {"something else", "of the user: 24 letters.", f"{7:024X}".replace("0", "A")}
    for name in others:
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1, 1))
    cache_folder(NUMBA_CACHE_DIR=str(tmp_path))
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {
        simlib.sources_digest(),
        *others,
        *(f"{i:024x}" for i in (3, 4, 5)),
    }


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files here")
def test_a_cache_that_others_can_write_is_not_trusted(tmp_path):
    folder = tmp_path / "cache"
    assert simlib._private_folder(folder) == folder
    assert folder.stat().st_mode & 0o077 == 0
    assert simlib._private_folder(folder) == folder
    link = tmp_path / "link"
    link.symlink_to(folder)
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    for bad in (link, open_to_all):
        fresh = simlib._private_folder(bad)
        assert fresh != bad
        assert fresh.stat().st_mode & 0o077 == 0
        fresh.rmdir()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files here")
def test_a_cache_of_another_user_is_not_trusted(tmp_path, monkeypatch):
    stranger = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: stranger)
    fresh = simlib._private_folder(tmp_path)
    assert fresh != tmp_path
    fresh.rmdir()
