"""Records of forests of moment equations in files: their trees with sums of statistics, and the rows of their fit."""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int32, Int64

from jaxtree.files.records import check, require
from jaxtree.files.trees import FittedTable, OutputClasses, RandomKey, TreeArrays
from jaxtree.growth.inputs.moments import LinearMoments
from jaxtree.table.schema import Schema
from jaxtree.tree.forest import Forest

MOST_VARIABLES = 1000
"""Treatments, or outcomes, of a moment in a file at most."""


class MomentKind(NamedTuple):
    """The fields of `LinearMoments`."""

    num_arms: int
    has_instruments: bool
    is_stabilised: bool
    num_outcomes: int

    @classmethod
    def of(cls, moments: LinearMoments) -> "MomentKind":
        """The fields of a moment."""
        return cls(moments.num_arms, moments.has_instruments, moments.is_stabilised, moments.num_outcomes)

    @property
    def moments(self) -> LinearMoments:
        """The moment."""
        return LinearMoments(*self)


@dataclasses.dataclass(frozen=True, eq=False)
class MomentTrees:
    """The trees of a forest of a linear moment.

    Attributes:
        kind: The moment.
        nodes: The nodes, with sums of statistics.
        first_node: Where every tree begins, and the number of nodes at the end.
        key: The key of what trees draw.
    """

    kind: MomentKind
    nodes: TreeArrays
    first_node: Int64[np.ndarray, " boundary"]
    key: RandomKey

    @classmethod
    def of(cls, moments: LinearMoments, forest: Forest, key: RandomKey) -> "MomentTrees":
        """The trees of a fitted forest."""
        return cls(MomentKind.of(moments), TreeArrays.of(forest.nodes), np.asarray(forest.first_node, np.int64), key)

    def forest(self, schema: Schema) -> Forest:
        """Returns the trees; raises ModelFileError if they are not those of trees on such features."""
        return self.nodes.forest(self.first_node, schema, num_classes=())


class FittedRows(NamedTuple):
    """The rows of a fit, as averages of effects need them.

    Attributes:
        y: The outcomes.
        treatment: The treatments: arms as 0 and 1, or numbers.
        instrument: The instruments; the treatments where there are none.
        y_hat: The outcomes expected of rows alone.
        treatment_hat: The treatments expected of rows alone.
        instrument_hat: The instruments expected of rows alone.
        effect: The effects out of bag.
        std: Their standard errors; without bags NaN.
        compliance: The local effects of the first instrument on its treatment; 1 without instruments.
        weight: The weights; all 1 if there are none.
        group: The groups; each row for itself if there are none.
    """

    y: Float64[np.ndarray, " row"]
    treatment: Float64[np.ndarray, "arm row"]
    instrument: Float64[np.ndarray, "arm row"]
    y_hat: Float64[np.ndarray, " row"]
    treatment_hat: Float64[np.ndarray, "arm row"]
    instrument_hat: Float64[np.ndarray, "arm row"]
    effect: Float64[np.ndarray, "row arm"]
    std: Float64[np.ndarray, "row arm"]
    compliance: Float64[np.ndarray, " row"]
    weight: Float64[np.ndarray, " row"]
    group: Int32[np.ndarray, " row"]


@dataclasses.dataclass(frozen=True, eq=False)
class EffectState:
    """All that a forest of treatment effects learns in fit.

    Attributes:
        table: The columns and the target.
        trees: The trees.
        classes: The names of the arms, the control first; None of numbers.
        training: The rows of the fit.
    """

    table: FittedTable
    trees: MomentTrees
    classes: OutputClasses | None
    training: FittedRows


@check.register
def _(kind: MomentKind) -> None:
    numbers = kind.num_arms, kind.num_outcomes
    is_possible = 0 <= kind.num_arms < MOST_VARIABLES and 1 <= kind.num_outcomes < MOST_VARIABLES
    require(is_possible and not (kind.num_arms and kind.num_outcomes > 1), f"no moment has {numbers} variables")


@check.register
def _(trees: MomentTrees) -> None:
    nodes, number = trees.nodes, trees.kind.moments.num_outputs
    require(nodes.count.shape[1] == 0, "its nodes have classes, and moments have none")
    require(nodes.target_sum.shape[1] == number, f"its nodes do not have the {number} sums of the moment")


@check.register
def _(rows: FittedRows) -> None:
    for name in ("y", "treatment", "instrument", "y_hat", "treatment_hat", "instrument_hat", "weight"):
        require(np.isfinite(getattr(rows, name)).all(), f"{name} has a value that is not finite")
    require((rows.weight > 0).all(), "a row of the fit has no weight")


@check.register
def _(state: EffectState) -> None:
    arms, classes = state.trees.kind.num_arms, state.classes
    require(arms >= 1 and len(state.training.treatment) == arms, "it has effects of other treatments than its rows")
    require(classes is None or len(classes.names) == arms + 1, "its arms are not those of its effects")
    require(state.table.num_outputs == 1 and not state.table.outputs, "its outcome is none")
