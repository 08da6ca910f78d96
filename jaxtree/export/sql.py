"""A tree as an expression of SQL.

Parsers bound how deep an expression may be: SQLite's and DuckDB's at 1,000 terms that follow one another, the stack of
SQLite's at some sixteen CASEs in one another. So long sums are sums of brackets, and of deep trees the upper CASEs are
one, whose conditions have several parts.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from jaxtree.errors import InvalidInputError, present
from jaxtree.export.conditions import Question, questions_of_forest
from jaxtree.export.dialects import Dialect, check_words, dialect_named
from jaxtree.export.formulas import formula_of
from jaxtree.export.models import Planes, PlaneTermKind, best_of_search, exported_with_planes
from jaxtree.table.schema import Column, Schema
from jaxtree.tree.link import Link, ScoreLink
from jaxtree.tree.model import FittedModel

MOST_TERMS = 200
"""The most terms of a sum before it is divided into brackets; a sum of 40,000 has brackets of brackets."""

MOST_NESTED = 10
"""The most CASEs in one another."""

MOST_USES = 2
"""The most times that an expression repeats a sum of all trees; what a formula needs more often is named once."""

LAST_TIE = 1.5 * 2.0**-53
"""The greatest log odds whose probability is rounded to one half, where the first of two classes is predicted."""


def to_sql(
    estimator: Any,
    *,
    dialect: str = "sqlite",
    share_of: Any = None,
    score: int | None = None,
    no_missing: bool = False,
) -> str:
    """Returns what a fitted estimator predicts as an expression of SQL: `CASE WHEN ... THEN ... ELSE ... END`.

    Names of columns are quoted, and so are words, by the rules of the database. A missing value is NULL, or NaN where
    the database has it, and so is a word that fit has not seen. Numbers compare as the database compares doubles; truth
    values as TRUE and FALSE; dates to the microsecond, in SQLite as texts such as '2020-01-02 12:00:00'; durations as
    numbers of days. MySQL compares words as the collation of their column does, as a rule without regard to case, and
    by bytes where fit has seen words that differ in nothing else.

    However deep a tree is, its CASEs are nested at most ten times, and however many trees there are, no sum has more
    than 200 terms without brackets: parsers of databases bound both.
    The planes of an oblique tree are sums of doubles, where jaxtree's terms are of float32: a row very near to one may
    fall on its other side; they add no dates. Probabilities of boosted trees, and predictions that are exponentials,
    need the function EXP; links of one's own become an expression where JAX traces them and the database has their
    functions.

    Args:
        estimator: A fitted tree or forest of one output, boosted trees, or an oblique tree that `harden` made.
        dialect: The database: "sqlite", "postgresql", "duckdb", "mysql" or "bigquery".
        share_of: A class, for its share in the place of the predicted class. A forest of classes, or boosted trees of
            more than two, have shares alone.
        score: The number of a score of boosted trees, from 0, in the place of what is predicted from it; where a row
            has several predictions, such as quantiles or targets, the number of the prediction.
        no_missing: Allows a tree that shares out rows whose value is missing, for rows without missing values and
            unseen words.

    Raises:
        InvalidInputError: It has no such expression: it has several outputs, shares out rows with missing values, or
            is a forest of classes and no share is asked for; or there is no such class, score or dialect.
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
    estimator = best_of_search(estimator)
    written = dialect_named(dialect)
    model, planes = exported_with_planes(estimator, no_missing=no_missing)
    if score is not None and model.link is None:
        raise InvalidInputError(f"score is for boosted trees, got {type(estimator).__name__}")
    (_check_asked if model.link is None else _check_asked_of_scores)(model, share_of, score)
    schema = model.schema if planes is None else planes.schema
    check_words(written, schema.columns, _classes_of(model))
    _check_planes(planes)
    questions, roots = questions_of_forest(model)
    text = _Text(written, questions, _nesting(questions), model.schema, planes)

    def sum_of_trees(said: list[str]) -> str:
        trees = [text.tree(root, said) for root in roots]
        number = written.literal(float(len(trees)))
        return f"({sum_in_brackets(trees)}) / {number}" if model.averages_trees else trees[0]

    if model.link is None:
        return sum_of_trees([written.literal(value) for value in _predicted(model, share_of)])
    return _from_scores(model.node_value, model.link, sum_of_trees, score, share_of, written)


def _classes_of(model: FittedModel) -> list[Any]:
    """The classes; none of numbers."""
    return [] if model.predicted_classes is None else model.predicted_classes.tolist()


def _check_asked(model: FittedModel, share_of: Any, score: int | None) -> None:
    """Raises InvalidInputError if a tree or forest has no such share, or no prediction of one class."""
    _check_share(share_of, _classes_of(model))
    if share_of is None and model.classes and model.node_label is None:
        raise InvalidInputError("of a forest of classes only shares are an expression: give share_of=<class>")


def _check_asked_of_scores(model: FittedModel, share_of: Any, score: int | None) -> None:
    """Raises InvalidInputError if boosted trees have no such share or score, or several predictions."""
    link, names = present(model.link), _classes_of(model)
    has_several = link.num_predictions > 1
    number = link.num_predictions if has_several else model.num_scores
    _check_share(share_of, names)
    if score is not None:
        if share_of is not None or type(score) is not int or not 0 <= score < number:
            raise InvalidInputError(f"score must be from 0 to {number - 1}, and stands alone, got {score!r}")
    elif share_of is None and (link.kind == Link.SOFTMAX or (has_several and not names)):
        given = "share_of=<class>" if names else f"score=<number from 0 to {number - 1}>"
        raise InvalidInputError(f"of these trees one prediction is an expression: give {given}")


def _from_scores(
    steps: Float64[np.ndarray, "node score"],
    link: ScoreLink,
    sum_of_trees: Callable[[list[str]], str],
    score: int | None,
    share_of: Any,
    dialect: Dialect,
) -> str:
    """The prediction of boosted trees, of which `sum_of_trees` writes sums of literals of nodes."""

    def sum_of(values: Float64[np.ndarray, " node"]) -> str:
        total = sum_of_trees([dialect.literal(value) for value in values.tolist()])
        return f"{total}\n/ ({weight})" if weight else total

    weight = sum_of_trees([dialect.literal(value) for value in steps[:, -1].tolist()]) if link.is_ratio else ""
    num_scores, names = steps.shape[1] - link.is_ratio, [] if link.classes is None else link.classes.tolist()
    one, place = dialect.literal(1.0), score or 0
    if score is not None and (names or link.num_predictions == 1):
        return sum_of(steps[:, score])
    if link.kind == Link.OTHER:
        formula = formula_of(link, num_scores, dialect.steps)
        if formula is None:
            raise InvalidInputError(
                "the link of the loss has functions that this dialect does not have: give score=<number> for a score"
            )
        scores = [f"({sum_of(column)})" for column in steps.T]
        names = [f"jaxtree_score{number}" for number in range(num_scores)]
        named = formula.written(names, dialect.literal, dialect.step)[place]
        uses = re.findall(r"jaxtree_score\d+", named)
        if len(uses) <= MOST_USES * num_scores:
            return formula.written(scores, dialect.literal, dialect.step)[place]
        values = ", ".join(f"{own} AS {name}" for own, name in zip(scores, names, strict=True) if name in uses)
        return dialect.scores.format(formula=named, values=values)
    if link.kind == Link.SOFTMAX:
        place = names.index(share_of)
        others = [f"EXP({sum_of(steps[:, other] - steps[:, place])})" for other in range(num_scores) if other != place]
        return f"{one} / ({sum_in_brackets([one, *others])})"
    if names and share_of is None:
        first, second = map(dialect.literal, names)
        return f"CASE WHEN {sum_of(steps[:, 0])} > {LAST_TIE!r} THEN {second} ELSE {first} END"
    if link.kind == Link.LOGISTIC:
        is_first = bool(names) and share_of == names[0]
        return f"{one} / ({one} + EXP({sum_of(steps[:, place] if is_first else -steps[:, place])}))"
    return f"EXP({sum_of(steps[:, place])})" if link.kind == Link.EXP else sum_of(steps[:, place])


def _check_share(share_of: Any, names: list[Any]) -> None:
    if share_of is not None and share_of not in names:
        classes = names or "none, it predicts numbers"
        raise InvalidInputError(f"share_of must be a class of the estimator ({classes}), got {share_of!r}")


def _predicted(model: FittedModel, share_of: Any) -> list[Any]:
    """The prediction at every node: the class, the share of a class, or the number."""
    names = _classes_of(model)
    if share_of is not None or not names:
        return model.node_value[:, names.index(share_of) if names else 0].tolist()
    return [names[label] for label in present(model.node_label)[0].tolist()]


class _Text(NamedTuple):
    """Trees as expressions of a dialect."""

    dialect: Dialect
    questions: list[Question]
    nesting: list[int]
    schema: Schema
    planes: Planes | None

    def tree(self, root: int, predicted: list[str]) -> str:
        """The expression of one tree, written from the front to the back without recursion.

        A CASE goes on with the last branch of every question, and nests its first; where that would nest too deep, the
        questions of the first branch are asked in the same CASE, each together with the condition of the branch.
        """
        parts: list[str] = []
        waiting = [_Branch(root, MOST_NESTED, (), begins=True)]
        while waiting:
            place, room, given, begins = waiting.pop()
            asked = self.questions[place]
            if asked.is_end:
                parts.append(predicted[asked.node] if begins else _end_of_case(given, predicted[asked.node]))
                continue
            if begins:
                parts.append("CASE ")
                room -= 1
            # Missing values are simplest in the last branch, unless that costs a level.
            last_is_yes = asked.missing_is_yes
            if self.nesting[asked.yes] != self.nesting[asked.no]:
                last_is_yes = self.nesting[asked.yes] > self.nesting[asked.no]
            first, last = (asked.no, asked.yes) if last_is_yes else (asked.yes, asked.no)
            condition = _condition(self, asked, is_yes=not last_is_yes)
            waiting.append(_Branch(last, room, given, begins=False))
            if self.nesting[first] <= room:
                parts.append(f"{'' if begins else chr(10)}WHEN {_together((*given, condition))} THEN ")
                waiting.append(_Branch(first, room, (), begins=True))
            else:
                waiting.append(_Branch(first, room, (*given, condition), begins=False))
        return "".join(parts)


class _Branch(NamedTuple):
    """A part of a tree that is to be written.

    Attributes:
        place: The question that it begins with.
        room: How many CASEs may still be nested.
        given: The conditions of the rows that come there, among those of the present CASE.
        begins: Whether it is an expression, and not what a CASE goes on with.
    """

    place: int
    room: int
    given: tuple[str, ...]
    begins: bool


def _together(conditions: tuple[str, ...]) -> str:
    """Several conditions as one."""
    return conditions[0] if len(conditions) == 1 else " AND ".join(f"({condition})" for condition in conditions)


def _end_of_case(given: tuple[str, ...], predicted: str) -> str:
    """The value of a CASE for rows that meet no further condition; without conditions it ends there."""
    return f"\nWHEN {_together(given)} THEN {predicted}" if given else f"\nELSE {predicted} END"


def _nesting(questions: list[Question]) -> list[int]:
    """How many CASEs the part of the tree from each question on must nest: its Horton-Strahler number."""
    nesting = [0] * len(questions)
    for place in reversed(range(len(questions))):
        asked = questions[place]
        if not asked.is_end:
            yes, no = nesting[asked.yes], nesting[asked.no]
            nesting[place] = max(yes, no, min(yes, no) + 1)
    return nesting


def _condition(text: _Text, asked: Question, *, is_yes: bool) -> str:
    """The condition of the rows that go to yes, or to no; an unseen word stands in no list."""
    dialect = text.dialect
    if text.planes is not None:
        return f"{_plane(dialect, text.planes, asked.column)} {'<=' if is_yes else '>'} 0"
    column = text.schema.columns[asked.column]
    takes_missing = asked.missing_is_yes == is_yes
    if column.kind == "numeric":
        if asked.limit < np.inf:
            return dialect.compared(column, asked.limit, is_above=not is_yes, takes_missing=takes_missing)
        if is_yes:
            return "1 = 1" if takes_missing else dialect.is_known(column)
        return dialect.is_missing(column) if takes_missing else "1 = 0"
    named, all_codes = column.named_categories, range(len(column.categories))
    yes = set(all_codes if asked.limit == np.inf else asked.codes)
    # A word that is not named counts as NULL unless it is among the rare ones.
    takes_rest = takes_missing if column.rare_words is None else (len(named) in yes) == is_yes
    listed = [code for code in range(len(named)) if (code in yes) == (is_yes != takes_rest)]
    values = f"({', '.join(dialect.literal(named[code]) for code in listed)})"
    words, missing = dialect.words_of(column), dialect.is_missing(column)
    if takes_missing and takes_rest:
        return f"{words} NOT IN {values} OR {missing}" if listed else "1 = 1"
    if takes_rest:
        return f"{words} NOT IN {values}" if listed else dialect.is_known(column)
    if takes_missing:
        return f"{words} IN {values} OR {missing}" if listed else missing
    return f"{words} IN {values}" if listed else "1 = 0"


def _check_planes(planes: Planes | None) -> None:
    """Raises InvalidInputError if a plane sums dates."""
    for column in () if planes is None else planes.schema.columns:
        if column.time is not None and column.time.kind != "duration":
            raise InvalidInputError(f"a plane sums column {column.name!r}, whose dates SQL does not add to numbers")


def _plane(dialect: Dialect, planes: Planes, plane: int) -> str:
    """The sum of a plane, a column after the other; it is never NULL."""
    literal, weight = dialect.literal, planes.weight[plane]
    parts = [literal(float(planes.offset[plane]))]
    for place, column in enumerate(planes.schema.columns):
        terms = [term for term in np.flatnonzero(planes.column == place).tolist() if weight[term]]
        numbers = [term for term in terms if planes.kind[term] == PlaneTermKind.NUMBER]
        missing = literal(float(sum(weight[term] for term in terms if planes.kind[term] == PlaneTermKind.MISSING)))
        if column.kind == "numeric" and numbers:
            (term,) = numbers
            middle, unit, factor = (literal(float(of[term])) for of in (planes.middle, planes.unit, weight))
            parts.append(f"COALESCE(({dialect.number(column)} - {middle}) / {unit} * {factor}, {missing})")
        elif column.kind == "numeric" and terms:
            parts.append(f"CASE WHEN {dialect.is_missing(column)} THEN {missing} ELSE {literal(0.0)} END")
        elif terms:
            worth = _worth_of_words(planes, weight, terms, column)
            named = zip(column.named_categories, worth, strict=False)
            cases = "".join(f" WHEN {literal(word)} THEN {literal(value)}" for word, value in named)
            is_missing = f"CASE WHEN {dialect.is_missing(column)} THEN {missing} ELSE "
            rest = missing if column.rare_words is None else literal(worth[-1])
            by_word = f"CASE {dialect.words_of(column)}{cases} ELSE {rest} END"
            parts.append(by_word if column.rare_words is None else f"{is_missing}{by_word} END")
    return sum_in_brackets(parts, " + ")


def sum_in_brackets(terms: list[str], plus: str = "\n+ ") -> str:
    """Returns a sum, of more than `MOST_TERMS` terms one of sums in brackets.

    >>> sum_in_brackets([str(term) for term in range(401)], "+")[-18:]
    '397+398+399)+(400)'
    """
    while len(terms) > MOST_TERMS:
        terms = [f"({plus.join(terms[first : first + MOST_TERMS])})" for first in range(0, len(terms), MOST_TERMS)]
    return plus.join(terms)


def _worth_of_words(
    planes: Planes, weight: Float64[np.ndarray, " term"], terms: list[int], column: Column
) -> list[float]:
    """The number that each category of a column adds to a plane."""
    worth = np.zeros(len(column.categories))
    codes = np.arange(len(worth))
    for term in terms:
        if planes.kind[term] == PlaneTermKind.NUMBER:
            worth += weight[term] * ((codes - planes.middle[term]) / planes.unit[term])
        elif planes.kind[term] == PlaneTermKind.CATEGORY:
            worth += weight[term] * (codes == planes.middle[term])
    return worth.tolist()
