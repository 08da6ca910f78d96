"""Programs of XLA that boost on Gram sums, and on rows; see `cyclic.py`.

Members on Gram sums are boosted side by side: those that have made their greedy steps wait for the others.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int32, Int64, UInt

from jaxtree.additive.booster import Booster, MemberState
from jaxtree.additive.layout import TermKind
from jaxtree.additive.padding import PaddedTerms, ProgramSizes
from jaxtree.additive.proposals import Proposal, TracedRules
from jaxtree.additive.row_programs import place_of_rows
from jaxtree.arrays import AnyArray
from jaxtree.compilation import compiled


class Shared(NamedTuple):
    """Arrays that members share: the sums of every gram in running form.

    Attributes:
        matrix: The weights that places share, of every gram by itself: those of one are not copied.
        hessian: The weights of places.
        rows: The rows of places.
    """

    matrix: tuple[Int32[AnyArray, "place place"], ...]
    hessian: Int64[AnyArray, "gram place"]
    rows: Int64[AnyArray, "gram place"]


class MemberInputs(NamedTuple):
    """Arrays of a member that do not change."""

    gram: Int32[AnyArray, ""]
    rules: TracedRules


class WeightedRows(NamedTuple):
    """The rows of a member; weights and gradients are 0 of rows that it does not learn from."""

    codes: UInt[AnyArray, "feature row"]
    weight: Int32[AnyArray, " row"]
    gradient: Int64[AnyArray, " row"]


class GramBooster(Booster):
    """Boosts on Gram sums; gradients are those of places in running form."""

    def __init__(self, terms: PaddedTerms, shared: Shared, matrix: Any, member: MemberInputs, sizes: ProgramSizes):
        self.terms, self.matrix, self.gram, self.rules, self.sizes = terms, matrix, member.gram, member.rules, sizes
        self.hessian, self.rows = shared.hessian[member.gram], shared.rows[member.gram]

    def gradient_of(self, term: Any, gradient: Int64[Array, " place"]) -> Int64[Array, " bin"]:
        """The gradients of the places of a term."""
        return lax.dynamic_slice_in_dim(gradient, self.terms.first[term], self.sizes.width)

    def after(self, term: Any, step: Proposal, gradient: Int64[Array, " place"]) -> Int64[Array, " place"]:
        """The gradients after a step: a product with the weights that all places share with those of the term."""
        first, factor = self.terms.first[term], step.factor

        def product(places, own):
            return gradient + jnp.sum(self.matrix[self.gram, places].astype(jnp.int64) * own[:, None], axis=0)

        def of_few():
            # An ordered term has as many numbers as leaves, and that of missing values; a pair has at most five.
            at = jnp.flatnonzero(factor, size=min(self.sizes.most_leaves + 3, self.sizes.width), fill_value=0)
            is_there = jnp.arange(len(at)) < jnp.count_nonzero(factor)
            return product(first + at, jnp.where(is_there, factor[at], 0))

        def of_subset():
            return product(first + jnp.arange(self.sizes.subset), factor[: self.sizes.subset])

        if not self.sizes.subset:
            return of_few()
        return lax.cond(self.terms.kind[term] == TermKind.SUBSET, of_subset, of_few)


class RowBooster(Booster):
    """Boosts on rows; gradients are theirs."""

    def __init__(
        self, terms: PaddedTerms, rows: WeightedRows, hessian: Any, number: Any, rules: TracedRules, sizes: ProgramSizes
    ):
        self.terms, self.weighted, self.hessian, self.rows = terms, rows, hessian, number
        self.rules, self.sizes = rules, sizes

    def gradient_of(self, term: Any, gradient: Int64[Array, " row"]) -> Int64[Array, " bin"]:
        """The gradients of the places of a term."""
        at, (first, second) = jnp.arange(self.sizes.width), self.terms.num_bins[term]
        plain = jnp.zeros(self.sizes.width, jnp.int64).at[self._bins(term)].add(gradient)

        def ordered():
            return jnp.where(at < first - 1, jnp.cumsum(plain), plain)

        def pair():
            one, other = jnp.arange(self.sizes.grid[0])[:, None], jnp.arange(self.sizes.grid[1])
            is_there = (one < first) & (other < second)
            cells = jnp.where(is_there, plain[jnp.where(is_there, one * second + other, 0)], 0)
            cells = jnp.cumsum(jnp.cumsum(cells, axis=0), axis=1)
            return cells[jnp.minimum(at // second, len(cells) - 1), at % second]

        branches = [ordered, lambda: plain, pair if self.sizes.grid[0] else lambda: plain]
        return lax.switch(self.terms.kind[term], branches)

    def after(self, term: Any, step: Proposal, gradient: Int64[Array, " row"]) -> Int64[Array, " row"]:
        """The gradients after a step."""
        return gradient + self.weighted.weight * step.step[self._bins(term)]

    def _bins(self, term: Any) -> Int32[Array, " row"]:
        return place_of_rows(self.terms, term, self.weighted.codes) - self.terms.first[term]


@compiled("sizes", "is_greedy", what=lambda *_, **__: "the boosting of an additive model")
def boost_members(
    terms: PaddedTerms,
    shared: Shared,
    members: MemberInputs,
    gradient: Int64[AnyArray, "member place"],
    num_passes: Int32[AnyArray, ""],
    *,
    sizes: ProgramSizes,
    is_greedy: bool,
) -> tuple[Int64[Array, "member place"], Int64[Array, "member place"]]:
    """Returns the sums of steps of bins, and the gradients after them in running form. 64-bit types must be enabled.

    Args:
        terms: The terms.
        shared: The sums of all grams.
        members: The grams and rules of the members.
        gradient: The gradients of places, in running form.
        num_passes: How many passes through the terms.
        sizes: What shapes follow from.
        is_greedy: Whether any member makes greedy steps.
    """
    matrix = jnp.stack(shared.matrix)

    def boost(member, own):
        booster = GramBooster(terms, shared, matrix, member, sizes)
        state = booster.run(own, num_passes, is_greedy=is_greedy)
        return state.total, state.gradient

    return jax.vmap(boost)(members, gradient)


@compiled("sizes", "is_greedy", what=lambda *_, **__: "the boosting of an additive model on rows")
def boost_on_rows(
    terms: PaddedTerms,
    rows: WeightedRows,
    hessian: Int64[AnyArray, " place"],
    number: Int64[AnyArray, " place"],
    rules: TracedRules,
    num_passes: Int32[AnyArray, ""],
    *,
    sizes: ProgramSizes,
    is_greedy: bool,
) -> MemberState:
    """Returns the member, whose gradients are those of rows, after the steps. 64-bit types must be enabled.

    Args:
        terms: The terms.
        rows: The rows.
        hessian: The weights of places, in running form.
        number: The rows of places, in running form.
        rules: The rules of steps.
        num_passes: How many passes through the terms.
        sizes: What shapes follow from.
        is_greedy: Whether the member makes greedy steps.
    """
    booster = RowBooster(terms, rows, hessian, number, rules, sizes)
    return booster.run(rows.gradient, num_passes, is_greedy=is_greedy)
