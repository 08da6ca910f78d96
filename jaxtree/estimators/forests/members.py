"""The trees of a forest as estimators of their own: their prunings, and what each says."""

import copy
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jaxtree.compilation import compiled
from jaxtree.estimators.base import BaseTree
from jaxtree.estimators.prunings import Pruning
from jaxtree.estimators.sample import PreparedFit
from jaxtree.forests.bootstrap import Drawing, draw_counts, split_key
from jaxtree.tree import Forest, take_trees


class Members:
    """The trees of a fitted forest, made into estimators when these are first asked for.

    Args:
        forest: The trees, in units of the table.
        blank: A tree that has learnt from the table, but has not grown.
        pruning: The pruning of every tree.
        key: The key of the forest, from which follows what prunings draw.
        votes: The votes of prunings at the nodes, if these are known.
    """

    def __init__(
        self,
        forest: Forest,
        blank: BaseTree,
        pruning: Pruning | None,
        key: PRNGKeyArray,
        votes: Float[np.ndarray, "node column"] | None = None,
    ):
        self._forest = forest
        self._blank = blank
        self._pruning = pruning
        self._votes = votes
        self._key = key

    @functools.cached_property
    def trees(self) -> list[Any]:
        """The trees as fitted estimators."""
        seeds = pruning_seeds(split_key(self._key)[1], 0, len(self._forest))
        members = (member_of(self._blank, self._pruning, int(seed)) for seed in seeds)
        if self._votes is None:
            return [member.settle(tree) for member, tree in zip(members, self._forest, strict=True)]
        votes = np.split(self._votes, self._forest.first_node[1:-1])
        return [member.settle(tree, own) for member, tree, own in zip(members, self._forest, votes, strict=True)]


class Samples(NamedTuple):
    """What the rows of every tree follow from.

    Attributes:
        drawing: How rows are drawn; None where every tree has all rows.
        num_rows: The number of rows of some weight.
        has_weight: Which rows of the table these are; None if all.
    """

    drawing: Drawing | None
    num_rows: int
    has_weight: Bool[np.ndarray, " row"] | None

    def of_trees(self, num_trees: int) -> list[Int[np.ndarray, " draw"]]:
        """The rows of the table that every tree has, each as often as it was drawn."""
        row = np.arange(self.num_rows) if self.has_weight is None else np.flatnonzero(self.has_weight)
        row = row.astype(np.int32)
        if self.drawing is None:
            return [row.copy() for _ in range(num_trees)]
        return [np.repeat(row, draw_counts(self.drawing, tree, 1)[0]) for tree in range(num_trees)]


def member_of(blank: BaseTree, pruning: Pruning | None, seed: int) -> Any:
    """A tree of a forest before it has grown, with the seed of what its pruning draws."""
    member = copy.copy(blank)
    member.pruning = member.pruning_ = pruning
    member.random_state = seed
    return member


def prune_forest(
    grown: Forest,
    blank: BaseTree,
    pruning: Pruning | None,
    seeds: Int[np.ndarray, " tree"],
    start: PreparedFit,
    drawing: Drawing | None,
    first_tree: int,
) -> Forest:
    """Prunes every tree as an estimator of its own would, with the rows that it has not drawn held out.

    Args:
        grown: The trees, with thresholds in codes.
        blank: A tree that has learnt from the table, but has not grown.
        pruning: The pruning of every tree, beside those of the blank tree's other parameters.
        seeds: Of what the pruning of each tree draws.
        start: What the trees were grown on.
        drawing: How they drew their rows.
        first_tree: The number of the first of them.
    """
    masks = []
    for number, (tree, seed) in enumerate(zip(grown, seeds, strict=True)):
        own = start
        if pruning is not None and pruning.needs_validation and drawing is not None:
            unseen = np.flatnonzero(draw_counts(drawing, first_tree + number, 1)[0] == 0)
            own = start._replace(validation=start.sample.take(unseen))
        masks.append(member_of(blank, pruning, int(seed)).find_collapsed(tree, own))
    return take_trees(grown.nodes, grown.first_node[:-1], collapsed=np.concatenate(masks))


def pruning_seeds(key: PRNGKeyArray, first_tree: int, num_trees: int) -> Int[np.ndarray, " tree"]:
    """A seed for every tree, which follows from its number."""
    number = np.arange(first_tree, first_tree + num_trees, dtype=np.uint32)
    return np.asarray(_bits(key, number)).astype(np.int64) >> 1


@compiled()
def _bits(key, number):
    return jax.vmap(lambda n: jax.random.bits(jax.random.fold_in(key, n), (), jnp.uint32))(number)
