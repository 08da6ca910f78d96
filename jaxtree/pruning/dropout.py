r"""Dropout pruning (Zhu and Zhou, *Decision Trees for Classification*, 2023).

A node made by a split at level l (the root's split is at level 0) is collapsed with probability
$r_l = \min(1, p\,(1+q)^l)$, independently of all others; the root never is. A *draw* is one such mask.

Since collapsing depends on the level alone, a node at depth d and all nodes above it survive with
probability $s_d = \prod_{l<d} (1 - r_l)$, which gives every mean over draws in closed form.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int, Int32, PRNGKeyArray, UInt, UInt32

from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.buckets import row_bucket
from jaxtree.errors import InvalidInputError
from jaxtree.hashing import child_hash
from jaxtree.tree import Tree, apply, majority_class, pad_nodes

Rate = FloatLike

LARGEST_GROWTH = 1e30
"""Bound of (1+q)^l, so that p = 0 stays 0 at any depth."""


@dataclasses.dataclass(frozen=True)
class Dropout:
    """Prunes a fitted tree by one draw of dropout pruning, made with the estimator's `random_state`.

    Attributes:
        p: Probability that a child of the root is collapsed, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more.

    Raises:
        InvalidInputError: p or q is out of its range.

    Example:
        >>> Dropout(p=0.1, q=0.5)
        Dropout(p=0.1, q=0.5)
    """

    p: float | int
    q: float | int = 0.0

    def __post_init__(self):
        """Checks the rates."""
        check_rates(self.p, self.q)

    def collapsed(self, tree: Tree, *, key: PRNGKeyArray) -> Bool[Array, " node"]:
        """The nodes that this pruning collapses."""
        return dropout(tree, self.p, self.q, key=key)


def dropout(tree: Tree, p: Rate, q: Rate, *, key: PRNGKeyArray) -> Bool[Array, "... node"]:
    r"""Nodes collapsed by one draw of dropout pruning.

    A child made by a split at level l is collapsed with probability $\min(1, p\,(1+q)^l)$. Its random
    number comes from the key and its path from the root, so neither the rest of the tree nor other
    settings change it: with one key, the nodes collapsed at some p are also collapsed at any larger p.
    (Paths are told apart by 32-bit hashes: in a tree of 1,000 nodes two share a number once in 10,000 trees.)

    Args:
        tree: A tree with its root at node 0.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        key: A typed key, `jax.random.key(seed)`.

    Returns:
        One mask for every p and q.

    Raises:
        InvalidInputError: p or q is out of its range.
    """
    p, q = check_rates(p, q)
    number = _path_numbers(pad_nodes(tree), key)[: tree.depth.shape[0]]
    return (number < collapse_probability(tree.depth, p, q)) & (jnp.asarray(tree.depth) > 0)


def collapse_probability(depth: Int[AnyArray, " node"], p: Rate, q: Rate) -> Float[Array, "... node"]:
    """Probability that a node at this depth is collapsed by itself; the root's is of no account."""
    p, q = (jnp.asarray(rate, jnp.result_type(float))[..., None] for rate in (p, q))
    growth = jnp.minimum((1 + q) ** jnp.maximum(jnp.asarray(depth) - 1, 0), LARGEST_GROWTH)
    return jnp.minimum(p * growth, 1)


def survival(num_levels: int, p: Rate, q: Rate) -> Float[Array, "... level"]:
    """Probability that a node at depth d and all above it are kept, for d = 0 to `num_levels - 1`."""
    depth = jnp.arange(num_levels)
    kept = jnp.where(depth > 0, 1 - collapse_probability(depth, p, q), 1)
    return jnp.cumprod(kept, axis=-1)


def sampled_accuracy(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Int[AnyArray, " row"],
    p: Rate,
    q: Rate,
    *,
    key: PRNGKeyArray,
    num_draws: int,
) -> Float[Array, "... draw"]:
    """Accuracy of every draw; draw d is `dropout(tree, p, q, key=jax.random.fold_in(key, d))`.

    The rows are sent down the tree once; a draw costs its nodes alone.

    Args:
        tree: A tree with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        key: A typed key.
        num_draws: Number of draws; fewer draws are the first of more.

    Raises:
        InvalidInputError: p, q or the shapes are out of their range.
    """
    p, q = check_rates(p, q)
    tree = pad_nodes(tree)
    right, gain = _right_rows(tree, codes, y)
    correct = _sampled_right(tree, right[0], gain, p, q, key, num_draws=num_draws)
    return correct / jnp.asarray(codes.shape[1], jnp.result_type(float))


def expected_accuracy(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Int[AnyArray, " row"],
    p: Rate,
    q: Rate,
) -> Float[Array, "..."]:
    r"""The exact mean accuracy over all draws, differentiable in p and q.

    $E = \frac{1}{n}\bigl(R_0 + \sum_t s_{d(t)}\, g_t\bigr)$, where $R_0$ counts the rows that the root
    predicts rightly, t runs over the inner nodes, d(t) is the depth, and $g_t$ the number of rows
    that the children of t predict rightly more than t itself.

    Args:
        tree: A tree with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.

    Raises:
        InvalidInputError: p, q or the shapes are out of their range.
    """
    p, q = check_rates(p, q)
    tree = pad_nodes(tree)
    right, gain = _right_rows(tree, codes, y)
    expected = _expected_right(tree, right[0], gain, p, q)
    return expected / codes.shape[1]


def vote_share(tree: Tree, codes: UInt[AnyArray, "feature row"], p: Rate, q: Rate) -> Float[Array, "... row class"]:
    """The exact share of all draws that vote for each class, for every row: the infinite ensemble.

    Args:
        tree: A tree with its root at node 0.
        codes: Codes of every feature.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.

    Raises:
        InvalidInputError: p or q is out of its range.
    """
    p, q = check_rates(p, q)
    tree = pad_nodes(tree)
    return _node_votes(tree, p, q)[..., apply(tree, codes), :]


def check_rates(p: Rate, q: Rate) -> tuple[Rate, Rate]:
    """Returns p and q if they are rates of dropout; traced ones cannot be checked."""
    for name, rate, most in (("p", p, 1.0), ("q", q, np.inf)):
        if isinstance(rate, Tracer):
            continue
        values = np.asarray(rate)
        if values.dtype.kind not in "fiu" or not np.all((values >= 0) & (values <= most)):
            allowed = "from 0 to 1" if most == 1 else "of 0 or more"
            raise InvalidInputError(f"dropout {name} must be a number {allowed}, got {rate!r}")
    return p, q


@jax.jit
def _path_numbers(tree: Tree, key: PRNGKeyArray) -> Float[Array, " node"]:
    """A uniform number from 0 to 1 for every node, from the key and the node's path from the root."""
    return jax.vmap(lambda path: jax.random.uniform(jax.random.fold_in(key, path)))(_path_hashes(tree))


def _path_hashes(tree: Tree) -> UInt32[Array, " node"]:
    """A hash of the branches from the root to every node."""
    node = jnp.arange(tree.depth.shape[0], dtype=jnp.int32)
    branch = (node - tree.first_child[tree.parent]).astype(jnp.uint32)

    def descend(depth, path):
        return jnp.where(tree.depth == depth, child_hash(path[tree.parent], branch), path)

    return lax.fori_loop(1, jnp.max(tree.depth) + 1, descend, jnp.zeros(node.shape, jnp.uint32))


def _right_rows(tree: Tree, codes, y) -> tuple[Int32[Array, " node"], Int32[Array, " node"]]:
    """Rows that every node predicts rightly, and how many more its children do (0 for a leaf)."""
    if codes.ndim != 2 or y.shape != codes.shape[1:]:
        raise InvalidInputError(
            f"codes must have the shape (feature, row) and y the shape (row,), got {codes.shape} and {y.shape}"
        )
    if isinstance(codes, np.ndarray) and isinstance(y, np.ndarray):
        padding = row_bucket(y.size) - y.size
        codes = np.pad(codes, ((0, 0), (0, padding)))
        # A class below 0 is no class: padding rows count nowhere.
        y = np.pad(y.astype(np.int32), (0, padding), constant_values=-1)
    return _count_right(tree, y, apply(tree, codes))


@jax.jit
def _count_right(tree: Tree, y, end) -> tuple[Int32[Array, " node"], Int32[Array, " node"]]:
    num_nodes, num_classes = tree.count.shape
    ended = jnp.zeros((num_nodes, num_classes), jnp.int32)
    ended = ended.at[end, jnp.where(y < 0, num_classes, y)].add(1, mode="drop")

    def ascend(i, count):
        depth = jnp.max(tree.depth) - i
        return count.at[tree.parent].add(jnp.where((tree.depth == depth)[:, None], count, 0))

    passed = lax.fori_loop(0, jnp.max(tree.depth), ascend, ended)
    majority = majority_class(tree)[:, None]
    right, stayed = (jnp.take_along_axis(count, majority, axis=1)[:, 0] for count in (passed, ended))
    below = jnp.zeros(num_nodes, jnp.int32).at[tree.parent].add(jnp.where(tree.depth > 0, right, 0))
    return right, jnp.where(tree.is_leaf, 0, stayed + below - right)


@functools.partial(jax.jit, static_argnames="num_draws")
def _sampled_right(tree: Tree, right_at_root, gain, p, q, key, *, num_draws: int) -> Int32[Array, "... draw"]:
    draws = jnp.arange(num_draws, dtype=jnp.uint32)
    paths = _path_hashes(tree)
    p, q = jnp.broadcast_arrays(*(jnp.asarray(rate, jnp.result_type(float)) for rate in (p, q)))
    draw_keys = jax.vmap(functools.partial(jax.random.fold_in, key))(draws)
    number = jax.vmap(lambda path: jax.vmap(lambda k: jax.random.uniform(jax.random.fold_in(k, path)))(draw_keys))(
        paths
    )
    probability = jnp.where(tree.depth > 0, collapse_probability(tree.depth, p, q), 0)

    def visit(node, carry):
        kept, right = carry
        keeps = kept[tree.parent[node]] & (number[node] >= probability[..., node, None])
        return kept.at[node].set(keeps), right + jnp.where(keeps, gain[node], 0)

    shape = (*p.shape, num_draws)
    start = (jnp.ones((gain.size, *shape), bool), jnp.full(shape, right_at_root, jnp.int32))
    return lax.fori_loop(0, tree.num_nodes, visit, start)[1]


@jax.jit
def _expected_right(tree: Tree, right_at_root, gain, p, q) -> Float[Array, "..."]:
    gain_of_level = jnp.zeros(gain.size, jnp.int32).at[tree.depth].add(gain)
    return right_at_root + jnp.sum(survival(gain.size, p, q) * gain_of_level, axis=-1)


@jax.jit
def _node_votes(tree: Tree, p, q) -> Float[Array, "... node class"]:
    """The shares of votes for the rows whose walk ends at each node."""
    num_nodes, num_classes = tree.count.shape
    kept = survival(num_nodes, p, q)
    stopped = jnp.concatenate([jnp.zeros_like(kept[..., :1]), kept[..., :-1] - kept[..., 1:]], axis=-1)
    vote = jax.nn.one_hot(majority_class(tree), num_classes, dtype=kept.dtype)
    own = stopped[..., tree.depth, None] * vote

    def descend(depth, votes):
        return jnp.where((tree.depth == depth)[:, None], votes[..., tree.parent, :] + own, votes)

    votes = lax.fori_loop(1, jnp.max(tree.depth) + 1, descend, own)
    return votes + kept[..., tree.depth, None] * vote
