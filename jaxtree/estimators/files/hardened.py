"""Hardened oblique trees in files."""

from typing import Any

import numpy as np
from jaxtyping import Shaped
from sklearn.base import is_classifier

from jaxtree.errors import ModelFileError
from jaxtree.estimators.files.learnt import join_columns, read_truth, split_learnt
from jaxtree.estimators.files.parameters import read_parameter, write_parameter
from jaxtree.estimators.files.registry import Kind, register
from jaxtree.estimators.files.soft import join_one_output
from jaxtree.estimators.files.soft_parts import join_inputs, split_inputs
from jaxtree.estimators.soft.hardened import HardTreeClassifier, HardTreeRegressor
from jaxtree.export.model_file import ModelFile
from jaxtree.export.tree_parts import node_links
from jaxtree.soft.inputs import Inputs
from jaxtree.soft.oblique import ObliqueTree

_TYPES = {
    "normal": np.float64,
    "offset": np.float64,
    "first_child": np.int32,
    "num_children": np.int32,
    "num_rows": np.int64,
    "weight": np.float64,
    "value": np.float64,
}
"""The arrays that are kept of a tree."""

_TABLES = ("normal", "value")


def split_hardened(estimator: Any) -> ModelFile:
    """Takes a hardened tree apart."""
    estimator._check()
    learnt, inputs = split_learnt(estimator), split_inputs(estimator.tree_.inputs)
    arrays = {f"tree.{name}": np.asarray(getattr(estimator.tree_, name), kind) for name, kind in _TYPES.items()}
    header = {
        **learnt.header,
        **inputs.header,
        "agreement": write_parameter("agreement_", estimator.agreement_),
    }
    return ModelFile(header, {**learnt.arrays, **inputs.arrays, **arrays})


def join_hardened(estimator: Any, parts: ModelFile) -> None:
    """Puts a hardened tree together."""
    join_columns(estimator, parts)
    agreement = read_parameter(parts.header.get("agreement"))
    if type(agreement) is not float:
        raise ModelFileError("how far it agrees with the soft tree is no number")
    estimator.agreement_ = agreement
    of_classes = is_classifier(estimator)
    num_classes = (join_one_output(estimator, parts),) if of_classes else ()
    estimator.tree_ = _join_tree(parts, join_inputs(parts, estimator.encoder_.schema_), num_classes)
    if not of_classes:
        estimator._is_vector = read_truth(parts.header, "is_vector")
        estimator.n_outputs_ = estimator.tree_.value.shape[1]
        if estimator._is_vector and estimator.n_outputs_ != 1:
            raise ModelFileError("it predicts several numbers, and says that it predicts one")


def _join_tree(parts: ModelFile, inputs: Inputs, num_classes: tuple[int, ...]) -> ObliqueTree:
    kept = {name: _array(parts, name) for name in _TYPES}
    size = len(kept["offset"])
    if not size or any(len(array) != size or array.ndim != 1 + (name in _TABLES) for name, array in kept.items()):
        raise ModelFileError("its arrays do not have one entry a node")
    num_outputs = kept["value"].shape[1]
    if kept["normal"].shape[1] != inputs.num_features or num_outputs != (sum(num_classes) or max(num_outputs, 1)):
        raise ModelFileError("its nodes do not have one weight a column, or one share a class")
    if not np.isin(kept["num_children"], (0, 2)).all():
        raise ModelFileError("a node has children, and not two")
    links = node_links(kept["first_child"], kept["num_children"], np.array([0, size]))
    return ObliqueTree(**kept, parent=links.parent, depth=links.depth, inputs=inputs, num_classes=num_classes)


def _array(parts: ModelFile, name: str) -> Shaped[np.ndarray, "node *column"]:
    array = parts.arrays.get(f"tree.{name}")
    if array is None or array.dtype != _TYPES[name] or not array.ndim:
        raise ModelFileError(f"array 'tree.{name}' is missing, or not of its type")
    if array.dtype == np.float64 and not np.isfinite(array).all():
        raise ModelFileError(f"array 'tree.{name}' has a value that is not finite")
    return array


for _estimator in (HardTreeClassifier, HardTreeRegressor):
    register(_estimator, Kind(split_hardened, join_hardened))
