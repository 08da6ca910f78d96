"""Bands of forests: what they alone draw, say and refuse, and how often they hold.

Laws of all bands stand in `tests/estimators/test_bands.py`.
"""

import functools

import numpy as np
import pytest
import sklearn.ensemble

import jaxtree
from jaxtree import (
    ClassProbabilities,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    SurvivalForest,
)
from jaxtree.errors import InvalidInputError
from tests.estimators.test_bands import DRAWN, NUM_ROWS, bands_of, ends, fitted, table

TREES = 12


def test_the_band_of_a_row_depends_on_no_other_row():
    X, bands = table()[0], bands_of("forest")
    np.testing.assert_array_equal(ends(bands, X.iloc[::-1])[:, ::-1], ends(bands))
    np.testing.assert_array_equal(ends(bands, X.iloc[7:8])[:, 0], ends(bands)[:, 7])


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


def test_a_forest_without_a_seed_has_bands():
    X, y = table()
    model = RandomForestRegressor(TREES).fit(X, y)
    assert np.isfinite(ends(model.bands(X, y, **DRAWN))).all()


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
    bands = bands_of("forest")
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


def test_a_target_that_is_not_that_of_the_fit_is_refused():
    X, y = table()
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        fitted("forest two").bands(X, np.where(y > 0, "yes", "maybe"), **DRAWN)
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        ExtraTreesRegressor(TREES, random_state=0).fit(X, y).refit(X, y + 1).bands(X, y, **DRAWN)
    shares = ClassProbabilities(np.full((NUM_ROWS, 2), 0.5), ["no", "yes"])
    with pytest.raises(InvalidInputError, match="y has probabilities"):
        ExtraTreesClassifier(TREES).fit(X, shares).bands(X, shares, **DRAWN)


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
