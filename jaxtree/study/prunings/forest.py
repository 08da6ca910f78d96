"""scikit-learn's random forest on encoded tables, beside which the votes of dropout stand."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from jaxtree.study.prunings.methods import Pruned


class Forest(NamedTuple):
    """A forest of so many trees, with scikit-learn's default parameters."""

    name: str
    num_trees: int


def forests(*, quick: bool) -> list[Forest]:
    """Returns forests of as many trees as the votes have draws."""
    return [Forest(f"forest of {size}", size) for size in ([25] if quick else [25, 100])]


def fit_forest(forest: Forest, X_train: Any, y_train: np.ndarray, X_test: Any, y_test: np.ndarray, seed: int) -> Pruned:
    """Returns the accuracy of a forest, and the leaves of all its trees.

    Categories become one-hot columns, of which a missing value has one, too; numbers stay as they are.
    """
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((one_hot, _columns_of_words(X_train)), remainder="passthrough")
    trees = RandomForestClassifier(forest.num_trees, random_state=seed)
    fitted = make_pipeline(columns, trees).fit(X_train, y_train)
    leaves = sum(tree.get_n_leaves() for tree in trees.estimators_)
    return Pruned(float(fitted.score(X_test, y_test)), int(leaves))


def _columns_of_words(X: Any) -> list[Any]:
    """The columns of categories of a frame; all of an array."""
    if not hasattr(X, "dtypes"):
        return list(range(X.shape[1]))
    return [name for name in X.columns if str(X[name].dtype) == "category"]
