"""Settings of a search as a table and as a page: the best first, on the scales of the space."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform, uniform
from sklearn.metrics import make_scorer, mean_absolute_error

from jaxtree import DecisionTreeClassifier, DecisionTreeRegressor, GradientBoostingRegressor, SearchCV
from jaxtree.errors import InvalidInputError
from jaxtree.figures.searches import Scale, ScoredSettings, scale_of, scales_of_space
from jaxtree.page.settings import MOST_LINES, parallel_card, scatter_card
from tests.page.pages import told_by
from tests.search.beside import FOLDS, numbers, targets

X, CLASSES = numbers()
_, NUMBERS = targets()
TREES = {"ccp_alpha": [0.0, 0.01, 0.1], "max_depth": [1, 2, None]}


@pytest.fixture(scope="module")
def trees():
    return SearchCV(
        DecisionTreeClassifier(), TREES, cv=FOLDS, scoring=["accuracy", "neg_log_loss"], refit="accuracy"
    ).fit(X, CLASSES)


@pytest.fixture(scope="module")
def boosted():
    space = {"learning_rate": loguniform(0.05, 0.2), "subsample": uniform(0.5, 0.5), "n_estimators": [4, 8]}
    estimator = GradientBoostingRegressor(random_state=0)
    options = {"n_iter": 6, "random_state": 0, "cv": FOLDS, "factor": 2, "min_resources": 2}
    return SearchCV(estimator, space, scoring="neg_root_mean_squared_error", **options).fit(X, NUMBERS)


def test_the_best_stands_first_by_what_chose(trees):
    board, results = trees.leaderboard(), trees.cv_results_
    frame = pd.DataFrame(board)
    assert frame["accuracy"].is_monotonic_decreasing and list(frame["rank"]) == list(range(1, 10))
    assert frame["setting"][0] == trees.best_index_
    for place, number in enumerate(frame["setting"]):
        own = [results[f"split{fold}_test_accuracy"][number] for fold in range(3)]
        assert frame["accuracy"][place] == pytest.approx(np.mean(own))
        assert frame["se"][place] == pytest.approx(np.std(own, ddof=1) / np.sqrt(3))
        assert frame["seconds"][place] == pytest.approx(3 * results["mean_fit_time"][number])
        assert {name: frame[name][place] for name in TREES} == results["params"][number]


def test_a_loss_has_no_sign_and_less_of_it_is_better(trees):
    board = trees.leaderboard("neg_log_loss")
    best = int(trees.cv_results_["mean_test_neg_log_loss"].argmax())
    assert board["setting"][0] == best and board["log_loss"][0] == board["log_loss"].min() > 0
    own = SearchCV(
        DecisionTreeRegressor(), {"max_depth": [1, 3]}, cv=FOLDS,
        scoring=make_scorer(mean_absolute_error, greater_is_better=False),
    ).fit(X, NUMBERS).leaderboard()  # fmt: skip
    assert own["mean_absolute_error"][0] == own["mean_absolute_error"].min() > 0
    with pytest.raises(InvalidInputError, match="metric must be one of accuracy, neg_log_loss, got 'r2'"):
        trees.leaderboard("r2")


def test_settings_that_were_dropped_stand_below_and_time_is_shared_by_rounds(boosted):
    board, results = boosted.leaderboard(), boosted.cv_results_
    rung = results["iter"][board["setting"]]
    assert (np.diff(rung) <= 0).all() and len(set(rung)) > 1
    assert board["setting"][0] == boosted.best_index_ and (board["root_mean_squared_error"] > 0).all()
    made = [sum(map(len, boosted.learning_curves_[number])) for number in board["setting"]]
    np.testing.assert_allclose(board["seconds"] / board["seconds"].sum(), np.array(made) / sum(made))
    assert "dropped by successive halving" in boosted.to_html()


def test_a_failed_setting_stands_last_without_a_score():
    with pytest.warns(Warning, match="fits failed"):
        search = SearchCV(DecisionTreeClassifier(), {"max_depth": [-1, 1]}, cv=FOLDS).fit(X, CLASSES)
    board = search.leaderboard()
    assert board["setting"].tolist() == [1, 0] and np.isnan(board["accuracy"][1]) and "failed" in repr(board)
    assert "1 of 2 settings failed" in search.to_html()


def test_axes_are_those_of_the_space():
    space = {
        "narrow": loguniform(0.05, 0.2), "wide": uniform(1, 99), "steps": [0.1, 0.3, 1.0], "even": [10, 20, 30],
        "words": ["a", "b", "c"], "few": [1, 100],
    }  # fmt: skip
    scales = scales_of_space([space, {"steps": [5]}])
    assert scales == {"narrow": Scale.LOGARITHMIC, "wide": Scale.LINEAR, "steps": Scale.LOGARITHMIC}
    assert scale_of([0.05, 0.1], scales["narrow"]) == Scale.LOGARITHMIC
    assert scale_of([1.0, 99.0], scales["wide"]) == Scale.LINEAR
    assert scale_of([0.0, 0.1, 0.2], Scale.LOGARITHMIC) == Scale.WITH_ZERO
    assert scale_of(["a", 1], Scale.LOGARITHMIC) == Scale.WORDS


def scored(settings, means):
    scores, none = np.stack([means, means], axis=1), np.zeros(len(means), np.int64)
    return ScoredSettings(settings, scores, "score", False, {}, np.zeros(len(means)), None, None, None, None, none)


def test_one_scale_of_scores_stands_in_all_charts(boosted):
    charts = told_by(boosted.to_html())["cards"]
    limits = {(chart["y"].get("low"), chart["y"].get("high")) for chart in charts["scatter"]["charts"].values()}
    limits |= {(chart["y"].get("low"), chart["y"].get("high")) for chart in charts["progress"]["charts"].values()}
    (parallel,) = charts["parallel"]["charts"].values()
    limits.add((parallel["axes"][-1].get("low"), parallel["axes"][-1].get("high")))
    assert len(limits) == 1 and None not in limits.pop()
    rate = next(own for own in parallel["axes"] if own["label"] == "learning_rate")
    part = next(own for own in parallel["axes"] if own["label"] == "subsample")
    assert [word for at, word in rate["ticks"] if at == -1] == ["0.1"] and "ticks" not in part


def test_hundreds_of_settings_have_the_best_lines_and_the_best_is_drawn_last():
    means = np.random.default_rng(0).normal(size=2 * MOST_LINES)
    settings = [
        {"a": place, "b": "x" if place % 2 else None, **({"c": 1} if place % 3 else {})} for place in range(len(means))
    ]
    (chart,) = parallel_card(scored(settings, means), []).charts.values()
    assert len(chart["lines"]) == MOST_LINES and len(chart["axes"]) == 4
    best = settings[int(means.argmax())]
    assert chart["lines"][-1]["words"].startswith("rank 1:") and f"a {best['a']}" in chart["lines"][-1]["words"]
    absent = [own["at"][2] is None for own in chart["lines"]]
    assert absent == ["c " not in own["words"] for own in chart["lines"]] and any(absent)


def test_a_far_worse_setting_stands_at_the_edge_of_every_chart():
    settings = [{"a": place} for place in range(12)]
    own = scored(settings, np.array([*np.linspace(0, 1, 11), -1e6]))
    (chart,) = scatter_card(own, []).charts.values()
    assert (
        min(min(series["y"]) for series in chart["series"]) > -10 and "1 far worse setting stands" in chart["caption"]
    )


def test_those_that_went_on_stand_above_and_failed_ones_below_whatever_their_scores():
    own = scored([{"a": place} for place in range(4)], np.array([0.9, 0.5, np.nan, 0.7]))
    assert own.order().tolist() == [0, 3, 1, 2]
    assert own._replace(rung=np.array([0, 1, 1, 0])).order().tolist() == [1, 0, 3, 2]
