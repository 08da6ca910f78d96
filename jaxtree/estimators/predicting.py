"""A fitted tree made ready for prediction."""

import numpy as np
from jaxtyping import Float, Int

from jaxtree.ensemble.sharing import Sharing, Visits
from jaxtree.ensemble.walker import Walker
from jaxtree.tree import Tree


class PredictingTree:
    """A tree with its root at node 0, ready for prediction.

    Args:
        tree: The tree, with thresholds in units of the values.

    Attributes:
        is_shared: The nodes whose rows are shared out because a value is missing. A row whose value has no branch stays
            at other nodes.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [0.0, 1.0, 5.0]).tree_
        >>> predicting, rows = PredictingTree(tree), np.array([[0.0], [9.0]])
        >>> end = predicting.apply(rows)
        >>> end.tolist(), predicting.mean(rows, end, tree.target_sum).tolist()
        ([3, 2], [[0.0], [5.0]])
    """

    def __init__(self, tree: Tree):
        self._walker = Walker(tree, np.zeros(1, np.int32))
        self._sharing = Sharing(tree, self._walker)
        self.is_shared = self._sharing.is_shared

    def apply(
        self, values: Float[np.ndarray, "row feature"], start: Int[np.ndarray, " row"] | None = None
    ) -> Int[np.ndarray, " row"]:
        """The node where the walk of every row ends.

        Args:
            values: The rows: numbers, or the codes of categories; NaN is a missing value.
            start: Where each begins; at the root if not given.
        """
        return self._walker.ends(values, start)

    def mean(
        self,
        values: Float[np.ndarray, "row feature"],
        end: Int[np.ndarray, " row"],
        of_node: Float[np.ndarray, "node column"],
    ) -> Float[np.ndarray, "row column"]:
        """What nodes say, for the rows that end at `end`; rows that a missing value holds up are shared out."""
        return self._sharing.mean(values, end, of_node)

    def held_up(self, end: Int[np.ndarray, " row"]) -> Int[np.ndarray, " held"]:
        """The rows to be shared out, of those that end at `end`."""
        return self._sharing.held_up(end)

    def share_out(self, values: Float[np.ndarray, "row feature"], end: Int[np.ndarray, " row"]) -> Visits:
        """The leaves where the parts of rows end that a missing value holds up at `end`."""
        return self._sharing.share_out(values, end)
