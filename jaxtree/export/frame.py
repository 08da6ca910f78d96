"""A tree as a data frame, a row a node."""

from typing import Any

import narwhals as nw
import numpy as np

from jaxtree.errors import InvalidInputError, MissingExtraError
from jaxtree.export.spoken import Spoken, SpokenTree, spoken
from jaxtree.export.words import branch_in_words
from jaxtree.tree import SplitKind, Tree, output_counts

BACKENDS = ("pandas", "polars", "pyarrow", "modin", "cudf")
"""The libraries of data frames that `to_dataframe` knows."""


def to_dataframe(estimator: Any, *, backend: str = "pandas") -> Any:
    """Returns the nodes of a fitted tree or forest as a data frame, a row a node.

    Its columns are `tree` (the number of the tree, for forests), `node`, `parent` (missing for a root), `depth`,
    `condition` (what the parent's split asks of the rows that come here), `is_leaf`, and of its own split `column`,
    `split_kind` and `threshold`; then `num_rows`, `weight`, `impurity`, `gain`, `prediction`, and for every class
    `share of <class>`, which is what is predicted of a row that ends here, and `weight of <class>`.

    Args:
        estimator: A fitted tree or forest of one output.
        backend: "pandas", "polars", "pyarrow", "modin" or "cudf".

    Raises:
        InvalidInputError: The estimator has several outputs, or the backend is none of these.
        InvalidTypeError: It is no tree or forest of jaxtree.
        MissingExtraError: The library is not installed.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier(max_depth=1).fit(*load_iris(return_X_y=True))
        >>> to_dataframe(tree, backend="polars").select("node", "condition", "num_rows", "prediction").rows()
        [(0, None, 150, 0), (1, 'x2 <= 2.45', 50, 0), (2, 'x2 > 2.45', 100, 1)]
    """
    if backend not in BACKENDS:
        raise InvalidInputError(f"backend must be one of {', '.join(map(repr, BACKENDS))}, got {backend!r}")
    said = spoken(estimator)
    parts = [_columns(said, tree) for tree in said.trees]
    columns = {name: [value for part in parts for value in part[name]] for name in parts[0]}
    if said.is_forest:
        sizes = [tree.tree.node_count for tree in said.trees]
        columns = {"tree": np.repeat(np.arange(len(sizes)), sizes).tolist(), **columns}
    try:
        frame = nw.from_dict(columns, backend=backend)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f'a frame of {backend} needs it installed: pip install "jaxtree[frames]"') from error
    return frame.to_native()


def _columns(said: Spoken, spoken_tree: SpokenTree) -> dict[str, list]:
    tree, shares, labels = spoken_tree
    nodes = range(tree.node_count)
    is_leaf = np.asarray(tree.is_leaf)
    names = [said.schema.columns[said.schema.features[feature].column].name for feature in _features(tree)]
    is_threshold = ~is_leaf & (np.asarray(tree.split_kind) == SplitKind.THRESHOLD)
    if said.classes is None:
        prediction = shares[:, 0]
    else:
        prediction = said.classes[shares.argmax(axis=1) if labels is None else labels]
    columns: dict[str, Any] = {
        "node": list(nodes),
        "parent": [None, *np.asarray(tree.parent)[1:].tolist()],
        "depth": tree.depth,
        "condition": [None, *(branch_in_words(tree, said.schema, node) for node in nodes[1:])],
        "is_leaf": is_leaf,
        "column": [None if leaf else name for leaf, name in zip(is_leaf, names, strict=True)],
        "split_kind": _where(~is_leaf, [SplitKind(kind).name.lower() for kind in tree.split_kind.tolist()]),
        "threshold": _where(is_threshold, np.asarray(tree.threshold).tolist()),
        "num_rows": tree.num_rows,
        "weight": np.asarray(tree.weight, np.float64),
        "impurity": tree.impurity,
        "gain": tree.gain,
        "prediction": prediction,
    }
    if said.classes is not None:
        count = np.asarray(output_counts(tree), np.float64)
        columns |= {f"share of {name}": shares[:, place] for place, name in enumerate(said.classes)}
        columns |= {f"weight of {name}": count[:, place] for place, name in enumerate(said.classes)}
    return {
        name: np.asarray(values).tolist() if hasattr(values, "dtype") else values for name, values in columns.items()
    }


def _features(tree: Tree) -> list[int]:
    """The feature of every node; 0 where there is none."""
    return np.maximum(np.asarray(tree.feature), 0).tolist()


def _where(condition: Any, values: list) -> list:
    return [value if is_so else None for is_so, value in zip(condition, values, strict=True)]
