"""Simulation library of *Bounds That Hold*.

Importing :mod:`simlib` imports nothing heavy. It only decides where Numba keeps compiled code,
which has to happen before Numba itself is imported.

Numba's cache checks the file that defines a compiled function, but not the files that function
imports others from: after an edit elsewhere the old machine code would be loaded and the old
numbers would come back. The cache folder is therefore named after a digest of all sources.

Attributes
----------
SOURCES : dict of str to str
    Digest of each source and data file of this package as it was when the package was imported.
SOURCES_DIGEST : str
    One digest of them all. Use it as part of the key of anything computed with the package and kept
    on disk.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path

__all__ = ["SOURCES", "SOURCES_DIGEST", "sources", "sources_digest"]

_PACKAGE = Path(__file__).resolve().parent
_KEPT_CACHES = 4
_IN_USE_SECONDS = 3600.0
# Remembers the folder above ours for child processes, which inherit NUMBA_CACHE_DIR as we set it.
_PARENT_VARIABLE = "SIMLIB_NUMBA_CACHE_PARENT"


def sources() -> dict[str, str]:
    """Return a digest of each file of the package as it is on disk now.

    Returns
    -------
    dict of str to str
        The path of every ``*.py`` and ``*.json`` file below the package, relative to it and with
        forward slashes, in sorted order; the SHA-256 of its content in hexadecimal digits. Cost: one
        read of each file (about 1 ms).
    """
    return {
        path.relative_to(_PACKAGE).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted([*_PACKAGE.rglob("*.py"), *_PACKAGE.rglob("*.json")])
    }


def sources_digest() -> str:
    """Return one digest of the package's files as they are on disk now.

    Returns
    -------
    str
        24 hexadecimal digits of a SHA-256 over what `sources` returns.
    """
    return _digest(sources())


def _digest(files: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:24]


def _is_writable(folder: Path) -> bool:
    """Create the folder if needed and tell whether files can be written in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _private_folder(folder: Path) -> Path:
    """Return the folder if it is ours alone, else a new one: Numba runs what its cache holds."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        ours = stat.S_ISDIR(found.st_mode)
        if hasattr(os, "getuid"):
            ours = ours and found.st_uid == os.getuid() and not found.st_mode & 0o022
    except OSError:
        ours = False
    return folder if ours else Path(tempfile.mkdtemp(prefix="simlib-numba-"))


def _prune(parent: Path) -> None:
    """Delete the caches of old sources: keep the newest few and any that may be in use."""
    try:
        folders = [
            folder
            for folder in parent.iterdir()
            if re.fullmatch(r"[0-9a-f]{24}", folder.name) and folder.is_dir()
        ]
        ages = sorted((time.time() - folder.stat().st_mtime, folder) for folder in folders)
    except OSError:
        return
    for age, folder in ages[_KEPT_CACHES:]:
        if age > _IN_USE_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def _choose_numba_cache() -> None:
    """Point Numba at the cache folder of the current sources."""
    own_choice = os.environ.get(_PARENT_VARIABLE)
    users_choice = os.environ.get("NUMBA_CACHE_DIR")
    if own_choice and users_choice and Path(users_choice).parent == Path(own_choice):
        parent = Path(own_choice)
    elif users_choice:
        parent = Path(users_choice)
    else:
        parent = _PACKAGE.parent / ".cache" / "numba"
    if not _is_writable(parent / SOURCES_DIGEST):
        user = os.getuid() if hasattr(os, "getuid") else "user"
        try:
            parent = _private_folder(Path(tempfile.gettempdir()) / f"simlib-numba-{user}")
        except OSError:
            return
        if not _is_writable(parent / SOURCES_DIGEST):
            return
    folder = parent / SOURCES_DIGEST
    os.utime(folder)
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    os.environ[_PARENT_VARIABLE] = str(parent)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)
    _prune(parent)


SOURCES = sources()
SOURCES_DIGEST = _digest(SOURCES)
_choose_numba_cache()
