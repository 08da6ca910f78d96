r"""Votes of the draws of dropout pruning.

The vote of a draw for a row is the value of the node where the row's walk stops. If the row's unpruned walk ends at v,
this node is the first on the path to v that is not kept, or else v: so votes need no more of the draws than how often
nodes are kept. A node is *kept* in a draw if neither it nor any node above it is collapsed.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, Real

from jaxtree.arrays import AnyArray, is_traced
from jaxtree.compilation import compiled
from jaxtree.devices import current_platform
from jaxtree.dropout.scores import (
    RowClasses,
    RowCodes,
    RowWeights,
    ended_rows,
    majority_table,
    pad_like_links,
    total_weight,
)
from jaxtree.errors import InvalidInputError
from jaxtree.prune.draws import DrawPlan, Rates, padded_rates, plan_draws, scan_draws
from jaxtree.prune.inputs import call_in_float64
from jaxtree.tree import Tree, apply
from jaxtree.tree.nodes import target_means
from jaxtree.tree.paths import Inner, along_path, inner_nodes, links_of, trim


def drawn_votes(
    tree: Tree,
    rates: Rates,
    *,
    key: PRNGKeyArray,
    num_draws: int,
    node_value: Float[AnyArray, "_node column"] | None = None,
) -> Float[AnyArray, "... node column"]:
    """Returns the mean vote of many draws for the rows whose walk in the unpruned tree ends at each node.

    Draw d is `dropout(tree, rates, key=jax.random.fold_in(key, d))`.

    Args:
        tree: A tree with its root at node 0.
        rates: The rate of every node, see `jaxtree.prune.dropout`.
        key: A typed key.
        num_draws: Number of draws.
        node_value: The vote for the rows that stop at each node. If not given, 1 for the class that it predicts and 0
            for the others, or in a regression tree the means of its targets.

    Returns:
        A table for all rates of nodes; on the host, in float64, unless something is traced.

    Raises:
        InvalidInputError: The rates, the number of draws or the shape of `node_value` are not allowed.

    Example:
        >>> import jax
        >>> from jaxtree import DecisionTreeRegressor
        >>> from jaxtree.dropout import node_rates
        >>> tree = DecisionTreeRegressor().fit(np.arange(3.0)[:, None], [0.0, 1.0, 5.0]).tree_
        >>> drawn_votes(tree, node_rates(tree, 0.5), key=jax.random.key(0), num_draws=10_000)[:, 0].round(2)
        array([2.  , 0.5 , 5.  , 0.25, 0.75])
    """
    table = _padded_values(tree, node_value)
    plan, batch = plan_draws(tree, rates, key, num_draws)
    votes = call_in_float64(_drawn_votes, plan, table, num_draws=num_draws, platform=current_platform())
    return trim(votes.reshape(*batch, *table.shape), tree.depth.shape[-1], axis=-2)


def expected_votes(
    tree: Tree, rates: Rates, node_value: Float[AnyArray, "_node column"] | None = None
) -> Float[AnyArray, "... node column"]:
    r"""Returns the exact mean vote of all draws for the rows whose walk in the unpruned tree ends at each node.

    $V_v = \sum_u K_{\pi(u)}\, r_u\, x_u + K_{\pi(v)}\, x_v$, where u runs over the nodes above v, $\pi$ is the parent,
    r the rate, K the probability that a node is kept, and x its value. Differentiable in the rates.

    Args:
        tree: A tree with its root at node 0.
        rates: The rate of every node, see `jaxtree.prune.dropout`.
        node_value: The vote for the rows that stop at each node. If not given, 1 for the class that it predicts and 0
            for the others, or in a regression tree the means of its targets.

    Returns:
        A table for all rates of nodes; on the host, in float64, unless something is traced.

    Raises:
        InvalidInputError: The rates or the shape of `node_value` are not allowed.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> from jaxtree.dropout import node_rates
        >>> tree = DecisionTreeRegressor().fit(np.arange(3.0)[:, None], [0.0, 1.0, 5.0]).tree_
        >>> expected_votes(tree, node_rates(tree, np.array([0.0, 0.5, 1.0])))[:, :, 0]
        array([[2.  , 0.5 , 5.  , 0.  , 1.  ],
               [2.  , 0.5 , 5.  , 0.25, 0.75],
               [2.  , 0.5 , 5.  , 0.5 , 0.5 ]])
    """
    table, inner = _padded_values(tree, node_value), inner_nodes(links_of(tree))
    votes = call_in_float64(_expected_votes, inner, padded_rates(tree, rates), table)
    return trim(votes, tree.depth.shape[-1], axis=-2)


def vote_share(tree: Tree, codes: RowCodes, rates: Rates) -> Float[AnyArray, "... row class"]:
    """Returns the exact share of all draws that vote for each class, for every row: the infinite ensemble.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        rates: The rate of every node, see `jaxtree.prune.dropout`.

    Raises:
        InvalidInputError: The rates are out of their range.
    """
    votes = expected_votes(tree, rates)
    end = apply(tree, codes)
    return votes[..., end if is_traced(votes, end) else np.asarray(end), :]


def vote_accuracy(
    tree: Tree,
    codes: RowCodes,
    y: RowClasses,
    rates: Rates,
    *,
    key: PRNGKeyArray,
    num_draws: int,
    weight: RowWeights = None,
) -> Float[Array, "... draw"]:
    """Returns the accuracy of the vote of the first draw, of the first two, and so on.

    The lowest class of equal votes wins. Draw d is `dropout(tree, rates, key=jax.random.fold_in(key, d))`.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        rates: The rate of every node, see `jaxtree.prune.dropout`.
        key: A typed key.
        num_draws: The most draws that vote.
        weight: Weight of every row; 1 if not given.

    Raises:
        InvalidInputError: The rates, the number of draws or the shapes are out of their range.

    Example:
        >>> import jax
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> from jaxtree.dropout import node_rates
        >>> table = load_play_tennis()
        >>> estimator = ID3Classifier().fit(table.data, table.target)
        >>> codes, y = estimator.encode(table.data), (table.target == "yes").astype(int)
        >>> rates = node_rates(estimator.tree_, 0.4)
        >>> accuracy = vote_accuracy(estimator.tree_, codes, y, rates, key=jax.random.key(0), num_draws=101)
        >>> print(f"{accuracy[0]:.3f} {accuracy[-1]:.3f}")
        0.857 1.000
    """
    ended, votes = ended_rows(tree, codes, y, weight), majority_table(tree).astype(bool)
    plan, batch = plan_draws(tree, rates, key, num_draws)
    right = _count_right_votes(plan, votes, ended, num_draws=num_draws, platform=current_platform())
    return right.reshape(*batch, num_draws) / jnp.asarray(total_weight(codes, weight), float)


def _padded_values(tree: Tree, node_value) -> Float[AnyArray, "node column"]:
    if node_value is None:
        return majority_table(tree) if tree.num_classes else pad_like_links(tree, target_means(tree))
    if node_value.shape[0] != tree.depth.shape[-1]:
        raise InvalidInputError(
            f"node_value must have a row for each of {tree.depth.shape[-1]} nodes, got {node_value.shape}"
        )
    return pad_like_links(tree, node_value)


@compiled()
def _expected_votes(inner: Inner, rates, node_value) -> Float[Array, "... node column"]:
    rates = rates[..., inner.node]
    kept = along_path(jnp.multiply, 1 - rates, inner.parent)
    return _mix(inner, kept, kept[..., inner.parent] * rates, node_value)


@compiled("num_draws", "platform")
def _drawn_votes(plan: DrawPlan, node_value, *, num_draws: int, platform: str) -> Float[Array, "setting node column"]:
    inner, count = plan.inner, scan_draws(plan, num_draws, lambda count, kept: None, platform=platform)[0]
    stopped = count[:, inner.parent] - count
    return _mix(inner, count.astype(node_value.dtype), stopped.astype(node_value.dtype), node_value) / num_draws


def _mix(inner: Inner, kept, stopped, node_value) -> Float[Array, "*setting node column"]:
    """The values where walks stop, by how often they stop at inner nodes and how often these are kept."""
    above = along_path(jnp.add, stopped[..., None] * node_value[inner.node], inner.parent, axis=-2)
    return above[..., inner.above, :] + kept[..., inner.above, None] * node_value


@compiled("num_draws", "platform")
def _count_right_votes(
    plan: DrawPlan,
    node_votes: Bool[Array, "node class"],
    ended: Real[Array, "node class"],
    *,
    num_draws: int,
    platform: str,
) -> Real[Array, "setting draw"]:
    def count_right(before, kept):
        count = before[..., None] + jnp.cumsum(kept, axis=-1, dtype=jnp.int32)
        return _right_votes(plan.inner, count, node_votes, ended)

    return scan_draws(plan, num_draws, count_right, platform=platform, columns=2)[1]


def _right_votes(
    inner: Inner, count: Int32[Array, "setting place draw"], node_votes, ended
) -> Real[Array, "setting draw"]:
    """Rows for whose class most draws vote, by how many draws up to each one keep a node."""
    stopped = count[:, inner.parent] - count

    def vote_for(class_, so_far):
        most, right = so_far
        above = along_path(jnp.add, stopped * node_votes[inner.node, class_, None], inner.parent, axis=-2)
        votes = above[:, inner.above] + count[:, inner.above] * node_votes[:, class_, None]
        return jnp.maximum(most, votes), jnp.where(votes > most, ended[:, class_, None], right)

    shape = (count.shape[0], node_votes.shape[0], count.shape[2])
    start = jnp.full(shape, -1, jnp.int32), jnp.zeros(shape, ended.dtype)
    return jnp.sum(lax.fori_loop(0, node_votes.shape[1], vote_for, start)[1], axis=1, dtype=ended.dtype)
