"""A kernel in NVIDIA Warp that sums histograms in the shared memory of a CUDA GPU; `warp_histogram` calls it.

XLA's scatter adds every entry to a table in a GPU's main memory. Here a *block* of threads adds a *part* of the entries
to cells in the memory of its own processor, and then each of these cells to the table once. They are the cells from the
lowest that the part reaches on; what lies above the last is *far* and added to the table at once. Of the first levels
and of entries sorted by slot all are near. Where a block has room for several *copies* of the cells, its threads divide
themselves among them, because threads that add to one cell wait for each other.
"""

# Annotations of a kernel are Warp's types, made where it is defined.
# pyright: reportInvalidTypeForm=false

import functools
import importlib
import sys
from typing import Any, no_type_check

import numpy as np

from jaxtree.growth.inputs.objective import COUNTS_ROW

BYTES = 2**16
"""Memory of a block's cells: of 32 slots of two classes and 256 codes, or of 10 slots of three sums of 64 bits."""

THREADS = 2**9
"""Threads of a block; each has some 50 registers, so that a processor of an H200 works on two blocks at a time."""

ENTRIES = 2**15
"""Entries of a part: a million of them and 28 features make 868 blocks, for 132 processors."""

# In C++, since Warp's own addition to a tile makes all threads of the block wait for each other.
_ADD = {
    "int32": "wp::tile_atomic_add_value(&sums.data(wp::tile_coord(cell)), wp::uint32(added));",
    # A processor adds words of 32 bits at once, and those of 64 by comparing and trying again.
    "int64": """
        wp::uint32 low = wp::uint32(added), high = wp::uint32(wp::uint64(added) >> 32);
        wp::uint32 before = wp::tile_atomic_add_value(&sums.data(wp::tile_coord(cell)), low);
        high += before + low < low;
        if (high)
            wp::tile_atomic_add_value(&sums.data(wp::tile_coord(cell + {room})), high);""",
}
"""Adds a number to a cell of a block; the upper halves of sums of 64 bits lie behind all lower ones."""

_READ = {
    "int32": "return wp::int32(sums.data(wp::tile_coord(cell)));",
    "int64": """
        wp::uint64 high = sums.data(wp::tile_coord(cell + {room}));
        return wp::int64(high << 32 | sums.data(wp::tile_coord(cell)));""",
}
"""Reads a cell of a block."""


@functools.cache
@no_type_check
def make_kernel(code_type: str, sum_type: str) -> Any:
    """The kernel for codes and sums of some types; Warp compiles it where it first runs.

    Its arguments are the codes; the features of every table, of all slots or of each; the entries' rows, cell bases and
    values; of every part the lowest cell and the number of cells that it reaches; a layout, which is the first cell of
    the strip, the number of cells of a slot and that of a channel, and then the places of an entry's numbers; and the
    tables.
    """
    wp = load_warp()
    Code, Sum = getattr(wp, code_type), getattr(wp, sum_type)
    room, num_words = BYTES // np.dtype(sum_type).itemsize, BYTES // 4
    Words = wp.tile(dtype=wp.uint32, shape=(num_words,), storage="shared")

    @wp.func_native(_ADD[sum_type].format(room=room))
    def add_near(sums: Words, cell: int, added: Sum): ...

    @wp.func_native(_READ[sum_type].format(room=room))
    def read_near(sums: Words, cell: int) -> Sum: ...

    @wp.kernel(enable_backward=False, grid_stride=False, module="unique")
    def add_entries(
        codes: wp.array2d(dtype=Code),
        features: wp.array2d(dtype=int),
        row: wp.array(dtype=int),
        base: wp.array2d(dtype=int),
        value: wp.array2d(dtype=Sum),
        reach: wp.array2d(dtype=int),
        layout: wp.array2d(dtype=int),
        tables: wp.array2d(dtype=Sum),
    ):
        table, part, lane = wp.tid()
        # Warp's CPU device makes a block of every thread.
        if lane >= wp.block_dim():
            return
        sums = wp.tile_zeros(shape=num_words, dtype=wp.uint32, storage="shared")
        lowest, strip, bins_of_slot, num_bins = reach[0, part], layout[0, 0], layout[0, 1], layout[0, 2]
        # One more than the cells, so that the copies of a cell lie in different banks of the memory.
        stride = reach[1, part] + 1
        num_copies = wp.max(room // stride, 1)
        own = (lane % num_copies) * stride
        for entry in range(part * ENTRIES + lane, wp.min((part + 1) * ENTRIES, row.shape[0]), wp.block_dim()):
            if base[0, entry] < strip:
                slot = wp.min(base[0, entry] // bins_of_slot, features.shape[1] - 1)
                # As XLA does, it reads nothing outside of the codes.
                feature = wp.clamp(features[table, slot], 0, codes.shape[0] - 1)
                at = wp.clamp(row[entry], 0, codes.shape[1] - 1)
                code = wp.min(int(codes[feature, at]), num_bins - 1)
                for number in range(1, layout.shape[0]):
                    cell = base[layout[number, 0], entry] + layout[number, 1] + code
                    added = Sum(0)
                    if layout[number, 2] == COUNTS_ROW:
                        if value[0, entry] > Sum(0):
                            added = Sum(1)
                    else:
                        added = value[layout[number, 2], entry]
                    if cell - lowest < room:
                        add_near(sums, own + cell - lowest, added)
                    else:
                        wp.atomic_add(tables, table, cell, added)
        # Adds nothing: the threads wait for each other.
        wp.tile_scatter_add(sums, 0, wp.uint32(0), False)
        for near in range(lane, wp.min(stride, room), wp.block_dim()):
            total = Sum(0)
            for number in range(num_copies):
                total += read_near(sums, number * stride + near)
            if total != Sum(0):
                wp.atomic_add(tables, table, lowest + near, total)

    return add_entries


def load_warp() -> Any:
    """Warp; it prints what it compiles only if the user's program imported it before."""
    is_new = "warp" not in sys.modules
    warp = importlib.import_module("warp")
    if is_new:
        warp.config.quiet = True
    return warp
