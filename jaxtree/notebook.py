"""Displays of results in notebooks, and the names of packages for tab completion.

Results are short tables in the page's own colours, light or dark, with all words escaped.
"""

import functools
import html
import pkgutil
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

STYLE = "font:13px/1.7 system-ui,sans-serif;margin:0.5em 0"
"""The style of what is shown; it has no colours."""

LONGEST_WORD = 60
"""Characters of a cell; what is longer ends with an ellipsis."""

LONGEST_FACT = 200
"""Characters of a fact."""

_TABLE = "font:inherit;border-collapse:collapse"
_CELL = "padding:0 0.8em 0 0;text-align:left;font-size:inherit"
_FAINT = "opacity:0.65"


def cell(value: object, longest: int = LONGEST_WORD) -> str:
    """Returns a value as escaped words, cut if they are long.

    >>> cell("<b>"), len(cell("b" * 200))
    ('&lt;b&gt;', 60)
    """
    word = str(value)
    return html.escape(word if len(word) <= longest else f"{word[: longest - 1]}…")


def table(head: Sequence[object], rows: Iterable[Sequence[object]], left_out: int = 0) -> str:
    """Returns a table, and how many rows it leaves out.

    Args:
        head: The names of the columns.
        rows: The cells.
        left_out: The number of further rows.

    >>> "and 3 more" in table(["a"], [["<"]], 3), "&lt;" in table(["a"], [["<"]])
    (True, True)
    """
    names = "".join(f'<th style="{_CELL}">{cell(name)}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{cell(value)}</td>' for value in row) + "</tr>" for row in rows
    )
    rest = f'<div style="{_FAINT}">and {left_out:,} more</div>' if left_out > 0 else ""
    inner = f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody>"
    return f'<div style="{STYLE};overflow-x:auto"><table style="{_TABLE}">{inner}</table>{rest}</div>'


def facts(named: Iterable[tuple[str, object]]) -> str:
    """Returns names and values in one line that wraps.

    >>> facts([("trees", 3)])[-34:]
    'trees</span> <b>3</b></span></div>'
    """
    parts = [
        f'<span style="margin-right:1.4em"><span style="{_FAINT}">{cell(name)}</span> '
        f"<b>{cell(value, LONGEST_FACT)}</b></span>"
        for name, value in named
    ]
    return f'<div style="{STYLE}">{" ".join(parts)}</div>'


def lines(text: str) -> str:
    """Returns lines of text as they are, wrapped where they are too long.

    >>> lines("a < b")[-14:]
    'a &lt; b</pre>'
    """
    return f'<pre style="white-space:pre-wrap;margin:0.5em 0">{html.escape(text)}</pre>'


def lister(package: str) -> Callable[[], list[str]]:
    """Returns the `__dir__` of a package: the names that it hands on, and not its files or what these use.

    >>> import jaxtree.explain
    >>> dir(jaxtree.explain)
    ['explain_row', 'reason_codes', 'shap_interaction_values', 'shap_values']
    """
    return lambda: list(_handed_on(package))


@functools.cache
def _handed_on(package: str) -> list[str]:
    """The names of a package that its `__init__.py` imports as they are."""
    source: Any = pkgutil.get_data(package, "__init__.py")
    return sorted(set(re.findall(r"^from \S+ import (\w+) as \1$", source.decode(), re.MULTILINE)))
