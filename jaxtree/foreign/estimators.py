"""Models of other libraries as fitted estimators: by the records that model files have, and with their checks."""

import importlib
from typing import Any

import numpy as np
from jaxtyping import Float64, Int, Shaped

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
        table=table_of(schema, meaning, is_named=model.is_named, num_outputs=_num_outputs(meaning)),
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


def averaged(meaning: Meaning, table: FittedTable, forest: Forest, parameters: dict[str, Any]) -> Any:
    """Returns the estimator of a tree, or of a forest of trees whose predictions are averaged.

    Args:
        meaning: The class of the estimator.
        table: The columns and the classes.
        forest: The trees.
        parameters: Parameters that differ from the defaults.
    """
    arrays = TreeArrays.of(forest.nodes)
    known: dict[str, Any] = {"nodes": arrays, "first_node": np.asarray(forest.first_node, np.int64), "votes": None}
    if meaning.estimator.startswith("DecisionTree"):
        state: Any = TreeState(table, **known, pruning=None)
    else:
        state = ForestState(table, **known, pruning=None, key=NO_KEY, rows=None, oob_score=None, oob_outputs=())
    return restored(meaning.estimator, parameters, state)


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


def table_of(schema: Schema, meaning: Meaning, *, is_named: bool, num_outputs: int) -> FittedTable:
    """Returns what an estimator has learned of its table and target."""
    columns = tuple(schema.columns)
    words = [place for place, column in enumerate(columns) if column.kind == "categorical"]
    outputs = () if meaning.classes is None else (OutputClasses(meaning.classes, np.arange(len(meaning.classes))),)
    require(len(columns) > 0, "it has no columns")
    return FittedTable(
        columns=columns,
        options=Encoder(categorical_features=words),
        is_named=is_named,
        beside=(),
        max_features=None,
        num_outputs=num_outputs,
        outputs=outputs,
        is_vector=num_outputs == 1,
    )


def _num_outputs(meaning: Meaning) -> int:
    """Several scores of numbers are several outputs, but where one distribution has them."""
    loss: Any = meaning.loss
    of_one = meaning.classes is not None or loss.has_location
    return 1 if of_one else loss.num_scores
