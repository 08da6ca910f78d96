"""A tree as an expression of SQL."""

from typing import Any

import numpy as np
from jaxtyping import Float64

from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import Question, questions_of_forest
from jaxtree.export.models import Planes, TermKind, exported_with_planes
from jaxtree.table.schema import Column, Schema
from jaxtree.tree.model import FittedModel


def to_sql(estimator: Any, *, share_of: Any = None, no_missing: bool = False) -> str:
    """Returns what a fitted estimator predicts as an expression of SQL: `CASE WHEN ... THEN ... ELSE ... END`.

    Names of columns are quoted, and so are words. A missing value is NULL (a NaN is to be made one), and so is a word
    that fit has not seen. Numbers compare as the database compares doubles; truth values as TRUE and FALSE; dates as
    the database compares its own with a text such as '2020-01-02 12:00', to the microsecond; durations as numbers of
    days. The expression is standard SQL, as SQLite, PostgreSQL, MySQL, DuckDB and others read it. However deep a tree
    is, the CASEs of one with n leaves are nested at most log2(n) times; SQLite reads some fifteen. The planes of an
    oblique tree are sums of doubles, where jaxtree's terms are of float32: a row very near to one may fall on its other
    side; they add no dates.

    Args:
        estimator: A fitted tree or forest of one output, or an oblique tree that `harden` made.
        share_of: A class, for its share in the place of the predicted class. A forest of classes has shares alone.
        no_missing: Allows a tree that shares out rows whose value is missing, for rows without missing values and
            unseen words.

    Raises:
        InvalidInputError: It has no such expression: it has several outputs, shares out rows with missing values, or
            is a forest of classes and no share is asked for; or there is no such class.
        InvalidTypeError: It is no tree or forest of jaxtree with hard splits.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> X, y = load_play_tennis(return_X_y=True, as_frame=True)
        >>> print(to_sql(ID3Classifier(max_depth=1).fit(X, y)))
        CASE WHEN "outlook" IN ('overcast') THEN 'yes'
        WHEN "outlook" IN ('rainy') THEN 'yes'
        WHEN "outlook" IN ('sunny') THEN 'no'
        ELSE 'yes' END
    """
    model, planes = exported_with_planes(estimator, no_missing=no_missing)
    predicted = _predicted(model, share_of)
    questions, roots = questions_of_forest(model)
    nesting = _nesting(questions)
    trees = [_expression(questions, nesting, root, predicted, model.schema, planes) for root in roots]
    return "(" + "\n+ ".join(trees) + f") / {float(len(trees))!r}" if model.averages_trees else trees[0]


def _predicted(model: FittedModel, share_of: Any) -> list[str]:
    """The prediction at every node as a literal: the class, the share of a class, or the number."""
    names = model.classes[0].tolist() if model.classes else []
    if share_of is not None and share_of not in names:
        classes = names or "none, it predicts numbers"
        raise InvalidInputError(f"share_of must be a class of the estimator ({classes}), got {share_of!r}")
    if share_of is not None or not names:
        shares = model.node_value[:, names.index(share_of) if names else 0]
        return [_literal(share) for share in shares.tolist()]
    if model.node_label is None:
        raise InvalidInputError("of a forest of classes only shares are an expression: give share_of=<class>")
    return [_literal(names[label]) for label in model.node_label[0].tolist()]


def _expression(
    questions: list[Question],
    nesting: list[int],
    root: int,
    predicted: list[str],
    schema: Schema,
    planes: Planes | None,
) -> str:
    """The expression of one tree, written from the front to the back without recursion.

    A CASE goes on with the last branch of every question, and nests its first.
    """
    parts: list[str] = []
    waiting = [(root, True)]
    while waiting:
        place, begins = waiting.pop()
        asked = questions[place]
        if asked.is_end:
            parts.append(predicted[asked.node] if begins else f"\nELSE {predicted[asked.node]} END")
            continue
        # Missing values are simplest in the last branch, unless that costs a level.
        last_is_yes = asked.missing_is_yes
        if nesting[asked.yes] != nesting[asked.no]:
            last_is_yes = nesting[asked.yes] > nesting[asked.no]
        first, last = (asked.no, asked.yes) if last_is_yes else (asked.yes, asked.no)
        condition = _condition(schema, planes, asked, is_yes=not last_is_yes)
        parts.append(f"{'CASE ' if begins else chr(10)}WHEN {condition} THEN ")
        waiting += [(last, False), (first, True)]
    return "".join(parts)


def _nesting(questions: list[Question]) -> list[int]:
    """How many CASEs the part of the tree from each question on must nest: its Horton-Strahler number."""
    nesting = [0] * len(questions)
    for place in reversed(range(len(questions))):
        asked = questions[place]
        if not asked.is_end:
            yes, no = nesting[asked.yes], nesting[asked.no]
            nesting[place] = max(yes, no, min(yes, no) + 1)
    return nesting


def _condition(schema: Schema, planes: Planes | None, asked: Question, *, is_yes: bool) -> str:
    """The condition of the rows that go to yes, or to no; an unseen word counts as NULL, and stands in no list."""
    if planes is not None:
        return f"{_plane(planes, asked.column)} {'<=' if is_yes else '>'} 0"
    column = schema.columns[asked.column]
    name, takes_missing = _name(column), asked.missing_is_yes == is_yes
    if column.kind == "numeric":
        if asked.limit < np.inf:
            known = f"{name} {'<=' if is_yes else '>'} {_limit(column, asked.limit)}"
            return f"{known} OR {name} IS NULL" if takes_missing else known
        if is_yes:
            return "1 = 1" if takes_missing else f"{name} IS NOT NULL"
        return f"{name} IS NULL" if takes_missing else "1 = 0"
    all_codes = range(len(column.categories))
    yes = set(all_codes if asked.limit == np.inf else asked.codes)
    listed = [code for code in all_codes if (code in yes) == (is_yes != takes_missing)]
    values = ", ".join(_literal(column.categories[code]) for code in listed)
    if takes_missing:
        return f"{name} NOT IN ({values}) OR {name} IS NULL" if listed else "1 = 1"
    return f"{name} IN ({values})" if listed else "1 = 0"


def _limit(column: Column, limit: float) -> str:
    """A threshold; of dates as a text, which databases compare with their own dates."""
    if column.time is None or column.time.kind == "duration":
        return _literal(limit)
    return _literal(column.time.literal(limit) + ("+00:00" if column.time.kind == "utc" else ""))


def _name(column: Column) -> str:
    return '"' + column.name.replace('"', '""') + '"'


def _plane(planes: Planes, plane: int) -> str:
    """The sum of a plane, a column after the other; it is never NULL."""
    parts = [_literal(float(planes.offset[plane]))]
    weight = planes.weight[plane]
    for place, column in enumerate(planes.schema.columns):
        if column.time is not None and column.time.kind != "duration":
            raise InvalidInputError(f"a plane sums column {column.name!r}, whose dates SQL does not add to numbers")
        name = _name(column)
        terms = [term for term in np.flatnonzero(planes.column == place).tolist() if weight[term]]
        numbers = [term for term in terms if planes.kind[term] == TermKind.NUMBER]
        missing = _literal(float(sum(weight[term] for term in terms if planes.kind[term] == TermKind.MISSING)))
        if column.kind == "numeric" and numbers:
            (term,) = numbers
            middle, unit = (_literal(float(part[term])) for part in (planes.middle, planes.unit))
            parts.append(f"COALESCE(({name} - {middle}) / {unit} * {_literal(float(weight[term]))}, {missing})")
        elif column.kind == "numeric" and terms:
            parts.append(f"CASE WHEN {name} IS NULL THEN {missing} ELSE 0.0 END")
        elif terms:
            parts.append(f"CASE {name}{_worth_of_words(planes, weight, terms, column)} ELSE {missing} END")
    return " + ".join(parts)


def _worth_of_words(planes: Planes, weight: Float64[np.ndarray, " term"], terms: list[int], column: Column) -> str:
    """The number that every word of a column adds to a plane."""
    worth = np.zeros(len(column.categories))
    codes = np.arange(len(worth))
    for term in terms:
        if planes.kind[term] == TermKind.NUMBER:
            worth += weight[term] * ((codes - planes.middle[term]) / planes.unit[term])
        elif planes.kind[term] == TermKind.CATEGORY:
            worth += weight[term] * (codes == planes.middle[term])
    return "".join(
        f" WHEN {_literal(word)} THEN {_literal(value)}"
        for word, value in zip(column.categories, worth.tolist(), strict=True)
    )


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not np.isfinite(value):
            raise InvalidInputError("the tree has a threshold or value that is infinite, for which SQL has no literal")
        text = repr(value)
        return text if any(letter in text for letter in ".e") else text + ".0"
    text = str(value)
    if "\0" in text:
        raise InvalidInputError(f"the word {text!r} has a zero character, which SQL has not")
    return "'" + text.replace("'", "''") + "'"
