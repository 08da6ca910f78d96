"""A tree as an expression of SQL."""

from typing import Any

import numpy as np

from jaxtree.errors import InvalidInputError
from jaxtree.export.questions import Question, questions_of
from jaxtree.export.spoken import Spoken, SpokenTree, spoken
from jaxtree.table.schema import Column, Schema


def to_sql(estimator: Any, *, share_of: Any = None, no_missing: bool = False) -> str:
    """Returns what a fitted estimator predicts as an expression of SQL: `CASE WHEN ... THEN ... ELSE ... END`.

    Names of columns are quoted, and so are words. A missing value is NULL (a NaN is to be made one), and so is a word
    that fit has not seen. Numbers compare as the database compares doubles; truth values as TRUE and FALSE; dates as
    the database compares its own with a text such as '2020-01-02 12:00', to the microsecond; durations as numbers of
    days. The expression is standard SQL, as SQLite, PostgreSQL, MySQL, DuckDB and others read it; how deep it may be
    nested is up to them.

    Args:
        estimator: A fitted tree or forest of one output.
        share_of: A class, for its share in the place of the predicted class. A forest of classes has shares alone.
        no_missing: Allows a tree that shares out rows whose value is missing, for rows without missing values and
            unseen words.

    Raises:
        InvalidInputError: The tree cannot be said so: it has several outputs, shares out rows with missing values, or
            is a forest of classes and no share is asked for; or there is no such class.
        InvalidTypeError: It is no tree or forest of jaxtree.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> X, y = load_play_tennis(return_X_y=True, as_frame=True)
        >>> print(to_sql(ID3Classifier(max_depth=1).fit(X, y)))
        CASE WHEN "outlook" IN ('overcast') THEN 'yes'
        ELSE CASE WHEN "outlook" IN ('rainy') THEN 'yes'
        ELSE CASE WHEN "outlook" IN ('sunny') THEN 'no'
        ELSE 'yes' END END END
    """
    said = spoken(estimator)
    place = _place_of(said, share_of)
    trees = [_expression(said.schema, tree, _words(said, tree, place), no_missing=no_missing) for tree in said.trees]
    if not said.is_forest:
        return trees[0]
    return "(" + "\n+ ".join(trees) + f") / {float(len(trees))!r}"


def _place_of(said: Spoken, share_of: Any) -> int | None:
    """The place of the class whose share is asked for."""
    if share_of is None:
        if said.is_forest and said.classes is not None:
            raise InvalidInputError("of a forest of classes only shares are an expression: give share_of=<class>")
        return None if said.classes is not None else 0
    if said.classes is None or share_of not in said.classes.tolist():
        classes = "none, it predicts numbers" if said.classes is None else said.classes.tolist()
        raise InvalidInputError(f"share_of must be a class of the estimator ({classes}), got {share_of!r}")
    return said.classes.tolist().index(share_of)


def _words(said: Spoken, tree: SpokenTree, place: int | None) -> list[str]:
    """What every node says, as literals."""
    if place is not None:
        return [_literal(share) for share in tree.shares[:, place].tolist()]
    assert said.classes is not None and tree.labels is not None
    return [_literal(name) for name in said.classes[tree.labels].tolist()]


def _expression(schema: Schema, spoken_tree: SpokenTree, words: list[str], *, no_missing: bool) -> str:
    """The expression of one tree, written from the front to the back without recursion."""
    questions = questions_of(spoken_tree.tree, schema, no_missing=no_missing)
    parts: list[str] = []
    waiting: list[int | str] = [0]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        asked = questions[item]
        if asked.is_end:
            parts.append(words[asked.node])
            continue
        condition, is_turned = _condition(schema.columns[asked.column], asked)
        yes, no = (asked.no, asked.yes) if is_turned else (asked.yes, asked.no)
        parts.append(f"CASE WHEN {condition} THEN ")
        waiting += [" END", no, "\nELSE ", yes]
    return "".join(parts)


def _condition(column: Column, asked: Question) -> tuple[str, bool]:
    """What is asked, in such a way that NULL and unseen words mean no; and whether yes and no have changed places."""
    name = '"' + column.name.replace('"', '""') + '"'
    if column.kind == "numeric":
        if asked.limit == np.inf:
            return (f"{name} IS NOT NULL", False) if not asked.missing_is_yes else ("1 = 1", False)
        sign = ">" if asked.missing_is_yes else "<="
        return f"{name} {sign} {_limit(column, asked.limit)}", asked.missing_is_yes
    codes = range(len(column.categories)) if asked.limit == np.inf else asked.codes
    if asked.missing_is_yes:
        codes = sorted(set(range(len(column.categories))) - set(codes))
    if not codes:
        return "1 = 0", asked.missing_is_yes
    values = ", ".join(_literal(column.categories[code]) for code in codes)
    return f"{name} IN ({values})", asked.missing_is_yes


def _limit(column: Column, limit: float) -> str:
    """A threshold; of dates as a text, which databases compare with their own dates."""
    if column.time is None or column.time.kind == "duration":
        return _literal(limit)
    return _literal(column.time.literal(limit) + ("+00:00" if column.time.kind == "utc" else ""))


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
