"""Soft trees and soft forests in files.

The state of the optimiser is not kept: after loading, `partial_fit` goes on from the parameters with a new one.
"""

from typing import Any

import numpy as np
from jaxtyping import Float64
from sklearn.base import is_classifier

from jaxtree.errors import ModelFileError
from jaxtree.estimators.files.keys import read_key, write_key
from jaxtree.estimators.files.learnt import join_columns, read_classes, read_truth, split_learnt
from jaxtree.estimators.files.parameters import read_parameter, write_parameter
from jaxtree.estimators.files.registry import Kind, register
from jaxtree.estimators.files.soft_parts import join_inputs, join_model, split_inputs, split_model
from jaxtree.estimators.soft.forests import SoftForestClassifier, SoftForestRegressor
from jaxtree.estimators.soft.models import OfOneForest
from jaxtree.estimators.soft.trees import SoftTreeClassifier, SoftTreeRegressor
from jaxtree.export.model_file import ModelFile

_MEAN, _DEVIATION = "target.mean", "target.deviation"
_CURVES = ("loss", "validation_loss")


def split_soft(estimator: Any) -> ModelFile:
    """Takes a fitted soft estimator apart."""
    learnt, inputs, model = split_learnt(estimator), split_inputs(estimator.inputs_), split_model(estimator.model_)
    header = {
        **learnt.header,
        **inputs.header,
        **model.header,
        "key": write_key(estimator._key),
        "history": write_parameter("history_", estimator.history_),
        "best_epoch": int(estimator.best_epoch_),
    }
    arrays = {**learnt.arrays, **inputs.arrays, **model.arrays}
    if not is_classifier(estimator):
        arrays |= {_MEAN: np.asarray(estimator._mean), _DEVIATION: np.asarray(estimator._deviation)}
    return ModelFile(header, arrays)


def join_soft(estimator: Any, parts: ModelFile) -> None:
    """Puts a soft estimator together."""
    join_columns(estimator, parts)
    estimator.inputs_ = join_inputs(parts, estimator.schema_)
    num_outputs = join_one_output(estimator, parts) if is_classifier(estimator) else _join_numbers(estimator, parts)
    is_forest = isinstance(estimator, OfOneForest)
    estimator.model_ = join_model(parts, estimator.inputs_, num_outputs, is_forest=is_forest)
    if is_forest and (estimator.mixture == "learned") != (estimator.model_.mixing is not None):
        raise ModelFileError("its trees are mixed in another way than its parameters say")
    estimator._key = read_key(parts.header.get("key"))
    _join_history(estimator, parts.header)


def join_one_output(estimator: Any, parts: ModelFile) -> int:
    """Gives a classifier of one output its classes; returns their number."""
    names = read_classes(parts.header).names
    if len(names) != 1:
        raise ModelFileError("it has several outputs, and its estimator has one")
    estimator.classes_, estimator.n_classes_ = names[0], len(names[0])
    return estimator.n_classes_


def _join_numbers(estimator: Any, parts: ModelFile) -> int:
    """Gives a regressor the units of its target; returns the number of outputs."""
    estimator._is_vector = read_truth(parts.header, "is_vector")
    estimator._mean, estimator._deviation = _unit(parts, _MEAN), _unit(parts, _DEVIATION)
    estimator.n_outputs_ = len(estimator._mean)
    if len(estimator._deviation) != estimator.n_outputs_ or (estimator._deviation <= 0).any():
        raise ModelFileError(f"array {_DEVIATION!r} is not one positive number an output")
    if estimator._is_vector and estimator.n_outputs_ != 1:
        raise ModelFileError("it predicts several numbers, and says that it predicts one")
    return estimator.n_outputs_


def _unit(parts: ModelFile, name: str) -> Float64[np.ndarray, " output"]:
    array = parts.arrays.get(name)
    if array is None or array.dtype != np.float64 or array.ndim != 1 or not np.isfinite(array).all():
        raise ModelFileError(f"array {name!r} is missing, or not one number an output")
    return array.copy()


def _join_history(estimator: Any, header: dict[str, Any]) -> None:
    """Gives an estimator the losses of its epochs."""
    history, best = read_parameter(header.get("history")), header.get("best_epoch")
    if not isinstance(history, dict) or not set(history) <= set(_CURVES) or "loss" not in history:
        raise ModelFileError("the history of its training is none")
    if not all(isinstance(curve, list) and all(type(loss) is float for loss in curve) for curve in history.values()):
        raise ModelFileError("the history of its training is none")
    if type(best) is not int or not 0 <= best < 2**31:
        raise ModelFileError("the epoch that was kept is none")
    estimator.history_, estimator.best_epoch_ = history, best


for _estimator in (SoftTreeClassifier, SoftTreeRegressor, SoftForestClassifier, SoftForestRegressor):
    register(_estimator, Kind(split_soft, join_soft))
