"""The growth of one tree on a million rows, with all arrays in place: the first time that is predicted of devices."""

import jax
import numpy as np
from jaxtyping import Int32, UInt8

from jaxtree.arrays import Device
from jaxtree.devices import kind_of
from jaxtree.doctor.fingerprints import fingerprint_of_nodes
from jaxtree.doctor.running import REPEATS, FitResult, failed, seconds_of
from jaxtree.growth import Classes, Data, Limits, Rules, Sizes, grow
from jaxtree.growth.sums import warp_histogram
from jaxtree.tree import Tree

GROWTH = "growth of 1,000,000 x 28"
"""The name of the fit."""

WITH_WARP = f"{GROWTH}, with Warp"
"""The name under which it is predicted where NVIDIA's Warp sums histograms."""

ROWS, COLUMNS, CODES, DEPTH = 1_000_000, 28, 255, 8

CAPACITY = 4096
"""The room for nodes: more than a tree of two branches a node has."""


def grow_at(device: Device, num_rows: int = ROWS) -> FitResult:
    """Grows the tree on a device, first with what must be compiled, then with programs and arrays in place.

    Args:
        device: A device of JAX.
        num_rows: The number of rows.
    """
    rules, sizes = Rules(Classes(2)), Sizes(num_bins=CODES + 1, capacity=CAPACITY)
    try:
        with jax.default_device(device):
            there = jax.device_put(_make_codes(num_rows), device)

            def grow_one() -> Tree:
                return jax.block_until_ready(grow(Data(*there), None, Limits(max_depth=DEPTH), rules, sizes).tree)

            first = seconds_of(grow_one)
            later = min(seconds_of(grow_one) for _ in range(REPEATS))
            return FitResult(GROWTH, fingerprint_of_nodes(grow_one(), {}), (first, later, None), None)
    except Exception as error:
        return failed(GROWTH, error)


def way_of(device: Device) -> str:
    """Returns the name under which the growth on a device is predicted."""
    return WITH_WARP if kind_of(device) == "gpu" and warp_histogram.is_available() else GROWTH


def _make_codes(num_rows: int) -> tuple[UInt8[np.ndarray, "feature row"], Int32[np.ndarray, " row"]]:
    """Codes of independent features, and a class that follows from four of them and noise, by whole numbers alone."""
    draw = np.random.RandomState(7)
    codes = draw.randint(0, CODES, (COLUMNS, num_rows), dtype=np.uint8)
    one, two, three, four = codes[:4].astype(np.int32)
    score = one + (two - CODES // 2) * (three - CODES // 2) // 64 + 64 * (four % 5 == 1)
    noise = draw.randint(0, CODES // 4, num_rows, dtype=np.int32)
    return codes, (score + noise > CODES // 2 + CODES // 4).astype(np.int32)
