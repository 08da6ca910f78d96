r"""Votes of the draws of dropout pruning.

The vote of a draw for a row is the value of the node where the row's walk stops. Of a row whose unpruned walk ends at
v, that is the first node on the path that is not kept, or v: so votes need no more of the draws than how often nodes
are kept. A node is *kept* in a draw if neither it nor any node above it is collapsed.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Num, PRNGKeyArray, Real

from jaxtree.arrays import AnyArray, is_traced
from jaxtree.compilation import compiled
from jaxtree.errors import InvalidInputError
from jaxtree.prune.draws import (
    DrawPlan,
    Rates,
    block_size,
    check_whole_number,
    first_draws,
    kept_in_draws,
    padded_rates,
    plan_draws,
)
from jaxtree.prune.inputs import check_classes, exactly
from jaxtree.tree import Tree, majority_class
from jaxtree.tree.nodes import pad_to_bucket
from jaxtree.tree.paths import Inner, along_path, inner_nodes, links_of, trim


def drawn_votes(
    tree: Tree,
    rates: Rates,
    *,
    key: PRNGKeyArray,
    num_draws: int,
    node_value: Float[AnyArray, "node column"] | None = None,
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
        >>> from jaxtree import DecisionTreeRegressor
        >>> from jaxtree.dropout import node_rates
        >>> tree = DecisionTreeRegressor().fit(np.arange(3.0)[:, None], [0.0, 1.0, 5.0]).tree_
        >>> drawn_votes(tree, node_rates(tree, 0.5), key=jax.random.key(0), num_draws=10_000)[:, 0].round(2)
        array([2.  , 0.5 , 5.  , 0.25, 0.75])
    """
    check_whole_number("num_draws", num_draws)
    table = _padded_values(tree, node_value)
    inner, plan, batch = plan_draws(tree, rates, key)
    votes = exactly(_drawn_votes, inner, plan, table, num_draws=num_draws)
    return trim(votes.reshape(*batch, *table.shape), tree.depth.shape[-1], axis=-2)


def expected_votes(
    tree: Tree, rates: Rates, node_value: Float[AnyArray, "node column"] | None = None
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
    if is_traced(tree, rates, table):
        votes = _expected_votes(inner, padded_rates(tree, rates, jnp.result_type(float)), table)
    else:
        with jax.enable_x64(True):
            votes = _expected_votes(inner, padded_rates(tree, rates, jnp.float64), table)
    return trim(votes, tree.depth.shape[-1], axis=-2)


def majority_table(tree: Tree) -> Float[AnyArray, "node class"]:
    """Returns 1 for the class that a node predicts, 0 for the others; padded as the tree's links are."""
    check_classes(tree, "the analysis of dropout", of_one_output=True)
    classes = np.arange(tree.count.shape[-1], dtype=np.int32)
    return pad_like_links(tree, (majority_class(tree)[:, None] == classes).astype(float))


def mean_table(tree: Tree) -> Float[AnyArray, "node output"]:
    """Returns the mean of every target at every node, of an empty node its parent's; on the host unless traced."""
    library, dtype = (jnp, float) if is_traced(tree) else (np, np.float64)
    weight = library.asarray(tree.weight[:, None], dtype)
    mean = tree.target_sum / library.where(weight > 0, weight, 1)
    return library.where(weight > 0, mean, mean[tree.parent])


def pad_like_links(tree: Tree, table: Num[AnyArray, "node column"]) -> Real[AnyArray, "padded column"]:
    """Pads a table over the nodes as the tree's links are."""
    return table if is_traced(tree, table) else pad_to_bucket(table)


def _padded_values(tree: Tree, node_value) -> Float[AnyArray, "node column"]:
    if node_value is None:
        return majority_table(tree) if tree.num_classes else pad_like_links(tree, mean_table(tree))
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


@compiled("num_draws")
def _drawn_votes(inner: Inner, plan: DrawPlan, node_value, *, num_draws: int) -> Float[Array, "setting node column"]:
    size = block_size(plan.rates, num_draws)

    def add_block(count, first):
        is_draw = first + jnp.arange(size, dtype=jnp.uint32) < num_draws
        return count + jnp.sum(kept_in_draws(plan, first, size) & is_draw, axis=-1, dtype=jnp.int32), None

    count = lax.scan(add_block, jnp.zeros(plan.rates.shape, jnp.int32), first_draws(num_draws, size))[0]
    stopped = count[:, inner.parent] - count
    return _mix(inner, count.astype(node_value.dtype), stopped.astype(node_value.dtype), node_value) / num_draws


def _mix(inner: Inner, kept, stopped, node_value) -> Float[Array, "*setting node column"]:
    """The values where walks stop, by how often they stop at inner nodes and how often these are kept."""
    above = along_path(jnp.add, stopped[..., None] * node_value[inner.node], inner.parent, axis=-2)
    return above[..., inner.above, :] + kept[..., inner.above, None] * node_value
