"""Small fitted estimators of every kind, by name, and what they predict of some rows."""

import functools
import warnings

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import jaxtree
from jaxtree import boosting
from jaxtree.datasets import load_play_tennis
from tests.marks import marked

ROWS = 60


def mixed_table():
    """Numbers, words, ordered words and truth values, some of each missing; the last rows are for prediction alone."""
    row = np.arange(ROWS)
    numbers = np.round(np.sin(row * 1.7) * 10, 2)
    colors = pd.Series(np.array(["red", "green", "blue", "grey"], object)[(row * 7) % 4])
    sizes = pd.Categorical(np.array(["s", "m", "l"])[(row * 5) % 3], ["s", "m", "l"], ordered=True)
    return pd.DataFrame(
        {
            "number": np.where(row % 11 == 3, np.nan, numbers),
            "color": colors.where(row % 13 != 5, None),
            "size": sizes,
            "is_new": row % 3 == 0,
        }
    )


def dates_table():
    """Dates, some of them missing, dates with a time zone, and durations."""
    row = np.arange(ROWS)
    day = np.datetime64("2019-12-30", "s") + (row * 37 % 101 * 86_400 + row * 1_000)
    day = np.where(row % 11 == 3, np.datetime64("NaT"), day)
    seen = pd.Series(np.datetime64("2020-06-01", "us") + row * 17 % 23 * 3_600_000_000).dt.tz_localize("UTC")
    return pd.DataFrame({"joined": day, "seen": seen, "waited": pd.to_timedelta(row * 5 % 7, "min")})


def mixed_classes(table):
    score = table["number"].fillna(4.0) + 3 * (table["color"] == "red") - 2 * (table["size"] == "m")
    return np.array(["low", "middle", "high"])[np.digitize(score, [-2.0, 3.0])]


def mixed_numbers(table):
    return np.round(table["number"].fillna(1.5).to_numpy() * 2 + (table["color"] == "blue") - 3 * table["is_new"], 2)


@functools.cache
def unfitted():
    """The estimators by name, each with a table and a target."""
    table = mixed_table()
    classes, numbers = mixed_classes(table), mixed_numbers(table)
    weather, play = load_play_tennis(return_X_y=True, as_frame=True)
    plain = table[["number", "is_new"]].to_numpy(np.float64)
    two = np.stack([numbers, -numbers], axis=1)
    signs = np.digitize(numbers, [0])
    declared = pd.Categorical(classes, ["middle", "low", "high", "never"])
    few = {"n_estimators": 3, "max_depth": 3, "random_state": 0}
    return {
        "cart": (jaxtree.DecisionTreeClassifier(max_depth=4), table, classes),
        "cart_dates": (jaxtree.DecisionTreeClassifier(max_depth=4), dates_table(), classes),
        "cart_plain": (jaxtree.DecisionTreeClassifier(max_depth=3, class_weight={"low": 2.0}), plain, classes),
        "cart_fraction": (
            jaxtree.DecisionTreeClassifier(
                missing="fraction", categorical_splits="one_vs_rest", pruning=jaxtree.CostComplexity(0.001)
            ),
            table,
            classes,
        ),
        "cart_vote": (
            jaxtree.DecisionTreeClassifier(
                missing="branch", pruning=jaxtree.Dropout(0.2, 0.5, draws=5), random_state=0
            ),
            table,
            classes,
        ),
        "cart_outputs": (
            jaxtree.DecisionTreeClassifier(max_depth=3),
            table,
            np.stack([classes, np.where(numbers > 0, "up", "down")], axis=1),
        ),
        "regression": (jaxtree.DecisionTreeRegressor(max_depth=4, categorical_splits="multiway"), table, numbers),
        "regression_outputs": (jaxtree.DecisionTreeRegressor(max_depth=3, ccp_alpha=0.01), table, two),
        "c45": (jaxtree.C45Classifier(laplace=True), table, declared),
        "c45_words": (jaxtree.C45Classifier(), weather, play),
        "id3": (jaxtree.ID3Classifier(), weather, play),
        "id3_onehot": (jaxtree.ID3Classifier(encoding="onehot", max_depth=3), table, classes),
        "optimal": (jaxtree.OptimalTreeClassifier(max_depth=2, max_thresholds=5), table, classes),
        "optimal_cost": (
            jaxtree.OptimalTreeClassifier(max_depth=2, max_thresholds=5, cost_matrix=[[0, 1, 5], [1, 0, 1], [5, 1, 0]]),
            table,
            classes,
        ),
        "policy": (
            jaxtree.PolicyTree(max_depth=2, max_thresholds=5),
            table,
            pd.DataFrame({name: numbers * (classes == name) for name in ("high", "low", "middle")}),
        ),
        "optimal_regression": (jaxtree.OptimalTreeRegressor(max_depth=2, max_thresholds=5), table, numbers),
        "forest": (jaxtree.RandomForestClassifier(**few, oob_score=True), table, classes),
        "forest_vote": (jaxtree.RandomForestClassifier(**few, pruning=jaxtree.Dropout(0.3, draws=4)), table, classes),
        "forest_regression": (jaxtree.RandomForestRegressor(**few, oob_score=True), table, numbers),
        "extra": (jaxtree.ExtraTreesClassifier(**few), table, classes == "low"),
        "extra_regression": (jaxtree.ExtraTreesRegressor(**few), table, two),
        "bagged": (
            jaxtree.RandomForestClassifier(**few, max_features=None, pruning=jaxtree.ReducedError()),
            table,
            signs,
        ),
        "bagged_regression": (jaxtree.RandomForestRegressor(**few), plain, numbers),
        **_soft(table, plain, classes, numbers, two),
        **_hardened(table, plain, classes, numbers),
        **_boosted(table, plain, classes, numbers),
        **_additive(table, plain, classes, numbers),
    }


FURTHER = (
    "cart_dates",
    "cart_plain",
    "cart_fraction",
    "regression_outputs",
    "c45_words",
    "id3_onehot",
    "optimal_cost",
    "forest_vote",
    "bagged",
    "bagged_regression",
    "soft_poisson",
    "hardened_regression",
    "hardened_axis",
    "boosted_regression",
    "boosted_counts",
    "boosted_normal",
    "boosted_lognormal",
    "additive_classes",
    "additive_counts",
    "additive_own",
)
"""Each of their classes has another example: where a law does not hang on parameters, these are exhaustive."""

EXTRAS = {"boosted_ranker": {"group": np.arange(ROWS) // 6}}
"""Further arguments of the fits of some estimators."""


def of_every_class(names, fast):
    """Names as parameters: those that are fast, one example of every other class for the slow step, and the rest."""
    named = {name: pytest.mark.exhaustive if name in FURTHER else pytest.mark.slow for name in names}
    return [name if name in fast else marked(name, mark) for name, mark in named.items()]


@functools.cache
def example(name):
    """The estimator of a name, fitted."""
    estimator, X, y = unfitted()[name]
    with warnings.catch_warnings(action="ignore"):
        fitted = clone(estimator).fit(X, y, **EXTRAS.get(name, {}))
        return fitted.harden() if name.startswith("hardened") else fitted


def rows_of(name):
    """The table that an estimator was fitted on."""
    return unfitted()[name][1]


def _soft(table, plain, classes, numbers, two):
    few = {"depth": 2, "max_epochs": 3, "random_state": 0}
    return {
        "soft": (jaxtree.SoftTreeClassifier(**few, class_weight={"low": 2.0}), table, classes),
        "soft_regression": (jaxtree.SoftTreeRegressor(**few, gate="axis", scaling="quantile"), table, numbers),
        "soft_poisson": (jaxtree.SoftTreeRegressor(**few, loss="poisson"), plain, np.abs(numbers)),
        "soft_forest": (jaxtree.SoftForestClassifier(3, **few, mixture="learned"), table, classes == "low"),
        "soft_forest_regression": (jaxtree.SoftForestRegressor(3, **few, validation_fraction=0.2), plain, two),
    }


def _hardened(table, plain, classes, numbers):
    few = {"depth": 2, "max_epochs": 3, "random_state": 0}
    by_leaf = {"gate": "hard", "mixture": "by_leaf"}
    return {
        "hardened": (jaxtree.SoftTreeClassifier(**few), table, classes),
        "hardened_regression": (jaxtree.SoftTreeRegressor(**few, scaling="quantile"), plain, numbers),
        "hardened_axis": (jaxtree.SoftTreeClassifier(**few, gate="axis"), table, classes),
        "hardened_forest": (jaxtree.SoftForestClassifier(3, **few, **by_leaf), table, classes),
        "hardened_forest_regression": (jaxtree.SoftForestRegressor(3, **few, **by_leaf), plain, numbers),
    }


def lopsided(scores, target, extras):
    """A loss of one's own: errors above the target cost three times as much."""
    error = scores[0] - target
    return jnp.where(error > 0, 3.0, 1.0) * error**2


def _boosted(table, plain, classes, numbers):
    few = {"n_estimators": 4, "max_depth": 2, "min_samples_leaf": 4}
    classifier, regressor = jaxtree.GradientBoostingClassifier, jaxtree.GradientBoostingRegressor
    return {
        "boosted": (classifier(**few, early_stopping=True, random_state=0), table, classes == "low"),
        "boosted_classes": (classifier(**few, reg_lambda=0.5, categorical_splits="ordered"), table, classes),
        "boosted_regression": (regressor(**few, missing="branch", categorical_splits="multiway"), table, numbers),
        "boosted_counts": (regressor(**few, loss="poisson"), plain, np.abs(numbers)),
        "boosted_normal": (
            regressor(**few, loss=boosting.distributions.normal(), multi_strategy="one_output_per_tree"),
            table,
            numbers,
        ),
        "boosted_lognormal": (regressor(**few, loss=boosting.distributions.lognormal()), plain, np.exp(numbers / 10)),
        "boosted_own": (regressor(**few, loss=boosting.Loss(lopsided)), table, numbers),
        "boosted_ranker": (jaxtree.GradientBoostingRanker(**few, ndcg_at=3), table, np.digitize(numbers, [0.0, 5.0])),
        "boosted_distribution": (jaxtree.GradientBoostingDistribution(**few, distribution="student_t"), table, numbers),
    }


def _additive(table, plain, classes, numbers):
    few = {"outer_bags": 2, "max_rounds": 60, "learning_rate": 0.2, "min_samples_leaf": 2, "max_interaction_bins": 4}
    classifier, regressor = jaxtree.ExplainableBoostingClassifier, jaxtree.ExplainableBoostingRegressor
    return {
        "additive": (classifier(**few, interactions=1), table, classes == "low"),
        "additive_classes": (classifier(**few, interactions=2, class_weight="balanced"), table, classes),
        "additive_regression": (regressor(**few, interactions=[("number", "color")]), table, numbers),
        "additive_counts": (regressor(**few, loss="poisson", interactions=0), plain, np.abs(numbers)),
        "additive_own": (regressor(**few, loss=boosting.Loss(lopsided), interactions=1), table, numbers),
    }


def predictions(estimator, X):
    """All that an estimator predicts of rows, by name."""
    names = [name for name in ("apply", "predict", "predict_proba") if hasattr(estimator, name)]
    results = {name: getattr(estimator, name)(X) for name in names}
    flat = {name: value if isinstance(value, list) else [value] for name, value in results.items()}
    return {f"{name} {number}": part for name, parts in flat.items() for number, part in enumerate(parts)}


@functools.cache
def effects(name):
    """A forest of treatment effects, its table and its outcomes: "causal", "arms", "dose" or "instrumental"."""
    row = np.arange(240)
    table = pd.concat([mixed_table()] * 4, ignore_index=True)
    table["number"] = np.round(table["number"] + row / 100, 2)
    noise, coin = np.sin(row * 2.3), row * 7 % 11 % 2
    effect = 2.0 * (table["number"].fillna(0).to_numpy() > 0)
    few = {"n_estimators": 48, "min_samples_leaf": 3, "random_state": 0}
    known = {"y_hat": effect / 2, "treatment_hat": np.full(240, 0.5)}
    if name == "causal":
        arm = np.where(coin, "drug", "placebo")
        forest = jaxtree.CausalForest(**few, control="placebo")
        return forest.fit(table, effect * coin + noise, treatment=arm, **known), table, effect * coin + noise
    if name == "arms":
        arm, chance = row * 7 % 11 % 3, np.full((240, 2), 1 / 3)
        y = effect * (arm == 1) + 3 * (arm == 2) + noise
        given = {"treatment": np.array(["none", "small", "great"])[arm], "y_hat": effect / 3, "treatment_hat": chance}
        return jaxtree.CausalForest(**few, control="none").fit(table, y, **given), table, y
    if name == "dose":
        dose = np.cos(row * 1.9)
        y = effect * dose + noise
        given = {"treatment": dose, "y_hat": np.zeros(240), "treatment_hat": np.zeros(240)}
        return jaxtree.CausalForest(**few).fit(table, y, **given), table, y
    taken = coin * (noise > -0.5)
    y = effect * taken + noise
    given = {"treatment": taken, "instrument": coin, **known, "instrument_hat": np.full(240, 0.5)}
    return jaxtree.InstrumentalForest(**few).fit(table, y, **given), table, y
