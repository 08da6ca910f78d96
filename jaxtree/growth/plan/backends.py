"""The static choices for each kind of device.

A CPU core is fastest on pieces that its cache holds. A GPU needs few, large pieces, because every piece costs a
launch. A TPU has no fast scatter; there a histogram is a product of two matrices of zeros and ones.
"""

import enum
from typing import NamedTuple

from jaxtree.growth.plan import costs
from jaxtree.growth.plan.costs import Costs


class Accumulation(enum.IntEnum):
    """How the cells of histograms are summed.

    SCATTER: by scatters of whole numbers.
    SHARED: all features in one kernel, see `jaxtree.growth.device.warp_histogram`: many threads add in the memory of
        their processor, whose sums are added to the table.
    COMPARE: by comparing the cell and code of every entry with all possible ones, as a product of matrices.
    """

    SCATTER = 0
    COMPARE = 1
    SHARED = 2


class Backend(NamedTuple):
    """The static choices for one kind of device.

    Attributes:
        accumulation: How cells are summed.
        costs: The sizes of pieces of work.
        loop_conditions_on_host: Whether the host reads the condition of every loop.
    """

    accumulation: Accumulation
    costs: Costs
    loop_conditions_on_host: bool = False


CPU = Backend(Accumulation.SCATTER, costs.CPU)
GPU = Backend(Accumulation.SCATTER, costs.GPU, loop_conditions_on_host=True)
GPU_WITH_WARP = GPU._replace(accumulation=Accumulation.SHARED)
TPU = Backend(Accumulation.COMPARE, costs.TPU)
