"""Independent replications of one simulation: in parallel, resumable, the same numbers every time.

Replication i gets the i-th seed of its experiment and nothing else that varies, so the results do
not depend on the number of workers, on joblib's backend, or on how often a run was interrupted.
"""

import dataclasses
import functools
import hashlib
import json
import os
import pickle
import sys
import sysconfig
import tempfile
import time
import types
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import joblib
import numpy as np
from numpy.random import SeedSequence
from tqdm import tqdm

from simlib import SOURCES_DIGEST
from simlib.arguments import positive_integer
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


def fingerprint(value):
    """Return a digest of a value that is equal in every process and changes with the value.

    Functions count with their code, their defaults, the variables they enclose and, unless they are
    part of simlib or of an installed package, the global values and functions they refer to; a
    function compiled by Numba counts as its Python source. Line numbers and file names don't count.

    Parameters
    ----------
    value : object
        Numbers, strings, arrays, containers and dataclasses of them, functions, classes; anything
        else by its pickle.

    Returns
    -------
    str
        32 hexadecimal digits.

    Raises
    ------
    ValueError
        If the value contains something that cannot be pickled.
    """
    digest = hashlib.sha256()
    _feed(digest, value, {})
    return digest.hexdigest()[:32]


def _feed(digest, value, seen):
    def put(kind, *parts):
        for part in (kind, *parts):
            data = part if isinstance(part, bytes) else str(part).encode()
            digest.update(len(data).to_bytes(8, "little") + data)

    def put_all(kind, values):
        values = list(values)
        put(kind, len(values))
        for item in values:
            _feed(digest, item, seen)

    value = _plain_function(value)
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | Fraction):
        put(type(value).__name__, repr(value))
    elif isinstance(value, np.ndarray) and value.dtype != object:
        put("array", value.dtype.str, value.shape, value.tobytes())
    elif isinstance(value, np.generic):
        put("scalar", value.dtype.str, value.tobytes())
    elif isinstance(value, SeedSequence):
        put_all("seed", [_plain_integers(value.entropy), value.spawn_key, value.pool_size])
    elif isinstance(value, types.ModuleType):
        put("module", value.__name__)
    elif isinstance(value, types.CodeType):
        put("code", value.co_code)
        put_all("constants", value.co_consts)
        put_all("names", [value.co_names, value.co_varnames, value.co_freevars])
    elif isinstance(value, types.FunctionType | type):
        if id(value) in seen:  # functions may refer to each other
            put("again", seen[id(value)])
        else:
            seen[id(value)] = len(seen)
            _feed_definition(value, put, put_all)
    elif isinstance(value, np.ndarray | list | tuple):
        put_all(type(value).__name__, value)
    elif isinstance(value, set | frozenset):
        put_all("set", sorted(fingerprint(item) for item in value))
    elif isinstance(value, Mapping):
        items = sorted((fingerprint(key), key) for key in value)
        put_all("mapping", [(key, value[key]) for _, key in items])
    elif isinstance(value, types.MethodType):
        put_all("method", [value.__func__, value.__self__])
    elif isinstance(value, functools.partial):
        put_all("partial", [value.func, value.args, value.keywords])
    elif dataclasses.is_dataclass(value):
        fields = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
        put_all("dataclass", [type(value), *fields])
    else:
        try:
            put("pickle", pickle.dumps(value, protocol=5))
        except Exception:
            raise ValueError(
                f"value = {value!r} cannot be identified; permitted: what can be pickled"
            ) from None


def _feed_definition(value, put, put_all):
    """Feed a function or a class: its name, and its code unless it is installed."""
    installed = _is_installed(value.__module__)
    if isinstance(value, type):
        put("class", value.__module__, value.__qualname__)
        if not installed:
            own = vars(value).items()
            members = [item for item in own if isinstance(item[1], types.FunctionType)]
            put_all("members", [*value.__bases__, *sorted(members, key=lambda item: item[0])])
        return
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    put_all("function", [value.__qualname__, value.__defaults__, value.__kwdefaults__, *cells])
    if installed:
        put("module", value.__module__)
    else:
        scope = value.__globals__
        names = sorted(name for name in _global_names(value.__code__) if name in scope)
        put_all("body", [value.__code__, *((name, scope[name]) for name in names)])


def _plain_function(value):
    """Return the Python function behind a function compiled by Numba, else the value itself."""
    if type(value).__module__.partition(".")[0] == "numba":
        return getattr(value, "py_func", None) or getattr(value, "__wrapped__", value)
    return value


def _plain_integers(entropy):
    return int(entropy) if np.ndim(entropy) == 0 else [int(word) for word in entropy]


def _global_names(code):
    """Names that a code object and those nested in it look up outside."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names


_INSTALLED = tuple(
    str(Path(sysconfig.get_path(kind)).resolve()) for kind in ("stdlib", "purelib", "platlib")
)


def _is_installed(name):
    """Whether a module is part of simlib (its digest is in the key), of Python or of a package."""
    if not name or name == "__main__":
        return False
    if name.partition(".")[0] in ("simlib", *sys.builtin_module_names):
        return True
    path = getattr(sys.modules.get(name), "__file__", None)
    return path is not None and str(Path(path).resolve()).startswith(_INSTALLED)
