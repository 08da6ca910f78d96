"""The measured figures by which growth chooses among its ways; they change how long a tree takes, never the tree.

Nanoseconds are of one core of an AMD EPYC (JAX 0.10.2, 2026-11-23); growth uses only their ratios. Every other figure
was found by growing trees with several values of it. `python benchmarks/costs.py` measures the nanoseconds again, and
grows trees with any figure halved, as it is, and doubled. The figures of a GPU and a TPU are estimates: no growth has
been timed there.
"""

from typing import NamedTuple


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
            `jaxtree.growth.presorted`.
        most_entries_unsorted: Up to this number, entries are read faster than they are sorted.
        bytes_per_table: Bytes of a feature's table; those of a core's second-level cache.
        bytes_per_block: Bytes of the sums that are scored together; those of its first-level cache.
        cells_per_slot: The most cells of a slot, over a group of features, that are scored together; it also sets the
            size of chunks where no feature has a table.
        entries_per_block: Entries read together once they are sorted by slot.
        entries_per_move: Entries sent to their children together, at most.
        small_nodes: Small nodes scored together.
        nodes_at_a_time: Nodes of a level that are recorded together.
        few_entries: With fewer entries most cells of a large piece of work would be empty.
        side_by_side: Features whose histograms are made at the same time.
        entries_side_by_side: With fewer entries a second core saves less than a larger program costs to compile.
        parts: Parts of a *stretch* of entries; the cells of the parts are looked up independently. XLA divides a
            program among the cores of a CPU only where more than eight operations are ready to run (jaxlib 0.10). Four
            features times four parts are sixteen, and take a fifth to a third less time on two cores.
        least_entries_per_part: Smaller parts cost more to send to another core than they save.
        most_entries_per_part: Larger parts exceed the cache of a core.
        bytes_in_row_order: Bytes of a feature's sums at all nodes of a level, up to which the kernel in C++ reads
            entries in the order of the rows.
        most_bytes_in_row_order: The same of all features: the sums of a level are kept for the next.
        copies_of_sums: Copies of the first sums of a level's nodes, to which many threads would add at the same time.
        entries_for_copies: With fewer entries the threads wait for each other no longer than it takes to add copies.
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
    bytes_per_table: int = 2**18
    bytes_per_block: int = 2**16
    cells_per_slot: int = 2**9
    entries_per_block: int = 2**12
    entries_per_move: int = 2**16
    small_nodes: int = 2**8
    nodes_at_a_time: int = 2**10
    few_entries: int = 2**15
    side_by_side: int = 4
    entries_side_by_side: int = 2**15
    parts: int = 4
    least_entries_per_part: int = 2**13
    most_entries_per_part: int = 2**16
    bytes_in_row_order: int = 2**20
    most_bytes_in_row_order: int = 2**27
    copies_of_sums: int = 1
    entries_for_copies: int = 2**17


CPU = Costs()

# 256 slots of two classes and 256 codes: the tables of 28 features take 15 MB, which an H200's cache holds.
GPU = CPU._replace(
    bytes_per_table=2**19, bytes_per_block=2**25, cells_per_slot=2**20, entries_per_block=2**20,
    entries_per_move=2**22, small_nodes=2**14, copies_of_sums=2**8,
)  # fmt: skip

TPU = CPU._replace(bytes_per_block=2**22, cells_per_slot=2**12, small_nodes=2**10)


def for_few_entries(costs: Costs, num_entries: int) -> Costs:
    """The figures of a CPU for fewer entries than `few_entries`: smaller pieces of work.

    >>> for_few_entries(CPU, 1000).small_nodes
    32
    """
    scale = lambda size, least: max(least, size * num_entries // costs.few_entries)  # noqa: E731
    return costs._replace(
        bytes_per_block=scale(costs.bytes_per_block, 2**13),
        bytes_per_table=scale(costs.bytes_per_table, 2**16),
        small_nodes=1 << (scale(costs.small_nodes, 2**5).bit_length() - 1),
        nodes_at_a_time=2**6,
    )
