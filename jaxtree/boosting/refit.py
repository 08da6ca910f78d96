"""New steps for the nodes of boosted trees, from other rows; their splits stay."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int32

from jaxtree.boosting.data import Shrinkage, learning_rates, score_type
from jaxtree.boosting.leaves import Leaves, sums_at_nodes, within_bounds
from jaxtree.boosting.round_tree import ScoredRows, TreeTargets, diagonal_of, node_steps, residuals, row_derivatives
from jaxtree.buckets import pad_to
from jaxtree.compilation import compiled
from jaxtree.growth.inputs.newton import Penalties
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.mesh import Devices
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree import Tree
from jaxtree.tree.forest import Forest
from jaxtree.tree.nodes import pad_nodes, target_means


class RefitConfig(NamedTuple):
    """How the steps of trees are made anew.

    Attributes:
        keep: The part of the old steps that stays.
        monotone: The constraint of every feature, or None.
        trees_per_round: The trees of a round: one, or as many as there are scores, of which each changes its own.
    """

    keep: float
    monotone: Int[np.ndarray, " feature"] | None = None
    trees_per_round: int = 1


class RefitNumbers(NamedTuple):
    """The numbers of a refit.

    Attributes:
        learning_rate: The part of every new step that is made.
        keep: The part of the old step that stays.
        penalties: The penalties of steps.
        monotone: The constraint of every feature, or None.
        units: The units of the scores' steps, or None.
        is_changed: The scores that the tree changes.
    """

    learning_rate: Float[Any, ""]
    keep: Float[Any, ""]
    penalties: Penalties
    monotone: Int32[Any, " feature"] | None
    units: Float[Any, " score"] | None
    is_changed: Bool[Any, " score"]


def refit(
    forest: Forest,
    ends: Int[np.ndarray, "row tree"],
    rows: ScoredRows,
    start: Float[np.ndarray, " score"],
    loss: BaseLoss,
    shrinkage: Shrinkage,
    config: RefitConfig,
) -> Forest:
    """Returns trees of the same splits whose steps are those of other rows, made round by round.

    A node's step is `config.keep` of its old one, and the rest of the new one; a node without rows keeps its own.

    Args:
        forest: The trees, with means that are the changes of scores.
        ends: The node of every tree where a row ends, counted from the tree's root.
        rows: The rows, perhaps with padding of weight 0.
        start: The scores before the first tree.
        loss: The loss.
        shrinkage: The learning rate and the penalties.
        config: How steps are made anew.
    """
    with jax.enable_x64(True):
        num_rows, units = len(rows.weight), loss.units(start)
        precision = score_type(rows, num_rows)
        rows = jax.tree.map(lambda x: jnp.asarray(x, precision if x.dtype.kind == "f" else None), rows)
        trees_per_round, keep = config.trees_per_round, np.float64(config.keep)
        rates = learning_rates(shrinkage.learning_rate, len(forest) // trees_per_round)
        penalties = Penalties(*(np.float64(x) for x in (shrinkage.l2, shrinkage.l1, shrinkage.max_step)))
        scores = jnp.tile(jnp.asarray(start, precision)[:, None], (1, num_rows))
        sums, before = [], scores
        for number, tree in enumerate(forest):
            round_, place = divmod(number, trees_per_round)
            before = before if place else scores
            is_changed = np.arange(len(start)) == place if trees_per_round > 1 else np.ones(len(start), bool)
            numbers = RefitNumbers(rates[round_], keep, penalties, config.monotone, units, is_changed)
            leaf = pad_to(ends[:, number].astype(np.int32), num_rows)
            new, steps = _refit_tree(
                pad_nodes(tree), leaf, rows, before, numbers, loss=loss, is_diagonal=trees_per_round > 1
            )
            scores = scores + steps
            sums.append(np.asarray(new)[: tree.node_count])
    return Forest(dataclasses.replace(forest.nodes, target_sum=np.concatenate(sums)), forest.first_node)


@compiled("loss", "is_diagonal", what=lambda *_, loss, **__: f"a refit of {loss}")
def _refit_tree(
    tree: Tree,
    leaf: Int32[Array, " row"],
    rows: ScoredRows,
    scores: Float[Array, "score row"],
    numbers: RefitNumbers,
    *,
    loss: BaseLoss,
    is_diagonal: bool,
) -> tuple[Float[Array, "node score"], Float[Array, "score row"]]:
    """The sums of a tree whose means are the new steps, and those of all rows, from the scores before its round."""
    leaves = Leaves(tree, leaf, rows.weight > 0, Devices(1), Engine.XLA)
    derivatives = row_derivatives(loss, scores, rows, numbers.units)
    if is_diagonal:
        derivatives = derivatives._replace(hessian=diagonal_of(derivatives.hessian))
    is_bound = numbers.monotone is not None
    targets = TreeTargets(derivatives, *residuals(loss, scores, rows), numbers.units, numbers.monotone)
    steps = node_steps(leaves, targets, rows.weight, numbers.penalties)
    steps = steps if numbers.units is None else steps * numbers.units[:, None]
    old = target_means(tree).T
    # Without monotone constraints only leaves have steps of quantiles.
    ends = jnp.zeros(tree.capacity).at[leaf].add(leaves.is_used)
    of_leaves = loss.renewal is not None and not is_bound
    number = ends if of_leaves else sums_at_nodes(leaves, jnp.ones((1, leaf.size)))[0]
    new = numbers.keep * old + (1 - numbers.keep) * numbers.learning_rate * steps
    new = jnp.where((number > 0) & numbers.is_changed[:, None], new, old)
    if numbers.monotone is not None:
        # Only now: a node that keeps its old step stands beside others with new ones.
        new = within_bounds(tree, new, numbers.monotone, num_ordered=loss.num_ordered)
    return (new * tree.weight).T, new[:, leaf].astype(scores.dtype)
