"""The node table in other libraries: a data frame with a row a node, and a tree of scikit-learn, also the way back."""

from typing import Any

import narwhals as nw
import numpy as np
from jaxtyping import Float, Int
from sklearn.base import is_classifier
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError, InvalidTypeError, MissingExtraError, present
from jaxtree.export.conditions import branch_in_words
from jaxtree.export.models import best_of_search, drawn_model, exported_model
from jaxtree.sklearn_compat import NODE_DTYPE, TREE_LEAF, TREE_UNDEFINED, SklearnTree
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.kinds import ModelKind, kind_of
from jaxtree.tree.model import FittedModel
from jaxtree.tree.nodes import output_counts
from jaxtree.tree.paths import binary_links

BACKENDS = ("pandas", "polars", "pyarrow", "modin", "cudf")
"""The libraries of data frames that `to_dataframe` knows."""


def to_dataframe(estimator: Any, *, backend: str = "pandas") -> Any:
    """Returns the nodes of a fitted tree or forest as a data frame, a row a node.

    Its columns are `tree` (the number of the tree, for forests), `node`, `parent` (missing for a root), `depth`,
    `condition` (what the parent's split asks of the rows that come here), `is_leaf`, and of its own split `column`,
    `split_kind` and `threshold`; then `num_rows`, `weight`, `impurity`, `gain`, `prediction`, and for every class
    `share of <class>`, which is what is predicted of a row that ends here, and `weight of <class>`. Boosted trees have
    in the place of a prediction the `step`, or the `step of score <number>`, by which a node changes the score. Forests
    of moment equations have a `mean of statistic <number>`; the forest solves the moment in the means of these over
    the trees, and `prediction` is what a node alone would give. The column of an oblique tree is the sum that a plane
    compares with its threshold; it has no impurities and gains.

    Args:
        estimator: A fitted tree or forest of one output, boosted trees, or an oblique tree that `harden` made.
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
    estimator = best_of_search(estimator)
    check_backend(backend)
    if kind_of(estimator) == ModelKind.PLANES:
        columns = _columns(drawn_model(estimator), 0.0)
        return frame_of({name: own for name, own in columns.items() if name not in ("impurity", "gain")}, backend)
    model = exported_model(estimator)
    of_moment = kind_of(estimator) == ModelKind.MOMENT and model.link is not None
    start = 0.0 if model.link is None or of_moment else estimator.start_
    return frame_of(_columns(model, start, of_moment=of_moment), backend)


def frame_of(columns: dict[str, Any], backend: Any) -> Any:
    """Returns columns as a data frame of a library."""
    return nw.from_dict(columns, backend=backend).to_native()


def check_backend(backend: Any) -> None:
    """Raises an error, before the work, if no data frame can be made by a library; see `to_dataframe`."""
    if backend not in BACKENDS:
        raise InvalidInputError(f"backend must be one of {', '.join(map(repr, BACKENDS))}, got {backend!r}")
    try:
        nw.from_dict({"node": [0]}, backend=backend)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f'a frame of {backend} needs it installed: pip install "jaxtree[frames]"') from error


def _columns(model: FittedModel, start: Any, *, of_moment: bool = False) -> dict[str, list]:
    nodes, schema, value = model.tree, model.schema, model.node_value
    first = model.forest.first_node[model.forest.tree_of_node]
    is_leaf, is_root = np.asarray(nodes.is_leaf), first == np.arange(nodes.capacity)
    is_threshold = ~is_leaf & (np.asarray(nodes.split_kind) == SplitKind.THRESHOLD)
    columns: dict[str, Any] = {"tree": model.forest.tree_of_node} if model.averages_trees else {}
    columns |= {
        "node": np.arange(nodes.capacity) - first,
        "parent": _where(~is_root, (np.asarray(nodes.parent) - first).tolist()),
        "depth": nodes.depth,
        "condition": [None if root else branch_in_words(nodes, schema, node) for node, root in enumerate(is_root)],
        "is_leaf": is_leaf,
        "column": [None if leaf else schema.column_names[nodes.feature[node]] for node, leaf in enumerate(is_leaf)],
        "split_kind": _where(~is_leaf, [SplitKind(kind).name.lower() for kind in nodes.split_kind.tolist()]),
        "threshold": _where(is_threshold, nodes.threshold.tolist()),
        "num_rows": nodes.num_rows,
        "weight": np.asarray(nodes.weight, np.float64),
        "impurity": nodes.impurity,
        "gain": nodes.gain,
        **(_solutions(model) if of_moment else _steps(model, start) if model.link else {"prediction": value[:, 0]}),
    }
    if model.classes:
        (names,), count = model.classes, np.asarray(output_counts(nodes), np.float64)
        columns["prediction"] = names[value.argmax(axis=1) if model.node_label is None else model.node_label[0]]
        columns |= {f"share of {name}": value[:, place] for place, name in enumerate(names)}
        columns |= {f"weight of {name}": count[:, place] for place, name in enumerate(names)}
    return {
        name: np.asarray(values).tolist() if hasattr(values, "dtype") else values for name, values in columns.items()
    }


def _steps(model: FittedModel, start: Any) -> dict[str, Any]:
    """Returns by how much every node changes the scores, also where no row of the fit came to."""
    steps = (model.node_value - start) / len(model.forest)
    if model.is_ratio:
        weighted = {f"weighted score {place}": own for place, own in enumerate(steps.T[:-1])}
        return {**weighted, "weight in mean": steps[:, -1]}
    if steps.shape[1] == 1:
        return {"step": steps[:, 0]}
    return {f"step of score {place}": own for place, own in enumerate(steps.T)}


def _solutions(model: FittedModel) -> dict[str, Any]:
    """Returns what the moment's solution is by the rows of every node alone, and the means that it follows from."""
    link = present(model.link)
    solved, number = link.predict_on_host(model.node_value.T), link.num_predictions
    names = ["prediction"] if number == 1 else [f"prediction {place}" for place in range(number)]
    means = {f"mean of statistic {place}": own for place, own in enumerate(model.node_value.T)}
    return {**dict(zip(names, solved, strict=True)), **means}


def _where(condition: Any, values: list) -> list:
    return [value if is_so else None for is_so, value in zip(condition, values, strict=True)]


def to_sklearn(estimator: Any, *, no_missing: bool = False) -> BaseDecisionTree:
    """Returns a fitted `sklearn.tree.DecisionTreeClassifier` or `DecisionTreeRegressor` with the same nodes.

    scikit-learn rounds every table to float32 before it compares values with thresholds, which stay what they are: its
    predictions equal jaxtree's of `X.astype(np.float32)`. The trees of a forest are exported one by one, from
    `estimators_`.

    Args:
        estimator: A fitted tree of one output whose splits are thresholds on numbers or truth values.
        no_missing: Allows a tree that shares out rows whose value is missing, for tables without missing values; the
            heavier branch stands in their place.

    Raises:
        InvalidInputError: scikit-learn has no such tree: it splits a column of words, has several outputs, shares out
            rows with missing values, or predicts another than the most frequent class of a node.
        InvalidTypeError: It is no tree of jaxtree.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> import jaxtree
        >>> X, y = load_iris(return_X_y=True)
        >>> to_sklearn(jaxtree.DecisionTreeClassifier(max_depth=2).fit(X, y)).score(X, y)
        0.96
    """
    estimator = best_of_search(estimator)
    model = exported_model(estimator, one_tree=True, no_missing=no_missing)
    _check(model)
    num_columns = len(model.schema.columns)
    exported: Any = DecisionTreeClassifier() if model.classes else DecisionTreeRegressor()
    exported.tree_ = _sklearn_tree(model, num_columns)
    exported.n_features_in_ = exported.max_features_ = num_columns
    exported.n_outputs_ = 1
    if hasattr(estimator, "feature_names_in_"):
        exported.feature_names_in_ = estimator.feature_names_in_
    if model.classes:
        exported.classes_, exported.n_classes_ = model.classes[0], np.int64(len(model.classes[0]))
    return exported


def _check(model: FittedModel) -> None:
    """Raises InvalidInputError where scikit-learn has no such tree."""
    worded = [column.name for column in model.schema.columns if column.kind not in ("numeric", "boolean")]
    if worded:
        raise InvalidInputError(f"scikit-learn's trees read numbers, and columns such as {worded[0]!r} are words")
    is_leaf = np.asarray(model.tree.is_leaf)
    if model.node_label is not None and (model.node_value.argmax(axis=1) != model.node_label[0])[is_leaf].any():
        raise InvalidInputError(
            "scikit-learn's trees predict the first of the most frequent classes, and this tree prefers another where "
            "classes are equally frequent"
        )


def _sklearn_tree(model: FittedModel, num_columns: int) -> SklearnTree:
    tree, first = model.tree, np.asarray(model.tree.first_child)
    is_leaf, weight = np.asarray(tree.is_leaf), np.asarray(tree.weight)
    # Where a missing value is shared out, the heavier branch stands for all.
    is_left_heavier = weight[first] >= weight[np.minimum(first + 1, weight.size - 1)]
    goes_left = np.where(model.predictor.shares_out, is_left_heavier, np.asarray(tree.missing_branch) == 0)
    nodes: Any = np.zeros(tree.node_count, NODE_DTYPE)
    nodes["left_child"] = np.where(is_leaf, TREE_LEAF, first)
    nodes["right_child"] = np.where(is_leaf, TREE_LEAF, first + 1)
    nodes["feature"] = np.where(is_leaf, TREE_UNDEFINED, tree.feature)
    nodes["threshold"] = np.where(is_leaf, float(TREE_UNDEFINED), tree.threshold)
    nodes["impurity"] = tree.impurity
    nodes["n_node_samples"] = tree.num_rows
    nodes["weighted_n_node_samples"] = tree.weight
    nodes["missing_go_to_left"] = ~is_leaf & goes_left
    values = np.ascontiguousarray(model.node_value[:, None, :])
    made = SklearnTree(num_columns, np.array([values.shape[2]], np.intp), 1)
    made.__setstate__({"max_depth": tree.max_depth, "node_count": tree.node_count, "nodes": nodes, "values": values})
    return made


WHOLE = 1e-9
"""Weights of classes are whole numbers if each is within this share of one: scikit-learn stores shares."""


def read_sklearn_tree(estimator: Any) -> Tree:
    """Returns the node table of a fitted tree of scikit-learn, its nodes in breadth-first order.

    Splits are thresholds on the columns of the table; there are no codes, so that rows are walked by values:
    `tree.apply(X)`, `tree.predict(X)`. scikit-learn rounds rows to float32 before it compares them with float64
    thresholds, and `tree.apply` does not: give it `X.astype(np.float32)` for the very same walks.

    The weights of the classes are its shares times the weights of the nodes. For numbers, `target_sum` is the
    prediction of a node times its weight: the median for "absolute_error", and under monotone constraints the bounded
    value. `gain` is the decrease of the impurity that it stores. A missing value goes where its split learned.

    Args:
        estimator: A `DecisionTreeClassifier`, `DecisionTreeRegressor`, `ExtraTreeClassifier` or `ExtraTreeRegressor`,
            such as the members of a forest are.

    Raises:
        InvalidTypeError: The estimator is of another class.
        sklearn.exceptions.NotFittedError: It is not fitted.

    Example:
        >>> import sklearn.tree
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = read_sklearn_tree(sklearn.tree.DecisionTreeClassifier(max_depth=2).fit(X, y))
        >>> tree.count.tolist()
        [[50.0, 50.0, 50.0], [50.0, 0.0, 0.0], [0.0, 50.0, 50.0], [0.0, 49.0, 5.0], [0.0, 1.0, 45.0]]
    """
    if not isinstance(estimator, BaseDecisionTree):
        raise InvalidTypeError(f"estimator must be a tree of sklearn.tree, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    table = estimator.tree_
    order = np.concatenate(_levels(table))
    is_leaf = table.children_left[order] == TREE_LEAF
    links = binary_links(is_leaf)
    weight, impurity = table.weighted_n_node_samples[order], table.impurity[order]
    num_classes = tuple(map(int, table.n_classes)) if is_classifier(estimator) else ()
    value = table.value[order] * weight[:, None, None]
    none = np.zeros(order.size, np.int32)
    risk = weight * impurity
    below = np.bincount(links.parent[1:], risk[1:], minlength=risk.size)
    return Tree(
        feature=np.where(is_leaf, TREE_UNDEFINED, table.feature[order]).astype(np.int32),
        code=none,
        next_code=none,
        threshold=np.where(is_leaf, float(TREE_UNDEFINED), table.threshold[order]),
        split_kind=none,
        subset=np.zeros((order.size, 0), np.uint32),
        missing_code=none,
        missing_branch=np.where(is_leaf | table.missing_go_to_left[order].astype(bool), 0, 1).astype(np.int32),
        **links._asdict(),
        root=none,
        weight=weight,
        count=_class_weights(value, num_classes),
        target_sum=value[:, : 0 if num_classes else None, 0],
        num_rows=table.n_node_samples[order].astype(np.int32),
        impurity=impurity,
        gain=np.where(is_leaf, 0.0, (risk - below) / weight),
        num_nodes=np.array(order.size, np.int32),
        num_classes=num_classes,
        num_features=int(table.n_features),
    )


def _levels(table: SklearnTree) -> list[Int[np.ndarray, " _node"]]:
    """The nodes at every depth, the two children of a node side by side."""
    children = np.stack([table.children_left, table.children_right], axis=1).astype(np.int32)
    level, levels = np.zeros(1, np.int32), []
    while level.size:
        levels.append(level)
        below = children[level].ravel()
        level = below[below != TREE_LEAF]
    return levels


def _class_weights(
    value: Float[np.ndarray, "node output class"], num_classes: tuple[int, ...]
) -> Float[np.ndarray, "node column"]:
    """The weights of the classes, the outputs side by side, without the padding of outputs of fewer classes."""
    columns = [value[:, output, :size] for output, size in enumerate(num_classes)]
    count = np.concatenate([value[:, 0, :0], *columns], axis=1)
    whole = np.rint(count)
    return whole if np.allclose(count, whole, rtol=WHOLE, atol=0) else count
