"""Checks of what loaded trees predict: shares of classes are shares, and numbers are numbers, whatever the row."""

from typing import Any

import numpy as np

from jaxtree.files.records import require
from jaxtree.tree.kinds import ModelKind, kind_of
from jaxtree.tree.model import MOST_SUM, FittedModel
from jaxtree.tree.nodes import ALL_BRANCHES
from jaxtree.tree.paths import sum_over_children

TOLERANCE = 1e-6
"""How far the sum of shares may be from 1, as they are sums of rounded weights."""


def check_predictions(estimator: Any) -> None:
    """Raises ModelFileError if the trees of an estimator, or of the members of an ensemble, predict what none does."""
    for one in (estimator, *vars(estimator).get("estimators_", ())):
        if kind_of(one) not in (None, ModelKind.SOFT):
            check_model(one.model_)


def check_model(model: FittedModel) -> None:
    """Raises ModelFileError if values of nodes, their sums over trees, or shares of rows among children are none."""
    values, nodes = model.node_value, model.tree
    require(np.isfinite(values).all(), "a node predicts what is no finite number")
    if model.classes:
        are_shares = all(
            shares.min() >= -TOLERANCE and np.abs(shares.sum(axis=1) - 1).max() <= TOLERANCE
            for shares in model.by_output(values)
        )
        require(are_shares, "the shares of classes at a node are no shares: below 0, or with another sum than 1")
    with np.errstate(over="ignore"):
        greatest = np.maximum.reduceat(np.abs(values).max(axis=1), model.forest.first_node[:-1]).sum()
        weight = np.asarray(nodes.weight, np.float64)
        is_shared = ~nodes.is_leaf & (nodes.missing_branch == ALL_BRANCHES)
        whole = sum_over_children(nodes, weight)[is_shared]
    require(greatest <= MOST_SUM, "the sum of what its trees predict is no finite number")
    require((np.isfinite(whole) & (whole > 0)).all(), "a node shares rows out among children without weight")
