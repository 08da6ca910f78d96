"""The static sizes of a growth program.

Two growths with equal plans and equally shaped arguments share one compiled program.
"""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np

from jaxtree.arrays import concrete_or_none
from jaxtree.growth.inputs.bundles import NO_LIMIT, Data, Features, ResolvedRules, Sizes
from jaxtree.growth.inputs.tables import SubsetSizes, TableShape, list_features, sizes_of_subsets
from jaxtree.growth.native import KernelSizes, slots_in_row_order
from jaxtree.growth.plan.backends import CPU, Accumulation, Backend
from jaxtree.growth.plan.costs import Costs
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.mesh import Devices
from jaxtree.tree import SplitKind


class TablePlan(NamedTuple):
    """The sizes of the histograms of some features.

    Attributes:
        num_features: The number of features, padding included.
        num_bins: The number of codes of a feature, or of the parts of a node where thresholds are drawn.
        kind: Their kind of split.
        slots_per_block: Slots scored together.
        features_per_group: Features scored together.
    """

    num_features: int
    num_bins: int
    kind: SplitKind
    slots_per_block: int
    features_per_group: int


LEAST_ROWS_SIDE_BY_SIDE = 2**20
"""From this many rows on the kernel is given the codes of a row side by side, too."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """The static sizes of a growth in a program, whoever grows.

    Attributes:
        rules: The rules for scoring and choosing splits.
        backend: The choices for the kind of device.
        devices: The devices that the rows are divided among; the entries below are those of one.
        capacity: The number of nodes that the table holds.
        num_roots: The number of trees.
        num_bins: The number of codes of the feature that has most.
        entry_capacity: The greatest number of entries, including those of rows shared among branches.
        subsets: The sizes of subsets.
        max_branches: The greatest number of branches of a split.
        starts_in_row_order: Whether entry e is row e at the start.
    """

    rules: ResolvedRules
    backend: Backend
    devices: Devices
    capacity: int
    num_roots: int
    num_bins: int
    entry_capacity: int
    subsets: SubsetSizes
    max_branches: int
    starts_in_row_order: bool

    @property
    def engine(self) -> Engine:
        """Who grows the trees."""
        return Engine.XLA if isinstance(self, LoopPlan) else Engine.PROGRAM

    @property
    def costs(self) -> Costs:
        """The sizes of pieces for the kind of device."""
        return self.backend.costs

    @property
    def num_words(self) -> int:
        """The number of words of a subset."""
        return self.subsets.num_words

    @property
    def is_on_cpu(self) -> bool:
        """Whether the program runs on a CPU."""
        return self.backend.accumulation == Accumulation.SCATTER and not self.backend.loop_conditions_on_host

    @property
    def options_of_gpu(self) -> dict[str, str]:
        """XLA's options with which a GPU ends all loops itself, as parts of one graph; not for a part of a program."""
        if not self.backend.loop_conditions_on_host:
            return {}
        return {"xla_gpu_enable_command_buffer": "FUSION,CUSTOM_CALL,WHILE,CONDITIONAL"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class KernelPlan(Plan):
    """The plan of a growth by the kernel in C++.

    Attributes:
        sizes: The sizes that the kernel is given.
        bytes_lent: Bytes of memory that XLA lends to the kernel.
        reads_rows: Whether boosting gives the kernel the codes a second time, those of a row side by side.
    """

    sizes: KernelSizes
    bytes_lent: int
    reads_rows: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoopPlan(Plan):
    """The plan of a growth by the loop of levels.

    Attributes:
        tables: The features scored by histograms, by kind of split.
        num_slots: The number of slots of a chunk, whose splits are found together.
        num_scanned: The number of features scored by a scan over sorted entries.
        num_sampled: The number of sampled features that a node scores in one round; 0 where it scores all features.
        entries_per_block: Entries read together for a histogram once they are sorted by slot.
        entries_per_move: Entries sent to their children together.
        sorts: Whether every level sorts the entries by slot: for a scan, and where it may have several chunks, each of
            which otherwise reads all entries.
    """

    tables: tuple[TablePlan, ...]
    num_slots: int
    num_scanned: int
    num_sampled: int
    entries_per_block: int
    entries_per_move: int
    sorts: bool

    @property
    def nodes_at_a_time(self) -> int:
        """The nodes of a level that are recorded together."""
        return min(self.capacity, self.costs.nodes_at_a_time)

    @property
    def num_blocks_of_nodes(self) -> int:
        """The blocks of nodes that a level may have."""
        return -(-self.capacity // self.nodes_at_a_time)

    @property
    def stays_in_row_order(self) -> bool:
        """Whether entry e is row e on all levels."""
        return self.starts_in_row_order and not self.sorts

    @property
    def num_blocks(self) -> int:
        """The blocks of entries that are read for a histogram."""
        return self.entry_capacity // self.entries_per_block

    @property
    def num_moves(self) -> int:
        """The blocks of entries that are sent to their children."""
        return self.entry_capacity // self.entries_per_move


def make_loop_plan(
    rules: ResolvedRules,
    sizes: Sizes,
    shapes: tuple[TableShape, ...],
    data: Data,
    *,
    num_scanned: int,
    num_sampled: int,
    devices: Devices,
    backend: Backend,
) -> LoopPlan:
    """Returns the plan of a growth by the loop of levels.

    Args:
        rules: The rules.
        sizes: The requested sizes.
        shapes: The features that are scored by histograms.
        data: The entries of all devices.
        num_scanned: The number of features that are scored by a scan.
        num_sampled: See `LoopPlan`.
        devices: The devices.
        backend: The choices for their kind.
    """
    costs, num_entries = backend.costs, _num_entries(data)
    if rules.samples_thresholds and backend.accumulation == Accumulation.SHARED:
        # A drawn threshold has a cell for each of a few parts, which that kernel does not tell apart.
        backend = backend._replace(accumulation=Accumulation.SCATTER)
    entry_capacity = -(-_entry_capacity(num_entries, sizes.entry_capacity, rules) // devices.number)
    # Nodes that are split have as many nodes above them, or are roots.
    most_nodes = max(sizes.num_roots, (sizes.capacity + sizes.num_roots) // 2)
    widest_level = _power_of_two(max(1, min(most_nodes, num_entries // 2)))
    num_entries = -(-num_entries // devices.number)
    item = 8 if rules.has_wide_sums else 4
    plan_table = functools.partial(_plan_table, backend.costs, rules, num_sampled, widest_level)
    tables = tuple(plan_table(shape) for shape in shapes)
    most_cells = max((rules.num_channels * table.num_bins for table in tables), default=costs.cells_per_slot)
    widest_block = max((table.slots_per_block for table in tables), default=1)
    num_slots = max(widest_block, _power_of_two(costs.bytes_per_table // item // most_cells))
    all_kinds = {shape.kind for shape in shapes}
    widest_bins = max((shape.num_bins for shape in shapes), default=2)
    num_slots = min(num_slots, max(widest_level, widest_block))
    block = min(num_entries, costs.entries_per_block)
    entry_capacity, per_move = _moves(entry_capacity, block, costs.entries_per_move)
    return LoopPlan(
        rules=rules,
        backend=backend,
        devices=devices,
        capacity=sizes.capacity,
        num_roots=sizes.num_roots,
        num_bins=sizes.num_bins,
        entry_capacity=entry_capacity,
        subsets=sizes_of_subsets(shapes, sizes.num_bins),
        max_branches=widest_bins if SplitKind.MULTIWAY in all_kinds else 2,
        starts_in_row_order=_is_in_row_order(data, rules),
        tables=tables,
        num_slots=num_slots,
        num_scanned=num_scanned,
        num_sampled=num_sampled,
        entries_per_block=block,
        entries_per_move=per_move,
        sorts=num_scanned > 0 or widest_level > num_slots,
    )


def make_kernel_plan(rules: ResolvedRules, sizes: Sizes, features: Features, data: Data) -> KernelPlan:
    """Returns the plan of a growth by the kernel in C++."""
    kind, shapes = concrete_or_none(features.split_kind), ()
    if kind is None or np.any(kind == SplitKind.SUBSET):
        shapes = list_features(features, sizes.num_bins, rules.kinds, NO_LIMIT)[0]
    is_multiway = kind is None or bool(np.any(kind == SplitKind.MULTIWAY))
    num_entries, is_in_row_order = _num_entries(data), _is_in_row_order(data, rules)
    subsets = sizes_of_subsets(shapes, sizes.num_bins)
    num_slots = slots_in_row_order(rules, sizes.num_bins, num_entries, len(data.codes))
    return KernelPlan(
        rules=rules,
        backend=CPU,
        devices=Devices(1),
        capacity=sizes.capacity,
        num_roots=sizes.num_roots,
        num_bins=sizes.num_bins,
        entry_capacity=num_entries,
        subsets=subsets,
        max_branches=sizes.num_bins if is_multiway else 2,
        starts_in_row_order=is_in_row_order,
        sizes=KernelSizes(sizes.num_bins, subsets, num_slots, is_in_row_order),
        bytes_lent=_bytes_lent(rules, num_entries) if is_in_row_order and num_slots > 0 else 0,
        reads_rows=is_in_row_order and _reads_rows(rules, data),
    )


def _reads_rows(rules: ResolvedRules, data: Data) -> bool:
    """Whether a tree of one score grows leaf by leaf on more rows than a core's caches hold of a column."""
    is_by_leaves = rules.grows_best_first and not rules.has_wide_sums and data.codes.dtype == np.uint8
    return is_by_leaves and rules.objective.num_channels == 2 and data.codes.shape[1] >= LEAST_ROWS_SIDE_BY_SIDE


def _num_entries(data: Data) -> int:
    return (data.target if data.row is None else data.row).shape[-1]


def _is_in_row_order(data: Data, rules: ResolvedRules) -> bool:
    """Whether entry e is row e at the start."""
    return data.row is None and not rules.shares_missing


def _bytes_lent(rules: ResolvedRules, num_entries: int) -> int:
    """Memory that XLA lends to the growth of a tree in the order of the rows; more is allocated where it is too little.

    An entry has a slot, a row, a base and two vectors of values, see native/src/histogram/row_subset.h.
    """
    width = -(-(rules.num_channels + 1) // 4) * 4
    return 0 if rules.has_wide_sums else num_entries * 4 * (3 + 2 * width)


def _entry_capacity(num_entries: int, given: int | None, rules: ResolvedRules) -> int:
    """Entries that there may be, on all devices."""
    if not rules.shares_missing:
        return num_entries
    return max(num_entries, 2 * num_entries if given is None else given)


def _moves(num_entries: int, block: int, most: int) -> tuple[int, int]:
    """Rounds entries up to whole blocks, and to moves of blocks that hold about as many as wished for.

    Returns:
        The entries, and those of a move.

    >>> _moves(1_000_000, 1_000_000, 2**22), _moves(5 * 2**15, 2**12, 2**16), _moves(17 * 2**12, 2**12, 2**16)
    ((1000000, 1000000), (163840, 40960), (73728, 36864))
    """
    num_blocks = -(-num_entries // block)
    fewest = -(-num_blocks * block // most)
    # Equal moves without padding are worth twice as many of them: codes would be copied into padded ones.
    num_moves = next((n for n in range(fewest, 2 * fewest) if num_blocks % n == 0), fewest)
    per_move = -(-num_blocks // num_moves) * block
    return num_moves * per_move, per_move


def _plan_table(
    costs: Costs, rules: ResolvedRules, num_sampled: int, widest_level: int, shape: TableShape
) -> TablePlan:
    # A subset is found by comparing all pairs of codes.
    if rules.samples_thresholds and shape.kind == SplitKind.THRESHOLD:
        shape = shape._replace(num_bins=rules.num_parts)
    cells = rules.num_channels * shape.num_bins * (shape.num_bins if shape.kind == SplitKind.SUBSET else 1)
    divisors = (n for n in range(shape.num_features, 0, -1) if shape.num_features % n == 0)
    group = next(n for n in divisors if n * cells <= costs.cells_per_slot or n == 1)
    cells_at_once = cells * (num_sampled or group)
    item = 8 if rules.has_wide_sums else 4
    block = _power_of_two(max(1, min(costs.bytes_per_block // item // cells_at_once, widest_level)))
    return TablePlan(*shape, slots_per_block=block, features_per_group=group)


def _power_of_two(number: int) -> int:
    """The number rounded down to a power of two, at least 1."""
    return 1 << (max(number, 1).bit_length() - 1)
