"""Is the book what it says it is? What nbval and Sphinx let pass is caught here."""

import shutil
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from nbclient.exceptions import CellExecutionError

from book import chapters

TEXT = """\
# A chapter

```{code-cell} ipython3
---
mystnb:
  image:
    alt: A line that rises from one to three.
---
import matplotlib.pyplot as plt

plt.plot([1, 2, 3])
plt.show()
print("end points 1 and 3")
```

```{code-cell} ipython3
:tags: [raises-exception]
raise ValueError("n_arms must be positive, got -1")
```
"""


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    text = tmp_path_factory.mktemp("book") / "topic" / "chapter.md"
    text.parent.mkdir()
    text.write_text(TEXT)
    chapters.run(text)
    return text


@pytest.fixture
def chapter(executed, tmp_path):
    """A sound chapter that a test may spoil."""
    return Path(shutil.copytree(executed.parent, tmp_path / "topic")) / "chapter.md"


def test_each_notebook_is_its_text_executed_whole(capsys):
    assert chapters.check() == 0, capsys.readouterr().out


def test_the_site_shows_stored_outputs_of_every_chapter():
    config = yaml.safe_load((chapters.ROOT / "_config.yml").read_text())
    assert config["execute"]["execute_notebooks"] == "off"
    assert {f"book/{chapters.name_of(text)}" for text in chapters.texts()} <= set(chapters.toc())


def test_running_again_changes_no_byte(chapter):
    stored = chapter.with_suffix(".ipynb").read_bytes()
    chapters.run(chapter)
    assert chapter.with_suffix(".ipynb").read_bytes() == stored
    assert chapters.problems(chapter) == []


def change_text(text):
    text.write_text(text.read_text().replace("[1, 2, 3]", "[1, 2, 4]"))


def spoil(change):
    """A change to the code cells of the stored notebook."""

    def apply(text):
        path = text.with_suffix(".ipynb")
        notebook = nbformat.read(path, as_version=4)
        change(*(cell for cell in notebook.cells if cell.cell_type == "code"))
        nbformat.write(notebook, path)

    return apply


def image_of(cell):
    return next(o.data for o in cell.outputs if "image/png" in o.get("data", {}))


def keep_image_only(cell):
    cell.outputs = [output for output in cell.outputs if "data" in output]


def stream(name, text):
    return nbformat.v4.new_output("stream", name=name, text=text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_text, "differs from its text"),
        (spoil(lambda plot, error: plot.update(source="plt.plot([1])")), "differs from its text"),
        (spoil(lambda plot, error: plot.update(execution_count=None)), "not executed"),
        (spoil(lambda plot, error: plot.update(execution_count=3)), "not in order"),
        (spoil(lambda plot, error: error.update(outputs=[])), "raises nothing"),
        (spoil(lambda plot, error: error.metadata.update(tags=[])), "raises an error"),
        (spoil(lambda plot, error: plot.metadata.update(tags=["nbval-skip"])), "opts out"),
        (spoil(lambda plot, error: plot.update(source="# NBVAL_IGNORE_OUTPUT")), "opts out"),
        (spoil(lambda plot, error: plot.outputs.append(stream("stderr", "50%"))), "stderr"),
        (spoil(lambda plot, error: plot.outputs.append(stream("stdout", "/tmp/x/y"))), "machine"),
        (spoil(lambda plot, error: plot.outputs.append(stream("stdout", "at 0x7f3a"))), "machine"),
        (spoil(lambda plot, error: image_of(plot).pop("image/png")), "lost its image"),
        (
            spoil(lambda plot, error: image_of(plot).update({"image/png": "AAAA"})),
            "broken image",
        ),
        (spoil(lambda plot, error: plot.metadata.pop("mystnb")), "without alt text"),
        (spoil(lambda plot, error: keep_image_only(plot)), "does not print the numbers"),
        (lambda text: text.with_suffix(".ipynb").unlink(), "never executed"),
    ],
)
def test_a_spoiled_chapter_is_found(chapter, change, message):
    change(chapter)
    assert message in "\n".join(chapters.problems(chapter))


def test_a_notebook_without_text_is_found(chapter, monkeypatch, capsys):
    monkeypatch.setattr(chapters, "BOOK", chapter.parents[1])
    chapter.unlink()
    assert chapters.check() == 1
    assert "without its text" in capsys.readouterr().out


def test_a_chapter_that_fails_is_not_stored(chapter):
    stored = chapter.with_suffix(".ipynb").read_bytes()
    chapter.write_text(chapter.read_text().replace(":tags: [raises-exception]\n", ""))
    with pytest.raises(CellExecutionError, match="n_arms must be positive"):
        chapters.run(chapter)
    assert chapter.with_suffix(".ipynb").read_bytes() == stored


# --- the built pages


@pytest.fixture(scope="module")
def pages(site):
    found = {path: BeautifulSoup(path.read_text(), "html.parser") for path in site.rglob("*.html")}
    assert len(found) > len(chapters.toc())  # search and index pages come on top
    return found


def test_every_document_has_a_page_with_words_in_it(site, pages):
    for document in chapters.toc():
        article = pages[site / f"{document}.html"].find("article")
        assert article.find("h1"), document
        assert len(article.get_text()) > 100, document


def test_no_page_loads_anything_from_outside(pages):
    for path, page in pages.items():
        for tag in page.find_all(["script", "link", "img", "iframe", "source", "video", "audio"]):
            address = tag.get("src") or tag.get("href") or ""
            assert not urlsplit(address).netloc, f"{path.name}: {tag}"


def test_no_page_shows_an_error_that_was_not_expected(pages):
    for path, page in pages.items():
        assert not page.select(".output.stderr"), path.name
        for traceback in page.select(".output.traceback"):
            assert traceback.find_parent(class_="tag_raises-exception"), path.name


def test_every_link_within_the_book_leads_somewhere(site, pages):
    # Sphinx resolves its own references; links inside cards and ledgers are ours to keep whole.
    anchors = {path: {tag["id"] for tag in page.find_all(id=True)} for path, page in pages.items()}
    broken = []
    for path, page in pages.items():
        for link in page.select("article a[href]"):
            url = urlsplit(link["href"])
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            found = target.exists() and (
                not url.fragment or unquote(url.fragment) in anchors.get(target, ())
            )
            if not found:
                broken.append(f"{path.relative_to(site)}: {link['href']}")
    assert not broken, "\n".join(broken)


def test_no_anchor_is_given_twice_on_a_page(pages):
    for path, page in pages.items():
        ids = Counter(tag["id"] for tag in page.select("article [id]"))
        del ids["proof-content"]  # sphinx-proof's own, on every statement
        assert not [anchor for anchor, times in ids.items() if times > 1], path.name
