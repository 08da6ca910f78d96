"""From what a caller gives to what the loop works on: a plan, entries in whole numbers, and a scene."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int32, Real, UInt, UInt32

from jaxtree.arrays import AnyArray
from jaxtree.buckets import bin_bucket, feature_bucket, feature_round
from jaxtree.growth.backends import backend_of, for_entries
from jaxtree.growth.candidates import C45_TOLERANCE, Feature
from jaxtree.growth.criteria import NumberCriterion
from jaxtree.growth.fixed_point import exponent, to_fixed_point, unit_of
from jaxtree.growth.frontier import RETIRED, Entries
from jaxtree.growth.inputs import LIMIT_TYPES, Features, Limits, as_type, is_concrete
from jaxtree.growth.measure import Measure, Units
from jaxtree.growth.mesh import greatest, least, total
from jaxtree.growth.nodes import LeafLimits
from jaxtree.growth.plan import WINDOW, Plan, TableShape, make_plan
from jaxtree.growth.rules import Missing, Rules, Selection
from jaxtree.growth.scene import Scene, SplitLimits
from jaxtree.tree import SplitKind

MOST_BINS_TABLED = 256
"""Features of more codes are scanned: their histograms would be mostly empty."""

LEAST_CATEGORY_BINS = 8
"""Tables of few categories share one program, whatever their number."""


class Prepared(NamedTuple):
    """The arrays of a growth, in the types that the loop takes.

    Entries without a row of their own are the rows in order, those without a root belong to the only one, and those
    without a weight have weight 1.
    """

    codes: UInt[AnyArray, "feature row"]
    target: Real[AnyArray, "output row"]
    weight: Real[AnyArray, " entry"] | None
    entry_row: Int32[AnyArray, " entry"] | None
    entry_root: Int32[AnyArray, " entry"] | None
    features: Feature
    num_codes: Int32[AnyArray, " feature"]
    in_average: Bool[AnyArray, " feature"]
    lists: tuple[Int32[AnyArray, " listed"], ...]
    limits: Limits
    root_seed: UInt32[AnyArray, " root"]
    order: Int32[AnyArray, "scanned entry"]


def prepare(
    codes: Any,
    target: Any,
    weight: Any,
    features: Features | None,
    limits: Limits,
    root_seed: Any,
    *,
    num_bins: int,
    capacity: int,
    num_classes: int,
    criterion: Any,
    kinds: tuple[SplitKind, ...] | None,
    missing: Missing,
    selection: Selection,
    counts_rows: bool,
    draws_features: bool,
    draws_thresholds: bool,
    entry_row: Any,
    entry_root: Any,
    num_roots: int,
    entry_capacity: int | None,
    platform: str,
    num_devices: int,
) -> tuple[Plan, Prepared]:
    """Returns the plan of a growth and its arrays; see `grow` for the arguments."""
    num_entries = (target if entry_row is None else entry_row).shape[-1]
    is_numeric = isinstance(criterion, NumberCriterion)
    features = all_thresholds(codes, num_bins) if features is None else features
    has_missing = _may_be_missing(features)
    # Shares of a row are no whole numbers.
    is_whole = weight is None or jnp.issubdtype(weight.dtype, jnp.integer)
    is_scaled = not is_whole or (has_missing and missing == Missing.FRACTION)
    target = as_type(target, np.float64 if is_numeric else np.int32).reshape(-1, codes.shape[1])
    measure = Measure(criterion, target.shape[0], 0 if is_numeric else num_classes, counts_rows, is_scaled)
    rules = Rules(
        measure, missing, selection,
        has_missing=has_missing,
        tells_missing=has_missing or not _are_thresholds(features),
        has_monotone=_may_be_monotone(features),
        has_close_values=features.first_apart is not None,
        draws_features=draws_features, draws_thresholds=draws_thresholds,
    )  # fmt: skip
    # A scan needs the entries of all devices in order.
    can_scan = num_entries >= WINDOW and not draws_thresholds and num_devices == 1
    shapes, lists = list_features(features, num_bins, kinds, can_scan=can_scan)
    row, root = (None if x is None else as_type(x, np.int32) for x in (entry_row, entry_root))
    order = sorted_entries(codes, lists[-1], row, root, num_entries)
    plan = make_plan(
        backend=for_entries(backend_of(platform), num_entries),
        num_devices=num_devices,
        num_entries=num_entries,
        entry_capacity=-(-_entry_capacity(num_entries, entry_capacity, rules) // num_devices),
        capacity=capacity,
        num_roots=num_roots,
        rules=rules,
        shapes=shapes,
        num_scanned=len(order),
        num_drawn=0 if len(order) or not draws_features else _num_drawn(limits, len(codes)),
        starts_in_row_order=entry_row is None and not rules.shares_missing and not len(order),
    )
    prepared = Prepared(
        codes, target, None if weight is None else as_type(weight, np.float64 if is_scaled else np.int32), row, root,
        _feature_arrays(features, num_bins, draws_thresholds), as_type(features.num_codes, np.int32),
        as_type(np.ones(len(codes)) if features.in_average is None else features.in_average, bool),
        lists if len(order) else lists[:-1],
        Limits(*(as_type(x, kind, num_roots) for x, kind in zip(limits, LIMIT_TYPES, strict=True))),
        root_seed, order,
    )  # fmt: skip
    return plan, prepared


def all_thresholds(codes: Any, num_bins: int) -> Features:
    """Features that are all split by thresholds, without missing values."""
    return Features(np.zeros(len(codes), np.int32), np.full(len(codes), num_bins, np.int32))


def list_features(
    features: Features, num_bins: int, kinds: tuple[SplitKind, ...] | None, *, can_scan: bool
) -> tuple[tuple[TableShape, ...], tuple[Int32[np.ndarray, " listed"], ...]]:
    """Divides the features by how they are scored.

    Returns:
        The shape of every table, and the features of every table and then of the scan. What is traced cannot be
        divided: all features are in one table of all kinds.
    """
    number = np.arange(features.split_kind.shape[0], dtype=np.int32)
    nothing = np.zeros(0, np.int32)
    if not is_concrete(features.split_kind, features.num_codes):
        return (TableShape(number.size, num_bins, kinds or (SplitKind.THRESHOLD,)),), (number, nothing)
    kind, num_codes = np.asarray(features.split_kind), np.asarray(features.num_codes)
    is_threshold = kind == SplitKind.THRESHOLD
    is_scanned = is_threshold & (num_codes > MOST_BINS_TABLED) & can_scan
    shapes, lists = [], []
    for k in SplitKind:
        listed = number[(kind == k) & ~is_scanned & ((num_codes > 0) | (k == SplitKind.THRESHOLD))]
        if not np.any(num_codes[listed]):
            continue
        if k != SplitKind.THRESHOLD or listed.size < number.size:
            listed = _padded(listed[num_codes[listed] > 0], number.size)
        most = int(num_codes[listed[listed < number.size]].max())
        least = 2 if k == SplitKind.THRESHOLD else LEAST_CATEGORY_BINS
        shapes.append(TableShape(listed.size, min(num_bins, bin_bucket(max(most, least))), (k,)))
        lists.append(listed)
    return tuple(shapes), (*lists, _padded(number[is_scanned], number.size))


def _padded(listed: Int32[np.ndarray, " listed"], padding: int) -> Int32[np.ndarray, " padded"]:
    """A list of features filled up to a bucket with a number that none has."""
    return np.pad(listed, (0, feature_bucket(listed.size) - listed.size), constant_values=padding)


def sorted_entries(codes: Any, scanned: Any, row: Any, root: Any, num_entries: int) -> Any:
    """The entries of every scanned feature in order of their root and code."""
    if not scanned.size:
        return np.zeros((0, 0), np.int32)
    row = np.arange(num_entries, dtype=np.int32) if row is None else row
    root = np.zeros(num_entries, np.int32) if root is None else root
    if all(isinstance(x, np.ndarray) for x in (codes, row, root)):
        by_root = np.argsort(root, kind="stable")
        order = [np.argsort(codes[f][row], kind="stable") if f < len(codes) else by_root for f in scanned]
        if np.any(root):
            order = [o[np.argsort(root[o], kind="stable")] for o in order]
        return np.stack(order).astype(by_root.dtype).astype(np.int32)
    key = jnp.asarray(root).astype(jnp.int64) << 17
    code = jnp.asarray(codes).at[scanned].get(mode="clip")[:, row].astype(jnp.int64)
    return jnp.argsort(key + code, axis=1).astype(jnp.int32)


def quantise(prepared: Prepared, plan: Plan) -> tuple[Entries, Units]:
    """Returns the entries, with weights and targets as whole numbers, and what these are worth."""
    measure, row = plan.rules.measure, prepared.entry_row
    num_entries = prepared.target.shape[1] if row is None else row.size
    target = prepared.target if row is None else prepared.target[:, row]
    row = jnp.arange(num_entries, dtype=jnp.int32) if row is None else row
    real_weight = jnp.ones(num_entries, jnp.float64) if prepared.weight is None else prepared.weight
    root = jnp.zeros(num_entries, jnp.int32) if prepared.entry_root is None else prepared.entry_root
    weight, unit = real_weight.astype(jnp.int32), jnp.float64(1)
    # Entries without weight may be padding, of which there is more or less on other devices.
    num_terms = total(jnp.sum(real_weight > 0), plan)
    if measure.is_scaled:
        unit = unit_of(num_terms, greatest(exponent(real_weight), plan))
        weight = to_fixed_point(real_weight, unit)
    none = jnp.zeros(measure.num_outputs, jnp.float64)
    units = Units(unit, jnp.float64(1), jnp.float64(1), none)
    if measure.num_classes:
        label, value = target, weight[None]
    else:
        label, value, units = _quantise_numbers(target, real_weight, weight, num_terms, units, plan)
    padding = plan.entry_capacity - num_entries
    pad = lambda x: jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, padding)])  # noqa: E731
    size = -(-num_entries // plan.entries_per_block) * plan.entries_per_block
    # What is not read yet must not pass for an entry of the first tree when entries are sorted.
    slot = jnp.pad(root, (0, padding), constant_values=RETIRED)
    return Entries(pad(row), pad(label), pad(value), slot, jnp.int32(size)), units


def _quantise_numbers(target, real_weight, weight, num_terms, units: Units, plan: Plan):
    """Identities and sums of targets: the weight, the weighted targets, and the weighted moment of every entry."""
    measure, criterion = plan.rules.measure, plan.rules.measure.criterion
    exponent_of = lambda values: greatest(exponent(values), plan)  # noqa: E731
    used = real_weight > 0
    center = units.center
    if not criterion.needs_positive:
        low, high = (jnp.where(used, target, bound) for bound in (jnp.inf, -jnp.inf))
        low, high = least(jnp.min(low, axis=1), plan), greatest(jnp.max(high, axis=1), plan)
        center = jnp.where(low <= high, low / 2 + high / 2, 0.0)
    shifted = jnp.where(used, target - center[:, None], 0.0)
    moment = jnp.sum(jnp.where(used, criterion.moment(shifted), 0.0), axis=0) * real_weight
    size = exponent_of(shifted)
    if measure.is_scaled:
        target_unit = unit_of(num_terms, exponent_of(shifted * real_weight))
        sums = to_fixed_point(shifted * real_weight, target_unit)
    else:
        target_unit = unit_of(num_terms, size, exponent_of(real_weight.astype(jnp.float64)))
        sums = to_fixed_point(shifted, target_unit) * weight.astype(jnp.int64)
    moment_unit = unit_of(num_terms, exponent_of(moment))
    values = [weight.astype(jnp.int64)[None], sums, to_fixed_point(moment, moment_unit)[None]]
    units = Units(units.weight, target_unit, moment_unit, center)
    return _identity(to_fixed_point(shifted, unit_of(1, size))), jnp.concatenate(values), units


def _identity(target):
    """One number for the targets of an entry, so that equal ones have equal numbers and others differ."""
    identity = target[0]
    for other in target[1:]:
        identity = identity * jnp.int64(6364136223846793005) + other
    return identity[None]


def set_scene(prepared: Prepared, units: Units, plan: Plan) -> Scene:
    """Returns the scene, with limits in units of the sums, and codes padded to the entries if they go side by side."""
    codes = prepared.codes
    if plan.starts_in_row_order:
        codes = jnp.pad(codes, ((0, 0), (0, plan.entry_capacity - codes.shape[1])))
    limits, rules = prepared.limits, plan.rules
    slack = C45_TOLERANCE if rules.is_c45 else 0.0
    dtype, most = (jnp.int64, 2.0**62) if rules.measure.has_wide_sums else (jnp.int32, 2.0**31 - 1)

    def in_units(weight):
        return jnp.clip(jnp.ceil((weight - slack) / units.weight), 1, most).astype(dtype)

    leaf_rows = limits.min_samples_leaf if rules.measure.counts_rows else jnp.zeros_like(limits.min_samples_leaf)
    leaf_weight = limits.min_weight_leaf if rules.measure.counts_rows else limits.min_samples_leaf
    split_rows = limits.min_samples_split if rules.measure.counts_rows else jnp.zeros_like(limits.min_samples_split)
    split_weight = jnp.zeros_like(split_rows) if rules.measure.counts_rows else limits.min_samples_split
    declared = limits.num_declared_classes
    return Scene(
        codes=codes,
        features=prepared.features,
        num_codes=prepared.num_codes,
        in_average=prepared.in_average,
        lists=prepared.lists,
        split_limits=SplitLimits(
            limits.max_depth, in_units(split_weight), jnp.ceil(split_rows).astype(jnp.int32),
            limits.min_gain, limits.min_impurity_decrease, limits.max_features,
        ),
        leaf_limits=LeafLimits(
            in_units(jnp.maximum(leaf_weight, limits.min_weight_leaf)), jnp.ceil(leaf_rows).astype(jnp.int32),
            limits.mdl_correction, jnp.where(declared > 0, declared, rules.measure.num_classes),
        ),
        units=units,
    )  # fmt: skip


def _may_be_missing(features: Features) -> bool:
    """Whether any code means missing; of traced features it may."""
    if features.num_values is None:
        return False
    known = is_concrete(features.num_values, features.num_codes)
    return not known or bool(np.any(np.asarray(features.num_codes) > np.asarray(features.num_values)))


def _num_drawn(limits: Limits, num_features: int) -> int:
    """Features that a node looks at in a round: as many as any tree wants; 0, for all, if that is not known or many."""
    if not is_concrete(limits.max_features):
        return 0
    most = feature_round(int(np.max(limits.max_features)))
    return most if 2 * most <= num_features else 0


def _are_thresholds(features: Features) -> bool:
    """Whether all features are known to be split by thresholds."""
    return is_concrete(features.split_kind) and not np.any(np.asarray(features.split_kind) != SplitKind.THRESHOLD)


def _may_be_monotone(features: Features) -> bool:
    if features.monotone is None:
        return False
    return not is_concrete(features.monotone) or bool(np.any(np.asarray(features.monotone)))


def _entry_capacity(num_entries: int, given: int | None, rules: Rules) -> int:
    if not rules.shares_missing:
        return num_entries
    return max(num_entries, 2 * num_entries if given is None else given)


def _feature_arrays(features: Features, num_bins: int, draws_thresholds: bool) -> Feature:
    num_features = features.split_kind.shape[0]
    position = features.position
    if draws_thresholds and position is None:
        position = np.broadcast_to(np.arange(num_bins, dtype=np.float64), (num_features, num_bins))
    num_values = features.num_codes if features.num_values is None else features.num_values
    number, kind, num_values = (
        as_type(x, np.int32) for x in (np.arange(num_features), features.split_kind, num_values)
    )
    monotone, apart = (None if x is None else as_type(x, np.int32) for x in (features.monotone, features.first_apart))
    position = as_type(position, np.float64) if draws_thresholds else None
    return Feature(number, kind, num_values, monotone, apart, position)
