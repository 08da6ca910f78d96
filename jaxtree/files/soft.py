"""Records of soft estimators and hardened trees in files.

The state of the optimiser is not kept: after loading, `partial_fit` goes on from the parameters with a new one.
"""

import dataclasses
import functools
from typing import Any

import jax
import numpy as np
from jaxtyping import Float64, Int32, Int64

from jaxtree.files.boosting import require_times_of_loss
from jaxtree.files.records import check, require, require_finite
from jaxtree.files.trees import FittedTable, RandomKey, TreeArrays, node_links
from jaxtree.losses.curves import EventTimes
from jaxtree.losses.loss import BaseLoss
from jaxtree.soft.forest import LeafWeights, Mixing, SoftForest, TreeWeights, init_forest
from jaxtree.soft.form import SoftForm
from jaxtree.soft.inputs import Inputs, width_of
from jaxtree.soft.model import SoftTree, init
from jaxtree.soft.oblique_tree import ObliqueTree
from jaxtree.soft.scales import Quantile, Standard
from jaxtree.soft.statistics import Statistics
from jaxtree.table.schema import Schema
from jaxtree.tree.forest import Forest

MOST_LEVELS = 16
"""The most levels of a soft tree."""
NAMES_OF_MIXING = {type(None): "mean", Mixing: "learned", TreeWeights: "by_tree", LeafWeights: "by_leaf"}
"""How trees are mixed, by the type of what has their weights."""
MOST_TREES = 2**20
MOST_PARAMETER = 1e15
"""The most trees, and the greatest parameter, of a soft model: no sum over its columns and trees leaves 32 bits."""


@dataclasses.dataclass(frozen=True, eq=False)
class InputsState:
    """The part of `Inputs` that files keep: all except the schema.

    Attributes:
        scales: The scale of every feature, or the statistics of its categories; None for those that are one-hot.
        with_indicator: The features that have an indicator.
    """

    scales: tuple[Standard | Quantile | Statistics | None, ...]
    with_indicator: Int64[np.ndarray, " indicator"]

    @classmethod
    def of(cls, inputs: Inputs) -> "InputsState":
        """Takes the kept part of inputs."""
        return cls(inputs.scales, np.asarray(inputs.with_indicator, np.int64))

    def inputs(self, schema: Schema) -> Inputs:
        """Returns the inputs of values of a schema; raises ModelFileError if they are for other values."""
        is_category = [scale is None or isinstance(scale, Statistics) for scale in self.scales]
        require(is_category == schema.is_categorical.tolist(), "a feature has a scale that is not for its kind")
        sizes = schema.num_values.tolist()
        for scale, size in zip(self.scales, sizes, strict=True):
            fits = not isinstance(scale, Statistics) or len(scale.value) == size
            require(fits, "a feature has statistics, and not one a category")
        indicated = self.with_indicator
        in_order = (np.diff(indicated) > 0).all() and (indicated >= 0).all() and (indicated < len(self.scales)).all()
        require(in_order, "it has indicators of features that there are not")
        widths = np.array([width_of(*pair) for pair in zip(self.scales, sizes, strict=True)])
        return Inputs(schema, self.scales, np.cumsum(widths) - widths, indicated)


@dataclasses.dataclass(frozen=True, eq=False)
class SoftState:
    """All that a soft estimator learns in fit.

    Attributes:
        table: The columns and the target.
        inputs: How rows are made of values.
        model: The parameters.
        key: The key of further training.
        history: The losses of all epochs, by their names.
        best_epoch: The epoch that was kept.
        start: The scores of a model whose outputs are 0; no numbers for classes.
        unit: The addition of an output of 1 to each.
        loss: The loss of one target, a `BaseLoss`; None for classes.
        survival: The event times and hazards of a fit of survival times; None of other losses.
    """

    table: FittedTable
    inputs: InputsState
    model: SoftTree | SoftForest
    key: RandomKey
    history: dict[str, list[float]]
    best_epoch: int
    start: Float64[np.ndarray, " score"]
    unit: Float64[np.ndarray, " score"]
    loss: Any
    survival: EventTimes | None

    def model_of(self, inputs: Inputs) -> SoftTree | SoftForest:
        """Returns the model; raises ModelFileError unless it is one of such inputs, and of the table's outputs."""
        model, form = self.model, form_of(self.model)
        require(form.depth <= MOST_LEVELS, f"its model has a depth of more than {MOST_LEVELS}")
        num_outputs = sum(self.table.num_classes) or len(self.start)
        fits = form.num_outputs == num_outputs
        require(fits, f"its model has {form.num_outputs} outputs, and its estimator {num_outputs}")
        fits = (form.num_features, form.missing) == (inputs.num_features, inputs.missing)
        require(fits, "its model is not one of its inputs")
        num_trees = len(model.trees.leaf.value) if isinstance(model, SoftForest) else None
        require(num_trees is None or 1 <= num_trees <= MOST_TREES, "its number of trees is none")
        wanted = _shapes(form, num_trees, name_of_mixture(model) or "")
        arrays, shapes = jax.tree.leaves(model), jax.tree.leaves(wanted)
        fits = jax.tree.structure(model) == jax.tree.structure(wanted)
        fits = fits and all(array.shape == shape.shape for array, shape in zip(arrays, shapes, strict=True))
        require(fits, "its arrays are not of the type and shape that its model has")
        for array in arrays:
            is_number = array.dtype.kind == "f" and (np.abs(array) <= MOST_PARAMETER).all()
            require(is_number, f"an array of its model has NaN, or what is beyond {MOST_PARAMETER:g}")
        return model


@dataclasses.dataclass(frozen=True, eq=False)
class PlaneArrays:
    """The arrays of the nodes of an `ObliqueTree` that files keep."""

    normal: Float64[np.ndarray, "node column"]
    offset: Float64[np.ndarray, " node"]
    first_child: Int32[np.ndarray, " node"]
    num_children: Int32[np.ndarray, " node"]
    num_rows: Int64[np.ndarray, " node"]
    weight: Float64[np.ndarray, " node"]
    value: Float64[np.ndarray, "node output"]


@dataclasses.dataclass(frozen=True, eq=False)
class HardState:
    """A hardened oblique tree.

    Attributes:
        table: The columns and the target of the soft tree.
        inputs: How rows are made of values.
        nodes: The nodes.
        agreement: How far it predicts what the soft tree does.
    """

    table: FittedTable
    inputs: InputsState
    nodes: PlaneArrays
    agreement: float

    @classmethod
    def of(cls, table: FittedTable, tree: ObliqueTree, agreement: float) -> "HardState":
        """Takes the kept part of a tree."""
        integers = {"first_child": np.int32, "num_children": np.int32, "num_rows": np.int64}
        names = [field.name for field in dataclasses.fields(PlaneArrays)]
        nodes = {name: np.asarray(getattr(tree, name), integers.get(name, np.float64)) for name in names}
        return cls(table, InputsState.of(tree.inputs), PlaneArrays(**nodes), agreement)

    def tree(self, schema: Schema) -> ObliqueTree:
        """Returns the tree of values of a schema; raises ModelFileError if it is for other values."""
        inputs, num_classes = self.inputs.inputs(schema), self.table.num_classes
        normal, value = self.nodes.normal, self.nodes.value
        fits = normal.shape[1] == inputs.num_features and value.shape[1] == (sum(num_classes) or self.table.num_outputs)
        require(fits, "its nodes do not have one weight a column, or one share a class")
        one_tree = np.array([0, len(value)])
        parent, depth, _ = node_links(self.nodes.first_child, self.nodes.num_children, one_tree)
        return ObliqueTree(**vars(self.nodes), parent=parent, depth=depth, inputs=inputs, num_classes=num_classes)


@dataclasses.dataclass(frozen=True, eq=False)
class HardForestState:
    """A hardened forest whose leaves have weights.

    Attributes:
        table: The columns and the target of the soft forest.
        nodes: The nodes of the trees; means of their targets are scores times weights and, last, weights.
        first_node: Where every tree begins, and the number of nodes at the end.
        loss: The loss, which predicts from scores, a `BaseLoss`.
        agreement: How far it predicts what the soft forest does.
    """

    table: FittedTable
    nodes: TreeArrays
    first_node: Int64[np.ndarray, " boundary"]
    loss: Any
    agreement: float

    def forest(self, schema: Schema) -> Forest:
        """Returns the trees; raises ModelFileError if they are not those of such a table and loss."""
        fits = (self.nodes.count.shape[1], self.nodes.target_sum.shape[1]) == (0, self.loss.num_scores + 1)
        require(fits, "its nodes do not have one number a score, and a weight")
        return self.nodes.forest(self.first_node, schema, num_classes=())


def form_of(model: SoftTree | SoftForest) -> SoftForm:
    """The form of a model, or of its trees."""
    return model.trees.form if isinstance(model, SoftForest) else model.form


def name_of_mixture(model: SoftTree | SoftForest) -> str | None:
    """How the trees of a forest are mixed; None of a single tree."""
    if not isinstance(model, SoftForest):
        return None
    return NAMES_OF_MIXING[type(model.mixing)]


@functools.lru_cache(maxsize=16)
def _shapes(form: SoftForm, num_trees: int | None, mixture: str) -> SoftTree | SoftForest:
    """A model of such a form, with shapes in the place of its arrays."""
    if num_trees is None:
        return jax.eval_shape(lambda: init(form, key=jax.random.key(0)))
    return jax.eval_shape(lambda: init_forest(form, num_trees=num_trees, mixture=mixture, key=jax.random.key(0)))


@check.register
def _(state: SoftState) -> None:
    outputs = state.table.outputs
    require(len(outputs) <= 1, "it has several outputs, and its estimator has one")
    require_finite(state, "start", "unit")
    fits = len(state.start) == len(state.unit) and (state.unit > 0).all()
    require(fits, "unit is not one positive number a score")
    if not outputs:
        require(isinstance(state.loss, BaseLoss), "its loss is none")
        fits = len(state.start) in (state.loss.num_scores, state.table.num_outputs)
        require(fits, "its loss has another number of scores")
        require_times_of_loss(state.survival, state.loss)
    names = set(state.history)
    require({"loss"} <= names <= {"loss", "validation_loss"}, "the history of its training is none")
    require(0 <= state.best_epoch < 2**31, "the epoch that was kept is none")


@check.register
def _(state: HardForestState) -> None:
    require(isinstance(state.loss, BaseLoss), "its loss is none")
    sums, weight = state.nodes.target_sum, state.nodes.weight
    require(sums.shape[1] and (sums[:, -1] > 0).all(), "a node has a weight in the mean that is not above 0")
    require((weight > 0).all(), "a node counts no rows")


@check.register
def _(scale: Standard) -> None:
    is_scale = np.isfinite(scale).all() and scale.deviation > 0
    require(is_scale, "it has a scale whose deviation is not positive, or not finite")


@check.register
def _(scale: Quantile) -> None:
    require_finite(scale, "value", "share")
    ascends = (np.diff(scale.value) > 0).all() and (np.diff(scale.share) > 0).all()
    fits = ascends and scale.share.size and scale.share[0] > 0 and scale.share[-1] < 1
    require(fits, "it has a scale of quantiles that do not ascend")


@check.register
def _(scale: Statistics) -> None:
    require_finite(scale, "value", "mean", "unit")
    fits = scale.value.shape[1] == scale.mean.size == scale.unit.size > 0 and (scale.unit > 0).all()
    require(fits, "it has statistics of categories without a mean and a positive unit for each")


@check.register
def _(nodes: PlaneArrays) -> None:
    require_finite(nodes, "normal", "offset", "weight", "value")
    require(np.isin(nodes.num_children, (0, 2)).all(), "a node has children, and not two")
