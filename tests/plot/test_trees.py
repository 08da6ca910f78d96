"""Drawings of trees: labels that say the branch alone, and charts that have the rows of their nodes."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.export.pictures import picture
from jaxtree.plot import plot_tree
from jaxtree.plot.style import ORANGE
from jaxtree.plot.trees import charted_rows
from tests.examples import dates_table, example, mixed_classes, mixed_numbers, mixed_table, rows_of

TABLE = mixed_table()
CLASS, NUMBER = mixed_classes(TABLE), mixed_numbers(TABLE)


def answers_of(estimator):
    return [node.answer for node in picture(estimator)[1:]]


def test_labels_are_thresholds_and_sets_alone():
    said = answers_of(example("cart"))
    assert {"≤ -1.29", "> -1.29 or missing", "red", "blue, green, grey or missing", "False", "≤ m"} <= set(said)
    assert not any(name in text for text in said for name in TABLE.columns)


def test_sets_have_only_what_comes_to_the_node():
    """Each category has a leaf of its own in the end, so that deep labels are one word."""
    words = [f"word {place}" for place in range(12)]
    tree = jaxtree.DecisionTreeClassifier().fit([[word] for word in words], words)
    of_leaves = {node.answer for node in picture(tree) if not node.children}
    assert of_leaves == set(words)
    first = next(node for node in picture(tree) if node.depth == 1 and node.children)
    assert first.answer.replace("\N{NO-BREAK SPACE}", " ").endswith("(11 of 12)") and "…" in first.answer


def test_dates_are_dates():
    said = answers_of(example("cart_dates"))
    assert "≤ 2020-03-18 22:50" in said and "missing" in said
    texts = [text.get_text() for text in plot_tree(example("cart_dates"), dates_table(), CLASS).texts]
    assert "2019-12-30" in texts


@pytest.mark.parametrize("name", ["forest", "boosted_classes", "extra_regression", "bagged"])
def test_members_of_forests_and_rounds_are_drawn(name):
    member = example(name).estimators_[0]
    assert len(plot_tree(member).texts) == 2 * member.tree_.node_count - 1


def test_classes_have_other_names():
    tree = example("cart")
    names = ["a class of many words that is broken", "second", "third"]
    texts = " ".join(text.get_text() for text in plot_tree(tree, class_names=names).texts)
    assert "a class of many\nwords" in texts and "low" not in texts
    with pytest.raises(InvalidInputError, match="class_names must be one name a class, got 2: the tree has 3 classes"):
        plot_tree(tree, class_names=["a", "b"])
    with pytest.raises(InvalidInputError, match="the tree has no classes"):
        plot_tree(example("regression"), class_names=["a"])


@pytest.mark.parametrize(("name", "y"), [("cart", CLASS), ("regression", NUMBER), ("hardened", CLASS)])
def test_charts_have_the_rows_of_their_nodes(name, y):
    tree, table = example(name), rows_of(name)
    rows = charted_rows(tree, tree.model_, picture(tree), table, y)
    ends = tree.apply(table)
    for node in picture(tree):
        inside = np.zeros(len(table), bool)
        below = [node.node]
        while below:
            own = below.pop()
            inside |= ends == own
            below += np.flatnonzero((tree.tree_.parent == own) & (np.arange(tree.tree_.node_count) != own)).tolist()
        assert sorted(rows.of_node[node.node]) == np.flatnonzero(inside).tolist()
    root = picture(tree)[0]
    first = tree.model_.tree.first_child[0]
    goes_right = rows.values[0] > rows.limit[0]
    known = np.isfinite(rows.values[0])
    assert set(np.flatnonzero(~goes_right & known)) <= set(rows.of_node[int(first)]) and root.children


def test_bars_are_as_high_as_rows_are_many():
    x = np.array([0.0] * 3 + [10.0] * 6)[:, None]
    y = np.array(["a"] * 3 + ["b"] * 4 + ["c"] * 2)
    ax = plot_tree(jaxtree.DecisionTreeClassifier(max_depth=1).fit(x, y), x, y)
    heights = [path.get_extents().height for path in ax.collections[0].get_paths()]
    np.testing.assert_allclose(np.array(heights) / heights[0], [1, 4 / 3, 2 / 3])
    widths = [path.get_extents().width for path in ax.collections[-1].get_paths()]
    np.testing.assert_allclose(widths[0] / widths[1], 2)
    legend = [text.get_text() for text in ax.texts][:3]
    assert legend == ["a", "b", "c"]


def test_points_and_means_are_those_of_the_rows():
    x, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0.0, 1.0, 9.0, 10.0])
    ax = plot_tree(jaxtree.DecisionTreeRegressor(max_depth=1).fit(x, y), x, y)
    offsets = np.asarray(ax.collections[0].get_offsets())
    share = (offsets[:, 1].max() - offsets[:, 1]) / np.ptp(offsets[:, 1])
    np.testing.assert_allclose(share, y / 10)
    means = [line.get_ydata()[0] for line in ax.lines if to_hex(line.get_color()) == ORANGE.lower()]
    np.testing.assert_allclose((offsets[:, 1].max() - np.array(means)) / np.ptp(offsets[:, 1]), [0.05, 0.95])


def test_missing_and_unseen_values_and_empty_nodes_have_charts():
    table = pd.DataFrame(
        {"number": [np.nan, 1.0], "color": ["violet", None], "size": ["s", None], "is_new": [True, False]}
    )
    table["size"] = pd.Categorical(table["size"], ["s", "m", "l"], ordered=True)
    plot_tree(example("cart"), table, ["low", "high"]).figure.canvas.draw()
    plot_tree(example("cart_fraction"), table, ["low", "never seen"]).figure.canvas.draw()


def test_rows_for_charts_are_checked():
    tree = example("cart")
    with pytest.raises(InvalidInputError, match="X and y go together"):
        plot_tree(tree, TABLE)
    with pytest.raises(InvalidInputError, match="as many rows, at least one, got 60 and 3"):
        plot_tree(tree, TABLE, CLASS[:3])
    with pytest.raises(InvalidInputError, match="y must be numbers"):
        plot_tree(example("regression"), TABLE, CLASS)
    with pytest.raises(InvalidInputError, match="one output, and the tree has 2"):
        plot_tree(example("cart_outputs"), TABLE, np.stack([CLASS, CLASS], axis=1))


def test_a_tree_in_small_axes_has_small_text():
    ax = pyplot.subplots(figsize=(2.5, 1.5))[1]
    assert plot_tree(example("cart"), ax=ax) is ax
    sizes = {text.get_fontsize() for text in ax.texts}
    own = {text.get_fontsize() for text in plot_tree(example("cart")).texts}
    assert max(sizes) < 0.5 * max(own) and max(own) == 9
