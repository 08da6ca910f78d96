"""Rates of dropout pruning for a fitted estimator."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.base import BaseTree
from jaxtree.pruning.dropout import Tuned, tune
from jaxtree.table.target import check_same_length


def tune_dropout(
    estimator: BaseTree, X_val: Any, y_val: Any, *, per: str = "tree", loss: str | None = None, **options: Any
) -> Tuned:
    """Returns the rates of dropout pruning of least expected loss on held-out rows; see `jaxtree.dropout.tune`.

    The rows should be none that the tree was grown on: on those the least loss prunes nothing. Rows of classes that the
    estimator does not know are left out. Where missing values are shared out among the branches, a row whose value is
    missing stays at the node that asks for it.

    Args:
        estimator: A fitted tree of jaxtree, of one output.
        X_val: The held-out rows.
        y_val: Their classes, or numbers.
        per: What has a rate of its own: "tree" for one p and q, "level" or "node".
        loss: "log_loss" or "accuracy" of classes, "squared_error" of numbers; the first, or the last, if None.
        **options: `steps` and `learning_rate` of the descent.

    Raises:
        InvalidInputError: The estimator has several outputs, the table is not like the fitted one, or an option is not
            allowed.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_car_evaluation
        >>> X, y = load_car_evaluation(return_X_y=True, binary=True)
        >>> tree = ID3Classifier(encoding="onehot").fit(X[:1296], y[:1296])
        >>> tuned = tune_dropout(tree, X[1296:], y[1296:], loss="accuracy")
        >>> print(f"{1 - tuned.expected_loss:.3f} instead of {tree.score(X[1296:], y[1296:]):.3f}")
        0.954 instead of 0.861
    """
    check_is_fitted(estimator)
    if estimator.n_outputs_ != 1:
        raise InvalidInputError(f"dropout is tuned for trees of one output, got one of {estimator.n_outputs_}")
    codes, target = estimator.encode(X_val), estimator._read_target(y_val)[0]
    check_same_length(codes.shape[1], target)
    if estimator.tree_.num_classes:
        known = np.flatnonzero(target >= 0)
        codes, target = codes[:, known], target[known]
    loss = loss or ("log_loss" if estimator.tree_.num_classes else "squared_error")
    return tune(estimator.tree_, codes, target, per=per, loss=loss, **options)
