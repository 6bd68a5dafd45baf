"""Which files a file depends on: what it imports of `simlib` and of the topics' checks, and so on.

The simulation library serves all topics. If stored evidence depended on all of it, one line changed
for one topic would make every other topic simulate again; so it depends on what it imports, read off
the import statements wherever they stand. A package counts as a whole, because packages of `simlib`
load their modules when a name is first used, which no import statement shows.
"""

import ast
import functools
import hashlib
from pathlib import Path

__all__ = ["used_by"]

ROOT = Path(__file__).resolve().parents[1]
_OURS = ("simlib", "checks")
_ALWAYS = "simlib/replicate.py"  # evidence runs through it, by way of `checks.evidence`


def used_by(path: Path) -> dict[str, str]:
    """The files of the project that a file depends on, with digests of what they contain now.

    The common rooms of the checks (files directly in ``checks`` and its methods) are left out: they
    judge and show what evidence contains, they do not compute it.

    Parameters
    ----------
    path : Path
        A Python file.

    Returns
    -------
    dict of str to str
        Paths relative to the project, the file itself among them, in sorted order; the SHA-256 of
        each content.

    Raises
    ------
    SyntaxError
        If one of the files is no Python.
    """
    path = path.resolve()
    found = {path, ROOT / _ALWAYS}
    open_ = list(found)
    while open_:
        for module in _parsed(_content(open_.pop())[0]):
            new = set(_files(module)) - found
            found |= new
            open_ += [file for file in new if file.suffix == ".py"]
    name = {file: _name(file) for file in found}
    return {name[file]: _content(file)[1] for file in sorted(found, key=name.get)}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def _content(path: Path) -> tuple[bytes, str]:
    content = path.read_bytes()
    return content, hashlib.sha256(content).hexdigest()


@functools.cache
def _parsed(content: bytes) -> frozenset[str]:
    modules = set()
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(name for name in modules if name.split(".")[0] in _OURS)


def _files(module: str) -> list[Path]:
    """Files of a dotted name, which may end with a name inside a module."""
    package, *inner = module.split(".")
    if package == "simlib":
        if not inner:
            return [ROOT / "simlib" / "__init__.py"]
        folder = ROOT / "simlib" / inner[0]
        if folder.is_dir():
            return [*folder.rglob("*.py"), *folder.rglob("*.json")]
        return [file for file in (folder.with_suffix(".py"),) if file.exists()]
    for length in range(len(inner), 1, -1):  # at least a topic and a module of it
        file = (ROOT / package).joinpath(*inner[:length]).with_suffix(".py")
        if inner[0] != "methods" and file.exists():
            return [file]
    return []
