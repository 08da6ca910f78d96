"""The page without a browser: it is one whole file, and what its script is told is the tree."""

import base64
import hashlib
import re
import sys

import jax
import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError

from jaxtree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    Dropout,
    ID3Classifier,
    RandomForestClassifier,
    dropout,
    prune,
    to_html,
)
from jaxtree.errors import InvalidInputError, InvalidTypeError, MissingExtraError
from tests.page.pages import HOSTILE, dense, elements_of, table, told_by

X, Y = table()
X_VAL, Y_VAL = table(seed=1)


@pytest.fixture(scope="module")
def tree():
    return DecisionTreeClassifier(max_depth=6).fit(X, Y)


@pytest.fixture(scope="module")
def page(tree):
    return to_html(tree, X, Y, X_val=X_VAL, y_val=Y_VAL, title="Three & more")


@pytest.fixture(scope="module")
def told(page):
    return told_by(page)


def test_the_page_is_one_file_that_asks_for_nothing(page):
    assert page.startswith("<!doctype html>")
    assert not re.search(r"https?:|//www|src=|href=|@import|url\(", page)
    assert elements_of(page).names.count("script") == 2
    assert "<title>Three &amp; more</title>" in page


def test_only_the_page_s_own_script_may_run(page):
    script = page.split('<script type="module">')[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in page


def test_nodes_are_those_of_the_tree(tree, told):
    nodes = told["nodes"]
    for name, values in {
        "firstChild": tree.tree_.first_child,
        "numChildren": tree.tree_.num_children,
        "rows": tree.tree_.num_rows,
        "weight": tree.tree_.weight,
        "label": [list(tree.classes_).index(c) for c in tree.classes_[tree.tree_.value[:, 0].argmax(axis=1)]],
    }.items():
        np.testing.assert_array_equal(nodes[name], values, err_msg=name)
    np.testing.assert_allclose(dense(nodes["shares"], 3), tree.tree_.value[:, 0], rtol=1e-11)
    asked = [told["columns"][column]["name"] if column >= 0 else None for column in nodes["column"]]
    assert asked[0] in X.columns and [name is None for name in asked] == tree.tree_.is_leaf.tolist()


def test_prices_and_numbers_make_the_masks_of_prunings(tree, told):
    prices = np.array([np.inf if price is None else price for price in told["nodes"]["price"]])
    for alpha in np.unique(prices[np.isfinite(prices)]):
        np.testing.assert_array_equal(prices <= alpha, prune.cost_complexity(tree.tree_, alpha))
    number = np.array(told["nodes"]["number"])
    inner = ~tree.tree_.is_leaf & (tree.tree_.depth > 0)
    for p in (0.1, 0.5, 0.9):
        drawn = prune.dropout(tree.tree_, dropout.node_rates(tree.tree_, p), key=jax.random.key(0))
        np.testing.assert_array_equal(inner & (number < np.float32(p) * 2.0**31), drawn)


def test_sums_say_how_right_the_tree_is(tree, told):
    for known, rows in zip(told["sets"], [(X, Y), (X_VAL, Y_VAL)], strict=True):
        ended = dense(known["ended"], 4)
        assert ended.sum() == known["size"] == 300
        right = ended[np.arange(len(ended)), told["nodes"]["label"]].sum()
        assert right / 300 == pytest.approx(tree.score(*rows))
        np.testing.assert_array_equal(known["shown"]["end"], tree.apply(rows[0]))


def test_sums_of_numbers_say_the_squared_error():
    target = 1e6 + X["tall"] + (X["hue"] == "red")
    tree = DecisionTreeRegressor(max_depth=3).fit(X, target)
    told = told_by(to_html(tree, X, target))
    (known,) = told["sets"]
    weight, total, squares = dense(known["ended"], 3).T
    mean = np.array(told["nodes"]["mean"]) - known["middle"]
    error = np.sum(squares - 2 * mean * total + mean**2 * weight)
    np.testing.assert_allclose(error, np.sum((target - tree.predict(X)) ** 2), rtol=1e-6)
    assert told_by(to_html(tree))["sets"] == []


def test_cells_are_the_table_s_values(told):
    cells, columns = told["sets"][0]["shown"]["cells"], told["columns"]
    np.testing.assert_allclose(cells[0], X["tall"], rtol=1e-5)
    assert [cell is None for cell in cells[1]] == X["wide"].isna().tolist()
    assert [columns[2]["categories"][cell] for cell in cells[2]] == X["hue"].tolist()


def test_histograms_hold_all_rows_of_a_node(tree, told):
    for node, histogram in enumerate(told["histograms"]):
        assert (histogram is None) == tree.tree_.is_leaf[node]
        if histogram is not None:
            assert np.sum(histogram["bars"]) + histogram["missing"] == tree.tree_.num_rows[node]
    np.testing.assert_array_equal(np.sum(told["histograms"][0]["bars"], axis=0), np.unique(Y, return_counts=True)[1])


def test_onehot_columns_are_shown_as_columns():
    words = X[["hue"]].astype(str)
    told = told_by(to_html(ID3Classifier(encoding="onehot").fit(words, Y), words, Y))
    (cells,) = told["sets"][0]["shown"]["cells"]
    assert [told["columns"][0]["categories"][cell] for cell in cells] == words["hue"].tolist()
    assert len(told["histograms"][0]["bars"]) == words["hue"].nunique()


@pytest.mark.slow
def test_rows_that_are_shared_out_count_with_their_parts():
    tree = C45Classifier().fit(X, Y)
    told = told_by(to_html(tree, X, Y))
    ended = dense(told["sets"][0]["ended"], 4)
    assert ended.sum() == pytest.approx(300, rel=1e-9)
    assert np.any(ended % 1)


def test_without_rows_the_page_knows_what_the_tree_knows(tree):
    told = told_by(to_html(tree))
    (known,) = told["sets"]
    ended = dense(known["ended"], 4)
    assert ended[np.arange(len(ended)), told["nodes"]["label"]].sum() / 300 == pytest.approx(tree.score(X, Y))
    assert known["shown"] is None and told["histograms"] == []


def test_names_cannot_break_the_page():
    rows = X.rename(columns={"tall": HOSTILE, "wide": "{{ 1 }}", "hue": "<!--"})
    classes = np.where(Y == "low", HOSTILE, np.where(Y == "top", "<img src=x onerror=alert(1)>", Y))
    tree = DecisionTreeClassifier(max_depth=3).fit(rows, classes)
    page = to_html(tree, rows, classes, title=HOSTILE)
    names = elements_of(page).names
    assert names.count("b") == 0 and "img" not in names and names.count("script") == 2
    told = told_by(page)
    assert [column["name"] for column in told["columns"]] == list(rows.columns)
    assert set(told["classes"]) == set(classes)


@pytest.mark.slow
def test_a_forest_s_page_says_which_tree_it_shows():
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y)
    page = to_html(forest, X, Y, tree=2)
    assert "Tree 2 of the 3 of a RandomForestClassifier" in page
    assert f"{forest.score(X, Y):.4f}" in page
    assert told_by(page)["nodes"]["rows"] == forest.estimators_[2].tree_.num_rows.tolist()
    with pytest.raises(InvalidInputError, match="tree must be a whole number from 0 to 2, got 3"):
        to_html(forest, tree=3)


def test_a_vote_of_prunings_has_no_sliders():
    tree = DecisionTreeClassifier(max_depth=4, pruning=Dropout(0.3, draws="all"), random_state=0).fit(X, Y)
    page = to_html(tree, X, Y)
    assert not told_by(page)["canPrune"] and "slide-alpha" not in elements_of(page).texts
    assert 'id="slide-' not in page
    known = told_by(page)["sets"][0]
    right = dense(known["ended"], 4)[np.arange(tree.tree_.node_count), told_by(page)["nodes"]["label"]].sum()
    assert right / 300 == pytest.approx(tree.score(X, Y))


def test_what_has_no_page_is_refused(tree):
    of_two = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [[0, 1], [1, 0]])
    with pytest.raises(NotFittedError):
        to_html(DecisionTreeClassifier())
    with pytest.raises(InvalidInputError, match="estimator must have one output, got 2"):
        to_html(of_two)
    with pytest.raises(InvalidTypeError, match="must be a tree or forest of jaxtree, got DummyClassifier"):
        to_html(DummyClassifier().fit(X, Y))
    with pytest.raises(InvalidInputError, match="X_val and y_val go together, got only one"):
        to_html(tree, X, Y, X_val=X)
    with pytest.raises(InvalidInputError, match="inconsistent numbers of samples"):
        to_html(tree, X, Y[:5])


def test_without_jinja2_the_error_names_the_extra(tree, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"pip install \"jaxtree\[plot\]\""):
        to_html(tree)
