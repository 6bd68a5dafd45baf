"""Keep the built book readable without a network.

MathJax comes from the package index instead of a content network, and the scripts for live code,
which the theme adds although the book has no live code, are left out. So are the book's own scripts,
which Jupyter Book puts on every page: the one page that needs one loads it itself.
"""

import shutil
from importlib.metadata import files
from pathlib import Path

ENTRY = "tex-chtml.js"
FONTS = Path("output", "chtml", "fonts", "woff-v2")


def copy_mathjax(app):
    if app.builder.format != "html":
        return
    entry = next(f for f in files("django-static-mathjax") if f.parts[-2:] == ("es5", ENTRY))
    source = Path(entry.locate()).parent
    target = Path(app.outdir, "_static", "mathjax")
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source / ENTRY, target / ENTRY)
    shutil.copytree(source / FONTS, target / FONTS, dirs_exist_ok=True)


def drop_scripts(app, pagename, templatename, context, doctree):
    own = {path.name for path in Path(app.srcdir, "_static").glob("*.js")}

    def is_unwanted(script):
        body = getattr(script, "attributes", {}).get("body") or ""
        name = str(getattr(script, "filename", script) or "")
        return "thebe" in f"{name}{body}".lower() or Path(name).name in own

    context["script_files"] = [s for s in context.get("script_files", []) if not is_unwanted(s)]


def setup(app):
    app.connect("builder-inited", copy_mathjax)
    app.connect("html-page-context", drop_scripts, priority=900)  # after the theme has added them
    return {"parallel_read_safe": True, "parallel_write_safe": True}
