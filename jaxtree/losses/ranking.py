r"""Losses of order within groups: rows of a group, such as a query, are compared with one another alone.

The target is how relevant a row is; the extra `group` is a whole number, the same for all rows of a group, which need
not stand together. Scores order the rows of a group and mean nothing across groups. In every pair of a group, the more
relevant row is pushed up and the other one down, by $\Delta / (1 + e^d)$, where $d$ is how far the first one is above
the other and $\Delta$ what a measure of the order changes by if the two change places (LambdaMART; Burges, 2010). Time
is proportional to rows and to the size of the largest group, memory to rows.

Rows of a group with equal scores are *tied*. They have no order, so measures and what they change by are means over all
orders of tied rows (McSherry and Najork, *Computing information retrieval performance measures efficiently in the
presence of tied scores*, ECIR 2008): nothing depends on the order of the rows of a table.
"""

import abc
import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from jaxtree.arrays import AnyArray, safe_divide
from jaxtree.lazy import Array, jax, jnp
from jaxtree.losses.domain import NUMBERS, Domain, require
from jaxtree.losses.loss import BaseLoss, Derivatives, Extras, with_offset
from jaxtree.losses.segments import Segments, segments_of
from jaxtree.switches import by_own

MOST_RELEVANT = 31
"""The highest degree of relevance: gains are powers of 2."""


class _Ranked(NamedTuple):
    """Rows by group, and in groups by falling scores; rows of weight 0 come last.

    Tied rows stand by relevance and weight, so that sums over them have the same bits in any order of the table.

    Attributes:
        order: The rows.
        groups: The groups.
        ties: Rows of a group with the same score.
        score: The scores.
        relevance: The targets.
        weight: The weights.
    """

    order: Int[Array, " row"]
    groups: Segments
    ties: Segments
    score: Float[Array, " row"]
    relevance: Shaped[Array, " row"]
    weight: Float[Array, " row"]

    @property
    def place(self) -> Float[Array, " row"]:
        """The places in groups, from 1, as if tied rows stood in the order in which they are here."""
        return self.groups.position.astype(self.score.dtype) + 1

    @property
    def tied_place(self) -> Float[Array, " row"]:
        """The same among tied rows."""
        return self.ties.position.astype(self.score.dtype) + 1

    @property
    def num_tied(self) -> Float[Array, " row"]:
        """How many rows have the score of a row, itself included."""
        return self.ties.size.astype(self.score.dtype)

    def means_of_tied(self, *values: Float[Array, " row"]) -> Float[Array, "value row"]:
        """The means over all tied rows, for each of them; by one scan, whose program is long."""
        return jax.vmap(self.ties.sums)(jnp.stack(values)) / self.num_tied


def _rank(scores: Any, target: Any, weight: Any, extras: Extras) -> _Ranked:
    shifted, extras = with_offset(scores, extras)
    target, weight, group = jnp.asarray(target), jnp.asarray(weight), extras["group"]
    is_out = weight <= 0
    order = jnp.lexsort((weight, -target.astype(shifted.dtype), -shifted[0], group, is_out))
    of_group, is_out_too, of_score = (key[order][1:] != key[order][:-1] for key in (group, is_out, shifted[0]))
    is_first = jnp.append(True, of_group | is_out_too)
    groups, ties = segments_of(is_first), segments_of(is_first | jnp.append(True, of_score))
    weight = jnp.where(is_out, 0, weight).astype(shifted.dtype)
    return _Ranked(order, groups, ties, shifted[0, order], target[order], weight[order])


@dataclasses.dataclass(frozen=True, repr=False)
class Ranking(BaseLoss):
    """A loss of order within groups."""

    num_scores: ClassVar[int] = 1
    hessian: ClassVar[str] = "diagonal"
    renewal: ClassVar[None] = None
    needs: ClassVar[tuple[str, ...]] = ("group",)
    joins_rows: ClassVar[bool] = True

    @abc.abstractmethod
    def numbers(self, ranked: _Ranked) -> dict[str, Float[Array, " row"]]:
        """Returns what `change` is made of."""

    @abc.abstractmethod
    def change(
        self, above: dict[str, Shaped[Array, " row"]], below: dict[str, Shaped[Array, " row"]]
    ) -> Float[Array, " row"]:
        """Returns how much the measure changes, up or down, if two rows of different relevance change places.

        For tied rows it is the mean size of the change over all their orders.
        """

    @abc.abstractmethod
    def shortfall(self, ranked: _Ranked) -> Float[Array, " row"]:
        """Returns by how much the measure of a row's group is below 1."""

    def __repr__(self) -> str:
        """As it was made."""
        values = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in values)})"

    @by_own
    def values(
        self, scores: Float[AnyArray, "score row"], target: Shaped[AnyArray, " row"], extras: Extras
    ) -> Float[Array, " row"]:
        """Returns by how much the measure of every row's group is below 1; all rows have weight 1."""
        ranked = _rank(scores, target, jnp.ones(len(target)), extras)
        return self.shortfall(ranked)[jnp.argsort(ranked.order)]

    @by_own
    def mean(
        self,
        scores: Float[AnyArray, "score row"],
        target: Shaped[AnyArray, " row"],
        weight: Float[AnyArray, " row"],
        extras: Extras,
    ) -> Float[Array, ""]:
        """Returns the mean over groups, each of the mean weight of its rows."""
        ranked = _rank(scores, target, weight, extras)
        part = ranked.weight / ranked.groups.size
        return safe_divide(jnp.sum(part * self.shortfall(ranked)), jnp.sum(part)).astype(jnp.asarray(scores).dtype)

    @by_own
    def derivatives(
        self,
        scores: Float[AnyArray, "score row"],
        target: Shaped[AnyArray, " row"],
        weight: Float[AnyArray, " row"],
        extras: Extras,
    ) -> Derivatives:
        """Returns sums over pairs; a pair has the mean weight of its rows."""
        ranked = _rank(scores, target, weight, extras)
        _, *sums = self._pair_sums(ranked)
        old_order, dtype = jnp.argsort(ranked.order), jnp.asarray(scores).dtype
        return Derivatives(*(part[old_order][None].astype(dtype) for part in sums))

    def check_extra(self, extra: str, values: Shaped[np.ndarray, "row *output"]) -> None:
        """Checks that groups are whole numbers."""
        domain = Domain(is_whole=True) if extra == "group" else NUMBERS
        domain.check(values, f"{self}: the extra {extra!r}")

    def _pair_sums(self, ranked: _Ranked) -> Float[Array, "3 row"]:
        """Sums over the pairs of every row: halves of losses, first and second derivatives.

        Rows are compared with those some places below them in their group, for one distance at a time: every pair has
        its turn, and sums are the same on every device.
        """
        own = self.numbers(ranked) | {"score": ranked.score, "relevance": ranked.relevance, "weight": ranked.weight}
        index = jnp.arange(len(ranked.score))

        def add_pairs(distance: Int[Array, ""], sums: Float[Array, "3 row"]) -> Float[Array, "3 row"]:
            below = {name: jnp.roll(values, -distance) for name, values in own.items()}
            sign = jnp.sign(own["relevance"] - below["relevance"]).astype(ranked.score.dtype)
            is_pair = (index + distance <= ranked.groups.last) & (sign != 0)
            size = jnp.where(is_pair, jnp.abs(self.change(own, below)) * (own["weight"] + below["weight"]) / 2, 0)
            lead = sign * (own["score"] - below["score"])
            push = size * sign * jax.nn.sigmoid(-lead)
            curvature = size * jax.nn.sigmoid(lead) * jax.nn.sigmoid(-lead)
            half = size * jax.nn.softplus(-lead) / 2
            of_below = jnp.roll(jnp.stack([half, push, curvature]), distance, axis=1)
            return sums + jnp.stack([half, -push, curvature]) + of_below

        largest = jnp.max(jnp.where(ranked.weight > 0, ranked.groups.size, 1))
        return jax.lax.fori_loop(1, largest, add_pairs, jnp.zeros((3, len(index)), ranked.score.dtype))


@dataclasses.dataclass(frozen=True, repr=False)
class DiscountedGain(Ranking):
    """The loss that `ndcg` makes.

    Attributes:
        k: How many rows of a group count; None counts all.
    """

    k: int | None = None
    name: ClassVar[str] = "ndcg"
    domain: ClassVar[Domain] = Domain(0, MOST_RELEVANT, is_whole=True)

    def numbers(self, ranked: _Ranked) -> dict[str, Float[Array, " row"]]:
        """Returns gains as parts of the best sum, discounts, and how far those of two tied rows are apart."""
        (gain, best), discount, number = self._gains(ranked), self._discounts(ranked), ranked.num_tied
        # The mean difference of falling numbers, of which each is above those behind it and below those before it.
        times = number + 1 - 2 * ranked.tied_place
        mean, apart = ranked.means_of_tied(discount, times * discount)
        return {"gain": safe_divide(gain, best), "discount": mean, "apart": safe_divide(apart, (number - 1) / 2)}

    def change(
        self, above: dict[str, Shaped[Array, " row"]], below: dict[str, Shaped[Array, " row"]]
    ) -> Float[Array, " row"]:
        """Returns how much the measure changes, up or down, if two rows of different relevance change places."""
        is_tied = above["score"] == below["score"]
        apart = jnp.where(is_tied, above["apart"], above["discount"] - below["discount"])
        return (above["gain"] - below["gain"]) * apart

    def shortfall(self, ranked: _Ranked) -> Float[Array, " row"]:
        """Returns by how much the measure of a row's group is below 1; 0 where no row is relevant."""
        (gain, best), (mean,) = self._gains(ranked), ranked.means_of_tied(self._discounts(ranked))
        return safe_divide(best - ranked.groups.sums(gain * mean), best)

    def _gains(self, ranked: _Ranked) -> tuple[Float[Array, " row"], Float[Array, " row"]]:
        """Gains, and the sum of gains times discounts in the best order."""
        gain = jnp.exp2(ranked.relevance.astype(ranked.score.dtype)) - 1
        best_first = jnp.lexsort((-gain, ranked.groups.first))
        return gain, ranked.groups.sums(gain[best_first] * self._discounts(ranked))

    def _discounts(self, ranked: _Ranked) -> Float[Array, " row"]:
        """The discounts of places; 0 of those after the first `k`."""
        discount = 1 / jnp.log2(ranked.place + 1)
        return discount if self.k is None else jnp.where(ranked.place <= self.k, discount, 0)


class _Hits(NamedTuple):
    """The relevant rows of a measure of hits.

    Attributes:
        is_hit: Whether a row is relevant.
        above: How many are among those of higher scores.
        tied: How many are among those of the same score, the row itself included.
        total: How many are in the group.
    """

    is_hit: Bool[Array, " row"]
    above: Float[Array, " row"]
    tied: Float[Array, " row"]
    total: Float[Array, " row"]


@dataclasses.dataclass(frozen=True, repr=False)
class AveragePrecision(Ranking):
    """The loss that `average_precision` makes."""

    name: ClassVar[str] = "average_precision"
    domain: ClassVar[Domain] = Domain(0, 1, is_whole=True)

    def numbers(self, ranked: _Ranked) -> dict[str, Float[Array, " row"]]:
        """Returns the precision at every place, the part of the measure in one row, and the sum of it above hits.

        For tied rows these are means over all places that a row may have, and `change` is that of two of them.
        """
        hits, number, place = self._hits(ranked), ranked.num_tied, ranked.place
        share = safe_divide(1.0, hits.total)
        own = hits.is_hit.astype(place.dtype)
        # The share of hits among the other tied rows.
        rate = safe_divide(hits.tied - own, number - 1)
        before = ranked.tied_place - 1
        inverse, further, behind, change = ranked.means_of_tied(
            1 / place, before / place, (number - before - 1) / place, self._changes(ranked, hits)
        )
        of_place = hits.tied / number / place
        above_tied = (ranked.groups.running_sums(of_place) - of_place)[ranked.ties.first]
        return {
            "precision": ((hits.above + own) * inverse + rate * further) * share,
            "inverse": inverse * share,
            "hits_above": (above_tied + rate * behind + own * inverse) * share,
            "change": safe_divide(change, (number - 1) / 2) * share,
        }

    def change(
        self, above: dict[str, Shaped[Array, " row"]], below: dict[str, Shaped[Array, " row"]]
    ) -> Float[Array, " row"]:
        """Returns how much the measure changes, up or down, if two rows of different relevance change places."""
        is_hit = above["relevance"] > 0
        # Hits between the two get one hit more, or one less, above them.
        between = below["hits_above"] - above["hits_above"] - jnp.where(is_hit, 0, below["inverse"])
        further = below["precision"] - above["precision"] - between
        is_tied = above["score"] == below["score"]
        return jnp.where(is_tied, above["change"], jnp.where(is_hit, further, above["inverse"] - further))

    def shortfall(self, ranked: _Ranked) -> Float[Array, " row"]:
        """Returns by how much the measure of a row's group is below 1; 0 where no row is relevant."""
        hits, number = self._hits(ranked), ranked.num_tied
        rate = safe_divide(hits.tied - 1, number - 1)
        precision = (hits.above + 1 + (ranked.tied_place - 1) * rate) / ranked.place
        return safe_divide(hits.total - ranked.groups.sums(hits.tied / number * precision), hits.total)

    @staticmethod
    def _changes(ranked: _Ranked, hits: _Hits) -> Float[Array, " row"]:
        """The addition of places to the sizes of changes, times all hits, of pairs of tied rows of which one is a hit.

        With the hit i-th of the tied rows and the other one j-th, or the other way round, the change is the precision
        at i with it, less that at j, and the inverse places of the hits between them.
        """
        number, own, place = ranked.num_tied, ranked.tied_place, ranked.place
        rate = safe_divide(hits.tied - 1, number - 2)
        as_first = (number - own) * (hits.above + 1 + rate * (own - 1))
        as_second = (own - 1) * (hits.above + 1 + rate * (own - 2))
        between = rate * (own - 1) * (number - own)
        return (as_first - as_second + between) / place

    @staticmethod
    def _hits(ranked: _Ranked) -> _Hits:
        """The hits above and among tied rows, and in groups."""
        is_hit, ties = ranked.relevance > 0, ranked.ties
        number = ranked.groups.running_counts(is_hit).astype(ranked.score.dtype)
        above = number[ties.first] - is_hit[ties.first]
        return _Hits(is_hit, above, number[ties.last] - above, number[ranked.groups.last])


@dataclasses.dataclass(frozen=True, repr=False)
class Pairwise(Ranking):
    """The loss that `pairwise` makes."""

    name: ClassVar[str] = "pairwise"
    domain: ClassVar[Domain] = NUMBERS

    def numbers(self, ranked: _Ranked) -> dict[str, Float[Array, " row"]]:
        """Returns nothing: all pairs count alike."""
        return {}

    def change(
        self, above: dict[str, Shaped[Array, " row"]], below: dict[str, Shaped[Array, " row"]]
    ) -> Float[Array, " row"]:
        """Returns 1."""
        return jnp.ones_like(above["score"])

    def shortfall(self, ranked: _Ranked) -> Float[Array, " row"]:
        """Returns half of the losses of all pairs that a row is in."""
        return self._pair_sums(ranked)[0]

    @by_own
    def mean(
        self,
        scores: Float[AnyArray, "score row"],
        target: Shaped[AnyArray, " row"],
        weight: Float[AnyArray, " row"],
        extras: Extras,
    ) -> Float[Array, ""]:
        """Returns the sum of the losses of all pairs, divided by the weight of all rows."""
        ranked = _rank(scores, target, weight, extras)
        return safe_divide(jnp.sum(self.shortfall(ranked)), jnp.sum(ranked.weight)).astype(jnp.asarray(scores).dtype)


def ndcg(k: int | None = None) -> DiscountedGain:
    r"""1 less the normalised discounted cumulative gain, $\sum_i (2^{y_i} - 1) / \log_2(1 + r_i)$ over its best value.

    The target $y$ is a degree of relevance, $r$ a row's place in its group (Järvelin and Kekäläinen, 2002). A group
    in which no row is relevant has no loss. With equal scores it is the mean over all their orders.

    Args:
        k: How many rows of a group count, 1 or more; None counts all.

    Raises:
        InvalidInputError: It is below 1.

    Example: the best of two rows stands second.
        >>> extras = {"group": np.array([7, 7])}
        >>> values = ndcg().values(jnp.array([[1.0, 0.0]]), np.array([0, 1]), extras)
        >>> [round(float(value), 4) for value in values]
        [0.3691, 0.3691]
    """
    require(k is None or k >= 1, "k of ndcg must be None, or 1 or more", k)
    return DiscountedGain(k)


def average_precision() -> AveragePrecision:
    r"""1 less the mean, over the relevant rows of a group, of the part of rows down to it that are relevant.

    The target is 1 or 0 (Donmez, Svore and Burges, 2009). A group in which no row is relevant has no loss. With equal
    scores it is the mean over all their orders.

    Example: the one relevant row of three stands second.
        >>> extras = {"group": np.array([7, 7, 7])}
        >>> average_precision().values(jnp.array([[2.0, 1.0, 0.0]]), np.array([0, 1, 0]), extras).tolist()
        [0.5, 0.5, 0.5]
    """
    return AveragePrecision()


def pairwise() -> Pairwise:
    r"""$\sum \log(1 + e^{s_j - s_i})$ over all pairs of a group in which $y_i > y_j$ (RankNet; Burges et al., 2005).

    The target is any number. The value of a row is half of the losses of its pairs.

    Example:
        >>> extras = {"group": np.array([7, 7])}
        >>> values = pairwise().values(jnp.zeros((1, 2)), np.array([0.5, 2.0]), extras)
        >>> [round(float(value), 4) for value in values]
        [0.3466, 0.3466]
    """
    return Pairwise()
