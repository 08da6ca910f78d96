"""A batch's member has the bits of its lone fit: every family, in every way that fits several models together.

A search, folds, bags, intervals, labels of a teacher and prices of leaves share codes, growths and programs among
their fits. Each member is compared with a fresh estimator fitted on the same rows, weights and seed: by the files that
the two are saved in, or by predictions where a way keeps no model.
"""

import hashlib
import json
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid, PredefinedSplit

import jaxtree
from jaxtree.boosting import quantile
from jaxtree.estimators import sizes
from jaxtree.estimators.additive.base import BaseAdditive
from jaxtree.estimators.boosting.base import BaseBoosting
from jaxtree.estimators.common import growing, jobs
from jaxtree.estimators.common.conventions import configured
from jaxtree.estimators.common.fixed import FixedPredictions
from jaxtree.estimators.trees import ccp_cv
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.resampling import BorutaSelector, ConformalRegressor, bag, bagging, cross_validate
from jaxtree.search import tune as tune_module
from tests.estimators.lone_folds import assert_models_are_lone

ROWS = 120
ROW = np.arange(ROWS)
RNG = np.random.default_rng(3)
PLAIN = RNG.integers(0, 24, (ROWS, 3)) / 4 * [1, 10, 1]
FRAME = pd.DataFrame(
    {
        "number": np.where(ROW % 11 == 3, np.nan, PLAIN[:, 0]),
        "word": np.array(["red", "green", "blue", "grey"], object)[ROW * 7 % 4],
        "other": PLAIN[:, 1],
    }
)
NUMBERS = PLAIN[:, 0] + np.sin(PLAIN[:, 1]) + (ROW % 4 == 1) + RNG.normal(0, 0.4, ROWS)
TARGETS = {
    "numbers": NUMBERS,
    "classes": np.digitize(NUMBERS, [2.0, 4.0]),
    "two": NUMBERS > 3,
    "counts": np.exp(NUMBERS / 3).round(),
    "positive": np.exp(NUMBERS / 3),
    "outputs": np.stack([NUMBERS, NUMBERS**2 / 9], axis=1),
    "far": NUMBERS + 1e9 * (ROW == 17),
}
WHOLE, REAL, SOME = ({"sample_weight": own} for own in (ROW % 3 + 1.0, RNG.uniform(0.2, 3, ROWS), ROW % 4 * 0.7))
PART = ROW % 3
FOLDS = [(np.flatnonzero(own != PART), np.flatnonzero(own == PART)) for own in range(3)]


class Family(NamedTuple):
    """Models of one kind.

    Attributes:
        estimator: An estimator.
        target: The name of its target.
        grid: Settings of a search.
        given: Further arguments of `fit`, a value a row.
        table: The rows.
    """

    estimator: Any
    target: str
    grid: Any
    given: dict[str, Any] = {}  # noqa: RUF012
    table: Any = FRAME

    @property
    def y(self):
        """The target of all rows."""
        return TARGETS[self.target]

    @property
    def folds(self):
        """The rows of some weight of every fold."""
        there = np.flatnonzero(self.given.get("sample_weight", np.ones(ROWS)))
        return [tuple(np.intersect1d(rows, there) for rows in split) for split in FOLDS]

    def of(self, rows):
        """The arguments of `fit` for some rows."""
        table = self.table.iloc[rows] if isinstance(self.table, pd.DataFrame) else self.table[rows]
        return table, self.y[rows], {name: values[rows] for name, values in self.given.items()}

    def growth_task(self, rows):
        """The growth of some rows' tree."""
        X, y, given = self.of(rows)
        return quietly(clone(self.estimator).growth_task, X, y, **given)

    def lone(self, rows, **setting):
        """The estimator of a setting, fitted on some rows by itself."""
        X, y, given = self.of(rows)
        return quietly(clone(self.estimator).set_params(**setting).fit, X, y, **given)


def quietly(work, *arguments, **options):
    """Calls some work; what fits of few rows warn of is of no account."""
    with warnings.catch_warnings(action="ignore"):
        return work(*arguments, **options)


def variant(estimator, **parameters):
    """An estimator with other parameters."""
    return clone(estimator).set_params(**parameters)


TREE = {"max_depth": [2, None], "min_samples_leaf": [1, 4]}
FOREST = {"max_depth": [2, None], "n_estimators": [2, 4]}
BOOST = {"max_depth": [1, 3], "learning_rate": [0.1, 0.5]}
SPACE = [
    {"max_leaf_nodes": [4], "reg_lambda": [0.7], "subsample": [0.6], "random_state": [3]},
    {"max_depth": [2], "min_samples_leaf": [15], "colsample_bytree": [0.5], "n_estimators": [9]},
    {"max_leaf_nodes": [None], "max_depth": [4], "learning_rate": [0.4]},
]
"""Settings that differ in all that one program of boosting takes as numbers."""

CURVES = {"learning_rate": [0.05, 0.3], "interactions": [0, 1]}
ENDS = {"max_rounds": [20, 60], "early_stopping_rounds": [5, 50], "early_stopping_tolerance": [0.0, 1e-2]}
CODES = [
    {"max_bins": [8, 16], "interactions": [0, 1, [(0, 2)]]},
    {"validation_size": [0.2], "max_leaves": [2]},
]
GATES = {"gate_rate": [0.03, 0.2], "averaging": [0.0, 0.9]}
C, R = jaxtree.DecisionTreeClassifier(), jaxtree.DecisionTreeRegressor()
BC, BR = jaxtree.GradientBoostingClassifier(6), jaxtree.GradientBoostingRegressor(6)
AC = jaxtree.ExplainableBoostingClassifier(outer_bags=2, max_rounds=20)
AR = jaxtree.ExplainableBoostingRegressor(outer_bags=2, max_rounds=20)
SC, SR = (own(depth=2, max_epochs=4, random_state=0) for own in (jaxtree.SoftTreeClassifier, jaxtree.SoftTreeRegressor))
SF = jaxtree.SoftForestRegressor(2, depth=2, max_epochs=4, random_state=0)

FAMILIES = {
    "tree": Family(C, "classes", TREE),
    "tree of whole weights": Family(variant(C, criterion="entropy"), "classes", TREE, WHOLE),
    "tree of weights": Family(C, "classes", TREE, REAL),
    "tree of some rows": Family(C, "classes", TREE, SOME),
    "tree of balanced classes": Family(variant(C, class_weight="balanced"), "classes", TREE),
    "tree of branches": Family(variant(C, missing="branch"), "classes", TREE),
    "tree of shares": Family(variant(C, missing="fraction"), "classes", TREE),
    "tree of draws": Family(variant(C, max_features=1, splitter="random", random_state=5), "classes", TREE),
    "tree of held rows": Family(variant(C, pruning=jaxtree.ReducedError(), random_state=0), "classes", TREE),
    "c45": Family(jaxtree.C45Classifier(), "classes", {"confidence": [0.1, 0.25], "laplace": [False, True]}),
    "id3": Family(jaxtree.ID3Classifier(), "classes", {"max_depth": [1, 3]}, table=FRAME[["word"]]),
    "numbers": Family(R, "numbers", TREE),
    "numbers of weights": Family(R, "numbers", TREE, REAL),
    "numbers poisson": Family(variant(R, criterion="poisson"), "counts", TREE),
    "numbers of outputs": Family(R, "outputs", TREE),
    "numbers far apart": Family(R, "far", TREE),
    "numbers priced": Family(variant(R, ccp_alpha=0.1), "numbers", TREE),
    "optimal": Family(jaxtree.OptimalTreeClassifier(max_thresholds=4), "two", {"max_depth": [1, 2]}),
    "optimal numbers": Family(jaxtree.OptimalTreeRegressor(max_thresholds=4), "numbers", {"max_depth": [1, 2]}),
    "forest": Family(jaxtree.RandomForestClassifier(4, random_state=1), "classes", FOREST),
    "forest of numbers": Family(jaxtree.RandomForestRegressor(4, random_state=1), "numbers", FOREST),
    "extra trees": Family(jaxtree.ExtraTreesRegressor(4, random_state=1), "numbers", FOREST),
    "boosting": Family(BC, "two", BOOST),
    "boosting of classes": Family(variant(BC, random_state=2), "classes", SPACE),
    "boosting of balanced": Family(BC, "classes", {"class_weight": [None, "balanced", {0: 3, 2: 0.5}]}),
    "boosting a tree a class": Family(variant(BC, multi_strategy="one_output_per_tree"), "classes", BOOST),
    "boosting of numbers": Family(
        variant(BR, subsample=0.7, random_state=4), "numbers", BOOST | {"random_state": [0, 1]}, REAL
    ),
    "boosting of some rows": Family(BR, "numbers", BOOST, SOME),
    "boosting of outputs": Family(BR, "outputs", BOOST),
    "boosting absolute": Family(variant(BR, loss="absolute_error"), "numbers", BOOST),
    "boosting huber": Family(variant(BR, loss="huber"), "numbers", BOOST),
    "boosting quantile": Family(variant(BR, loss=quantile(0.8)), "numbers", BOOST),
    "boosting poisson": Family(variant(BR, loss="poisson"), "counts", BOOST, {"offset": PLAIN[:, 2] / 9}),
    "boosting gamma": Family(variant(BR, loss="gamma"), "positive", BOOST),
    "boosting cox": Family(variant(BR, loss="cox"), "positive", BOOST, {"event": ROW % 5 > 0}, PLAIN),
    "boosting normal": Family(jaxtree.GradientBoostingDistribution(6), "numbers", BOOST),
    "boosting stopped": Family(variant(BC, early_stopping=True, n_iter_no_change=2, random_state=0), "two", BOOST),
    "boosting in order": Family(variant(BR, categorical_splits="ordered", random_state=0), "numbers", BOOST),
    "boosting of subsets": Family(variant(BR, categorical_splits="subset"), "numbers", BOOST),
    "boosting monotone": Family(variant(BR, monotonic_cst=[1, 0, -1]), "numbers", BOOST),
    "boosting apart": Family(variant(BR, interaction_cst=[[0, 1], [2]]), "numbers", BOOST),
    "boosting one-sided": Family(variant(BR, sampling="goss", random_state=0), "numbers", BOOST),
    "boosting dropped": Family(variant(BR, drop_rate=0.3, random_state=0), "numbers", BOOST),
    "boosting by folds": Family(variant(BR, early_stopping="cv", cv=3, random_state=0), "numbers", BOOST),
    "ranking": Family(jaxtree.GradientBoostingRanker(6), "counts", BOOST, {"group": ROW // 4}, PLAIN),
    "additive": Family(AC, "two", CURVES),
    "additive of classes": Family(variant(AC, interactions=0), "classes", ENDS),
    "additive of numbers": Family(AR, "numbers", CURVES, REAL),
    "additive counts": Family(variant(AR, loss="poisson"), "counts", CODES, {"group": ROW // 4}),
    "soft": Family(variant(SC, class_weight="balanced"), "two", GATES),
    "soft restarts": Family(SR, "numbers", {"n_restarts": [1, 3], "scaling": ["standard", "quantile"]}),
    "soft held": Family(
        variant(SR, max_epochs=20, n_iter_no_change=2),
        "numbers",
        {"validation_fraction": [0.2, None], "averaging": [0.0, 0.9], "random_state": [0, 1]},
    ),
    "soft words": Family(SC, "two", {"one_hot_max_size": [None, 3], "gate_rate": [0.03, 0.2], "random_state": [0, 1]}),
    "soft poisson": Family(variant(SR, loss="poisson"), "counts", GATES, {"offset": PLAIN[:, 2] / 9}),
    "soft forest": Family(SF, "numbers", {"mixture": ["mean", "learned"], "leaf_rate": [0.05, 0.3]}, SOME),
    "oblique": Family(SR, "numbers", {"gate": ["oblique", "axis", "hard"], "n_restarts": [1, 2]}),
}


def predictions(model, X):
    """The predictions of a model."""
    if isinstance(model, FixedPredictions):
        return model.predictions
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def digest(model, X, y=None, **given):
    """A number that tells what a model predicts, and its terms, to the last bit; a search takes it for a score."""
    learned = [model.additive_.values, model.num_rounds_] if isinstance(model, BaseAdditive) else []
    bits = b"".join(np.asarray(own, np.float64).tobytes() for own in (predictions(model, X), *learned))
    return float(int.from_bytes(hashlib.blake2b(bits, digest_size=6).digest()))


def as_searched(model, X):
    """A lone fit as a search sees it: boosted models of one program have scores that rounds have added to one by one.

    `predict` takes means over trees, which rounds differently, by up to 3e-15 of a prediction.
    """
    if not isinstance(model, BaseBoosting) or model.drop_rate or model.early_stopping == "cv":
        return model
    *_, scores = model.staged_scores(X)
    return model.fixed_predictions(scores)


def written(model, folder):
    """The header of a model's file, whose names stand in any order, and its arrays."""
    path = folder / "model.jaxtree"
    model.save(path)
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), data[end:]


def assert_same_models(members, lone, folder):
    """Fitted estimators are written as the same files."""
    for number, (member, own) in enumerate(zip(members, lone, strict=True)):
        assert written(member, folder) == written(own, folder), f"member {number}"


def assert_same_trees(members, tasks):
    """Grown trees are those that their tasks give alone."""
    for member, task in zip(members, tasks, strict=True):
        (lone,) = growing.grow_tables([task])
        for name, values in vars(lone).items():
            np.testing.assert_array_equal(getattr(member, name), values, err_msg=name)


def is_alone(estimator):
    """Whether one program does not make the models of several settings."""
    return bool(getattr(estimator, "drop_rate", 0)) or getattr(estimator, "early_stopping", None) == "cv"


def search(of, folder, patch):
    """A search scores every setting on every fold as its lone fit, and fits none by itself."""
    if not is_alone(of.estimator):
        patch.setattr(jobs, "_fit_alone", None)
    found = jaxtree.SearchCV(of.estimator, of.grid, cv=FOLDS, scoring=digest, refit=False, error_score="raise")
    quietly(found.fit, of.table, of.y, **of.given)
    for fold, (train, test) in enumerate(of.folds):
        X, _, _ = of.of(test)
        lone = [as_searched(of.lone(train, **own), X) for own in ParameterGrid(of.grid)]
        same = found.cv_results_[f"split{fold}_test_score"] == [digest(own, X) for own in lone]
        assert same.all(), [own for own, is_same in zip(found.cv_results_["params"], same, strict=True) if not is_same]


def settings(of, folder, patch):
    """The models of settings on the same rows are their lone fits."""
    patch.setattr(jobs, "_fit_alone", None)
    rows, grid = of.folds[0][0], list(ParameterGrid(of.grid))
    part = jobs.TablePart(of.table, of.y, of.given, rows)
    made = quietly(lambda: list(jobs.fit_many([jobs.Job(configured(of.estimator, own), part) for own in grid])))
    members = [fitted.made for fitted in sorted(made, key=lambda own: own.number)]
    assert_same_models(members, [of.lone(rows, **own) for own in grid], folder)


def parts(of, folder, patch):
    """The models of a cross-validation are the lone fits of its parts."""
    found = quietly(cross_validate, of.estimator, of.table, of.y, cv=FOLDS, fit_params=of.given)
    assert_same_models(found["estimator"], [of.lone(train) for train, _ in of.folds], folder)


def intervals(of, folder, patch):
    """The models of intervals are the lone fits without each fold, and that of all rows."""
    found = quietly(ConformalRegressor(of.estimator, cv=of.folds).fit, of.table, of.y, **of.given)
    lone = [of.lone(rows) for rows in (*(train for train, _ in of.folds), ROW)]
    assert_same_models([*found.estimators_, found.estimator_], lone, folder)


def labels(of, folder, patch):
    """A teacher labels a fold as its lone fit on the others predicts it."""
    found = quietly(jaxtree.teacher_labels, of.estimator, of.table, of.y, **of.given, cv=FOLDS)
    found = getattr(found, "probabilities", found)
    for train, test in of.folds:
        X, _, _ = of.of(test)
        np.testing.assert_array_equal(found[test], predictions(of.lone(train), X))


def roots(of, folder, patch):
    """Trees that grow as roots of one growth are those that grow alone."""
    tasks = [of.growth_task(train) for train, _ in of.folds]
    assert_same_trees(growing.grow_tables(tasks), tasks)


def prices(of, folder, patch):
    """The trees by which the price of a leaf is chosen are those that grow alone on the rows without a fold."""
    grown = []
    patch.setattr(ccp_cv, "grow_tables", lambda tasks: grown.extend(growing.grow_tables(tasks)) or grown)
    of.lone(ROW, pruning=jaxtree.CostComplexity(cv=FOLDS))
    assert_same_trees(grown, [of.growth_task(train) for train, _ in FOLDS])


def penalties(of, folder, patch):
    """Optimal trees of one search are those that a search each finds."""
    settings = [{"max_leaf_nodes": number, "leaf_penalty": cost} for number in (2, 4) for cost in (0.0, 0.05)]
    members = sizes.fit_together(of.estimator, settings, of.table, of.y)
    assert_same_models(members, [of.lone(ROW, **own) for own in settings], folder)


def first_trees(of, folder, patch):
    """Trees of a forest are the first ones of a larger forest, whatever the batch in which they grow."""
    whole = of.lone(ROW, n_estimators=7).forest_
    # Impurities of numbers follow from squares, whose unit is that of all rows of a batch.
    rounded = () if is_classifier(of.estimator) else ("impurity", "gain")
    for member, lone in zip(whole.first(2), of.lone(ROW, n_estimators=2).forest_, strict=True):
        for name in vars(lone).keys() - rounded:
            np.testing.assert_array_equal(getattr(member, name), getattr(lone, name), err_msg=name)


def folds(of, folder, patch):
    """Models of folds are those that are made one by one, of the rows and the codes of the table."""
    ending = {"n_estimators": 12, "n_iter_no_change": 3, "early_stopping": "cv", "cv": 4}
    model = quietly(clone(of.estimator).set_params(**ending).fit, of.table, of.y, **of.given)
    assert_models_are_lone(model, of.table, of.y, **of.given)


def bags(of, folder, patch):
    """The models of a bag are the lone fits of their samples, with the columns of the table."""
    drawn, fit = [], bagging.fit_parts
    patch.setattr(bagging, "fit_parts", lambda *given, **options: drawn.extend(given[3]) or fit(*given, **options))
    found = quietly(bag, of.estimator, of.table, of.y, n_estimators=3, max_samples=0.7, fit_params=of.given)
    encoder, lone = of.estimator.make_encoder().fit(of.table), []
    for rows in drawn:
        own, (X, y, given) = clone(of.estimator), of.of(rows)
        lone.append(own.fit_task(own.read_task(X, y, encoder=encoder, **given)))
    assert_same_models(found.members, lone, folder)


def tuning(of, folder, patch):
    """Settings that a tuning tries predict every fold as their lone fits, and its members are those of all rows."""
    few = {name: value for name, value in of.estimator.get_params().items() if name in ("n_estimators", "max_rounds")}
    for name in ("space_for", "additive_space_for"):
        space = getattr(tune_module, name)
        patch.setattr(tune_module, name, lambda *shape, space=space, **more: of_few_rounds(space(*shape, **more), few))
    found = quietly(
        jaxtree.tune, of.table, of.y, estimator=of.estimator, n_iter=3, cv=PredefinedSplit(PART), verbose=0, minutes=600
    )
    members = found.tuned_.members
    assert_same_models(members, [quietly(clone(own).fit, of.table, of.y) for own in members], folder)


def of_few_rounds(space, few):
    """The settings of a space with few rounds."""
    return space._replace(fixed=space.fixed | few, finals=space.finals and space.finals | few)


def shadows(of, folder, patch):
    """The fit of a round of Boruta's rule is the lone one."""
    kind, made = type(of.estimator), []
    with patch.context() as own:
        fit = kind.fit
        own.setattr(kind, "fit", lambda model, *given: made.append((fit(model, *given), given)) or model)
        BorutaSelector(of.estimator, max_rounds=2).fit(of.table, of.y)
    models, given = zip(*made, strict=True)
    assert_same_models(models, [clone(model).fit(*own) for model, own in zip(models, given, strict=True)], folder)


TREES = [name for name, of in FAMILIES.items() if isinstance(of.estimator, BaseTree)]
BOOSTED = [name for name, of in FAMILIES.items() if isinstance(of.estimator, BaseBoosting)]
ONE_EACH = ["forest of numbers", "boosting of numbers", "additive of numbers", "soft restarts"]
WAYS = {
    search: list(FAMILIES),
    settings: [name for name in BOOSTED if not is_alone(FAMILIES[name].estimator)],
    parts: ["tree of weights", "c45", "optimal", *ONE_EACH],
    intervals: ["numbers", "numbers far apart", "optimal numbers", *ONE_EACH],
    labels: ["tree of weights", "numbers", "optimal", *ONE_EACH],
    roots: TREES,
    prices: ["tree", "tree of shares", "numbers"],
    penalties: ["optimal", "optimal numbers"],
    first_trees: ["forest", "forest of numbers", "extra trees"],
    folds: [name for name in BOOSTED if name not in ("boosting stopped", "boosting by folds")],
    bags: ["boosting", "boosting of numbers"],
    tuning: ["boosting", "additive"],
    shadows: ["forest of numbers"],
}
"""The families of each way. Where fits share nothing but a loop, one family of each kind stands for all."""

FAST = {
    search: ("tree", "numbers of weights", "forest", "boosting of classes", "additive of numbers", "soft"),
    roots: ("tree of shares", "numbers", "c45"), parts: ("tree of weights",), settings: ("boosting of classes",),
    folds: ("boosting of classes",), bags: ("boosting",), prices: ("numbers",), penalties: ("optimal",),
}  # fmt: skip
CELLS = [
    pytest.param(way, name, id=f"{way.__name__}-{name}", marks=() if name in FAST.get(way, ()) else pytest.mark.slow)
    for way, names in WAYS.items()
    for name in names
]


@pytest.mark.parametrize(("way", "name"), CELLS)
def test_a_member_is_its_lone_fit(way, name, tmp_path, monkeypatch):
    way(FAMILIES[name], tmp_path, monkeypatch)
