"""Stumps beside trees of hard gates: where these begin, and what they have to be better than.

A row teaches the one leaf where it ends. A hard gate that begins at another column learns little of what this one
tells, so that a tree of few gates may miss a column that tells everything.
"""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtree.arrays import AnyArray
from jaxtree.compilation import compiled, options_of_small_programs
from jaxtree.errors import instance_of
from jaxtree.soft.epochs import TrainingRows
from jaxtree.soft.forest import SoftForest
from jaxtree.soft.form import SoftForm
from jaxtree.soft.from_tree import LIKED
from jaxtree.soft.gates import HardGate
from jaxtree.soft.model import SoftTree
from jaxtree.soft.runs import Trained
from jaxtree.soft.scores import weighted_sum
from jaxtree.soft.walk import hard_leaves
from jaxtree.tree import Tree


def columns_of_inputs(x: Float[np.ndarray, "row feature"], form: SoftForm) -> Float[np.ndarray, "row column"]:
    """Returns the inputs without their indicators, NaN where these say that a value is missing."""
    num_columns = form.num_features - len(form.missing)
    columns = np.array(x[:, :num_columns], np.float64)
    for indicator, features in enumerate(form.missing, num_columns):
        columns[np.ix_(x[:, indicator] == 1, features)] = np.nan
    return columns


def lone_tree(model: SoftTree | SoftForest) -> SoftTree:
    """Returns a tree, or the one tree of a forest."""
    return model.tree(0) if isinstance(model, SoftForest) else model


def _in_its_place(model: SoftTree | SoftForest, tree: SoftTree) -> SoftTree | SoftForest:
    """A model, or the state of one, with a tree in the place of its one tree; axes of length 1 in front are kept."""
    if isinstance(model, SoftForest):
        return dataclasses.replace(model, trees=_in_its_place(model.trees, tree))
    return jax.tree.map(lambda old, new: np.reshape(np.asarray(new), np.shape(old)), model, tree)


def with_root(
    model: SoftTree | SoftForest, stump: Tree, columns: Float[np.ndarray, "row column"]
) -> SoftTree | SoftForest:
    """Returns a lone tree of hard gates whose root divides rows as a stump of the columns of its inputs does."""
    tree = lone_tree(model)
    gate = instance_of(HardGate, tree.gate)
    feature, limit = int(stump.feature[0]), float(stump.threshold[0])
    selection, threshold = (np.array(part) for part in (gate.selection, gate.threshold))
    selection[0] = 0.0
    selection[0, feature] = LIKED
    # No known value is above an infinite threshold, nor above the greatest one.
    threshold[0, feature] = min(limit, np.nanmax(columns[:, feature]))
    missing = gate.missing
    if missing is not None:
        is_of = np.array([feature in features for features in tree.form.missing])
        missing = np.array(missing)
        missing[0, is_of] = LIKED if stump.missing_branch[0] else -LIKED
    return _in_its_place(model, SoftTree(HardGate(selection, threshold, missing), tree.leaf, tree.form))


def with_leaves_of(tree: SoftTree, stump: Tree, value: Float[np.ndarray, "node output"]) -> SoftTree:
    """Returns a tree that predicts what the stump does at its root: the leaves of a side have the value of its node."""
    first = int(stump.first_child[0])
    sides = np.repeat(value[first : first + 2], tree.form.num_ends // 2, axis=0)
    return SoftTree(tree.gate, tree.leaf._replace(value=sides.astype(np.asarray(tree.leaf.value).dtype)), tree.form)


def better(trained: Trained, stump: SoftTree, rows: TrainingRows, loss: object) -> Trained:
    """Returns a training, or the stump in its place if that has less of the loss on some rows.

    Training moves thresholds: noise, slopes and averages leave them beside those that divide rows best.
    """
    outputs = [_outputs(own, rows) for own in (lone_tree(trained.model), stump)]
    losses = np.asarray(_losses(outputs, rows, loss=loss))
    if losses[0] <= losses[1]:
        return trained
    parts = {name: _in_its_place(getattr(trained.progress, name), stump) for name in ("model", "average", "best")}
    return trained._replace(model=_in_its_place(trained.model, stump), progress=trained.progress._replace(**parts))


def _outputs(tree: SoftTree, rows: TrainingRows) -> Float[np.ndarray, "row output"]:
    return np.asarray(tree.leaf.value)[hard_leaves(tree, np.asarray(rows.x))]


@compiled("loss", options=options_of_small_programs)
def _losses(
    outputs: Sequence[Float[AnyArray, "row output"]], rows: TrainingRows, *, loss: object
) -> Float[Array, " model"]:
    return jnp.stack([weighted_sum(loss, own, rows.target, rows.weight) for own in outputs])
