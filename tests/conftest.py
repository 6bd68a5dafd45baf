"""The built book, for the tests that read it; and one thread for linear algebra.

The chains solved here are small, and threads that wait for one another on a busy machine cost more
than they save. NumPy reads the variable when it is first imported, so it is set before.
"""

import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest

from book import chapters


def newest(paths):
    return max(path.stat().st_mtime for path in paths if path.is_file())


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built book: the one `make book` left if it is fresh, else a new one."""
    root = chapters.ROOT
    folders = [root / name for name in ("book", "_ext", "_static")]
    sources = [path for folder in folders for path in folder.rglob("*")] + list(root.glob("*.yml"))
    sources += root.glob("*.bib")
    built = chapters.SITE.parent / "complete"  # left by `make book` when it succeeds
    if built.exists() and built.stat().st_mtime > newest(sources):
        return chapters.SITE
    out = tmp_path_factory.mktemp("book").resolve()
    program = Path(sys.executable).with_name("jupyter-book")
    command = [program, "build", root, "-W", "--keep-going", "--path-output", out]
    build = subprocess.run(command, capture_output=True, text=True, check=False)
    assert build.returncode == 0, build.stderr  # where Sphinx writes its warnings
    return out / "_build" / "html"
