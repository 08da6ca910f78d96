"""Records of boosted trees in files."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from jaxtree.boosting.ending import HeldOutChoice, Measured
from jaxtree.boosting.folds import Folds
from jaxtree.errors import InvalidInputError
from jaxtree.files.losses import AbsentLoss
from jaxtree.files.records import check, require, require_finite
from jaxtree.files.trees import FittedTable, TreeArrays
from jaxtree.losses.curves import EventTimes
from jaxtree.losses.loss import BaseLoss, Loss, identity
from jaxtree.table.schema import Schema
from jaxtree.tree.forest import Forest, with_all_scores, with_own_scores


@dataclasses.dataclass(frozen=True, eq=False)
class BoostedState:
    """All that boosting learns in fit.

    Attributes:
        table: The columns and the target.
        nodes: The nodes of the trees; means of their targets are steps of scores, or of the one score that a tree
            changes where a round has one for each.
        first_node: Where every tree begins, and the number of nodes at the end.
        start: The scores before the first tree.
        measured: The measurements after every round.
        trees_per_round: How many trees a round has.
        loss: The loss, a `BaseLoss`.
        survival: The event times and hazards of a fit of survival times; None of other losses.
        folds: The folds of a model that is the mean of several; None of any other.
        held_out: The rows that the last fit has held out of its own; None if none.
        weights: The shares of the models whose mean it is, which add up to 1; None of one fit.
    """

    table: FittedTable
    nodes: TreeArrays
    first_node: Int64[np.ndarray, " boundary"]
    start: Float64[np.ndarray, " score"]
    measured: Measured
    trees_per_round: int
    loss: Any
    survival: EventTimes | None
    folds: Folds | None
    held_out: HeldOutChoice | None
    weights: Float64[np.ndarray, " model"] | None

    @classmethod
    def of(
        cls,
        table: FittedTable,
        rounds: tuple[Any, ...],
        loss: BaseLoss,
        *,
        survival: EventTimes | None,
        folds: Folds | None,
        held_out: HeldOutChoice | None = None,
        weights: Float64[np.ndarray, " model"] | None = None,
    ) -> "BoostedState":
        """Takes the kept part of a fit, whose rounds are trees, the start, what was measured, and trees a round."""
        forest, start, measured, trees_per_round, *_ = rounds
        forest = forest if trees_per_round == 1 else with_own_scores(forest)
        first_node, start = np.asarray(forest.first_node, np.int64), np.asarray(start, np.float64)
        nodes = TreeArrays.of(forest.nodes)
        return cls(table, nodes, first_node, start, measured, trees_per_round, loss, survival, folds, held_out, weights)

    def forest(self, schema: Schema) -> Forest:
        """Returns the trees; raises ModelFileError if they are not those of such a table and loss."""
        num_scores, of_all = self.start.size, self.trees_per_round == 1
        fits = (self.nodes.count.shape[1], self.nodes.target_sum.shape[1]) == (0, num_scores if of_all else 1)
        require(fits and num_scores, "its nodes do not have one step a score")
        forest = self.nodes.forest(self.first_node, schema, num_classes=())
        return forest if of_all else with_all_scores(forest, num_scores)


def with_loss(state: Any, estimator: Any, loss: Any) -> Any:
    """Returns a state from a file with the loss that the user gives again, which the estimator gets as well.

    Raises:
        InvalidInputError: The file has all of its loss, or the loss has another number of scores.
    """
    parameters = estimator.get_params(deep=False)
    lacking = {name: value for name, value in parameters.items() if isinstance(value, AbsentLoss)}
    own = getattr(state, "loss", None)
    absent = next((one for one in (own, *lacking.values()) if isinstance(one, AbsentLoss)), None)
    if absent is None:
        raise InvalidInputError("loss is for models of a loss of the user's own, and this file has none")
    made = _checked(loss, absent)
    estimator.set_params(**dict.fromkeys(lacking, loss))
    return dataclasses.replace(state, loss=made) if own is absent else state


def _checked(loss: Any, absent: AbsentLoss) -> BaseLoss:
    """Returns the loss, with the link that it had in fit; raises InvalidInputError unless it can be the absent one."""
    made = loss
    if callable(loss):
        from jaxtree.losses.names import loss_of  # with which most losses are loaded

        made = loss_of(loss, {}, absent.num_scores)
    if not isinstance(made, BaseLoss) or made.num_scores != absent.num_scores:
        raise InvalidInputError(
            f"loss must be the loss {absent.name!r}, a Loss of {absent.num_scores} scores or its function, got {loss!r}"
        )
    if isinstance(made, Loss) and made.link is identity and absent.link is not identity and absent.has_link:
        return dataclasses.replace(made, link=absent.link)  # that of classes has followed from their number
    return made


def require_times_of_loss(survival: EventTimes | None, loss: BaseLoss) -> None:
    """Raises ModelFileError if times of events have been learned with another loss."""
    if survival is not None:
        from jaxtree.losses.cox import Cox  # few models are of times
        from jaxtree.losses.survival import FailureTime

        kind = Cox if survival.log_hazard is not None else FailureTime
        require(isinstance(loss, kind), "its times of events are not those of its loss")


@check.register
def _(state: BoostedState) -> None:
    require_finite(state, "start")
    require(isinstance(state.loss, BaseLoss), "its loss is none")
    require(state.loss.num_scores == state.start.size, "its loss has another number of scores")
    of_round = state.trees_per_round
    fits = of_round in (1, state.start.size) and (len(state.first_node) - 1) % of_round == 0
    require(fits, "its trees are no whole rounds")
    require_times_of_loss(state.survival, state.loss)
    if state.folds is not None:
        folds = state.folds
        fits = len(folds.fold_of_tree) == len(state.first_node) - 1 and folds.start.shape[1] == state.start.size
        require(fits, "its folds are not those of its trees")
    if state.weights is not None:
        require_finite(state, "weights")
        fits = (state.weights > 0).all() and abs(state.weights.sum() - 1) < 1e-9 and state.folds is None
        require(fits, "the weights of the models whose mean it is do not add up to 1")


@check.register
def _(known: EventTimes) -> None:
    require_finite(known, "times")
    require((np.diff(known.times) > 0).all(), "its times of events do not ascend")
    if known.log_hazard is not None:
        require_finite(known, "log_hazard")
        require((np.diff(known.log_hazard) >= 0).all(), "its hazards do not ascend")


@check.register
def _(folds: Folds) -> None:
    number, num_held = len(folds), len(folds.row)
    require_finite(folds, "start", "residual", "weight")
    require(number > 0 and np.isin(folds.fold_of_tree, np.arange(number)).all(), "it has trees of no fold")
    fits = len(folds.first) == number + 1 and folds.first[0] == 0 and folds.first[-1] == num_held
    require(fits and (np.diff(folds.first) > 0).all(), "its folds do not divide the rows that they hold out")
    require(len(folds.residual) in (0, num_held), "it does not have a residual of every row that was held out")
    fits = len(folds.weight) in (0, num_held) and (folds.weight > 0).all()
    require(fits, "it does not have a weight above 0 of every row that was held out")
    require(((folds.row >= 0) & (folds.row < len(folds.predictions))).all(), "it holds out rows that are not there")
    require(len(folds.num_measured) == number, "it does not have the rounds of every fold")


@check.register
def _(measured: Measured) -> None:
    require(measured.values.shape[1] == len(measured.measures), "what was measured is not what its columns are")
