"""How good prunings of a tree are: the trees of cost-complexity pruning, and all draws of dropout."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Real
from sklearn.metrics import r2_score

from jaxtree.dropout.scores import expected_accuracy, expected_squared_error
from jaxtree.errors import InvalidInputError
from jaxtree.prune.draws import node_rates
from jaxtree.prune.weakest_links import cost_complexity_path, weakest_links
from jaxtree.tree.model import FittedModel
from jaxtree.tree.paths import ends_under, survivors

MOST_STEPS = 250
"""The most prices of a path."""


class PruningPath(NamedTuple):
    """The trees of cost-complexity pruning.

    Attributes:
        alpha: The price of a leaf from which on each tree stands, ascending from 0 without steps of no width.
        num_leaves: Its leaves.
        score: The impurity of its leaves; given rows, its accuracy on them, or the coefficient of determination.
    """

    alpha: Float[np.ndarray, " step"]
    num_leaves: Int[np.ndarray, " step"]
    score: Float[np.ndarray, " step"]


class JudgedRows(NamedTuple):
    """Rows on which trees are scored: encoded values, the target of one output, and weights; None is 1."""

    values: Float[np.ndarray, "row feature"]
    target: Real[np.ndarray, " row"]
    weight: Any


def pruning_path(model: FittedModel, rows: JudgedRows | None = None) -> PruningPath:
    """Returns the trees of cost-complexity pruning, scored on rows if there are some.

    Raises:
        InvalidInputError: The tree shares out rows with missing values among branches.
    """
    whole = cost_complexity_path(model.tree)
    steps = np.flatnonzero(np.append(np.diff(whole.ccp_alphas) > 0, True))
    if steps.size > MOST_STEPS:
        steps = steps[np.unique(np.linspace(0, steps.size - 1, MOST_STEPS).astype(int))]
    alpha = whole.ccp_alphas[steps]
    masks = weakest_links(model.tree).alpha <= alpha[:, None]
    num_leaves = (survivors(model.tree, masks) & (masks | np.asarray(model.tree.is_leaf))).sum(axis=1)
    if rows is None:
        return PruningPath(alpha, num_leaves, whole.impurities[steps])
    end = model.predictor.ends(rows.values)
    if model.predictor.rows_to_share(end).size:
        raise InvalidInputError(
            "the tree shares out rows with missing values among branches: give rows without missing values"
        )
    stops = (ends_under(model.tree, mask)[end] for mask in masks)
    return PruningPath(alpha, num_leaves, np.array([_score(model, rows, stop) for stop in stops]))


def _score(model: FittedModel, rows: JudgedRows, stop: Int[np.ndarray, " row"]) -> float:
    if model.node_label is None:
        return r2_score(rows.target, model.node_value[stop, 0], sample_weight=rows.weight)
    return float(np.average(model.node_label[0, stop] == rows.target, weights=rows.weight))


class DropoutScores(NamedTuple):
    """The means over all draws of dropout pruning.

    Attributes:
        mean: The mean accuracy, or the mean squared error, for every q and p.
        best: The places of the best q and p; of equally good ones those of the least p, and then of the least q.
    """

    mean: Float[np.ndarray, "q p"]
    best: tuple[int, int]


def dropout_scores(
    model: FittedModel,
    codes: Any,
    target: Real[np.ndarray, " row"],
    weight: Any,
    p: Float[np.ndarray, " p"],
    q: Float[np.ndarray, " q"],
) -> DropoutScores:
    """Returns how good the mean of all draws is at many rates.

    Args:
        model: The tree.
        codes: The rows, in codes.
        target: Their classes as codes, or their numbers.
        weight: Their weights; None is 1.
        p: Probabilities at level 0.
        q: Growths from level to level.
    """
    score = expected_accuracy if model.classes else expected_squared_error
    rates = [node_rates(model.tree, p, one) for one in q]
    mean = np.stack([np.asarray(score(model.tree, codes, target, own, weight=weight)) for own in rates])
    column, row = divmod(int((mean if model.classes else -mean).T.argmax()), len(q))
    return DropoutScores(mean, (row, column))
