"""Chapters are written as text and stored executed beside it.

    python book/chapters.py run [NAME...]    execute the text, store the notebook
    python book/chapters.py check [NAME...]  is each notebook what its text says, executed whole?
    python book/chapters.py rendered         has the site a page for each of them?

A NAME is a path below this folder without suffix: recharge/competitive_ratio. People edit NAME.md
(a MyST notebook); NAME.ipynb is generated from it and committed with its outputs, which the site
shows and nbval derives again. `check` looks for what nbval lets pass: a notebook that differs from
its text, cells never run, images that are broken or stand alone, expected errors that are none.
"""

import base64
import hashlib
import io
import re
import sys
from collections import Counter
from pathlib import Path

import jupytext
import nbformat
import yaml
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
SITE = ROOT / "_build" / "html"

CELL_TIMEOUT = 900  # seconds, as for nbval: what can be stored can be checked
KEPT_METADATA = {"tags", "mystnb"}
OPT_OUT = re.compile(r"nbval[-_](ignore|skip|check|raises|test)|skip-execution", re.IGNORECASE)
MACHINE = re.compile(
    rf"{re.escape(str(ROOT))}|{re.escape(str(Path.home()))}/"
    r"|(?<![\w.:/>-])/(?:home|root|tmp|usr|var|opt|Users|private)/|\bat 0x[0-9a-f]{4,}"
)


def texts(names=()):
    """The texts of the named chapters, of all of them without a name."""
    if not names:
        return sorted(BOOK.glob("*/*.md"))
    found = [BOOK / f"{name.removeprefix('book/').removesuffix('.md')}.md" for name in names]
    for text in found:
        if not text.exists():
            raise SystemExit(f"there is no chapter {text.relative_to(ROOT)}")
    return found


def name_of(path):
    return path.relative_to(BOOK).with_suffix("").as_posix()


def from_text(text):
    """The notebook a text describes, before execution.

    A cell's id is a digest of its source, so that an inserted cell leaves the others alone.
    """
    notebook = jupytext.read(text, fmt="md:myst")
    seen = Counter()
    for cell in notebook.cells:
        digest = hashlib.sha256(cell.source.encode()).hexdigest()[:12]
        seen[digest] += 1
        cell["id"] = f"{digest}-{seen[digest]}"
        cell["metadata"] = {k: v for k, v in cell.metadata.items() if k in KEPT_METADATA}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def run(text):
    """Execute a text in its own folder (where nbval runs too) and store it; nothing if it fails."""
    notebook = from_text(text)
    NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(text.parent)}},
        extra_arguments=["--log-level=ERROR"],
    ).execute()
    notebook.metadata.pop("language_info", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "error":  # the stack above it names files of this machine
                output.traceback = [f"{output.ename}: {output.evalue}"]
    nbformat.validate(notebook)
    nbformat.write(notebook, text.with_suffix(".ipynb"))


def shown(cell):
    """Every text that a cell's outputs show."""
    for output in cell.outputs:
        yield output.get("text", "")
        yield output.get("evalue", "")
        data = output.get("data", {})
        yield from (str(data[mime]) for mime in data if mime != "image/png")


def image_problems(cell):
    """What is wrong with the figures of a cell; nbval never looks at an image."""
    text_beside = False
    for output in cell.outputs:
        data = output.get("data", {})
        drawn = data.get("text/plain", "").startswith("<Figure")
        text_beside |= output.output_type == "stream" or ("text/plain" in data and not drawn)
        if "image/png" in data:
            try:
                Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).verify()
            except (OSError, SyntaxError, ValueError):
                yield "holds a broken image"
        elif drawn:
            yield "has lost its image"
    if any("image/png" in output.get("data", {}) for output in cell.outputs):
        if not text_beside:
            yield "draws a figure and does not print the numbers that the eye takes from it"
        if not cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "").strip():
            yield "draws a figure without alt text (metadata mystnb: image: alt:)"


def cell_problems(cell, number):
    """What is wrong with an executed code cell, the number-th of its notebook."""
    tags = cell.metadata.get("tags", [])
    if cell.execution_count != number:
        yield "was not executed, or not in order"
    if OPT_OUT.search(" ".join([cell.source, *tags])):
        yield "opts out of being checked"
    raised = any(output.output_type == "error" for output in cell.outputs)
    if raised and "raises-exception" not in tags:
        yield "raises an error"
    if "raises-exception" in tags and not raised:
        yield "is tagged raises-exception and raises nothing"
    if any(output.get("name") == "stderr" for output in cell.outputs):
        yield "wrote to stderr (a warning, or a progress bar)"
    if leak := MACHINE.search("\n".join(shown(cell))):
        yield f"shows something of the machine it ran on: {leak.group()}"
    yield from image_problems(cell)


def problems(text):
    """Every reason not to trust the notebook stored for a text."""
    stored = text.with_suffix(".ipynb")
    if not stored.exists():
        return ["was never executed"]
    want, have = from_text(text), nbformat.read(stored, as_version=4)

    def written(notebook):
        return [(c.cell_type, c.source, c.get("id"), c.metadata) for c in notebook.cells]

    found = [] if written(want) == written(have) else ["the notebook differs from its text"]
    code = [cell for cell in have.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, 1):
        found += [f"code cell {number} {problem}" for problem in cell_problems(cell, number)]
    return found


def check(names=()):
    """Print what is wrong and how to mend it; return the number of chapters that need it."""
    wrong = 0
    for text in texts(names):
        if found := problems(text):
            wrong += 1
            print(*(f"book/{name_of(text)}: {problem}" for problem in found), sep="\n")
            print(f"    to mend: edit the .md if need be, then make chapter NAME={name_of(text)}")
    orphans = [n for n in sorted(BOOK.rglob("*.ipynb")) if not n.with_suffix(".md").exists()]
    for orphan in orphans if not names else ():
        wrong += 1
        print(f"book/{name_of(orphan)}: a notebook without its text; remove it or write the text")
    return wrong


def toc():
    """The documents that _toc.yml lists, root first."""

    def files(entry):
        own = [entry[key] for key in ("root", "file") if key in entry]
        parts = [part for value in entry.values() if isinstance(value, list) for part in value]
        return own + [file for part in parts for file in files(part)]

    return files(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))


def unrendered():
    """Documents without a page in the built site, and chapters that _toc.yml forgets."""
    listed = toc()
    forgotten = [f"book/{name_of(text)}" for text in texts()]
    return [f"{doc}: not in _toc.yml" for doc in forgotten if doc not in listed] + [
        f"{doc}: has no page" for doc in listed if not (SITE / f"{doc}.html").is_file()
    ]


def main(arguments):
    match arguments:
        case ["run", *names]:
            for text in texts(names):
                print(f"book/{name_of(text)}: executing", flush=True)
                try:
                    run(text)
                except CellExecutionError as error:
                    print(error)
                    return 1
            return check(names) > 0
        case ["check", *names]:
            wrong = check(names)
            print(f"{len(texts(names))} chapters, {wrong or 'none'} to mend")
            return wrong > 0
        case ["rendered"]:
            missing = unrendered()
            print(*missing, f"{len(toc())} documents, {len(missing) or 'none'} missing", sep="\n")
            return len(missing) > 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
