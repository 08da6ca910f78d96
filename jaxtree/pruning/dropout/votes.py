"""Votes of the draws of dropout pruning.

What a draw says of a row is said by the node where the row's walk stops. Of a row whose unpruned walk ends at v, that
is the first node on the path that is not kept, or v: so votes need no more of the draws than how often nodes are kept.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Int32, PRNGKeyArray, UInt

from jaxtree.arrays import AnyArray
from jaxtree.errors import InvalidInputError
from jaxtree.programs import compiled
from jaxtree.pruning.dropout.changes import ended_rows, exactly, of_skeleton, said_of_majority, target_means
from jaxtree.pruning.dropout.masks import (
    Drawing,
    block_size,
    check_whole_number,
    drawing_of,
    first_draws,
    kept_in_draws,
)
from jaxtree.pruning.dropout.rates import Rate, rates_of
from jaxtree.pruning.dropout.skeleton import Inner, along_path, inner_nodes, is_traced, skeleton_of, trim
from jaxtree.tree import Tree, apply


def drawn_votes(
    tree: Tree,
    p: Rate | None = None,
    q: Rate = 0.0,
    *,
    key: PRNGKeyArray,
    num_draws: int,
    said: Float[AnyArray, "node column"] | None = None,
    rates: Float[AnyArray, "... node"] | None = None,
) -> Float[AnyArray, "... node column"]:
    """The mean over draws of what is said of the rows whose walk in the unpruned tree ends at each node.

    Draw d is `dropout(tree, p, q, key=jax.random.fold_in(key, d))`.

    Args:
        tree: A tree with its root at node 0.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        key: A typed key.
        num_draws: Number of draws.
        said: What every node says of the rows that stop there. If not given, 1 for the class that it predicts and 0
            for the others, or in a regression tree the means of its targets.
        rates: In place of p and q, the probability of every node.

    Returns:
        A table for every p and q; on the host, in float64, unless something is traced.

    Raises:
        InvalidInputError: p, q, the rates, the number of draws or the shape of `said` are not allowed.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit(np.arange(3.0)[:, None], [0.0, 1.0, 5.0]).tree_
        >>> drawn_votes(tree, 0.5, key=jax.random.key(0), num_draws=10_000)[:, 0].round(2)
        array([2.  , 0.5 , 5.  , 0.25, 0.75])
    """
    check_whole_number("num_draws", num_draws)
    table = _what_is_said(tree, said)
    _, inner, drawing, batch = drawing_of(tree, p, q, rates, key)
    votes = exactly(_drawn_votes, inner, drawing, table, num_draws=num_draws)
    return trim(votes.reshape(*batch, *table.shape), tree.depth.shape[-1], axis=-2)


def expected_votes(
    tree: Tree,
    p: Rate | None = None,
    q: Rate = 0.0,
    said: Float[AnyArray, "node column"] | None = None,
    *,
    rates: Float[AnyArray, "... node"] | None = None,
) -> Float[AnyArray, "... node column"]:
    r"""The exact mean over all draws of what is said of the rows whose walk in the unpruned tree ends at each node.

    $V_v = \sum_u K_{\pi(u)}\, r_u\, x_u + K_{\pi(v)}\, x_v$, where u runs over the nodes above v, $\pi$ is the parent,
    and x is what a node says. Differentiable in the rates.

    Args:
        tree: A tree with its root at node 0.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        said: What every node says of the rows that stop there. If not given, 1 for the class that it predicts and 0
            for the others, or in a regression tree the means of its targets.
        rates: In place of p and q, the probability of every node.

    Returns:
        A table for every p and q; on the host, in float64, unless something is traced.

    Raises:
        InvalidInputError: p, q, the rates or the shape of `said` are not allowed.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit(np.arange(3.0)[:, None], [0.0, 1.0, 5.0]).tree_
        >>> expected_votes(tree, np.array([0.0, 0.5, 1.0]))[:, :, 0]
        array([[2.  , 0.5 , 5.  , 0.  , 1.  ],
               [2.  , 0.5 , 5.  , 0.25, 0.75],
               [2.  , 0.5 , 5.  , 0.5 , 0.5 ]])
    """
    said = _what_is_said(tree, said)
    skeleton = skeleton_of(tree)
    inner = inner_nodes(skeleton)
    if is_traced(tree, p, q, rates, said):
        votes = _expected_votes(inner, rates_of(tree, skeleton, p, q, rates, jnp.result_type(float)), said)
    else:
        with jax.enable_x64(True):
            votes = _expected_votes(inner, rates_of(tree, skeleton, p, q, rates, jnp.float64), said)
    return trim(votes, tree.depth.shape[-1], axis=-2)


def vote_share(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    p: Rate | None = None,
    q: Rate = 0.0,
    *,
    rates: Float[AnyArray, "... node"] | None = None,
) -> Float[AnyArray, "... row class"]:
    """The exact share of all draws that vote for each class, for every row: the infinite ensemble.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        rates: In place of p and q, the probability of every node.

    Raises:
        InvalidInputError: p, q or the rates are out of their range.
    """
    votes = expected_votes(tree, p, q, rates=rates)
    end = apply(tree, codes)
    return votes[..., end if is_traced(votes, end) else np.asarray(end), :]


def vote_accuracy(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Int[AnyArray, " row"],
    p: Rate | None = None,
    q: Rate = 0.0,
    *,
    key: PRNGKeyArray,
    num_draws: int,
    rates: Float[AnyArray, "... node"] | None = None,
) -> Float[Array, "... draw"]:
    """Accuracy of the vote of the first draw, of the first two, and so on; of equal votes the lowest class wins.

    Draw d is `dropout(tree, p, q, key=jax.random.fold_in(key, d))`.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        key: A typed key.
        num_draws: The most draws that vote.
        rates: In place of p and q, the probability of every node.

    Raises:
        InvalidInputError: p, q, the rates, the number of draws or the shapes are out of their range.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> table = load_play_tennis()
        >>> estimator = ID3Classifier().fit(table.data, table.target)
        >>> codes, y = estimator.encode(table.data), (table.target == "yes").astype(int)
        >>> accuracy = vote_accuracy(estimator.tree_, codes, y, 0.4, key=jax.random.key(0), num_draws=101)
        >>> print(f"{accuracy[0]:.3f} {accuracy[-1]:.3f}")
        0.857 1.000
    """
    check_whole_number("num_draws", num_draws)
    ended = ended_rows(tree, codes, y)
    said = said_of_majority(tree).astype(bool)
    _, inner, drawing, batch = drawing_of(tree, p, q, rates, key)
    right = _count_right_votes(inner, drawing, said, ended, num_draws=num_draws)
    return right.reshape(*batch, num_draws) / jnp.asarray(codes.shape[1], float)


def _what_is_said(tree: Tree, said) -> Float[AnyArray, "node column"]:
    """What every node says, padded as the tree's skeleton is."""
    if said is None:
        return said_of_majority(tree) if tree.num_classes else of_skeleton(tree, target_means(tree))
    if said.shape[0] != tree.depth.shape[-1]:
        raise InvalidInputError(f"said must have a row for each of {tree.depth.shape[-1]} nodes, got {said.shape}")
    return of_skeleton(tree, said)


@compiled()
def _expected_votes(inner: Inner, rates, said) -> Float[Array, "... node column"]:
    rates = rates[..., inner.node]
    kept = along_path(jnp.multiply, 1 - rates, inner.parent)
    return _mix(inner, kept, kept[..., inner.parent] * rates, said)


@compiled("num_draws")
def _drawn_votes(inner: Inner, drawing: Drawing, said, *, num_draws: int) -> Float[Array, "setting node column"]:
    size = block_size(drawing.rates, num_draws)

    def add_block(count, first):
        is_draw = first + jnp.arange(size, dtype=jnp.uint32) < num_draws
        return count + jnp.sum(kept_in_draws(drawing, first, size) & is_draw, axis=-1, dtype=jnp.int32), None

    count = lax.scan(add_block, jnp.zeros(drawing.rates.shape, jnp.int32), first_draws(num_draws, size))[0]
    stopped = count[:, inner.parent] - count
    return _mix(inner, count.astype(said.dtype), stopped.astype(said.dtype), said) / num_draws


def _mix(inner: Inner, kept, stopped, said) -> Float[Array, "*setting node column"]:
    """What is said where walks stop, by how often they stop at inner nodes and how often these are kept."""
    above = along_path(jnp.add, stopped[..., None] * said[inner.node], inner.parent, axis=-2)
    return above[..., inner.above, :] + kept[..., inner.above, None] * said


@compiled("num_draws")
def _count_right_votes(
    inner: Inner,
    drawing: Drawing,
    said: Bool[Array, "node class"],
    ended: Int32[Array, "node class"],
    *,
    num_draws: int,
) -> Int32[Array, "setting draw"]:
    size = block_size(drawing.rates, num_draws, columns=2)

    def count_block(before, first):
        kept = kept_in_draws(drawing, first, size)
        count = before[..., None] + jnp.cumsum(kept, axis=-1, dtype=jnp.int32)
        return count[..., -1], _right_votes(inner, count, said, ended)

    start = jnp.zeros(drawing.rates.shape, jnp.int32)
    blocks = lax.scan(count_block, start, first_draws(num_draws, size))[1]
    return jnp.moveaxis(blocks, 0, 1).reshape(drawing.rates.shape[0], -1)[:, :num_draws]


def _right_votes(inner: Inner, count: Int32[Array, "setting place draw"], said, ended) -> Int32[Array, "setting draw"]:
    """Rows for whose class most draws vote, by how many draws up to each one keep a node."""
    stopped = count[:, inner.parent] - count

    def vote_for(class_, so_far):
        most, right = so_far
        above = along_path(jnp.add, stopped * said[inner.node, class_, None], inner.parent, axis=-2)
        votes = above[:, inner.above] + count[:, inner.above] * said[:, class_, None]
        return jnp.maximum(most, votes), jnp.where(votes > most, ended[:, class_, None], right)

    shape = (count.shape[0], said.shape[0], count.shape[2])
    start = jnp.full(shape, -1, jnp.int32), jnp.zeros(shape, jnp.int32)
    return jnp.sum(lax.fori_loop(0, said.shape[1], vote_for, start)[1], axis=1, dtype=jnp.int32)
