"""The price of a leaf found by cross-validation (Breiman et al., 1984, section 3.4)."""

import copy
import dataclasses
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Bool, Float
from sklearn.model_selection import check_cv

from jaxtree.dataset.dataset import encode_sample
from jaxtree.estimators.common.folds import shuffled_splitter
from jaxtree.estimators.common.growing import GrowthTask, grow_tables
from jaxtree.estimators.common.prunings import CostComplexity
from jaxtree.prune.validation import HeldOut, hold_out, leaf_errors
from jaxtree.prune.weakest_links import cost_complexity, cost_complexity_path
from jaxtree.tree import Tree
from jaxtree.tree.nodes import target_means
from jaxtree.tree.paths import ends_under, stop_at, survivors
from jaxtree.tree.predictor import Instances, Predictor

MASKS_AT_A_TIME = 256
"""Prices scored in one call, which bounds the memory."""

ROUNDING = 1e-12
"""The share of the greatest error by which equal errors may differ."""


class _HeldOutFold(NamedTuple):
    """The tree grown without a fold's rows, and where these end in it."""

    tree: Tree
    labels: np.ndarray | None
    held: HeldOut
    ends: Instances
    target: np.ndarray
    weight: np.ndarray


def find_alpha(estimator: Any, pruning: CostComplexity, tree: Tree, task: GrowthTask) -> CostComplexity:
    """Returns the pruning with its price: that of the least cross-validated error, or the greatest within one error.

    Prices are tried half way, geometrically, between the steps of the whole tree's path.

    Args:
        estimator: The tree estimator that is being fitted.
        pruning: The pruning whose price is to be found.
        tree: The tree grown on all rows.
        task: The rows, and how the tree was grown.
    """
    steps = np.unique(cost_complexity_path(tree, cost=pruning.cost).ccp_alphas)
    prices = np.append(np.sqrt(steps[1:]) * np.sqrt(steps[:-1]), steps[-1])
    folds = _grow_folds(estimator, pruning, task)
    weight = np.sum([fold.weight.sum() for fold in folds])
    error = np.sum([_errors(fold, prices, pruning.cost) for fold in folds], axis=0) / weight
    best = int(np.flatnonzero(error <= error.min() + ROUNDING * error.max())[-1])
    if pruning.rule == "1se":
        most = error[best] + _standard_error(folds, prices[best], pruning.cost)
        best = int(np.flatnonzero(error <= most)[-1])
    return dataclasses.replace(pruning, ccp_alpha=float(prices[best]))


def _grow_folds(estimator: Any, pruning: CostComplexity, task: GrowthTask) -> list[_HeldOutFold]:
    """Grows a tree without each fold, as roots of one growth."""
    sample, splits = task.data.whole, _splits(estimator, pruning, task)
    parts = []
    for train, _ in splits:
        part = copy.copy(estimator)
        data = encode_sample(sample.take(train), part.table_options())
        of_part = GrowthTask(data, part.make_recipe(data))
        part.learn(of_part.data)
        parts.append((part, of_part))
    trees = grow_tables([of_part for _, of_part in parts])
    folds = []
    for (part, of_part), tree, (_, test) in zip(parts, trees, splits, strict=True):
        # The pruning whose price is sought comes last.
        stopped = stop_at(tree, part.find_collapsed(part.list_prunings()[:-1], tree, of_part))
        held_out = sample.take(test)
        weight = np.ones(test.size) if held_out.weight is None else held_out.weight
        ends = Predictor(part.in_table_units(tree, of_part)).instances(part.encoder_.values(held_out.X))
        held = hold_out(tree, ends.node, held_out.target[:, ends.row], ends.weight * weight[ends.row])
        folds.append(_HeldOutFold(stopped, part.node_labels(tree), held, ends, held_out.target, weight))
    return folds


def _splits(estimator: Any, pruning: CostComplexity, task: GrowthTask) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns the rows that the tree of every fold is grown on, and those that it is tested on."""
    sample, cv = task.data.whole, pruning.cv
    if isinstance(cv, int | np.integer):
        seed = 0 if estimator.random_state is None else estimator.random_state
        cv = shuffled_splitter(int(cv), seed, sample.target[0] if len(sample.outputs.num_classes) == 1 else None)
    splitter: Any = check_cv(cast(Any, cv))
    return list(splitter.split(np.zeros(sample.num_rows), sample.target[0]))


def _errors(fold: _HeldOutFold, prices: Float[np.ndarray, " price"], cost: str) -> Float[np.ndarray, " price"]:
    """Returns the error on a fold's rows at every price: misclassified weight, or squared deviations."""
    tree = fold.tree
    as_leaf, ended = (leaf_errors(tree, sums, fold.labels) for sums in fold.held)

    def errors(masks: Bool[np.ndarray, "price node"]) -> Float[np.ndarray, " price"]:
        kept = survivors(tree, masks)
        stops = kept & (masks | tree.is_leaf)
        return stops @ as_leaf + (kept & ~stops) @ ended

    blocks = [prices[first : first + MASKS_AT_A_TIME] for first in range(0, prices.size, MASKS_AT_A_TIME)]
    return np.concatenate([errors(cost_complexity(tree, block, cost=cost)) for block in blocks])


def _standard_error(folds: list[_HeldOutFold], price: float, cost: str) -> float:
    """Returns the standard error of the mean error at one price, over all rows left out."""
    losses = np.concatenate([_losses(fold, price, cost) for fold in folds])
    weight = np.concatenate([fold.weight for fold in folds])
    # Squares of squared errors are no numbers where these still are.
    unit = np.max(losses) or 1.0
    losses = losses / unit
    mean = np.average(losses, weights=weight)
    return unit * float(np.sqrt(np.average((losses - mean) ** 2, weights=weight) / losses.size))


def _losses(fold: _HeldOutFold, price: float, cost: str) -> Float[np.ndarray, " row"]:
    """Returns the loss of every row of a fold at one price."""
    row, part = fold.ends.row, fold.ends.weight
    end = ends_under(fold.tree, cost_complexity(fold.tree, price, cost=cost))[fold.ends.node]
    if fold.labels is None:
        loss = ((fold.target[:, row] - target_means(fold.tree)[end].T) ** 2).sum(axis=0)
    else:
        loss = (fold.target[:, row] != fold.labels[:, end]).sum(axis=0)
    return np.bincount(row, part * loss, minlength=fold.target.shape[1])
