r"""Draws of dropout pruning (Zhu and Zhou, *Decision Trees for Classification*, 2023), and the rates that they have.

A node's *rate* is the probability that it is collapsed by itself, independently of all others; the root's is 0. In the
paper a child made by a split at level l (the root's split is at level 0) has the rate $\min(1, p\,(1+q)^l)$.

A node's number in a draw has 31 random bits, made by the key's generator from the key and the node's path from the
root; the node is collapsed if the number is less than its rate. Rates are compared in float32 whatever the user's
setting, so that a draw is the same everywhere.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Int32, Key, PRNGKeyArray, UInt32

from jaxtree.arrays import AnyArray, FloatLike, child_hash, is_traced
from jaxtree.compilation import compiled
from jaxtree.devices import current_platform
from jaxtree.errors import InvalidInputError
from jaxtree.prune.inputs import call_in_float64, check_numbers, check_whole_number
from jaxtree.tree import Tree
from jaxtree.tree.nodes import pad_to_bucket
from jaxtree.tree.paths import Inner, Links, along_path, inner_nodes, links_of, trim

LARGEST_GROWTH = 1e30
"""Bound of (1+q)^l, so that p = 0 stays 0 at any depth."""

MOST_LEVELS = 2**20
"""The number of levels if none is given; deeper nodes have the last level's rate."""

NUMBER_BITS = 31
"""Bits of a node's number, so that a rate of 1, which is above all of them, has 32."""

BLOCK_SIZE = 2**18
"""The nodes of all draws and settings that are processed at a time, about as many as fit a CPU's cache."""

BLOCK_SIZE_OF_ACCELERATORS = 2**24
"""The same for a GPU or TPU, for which a thousand draws at sixty settings of a small tree are one block, not 16."""

Rates = Float[AnyArray, "... node"]
"""The rate of every node, with batch axes in front; the root's is ignored."""


class DrawPlan(NamedTuple):
    """The key of some draws, the inner nodes of the tree, and the path and the rates of each."""

    key: PRNGKeyArray
    inner: Inner
    path: UInt32[AnyArray, " place"]
    rates: Float[AnyArray, "setting place"]


def collapse_probability(
    depth: Int[AnyArray, " node"], p: FloatLike, q: FloatLike, *, num_levels: int = MOST_LEVELS
) -> Float[Array, "... node"]:
    r"""Returns $\min(1, p\,(1+q)^{d-1})$ for nodes at depth d; the root's is ignored.

    Where the minimum is just reached, the gradient is that of its second part.

    Args:
        depth: The depth of every node.
        p: Probability at depth 1, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        num_levels: Bound of the depth; a lower one is cheaper.

    Example:
        >>> collapse_probability(np.array([1, 2, 3]), 0.25, 1.0).tolist()
        [0.25, 0.5, 1.0]
    """
    p, q = (jnp.asarray(number, float)[..., None] for number in (p, q))
    rate = p * _growth(q, jnp.clip(jnp.asarray(depth) - 1, 0, num_levels - 1), num_levels)
    # At p = 1, the end of its range, `minimum` would halve the gradient.
    return jnp.where(rate > 1, 1, rate)


def node_rates(tree: Tree, p: FloatLike, q: FloatLike = 0.0) -> Rates:
    r"""Returns the rates of the paper: $\min(1, p\,(1+q)^{d-1})$ at depth d, and 0 for the root.

    Args:
        tree: A tree with its root at node 0.
        p: Probability that a child of the root is collapsed, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.

    Returns:
        On the host in float64, or JAX's arrays if anything is traced; differentiable in p and q.

    Raises:
        InvalidInputError: p or q is out of its range.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> tree = ID3Classifier().fit(*load_play_tennis(return_X_y=True)).tree_
        >>> node_rates(tree, 0.5, np.array([0.0, 0.5]))
        array([[0.  , 0.5 , 0.5 , 0.5 , 0.5 , 0.5 , 0.5 , 0.5 ],
               [0.  , 0.5 , 0.5 , 0.5 , 0.75, 0.75, 0.75, 0.75]])
    """
    p, q = check_numbers("dropout p", p, most=1.0), check_numbers("dropout q", q)
    depth = tree.depth if is_traced(tree) else pad_to_bucket(tree.depth)
    return trim(call_in_float64(_rates_at, depth, p, q), tree.depth.shape[-1])


def level_rates(tree: Tree, rates: Float[AnyArray, "... level"]) -> Float[Array, "... node"]:
    """Returns the rates of the nodes when every level has one.

    Args:
        tree: A tree with its root at node 0.
        rates: The rate of the children of the root, of their children, and so on, from 0 to 1; what lies deeper than
            there are levels has the last one's.

    Raises:
        InvalidInputError: There is no level, or a rate is out of its range.
    """
    check_numbers("a rate of dropout", rates, most=1.0)
    if not rates.shape[-1]:
        raise InvalidInputError("dropout needs the rate of one level at least, got none")
    depth, rates = jnp.asarray(tree.depth), jnp.asarray(rates, jnp.result_type(float))
    return jnp.where(depth > 0, jnp.take(rates, depth - 1, axis=-1, mode="clip"), 0)


def dropout(tree: Tree, rates: Rates, *, key: PRNGKeyArray) -> Bool[AnyArray, "... node"]:
    """Returns the nodes collapsed by one draw of dropout pruning.

    Every node is collapsed with the probability that is its rate. Its random number comes from the key and its path
    from the root, so neither the rest of the tree nor other rates change it: with one key, the nodes collapsed at some
    rates are also collapsed at any larger ones. Leaves are not marked.
    (A path is represented by a 32-bit hash: in a tree of 1,000 nodes two share a number once in 10,000 trees.)

    Args:
        tree: A tree with its root at node 0.
        rates: The rate of every node, such as `jaxtree.dropout.node_rates` makes of the paper's p and q, with batch
            axes in front; the root's is ignored.
        key: A typed key, `jax.random.key(seed)`.

    Returns:
        One mask for all rates of nodes; on the host unless something is traced.

    Raises:
        InvalidInputError: The rates are out of their range, or not those of the tree's nodes.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> tree = ID3Classifier().fit(*load_play_tennis(return_X_y=True)).tree_
        >>> dropout(tree, node_rates(tree, np.array([0.0, 0.5, 1.0])), key=jax.random.key(0))[:, :4]
        array([[False, False, False, False],
               [False, False,  True,  True],
               [False, False,  True,  True]])
    """
    collapsed = _collapse(links_of(tree), padded_rates(tree, rates), key)
    return trim(collapsed, tree.depth.shape[-1])


def draws(tree: Tree, rates: Rates, *, key: PRNGKeyArray, num_draws: int) -> Bool[AnyArray, "... draw node"]:
    """Returns many draws of dropout pruning; draw d is `dropout(tree, rates, key=jax.random.fold_in(key, d))`.

    Args:
        tree: A tree with its root at node 0.
        rates: The rate of every node, see `dropout`.
        key: A typed key.
        num_draws: Number of draws; fewer draws are the first of more.

    Raises:
        InvalidInputError: The rates or the number of draws are out of their range.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> tree = ID3Classifier().fit(*load_play_tennis(return_X_y=True)).tree_
        >>> draws(tree, node_rates(tree, 0.5), key=jax.random.key(0), num_draws=1000).mean(axis=0).round(1)
        array([0. , 0. , 0.5, 0.5, 0. , 0. , 0. , 0. ])
    """
    check_whole_number("num_draws", num_draws)
    collapsed = _collapse_often(
        links_of(tree), padded_rates(tree, rates), key, num_draws=num_draws, platform=current_platform()
    )
    return trim(collapsed, tree.depth.shape[-1])


def node_numbers(tree: Tree, *, key: PRNGKeyArray) -> UInt32[np.ndarray, " node"]:
    """Returns the number of every node in the draw of a key; `dropout` collapses it where that is below rate x 2^31.

    So all draws that rates can make with one key are comparisons with these numbers.

    Args:
        tree: A tree with its root at node 0, on the host.
        key: A typed key, `jax.random.key(seed)`.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> tree = ID3Classifier().fit(*load_play_tennis(return_X_y=True)).tree_
        >>> inner = np.asarray(tree.num_children > 0) & (tree.depth > 0)
        >>> (inner & (node_numbers(tree, key=jax.random.key(0)) < 0.5 * 2**31))[:4]
        array([False, False,  True,  True])
    """
    return trim(_numbers_of_draw(links_of(tree), key), tree.depth.shape[-1])


def padded_rates(tree: Tree, rates: Rates) -> Float[AnyArray, "... padded"]:
    """Returns rates for the nodes of `links_of(tree)`; 0 for the root and the padding.

    Raises:
        InvalidInputError: The rates are out of their range, or not those of the tree's nodes.
    """
    check_numbers("a rate of dropout", rates, most=1.0)
    if rates.ndim == 0 or rates.shape[-1] != tree.depth.shape[-1]:
        raise InvalidInputError(f"rates must have {tree.depth.shape[-1]} nodes in their last axis, got {rates.shape}")
    depth = tree.depth if is_traced(tree) else pad_to_bucket(tree.depth)
    library = jnp if is_traced(tree, rates) else np
    padded = library.pad(rates, [(0, 0)] * (rates.ndim - 1) + [(0, len(depth) - rates.shape[-1])])
    return library.where(depth > 0, padded, 0.0)


def plan_draws(tree: Tree, rates: Rates, key: PRNGKeyArray, num_draws: int) -> tuple[DrawPlan, tuple[int, ...]]:
    """Returns the plan of draws of the inner nodes, with all settings in one axis, and the shape of the settings."""
    check_whole_number("num_draws", num_draws)
    links, rates = links_of(tree), padded_rates(tree, rates)
    return _take_inner(links, inner_nodes(links), rates, key), rates.shape[:-1]


def scan_draws(
    plan: DrawPlan, num_draws: int, use: Callable[[Array, Array], Any], *, platform: str, columns: int = 1
) -> tuple[Int32[Array, "setting place"], Any]:
    """Makes draws block by block; a node is *kept* in a draw if neither it nor any node above it is collapsed.

    Args:
        plan: The plan of the draws.
        num_draws: The number of draws.
        use: Makes a number of every draw of a block, or None, given how often each node was kept in the draws before,
            and which nodes are kept in these: (setting, place) and (setting, place, draw).
        platform: The platform that it runs on.
        columns: How many numbers `use` holds at every place of a draw.

    Returns:
        How often every node is kept, and the numbers of all draws, (setting, draw).
    """
    size = _block_size(plan.rates, num_draws, platform, columns)

    def visit_block(count, first):
        draw = first + jnp.arange(size, dtype=jnp.uint32)
        number = jax.vmap(_numbers, in_axes=(None, 0), out_axes=1)(plan.path, _keys_of(plan.key, draw))
        kept = along_path(jnp.logical_and, number >= _limits(plan.rates)[..., None], plan.inner.parent, axis=-2)
        kept &= draw < num_draws
        return count + jnp.sum(kept, axis=-1, dtype=jnp.int32), use(count, kept)

    start = jnp.zeros(plan.rates.shape, jnp.int32)
    count, made = lax.scan(visit_block, start, jnp.arange(0, num_draws, size, dtype=jnp.uint32))
    return count, jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1).reshape(len(plan.rates), -1)[:, :num_draws], made)


@compiled()
def _take_inner(links: Links, inner: Inner, rates, key) -> DrawPlan:
    rates = rates.reshape(-1, rates.shape[-1])[:, inner.node]
    return DrawPlan(key, inner, _path_hashes(links)[inner.node], rates)


def _block_size(rates: Float[AnyArray, "*setting place"], num_draws: int, platform: str, columns: int = 1) -> int:
    """The number of draws processed at a time, a power of two, if each has `columns` columns at every place."""
    most = BLOCK_SIZE if platform == "cpu" else BLOCK_SIZE_OF_ACCELERATORS
    fitting = 1 << max(most // (rates.size * columns), 1).bit_length() - 1
    return min(fitting, 1 << (num_draws - 1).bit_length())


@compiled()
def _collapse(links: Links, rates, key) -> Bool[Array, "... node"]:
    number = _numbers(_path_hashes(links), key)
    return (number < _limits(rates)) & (links.num_children > 0)


@compiled()
def _numbers_of_draw(links: Links, key: PRNGKeyArray) -> UInt32[Array, " node"]:
    return _numbers(_path_hashes(links), key)


@compiled("num_draws", "platform")
def _collapse_often(links: Links, rates, key, *, num_draws: int, platform: str) -> Bool[Array, "... draw node"]:
    path, batch, num_nodes = _path_hashes(links), rates.shape[:-1], rates.shape[-1]
    size = _block_size(rates, num_draws, platform)

    def one_block(first):
        keys = _keys_of(key, first + jnp.arange(size, dtype=jnp.uint32))
        number = jax.vmap(_numbers, in_axes=(None, 0))(path, keys)
        return (number < _limits(rates)[..., None, :]) & (links.num_children > 0)

    blocks = lax.map(one_block, jnp.arange(0, num_draws, size, dtype=jnp.uint32))
    return jnp.moveaxis(blocks, 0, -3).reshape(*batch, -1, num_nodes)[..., :num_draws, :]


def _keys_of(key: PRNGKeyArray, number: UInt32[Array, " place"]) -> Key[Array, " place"]:
    return jax.vmap(functools.partial(jax.random.fold_in, key))(number)


def _numbers(path: UInt32[Array, " place"], key: PRNGKeyArray) -> UInt32[Array, " place"]:
    """The number of every path in the draw of a key: the first word of the key folded by the path."""
    return jax.random.key_data(_keys_of(key, path))[:, 0] >> (32 - NUMBER_BITS)


def _limits(rates: Float[Array, "*setting place"]) -> UInt32[Array, "*setting place"]:
    """The least number that is not less than a rate."""
    return jnp.ceil(rates.astype(jnp.float32) * 2.0**NUMBER_BITS).astype(jnp.uint32)


def _path_hashes(links: Links) -> UInt32[Array, " node"]:
    """A hash of the branches from the root to every node."""
    node = jnp.arange(links.depth.shape[0], dtype=jnp.int32)
    branch = (node - links.first_child[links.parent]).astype(jnp.uint32)

    def descend(depth, path):
        return jnp.where(links.depth == depth, child_hash(path[links.parent], branch), path)

    return lax.fori_loop(1, jnp.max(links.depth) + 1, descend, jnp.zeros(node.shape, jnp.uint32))


@compiled()
def _rates_at(depth: Int[Array, " node"], p, q) -> Float[Array, "... node"]:
    return jnp.where(depth > 0, collapse_probability(depth, p, q, num_levels=depth.shape[0]), 0)


def _growth(
    q: Float[Array, "*setting 1"], level: Int[Array, " node"], num_levels: int
) -> Float[Array, "*setting node"]:
    """(1+q)^l by multiplications alone, which are the same on every device, and whose gradient is finite."""

    def square(bit, state):
        growth, power = state
        growth = jnp.minimum(growth * jnp.where((level >> bit) & 1, power, 1), LARGEST_GROWTH)
        return growth, jnp.minimum(power * power, LARGEST_GROWTH)

    ones = jnp.ones_like(q * level)
    return lax.fori_loop(0, (num_levels - 1).bit_length(), square, (ones, 1 + q))[0]
