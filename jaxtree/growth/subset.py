r"""Binary splits of a categorical feature by a subset of its categories.

With two classes, and for numbers, the best subset is found by putting the categories in order of their
share of class 1, or of their mean, of equal ones in the order of their codes, and cutting that order somewhere
(Breiman et al., 1984, theorem 4.5; Fisher, 1958). With more classes every subset is tried if the feature has
at most `MOST_CODES_EXHAUSTIVE` codes; beyond it, the orders by the share of each class are cut everywhere, and
the best cut wins. Of several targets of numbers, the orders by each one's mean are.

A category that the node does not have goes to the heavier branch.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int32, UInt32

from jaxtree.growth.candidates import (
    NO_BRANCH,
    UNRESOLVED,
    Feature,
    Place,
    binary_gains,
    split_information,
    tie_tolerance,
)
from jaxtree.growth.measure import Measure, Units, Whole
from jaxtree.growth.rules import Missing, Rules
from jaxtree.tree import CODES_PER_WORD

MOST_CODES_EXHAUSTIVE = 8
"""Codes up to which every subset is tried for more than two classes: 127 subsets."""


def score_subsets(
    table: Int[Array, "channel bin"],
    missing: Int[Array, "channel 1"],
    feature: Feature,
    place: Place,
    units: Units,
    *,
    rules: Rules,
    num_words: int,
) -> tuple[Float[Array, ""], UInt32[Array, " word"], Int32[Array, ""], Float[Array, ""]]:
    """Returns gain, codes of branch 1, branch of a missing value and split information of the best subset.

    Args:
        table: Sums of every code; of the known codes alone if missing values are shared out.
        missing: Sums of the missing values that are shared out.
        feature: The feature.
        place: The node.
        units: Units of the sums.
        rules: Static rules.
        num_words: Words of a subset.
    """
    whole, total = place.whole, place.whole.sums[:, None]
    if rules.shares_missing:
        total = total - missing
        whole = rules.measure.whole(total[:, 0], units)
    present = rules.measure.weight(table) > 0
    in_lower = _lower_sides(table, present, feature, rules.measure)
    gain = jax.vmap(lambda lower: _gain(lower, table, total, feature, place, units, rules, whole))(in_lower)
    best = jnp.max(gain)
    # Of the whole node: the known rows alone may be pure.
    tolerance = tie_tolerance(place.whole, best, rules)
    number = jnp.arange(gain.size, dtype=jnp.int32)
    chosen = jnp.min(jnp.where(gain >= best - tolerance, number, gain.size - 1))
    lower = in_lower[chosen]
    inside = jnp.sum(jnp.where(lower & present, table, 0), axis=1, keepdims=True, dtype=table.dtype)
    return _describe(lower, inside, best, tolerance, present, total, missing, feature, place, units, rules, num_words)


def _lower_sides(
    table: Int[Array, "channel bin"], present: Bool[Array, " bin"], feature: Feature, measure: Measure
) -> Bool[Array, "candidate bin"]:
    """Which codes every candidate puts into branch 0."""
    key = _keys(table, measure)
    code = jnp.arange(table.shape[1], dtype=jnp.int32)
    # Of equal keys the lower code comes first, so that categories of equal shares may be told apart too.
    is_before = (key[:, None, :] == key[:, :, None]) & (code[None, :] <= code[:, None])
    by_order = ((key[:, None, :] < key[:, :, None]) | is_before) & present
    by_order = by_order & present[None, :, None]
    sides = by_order.reshape(-1, table.shape[1])
    if measure.num_classes and measure.num_channels - measure.counts_rows > 2:
        every = _every_subset(table.shape[1])
        few = feature.missing_code < MOST_CODES_EXHAUSTIVE
        sides = jnp.concatenate([sides & ~few, every & present & few])
    return sides


def _keys(table: Int[Array, "channel bin"], measure: Measure) -> Float[Array, "order bin"]:
    """What the orders put the codes in order by."""
    weight = measure.weight(table).astype(jnp.float64)
    if not measure.num_classes:
        above = table[1 : 1 + measure.num_outputs]
    elif measure.num_target_channels == 2:
        above = table[1:2]
    else:
        above = table[: measure.num_target_channels]
    return above.astype(jnp.float64) / jnp.where(weight > 0, weight, 1)


def _every_subset(num_bins: int) -> Bool[np.ndarray, "candidate bin"]:
    """Every way to divide the first codes in two, code 0 in branch 0."""
    num_codes = min(MOST_CODES_EXHAUSTIVE, num_bins)
    number = np.arange(2 ** (num_codes - 1))[:, None]
    bits = (number >> np.maximum(np.arange(num_bins) - 1, 0)) & (np.arange(num_bins) < num_codes)
    sides = bits == 0
    sides[:, 0] = True
    return sides[1:]


def _gain(lower, table, total, feature: Feature, place: Place, units, rules: Rules, whole: Whole):
    inside = jnp.sum(jnp.where(lower, table, 0), axis=1, keepdims=True, dtype=table.dtype)
    return binary_gains(inside, total, feature, place, units, rules, whole)[0]


def _describe(
    lower, inside, best, tolerance, present, total, missing, feature, place, units, rules: Rules, num_words: int
):
    measure = rules.measure
    upper_is_heavier = 2 * measure.weight(inside)[0] < measure.weight(total)[0]
    in_upper = jnp.where(present, ~lower, upper_is_heavier)
    branch = jnp.int32(NO_BRANCH if rules.missing == Missing.FRACTION else UNRESOLVED)
    information = jnp.zeros_like(best)
    if rules.has_missing and not rules.shares_missing:
        is_missing = jnp.arange(present.size) == feature.missing_code
        branch = jnp.where(jnp.any(is_missing & present), jnp.any(is_missing & in_upper).astype(jnp.int32), UNRESOLVED)
    if rules.shares_missing:
        share = measure.weight(total)[0] / jnp.maximum(measure.weight(place.whole.sums), 1)
        best = jnp.where(best > -jnp.inf, best * share, best)
    if rules.is_c45:
        parts = [measure.weight(part)[0] for part in (inside, total - inside, missing)]
        information = split_information(jnp.stack(parts)[:, None], place, units)[0]
    best = jnp.where(jnp.abs(best) <= tolerance, 0.0, best)
    if not measure.num_classes:
        best = jnp.where(best > -jnp.inf, jnp.maximum(best, 0.0), best)
    return best, _pack(in_upper, num_words), branch.astype(jnp.int32), information


def _pack(members: Bool[Array, " bin"], num_words: int) -> UInt32[Array, " word"]:
    """Truth values as words of bits."""
    padded = jnp.pad(members, (0, num_words * CODES_PER_WORD - members.size))
    bits = padded.reshape(num_words, CODES_PER_WORD).astype(jnp.uint32)
    return jnp.sum(bits << jnp.arange(CODES_PER_WORD, dtype=jnp.uint32), axis=1, dtype=jnp.uint32)
