"""The trees of a forest made ready for prediction."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float64, Int64

from jaxtree.ensemble.blocks import rows_at_a_time
from jaxtree.ensemble.packing import Forest, join_trees
from jaxtree.ensemble.sharing import Sharing
from jaxtree.ensemble.walker import Walker
from jaxtree.tree import Tree


class PredictingForest:
    """The trees of a forest, ready for prediction.

    Args:
        trees: The trees, with thresholds in units of the values. A `Forest` is taken as it is; of other trees each has
            its root at node 0, and no padding.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [0.0, 1.0, 5.0]).tree_
        >>> forest, rows = PredictingForest([tree, tree]), np.array([[0.0], [9.0]])
        >>> forest.apply(rows).tolist(), tree.num_nodes.item()
        ([[3, 3], [2, 2]], 5)
        >>> forest.mean(rows, np.concatenate([tree.target_sum, 3 * tree.target_sum])).tolist()
        [[0.0], [10.0]]
    """

    def __init__(self, trees: Forest | Sequence[Tree]):
        forest = trees if isinstance(trees, Forest) else join_trees(trees)
        self._first_node = forest.first_node[:-1]
        self._walker = Walker(forest.nodes, self._first_node)
        self._sharing = Sharing(forest.nodes, self._walker)

    def apply(self, values: Float[np.ndarray, "row feature"]) -> Int64[np.ndarray, "row tree"]:
        """The node of every tree where the walk of every row ends, numbered within the tree.

        A row whose category has no branch ends at an inner node, and so does one whose value is missing where missing
        values are shared out.

        Args:
            values: The rows: numbers, or the codes of categories; NaN is a missing value.
        """
        return self._walker.ends_in_trees(values) - self._first_node

    def mean(
        self, values: Float[np.ndarray, "row feature"], of_node: Float[np.ndarray, "node column"]
    ) -> Float64[np.ndarray, "row column"]:
        """The mean over the trees of what each says of a row, with missing values shared out where a tree does so.

        Trees are added one after the other in float64, so that a row's mean does not depend on other rows, nor on the
        device. No array holds what all trees say of all rows.

        Args:
            values: The rows.
            of_node: What every node says, for the nodes of the first tree, then of the second, and so on.
        """
        if self._sharing.is_needed:
            total = self._shared_sum(values, of_node)
        else:
            total = self._walker.sum_over_trees(values, of_node)
        total /= self._walker.num_trees
        return total

    def _shared_sum(
        self, values: Float[np.ndarray, "row feature"], of_node: Float[np.ndarray, "node column"]
    ) -> Float64[np.ndarray, "row column"]:
        """The sum over trees, with rows shared out."""
        total = np.zeros((len(values), of_node.shape[1]))
        size = rows_at_a_time(self._walker.num_trees, values.shape[1])
        for first in range(0, len(values), size):
            block = slice(first, first + size)
            for end in self._walker.ends_in_trees(values[block]).T:
                total[block] += self._sharing.mean(values[block], end, of_node)
        return total
