r"""What training adds to the loss: penalties on unbalanced gates, on many features a gate, and on large leaves.

The *share* of an inner node is the part of its rows that goes right, $\alpha_n = \sum_x P_n(x) r_n(x) / \sum_x P_n(x)$
with the probability $P_n$ that a row comes to the node and the probability $r_n$ that the gate sends it right.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxtree.arrays import FloatLike
from jaxtree.errors import InvalidInputError
from jaxtree.soft.gates import ObliqueGate, feature_shares
from jaxtree.soft.model import SoftForm, SoftTree, node_probability

LEAST_SHARE = 1e-6
"""Shares are kept so far from 0 and 1, where logarithms end."""
LEAST_WEIGHT = 1e-9
"""A node to which less than this share of the rows comes has no share of its own, and no penalty."""


class Penalties(NamedTuple):
    """How much each penalty counts; None leaves it out of the program.

    Attributes:
        balance: Of shares of inner nodes that are not a half, see `balance_penalty`.
        window: Over how many steps shares at the root are averaged; at depth d over $2^d$ times as many.
        feature_l1: Of the sum of a gate's absolute feature weights, mean over oblique gates.
        feature_entropy: Of the entropy of a gate's feature shares, mean over gates: it draws them to few features.
        leaf_decay: Of half the squared size of an end's values and weights, mean over ends.
    """

    balance: FloatLike | None = None
    window: FloatLike = 8.0
    feature_l1: FloatLike | None = None
    feature_entropy: FloatLike | None = None
    leaf_decay: FloatLike | None = None


class Shares(NamedTuple):
    """Running sums, each step forgetting a part of what was there.

    Attributes:
        left: The weight that went left.
        right: The weight that went right.
        steps: The number of steps in them, those long ago counting less.
    """

    left: Float[Array, "*tree node"]
    right: Float[Array, "*tree node"]
    steps: Float[Array, "*tree node"]


def no_shares(model: Any) -> Shares:
    """The sums before the first step, for the trees of a model."""
    tree = trees_of(model)
    nothing = jnp.zeros((*tree.leaf.value.shape[:-2], tree.form.num_inner))
    return Shares(nothing, nothing, nothing)


def trees_of(model: Any) -> SoftTree:
    """The tree of a model, or the stacked trees of a forest.

    Raises:
        InvalidInputError: The model is neither; only of trees is known which rows they see.
    """
    trees = getattr(model, "trees", model)
    if not isinstance(trees, SoftTree):
        raise InvalidInputError(f"penalties are for soft trees and forests, got {type(model).__name__}")
    return trees


def penalty(
    model: Any,
    x: Float[Array, "row feature"],
    share: Float[Array, " row"],
    temperature: FloatLike,
    penalties: Penalties,
    shares: Shares | None,
) -> tuple[Float[Array, ""], Shares | None]:
    """What all penalties add to the loss, for a forest their mean over trees; and the new running sums.

    Args:
        model: A tree, a forest, or anything else if there are no penalties.
        x: The rows of the step.
        share: The weight of each, about 1 in sum.
        temperature: That of the step.
        penalties: What counts.
        shares: The running sums, if balance counts.
    """
    if all(strength is None for strength in penalties._replace(window=None)):
        return jnp.zeros(()), shares
    trees = trees_of(model)
    if trees.leaf.value.ndim == 2:
        return _of_tree(trees, x, share, temperature, penalties, shares)
    sums, shares = jax.vmap(_of_tree, in_axes=(0, None, None, None, None, 0))(
        trees, x, share, temperature, penalties, shares
    )
    return sums.mean(), shares


def _of_tree(
    tree: SoftTree,
    x: Float[Array, "row feature"],
    share: Float[Array, " row"],
    temperature: FloatLike,
    penalties: Penalties,
    shares: Shares | None,
) -> tuple[Float[Array, ""], Shares | None]:
    total = jnp.zeros(())
    if penalties.balance is not None:
        assert shares is not None
        balance, shares = balance_penalty(tree, x, share, temperature, penalties.window, shares)
        total += penalties.balance * balance
    if penalties.feature_l1 is not None:
        total += penalties.feature_l1 * feature_l1(tree)
    if penalties.feature_entropy is not None:
        total += penalties.feature_entropy * feature_entropy(tree)
    if penalties.leaf_decay is not None:
        total += penalties.leaf_decay * leaf_decay(tree)
    return total, shares


def balance_penalty(
    tree: SoftTree,
    x: Float[Array, "row feature"],
    share: Float[Array, " row"],
    temperature: FloatLike,
    window: FloatLike,
    shares: Shares,
) -> tuple[Float[Array, ""], Shares]:
    r"""How far the shares of inner nodes are from a half (Frosst and Hinton, 2017, eq. 5).

    It is $-\sum_n 2^{-d_n} \left[\tfrac12 \log \alpha_n + \tfrac12 \log (1-\alpha_n) + \log 2\right]$ with the depth
    $d_n$ of each node, 0 where all shares are a half. Few rows of a batch come to a deep node. So $\alpha_n$ is a
    quotient of two running sums, both weighted by the path's probability and both over $w\,2^{d_n}$ steps. Its
    gradient is that of the step's own rows, as large as if all steps of the window had these rows.
    """
    left, right = weights_beside(tree, x, share, temperature)
    depth = depth_of_nodes(tree.form)
    kept = 1 - 1 / (window * 2.0**depth)
    left_sum, right_sum = lax.stop_gradient(left), lax.stop_gradient(right)
    shares = Shares(kept * shares.left + left_sum, kept * shares.right + right_sum, kept * shares.steps + 1)
    whole = shares.left + shares.right
    has_rows = whole > LEAST_WEIGHT * shares.steps
    alpha = jnp.where(has_rows, shares.right / jnp.where(has_rows, whole, 1), 0.5)
    size = jnp.where(has_rows, shares.steps / jnp.where(has_rows, whole, 1), 0)
    towards = (right - alpha * (left + right)) * size
    alpha = jnp.clip(alpha, LEAST_SHARE, 1 - LEAST_SHARE) + towards - lax.stop_gradient(towards)
    loss = -(jnp.log(alpha) + jnp.log1p(-alpha)) / 2 - jnp.log(2.0)
    return jnp.sum(loss / 2.0**depth), shares


def weights_beside(
    tree: SoftTree, x: Float[Array, "row feature"], share: Float[Array, " row"], temperature: FloatLike
) -> tuple[Float[Array, " node"], Float[Array, " node"]]:
    """The weight that goes left and the weight that goes right at every inner node."""
    ends = share @ node_probability(tree, x, temperature=temperature)
    depth, num_inner = tree.form.depth, tree.form.num_inner
    stopped = ends[:num_inner] if tree.form.stops else jnp.zeros(num_inner, ends.dtype)
    below, left, right = ends[-(2**depth) :], [], []
    for level in reversed(range(depth)):
        sides = below.reshape(-1, 2)
        left.append(sides[:, 0])
        right.append(sides[:, 1])
        below = sides.sum(axis=1) + stopped[2**level - 1 : 2 ** (level + 1) - 1]
    nothing = jnp.zeros(0, ends.dtype)
    return jnp.concatenate([nothing, *reversed(left)]), jnp.concatenate([nothing, *reversed(right)])


def depth_of_nodes(form: SoftForm) -> Float[np.ndarray, " node"]:
    """The depth of every inner node.

    >>> depth_of_nodes(SoftForm(depth=2, num_features=1, num_outputs=1)).tolist()
    [0.0, 1.0, 1.0]
    """
    return np.floor(np.log2(np.arange(form.num_inner) + 1)).astype(np.float32)


def feature_l1(tree: SoftTree) -> Float[Array, ""]:
    """The sum of absolute feature weights, mean over gates.

    Raises:
        InvalidInputError: The gates are of one feature each, whose shares always sum to 1.
    """
    if not isinstance(tree.gate, ObliqueGate):
        raise InvalidInputError("feature_l1 is for oblique gates; for axis gates use feature_entropy")
    return jnp.sum(jnp.abs(tree.gate.weight)) / tree.gate.weight.shape[0]


def feature_entropy(tree: SoftTree) -> Float[Array, ""]:
    """The entropy of the feature shares, mean over gates; the shares of a plane are its absolute weights' shares."""
    if isinstance(tree.gate, ObliqueGate):
        size = jnp.abs(tree.gate.weight)
        share = size / jnp.maximum(size.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    else:
        selector = "softmax" if tree.form.selector == "onehot" else tree.form.selector
        share = feature_shares(tree.gate.selection, selector)
    possible = share > 0
    logarithm = jnp.log(jnp.where(possible, share, 1))
    return -jnp.sum(share * logarithm) / share.shape[0]


def leaf_decay(tree: SoftTree) -> Float[Array, ""]:
    """Half the squared size of values and linear weights, mean over ends."""
    squares = jnp.sum(tree.leaf.value**2)
    if tree.leaf.weight is not None:
        squares += jnp.sum(tree.leaf.weight**2)
    return squares / (2 * tree.leaf.value.shape[0])
