"""Programs of XLA that boost cyclically, for accelerators and where the kernel in C++ is not; see `additive.py`.

Members on Gram sums are boosted side by side: those that have made their greedy steps wait for the others.
"""

import abc
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int32, Int64, UInt

from jaxtree.arrays import AnyArray
from jaxtree.compilation import compiled
from jaxtree.kernels.cyclic_steps import (
    BinSums,
    Proposal,
    TracedRules,
    propose_ordered,
    propose_pair,
    propose_subset,
)
from jaxtree.kernels.layout import TermKind
from jaxtree.kernels.padded_terms import PaddedTerms, ProgramSizes


class MemberState(NamedTuple):
    """A member.

    Attributes:
        gradient: The gradients of places in running form, or of rows.
        total: The sums of steps of bins.
        gains: The gain of every term when it was looked at last; below that of no step where a term pads.
    """

    gradient: Int64[Array, " any"]
    total: Int64[Array, " place"]
    gains: Float[Array, " term"]


class CyclicProgram(abc.ABC):
    """The boosting of one member, as a part of a program."""

    terms: PaddedTerms
    rules: TracedRules
    hessian: Int64[AnyArray, " place"]
    rows: Int64[AnyArray, " place"]
    sizes: ProgramSizes

    @abc.abstractmethod
    def gradient_of(self, term: Any, gradient: Int64[Array, " any"]) -> Int64[Array, " bin"]:
        """The gradients of the places of a term, in running form."""

    @abc.abstractmethod
    def after(self, term: Any, step: Proposal, gradient: Int64[Array, " any"]) -> Int64[Array, " any"]:
        """The gradients after a step."""

    def run(self, gradient: Int64[Array, " any"], num_passes: Any, *, is_greedy: bool) -> MemberState:
        """Makes passes, beginning with some gradients."""
        gains = jnp.where(jnp.arange(self.sizes.terms) < self.terms.number, -1.0, -2.0)
        start = MemberState(gradient, jnp.zeros(self.sizes.places, jnp.int64), gains)
        return lax.fori_loop(0, num_passes, lambda _, state: self.make_pass(state, is_greedy=is_greedy), start)

    def make_pass(self, state: MemberState, *, is_greedy: bool) -> MemberState:
        """Makes a step on every term, and greedy ones."""

        def step(term, state):
            proposal = self.look(term, state)
            state = state._replace(gains=state.gains.at[term].set(proposal.gain))
            return self.make(term, proposal, state)

        state = lax.fori_loop(0, self.terms.number, step, state)
        return self._make_greedy_steps(state) if is_greedy else state

    def look(self, term: Any, state: MemberState) -> Proposal:
        """Returns the step that is best for a term now."""
        width = self.sizes.width
        part = functools.partial(lax.dynamic_slice_in_dim, start_index=self.terms.first[term], slice_size=width)
        sums = BinSums(self.gradient_of(term, state.gradient), part(self.hessian), part(self.rows))
        rules, num_bins, most = self.rules, self.terms.num_bins[term], self.sizes.most_leaves
        size, sign = num_bins[0] * num_bins[1], self.terms.monotone[term]

        def ordered():
            return propose_ordered(sums, size, rules, sign, most=most)

        def subset():
            own = propose_subset(sums.at(slice(self.sizes.subset)), size, rules, most=most)
            room = (0, width - self.sizes.subset)
            return Proposal(own.gain, jnp.pad(own.step, room), jnp.pad(own.factor, room))

        def pair():
            return propose_pair(sums, num_bins, rules, grid=self.sizes.grid)

        branches, kind = [ordered], self.terms.kind[term]
        index = jnp.zeros((), jnp.int32)
        for own, branch, is_there in (
            (TermKind.SUBSET, subset, self.sizes.subset > 0),
            (TermKind.PAIR, pair, self.sizes.grid[0] > 0),
        ):
            if is_there:
                index = jnp.where(kind == own, len(branches), index)
                branches.append(branch)
        return lax.switch(index, branches) if len(branches) > 1 else ordered()

    def make(self, term: Any, proposal: Proposal, state: MemberState) -> MemberState:
        """Makes a step, if it gains."""
        is_made, first = proposal.gain > 0, self.terms.first[term]
        made = Proposal(proposal.gain, jnp.where(is_made, proposal.step, 0), jnp.where(is_made, proposal.factor, 0))
        before = lax.dynamic_slice_in_dim(state.total, first, self.sizes.width)
        total = lax.dynamic_update_slice_in_dim(state.total, before + made.step, first, 0)
        return state._replace(gradient=self.after(term, made, state.gradient), total=total)

    def _make_greedy_steps(self, state: MemberState) -> MemberState:
        def goes_on(carry):
            _, number, gains = carry
            return gains & (number < self.rules.greedy_steps)

        def step(carry):
            state, number, _ = carry
            state = self._look_for_best(state)
            best = jnp.argmax(state.gains)
            does_gain = state.gains[best] > 0
            return self.make(best, self.look(best, state), state), number + 1, does_gain

        start = state, jnp.zeros((), jnp.int64), jnp.ones((), bool)
        return lax.while_loop(goes_on, step, start)[0]

    def _look_for_best(self, state: MemberState) -> MemberState:
        """Looks at the term of the greatest gain anew, until it stays the greatest."""

        def is_old(carry: tuple[MemberState, Bool[Array, " term"]]) -> Bool[Array, ""]:
            state, is_new = carry
            return ~is_new[jnp.argmax(state.gains)]

        def look(carry):
            state, is_new = carry
            best = jnp.argmax(state.gains)
            gains = state.gains.at[best].set(self.look(best, state).gain)
            return state._replace(gains=gains), is_new.at[best].set(True)

        return lax.while_loop(is_old, look, (state, jnp.zeros(self.sizes.terms, bool)))[0]


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


class GramProgram(CyclicProgram):
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


class RowProgram(CyclicProgram):
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
        features, bins = self.terms.features[term], self.terms.bins[term]
        first, second = (bins[axis][self.weighted.codes[features[axis]]].astype(jnp.int32) for axis in (0, 1))
        return first * self.terms.num_bins[term, 1] + second


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
        num_passes: The number of passes through the terms.
        sizes: The static sizes from which shapes follow.
        is_greedy: Whether any member makes greedy steps.
    """
    matrix = jnp.stack(shared.matrix)

    def boost(member, own):
        program = GramProgram(terms, shared, matrix, member, sizes)
        state = program.run(own, num_passes, is_greedy=is_greedy)
        return state.total, state.gradient

    return jax.vmap(boost)(members, gradient)


@compiled("sizes", "is_greedy", what=lambda *_, **__: "the boosting of an additive model on rows")
def boost_member_on_rows(
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
        num_passes: The number of passes through the terms.
        sizes: The static sizes from which shapes follow.
        is_greedy: Whether the member makes greedy steps.
    """
    program = RowProgram(terms, rows, hessian, number, rules, sizes)
    return program.run(rows.gradient, num_passes, is_greedy=is_greedy)
