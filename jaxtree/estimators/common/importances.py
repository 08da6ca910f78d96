"""How much the columns count: by gain, number of splits, cover, shuffled values, or Shapley values."""

from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.inspection import permutation_importance
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.magnitude import check_gains
from jaxtree.errors import InvalidInputError, InvalidTypeError, present
from jaxtree.explain.shap import shap_values
from jaxtree.export.models import best_of_search
from jaxtree.sklearn_compat import safe_indexing
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree.kinds import ModelKind, Prediction, kind_of, prediction_of
from jaxtree.tree.model import FittedModel

KINDS = ("gain", "splits", "cover", "permutation", "shap")

_OF_ROWS = ("permutation", "shap")
"""Kinds that are of the rows of a table."""

_SYNONYMS = {
    **dict.fromkeys(("weight", "split", "frequency", "count"), "splits"),
    **dict.fromkeys(("total_gain", "impurity", "mdi"), "gain"),
    "total_cover": "cover",
    **dict.fromkeys(("LossFunctionChange", "mda"), "permutation"),
    **dict.fromkeys(("PredictionValuesChange", "ShapValues", "shapley"), "shap"),
}
"""The names of the kinds in other libraries."""


def importances(
    estimator: Any,
    kind: str = "gain",
    *,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    n_repeats: int = 10,
    random_state: Any = 0,
) -> Float[np.ndarray, " column"]:
    """Returns how much every column counts, in the order of the columns of the fit.

    Sums over the splits of all trees are no shares: `feature_importances_` are those of "gain", which add up to 1.
    Where XGBoost divides by the number of splits ("gain", "cover"), divide by "splits".

    Args:
        estimator: A fitted tree, forest, boosted trees, an additive model or a search; of "permutation" any fitted
            estimator.
        kind: "gain": the sum of the gains of the column's splits, each times the weight of its rows; of additive
            models, which have none, the mean size of what the column's terms add, half of that of a pair. "splits":
            their number. "cover": the sum of the weights of their rows; of boosted trees the second derivatives of the
            loss. "permutation": what the estimator's `score` loses on the mean when the column's values are shuffled
            among the rows of X. "shap": the mean size of the column's Shapley values on the rows of X; of classes and
            several scores their sum. Soft trees and trees of planes have none of the first three, and hardened forests
            with weights of leaves no gains.
        X: The rows, of "permutation" and "shap".
        y: Their target, of "permutation".
        sample_weight: Their weights in scores and means; values are shuffled among rows of some weight.
        n_repeats: How often every column is shuffled.
        random_state: The seed of the shuffles.

    Raises:
        InvalidInputError: There is no such kind, X or y is missing or superfluous, or gains are infinite.
        InvalidTypeError: The estimator has no such importances.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True))
        >>> importances(tree, "splits"), importances(tree, "cover")
        (array([0., 0., 1., 1.]), array([  0.,   0., 150., 100.]))
    """
    _check(kind, X, y, sample_weight)
    estimator = best_of_search(estimator)
    check_is_fitted(estimator)
    weight = None
    if sample_weight is not None:
        weight = present(check_sample_weight(sample_weight, X.shape[0] if hasattr(X, "shape") else len(X)))
        there = np.flatnonzero(weight)
        X, weight = safe_indexing(X, there), weight[there]
        y = None if y is None else safe_indexing(y, there)
    if kind == "permutation":
        if prediction_of(estimator) == Prediction.EFFECTS:
            raise InvalidTypeError(
                f"kind='permutation' scores predictions by y alone, and a {type(estimator).__name__} predicts effects, "
                'which nobody observes: give kind="gain", "splits" or "shap"'
            )
        drawn = {"n_repeats": n_repeats, "random_state": random_state}
        lost: Any = permutation_importance(estimator, X, y, sample_weight=weight, **drawn)
        return lost.importances_mean
    if kind == "shap":
        sizes = np.average(np.abs(shap_values(estimator, X).values), axis=0, weights=weight)
        return sizes.reshape(len(sizes), -1).sum(axis=1)
    return _sums(estimator, kind)


def _check(kind: str, X: Any, y: Any, sample_weight: Any) -> None:
    """Raises InvalidInputError if there is no such kind, or it takes other arguments."""
    if kind not in KINDS:
        hint = f": it is {_SYNONYMS[kind]!r} here" if kind in _SYNONYMS else ""
        raise InvalidInputError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}{hint}")
    wanted = {"X": kind in _OF_ROWS, "y": kind == "permutation"}
    for name, value in (("X", X), ("y", y)):
        if wanted[name] != (value is not None):
            raise InvalidInputError(f"kind={kind!r} {'needs' if wanted[name] else 'takes no'} {name}")
    if sample_weight is not None and kind not in _OF_ROWS:
        raise InvalidInputError(f"kind={kind!r} takes no sample_weight: it is of the fit, which has had weights")


def _sums(estimator: Any, kind: str) -> Float[np.ndarray, " column"]:
    """Returns the sums over the splits of an estimator, or over its terms."""
    if kind_of(estimator) == ModelKind.TERMS:
        if kind == "gain":
            return estimator.feature_importances_ * estimator.term_importances_.sum()
        raise InvalidTypeError(
            f'kind={kind!r} is of trees with splits, got {type(estimator).__name__}: give kind="gain", "shap" or '
            '"permutation"'
        )
    model = getattr(estimator, "model_", None)
    if not isinstance(model, FittedModel) or kind_of(estimator) == ModelKind.PLANES:
        raise InvalidTypeError(
            f"kind={kind!r} is of splits on columns, which {type(estimator).__name__} does not have: give "
            'kind="permutation"'
        )
    if kind == "gain" and model.link is not None and model.link.is_ratio:
        raise InvalidTypeError(
            f"kind='gain' is of trees that add up, and {type(estimator).__name__} divides by the weights of leaves: "
            'give kind="splits", "cover" or "permutation"'
        )
    return sums_of_splits(model, kind).sum(axis=0)


def sums_of_splits(model: FittedModel, kind: str) -> Float[np.ndarray, "tree column"]:
    """Returns the sum of the gains, numbers or covers of the splits of every tree on each column.

    Raises:
        InvalidInputError: Gains are infinite.
    """
    forest, schema = model.forest, model.schema
    nodes, num_columns = forest.nodes, len(schema.columns)
    split = np.flatnonzero(~nodes.is_leaf)
    cell = forest.tree_of_node[split] * num_columns + nodes.feature[split]
    counted = np.ones(split.size) if kind == "splits" else nodes.weighted_n_node_samples[split]
    if kind == "gain":
        check_gains(nodes, "feature_importances_")
        counted = counted * nodes.gain[split]
    # Without any split `bincount` counts in whole numbers.
    summed = np.bincount(cell, counted, minlength=len(forest) * num_columns)
    return summed.astype(np.float64).reshape(len(forest), -1)
