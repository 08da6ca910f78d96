"""Distributions that a boosted model predicts, one for each row."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Real

from jaxtree import either, forks, switches
from jaxtree.arrays import FloatLike
from jaxtree.lazy import jax, jnp
from jaxtree.losses.distribution import Distribution, scale_of, shape_of
from jaxtree.losses.domain import require
from jaxtree.losses.loss import is_own, predictions_of

PARAMETERS: dict[str, tuple[tuple[str, Callable[..., Any]], ...]] = {
    "normal": (("mean", either.asarray), ("scale", scale_of)),
    "laplace": (("median", either.asarray), ("scale", scale_of)),
    "logistic": (("mean", either.asarray), ("scale", scale_of)),
    "student_t": (("location", either.asarray), ("scale", scale_of)),
    "lognormal": (("location", either.asarray), ("scale", scale_of)),
    "gamma": (("mean", either.exp), ("shape", shape_of)),
    "weibull": (("scale", either.exp), ("shape", shape_of)),
    "negative_binomial": (("mean", either.exp), ("size", shape_of)),
    "beta": (("mean", either.sigmoid), ("precision", shape_of)),
    "accelerated_failure_time": (("location", either.asarray), ("scale", either.exp)),
}
"""The parameters of distributions by name: the name of each, and the function that makes it of a score."""


@dataclasses.dataclass(frozen=True)
class PredictedDistribution:
    """A distribution of the target for every row.

    Attributes:
        family: The distributions that it is one of.
        scores: The scores of every row.

    Example:
        >>> from jaxtree.boosting import distributions
        >>> predicted = PredictedDistribution(distributions.normal(), np.array([[10.0, np.log(2.0)]]))
        >>> predicted.parameters["scale"].round(3).tolist(), predicted.interval(0.95).round(2).tolist()
        ([2.0], [[6.08, 13.92]])
        >>> predicted.cdf(10.0).tolist()
        [0.5]
    """

    family: Distribution
    scores: Float[np.ndarray, "row score"]

    @property
    def parameters(self) -> dict[str, Float[np.ndarray, " row"]]:
        """The parameters of every row by name; of a distribution of one's own its scores."""
        known = PARAMETERS.get(self.family.name, ())
        named = [*known, *((f"score_{number}", either.asarray) for number in range(len(known), self.scores.shape[1]))]
        pairs = zip(named, self.scores.T, strict=False)
        with np.errstate(all="ignore"):
            return {name: function(np.ascontiguousarray(score)) for (name, function), score in pairs}

    @property
    def mean(self) -> Float[np.ndarray, " row"]:
        """The prediction of every row: its mean, or the failure time that `accelerated_failure_time` predicts."""
        return predictions_of(self.family, self.scores.T)[0]

    def quantile(self, levels: Any) -> Float[np.ndarray, "row *level"]:
        """Returns the quantiles of a level, or of each of several levels in a column.

        Raises:
            InvalidInputError: A level is not between 0 and 1.
        """
        several = np.asarray(levels, np.float64)
        require(several.ndim <= 1, "levels must be a number or a list of numbers", levels)
        columns = [self._on_host("inverse", self.family.quantile, float(level)) for level in several.reshape(-1)]
        return np.stack(columns, axis=1) if several.ndim else columns[0]

    def interval(self, share: FloatLike = 0.9) -> Float[np.ndarray, "row 2"]:
        """Returns the ends of the interval that has a share of the distribution, with as much below as above."""
        require(0 < share < 1, "the share of an interval must be between 0 and 1, without these", share)
        return self.quantile([(1 - share) / 2, (1 + share) / 2])

    def cdf(self, y: Any) -> Float[np.ndarray, " row"]:
        r"""Returns $P(Y \le y)$ for every row, of one number or one for each row."""
        return self._on_host("distribution_function", self.family.cdf, self._of_rows(y))

    def log_prob(self, y: Any, **extras: Any) -> Float[np.ndarray, " row"]:
        r"""Returns the logarithm of the density, or of the probability, in nats; $-\infty$ of what cannot be.

        Args:
            y: One number, or one for each row.
            extras: Further data of rows that the distribution needs, such as `upper` of failure times.
        """
        for name in extras:
            allowed = ", ".join(self.family.needs) or "none"
            require(name in self.family.needs, f"extras of {self.family} must be among: {allowed}", name)
        arrays, values = {name: self._of_rows(own) for name, own in extras.items()}, self._of_rows(y)
        loss = self._in_jax(self.family.values, values, arrays)
        return np.where(self.family.domain.allows(values), -loss, -np.inf)

    def crps(self, y: Any) -> Float[np.ndarray, " row"]:
        """Returns the continuous ranked probability score, in the target's unit.

        Raises:
            InvalidInputError: The distribution has none in closed form.
        """
        return self._in_jax(self.family.crps, self._of_rows(y))

    def _of_rows(self, y: Any) -> Real[np.ndarray, " row"]:
        values = np.asarray(y)
        wanted = (len(self.scores),)
        require(values.shape in ((), wanted), f"numbers must be one, or one for each of {wanted[0]} rows", values.shape)
        return np.broadcast_to(values, wanted)

    def _on_host(self, name: str, function: Callable[..., Any], argument: Any) -> Float[np.ndarray, " row"]:
        """Calls a function of the family, in NumPy unless the part of it with that name is the user's own."""
        if not is_own(getattr(self.family, name)):
            return self._in_jax(function, argument)
        with np.errstate(all="ignore"):
            return function(np.ascontiguousarray(self.scores.T), argument)

    def _in_jax(self, function: Callable[..., Any], *arguments: Any) -> Float[np.ndarray, " row"]:
        forks.check_is_whole(f"a function of {self.family} in JAX")
        with switches.own(), jax.enable_x64(True):
            return np.array(function(*jax.tree.map(_on_device, (self.scores.T, *arguments))))


def _on_device(value: Any) -> Any:
    """Arrays for JAX; numbers as they are."""
    if not isinstance(value, np.ndarray):
        return value
    return jnp.asarray(value, jnp.float64 if value.dtype.kind == "f" else None)
