r"""Binary splits of a categorical feature by a subset of its categories.

With two classes, and for numbers, the best subset is a cut of one order of the categories: by their share of class 1,
or by their mean, and among equals by their code (Breiman et al., 1984, theorem 4.5; Fisher, 1958). With more classes
every subset is tried if the feature has at most `MOST_CODES_EXHAUSTIVE` codes; beyond that, every cut of the orders by
the share of each class is tried. For several numeric targets, every cut of the orders by each target's mean is tried.

A category that the node does not have goes to the heavier branch.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int32, UInt32

from jaxtree.growth.candidates import UNRESOLVED, Judge
from jaxtree.growth.inputs import Missing
from jaxtree.growth.objective import Objective
from jaxtree.growth.problem import FeatureContext
from jaxtree.tree import ALL_BRANCHES
from jaxtree.tree.nodes import CODES_PER_WORD

MOST_CODES_EXHAUSTIVE = 8
"""The most codes for which every subset is tried, with more than two classes: 127 subsets."""


def best_subset(
    judge: Judge,
    feature: FeatureContext,
    table: Int[Array, "channel bin"],
    missing: Int[Array, "channel 1"],
    *,
    num_words: int,
) -> tuple[Float[Array, ""], UInt32[Array, " word"], Int32[Array, ""], Float[Array, ""]]:
    """Returns gain, codes of branch 1, branch of a missing value and split information of the best subset.

    Args:
        judge: Scores the node's candidates.
        feature: The feature.
        table: Sums of every code; only of the known codes if missing values are shared.
        missing: Sums of the missing values that are shared.
        num_words: The number of words of a subset.
    """
    rules = judge.rules
    total, parent = judge.known_part(missing)
    present = judge.weight(table) > 0
    in_lower = _lower_sides(table, present, feature, rules.objective)
    sums_of = lambda side: jnp.sum(jnp.where(side, table, 0), axis=1, keepdims=True, dtype=table.dtype)  # noqa: E731
    gain = jax.vmap(lambda lower: judge.gain(feature, sums_of(lower), total, parent)[0])(in_lower)
    best = jnp.max(gain)
    # The tolerance of the whole node, because the known rows alone may be pure.
    tolerance = judge.tolerance(best)
    number = jnp.arange(gain.size, dtype=jnp.int32)
    chosen = jnp.min(jnp.where(gain >= best - tolerance, number, gain.size - 1))
    lower = in_lower[chosen]
    inside = sums_of(lower & present)
    upper_is_heavier = 2 * judge.weight(inside)[0] < judge.weight(total)[0]
    in_upper = jnp.where(present, ~lower, upper_is_heavier)
    branch = jnp.int32(ALL_BRANCHES if rules.missing == Missing.FRACTION else UNRESOLVED)
    information = jnp.zeros_like(best)
    if rules.has_missing and not rules.shares_missing:
        is_missing = jnp.arange(present.size) == feature.missing_code
        branch = jnp.where(jnp.any(is_missing & present), jnp.any(is_missing & in_upper).astype(jnp.int32), UNRESOLVED)
    if rules.shares_missing:
        share = judge.weight(total)[0] / jnp.maximum(judge.weight(judge.node.stats.sums), 1)
        best = jnp.where(best > -jnp.inf, best * share, best)
    if rules.is_c45:
        parts = [judge.weight(part)[0] for part in (inside, total - inside, missing)]
        information = judge.split_information(jnp.stack(parts)[:, None])[0]
    return judge.rounded(best, tolerance), _pack(in_upper, num_words), branch.astype(jnp.int32), information


def _lower_sides(
    table: Int[Array, "channel bin"], present: Bool[Array, " bin"], feature: FeatureContext, objective: Objective
) -> Bool[Array, "candidate bin"]:
    """Whether a candidate puts a code into branch 0."""
    weight = objective.weight(table).astype(jnp.float64)
    key = objective.category_orders(table).astype(jnp.float64) / jnp.where(weight > 0, weight, 1)
    code = jnp.arange(table.shape[1], dtype=jnp.int32)
    # Of equal keys the lower code comes first, so that a cut may separate categories of equal shares.
    is_before = (key[:, None, :] == key[:, :, None]) & (code[None, :] <= code[:, None])
    by_order = ((key[:, None, :] < key[:, :, None]) | is_before) & present
    by_order = by_order & present[None, :, None]
    sides = by_order.reshape(-1, table.shape[1])
    if objective.tries_all_subsets:
        every = _every_subset(table.shape[1])
        few = feature.missing_code < MOST_CODES_EXHAUSTIVE
        sides = jnp.concatenate([sides & ~few, every & present & few])
    return sides


def _every_subset(num_bins: int) -> Bool[np.ndarray, "candidate bin"]:
    """All divisions of the first codes in two, with code 0 in branch 0."""
    num_codes = min(MOST_CODES_EXHAUSTIVE, num_bins)
    number = np.arange(2 ** (num_codes - 1))[:, None]
    bits = (number >> np.maximum(np.arange(num_bins) - 1, 0)) & (np.arange(num_bins) < num_codes)
    sides = bits == 0
    sides[:, 0] = True
    return sides[1:]


def _pack(members: Bool[Array, " bin"], num_words: int) -> UInt32[Array, " word"]:
    """Truth values as words of bits."""
    padded = jnp.pad(members, (0, num_words * CODES_PER_WORD - members.size))
    bits = padded.reshape(num_words, CODES_PER_WORD).astype(jnp.uint32)
    return jnp.sum(bits << jnp.arange(CODES_PER_WORD, dtype=jnp.uint32), axis=1, dtype=jnp.uint32)
