"""The static sizes of a growth program.

Two growths with equal plans and equally shaped arguments share one compiled program.
"""

import math
from typing import NamedTuple

from jaxtree.growth.criteria import Criterion
from jaxtree.tree import SplitKind

CELLS_PER_BLOCK = 2**14
"""Cells scored at a time: 64 KiB of 32-bit sums."""

CELLS_PER_TABLE = 2**16
"""Cells of a feature's table: 256 KiB of 32-bit sums, which stay in a core's second-level cache."""

ENTRIES_PER_BLOCK = 4096
"""Entries read at a time once they are sorted by slot."""

ENTRIES_PER_MOVE = 2**16
"""Entries sent to their children at a time, if their number allows."""

MOST_ENTRIES_UNSORTED = 2**13
"""So few entries are read faster than they are sorted."""

CELLS_PER_SLOT = 2**9
"""Cells of a slot, over a group of features, that are scored together at most."""

MIN_ENTRIES_SIDE_BY_SIDE = 2**15
"""With fewer entries a second core saves less than a larger program costs to compile."""

WINDOW = 32
"""Entries of a small node, which is scored by comparing all pairs of its entries."""

MIN_BINS_FOR_SMALL_NODES = 2 * WINDOW
"""With fewer bins a histogram costs no more than comparing all pairs."""


class Plan(NamedTuple):
    """The static sizes of one growth program.

    Attributes:
        capacity: Nodes that the table holds.
        num_classes: Classes of the target.
        num_bins: Codes of a feature.
        num_slots: Slots of a chunk, the nodes whose histograms are made together.
        slots_per_block: Slots scored together.
        features_per_group: Features scored together.
        features_side_by_side: Features whose histograms are made at the same time.
        entries_per_block: Entries read together for a histogram, once they are sorted by slot.
        entries_per_move: Entries sent to their children together.
        small_nodes: Nodes scored together by comparing pairs; 0 where histograms serve all nodes.
        max_branches: Branches of a split at most.
        sorts: Whether entries may be sorted by slot; without it a program is smaller.
        starts_in_row_order: Whether entry e is row e at the start.
        criterion: Impurity of class weights.
        kinds: The kinds of split that occur.
    """

    capacity: int
    num_classes: int
    num_bins: int
    num_slots: int
    slots_per_block: int
    features_per_group: int
    features_side_by_side: int
    entries_per_block: int
    entries_per_move: int
    small_nodes: int
    max_branches: int
    sorts: bool
    starts_in_row_order: bool
    criterion: Criterion
    kinds: tuple[SplitKind, ...]


def make_plan(
    *,
    num_entries: int,
    num_features: int,
    num_classes: int,
    num_bins: int,
    capacity: int,
    starts_in_row_order: bool,
    criterion: Criterion,
    kinds: tuple[SplitKind, ...],
) -> Plan:
    """Returns the plan for data of the given sizes."""
    cells = num_classes * num_bins
    side_by_side = 2 if num_features % 2 == 0 and num_entries >= MIN_ENTRIES_SIDE_BY_SIDE else 1
    divisors = (n for n in range(num_features, 0, -1) if num_features % n == 0 and n % side_by_side == 0)
    group = next(n for n in divisors if n * cells <= CELLS_PER_SLOT or n == side_by_side)
    widest_level = max(1, min(capacity, num_entries // 2))
    slots_per_block = max(1, min(CELLS_PER_BLOCK // (cells * group), widest_level))
    num_blocks = max(1, min(CELLS_PER_TABLE // (cells * slots_per_block), -(-widest_level // slots_per_block)))
    pairs_pay = kinds == (SplitKind.THRESHOLD,) and num_bins >= MIN_BINS_FOR_SMALL_NODES and num_entries >= WINDOW
    block = min(num_entries, ENTRIES_PER_BLOCK)
    return Plan(
        capacity=capacity,
        num_classes=num_classes,
        num_bins=num_bins,
        num_slots=num_blocks * slots_per_block,
        slots_per_block=slots_per_block,
        features_per_group=group,
        features_side_by_side=side_by_side,
        entries_per_block=block,
        entries_per_move=math.gcd(-(-num_entries // block) * block, ENTRIES_PER_MOVE),
        small_nodes=min(256, widest_level) if pairs_pay else 0,
        max_branches=num_bins if SplitKind.MULTIWAY in kinds else 2,
        sorts=pairs_pay or num_entries > MOST_ENTRIES_UNSORTED,
        starts_in_row_order=starts_in_row_order,
        criterion=criterion,
        kinds=kinds,
    )
