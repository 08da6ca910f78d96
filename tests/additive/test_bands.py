"""Bands of additive models: their curves, what they alone draw, say and refuse, and how often they hold.

Laws of all bands stand in `tests/estimators/test_bands.py`.
"""

import numpy as np
import pandas as pd
import pytest

from jaxtree import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from jaxtree.additive.row_loss import _derivatives
from jaxtree.errors import InvalidInputError
from jaxtree.table.redraws import RedrawnRows
from tests.estimators.test_bands import bands_of, drawn, fitted, table


def test_bands_are_around_curves():
    model, bands = fitted("additive"), bands_of("additive")
    for term in bands.explain_global():
        own, (lower, upper) = model.explain_global()[term.name], term.band
        np.testing.assert_array_equal(own.values, term.values)
        np.testing.assert_allclose((lower + upper) / 2, own.values, atol=1e-9)
        assert (upper - lower)[own.weight > 0].min() > 0


def test_a_row_of_weight_2_is_drawn_like_two_rows():
    factors = np.stack([RedrawnRows(0).factors(draw, np.array([1.0, 2.0, 0.5])) for draw in range(4000)])
    np.testing.assert_allclose(factors.mean(axis=0), 1, atol=0.06)
    np.testing.assert_allclose(factors.var(axis=0), [1, 0.5, 2], rtol=0.1)


@pytest.mark.slow
def test_weights_make_bands_as_rows_that_are_there_more_than_once_do():
    generator, num_rows = np.random.default_rng(3), 240
    age, job = generator.uniform(20, 70, num_rows).round(), generator.choice(["mill", "sea", "none"], num_rows)
    X, noise = pd.DataFrame({"age": age, "job": job}), generator.normal(size=num_rows) * 0.5
    y = np.sin(age / 10) + (job == "sea") * 0.5 + noise
    times = 1 + np.arange(num_rows) % 2
    model = ExplainableBoostingRegressor(interactions=0, outer_bags=1, validation_size=0, max_rounds=110, max_leaves=2)
    of_weights = model.fit(X, y, times).bands(X, y, times, draws=100).predict(X)
    repeated = X.loc[X.index.repeat(times)], np.repeat(y, times)
    of_rows = model.fit(*repeated).bands(*repeated, draws=100).predict(X)
    np.testing.assert_allclose(of_weights.center, of_rows.center, atol=0.05)
    widths = [np.mean(own.upper - own.lower) for own in (of_weights, of_rows)]
    np.testing.assert_allclose(*widths, rtol=0.1)


def test_rows_of_a_group_have_one_factor():
    groups = np.tile(np.arange(240), 4)
    factors = RedrawnRows(0, groups).factors(0, np.ones(len(groups))).reshape(4, -1)
    assert (factors == factors[0]).all() and factors.var() > 0.5


def test_bands_are_refused_of_a_model_that_was_changed_by_hand():
    X, y = table()
    with pytest.raises(InvalidInputError, match="changed by hand"):
        fitted("additive").scale("age", 0.5).bands(X, y)


def test_of_two_classes_one_band_is_the_other_s_turned_round():
    band = bands_of("additive two").predict(table()[0])
    np.testing.assert_allclose(band.lower[:, 0], 1 - band.upper[:, 1], atol=1e-6)


def test_what_is_printed_names_terms_and_how_often_bands_of_draws_hold():
    bands = bands_of("additive")
    words, page = repr(bands), bands._repr_html_()
    assert "Bands of level 0.8 by 10 draws of the residuals of 150 rows" in words
    assert all(name in words for name in bands.term_names) and "coverage" in page
    assert set(bands.coverage) == set(bands.bias) == set(bands.term_names)
    assert all(0 <= own <= 1 for own in bands.coverage.values())


def test_curves_that_shrinkage_bends_are_named():
    X = np.random.default_rng(1).uniform(size=(400, 2))
    y = 2 * np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=400)
    held = {}
    for rounds in (11, 50_000):
        model = ExplainableBoostingRegressor(max_rounds=rounds, outer_bags=2, interactions=0).fit(X, y)
        bands, layout = model.bands(X, y, draws=20), model.additive_.layout
        codes, right = model.encoder_.transform(X), 2 * np.sin(6 * X[:, 0])
        lower, upper = (end[:, 0][layout.bins_of(0, codes)] for end in bands.curve("x0").band)
        own = right - right.mean()
        held[rounds] = np.mean((lower <= own) & (own <= upper))
        words = " ".join(bands.notes())
        assert ("may not hold: x0 (bias" in words) == (rounds == 11) and "x1 (bias" not in words
    assert held[11] < 0.7 < held[50_000]


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
    bands_of("additive two")
    before = _derivatives.num_programs()
    drawn("additive two", draws=30, random_state=5)
    assert _derivatives.num_programs() == before
