"""Soft trees that stop rows as dropout pruning does."""

import dataclasses

from jaxtyping import Float

from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.errors import InvalidInputError
from jaxtree.soft.model import SoftTree
from jaxtree.soft.stops import FixedStop, dropout_rates, levels


def with_dropout(tree: SoftTree, p: FloatLike, q: FloatLike = 0.0) -> SoftTree:
    r"""Returns the tree with the rates of dropout pruning as stops: $\min(1, p\,(1+q)^{d-1})$ at depth d.

    So `apply` returns the mean over all draws. Differentiable in p and q, which may be traced:

        def loss(parameters):
            tree, p_logit, q_log = parameters
            return error(apply(with_dropout(tree, jax.nn.sigmoid(p_logit), jnp.exp(q_log)), x), y)

    Depths are those of the soft tree. One made of a hard tree has other depths where a split had more than two
    branches: give `from_tree` the rates of the hard tree's nodes instead.

    Args:
        tree: A tree with values at inner nodes, `form.stops`.
        p: Probability that a child of the root is collapsed, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more.

    Raises:
        InvalidInputError: The tree has no values at inner nodes.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxtree.soft import SoftForm, apply, init
        >>> tree = init(SoftForm(depth=3, num_features=2, num_outputs=1, stops=True), key=jax.random.key(0))
        >>> x = jnp.ones((1, 2))
        >>> slope = jax.grad(lambda p: apply(with_dropout(tree, p), x).sum())(0.5)
        >>> bool(jnp.isfinite(slope))
        True
    """
    return with_rates(tree, dropout_rates(levels(tree.form.depth), p, q))


def with_rates(tree: SoftTree, rates: Float[AnyArray, " node"]) -> SoftTree:
    """Returns the tree with a given probability to stop at every inner node.

    Args:
        tree: A tree with values at inner nodes, `form.stops`.
        rates: From 0 to 1, traced or not.

    Raises:
        InvalidInputError: The tree has no values at inner nodes, or there is not one rate for each.
    """
    if not tree.form.stops:
        raise InvalidInputError("the tree must have values at inner nodes: form.stops is not set")
    if rates.shape != (tree.form.num_inner,):
        raise InvalidInputError(f"rates must be {tree.form.num_inner}, one an inner node, got {rates.shape}")
    return dataclasses.replace(tree, stop=FixedStop(rates))
