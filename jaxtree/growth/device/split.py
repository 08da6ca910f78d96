"""The best split of one node on one feature, and of one node over all features.

A *candidate* is a code of the feature that is present in the node. Two gains are equal when they differ by
at most 1e-9 of the node's impurity (of numbers: of the best gain; under C4.5's rules 1e-6): gains that are
equal in exact arithmetic differ by about 1e-15 in float64, on any device, so rounding never decides a tie.
Among equal gains the lowest feature wins, or the first in a random order of the node's own; then the lowest code.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int32, UInt32

from jaxtree.arrays import OptionalArray, child_hash, mix, near_normal
from jaxtree.errors import present
from jaxtree.growth.device.candidates import (
    Candidates,
    SplitScorer,
    multiway_candidates,
    one_vs_rest_candidates,
    set_missing_apart,
    threshold_candidates,
)
from jaxtree.growth.device.subset import best_subset
from jaxtree.growth.inputs.bundles import ResolvedRules, Selection
from jaxtree.growth.inputs.objective import C45_TOLERANCE, TIE_TOLERANCE
from jaxtree.growth.inputs.whole_numbers import cumulative_sum
from jaxtree.growth.plan.plan import LoopPlan
from jaxtree.growth.plan.problem import DRAWS_OF_SCORES, FeatureContext, NodeContext
from jaxtree.tree import SplitKind

NO_CODE = 2**31 - 1
"""Larger than any code."""

C45_SLACK = 1e-3
"""The greatest shortfall from the average gain of a test that C4.5 still considers."""


class Split(NamedTuple):
    """The best split found so far; `gain` is -inf where there is none.

    `trimmed` removes the fields that are the same for all splits before they are stored.
    """

    gain: Float[Array, "*s"]
    feature: Int32[Array, "*s"]
    code: Int32[Array, "*s"]
    next_code: Int32[Array, "*s"]
    missing_branch: OptionalArray
    information: OptionalArray
    subset: OptionalArray


def no_split(shape: tuple[int, ...], plan: LoopPlan) -> Split:
    """The value before any split has been found."""
    none = jnp.zeros(shape, jnp.int32)
    gain = jnp.full(shape, -jnp.inf, jnp.float64)
    words = jnp.zeros((*shape, plan.num_words), jnp.uint32)
    return trimmed(Split(gain, none, none, none, none, jnp.zeros_like(gain), words), plan)


def trimmed(split: Split, plan: LoopPlan) -> Split:
    """The split without fields that the rules make equal for all splits: every stored field costs time."""
    return split._replace(
        missing_branch=split.missing_branch if plan.rules.has_missing_branch else None,
        information=split.information if plan.rules.is_c45 else None,
        subset=split.subset if plan.num_words else None,
    )


def score_histogram(
    judge: SplitScorer,
    feature: FeatureContext,
    histogram: Int[Array, "channel bin"],
    code: Int32[Array, " bin"],
    *,
    kind: SplitKind,
    num_words: int,
    num_codes: int,
) -> Split:
    """Returns the best split of a node on a feature.

    Args:
        judge: Scores the node's candidates.
        feature: The feature.
        histogram: Sums of every code of the feature at the node, or of its parts where a threshold is drawn.
        code: The codes, in ascending order; of a part that which is next to the threshold.
        kind: The kind of split of the feature.
        num_words: The number of words of a subset.
        num_codes: The number of codes that a subset may have.
    """
    rules = judge.rules
    known, missing = set_missing_apart(histogram, code, feature, rules)
    present = judge.weight(histogram) > 0
    if kind == SplitKind.SUBSET:
        table, shared = (known, missing) if rules.shares_missing else (histogram, jnp.zeros_like(missing))
        gain, subset, missing_branch, information = best_subset(
            judge, feature, table, shared, code, num_words=num_words, num_codes=num_codes
        )
        none = jnp.zeros_like(feature.number)
        return Split(gain, feature.number, none, none, missing_branch, information, subset)
    if kind == SplitKind.THRESHOLD:
        found = threshold_candidates(judge, feature, cumulative_sum(known), missing)
        next_code = _next_present(code, present) if rules.has_close_values else None
        split = _choose_threshold(judge, feature, found, code, present, next_code)
    elif kind == SplitKind.MULTIWAY:
        split = _choose(judge, feature, multiway_candidates(judge, feature, known, missing), code, present)
    else:
        found = one_vs_rest_candidates(judge, feature, code, known, missing)
        by_ratio = rules.selection == Selection.GAIN_RATIO
        ranked = found._replace(gain=_ratio(found.gain, found.information)) if by_ratio else found
        split = _choose(judge, feature, ranked, code, present)
        if by_ratio:
            split = split._replace(gain=_pick(found.gain, code == split.code, split.gain > -jnp.inf))
    return split._replace(subset=jnp.zeros(num_words, jnp.uint32))


def best_of_features(judge: SplitScorer, splits: Split, in_average: Bool[Array, " feature"]) -> Split:
    """Returns the best of a node's splits, one per feature (arrays of shape (feature,)).

    Args:
        judge: Scores the node's candidates.
        splits: The best split on every feature.
        in_average: Whether a feature counts for C4.5's average gain.
    """
    if judge.rules.is_c45:
        wins = _wins_by_c45(splits, in_average, judge.rules)
    else:
        best = jnp.max(splits.gain)
        wins = splits.gain >= best - judge.tolerance(best)
    if judge.rules.draws_scores:
        score = _noisy_scores(splits, judge.node)
        best = jnp.max(score)
        wins_by_score = (score > -jnp.inf) & (score >= best - TIE_TOLERANCE * jnp.abs(best))
        wins = jnp.where(judge.node.limits["score_noise"] > 0, wins_by_score, wins)
    # The features may be listed in another order than that of their numbers.
    place = judge.node.feature_ranks(splits.feature) if judge.rules.draws_ties else splits.feature
    wins = wins & (place == _lowest(place, wins))
    place_in_list = jnp.arange(splits.gain.size, dtype=jnp.int32)
    first = jnp.minimum(_lowest(place_in_list, wins), splits.gain.size - 1)
    best = jax.tree.map(lambda value: value[first], splits)
    return best._replace(gain=jnp.where(jnp.any(wins), best.gain, -jnp.inf))


def _noisy_scores(splits: Split, node: NodeContext) -> Float[Array, " feature"]:
    """The roots of what the branches save, with what the node draws for each feature; -inf where nothing is gained.

    The branches of a split save what the node saves as a leaf, which is its risk below 0, and what the split gains.
    """
    drawn = child_hash(mix(present(node.seed) ^ jnp.uint32(DRAWS_OF_SCORES)), splits.feature.astype(jnp.uint32))
    gain = jnp.where(splits.gain > 0, splits.gain, 0)
    saved = jnp.maximum(gain * node.stats.weight - node.stats.risk, 0)
    score = jnp.sqrt(saved) + node.limits["score_noise"] * near_normal(drawn)
    return jnp.where(splits.gain > 0, score, -jnp.inf)


def _choose_threshold(
    judge: SplitScorer,
    feature: FeatureContext,
    found: Candidates,
    code: Int32[Array, " candidate"],
    present: Bool[Array, " candidate"],
    next_code: Int32[Array, " candidate"] | None,
) -> Split:
    """The best of the thresholds above the given codes.

    Args:
        judge: Scores the node's candidates.
        feature: The feature.
        found: The candidates.
        code: The code of every candidate.
        present: Whether the node has the code.
        next_code: The next code that the node has, where close values must not be separated.
    """
    rules, node, _ = judge
    if rules.has_close_values:
        apart = next_code >= feature.next_separable.at[code].get(mode="clip")
        found = found._replace(gain=jnp.where(apart, found.gain, -jnp.inf))
    # Above the missing code lies what lies above the last known one: the same cut, which must not count twice.
    is_cut = present & (code != feature.missing_code) if rules.separates_missing else present
    gain = jnp.where(is_cut, found.gain, -jnp.inf)
    if rules.samples_thresholds:
        gain = jnp.where(jnp.arange(gain.size) == 0, gain, -jnp.inf)
    num_tried = jnp.sum(gain > -jnp.inf)
    split = _choose(judge, feature, found._replace(gain=gain), code, present)
    return corrected(split, num_tried, node) if rules.is_c45 else split


def corrected(split: Split, num_tried: Int[Array, "*s"], node: NodeContext) -> Split:
    """C4.5's correction by the description length of the threshold: the gain less log2(tried) / weight."""
    cost = node.limits["mdl_correction"] * jnp.log2(jnp.maximum(num_tried, 1).astype(jnp.float64))
    gain = split.gain - cost / jnp.where(node.stats.weight > 0, node.stats.weight, 1)
    return split._replace(gain=jnp.where(gain > C45_TOLERANCE, gain, -jnp.inf))


def _choose(
    judge: SplitScorer,
    feature: FeatureContext,
    found: Candidates,
    code: Int32[Array, " candidate"],
    present: Bool[Array, " candidate"],
) -> Split:
    gain = jnp.where(present, found.gain, -jnp.inf)
    best = jnp.max(gain)
    tolerance = judge.tolerance(best)
    chosen = _lowest(code, gain >= best - tolerance)
    best = judge.rounded(best, tolerance)
    is_chosen = present & (code == chosen)
    branch, is_c45 = found.missing_branch, judge.rules.is_c45
    return Split(
        gain=best,
        feature=feature.number.astype(jnp.int32),
        code=chosen,
        next_code=_lowest(code, present & (code > chosen)),
        missing_branch=jnp.min(jnp.where(is_chosen, branch, NO_CODE)) if branch.ndim else branch,
        information=_pick(found.information, is_chosen, True) if is_c45 else jnp.zeros_like(best),
        subset=jnp.zeros(0, jnp.uint32),
    )


def _pick(values: Float[Array, " candidate"], is_chosen: Bool[Array, " candidate"], exists) -> Float[Array, ""]:
    """The greatest value among the chosen candidates, -inf where there is none."""
    return jnp.where(exists, jnp.max(jnp.where(is_chosen, values, -jnp.inf)), -jnp.inf)


def _wins_by_c45(splits: Split, in_average: Bool[Array, " feature"], rules: ResolvedRules) -> Bool[Array, " feature"]:
    """Quinlan (1993), section 2.4: of the tests with at least average gain, those of the greatest gain ratio."""
    valid = splits.gain > -jnp.inf
    counts = valid & in_average
    number = jnp.sum(counts)
    gain = jnp.where(valid, splits.gain, 0.0)
    if rules.selection == Selection.INFORMATION:
        return valid & (gain >= jnp.max(jnp.where(valid, gain, -jnp.inf)) - C45_TOLERANCE)
    average = jnp.sum(jnp.where(counts, gain, 0.0)) / jnp.maximum(number, 1)
    ratio = jnp.where(valid & (gain >= average - C45_SLACK), _ratio(gain, splits.information), 0.0)
    best = jnp.max(ratio)
    return (number > 0) & (best > C45_TOLERANCE) & (ratio >= best - C45_TOLERANCE)


def _ratio(gain: Float[Array, "*s"], information: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Gain over split information, and 0 where the split information is 0."""
    is_trivial = information <= C45_TOLERANCE
    ratio = gain / jnp.where(is_trivial, 1.0, information)
    return jnp.where(is_trivial & (gain > -jnp.inf), 0.0, ratio)


def _next_present(code: Int32[Array, " bin"], present: Bool[Array, " bin"]) -> Int32[Array, " bin"]:
    """For every code the next larger one that is present."""
    at_or_after = jnp.where(present, code, jnp.int32(NO_CODE))
    shift = 1
    while shift < code.size:
        after = jnp.concatenate([at_or_after[shift:], jnp.full(shift, NO_CODE, jnp.int32)])
        at_or_after = jnp.minimum(at_or_after, after)
        shift *= 2
    return jnp.concatenate([at_or_after[1:], jnp.full(1, NO_CODE, jnp.int32)])


def _lowest(
    number: Int32[Array, " candidate"] | UInt32[Array, " candidate"], mask: Bool[Array, " candidate"]
) -> Int32[Array, ""] | UInt32[Array, ""]:
    """The lowest number where the mask holds, or the greatest of its type, which for codes is `NO_CODE`.

    `argmax` does not lower inside a local x64 scope under a caller's x32 `jit`; a minimum does.
    """
    return jnp.min(jnp.where(mask, number, number.dtype.type(np.iinfo(number.dtype).max)))
