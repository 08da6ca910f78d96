"""The candidates of one feature at one node: ways to divide the node's rows, and the gain of each.

The *inside* of a binary split is the rows of one branch, the *outside* those of the other. A candidate
that may not be used has gain `-inf`. Rows whose value is missing are kept apart from the known ones where
the rule is to learn their branch or to share them among branches.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Int32, Shaped

from jaxtree.growth.inputs.bundles import Missing, ResolvedRules
from jaxtree.growth.inputs.objective import C45_TOLERANCE, TIE_TOLERANCE, ParentStats, Units, parent_stats
from jaxtree.growth.nodes import UNRESOLVED
from jaxtree.growth.plan.problem import FeatureContext, NodeContext
from jaxtree.tree import ALL_BRANCHES

C45_SHARE = 0.1
"""Share of the mean known weight of a class that each side of a C4.5 threshold must have."""

C45_MOST = 25.0
"""The greatest minimum that this share gives, even if `min_samples_leaf` is more."""

Sides = Int[Array, "channel #candidate"]


class Candidates(NamedTuple):
    """Ways to split on one feature.

    Attributes:
        gain: Impurity of the node less the weighted impurity of the branches.
        missing_branch: The branch of a missing value, per candidate or for all.
        information: C4.5's split information; 0 under other rules.
    """

    gain: Float[Array, " candidate"]
    missing_branch: Int32[Array, "*candidate"]
    information: Float[Array, " candidate"]


class SplitScorer(NamedTuple):
    """Scores the candidates of a node, by the rules, the node, and the units of its sums.

    The node's arrays have one value, or one per candidate.
    """

    rules: ResolvedRules
    node: NodeContext
    units: Units

    def weight(self, sums: Int[Array, "channel *candidate"]) -> Int[Array, "*candidate"]:
        """The weight in sums, in units."""
        return self.rules.objective.weight(sums)

    def known_part(self, missing: Sides) -> tuple[Sides, ParentStats]:
        """The rows that a split divides: all of the node except those that are shared among branches."""
        total = self.node.stats.sums.reshape(len(missing), -1)
        if not self.rules.shares_missing:
            return total, self.node.stats
        total = total - missing
        parameters = self.node.stats.parameters
        of_each = 1 if parameters.ndim > 1 else None
        columns = ParentStats(1, 0, 0, 1, of_each)  # pyright: ignore[reportArgumentType]
        stats_of = lambda sums, own: parent_stats(self.rules.objective, sums, own, self.units)  # noqa: E731
        return total, jax.vmap(stats_of, in_axes=(1, of_each), out_axes=columns)(total, parameters)

    def gain(
        self, feature: FeatureContext, inside: Sides, total: Sides, parent: ParentStats
    ) -> Float[Array, " candidate"]:
        """The gain of every candidate, which divides `total` (with the parent's stats) into `inside` and the rest."""
        objective, outside = self.rules.objective, total - inside
        kept = objective.risk(inside, parent, self.units) + objective.risk(outside, parent, self.units)
        gain = (parent.risk - kept) / jnp.where(parent.weight > 0, parent.weight, 1)
        # A gain that is infinite, or no number, is none.
        admissible = jnp.isfinite(gain) & self.is_enough(inside) & self.is_enough(outside)
        admissible &= objective.is_defined(inside) & objective.is_defined(outside)
        if self.rules.has_monotone:
            values = (objective.monotone_value(side, parent.parameters, self.units) for side in (inside, outside))
            admissible &= self._is_monotone(feature, *values)
        return jnp.where(admissible, gain, -jnp.inf)

    def is_enough(self, sums: Sides) -> Bool[Array, " candidate"]:
        """Whether a branch has the least weight and rows."""
        enough = self.weight(sums) >= self.node.limits["leaf_weight"]
        return enough & (sums[-1] >= self.node.limits["leaf_rows"]) if self.rules.counts_rows else enough

    def _is_monotone(self, feature: FeatureContext, low_side, high_side) -> Bool[Array, " candidate"]:
        """Whether the branches' values are in the required order and within the node's bounds (scikit-learn's rule)."""
        in_order = (low_side - high_side) * feature.monotone <= 0
        inside = (jnp.minimum(low_side, high_side) >= self.node.lower) & (
            jnp.maximum(low_side, high_side) <= self.node.upper
        )
        return (feature.monotone == 0) | (in_order & inside)

    def tolerance(self, best: Float[Array, "*p"]) -> Float[Array, "*p"]:
        """The greatest difference from the best gain of gains that count as equal."""
        if self.rules.is_c45:
            return jnp.full_like(best, C45_TOLERANCE)
        return self.rules.objective.tolerance(self.node.stats, best)

    def rounded(self, best: Float[Array, "*p"], tolerance: Float[Array, "*p"]) -> Float[Array, "*p"]:
        """The best gain, rounded to 0 within the tolerance: rounding may leave a gain of 0 on either side of it."""
        best = jnp.where(jnp.abs(best) <= tolerance, 0.0, best)
        if self.rules.objective.is_convex:
            best = jnp.where(best > -jnp.inf, jnp.maximum(best, 0.0), best)
        return best

    def split_information(self, branch_weight: Int[Array, "branch candidate"]) -> Float[Array, " candidate"]:
        """Entropy in bits of the branches' weights over the node's whole weight."""
        share = branch_weight.astype(jnp.float64) * self.units.weight / self.node.stats.weight
        return -jnp.sum(share * jnp.log2(jnp.where(share > 0, share, 1)), axis=0)

    def c45_least_weight(self, known: Float[Array, "*p"]) -> Int[Array, "*p"]:
        """The least weight of a side of a C4.5 threshold, in units."""
        least = self.node.limits["leaf_weight"]
        mean = C45_SHARE * known / self.node.limits["num_declared_classes"]
        in_units = lambda weight: jnp.ceil((weight - C45_TOLERANCE) / self.units.weight)  # noqa: E731
        asked = in_units(jnp.minimum(mean, C45_MOST)).astype(least.dtype)
        return jnp.where(in_units(mean).astype(least.dtype) <= least, least, asked)


def set_missing_apart(
    histogram: Int[Array, "channel bin"], code: Int32[Array, " bin"], feature: FeatureContext, rules: ResolvedRules
) -> tuple[Int[Array, "channel bin"], Int[Array, "channel 1"]]:
    """Returns the histogram of known codes, and the sums of the missing code; 0 where missing is an ordinary code."""
    if not rules.separates_missing:
        return histogram, jnp.zeros_like(histogram[:, :1])
    is_missing = code == feature.missing_code
    missing = jnp.sum(jnp.where(is_missing, histogram, 0), axis=1, keepdims=True, dtype=histogram.dtype)
    return jnp.where(is_missing, 0, histogram), missing


def threshold_candidates(judge: SplitScorer, feature: FeatureContext, inside: Sides, missing: Sides) -> Candidates:
    """The splits into `inside` (and perhaps the missing values) and the rest.

    Args:
        judge: Scores them.
        feature: The feature.
        inside: Sums of the known rows up to each candidate.
        missing: Sums of the rows whose value is missing.
    """
    rules = judge.rules
    plain = _divide(judge, feature, inside, missing, is_numeric=True)
    if not rules.has_missing or rules.missing != Missing.LEARN:
        return plain._replace(missing_branch=jnp.int32(default_branch(1, rules)))
    with_inside = _divide(judge, feature, inside + missing, missing, is_numeric=True)
    first = plain._replace(missing_branch=_for_all(1, plain.gain))
    return _learned(judge, first, with_inside._replace(missing_branch=_for_all(0, plain.gain)), missing)


def one_vs_rest_candidates(
    judge: SplitScorer, feature: FeatureContext, code: Int32[Array, " candidate"], known: Sides, missing: Sides
) -> Candidates:
    """The splits into one code (branch 1) and all others; a missing value is on either side, or alone in branch 1."""
    rules = judge.rules
    plain = _divide(judge, feature, known, missing)
    is_missing = code == feature.missing_code
    if not rules.has_missing or rules.missing != Missing.LEARN:
        return plain._replace(missing_branch=_for_all(default_branch(is_missing, rules), plain.gain))
    # The missing code's own column is the split of known against missing values.
    outside = _divide(judge, feature, jnp.where(is_missing, missing, known), missing)
    inside = _divide(judge, feature, known + missing, missing)
    first = outside._replace(missing_branch=is_missing.astype(jnp.int32))
    return _learned(judge, first, inside._replace(missing_branch=_for_all(1, plain.gain)), missing)


def multiway_candidates(judge: SplitScorer, feature: FeatureContext, known: Sides, missing: Sides) -> Candidates:
    """The split into all codes: one candidate, repeated at every present code."""
    rules, node, units = judge
    objective, parent = rules.objective, node.stats
    weight = judge.weight(known)
    used = weight > 0
    if rules.shares_missing:
        parent = parent_stats(objective, parent.sums - missing[:, 0], parent.parameters, units)
    risk = objective.risk(known, parent, units)
    kept = jnp.sum(jnp.where(used, risk, 0))
    branch = jnp.asarray(default_branch(feature.missing_code, rules))
    if rules.has_missing and rules.missing == Missing.LEARN:
        more = jnp.where(used, objective.risk(known + missing, parent, units) - risk, jnp.inf)
        least = jnp.min(more)
        host = _lowest_where(more <= least + TIE_TOLERANCE * jnp.abs(parent.risk))
        has_any = judge.weight(missing)[0] > 0
        kept = kept + jnp.where(has_any, least, 0)
        branch = jnp.where(has_any, host, UNRESOLVED)
    gain = (parent.risk - kept) / jnp.where(parent.weight > 0, parent.weight, 1)
    if rules.shares_missing:
        gain = gain * parent.weight / node.stats.weight
    enough = judge.is_enough(known)
    admissible = jnp.sum(enough) >= 2 if rules.is_c45 else (jnp.sum(used) >= 2) & jnp.all(~used | enough)
    information = jnp.zeros_like(gain)
    if rules.is_c45:
        unknown = judge.weight(missing) if rules.shares_missing else jnp.zeros_like(weight[:1])
        information = judge.split_information(jnp.concatenate([weight, unknown])[:, None])[0]
    gain = jnp.where(admissible & jnp.isfinite(gain), gain, -jnp.inf)
    return Candidates(*(_for_all(value, used) for value in (gain, branch.astype(jnp.int32), information)))


def default_branch(branch, rules: ResolvedRules):
    """The branch of a missing value if none is learned: `branch` where missing is a value of its own."""
    return {Missing.BRANCH: branch, Missing.LEARN: UNRESOLVED, Missing.FRACTION: ALL_BRANCHES}[rules.missing]


def _for_all(value, candidates: Shaped[Array, " candidate"]) -> Shaped[Array, " candidate"]:
    value = jnp.asarray(value)
    value = value if jnp.issubdtype(value.dtype, jnp.floating) else value.astype(jnp.int32)
    return jnp.broadcast_to(value, candidates.shape)


def _divide(
    judge: SplitScorer, feature: FeatureContext, inside: Sides, missing: Sides, *, is_numeric: bool = False
) -> Candidates:
    """The splits into `inside` and the rest; where missing values are shared, of the known rows only.

    The gain is then multiplied by the known share of the weight.
    """
    rules, node, _ = judge
    total, parent = judge.known_part(missing)
    limited = judge
    if rules.is_c45 and is_numeric:
        limits = node.limits | {"leaf_weight": judge.c45_least_weight(parent.weight)}
        limited = judge._replace(node=node._replace(limits=limits))
    gain = limited.gain(feature, inside, total, parent)
    if rules.shares_missing:
        share = parent.weight / jnp.where(node.stats.weight > 0, node.stats.weight, 1)
        gain = jnp.where(gain > -jnp.inf, gain * share, gain)
    information = jnp.zeros_like(gain)
    if rules.is_c45:
        parts = [inside, total - inside, missing if rules.shares_missing else jnp.zeros_like(missing)]
        weights = jnp.broadcast_arrays(*(judge.weight(part) for part in parts))
        information = judge.split_information(jnp.stack(weights))
    return Candidates(gain, jnp.zeros(gain.shape, jnp.int32), information)


def _learned(judge: SplitScorer, first: Candidates, second: Candidates, missing: Sides) -> Candidates:
    """The candidates with the side for missing values that gains more; of equal gains the first."""
    tolerance = judge.tolerance(jnp.maximum(first.gain, second.gain))
    takes_second = second.gain > first.gain + tolerance
    chosen = Candidates(*(jnp.where(takes_second, b, a) for a, b in zip(first, second, strict=True)))
    has_any = judge.weight(missing) > 0
    return chosen._replace(missing_branch=jnp.where(has_any, chosen.missing_branch, UNRESOLVED).astype(jnp.int32))


def _lowest_where(mask: Bool[Array, " code"]) -> Int32[Array, ""]:
    code = jnp.arange(mask.size, dtype=jnp.int32)
    return jnp.min(jnp.where(mask, code, mask.size - 1))
