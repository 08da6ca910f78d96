"""Boosting with dropped trees: a tree is grown on what is left once some of those before it are taken out (DART).

(Rashmi and Gilad-Bachrach, *DART: dropouts meet multiple additive regression trees*, AISTATS 2015.) The new tree and
the k dropped ones aim at the same target. So of a new tree the part 1 / (k + r) of its steps at the learning rate r
counts, and every dropped tree counts k / (k + r) of what it did, as in XGBoost's `normalize_type="tree"`.
"""

import dataclasses
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int32, UInt, UInt32

from jaxtree.arrays import AnyArray, FloatLike, mix
from jaxtree.boosting.leaves import within_bounds
from jaxtree.tree import Tree
from jaxtree.tree.forest import Forest
from jaxtree.tree.nodes import target_means
from jaxtree.tree.walk import apply

OWN_NUMBERS = np.uint32(0x9E3779B9)
"""The number combined with the seed, so that draws of trees are not those of rows."""

State: TypeAlias = Any
"""A `jaxtree.boosting.rounds.BoostState` that keeps trees."""


class Dropping(NamedTuple):
    """How trees are dropped; numbers alone, so that a sweep of them is compiled once.

    Attributes:
        rate: The chance of every tree to be dropped in a round: `rate_drop` of XGBoost.
        skip: The chance of a round in which none is.
    """

    rate: FloatLike = 0.1
    skip: FloatLike = 0.5


class Kept(NamedTuple):
    """The trees of all rounds.

    Attributes:
        trees: The trees as they were grown, whose means are changes of scores.
        share: How much of each tree counts now.
        best_share: How much counted at the least loss of the first evaluation.
    """

    trees: Tree
    share: Float[AnyArray, "*slot round"]
    best_share: Float[AnyArray, "*slot round"]

    def with_round(self, is_worth: Bool[Array, ""], before: Float[AnyArray, " round"]) -> "Kept":
        """The same after a round that is worth something; else with the shares that the trees had before it."""
        return self._replace(share=jnp.where(is_worth, self.share, before))

    def with_best(self, is_better: Bool[Array, ""]) -> "Kept":
        """The same after a round, which may have been the best."""
        return self._replace(best_share=jnp.where(is_better, self.share, self.best_share))


class Dropped(NamedTuple):
    """The trees that a round has dropped.

    Attributes:
        is_dropped: The trees.
        scores: The contribution of these trees to the scores of every table.
    """

    is_dropped: Bool[Array, " round"]
    scores: tuple[Float[Array, "score row"], ...]


def keep_trees(blank: Tree) -> Kept:
    """Returns space for trees, before the first round."""
    share = np.zeros(blank.feature.shape[:-1])
    return Kept(jax.tree.map(np.asarray, blank), share, share)


def with_shares(
    forest: Forest,
    share: Float[AnyArray, " round"],
    *,
    monotone: Int32[AnyArray, " feature"] | None = None,
    num_ordered: int = 1,
) -> Forest:
    """Returns the first trees with their shares of their steps, on the host.

    Args:
        forest: The trees.
        share: How much of each counts.
        monotone: The constraint of every feature, which steps keep to the last bit; None for none.
        num_ordered: How many of the first scores it bounds.
    """
    of_node = np.asarray(share)[forest.tree_of_node]
    nodes = dataclasses.replace(forest.nodes, target_sum=forest.nodes.target_sum * of_node[:, None])
    if monotone is not None:
        tree, sign = jax.tree.map(jnp.asarray, (nodes, monotone))
        steps = within_bounds(tree, jnp.asarray(target_means(tree).T), sign, num_ordered=num_ordered)
        nodes = dataclasses.replace(nodes, target_sum=np.asarray((steps * tree.weight).T))
    return Forest(nodes, forest.first_node)


def take_out(
    state: State, tables: tuple[UInt[AnyArray, "feature row"], ...], dropping: Dropping, seed: UInt32[AnyArray, ""]
) -> tuple[State, Dropped]:
    """Draws the trees that a round drops, and takes them out of the scores of every row.

    Args:
        state: The scores and the trees kept.
        tables: The codes of the rows that trees are grown on, and of all evaluations.
        dropping: How trees are dropped.
        seed: The seed of what is drawn; a draw depends on it, the round and the tree.
    """
    kept, precision = state.kept, state.scores.dtype
    is_dropped = draw_trees(kept.share.size, state.round, dropping, seed)

    def add(tree_number, scores):
        tree = jax.tree.map(lambda column: column[tree_number], kept.trees)
        steps = lax.optimization_barrier(kept.share[tree_number] * target_means(tree).T).astype(precision)
        return tuple(own + steps[:, apply(tree, codes)] for own, codes in zip(scores, tables, strict=True))

    def add_if_dropped(tree_number, scores):
        return lax.cond(is_dropped[tree_number], add, lambda _, own: own, tree_number, scores)

    all_scores = (state.scores, *state.evaluated)
    removed = lax.fori_loop(0, state.round, add_if_dropped, tuple(map(jnp.zeros_like, all_scores)))
    return _moved(state, -1.0, removed), Dropped(is_dropped, removed)


def put_back(state: State, dropped: Dropped, tree: Tree, learning_rate: FloatLike) -> tuple[State, Tree]:
    """Keeps the tree of a round, and adds to the scores what counts from now on of the dropped trees.

    Returns:
        The state, and the tree with the part of its steps that counts.
    """
    kept, number = state.kept, jnp.sum(dropped.is_dropped)
    part_of_new = jnp.where(number > 0, 1 / (number + learning_rate), 1.0)
    part_of_dropped = number / (number + learning_rate)
    share = jnp.where(dropped.is_dropped, part_of_dropped * kept.share, kept.share).at[state.round].set(part_of_new)
    trees = jax.tree.map(lambda all_, new: all_.at[state.round].set(new.astype(all_.dtype)), kept.trees, tree)
    counted = dataclasses.replace(tree, target_sum=lax.optimization_barrier(tree.target_sum * part_of_new))
    state = _moved(state, part_of_dropped, dropped.scores)
    return state._replace(kept=kept._replace(trees=trees, share=share)), counted


def draw_trees(
    num_rounds: int, round_: Int32[Array, ""], dropping: Dropping, seed: UInt32[AnyArray, ""]
) -> Bool[Array, " round"]:
    """The trees that a round drops."""
    of_round = mix(mix(seed ^ OWN_NUMBERS) + round_.astype(jnp.uint32))
    number = jnp.arange(num_rounds, dtype=jnp.uint32)
    draw, skips = _part(mix(mix(of_round) + number)), _part(of_round) < dropping.skip
    return (number < round_) & (draw < dropping.rate) & ~skips


def _moved(state: State, factor: FloatLike, scores: tuple[Float[Array, "score row"], ...]) -> State:
    """The state with so many times the scores added."""
    parts = [lax.optimization_barrier((factor * own).astype(own.dtype)) for own in scores]
    own, *evaluated = (before + part for before, part in zip((state.scores, *state.evaluated), parts, strict=True))
    return state._replace(scores=own, evaluated=tuple(evaluated))


def _part(bits: UInt32[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Numbers from 0 to below 1 of random bits."""
    return (bits >> 8).astype(jnp.float32) / 2**24
