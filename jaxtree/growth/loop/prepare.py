"""Converts the inputs of growth to a plan, entries in whole numbers, and a problem."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float64, Int32, Real, Shaped, UInt, UInt32

from jaxtree.arrays import AnyArray, OptionalArray
from jaxtree.buckets import feature_round
from jaxtree.devices import platform_of
from jaxtree.errors import present
from jaxtree.growth.device import warp_histogram
from jaxtree.growth.inputs.bundles import (
    NO_LIMIT,
    Data,
    Features,
    Limits,
    ResolvedRules,
    Rules,
    Sizes,
    all_thresholds,
    as_type,
    is_concrete,
    limits_of_roots,
    resolve,
)
from jaxtree.growth.inputs.objective import Units, quantise_entries
from jaxtree.growth.inputs.root_limits import in_units
from jaxtree.growth.inputs.tables import MOST_BINS_TABLED, list_features
from jaxtree.growth.plan.backends import CPU, GPU, GPU_WITH_WARP, TPU, Backend
from jaxtree.growth.plan.plan import LoopPlan, Plan, make_kernel_plan, make_loop_plan
from jaxtree.growth.plan.problem import DONE, Entries, FeatureContext, GrowthConstants
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.mesh import devices_of


class GrowthInputs(NamedTuple):
    """The arrays of a growth, in the types that the loop needs.

    Without `entry_row` the entries are the rows in order, without `entry_root` there is one root, and without `weight`
    all weights are 1. Before the first round of boosting there are no limits, which every round sets. The codes of many
    rows are there a second time, with those of a row side by side, while rounds are made.
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
    limits: Limits | None
    root_seed: UInt32[AnyArray, " root"]
    codes_of_rows: UInt[AnyArray, "row feature"] | None = None
    entry_target: Real[AnyArray, "output entry"] | None = None

    def target_of_entries(self) -> Real[AnyArray, "output entry"]:
        """Returns the targets of every entry."""
        if self.entry_target is not None:
            return self.entry_target
        return self.target if self.entry_row is None else self.target[:, self.entry_row]


def prepare(
    data: Data,
    features: Features | None,
    limits: Limits | None,
    rules: Rules,
    sizes: Sizes,
    root_seed: Any,
    *,
    engine: Engine,
    mesh: Mesh | None,
) -> tuple[Plan, GrowthInputs]:
    """Returns the plan of a growth and its arrays; see `grow` for the arguments."""
    codes, objective = data.codes, rules.objective
    features = all_thresholds(len(codes), sizes.num_bins) if features is None else features
    resolved = resolve(rules, data, features)
    target, entry_target = (
        None if given is None else as_type(given, objective.target_type).reshape(-1, given.shape[-1])
        for given in (data.target, data.entry_target)
    )
    row, root = (None if x is None else as_type(x, np.int32) for x in (data.row, data.root))
    if engine is Engine.XLA:
        plan, lists = _plan_loop(data, features, limits, resolved, sizes, mesh)
    else:
        plan, lists = make_kernel_plan(resolved, sizes, features, data), ()
    weight = None if data.weight is None else as_type(data.weight, np.float64 if resolved.is_scaled else np.int32)
    in_average = np.ones(len(codes)) if features.in_average is None else features.in_average
    prepared = GrowthInputs(
        codes=codes,
        target=present(target),
        weight=weight,
        entry_row=row,
        entry_root=root,
        features=_feature_arrays(features),
        position=_positions(features, sizes.num_bins) if rules.samples_thresholds else None,
        sets=None if features.sets is None else as_type(features.sets, np.uint32),
        num_codes=as_type(features.num_codes, np.int32),
        in_average=as_type(in_average, bool),
        lists=lists,
        limits=None if limits is None else limits_of_roots(limits, sizes.num_roots),
        root_seed=root_seed,
        entry_target=entry_target,
    )
    return plan, prepared


def _plan_loop(
    data: Data, features: Features, limits: Limits | None, rules: ResolvedRules, sizes: Sizes, mesh: Mesh | None
) -> tuple[LoopPlan, tuple[Int32[AnyArray, " listed"], ...]]:
    """The plan of a growth by the loop of levels, and the features of every table and then of the scan, if any."""
    devices, num_features = devices_of(mesh), len(data.codes)
    # A scan needs the entries of all devices in one order.
    can_scan = not rules.samples_thresholds and devices.number == 1
    shapes, lists = list_features(features, sizes.num_bins, rules.kinds, MOST_BINS_TABLED if can_scan else NO_LIMIT)
    num_scanned = len(lists[-1])
    plan = make_loop_plan(
        rules, sizes, shapes, data,
        num_scanned=num_scanned,
        num_sampled=_num_sampled(limits, num_features) if rules.samples_features and not num_scanned else 0,
        devices=devices,
        backend=backend_of(platform_of(data.codes, mesh=mesh), devices.number),
    )  # fmt: skip
    return plan, lists if num_scanned else lists[:-1]


def backend_of(platform: str, num_devices: int = 1) -> Backend:
    """The choices for a platform, given by JAX's name, and a number of devices; an unknown one is treated as a GPU.

    >>> backend_of("tpu").accumulation.name
    'COMPARE'
    """
    if platform in ("cpu", "tpu"):
        return CPU if platform == "cpu" else TPU
    # The kernel has not been tried on rows that are divided.
    return GPU_WITH_WARP if num_devices == 1 and warp_histogram.is_available() else GPU


def quantise(prepared: GrowthInputs, plan: LoopPlan) -> tuple[Entries, Units]:
    """Returns the entries, with weights and targets as whole numbers, and the units of these."""
    row, objective = prepared.entry_row, plan.rules.objective
    target = prepared.target_of_entries()
    num_entries, is_scaled = target.shape[1], plan.rules.is_scaled
    label, value, units = quantise_entries(objective, target, prepared.weight, plan.devices, is_scaled=is_scaled)
    padding = plan.entry_capacity - num_entries
    size = -(-num_entries // plan.entries_per_block) * plan.entries_per_block
    place = jnp.arange(plan.entry_capacity, dtype=np.int32)
    row = place if row is None else _padded_after(row, padding)
    root = jnp.zeros_like(place) if prepared.entry_root is None else _padded_after(prepared.entry_root, padding)
    if padding:
        # XLA keeps a constant that is padded in the program, of ten million entries 42 MB, and compares it in every
        # pass, so that compilation takes three times as long.
        is_entry = place < num_entries
        # Unused places must not sort as entries of the first tree.
        row, root = jnp.where(is_entry, row, 0), jnp.where(is_entry, root, DONE)
        label, value = (_padded_after(values, padding) for values in (label, value))
    return Entries(row, label, value, root, jnp.int32(size)), units


def _padded_after(values: Shaped[Array, "*axis entry"], padding: int) -> Shaped[Array, "*axis padded"]:
    """The values with zeros for this many more entries."""
    return jnp.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, padding)])


def make_problem(prepared: GrowthInputs, units: Units, plan: LoopPlan) -> GrowthConstants:
    """Returns the problem, with limits in units of the sums; pads codes to the entries if these start in row order."""
    codes, limits = prepared.codes, present(prepared.limits)
    if plan.starts_in_row_order and codes.shape[1] < plan.entry_capacity:
        codes = _padded_after(codes, plan.entry_capacity - codes.shape[1])
    return GrowthConstants(
        codes=codes,
        features=prepared.features,
        num_codes=prepared.num_codes,
        in_average=prepared.in_average,
        lists=prepared.lists,
        position=prepared.position,
        sets=prepared.sets,
        limits=in_units(limits, plan.rules, units),
        parameters=limits.parameters,
        units=units,
    )


def _num_sampled(limits: Limits | None, num_features: int) -> int:
    """The number of features scored in a round: the most of any tree; 0, for all, if that is not known or large."""
    if limits is None or not is_concrete(limits.max_features):
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
    monotone, apart = (
        None if x is None else as_type(x, np.int32) for x in (features.monotone, features.next_separable)
    )
    return FeatureContext(number, kind, num_values, monotone, apart)
