"""What the parameters "auto" of soft estimators mean: numbers that follow from the rows of a table."""

import math

BITS_A_LEAF = 32
"""So many bits of the target a leaf sees at least, in the mean, of a tree that is deeper than `LEAST_DEPTH`."""
LEAST_DEPTH = 3
NUM_STEPS = 2500
"""How many steps of the optimiser a training makes where it sees the rows at least `LEAST_EPOCHS` times."""
LEAST_EPOCHS = 10


def auto_depth(num_rows: int, num_classes: int, largest: int) -> int:
    r"""Returns how deep a tree of so many rows is.

    A row tells $\log_2 k$ bits of one of k classes: the more classes there are, the more leaves tell them apart.

    Args:
        num_rows: The rows that it is trained on.
        num_classes: The number of classes; 2 for numbers.
        largest: The most: every level doubles the time of a step.

    Example:
        >>> [auto_depth(num_rows, 2, 10) for num_rows in (100, 1000, 10_000, 1_000_000)]
        [3, 4, 8, 10]
        >>> auto_depth(10_000, 26, 10)
        10
    """
    num_leaves = num_rows * max(math.log2(num_classes), 1.0) / BITS_A_LEAF
    return min(max(int(num_leaves).bit_length() - 1, LEAST_DEPTH), largest)


def auto_epochs(num_rows: int, batch_size: int) -> int:
    """Returns how often so many rows are seen: small tables often, so that there are steps enough.

    Example:
        >>> [auto_epochs(num_rows, 256) for num_rows in (100, 1000, 10_000, 1_000_000)]
        [2500, 625, 63, 10]
    """
    steps_an_epoch = -(-num_rows // batch_size)
    return max(-(-NUM_STEPS // steps_an_epoch), LEAST_EPOCHS)


def auto_noise(num_rows: int) -> float:
    r"""Returns $n^{-1/5}$ of n rows: the rate at which a kernel's best width falls (Silverman, 1986).

    Example:
        >>> [round(auto_noise(num_rows), 2) for num_rows in (100, 1000, 10_000, 1_000_000)]
        [0.4, 0.25, 0.16, 0.06]
    """
    return num_rows**-0.2
