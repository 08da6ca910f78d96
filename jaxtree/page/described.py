"""The card of the data: facts about columns and target, with bars in their cells, and what looks wrong."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxtree.description import DataDescription, describe
from jaxtree.description.columns import ColumnFacts, shown
from jaxtree.description.description import HEAD, cells_of, share_in_words
from jaxtree.page.model import PageModel
from jaxtree.table.sources import is_source, open_source

MOST_COLUMNS = 200
"""The most columns of the card."""

MOST_CLASSES = 12
"""The most classes whose share has a bar."""


class BarCell(NamedTuple):
    """A cell with a bar.

    Attributes:
        words: Its text.
        percent: The length of the bar; 0 for none.
    """

    words: str
    percent: float


class DataCard(NamedTuple):
    """The contents of the card, for its template of the card shows.

    Attributes:
        head: The names of the cells.
        size: The number of columns and rows in words.
        target: The target in words; "" where there is none, or it has bars.
        classes: The classes with their shares.
        columns: The cells of every column.
        left_out: The number of further columns.
        warnings: Sentences.
    """

    head: tuple[str, ...]
    size: str
    target: str
    classes: list[tuple[str, BarCell]]
    columns: list[list[BarCell]]
    left_out: int
    warnings: list[str]


def data_card(model: PageModel, X: Any, y: Any, X_val: Any, extras: Mapping[str, Any]) -> DataCard | None:
    """Returns the card of the rows of a fit; None where a page has none.

    Args:
        model: The model.
        X: The rows, as `to_html` takes them.
        y: Their target, if it is given.
        X_val: The validation rows, if there are some.
        extras: `sample_weight` and `event` of the rows, if they have such.
    """
    if X is None:
        return None
    estimator = model.estimator
    if y is None and is_source(X):
        X = open_source(X, to_fit=True).without(estimator.other_columns_)
    if X_val is not None and is_source(X_val):
        X_val = open_source(X_val, to_fit=True).without(estimator.other_columns_)
    found = describe(
        X,
        y,
        X_val=X_val,
        task="classification" if model.classes else "regression",
        categorical_features=estimator.get_params(deep=False).get("categorical_features", "from_dtype"),
        **{name: extras.get(name) for name in ("sample_weight", "event")},
    )
    return card_of(found)


def card_of(found: DataDescription) -> DataCard:
    """Returns the card of a description."""
    target, classes = "; ".join(map(str, found.target)), []
    if len(found.target) == 1 and found.target[0].kind == "classes" and found.target[0].unique <= MOST_CLASSES:
        shares = found.target[0].shares.items()
        target, classes = "", [(shown(name), BarCell(share_in_words(own), 100 * own)) for name, own in shares]
    columns = [_cells(own) for own in found.columns[:MOST_COLUMNS]]
    left_out = len(found.columns) - len(columns)
    texts = [own.text for own in found.warnings]
    return DataCard(HEAD, found.head_in_words(), target, classes, columns, left_out, texts)


def _cells(own: ColumnFacts) -> list[BarCell]:
    cells = (own.name, *cells_of(own)[1:])
    bars = (0.0, 0.0, own.missing_share, 0.0, 0.0, own.top_share if own.unique else 0.0)
    return [BarCell(words, round(100 * share, 1) if words else 0.0) for words, share in zip(cells, bars, strict=True)]
