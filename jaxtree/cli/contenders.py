"""Other programs beside jaxtree on one task, a tree or a forest of a depth, as near as their parameters allow.

Words are ordinal numbers to scikit-learn, and categories to the others. LightGBM and XGBoost make of several classes a
tree a class, and draw 63.2 % of the rows for a tree of a forest, without replacement: as many different ones as a
bootstrap sample has.
"""

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Shaped

_BAGGED_SHARE = 0.632
_MOST_LEAVES = 131_072  # LightGBM's own limit


class Task(NamedTuple):
    """What all grow.

    Attributes:
        is_classification: Whether classes are predicted.
        max_depth: The most splits on a path.
        num_trees: How many trees; None for a single one.
        seed: Of what forests draw.
        cores: How many threads.
    """

    is_classification: bool
    max_depth: int
    num_trees: int | None
    seed: int
    cores: int


Predict = Callable[[Any], Shaped[np.ndarray, " row"]]
Fit = Callable[[Any, Shaped[np.ndarray, " row"]], Predict]
"""Takes a table, words as pandas' categories, and a target, classes as 0, 1, ...; returns what predicts."""


def contenders(task: Task) -> dict[str, Fit | None]:
    """Returns how each program fits, by its name; None where it is not installed."""
    made: dict[str, Fit | None] = {"jaxtree": _of_jaxtree(task), "scikit-learn": _of_sklearn(task)}
    for name, module, make in (
        ("LightGBM", "lightgbm", _of_lightgbm),
        ("XGBoost", "xgboost", _of_xgboost),
        ("YDF", "ydf", _of_ydf),
    ):
        made[name] = make(task) if importlib.util.find_spec(module) else None
    return made


def _kind(task: Task) -> str:
    return "Classifier" if task.is_classification else "Regressor"


def _of_jaxtree(task: Task) -> Fit:
    import jaxtree

    kind, options = _kind(task), {"max_depth": task.max_depth, "random_state": task.seed}
    if task.num_trees is None:
        estimator = getattr(jaxtree, f"DecisionTree{kind}")(**options)
    else:
        estimator = getattr(jaxtree, f"RandomForest{kind}")(task.num_trees, **options)
    return lambda X, y: estimator.fit(X, y).predict


def _of_sklearn(task: Task) -> Fit:
    from sklearn import ensemble, tree
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    kind, options = _kind(task), {"max_depth": task.max_depth, "random_state": task.seed}
    if task.num_trees is None:
        estimator = getattr(tree, f"DecisionTree{kind}")(**options)
    else:
        estimator = getattr(ensemble, f"RandomForest{kind}")(task.num_trees, n_jobs=task.cores, **options)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    words = (encoder, make_column_selector(dtype_include="category"))
    pipeline = make_pipeline(make_column_transformer(words, remainder="passthrough"), estimator)
    return lambda X, y: pipeline.fit(X, y).predict


def _of_lightgbm(task: Task) -> Fit:
    lightgbm = importlib.import_module("lightgbm")

    options: dict[str, Any] = {
        "max_depth": task.max_depth,
        "num_leaves": max(2, min(2**task.max_depth, _MOST_LEAVES)),
        "min_child_samples": 1,
        "min_child_weight": 0.0,
        "min_data_per_group": 1,
        "cat_smooth": 0,
        "cat_l2": 0,
        "n_jobs": task.cores,
        "random_state": task.seed,
        "verbose": -1,
    }
    if task.num_trees is not None:
        drawn = {"subsample": _BAGGED_SHARE, "subsample_freq": 1, "colsample_bynode": None}
        options |= {"boosting_type": "rf", **drawn}

    def fit(X: Any, y: Shaped[np.ndarray, " row"]) -> Predict:
        if task.num_trees is not None:
            options["colsample_bynode"] = _share_of_columns(task, X.shape[1])
        make = getattr(lightgbm, f"LGBM{_kind(task)}")
        return make(n_estimators=task.num_trees or 1, learning_rate=1.0, **options).fit(X, y).predict

    return fit


def _of_xgboost(task: Task) -> Fit:
    xgboost = importlib.import_module("xgboost")

    options: dict[str, Any] = {
        "max_depth": task.max_depth,
        "tree_method": "hist",
        "learning_rate": 1.0,
        "min_child_weight": 0,
        "reg_lambda": 0,
        "enable_categorical": True,
        "n_jobs": task.cores,
        "random_state": task.seed,
    }

    def fit(X: Any, y: Shaped[np.ndarray, " row"]) -> Predict:
        drawn = {}
        if task.num_trees is not None:
            drawn = {"num_parallel_tree": task.num_trees, "subsample": _BAGGED_SHARE}
            drawn |= {"colsample_bynode": _share_of_columns(task, X.shape[1])}
        return getattr(xgboost, f"XGB{_kind(task)}")(n_estimators=1, **options, **drawn).fit(X, y).predict

    return fit


def _of_ydf(task: Task) -> Fit:
    ydf = importlib.import_module("ydf")

    ydf.verbose(0)
    options: dict[str, Any] = {
        "label": "target",
        "task": ydf.Task.CLASSIFICATION if task.is_classification else ydf.Task.REGRESSION,
        "max_depth": task.max_depth + 1,  # a root alone has depth 1 there
        "min_examples": 1,
        "num_threads": task.cores,
        "random_seed": task.seed,
    }
    if task.num_trees is None:
        learner = ydf.CartLearner(validation_ratio=0.0, **options)
    else:
        learner = ydf.RandomForestLearner(
            num_trees=task.num_trees, winner_take_all=False, compute_oob_performances=False, **options
        )

    def fit(X: Any, y: Shaped[np.ndarray, " row"]) -> Predict:
        model = learner.train(_as_columns(X) | {"target": y})
        classes = np.array([int(name) for name in model.label_classes()]) if task.is_classification else None

        def predict(X: Any) -> Shaped[np.ndarray, " row"]:
            said = model.predict(_as_columns(X))
            if classes is None:
                return said
            return classes[(said > 0.5).astype(int) if said.ndim == 1 else said.argmax(axis=1)]

        return predict

    return fit


def _as_columns(X: Any) -> dict[str, np.ndarray]:
    """Columns of numbers, and of strings, which are empty where one is missing."""
    return {
        f"column {name}": column.astype(object).where(column.notna(), "").astype(str).to_numpy(object)
        if column.dtype == "category"
        else column.to_numpy()
        for name, column in X.items()
    }


def _share_of_columns(task: Task, num_columns: int) -> float:
    """Of columns that a node of a forest looks at: as in scikit-learn the root of their number, or all for numbers."""
    return max(1, int(np.sqrt(num_columns))) / num_columns if task.is_classification else 1.0
