"""Drawings of dependence: each point is the mean prediction of the table with one value in the column."""

import matplotlib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import jaxtree
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.figures.dependence import MOST_STEPS
from jaxtree.plot import plot_dependence
from tests.examples import dates_table, example, mixed_numbers, mixed_table
from tests.marks import in_turn, rest_is_slow
from tests.page.pages import told_by

TABLE = mixed_table()


def changed(table, column, value):
    other = table.copy()
    other[column] = value
    return other if other[column].dtype == table[column].dtype else other.astype({column: table[column].dtype})


def points_of(curve):
    """Numbers and the height of a curve there: of steps, numbers between two limits; of more limits, their middles."""
    x, y = curve.get_data()
    if curve.get_drawstyle() == "default":
        return x, y
    assert y[-1] == y[-2]
    share = 0.75 if len(x) <= MOST_STEPS else 0.5
    return (1 - share) * x[:-1] + share * x[1:], y[:-1]


@pytest.mark.parametrize("name", rest_is_slow(["boosted_counts", "regression", "soft_regression", "forest_regression"]))
def test_the_curve_is_the_mean_prediction(name):
    model, table = example(name), TABLE
    if name == "boosted_counts":
        table = TABLE[["number", "is_new"]].to_numpy(float)
    ax = plot_dependence(model, table, 0)
    x, y = points_of(ax.lines[0])
    for place in (0, len(x) // 2, -1):
        if isinstance(table, np.ndarray):
            other = table.copy()
            other[:, 0] = x[place]
        else:
            other = changed(table, "number", x[place])
        np.testing.assert_allclose(y[place], model.predict(other).mean(), rtol=1e-6)
    assert ax.get_ylabel() == "mean prediction" and len(x) > 4
    assert (ax.lines[0].get_drawstyle() == "default") == name.startswith("soft")


def test_probabilities_of_all_classes_have_curves():
    forest = example("forest")
    ax = plot_dependence(forest, TABLE, "number")
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == [*forest.classes_, "where it is missing"]
    x, y = points_of(ax.lines[0])
    np.testing.assert_allclose(y[3], forest.predict_proba(changed(TABLE, "number", x[3]))[:, 0].mean())
    missing = ax.lines[1].get_ydata()[0]
    np.testing.assert_allclose(missing, forest.predict_proba(changed(TABLE, "number", np.nan))[:, 0].mean())
    one = plot_dependence(forest, TABLE, "number", of_class="middle", num_lines=7)
    assert one.get_ylabel() == "mean probability of middle" and len(one.lines) == 7 + 3


def test_the_mean_of_all_lines_is_the_curve():
    ax = plot_dependence(example("boosted"), TABLE, "number", num_lines=len(TABLE))
    lines = np.array([line.get_ydata() for line in ax.lines[: len(TABLE)]])
    np.testing.assert_allclose(lines.mean(axis=0), ax.lines[len(TABLE)].get_ydata())


@pytest.mark.parametrize("name", ["id3_onehot", "forest"])
def test_categories_have_points_and_shares(name):
    model = example(name)
    ax = plot_dependence(model, TABLE, "color", of_class="high")
    labels = [label.get_text().rsplit("\N{NO-BREAK SPACE}", 1) for label in ax.get_yticklabels()]
    values = ax.lines[0].get_xdata()
    assert (np.diff(values) <= 0).all()
    for (word, share), value in zip(labels, values, strict=True):
        other = TABLE.copy()
        other["color"] = np.nan if word == "missing" else word
        np.testing.assert_allclose(value, model.predict_proba(other)[:, 0].mean())
        here = TABLE["color"].isna() if word == "missing" else TABLE["color"] == word
        assert share == f"({here.mean():.0%})"


def test_ordered_words_keep_their_order():
    ax = plot_dependence(example("boosted_regression"), TABLE, "size")
    assert [label.get_text().split("\N{NO-BREAK SPACE}")[0] for label in ax.get_yticklabels()] == ["s", "m", "l"]


def test_dates_and_durations_have_their_axes():
    tree = example("cart_dates")
    ax = plot_dependence(tree, dates_table(), "joined", of_class="low")
    ax.figure.canvas.draw()
    known = dates_table()["joined"].dropna()
    np.testing.assert_allclose(ax.lines[0].get_xdata()[0], matplotlib.dates.date2num(known.min()))
    assert plot_dependence(tree, dates_table(), "waited").get_xlabel() == "waited (min)"


def test_searches_are_drawn_and_other_models_named():
    search = GridSearchCV(jaxtree.DecisionTreeRegressor(), {"max_depth": [2]}, cv=2)
    search.fit(TABLE, mixed_numbers(TABLE))
    assert len(plot_dependence(search, TABLE, "number").lines) > 0
    for column in ("none", 4, -1):
        with pytest.raises(InvalidInputError, match="column must name a column, one of 'number', 'color'"):
            plot_dependence(search, TABLE, column)
    with pytest.raises(InvalidInputError, match="num_lines be at least 0"):
        plot_dependence(search, TABLE, 0, num_lines=-1)
    with pytest.raises(InvalidInputError, match="of_class must be one of none, since numbers"):
        plot_dependence(search, TABLE, 0, of_class="a")
    with pytest.raises(InvalidTypeError, match="got list"):
        plot_dependence([], TABLE, 0)


def test_a_column_of_one_value_or_of_none_is_drawn():
    X, y = np.array([[1.0, np.nan], [1.0, np.nan], [1.0, np.nan]]), [0.0, 1.0, 2.0]
    tree = jaxtree.DecisionTreeRegressor().fit(X, y)
    for column in (0, 1):
        plot_dependence(tree, X, column).figure.canvas.draw()


@pytest.mark.parametrize(
    ("kind", "far"),
    in_turn(
        [jaxtree.DecisionTreeRegressor, jaxtree.RandomForestRegressor],
        [[1e16, 1e16 + 4], [1.6e18, 1.6e18 + 512, 1.6e18]],
    ),
)
def test_a_column_of_numbers_with_few_others_between_them_is_drawn(far, kind):
    """Keys, and times in nanoseconds, are far from 0 and close to each other: edges of bins would be equal."""
    X = np.stack([np.resize(far, 60), np.arange(60.0) % 9], axis=1)
    y = np.resize(np.arange(len(far)), 60) + 0.1 * X[:, 1]
    model = kind(max_depth=3).fit(X, y)
    ax = plot_dependence(model, X, 0)
    assert sum(bar.get_height() > 0 for bar in ax.patches) == len(set(far))
    assert all(bar.get_width() > 0 for bar in ax.patches)
    told = told_by(jaxtree.to_html(model, X, y))
    np.testing.assert_allclose(np.ravel(told["rows"][0]["said"]).astype(float), model.predict(X), rtol=1e-3)
    if kind is jaxtree.DecisionTreeRegressor:
        jaxtree.plot.plot_tree(model, X, y)
