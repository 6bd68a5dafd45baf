"""Independent replications of one simulation: in parallel, resumable, the same numbers every time.

Replication i gets the i-th seed of its experiment and nothing else that varies, so the results do
not depend on the number of workers, on joblib's backend, or on how often a run was interrupted.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import joblib
import numpy as np
from tqdm import tqdm

from simlib import SOURCES_DIGEST
from simlib.arguments import positive_integer
from simlib.fingerprint import fingerprint
from simlib.streams import as_seed_sequence, replication_seeds

__all__ = ["fingerprint", "replicate"]

_SECONDS_BETWEEN_SAVES = 5.0
_SECONDS_BEFORE_PROGRESS = 2.0
_RESULT = "result:"


def replicate(
    function,
    replications,
    *,
    seed,
    experiment,
    parameters=None,
    n_jobs=None,
    checkpoint=None,
    progress=None,
):
    """Run independent replications of a simulation and stack what they return.

    Parameters
    ----------
    function : callable
        ``function(seed_sequence, **parameters)`` returns a dict from names to numbers or arrays,
        with the same names and shapes in each replication.
    replications : int
        Number of replications n, at least 1.
    seed : int or numpy.random.SeedSequence
        Seed of the study.
    experiment : str
        Name of the experiment: experiments with different names share no random numbers.
    parameters : mapping, optional
        Keyword arguments of the function, the same for all replications.
    n_jobs : int, optional
        Workers, as in joblib: -1 for one a core; by default 1, or what an enclosing
        ``joblib.parallel_config`` says. To compute on a cluster wrap the call in
        ``joblib.parallel_config(backend="dask")``.
    checkpoint : path, optional
        File that keeps finished replications. If it exists, only the missing ones are run; it may
        hold fewer or more than ``replications``.
    progress : bool, optional
        Show a progress bar on standard error after two seconds; by default only in a terminal.

    Returns
    -------
    dict of str to ndarray
        For each name an array of shape ``(n, *shape)``, replication i at index i.

    Raises
    ------
    ValueError
        If a parameter is out of range; if ``checkpoint`` is damaged, belongs to another run or
        cannot be written there (all of these before anything runs); if the function returns
        something else than described.

    Notes
    -----
    The checkpoint is replaced as a whole every few seconds, at the end, on an error and on Ctrl-C.
    It holds plain arrays and a key: digests of simlib's sources, of the function (with the code
    and the values it refers to), of the parameters and of the seed.
    """
    if not callable(function):
        raise ValueError(f"function = {function!r}; permitted: a callable")
    replications = positive_integer("replications", replications)
    seeds = replication_seeds(seed, experiment, replications)
    parameters = dict(_as_parameters(parameters))
    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0
    ):
        raise ValueError(f"n_jobs = {n_jobs!r}; permitted: integers except 0, or None")
    if progress is None:
        progress = sys.stderr.isatty()

    store = None
    finished = {}
    if checkpoint is not None:
        store = _Checkpoint(checkpoint, _key(function, parameters, seed, experiment))
        finished = store.load()
    pending = [index for index in range(replications) if index not in finished]
    jobs = [
        joblib.delayed(_one_replication)(function, index, seeds[index], parameters)
        for index in pending
    ]
    # A worker hands over a batch as a whole: with a checkpoint each replication counts by itself.
    outcomes = _outcomes(jobs, n_jobs, "auto" if store is None else 1)
    bar = tqdm(
        total=replications,
        initial=replications - len(pending),
        desc=experiment,
        unit="run",
        delay=_SECONDS_BEFORE_PROGRESS,
        leave=False,
        disable=not progress,
    )
    layout = next(iter(finished.values()), None)
    unsaved = False
    saved_at = time.monotonic()
    try:
        for index, result in outcomes:
            layout = layout or result
            _check_layout(layout, result, index)
            finished[index] = result
            unsaved = True
            bar.update()
            if store and time.monotonic() - saved_at > _SECONDS_BETWEEN_SAVES:
                store.save(finished)
                unsaved = False
                saved_at = time.monotonic()
    finally:  # also after an error or Ctrl-C: nothing that has finished is lost
        if store and unsaved:
            store.save(finished)
        outcomes.close()
        bar.close()
    return {
        name: np.stack([finished[index][name] for index in range(replications)]) for name in layout
    }


def _as_parameters(parameters):
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping) or not all(isinstance(name, str) for name in parameters):
        raise ValueError(f"parameters = {parameters!r}; permitted: a mapping from names to values")
    return parameters


def _one_replication(function, index, seed_sequence, parameters):
    """Run one replication and return its index with its results as arrays."""
    result = function(seed_sequence, **parameters)
    if not isinstance(result, Mapping) or not result:
        raise ValueError(
            f"function returned {result!r} in replication {index}; "
            "permitted: a nonempty dict of numbers or arrays"
        )
    arrays = {}
    for name, value in result.items():
        array = np.asarray(value)
        if not isinstance(name, str) or array.dtype.kind not in "biufc":
            raise ValueError(
                f"function returned {name!r}: {value!r} in replication {index}; "
                "permitted: names with numbers or arrays of numbers"
            )
        arrays[name] = array
    return index, arrays


def _check_layout(layout, result, index):
    expected = {name: array.shape for name, array in layout.items()}
    found = {name: array.shape for name, array in result.items()}
    if expected != found:
        raise ValueError(
            f"function returned the shapes {found} in replication {index}; "
            f"permitted: those of the other replications, {expected}"
        )


def _outcomes(jobs, n_jobs, batch_size):
    """Yield outcomes as they finish; in rounds where the backend can only return lists."""
    try:
        parallel = joblib.Parallel(
            n_jobs=n_jobs, batch_size=batch_size, return_as="generator_unordered"
        )
    except ValueError as error:
        if "does not support return_as" not in str(error):
            raise
    else:
        yield from parallel(jobs)
        return
    with joblib.Parallel(n_jobs=n_jobs) as parallel:
        round_size = 4 * max(1, joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs))
        for first in range(0, len(jobs), round_size):
            yield from parallel(jobs[first : first + round_size])


class _Checkpoint:
    """File of finished replications with the key of the run that they belong to."""

    def __init__(self, path, key):
        self.path = Path(path)
        self.key = key
        folder = self.path.parent
        if self.path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise self._error("cannot be written", "a file in an existing, writable folder")

    def _error(self, reason, permitted):
        return ValueError(f"checkpoint = {str(self.path)!r} {reason}; permitted: {permitted}")

    def load(self):
        """Return the finished replications by index; none if there is no file yet."""
        if not self.path.exists():
            return {}
        own = "a new path, or a checkpoint of this run"
        damaged = self._error("is no readable checkpoint", own)
        try:
            with np.load(self.path, allow_pickle=False) as stored:
                contents = {name: stored[name] for name in stored.files}
            # The archive's own checksums do not cover the names of its members.
            if str(contents.pop("digest")) != fingerprint(contents):
                raise damaged
            key = json.loads(str(contents.pop("key")))
            indices = contents.pop("replications")
        except Exception as error:  # a damaged archive fails in a dozen ways
            raise damaged from error
        different = sorted(
            part for part in key.keys() | self.key.keys() if key.get(part) != self.key.get(part)
        )
        if different:
            raise self._error(f"belongs to another run (different: {', '.join(different)})", own)
        names = [name.removeprefix(_RESULT) for name in contents]
        return {
            int(index): {name: contents[_RESULT + name][row] for name in names}
            for row, index in enumerate(indices)
        }

    def save(self, finished):
        """Replace the file as a whole: readers see the old one or the new one."""
        indices = sorted(finished)
        names = finished[indices[0]]
        contents = {
            "key": np.array(json.dumps(self.key, sort_keys=True)),
            "replications": np.array(indices, dtype=np.int64),
            **{_RESULT + name: np.stack([finished[i][name] for i in indices]) for name in names},
        }
        descriptor, temporary = tempfile.mkstemp(
            dir=self.path.parent, prefix=f".{self.path.name}.", suffix=".partial"
        )
        try:
            with os.fdopen(descriptor, "wb") as file:
                np.savez(file, digest=np.array(fingerprint(contents)), **contents)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def _key(function, parameters, seed, experiment):
    return {
        "simlib's sources": SOURCES_DIGEST,
        "function": fingerprint(function),
        "parameters": fingerprint(parameters),
        "seed": fingerprint(as_seed_sequence(seed)),
        "experiment": experiment,
    }
