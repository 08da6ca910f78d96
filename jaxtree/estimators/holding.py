"""Held-out rows at the nodes of a tree, with those shared out whose value is missing."""

import numpy as np
from jaxtyping import Float, Float64, Real

from jaxtree.ensemble.sharing import Visits
from jaxtree.estimators.predicting import PredictingTree
from jaxtree.pruning.validation import HeldOut, hold_out
from jaxtree.tree import Tree


def hold_out_rows(
    tree: Tree,
    predicting: PredictingTree,
    values: Float[np.ndarray, "row feature"],
    target: Real[np.ndarray, "output row"],
    weight: Float64[np.ndarray, " row"] | None,
) -> HeldOut:
    """Sends rows down a tree and sums them at its nodes.

    Args:
        tree: The tree.
        predicting: The same, ready to compare values.
        values: What its thresholds are compared with.
        target: Classes as codes, a negative one for a class that the tree does not know; or numbers.
        weight: The weight of every row; None is 1.
    """
    visits = visits_of(predicting, values)
    whole = visits.weight if weight is None else visits.weight * weight[visits.row]
    return hold_out(tree, visits.node, target[:, visits.row], whole)


def visits_of(predicting: PredictingTree, values: Float[np.ndarray, "row feature"]) -> Visits:
    """Where rows end, or their parts."""
    end = predicting.apply(values)
    shared = predicting.is_shared[end]
    alone, split = np.flatnonzero(~shared), np.flatnonzero(shared)
    visits = Visits(alone, end[alone], np.ones(alone.size))
    if not split.size:
        return visits
    parts = predicting.share_out(values[split], end[split])
    parts = parts._replace(row=split[parts.row])
    return Visits(*(np.concatenate(pair) for pair in zip(visits, parts, strict=True)))
