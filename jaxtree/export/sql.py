"""A tree as an expression of SQL."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float64

from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import Question, questions_of_forest
from jaxtree.export.models import Planes, TermKind, exported_with_planes
from jaxtree.table.schema import Column, Schema
from jaxtree.tree.link import Link, ScoreLink
from jaxtree.tree.model import FittedModel


def to_sql(estimator: Any, *, share_of: Any = None, score: int | None = None, no_missing: bool = False) -> str:
    """Returns what a fitted estimator predicts as an expression of SQL: `CASE WHEN ... THEN ... ELSE ... END`.

    Names of columns are quoted, and so are words. A missing value is NULL (a NaN is to be made one), and so is a word
    that fit has not seen. Numbers compare as the database compares doubles; truth values as TRUE and FALSE; dates as
    the database compares its own with a text such as '2020-01-02 12:00', to the microsecond; durations as numbers of
    days. The expression is standard SQL, as SQLite, PostgreSQL, MySQL, DuckDB and others read it. However deep a tree
    is, the CASEs of one with n leaves are nested at most log2(n) times; SQLite reads some fifteen. The planes of an
    oblique tree are sums of doubles, where jaxtree's terms are of float32: a row very near to one may fall on its other
    side; they add no dates. Probabilities of boosted trees, and predictions that are exponentials, need the function
    EXP; where the link of a loss is none of identity, exponential, logistic and softmax, the expression is the score.

    Args:
        estimator: A fitted tree or forest of one output, boosted trees, or an oblique tree that `harden` made.
        share_of: A class, for its share in the place of the predicted class. A forest of classes, or boosted trees of
            more than two, have shares alone.
        score: The number of a score of boosted trees, from 0, in the place of what is predicted from it.
        no_missing: Allows a tree that shares out rows whose value is missing, for rows without missing values and
            unseen words.

    Raises:
        InvalidInputError: It has no such expression: it has several outputs, shares out rows with missing values, or
            is a forest of classes and no share is asked for; or there is no such class or score.
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
    if score is not None and model.link is None:
        raise InvalidInputError(f"score is for boosted trees, got {type(estimator).__name__}")
    questions, roots = questions_of_forest(model)
    nesting = _nesting(questions)

    def sum_of_trees(said: list[str]) -> str:
        trees = [_expression(questions, nesting, root, said, model.schema, planes) for root in roots]
        return "(" + "\n+ ".join(trees) + f") / {float(len(trees))!r}" if model.averages_trees else trees[0]

    if model.link is None:
        return sum_of_trees(_predicted(model, share_of))
    return _from_scores(model.node_value, model.link, sum_of_trees, score, share_of)


def _from_scores(
    steps: Float64[np.ndarray, "node score"],
    link: ScoreLink,
    sum_of_trees: Callable[[list[str]], str],
    score: int | None,
    share_of: Any,
) -> str:
    """The prediction of boosted trees, of which `sum_of_trees` writes sums of literals of nodes."""

    def sum_of(values: Float64[np.ndarray, " node"]) -> str:
        return sum_of_trees([_literal(value) for value in values.tolist()])

    num_scores, names = steps.shape[1], [] if link.classes is None else link.classes.tolist()
    _check_share(share_of, names)
    if score is not None:
        if share_of is not None or type(score) is not int or not 0 <= score < num_scores:
            raise InvalidInputError(f"score must be from 0 to {num_scores - 1}, and stands alone, got {score!r}")
        return sum_of(steps[:, score])
    if share_of is None and (link.kind == Link.SOFTMAX or (not names and _has_several(link, num_scores))):
        given = "share_of=<class>" if names else f"score=<number from 0 to {num_scores - 1}>"
        raise InvalidInputError(f"of these boosted trees one prediction is an expression: give {given}")
    if link.kind == Link.SOFTMAX:
        place = names.index(share_of)
        others = [f"EXP({sum_of(steps[:, other] - steps[:, place])})" for other in range(num_scores) if other != place]
        return "1.0 / (1.0 + " + "\n+ ".join(others) + ")"
    if names and share_of is None:
        return f"CASE WHEN {sum_of(steps[:, 0])} > 0 THEN {_literal(names[1])} ELSE {_literal(names[0])} END"
    if link.kind == Link.LOGISTIC:
        is_first = bool(names) and share_of == names[0]
        return f"1.0 / (1.0 + EXP({sum_of(steps[:, 0] if is_first else -steps[:, 0])}))"
    return f"EXP({sum_of(steps[:, 0])})" if link.kind == Link.EXP else sum_of(steps[:, 0])


def _has_several(link: ScoreLink, num_scores: int) -> bool:
    """Whether a row has several predictions, or, of an unknown link, several scores."""
    return (num_scores if link.kind == Link.OTHER else link.num_predictions) > 1


def _check_share(share_of: Any, names: list[Any]) -> None:
    if share_of is not None and share_of not in names:
        classes = names or "none, it predicts numbers"
        raise InvalidInputError(f"share_of must be a class of the estimator ({classes}), got {share_of!r}")


def _predicted(model: FittedModel, share_of: Any) -> list[str]:
    """The prediction at every node as a literal: the class, the share of a class, or the number."""
    names = model.classes[0].tolist() if model.classes else []
    _check_share(share_of, names)
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
    return _literal(column.time.limit_of_databases(limit) + ("+00:00" if column.time.kind == "utc" else ""))


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
