"""Records of boosted trees in files."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from jaxtree.boosting.loss import BaseLoss
from jaxtree.boosting.measured import Measured
from jaxtree.errors import InvalidInputError
from jaxtree.files.losses import AbsentLoss
from jaxtree.files.records import check, require, require_finite
from jaxtree.files.trees import FittedTable, TreeArrays
from jaxtree.table.schema import Schema
from jaxtree.tree.forest import Forest


@dataclasses.dataclass(frozen=True, eq=False)
class BoostedState:
    """All that boosting learns in fit.

    Attributes:
        table: The columns and the target.
        nodes: The nodes of the trees; means of their targets are steps of scores.
        first_node: Where every tree begins, and the number of nodes at the end.
        start: The scores before the first tree.
        measured: What was measured after every round.
        loss: The loss, a `BaseLoss`.
    """

    table: FittedTable
    nodes: TreeArrays
    first_node: Int64[np.ndarray, " boundary"]
    start: Float64[np.ndarray, " score"]
    measured: Measured
    loss: Any

    @classmethod
    def of(cls, table: FittedTable, forest: Forest, start: Any, measured: Measured, loss: BaseLoss) -> "BoostedState":
        """Takes the kept part of a fit."""
        first_node, start = np.asarray(forest.first_node, np.int64), np.asarray(start, np.float64)
        return cls(table, TreeArrays.of(forest.nodes), first_node, start, measured, loss)

    def forest(self, schema: Schema) -> Forest:
        """Returns the trees; raises ModelFileError if they are not those of such a table and loss."""
        num_scores = self.start.size
        fits = (self.nodes.count.shape[1], self.nodes.target_sum.shape[1]) == (0, num_scores)
        require(fits and num_scores, "its nodes do not have one step a score")
        return self.nodes.forest(self.first_node, schema, num_classes=())


def with_loss(state: Any, estimator: Any, loss: Any) -> Any:
    """Returns a state from a file with the loss that the user gives again, which the estimator gets as well.

    Raises:
        InvalidInputError: The file has all of its loss, or the loss has another number of scores.
    """
    absent = getattr(state, "loss", None)
    if not isinstance(absent, AbsentLoss):
        raise InvalidInputError("loss is for boosted trees of a loss of the user's own, and this file has none")
    if not isinstance(loss, BaseLoss) or loss.num_scores != absent.num_scores:
        raise InvalidInputError(
            f"loss must be the loss {absent.name!r}, a Loss of {absent.num_scores} scores, got {loss!r}"
        )
    parameters = estimator.get_params(deep=False)
    estimator.set_params(**{name: loss for name, value in parameters.items() if isinstance(value, AbsentLoss)})
    return dataclasses.replace(state, loss=loss)


@check.register
def _(state: BoostedState) -> None:
    require_finite(state, "start")
    require(isinstance(state.loss, BaseLoss), "its loss is none")
    require(state.loss.num_scores == state.start.size, "its loss has another number of scores")


@check.register
def _(measured: Measured) -> None:
    require(measured.values.shape[1] == len(measured.measures), "what was measured is not what its columns are")
