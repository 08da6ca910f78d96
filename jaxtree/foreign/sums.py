"""Models of jaxtree as sums of trees of one score each, whose questions have two answers: as other libraries have them.

The scores before the first tree are added to the leaves of the first tree of each score.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import Question, questions_of
from jaxtree.export.models import best_of_search, exported_model
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.numbers import squared
from jaxtree.table.schema import Schema
from jaxtree.tree.kinds import ModelKind, kind_of
from jaxtree.tree.nodes import target_means


class SumTree(NamedTuple):
    """A tree of one score.

    Attributes:
        questions: Its questions and ends.
        score: The score that it changes.
        value: The number that each of these adds if it is an end.
        weight: The weight of the rows of the fit at each.
        num_rows: Their number.
        gain: The loss that each has saved.
    """

    questions: list[Question]
    score: int
    value: Float64[np.ndarray, " question"]
    weight: Float64[np.ndarray, " question"]
    num_rows: Float64[np.ndarray, " question"]
    gain: Float64[np.ndarray, " question"]


class SumOfTrees(NamedTuple):
    """A model that adds up trees.

    Attributes:
        schema: Its columns.
        is_named: Whether these have names of their own.
        trees: Its trees, round after round.
        num_scores: The number of scores.
        loss: The loss, by which predictions follow from scores.
        of_classes: Whether it predicts classes.
        of_order: Whether it predicts an order of rows.
    """

    schema: Schema
    is_named: bool
    trees: list[SumTree]
    num_scores: int
    loss: BaseLoss
    of_classes: bool
    of_order: bool


def sum_of(estimator: Any, library: str, *, no_missing: bool) -> SumOfTrees:
    """Returns a fitted estimator as a sum of trees.

    Args:
        estimator: The estimator, or a search that has one.
        library: The name of the library, for messages.
        no_missing: Whether rows miss no value, so that a tree may share out such rows.

    Raises:
        InvalidInputError: It is no such sum, or has several outputs, or shares out rows with missing values.
        InvalidTypeError: It is no tree or forest of jaxtree.
    """
    estimator = best_of_search(estimator)
    model = exported_model(estimator, no_missing=no_missing)
    kind, number = kind_of(estimator), len(model.forest)
    if kind == ModelKind.BOOSTED:
        step, start, loss = target_means(model.tree), np.asarray(estimator.start_, np.float64), estimator.loss_
        changed = estimator.changed_scores()
    elif kind in (ModelKind.TREE, ModelKind.FOREST) and not model.classes:
        step, start, loss = model.node_value / number, np.zeros(1), squared()
        changed = np.ones((number, 1), bool)
    else:
        raise InvalidInputError(
            f"{library} adds up trees, and {type(estimator).__name__} does not: boosted trees, and trees and forests "
            "of numbers do"
        )
    trees, waiting = [], set(range(len(start)))
    places = zip(model.forest, model.forest.first_node.tolist(), changed, strict=False)
    for tree, first, scores in places:
        questions = questions_of(tree, model.schema)
        node = np.array([own.node for own in questions]) + first
        for score in np.flatnonzero(scores).tolist():
            value = step[node, score] + (start[score] if score in waiting else 0.0)
            waiting.discard(score)
            nodes = model.tree
            weight, rows = np.asarray(nodes.weight, np.float64)[node], np.asarray(nodes.num_rows, np.float64)[node]
            trees.append(SumTree(questions, score, value, weight, rows, np.nan_to_num(nodes.gain[node]) * weight))
    of_order = loss.name in ("ndcg", "map", "pairwise")
    of_classes, is_named = model.predicted_classes is not None, hasattr(estimator, "feature_names_in_")
    return SumOfTrees(model.schema, is_named, trees, len(start), loss, of_classes, of_order)


def as_numbers(asked: Question, schema: Schema) -> Question:
    """Returns a question about a truth value as one about the numbers 0 and 1; any other as it is."""
    if schema.columns[asked.column].kind != "boolean" or not asked.codes:
        return asked
    lower = asked.codes == (0,)
    yes, no = (asked.yes, asked.no) if lower else (asked.no, asked.yes)
    return asked._replace(limit=0.5, codes=(), yes=yes, no=no, missing_is_yes=asked.missing_is_yes == lower)


def number_parameter(loss: BaseLoss, name: str) -> float:
    """Returns a parameter that a loss was made with."""
    return float(dict(getattr(loss, "parameters", ()))[name])
