"""The static sizes of a growth program.

Two growths with equal plans and equally shaped arguments share one compiled program.
"""

import functools
import math
from typing import NamedTuple

from jaxtree.growth.backends import Accumulation, Backend
from jaxtree.growth.rules import Rules
from jaxtree.tree import CODES_PER_WORD, SplitKind

LEAST_CELLS = 2**9
"""Cells of a slot, for the size of chunks where no feature has a table."""

MOST_ENTRIES_UNSORTED = 2**13
"""So few entries are read faster than they are sorted."""

MIN_ENTRIES_SIDE_BY_SIDE = 2**15
"""With fewer entries a second core saves less than a larger program costs to compile."""

WINDOW = 32
"""Entries of a small node, which is scored by comparing all pairs of its entries."""

MIN_BINS_FOR_SMALL_NODES = 2 * WINDOW
"""With fewer bins a histogram costs no more than comparing all pairs."""


class TablePlan(NamedTuple):
    """How features are scored by histograms.

    Attributes:
        num_features: How many there are, padding included.
        num_bins: Codes of a feature.
        kinds: The kinds of split that occur.
        slots_per_block: Slots scored together.
        features_per_group: Features scored together.
        features_side_by_side: Features whose histograms are made at the same time.
    """

    num_features: int
    num_bins: int
    kinds: tuple[SplitKind, ...]
    slots_per_block: int
    features_per_group: int
    features_side_by_side: int


class Plan(NamedTuple):
    """The static sizes of one growth program.

    Attributes:
        backend: The choices for the kind of device.
        num_devices: Devices that the rows are divided among; the entries below are those of one.
        capacity: Nodes that the table holds.
        num_roots: Trees that grow.
        entry_capacity: Entries that there may be, once rows are shared out among branches.
        rules: How splits are judged, chosen and made.
        tables: The features scored by histograms, by kind of split.
        num_slots: Slots of a chunk, the nodes whose splits are found together.
        num_words: Words of a subset; 0 where there are none.
        num_scanned: Features scored by a scan over sorted entries.
        num_drawn: Features that a node looks at in one round, where it draws them; 0 where it looks at all.
        entries_per_block: Entries read together for a histogram, once they are sorted by slot.
        entries_per_move: Entries sent to their children together.
        small_nodes: Nodes scored together by comparing pairs; 0 where no node is.
        max_branches: Branches of a split at most.
        sorts: Whether entries may be sorted by slot; without it a program is smaller.
        starts_in_row_order: Whether entry e is row e at the start.
    """

    backend: Backend
    num_devices: int
    capacity: int
    num_roots: int
    entry_capacity: int
    rules: Rules
    tables: tuple[TablePlan, ...]
    num_slots: int
    num_words: int
    num_scanned: int
    num_drawn: int
    entries_per_block: int
    entries_per_move: int
    small_nodes: int
    max_branches: int
    sorts: bool
    starts_in_row_order: bool


class TableShape(NamedTuple):
    """Features that one table plan serves: how many, their codes, and their kinds of split."""

    num_features: int
    num_bins: int
    kinds: tuple[SplitKind, ...]


def make_plan(
    *,
    backend: Backend,
    num_devices: int,
    num_entries: int,
    entry_capacity: int,
    capacity: int,
    num_roots: int,
    rules: Rules,
    shapes: tuple[TableShape, ...],
    num_scanned: int,
    num_drawn: int,
    starts_in_row_order: bool,
) -> Plan:
    """Returns the plan for data of the given sizes."""
    channels = rules.measure.num_channels
    widest_level = _power_of_two(max(1, min(capacity, num_entries // 2)))
    num_entries = -(-num_entries // num_devices)
    item = 8 if rules.measure.has_wide_sums else 4
    plan_table = functools.partial(_plan_table, backend, num_drawn, num_entries, widest_level, channels, item)
    tables = tuple(plan_table(shape) for shape in shapes)
    most_cells = max((channels * table.num_bins for table in tables), default=LEAST_CELLS)
    widest_block = max((table.slots_per_block for table in tables), default=1)
    num_slots = max(widest_block, _power_of_two(backend.bytes_per_table // item // most_cells))
    all_kinds = {kind for shape in shapes for kind in shape.kinds}
    widest_bins = max((shape.num_bins for shape in shapes), default=2)
    pairs_pay = (
        (num_scanned > 0 or widest_bins >= MIN_BINS_FOR_SMALL_NODES)
        and all_kinds <= {SplitKind.THRESHOLD}
        and num_entries >= WINDOW
        and not rules.draws_thresholds
        # The entries of a small node may lie on several devices.
        and num_devices == 1
    )
    block = min(num_entries, backend.entries_per_block)
    return Plan(
        backend=backend,
        num_devices=num_devices,
        capacity=capacity,
        num_roots=num_roots,
        entry_capacity=-(-entry_capacity // block) * block,
        rules=rules,
        tables=tables,
        num_slots=min(num_slots, max(widest_level, widest_block)),
        num_words=-(-widest_bins // CODES_PER_WORD) if SplitKind.SUBSET in all_kinds else 0,
        num_scanned=num_scanned,
        num_drawn=num_drawn,
        entries_per_block=block,
        entries_per_move=math.gcd(-(-entry_capacity // block) * block, backend.entries_per_move),
        small_nodes=min(backend.small_nodes, widest_level) if pairs_pay else 0,
        max_branches=widest_bins if SplitKind.MULTIWAY in all_kinds else 2,
        sorts=num_scanned > 0 or pairs_pay or num_entries > MOST_ENTRIES_UNSORTED,
        starts_in_row_order=starts_in_row_order,
    )


def _plan_table(
    backend: Backend,
    num_drawn: int,
    num_entries: int,
    widest_level: int,
    channels: int,
    item: int,
    shape: TableShape,
) -> TablePlan:
    in_turn = backend.accumulation == Accumulation.SCATTER
    side_by_side = 4 if in_turn and num_entries >= MIN_ENTRIES_SIDE_BY_SIDE and shape.num_features % 4 == 0 else 1
    # A subset is found by comparing all pairs of codes.
    cells = channels * shape.num_bins * (shape.num_bins if SplitKind.SUBSET in shape.kinds else 1)
    divisors = (n for n in range(shape.num_features, 0, -1) if shape.num_features % n == 0 and n % side_by_side == 0)
    group = next(n for n in divisors if n * cells <= backend.cells_per_slot or n == side_by_side)
    scored = num_drawn or group
    block = _power_of_two(max(1, min(backend.bytes_per_block // item // (cells * scored), widest_level)))
    return TablePlan(*shape, slots_per_block=block, features_per_group=group, features_side_by_side=side_by_side)


def _power_of_two(number: int) -> int:
    """The number rounded down to a power of two, 1 at least."""
    return 1 << (max(number, 1).bit_length() - 1)
