"""What kinds of devices differ in: how cells are summed, and how much work is done at a time.

A CPU core works best on what its cache holds, piece after piece. A GPU wants few, large pieces: every piece costs a
launch. A TPU has no fast scatter; there a histogram is a product of two matrices of zeros and ones. Where C++ kernels
are installed for a CPU, they take the place of XLA's scatter and sort.
"""

import enum
from typing import NamedTuple

from jaxtree.growth import native


class Accumulation(enum.IntEnum):
    """How the cells of histograms are summed.

    SCATTER: one feature after another, each into a table of its own.
    COPIES: all features in one scatter of whole numbers. A level of few nodes has few cells, which many threads would
        add to at the same time; the room of the slots that are not in use holds further copies of these cells, each
        for a part of the entries, which are added up behind.
    COMPARE: by comparing the cell and code of every entry with all there are, as a product of matrices.
    NATIVE: by a kernel in C++, which also sorts entries.
    """

    SCATTER = 0
    COPIES = 1
    COMPARE = 2
    NATIVE = 3


class Backend(NamedTuple):
    """The static choices for one kind of device.

    Attributes:
        accumulation: How cells are summed.
        bytes_per_block: Bytes of the sums that are scored at a time.
        bytes_per_table: Bytes of a feature's table.
        cells_per_slot: Cells of a slot, over a group of features, that are scored together at most.
        entries_per_block: Entries read at a time once they are sorted by slot.
        entries_per_move: Entries sent to their children at a time, if their number allows.
        small_nodes: Small nodes scored together.
        sort_cost: Cost of sorting an entry, in additions to a cell of entries looked up.
        score_cost: Cost of scoring a cell, in the same unit.
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


# A feature's table stays in a core's second-level cache.
# An entry takes 75 ns to sort, 3.7 ns to look up and add.
CPU = Backend(Accumulation.SCATTER, 2**16, 2**18, 2**9, 2**12, 2**16, 2**8, 20.0, 3.0)
# The costs are estimates: a cell takes a third of the time, and a counting sort a tenth of the other.
NATIVE_CPU = CPU._replace(accumulation=Accumulation.NATIVE, cells_per_slot=2**14, sort_cost=10.0, score_cost=9.0)
# 256 slots of two classes and 256 codes: the tables of 28 features take 15 MB, which an H200's cache holds.
GPU = Backend(Accumulation.COPIES, 2**25, 2**19, 2**20, 2**20, 2**22, 2**14, 20.0, 3.0)
TPU = Backend(Accumulation.COMPARE, 2**22, 2**18, 2**12, 2**12, 2**16, 2**10, 20.0, 3.0)


def backend_of(platform: str) -> Backend:
    """The choices for a platform, in JAX's name for it; an unknown one is taken for a GPU's like.

    >>> backend_of("tpu").accumulation.name
    'COMPARE'
    """
    if platform == "cpu":
        return NATIVE_CPU if native.is_available() else CPU
    return TPU if platform == "tpu" else GPU


FEW_ENTRIES = 2**15
"""With fewer entries most cells of a large piece of work would be empty."""


def for_entries(backend: Backend, num_entries: int) -> Backend:
    """The choices for so many entries: a CPU takes smaller pieces where there are few.

    >>> for_entries(CPU, 1000).small_nodes, for_entries(CPU, 10**6) == CPU
    (32, True)
    """
    if backend.accumulation not in (Accumulation.SCATTER, Accumulation.NATIVE) or num_entries >= FEW_ENTRIES:
        return backend
    scale = lambda size, least: max(least, size * num_entries // FEW_ENTRIES)  # noqa: E731
    return backend._replace(
        bytes_per_block=scale(backend.bytes_per_block, 2**13),
        bytes_per_table=scale(backend.bytes_per_table, 2**16),
        small_nodes=1 << (scale(backend.small_nodes, 2**5).bit_length() - 1),
    )
