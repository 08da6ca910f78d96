"""Impurity criteria: how mixed the classes of a node are.

A criterion maps the class weights of one node to its impurity: 0 where one class has all the weight,
larger the more the classes are mixed. The engine batches it and works in float64.
"""

import functools
from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

MOST_CLASSES_ADDED = 8
"""More classes are summed by a reduction, which keeps the program small."""

Criterion = Callable[[Float[Array, " class"]], Float[Array, ""]]


def _mean(total: Float[Array, ""], weight: Float[Array, ""]) -> Float[Array, ""]:
    """`total / weight`, and 0 where there is no weight; differentiable there."""
    return jnp.where(weight > 0, total / jnp.where(weight > 0, weight, 1), 0)


def _sum(values: Float[Array, " class"]) -> Float[Array, ""]:
    """The sum over few classes as a chain of additions, which vectorises over a batch where a reduction does not."""
    return functools.reduce(jnp.add, list(values)) if values.size <= MOST_CLASSES_ADDED else jnp.sum(values)


def _n_log2_n(weight):
    """`n log2 n`, and 0 at 0."""
    return weight * jnp.log2(jnp.where(weight > 0, weight, 1))


def entropy(weight: Float[Array, " class"]) -> Float[Array, ""]:
    r"""Entropy in bits, $H = -\sum_c p_c \log_2 p_c$ (Quinlan, 1986): the criterion of ID3 and C4.5.

    scikit-learn's `"entropy"` and `"log_loss"` are this function.

    Example:
        >>> import jax.numpy as jnp
        >>> float(entropy(jnp.array([9.0, 5.0]))).__round__(4)
        0.9403
    """
    total = jnp.sum(weight)
    return _mean(_n_log2_n(total) - jnp.sum(_n_log2_n(weight)), total)


def gini(weight: Float[Array, " class"]) -> Float[Array, ""]:
    r"""Gini impurity, $1 - \sum_c p_c^2$ (Breiman et al., 1984): the criterion of CART.

    Example:
        >>> import jax.numpy as jnp
        >>> float(gini(jnp.array([9.0, 5.0]))).__round__(4)
        0.4592
    """
    total = _sum(weight)
    return jnp.where(total > 0, 1 - _mean(_sum(weight * weight), total * total), 0)


def misclassification(weight: Float[Array, " class"]) -> Float[Array, ""]:
    r"""The error of the majority class, $1 - \max_c p_c$ (Breiman et al., 1984, section 4.1).

    Example:
        >>> import jax.numpy as jnp
        >>> float(misclassification(jnp.array([9.0, 5.0]))).__round__(4)
        0.3571
    """
    total = jnp.sum(weight)
    return _mean(total - jnp.max(weight), total)


CRITERIA: dict[str, Criterion] = {
    "gini": gini,
    "entropy": entropy,
    "log_loss": entropy,
    "misclassification": misclassification,
}
