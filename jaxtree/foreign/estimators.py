"""Models of other libraries as fitted estimators: by the records that model files have, and with their checks."""

import importlib
from typing import Any

import numpy as np
from jaxtyping import Shaped

from jaxtree.boosting.ending import Measured
from jaxtree.errors import JaxtreeError, ModelFileError
from jaxtree.estimators.boosting.parameters import ONE_OUTPUT
from jaxtree.files.boosting import BoostedState
from jaxtree.files.predictions import check_predictions
from jaxtree.files.records import check, require
from jaxtree.files.trees import FittedTable, ForestState, OutputClasses, RandomKey, TreeArrays, TreeState
from jaxtree.foreign.planes import ForeignModel, Meaning
from jaxtree.foreign.tables import forest_of
from jaxtree.table.encoder import Encoder
from jaxtree.table.schema import Schema
from jaxtree.tree.forest import Forest

NO_KEY = RandomKey("threefry2x32", np.zeros(2, np.uint32))
"""The key of a forest whose draws are not known."""


def boosted(model: ForeignModel) -> Any:
    """Returns the estimator of trees that add up.

    Raises:
        ModelFileError: The model is damaged, or is none that jaxtree can have.
    """
    forest, schema = forest_of(model)
    rounds, meaning = len(forest) // model.trees_per_round, model.meaning
    loss: Any = meaning.loss
    state = BoostedState(
        table=table_of(schema, meaning, is_named=model.is_named),
        nodes=TreeArrays.of(forest.nodes),
        first_node=np.asarray(forest.first_node, np.int64),
        start=model.start,
        measured=Measured((), np.zeros((rounds, 0))),
        trees_per_round=model.trees_per_round,
        loss=loss,
        survival=None,
        folds=None,
        held_out=None,
        weights=None,
    )
    parameters = {"n_estimators": rounds, **meaning.parameters}
    if model.trees_per_round > 1:
        parameters["multi_strategy"] = ONE_OUTPUT
    return restored(meaning.estimator, parameters, state)


def averaged(meaning: Meaning, schema: Schema, forest: Forest, *, is_named: bool) -> Any:
    """Returns the estimator of a tree, or of a forest of trees whose predictions are averaged.

    Args:
        meaning: The class of the estimator.
        schema: The columns.
        forest: The trees.
        is_named: Whether the columns have names of their own.
    """
    arrays, table = TreeArrays.of(forest.nodes), table_of(schema, meaning, is_named=is_named)
    known: dict[str, Any] = {"nodes": arrays, "first_node": np.asarray(forest.first_node, np.int64), "votes": None}
    if meaning.estimator.startswith("DecisionTree"):
        state: Any = TreeState(table, **known, pruning=None)
    else:
        state = ForestState(table, **known, pruning=None, key=NO_KEY, rows=None, oob_score=None, oob_outputs=())
    return restored(meaning.estimator, dict(meaning.parameters), state)


def restored(name: str, parameters: dict[str, Any], state: Any) -> Any:
    """Returns an estimator that has learned a state, after the checks that model files are read with."""
    estimator = getattr(importlib.import_module("jaxtree"), name)(**parameters)
    for record in (*state.table.columns, *(column.bins for column in state.table.columns), *state.table.outputs):
        if record is not None:
            check(record)
    for record in (state.table, state.nodes, state):
        check(record)
    try:
        estimator.restore(state)
    except ModelFileError:
        raise
    except JaxtreeError as error:
        raise ModelFileError(str(error)) from None
    check_predictions(estimator)
    return estimator


def table_of(schema: Schema, meaning: Meaning, *, is_named: bool) -> FittedTable:
    """Returns what an estimator has learned of its table and target."""
    columns = tuple(schema.columns)
    require(len(columns) > 0, "it has no columns")
    words = [place for place, column in enumerate(columns) if column.kind == "categorical"]
    outputs = [OutputClasses(as_classes(names), np.arange(len(names))) for names in meaning.classes]
    return FittedTable(
        columns=columns,
        options=Encoder(categorical_features=words),
        is_named=is_named,
        beside=(),
        max_features=None,
        num_outputs=meaning.num_outputs,
        outputs=tuple(outputs),
        is_vector=meaning.num_outputs == 1,
    )


def as_classes(names: Any) -> Shaped[np.ndarray, " class"]:
    """Returns classes in an array of numbers, of truth values or of strings, as files have them."""
    array = np.asarray(names)
    array = np.asarray(array.tolist()) if array.dtype == object else array
    require(array.dtype.kind in "biufU", f"its classes are no numbers and no strings, but {array.dtype}")
    return array
