"""Forests in files."""

from typing import Any

import numpy as np

from jaxtree.ensemble.packing import Forest
from jaxtree.ensemble.walking import PredictingForest
from jaxtree.errors import ModelFileError
from jaxtree.estimators.files.keys import read_key, write_key
from jaxtree.estimators.files.learnt import join_learnt, split_learnt
from jaxtree.estimators.files.parameters import read_parameter, write_parameter
from jaxtree.estimators.files.registry import Kind, register
from jaxtree.estimators.files.trees import SAID, read_said, set_outputs
from jaxtree.estimators.forests.base import OUT_OF_BAG
from jaxtree.estimators.forests.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from jaxtree.estimators.forests.members import Members
from jaxtree.estimators.forests.random_forests import RandomForestClassifier, RandomForestRegressor
from jaxtree.export.model_file import ModelFile
from jaxtree.export.tree_parts import join_trees, split_trees

_OUTPUTS = tuple(name for name in OUT_OF_BAG if name != "oob_score_")


def split_forest(estimator: Any) -> ModelFile:
    """Takes a fitted forest apart."""
    learnt = split_learnt(estimator)
    forest = estimator.forest_
    header = {
        **learnt.header,
        "key": write_key(estimator._key),
        "oob_score": write_parameter("oob_score_", getattr(estimator, "oob_score_", None)),
        "oob_outputs": {},
    }
    arrays = {**learnt.arrays, **split_trees(forest.nodes, forest.first_node).arrays}
    if estimator.pruning is not None and estimator.pruning.votes:
        arrays[SAID] = np.concatenate([np.asarray(tree._said, np.float64) for tree in estimator.estimators_])
    for name in _OUTPUTS:
        if hasattr(estimator, name):
            outputs = getattr(estimator, name)
            outputs = outputs if isinstance(outputs, list) else [outputs]
            header["oob_outputs"][name] = len(outputs)
            arrays |= {f"{name}.{number}": output for number, output in enumerate(outputs)}
    return ModelFile(header, arrays)


def join_forest(estimator: Any, parts: ModelFile) -> None:
    """Puts a forest together."""
    blank = estimator._blank_tree()
    num_classes = join_learnt(blank, parts)
    nodes, first_node = join_trees(parts, blank.encoder_.schema_, num_classes)
    set_outputs(blank, nodes)
    said = read_said(estimator, parts, len(nodes.feature), sum(num_classes) or blank.n_outputs_)
    estimator._learn_from(blank)
    estimator._key = read_key(parts.header.get("key"))
    estimator.forest_ = Forest(nodes, first_node)
    estimator._predicting = PredictingForest(estimator.forest_)
    estimator._members = Members(estimator.forest_, blank, estimator.pruning, estimator._key, said)
    _join_out_of_bag(estimator, parts)


def _join_out_of_bag(estimator: Any, parts: ModelFile) -> None:
    """Gives a forest the score of its out-of-bag rows, and what was predicted of them."""
    score, outputs = read_parameter(parts.header.get("oob_score")), parts.header.get("oob_outputs")
    if score is not None:
        estimator.oob_score_ = score
    if not isinstance(outputs, dict) or not set(outputs) <= set(_OUTPUTS):
        raise ModelFileError("its out-of-bag predictions are none")
    for name, number in outputs.items():
        arrays = [array for key, array in sorted(parts.arrays.items()) if key.startswith(f"{name}.")]
        if type(number) is not int or number != len(arrays) or number < 1:
            raise ModelFileError("its out-of-bag predictions are none")
        arrays = [parts.arrays.get(f"{name}.{place}") for place in range(number)]
        if not all(array is not None and array.dtype == np.float64 and array.ndim in (1, 2, 3) for array in arrays):
            raise ModelFileError("its out-of-bag predictions are none")
        setattr(estimator, name, arrays[0] if number == 1 else arrays)


for _estimator in (
    *(RandomForestClassifier, RandomForestRegressor),
    *(ExtraTreesClassifier, ExtraTreesRegressor),
):
    register(_estimator, Kind(split_forest, join_forest))
