r"""Binary splits of a categorical feature by a subset of its categories.

With two classes, and for numbers, the best subset is a cut of one order of the categories: by their share of class 1,
or by their mean, and among equals by their code (Breiman et al., 1984, theorem 4.5; Fisher, 1958). With more classes
every subset is tried if the feature has at most `MOST_CODES_EXHAUSTIVE` categories, or one fewer where a node has
missing values; beyond that, every cut of the orders by the share of each class is tried. For several numeric targets,
every cut of the orders by each target's mean is tried.

A category that the node does not have goes to the heavier branch.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Int32, UInt32

from jaxtree.growth.device.candidates import SplitScorer
from jaxtree.growth.inputs.bundles import Missing
from jaxtree.growth.inputs.objective import Objective
from jaxtree.growth.nodes import UNRESOLVED
from jaxtree.growth.plan.problem import FeatureContext
from jaxtree.kernels.walk import CODES_PER_WORD
from jaxtree.tree import ALL_BRANCHES

MOST_CODES_EXHAUSTIVE = 8
"""The most codes for which every subset is tried, with more than two classes: 127 subsets."""


def best_subset(
    judge: SplitScorer,
    feature: FeatureContext,
    table: Int[Array, "channel bin"],
    missing: Int[Array, "channel 1"],
    code: Int32[Array, " bin"],
    *,
    num_words: int,
    num_codes: int,
) -> tuple[Float[Array, ""], UInt32[Array, " word"], Int32[Array, ""], Float[Array, ""]]:
    """Returns gain, codes of branch 1, branch of a missing value and split information of the best subset.

    Args:
        judge: Scores the node's candidates.
        feature: The feature.
        table: Sums of every bin; only of the known codes if missing values are shared.
        missing: Sums of the missing values that are shared.
        code: The code of every bin, in ascending order.
        num_words: The number of words of a subset.
        num_codes: The number of codes that a subset may have.
    """
    rules = judge.rules
    total, parent = judge.known_part(missing)
    present = judge.weight(table) > 0
    in_lower = _lower_sides(table, present, code, feature, rules.objective)
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
    branch = jnp.int32(ALL_BRANCHES if rules.missing == Missing.FRACTION else UNRESOLVED)
    information = jnp.zeros_like(best)
    if rules.has_missing and not rules.shares_missing:
        is_missing = present & (code == feature.missing_code)
        branch = jnp.where(jnp.any(is_missing), jnp.any(is_missing & ~lower).astype(jnp.int32), UNRESOLVED)
    if rules.shares_missing:
        share = judge.weight(total)[0] / jnp.maximum(judge.weight(judge.node.stats.sums), 1)
        best = jnp.where(best > -jnp.inf, best * share, best)
    if rules.is_c45:
        parts = [judge.weight(part)[0] for part in (inside, total - inside, missing)]
        information = judge.split_information(jnp.stack(parts)[:, None])[0]
    # The codes that the node does not have go to the heavier side.
    every_code = jnp.arange(num_codes, dtype=jnp.int32)
    of_absent = _pack(every_code, jnp.broadcast_to(upper_is_heavier, num_codes), num_codes)
    words = _pack(code, present & (~lower != upper_is_heavier), num_codes) ^ of_absent
    words = jnp.pad(words, (0, num_words - words.size))
    return judge.rounded(best, tolerance), words, branch.astype(jnp.int32), information


def _lower_sides(
    table: Int[Array, "channel bin"],
    present: Bool[Array, " bin"],
    code: Int32[Array, " bin"],
    feature: FeatureContext,
    objective: Objective,
) -> Bool[Array, "candidate bin"]:
    """Whether a candidate puts a bin's code into branch 0."""
    weight = objective.weight(table).astype(jnp.float64)
    key = objective.category_orders(table).astype(jnp.float64) / jnp.where(weight > 0, weight, 1)
    # Among equal keys the lower code comes first, so that a cut may separate categories of equal shares.
    is_before = (key[:, None, :] == key[:, :, None]) & (code[None, :] <= code[:, None])
    by_order = ((key[:, None, :] < key[:, :, None]) | is_before) & present
    by_order = by_order & present[None, :, None]
    sides = by_order.reshape(-1, table.shape[1])
    if objective.tries_all_subsets:
        every = _every_subset(code)
        # A missing value has the code behind the categories.
        few = (feature.missing_code <= MOST_CODES_EXHAUSTIVE) & ~jnp.any(present & (code >= MOST_CODES_EXHAUSTIVE))
        sides = jnp.concatenate([sides & ~few, every & present & few])
    return sides


def _every_subset(code: Int32[Array, " bin"]) -> Bool[Array, "candidate bin"]:
    """All divisions of the first codes in two, with code 0 in branch 0."""
    number = jnp.arange(1, 2 ** (MOST_CODES_EXHAUSTIVE - 1), dtype=jnp.int32)[:, None]
    bits = number >> jnp.clip(code - 1, 0, MOST_CODES_EXHAUSTIVE)
    return ((bits & 1) == 0) | (code == 0) | (code >= MOST_CODES_EXHAUSTIVE)


def _pack(code: Int32[Array, " bin"], is_member: Bool[Array, " bin"], num_codes: int) -> UInt32[Array, " word"]:
    """Codes as bits of words."""
    bits = jnp.where(is_member, jnp.uint32(1) << (code % CODES_PER_WORD).astype(jnp.uint32), jnp.uint32(0))
    words = jnp.arange(-(-num_codes // CODES_PER_WORD), dtype=jnp.int32)
    is_in = code // CODES_PER_WORD == words[:, None]
    return jnp.sum(jnp.where(is_in, bits, jnp.uint32(0)), axis=1, dtype=jnp.uint32)
