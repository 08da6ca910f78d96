"""Drawings of trees: what stands in the nodes, and where they stand."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from jaxtree import DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier, to_graphviz
from jaxtree.errors import InvalidInputError
from jaxtree.export.pictures import CLASS_COLOURS, picture
from jaxtree.plot import plot_tree

RNG = np.random.default_rng(0)
NUMBERS = pd.DataFrame(RNG.normal(size=(300, 3)), columns=["tall", "wide", 'a "deep" one'])
CLASS = np.array(["no", "yes", "so so"])[(NUMBERS["tall"] > 0).astype(int) + (NUMBERS['a "deep" one'] > 0.5)]


@pytest.fixture(scope="module")
def classifier():
    return DecisionTreeClassifier(max_depth=4).fit(NUMBERS, CLASS)


@pytest.fixture(scope="module")
def regressor():
    return DecisionTreeRegressor(max_depth=3).fit(NUMBERS, NUMBERS["tall"] + NUMBERS["wide"])


@pytest.fixture(params=["classifier", "regressor"])
def fitted(request):
    return request.getfixturevalue(request.param)


def test_dot_has_every_node_and_every_edge_once(fitted):
    tree, text = fitted.tree_, to_graphviz(fitted)
    nodes = [int(n) for n in re.findall(r"^  (\d+) \[", text, re.MULTILINE)]
    edges = {(int(a), int(b)) for a, b in re.findall(r"^  (\d+) -> (\d+) ", text, re.MULTILINE)}
    assert sorted(nodes) == list(range(tree.node_count))
    assert edges == {(int(tree.parent[n]), n) for n in range(1, tree.node_count)}


def test_quotes_of_names_are_escaped(classifier):
    text = to_graphviz(classifier)
    assert r"a \"deep\" one?" in text
    for line in text.splitlines():
        assert len(re.findall(r'(?<!\\)"', line)) % 2 == 0


def test_nodes_say_class_share_and_weight(classifier):
    root = picture(classifier)[0]
    most = pd.Series(CLASS).value_counts(normalize=True)
    assert root.lines[1:] == (f"{most.index[0]} {most.iloc[0]:.0%}", "n = 300")
    assert not root.branch


def test_colours_tell_classes_apart_and_pure_nodes_are_the_darkest(classifier):
    def darkness(colour):
        return 3 * 255 - sum(int(colour[i : i + 2], 16) for i in (1, 3, 5))

    by_class = {}
    for node in picture(classifier):
        name, share = node.lines[-2].rsplit(" ", 1)
        by_class.setdefault(name, []).append((float(share.rstrip("%")), darkness(node.colour), node.colour))
    assert len({max(found)[2] for found in by_class.values()}) == 3
    for found in by_class.values():
        shares, dark, _ = zip(*sorted(found), strict=True)
        assert np.all(np.diff(np.array(dark)[np.argsort(shares, kind="stable")]) >= -6)


@pytest.mark.slow
def test_many_classes_keep_colours_of_their_own():
    X = np.arange(40)[:, None]
    colours = {node.colour for node in picture(ID3Classifier().fit(X, X[:, 0])) if not node.children}
    assert len(colours) == 40 > len(CLASS_COLOURS)


def test_a_drawing_ends_at_max_depth_and_says_so(classifier):
    nodes = picture(classifier, max_depth=1)
    assert [node.depth for node in nodes] == [0, 1, 1]
    assert any(node.hides_children for node in nodes)
    assert to_graphviz(classifier, max_depth=1).count("…") == sum(node.hides_children for node in nodes)
    with pytest.raises(InvalidInputError, match="max_depth must be None or an integer >= 0, got -1"):
        plot_tree(classifier, max_depth=-1)


def test_texts_do_not_lie_on_one_another(fitted):
    ax = plot_tree(fitted)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 2 * fitted.tree_.node_count - 1
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:i])
    pyplot.close(ax.figure)


def test_plot_draws_on_the_axes_that_it_is_given(classifier):
    figure, ax = pyplot.subplots()
    assert plot_tree(classifier, feature_names=["a", "b", "c"], ax=ax) is ax
    assert ax.texts[0].get_text()[0] in "abc"
    pyplot.close(figure)
