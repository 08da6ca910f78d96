"""Bands of additive models: laws of rows, weights, groups and units, what they say, and how often they hold."""

import functools

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from jaxtree import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from jaxtree.additive.row_loss import _derivatives
from jaxtree.errors import InvalidInputError
from jaxtree.table.redraws import RedrawnRows

NUM_ROWS, DRAWS = 240, 20


@functools.cache
def table():
    generator = np.random.default_rng(3)
    X = pd.DataFrame({
        "age": generator.uniform(20, 70, NUM_ROWS).round(),
        "job": generator.choice(["mill", "sea", "none"], NUM_ROWS),
    })  # fmt: skip
    scores = np.sin(X["age"].to_numpy() / 10) + (X["job"] == "sea") * 0.5
    return X, scores, scores + generator.normal(size=NUM_ROWS) * 0.5


KINDS = {
    "numbers": (ExplainableBoostingRegressor(interactions=1, outer_bags=2), lambda y: y, {}),
    "two": (ExplainableBoostingClassifier(interactions=0, outer_bags=2), lambda y: np.where(y > 0, "yes", "no"), {}),
    "three": (ExplainableBoostingClassifier(interactions=0, outer_bags=2), lambda y: np.digitize(y, [-0.5, 0.5]), {}),
    "times": (
        ExplainableBoostingRegressor(loss="cox", interactions=0, outer_bags=2),
        np.exp,
        {"event": np.arange(NUM_ROWS) % 3 > 0},
    ),
}


@functools.cache
def fitted(kind):
    model, target, extras = KINDS[kind]
    X, _, y = table()
    return model.fit(X, target(y), **extras)


@functools.cache
def bands_of(kind, draws=DRAWS):
    _, target, extras = KINDS[kind]
    X, _, y = table()
    return fitted(kind).bands(X, target(y), draws=draws, **extras)


def ends(bands):
    return np.concatenate([np.ravel(end) for term in bands.explain_global() for end in term.band])


def test_bands_are_around_the_curves_that_a_seed_repeats():
    X, _, y = table()
    model, bands = fitted("numbers"), bands_of("numbers")
    for term in bands.explain_global():
        own, (lower, upper) = model.explain_global()[term.name], term.band
        np.testing.assert_array_equal(own.values, term.values)
        np.testing.assert_allclose((lower + upper) / 2, own.values, atol=1e-9)
        assert (upper - lower)[own.weight > 0].min() > 0
    again = model.bands(X, y, draws=DRAWS)
    np.testing.assert_array_equal(ends(again), ends(bands))
    assert not np.allclose(ends(model.bands(X, y, draws=DRAWS, random_state=1)), ends(bands))


def test_more_draws_begin_with_those_of_fewer():
    X, _, y = table()
    model, X_row = fitted("numbers"), X.iloc[:1]
    few, more = (RedrawnRows(0).factors(2, np.ones(50)) for _ in range(2))
    np.testing.assert_array_equal(few, more)
    widths = [np.ptp(model.bands(X, y, draws=number).predict(X_row)[1:]) for number in (20, 60)]
    assert 0.6 < widths[0] / widths[1] < 1.6


def test_rows_of_no_weight_are_no_rows():
    X, _, y = table()
    twice, weight = pd.concat([X, X.iloc[:40]]), np.repeat([1.0, 0.0], [NUM_ROWS, 40])
    with_them = fitted("numbers").bands(twice, np.append(y, y[:40] + 9), weight, draws=DRAWS)
    np.testing.assert_array_equal(ends(with_them), ends(bands_of("numbers")))


def test_a_row_of_weight_2_is_drawn_like_two_rows():
    factors = np.stack([RedrawnRows(0).factors(draw, np.array([1.0, 2.0, 0.5])) for draw in range(4000)])
    np.testing.assert_allclose(factors.mean(axis=0), 1, atol=0.06)
    np.testing.assert_allclose(factors.var(axis=0), [1, 0.5, 2], rtol=0.1)


@pytest.mark.slow
def test_weights_make_bands_as_rows_that_are_there_more_than_once_do():
    X, _, y = table()
    times = 1 + np.arange(NUM_ROWS) % 2
    model = ExplainableBoostingRegressor(interactions=0, outer_bags=1, validation_size=0, max_rounds=110, max_leaves=2)
    once = model.fit(X, y, times).bands(X, y, times, draws=100)
    of_weights, repeated = once.predict(X), (X.loc[X.index.repeat(times)], np.repeat(y, times))
    of_rows = model.fit(*repeated).bands(*repeated, draws=100).predict(X)
    np.testing.assert_array_equal(once.predict(X), of_weights)  # whatever its estimator has learned since
    np.testing.assert_allclose(of_weights.center, of_rows.center, atol=0.05)
    widths = [np.mean(own.upper - own.lower) for own in (of_weights, of_rows)]
    np.testing.assert_allclose(*widths, rtol=0.1)


def clone_of(kind):
    model = KINDS[kind][0]
    return type(model)(**model.get_params())


def test_rows_of_a_group_are_drawn_together():
    X, _, y = table()
    copies = 4
    model = ExplainableBoostingRegressor(interactions=0, outer_bags=2)
    X, y = pd.concat([X] * copies), np.tile(y, copies)
    groups = np.tile(np.arange(NUM_ROWS), copies)
    model.fit(X, y)
    factors = RedrawnRows(0, groups).factors(0, np.ones(len(y))).reshape(copies, -1)
    assert (factors == factors[0]).all() and factors.var() > 0.5
    alone, together = (model.bands(X, y, draws=DRAWS, groups=own).predict(X.iloc[:NUM_ROWS]) for own in (None, groups))
    ratio = (together.upper - together.lower).mean() / (alone.upper - alone.lower).mean()
    assert 1.4 < ratio < 2.4  # the root of the copies, as far as it is noise and not bias that bands are of


def test_bands_of_a_target_in_other_units_are_so_many_times_as_wide():
    X, _, y = table()
    other = clone_of("numbers").fit(X, 1024 * y).bands(X, 1024 * y, draws=DRAWS)
    np.testing.assert_allclose(ends(other), 1024 * ends(bands_of("numbers")), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_lie_in_their_bands(kind):
    X = table()[0]
    model, band = fitted(kind), bands_of(kind).predict(X)
    right = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
    np.testing.assert_allclose(band.center, right, rtol=1e-5, atol=1e-6)
    assert (band.lower <= band.center + 1e-9).all() and (band.center <= band.upper + 1e-9).all()
    assert (band.lower < band.upper).all()
    if hasattr(model, "classes_"):
        assert band.lower.min() >= 0 and band.upper.max() <= 1


def test_of_two_classes_one_band_is_the_other_s_turned_round():
    band = bands_of("two").predict(table()[0])
    np.testing.assert_allclose(band.lower[:, 0], 1 - band.upper[:, 1], atol=1e-6)


@pytest.mark.parametrize("column", ["age", "job", 1])
def test_dependence_is_that_of_the_model(column):
    X, model = table()[0], fitted("two")
    found = bands_of("two").dependence(column)
    name = column if isinstance(column, str) else X.columns[column]
    values = model.schema_.columns[X.columns.get_loc(name)]
    for value, mean in zip(found.values, found.band.center, strict=True):
        if not np.isnan(value):
            word = values.categories[int(value)] if values.bins is None else value
            np.testing.assert_allclose(mean, model.predict_proba(X.assign(**{name: word})).mean(axis=0), atol=1e-6)
    assert (found.band.lower < found.band.center).all() and (found.band.center < found.band.upper).all()
    of_rows = bands_of("two").dependence(column, X)
    np.testing.assert_allclose(of_rows.band, found.band)


def test_survival_is_that_of_the_model_and_wider_for_fewer_rows():
    X, model, bands = table()[0].iloc[:5], fitted("times"), bands_of("times")
    times = np.quantile(model.event_times_, [0.2, 0.5, 0.8])
    band = bands.survival(X, times=times)
    right = model.predict_survival_function(X, times=times, return_array=True)
    np.testing.assert_allclose(band.center, right, atol=1e-6)
    assert (band.lower < band.center).all() and (band.center < band.upper).all()
    assert band.lower.min() >= 0 and band.upper.max() <= 1
    assert bands.survival(X).center.shape == (5, len(model.event_times_))
    with pytest.raises(InvalidInputError, match="survival is predicted of survival times"):
        bands_of("numbers").survival(X)


@pytest.mark.parametrize("kind", ["numbers", "three"])
def test_importances_are_those_of_terms(kind):
    band, model = bands_of(kind).importances(), fitted(kind)
    np.testing.assert_allclose(band.center, model.term_importances_)
    assert band.lower.min() >= 0 and (band.lower <= band.center).all() and (band.center < band.upper).all()


def test_what_is_printed_names_terms_and_how_often_bands_of_draws_hold():
    bands = bands_of("numbers")
    words, page = repr(bands), bands._repr_html_()
    assert "Bands of level 0.9 by 20 draws of the residuals of 240 rows" in words
    assert all(name in words for name in bands.term_names) and "coverage" in page
    assert set(bands.coverage) == set(bands.bias) == set(bands.term_names)
    assert all(0 <= own <= 1 for own in bands.coverage.values())


def test_curves_that_shrinkage_bends_are_named():
    X = np.random.default_rng(1).uniform(size=(400, 2))
    y = 2 * np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=400)
    held = {}
    for rounds in (11, 50_000):
        model = ExplainableBoostingRegressor(max_rounds=rounds, outer_bags=2, interactions=0).fit(X, y)
        bands, layout = model.bands(X, y, draws=DRAWS), model.additive_.layout
        codes, right = model.encoder_.transform(X), 2 * np.sin(6 * X[:, 0])
        lower, upper = (end[:, 0][layout.bins_of(0, codes)] for end in bands.curve("x0").band)
        own = right - right.mean()
        held[rounds] = np.mean((lower <= own) & (own <= upper))
        words = " ".join(bands.notes())
        assert ("may not hold: x0 (bias" in words) == (rounds == 11) and "x1 (bias" not in words
    assert held[11] < 0.7 < held[50_000]


def test_rows_that_are_not_those_of_the_fit_are_refused():
    X, _, y = table()
    model = fitted("numbers")
    for other in (X.iloc[::2], X.assign(age=X["age"] + 1)):
        with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
            model.bands(other, y[: len(other)], draws=DRAWS)
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        model.bands(X[["job", "age"]], y, draws=DRAWS)
    with pytest.raises(InvalidInputError, match="changed by hand"):
        model.scale("age", 0.5).bands(X, y)
    with pytest.raises(InvalidInputError, match="draws must be at least 20"):
        model.bands(X, y, draws=5)
    with pytest.raises(InvalidInputError, match="groups must be two or more"):
        model.bands(X, y, draws=DRAWS, groups=np.zeros(NUM_ROWS))
    with pytest.raises(InvalidInputError, match="groups must have one group for each row, got 5"):
        model.bands(X, y, draws=DRAWS, groups=np.arange(5))
    with pytest.raises(NotFittedError):
        ExplainableBoostingRegressor().bands(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_bands_hold_the_curves_of_simulated_tables(kind):
    held = []
    for seed in range(8):
        generator = np.random.default_rng(seed)
        X = generator.uniform(size=(400, 3))
        parts = [np.sin(2 * np.pi * X[:, 0]), np.where(X[:, 1] < 0.5, -0.7, 0.7), 0 * X[:, 2]]
        scores = sum(parts)
        if kind == "numbers":
            model, y = ExplainableBoostingRegressor(interactions=0), scores + generator.normal(size=400)
        else:
            y = generator.uniform(size=400) < 1 / (1 + np.exp(-scores))
            model = ExplainableBoostingClassifier(interactions=0)
        bands = model.fit(X, y).bands(X, y, draws=50)
        codes, layout = model.encoder_.transform(X), model.additive_.layout
        for term, right in enumerate(parts):
            lower, upper = (end[:, 0][layout.bins_of(term, codes)] for end in bands.curve(f"x{term}").band)
            own = right - right.mean()
            held.append(np.mean((lower <= own) & (own <= upper)))
    assert 0.82 < np.mean(held) < 0.97


def test_draws_share_their_programs():
    X, _, y = table()
    bands_of("two")
    before = _derivatives.num_programs()
    fitted("two").bands(X, np.where(y > 0, "yes", "no"), draws=30, random_state=5)
    assert _derivatives.num_programs() == before
