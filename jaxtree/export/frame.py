"""A tree as a data frame, a row a node."""

from typing import Any

import narwhals as nw
import numpy as np

from jaxtree.errors import InvalidInputError, MissingExtraError
from jaxtree.export.conditions import branch_in_words
from jaxtree.export.models import exported_model
from jaxtree.tree import FittedModel, SplitKind, Tree, output_counts

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
    model = exported_model(estimator)
    columns = _columns(model)
    if model.averages_trees:
        columns = {"tree": model.forest.tree_of_node.tolist(), **columns}
    try:
        frame = nw.from_dict(columns, backend=backend)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f'a frame of {backend} needs it installed: pip install "jaxtree[frames]"') from error
    return frame.to_native()


def _columns(model: FittedModel) -> dict[str, list]:
    nodes, schema, value = model.forest.nodes, model.schema, model.node_value
    first = model.forest.first_node[:-1]
    within = np.arange(nodes.capacity) - first[model.forest.tree_of_node]
    is_root, is_leaf = within == 0, np.asarray(nodes.is_leaf)
    names = [schema.columns[schema.features[feature].column].name for feature in _features(nodes)]
    is_threshold = ~is_leaf & (np.asarray(nodes.split_kind) == SplitKind.THRESHOLD)
    prediction: Any = value[:, 0]
    if model.classes:
        prediction = model.classes[0][value.argmax(axis=1) if model.node_label is None else model.node_label[0]]
    columns: dict[str, Any] = {
        "node": within,
        "parent": _where(~is_root, (np.asarray(nodes.parent) - first[model.forest.tree_of_node]).tolist()),
        "depth": nodes.depth,
        "condition": [None if root else branch_in_words(nodes, schema, node) for node, root in enumerate(is_root)],
        "is_leaf": is_leaf,
        "column": _where(~is_leaf, names),
        "split_kind": _where(~is_leaf, [SplitKind(kind).name.lower() for kind in nodes.split_kind.tolist()]),
        "threshold": _where(is_threshold, np.asarray(nodes.threshold).tolist()),
        "num_rows": nodes.num_rows,
        "weight": np.asarray(nodes.weight, np.float64),
        "impurity": nodes.impurity,
        "gain": nodes.gain,
        "prediction": prediction,
    }
    if model.classes:
        count = np.asarray(output_counts(nodes), np.float64)
        columns |= {f"share of {name}": value[:, place] for place, name in enumerate(model.classes[0])}
        columns |= {f"weight of {name}": count[:, place] for place, name in enumerate(model.classes[0])}
    return {
        name: np.asarray(values).tolist() if hasattr(values, "dtype") else values for name, values in columns.items()
    }


def _features(tree: Tree) -> list[int]:
    """The feature of every node; 0 where there is none."""
    return np.maximum(np.asarray(tree.feature), 0).tolist()


def _where(condition: Any, values: list) -> list:
    return [value if is_so else None for is_so, value in zip(condition, values, strict=True)]
