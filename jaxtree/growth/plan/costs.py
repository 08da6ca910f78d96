"""The measured figures by which growth chooses among its ways; they change how long a tree takes, never the tree.

Nanoseconds are of one core of an AMD EPYC (JAX 0.10.2, 2026-11-23); growth uses only their ratios. Every other figure
was found by growing trees with several values of it. `python benchmarks/costs.py` measures the nanoseconds again, and
grows trees with any figure halved, as it is, and doubled.

What products of matrices and scatters take elsewhere:

- NVIDIA H200 (JAX 0.11.2, 2026-11-28, `benchmarks/results/gpu-2026-11-28.md`): 17 to 31 ps for a number that XLA
  scatters to one of 128 or 8 nodes, 14 ps by Warp; of a product in bfloat16 of 64 to 256 rows and 7,168 codes
  7 * 10**-6 ns a multiplication, and 4.9 ns an entry for the matrices; 17 microseconds for a step of a loop that the
  host ends, 20 where it is part of a graph. The sizes of pieces are estimates.
- TPU v5e, **of which nothing was timed**: 197 * 10**12 operations a second in bfloat16, 819 * 10**9 bytes a second
  (Google Cloud's documentation). A scattered element is 8 cycles by the estimate that its compiler writes down, of
  0.67 ns: four units of 128 x 128.
- CPU: of products on two cores (8,192 entries, 8 features, JAX 0.10.2, 2026-11-24) a multiplication took 0.02 ns among
  many, and an element of the matrix of what is added, 4 bytes, 8 to 14 ns.
"""

from typing import NamedTuple

BYTES_OF_A_DIGIT = 2
"""Bytes of a number in bfloat16."""

ROWS_AT_A_TIME = 8
"""Rows of a matrix that are multiplied in the time of one."""

NEVER = 2**30
"""More codes than a feature has."""

MOST_OF_SCATTER = 0.75
"""The largest fraction of a scatter's time at which a product is used: in doubt a program has no second way."""


class Sums(NamedTuple):
    """The sums of a group of features.

    Attributes:
        num_slots: The number of nodes that there is room for.
        num_channels: The number of cells that a node has for a code.
        num_bins: The number of codes.
        num_features: The number of features that are summed together.
        num_values: The numbers that an entry adds.
        num_digits: Their digits to the base 256, each in a product of its own.
        num_entries: The number of entries.
        num_models: The number of models that share the codes of a row.
    """

    num_slots: int
    num_channels: int
    num_bins: int
    num_features: int
    num_values: int
    num_digits: int
    num_entries: int
    num_models: int


class Costs(NamedTuple):
    """The figures of one kind of device.

    Attributes:
        look: Nanoseconds to look up an entry's code and add the entry to a cell.
        look_own: The same where every node has features of its own.
        draw: Nanoseconds to read an entry for a drawn threshold: for the least code, the greatest, and the sums.
        score: Nanoseconds to score a cell of a histogram.
        score_pair: Nanoseconds to compare two codes of a feature that is split by subsets, for each channel.
        sort: Nanoseconds to sort an entry by slot.
        window: The most entries of a small node, whose codes are compared with each other: the work grows with their
            square.
        bins_for_small_nodes: Codes of a feature from which small nodes are scored so; a histogram of fewer costs no
            more.
        most_bins_tabled: Features of more codes are scanned: their histograms would be mostly empty, see
            `jaxtree.growth.splits.presorted`.
        most_entries_unsorted: Up to this number, entries are read faster than they are sorted.
        chunks_unsorted: Where a level may have at most so many chunks of nodes, entries are not sorted: a chunk reads
            all in about the time of a sort, and a TPU looks codes up only where entries are sorted.
        bytes_per_table: Bytes of a feature's table; those of a core's second-level cache.
        bytes_per_block: Bytes of the sums that are scored together; those of its first-level cache.
        cells_per_slot: The most cells of a slot, over a group of features, that are scored together; it also sets the
            size of chunks where no feature has a table.
        entries_per_block: Entries read together once they are sorted by slot.
        entries_per_move: Entries sent to their children together, at most.
        small_nodes: Small nodes scored together.
        nodes_at_a_time: Nodes of a level that are recorded together.
        few_entries: With fewer entries most cells of a large piece of work would be empty.
        bytes_in_row_order: Bytes of a feature's sums at all nodes of a level, up to which the kernel in C++ reads
            entries in the order of the rows.
        most_bytes_in_row_order: The same of all features: the sums of a level are kept for the next.
        copies_of_sums: Copies of the first sums of a level's nodes, to which many threads would add at the same time.
        entries_for_copies: With fewer entries the threads wait for each other no longer than it takes to add copies.
        wait: Nanoseconds that the host takes to read the condition of a loop or a branch.
        multiply_add: Nanoseconds to multiply two numbers in bfloat16 and to add the product, among many.
        byte: Nanoseconds to read or write a byte of memory, among many.
        scatter: Nanoseconds to add a number to a cell of a histogram, among many.
        bytes_per_product: Bytes of the two matrices that are multiplied at once.
        shifts_of_sizes: Products have room for the most nodes for which they pay, or for these halved so many times:
            every size is code of its own. Units of a TPU multiply 128 rows in the time of one.
    """

    look: float = 1.4
    look_own: float = 2.6
    draw: float = 11.4
    score: float = 3.2
    score_pair: float = 0.8
    sort: float = 65.0
    window: int = 16
    bins_for_small_nodes: int = 64
    most_bins_tabled: int = 256
    most_entries_unsorted: int = 2**13
    chunks_unsorted: int = 0
    bytes_per_table: int = 2**18
    bytes_per_block: int = 2**16
    cells_per_slot: int = 2**9
    entries_per_block: int = 2**12
    entries_per_move: int = 2**16
    small_nodes: int = 2**8
    nodes_at_a_time: int = 2**10
    few_entries: int = 2**15
    bytes_in_row_order: int = 2**20
    most_bytes_in_row_order: int = 2**27
    copies_of_sums: int = 1
    entries_for_copies: int = 2**17
    wait: float = 0.0
    multiply_add: float = 0.02
    byte: float = 2.0
    scatter: float = 1.4
    bytes_per_product: int = 2**22
    shifts_of_sizes: tuple[int, ...] = (0, 2, 4)

    def prefers_product(self, sums: Sums) -> bool:
        """Whether the sums are cheaper as products of matrices of zeros, ones and digits than as a scatter.

        One matrix has the codes of all features as zeros and ones, the same for all models, and the other a row for
        every model, node and channel. Both are written and read once for every digit, whose loop may wait for the host,
        as does the choice. A scatter adds every number of every model to a cell of each feature.

        Example:
            >>> root = Sums(
            ...     num_slots=1, num_channels=2, num_bins=256, num_features=28, num_values=2, num_digits=2,
            ...     num_entries=100_000, num_models=32,
            ... )
            >>> GPU.prefers_product(root), GPU.prefers_product(root._replace(num_slots=256))
            (True, False)
        """
        num_rows = max(sums.num_models * sums.num_slots * sums.num_channels, ROWS_AT_A_TIME)
        num_codes = sums.num_features * sums.num_bins
        moved = 2 * BYTES_OF_A_DIGIT * (num_rows + num_codes)
        product = sums.num_digits * (moved * self.byte + num_rows * num_codes * self.multiply_add)
        scatter = sums.num_models * sums.num_values * sums.num_features * self.scatter
        waits = (sums.num_digits + 2) * self.wait
        return sums.num_entries * product + waits < MOST_OF_SCATTER * sums.num_entries * scatter


CPU = Costs()

# 256 slots of two classes and 256 codes: the tables of 28 features take 15 MB, which an H200's cache holds.
GPU = CPU._replace(
    bytes_per_table=2**19, bytes_per_block=2**25, cells_per_slot=2**20, entries_per_block=2**20,
    entries_per_move=2**22, small_nodes=2**14, copies_of_sums=2**8, chunks_unsorted=2**3, nodes_at_a_time=2**20,
    wait=1.7e4, multiply_add=7e-6, byte=1.7e-4, scatter=0.03, bytes_per_product=2**28,
)  # fmt: skip

# Threads add in the memory of their processor.
GPU_WITH_WARP = GPU._replace(scatter=0.014)

TPU = CPU._replace(
    bytes_per_block=2**22, cells_per_slot=2**12, small_nodes=2**10, chunks_unsorted=2**4,
    multiply_add=2 / 197e3, byte=1 / 819, scatter=8 * 4 * 128 * 128 * 2 / 197e3, bytes_per_product=2**25,
    shifts_of_sizes=(0, 1),
)  # fmt: skip


def for_few_entries(costs: Costs, num_entries: int) -> Costs:
    """The figures of a CPU for fewer entries than `few_entries`: smaller pieces of work, and no small nodes.

    A program without small nodes compiles in half the time, and takes up to 1.4 times as long to grow a tree.

    >>> for_few_entries(CPU, 1000).bytes_per_table
    65536
    """
    scale = lambda size, least: max(least, size * num_entries // costs.few_entries)  # noqa: E731
    return costs._replace(
        bytes_per_block=scale(costs.bytes_per_block, 2**14),
        bytes_per_table=scale(costs.bytes_per_table, 2**16),
        bins_for_small_nodes=NEVER,
        nodes_at_a_time=2**6,
    )
