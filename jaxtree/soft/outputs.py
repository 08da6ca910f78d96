"""What a tree says of classes where its ends hold distributions rather than logits."""

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.soft.model import SoftTree, apply

LEAST_PROBABILITY = 1e-12
"""What is added to probabilities before their logarithm is taken."""


def log_mixture(
    tree: SoftTree, x: Float[AnyArray, "row feature"], *, temperature: FloatLike = 1.0
) -> Float[Array, "row class"]:
    r"""Returns the log probabilities of classes, the values of the ends being logits of distributions.

    It is $\log \sum_e P_e(x)\, \mathrm{softmax}(v_e)$, where `apply` and a softmax give
    $\mathrm{softmax} \sum_e P_e(x)\, v_e$. A tree trained so loses little when it is made hard: what one leaf says
    cannot be outweighed by the large logits of another to which the row hardly goes. Linear models at the ends are
    mixed as `apply` does.

    Example:
        >>> from jaxtree.soft import SoftForm, init
        >>> tree = init(SoftForm(depth=3, num_features=4, num_outputs=2), key=jax.random.key(0))
        >>> jnp.exp(log_mixture(tree, jnp.ones((5, 4)))).sum(axis=1).round(5).tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    if tree.leaf.weight is not None:
        return jax.nn.log_softmax(apply(tree, x, temperature=temperature))
    share = tree.leaf._replace(value=jax.nn.softmax(tree.leaf.value))
    return jnp.log(apply(dataclasses.replace(tree, leaf=share), x, temperature=temperature) + LEAST_PROBABILITY)
