"""Cyclic boosting as a part of XLA's programs, for accelerators and where the kernel in C++ is not; see `cyclic.py`."""

import abc
import functools
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int64

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


class Booster(abc.ABC):
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
