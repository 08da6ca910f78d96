"""Draws of dropout pruning.

A node's number in a draw has 31 random bits, made by the key's generator from the key and the node's path from the
root; the node is collapsed if the number is less than its rate. Rates are compared in float32 whatever the user's
setting, so that a draw is the same everywhere.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, UInt32

from jaxtree.arrays import AnyArray
from jaxtree.errors import InvalidInputError
from jaxtree.hashing import child_hash
from jaxtree.programs import compiled
from jaxtree.pruning.dropout.rates import Rate, rates_of
from jaxtree.pruning.dropout.skeleton import Inner, Skeleton, along_path, inner_nodes, skeleton_of, trim
from jaxtree.tree import Tree

NUMBER_BITS = 31
"""Bits of a node's number, so that a rate of 1, which is above all of them, has 32."""

BLOCK_SIZE = 2**18
"""About how many nodes, of all draws and settings, are worked on at a time: what fits a cache."""


class Drawing(NamedTuple):
    """What draws are made from: for every place of a list of nodes its path, the place above, and its rates."""

    key: PRNGKeyArray
    path: UInt32[AnyArray, " place"]
    parent: Int[AnyArray, " place"]
    rates: Float[AnyArray, "setting place"]


def dropout(
    tree: Tree,
    p: Rate | None = None,
    q: Rate = 0.0,
    *,
    key: PRNGKeyArray,
    rates: Float[AnyArray, "... node"] | None = None,
) -> Bool[AnyArray, "... node"]:
    r"""Nodes collapsed by one draw of dropout pruning.

    A child made by a split at level l is collapsed with probability $\min(1, p\,(1+q)^l)$. Its random
    number comes from the key and its path from the root, so neither the rest of the tree nor other
    settings change it: with one key, the nodes collapsed at some p are also collapsed at any larger p.
    Leaves are not marked.
    (Paths are told apart by 32-bit hashes: in a tree of 1,000 nodes two share a number once in 10,000 trees.)

    Args:
        tree: A tree with its root at node 0.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        key: A typed key, `jax.random.key(seed)`.
        rates: In place of p and q, the probability of every node; see `level_rates`. The root's is of no account.

    Returns:
        One mask for every p and q, or for all rates of nodes; on the host unless something is traced.

    Raises:
        InvalidInputError: p, q or the rates are out of their range.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> table = load_play_tennis()
        >>> tree = ID3Classifier().fit(table.data, table.target).tree_
        >>> dropout(tree, np.array([0.0, 0.5, 1.0]), key=jax.random.key(0))[:, :4]
        array([[False, False, False, False],
               [False, False,  True,  True],
               [False, False,  True,  True]])
    """
    skeleton = skeleton_of(tree)
    rates = rates_of(tree, skeleton, p, q, rates, jnp.float32)
    return trim(_collapse(skeleton, rates, key), tree.depth.shape[-1])


def draws(
    tree: Tree,
    p: Rate | None = None,
    q: Rate = 0.0,
    *,
    key: PRNGKeyArray,
    num_draws: int,
    rates: Float[AnyArray, "... node"] | None = None,
) -> Bool[AnyArray, "... draw node"]:
    """Many draws of dropout pruning; draw d is `dropout(tree, p, q, key=jax.random.fold_in(key, d))`.

    Args:
        tree: A tree with its root at node 0.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        key: A typed key.
        num_draws: Number of draws; fewer draws are the first of more.
        rates: In place of p and q, the probability of every node.

    Raises:
        InvalidInputError: p, q, the rates or the number of draws are out of their range.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> table = load_play_tennis()
        >>> tree = ID3Classifier().fit(table.data, table.target).tree_
        >>> draws(tree, 0.5, key=jax.random.key(0), num_draws=1000).mean(axis=0).round(1)
        array([0. , 0. , 0.5, 0.5, 0. , 0. , 0. , 0. ])
    """
    check_whole_number("num_draws", num_draws)
    skeleton = skeleton_of(tree)
    rates = rates_of(tree, skeleton, p, q, rates, jnp.float32)
    return trim(_collapse_often(skeleton, rates, key, num_draws=num_draws), tree.depth.shape[-1])


def node_numbers(tree: Tree, *, key: PRNGKeyArray) -> UInt32[np.ndarray, " node"]:
    """Returns the number of every node in the draw of a key; `dropout` collapses it where that is below rate x 2^31.

    So all draws that rates can make with one key are comparisons with these numbers.

    Args:
        tree: A tree with its root at node 0, on the host.
        key: A typed key, `jax.random.key(seed)`.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> table = load_play_tennis()
        >>> tree = ID3Classifier().fit(table.data, table.target).tree_
        >>> inner = np.asarray(tree.num_children > 0) & (tree.depth > 0)
        >>> (inner & (node_numbers(tree, key=jax.random.key(0)) < 0.5 * 2**31))[:4]
        array([False, False,  True,  True])
    """
    return trim(_numbers_of_draw(skeleton_of(tree), key), tree.depth.shape[-1])


def check_whole_number(name: str, value: int) -> None:
    """Raises InvalidInputError if a value is not a whole number of 1 or more."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise InvalidInputError(f"{name} must be a whole number of 1 or more, got {value!r}")


def drawing_of(
    tree: Tree,
    p: Rate | None,
    q: Rate,
    rates: Float[AnyArray, "... node"] | None,
    key: PRNGKeyArray,
) -> tuple[Skeleton, Inner, Drawing, tuple[int, ...]]:
    """Returns what draws of the inner nodes are made from, all settings in one axis, and the shape of the settings."""
    skeleton = skeleton_of(tree)
    rates = rates_of(tree, skeleton, p, q, rates, jnp.float32)
    inner = inner_nodes(skeleton)
    return skeleton, inner, _take_inner(skeleton, inner, rates, key), rates.shape[:-1]


def block_size(rates: Float[AnyArray, "*setting place"], num_draws: int, *, columns: int = 1) -> int:
    """How many draws to work on at a time, a power of two, if each makes so many columns at every place."""
    each = rates.size * columns
    fitting = 1 << max(BLOCK_SIZE // each, 1).bit_length() - 1
    return min(fitting, 1 << (num_draws - 1).bit_length())


def first_draws(num_draws: int, size: int) -> UInt32[Array, " block"]:
    """The first draw of every block."""
    return jnp.arange(0, num_draws, size, dtype=jnp.uint32)


def kept_in_draws(drawing: Drawing, first: UInt32[Array, ""], size: int) -> Bool[Array, "setting place draw"]:
    """Whether nodes are kept in the draws of a block: neither they nor any node above them is collapsed."""
    keys = _keys_of_draws(drawing.key, first, size)
    number = jax.vmap(_numbers, in_axes=(None, 0), out_axes=1)(drawing.path, keys)
    kept = number >= _limits(drawing.rates)[..., None]
    return along_path(jnp.logical_and, kept, drawing.parent, axis=-2)


@compiled()
def _take_inner(skeleton: Skeleton, inner: Inner, rates, key) -> Drawing:
    rates = rates.reshape(-1, rates.shape[-1])[:, inner.node]
    return Drawing(key, _path_hashes(skeleton)[inner.node], inner.parent, rates)


@compiled()
def _collapse(skeleton: Skeleton, rates, key) -> Bool[Array, "... node"]:
    number = _numbers(_path_hashes(skeleton), key)
    return (number < _limits(rates)) & (skeleton.num_children > 0)


@compiled()
def _numbers_of_draw(skeleton: Skeleton, key: PRNGKeyArray) -> UInt32[Array, " node"]:
    return _numbers(_path_hashes(skeleton), key)


@compiled("num_draws")
def _collapse_often(skeleton: Skeleton, rates, key, *, num_draws: int) -> Bool[Array, "... draw node"]:
    path, batch, num_nodes = _path_hashes(skeleton), rates.shape[:-1], rates.shape[-1]
    size = block_size(rates, num_draws)

    def one_block(first):
        number = jax.vmap(_numbers, in_axes=(None, 0))(path, _keys_of_draws(key, first, size))
        return (number < _limits(rates)[..., None, :]) & (skeleton.num_children > 0)

    blocks = jnp.moveaxis(lax.map(one_block, first_draws(num_draws, size)), 0, -3)
    return blocks.reshape(*batch, -1, num_nodes)[..., :num_draws, :]


def _keys_of_draws(key: PRNGKeyArray, first: UInt32[Array, ""], size: int) -> Key[Array, " draw"]:
    return jax.vmap(functools.partial(jax.random.fold_in, key))(first + jnp.arange(size, dtype=jnp.uint32))


def _numbers(path: UInt32[Array, " place"], key: PRNGKeyArray) -> UInt32[Array, " place"]:
    """The number of every path in the draw of a key: the first word of the key folded by the path."""
    folded = jax.vmap(functools.partial(jax.random.fold_in, key))(path)
    return jax.random.key_data(folded)[:, 0] >> (32 - NUMBER_BITS)


def _limits(rates: Float[Array, "*setting place"]) -> UInt32[Array, "*setting place"]:
    """The least number that is not less than a rate."""
    return jnp.ceil(rates * 2.0**NUMBER_BITS).astype(jnp.uint32)


def _path_hashes(skeleton: Skeleton) -> UInt32[Array, " node"]:
    """A hash of the branches from the root to every node."""
    node = jnp.arange(skeleton.depth.shape[0], dtype=jnp.int32)
    branch = (node - skeleton.first_child[skeleton.parent]).astype(jnp.uint32)

    def descend(depth, path):
        return jnp.where(skeleton.depth == depth, child_hash(path[skeleton.parent], branch), path)

    return lax.fori_loop(1, jnp.max(skeleton.depth) + 1, descend, jnp.zeros(node.shape, jnp.uint32))
