"""Trees and forests that are served: leaves have shares of classes, or means."""

from typing import Any

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.errors import ModelFileError
from jaxtree.files.predictions import check_model
from jaxtree.files.records import require
from jaxtree.files.trees import FittedTable, ForestState, TreeState
from jaxtree.serving.answers import AnswersOfClasses, AnswersOfNumbers
from jaxtree.serving.models import Parameters, ServedModel
from jaxtree.tree.forest import Forest
from jaxtree.tree.model import FittedModel
from jaxtree.tree.nodes import cheapest_class, declared_majority, laplace_shares, node_means


class ServedTrees(ServedModel):
    """A tree or a forest, whose leaves have shares of classes, or means."""

    def predict_values(self, values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row column"]:
        """Returns shares of classes, the outputs side by side, or means, of rows that `encoder_.values` has encoded."""
        return self._model.predict(values)


class ServedClassifier(AnswersOfClasses, ServedTrees):
    """A tree or a forest of classes."""

    _of_classes = True


class ServedRegressor(AnswersOfNumbers, ServedTrees):
    """A tree or a forest of numbers."""


def serve_tree(name: str, state: TreeState, parameters: Parameters) -> ServedModel:
    """Returns the model of a tree."""
    table, schema = state.table, state.table.encoder().schema_
    tree = state.forest(schema, votes=state.votes is not None).nodes
    names, orders = _classes_of(table)
    label = declared_majority(tree, orders) if orders else None
    cost = parameters.read("cost_matrix") if name == "OptimalTreeClassifier" else None
    if cost is not None:
        label = cheapest_class(tree, _cost_matrix(cost, sum(table.num_classes)))
    corrects = name == "C45Classifier" and parameters.read("laplace") is True
    value = laplace_shares(tree) if corrects else node_means(tree)
    model = FittedModel(schema, Forest.of(tree), value, label, names, orders)
    return _served(name, table, model if state.votes is None else model.with_votes(state.votes), parameters)


def serve_forest(name: str, state: ForestState, parameters: Parameters) -> ServedModel:
    """Returns the model of a forest."""
    schema, is_vote = state.table.encoder().schema_, state.votes is not None
    forest = state.forest(schema, votes=is_vote)
    value = node_means(forest.nodes) if state.votes is None else state.votes
    classes = _classes_of(state.table)
    model = FittedModel(schema, forest, value, None, *classes, averages_trees=True, is_vote=is_vote)
    return _served(name, state.table, model, parameters)


def _served(name: str, table: FittedTable, model: FittedModel, parameters: Parameters) -> ServedModel:
    check_model(model)
    kind = ServedClassifier if name.endswith(("Classifier", "PolicyTree")) else ServedRegressor
    return kind(name, table, model, parameters.num_jobs)


def _classes_of(table: FittedTable) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Returns the classes of every output, and the order that decides between equal ones."""
    return tuple(own.names for own in table.outputs), tuple(own.order for own in table.outputs)


def _cost_matrix(given: list, size: int) -> Float64[np.ndarray, "label prediction"]:
    """Returns the costs of errors; raises ModelFileError if they are none of so many classes."""
    try:
        cost = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ModelFileError("its costs of errors are no numbers") from None
    require(cost.shape == (size, size), f"its costs of errors are not those of {size} classes")
    require((np.isfinite(cost) & (cost >= 0)).all(), "its costs of errors are no numbers of at least 0")
    return cost
