"""Bands of boosted trees: what they alone draw, say and refuse, and how often they hold.

Laws of all bands stand in `tests/estimators/test_bands.py`.
"""

import numpy as np
import pytest

from jaxtree import GradientBoostingClassifier, GradientBoostingRegressor
from jaxtree.errors import InvalidInputError
from jaxtree.table.redraws import RedrawnRows
from tests.estimators.test_bands import DRAWN, NUM_ROWS, bands_of, drawn, fitted, table


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
    model.bands(X, y, weight, **DRAWN)
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


def test_what_is_printed_says_how_far_the_model_is_from_the_best_rounds():
    bands = bands_of("boosted")
    words, page = repr(bands), bands._repr_html_()
    assert "Bands of level 0.8 by 10 draws of 150 rows." in words and "age" in words and "importance" in page
    assert bands.best_rounds > 8 and f"least after {bands.best_rounds} rounds, and the model has 8." in words
    assert bands.bias["prediction"] > 2 and "may not hold: prediction (bias" in words
    assert bands_of("boosted folds").best_rounds is None


def test_a_draw_that_lacks_a_class_is_drawn_again():
    X, _ = table()
    y = np.where(np.arange(NUM_ROWS) < 2, "rare", "usual")
    model = GradientBoostingClassifier(8, max_leaf_nodes=4).fit(X, y)
    band = model.bands(X, y, **DRAWN).predict(X)
    assert np.isfinite(band.lower).all() and np.isfinite(band.upper).all()


def test_models_that_do_not_grow_again_are_refused():
    X, y = table()
    model = GradientBoostingRegressor(8, max_leaf_nodes=4).fit(X, y)
    with pytest.raises(InvalidInputError, match="X must be the rows of the fit"):
        model.refit(X, y + 1).bands(X, y, **DRAWN)
    with pytest.raises(InvalidInputError, match="random_state that is a number"):
        GradientBoostingRegressor(8, max_leaf_nodes=4, subsample=0.5).fit(X, y).bands(X, y, **DRAWN)
    with pytest.raises(InvalidInputError, match="bands are for drop_rate=0"):
        GradientBoostingRegressor(8, drop_rate=0.5).fit(X, y).bands(X, y)
    with pytest.raises(InvalidInputError, match="bands is for the rounds of one model"):
        GradientBoostingRegressor.mean_of([fitted("boosted"), fitted("boosted medians")]).bands(X, y)


def test_groups_are_refused_where_the_fit_has_held_out_rows():
    with pytest.raises(InvalidInputError, match="held out no rows"):
        drawn("boosted stopped", groups=np.arange(NUM_ROWS) // 2)


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
