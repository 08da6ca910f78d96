"""Columns of words that are numbers, dates or truth values to a reader: what keeps them from being read as such.

Nothing is read otherwise than it is written, since 1,200 is 1.2 to some and 1200 to others; a note says what is there,
and how to have it read.
"""

import re
import shlex
from collections.abc import Mapping, Sequence

import polars as pl

from jaxtree.lines import listed
from jaxtree.table.files.read import Contents
from jaxtree.table.files.text import COMMA_DECIMAL, IDENTIFIER
from jaxtree.table.times import DATE_IN_WORDS

_SPACES = " \u00a0\u2009\u202f"
_MARK = rf"[,.'’_{_SPACES}]"
_GROUPED = re.compile(
    rf"[+-]?(?:\d{{1,3}}(?:{_MARK}\d{{3}})+|\d{{1,2}}(?:{_MARK}\d{{2}})+{_MARK}\d{{3}})(?:[.,]\d+)?", re.ASCII
)
_BY_ONE_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_NUMBER = rf"\d[\d.,'’{_SPACES}]*"
_WITH_UNIT = re.compile(
    rf"[+-]?(?P<before>[A-Z]{{0,3}}[$€£¥₹₽₩₺₪฿]|[A-Z]{{3}}(?=[{_SPACES}]))?[{_SPACES}]?[+-]?{_NUMBER}"
    rf"(?P<behind>[A-Za-z%‰°$€£¥₹₽₩₺₪฿/²³µ\"']{{0,8}})",
    re.ASCII,
)
_SPELLINGS = {
    rf"\({_NUMBER}\)": "in brackets, such as {}: write -5 for (5)",
    rf"{_NUMBER}[-−–]": "with the sign behind them, such as {}: write -5 for 5-",
    rf"[−–—‐‑﹣－]{_NUMBER}": "with another minus sign than -, such as {}: write -5",
    r"[+-]?0[xX][0-9a-fA-F]+": "to base 16, such as {}: write 31 for 0x1f",
    rf"[+-]?{_NUMBER}(?:[kKM]|bn|)": "with letters for thousands or millions, such as {}: write 1200 for 1.2k",
}
"""Patterns of numbers that programs do not write, and the remark on them, with one of the words in it."""
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}.*")
_PLAIN = {
    "numbers": r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$",
    "dates": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$",
    "true and false": r"^(?i:true|false)$",
}
"""Kinds of columns, and cells that are of them."""

_MOST_OTHERS = 12
"""Words beside numbers that may all stand for missing ones, however many rows have them."""

_FEW_ROWS = 0.1
"""The share of rows of words, among numbers, whose number does not matter."""


def remarks_on(contents: Contents, columns: Mapping[str, pl.Series], kinds: Mapping[str, str]) -> dict[str, str]:
    """Returns why columns of text have words, by name, where the user does not say so; see `remark_on`.

    Args:
        contents: The rows of a fit.
        columns: The columns with their types.
        kinds: The kinds of columns that the user has given.
    """
    words = [name for name, own in columns.items() if own.dtype == pl.String and contents.is_text]
    remarks = {name: remark_on(contents.cells(name)) for name in words if name not in kinds}
    if any("--missing" in said for said in remarks.values()):
        # Words that are given take the place of those that mean that a value is missing.
        text = [own.str.strip_chars() for own in contents.frame]
        usual = {word for word in contents.options.missing_words if word}
        found = sorted({word for own in text for word in own.filter(own.is_in(list(usual))).unique().to_list()})
        remarks = {name: said and remark_on(contents.cells(name), found) for name, said in remarks.items()}
    return {name: said for name, said in remarks.items() if said}


def remark_on(cells: pl.Series, missing: Sequence[str] = ()) -> str:
    """Returns why a column has words, though it looks like one of another kind; "" if it does not look so.

    Args:
        cells: Its cells without spaces around them, null where a value is missing.
        missing: Words of missing cells that the file has, which advice on further ones repeats.

    >>> remark_on(pl.Series(["1,200", "800"]))
    "words that are numbers such as '1,200', which --thousands , reads if it is between thousands; else write a point"
    >>> remark_on(pl.Series(["1", "2", "3", "-", "n/a"]))
    "words, since 2 of 5 cells are no numbers: '-', 'n/a' (--missing=- --missing=n/a reads them as missing)"
    >>> remark_on(pl.Series(["$5", "$7.50"])), remark_on(pl.Series(["red", "blue"]))
    ("words that are numbers with '$' before them, such as '$5': write the numbers alone", '')
    """
    counts = cells.drop_nulls().value_counts(name="rows")
    words = counts.to_series(0)
    is_plain = {kind: words.str.contains(pattern) for kind, pattern in _PLAIN.items()}
    is_number = is_plain["numbers"]
    if is_number.all() or words.str.contains(IDENTIFIER).any():
        return ""
    if is_plain["dates"].all():
        return "words, though all look like dates: some have a time zone and others none, or a day is none of its month"
    rows, has_digit = counts.to_series(1), words.str.contains(r"[0-9]")
    others, bare = (words.filter(~is_number & kept).sort().to_list() for kept in (has_digit, ~has_digit))
    said = _written_otherwise(others, has_numbers=bool(is_number.any())) if others else ""
    if said and 2 * int(rows.filter(~has_digit).sum()) <= int(rows.sum()):
        return f"{said}; beside {listed(map(repr, bare))}" if bare else said
    kind = max(is_plain, key=lambda own: int(rows.filter(is_plain[own]).sum()))
    strange = counts.filter(~is_plain[kind]).sort("rows", words.name, descending=[True, False])
    num_rows, num_strange = int(rows.sum()), int(strange["rows"].sum())
    is_few = len(strange) <= _MOST_OTHERS or num_strange <= _FEW_ROWS * num_rows
    if not num_strange or not is_few or 2 * num_strange > num_rows:
        return ""
    found = sorted(strange.to_series(0).to_list())
    options = " ".join(shlex.quote(f"--missing={word}") for word in [*missing, *found])
    advice = f" ({options} reads them as missing)" if len(found) <= _MOST_OTHERS else ""
    return f"words, since {num_strange} of {num_rows} cells are no {kind}: {listed(map(repr, found))}{advice}"


def _advice_on_marks(words: Sequence[str]) -> str:
    """The options that read numbers with marks between thousands, where all have the same mark."""
    grouped = [re.sub(r"^[+-]?[0-9]+", "", word) for word in words if _GROUPED.fullmatch(word)]
    marks = {" " if rest[0] in _SPACES else rest[0].replace("\u2019", "'") for rest in grouped}
    if len(marks) != 1:
        return "leave the marks out"
    mark = marks.pop()
    has_commas = mark != "," and any("," in word for word in words)
    written = "space" if mark == " " else shlex.quote(mark)
    return f"--thousands {written} {'--decimal , ' * has_commas}reads them"


def _written_otherwise(words: Sequence[str], *, has_numbers: bool) -> str:
    """Says how all of some words are numbers, or dates where no others are numbers; "" if they are not."""
    first = repr(words[0])
    if not has_numbers and all(map(DATE_IN_WORDS.fullmatch, words)) and not all(map(_ISO.fullmatch, words)):
        return f"words that look like dates, such as {first}: dates are read as 2020-01-31"
    if all(map(_BY_ONE_COMMA.fullmatch, words)):
        return (
            f"words that are numbers such as {first}, which --thousands , reads if it is between thousands; else write "
            "a point"
        )
    if all(re.match(COMMA_DECIMAL, word) for word in words):
        return "words that are numbers with decimal commas, which --decimal , reads"
    if all(_GROUPED.fullmatch(word) or re.match(COMMA_DECIMAL, word) for word in words):
        return f"words that are numbers with marks between thousands, such as {first}: {_advice_on_marks(words)}"
    if all(re.fullmatch(_NUMBER, word, re.ASCII) for word in words):
        return ""
    units = {(own["before"] or "", own["behind"]) for own in map(_WITH_UNIT.fullmatch, words) if own is not None}
    if len(units) != 1 or units == {("", "")} or not all(map(_WITH_UNIT.fullmatch, words)):
        spelt = (said for pattern, said in _SPELLINGS.items() if all(map(re.compile(pattern, re.A).fullmatch, words)))
        return next((f"words that are numbers {said.format(first)}" for said in spelt), "")
    before, behind = units.pop()
    where = " and ".join(f"{mark!r} {place} them" for mark, place in ((before, "before"), (behind, "behind")) if mark)
    return f"words that are numbers with {where}, such as {first}: write the numbers alone"
