"""Evidence: the work behind statistical checks, done once and shared by checks and chapters.

A piece of evidence never sees the numbers that are judged on it. It is stored under a digest of
everything it depends on: the file that defines it, the files of `simlib` and of the topics' checks
which that imports (`checks.sources`), its parameters, its seed and the versions of the numerical
libraries. The digest guards against staleness and accident, not against somebody who edits the stored
arrays; ``--fresh`` recomputes them.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from checks.claim import EFFORTS
from checks.sources import used_by

DEFAULT_SEED = 20260401
CACHE = Path(__file__).resolve().parents[1] / ".cache" / "evidence"
_LIBRARIES = ("numpy", "scipy", "numba")
_unfinished: ContextVar[Path | None] = ContextVar("unfinished", default=None)


@dataclass(frozen=True, eq=False)
class Evidence:
    """A named computation with its parameters at each effort.

    Attributes
    ----------
    name : str
        ``topic.name``, unique in the book.
    compute : callable
        ``compute(seed, jobs, **parameters) -> dict of str to array``.
    efforts : mapping
        Parameters for ``"quick"`` and ``"full"``.
    libraries : tuple of str
        Distributions on which the numbers depend, beyond those on which all may depend.
    """

    name: str
    compute: Callable[..., Mapping[str, Any]]
    efforts: Mapping[str, Mapping[str, Any]]
    libraries: tuple[str, ...] = ()
    source: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        # of the code in memory: the files may be edited while this process lives
        object.__setattr__(self, "source", used_by(self._file))

    @property
    def _file(self) -> Path:
        return Path(inspect.getsourcefile(self.compute)).resolve()

    def parameters(self, effort: str = "quick") -> dict[str, Any]:
        """Parameters of the computation at an effort."""
        if effort not in EFFORTS:
            raise ValueError(f"effort = {effort!r}: must be one of {EFFORTS}")
        return dict(self.efforts[effort])

    def digest(self, effort: str, seed: int) -> str:
        """Key under which the result is stored.

        Raises
        ------
        ValueError
            If a file that it depends on was edited since this process imported it: the result would
            be stored as that of code which did not compute it.
        """
        import simlib

        known = self.source | {f"simlib/{name}": at for name, at in simlib.SOURCES.items()}
        for name, now in used_by(self._file).items():
            if not self.source.get(name) == known[name] == now:
                raise ValueError(f"{name}: was edited since it was imported; restart Python")
        key = {
            "name": self.name,
            "parameters": self.parameters(effort),
            "seed": seed,
            "source": dict(self.source),
            "versions": {library: version(library) for library in (*_LIBRARIES, *self.libraries)},
            "python": sys.version_info[:2],
        }
        return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:20]

    def path(self, effort: str = "quick", seed: int = DEFAULT_SEED) -> Path:
        """File in which the result is stored."""
        return _cache() / f"{self.name}-{effort}-seed{seed}-{self.digest(effort, seed)}.npz"

    def get(
        self,
        effort: str = "quick",
        *,
        seed: int = DEFAULT_SEED,
        jobs: int = 1,
        fresh: bool = False,
    ) -> dict[str, Any]:
        """The result, computed unless it is stored.

        Parameters
        ----------
        effort : {"quick", "full"}
        seed : int
            Seed of the experiment, non-negative.
        jobs : int
            Worker processes; the numbers do not depend on it.
        fresh : bool
            Compute even if a result is stored.

        Returns
        -------
        dict of str to ndarray

        Raises
        ------
        ValueError
            If the stored file is damaged; it names the file to remove.
        """
        if not isinstance(seed, int) or seed < 0:
            raise ValueError(f"seed = {seed!r}: must be a non-negative integer")
        path = self.path(effort, seed)
        if not fresh:
            try:
                return _load(path)
            except FileNotFoundError:
                pass
        unfinished = path.with_suffix(".unfinished")
        if fresh:
            shutil.rmtree(unfinished, ignore_errors=True)
        with _keeping(unfinished if effort == "full" else None):
            result = self.compute(seed, jobs, **self.parameters(effort))
            _store(path, result)
        return _load(path)


def _cache() -> Path:
    """Where results are stored: beside the project, or in a temporary folder if that is read-only."""
    try:
        CACHE.mkdir(parents=True, exist_ok=True)
        if os.access(CACHE, os.W_OK):
            return CACHE
    except OSError:
        pass
    return _fallback()


@functools.cache
def _fallback() -> Path:
    return Path(tempfile.mkdtemp(prefix="bounds-evidence-"))


def evidence(
    name: str,
    *,
    quick: Mapping[str, Any],
    full: Mapping[str, Any],
    libraries: tuple[str, ...] = (),
) -> Callable:
    """Declare a computation as evidence; the function becomes an `Evidence`."""

    def wrap(compute: Callable[..., Mapping[str, Any]]) -> Evidence:
        return Evidence(name, compute, {"quick": quick, "full": full}, libraries)

    return wrap


def replicate(
    function: Callable[..., Any],
    replications: int,
    *,
    experiment: str,
    case: str = "",
    **options: Any,
) -> dict[str, Any]:
    """`simlib.replicate.replicate` for use inside evidence: what has finished is never lost.

    At full effort each finished replication is kept on disk until the whole evidence is stored, so
    that an interrupted run goes on where it stopped. Calls that share the random numbers of one
    ``experiment`` are told apart by their ``case``.
    """
    from simlib.replicate import replicate as run

    folder = _unfinished.get()
    checkpoint = folder and folder / f"{experiment}{'.' if case else ''}{case}.npz"
    return run(function, replications, experiment=experiment, checkpoint=checkpoint, **options)


@contextmanager
def _keeping(folder: Path | None):
    """Keep finished replications in a folder; storing the whole removes it."""
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    token = _unfinished.set(folder)
    try:
        yield
    finally:
        _unfinished.reset(token)


def _load(path: Path) -> dict[str, Any]:
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"evidence = {path}: is damaged ({error}); remove the file and it will be recomputed"
        ) from error


def _store(path: Path, result: Mapping[str, Any]) -> None:
    import numpy as np

    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **{name: np.asarray(value) for name, value in result.items()})
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    same = path.name.rsplit("-", 1)[0]  # the same evidence, effort and seed, of older sources
    for old in path.parent.glob(f"{same}-*"):
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        elif old != path:
            old.unlink(missing_ok=True)
