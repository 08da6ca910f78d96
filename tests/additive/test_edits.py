"""Additive models changed by hand: what changes, what stays, and what it costs."""

import datetime
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss, mean_squared_error

from jaxtree import ExplainableBoostingRegressor
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.display import facts_of
from tests.additive.explained import fitted, rows, table


def curve(model, name):
    return model.explain_global()[name]


def mean_score(model, X):
    return model.raw_scores(X).mean(axis=0)


@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_a_flat_stretch_has_the_mean_of_its_rows_and_the_rest_stays(kind):
    model, X = fitted(kind), rows(kind)
    level = model.flatten("age", low=30, high=45)
    before, after = curve(model, "age"), curve(level, "age")
    axis = before.axes[0]
    inside = np.append((axis.edges[1:] >= 30) & (axis.edges[:-1] <= 45), False)
    inside[:-1] = [30 <= float(label) <= 45 for label in axis.labels[:-1]]
    mean = np.average(before.values[inside], axis=0, weights=before.weight[inside])
    np.testing.assert_allclose(after.values[inside], np.tile(mean, (inside.sum(), 1)), atol=1e-12)
    np.testing.assert_allclose(after.values[~inside], before.values[~inside], atol=1e-12)
    np.testing.assert_allclose(mean_score(level, X), mean_score(model, X), atol=1e-12)
    assert str(level.edits_[0]) == "age: level from 30 to 45" and model.edits_ == ()


def test_a_monotone_curve_is_the_isotonic_regression_of_scikit_learn():
    model, X = fitted("numbers"), rows("numbers")
    for increasing in (True, False):
        sorted_ = model.monotonize("age", increasing=increasing)
        before, after = curve(model, "age"), curve(sorted_, "age")
        place = np.arange(before.axes[0].num_known)
        regression = IsotonicRegression(increasing=increasing)
        right = regression.fit_transform(place, before.values[:-1, 0], sample_weight=before.weight[:-1])
        np.testing.assert_allclose(after.values[:-1, 0], right, atol=1e-10)
        np.testing.assert_allclose(mean_score(sorted_, X), mean_score(model, X), atol=1e-10)
    auto = model.monotonize("hours")
    assert str(auto.edits_[0]) == "hours: made to rise all along"
    assert (np.diff(curve(auto, "hours").values[:-1, 0]) >= -1e-12).all()


def test_bags_change_alike_so_that_errors_follow():
    model = fitted("numbers")
    level, gone = model.flatten("age"), model.scale("age", 0.0)
    assert curve(gone, "age").errors.max() == 0
    assert 0 < curve(level, "hours").errors.max() == curve(model, "hours").errors.max()
    half = model.scale("age", 0.5)
    np.testing.assert_allclose(2 * curve(half, "age").errors, curve(model, "age").errors, atol=1e-12)


def test_a_value_that_is_set_is_added_to_what_others_add():
    model, X = fitted("numbers"), rows("numbers")
    told = model.set_values("job", 2.0, categories=["at sea"])
    is_told = (X["job"] == "at sea").to_numpy()
    before, after = (own.raw_scores(X)[:, 0] for own in (model, told))
    np.testing.assert_allclose(after[~is_told], before[~is_told], atol=1e-12)
    old = curve(model, "job").values[0, 0]
    np.testing.assert_allclose(after[is_told] - before[is_told], 2.0 - old, atol=1e-12)
    missing = model.set_values("hours", -1.0, missing=True)
    is_missing = X["hours"].isna().to_numpy()
    assert (missing.raw_scores(X)[is_missing, 0] != before[is_missing]).all()
    np.testing.assert_allclose(missing.raw_scores(X)[~is_missing, 0], before[~is_missing], atol=1e-12)


def test_terms_are_removed_by_name_and_the_rest_stays():
    model, X = fitted("numbers"), rows("numbers")
    pair = next(name for name in model.term_names_ if " & " in name)
    gone = model.remove_terms(["age", pair])
    kept = [place for place, name in enumerate(model.term_names_) if name not in ("age", pair)]
    assert gone.term_names_ == [model.term_names_[place] for place in kept]
    np.testing.assert_allclose(gone.eval_terms(X), model.eval_terms(X)[:, kept], atol=1e-12)
    np.testing.assert_allclose(gone.raw_scores(X), gone.intercept_ + gone.eval_terms(X).sum(axis=1), atol=1e-12)
    assert gone.feature_importances_[list(X).index("age")] < model.feature_importances_[list(X).index("age")]


def test_idle_terms_are_swept_away():
    model, X = fitted("numbers"), rows("numbers")
    clean = model.sweep()
    assert {"one", "nothing"} <= set(model.term_names_) - set(clean.term_names_)
    np.testing.assert_allclose(clean.raw_scores(X), model.raw_scores(X), atol=1e-12)
    assert clean.sweep().term_names_ == clean.term_names_


def test_edits_say_what_they_cost():
    X, y = table()
    model = fitted("numbers")
    edited = model.flatten("age").scale("hours", 0.5)
    costs = edited.cost_of_edits(X, y)
    between = model.flatten("age")
    wanted = [mean_squared_error(y, own.predict(X)) / 2 for own in (model, between, edited)]
    np.testing.assert_allclose(costs.losses, wanted, rtol=1e-5)
    assert costs.cost == costs.losses[-1] - costs.losses[0] > 0
    lines = str(costs).splitlines()
    assert lines[0].startswith("mean squared_error of 500 rows") and lines[1].endswith("age: level everywhere")
    two, labels = fitted("two").scale("age", 0.0), np.where(np.digitize(y, [0.8]) == 1, "mid", "low")
    losses = two.cost_of_edits(X, labels).losses
    assert losses[1] == pytest.approx(log_loss(labels, two.predict_proba(X)), rel=1e-5)


def test_dates_are_given_as_dates():
    model, X = fitted("numbers"), rows("numbers")
    level = model.flatten("since", low="2021-01-01", high=np.datetime64("2021-06-01"))
    inside = ((X["since"] >= "2021-01-01") & (X["since"] <= "2021-06-01")).to_numpy()
    term = model.term_names_.index("since")
    assert np.ptp(level.eval_terms(X)[inside, term]) == 0
    assert str(level.edits_[0]) == "since: level from 2021-01-01 to 2021-06-01"
    assert str(model.flatten("since", low=datetime.date(2021, 3, 4)).edits_[0]) == "since: level from 2021-03-04"


def test_a_notebook_shows_terms_and_edits():
    shown = dict(facts_of(fitted("numbers").flatten("age", low=30)))
    assert shown["terms"] == "10" and shown["bags"] == "4" and shown["changed by hand"] == "age: level from 30"
    assert "shap_by_table" not in dir(fitted("numbers")) and "flatten" in dir(fitted("numbers"))


def test_another_fit_forgets_edits():
    X, y = table()
    edited = fitted("one").flatten("hours")
    assert len(edited.edits_) == 1 and edited.fit(X[["hours"]], y).edits_ == ()


WRONG = [
    (lambda m: m.flatten("agee"), "term must name a term, one of .*got 'agee'"),
    (lambda m: m.flatten("age & job"), "'age & job' is a pair"),
    (lambda m: m.flatten("age", low=5, high=3), "low must be at most high, got 5 and 3"),
    (lambda m: m.flatten("age", low="x"), "low and high must be numbers of column 'age', got 'x'"),
    (lambda m: m.flatten("age", categories=[1]), "'age' has numbers: give low and high"),
    (lambda m: m.flatten("job", low=1), "'job' has categories: name them by categories="),
    (lambda m: m.flatten("job", categories=["pilot"]), "no category 'pilot'; it has 'at sea', 'in a mill'"),
    (lambda m: m.flatten("job", categories="at sea"), "categories must be a list, got 'at sea'"),
    (lambda m: m.monotonize("job"), "takes a term of one ordered column, and 'job' is none"),
    (lambda m: m.monotonize("age", increasing="up"), "increasing must be True, False or 'auto', got 'up'"),
    (lambda m: m.scale("age", np.nan), "factor must be a finite number, got nan"),
    (lambda m: m.set_values("age", [1, 2]), "value must be a finite number, or 1 of them"),
    (lambda m: m.remove_terms([]), "terms must be some of the .* terms and not all"),
    (lambda m: m.remove_terms(m.term_names_), "terms must be some of the .* terms and not all"),
    (lambda m: m.cost_of_edits(*table()), "edits must have been made"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_what_is_not_allowed_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(fitted("numbers"))


def test_several_scores_have_no_one_way():
    with pytest.raises(InvalidInputError, match="models of one score, got one of 3 classes"):
        fitted("three").monotonize("age")


def test_the_record_names_all_categories_that_are_changed():
    """Categories that share a bin go together."""
    rng = np.random.default_rng(0)
    words = rng.permutation(np.repeat(["a", "b", "r1", "r2"], [90, 90, 3, 3]))
    frame = pd.DataFrame({"word": pd.Categorical(words), "number": np.arange(186) % 7})
    model = ExplainableBoostingRegressor(outer_bags=1, interactions=0, min_cat_samples=20).fit(frame, frame["number"])
    changed = model.set_values("word", 2.0, categories=["r1"])
    assert str(changed.edits_[0]) == "word: 2 in r1, r2"
    moved = frame["word"][~np.isclose(changed.predict(frame), model.predict(frame))]
    assert set(moved) == {"r1", "r2"}
    assert str(model.set_values("word", 2.0, categories=["a"]).edits_[0]) == "word: 2 in a"


SURVIVAL = np.random.default_rng(0).normal(size=(120, 2))
TIME = np.random.default_rng(1).exponential(np.exp(-SURVIVAL[:, 0])) + np.arange(120) * 1e-9
EVENT = np.random.default_rng(2).random(120) < 0.7


@pytest.fixture(scope="module")
def of_times():
    return ExplainableBoostingRegressor(loss="cox", outer_bags=1, interactions=0).fit(SURVIVAL, TIME, event=EVENT)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model,
        lambda model: model.remove_terms("x0"),
        lambda model: model.set_values("x0", 3.0, low=0).scale("x1", -2.0),
        lambda model: model.flatten("x0", high=0).monotonize("x1").sweep(),
    ],
)
def test_hazards_follow_the_scores_of_a_changed_model(of_times, change):
    """The cumulative hazards of all rows, until each was seen last, are as many as there were events."""
    curves = change(of_times).predict_survival_function(SURVIVAL)
    hazards = [-np.log(curves[row](time)) for row, time in enumerate(TIME)]
    assert np.sum(hazards) == pytest.approx(EVENT.sum())


def test_a_changed_model_without_rows_has_no_curves(of_times):
    again = pickle.loads(pickle.dumps(of_times))
    np.testing.assert_array_equal(
        again.predict_survival_function(SURVIVAL, return_array=True),
        of_times.predict_survival_function(SURVIVAL, return_array=True),
    )
    changed = again.remove_terms("x0")
    np.testing.assert_array_equal(changed.predict(SURVIVAL), of_times.remove_terms("x0").predict(SURVIVAL))
    with pytest.raises(InvalidInputError, match="changed after it came from a file"):
        changed.predict_survival_function(SURVIVAL)
