"""The candidates of one feature at one node: ways to divide the node's rows, and what each gains.

The *inside* of a binary split are the rows of one branch, the *outside* those of the other. A candidate
that may not be used has gain `-inf`. Rows whose value is missing are set apart from the known ones where
the rule is to learn their branch or to share them out.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Int32, Shaped

from jaxtree.arrays import OptionalArray
from jaxtree.growth.measure import TIE_TOLERANCE, Units, Whole
from jaxtree.growth.rules import Missing, Rules

UNRESOLVED = -1
"""The branch of a missing value at a node that saw none; it becomes the heaviest one."""

NO_BRANCH = 2**30
"""A branch past every number of branches: the row stays at the node, or is shared out."""

C45_TOLERANCE = 1e-6
"""What C4.5 takes for equal."""

C45_SHARE = 0.1
"""Share of the mean known weight of a class that each side of a C4.5 threshold must have."""

C45_MOST = 25.0
"""Where that share is more than this, this is asked instead, even if `min_samples_leaf` is more."""


class Feature(NamedTuple):
    """A feature, or arrays of them.

    Attributes:
        number: Its place in the codes.
        kind: A `SplitKind`.
        missing_code: The code that means missing.
        monotone: 1, 0 or -1: how the value may go as the code rises; None if no feature is constrained.
        first_apart: For every code the first one that lies far enough above to be cut off; None if all do.
        position: Where every code lies on the number line; None if no threshold is drawn.
    """

    number: Int32[Array, "*f"]
    kind: Int32[Array, "*f"]
    missing_code: Int32[Array, "*f"]
    monotone: OptionalArray
    first_apart: OptionalArray
    position: OptionalArray


class Place(NamedTuple):
    """What holds at a node for all its candidates; None where the rules do not ask for it.

    Attributes:
        whole: The node's sums.
        least_weight: The least weight of a branch, in units.
        least_rows: The least number of rows of a branch, where rows are counted.
        lower: The least value that a monotone branch may have.
        upper: The greatest.
        seed: Of the node's random draws.
        mdl_correction: Factor of C4.5's correction of numeric gains, 0 or 1.
        num_declared_classes: Classes that the target declares, for C4.5.
    """

    whole: Whole
    least_weight: Int[Array, "*p"]
    least_rows: OptionalArray
    lower: OptionalArray
    upper: OptionalArray
    seed: OptionalArray
    mdl_correction: OptionalArray
    num_declared_classes: OptionalArray


class Candidates(NamedTuple):
    """Ways to split on one feature.

    Attributes:
        gain: Impurity of the node less the weighted impurity of the branches.
        missing_branch: The branch of a missing value; one for all candidates if it is the same.
        information: C4.5's split information; 0 under other rules.
    """

    gain: Float[Array, " candidate"]
    missing_branch: Int32[Array, "*candidate"]
    information: Float[Array, " candidate"]


def set_missing_apart(
    histogram: Int[Array, "channel bin"], feature: Feature, rules: Rules
) -> tuple[Int[Array, "channel bin"], Int[Array, "channel 1"]]:
    """Returns the histogram of known codes, and the sums of the missing one; 0 where that is a code as any other."""
    if not rules.sets_missing_apart:
        return histogram, jnp.zeros_like(histogram[:, :1])
    is_missing = jnp.arange(histogram.shape[1], dtype=jnp.int32) == feature.missing_code
    missing = jnp.sum(jnp.where(is_missing, histogram, 0), axis=1, keepdims=True, dtype=histogram.dtype)
    return jnp.where(is_missing, 0, histogram), missing


def threshold_candidates(
    inside: Int[Array, "channel candidate"],
    missing: Int[Array, "channel #candidate"],
    feature: Feature,
    place: Place,
    units: Units,
    rules: Rules,
) -> Candidates:
    """The splits into `inside` (and perhaps the missing values) and the rest.

    Args:
        inside: Sums of the known rows up to each candidate.
        missing: Sums of the rows whose value is missing.
        feature: The feature.
        place: The node; its arrays have one value, or one a candidate.
        units: Units of the sums.
        rules: Static rules.
    """
    plain = _divide(inside, missing, feature, place, units, rules, is_numeric=True)
    if not rules.has_missing or rules.missing != Missing.LEARN:
        return plain._replace(missing_branch=jnp.int32(default_branch(1, rules)))
    with_inside = _divide(inside + missing, missing, feature, place, units, rules, is_numeric=True)
    return _learned(
        plain._replace(missing_branch=_for_all(1, plain.gain)),
        with_inside._replace(missing_branch=_for_all(0, plain.gain)),
        missing,
        place,
        rules,
    )


def one_vs_rest_candidates(
    known: Int[Array, "channel bin"],
    missing: Int[Array, "channel 1"],
    feature: Feature,
    place: Place,
    units: Units,
    rules: Rules,
) -> Candidates:
    """The splits into one code (branch 1) and all others; a missing value is on either side, or alone in branch 1."""
    plain = _divide(known, missing, feature, place, units, rules)
    is_missing = jnp.arange(known.shape[1], dtype=jnp.int32) == feature.missing_code
    if not rules.has_missing or rules.missing != Missing.LEARN:
        return plain._replace(missing_branch=_for_all(default_branch(is_missing, rules), plain.gain))
    # The missing code's own column stands for known against missing.
    outside = _divide(jnp.where(is_missing, missing, known), missing, feature, place, units, rules)
    inside = _divide(known + missing, missing, feature, place, units, rules)
    return _learned(
        outside._replace(missing_branch=is_missing.astype(jnp.int32)),
        inside._replace(missing_branch=_for_all(1, plain.gain)),
        missing,
        place,
        rules,
    )


def multiway_candidates(
    known: Int[Array, "channel bin"],
    missing: Int[Array, "channel 1"],
    feature: Feature,
    place: Place,
    units: Units,
    rules: Rules,
) -> Candidates:
    """The split into all codes: one candidate, which every present code stands for."""
    measure, whole = rules.measure, place.whole
    weight = measure.weight(known)
    used = weight > 0
    if rules.shares_missing:
        whole = measure.whole(whole.sums - missing[:, 0], units)
    risk = measure.risk(known, whole, units)
    kept = jnp.sum(jnp.where(used, risk, 0))
    branch = jnp.asarray(default_branch(feature.missing_code, rules))
    if rules.has_missing and rules.missing == Missing.LEARN:
        more = jnp.where(used, measure.risk(known + missing, whole, units) - risk, jnp.inf)
        least = jnp.min(more)
        host = _lowest_where(more <= least + TIE_TOLERANCE * jnp.abs(whole.risk))
        has_any = measure.weight(missing)[0] > 0
        kept = kept + jnp.where(has_any, least, 0)
        branch = jnp.where(has_any, host, UNRESOLVED)
    gain = (whole.risk - kept) / jnp.where(whole.weight > 0, whole.weight, 1)
    if rules.shares_missing:
        gain = gain * whole.weight / place.whole.weight
    enough = _is_enough(known, place, rules)
    admissible = jnp.sum(enough) >= 2 if rules.is_c45 else (jnp.sum(used) >= 2) & jnp.all(~used | enough)
    information = jnp.zeros_like(gain)
    if rules.is_c45:
        unknown = measure.weight(missing) if rules.shares_missing else jnp.zeros_like(weight[:1])
        information = split_information(jnp.concatenate([weight, unknown])[:, None], place, units)[0]
    gain = jnp.where(admissible, gain, -jnp.inf)
    return Candidates(*(_for_all(value, used) for value in (gain, branch.astype(jnp.int32), information)))


def binary_gains(
    inside: Int[Array, "channel #candidate"],
    total: Int[Array, "channel #candidate"],
    feature: Feature,
    place: Place,
    units: Units,
    rules: Rules,
    whole: Whole,
) -> Float[Array, " candidate"]:
    """Gain of dividing `total`, whose sums `whole` has, into `inside` and the rest, for every candidate."""
    measure = rules.measure
    outside = total - inside
    kept = measure.risk(inside, whole, units) + measure.risk(outside, whole, units)
    gain = (whole.risk - kept) / jnp.where(whole.weight > 0, whole.weight, 1)
    admissible = _is_enough(inside, place, rules) & _is_enough(outside, place, rules)
    if not measure.num_classes:
        admissible &= measure.is_splittable(inside) & measure.is_splittable(outside)
    if rules.has_monotone:
        admissible &= _is_monotone(measure.value(inside, units), measure.value(outside, units), feature, place)
    return jnp.where(admissible, gain, -jnp.inf)


def split_information(
    branch_weight: Int[Array, "branch candidate"], place: Place, units: Units
) -> Float[Array, " candidate"]:
    """Entropy in bits of the branches' weights over the node's whole weight."""
    share = branch_weight.astype(jnp.float64) * units.weight / place.whole.weight
    return -jnp.sum(share * jnp.log2(jnp.where(share > 0, share, 1)), axis=0)


def default_branch(branch, rules: Rules):
    """The branch of a missing value where none is learned: `branch` if missing is a value of its own."""
    return {Missing.BRANCH: branch, Missing.LEARN: UNRESOLVED, Missing.FRACTION: NO_BRANCH}[rules.missing]


def _for_all(value, candidates: Shaped[Array, " candidate"]) -> Shaped[Array, " candidate"]:
    value = jnp.asarray(value)
    value = value if jnp.issubdtype(value.dtype, jnp.floating) else value.astype(jnp.int32)
    return jnp.broadcast_to(value, candidates.shape)


def _divide(
    inside: Int[Array, "channel candidate"],
    missing: Int[Array, "channel #candidate"],
    feature: Feature,
    place: Place,
    units: Units,
    rules: Rules,
    *,
    is_numeric: bool = False,
) -> Candidates:
    """The splits into `inside` and the rest; where missing values are shared out, of the known rows alone.

    The gain is then multiplied by the known share of the weight.
    """
    measure, whole = rules.measure, place.whole
    total = whole.sums.reshape(whole.sums.shape[0], -1)
    if rules.shares_missing:
        total = total - missing
        columns = Whole(1, 0, 0, 1)  # pyright: ignore[reportArgumentType]
        whole = jax.vmap(lambda sums: measure.whole(sums, units), in_axes=1, out_axes=columns)(total)
    limits = place
    if rules.is_c45 and is_numeric:
        limits = place._replace(least_weight=c45_least_weight(whole.weight, place, units))
    gain = binary_gains(inside, total, feature, limits, units, rules, whole)
    if rules.shares_missing:
        share = whole.weight / jnp.where(place.whole.weight > 0, place.whole.weight, 1)
        gain = jnp.where(gain > -jnp.inf, gain * share, gain)
    information = jnp.zeros_like(gain)
    if rules.is_c45:
        parts = [inside, total - inside, missing if rules.shares_missing else jnp.zeros_like(missing)]
        weights = jnp.broadcast_arrays(*(measure.weight(part) for part in parts))
        information = split_information(jnp.stack(weights), place, units)
    return Candidates(gain, jnp.zeros(gain.shape, jnp.int32), information)


def _learned(
    first: Candidates, second: Candidates, missing: Int[Array, "channel #candidate"], place: Place, rules: Rules
) -> Candidates:
    """Of two sides for the missing values the one that gains more; of equal gains the first."""
    tolerance = tie_tolerance(place.whole, jnp.maximum(first.gain, second.gain), rules)
    takes_second = second.gain > first.gain + tolerance
    chosen = Candidates(*(jnp.where(takes_second, b, a) for a, b in zip(first, second, strict=True)))
    has_any = rules.measure.weight(missing) > 0
    return chosen._replace(missing_branch=jnp.where(has_any, chosen.missing_branch, UNRESOLVED).astype(jnp.int32))


def c45_least_weight(known: Float[Array, "*p"], place: Place, units: Units) -> Int[Array, "*p"]:
    """The least weight of a side of a C4.5 threshold, in units."""
    mean = C45_SHARE * known / place.num_declared_classes
    asked = jnp.ceil((jnp.minimum(mean, C45_MOST) - C45_TOLERANCE) / units.weight).astype(place.least_weight.dtype)
    own = jnp.ceil((mean - C45_TOLERANCE) / units.weight).astype(place.least_weight.dtype)
    return jnp.where(own <= place.least_weight, place.least_weight, asked)


def _is_enough(sums: Int[Array, "channel candidate"], place: Place, rules: Rules) -> Bool[Array, " candidate"]:
    """Whether a branch has the least weight and rows."""
    enough = rules.measure.weight(sums) >= place.least_weight
    return enough & (sums[-1] >= place.least_rows) if rules.measure.counts_rows else enough


def _is_monotone(lower_value, upper_value, feature: Feature, place: Place) -> Bool[Array, " candidate"]:
    """Whether the branches' values rise or fall as they must, within the node's bounds (scikit-learn's rule)."""
    in_order = (lower_value - upper_value) * feature.monotone <= 0
    inside = (jnp.minimum(lower_value, upper_value) >= place.lower) & (
        jnp.maximum(lower_value, upper_value) <= place.upper
    )
    return (feature.monotone == 0) | (in_order & inside)


def tie_tolerance(whole: Whole, best_gain: Float[Array, "*p"], rules: Rules) -> Float[Array, "*p"]:
    """By how much equal gains may differ."""
    if rules.is_c45:
        return jnp.full_like(best_gain, C45_TOLERANCE)
    if rules.measure.num_classes:
        impurity = whole.risk / jnp.where(whole.weight > 0, whole.weight, 1)
        return jnp.broadcast_to(TIE_TOLERANCE * impurity, best_gain.shape)
    return TIE_TOLERANCE * jnp.maximum(best_gain, 0)


def _lowest_where(mask: Bool[Array, " code"]) -> Int32[Array, ""]:
    code = jnp.arange(mask.size, dtype=jnp.int32)
    return jnp.min(jnp.where(mask, code, mask.size - 1))
