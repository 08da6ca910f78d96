"""An extension of Sphinx: papers that docstrings cite, by title or by authors and year, are links to `references.md`'s.

`*Random forests*` and (Breiman, 2001) both lead to the paper.
"""

import functools
import pathlib
import re

ENTRY = re.compile(r"^- (.+?), (\d{4})\. \[(.+?)\]\((\S+)\)", re.MULTILINE)
TITLE = re.compile(r"(?<![*\w])\*([A-Z][^*]{5,}?)\*(?![*\w])")
LEAST_TITLE = 6
"""The fewest letters by which a title, which may be cut short, is known."""


@functools.cache
def references() -> tuple[tuple[str, str, str], ...]:
    """Returns authors and year, title and address of every paper."""
    text = (pathlib.Path(__file__).parent / "references.md").read_text(encoding="utf-8")
    return tuple((f"{authors}, {year}", title, address) for authors, year, title, address in ENTRY.findall(text))


def address_of(title: str) -> str | None:
    """Returns the address of a title, or of its beginning; None of one that is not listed."""
    words = " ".join(title.split()).lower()
    found = (address for _, own, address in references() if own.lower().startswith(words))
    return next(found, None) if len(words) >= LEAST_TITLE else None


@functools.cache
def _pattern() -> re.Pattern[str]:
    keys = sorted((key for key, _, _ in references()), key=len, reverse=True)
    words = "|".join(re.escape(key).replace(r"\ ", r"\s+") for key in keys)
    return re.compile(rf"(?<![\w`])(?:{words})(?!\d)")


def link_papers(text: str) -> str:
    """Returns a docstring in which citations are links of reStructuredText."""
    addresses = {key: address for key, _, address in references()}

    def of_title(found: re.Match[str]) -> str:
        address = address_of(found[1])
        return found[0] if address is None else f"`{' '.join(found[1].split())} <{address}>`__"

    def of_years(found: re.Match[str]) -> str:
        key = " ".join(found[0].split())
        return f"`{key} <{addresses[key]}>`__"

    return TITLE.sub(of_title, _pattern().sub(of_years, text))


def link_docstring(app, what, name, obj, options, lines):
    """Does so as the site is built."""
    lines[:] = link_papers("\n".join(lines)).split("\n")


def setup(app):
    """Registers the extension."""
    # Before the arguments become a table.
    app.connect("autodoc-process-docstring", link_docstring, priority=380)
    return {"parallel_read_safe": True}
