"""Histograms summed in the shared memory of a CUDA GPU, if NVIDIA Warp is installed (the extra `gpu`).

XLA's scatter adds every entry to a table in a GPU's main memory. Here a *block* of threads adds a *part* of the entries
to cells in the memory of its own processor, and then each of these cells to the table once. They are the cells from the
lowest that the part reaches on; what lies above the last is *far* and added to the table at once. In the first levels,
and where entries are sorted by slot, all cells are near. Where a block has room for several *copies* of the cells, its
threads divide themselves among them, because threads that add to one cell wait for each other.

Its sums are whole numbers, so that they are those of XLA's scatter. On an NVIDIA H200 it sums in two fifths of the
scatter's time, and a tree of ten million rows grows in two fifths of its time. A process tries it before it uses it.
"""

# Annotations of a kernel are Warp's types, made where it is defined.
# pyright: reportInvalidTypeForm=false

import functools
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, no_type_check

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Int32, UInt

from jaxtree.errors import warn_user
from jaxtree.growth.device.cells import Place, places_of
from jaxtree.growth.inputs.bundles import ResolvedRules
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


class WarpLayout(NamedTuple):
    """The place of an entry's cells in a table.

    Attributes:
        places: The places of the numbers that an entry adds.
        num_channels: The number of channels of a slot.
        num_bins: The number of cells of a channel.
    """

    places: tuple[Place, ...]
    num_channels: int
    num_bins: int

    @property
    def num_cells_of_slot(self) -> int:
        """The number of cells of a slot."""
        return self.num_channels * self.num_bins

    def first_of_strip(self, num_cells: int) -> int:
        """The first cell of a table after those of all slots."""
        return num_cells - (1 + max(place.past for place in self.places)) * self.num_bins

    def for_kernel(self, strip: int) -> Int32[np.ndarray, "number 3"]:
        """The layout as an argument of the kernel."""
        places = [(place.base, place.past * self.num_bins, place.added) for place in self.places]
        return np.array([(strip, self.num_cells_of_slot, self.num_bins), *places], np.int32)


def add_at_once(
    tables: Int[Array, "table cell"],
    codes: UInt[Array, "feature row"],
    features: Int32[Array, "table slot_or_all"],
    row: Int32[Array, " entry"],
    base: Int32[Array, "base entry"],
    value: Int[Array, "value entry"],
    *,
    num_bins: int,
    rules: ResolvedRules,
) -> Int[Array, "table cell"]:
    """Adds entries to several tables; a table's feature is the same for all slots, or every slot has its own.

    Entries outside all slots are left out, where a scatter adds them to the strip.
    """
    layout = WarpLayout(places_of(rules), rules.num_channels, num_bins)
    return _add(tables, codes, features, row, base, value, layout)


def _add(tables, codes, features, row, base, value, layout: WarpLayout) -> Int[Array, "table cell"]:
    strip = layout.first_of_strip(tables.shape[1])
    reach = _reach(base, strip, layout.num_cells_of_slot)
    arrays = (codes, features, row, base, value, reach, jnp.asarray(layout.for_kernel(strip)), tables)
    add = _jax_kernel(codes.dtype.name, tables.dtype.name)
    return add(*arrays, launch_dims=(len(tables), reach.shape[1], THREADS))[0]


def _reach(base: Int32[Array, "base entry"], strip: int, num_cells_of_slot: int) -> Int32[Array, "2 part"]:
    """The lowest cell that every part of the entries reaches, and how many cells there are from it to the highest."""
    parts = jnp.pad(base, ((0, 0), (0, -base.shape[1] % ENTRIES)), constant_values=strip)
    parts = parts.reshape(len(base), -1, ENTRIES)
    low = jnp.min(parts, axis=(0, 2))
    high = jnp.max(jnp.where(parts < strip, parts, 0), axis=(0, 2))
    return jnp.stack([low, jnp.maximum(high - low, 0) + num_cells_of_slot])


@functools.cache
def _jax_kernel(code_type: str, sum_type: str) -> Callable[..., Any]:
    """The kernel for codes and sums of some types, as a function of JAX's arrays."""
    kernel = make_kernel(code_type, sum_type)
    return load_warp().jax_kernel(kernel, in_out_argnames=["tables"], vmap_method="sequential", block_dim=THREADS)


@functools.cache
def is_available() -> bool:
    """Whether Warp is installed, finds a CUDA GPU, and sums there as NumPy does; `JAXTREE_NATIVE=0` switches it off.

    The first call compiles the kernel and runs it. Where that fails, it warns, and XLA's scatter sums.
    """
    if os.environ.get("JAXTREE_NATIVE") == "0":
        return False
    try:
        if not load_warp().is_cuda_available():
            return False
    except ImportError:
        return False
    try:
        gpu = jax.local_devices(backend="gpu")[0]
        failure = "" if sums_as_numpy(gpu) else "its sums are wrong"
    except Exception as error:  # From a compiler, a driver or a device: whatever it is, XLA can sum.
        failure = f"{type(error).__name__}: {error}"
    if failure:
        warn_user(f"histograms are summed by XLA, because the kernel in Warp failed: {failure}")
    return not failure


def sums_as_numpy(device: Any) -> bool:
    """Whether the kernel sums as NumPy does on a device, near the lowest cell and above."""
    rng = np.random.default_rng(0)
    num_slots, num_entries, layout = 64, ENTRIES + 1, WarpLayout((Place(0, 0, 0),), 2, 256)
    num_cells = num_slots * layout.num_channels * layout.num_bins
    codes = rng.integers(0, layout.num_bins, (2, num_entries)).astype(np.uint8)
    row = rng.permutation(num_entries).astype(np.int32)
    base = layout.num_bins * rng.integers(0, num_slots * layout.num_channels, (1, num_entries)).astype(np.int32)
    features = np.arange(2, dtype=np.int32)[:, None]
    for sum_type in (np.int32, np.int64):
        value = rng.integers(0, np.iinfo(sum_type).max // num_entries, (1, num_entries)).astype(sum_type)
        expected = np.zeros((2, num_cells + layout.num_bins), sum_type)
        np.add.at(expected, (features, base + codes[:, row]), np.broadcast_to(value, codes.shape))
        with jax.ensure_compile_time_eval(), jax.enable_x64(True), jax.default_device(device):
            arrays = (np.zeros_like(expected), codes, features, row, base, value)
            sums = jax.jit(functools.partial(_add, layout=layout))(*map(jnp.asarray, arrays))
            if not np.array_equal(sums, expected):
                return False
    return True


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
