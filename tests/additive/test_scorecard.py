"""Scorecards: whole points that add up, as near to the model as whole points can be."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxtree
from jaxtree.additive.scorecard import to_scorecard, whole_points
from jaxtree.errors import InvalidInputError, InvalidTypeError
from tests.examples import example, rows_of


def in_points(card, log_odds):
    """The scores of the model, in the unit of the card."""
    return card.base_points + card.points_to_double_odds * (log_odds / np.log(2) - np.log2(card.base_odds))


@pytest.mark.parametrize("options", [{}, {"odds_of": False}, {"points_to_double_odds": 3, "base_odds": 0.1}], ids=str)
def test_points_add_up_to_the_log_odds(options):
    model, X = example("additive"), rows_of("additive")
    card = to_scorecard(model, **options)
    log_odds = model.decision_function(X) * (-1 if card.odds_of is False else 1)
    apart = np.abs(card.score(X) - in_points(card, log_odds))
    assert card.score(X).dtype == np.int64
    assert apart.max() <= card.largest_error + 1e-9
    assert card.largest_error <= len(card.term_names) / 2 + 0.5
    np.testing.assert_allclose(card.odds(in_points(card, log_odds)), np.exp(log_odds), rtol=1e-9)


def test_the_frame_has_all_points():
    """Rows that are scored by hand, from the words of the frame, have the scores of the card."""
    model, X = example("additive"), rows_of("additive")
    card = to_scorecard(model)
    frame = card.to_dataframe()
    assert frame["points"].iloc[0] == card.initial_points
    hand = np.full(len(X), card.initial_points)
    for row, values in enumerate(X.itertuples(index=False)):
        for term in ("number", "color", "size", "is_new"):
            own = frame[frame["term"] == term]
            value = getattr(values, term)
            if pd.isna(value):
                points = own[own["bin"] == "missing"]["points"]
            elif term == "number":
                last = own["high"] == own["high"].max()
                points = own[((own["low"] < value) | (own.index == own.index[0])) & ((value <= own["high"]) | last)]
                points = points["points"]
            else:
                points = own[[str(value) in words.split(", ") for words in own["bin"]]]["points"]
            (found,) = points
            hand[row] += found
    pairs = card.layout.num_terms - 1
    codes = model.encoder_.transform(X)
    hand += card.points[card.layout.places(pairs)][card.layout.bins_of(pairs, codes)]
    np.testing.assert_array_equal(hand, card.score(X))
    assert frame["weight"].iloc[0] == len(X) == frame[frame["term"] == "number"]["weight"].sum()
    for term in ("number", "is_new"):
        points = frame[frame["term"] == term]["points"].to_numpy()[:-1]
        assert (np.diff(points) != 0).all()


@given(st.lists(st.floats(-30, 30).map(lambda value: round(value, 3)), min_size=1, max_size=6))
@settings(max_examples=100)
def test_no_other_rounding_is_nearer(exact):
    """Beside all others of one offset: a fine grid of them."""
    exact = np.array(exact)
    width = np.ptp(whole_points(exact) - exact)
    others = [np.ptp(np.floor(exact + offset) - exact) for offset in np.arange(0, 1, 0.002)]
    assert width <= min(others) + 1e-9
    assert np.abs(whole_points(exact) - exact).max() <= 1 + 1e-9


def test_what_notebooks_show():
    shown = to_scorecard(example("additive"), odds_of=True)._repr_html_()
    assert "points to double the odds of" in shown and "True: 20" in shown and "and " in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"points_to_double_odds": 0}, "points_to_double_odds must be a number above 0, got 0"),
        ({"base_odds": -1.0}, "base_odds must be a number above 0, got -1.0"),
        ({"base_points": "600"}, "base_points must be a number, got '600'"),
        ({"odds_of": "yes"}, r"odds_of must be one of the classes \[False, True\], got 'yes'"),
    ],
)
def test_what_is_not_allowed_is_named(options, said):
    with pytest.raises(InvalidInputError, match=said):
        to_scorecard(example("additive"), **options)


def test_other_models_are_refused():
    with pytest.raises(InvalidInputError, match="two classes, got a model of 3 classes"):
        to_scorecard(example("additive_classes"))
    with pytest.raises(InvalidInputError, match="two classes, got an ExplainableBoostingRegressor, which predicts"):
        to_scorecard(example("additive_counts"))
    with pytest.raises(InvalidTypeError, match="of an ExplainableBoostingClassifier, got DecisionTreeClassifier"):
        to_scorecard(example("cart"))
    with pytest.raises(ValueError, match="not fitted"):
        to_scorecard(jaxtree.ExplainableBoostingClassifier())
