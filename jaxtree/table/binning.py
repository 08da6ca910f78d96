r"""Numbers into bins.

Bin $b$ of a column holds the numbers $x$ with $e_{b-1} < x \le e_b$, where $e$ are the column's *edges*; numbers
outside the fitted range fall in the first or last bin. A column is *exact* if every distinct value has a bin of its
own. The code past the last bin means missing (NaN).

All numbers compare as float64, so that two numbers fall in one bin exactly if no edge lies between them. scikit-learn
casts its input to float32, and ONNX compares in float32: values that differ only past float32 are told apart here and
not there.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64, Int64

MAX_EXACT_ROWS = 50_000  # of a table that has a bin for every distinct value, if the number of bins is left open
NUM_BINS_OF_LONG_TABLE = 255  # past that; an uint8 holds as many codes, and one for missing


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of a numeric column.

    Attributes:
        low: The smallest value of every bin in the fitted table.
        high: The largest.
        edges: What separates a bin from the next; halfway between the one's `high` and the other's `low`, of the rows
            that edges were fitted on.
        exact: Whether every bin holds one distinct value.
    """

    low: Float64[np.ndarray, " bin"]
    high: Float64[np.ndarray, " bin"]
    edges: Float64[np.ndarray, " edge"]
    exact: bool

    def __post_init__(self):
        """Makes the arrays read-only: a schema is shared."""
        for array in (self.low, self.high, self.edges):
            array.setflags(write=False)

    @property
    def num_bins(self) -> int:
        """The number of bins, which is also the code of a missing value."""
        return len(self.low)

    def __eq__(self, other: object) -> bool:
        """Compares the numbers, not the arrays' identity."""
        return isinstance(other, Bins) and self._contents == other._contents

    def __hash__(self) -> int:
        """Hashes the numbers."""
        return hash(self._contents)

    @property
    def _contents(self) -> tuple:
        return self.exact, self.low.tobytes(), self.high.tobytes(), self.edges.tobytes()


def midpoint(
    below: Float64[np.ndarray, "*shape"], above: Float64[np.ndarray, "*shape"]
) -> Float64[np.ndarray, "*shape"]:
    """Returns the middle of `below <= above`, or `below` where rounding would bring it up to `above`.

    So `below <= midpoint < above` wherever the two differ, and nothing overflows.
    """
    middle = below / 2 + above / 2
    return np.where(middle < above, middle, below)


def comparison_dtype(dtype: np.dtype) -> np.dtype:
    """Returns float32 for numbers that it holds exactly, and float64 for all others."""
    return np.result_type(dtype, np.float32) if dtype.kind in "iuf" else np.dtype(np.float64)


def fit_bins(values: Float[np.ndarray, " row"], max_bins: int) -> Bins:
    """Fits the bins of a column: one a value, or if these are more than `max_bins`, with about equally many rows each.

    A value never straddles an edge, and no bin is empty.

    >>> fit_bins(np.array([3.0, 1.0, 2.0, 1.0, np.nan]), max_bins=3).edges
    array([1.5, 2.5])
    >>> fit_bins(np.array([3.0, 1.0, 2.0, 1.0, np.nan]), max_bins=2).edges
    array([1.5])
    """
    ordered = np.sort(values)  # NaN comes last
    ordered = ordered[: len(ordered) - np.count_nonzero(np.isnan(ordered))]
    exact = bool(np.count_nonzero(ordered[1:] != ordered[:-1]) < max_bins)
    first = _first_row_of_values(ordered) if exact else _first_row_of_bins(ordered, max_bins)
    last = np.append(first[1:], len(ordered))[: len(first)] - 1
    low, high = (ordered[at].astype(np.float64) + 0.0 for at in (first, last))  # + 0.0 turns -0.0 into 0.0
    return Bins(low, high, midpoint(high[:-1], low[1:]), exact)


def _first_row_of_values(ordered: Float[np.ndarray, " row"]) -> Int64[np.ndarray, " value"]:
    is_new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return np.flatnonzero(is_new)


def _first_row_of_bins(ordered: Float[np.ndarray, " row"], max_bins: int) -> Int64[np.ndarray, " bin"]:
    """Returns which of the ordered numbers, of which there are more than bins, begin a bin."""
    share = len(ordered) / max_bins
    if not (ordered[int(share) :] == ordered[: len(ordered) - int(share)]).any():
        return _first_row_of_equal_bins(ordered, share * np.arange(1, max_bins))
    first = _first_row_of_values(ordered)
    return first[_first_value_of_bins(np.diff(first, append=len(ordered)), max_bins)]


def _first_row_of_equal_bins(
    ordered: Float[np.ndarray, " row"], cuts: Float64[np.ndarray, " cut"]
) -> Int64[np.ndarray, " bin"]:
    """Does what `_first_value_of_bins` does where no value fills a bin: a cut is moved to the nearer end of its value.

    Args:
        ordered: The numbers.
        cuts: Where bins would begin if every number were another.
    """
    value = ordered[cuts.astype(np.int64)]
    start, stop = (np.searchsorted(ordered, value, side) for side in ("left", "right"))
    first = np.where((start + stop) / 2 >= cuts, start, stop)
    return np.unique(np.append(first[first < len(ordered)], 0))


def _first_value_of_bins(count: Int64[np.ndarray, " value"], max_bins: int) -> Int64[np.ndarray, " bin"]:
    """Returns which of the distinct values begin a bin.

    A value that fills a bin by itself counts as one bin and no more, so that the others share the rest.
    """
    share = _share_of_bin(count, max_bins)
    middle = np.cumsum(np.minimum(count, share))
    middle -= np.minimum(count, share) / 2
    cuts = np.searchsorted(middle, share * np.arange(1, max_bins))
    return np.unique(np.append(cuts[cuts < len(count)], 0))


def _share_of_bin(count: Int64[np.ndarray, " value"], max_bins: int) -> float:
    r"""Returns the share $s$ of a bin for which $\sum_v \min(n_v, s) = s B$, for counts $n_v$ and $B$ bins."""
    share, num_heavy = float(count.sum() / max_bins), 0
    while np.count_nonzero(count > share) != num_heavy:
        is_heavy = count > share
        num_heavy = np.count_nonzero(is_heavy)
        share = float(count[~is_heavy].sum() / (max_bins - num_heavy))
    return share


def round_down_to_float32(edges: Float64[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Rounds towards minus infinity, so that `x <= edge` has the same answer as before for every float32 `x`."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = edges.astype(np.float32)
        return np.where(rounded > edges, np.nextafter(rounded, np.float32(-np.inf)), rounded)
