r"""Losses that are squares of small errors and absolute values of large ones, $r = s - y$.

Which errors are small is said by a number *delta* in the target's unit, or follows from the errors themselves: then a
given share of the rows has errors up to delta, anew in every round, as in scikit-learn.
"""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Real, Shaped

from jaxtree.arrays import AnyArray, FloatLike, safe_divide
from jaxtree.lazy import Array, jax, jnp
from jaxtree.losses.domain import NUMBERS, Domain, require
from jaxtree.losses.loss import BaseLoss, Derivatives, Extras, Loss, given, identity, weighted, with_offset
from jaxtree.losses.start import weighted_quantile
from jaxtree.switches import by_own

__all__ = ["huber", "pseudo_huber"]

SHARE_WITHIN = 0.9
"""The share of rows whose errors are up to delta: scikit-learn's."""

SLACK = 1e-12
"""Share of all weight by which sums of weights may be rounded."""


@dataclasses.dataclass(frozen=True, repr=False)
class RobustLoss(BaseLoss):
    """A loss whose delta follows from the errors of all rows.

    Attributes:
        share: The share of the rows whose errors are up to delta.
    """

    share: float = SHARE_WITHIN
    num_scores: ClassVar[int] = 1
    renewal: ClassVar[None] = None
    domain: ClassVar[Domain] = NUMBERS
    needs: ClassVar[tuple[str, ...]] = ()
    moves_with_target: ClassVar[bool] = True
    joins_rows: ClassVar[bool] = True
    takes_batches: ClassVar[bool] = True
    link: ClassVar[Callable[..., Any]] = staticmethod(identity)

    def __repr__(self) -> str:
        """As it was made: `huber()`."""
        return f"{self.name}({'' if self.share == SHARE_WITHIN else f'share={self.share!r}'})"

    @by_own
    def values(
        self, scores: Float[AnyArray, "score row"], target: Shaped[AnyArray, " row"], extras: Extras
    ) -> Float[Array, " row"]:
        """Returns the loss of every row, at the delta of all rows."""
        error = _errors(scores, target, extras)
        return self.of_errors(error, self._delta(error, jnp.ones_like(error)))

    @by_own
    def mean(
        self,
        scores: Float[AnyArray, "score row"],
        target: Shaped[AnyArray, " row"],
        weight: Float[AnyArray, " row"],
        extras: Extras,
    ) -> Float[Array, ""]:
        """Returns the weighted mean of the loss; rows of weight 0 are not looked at."""
        error, weight = _errors(scores, target, extras), jnp.asarray(weight)
        error = jnp.where(weight > 0, error, 0)
        value = weight * self.of_errors(error, self._delta(error, weight))
        return safe_divide(jnp.sum(value), jnp.sum(weight)).astype(error.dtype)

    @by_own
    def derivatives(
        self,
        scores: Float[AnyArray, "score row"],
        target: Shaped[AnyArray, " row"],
        weight: Float[AnyArray, " row"],
        extras: Extras,
    ) -> Derivatives:
        """Returns gradients and Hessians at the delta of all rows, in the precision of the scores."""
        error, weight = _errors(scores, target, extras), jnp.asarray(weight)
        error = jnp.where(weight > 0, error, 0)
        of_rows = self.derivatives_by_error(error, self._delta(error, weight))
        return weighted((of_rows[0][None], of_rows[1][None]), weight, error.dtype)

    def start(
        self, target: Shaped[AnyArray, " row"], weight: Float[AnyArray, " row"], extras: Extras
    ) -> Float[np.ndarray, "1"]:
        """Returns the median of the targets."""
        residual = np.asarray(target, np.float64) - np.asarray(extras.get("offset", 0.0), np.float64).T
        return np.array([weighted_quantile(residual.reshape(-1), np.asarray(weight), 0.5)])

    @abc.abstractmethod
    def of_errors(self, error: Float[Array, "*row"], delta: Any) -> Float[Array, "*row"]:
        """Returns the loss of errors."""

    @abc.abstractmethod
    def derivatives_by_error(
        self, error: Float[Array, " row"], delta: Float[Array, ""]
    ) -> tuple[Float[Array, " row"], Float[Array, " row"]]:
        """Returns the first derivatives, and what stands for the second ones."""

    def _delta(self, error: Float[Array, " row"], weight: Float[Array, " row"]) -> Float[Array, ""]:
        """The quantile of the errors' sizes; where it is 0 their mean, and 1 where there are none."""
        size, weight = jax.lax.sort((jnp.abs(error), weight.astype(error.dtype)), num_keys=1)
        below = jnp.cumsum(weight, dtype=jnp.zeros(0).dtype)
        place = jnp.argmax(below >= (self.share - SLACK) * below[-1])
        mean = safe_divide(jnp.sum(weight * size), jnp.sum(weight))
        delta = jnp.where(size[place] > 0, size[place], mean)
        return jnp.where(delta > 0, delta, 1).astype(error.dtype)


class Huber(RobustLoss):
    """The loss that `huber` makes where no delta is given."""

    name: ClassVar[str] = "huber"
    hessian: ClassVar[str] = "one"

    def of_errors(self, error: Float[Array, "*row"], delta: Any) -> Float[Array, "*row"]:
        """Returns the loss of errors."""
        return _huber_of(error, delta)

    def derivatives_by_error(
        self, error: Float[Array, " row"], delta: Float[Array, ""]
    ) -> tuple[Float[Array, " row"], Float[Array, " row"]]:
        """Returns errors up to delta, and 1."""
        return jnp.clip(error, -delta, delta), jnp.ones_like(error)


class PseudoHuber(RobustLoss):
    """The loss that `pseudo_huber` makes where no delta is given."""

    name: ClassVar[str] = "pseudo_huber"
    hessian: ClassVar[str] = "diagonal"

    def of_errors(self, error: Float[Array, "*row"], delta: Any) -> Float[Array, "*row"]:
        """Returns the loss of errors."""
        return _pseudo_huber_of(error, delta)

    def derivatives_by_error(
        self, error: Float[Array, " row"], delta: Float[Array, ""]
    ) -> tuple[Float[Array, " row"], Float[Array, " row"]]:
        """Returns the first and the second derivatives."""
        root = jnp.sqrt(1 + (error / delta) ** 2)
        return error / root, root**-3


def _errors(scores: Any, target: Any, extras: Extras) -> Float[Array, " row"]:
    shifted, _ = with_offset(scores, extras)
    return shifted[0] - jnp.asarray(target).astype(shifted.dtype)


def _huber_of(error: Float[Array, "*row"], delta: Any) -> Float[Array, "*row"]:
    size = jnp.abs(error)
    return jnp.where(size <= delta, size**2 / 2, delta * (size - delta / 2))


def _huber(
    scores: Float[Array, " score"], target: Real[Array, ""], extras: Any, delta: float
) -> Float[Array, " score"]:
    return _huber_of(scores - target, delta)


def huber(delta: FloatLike | None = None, share: FloatLike = SHARE_WITHIN) -> BaseLoss:
    r"""$r^2 / 2$ where $|r| \le \delta$ and $\delta (|r| - \delta / 2)$ elsewhere, $r = s - y$ (Huber, 1964).

    In place of its Hessian, which is 0 for far targets, stands its bound 1: a Newton step never raises the loss.

    Args:
        delta: Where squares end, above 0, in the target's unit. None for the quantile of the sizes of all errors, anew
            in every round (Friedman, 2001, section 4.4): then predictions do not depend on the target's unit, and rows
            are not divided among devices.
        share: The level of that quantile, between 0 and 1.

    Raises:
        InvalidInputError: It is not above 0, or the share is not between 0 and 1.

    Example:
        >>> huber(2.0).values(jnp.array([[1.0, 5.0]]), jnp.zeros(2), {}).tolist()
        [0.5, 8.0]
        >>> huber().values(jnp.array([[*range(10), 1000.0]]), jnp.zeros(11), {})[-1].tolist()
        8959.5
    """
    if delta is None:
        return Huber(_share(share, "huber"))
    _require_delta(delta, "huber")
    function, middle = given(_huber, delta=float(delta)), given(_median)
    return Loss(
        function, hessian="one", is_convex=True, constant=middle, is_guess=True, name="huber",
        parameters=function.keywords,
    )  # fmt: skip


def _pseudo_huber_of(error: Float[Array, "*row"], delta: Any) -> Float[Array, "*row"]:
    # Not the difference of the root and 1, in which the digits of small errors are lost.
    return error**2 / (1 + jnp.sqrt(1 + (error / delta) ** 2))


def _pseudo_huber(
    scores: Float[Array, " score"], target: Real[Array, ""], extras: Any, delta: float
) -> Float[Array, " score"]:
    return _pseudo_huber_of(scores - target, delta)


def pseudo_huber(delta: FloatLike | None = None, share: FloatLike = SHARE_WITHIN) -> BaseLoss:
    r"""$\delta^2 (\sqrt{1 + (r / \delta)^2} - 1)$, $r = s - y$: a smooth `huber` (Charbonnier et al., 1997).

    Its Hessian is $(1 + (r / \delta)^2)^{-3/2}$.

    Args:
        delta: Where squares go over into absolute values, above 0, in the target's unit. None for a quantile of the
            errors, as for `huber`.
        share: The level of that quantile, between 0 and 1.

    Raises:
        InvalidInputError: It is not above 0, or the share is not between 0 and 1.

    Example:
        >>> pseudo_huber(4.0).values(jnp.array([[3.0]]), jnp.zeros(1), {}).tolist()
        [4.0]
    """
    if delta is None:
        return PseudoHuber(_share(share, "pseudo_huber"))
    _require_delta(delta, "pseudo_huber")
    function = given(_pseudo_huber, delta=float(delta))
    # Far from the target it is convex, but rounding may leave the Hessian a little below 0.
    return Loss(
        function, constant=given(_median), is_guess=True, name="pseudo_huber", parameters=function.keywords
    )  # fmt: skip


def _median(target: Real[np.ndarray, " row"], weight: Float[np.ndarray, " row"]) -> Float[np.ndarray, "1"]:
    return np.array([weighted_quantile(target, weight, 0.5)])


def _require_delta(delta: FloatLike, name: str) -> None:
    require(0 < delta < np.inf, f"delta of {name} must be a number above 0", delta)


def _share(share: FloatLike, name: str) -> float:
    require(0 < share < 1, f"the share of {name} must be between 0 and 1, without these", share)
    return float(share)
