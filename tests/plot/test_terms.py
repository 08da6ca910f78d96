"""Drawings of additive models: what is drawn are the values, the intervals and the weights of their terms."""

import numpy as np
import pytest
from matplotlib import pyplot

from jaxtree import DecisionTreeRegressor
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.plot import plot_dependence, plot_term_importances, plot_terms
from tests.additive.explained import fitted, table


def test_a_curve_has_the_values_and_intervals_of_its_bins():
    term = fitted("two").explain_global()["hours"]
    ax = plot_terms(fitted("two"), "hours")
    x, y = ax.lines[0].get_data()
    np.testing.assert_array_equal(x, term.axes[0].edges)
    np.testing.assert_array_equal(y[:-1], term.values[:-1, 0])
    assert ax.lines[1].get_ydata()[0] == term.missing[0] and ax.get_ylabel() == "adds to log odds of mid"
    corners = ax.collections[0].get_paths()[0].vertices[:, 1]
    low, high = term.interval(0.95)
    assert corners.min() == low[:-1].min() and corners.max() == high[:-1].max()
    half = plot_terms(fitted("two"), "hours", confidence=0.5).collections[0].get_paths()[0].vertices[:, 1]
    assert np.ptp(half) < np.ptp(corners)


def test_categories_are_points_with_shares():
    term = fitted("numbers").explain_global()["job"]
    ax = plot_terms(fitted("numbers"), "job")
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.sort(term.values[:-1, 0])[::-1])
    words = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
    share = term.weight[0] / term.weight.sum()
    assert words[0] == f"at sea\N{NO-BREAK SPACE}({share:.0%})" and len(words) == 3


def test_a_pair_is_a_surface_of_the_cells_that_have_rows():
    model = fitted("numbers")
    term = model.explain_global()["age & job"]
    image = plot_terms(model, "job & age").collections[0].get_array()
    kept = [term.weight.sum(axis=1 - side) > 0 for side in range(2)]
    np.testing.assert_array_equal(np.ravel(image), np.ravel(term.values[np.ix_(*kept)][..., 0].T))


def test_classes_have_a_curve_each_and_one_can_be_chosen():
    ax = plot_terms(fitted("three"), "age")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["low", "mid", "top"]
    one = plot_terms(fitted("three"), "age", of_class="top")
    np.testing.assert_array_equal(one.lines[0].get_ydata(), ax.lines[2].get_ydata())
    assert one.get_ylabel() == "adds to score of top"


def test_the_terms_that_count_are_drawn_in_their_order():
    model = fitted("numbers")
    drawn, explained = plot_terms(model), model.explain_global()
    counting = [term for term in explained if term.importance > 0]
    assert len(drawn) == len(counting) < len(explained)
    names = [ax.get_xlabel() for ax in drawn]
    for ax, term in zip(drawn, counting, strict=True):
        assert {ax.get_xlabel(), ax.get_ylabel()} & set(term.name.split(" & "))
    assert len(set(names)) > 1
    bars = plot_term_importances(model, max_terms=3)
    assert [bar.get_width() for bar in bars.patches] == [term.importance for term in explained.terms[:3]]


def test_columns_of_one_value_or_none_can_be_drawn():
    for name in ("one", "nothing", "since"):
        plot_terms(fitted("numbers"), name).figure.canvas.draw()


def test_numbers_are_those_of_the_model():
    model = fitted("numbers")
    assert plot_terms(model, model.term_names_.index("hours")).get_xlabel() == "hours"


def test_what_is_not_allowed_is_named():
    model, one = fitted("three"), pyplot.subplots()[1]
    for wrong, message in (
        ({"terms": "agee"}, "got 'agee'"),
        ({"terms": []}, "at least one term, got none"),
        ({"of_class": "x"}, "of_class must be one of low, mid, top, got 'x'"),
        ({"terms": ["age", "job"], "axes": one}, "axes must be as many as terms, 2, got 1"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            plot_terms(model, **wrong)
    with pytest.raises(InvalidInputError, match="max_terms must be at least 1, got 0"):
        plot_term_importances(model, max_terms=0)
    with pytest.raises(InvalidTypeError, match="an additive model of jaxtree, got DecisionTreeRegressor"):
        plot_terms(DecisionTreeRegressor())


def test_bands_are_drawn_in_place_of_intervals():
    model, (X, y) = fitted("numbers"), table()
    bands = model.bands(X, y, draws=20)
    lower, upper = bands.curve("hours").band
    corners = plot_terms(model, "hours", bands=bands).collections[0].get_paths()[0].vertices[:, 1]
    assert (corners.min(), corners.max()) == (lower[:-1].min(), upper[:-1].max())
    importances, ax = bands.importances(), plot_term_importances(model, max_terms=1, bands=bands)
    first = int(importances.center.argmax())
    ends = ax.collections[0].get_segments()[0][:, 0]
    np.testing.assert_allclose(ends, [importances.lower[first], importances.upper[first]])
    for column in ("age", "job"):
        band, ax = bands.dependence(column, X).band, plot_dependence(model, X, column, bands=bands)
        points = np.concatenate([path.vertices for path in ax.collections[0].get_paths()])
        known = points[:, 1] if column == "age" else points[:, 0]
        np.testing.assert_allclose([known.min(), known.max()], [band.lower.min(), band.upper.max()])
    with pytest.raises(InvalidInputError, match="bands must be those of the model that is shown"):
        plot_terms(fitted("two"), bands=bands)
    with pytest.raises(InvalidInputError, match="bands are drawn over rows of equal weight"):
        plot_dependence(model, X, "age", bands=bands, sample_weight=np.ones(len(X)))
