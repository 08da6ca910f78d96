"""Drawings of what trees say and of their pruning: the numbers that are drawn are those of the estimators."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from sklearn.datasets import load_iris
from sklearn.inspection import permutation_importance

import jaxtree
from jaxtree import DecisionTreeClassifier, DecisionTreeRegressor, prune, prune_to
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.export.pictures import colour_of_class
from jaxtree.plot import (
    plot_decision_boundary,
    plot_dropout,
    plot_importances,
    plot_learning_curve,
    plot_pruning_path,
    plot_tree,
)
from tests.examples import dates_table, example, mixed_classes, mixed_table

X, NUMBER = load_iris(return_X_y=True)
CLASS = np.array(["setosa", "versicolor", "virginica"])[NUMBER]
TRAIN, TEST = slice(0, None, 2), slice(1, None, 2)


@pytest.fixture(scope="module")
def tree():
    return DecisionTreeClassifier().fit(X[TRAIN], CLASS[TRAIN])


@pytest.fixture(scope="module")
def plane_tree():
    return DecisionTreeClassifier(max_depth=3).fit(pd.DataFrame(X[:, 2:], columns=["long", "wide"]), CLASS)


def drawn_colours(ax, resolution):
    return ax.collections[0].get_array().reshape(resolution, resolution, -1)


def test_the_plane_has_the_colours_of_the_shares(plane_tree):
    table = pd.DataFrame(X[:, 2:], columns=["long", "wide"])
    ax = plot_decision_boundary(plane_tree, table, CLASS, resolution=20, margin=0.0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("long", "wide")
    corner = pd.DataFrame({"long": [table["long"].max()], "wide": [table["wide"].min()]})
    colours = np.array([to_rgb(colour_of_class(place)) for place in range(3)])
    expected = 1 - 0.55 * (1 - plane_tree.predict_proba(corner) @ colours)
    np.testing.assert_allclose(drawn_colours(ax, 20)[0, -1, :3], expected[0], atol=1e-6)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == plane_tree.classes_.tolist()
    assert sum(len(points.get_offsets()) for points in ax.collections[1:]) == len(table)


def test_the_plane_of_numbers_has_what_is_predicted():
    tree = DecisionTreeRegressor(max_depth=2).fit(X[:, 2:], X[:, 0])
    ax = pyplot.subplots()[1]
    assert plot_decision_boundary(tree, X[:, 2:], resolution=15, margin=0.0, ax=ax) is ax
    sides = [np.linspace(side.min(), side.max(), 15) for side in X[:, 2:].T]
    plane = np.stack([part.ravel() for part in np.meshgrid(*sides)], axis=1)
    np.testing.assert_array_equal(drawn_colours(ax, 15).ravel(), tree.predict(plane))


def test_other_columns_have_their_median_and_most_frequent_category():
    table = mixed_table().assign(other=np.arange(60.0) ** 2)
    model = DecisionTreeClassifier(max_depth=5).fit(table, mixed_classes(table))
    ax = plot_decision_boundary(model, table, features=["other", 0], resolution=9, margin=0.0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("other", "number")
    rows = pd.concat([table.iloc[[0]]] * 2, ignore_index=True)
    for column in ("color", "size", "is_new"):
        rows[column] = pd.Series([table[column].mode()[0]] * 2).astype(table[column].dtype)
    rows["other"], rows["number"] = table["other"].max(), [table["number"].min(), table["number"].max()]
    colours = np.array([to_rgb(colour_of_class(place)) for place in range(3)])
    expected = 1 - 0.55 * (1 - model.predict_proba(rows) @ colours)
    np.testing.assert_allclose(drawn_colours(ax, 9)[[0, -1], -1, :3], expected, atol=1e-6)


def test_a_plane_of_dates_has_dates_at_its_axes():
    table = dates_table()
    ax = plot_decision_boundary(example("cart_dates"), table, features=["joined", "seen"], resolution=5, margin=0.0)
    ax.figure.canvas.draw()
    ends = ax.collections[0].get_coordinates()[0, [0, -1], 0].mean(), table["joined"].dropna()
    middle = matplotlib.dates.date2num(ends[1].min()) / 2 + matplotlib.dates.date2num(ends[1].max()) / 2
    np.testing.assert_allclose(ends[0], middle, atol=1e-6)


def test_what_has_no_plane_is_refused(tree, plane_tree):
    with pytest.raises(InvalidInputError, match="two columns of numbers, and the estimator has 4: 'x0'"):
        plot_decision_boundary(tree, X)
    with pytest.raises(InvalidInputError, match=r"estimator has 4: 'number' \(numeric\).*name two by features="):
        plot_decision_boundary(example("cart"), X)
    with pytest.raises(InvalidInputError, match=r"numbers or dates, got 'number' \(numeric\), 'color' \(cat"):
        plot_decision_boundary(example("cart"), X, features=["number", "color"])
    with pytest.raises(InvalidInputError, match="features must name a column"):
        plot_decision_boundary(tree, X, features=[0, 9])
    with pytest.raises(InvalidInputError, match="resolution must be at least 2"):
        plot_decision_boundary(plane_tree, X[:, 2:], resolution=1)


def test_the_path_has_the_leaves_and_scores_of_pruned_trees(tree):
    ax = plot_pruning_path(tree, X[TEST], CLASS[TEST])
    path = prune.cost_complexity_path(tree.tree_)
    alphas = np.unique(path.ccp_alphas)
    pruned = [prune_to(tree, prune.cost_complexity(tree.tree_, alpha)) for alpha in alphas]
    score = [one.score(X[TEST], CLASS[TEST]) for one in pruned]
    leaves = [one.get_n_leaves() for one in pruned]
    beside = next(other for other in ax.figure.axes if other is not ax)
    np.testing.assert_allclose(ax.lines[0].get_ydata()[:-1], score)
    np.testing.assert_array_equal(beside.lines[0].get_ydata()[:-1], leaves)
    np.testing.assert_array_equal(ax.lines[0].get_xdata()[1:-1], alphas[1:])
    assert len(set(leaves)) > 2
    best = max(alpha for alpha, own in zip(alphas, score, strict=True) if own == max(score))
    assert ax.lines[1].get_xdata()[0] == best


def test_the_path_of_numbers_has_their_impurity_or_r2():
    tree = DecisionTreeRegressor(max_depth=5).fit(X[TRAIN, 1:], X[TRAIN, 0])
    alphas = np.unique(prune.cost_complexity_path(tree.tree_).ccp_alphas)
    ax = plot_pruning_path(tree)
    np.testing.assert_allclose(ax.lines[0].get_ydata()[-1], np.var(X[TRAIN, 0]), rtol=1e-6)
    assert ax.get_ylabel() == "impurity of the leaves"
    drawn = plot_pruning_path(tree, X[TEST, 1:], X[TEST, 0]).lines[0].get_ydata()
    for step in (0, len(alphas) // 2, -1):
        pruned = prune_to(tree, prune.cost_complexity(tree.tree_, alphas[step]))
        np.testing.assert_allclose(drawn[:-1][step], pruned.score(X[TEST, 1:], X[TEST, 0]), atol=1e-10)


def test_what_has_no_path_is_refused(tree):
    with pytest.raises(InvalidInputError, match="go together"):
        plot_pruning_path(tree, X)
    with pytest.raises(InvalidInputError, match="estimators_"):
        plot_pruning_path(example("forest"))
    with pytest.raises(InvalidTypeError, match="list"):
        plot_pruning_path([])


def test_the_map_has_expected_accuracies_and_marks_the_best(tree):
    p, q = [0.0, 0.2, 0.5], [0.0, 1.0]
    ax = plot_dropout(tree, X[TEST], CLASS[TEST], p=p, q=q)
    codes, label = tree.encode(X[TEST]), np.searchsorted(tree.classes_, CLASS[TEST])
    rates = [[jaxtree.dropout.node_rates(tree.tree_, a, b) for a in p] for b in q]
    expected = jaxtree.dropout.expected_accuracy(tree.tree_, codes, label, np.array(rates))
    np.testing.assert_allclose(ax.collections[0].get_array().reshape(2, 3), expected, rtol=1e-6)
    best = np.unravel_index(np.argmax(expected), (2, 3))
    assert ax.lines[0].get_xdata()[0] == p[best[1]] and ax.lines[0].get_ydata()[0] == q[best[0]]
    assert ax.texts[0].get_text() == f"{np.max(expected):.4g}"


def test_the_map_of_numbers_marks_the_least_error():
    tree = DecisionTreeRegressor().fit(X[TRAIN, 1:], X[TRAIN, 0])
    ax = plot_dropout(tree, X[TEST, 1:], X[TEST, 0], p=[0.0, 0.3, 0.6], q=[0.0, 0.5])
    drawn = ax.collections[0].get_array().reshape(2, 3)
    assert ax.texts[0].get_text() == f"{drawn.min():.4g}"
    codes = tree.encode(X[TEST, 1:])
    rates = jaxtree.dropout.node_rates(tree.tree_, 0.6, 0.5)
    expected = jaxtree.dropout.expected_squared_error(tree.tree_, codes, X[TEST, 0], rates)
    np.testing.assert_allclose(drawn[1, 2], expected, rtol=1e-5)


def test_what_has_no_map_is_refused(tree):
    with pytest.raises(InvalidInputError, match="p must be two or more ascending rates"):
        plot_dropout(tree, X, CLASS, p=[0.5])
    with pytest.raises(InvalidInputError, match="single tree"):
        plot_dropout(example("forest"), X, CLASS)


def test_bars_are_in_descending_order(tree):
    ax = plot_importances(tree, max_columns=3)
    width = [bar.get_width() for bar in ax.patches]
    assert width == sorted(tree.feature_importances_, reverse=True)[:3]
    order = np.argsort(-tree.feature_importances_, kind="stable")[:3]
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"x{column}" for column in order]
    permuted = permutation_importance(tree, X, CLASS, n_repeats=2, random_state=0)
    ax = plot_importances(tree, permuted)
    assert [bar.get_width() for bar in ax.patches] == sorted(permuted.importances_mean, reverse=True)
    assert "shuffled" in ax.get_xlabel() and len(ax.collections) == 1
    with pytest.raises(InvalidInputError, match="drawn one by one, got accuracy, f1_macro"):
        plot_importances(tree, {"accuracy": permuted, "f1_macro": permuted})
    with pytest.raises(InvalidInputError, match=r"each of 4 columns.*shape \(3,\)"):
        plot_importances(tree, [1.0, 2.0, 3.0])


@pytest.mark.slow
def test_the_learning_curve_is_the_history():
    soft = jaxtree.SoftTreeClassifier(depth=1, max_epochs=3, random_state=0)
    soft.fit(X[TRAIN], CLASS[TRAIN], X_val=X[TEST], y_val=CLASS[TEST])
    ax = plot_learning_curve(soft)
    for line, name in zip(ax.lines, ("loss", "validation_loss"), strict=False):
        np.testing.assert_allclose(line.get_ydata(), soft.history_[name])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["loss", "validation loss", "kept"]
    with pytest.raises(InvalidInputError, match="DecisionTreeClassifier has no learning curve: give a soft"):
        plot_learning_curve(example("cart"))


def test_dollars_in_names_are_no_formulas():
    """Matplotlib would refuse to draw what is no formula, and write others without their dollars."""
    names = [r"cost in $\x$ {", "b $1 $2"]
    X = pd.DataFrame({names[0]: np.arange(20.0), names[1]: np.arange(20.0) % 3})
    y = np.where(X[names[0]] > 9, r"$\frac$", "$a$")
    tree = DecisionTreeClassifier().fit(X, y)
    for draw in (
        lambda: plot_tree(tree),
        lambda: plot_importances(tree),
        lambda: plot_decision_boundary(tree, X, y),
    ):
        draw().figure.canvas.draw()
