"""The first table: models as users spell them, each with the rows it was fitted on.

A spelling is an estimator as somebody writes it, and what else he gives to `fit`. Every public estimator stands here by
its defaults, and in each way that the documentation shows of it; what functions such as `tune`, `bag`, `distil` and
`fine_tune` return are models, too. A new spelling is a new line here, and `outcomes.py` names it only where a use is
refused.
"""

import functools
import json
import pathlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import sklearn.ensemble
import sklearn.tree
from sklearn.base import clone
from sklearn.model_selection import KFold

import jaxtree
from jaxtree import boosting
from tests.examples import lopsided, mixed_classes, mixed_numbers, mixed_table

ROWS = mixed_table()
CLASSES = mixed_classes(ROWS)
IS_LOW = CLASSES == "low"
NUMBERS = mixed_numbers(ROWS)
COUNTS = np.abs(np.round(NUMBERS))
TIMES = np.exp(NUMBERS / 10)
EVENT = np.arange(len(ROWS)) % 4 > 0
GROUPS = np.arange(len(ROWS)) // 6
REWARDS = pd.DataFrame({name: NUMBERS * (name == CLASSES) for name in ("high", "low", "middle")})
GRADES = np.digitize(NUMBERS, [0.0, 5.0])
WEIGHT = 1.0 + np.arange(len(ROWS)) % 3
EXPOSURE = np.log(WEIGHT)
PLAIN = ROWS[["number", "is_new"]].to_numpy(np.float64)
NUMBERED = ROWS.set_axis([0, 1, 2, 3], axis=1)
"""The same table with columns named 0, 1, 2, 3."""
MANY = ROWS.assign(color=[f"word {row * 7 % 20}" for row in range(len(ROWS))])
"""The same with so many words that nodes share subsets of them."""


class Model(NamedTuple):
    """A fitted model.

    Attributes:
        estimator: The estimator, a search, or what a function returned.
        X: The rows of the fit.
        y: Their target.
        extras: Further arguments of the fit.
    """

    estimator: Any
    X: Any
    y: Any
    extras: Mapping[str, Any] = {}


def _fit(estimator: Any, y: Any, X: Any = ROWS, **extras: Any) -> Model:
    own = clone(estimator)
    return Model(own.fit(X, *y, **extras) if isinstance(y, tuple) else own.fit(X, y, **extras), X, y, extras)


def _of(made: Callable[[Any], Any], model: Model) -> Model:
    """A model that is made of another."""
    return model._replace(estimator=made(model.estimator))


def _mean_of(estimators: list[Any], y: Any, weights: Any = None) -> Model:
    fits = [_fit(own, y) for own in estimators]
    return _of(lambda own: own.mean_of([fit.estimator for fit in fits], weights), fits[0])


FEW = {"n_estimators": 4, "max_depth": 2, "min_samples_leaf": 4}
"""A small boosted model."""
SMALL = {"n_estimators": 3, "max_depth": 3, "random_state": 0}
"""A small forest."""
SHORT = {"max_epochs": 3, "random_state": 0}
"""A short training of soft trees."""
COARSE = {"outer_bags": 2, "max_rounds": 60, "learning_rate": 0.2, "min_samples_leaf": 2, "max_interaction_bins": 4}
"""A small additive model."""

TREE, REGRESSION = jaxtree.DecisionTreeClassifier, jaxtree.DecisionTreeRegressor
FOREST, FOREST_OF_NUMBERS = jaxtree.RandomForestClassifier, jaxtree.RandomForestRegressor
BOOSTED, BOOSTED_NUMBERS = jaxtree.GradientBoostingClassifier, jaxtree.GradientBoostingRegressor
RANKER, DISTRIBUTION = jaxtree.GradientBoostingRanker, jaxtree.GradientBoostingDistribution
ADDITIVE, ADDITIVE_NUMBERS = jaxtree.ExplainableBoostingClassifier, jaxtree.ExplainableBoostingRegressor
SOFT, SOFT_NUMBERS = jaxtree.SoftTreeClassifier, jaxtree.SoftTreeRegressor
SOFT_FOREST, SOFT_FOREST_OF_NUMBERS = jaxtree.SoftForestClassifier, jaxtree.SoftForestRegressor
BY_LEAF = {"gate": "hard", "mixture": "by_leaf"}

TREES_BY_NAME = {
    "tree": lambda: _fit(TREE(), CLASSES),
    "tree of numbers": lambda: _fit(REGRESSION(), NUMBERS),
    "tree of two classes": lambda: _fit(TREE(max_depth=3), IS_LOW),
    "tree of arrays": lambda: _fit(TREE(max_depth=3), CLASSES, PLAIN),
    "tree of columns 0, 1, 2": lambda: _fit(TREE(max_depth=3), CLASSES, NUMBERED),
    "tree with weights": lambda: _fit(TREE(max_depth=3, class_weight="balanced"), CLASSES, sample_weight=WEIGHT),
    "tree of two outputs": lambda: _fit(TREE(max_depth=3), np.stack([CLASSES, GRADES.astype(str)], axis=1)),
    "tree of two numbers": lambda: _fit(REGRESSION(max_depth=3), np.stack([NUMBERS, -NUMBERS], axis=1)),
    "pruned tree": lambda: _fit(TREE(pruning=jaxtree.CostComplexity(0.01)), CLASSES),
    "tree of votes": lambda: _fit(TREE(pruning=jaxtree.Dropout(0.2, 0.5, draws=5), random_state=0), CLASSES),
    "monotone tree": lambda: _fit(REGRESSION(max_depth=4, monotonic_cst={"number": 1}), NUMBERS),
    "tree that shares out rows": lambda: _fit(TREE(max_depth=3, missing="fraction"), CLASSES),
    "multiway tree": lambda: _fit(REGRESSION(max_depth=4, categorical_splits="multiway"), NUMBERS),
    "tree of many words": lambda: _fit(TREE(categorical_splits="ordered"), CLASSES, MANY),
    "ID3": lambda: _fit(jaxtree.ID3Classifier(), CLASSES, ROWS[["color", "size"]]),
    "ID3 of columns of zeros and ones": lambda: _fit(jaxtree.ID3Classifier(encoding="onehot", max_depth=3), CLASSES),
    "C4.5": lambda: _fit(jaxtree.C45Classifier(), CLASSES),
    "optimal tree": lambda: _fit(jaxtree.OptimalTreeClassifier(), CLASSES),
    "optimal tree of numbers": lambda: _fit(jaxtree.OptimalTreeRegressor(max_depth=2), NUMBERS),
    "policy": lambda: _fit(jaxtree.PolicyTree(max_depth=2, max_thresholds=5), REWARDS),
    "refined tree": lambda: _of(
        lambda own: jaxtree.refine(own, ROWS, CLASSES),
        _fit(TREE(max_depth=3, categorical_splits="one_vs_rest"), CLASSES),
    ),
    "refined tree of subsets": lambda: _of(
        lambda own: jaxtree.refine(own, ROWS, CLASSES), _fit(TREE(max_depth=3, categorical_splits="subset"), CLASSES)
    ),
    "fine-tuned tree": lambda: _of(
        lambda own: jaxtree.fine_tune(own, ROWS, CLASSES, options=jaxtree.FineTuning(max_epochs=3)),
        _fit(TREE(max_depth=3), CLASSES),
    ),
    "distilled tree": lambda: _of(
        lambda own: jaxtree.distil(own, TREE(max_depth=3), ROWS, CLASSES, cv=2), _fit(BOOSTED(**FEW), CLASSES)
    ),
}

FORESTS_BY_NAME = {
    "forest": lambda: _fit(FOREST(random_state=0), CLASSES),
    "forest of numbers": lambda: _fit(FOREST_OF_NUMBERS(random_state=0), NUMBERS),
    "extra trees": lambda: _fit(jaxtree.ExtraTreesClassifier(random_state=0), IS_LOW),
    "extra trees of numbers": lambda: _fit(jaxtree.ExtraTreesRegressor(random_state=0), NUMBERS),
    "small forest": lambda: _fit(FOREST(**SMALL, oob_score=True), CLASSES),
    "forest of arrays": lambda: _fit(FOREST_OF_NUMBERS(**SMALL), NUMBERS, PLAIN),
    "forest with weights": lambda: _fit(FOREST_OF_NUMBERS(**SMALL), NUMBERS, sample_weight=WEIGHT),
    "pruned forest": lambda: _fit(FOREST(**SMALL, max_features=None, pruning=jaxtree.ReducedError()), CLASSES),
    "forest of votes": lambda: _fit(FOREST(**SMALL, pruning=jaxtree.Dropout(0.3, draws=4)), CLASSES),
    "forest of many words": lambda: _fit(FOREST(**SMALL, categorical_splits="ordered"), CLASSES, MANY),
    "forest begun again": lambda: _begun_again(FOREST(**SMALL, warm_start=True), CLASSES),
    "forest of 1,200 trees": lambda: _fit(FOREST_OF_NUMBERS(1200, max_depth=2, random_state=0), NUMBERS),
}

BOOSTED_BY_NAME = {
    "boosted": lambda: _fit(BOOSTED(), CLASSES),
    "boosted numbers": lambda: _fit(BOOSTED_NUMBERS(), NUMBERS),
    "boosted, two classes": lambda: _fit(BOOSTED(**FEW), IS_LOW),
    "boosted, a tree a class": lambda: _fit(BOOSTED(**FEW, multi_strategy="one_output_per_tree"), CLASSES),
    "boosted, ordered categories": lambda: _fit(BOOSTED(**FEW, categorical_splits="ordered"), CLASSES),
    "boosted, many words": lambda: _fit(BOOSTED(**FEW), CLASSES, MANY),
    "boosted, multiway": lambda: _fit(BOOSTED_NUMBERS(**FEW, missing="branch", categorical_splits="multiway"), NUMBERS),
    "boosted, measured": lambda: _fit(BOOSTED(**FEW), CLASSES, eval_set={"training": (ROWS, CLASSES)}),
    "boosted, stopped early": lambda: _fit(
        BOOSTED(40, max_depth=2, learning_rate=0.5, early_stopping=True, n_iter_no_change=3, random_state=0), IS_LOW
    ),
    "boosted folds": lambda: _fit(
        BOOSTED(40, max_depth=2, learning_rate=0.5, early_stopping="cv", cv=3, n_iter_no_change=3), CLASSES
    ),
    "boosted folds of numbers": lambda: _fit(
        BOOSTED_NUMBERS(60, max_depth=2, learning_rate=0.4, early_stopping="cv", cv=4, n_iter_no_change=3),
        NUMBERS,
    ),
    "boosted folds, measured": lambda: _fit(
        BOOSTED(40, max_depth=2, learning_rate=0.5, early_stopping="cv", cv=3, n_iter_no_change=3),
        CLASSES,
        eval_set={"training": (ROWS, CLASSES)},
    ),
    "DART": lambda: _fit(BOOSTED(**FEW, drop_rate=0.5, skip_drop=0.0, random_state=0), CLASSES),
    "boosted, of arrays": lambda: _fit(BOOSTED(**FEW), CLASSES, PLAIN),
    "boosted, columns 0, 1, 2": lambda: _fit(BOOSTED(**FEW), CLASSES, NUMBERED),
    "boosted, monotone": lambda: _fit(BOOSTED_NUMBERS(**FEW, monotonic_cst={"number": 1}), NUMBERS),
    "boosted, with weights and offsets": lambda: _fit(
        BOOSTED_NUMBERS(**FEW, loss="poisson"), COUNTS, sample_weight=WEIGHT, offset=EXPOSURE
    ),
    "boosted, begun again": lambda: _begun_again(BOOSTED(**FEW, warm_start=True), CLASSES),
    "quantiles": lambda: _fit(BOOSTED_NUMBERS(loss=boosting.quantiles([0.1, 0.5, 0.9])), NUMBERS),
    "a quantile": lambda: _fit(BOOSTED_NUMBERS(**FEW, loss=boosting.quantile(0.9)), NUMBERS),
    "absolute errors": lambda: _fit(BOOSTED_NUMBERS(**FEW, loss="absolute_error"), NUMBERS),
    "huber": lambda: _fit(BOOSTED_NUMBERS(**FEW, loss="huber"), NUMBERS),
    "counts": lambda: _fit(BOOSTED_NUMBERS(**FEW, loss="poisson"), COUNTS),
    "sizes": lambda: _fit(BOOSTED_NUMBERS(**FEW, loss="gamma"), TIMES),
    "boosted, two numbers": lambda: _fit(BOOSTED_NUMBERS(**FEW), np.stack([NUMBERS, -NUMBERS], axis=1)),
    "own loss": lambda: _fit(BOOSTED_NUMBERS(**FEW, loss=boosting.Loss(lopsided)), NUMBERS),
    "distribution": lambda: _fit(DISTRIBUTION(), NUMBERS),
    "lognormal": lambda: _fit(DISTRIBUTION(**FEW, distribution="lognormal"), TIMES),
    "student_t": lambda: _fit(DISTRIBUTION(**FEW, distribution="student_t"), NUMBERS),
    "distribution as loss": lambda: _fit(BOOSTED_NUMBERS(**FEW, loss=boosting.distributions.lognormal()), TIMES),
    "Cox": lambda: _fit(BOOSTED_NUMBERS(**FEW, loss="cox"), TIMES, event=EVENT),
    "AFT": lambda: _fit(
        BOOSTED_NUMBERS(**FEW, loss="accelerated_failure_time"), TIMES, upper=np.where(EVENT, TIMES, np.inf)
    ),
    "ranks": lambda: _fit(RANKER(**FEW), GRADES, group=GROUPS),
    "fine-tuned boosted": lambda: _of(
        lambda own: jaxtree.fine_tune(own, ROWS, CLASSES, options=jaxtree.FineTuning(max_epochs=3)),
        _fit(BOOSTED(**FEW), CLASSES),
    ),
    "first rounds": lambda: _of(lambda own: own.truncated(2), _fit(BOOSTED(**FEW), CLASSES)),
}

SEARCHES_BY_NAME = {
    "ensemble": lambda: _mean_of([BOOSTED(**FEW), BOOSTED(**FEW | {"max_depth": 3})], CLASSES, [1, 3]),
    "ensemble of numbers": lambda: _mean_of([BOOSTED_NUMBERS(**FEW), BOOSTED_NUMBERS(**FEW, loss="huber")], NUMBERS),
    "bagged": lambda: _bagged(BOOSTED(**FEW), CLASSES),
    "bagged counts": lambda: _bagged(BOOSTED_NUMBERS(**FEW, loss="poisson"), COUNTS),
    "tuned": lambda: _tuned(CLASSES),
    "tuned, its best": lambda: _of(lambda own: own.best_estimator_, _tuned(CLASSES)),
    "tuned numbers": lambda: _tuned(NUMBERS),
    "tuned additive": lambda: _tuned(IS_LOW, algorithm="additive", estimator=ADDITIVE(**COARSE)),
    "search of trees": lambda: _fit(jaxtree.SearchCV(TREE(), {"max_depth": [1, 2, 3]}, cv=2), CLASSES),
    "search": lambda: _fit(jaxtree.SearchCV(FOREST(**SMALL), {"max_depth": [2, 3]}, cv=2), CLASSES),
    "search of boosted": lambda: _fit(jaxtree.SearchCV(BOOSTED(**FEW), {"max_depth": [1, 2]}, cv=2), CLASSES),
    "search of boosted, an ensemble": lambda: _fit(
        jaxtree.SearchCV(BOOSTED(**FEW), {"max_depth": [1, 2]}, cv=2, refit="ensemble"), CLASSES
    ),
    "search of additive": lambda: _fit(
        jaxtree.SearchCV(ADDITIVE_NUMBERS(**COARSE), {"interactions": [0, 1]}, cv=2), NUMBERS
    ),
    "search of soft": lambda: _fit(jaxtree.SearchCV(SOFT(**SHORT), {"depth": [1, 2]}, cv=2), CLASSES),
}

ADDITIVE_BY_NAME = {
    "additive": lambda: _fit(ADDITIVE(), IS_LOW),
    "additive numbers": lambda: _fit(ADDITIVE_NUMBERS(), NUMBERS),
    "additive, several classes": lambda: _fit(ADDITIVE(**COARSE, interactions=2), CLASSES),
    "additive, chosen pairs": lambda: _fit(ADDITIVE_NUMBERS(**COARSE, interactions=[("number", "color")]), NUMBERS),
    "additive counts": lambda: _fit(
        ADDITIVE_NUMBERS(**COARSE, loss="poisson", interactions=0), COUNTS, sample_weight=WEIGHT, offset=EXPOSURE
    ),
    "additive Cox": lambda: _fit(ADDITIVE_NUMBERS(**COARSE, loss="cox", interactions=0), TIMES, event=EVENT),
    "additive AFT": lambda: _fit(
        ADDITIVE_NUMBERS(**COARSE, loss="accelerated_failure_time", interactions=0),
        TIMES,
        upper=np.where(EVENT, TIMES, np.inf),
    ),
    "additive, of arrays": lambda: _fit(ADDITIVE(**COARSE, interactions=1), IS_LOW, PLAIN),
    "additive, columns 0, 1, 2": lambda: _fit(ADDITIVE(**COARSE, interactions=1), IS_LOW, NUMBERED),
    "additive, changed by hand": lambda: _of(
        lambda own: own.monotonize("number").scale("is_new", 0.5).remove_terms("size"),
        _fit(ADDITIVE(**COARSE, interactions=1), IS_LOW),
    ),
    "additive Cox, changed by hand": lambda: _of(
        lambda own: own.remove_terms("color"),
        _fit(ADDITIVE_NUMBERS(**COARSE, loss="cox", interactions=0), TIMES, event=EVENT),
    ),
    "additive numbers, changed by hand": lambda: _of(
        lambda own: own.flatten("number", low=2.0, high=6.0).remove_terms("size"),
        _fit(ADDITIVE_NUMBERS(**COARSE, interactions=0), NUMBERS),
    ),
}

COIN = np.arange(len(ROWS)) * 5 % 7 % 2
"""A treatment, or an instrument."""
KNOWN = {"y_hat": NUMBERS / 2, "treatment_hat": np.full(len(ROWS), 0.5)}
"""Expectations of rows without their treatment, so that no further forests grow."""
EFFECTS = jaxtree.CausalForest(8, min_samples_leaf=2, random_state=0)

EFFECTS_BY_NAME = {
    "causal forest": lambda: _fit(EFFECTS, NUMBERS + COIN * ROWS["is_new"].to_numpy(), treatment=COIN, **KNOWN),
    "instrumental forest": lambda: _fit(
        jaxtree.InstrumentalForest(8, min_samples_leaf=2, random_state=0),
        NUMBERS + COIN * (np.arange(len(ROWS)) % 3),
        treatment=COIN * (np.arange(len(ROWS)) % 3),
        instrument=COIN,
        **KNOWN,
        instrument_hat=KNOWN["treatment_hat"],
    ),
}


def mean_equation(mean: Any, _: Any, observation: Any) -> Any:
    """The equation of a mean."""
    return observation - mean


LEAVES = {"n_estimators": 3, "min_samples_leaf": 5, "random_state": 0}
"""A small forest whose leaves keep rows."""

LEAVES_BY_NAME = {
    "quantile forest": lambda: _fit(jaxtree.QuantileForest(**LEAVES), NUMBERS),
    "local linear forest": lambda: _fit(jaxtree.LocalLinearForest(**LEAVES), NUMBERS),
    "moment forest": lambda: _fit(jaxtree.MomentForest(mean_equation, **LEAVES | {"n_estimators": 4}), NUMBERS),
}
SURVIVAL_BY_NAME = {
    "survival forest": lambda: _fit(jaxtree.SurvivalForest(**LEAVES), TIMES, event=EVENT),
}

SOFT_BY_NAME = {
    "soft tree": lambda: _fit(SOFT(random_state=0), CLASSES),
    "soft tree of numbers": lambda: _fit(SOFT_NUMBERS(random_state=0), NUMBERS),
    "soft forest": lambda: _fit(SOFT_FOREST(3, depth=2, **SHORT), CLASSES),
    "soft forest of numbers": lambda: _fit(SOFT_FOREST_OF_NUMBERS(3, depth=2, **SHORT), NUMBERS),
    "soft forest of weights": lambda: _fit(SOFT_FOREST(3, depth=2, **SHORT, mixture="learned"), IS_LOW),
    "soft forest by leaf": lambda: _fit(SOFT_FOREST(3, depth=2, **SHORT, **BY_LEAF), CLASSES),
    "soft, along the axes": lambda: _fit(SOFT(depth=2, **SHORT, gate="axis"), CLASSES),
    "soft counts": lambda: _fit(SOFT_NUMBERS(depth=2, max_epochs=60, random_state=0, loss="poisson"), COUNTS),
    "hardened": lambda: _of(lambda own: own.harden(), _fit(SOFT(depth=2, **SHORT), CLASSES)),
    "hardened numbers": lambda: _of(lambda own: own.harden(), _fit(SOFT_NUMBERS(depth=2, **SHORT), NUMBERS)),
    "hardened, along the axes": lambda: _of(
        lambda own: own.harden(), _fit(SOFT(depth=2, **SHORT, gate="axis"), CLASSES)
    ),
    "hardened forest": lambda: _of(
        lambda own: own.harden(), _fit(SOFT_FOREST(3, depth=2, **SHORT, gate="hard"), CLASSES)
    ),
    "hardened forest by leaf": lambda: _of(
        lambda own: own.harden(), _fit(SOFT_FOREST(3, depth=2, **SHORT, **BY_LEAF), CLASSES)
    ),
    "hardened forest by leaf, numbers": lambda: _of(
        lambda own: own.harden(), _fit(SOFT_FOREST_OF_NUMBERS(3, depth=2, **SHORT, **BY_LEAF), NUMBERS)
    ),
}

PLAINER = ROWS.astype({"is_new": float})
"""The same table with 0 and 1 for truth values, which scikit-learn takes for numbers."""
WORDED = PLAINER.astype({"color": "category", "size": "category"})
"""The same with words of a data frame's own type, by which scikit-learn knows categories."""
FOREIGN = pathlib.Path(__file__).parents[1] / "foreign" / "files"


def _read(estimator: Any, y: Any, X: Any = ROWS, fitted_on: Any = None) -> Model:
    """A model of scikit-learn."""
    return Model(jaxtree.from_sklearn(estimator.fit(X if fitted_on is None else fitted_on, y)), X, y)


def _written(write: Callable[[Any], str], read: Callable[[bytes], Any], model: Model) -> Model:
    """A model that was written for another library and read again: its words are codes."""
    values = pd.DataFrame(model.estimator.encoder_.values(model.X), columns=list(model.X))
    return Model(read(write(model.estimator).encode()), values, model.y)


def _kept(name: str) -> Model:
    """A model of CatBoost in a file."""
    content = json.loads((FOREIGN / f"{name}.json").read_text())
    X = pd.DataFrame(content["rows"], columns=["size", "color", "number"])
    return Model(jaxtree.from_catboost(content["model"]), X, np.round(content["scores"], 1))


READ_BY_NAME = {
    "tree of scikit-learn": lambda: _read(sklearn.tree.DecisionTreeClassifier(max_depth=3), CLASSES, PLAIN),
    "forest of scikit-learn": lambda: _read(
        sklearn.ensemble.RandomForestRegressor(3, max_depth=3, random_state=0), NUMBERS, PLAIN
    ),
    "histograms of scikit-learn": lambda: _read(
        sklearn.ensemble.HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=4), CLASSES, PLAINER, WORDED
    ),
    "boosted, of XGBoost": lambda: _written(
        jaxtree.to_xgboost, jaxtree.from_xgboost, _fit(BOOSTED(**FEW), IS_LOW.astype(int))
    ),
    "boosted, of LightGBM": lambda: _written(
        jaxtree.to_lightgbm, jaxtree.from_lightgbm, _fit(BOOSTED_NUMBERS(**FEW), NUMBERS)
    ),
    "boosted, of CatBoost": lambda: _kept("catboost-1.2.10-words"),
}
"""Models of other libraries."""


def _begun_again(estimator: Any, y: Any) -> Model:
    model = _fit(estimator, y)
    return model._replace(estimator=model.estimator.set_params(n_estimators=6).fit(ROWS, y))


def _bagged(estimator: Any, y: Any) -> Model:
    return Model(jaxtree.resampling.bag(estimator, ROWS, y, n_estimators=3).model, ROWS, y)


@functools.cache
def _tuned_search(of_classes: bool) -> Any:
    y, kind = (CLASSES, BOOSTED) if of_classes else (NUMBERS, BOOSTED_NUMBERS)
    folds = KFold(2, shuffle=True, random_state=0)  # a splitter: the model does not depend on the time that is left
    return jaxtree.tune(ROWS, y, minutes=600, n_iter=1, cv=folds, verbose=0, estimator=kind())


def _tuned(y: Any, **options: Any) -> Model:
    if options:
        return Model(jaxtree.tune(ROWS, y, n_iter=1, cv=2, verbose=0, **options), ROWS, y)
    return Model(_tuned_search(y is CLASSES), ROWS, y)


SPELLINGS: dict[str, Callable[[], Model]] = {
    **TREES_BY_NAME,
    **FORESTS_BY_NAME,
    **BOOSTED_BY_NAME,
    **SEARCHES_BY_NAME,
    **ADDITIVE_BY_NAME,
    **SOFT_BY_NAME,
    **EFFECTS_BY_NAME,
    **LEAVES_BY_NAME,
    **SURVIVAL_BY_NAME,
    **READ_BY_NAME,
}


@functools.cache
def model(name: str) -> Model:
    """Returns the fitted model of a spelling; it is fitted once in a process."""
    with warnings.catch_warnings(action="ignore"):
        return SPELLINGS[name]()
