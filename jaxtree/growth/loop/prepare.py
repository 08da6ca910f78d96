"""Converts the inputs of growth to a plan, entries in whole numbers, and a problem."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float64, Int32, Real, Shaped, UInt, UInt32

from jaxtree.arrays import AnyArray, OptionalArray, library_of
from jaxtree.buckets import bin_bucket, feature_bucket, feature_round, subset_bins
from jaxtree.devices import platform_of
from jaxtree.growth.device import warp_histogram
from jaxtree.growth.inputs.bundles import (
    NO_LIMIT,
    Data,
    Features,
    Limits,
    Missing,
    ResolvedRules,
    Rules,
    Sizes,
    as_type,
    is_concrete,
    limits_of_roots,
)
from jaxtree.growth.inputs.objective import EntryWeights, Units
from jaxtree.growth.plan.backends import CPU, GPU, GPU_WITH_WARP, TPU, Backend
from jaxtree.growth.plan.plan import Plan, TableShape, make_native_plan, make_plan
from jaxtree.growth.plan.problem import C45_TOLERANCE, DONE, Entries, FeatureContext, Problem, RootLimits
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.fixed_point import exponent, to_fixed_point, unit_of
from jaxtree.kernels.mesh import devices_of
from jaxtree.tree import SplitKind


class Prepared(NamedTuple):
    """The arrays of a growth, in the types that the loop needs.

    Without `entry_row` the entries are the rows in order, without `entry_root` there is one root, and without `weight`
    all weights are 1.
    """

    codes: UInt[AnyArray, "feature row"]
    target: Real[AnyArray, "output row"]
    weight: Real[AnyArray, " entry"] | None
    entry_row: Int32[AnyArray, " entry"] | None
    entry_root: Int32[AnyArray, " entry"] | None
    features: FeatureContext
    num_codes: Int32[AnyArray, " feature"]
    in_average: Bool[AnyArray, " feature"]
    lists: tuple[Int32[AnyArray, " listed"], ...]
    position: OptionalArray
    sets: OptionalArray
    limits: Limits
    root_seed: UInt32[AnyArray, " root"]


def prepare(
    data: Data,
    features: Features | None,
    limits: Limits,
    rules: Rules,
    sizes: Sizes,
    root_seed: Any,
    *,
    engine: Engine,
    mesh: Mesh | None,
) -> tuple[Plan, Prepared]:
    """Returns the plan of a growth and its arrays; see `grow` for the arguments."""
    devices, by_xla = devices_of(mesh), engine is Engine.XLA
    codes, objective = data.codes, rules.objective
    num_entries = (data.target if data.row is None else data.row).shape[-1]
    features = all_thresholds(codes, sizes.num_bins) if features is None else features
    resolved = _resolve(rules, data, features)
    target = as_type(data.target, objective.target_type).reshape(-1, codes.shape[1])
    # A scan needs the entries of all devices in one order.
    can_scan = not rules.samples_thresholds and devices.number == 1 and by_xla
    backend = backend_of(platform_of(codes, mesh=mesh), devices.number)
    most_bins = backend.costs.most_bins_tabled if can_scan else NO_LIMIT
    has_tables = by_xla or _may(lambda kind: kind == SplitKind.SUBSET, features.split_kind)
    nothing = np.zeros(0, np.int32)
    shapes, lists = list_features(features, sizes.num_bins, rules.kinds, most_bins) if has_tables else ((), (nothing,))
    row, root = (None if x is None else as_type(x, np.int32) for x in (data.row, data.root))
    num_scanned = len(lists[-1])
    num_sampled = 0 if num_scanned or not rules.samples_features else _num_sampled(limits, len(codes))
    if by_xla:
        scored = {"num_scanned": num_scanned, "num_sampled": num_sampled}
        where = {"num_entries": num_entries, "devices": devices, "backend": backend}
        plan = make_plan(resolved, sizes, shapes, **scored, **where)
    else:
        is_multiway = _may(lambda kind: kind == SplitKind.MULTIWAY, features.split_kind)
        given = {"engine": engine, "num_entries": num_entries, "num_features": len(codes)}
        plan = make_native_plan(resolved, sizes, shapes, max_branches=sizes.num_bins if is_multiway else 2, **given)
    in_order = row is None and not resolved.shares_missing
    weight = None if data.weight is None else as_type(data.weight, np.float64 if resolved.is_scaled else np.int32)
    in_average = np.ones(len(codes)) if features.in_average is None else features.in_average
    prepared = Prepared(
        codes=codes,
        target=target,
        weight=weight,
        entry_row=row,
        entry_root=root,
        features=_feature_arrays(features),
        position=_positions(features, sizes.num_bins) if rules.samples_thresholds else None,
        sets=None if features.sets is None else as_type(features.sets, np.uint32),
        num_codes=as_type(features.num_codes, np.int32),
        in_average=as_type(in_average, bool),
        lists=lists if num_scanned else lists[:-1] if by_xla else (),
        limits=limits_of_roots(limits, sizes.num_roots),
        root_seed=root_seed,
    )
    return plan._replace(starts_in_row_order=in_order), prepared


def backend_of(platform: str, num_devices: int = 1) -> Backend:
    """The choices for a platform, given by JAX's name, and a number of devices; an unknown one is treated as a GPU.

    >>> backend_of("tpu").accumulation.name
    'COMPARE'
    """
    if platform in ("cpu", "tpu"):
        return CPU if platform == "cpu" else TPU
    # The kernel has not been tried on rows that are divided.
    return GPU_WITH_WARP if num_devices == 1 and warp_histogram.is_available() else GPU


def _resolve(rules: Rules, data: Data, features: Features) -> ResolvedRules:
    """Returns the rules together with facts of the data."""
    has_missing = features.num_values is not None and _may(np.greater, features.num_codes, features.num_values)
    # Shares of a row are not whole numbers.
    is_whole = data.weight is None or jnp.issubdtype(data.weight.dtype, jnp.integer)
    return ResolvedRules(
        *rules,
        is_scaled=not is_whole or rules.objective.has_fractions or (has_missing and rules.missing == Missing.FRACTION),
        has_missing=has_missing,
        tells_missing=has_missing or _may(lambda kind: kind != SplitKind.THRESHOLD, features.split_kind),
        has_monotone=features.monotone is not None and _may(np.any, features.monotone),
        has_close_values=features.first_apart is not None,
        has_sets=features.sets is not None,
    )


def _may(holds: Callable[..., Any], *arrays: Any) -> bool:
    """Whether a condition may hold for any feature; always true for traced arrays."""
    return not is_concrete(*arrays) or bool(np.any(holds(*map(np.asarray, arrays))))


def all_thresholds(codes: Any, num_bins: int) -> Features:
    """Features that are all split by thresholds, without missing values."""
    return Features(np.zeros(len(codes), np.int32), np.full(len(codes), num_bins, np.int32))


def list_features(
    features: Features, num_bins: int, kinds: tuple[SplitKind, ...] | None, most_bins_tabled: int
) -> tuple[tuple[TableShape, ...], tuple[Int32[AnyArray, " listed"], ...]]:
    """Divides the features into tables and a scan: that of thresholds of more than `most_bins_tabled` codes.

    Returns:
        The shape of every table, and the features of every table and then of the scan. If features are traced, every
        table has room for all.
    """
    number = np.arange(features.split_kind.shape[0], dtype=np.int32)
    nothing = np.zeros(0, np.int32)
    if not is_concrete(features.split_kind, features.num_codes):
        kinds, past_all = kinds or (SplitKind.THRESHOLD,), np.int32(number.size)
        is_there = jnp.asarray(features.num_codes) > 0
        lists = [jnp.sort(jnp.where(is_there & (features.split_kind == kind), number, past_all)) for kind in kinds]
        return tuple(TableShape(number.size, num_bins, kind) for kind in kinds), (*lists, nothing)
    kind, num_codes = np.asarray(features.split_kind), np.asarray(features.num_codes)
    is_scanned = (kind == SplitKind.THRESHOLD) & (num_codes > most_bins_tabled)
    shapes, lists = [], []
    for k in SplitKind:
        listed = number[(kind == k) & ~is_scanned & ((num_codes > 0) | (k == SplitKind.THRESHOLD))]
        if not np.any(num_codes[listed]):
            continue
        if k != SplitKind.THRESHOLD or listed.size < number.size:
            listed = _padded(listed[num_codes[listed] > 0], number.size)
        most = int(num_codes[listed[listed < number.size]].max())
        bins = subset_bins(most) if k == SplitKind.SUBSET else bin_bucket(max(most, 8 * (k != SplitKind.THRESHOLD)))
        shapes.append(TableShape(listed.size, min(num_bins, bins), k))
        lists.append(listed)
    return tuple(shapes), (*lists, _padded(number[is_scanned], number.size))


def _padded(listed: Int32[np.ndarray, " listed"], padding: int) -> Int32[np.ndarray, " padded"]:
    """Pads a list of features to a bucket with a number that no feature has."""
    return np.pad(listed, (0, feature_bucket(listed.size) - listed.size), constant_values=padding)


def quantise(prepared: Prepared, plan: Plan) -> tuple[Entries, Units]:
    """Returns the entries, with weights and targets as whole numbers, and the units of these."""
    library = library_of(prepared.codes, prepared.target)
    row, is_scaled, devices = prepared.entry_row, plan.rules.is_scaled, plan.devices
    num_entries = prepared.target.shape[1] if row is None else row.size
    target = prepared.target if row is None else prepared.target[:, row]
    real = library.ones(num_entries, np.float64) if prepared.weight is None else prepared.weight
    whole, unit = real.astype(np.int32), library.float64(1)
    # Entries without weight may be padding, whose number depends on the devices.
    num_terms = devices.total((real > 0).sum())
    if is_scaled:
        unit = unit_of(num_terms, devices.greatest(exponent(real)))
        whole = to_fixed_point(real, unit)
    weights = EntryWeights(real, whole, unit, num_terms, is_scaled)
    label, value, units = plan.rules.objective.quantise(target, weights, devices)
    padding = plan.entry_capacity - num_entries
    size = -(-num_entries // plan.entries_per_block) * plan.entries_per_block
    place = library.arange(plan.entry_capacity, dtype=np.int32)
    row = place if row is None else _padded_after(row, padding)
    root = library.zeros_like(place) if prepared.entry_root is None else _padded_after(prepared.entry_root, padding)
    if padding:
        # XLA keeps a constant that is padded in the program, of ten million entries 42 MB, and compares it in every
        # pass, so that compilation takes three times as long.
        is_entry = place < num_entries
        # Unused places must not sort as entries of the first tree.
        row, root = library.where(is_entry, row, 0), library.where(is_entry, root, DONE)
        label, value = (_padded_after(values, padding) for values in (label, value))
    return Entries(row, label, value, root, library.int32(size)), units


def _padded_after(values: Shaped[AnyArray, "*axis entry"], padding: int) -> Any:
    """The values with zeros for this many more entries."""
    widths = [(0, 0)] * (values.ndim - 1) + [(0, padding)]
    return library_of(values).pad(values, widths)


def make_problem(prepared: Prepared, units: Units, plan: Plan) -> Problem:
    """Returns the problem, with limits in units of the sums; pads codes to the entries if these start in row order."""
    codes = prepared.codes
    if plan.starts_in_row_order and codes.shape[1] < plan.entry_capacity:
        codes = _padded_after(codes, plan.entry_capacity - codes.shape[1])
    library, limits, rules = library_of(codes), prepared.limits, plan.rules
    slack = C45_TOLERANCE if rules.is_c45 else 0.0
    dtype, most = (np.int64, 2.0**62) if rules.has_wide_sums else (np.int32, 2.0**31 - 1)

    def in_units(weight):
        return library.clip(library.ceil((weight - slack) / units.weight), 1, most).astype(dtype)

    def in_rows(number):
        return library.minimum(library.ceil(number), 2.0**31 - 1).astype(np.int32)

    # Minimum numbers of rows limit weights, unless rows are counted.
    none = library.zeros_like(limits.min_samples_leaf)
    leaf_rows, leaf_weight = limits.min_samples_leaf, limits.min_weight_leaf
    split_rows, split_weight = limits.min_samples_split, none
    if not rules.counts_rows:
        leaf_rows, leaf_weight, split_rows, split_weight = none, leaf_rows, none, split_rows
    declared = limits.num_declared_classes
    of_roots = limits._asdict() | {
        "split_weight": in_units(split_weight),
        "split_rows": in_rows(split_rows),
        "leaf_weight": in_units(library.maximum(leaf_weight, limits.min_weight_leaf)),
        "leaf_rows": in_rows(leaf_rows),
        "num_declared_classes": library.where(declared > 0, declared, max(rules.objective.classes, default=0)),
        "parameters": library.asarray(limits.parameters),
    }
    return Problem(
        codes=codes,
        features=prepared.features,
        num_codes=prepared.num_codes,
        in_average=prepared.in_average,
        lists=prepared.lists,
        position=prepared.position,
        sets=prepared.sets,
        limits=RootLimits(*(of_roots[name] for name in RootLimits._fields)),
        units=units,
    )


def _num_sampled(limits: Limits, num_features: int) -> int:
    """The number of features scored in a round: the most of any tree; 0, for all, if that is traced or large."""
    if not is_concrete(limits.max_features):
        return 0
    most = feature_round(int(np.max(limits.max_features)))
    return most if 2 * most <= num_features else 0


def _positions(features: Features, num_bins: int) -> Float64[AnyArray, "feature code"]:
    """The number of every code of every feature."""
    if features.position is not None:
        return as_type(features.position, np.float64)
    shape = features.split_kind.shape[0], num_bins
    return np.broadcast_to(np.arange(num_bins, dtype=np.float64), shape)


def _feature_arrays(features: Features) -> FeatureContext:
    num_features = features.split_kind.shape[0]
    num_values = features.num_codes if features.num_values is None else features.num_values
    number, kind, num_values = (
        as_type(x, np.int32) for x in (np.arange(num_features), features.split_kind, num_values)
    )
    monotone, apart = (None if x is None else as_type(x, np.int32) for x in (features.monotone, features.first_apart))
    return FeatureContext(number, kind, num_values, monotone, apart)
