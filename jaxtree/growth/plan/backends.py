"""The static choices for each kind of device.

A CPU core is fastest on pieces that its cache holds. A GPU needs few, large pieces, because every piece costs a
launch. A TPU has no fast scatter; there a histogram is a product of two matrices of zeros and ones. Both multiply such
matrices fast, so that the levels near the root are products where that is cheaper (`jaxtree.growth.sums.products`);
how all others are summed says `Accumulation`.
"""

import enum
from typing import NamedTuple

from jaxtree.growth.plan import costs
from jaxtree.growth.plan.costs import Costs


class Accumulation(enum.IntEnum):
    """How the cells of histograms are summed.

    SCATTER: a few features at a time, by scatters of whole numbers.
    COPIES: all features in one scatter of whole numbers. A level of few nodes has few cells, to which many threads
        would add at the same time; the space of unused slots therefore holds copies of these cells, each for a part
        of the entries, which are added at the end.
    SHARED: all features in one kernel, see `jaxtree.growth.sums.warp_histogram`: many threads add in the memory of
        their processor, whose sums are added to the table.
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
        costs: The figures by which growth chooses among its ways.
        host_ends_loops: Whether the host reads the condition of every loop.
    """

    accumulation: Accumulation
    costs: Costs
    host_ends_loops: bool = False


CPU = Backend(Accumulation.SCATTER, costs.CPU)
GPU = Backend(Accumulation.COPIES, costs.GPU, host_ends_loops=True)
GPU_WITH_WARP = GPU._replace(accumulation=Accumulation.SHARED, costs=costs.GPU_WITH_WARP)
TPU = Backend(Accumulation.COMPARE, costs.TPU)


def for_entries(backend: Backend, num_entries: int) -> Backend:
    """The choices for a number of entries: for few of them a CPU uses smaller pieces, and a GPU no copies of sums.

    >>> for_entries(CPU, 1000).costs.bytes_per_table, for_entries(CPU, 10**6) == CPU
    (65536, True)
    """
    own = backend.costs
    if num_entries < own.entries_for_copies:
        own = own._replace(copies_of_sums=1)
    if backend.accumulation == Accumulation.SCATTER and num_entries < own.few_entries:
        own = costs.for_few_entries(own, num_entries)
    return backend._replace(costs=own)
