"""Histograms summed on a CUDA GPU by the kernel of `warp_kernel`, if NVIDIA Warp is installed (the extra `gpu`).

Its sums are whole numbers, so that they are those of XLA's scatter. On an NVIDIA H200 it sums in two fifths of the
scatter's time, and a tree of ten million rows grows in two fifths of its time. A process tries it before it uses it.
"""

import functools
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Int32, UInt

from jaxtree.errors import warn_user
from jaxtree.growth.inputs.bundles import ResolvedRules
from jaxtree.growth.sums.cells import Place, places_of
from jaxtree.growth.sums.warp_kernel import ENTRIES, THREADS, load_warp, make_kernel


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
    except Exception as error:  # Of a compiler, a driver or a device: whatever it is, XLA can sum.
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
