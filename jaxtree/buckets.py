"""Sizes rounded up to buckets, so that data of a like size share one compiled program.

Rows are padded with weight 0, features with features of no codes, classes and bins with empty ones,
and nodes with leaves that nobody reaches.
"""


def row_bucket(num_rows: int) -> int:
    """Rows rounded up to a quarter of a power of two, 2048 at least."""
    return _round_up(num_rows, 2048)


def feature_bucket(num_features: int) -> int:
    """Features rounded up to a multiple of 8; the padding costs nothing but its codes."""
    return -(-num_features // 8) * 8


def feature_round(num_drawn: int) -> int:
    """Features that nodes draw, rounded up to a quarter of a power of two."""
    return _round_up(num_drawn, 4) if num_drawn > 4 else max(num_drawn, 1)


def bin_bucket(num_bins: int) -> int:
    """Codes rounded up to 2, 8, 32, 256, 1024, 4096, 16384 or 65536."""
    return next(size for size in (2, 8, 32, 256, 1024, 4096, 16384, 65536) if num_bins <= size)


def class_bucket(num_classes: int) -> int:
    """Classes rounded up to a power of two, 2 at least."""
    return max(2, 1 << (num_classes - 1).bit_length())


def node_bucket(num_nodes: int) -> int:
    """Nodes rounded up to a power of two, 128 at least."""
    return max(128, 1 << (num_nodes - 1).bit_length())


def capacity_bucket(num_nodes: int) -> int:
    """Capacity of a table rounded up to a power of two, 4096 at least."""
    return max(4096, 1 << (num_nodes - 1).bit_length())


def _round_up(size: int, least: int) -> int:
    """Rounds up to a quarter of a power of two."""
    if size <= least:
        return least
    step = 1 << ((size - 1).bit_length() - 3)
    return -(-size // step) * step
