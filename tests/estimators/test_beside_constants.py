"""Defaults beside a constant: on rows that no model has seen none is worse, and intervals hold what they promise.

A constant is what can be said without columns: the shares of the classes, the mean, the normal of the mean and the
deviation of the rows of the fit, their quantiles, or equal hazards. Worse is by more than two standard errors of the
mean difference of a row. A fixed number of rounds or epochs costs up to 0.3 nats, or of the loss, on noise; one that
ends early 0.05.
"""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import ndcg_score

import jaxtree
from jaxtree.boosting import accelerated_failure_time, quantiles
from jaxtree_studies.tables.owners import read_owned

LEVELS = [0.05, 0.5, 0.95]
ROWS = 1000
MADE = {
    "numbers": ("linear", "wavy", "uneven", "noise"),
    "classes": ("odds", "rare", "coins"),
}
REAL = {
    "numbers": ("concrete", "airfoil", "wine-red", "wine-white", "abalone", "ccpp", "diamonds", "sick"),
    "classes": ("heart-cleveland", "credit-g", "breast-cancer", "transfusion", "cmc", "flare", "cells", "vines"),
}
NOISE = ("noise", "coins")
AT_HAND = {"sick": load_diabetes, "cells": load_breast_cancer, "vines": load_wine}


def made(name, rng):
    """A table that is made: its columns, and its target."""
    X = rng.normal(size=(ROWS, 5))
    signal = X[:, 0] + 0.7 * X[:, 1] * X[:, 2]
    targets = {
        "linear": lambda: X @ np.arange(5) + rng.normal(size=ROWS),
        "wavy": lambda: np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=ROWS),
        "uneven": lambda: X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.normal(size=ROWS),
        "noise": lambda: rng.normal(size=ROWS),
        "odds": lambda: signal + rng.logistic(size=ROWS) > 0,
        "rare": lambda: signal + rng.logistic(size=ROWS) > 4,
        "coins": lambda: rng.random(ROWS) < 0.3,
    }
    return X, targets[name]()


def table(name, request):
    """Rows to learn from and 30 % others of a table, each with its target."""
    rng = np.random.default_rng(7)
    if name in AT_HAND:
        X, y = AT_HAND[name](return_X_y=True)
    elif name in sum(MADE.values(), ()):
        X, y = made(name, rng)
    else:
        X, y = read_owned(name, request.getfixturevalue("real_data"))
    rows = rng.permutation(len(y))[: 2 * ROWS]
    parts = np.split(rows, [int(0.7 * len(rows))])
    return [(X.iloc[part].reset_index(drop=True) if hasattr(X, "iloc") else X[part], y[part]) for part in parts]


def log_loss(model, train, test):
    """The log loss of every row, and that of the shares of the classes."""
    (X, y), (X_test, y_test) = train, test
    proba, place = model.fit(X, y).predict_proba(X_test), np.searchsorted(model.classes_, y_test)
    shares = np.bincount(np.searchsorted(model.classes_, y))[place] / len(y)
    own = proba[np.arange(len(place)), place]
    return -np.log(np.maximum(own, 1e-15)), -np.log(shares), None


def squared_error(model, train, test):
    (X, y), (X_test, y_test) = train, test
    return (model.fit(X, y).predict(X_test) - y_test) ** 2 / y.var(), (y_test - y.mean()) ** 2 / y.var(), None


def log_density(model, train, test):
    """Minus the log density of every row, that of a normal of all rows, and which rows lie in 90 % intervals."""
    (X, y), (X_test, y_test) = train, test
    said = model.fit(X, y).predict_dist(X_test)
    low, high = said.interval(0.9).T
    normal = 0.5 * np.log(2 * np.pi * y.var()) + (y_test - y.mean()) ** 2 / (2 * y.var())
    return -np.asarray(said.log_prob(y_test)), normal, (low <= y_test) & (y_test <= high)


def pinball(model, train, test):
    """The loss of quantiles of every row, that of quantiles of all rows, and which rows lie between the outer ones."""
    (X, y), (X_test, y_test) = train, test
    said = model.fit(X, y).predict(X_test)

    def loss(quantile):
        error = y_test[:, None] - quantile
        return np.maximum(LEVELS * error, (np.array(LEVELS) - 1) * error).sum(axis=1)

    constant = loss(np.quantile(y, LEVELS)[None])
    return loss(said) / constant.mean(), constant / constant.mean(), (said[:, 0] <= y_test) & (y_test <= said[:, 2])


def partial_likelihood(model, train, test):
    """Minus the log partial likelihood of every event, and that of equal hazards."""
    (X, y), (X_test, y_test) = train, test
    scale, rng = y.std(), np.random.default_rng(3)
    times = [np.exp((own - y.mean()) / scale) * rng.exponential(size=len(own)) for own in (y, y_test)]
    events = [rng.random(len(own)) < 0.7 for own in times]
    score = model.fit(X, times[0], event=events[0]).raw_scores(X_test)[:, 0]
    order = np.argsort(-times[1])
    at_risk = np.logaddexp.accumulate(score[order])
    is_event = events[1][order]
    return (at_risk - score[order])[is_event], np.log(np.arange(1, len(order) + 1))[is_event], None


def _positive(z, rng):
    return np.exp(z), {}


def _counts(z, rng):
    return rng.poisson(np.exp(0.8 * np.clip(z, -3, 3))).astype(float), {}


def _failure_times(z, rng):
    times = np.exp(z) * rng.exponential(size=len(z))
    return times, {"upper": np.where(rng.random(len(z)) < 0.7, times, np.inf)}


def _two_targets(z, rng):
    return np.column_stack([z, np.abs(z)]), {}


def own_loss(of):
    """Makes the measure by the model's loss, of targets and extras that a function makes of standardised numbers."""

    def measure(model, train, test):
        (X, y), (X_test, y_test) = train, test
        rng = np.random.default_rng(3)
        pairs = [of((own - y.mean()) / y.std(), rng) for own in (y, y_test)]
        (target, extras), (target_test, extras_test) = pairs
        scores = model.fit(X, target, **extras).raw_scores(X_test).T
        loss, start = model.loss_, model.loss_.start(target, np.ones(len(y)), extras)
        constant = np.broadcast_to(start[:, None], scores.shape)
        own, others = (np.asarray(loss.values(at, target_test, extras_test), float) for at in (scores, constant))
        if target.ndim > 1:
            own, others = own / others.mean(), others / others.mean()
        is_inside = None
        if hasattr(loss, "quantile") and not loss.domain.is_whole and not extras:
            low, high = (np.asarray(loss.quantile(scores, level)) for level in (0.05, 0.95))
            is_inside = (low <= target_test) & (target_test <= high)
        return own, others, is_inside

    return measure


def lost_gain(model, train, test):
    """The gain that an order within groups of ten lacks, and the gain that random orders lack."""
    relevance, groups = [], []
    for _, own in (train, test):
        relevance.append(np.searchsorted(np.quantile(train[1], [0.5, 0.8, 0.95]), own))
        groups.append(np.arange(len(own)) // 10)
    scores = model.fit(train[0], relevance[0], group=groups[0]).predict(test[0])
    rng = np.random.default_rng(3)
    own, random = [], []
    for group in np.unique(groups[1]):
        rows = groups[1] == group
        if rows.sum() > 1 and relevance[1][rows].any():
            truth = relevance[1][rows][None]
            own.append(1 - ndcg_score(truth, scores[rows][None]))
            random.append(1 - np.mean([ndcg_score(truth, rng.random(truth.shape)) for _ in range(20)]))
    return np.array(own), np.array(random), None


FOLDS, STOPS = {"early_stopping": "cv"}, {"early_stopping": True}
MODELS = {
    "distribution": (jaxtree.GradientBoostingDistribution(), "numbers", log_density),
    "distribution of folds": (jaxtree.GradientBoostingDistribution(**FOLDS), "numbers", log_density),
    "distribution that stops": (jaxtree.GradientBoostingDistribution(**STOPS), "numbers", log_density),
    "quantiles": (jaxtree.GradientBoostingRegressor(loss=quantiles(LEVELS)), "numbers", pinball),
    "hazards": (jaxtree.GradientBoostingRegressor(loss="cox"), "numbers", partial_likelihood),
    "hazards of folds": (jaxtree.GradientBoostingRegressor(loss="cox", **FOLDS), "numbers", partial_likelihood),
    "boosting": (jaxtree.GradientBoostingRegressor(), "numbers", squared_error),
    "boosting of folds": (jaxtree.GradientBoostingRegressor(**FOLDS), "numbers", squared_error),
    "additive": (jaxtree.ExplainableBoostingRegressor(), "numbers", squared_error),
    "soft": (jaxtree.SoftTreeRegressor(), "numbers", squared_error),
    "boosted classes": (jaxtree.GradientBoostingClassifier(), "classes", log_loss),
    "boosted classes of folds": (jaxtree.GradientBoostingClassifier(**FOLDS), "classes", log_loss),
    "additive classes": (jaxtree.ExplainableBoostingClassifier(), "classes", log_loss),
    "soft classes": (jaxtree.SoftTreeClassifier(), "classes", log_loss),
    "soft forest": (jaxtree.SoftForestClassifier(), "classes", log_loss),
}
SOFT, SOFT_FOREST = jaxtree.SoftTreeRegressor, jaxtree.SoftForestRegressor
BOOSTED, OF_DISTRIBUTION = jaxtree.GradientBoostingRegressor, jaxtree.GradientBoostingDistribution
OF_OTHER_TARGETS = {
    "soft normal": (SOFT(loss="normal"), "others", log_density),
    "soft laplace": (SOFT(loss="laplace"), "others", own_loss(lambda z, rng: (z, {}))),
    "soft forest of normals": (SOFT_FOREST(loss="normal"), "others", log_density),
    "soft lognormal": (SOFT(loss="lognormal"), "others", own_loss(_positive)),
    "soft weibull": (SOFT(loss="weibull"), "others", own_loss(_positive)),
    "soft counts": (SOFT(loss="poisson"), "others", own_loss(_counts)),
    "soft wide counts": (SOFT(loss="negative_binomial"), "others", own_loss(_counts)),
    "soft quantiles": (SOFT(loss=quantiles(LEVELS)), "others", pinball),
    "soft hazards": (SOFT(loss="cox"), "others", partial_likelihood),
    "soft times": (SOFT(loss=accelerated_failure_time("normal", None)), "times", own_loss(_failure_times)),
    "soft targets": (SOFT(), "others", own_loss(_two_targets)),
    "soft orders": (SOFT(loss="ndcg"), "others", lost_gain),
    "orders": (jaxtree.GradientBoostingRanker(), "others", lost_gain),
    "targets": (BOOSTED(), "others", own_loss(_two_targets)),
    "targets of folds": (BOOSTED(**FOLDS), "others", own_loss(_two_targets)),
    "counts": (BOOSTED(loss="poisson"), "others", own_loss(_counts)),
    "counts of folds": (BOOSTED(loss="poisson", **FOLDS), "others", own_loss(_counts)),
    "wide counts": (OF_DISTRIBUTION(distribution="negative_binomial"), "others", own_loss(_counts)),
    "lognormal": (OF_DISTRIBUTION(distribution="lognormal"), "others", own_loss(_positive)),
    "laplace": (OF_DISTRIBUTION(distribution="laplace"), "others", own_loss(lambda z, rng: (z, {}))),
    "additive counts": (jaxtree.ExplainableBoostingRegressor(loss="poisson"), "others", own_loss(_counts)),
}
MODELS |= OF_OTHER_TARGETS
TABLES = {kind: (*MADE[kind], *REAL[kind]) for kind in MADE} | {"times": ("uneven", "noise", "wine-red")}
TABLES["others"] = (*TABLES["times"], "sick")
FAST = [
    ("soft normal", "uneven"),
    ("distribution", "uneven"),
    ("distribution", "sick"),
    ("quantiles", "uneven"),
    ("hazards", "wavy"),
]


def _ends_early(model):
    """Whether a fitted model has kept the best of its rounds or epochs on rows that were held out."""
    if hasattr(model, "max_epochs"):
        return "validation_loss" in model.history_
    return model.get_params().get("early_stopping", True)


def _cells():
    """Every model on every table; the slow step has the noise and every third of the others, which take their turns."""
    for number, (name, (_, kind, _)) in enumerate(MODELS.items()):
        for place, of in enumerate(TABLES[kind]):
            is_turn = of in NOISE or (number + place) % 3 == 0
            mark = pytest.mark.slow if is_turn else pytest.mark.exhaustive
            yield pytest.param(name, of, marks=() if (name, of) in FAST else mark, id=f"{name}-{of}")


@pytest.mark.parametrize(("name", "of"), _cells())
def test_defaults_are_no_worse_than_a_constant(name, of, request):
    model, _, measure = MODELS[name]
    own, constant, is_inside = measure(model.set_params(random_state=0), *table(of, request))
    difference = own - constant
    allowed = 2 * difference.std() / np.sqrt(len(difference))
    if of in NOISE:
        allowed = max(allowed, 0.05 if _ends_early(model) else 0.3)
    assert difference.mean() <= allowed
    assert is_inside is None or 0.8 <= is_inside.mean() <= 0.97
