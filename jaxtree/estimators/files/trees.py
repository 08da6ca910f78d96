"""Single trees in files."""

from typing import Any

import numpy as np
from jaxtyping import Float64

from jaxtree.errors import ModelFileError
from jaxtree.estimators.c45 import C45Classifier
from jaxtree.estimators.files.learnt import join_learnt, join_pruning, split_learnt
from jaxtree.estimators.files.registry import Kind, register
from jaxtree.estimators.id3 import ID3Classifier
from jaxtree.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
from jaxtree.export.model_file import ModelFile
from jaxtree.export.tree_parts import join_trees, split_trees

SAID = "said"
"""The array of what a vote of prunings says at every node."""


def split_tree(estimator: Any) -> ModelFile:
    """Takes a fitted tree apart."""
    learnt = split_learnt(estimator)
    nodes = split_trees(estimator.tree_, np.array([0, estimator.tree_.node_count]))
    said = {} if estimator._said is None else {SAID: np.asarray(estimator._said, np.float64)}
    return ModelFile(learnt.header, {**learnt.arrays, **nodes.arrays, **said})


def join_tree(estimator: Any, parts: ModelFile) -> None:
    """Puts a tree together."""
    num_classes = join_learnt(estimator, parts)
    join_pruning(estimator, parts)
    tree, first_node = join_trees(parts, estimator.schema_, num_classes)
    if first_node.size != 2:
        raise ModelFileError("it has several trees, and the estimator has one")
    set_outputs(estimator, tree)
    estimator._settle(tree, read_said(estimator, parts, len(tree.feature), sum(num_classes) or estimator.n_outputs_))


def set_outputs(estimator: Any, nodes: Any) -> None:
    """Gives an estimator of numbers the number of its outputs."""
    if not nodes.num_classes:
        estimator.n_outputs_ = nodes.target_sum.shape[1]
        if estimator._is_vector and estimator.n_outputs_ > 1:
            raise ModelFileError("it predicts several numbers, and says that it predicts one")


def read_said(
    estimator: Any, parts: ModelFile, num_nodes: int, num_columns: int
) -> Float64[np.ndarray, "node column"] | None:
    """What nodes say where the pruning is a vote."""
    votes = estimator.pruning is not None and estimator.pruning.votes
    said = parts.arrays.get(SAID)
    if votes != (said is not None):
        raise ModelFileError("it has votes of prunings that do not vote, or lacks those of such that do")
    if said is None:
        return None
    if said.dtype != np.float64 or said.shape != (num_nodes, num_columns) or not np.isfinite(said).all():
        raise ModelFileError("its votes are not one number a node and class")
    return said


for _estimator in (DecisionTreeClassifier, DecisionTreeRegressor, C45Classifier, ID3Classifier):
    register(_estimator, Kind(split_tree, join_tree))
