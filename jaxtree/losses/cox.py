"""Cox's partial likelihood: who of those at risk has the event at each time of one."""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

from jaxtree.arrays import AnyArray, safe_divide
from jaxtree.lazy import Array, jax, jnp
from jaxtree.losses.domain import NUMBERS, Domain, require
from jaxtree.losses.elementary import exp_link
from jaxtree.losses.loss import BaseLoss, Derivatives, Extras, with_offset
from jaxtree.losses.segments import Segments, segments_of
from jaxtree.switches import by_own

TIES = ("efron", "breslow")

EVENTS = Domain(0, 1, is_whole=True, has_positive=True)
"""1 of rows with the event, 0 of others."""


class _Risks(NamedTuple):
    """The sums that the likelihood and its derivatives are made of; rows in the order of time.

    Attributes:
        order: The rows.
        times: Rows of the same time.
        is_event: Whether an event is at the row's time, and not the end of watching it.
        log_risk: The logarithm of the row's risk, times its weight.
        log_at_risk: The logarithm of the sum over all rows that are watched at the row's time.
        left_out: The part of the tied events that has left before this one, by Efron's rule.
        kept: The part of those at risk that remains.
        weight: The weight of an event: the mean of those tied with it; 0 of other rows.
    """

    order: Shaped[Array, " row"]
    times: Segments
    is_event: Bool[Array, " row"]
    log_risk: Float[Array, " row"]
    log_at_risk: Float[Array, " row"]
    left_out: Float[Array, " row"]
    kept: Float[Array, " row"]
    weight: Float[Array, " row"]

    @property
    def log_sum(self) -> Float[Array, " row"]:
        """The logarithm of the sum that an event is divided by."""
        return self.log_at_risk + jnp.log(self.kept)


@dataclasses.dataclass(frozen=True, repr=False)
class Cox(BaseLoss):
    """The loss that `cox` makes.

    Attributes:
        ties: The rule for events at the same time.
    """

    ties: str = "efron"
    name: ClassVar[str] = "cox"
    num_scores: ClassVar[int] = 1
    hessian: ClassVar[str] = "diagonal"
    renewal: ClassVar[None] = None
    domain: ClassVar[Domain] = Domain(0)
    needs: ClassVar[tuple[str, ...]] = ("event",)
    joins_rows: ClassVar[bool] = True

    def __repr__(self) -> str:
        """As it was made."""
        return f"cox(ties={self.ties!r})"

    @by_own
    def values(
        self, scores: Float[AnyArray, "score row"], target: Shaped[AnyArray, " row"], extras: Extras
    ) -> Float[Array, " row"]:
        """Returns the loss of every event, 0 of other rows; all have weight 1."""
        risks = self._risks(scores, target, jnp.ones(len(target)), extras)
        return _in_old_order(jnp.where(risks.is_event, risks.log_sum - risks.log_risk, 0), risks.order)

    @by_own
    def mean(
        self,
        scores: Float[AnyArray, "score row"],
        target: Shaped[AnyArray, " row"],
        weight: Float[AnyArray, " row"],
        extras: Extras,
    ) -> Float[Array, ""]:
        """Returns minus the log partial likelihood, divided by the sum of weights."""
        risks = self._risks(scores, target, weight, extras)
        own = jnp.where(risks.is_event, jnp.asarray(weight)[risks.order], 0)
        score = with_offset(scores, extras)[0][0, risks.order]
        total = jnp.sum(jnp.where(risks.is_event, risks.weight * risks.log_sum - own * score, 0))
        return safe_divide(total, jnp.sum(weight)).astype(jnp.asarray(scores).dtype)

    @by_own
    def derivatives(
        self,
        scores: Float[AnyArray, "score row"],
        target: Shaped[AnyArray, " row"],
        weight: Float[AnyArray, " row"],
        extras: Extras,
    ) -> Derivatives:
        """Returns gradients and the diagonal of the Hessian, in the precision of the scores."""
        risks = self._risks(scores, target, weight, extras)
        # Logarithms of sums over all events up to the row's time, of weight / sum and weight / sum^2.
        rate, rate_square = (
            jnp.where(risks.is_event, _log(risks.weight) - power * risks.log_sum, -jnp.inf) for power in (1, 2)
        )
        log_slope = risks.log_risk + jax.lax.cumlogsumexp(rate)[risks.times.last]
        log_square = 2 * risks.log_risk + jax.lax.cumlogsumexp(rate_square)[risks.times.last]
        slope, square = jnp.exp(log_slope), jnp.exp(log_square)
        # Tied events were counted in full where Efron's rule leaves out a part.
        out, share = risks.left_out, jnp.where(risks.is_event, jnp.exp(risks.log_risk - risks.log_at_risk), 0)
        less = share * risks.times.sums(risks.weight * out / risks.kept)
        less_square = share**2 * risks.times.sums(risks.weight * out * (2 - out) / risks.kept**2)
        events = jnp.where(risks.is_event, jnp.asarray(weight)[risks.order], 0)
        gradient = slope - less - events
        hessian = jnp.maximum(slope - less - (square - less_square), 0)
        dtype = jnp.asarray(scores).dtype
        return Derivatives(*(_in_old_order(part, risks.order)[None].astype(dtype) for part in (gradient, hessian)))

    def predict(self, scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "score row"]:
        """Returns hazards, relative to that of a row of score 0."""
        return exp_link(scores)

    def check_extra(self, extra: str, values: Shaped[np.ndarray, "row *output"]) -> None:
        """Checks that events are 0 or 1."""
        domain = EVENTS if extra == "event" else NUMBERS
        domain.check(values, f"{self}: the extra {extra!r}")

    def check_fit(self, target: Shaped[np.ndarray, "row *output"], extras: Extras) -> None:
        """Checks targets and extras, and that there is an event."""
        super().check_fit(target, extras)
        EVENTS.check_together(np.asarray(extras["event"]), f"{self}: the extra 'event'")

    def _risks(self, scores: Any, target: Any, weight: Any, extras: Extras) -> _Risks:
        """All that depends on the order of times; rows of weight 0 are never at risk."""
        shifted, extras = with_offset(scores, extras)
        order = jnp.argsort(jnp.asarray(target), stable=True)
        score, time, weight = shifted[0, order], jnp.asarray(target)[order], jnp.asarray(weight)[order]
        is_event = (extras["event"][order] > 0) & (weight > 0)
        times = segments_of(jnp.append(True, time[1:] != time[:-1]))
        log_risk = jnp.where(weight > 0, score, 0) + _log(weight)
        log_at_risk = jax.lax.cumlogsumexp(log_risk, reverse=True)[times.first]
        number = times.running_counts(is_event)
        tied = jnp.maximum(number[times.last], 1).astype(score.dtype)
        share = times.sums(jnp.where(is_event, jnp.exp(log_risk - log_at_risk), 0))
        left_out = jnp.where(is_event & (self.ties == "efron"), (number - 1) / tied, 0)
        mean_weight = jnp.where(is_event, times.sums(jnp.where(is_event, weight, 0).astype(score.dtype)) / tied, 0)
        return _Risks(order, times, is_event, log_risk, log_at_risk, left_out, 1 - left_out * share, mean_weight)


def cox(ties: str = "efron") -> Cox:
    r"""Minus Cox's log partial likelihood, $\sum_{i} (\log \sum_{j : t_j \ge t_i} e^{s_j} - s_i)$ over all events $i$.

    The target is the time until the event, or until a row was last watched; the extra `event` is 1 or 0 for these.
    Scores are logarithms of hazards, which are proportional to one another at all times (Cox, 1972); predictions are
    $e^s$. Events at the same time follow one another in a random order (Efron, 1977) or all count as first (Breslow,
    1974). The Hessian is the diagonal of that of all rows. A weight counts a row that often among those at risk and
    among events. Time and memory are proportional to rows, after a sort.

    Args:
        ties: `"efron"` or `"breslow"`.

    Raises:
        InvalidInputError: It is neither.

    Example: one of two rows has the event while both are at risk.
        >>> loss = cox()
        >>> values = loss.values(jnp.zeros((1, 2)), np.array([1.0, 2.0]), {"event": np.array([1, 0])})
        >>> [round(float(value), 4) for value in values]
        [0.6931, 0.0]
    """
    require(ties in TIES, "ties of cox must be 'efron' or 'breslow'", repr(ties))
    return Cox(ties)


def _log(weight: Float[Array, " row"]) -> Float[Array, " row"]:
    return jnp.log(jnp.maximum(weight, 0))


def _in_old_order(values: Float[Array, " row"], order: Shaped[Array, " row"]) -> Float[Array, " row"]:
    return values[jnp.argsort(order)]
