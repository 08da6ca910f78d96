"""The best split of one node on one feature, and of one node over all features.

A *candidate* is a code of the feature that is present in the node. Its *gain* is the impurity of the
node less the weighted impurity of the branches; a candidate that may not be used has gain `-inf`.

Two gains are equal when they differ by at most 1e-9 of the node's impurity: gains that are equal in
exact arithmetic differ by about 1e-15 of it in float64, on any device, so rounding never decides a tie.
Of equal gains the lowest feature wins, then the lowest code.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Int32

from jaxtree.growth.criteria import Criterion
from jaxtree.tree import SplitKind

TIE_TOLERANCE = 1e-9
"""Share of a node's impurity by which equal gains may differ."""

NO_CODE = 2**31 - 1
"""Larger than any code."""


class Split(NamedTuple):
    """The best split found so far; `gain` is -inf where there is none."""

    gain: Float[Array, ""]
    feature: Int32[Array, ""]
    code: Int32[Array, ""]
    next_code: Int32[Array, ""]


def score_histogram(
    histogram: Int[Array, "class bin"],
    feature: Int32[Array, ""],
    kind: Int32[Array, ""],
    min_samples_leaf: Int[Array, ""],
    *,
    criterion: Criterion,
    kinds: tuple[SplitKind, ...],
) -> Split:
    """Returns the best split of a node on a feature, from the weight of every class and code.

    Args:
        histogram: Weight of every class and code of the feature at the node.
        feature: The feature's number.
        kind: The feature's `SplitKind`.
        min_samples_leaf: The least weight of a branch.
        criterion: Impurity of class weights.
        kinds: The kinds that occur in the table; no other is scored.
    """
    gain = jnp.full(histogram.shape[1], -jnp.inf)
    for k in kinds:
        gain = jnp.where(kind == k, _GAINS[k](histogram, min_samples_leaf, criterion), gain)
    code = jnp.arange(histogram.shape[1], dtype=jnp.int32)
    present = jnp.sum(histogram, axis=0) > 0
    impurity = criterion(_as_float(jnp.sum(histogram, axis=1)))
    return _best_candidate(gain, feature, code, present, impurity)


def score_pairs(
    codes: Int32[Array, " entry"],
    class_weight: Int[Array, "class entry"],
    feature: Int32[Array, ""],
    min_samples_leaf: Int[Array, ""],
    *,
    criterion: Criterion,
) -> Split:
    """Returns the best threshold split of a small node on a feature, by comparing all pairs of entries.

    Args:
        codes: The feature's code of every entry.
        class_weight: The weight of every entry in the column of its class; 0 where it is not in the node.
        feature: The feature's number.
        min_samples_leaf: The least weight of a branch.
        criterion: Impurity of class weights.
    """
    up_to = codes[:, None] <= codes[None, :]
    inside = jnp.sum(jnp.where(up_to, class_weight[:, :, None], 0), axis=1, dtype=class_weight.dtype)
    total = jnp.sum(class_weight, axis=1, dtype=class_weight.dtype)
    gain = _binary_gains(inside, total, min_samples_leaf, criterion)
    present = jnp.sum(class_weight, axis=0) > 0
    return _best_candidate(gain, feature, codes, present, criterion(_as_float(total)))


def best_of_features(splits: Split, impurity: Float[Array, ""]) -> Split:
    """Returns the best of a node's splits, one a feature (arrays of shape (feature,))."""
    wins = splits.gain >= jnp.max(splits.gain) - TIE_TOLERANCE * impurity
    first = jnp.minimum(_lowest(jnp.arange(splits.gain.size, dtype=jnp.int32), wins), splits.gain.size - 1)
    return Split(*(value[first] for value in splits))


def _best_candidate(
    gain: Float[Array, " candidate"],
    feature: Int32[Array, ""],
    code: Int32[Array, " candidate"],
    present: Bool[Array, " candidate"],
    impurity: Float[Array, ""],
) -> Split:
    gain = jnp.where(present, gain, -jnp.inf)
    tolerance = TIE_TOLERANCE * impurity
    best = jnp.max(gain)
    chosen = _lowest(code, gain >= best - tolerance)
    # A gain of 0 in exact arithmetic may come out on either side of it.
    best = jnp.where(jnp.abs(best) <= tolerance, 0.0, best)
    return Split(best, feature.astype(jnp.int32), chosen, _lowest(code, present & (code > chosen)))


def _lowest(code: Int32[Array, " candidate"], mask: Bool[Array, " candidate"]) -> Int32[Array, ""]:
    """The lowest code where the mask holds, or `NO_CODE`.

    `argmax` does not lower inside a local x64 scope under a caller's x32 `jit`; a minimum does.
    """
    return jnp.min(jnp.where(mask, code, jnp.int32(NO_CODE)))


def cumulative_sum(values: Int[Array, "class bin"]) -> Int[Array, "class bin"]:
    """Sums over the bins up to each, about three times as fast as `jnp.cumsum` on a CPU.

    Runs of 16 bins are summed by plain additions, and the sums of the runs the same way.
    """
    num_classes, num_bins = values.shape
    run = min(num_bins, 16)
    if num_bins % run:
        return jnp.cumsum(values, axis=1, dtype=values.dtype)
    runs = values.reshape(num_classes, num_bins // run, run)
    steps = [runs[:, :, 0]]
    for i in range(1, run):
        steps.append(steps[-1] + runs[:, :, i])
    sums = jnp.stack(steps, axis=-1)
    if num_bins > run:
        before = cumulative_sum(steps[-1]) - steps[-1]
        sums = sums + before[:, :, None]
    return sums.reshape(num_classes, num_bins)


def _threshold_gains(
    histogram: Int[Array, "class bin"], min_samples_leaf: Int[Array, ""], criterion: Criterion
) -> Float[Array, " bin"]:
    """Gain of the split `code <= b` for every code b."""
    sums = cumulative_sum(histogram)
    return _binary_gains(sums, sums[:, -1], min_samples_leaf, criterion)


def _one_vs_rest_gains(
    histogram: Int[Array, "class bin"], min_samples_leaf: Int[Array, ""], criterion: Criterion
) -> Float[Array, " bin"]:
    """Gain of the split `code == b` for every code b."""
    total = jnp.sum(histogram, axis=1, dtype=histogram.dtype)
    return _binary_gains(histogram, total, min_samples_leaf, criterion)


def _binary_gains(
    inside: Int[Array, "class candidate"],
    total: Int[Array, " class"],
    min_samples_leaf: Int[Array, ""],
    criterion: Criterion,
) -> Float[Array, " candidate"]:
    """Gain of dividing the node's weight into `inside[:, k]` and the rest, for every k."""
    outside = total[:, None] - inside
    least = jnp.maximum(min_samples_leaf, 1)
    # The branch weights as sums of rows, which vectorise over the candidates.
    admissible = (sum(inside) >= least) & (sum(outside) >= least)
    kept = _weighted_impurity(inside, criterion) + _weighted_impurity(outside, criterion)
    return jnp.where(admissible, _gain(total, kept, criterion), -jnp.inf)


def _multiway_gains(
    histogram: Int[Array, "class bin"], min_samples_leaf: Int[Array, ""], criterion: Criterion
) -> Float[Array, " bin"]:
    """Gain of the split into all codes: one candidate, which every present code stands for."""
    branch_weight = jnp.sum(histogram, axis=0)
    used = branch_weight > 0
    admissible = (jnp.sum(used) >= 2) & jnp.all(~used | (branch_weight >= min_samples_leaf))
    gain = _gain(jnp.sum(histogram, axis=1), jnp.sum(_weighted_impurity(histogram, criterion)), criterion)
    return jnp.broadcast_to(jnp.where(admissible, gain, -jnp.inf), used.shape)


def _gain(total: Int[Array, " class"], kept, criterion: Criterion):
    """Impurity of the node less the summed `weight * impurity` of its branches per unit of weight."""
    total = _as_float(total)
    return criterion(total) - kept / jnp.maximum(jnp.sum(total), 1)


def _weighted_impurity(weight: Int[Array, "class branch"], criterion: Criterion) -> Float[Array, " branch"]:
    """Weight times impurity of every branch."""
    weight = _as_float(weight)
    return sum(weight) * jax.vmap(criterion, in_axes=1)(weight)


def _as_float(count):
    """Counts as float64, the type that criteria are computed in."""
    return count.astype(jnp.float64)


_GAINS = {
    SplitKind.THRESHOLD: _threshold_gains,
    SplitKind.MULTIWAY: _multiway_gains,
    SplitKind.ONE_VS_REST: _one_vs_rest_gains,
}
