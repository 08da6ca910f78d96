"""Predictions of soft trees and forests in NumPy: as `apply`, `log_mixture` and those of forests, but without JAX.

Sums are of float64 and what is between them of float32, so that no output depends on the rows beside it.
"""

import contextlib
import functools
from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np
from jaxtyping import Float, Float32, Float64
from scipy.special import log_softmax, softmax
from threadpoolctl import ThreadpoolController

from jaxtree.blocks import for_blocks
from jaxtree.errors import instance_of
from jaxtree.soft.forest import LeafWeights, Mixing, SoftForest, TreeWeights
from jaxtree.soft.form import SoftForm
from jaxtree.soft.gates import HardGate, plane_values, planes_of
from jaxtree.soft.model import LEAST_PROBABILITY, SoftTree, ends_in_place, inner_in_place, reach_of_ends
from jaxtree.soft.walk import hard_leaves

NUMBERS_OF_BLOCK = 2**18
"""Probabilities of gates that are computed at a time: they stay in the caches of a core."""


Outputs = Callable[[Float64[np.ndarray, "row feature"]], Float64[np.ndarray, "row output"]]
"""A function of rows to what is said of each."""


def is_for_host(form: SoftForm) -> bool:
    """Returns whether the outputs of trees of a form have a body in NumPy: where rows are not shared by other sides."""
    return form.gate == "hard" or (isinstance(form.gate, str) and form.side == "sigmoid")


def outputs_on_host(
    model: SoftTree | SoftForest, x: Float[np.ndarray, "row feature"], temperature: float, *, of_classes: bool
) -> Float32[np.ndarray, "row output"]:
    """Returns the outputs of a model on the host: logarithms of the shares of classes, or numbers.

    Args:
        model: The model; its arrays are NumPy's.
        x: Rows without missing values.
        temperature: The temperature of the gates.
        of_classes: Whether the values of leaves are logits of classes.

    Example:
        >>> from jaxtree import SoftTreeClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
        >>> soft = SoftTreeClassifier(1, max_epochs=20, random_state=0).fit(X, y)
        >>> rows = soft.inputs_.transform(soft.encoder_.values(X))
        >>> np.exp(outputs_on_host(soft.soft_model_, rows, 0.1, of_classes=True)).sum(axis=1).round(5).tolist()
        [1.0, 1.0, 1.0, 1.0]
    """
    if isinstance(model, SoftForest) and model.adds_logits:
        outputs_of = _ensemble_on_host(model, temperature, of_classes)
    else:
        outputs_of = _mixture_on_host(model, temperature, of_classes)
    form = model.trees.form if isinstance(model, SoftForest) else model.form
    result = np.empty((len(x), form.num_outputs), np.float32)

    def fill_block(block: slice) -> None:
        result[block] = outputs_of(np.asarray(x[block], np.float64))

    size = max(32, NUMBERS_OF_BLOCK // form.num_ends)
    # Products of matrices have threads of their own, which would wait for those of the blocks.
    with _libraries().limit(limits=1, user_api="blas") if len(x) > size else contextlib.nullcontext():
        for_blocks(fill_block, len(x), size)
    return result


@functools.cache
def _libraries() -> ThreadpoolController:
    """The libraries of the process that have threads; to look for them takes milliseconds."""
    return ThreadpoolController()


def _mixture_on_host(model: SoftTree | SoftForest, temperature: float, of_classes: bool) -> Outputs:
    """Returns the outputs of a tree, or of trees that are mixed."""
    trees = _trees_of(model)
    walks = [_tree_on_host(tree, temperature, of_classes=of_classes) for tree in trees]
    num_outputs = trees[0].form.num_outputs

    def outputs(x: Float64[np.ndarray, "row feature"]) -> Float64[np.ndarray, "row output"]:
        weights = _tree_weights(model, x)
        total = np.zeros((len(x), num_outputs))
        for tree, walk in enumerate(walks):
            total += weights[:, tree, None] * walk(x)
        return np.log(total + LEAST_PROBABILITY) if of_classes else total

    return outputs


def _ensemble_on_host(forest: SoftForest, temperature: float, of_classes: bool) -> Outputs:
    """Returns the outputs of trees whose logits, or numbers, are added up."""
    if isinstance(forest.mixing, LeafWeights):
        # The logits of weights come to the rows as one more output.
        leaf = forest.trees.leaf
        value = np.concatenate([leaf.value, np.asarray(forest.mixing.logit)[..., None]], axis=-1)
        forest = replace(forest, trees=replace(forest.trees, leaf=leaf._replace(value=value)))
    walks = [_tree_on_host(tree, temperature, of_classes=False) for tree in _trees_of(forest)]

    def outputs(x: Float64[np.ndarray, "row feature"]) -> Float64[np.ndarray, "row output"]:
        said = np.stack([walk(x) for walk in walks])
        if isinstance(forest.mixing, LeafWeights):
            weights, said = softmax(said[..., -1], axis=0).T, said[..., :-1]
        else:
            weights = _tree_weights(forest, x)
        total = np.einsum("tro,rt->ro", said, weights)
        return log_softmax(total, axis=1) if of_classes else total

    return outputs


def _trees_of(model: SoftTree | SoftForest) -> list[SoftTree]:
    return [model] if isinstance(model, SoftTree) else [model.tree(number) for number in range(model.num_trees)]


def _tree_weights(
    model: SoftTree | SoftForest, x: Float64[np.ndarray, "row feature"]
) -> Float64[np.ndarray, "row tree"]:
    """The weight of every tree for every row; the weights of a row sum to 1."""
    if isinstance(model, SoftTree):
        return np.ones((len(x), 1))
    if model.mixing is None:
        return np.full((len(x), model.num_trees), 1 / model.num_trees)
    if isinstance(model.mixing, TreeWeights):
        return np.tile(softmax(np.asarray(model.mixing.logit, np.float64)), (len(x), 1))
    mixing = instance_of(Mixing, model.mixing)
    return np.exp(log_softmax(x @ np.asarray(mixing.weight, np.float64) + mixing.bias, axis=1))


def _tree_on_host(tree: SoftTree, temperature: float, *, of_classes: bool) -> Outputs:
    """Returns the function of rows to a tree's outputs, of classes to their shares."""
    if isinstance(tree.gate, HardGate):
        of_leaves = np.asarray(tree.leaf.value, np.float64)
        of_leaves = softmax(of_leaves, axis=1) if of_classes else of_leaves
        return lambda x: of_leaves[hard_leaves(tree, x)]
    tree = jax.tree.map(lambda part: np.asarray(part, np.float64), tree)
    depth, inner = tree.form.depth, inner_in_place(tree.form.depth)
    planes = planes_of(jax.tree.map(lambda part: part[inner], tree.gate), tree.form, temperature)
    value = tree.leaf.value[ends_in_place(tree.form)]
    value = softmax(value, axis=1) if of_classes else value
    stop = None if tree.leaf.stop is None else tree.leaf.stop.astype(np.float32)[inner]

    def outputs(x: Float64[np.ndarray, "row feature"]) -> Float64[np.ndarray, "row output"]:
        right = _sigmoid(plane_values(planes, x).astype(np.float32))
        return reach_of_ends(right, stop, depth).T.astype(np.float64) @ value

    return outputs


def _sigmoid(value: Float32[np.ndarray, "node row"]) -> Float32[np.ndarray, "node row"]:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-value))
