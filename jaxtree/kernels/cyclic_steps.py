"""The step that is proposed for a term, in XLA's programs: the leaves and gains of `tests/additive/reference.py`.

No product of floats is added to anything, as a compiler might fuse the two: gains and steps have the same bits
everywhere.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Int32, Int64

from jaxtree.arrays import AnyArray

LARGEST = 2**30
"""The largest step as a whole number."""


class TracedRules(NamedTuple):
    """The fields of `StepRules`, and those that follow from them, as numbers of a program."""

    learning_rate: Float[AnyArray, ""]
    l2: Float[AnyArray, ""]
    l1: Float[AnyArray, ""]
    max_step: Float[AnyArray, ""]
    min_hessian: Float[AnyArray, ""]
    smoothing: Float[AnyArray, ""]
    min_rows: Int[AnyArray, ""]
    max_leaves: Int[AnyArray, ""]
    greedy_steps: Int[AnyArray, ""]


class BinSums(NamedTuple):
    """Sums of bins: gradients, second derivatives and rows."""

    gradient: Int64[Array, "*bin"]
    hessian: Int64[Array, "*bin"]
    rows: Int64[Array, "*bin"]

    def __sub__(self, other: "BinSums") -> "BinSums":
        """Returns what is left without others."""
        return BinSums(*(one - two for one, two in zip(self, other, strict=True)))

    def at(self, *index: Any) -> "BinSums":
        """Returns the sums at some of the bins."""
        return BinSums(*(own[index] for own in self))


class Proposal(NamedTuple):
    """A step of a term.

    Attributes:
        gain: The loss that its leaves save; -1 if there is no step.
        step: The step of every bin.
        factor: The step as numbers of places in running form, whose sum over all places that contain a bin is its step.
    """

    gain: Float[Array, ""]
    step: Int64[Array, " bin"]
    factor: Int64[Array, " bin"]


def allows(own: BinSums, rules: TracedRules) -> Bool[Array, "*bin"]:
    """Whether leaves may have these sums."""
    return (own.rows >= jnp.maximum(rules.min_rows, 1)) & (own.hessian >= jnp.maximum(rules.min_hessian, 1.0))


def score(own: BinSums, rules: TracedRules) -> Float[Array, "*bin"]:
    """Twice the savings of leaves."""
    held = jnp.maximum(jnp.abs(own.gradient.astype(jnp.float64)) - rules.l1, 0.0)
    denominator = jnp.where(own.hessian > 0, own.hessian.astype(jnp.float64) + rules.l2, 1.0)
    return jnp.where(own.hessian > 0, held * held / denominator, 0.0)


def value(own: BinSums, rules: TracedRules) -> Float[Array, "*bin"]:
    """The steps of leaves before they are rounded; of leaves that are not allowed, any number."""
    gradient = own.gradient.astype(jnp.float64)
    held = jnp.maximum(jnp.abs(gradient) - rules.l1, 0.0)
    denominator = jnp.where(own.hessian > 0, own.hessian.astype(jnp.float64) + rules.l2, 1.0)
    step = jnp.where(gradient > 0, -held, held) / denominator
    return rules.learning_rate * jnp.clip(step, -rules.max_step, rules.max_step)


def whole_step(own: BinSums, rules: TracedRules) -> Int64[Array, "*bin"]:
    """The steps of leaves as whole numbers."""
    return jnp.clip(jnp.rint(value(own, rules)), -LARGEST, LARGEST).astype(jnp.int64)


class Division(NamedTuple):
    """Bins of an axis in leaves; those past the last are in any."""

    begin: Int32[Array, " bin"]
    end: Int32[Array, " bin"]


def divide(
    edges: BinSums,
    number: Int[Array, ""],
    rules: TracedRules,
    max_leaves: Int[Array, ""],
    sign: Int[Array, ""],
    *,
    most: int,
) -> tuple[Float[Array, ""], Int64[Array, " bin"]]:
    """Returns the gain of the best leaves of an axis, 0 if it is not divided, and the step of every bin.

    Args:
        edges: The sums of all bins up to each edge between them, the first of which is 0.
        number: The number of bins.
        rules: The rules of steps.
        max_leaves: The most leaves.
        sign: How steps may go along the axis: 1, -1 or 0.
        most: The most leaves of any member.
    """
    at = jnp.arange(len(edges.rows) - 1, dtype=jnp.int32)
    middle = edges.at(slice(1, None))

    def cut(leaves, division):
        begin, end = division
        before, behind = edges.at(begin), edges.at(end)
        left, right = middle - before, behind - middle
        gain = score(left, rules) + score(right, rules) - score(behind - before, rules)
        is_allowed = (at < number) & allows(left, rules) & allows(right, rules)
        is_allowed &= ~(sign * (value(right, rules) - value(left, rules)) < 0)
        gain = jnp.where(is_allowed & (gain > 0), gain, 0.0)
        # Among equal gains the first leaf wins, and its first cut.
        best = jnp.argmax(gain).astype(jnp.int32)
        is_cut = (gain[best] > 0) & (leaves < max_leaves) & (begin == begin[best])
        return Division(
            jnp.where(is_cut & (at > best), best + 1, begin), jnp.where(is_cut & (at <= best), best + 1, end)
        )

    start = Division(jnp.zeros_like(at), jnp.broadcast_to(number.astype(jnp.int32), at.shape))
    begin, end = lax.fori_loop(1, most, cut, start)
    own = edges.at(end) - edges.at(begin)
    saved = score(own, rules)

    def add(_, state):
        gain, bin_ = state
        is_there = bin_ < number
        return gain + jnp.where(is_there, saved[bin_], 0.0), jnp.where(is_there, end[bin_], bin_)

    gain, _ = lax.fori_loop(0, most, add, (jnp.zeros((), jnp.float64), jnp.zeros((), jnp.int32)))
    is_divided = jnp.any((begin > 0) & (at < number))
    step = jnp.where(is_divided & (at < number), whole_step(own, rules), 0)
    return jnp.where(is_divided, gain, 0.0), step


def edges_of(sums: BinSums) -> BinSums:
    """Puts a 0 in front of sums of all bins up to each."""
    return BinSums(*(jnp.concatenate([jnp.zeros(1, own.dtype), own]) for own in sums))


def propose_ordered(
    running: BinSums, size: Int[Array, ""], rules: TracedRules, sign: Int[Array, ""], *, most: int
) -> Proposal:
    """Proposes a step of an ordered term, from its sums in running form."""
    known, at = size - 1, jnp.arange(len(running.rows))
    max_leaves = jnp.where(sign == 0, rules.max_leaves, 2)
    gain, step = divide(edges_of(running), known, rules, max_leaves, sign, most=most)
    missing = running.at(known)
    has_missing = allows(missing, rules)
    step = jnp.where(at == known, jnp.where(has_missing, whole_step(missing, rules), 0), step)
    saved = gain + jnp.where(has_missing, score(missing, rules), 0.0)
    following = jnp.append(step[1:], 0)
    factor = jnp.where(at < known - 1, step - following, step)
    return Proposal(jnp.where((gain > 0) | has_missing, saved, -1.0), step, factor)


def propose_subset(plain: BinSums, size: Int[Array, ""], rules: TracedRules, *, most: int) -> Proposal:
    """Proposes a step of a term whose bins are in no order, from the sums of its bins."""
    is_present = (plain.rows > 0) & (jnp.arange(len(plain.rows)) < size)
    denominator = plain.hessian.astype(jnp.float64) + rules.smoothing
    ratio = jnp.where(denominator > 0, plain.gradient / jnp.where(denominator > 0, denominator, 1.0), 0.0)
    order = jnp.argsort(jnp.where(is_present, ratio, jnp.inf), stable=True)
    running = BinSums(*(jnp.cumsum(jnp.where(is_present, own, 0)[order]) for own in plain))
    number, no_sign = jnp.sum(is_present), jnp.zeros((), jnp.int32)
    gain, sorted_step = divide(edges_of(running), number, rules, rules.max_leaves, no_sign, most=most)
    step = jnp.zeros_like(sorted_step).at[order].set(sorted_step)
    return Proposal(jnp.where(gain > 0, gain, -1.0), step, step)


class HalvedPart(NamedTuple):
    """The best way to leave a part of a pair whole or to halve it, beside every cut of the outer axis.

    Attributes:
        whole: The sums of the part.
        cut: The last inner bin of its first half, -1 if it is whole.
        saved: The loss that its leaves save.
        first: The loss that the first leaf saves.
        second: The loss that the second leaf saves, if there is one.
    """

    whole: BinSums
    cut: Int32[Array, " outer"]
    saved: Float[Array, " outer"]
    first: Float[Array, " outer"]
    second: Float[Array, " outer"]


def halve(below: BinSums, rules: TracedRules) -> HalvedPart:
    """Halves a part, whose sums up to an inner bin are [outer, inner]; behind the last bin they stay the same."""
    whole = below.at(slice(None), -1)
    rest = whole.at(slice(None), None) - below
    one, two = score(below, rules), score(rest, rules)
    is_allowed = allows(below, rules) & allows(rest, rules)
    both = jnp.where(is_allowed, one + two, -1.0)
    cut = jnp.argmax(both, axis=1).astype(jnp.int32)
    undivided = score(whole, rules)
    outer = jnp.arange(len(cut))
    is_cut = both[outer, cut] > undivided
    first = jnp.where(is_cut, one[outer, cut], undivided)
    second = jnp.where(is_cut, two[outer, cut], 0.0)
    return HalvedPart(whole, jnp.where(is_cut, cut, -1), first + second, first, second)


def propose_tree(cells: BinSums, num_outer: Int[Array, ""], rules: TracedRules) -> tuple[Float[Array, ""], Array]:
    """Returns the gain of the best tree that divides the outer axis first, 0 if there is none, and the step of cells.

    Args:
        cells: Running sums, [outer, inner]; behind the last bins they stay the same.
        num_outer: The bins of the outer axis.
        rules: The rules of steps.
    """
    others = cells.at(slice(-1, None)) - cells
    left, right = halve(cells, rules), halve(others, rules)
    outer, inner = jnp.arange(cells.rows.shape[0]), jnp.arange(cells.rows.shape[1])
    is_allowed = (outer < num_outer - 1) & allows(left.whole, rules) & allows(right.whole, rules)
    gain = jnp.where(is_allowed, left.saved + right.first + right.second, 0.0)
    best = jnp.argmax(gain).astype(jnp.int32)

    def steps(part, below):
        cut, own = part.cut[best], below.at(best)
        low = own.at(jnp.maximum(cut, 0))
        low = BinSums(*(jnp.where(cut < 0, 0, number) for number in low))
        high = own.at(-1) - low
        return jnp.where(inner <= cut, whole_step(low, rules), whole_step(high, rules))

    step = jnp.where((outer <= best)[:, None], steps(left, cells), steps(right, others))
    return gain[best], step


def propose_pair(
    running: BinSums, num_bins: Int[Array, " 2"], rules: TracedRules, *, grid: tuple[int, int]
) -> Proposal:
    """Proposes a step of a pair, from its sums in running form.

    Args:
        running: The sums of its cells, one row of cells after another.
        num_bins: The bins on both axes.
        rules: The rules of steps.
        grid: The most bins on both axes of any pair.
    """
    one, other = jnp.arange(grid[0])[:, None], jnp.arange(grid[1])
    first, second = num_bins[0], num_bins[1]
    place = jnp.minimum(one, first - 1) * second + jnp.minimum(other, second - 1)
    cells = running.at(place)
    gain, step = propose_tree(cells, first, rules)
    turned_gain, turned_step = propose_tree(BinSums(*(own.T for own in cells)), second, rules)
    best = jnp.maximum(gain, turned_gain)
    step = jnp.where(turned_gain > gain, turned_step.T, step)
    step = jnp.where((best > 0) & (one < first) & (other < second), step, 0)
    factor = step - jnp.pad(step[1:], ((0, 1), (0, 0)))
    factor = factor - jnp.pad(factor[:, 1:], ((0, 0), (0, 1)))
    at = jnp.arange(len(running.rows))
    inside = at < first * second
    cell = jnp.where(inside, at // second, 0), jnp.where(inside, at % second, 0)
    flat, flat_factor = (jnp.where(inside, own[cell], 0) for own in (step, factor))
    return Proposal(jnp.where(best > 0, best, -1.0), flat, flat_factor)
