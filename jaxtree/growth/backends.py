"""The static choices for each kind of device.

A CPU core is fastest on pieces that its cache holds. A GPU needs few, large pieces, because every piece costs a
launch. A TPU has no fast scatter; there a histogram is a product of two matrices of zeros and ones.
"""

import enum
from typing import NamedTuple

from jaxtree.growth import warp_histogram

FEW_ENTRIES = 2**15
"""With fewer entries most cells of a large piece of work would be empty."""

MANY_ENTRIES = 2**17
"""With fewer entries the threads of a GPU wait for each other no longer than it takes to add copies."""


class Accumulation(enum.IntEnum):
    """How the cells of histograms are summed.

    SCATTER: one feature after another, each into its own table.
    COPIES: all features in one scatter of whole numbers. A level of few nodes has few cells, to which many threads
        would add at the same time; the space of unused slots therefore holds copies of these cells, each for a part
        of the entries, which are added at the end.
    SHARED: all features in one kernel, see `jaxtree.growth.warp_histogram`: many threads add in the memory of their
        processor, whose sums are added to the table.
    COMPARE: by comparing the cell and code of every entry with all possible ones, as a product of matrices.
    """

    SCATTER = 0
    COPIES = 1
    COMPARE = 2
    SHARED = 3


class Backend(NamedTuple):
    """The static choices for one kind of device.

    Attributes:
        accumulation: How cells are summed.
        bytes_per_block: Bytes of the sums that are scored together.
        bytes_per_table: Bytes of a feature's table.
        cells_per_slot: The most cells of a slot, over a group of features, that are scored together.
        entries_per_block: Entries read together once they are sorted by slot.
        entries_per_move: Entries sent to their children together, at most.
        small_nodes: Small nodes scored together.
        sort_cost: Cost of sorting an entry; the unit is one addition of a looked-up entry to a cell.
        score_cost: Cost of scoring a cell, in the same unit.
        host_ends_loops: Whether the host reads the condition of every loop.
        copies_of_sums: Copies of the sums of a level's first nodes, to which many threads would add at the same time.
    """

    accumulation: Accumulation
    bytes_per_block: int
    bytes_per_table: int
    cells_per_slot: int
    entries_per_block: int
    entries_per_move: int
    small_nodes: int
    sort_cost: float
    score_cost: float
    host_ends_loops: bool = False
    copies_of_sums: int = 1


# A feature's table stays in a core's second-level cache.
# Sorting an entry takes 75 ns, looking it up and adding it 3.7 ns.
CPU = Backend(Accumulation.SCATTER, 2**16, 2**18, 2**9, 2**12, 2**16, 2**8, 20.0, 3.0)
# 256 slots of two classes and 256 codes: the tables of 28 features take 15 MB, which an H200's cache holds.
GPU = Backend(
    Accumulation.COPIES, 2**25, 2**19, 2**20, 2**20, 2**22, 2**14, 20.0, 3.0, host_ends_loops=True, copies_of_sums=2**8
)
GPU_WITH_WARP = GPU._replace(accumulation=Accumulation.SHARED)
TPU = Backend(Accumulation.COMPARE, 2**22, 2**18, 2**12, 2**12, 2**16, 2**10, 20.0, 3.0)


def backend_of(platform: str, num_devices: int = 1) -> Backend:
    """The choices for a platform, given by JAX's name, and a number of devices; an unknown one is treated as a GPU.

    >>> backend_of("tpu").accumulation.name
    'COMPARE'
    """
    if platform in ("cpu", "tpu"):
        return CPU if platform == "cpu" else TPU
    # The kernel has not been tried on rows that are divided.
    return GPU_WITH_WARP if num_devices == 1 and warp_histogram.is_available() else GPU


def for_entries(backend: Backend, num_entries: int) -> Backend:
    """The choices for a number of entries: for few of them a CPU uses smaller pieces, and a GPU no copies of sums.

    >>> for_entries(CPU, 1000).small_nodes, for_entries(CPU, 10**6) == CPU
    (32, True)
    """
    if num_entries < MANY_ENTRIES:
        backend = backend._replace(copies_of_sums=1)
    if backend.accumulation != Accumulation.SCATTER or num_entries >= FEW_ENTRIES:
        return backend
    scale = lambda size, least: max(least, size * num_entries // FEW_ENTRIES)  # noqa: E731
    return backend._replace(
        bytes_per_block=scale(backend.bytes_per_block, 2**13),
        bytes_per_table=scale(backend.bytes_per_table, 2**16),
        small_nodes=1 << (scale(backend.small_nodes, 2**5).bit_length() - 1),
    )
