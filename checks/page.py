"""Generated text of a page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Page:
    """Generated text of a page: plain and HTML."""

    plain: str
    html: str

    def __repr__(self) -> str:
        return self.plain

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": self.plain, "text/html": self.html}


def table(columns: Iterable[str], rows: Iterable[str]) -> str:
    """A table of the book as HTML, from the names of its columns and its rows, which are HTML."""
    head = "".join(f"<th>{name}</th>" for name in columns)
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="table-scroll"><table class="ledger-table">{body}</table></div>'
