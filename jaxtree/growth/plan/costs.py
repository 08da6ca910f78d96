"""Sizes of the pieces of work for each kind of device; they change how long a tree takes, never the tree.

The sizes of a CPU suit the caches of an AMD EPYC; the sizes of a GPU and a TPU are estimates.
"""

from typing import NamedTuple


class Costs(NamedTuple):
    """The sizes for one kind of device.

    Attributes:
        bytes_per_table: Bytes of a feature's table; those of a core's second-level cache.
        bytes_per_block: Bytes of the sums that are scored together; those of its first-level cache.
        cells_per_slot: The most cells of a slot, over a group of features, that are scored together; it also sets the
            size of chunks where no feature has a table.
        entries_per_block: Entries read together.
        entries_per_move: Entries sent to their children together, at most.
        nodes_at_a_time: Nodes of a level that are recorded together.
        few_entries: Up to this number, entries have so little work that XLA need not optimise it much.
    """

    bytes_per_table: int = 2**18
    bytes_per_block: int = 2**15
    cells_per_slot: int = 2**9
    entries_per_block: int = 2**12
    entries_per_move: int = 2**16
    nodes_at_a_time: int = 2**8
    few_entries: int = 2**15


CPU = Costs()

# 256 slots of two classes and 256 codes: the tables of 28 features take 15 MB, which an H200's cache holds.
GPU = CPU._replace(
    bytes_per_table=2**19, bytes_per_block=2**25, cells_per_slot=2**20, entries_per_block=2**20,
    entries_per_move=2**22, nodes_at_a_time=2**20,
)  # fmt: skip

TPU = CPU._replace(bytes_per_block=2**22, cells_per_slot=2**12, nodes_at_a_time=2**10)
