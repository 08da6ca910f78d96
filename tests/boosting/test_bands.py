"""Bands of boosted trees: laws of rows, weights, groups and seeds, what they refuse, and how often they hold."""

import functools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import jaxtree
from jaxtree import GradientBoostingClassifier, GradientBoostingRegressor, to_html
from jaxtree.errors import InvalidInputError
from jaxtree.figures.dependence import dependence_on, limits_on
from jaxtree.plot import plot_dependence
from jaxtree.table.redraws import RedrawnRows
from tests.page.pages import told_by

NUM_ROWS, DRAWS = 200, 20


@functools.cache
def table():
    generator = np.random.default_rng(3)
    age = generator.uniform(20, 70, NUM_ROWS).round()
    X = pd.DataFrame({
        "age": np.where(np.arange(NUM_ROWS) % 10 == 0, np.nan, age),
        "job": generator.choice(["mill", "sea", "none"], NUM_ROWS),
    })  # fmt: skip
    scores = np.sin(age / 10) + (X["job"] == "sea").to_numpy() * 0.5
    return X, scores + generator.normal(size=NUM_ROWS) * 0.5


KINDS = {
    "numbers": (GradientBoostingRegressor, {}, lambda y: y, {}),
    "two": (GradientBoostingClassifier, {}, lambda y: np.where(y > 0, "yes", "no"), {}),
    "three": (GradientBoostingClassifier, {}, lambda y: np.digitize(y, [-0.5, 0.5]), {}),
    "times": (GradientBoostingRegressor, {"loss": "cox"}, np.exp, {"event": np.arange(NUM_ROWS) % 3 > 0}),
    "counts": (GradientBoostingRegressor, {"loss": "poisson"}, lambda y: np.exp(y).round(), {}),
    "medians": (GradientBoostingRegressor, {"loss": "absolute_error"}, lambda y: y, {}),
    "folds": (GradientBoostingRegressor, {"early_stopping": "cv", "cv": 3, "n_estimators": 8}, lambda y: y, {}),
    "stopped": (GradientBoostingRegressor, {"early_stopping": True, "n_estimators": 8}, lambda y: y, {}),
}
FAST = ["numbers", "three", "folds"]


@functools.cache
def fitted(kind):
    make, params, target, extras = KINDS[kind]
    X, y = table()
    return make(**{"n_estimators": 8, "max_leaf_nodes": 4, **params}).fit(X, target(y), **extras)


def drawn(kind, model=None, **given):
    _, _, target, extras = KINDS[kind]
    X, y = table()
    return (model or fitted(kind)).bands(X, target(y), **{"draws": DRAWS, **extras, **given})


@functools.cache
def bands_of(kind):
    return drawn(kind)


def ends(bands, X=None):
    return np.stack(bands.predict(table()[0] if X is None else X)[1:])


@pytest.mark.parametrize("kind", [own if own in FAST else pytest.param(own, marks=pytest.mark.slow) for own in KINDS])
def test_predictions_lie_in_their_bands(kind):
    X, model, bands = table()[0], fitted(kind), bands_of(kind)
    band = bands.predict(X)
    right = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
    np.testing.assert_allclose(band.center, right, rtol=1e-9, atol=1e-12)
    assert (band.lower <= band.center).all() and (band.center <= band.upper).all() and (band.lower < band.upper).all()
    if hasattr(model, "classes_"):
        assert band.lower.min() >= 0 and band.upper.max() <= 1
    importances = bands.importances()
    np.testing.assert_array_equal(importances.center, model.feature_importances_)
    assert importances.lower.min() >= 0 and importances.upper.max() <= 1 and bands.column_names == ["age", "job"]
    assert set(bands.coverage) == set(bands.bias) and all(0.8 < own <= 1 for own in bands.coverage.values())


def test_a_seed_repeats_bands_that_begin_with_those_of_fewer_draws():
    bands, again = bands_of("numbers"), drawn("numbers")
    np.testing.assert_array_equal(ends(again), ends(bands))
    assert not np.allclose(ends(drawn("numbers", random_state=1)), ends(bands))
    X, values = table()[0], fitted("numbers").encoder_.values(table()[0])
    few, more = bands._scores(values), drawn("numbers", draws=30)._scores(values)
    np.testing.assert_array_equal(few, more[: DRAWS + 2])
    assert len(more) == 32 and not np.array_equal(few[2], few[3]) and len(X) == few.shape[1]


def test_the_order_of_rows_that_are_predicted_does_not_matter():
    X, bands = table()[0], bands_of("numbers")
    np.testing.assert_allclose(ends(bands, X.iloc[::-1])[:, ::-1], ends(bands))


def test_polars_makes_the_bands_of_pandas():
    X, y = table()
    other = pl.DataFrame({"age": [None if np.isnan(own) else own for own in X["age"]], "job": X["job"].tolist()})
    model = GradientBoostingRegressor(8, max_leaf_nodes=4).fit(other, y)
    np.testing.assert_array_equal(ends(model.bands(other, y, draws=DRAWS), other), ends(bands_of("numbers")))


def test_rows_of_no_weight_are_no_rows():
    X, y = table()
    twice, weight = pd.concat([X, X.iloc[:40]]), np.repeat([1.0, 0.0], [NUM_ROWS, 40])
    bands = fitted("numbers").bands(twice, np.append(y, y[:40] + 9), weight, draws=DRAWS)
    np.testing.assert_array_equal(ends(bands), ends(bands_of("numbers")))


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_a_row_of_weight_2_is_drawn_like_two_rows(loss, monkeypatch):
    X, y = table()
    y, seen, weight = np.exp(y), [], np.full(NUM_ROWS, 2.0)
    plain = RedrawnRows.factors

    def factors(self, draw, weight, again=0):
        seen.append(weight)
        return plain(self, draw, weight, again)

    monkeypatch.setattr(RedrawnRows, "factors", factors)
    model = GradientBoostingRegressor(8, max_leaf_nodes=4, loss=loss).fit(X, y, weight)
    model.bands(X, y, weight, draws=DRAWS)
    np.testing.assert_allclose(np.array(seen), 2)  # whatever weight counts as a row in the fit


@pytest.mark.slow
def test_weights_make_bands_as_rows_that_are_there_more_than_once_do():
    X, y = table()
    times = 1 + np.arange(NUM_ROWS) % 2
    model = GradientBoostingRegressor(8, max_leaf_nodes=4, min_samples_leaf=1, min_child_weight=30)
    of_weights = model.fit(X, y, times).bands(X, y, times, draws=100).predict(X)
    repeated = X.loc[X.index.repeat(times)], np.repeat(y, times)
    of_rows = model.fit(*repeated).bands(*repeated, draws=100).predict(X)
    np.testing.assert_allclose(of_weights.center, of_rows.center, atol=0.02)
    widths = [np.mean(own.upper - own.lower) for own in (of_weights, of_rows)]
    np.testing.assert_allclose(*widths, rtol=0.15)


def test_rows_of_a_group_are_drawn_together():
    X, y = table()
    copies = 4
    X, y, groups = pd.concat([X] * copies), np.tile(y, copies), np.tile(np.arange(NUM_ROWS), copies)
    model = GradientBoostingRegressor(8, max_leaf_nodes=4).fit(X, y)
    alone, together = (model.bands(X, y, draws=DRAWS, groups=own) for own in (None, groups))
    spreads = [own._scores(own._rows.values)[2:].std(axis=0).mean() for own in (alone, together)]
    assert 1.6 < spreads[1] / spreads[0] < 2.5  # the root of the copies


@pytest.mark.parametrize("column", ["age", "job", 1])
def test_dependence_is_that_of_the_model(column):
    X, model, bands = table()[0], fitted("three"), bands_of("three")
    found = bands.dependence(column)
    values = np.asarray(model.encoder_.values(X), np.float64)
    place = X.columns.get_loc(column) if isinstance(column, str) else column
    right = dependence_on(model.schema_, values, place, model.predict_values, limits=limits_on(model, place))
    np.testing.assert_array_equal(found.values, right.values)
    np.testing.assert_allclose(found.band.center, right.means, atol=1e-6)
    assert (found.band.lower <= found.band.center).all() and (found.band.center <= found.band.upper).all()
    np.testing.assert_allclose(bands.dependence(column, X).band, found.band)


def test_a_plot_draws_the_band_of_dependence():
    X = table()[0]
    axes = plot_dependence(fitted("numbers"), X, "age", bands=bands_of("numbers"))
    assert axes.collections
    with pytest.raises(InvalidInputError, match="bands must be those of the model that is shown"):
        plot_dependence(fitted("folds"), X, "age", bands=bands_of("numbers"))


def test_a_page_draws_the_bands_of_dependences_and_importances():
    X, y = table()
    bands = bands_of("numbers")
    page = to_html(fitted("numbers"), X, y, bands=bands)
    cards = {name: card["charts"].get("") for name, card in told_by(page)["cards"].items()}
    band, steps = cards["dependence-0"]["series"]
    found = bands.dependence("age", X).band
    known = slice(len(steps["y"]) - 1)  # the last step reaches to the last edge, and missing values are beside
    assert (band["kind"], band["isSteps"]) == ("band", True)
    for drawn_ends, right in ((band["y0"], found.lower), (steps["y"], found.center), (band["y"], found.upper)):
        np.testing.assert_allclose(drawn_ends[known], right[:-1, 0], rtol=1e-4, atol=1e-4)
    jobs = bands.dependence("job", X).band
    np.testing.assert_allclose(
        cards["dependence-1"]["items"][0]["bars"][0][:2], [jobs.lower[0, 0], jobs.upper[0, 0]], rtol=1e-3
    )
    named = cards["column-importances"]["items"]
    assert [own["name"] for own in named] == ["age", "job"]
    assert "Bands of level 0.9 by 20 draws of 200 rows." in page
    with pytest.raises(InvalidInputError, match="bands must be those of the model that is shown"):
        to_html(fitted("folds"), X, y, bands=bands)


@pytest.mark.slow
def test_survival_is_that_of_the_model():
    X, model, bands = table()[0].iloc[:5], fitted("times"), bands_of("times")
    times = np.quantile(model.event_times_, [0.2, 0.5, 0.8])
    band = bands.survival(X, times=times)
    right = model.predict_survival_function(X, times=times, return_array=True)
    np.testing.assert_allclose(band.center, right, atol=1e-9)
    assert (band.lower < band.center).all() and (band.center < band.upper).all()
    assert band.lower.min() >= 0 and band.upper.max() <= 1
    assert bands.survival(X).center.shape == (5, len(model.event_times_))


def test_survival_is_refused_where_there_are_no_times():
    with pytest.raises(InvalidInputError, match="survival is predicted of survival times"):
        bands_of("numbers").survival(table()[0])


def test_a_saved_model_draws_the_bands_of_its_fit(tmp_path):
    model = fitted("numbers")
    model.save(tmp_path / "model.safetensors")
    for other in (jaxtree.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(ends(drawn("numbers", other)), ends(bands_of("numbers")))


def test_what_is_printed_says_how_far_the_model_is_from_the_best_rounds():
    bands = bands_of("numbers")
    words, page = repr(bands), bands._repr_html_()
    assert "Bands of level 0.9 by 20 draws of 200 rows." in words and "age" in words and "importance" in page
    assert bands.best_rounds > 8 and f"least after {bands.best_rounds} rounds, and the model has 8." in words
    assert bands.bias["prediction"] > 2 and "may not hold: prediction (bias" in words
    assert bands_of("folds").best_rounds is None


def test_a_draw_that_lacks_a_class_is_drawn_again():
    X, _ = table()
    y = np.where(np.arange(NUM_ROWS) < 2, "rare", "usual")
    model = GradientBoostingClassifier(8, max_leaf_nodes=4).fit(X, y)
    band = model.bands(X, y, draws=DRAWS).predict(X)
    assert np.isfinite(band.lower).all() and np.isfinite(band.upper).all()


def test_rows_that_are_not_those_of_the_fit_are_refused():
    X, y = table()
    model = fitted("numbers")
    for other in (X.iloc[::2], X.assign(age=X["age"] + 1), X[["job", "age"]]):
        with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
            model.bands(other, y[: len(other)], draws=DRAWS)
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        model.bands(X, y[::-1], draws=DRAWS)
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        model.refit(X, y + 1).bands(X, y, draws=DRAWS)
    with pytest.raises(InvalidInputError, match="random_state that is a number"):
        GradientBoostingRegressor(8, max_leaf_nodes=4, subsample=0.5).fit(X, y).bands(X, y, draws=DRAWS)


def test_arguments_that_are_not_allowed_are_named():
    X, y = table()
    model = fitted("numbers")
    with pytest.raises(InvalidInputError, match="draws must be at least 20"):
        model.bands(X, y, draws=5)
    with pytest.raises(InvalidInputError, match="level must be above 0 and below 1, got 1"):
        model.bands(X, y, level=1)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        model.bands(X, y[:-1])
    with pytest.raises(InvalidInputError, match="groups must be two or more"):
        model.bands(X, y, draws=DRAWS, groups=np.zeros(NUM_ROWS))
    with pytest.raises(InvalidInputError, match="groups must have one group for each row, got 5"):
        model.bands(X, y, draws=DRAWS, groups=np.arange(5))
    with pytest.raises(InvalidInputError, match="held out no rows"):
        drawn("stopped", groups=np.arange(NUM_ROWS) // 2)
    with pytest.raises(InvalidInputError, match="bands are for drop_rate=0"):
        GradientBoostingRegressor(8, drop_rate=0.5).fit(X, y).bands(X, y)
    with pytest.raises(InvalidInputError, match="bands is for the rounds of one model"):
        GradientBoostingRegressor.mean_of([model, fitted("medians")]).bands(X, y)
    with pytest.raises(NotFittedError):
        GradientBoostingRegressor().bands(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numbers", "classes"])
@pytest.mark.parametrize("depth", [None, 2])
def test_bands_hold_the_means_of_simulated_tables(kind, depth):
    held = []
    for seed in range(8):
        generator = np.random.default_rng(seed)
        X, new = generator.uniform(size=(400, 3)), generator.uniform(size=(200, 3))
        right = lambda X: np.sin(2 * np.pi * X[:, 0]) + np.where(X[:, 1] < 0.5, -0.7, 0.7)  # noqa: E731
        if kind == "numbers":
            model, y, truth = GradientBoostingRegressor, right(X) + generator.normal(size=400), right(new)
        else:
            y, truth = generator.uniform(size=400) < 1 / (1 + np.exp(-right(X))), 1 / (1 + np.exp(-right(new)))
            model = GradientBoostingClassifier
        band = model(30, max_depth=depth).fit(X, y).bands(X, y, draws=50).predict(new)
        lower, upper = (end if kind == "numbers" else end[:, 1] for end in band[1:])
        held.append(np.mean((lower <= truth) & (truth <= upper)))
    assert 0.84 < np.mean(held) < 0.97


def test_bands_of_a_file_leave_out_its_target(tmp_path):
    path = tmp_path / "table.csv"
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(60, 2)).round(3)
    lines = [f"{a},{b},{a + generator.normal():.3f}" for a, b in X.tolist()]
    path.write_text("\n".join(["a,b,t", *lines]))
    model = GradientBoostingRegressor(3, max_depth=2).fit(str(path), "t")
    bands = model.bands(str(path), "t", level=0.8, draws=20)
    np.testing.assert_allclose(bands.predict(str(path)).center, model.predict(str(path)))
