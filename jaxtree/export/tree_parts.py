"""Trees as arrays, and back: everything is looked at that a walk relies on.

Parents, depths and roots are not kept: they follow from the children.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Int32, Int64, Shaped

from jaxtree.errors import ModelFileError
from jaxtree.export.model_file import ModelFile
from jaxtree.table.schema import Schema
from jaxtree.tree import CODES_PER_WORD, SplitKind, Tree

_INT = ("int32",)
_WEIGHT = ("int32", "int64", "float32", "float64")
_TYPES = {
    "feature": _INT,
    "code": _INT,
    "next_code": _INT,
    "threshold": ("float64",),
    "split_kind": _INT,
    "subset": ("uint32",),
    "missing_code": _INT,
    "missing_branch": _INT,
    "first_child": _INT,
    "num_children": _INT,
    "weight": _WEIGHT,
    "count": _WEIGHT,
    "target_sum": ("float64",),
    "num_rows": _INT,
    "impurity": ("float64",),
    "gain": ("float64",),
}
"""The arrays that are kept of a tree, and the types that they may have."""

_TABLES = ("subset", "count", "target_sum")

_Array = Shaped[np.ndarray, "..."]


class Links(NamedTuple):
    """What follows from the children of the nodes."""

    parent: Int32[np.ndarray, " node"]
    depth: Int32[np.ndarray, " node"]
    root: Int32[np.ndarray, " node"]


def split_trees(nodes: Tree, first_node: Int[np.ndarray, " boundary"]) -> ModelFile:
    """Returns the arrays of trees that stand one after another in a table of nodes.

    Args:
        nodes: The table, without padding.
        first_node: Where every tree begins, and the number of nodes at the end.
    """
    arrays = {f"tree.{name}": np.asarray(getattr(nodes, name)) for name in _TYPES}
    for name, array in arrays.items():
        assert array.dtype.name in _TYPES[name.removeprefix("tree.")], (name, array.dtype)
    return ModelFile({}, {**arrays, "tree.first_node": np.asarray(first_node, np.int64)})


def join_trees(
    parts: ModelFile, schema: Schema, num_classes: tuple[int, ...]
) -> tuple[Tree, Int64[np.ndarray, " boundary"]]:
    """Returns the table whose arrays these are, and where its trees begin.

    Args:
        parts: The content of a file of unknown origin.
        schema: The features that the trees split on.
        num_classes: The number of classes of every output; empty for numbers.

    Raises:
        ModelFileError: They are not those of trees on such features.
    """
    kept = {name: _array(parts, name) for name in _TYPES}
    first_node = parts.arrays.get("tree.first_node")
    size = len(kept["feature"])
    if first_node is None or first_node.dtype != np.int64 or first_node.ndim != 1:
        raise ModelFileError("array 'tree.first_node' is missing, or not of its type")
    if first_node.size < 2 or first_node[0] != 0 or first_node[-1] != size or (np.diff(first_node) < 1).any():
        raise ModelFileError("array 'tree.first_node' does not say where trees begin")
    if any(len(array) != size or array.ndim != 1 + (name in _TABLES) for name, array in kept.items()):
        raise ModelFileError("its arrays do not have one entry a node")
    num_columns = sum(num_classes), 0 if num_classes else kept["target_sum"].shape[1]
    if (kept["count"].shape[1], kept["target_sum"].shape[1]) != num_columns or sum(num_columns) == 0:
        raise ModelFileError("its nodes do not have one weight a class, or one sum an output")
    links = node_links(kept["first_child"], kept["num_children"], first_node)
    tree = Tree(
        **kept,
        **links._asdict(),
        num_nodes=np.array(size, np.int32),
        num_classes=num_classes,
        num_features=schema.num_features,
    )
    _check_statistics(tree)
    _check_splits(tree, schema)
    return tree, first_node


def _array(parts: ModelFile, name: str) -> _Array:
    array = parts.arrays.get(f"tree.{name}")
    if array is None or array.dtype.name not in _TYPES[name] or not array.ndim:
        raise ModelFileError(f"array 'tree.{name}' is missing, or not of its type")
    return array


def node_links(
    first_child: Int32[np.ndarray, " node"],
    num_children: Int32[np.ndarray, " node"],
    first_node: Int64[np.ndarray, " boundary"],
) -> Links:
    """Returns parents, depths and roots; raises ModelFileError unless all but roots have one parent, before them."""
    size, number = first_child.size, np.arange(first_child.size)
    split = np.flatnonzero(num_children)
    first, children = first_child[split].astype(np.int64), num_children[split].astype(np.int64)
    end_of_tree = np.repeat(first_node[1:], np.diff(first_node))
    if (num_children < 0).any() or (first <= split).any() or (first + children > end_of_tree[split]).any():
        raise ModelFileError("a node has children that are not behind it, or not in its tree")
    if children.sum() != size - (first_node.size - 1):
        raise ModelFileError("its nodes are not those of trees: some have no parent, or several")
    before = np.cumsum(children) - children
    child = np.repeat(first - before, children) + np.arange(children.sum())
    parent = number.copy()
    parent[child] = np.repeat(split, children)
    is_child = np.zeros(size, bool)
    is_child[child] = True
    if np.count_nonzero(is_child) != child.size or is_child[first_node[:-1]].any():
        raise ModelFileError("its nodes are not those of trees: some have no parent, or several")
    above, depth = parent, (parent != number).astype(np.int64)
    while (above[above] != above).any():
        depth, above = depth + depth[above], above[above]
    return Links(parent.astype(np.int32), depth.astype(np.int32), above.astype(np.int32))


def _check_statistics(tree: Tree) -> None:
    """Raises ModelFileError if weights, rows or gains are none."""
    for name in ("weight", "count", "num_rows"):
        array = getattr(tree, name)
        if (array < 0).any() or not np.isfinite(array).all():
            raise ModelFileError(f"array 'tree.{name}' has a value that is negative or not finite")
    for name in ("target_sum", "impurity", "gain"):
        if not np.isfinite(getattr(tree, name)).all():
            raise ModelFileError(f"array 'tree.{name}' has a value that is not finite")


def _check_splits(tree: Tree, schema: Schema) -> None:
    """Raises ModelFileError if a node asks for what no row has."""
    if np.isnan(tree.threshold).any() or (np.minimum(tree.missing_branch, tree.missing_code) < 0).any():
        raise ModelFileError("a node has a threshold that is no number, or a missing value without a place")
    if (tree.feature >= schema.num_features).any():
        raise ModelFileError(f"a node asks for a feature past the {schema.num_features} that there are")
    split = np.flatnonzero(tree.num_children)
    feature = tree.feature[split]
    if (feature < 0).any() or not np.isin(tree.split_kind[split], list(SplitKind)).all():
        raise ModelFileError("a node asks for no feature, or in a way that is none")
    num_values, code = schema.num_values[feature], tree.code[split]
    if (code < 0).any() or (code > num_values).any() or (tree.next_code[split] < 0).any():
        raise ModelFileError("a node asks for a code that its feature does not have")
    is_threshold = tree.split_kind[split] == SplitKind.THRESHOLD
    if (is_threshold == schema.is_categorical[feature]).any():
        raise ModelFileError("a node splits a feature in a way that is not for its kind")
    is_multiway = tree.split_kind[split] == SplitKind.MULTIWAY
    if (tree.num_children[split] > np.where(is_multiway, num_values + 1, 2)).any():
        raise ModelFileError("a node has more children than its split has branches")
    if (tree.num_children[split] < np.where(is_multiway, 1, 2)).any():
        raise ModelFileError("a node has fewer children than its split has branches")
    _check_thresholds(tree, schema, split[is_threshold])
    is_subset = tree.split_kind[split] == SplitKind.SUBSET
    if is_subset.any() and num_values[is_subset].max() > CODES_PER_WORD * tree.subset.shape[1]:
        raise ModelFileError("a node has a subset that does not tell of all categories")


def _check_thresholds(tree: Tree, schema: Schema, node: Int[np.ndarray, " split"]) -> None:
    """Raises ModelFileError if a threshold on codes is none of them, nor the infinite one."""
    is_numeric: Bool[np.ndarray, " feature"] = np.array([feature.kind == "numeric" for feature in schema.features])
    on_codes = node[~is_numeric[tree.feature[node]]]
    threshold = tree.threshold[on_codes]
    is_code = (threshold >= 0) & (threshold < schema.num_values[tree.feature[on_codes]])
    if not (is_code | (threshold == np.inf)).all():
        raise ModelFileError("a node has a threshold that is none of the feature's categories")
