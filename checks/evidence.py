"""Evidence: the work behind statistical checks, done once and shared by checks and chapters.

A piece of evidence never sees the numbers that are judged on it. It is stored under a digest of
everything it depends on: the sources of `simlib`, the source file that defines it, its parameters,
its seed and the versions of the numerical libraries. The digest guards against staleness and
accident, not against somebody who edits the stored arrays; ``--fresh`` recomputes them.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from checks.claim import EFFORTS

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
    """

    name: str
    compute: Callable[..., Mapping[str, Any]]
    efforts: Mapping[str, Mapping[str, Any]]

    def parameters(self, effort: str = "quick") -> dict[str, Any]:
        """Parameters of the computation at an effort."""
        if effort not in EFFORTS:
            raise ValueError(f"effort = {effort!r}: must be one of {EFFORTS}")
        return dict(self.efforts[effort])

    def digest(self, effort: str, seed: int) -> str:
        """Key under which the result is stored."""
        from simlib import sources_digest

        source = Path(inspect.getsourcefile(self.compute)).read_bytes()
        key = {
            "name": self.name,
            "parameters": self.parameters(effort),
            "seed": seed,
            "simlib": sources_digest(),
            "source": hashlib.sha256(source).hexdigest(),
            "versions": {library: version(library) for library in _LIBRARIES},
        }
        return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:20]

    def path(self, effort: str = "quick", seed: int = DEFAULT_SEED) -> Path:
        """File in which the result is stored."""
        return CACHE / f"{self.name}-{effort}-{self.digest(effort, seed)}.npz"

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
        if path.exists() and not fresh:
            return _load(path)
        with _keeping(path.with_suffix(".unfinished") if effort == "full" else None):
            result = self.compute(seed, jobs, **self.parameters(effort))
            _store(path, result)
        return _load(path)


def evidence(name: str, *, quick: Mapping[str, Any], full: Mapping[str, Any]) -> Callable:
    """Declare a computation as evidence; the function becomes an `Evidence`."""

    def wrap(compute: Callable[..., Mapping[str, Any]]) -> Evidence:
        return Evidence(name, compute, {"quick": quick, "full": full})

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
    """Keep finished replications in a folder, which is removed when the block succeeds."""
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    token = _unfinished.set(folder)
    try:
        yield
    finally:
        _unfinished.reset(token)
    shutil.rmtree(folder)


def _load(path: Path) -> dict[str, Any]:
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"evidence = {path}: is damaged ({error}); remove the file and it will be recomputed"
        ) from error


def _store(path: Path, result: Mapping[str, Any]) -> None:
    import numpy as np

    path.parent.mkdir(parents=True, exist_ok=True)
    for old in path.parent.glob(path.name.rsplit("-", 1)[0] + "-*.npz"):
        old.unlink(missing_ok=True)  # one result an effort: older sources' results are dead weight
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **{name: np.asarray(value) for name, value in result.items()})
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
