"""The display of a tree in a notebook."""

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.utils import estimator_html_repr

from jaxtree import DecisionTreeClassifier
from jaxtree.export.pictures import MOST_NODES, SMALL_DEPTH
from tests.page.pages import HOSTILE, elements_of, table

X, Y = table()


def html_of(estimator):
    return estimator._repr_mimebundle_()["text/html"]


def test_a_fitted_tree_is_shown_below_scikit_learn_s_diagram():
    tree = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    shown = html_of(tree)
    assert "sk-estimator" in shown and f"{tree.tree_.node_count} nodes" in shown
    assert tree._repr_html_().count("<summary") == shown.count("<summary")
    own = shown[shown.index(f"{tree.tree_.node_count} nodes") :]
    assert own.count("<details") == int(np.sum(~tree.tree_.is_leaf)) and "tall?" in own


def test_an_unfitted_tree_is_shown_as_scikit_learn_does():
    tree = clone(DecisionTreeClassifier(max_depth=2).fit(X, Y))
    assert "leaves" not in html_of(tree)
    assert len(html_of(tree)) == len(estimator_html_repr(tree))


def test_a_notebook_that_shows_text_has_no_html():
    with sklearn.config_context(display="text"):
        tree = DecisionTreeClassifier(max_depth=1).fit(X, Y)
        assert "text/html" not in tree._repr_mimebundle_() and not hasattr(tree, "_repr_html_")


def test_a_large_tree_is_shown_in_part_and_names_are_words():
    rows = X.rename(columns={"tall": HOSTILE})
    tree = DecisionTreeClassifier().fit(rows, Y)
    shown = html_of(tree)
    own = shown[shown.index(f"{tree.tree_.node_count} nodes") :]
    assert tree.tree_.max_depth > SMALL_DEPTH and f"drawn to depth {SMALL_DEPTH}" in own
    assert 0 < own.count("display:inline-block") <= MOST_NODES
    assert "…" in own and "b" in elements_of(own).names and HOSTILE not in own
