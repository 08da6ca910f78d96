"""A row of weight 0 changes nothing, and a doubled row is one of weight 2, wherever rows are taken.

A way takes a table, its target and the weights of its rows, and returns numbers that do not depend on how many rows
there are. Each is tried on rows with strange ones of weight 0 among them, and beside these on the others alone; and on
whole weights, and beside these on rows that stand there so often. Where rows are drawn or divided by their places, or
counted, a doubled row is not one of weight 2: these ways are named in `OF_PLACES`, with the cause.
"""

import functools
import importlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import PatchCollection
from sklearn.base import clone
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import PredefinedSplit

import jaxtree
from jaxtree import dropout, metrics, plot, resampling
from jaxtree.boosting import cox
from jaxtree.estimators.fine_tuning.fine_tune import FineTuning
from tests.marks import are_slow
from tests.page.pages import told_by

ROWS = 60
RNG = np.random.default_rng(4)
X = np.round(RNG.normal(size=(ROWS, 3)), 1)
NUMBER = np.round(X[:, 0] + X[:, 1] ** 2 + 0.3 * RNG.normal(size=ROWS), 2)
CLASS = np.where(X[:, 0] + RNG.normal(size=ROWS) > 0, "yes", "no")
WEIGHT = RNG.integers(1, 4, ROWS).astype(float)
NEW = np.round(RNG.normal(size=(20, 3)), 1)
FOLD = np.arange(ROWS) % 4
TREE, WORDS = jaxtree.DecisionTreeRegressor(max_depth=3), jaxtree.DecisionTreeClassifier(max_depth=2)
PLAIN: dict = {"max_depth": 2, "min_samples_leaf": 1, "learning_rate": 0.3, "random_state": 0}
"""Parameters that do not follow from the number of rows, nor count them."""
CURVES: dict = {"min_samples_leaf": 1, "learning_rate": 0.1, "interactions": 0, "outer_bags": 1, "max_leaves": 3}
BOOSTED = jaxtree.GradientBoostingRegressor(4, **PLAIN)
BOOSTED_WORDS = jaxtree.GradientBoostingClassifier(4, **PLAIN)
FITTED, FITTED_WORDS = TREE.fit(X, NUMBER), WORDS.fit(X, CLASS)
CONFORMAL = resampling.ConformalRegressor(jaxtree.DecisionTreeRegressor(max_depth=3), cv=4).fit(X, NUMBER)

Way = Callable[[Any, Any, np.ndarray, np.ndarray], Any]
"""A function of a table, its target, weights, and the fold of every row."""


def _fit(estimator: Any, **fit: Any) -> Way:
    """The predictions of a fit."""

    def way(X, y, weight, fold):
        return _said(clone(estimator).fit(X, y, sample_weight=weight, **fit))

    return way


def _said(model: Any) -> np.ndarray:
    return model.predict_proba(NEW) if hasattr(model, "predict_proba") else model.predict(NEW)


def _search(estimator: Any, grid: dict, **options: Any) -> Way:
    def way(X, y, weight, fold):
        cv = options.get("cv", PredefinedSplit(fold))
        search = jaxtree.SearchCV(estimator, grid, **{**options, "cv": cv})
        search.fit(X, y, sample_weight=weight)
        found = search.cv_results_
        return [found[name] for name in found if name.startswith("mean_test")], _said(search.best_estimator_)

    return way


def _ensemble(refit: str, estimator: Any, scoring: str | None) -> Way:
    def way(X, y, weight, fold):
        grid = {"learning_rate": [0.1, 0.5], "max_depth": [1, 2]}
        search = jaxtree.SearchCV(estimator, grid, cv=PredefinedSplit(fold), refit=refit, scoring=scoring)
        search.fit(X, y, sample_weight=weight)
        return search.best_score_, search.ensemble_weights_, _said(search.best_estimator_)

    return way


def _tune(estimator: Any, **options: Any) -> Way:
    def way(X, y, weight, fold):
        search = jaxtree.TunedSearchCV(estimator, n_iter=2, **{"cv": PredefinedSplit(fold), **options})
        search.fit(X, y, weight)
        return search.cv_results_["mean_test_score"], search.best_score_, _said(search.best_estimator_)

    return way


def _drawn(draw: Callable[..., Any]) -> Any:
    """The numbers of all lines, bars and points of a plot."""
    ax = draw()
    points = [np.stack([np.ravel(line.get_xdata()), np.ravel(line.get_ydata())]).astype(float) for line in ax.lines]
    numbers = [np.unique(own, axis=1) for own in points]
    numbers += [np.array([bar.get_x(), bar.get_height(), bar.get_width()], float) for bar in ax.patches[:40]]
    pyplot.close(ax.figure)
    return [np.asarray(own, float) for own in numbers]


def _shares(draw: Callable[..., Any]) -> list[float]:
    """The shares that stand in the legend of a plot."""
    ax = draw()
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    pyplot.close(ax.figure)
    return [float(word.split()[-1].rstrip("%")) for word in words]


def _conformal(X, y, weight, fold):
    model = resampling.ConformalRegressor(TREE, cv=PredefinedSplit(fold)).fit(X, y, sample_weight=weight)
    return model.predict(NEW), model.predict_interval(NEW, coverage=0.8)


def _folds(X, y, weight, fold):
    folds = [(np.flatnonzero(fold != own), np.flatnonzero(fold == own)) for own in range(4)]
    model = jaxtree.GradientBoostingRegressor(6, early_stopping="cv", cv=folds, subsample=1.0, **PLAIN)
    model.fit(X, y, sample_weight=weight)
    return model.predict(NEW), model.oof_score_, model.predict_interval(NEW, coverage=0.7)


def _scores(metric: Callable[..., float], *beside: Any) -> Way:
    return lambda X, y, weight, fold: metric(X, y, weight)


def _known(X):
    """Numbers of the first column, as metrics take no missing ones."""
    return np.nan_to_num(X[:, 0])


def _event(X):
    return X[:, 1] > -0.5


def _time(y):
    return np.exp(y / 3)


def _survival(X, y, weight, fold, loss="cox"):
    model = jaxtree.GradientBoostingRegressor(3, loss=loss, **PLAIN)
    model.fit(X, _time(y), weight, event=_event(X))
    return model.predict(NEW), model.predict_survival_function(NEW)(np.array([0.5, 1.0]))


def _cox_score(X, y, weight, fold):
    model = jaxtree.GradientBoostingRegressor(3, loss="cox", **PLAIN)
    whole = globals()["X"]
    model.fit(whole, _time(NUMBER), event=_event(whole))
    return model.score(X, _time(y), sample_weight=weight, event=_event(X))


def _cox():
    return jaxtree.GradientBoostingRegressor(3, loss="cox", **PLAIN).fit(
        globals()["X"], _time(NUMBER), event=_event(globals()["X"])
    )


def _chances(X):
    return np.stack(
        [1 / (2 + np.exp(-np.nan_to_num(X[:, 0]).clip(-5, 5))), 1 / (3 + np.nan_to_num(X[:, 1]).clip(-2, 5))], axis=1
    )


def _pictured(draw: Callable[..., Any]) -> list[np.ndarray]:
    """The numbers of everything that a plot draws: as `_drawn`, with meshes, points and the bars of small charts."""
    ax = draw()
    drawn = [np.asarray(line.get_ydata(), float) for line in ax.lines]
    for own in ax.collections:
        shapes = [path.vertices.ravel() for path in own.get_paths()] if isinstance(own, PatchCollection) else []
        numbers = [np.zeros(0) if own.get_array() is None else np.ravel(own.get_array())]
        drawn += [np.concatenate([*shapes, *numbers, np.ravel(own.get_facecolor())])]
        drawn += [] if isinstance(own, PatchCollection) else [np.unique(np.ravel(own.get_offsets()))]
    pyplot.close(ax.figure)
    return [np.asarray(np.ma.filled(own, np.nan), float) for own in drawn]


def _sizes(X, y, weight, fold):
    methods = ["greedy", "cost complexity", "C4.5", "refined", "optimal"]
    made = jaxtree.trees_by_size(X, y, methods=methods, sizes=[2, 3], max_depth=2, sample_weight=weight)
    return [tree.predict_proba(NEW) for method in methods for tree in made[method]]


def _dropout_sizes(X, y, weight, fold):
    made = jaxtree.trees_by_size(X, y, methods=["dropout"], sizes=[3], sample_weight=weight)
    return made["dropout"][0].predict_proba(NEW)


def _dropouts(X, y, weight, fold):
    """The scores of dropout pruning, of a tree of classes and of one of numbers."""
    label = np.searchsorted(FITTED_WORDS.classes_, y)
    rows = FITTED_WORDS.tree_, FITTED_WORDS.encode(X), np.where(np.isin(y, FITTED_WORDS.classes_), label, 0)
    numbers = FITTED.tree_, FITTED.encode(X), _known(X)
    rates, draws = dropout.node_rates(rows[0], 0.3, 0.5), {"key": jax.random.key(0), "num_draws": 5}
    given = {"weight": weight}
    return [
        *(own(*rows, rates, **given) for own in (dropout.expected_accuracy, dropout.accuracy_variance)),
        dropout.expected_log_loss(*rows, rates, **given),
        dropout.expected_squared_error(*numbers, dropout.node_rates(numbers[0], 0.3, 0.5), **given),
        *(own(*rows, rates, **draws, **given) for own in (dropout.sampled_accuracy, dropout.vote_accuracy)),
        dropout.tune(*rows, steps=5, **given)[-1],
    ]


def _tuned_dropout(X, y, weight, fold, tree=None, **options):
    tuned = jaxtree.tune_dropout(tree or FITTED_WORDS, X, y, steps=20, sample_weight=weight, **options)
    return tuned.rates, tuned.losses


def _page(X, y, weight, fold):
    told = told_by(jaxtree.to_html(FITTED, X, y, sample_weight=weight))
    return [number for chart in _charts(told) for number in chart]


def _charts(told):
    for card in told["cards"].values():
        for chart in card["charts"].values():
            for series in chart.get("series") or []:
                yield [float(value) for value in np.ravel(series.get("y", [])) if value is not None]


def _early(X, y, weight, fold):
    model = jaxtree.GradientBoostingRegressor(30, early_stopping=True, n_iter_no_change=3, learning_rate=0.5)
    base = globals()
    model.fit(base["X"], base["NUMBER"], eval_set=[(X, y, weight)], eval_metric=["r2", "neg_mean_absolute_error"])
    return model.n_estimators_, *model.evals_result_["validation_0"].values()


def _distilled(X, y, weight, fold):
    folds = PredefinedSplit(fold)
    return jaxtree.distil(BOOSTED, TREE, X, y, cv=folds, sample_weight=weight).predict(NEW)


def _refined_distilled(teacher: Any, student: Any) -> Way:
    options = jaxtree.Distillation(alpha=0.5, n_restarts=2)

    def way(X, y, weight, fold):
        folds = PredefinedSplit(fold)
        return _said(jaxtree.distil(teacher, student, X, y, cv=folds, options=options, sample_weight=weight))

    return way


def _refined_on_probabilities(X, y, weight, fold):
    is_yes = np.where(np.asarray(y) == "yes", 0.8, 0.1)
    given = jaxtree.ClassProbabilities(np.stack([1 - is_yes, is_yes], axis=1), ["no", "yes"])
    return _said(jaxtree.refine(FITTED_WORDS, X, given, weight, n_restarts=2))


def _fine_tuned(X, y, weight, fold):
    """Leaves that move, as training rows and those that choose the epoch say."""
    model = jaxtree.GradientBoostingRegressor(4, **PLAIN).fit(globals()["X"], NUMBER)
    options = FineTuning(max_epochs=3, batch_size=10**6, noise=None, leaf_rate=0.05, random_state=0)
    validation = {"X_val": X[::-1], "y_val": y[::-1], "sample_weight_val": weight[::-1]}
    tuned = jaxtree.fine_tune(model, X, y, sample_weight=weight, options=options, **validation)
    assert tuned.fine_tuning_["end"] < tuned.fine_tuning_["start"]
    return tuned.predict(NEW), tuned.fine_tuning_["loss"], tuned.fine_tuning_["validation_loss"]


OF_NUMBERS: dict[str, Way] = {
    "tree": _fit(TREE),
    "fine tuning": _fine_tuned,
    "many bins": _fit(jaxtree.DecisionTreeRegressor(max_depth=3, max_bins=8)),
    "price by folds": _fit(jaxtree.DecisionTreeRegressor(pruning=jaxtree.CostComplexity())),
    "boosting": _fit(BOOSTED),
    "boosting of few bins": _fit(jaxtree.GradientBoostingRegressor(4, max_bins=8)),
    "boosting of medians": _fit(jaxtree.GradientBoostingRegressor(4, **PLAIN, loss="absolute_error")),
    "boosting that holds out": _fit(jaxtree.GradientBoostingRegressor(8, early_stopping=True, random_state=0)),
    "boosting by folds": _fit(jaxtree.GradientBoostingRegressor(6, early_stopping="cv", random_state=0)),
    "boosting by given folds": _folds,
    "forest": _fit(jaxtree.RandomForestRegressor(4, random_state=0)),
    "extra trees": _fit(jaxtree.ExtraTreesRegressor(4, random_state=0)),
    "additive": _fit(jaxtree.ExplainableBoostingRegressor(max_rounds=5, validation_size=0, **CURVES)),
    "additive that holds out": _fit(jaxtree.ExplainableBoostingRegressor(max_rounds=5, random_state=0)),
    "soft": _fit(jaxtree.SoftTreeRegressor(depth=2, max_epochs=3, random_state=0)),
    "soft forest": _fit(jaxtree.SoftForestRegressor(n_estimators=2, depth=2, max_epochs=3, random_state=0)),
    "optimal": _fit(jaxtree.OptimalTreeRegressor(max_depth=2)),
    "distribution": _fit(jaxtree.GradientBoostingDistribution(4, **PLAIN)),
    "survival": _survival,
    "survival by Breslow": functools.partial(_survival, loss=cox("breslow")),
    "score": lambda X, y, weight, fold: FITTED.score(X, y, weight),
    "score of concordance": _cox_score,
    "early stopping": _early,
    "intervals": _conformal,
    "search of trees": _search(TREE, {"max_depth": [1, 2, 3]}),
    "search by two scores": _search(TREE, {"max_depth": [1, 3]}, scoring=["r2", "neg_max_error"], refit="r2"),
    "search of forests": _search(jaxtree.RandomForestRegressor(3, random_state=0), {"max_depth": [1, 3]}),
    "search of boosting": _search(BOOSTED, {"max_depth": [1, 2], "learning_rate": [0.1, 0.5]}),
    "search of boosting, own metric": _search(
        BOOSTED, {"max_depth": [1, 2]}, scoring=make_scorer(mean_absolute_error, greater_is_better=False)
    ),
    "search of additive models": _search(
        jaxtree.ExplainableBoostingRegressor(max_rounds=3, validation_size=0, **CURVES), {"reg_lambda": [0.0, 5.0]}
    ),
    "search of soft trees": _search(jaxtree.SoftTreeRegressor(max_epochs=2, random_state=0), {"depth": [1, 2]}),
    "search of optimal trees": _search(jaxtree.OptimalTreeRegressor(), {"max_depth": [1, 2]}),
    "ensemble of a search": _ensemble("ensemble", BOOSTED, None),
    "ensemble of folds": _ensemble("fold-ensemble", BOOSTED, "neg_root_mean_squared_error"),
    "tuning": _tune(BOOSTED),
    "tuning by R2": _tune(BOOSTED, scoring="r2"),
    "tuning of additive models": _tune(jaxtree.ExplainableBoostingRegressor(validation_size=0, **CURVES)),
    "cross-validation": lambda X, y, weight, fold: resampling.cross_validate(
        TREE, X, y, cv=PredefinedSplit(fold), fit_params={"sample_weight": weight}
    )["test_score"],
    "learning curve": lambda X, y, weight, fold: resampling.learning_curve(
        TREE, X, y, cv=PredefinedSplit(fold), train_sizes=[1.0], sample_weight=weight
    )[1:],
    "bag": lambda X, y, weight, fold: resampling.bag(
        BOOSTED, X, y, n_estimators=2, max_samples=0.7, fit_params={"sample_weight": weight}
    ).model.predict(NEW),
    "boruta": lambda X, y, weight, fold: (
        resampling.BorutaSelector(TREE, max_rounds=3).fit(X, y, sample_weight=weight).importances_
    ),
    "distillation": _distilled,
    "refined distillation": _refined_distilled(BOOSTED, TREE),
    "sizes of distillation": lambda X, y, weight, fold: (
        lambda table: (table.on_labels, table.distilled, table.teacher)
    )(jaxtree.distil_sizes(BOOSTED, TREE, X, y, sizes=(2, 4), cv=2, sample_weight=weight)),
    "permutation importances": lambda X, y, weight, fold: jaxtree.importances(
        FITTED, "permutation", X=X, y=y, sample_weight=weight
    ),
    "Shapley importances": lambda X, y, weight, fold: jaxtree.importances(FITTED, "shap", X=X, sample_weight=weight),
    "concordance": lambda X, y, weight, fold: metrics.concordance_index(
        _time(y), _known(X), event=_event(X), sample_weight=weight
    ),
    "Kaplan and Meier": lambda X, y, weight, fold: metrics.KaplanMeier.of(
        _time(y), event=_event(X), sample_weight=weight
    )[:2],
    "plot of dependence": lambda X, y, weight, fold: _drawn(
        lambda: plot.plot_dependence(FITTED, X, 0, sample_weight=weight)
    ),
    "refit": lambda X, y, weight, fold: (
        jaxtree.GradientBoostingRegressor(4, max_depth=2).fit(globals()["X"], NUMBER).refit(X, y, weight).predict(NEW)
    ),
    "refit of a tree": lambda X, y, weight, fold: FITTED.refit(X, y, weight).predict(NEW),
    "rows added and removed": lambda X, y, weight, fold: (
        FITTED.refit(X, y, weight).add_rows(X, -y, 2 * weight).remove_rows(X, y, weight).predict(NEW)
    ),
    "Brier score": lambda X, y, weight, fold: metrics.survival_brier_score(
        _time(y), _chances(X), [0.7, 1.2], event=_event(X), sample_weight=weight
    ),
    "integrated Brier score": lambda X, y, weight, fold: metrics.integrated_brier_score(
        _time(y), _chances(X), [0.7, 1.2], event=_event(X), sample_weight=weight
    ),
    "concordance by Uno": lambda X, y, weight, fold: metrics.concordance_index_ipcw(
        _time(y), _known(X), event=_event(X), sample_weight=weight, tau=2.0
    ),
    "plot of survival": lambda X, y, weight, fold: _drawn(
        lambda: plot.plot_survival(_cox(), X, _time(y), _event(X), sample_weight=weight, num_groups=2)
    ),
    "plot of intervals": lambda X, y, weight, fold: _shares(
        lambda: plot.plot_intervals(CONFORMAL, X, y, coverage=0.6, sample_weight=weight)
    ),
    "plot of leaves": lambda X, y, weight, fold: _drawn(
        lambda: plot.plot_accuracy_by_leaves({"greedy": [FITTED]}, X, y, weight)
    ),
    "plot of a pruning path": lambda X, y, weight, fold: _drawn(
        lambda: plot.plot_pruning_path(FITTED, X, y, sample_weight=weight)
    ),
    "plot of Shapley values": lambda X, y, weight, fold: _drawn(
        lambda: plot.plot_shap_bar(FITTED, X, sample_weight=weight)
    ),
    "page": _page,
    "rates of dropout of numbers": functools.partial(_tuned_dropout, tree=FITTED),
    "plot of dropout of numbers": lambda X, y, weight, fold: _pictured(
        lambda: plot.plot_dropout(FITTED, X, y, p=[0, 0.5], q=[0, 1], sample_weight=weight)
    ),
    "plane": lambda X, y, weight, fold: _pictured(
        lambda: plot.plot_decision_boundary(FITTED, X, y, features=[0, 1], resolution=10, sample_weight=weight)
    ),
    "beeswarm": lambda X, y, weight, fold: _pictured(lambda: plot.plot_shap_beeswarm(FITTED, X, sample_weight=weight)),
    "charts in nodes": lambda X, y, weight, fold: _pictured(lambda: plot.plot_tree(FITTED, X, y, sample_weight=weight)),
    "NDCG": lambda X, y, weight, fold: metrics.ndcg(np.abs(y).astype(int), _known(X), group=fold, sample_weight=weight),
}
OF_CLASSES: dict[str, Way] = {
    "tree of classes": _fit(WORDS),
    "balanced": _fit(jaxtree.DecisionTreeClassifier(max_depth=2, class_weight="balanced")),
    "balanced boosting": _fit(jaxtree.GradientBoostingClassifier(4, **PLAIN, class_weight="balanced")),
    "balanced soft": _fit(jaxtree.SoftTreeClassifier(depth=2, max_epochs=2, class_weight="balanced", random_state=0)),
    "C4.5": _fit(jaxtree.C45Classifier()),
    "ID3": _fit(jaxtree.ID3Classifier()),
    "boosting of classes": _fit(BOOSTED_WORDS),
    "forest of classes": _fit(jaxtree.RandomForestClassifier(4, random_state=0)),
    "additive of classes": _fit(jaxtree.ExplainableBoostingClassifier(max_rounds=5, validation_size=0, **CURVES)),
    "soft of classes": _fit(jaxtree.SoftTreeClassifier(depth=2, max_epochs=3, random_state=0)),
    "optimal of classes": _fit(jaxtree.OptimalTreeClassifier(max_depth=2)),
    "reduced error": _fit(jaxtree.DecisionTreeClassifier(pruning=jaxtree.ReducedError(), random_state=0)),
    "search of classes": _search(WORDS, {"max_depth": [1, 2]}, scoring="neg_log_loss"),
    "search of boosted classes": _search(BOOSTED_WORDS, {"max_depth": [1, 2]}, scoring="neg_log_loss"),
    "search of soft classes": _search(jaxtree.SoftTreeClassifier(max_epochs=2, random_state=0), {"depth": [1, 2]}),
    "ensemble of classes": _ensemble("ensemble", BOOSTED_WORDS, "neg_log_loss"),
    "tuning of classes": _tune(BOOSTED_WORDS),
    "ROC": lambda X, y, weight, fold: _drawn(lambda: plot.plot_roc(FITTED_WORDS, X, y, sample_weight=weight)),
    "calibration": lambda X, y, weight, fold: _drawn(
        lambda: plot.plot_calibration(FITTED_WORDS, X, y, sample_weight=weight)
    ),
    "trees by size": _sizes,
    "trees by size, dropout": _dropout_sizes,
    "scores of dropout": _dropouts,
    "rates of dropout": functools.partial(_tuned_dropout, loss="accuracy"),
    "plot of dropout": lambda X, y, weight, fold: _pictured(
        lambda: plot.plot_dropout(FITTED_WORDS, X, y, p=[0, 0.5], q=[0, 1], sample_weight=weight)
    ),
    "plane of classes": lambda X, y, weight, fold: _pictured(
        lambda: plot.plot_decision_boundary(FITTED_WORDS, X, features=[0, 1], resolution=10, sample_weight=weight)
    ),
    "charts of classes in nodes": lambda X, y, weight, fold: _pictured(
        lambda: plot.plot_tree(FITTED_WORDS, X, y, sample_weight=weight)
    ),
    "page of classes": lambda X, y, weight, fold: list(
        _charts(told_by(jaxtree.to_html(FITTED_WORDS, X, y, sample_weight=weight)))
    ),
    "refit of a tree of classes": lambda X, y, weight, fold: FITTED_WORDS.refit(X, y, weight).predict_proba(NEW),
    "refining": lambda X, y, weight, fold: jaxtree.refine(FITTED_WORDS, X, y, weight).predict_proba(NEW),
    "refining on probabilities": _refined_on_probabilities,
    "refined distillation of classes": _refined_distilled(BOOSTED_WORDS, WORDS),
    "leaf penalties": lambda X, y, weight, fold: jaxtree.leaf_penalty_path(
        jaxtree.OptimalTreeClassifier(max_depth=2), X, y, weight
    ),
}
WAYS = {**OF_NUMBERS, **OF_CLASSES}

FAST = (
    *("tree", "boosting", "forest", "many bins", "score", "intervals", "search of trees", "ensemble of a search"),
    *("cross-validation", "bag", "boruta", "permutation importances", "concordance", "Kaplan and Meier"),
    *("Brier score", "concordance by Uno", "plot of dependence", "plot of survival", "page", "NDCG"),
    *("plot of intervals", "plot of leaves", "plot of a pruning path", "plot of Shapley values"),
    *("tree of classes", "balanced", "search of boosted classes", "balanced soft", "calibration"),
    *("trees by size", "rates of dropout", "plane", "beeswarm", "charts in nodes", "charts of classes in nodes"),
)
BY_DRAWS = "rows are drawn by their places in the table"
BY_PARTS = "rows are held out, or divided among folds, by their places in the table"
BY_BINS = "bins have equally many rows, whatever these weigh"
OF_PLACES = {
    **dict.fromkeys(["many bins", "boosting of few bins"], BY_BINS),
    **dict.fromkeys(["boosting that holds out", "boosting by folds", "additive that holds out"], BY_PARTS),
    **dict.fromkeys(["price by folds", "reduced error", "learning curve", "sizes of distillation"], BY_PARTS),
    **dict.fromkeys(["forest", "forest of classes", "search of forests"], BY_DRAWS),
    **dict.fromkeys(["bag", "boruta", "permutation importances"], BY_DRAWS),
    **dict.fromkeys(["soft", "soft forest", "soft of classes", "balanced soft"], BY_DRAWS),
    **dict.fromkeys(["search of soft trees", "search of soft classes"], BY_DRAWS),
    **dict.fromkeys(["tuning", "tuning by R2", "tuning of classes"], "settings follow from the number of rows"),
    "tuning of additive models": "settings follow from the number of rows",
    "trees by size, dropout": BY_PARTS,
    **dict.fromkeys(["page", "plane", "beeswarm", "charts in nodes"], "rows are points, which are counted"),
    **dict.fromkeys(["survival", "survival by Breslow"], "each row has a second derivative of its own"),
    "NDCG": "a row counts by its place among the others",
    "balanced boosting": "penalties count rows of the mean weight where weights are no multiples of the least",
}
"""Where a doubled row is not one of weight 2, with the cause."""


def _numbers(found: Any) -> list[np.ndarray]:
    """The results of a way, as arrays."""
    if isinstance(found, tuple | list):
        return [array for own in found for array in _numbers(own)]
    return [np.asarray(found, np.float64)]


def _assert_alike(name: str, some: tuple, others: tuple) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = (_numbers(WAYS[name](*own)) for own in (some, others))
    assert len(one) == len(other)
    for own, beside in zip(one, other, strict=True):
        np.testing.assert_allclose(own, beside, rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize("name", are_slow(WAYS, *set(WAYS) - set(FAST)))
def test_a_row_of_weight_0_changes_nothing(name):
    y = CLASS if name in OF_CLASSES else NUMBER
    strange = np.array([[1e6, -1e6, 3.0], [np.nan, 0.33, -1e6], [0.05, 0.05, 0.05]])
    targets = np.array(["maybe", "yes", "never"]) if name in OF_CLASSES else np.array([7.0, -1.0, 7.25])
    places = np.array([0, 17, 40])
    with_strange = (
        np.insert(X, places, strange, axis=0),
        np.insert(y.astype(object), places, targets).astype(targets.dtype if y is CLASS else float),
        np.insert(WEIGHT, places, 0.0),
        np.insert(FOLD, places, [3, 1, 0]),
    )
    _assert_alike(name, with_strange, (X, y, WEIGHT, FOLD))


@pytest.mark.parametrize("name", are_slow(WAYS, *set(WAYS) - set(FAST)))
def test_a_doubled_row_is_one_of_weight_2(name):
    if name in OF_PLACES:
        pytest.skip(OF_PLACES[name])
    y, rows = CLASS if name in OF_CLASSES else NUMBER, np.repeat(np.arange(ROWS), WEIGHT.astype(int))
    _assert_alike(name, (X, y, WEIGHT, FOLD), (X[rows], y[rows], np.ones(len(rows)), FOLD[rows]))


ROOMS = (
    "",
    *(
        f".{room}"
        for room in ("boosting", "dropout", "effects", "explain", "metrics", "plot", "prune", "resampling", "soft")
    ),
)
"""The public modules."""

TABLES = {"X", "X_val", "y", "y_true", "y_val", "codes", "values"}
"""Names of parameters that are rows, or numbers of rows."""

AMONG_OTHERS = {
    *("distil", "distil_sizes", "to_html", "plot_tree", "bag", "cross_validate", "learning_curve"),
    *("SearchCV.fit", "BorutaSelector.fit", "ConformalRegressor.fit"),
    *("SearchCV.score", "TunedSearchCV.score"),
    *("HardForestClassifier.fit", "HardForestRegressor.fit", "HardTreeClassifier.fit", "HardTreeRegressor.fit"),
    *("LeafEncoder.fit_transform", "BorutaSelector.fit_transform"),
}
"""Where weights are one of several arguments of a dictionary, or of arguments by name."""

OF_ROWS = {
    *("arm_scores", "doubly_robust_rewards", "doubly_robust_scores", "instrumental_scores"),
    *("apply", "decision_function", "decision_path", "encode", "eval_terms", "inverse_transform"),
    *("plane_columns", "predict", "predict_dist", "predict_interval", "predict_log_proba", "predict_median"),
    *("predict_proba", "predict_quantile", "predict_survival_function", "predict_values", "raw_scores", "read_target"),
    *("score_samples", "scores_of", "staged_predict", "staged_predict_proba", "staged_scores", "transform"),
    *("cdf", "check_extra", "check_parameters", "crps", "log_prob", "shap_by_table", "shap_interactions_by_table"),
    *("make_encoder", "one_hot", "shap_interaction_values", "shap_values", "vote_share"),
    *("estimate_rows", "over_ends", "predict_cumulative_hazard_function", "predict_std", "quantiles_at"),
    *("compliance_at", "explain_values", "reason_codes", "settle_leaves", "survival_at"),
}
"""Names of functions and methods that return something of every row by itself: a weight has no meaning there."""


def _public_functions():
    """The public functions, and the public methods of public classes, by name."""
    for room in ROOMS:
        module = importlib.import_module("jaxtree" + room)
        for name in [own for own in getattr(module, "__all__", dir(module)) if not own.startswith("_")]:
            own = getattr(module, name)
            if inspect.isfunction(own):
                yield name, own
            elif inspect.isclass(own):
                methods = inspect.getmembers(own, inspect.isfunction)
                yield from ((f"{name}.{method}", found) for method, found in methods if not method.startswith("_"))


def test_whatever_takes_rows_takes_weights():
    parameters = {name: set(inspect.signature(function).parameters) for name, function in _public_functions()}
    takers = {name: own for name, own in parameters.items() if own & TABLES}
    without = {name for name, own in takers.items() if not {"sample_weight", "weight"} & own}
    assert not {name for name in without - AMONG_OTHERS if name.split(".")[-1] not in OF_ROWS}
    assert without >= AMONG_OTHERS
    assert {name.split(".")[-1] for name in without - AMONG_OTHERS} == OF_ROWS
