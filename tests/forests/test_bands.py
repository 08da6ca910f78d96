"""Bands of forests: laws of rows, weights, groups and seeds, what they refuse, and how often they hold."""

import functools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.ensemble
from sklearn.exceptions import NotFittedError

import jaxtree
from jaxtree import (
    ClassProbabilities,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    SurvivalForest,
    to_html,
)
from jaxtree.errors import InvalidInputError
from jaxtree.figures.dependence import dependence_on, limits_on
from jaxtree.plot import plot_dependence
from tests.page.pages import told_by

NUM_ROWS, TREES = 150, 12
DRAWN = {"level": 0.8, "draws": 10}


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


def of_three(y):
    return np.digitize(y, [-0.5, 0.5])


KINDS = {
    "numbers": (RandomForestRegressor, {}, lambda y: y, {}),
    "two": (ExtraTreesClassifier, {}, lambda y: np.where(y > 0, "yes", "no"), {}),
    "three": (RandomForestClassifier, {"class_weight": "balanced"}, of_three, {}),
    "times": (SurvivalForest, {}, np.exp, {"event": np.arange(NUM_ROWS) % 3 > 0}),
    "counts": (RandomForestRegressor, {"criterion": "poisson"}, lambda y: np.exp(y).round(), {}),
    "honest": (RandomForestRegressor, {"honest": True}, lambda y: y, {}),
    "subsample": (RandomForestClassifier, {"class_weight": "balanced_subsample"}, of_three, {}),
    "factors": (ExtraTreesClassifier, {"class_weight": {0: 5, 1: 0}}, of_three, {}),
    "outputs": (RandomForestRegressor, {}, lambda y: np.stack([y, -y], axis=1), {}),
    "class outputs": (RandomForestClassifier, {}, lambda y: np.stack([of_three(y), y > 0], axis=1), {}),
    "scored": (RandomForestRegressor, {"oob_score": True, "n_estimators": 60}, lambda y: y, {}),
    "few": (ExtraTreesRegressor, {"n_estimators": 1}, lambda y: y, {}),
}


@functools.cache
def fitted(kind):
    make, params, target, extras = KINDS[kind]
    X, y = table()
    return make(**{"n_estimators": TREES, "random_state": 0, **params}).fit(X, target(y), **extras)


def drawn(kind, model=None, **given):
    _, _, target, extras = KINDS[kind]
    X, y = table()
    return (model or fitted(kind)).bands(X, target(y), **{**DRAWN, **extras, **given})


@functools.cache
def bands_of(kind):
    return drawn(kind)


def ends(bands, X=None):
    return np.stack(bands.predict(table()[0] if X is None else X)[1:])


def right_of(model, X):
    if not hasattr(model, "classes_"):
        return model.predict(X)
    shares = model.predict_proba(X)
    return np.concatenate(shares, axis=1) if isinstance(shares, list) else shares


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_lie_in_their_bands(kind):
    X, model, bands = table()[0], fitted(kind), bands_of(kind)
    band, right = bands.predict(X), right_of(model, X)
    np.testing.assert_allclose(band.center, right, rtol=1e-9, atol=1e-12)
    assert (band.lower <= band.center).all() and (band.center <= band.upper).all()
    assert (band.lower < band.upper).mean() > (0.3 if kind == "factors" else 0.95)
    if hasattr(model, "classes_"):
        assert band.lower.min() >= 0 and band.upper.max() <= 1
    importances = bands.importances()
    np.testing.assert_array_equal(importances.center, model.feature_importances_)
    assert importances.lower.min() >= 0 and importances.upper.max() <= 1 and bands.column_names == ["age", "job"]
    assert set(bands.coverage) == set(bands.bias) and all(0.75 < own <= 1 for own in bands.coverage.values())


def test_a_seed_repeats_bands_that_begin_with_those_of_fewer_draws():
    bands, again = bands_of("numbers"), drawn("numbers")
    np.testing.assert_array_equal(ends(again), ends(bands))
    assert not np.allclose(ends(drawn("numbers", random_state=1)), ends(bands))
    values = fitted("numbers").encoder_.values(table()[0])
    few, more = bands._predictions(values), drawn("numbers", draws=15)._predictions(values)
    np.testing.assert_array_equal(few, more[: len(few)])
    assert len({own.tobytes() for own in more}) == len(more) == 31 > len(few)


def test_the_band_of_a_row_depends_on_no_other_row():
    X, bands = table()[0], bands_of("numbers")
    np.testing.assert_array_equal(ends(bands, X.iloc[::-1])[:, ::-1], ends(bands))
    np.testing.assert_array_equal(ends(bands, X.iloc[7:8])[:, 0], ends(bands)[:, 7])


def test_polars_makes_the_bands_of_pandas():
    X, y = table()
    other = pl.DataFrame({"age": [None if np.isnan(own) else own for own in X["age"]], "job": X["job"].tolist()})
    model = RandomForestRegressor(TREES, random_state=0).fit(other, y)
    np.testing.assert_array_equal(ends(model.bands(other, y, **DRAWN), other), ends(bands_of("numbers")))


@pytest.mark.parametrize("kind", ["numbers", "three", pytest.param("times", marks=pytest.mark.slow)])
def test_rows_of_no_weight_are_no_rows(kind):
    _, params, target, extras = KINDS[kind]
    X, y = table()
    twice, weight = pd.concat([X, X.iloc[:40]]), np.repeat([1.0, 0.0], [NUM_ROWS, 40])
    more = {name: np.append(own, own[:40]) for name, own in extras.items()}
    own = np.append(target(y), target(y)[:40])
    model = type(fitted(kind))(TREES, random_state=0, **params).fit(twice, own, weight, **more)
    none = type(model)(TREES, random_state=0, **params).fit(X, target(y), np.ones(NUM_ROWS), **extras)
    right = none.bands(X, target(y), np.ones(NUM_ROWS), **DRAWN, **extras)
    np.testing.assert_array_equal(ends(model.bands(twice, own, weight, **DRAWN, **more)), ends(right))


@pytest.mark.parametrize("make", [ExtraTreesClassifier, RandomForestClassifier])
def test_classes_are_drawn_by_their_chances_without_weights_of_classes(make):
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(300, 1))
    y = generator.uniform(size=300) < 0.2
    model = make(TREES, min_samples_leaf=30, class_weight={True: 4}, random_state=0).fit(X, y)
    predicted = model.bands(X, y, **DRAWN)._predictions(X)[:, :, 1]
    assert 0.3 < predicted[0].mean() < 0.7  # without weights 0.2
    np.testing.assert_allclose(predicted[1:].mean(), predicted[0].mean(), atol=0.06)


def test_rows_of_more_weight_make_narrower_bands_where_they_lie():
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(300, 1))
    y, weight = generator.normal(size=300), np.where(np.arange(300) % 10 == 0, 50.0, 1.0)
    make = functools.partial(ExtraTreesRegressor, 20, min_samples_leaf=30, random_state=0)
    wide = make().fit(X, y, weight).bands(X, y, weight, draws=20)
    even = make().fit(X, y).bands(X, y, draws=20)
    widths = [np.mean(np.subtract(*own.predict(X)[:0:-1])) for own in (wide, even)]
    assert widths[0] > 1.3 * widths[1]  # few rows have all of the weight


def test_rows_of_a_group_are_drawn_together():
    X, y = table()
    copies = 4
    X, y, groups = pd.concat([X] * copies), np.tile(y, copies), np.tile(np.arange(NUM_ROWS), copies)
    model = ExtraTreesRegressor(TREES, min_samples_leaf=20, random_state=0).fit(X, y)
    alone, together = (model.bands(X, y, draws=20, groups=own) for own in (None, groups))
    spreads = [own._predictions(own._rows.values)[1:].std(axis=0).mean() for own in (alone, together)]
    assert 1.3 < spreads[1] / spreads[0] < 2.5  # near the root of the copies


@pytest.mark.parametrize("kind", ["three", "times"])
@pytest.mark.parametrize("column", ["age", "job", 1])
def test_dependence_is_that_of_the_model(kind, column):
    X, model, bands = table()[0], fitted(kind), bands_of(kind)
    found = bands.dependence(column, X)
    values = np.asarray(model.encoder_.values(X), np.float64)
    place = X.columns.get_loc(column) if isinstance(column, str) else column
    right = dependence_on(model.schema_, values, place, model.predict_values, limits=limits_on(model, place))
    np.testing.assert_array_equal(found.values, right.values)
    np.testing.assert_allclose(found.band.center, right.means, atol=1e-6)
    assert (found.band.lower <= found.band.center).all() and (found.band.center <= found.band.upper).all()


def test_survival_is_that_of_the_model():
    X, model, bands = table()[0].iloc[:5], fitted("times"), bands_of("times")
    times = np.quantile(model.event_times_, [0.2, 0.5, 0.8])
    band = bands.survival(X, times=times)
    right = model.predict_survival_function(X, times=times, return_array=True)
    np.testing.assert_allclose(band.center, right, atol=1e-9)
    assert (band.lower < band.center).any() and (band.lower <= band.center).all() and (band.center <= band.upper).all()
    assert band.lower.min() >= 0 and band.upper.max() <= 1
    assert bands.survival(X).center.shape == (5, len(model.event_times_))
    before = bands.survival(X, times=[model.event_times_[0] / 2])
    np.testing.assert_array_equal(np.stack(before), 1)


def test_a_plot_draws_the_band_of_dependence():
    X = table()[0]
    axes = plot_dependence(fitted("numbers"), X, "age", bands=bands_of("numbers"))
    assert axes.collections
    with pytest.raises(InvalidInputError, match="bands must be those of the model that is shown"):
        plot_dependence(fitted("honest"), X, "age", bands=bands_of("numbers"))


@pytest.mark.parametrize("kind", ["numbers", "two", "times"])
def test_a_page_draws_the_bands_of_dependences_and_importances(kind):
    _, _, target, extras = KINDS[kind]
    X, y = table()
    bands = bands_of(kind)
    page = to_html(fitted(kind), X, target(y), bands=bands, **extras)
    cards = {name: card["charts"].get("") for name, card in told_by(page)["cards"].items()}
    kinds = {series["kind"] for series in cards["dependence-0"]["series"]}
    assert "band" in kinds
    assert sorted(own["name"] for own in cards["column-importances"]["items"]) == ["age", "job"]
    assert "Bands of level 0.8 by 10 draws of the targets of 150 rows." in page


@pytest.mark.parametrize("kind", ["numbers", "three", pytest.param("times", marks=pytest.mark.slow)])
def test_a_saved_model_draws_the_bands_of_its_fit(kind, tmp_path):
    model = fitted(kind)
    model.save(tmp_path / "model.safetensors")
    for other in (jaxtree.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(ends(drawn(kind, other)), ends(bands_of(kind)))


def test_a_forest_without_a_seed_has_bands():
    X, y = table()
    model = RandomForestRegressor(TREES).fit(X, y)
    assert np.isfinite(ends(model.bands(X, y, **DRAWN))).all()


def test_bands_leave_the_model_as_it_was():
    X, y = table()
    model = fitted("scored")
    before = model.oob_score_, len(model), model.predict(X)
    model.bands(X, y, **DRAWN)
    assert (model.oob_score_, len(model)) == before[:2]
    np.testing.assert_array_equal(model.predict(X), before[2])


@pytest.mark.slow
def test_bands_lack_the_noise_of_few_trees():
    generator = np.random.default_rng(0)
    X, new = generator.uniform(size=(100, 2)), generator.uniform(size=(100, 2))
    y, spreads = X[:, 0] + generator.normal(size=100), []
    for number in (8, 200):
        bands = ExtraTreesRegressor(number, max_features=1, random_state=0).fit(X, y).bands(X, y, draws=40)
        halves = bands._predictions(new)[1:]
        draws = (halves[::2] + halves[1::2]) / 2
        spreads.append([own.std(axis=0).mean() for own in (bands._without_noise_of_trees(halves), draws)])
    (few, plain), (many, same) = spreads
    np.testing.assert_allclose(plain, same, rtol=0.05)
    assert many < 0.95 * few and np.isclose(few, plain, rtol=0.05)  # eight trees have the noise of a draw's


def test_what_is_printed_has_importances():
    bands = bands_of("numbers")
    words, page = repr(bands), bands._repr_html_()
    assert "Bands of level 0.8 by 10 draws of the targets of 150 rows." in words
    assert "age" in words and "importance" in page


def test_a_forest_that_smooths_too_much_is_named():
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(400, 1))
    y = 4 * np.sin(10 * X[:, 0]) + 0.1 * generator.normal(size=400)
    bands = RandomForestRegressor(TREES, max_depth=2, random_state=0).fit(X, y).bands(X, y, **DRAWN)
    assert bands.bias["prediction"] > 2
    assert "Trees smooth so much" in repr(bands) and "may not hold: prediction (bias" in repr(bands)


def test_rows_that_are_not_those_of_the_fit_are_refused():
    X, y = table()
    model = fitted("numbers")
    for other in (X.iloc[::2], X.assign(age=X["age"] + 1), X[["job", "age"]]):
        with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
            model.bands(other, y[: len(other)], **DRAWN)
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        model.bands(X, y[::-1], **DRAWN)
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        model.bands(X, y, np.arange(1, NUM_ROWS + 1), **DRAWN)
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        fitted("two").bands(X, np.where(y > 0, "yes", "maybe"), **DRAWN)
    plain = ExtraTreesRegressor(TREES, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        plain.refit(X, y + 1).bands(X, y, **DRAWN)
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        drawn("times", event=np.ones(NUM_ROWS))


def test_few_events_are_refused():
    X, y = table()
    event = np.arange(NUM_ROWS) < 1
    model = SurvivalForest(3, random_state=0).fit(X, np.exp(y), event=event)
    with pytest.raises(InvalidInputError, match="for which the rows have too few: 1"):
        model.bands(X, np.exp(y), event=event, **DRAWN)


def test_an_imported_forest_has_trees_that_do_not_grow_again():
    X = np.random.default_rng(0).uniform(size=(50, 2))
    theirs = sklearn.ensemble.RandomForestRegressor(3, random_state=0).fit(X, X[:, 0])
    with pytest.raises(InvalidInputError, match="growing the trees again makes others"):
        jaxtree.from_sklearn(theirs).bands(X, X[:, 0], **DRAWN)


def test_arguments_that_are_not_allowed_are_named():
    X, y = table()
    for model in (fitted("numbers"), fitted("times")):
        with pytest.raises(InvalidInputError, match="draws must be at least 20"):
            model.bands(X, y, draws=5)
        with pytest.raises(InvalidInputError, match="level must be above 0 and below 1, got 1"):
            model.bands(X, y, level=1)
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
            model.bands(X, np.exp(y[:-1]))
    with pytest.raises(InvalidInputError, match="groups must be two or more"):
        drawn("numbers", groups=np.zeros(NUM_ROWS))
    with pytest.raises(InvalidInputError, match="groups must have one group for each row, got 5"):
        drawn("numbers", groups=np.arange(5))
    shares = ClassProbabilities(np.full((NUM_ROWS, 2), 0.5), ["no", "yes"])
    with pytest.raises(InvalidInputError, match="y has probabilities"):
        ExtraTreesClassifier(TREES).fit(X, shares).bands(X, shares, **DRAWN)
    for kind in (RandomForestRegressor, SurvivalForest):
        with pytest.raises(NotFittedError):
            kind().bands(X, y)


def test_bands_of_a_file_leave_out_its_target(tmp_path):
    path = tmp_path / "table.csv"
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(60, 2)).round(3)
    lines = [f"{a},{b},{a + generator.normal():.3f}" for a, b in X.tolist()]
    path.write_text("\n".join(["a,b,t", *lines]))
    model = RandomForestRegressor(5, random_state=0).fit(str(path), "t")
    bands = model.bands(str(path), "t", level=0.8, draws=20)
    np.testing.assert_allclose(bands.predict(str(path)).center, model.predict(str(path)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numbers", "classes", "times"])
def test_bands_hold_the_means_of_simulated_tables(kind):
    held, held_own, centers, seen = [], [], [], np.random.default_rng(99).uniform(size=(100, 3))
    right = lambda X: np.sin(2 * np.pi * X[:, 0]) + np.where(X[:, 1] < 0.5, -0.7, 0.7)  # noqa: E731
    for seed in range(4 if kind == "times" else 8):
        generator = np.random.default_rng(seed)
        X = generator.uniform(size=(300, 3))
        score = right(X)
        if kind == "numbers":
            y, truth = score + generator.normal(size=300), right(seen)
            band = ExtraTreesRegressor(50, random_state=0).fit(X, y).bands(X, y, draws=40).predict(seen)
        elif kind == "classes":
            y, truth = generator.uniform(size=300) < 1 / (1 + np.exp(-score)), 1 / (1 + np.exp(-right(seen)))
            band = RandomForestClassifier(50, random_state=0).fit(X, y).bands(X, y, draws=40).predict(seen)
            band = type(band)(*(own[:, 1] for own in band))
        else:
            y, truth = generator.exponential(np.exp(-score)), np.exp(-np.exp(right(seen)))
            band = SurvivalForest(50, random_state=0).fit(X, y).bands(X, y, draws=20).survival(seen, times=[1.0])
            band = type(band)(*(own[:, 0] for own in band))
        held.append(np.mean((band.lower <= truth) & (truth <= band.upper)))
        centers.append(band.center)
        held_own.append(band)
    mean = np.mean(centers, axis=0)
    own = np.mean([(one.lower <= mean) & (mean <= one.upper) for one in held_own])
    assert 0.85 < np.mean(held) <= 1 and own > 0.9
