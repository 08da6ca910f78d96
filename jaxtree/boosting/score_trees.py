"""The trees of a round: one that changes all scores, or a tree a score, XGBoost's "one_output_per_tree".

Trees of scores are grown at once, as those of many models are, from the scores before the round and on the same rows.
Each has one step a node, that of its score.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32, UInt, UInt32

from jaxtree.arrays import AnyArray, mix
from jaxtree.boosting.round_tree import (
    Grown,
    Rates,
    RoundInfo,
    ScoredRows,
    TreeTargets,
    diagonal_of,
    draw_rows,
    tree_of,
)
from jaxtree.errors import instance_of
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.loop.prepare import Prepared
from jaxtree.growth.plan.plan import Plan
from jaxtree.losses.loss import BaseLoss, Derivatives
from jaxtree.tree import Tree
from jaxtree.tree.forest import Forest


def trees_per_round(plan: Plan, loss: BaseLoss) -> int:
    """How many trees a round has: one for all scores, or one for each."""
    return loss.num_scores // instance_of(Newton, plan.rules.objective).num_scores


def grow_trees(
    prepared: Prepared,
    rows: ScoredRows,
    scores: Float[Array, "score row"],
    rates: Rates,
    info: RoundInfo,
    *,
    plan: Plan,
    loss: BaseLoss,
) -> Grown:
    """Grows the tree of a round, or one for every score, by the derivatives of rows: of a matrix a row its diagonal."""
    drawn, targets, is_finite = draw_rows(prepared, rows, scores, rates, info.seed, plan=plan, loss=loss)

    def grow(own: TreeTargets, seed: UInt32[Array, ""], num_ordered: int = 1) -> tuple[Tree, Int32[Array, " row"]]:
        return tree_of(prepared, drawn, own, rates, info._replace(seed=seed), plan=plan, num_ordered=num_ordered)

    if trees_per_round(plan, loss) == 1:
        return Grown(*grow(targets, info.seed, loss.num_ordered), is_finite)
    return Grown(*jax.vmap(grow)(_score_by_score(targets, loss), _seeds(info.seed, loss.num_scores)), is_finite)


def _score_by_score(targets: TreeTargets, loss: BaseLoss) -> TreeTargets:
    """The targets of every score's own tree, along an axis in front; constraints are those of ordered scores."""
    of_each = lambda values: None if values is None else jnp.asarray(values)[:, None]  # noqa: E731
    gradient, hessian = targets.derivatives
    is_ordered = jnp.arange(loss.num_scores) < loss.num_ordered
    monotone = None if targets.monotone is None else jnp.where(is_ordered[:, None], targets.monotone, 0)
    derivatives = Derivatives(gradient[:, None], diagonal_of(hessian)[:, None])
    return TreeTargets(derivatives, of_each(targets.residual), of_each(targets.level), of_each(targets.units), monotone)


def _seeds(seed: UInt32[Array, ""], number: int) -> UInt32[Array, " score"]:
    """Seeds of what trees draw, the first of which is that of a tree alone."""
    own = jnp.arange(number, dtype=jnp.uint32)
    return jnp.where(own == 0, seed, mix(seed + mix(own)))


def walk_all(walk: Any, trees: Tree, codes: UInt[AnyArray, "feature row"]) -> Int32[Array, "score row"]:
    """The nodes where the walks of all rows end in the tree of every score."""
    return jax.vmap(walk, in_axes=(0, None))(trees, codes)


def add_own_steps(
    add_steps: Any,
    scores: Float[Array, "score row"],
    steps: Float[Array, "score 1 node"],
    leaf: Int32[Array, "score row"],
) -> Float[Array, "score row"]:
    """The scores, each with the step that its own tree makes."""
    return jax.vmap(add_steps)(scores[:, None], steps, leaf)[:, 0]


def with_all_scores(forest: Forest, num_scores: int) -> Forest:
    """Returns trees, one a score and round after round, as trees of all scores, which leave all but one as they are."""
    nodes = forest.nodes
    sums = np.zeros((nodes.node_count, num_scores))
    sums[np.arange(len(sums)), forest.tree_of_node % num_scores] = nodes.target_sum[:, 0]
    return Forest(dataclasses.replace(nodes, target_sum=sums), forest.first_node)


def with_own_scores(forest: Forest) -> Forest:
    """Returns trees of all scores that change one each as trees of that one, which `with_all_scores` takes."""
    nodes = forest.nodes
    score = forest.tree_of_node % nodes.target_sum.shape[1]
    sums = np.take_along_axis(nodes.target_sum, score[:, None], axis=1)
    return Forest(dataclasses.replace(nodes, target_sum=sums), forest.first_node)
