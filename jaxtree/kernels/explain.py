"""Shapley values by the kernel in C++; see native/src/explain/."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int32, UInt32

from jaxtree.cores import num_cores
from jaxtree.kernels.choose import Attributes, call_kernel

WORK_OF_A_THREAD = 2**17
"""Numbers, of rows at splits, that are worth a thread of their own."""

_NO_ATTRIBUTES = Attributes({})


class KernelTrees(NamedTuple):
    """Trees of binary splits, as the kernel reads them.

    Attributes:
        wholes: The column, question, subset, both children and the edge above of the same column of every split.
        reals: The limit, the greatest value with a branch, the parts for the answers no and yes and for a missing
            value, the share, and the presence above of every split.
        node_value: The values of nodes.
        words: The words of subsets.
        of_trees: The root, the number of points, the first output and the one after the last of every tree.
        rules: The points and the weights of the rules of 1, 2, ... points, one behind the other.
    """

    wholes: Int32[np.ndarray, "6 split"]
    reals: Float64[np.ndarray, "7 split"]
    node_value: Float64[np.ndarray, "node output"]
    words: UInt32[np.ndarray, "subset word"]
    of_trees: Int32[np.ndarray, "tree 4"]
    rules: Float64[np.ndarray, "2 point"]

    def sums(
        self,
        values: Float64[np.ndarray, "row feature"],
        others: Float64[np.ndarray, "other feature"],
        *,
        of_pairs: bool,
    ) -> Float64[np.ndarray, "row *column output"]:
        """Returns the sums over the trees of the Shapley values of rows, or of pairs of columns.

        Args:
            values: The rows.
            others: Rows to compare with each of these, and to sum over; none for the training rows.
            of_pairs: Whether pairs of columns are explained.
        """
        num_rows, num_features = values.shape
        columns = (num_features, num_features) if of_pairs else (num_features,)
        work = num_rows * self.wholes.shape[1] * max(1, len(others))
        return call_kernel(
            "jaxtree_explain", [((num_rows, *columns, self.node_value.shape[1]), np.float64)], (values, others, *self),
            _NO_ATTRIBUTES, num_threads=num_cores() if work > WORK_OF_A_THREAD else 1,
        )[0]  # fmt: skip
