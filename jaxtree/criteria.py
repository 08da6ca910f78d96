"""Impurity criteria: measures of how mixed the classes of a node are, or how far its numbers lie apart.

A criterion of classes maps the class weights of one node to its impurity: 0 where one class has all the
weight, larger the more the classes are mixed. The engine batches it and works in float64.

A criterion of numbers is a `NumberCriterion`: the *risk* of a node, which is weight times impurity, is
the sum of a *moment* of every target less a term of only the node's weight and sum. The moments of a
node are those of its branches, so weights and sums suffice to score a split.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Float

from jaxtree.arrays import safe_divide
from jaxtree.lazy import Array, jnp

__all__ = ["entropy", "gini", "misclassification", "poisson", "squared_error"]

MOST_CLASSES_ADDED = 8
"""Above this number, classes are summed by a reduction, which keeps the program small."""

Criterion = Callable[[Float[Array, " class"]], Float[Array, ""]]


class NumberCriterion(NamedTuple):
    """Impurity of numbers.

    Attributes:
        moment: The function of a target that its node's risk sums.
        explained: The term of weight and sum that is subtracted, given the mean of the node that is split.
        needs_positive: Whether targets must not be negative, and the sum of a branch be positive.
        degree: The power of the targets' unit that is the unit of the risk.
    """

    moment: Callable[[Float[Array, "*shape"]], Float[Array, "*shape"]]
    explained: Callable[..., Float[Array, "*shape"]]
    needs_positive: bool
    degree: int


def _class_sum(values: Float[Array, " class"]) -> Float[Array, ""]:
    """The sum over few classes by additions, which XLA vectorises over a batch as it does not a reduction."""
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
    # Rounding may leave a pure node a little below 0.
    return jnp.maximum(safe_divide(_n_log2_n(total) - jnp.sum(_n_log2_n(weight)), total), 0)


def gini(weight: Float[Array, " class"]) -> Float[Array, ""]:
    r"""Gini impurity, $1 - \sum_c p_c^2$ (Breiman et al., 1984): the criterion of CART.

    Example:
        >>> import jax.numpy as jnp
        >>> float(gini(jnp.array([9.0, 5.0]))).__round__(4)
        0.4592
    """
    total = _class_sum(weight)
    return jnp.where(total > 0, 1 - safe_divide(_class_sum(weight * weight), total * total), 0)


def misclassification(weight: Float[Array, " class"]) -> Float[Array, ""]:
    r"""The error of the majority class, $1 - \max_c p_c$ (Breiman et al., 1984, section 4.1).

    Example:
        >>> import jax.numpy as jnp
        >>> float(misclassification(jnp.array([9.0, 5.0]))).__round__(4)
        0.3571
    """
    total = jnp.sum(weight)
    return safe_divide(total - jnp.max(weight), total)


def _square(target: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    return target * target


def _explained_square(weight, total, mean):
    """$S^2 / W$; the mean does not matter, because sums are centred at it."""
    return safe_divide(total * total, weight)


def _x_log_x(target: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    return target * jnp.log(jnp.where(target > 0, target, 1))


def _explained_log(weight, total, mean):
    r"""$S \log(S / (W m))$, relative to the mean $m$."""
    ratio = safe_divide(total, weight * mean)
    return total * jnp.log(jnp.where(ratio > 0, ratio, 1))


squared_error = NumberCriterion(_square, _explained_square, needs_positive=False, degree=2)
r"""Variance, $\frac{1}{W} \sum_i w_i (y_i - \bar y)^2$ (Breiman et al., 1984, chapter 8), the mean over outputs.

This is scikit-learn's `"squared_error"`, rpart's `"anova"` (which prints the deviance, $W$ times it) and REPTree's
variance reduction.
"""

poisson = NumberCriterion(_x_log_x, _explained_log, needs_positive=True, degree=1)
r"""Half the mean Poisson deviance, $\frac{1}{W} \sum_i w_i (y_i \log\frac{y_i}{\bar y} - y_i + \bar y)$.

This is scikit-learn's `"poisson"`; targets are 0 or more, and the sum of every branch is positive.
"""

NUMBER_CRITERIA: dict[str, NumberCriterion] = {"squared_error": squared_error, "poisson": poisson}


def _entropy_risk(weight: Float[Array, " class"]) -> Float[Array, ""]:
    """Weight times entropy, without a division."""
    return _n_log2_n(_class_sum(weight)) - _class_sum(_n_log2_n(weight))


def _gini_risk(weight: Float[Array, " class"]) -> Float[Array, ""]:
    """Weight times Gini impurity, with one division."""
    total = _class_sum(weight)
    return total - safe_divide(_class_sum(weight * weight), total)


def _misclassified(weight: Float[Array, " class"]) -> Float[Array, ""]:
    return _class_sum(weight) - jnp.max(weight)


_RISKS: dict[Criterion, Criterion] = {entropy: _entropy_risk, gini: _gini_risk, misclassification: _misclassified}


def class_risk(criterion: Criterion) -> Criterion:
    """Returns the function from class weights to weight times impurity; the built-in functions save divisions."""
    return _RISKS.get(criterion, lambda weight: _class_sum(weight) * criterion(weight))


CRITERIA: dict[str, Criterion] = {
    "gini": gini,
    "entropy": entropy,
    "log_loss": entropy,
    "misclassification": misclassification,
}
