"""Models of scikit-learn: trees, forests, gradient boosting, and gradient boosting by histograms.

Trees, forests and gradient boosting round rows to float32 and compare them with thresholds of float64; boosting by
histograms compares in float64.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64, UInt
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import BaseDecisionTree
from sklearn.utils.validation import check_is_fitted

from jaxtree import boosting
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.export.node_tables import read_sklearn_tree
from jaxtree.foreign.comparisons import ThresholdRule
from jaxtree.foreign.estimators import averaged, boosted
from jaxtree.foreign.objectives import CLASSIFIER, REGRESSOR
from jaxtree.foreign.planes import ForeignColumn, ForeignModel, Meaning, NodePlanes, rounds_of
from jaxtree.foreign.tables import schema_of, split_codes
from jaxtree.losses.loss import BaseLoss
from jaxtree.table.reading import default_names
from jaxtree.tree.forest import Forest, join_trees

FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)
BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)
BY_HISTOGRAMS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)


def from_sklearn(estimator: Any) -> Any:
    """Returns the fitted estimator of jaxtree that predicts what a tree or an ensemble of scikit-learn does.

    Rows of float64 and of float32 end at the leaves where scikit-learn's end. Trees predict the same bit for bit where
    rows had no weights; sums of boosting are rounded in other places, which changes some parts in 10^15. The columns
    of a data frame keep their names, and in boosting by histograms their categories. `tree_` of a single tree is its
    node table, in breadth-first order, to which prunings as masks apply.

    Args:
        estimator: A `DecisionTreeClassifier`, `DecisionTreeRegressor`, `ExtraTreeClassifier`, `ExtraTreeRegressor`,
            `RandomForestClassifier`, `RandomForestRegressor`, `ExtraTreesClassifier`, `ExtraTreesRegressor`,
            `GradientBoostingClassifier`, `GradientBoostingRegressor`, `HistGradientBoostingClassifier` or
            `HistGradientBoostingRegressor`.

    Raises:
        InvalidTypeError: The estimator is of another class.
        InvalidInputError: jaxtree has no such model: boosting from an estimator of one's own (`init`).
        sklearn.exceptions.NotFittedError: It is not fitted.

    Example:
        >>> import sklearn.ensemble
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> theirs = sklearn.ensemble.RandomForestClassifier(10, random_state=0).fit(X, y)
        >>> ours = from_sklearn(theirs)
        >>> type(ours).__module__.split(".")[0], bool((ours.predict_proba(X) == theirs.predict_proba(X)).all())
        ('jaxtree', True)
    """
    if not isinstance(estimator, (BaseDecisionTree, *FORESTS, *BOOSTED, *BY_HISTOGRAMS)):
        known = ", ".join(kind.__name__ for kind in (*FORESTS, *BOOSTED, *BY_HISTOGRAMS))
        raise InvalidTypeError(
            f"estimator must be a tree of sklearn.tree, or of {known}, got {type(estimator).__name__}"
        )
    check_is_fitted(estimator)
    if isinstance(estimator, BY_HISTOGRAMS):
        return boosted(_by_histograms(estimator))
    if isinstance(estimator, BOOSTED):
        return boosted(_boosted(estimator))
    return _averaged(estimator)


def _names(estimator: Any) -> tuple[tuple[str, ...], bool]:
    named = getattr(estimator, "feature_names_in_", None)
    return (default_names(estimator.n_features_in_), False) if named is None else (tuple(map(str, named)), True)


def _averaged(estimator: Any) -> Any:
    """The estimator of a tree or a forest."""
    is_tree = isinstance(estimator, BaseDecisionTree)
    trees = [estimator] if is_tree else estimator.estimators_
    forest = join_trees([read_sklearn_tree(tree) for tree in trees])
    nodes, names = forest.nodes, _names(estimator)
    is_split = ~np.asarray(nodes.is_leaf)
    limit = np.where(is_split, ThresholdRule.AT_MOST_SINGLE.limits(nodes.threshold), nodes.threshold)
    is_left = is_split & ((np.asarray(nodes.missing_branch) == 0) | np.isinf(limit))
    has_missing = np.isin(np.arange(len(names[0])), nodes.feature[is_left])
    columns = [ForeignColumn(name, has_missing=bool(own)) for name, own in zip(names[0], has_missing, strict=True)]
    schema = schema_of(columns, nodes.feature, limit, ThresholdRule.AT_MOST_SINGLE)
    code, next_code = split_codes(schema, nodes.feature, limit, is_split)
    missing = np.where(is_split, schema.num_values[np.maximum(nodes.feature, 0)], 0).astype(np.int32)
    # A gain that is not finite would be refused as that of a file.
    nodes = dataclasses.replace(
        nodes, threshold=limit, code=code, next_code=next_code, missing_code=missing, gain=np.nan_to_num(nodes.gain)
    )
    of_classes = is_classifier(estimator)
    given = estimator.classes_ if of_classes else []
    classes = tuple(given) if isinstance(given, list) else (given,)
    kind = "DecisionTree" + ("Classifier" if of_classes else "Regressor") if is_tree else type(estimator).__name__
    parameters = {} if is_tree else {"n_estimators": len(forest), "bootstrap": bool(estimator.bootstrap)}
    meaning = Meaning(kind, None, parameters, classes, int(estimator.n_outputs_))
    return averaged(meaning, schema, Forest(nodes, forest.first_node), is_named=names[1])


def _boosted(estimator: Any) -> ForeignModel:
    """The neutral form of gradient boosting: the sums of its trees begin with the constant of a dummy."""
    if not (isinstance(estimator.init_, DummyClassifier | DummyRegressor) or estimator.init == "zero"):
        raise InvalidInputError(
            f"boosting begins with {type(estimator.init_).__name__} (init), and jaxtree with a constant"
        )
    table = estimator.estimators_
    planes = [_planes(own.tree_, estimator.learning_rate) for own in table.ravel()]
    zeros = np.zeros((1, estimator.n_features_in_), np.float32)
    scores = np.ravel(getattr(estimator, "decision_function", estimator.predict)(_as_frame(estimator, zeros)))
    sums = [sum(estimator.learning_rate * own.predict(zeros)[0] for own in column) for column in table.T]
    scale = 2.0 if estimator.loss == "exponential" else 1.0  # its score is half the logarithm of the odds
    planes = [own._replace(value=own.value * scale) for own in planes]
    return _sums(
        estimator, planes, scale * (scores - np.array(sums)), ThresholdRule.AT_MOST_SINGLE, _columns(estimator)
    )


def _as_frame(estimator: Any, rows: Any) -> Any:
    """Rows with the names of the columns, without which scikit-learn warns."""
    if not hasattr(estimator, "feature_names_in_"):
        return rows
    import pandas as pd  # a model of a data frame was fitted with it, or with another that scikit-learn reads as it

    return pd.DataFrame(rows, columns=estimator.feature_names_in_)


def _columns(estimator: Any) -> list[ForeignColumn]:
    return [ForeignColumn(name, has_missing=False) for name in _names(estimator)[0]]


def _sums(
    estimator: Any,
    planes: list[NodePlanes],
    start: Float64[np.ndarray, " score"],
    comparison: ThresholdRule,
    columns: list[ForeignColumn],
) -> ForeignModel:
    number = len(start)
    joined, of_round = rounds_of(planes, [place % number for place in range(len(planes))], number)
    if is_classifier(estimator):
        loss = boosting.logistic() if number == 1 else boosting.softmax(number)
        meaning = Meaning(CLASSIFIER, loss, {}, (estimator.classes_,))
    else:
        loss = _loss(estimator)
        meaning = Meaning(REGRESSOR, loss, {"loss": loss})
    return ForeignModel(tuple(columns), _names(estimator)[1], comparison, joined, start, of_round, meaning)


def _loss(estimator: Any) -> BaseLoss:
    name = estimator.loss
    if name == "quantile":
        return boosting.quantile(getattr(estimator, "quantile", None) or estimator.alpha)
    if name == "huber":
        return boosting.huber()
    makers = {
        "squared_error": boosting.squared,
        "absolute_error": boosting.absolute,
        "poisson": boosting.poisson,
        "gamma": boosting.gamma,
    }
    if name not in makers:
        raise InvalidInputError(f"jaxtree has no loss {name!r} of scikit-learn; it has {', '.join(makers)} and more")
    return makers[name]()


def _planes(tree: Any, learning_rate: float) -> NodePlanes:
    """The nodes of a tree of gradient boosting."""
    is_leaf = tree.children_left < 0
    weight, impurity = tree.weighted_n_node_samples, tree.impurity
    below = np.where(
        is_leaf, 0.0, sum((weight * impurity)[child] for child in (tree.children_left, tree.children_right))
    )
    return NodePlanes(
        feature=np.where(is_leaf, -1, tree.feature).astype(np.int64),
        left=tree.children_left.astype(np.int64),
        right=tree.children_right.astype(np.int64),
        limit=ThresholdRule.AT_MOST_SINGLE.limits(tree.threshold),
        missing_left=tree.missing_go_to_left.astype(bool),
        codes={},
        value=learning_rate * tree.value[:, 0, :],
        weight=weight,
        num_rows=tree.n_node_samples.astype(np.int64),
        gain=weight * impurity - below,
        root=np.zeros(1, np.int64),
    )


def _by_histograms(estimator: Any) -> ForeignModel:
    """The neutral form of gradient boosting by histograms."""
    names, _ = _names(estimator)
    categories, place_of = _categories(estimator)
    columns = [ForeignColumn(name, categories.get(place)) for place, name in enumerate(names)]
    predictors = [own for of_round in estimator._predictors for own in of_round]
    planes = [_planes_of_histograms(own, columns, place_of) for own in predictors]
    start = np.ravel(estimator._baseline_prediction).astype(np.float64)
    return _sums(estimator, planes, start, ThresholdRule.AT_MOST_DOUBLE, columns)


def _categories(estimator: Any) -> tuple[dict[int, tuple[Any, ...]], Int64[np.ndarray, " column"]]:
    """The categories of columns by their places, and the place of every column that trees see: categories first."""
    is_word = estimator.is_categorical_
    if is_word is None:
        return {}, np.arange(estimator.n_features_in_)
    places = np.flatnonzero(is_word)
    listed = estimator._preprocessor.named_transformers_["encoder"].categories_
    found = {}
    for place, own in zip(places.tolist(), listed, strict=True):
        known = [word for word in np.asarray(own, object).tolist() if word is not None and word == word]
        found[place] = tuple(word.item() if isinstance(word, np.generic) else word for word in known)
    return found, np.concatenate([places, np.flatnonzero(~is_word)])


def _planes_of_histograms(
    predictor: Any, columns: list[ForeignColumn], place_of: Int64[np.ndarray, " column"]
) -> NodePlanes:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(bool)
    is_word = nodes["is_categorical"].astype(bool) & ~is_leaf
    feature = np.where(is_leaf, -1, place_of[np.where(is_leaf, 0, nodes["feature_idx"])])
    codes = {
        node: _codes_of_bits(
            predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]], len(columns[feature[node]].categories or ())
        )
        for node in np.flatnonzero(is_word).tolist()
    }
    return NodePlanes(
        feature=feature.astype(np.int64),
        left=np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(is_leaf, -1, nodes["right"].astype(np.int64)),
        limit=ThresholdRule.AT_MOST_DOUBLE.limits(np.where(is_word, 0.0, nodes["num_threshold"])),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        codes=codes,
        value=nodes["value"][:, None].astype(np.float64),
        weight=nodes["count"].astype(np.float64),
        num_rows=nodes["count"].astype(np.int64),
        gain=np.where(is_leaf, 0.0, nodes["gain"]).astype(np.float64),
        root=np.zeros(1, np.int64),
    )


def _codes_of_bits(words: UInt[np.ndarray, " word"], number: int) -> Int64[np.ndarray, " _code"]:
    """The codes that go to the right: all known ones whose bits are not set."""
    codes = np.arange(number)
    return codes[(words[codes // 32] >> (codes % 32).astype(np.uint32)) & 1 == 0]
