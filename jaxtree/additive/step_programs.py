"""Cyclic boosting as a program of XLA, for accelerators and where the kernel in C++ is not; see `cyclic.py`.

All members are boosted side by side: those that have made their greedy steps wait for the others.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int32, Int64

from jaxtree.additive.layout import TermKind
from jaxtree.additive.padding import PaddedTerms, ProgramSizes
from jaxtree.additive.proposals import (
    BinSums,
    Proposal,
    TracedRules,
    propose_ordered,
    propose_pair,
    propose_subset,
)
from jaxtree.arrays import AnyArray
from jaxtree.compilation import compiled


class Shared(NamedTuple):
    """What members share: the sums of every gram in running form.

    Attributes:
        matrix: The weights that places share.
        hessian: The weights of places.
        rows: The rows of places.
    """

    matrix: Int32[AnyArray, "gram place place"]
    hessian: Int64[AnyArray, "gram place"]
    rows: Int64[AnyArray, "gram place"]


class MemberState(NamedTuple):
    """A member.

    Attributes:
        gradient: The gradients of places, in running form.
        total: The sums of steps of bins.
        gains: The gain of every term when it was looked at last; below that of no step where a term pads.
    """

    gradient: Int64[Array, " place"]
    total: Int64[Array, " place"]
    gains: Float[Array, " term"]


class MemberInputs(NamedTuple):
    """What does not change of a member."""

    gram: Int32[AnyArray, ""]
    rules: TracedRules


@compiled("sizes", "most_leaves", "is_greedy", what=lambda *_, **__: "the boosting of an additive model")
def boost_members(
    terms: PaddedTerms,
    shared: Shared,
    members: MemberInputs,
    gradient: Int64[AnyArray, "member place"],
    num_passes: Int32[AnyArray, ""],
    *,
    sizes: ProgramSizes,
    most_leaves: int,
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
        most_leaves: The most leaves of any member.
        is_greedy: Whether any member makes greedy steps.
    """

    def boost(member, own):
        booster = Booster(terms, shared, member, sizes, most_leaves)
        gains = jnp.where(jnp.arange(sizes.terms) < terms.number, -1.0, -2.0)
        state = lax.fori_loop(
            0, num_passes, lambda _, state: booster.make_pass(state, is_greedy=is_greedy),
            MemberState(own, jnp.zeros_like(own), gains),
        )  # fmt: skip
        return state.total, state.gradient

    return jax.vmap(boost)(members, gradient)


class Booster:
    """The boosting of one member, as a part of a program."""

    def __init__(self, terms: PaddedTerms, shared: Shared, member: MemberInputs, sizes: ProgramSizes, most_leaves: int):
        self.terms, self.shared, self.member, self.sizes, self.most_leaves = terms, shared, member, sizes, most_leaves

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
        gram, width = self.member.gram, self.sizes.width
        first = self.terms.first[term]
        part = functools.partial(lax.dynamic_slice_in_dim, start_index=first, slice_size=width)
        sums = BinSums(part(state.gradient), part(self.shared.hessian[gram]), part(self.shared.rows[gram]))
        rules, num_bins, most = self.member.rules, self.terms.num_bins[term], self.most_leaves
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
        first, gram = self.terms.first[term], self.member.gram
        is_made = proposal.gain > 0
        step = jnp.where(is_made, proposal.step, 0)
        factor = jnp.where(is_made, proposal.factor, 0)
        before = lax.dynamic_slice_in_dim(state.total, first, self.sizes.width)
        total = lax.dynamic_update_slice_in_dim(state.total, before + step, first, 0)

        def product(places, own):
            return jnp.sum(self.shared.matrix[gram, places].astype(jnp.int64) * own[:, None], axis=0)

        def of_few():
            # An ordered term has as many numbers as leaves, and that of missing values; a pair has at most five.
            at = jnp.flatnonzero(factor, size=min(self.most_leaves + 3, self.sizes.width), fill_value=0)
            is_first = jnp.arange(len(at)) < jnp.count_nonzero(factor)
            return product(first + at, jnp.where(is_first, factor[at], 0))

        def of_subset():
            return product(first + jnp.arange(self.sizes.subset), factor[: self.sizes.subset])

        if self.sizes.subset > 0:
            change = lax.cond(self.terms.kind[term] == TermKind.SUBSET, of_subset, of_few)
        else:
            change = of_few()
        return state._replace(gradient=state.gradient + change, total=total)

    def _make_greedy_steps(self, state: MemberState) -> MemberState:
        def goes_on(carry):
            _, number, gains = carry
            return gains & (number < self.member.rules.greedy_steps)

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
