"""The page in a browser: its numbers are jaxtree's own, and keyboard and pointer lead everywhere."""

import time

import jax
import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, mean_squared_error, roc_auc_score

from jaxtree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    dropout,
    prune,
    prune_to,
    to_html,
)
from tests.page.pages import HOSTILE, table, told_by

KEY = jax.random.key(0)

pytestmark = pytest.mark.slow
"""A browser is a program apart, which `.ci/run` installs."""

X, Y = table()
X_VAL, Y_VAL = table(seed=1)


@pytest.fixture
def show(browser):
    """Opens a page; whatever goes wrong in it fails the test."""
    complaints, opened = [], []

    def show_page(html, **options):
        view = browser.new_page(**{"viewport": {"width": 1200, "height": 800}, **options})
        view.on("console", lambda message: complaints.append(message.text))
        view.on("pageerror", lambda error: complaints.append(str(error)))
        view.on("dialog", lambda dialog: complaints.append(dialog.message))
        view.on("request", lambda request: complaints.append(request.url))
        view.set_content(html)
        view.wait_for_selector("html[data-ready]")
        opened.append(view)
        return view

    yield show_page
    for view in opened:
        view.close()
    assert not complaints


@pytest.fixture(scope="module")
def tree():
    return DecisionTreeClassifier(max_depth=6).fit(X, Y)


@pytest.fixture(scope="module")
def html(tree):
    return to_html(tree, X, Y, X_val=X_VAL, y_val=Y_VAL)


def slide(view, **values):
    for name, value in values.items():
        view.evaluate(
            "([id, to]) => { const s = document.querySelector(id); s.value = to; s.dispatchEvent(new Event('input')) }",
            [f"#slide-{name}", value],
        )
    view.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def score(view, name):
    return float(view.get_attribute(f'[data-score="{name}"]', "data-value"))


def shown_nodes(view, selector='[role="treeitem"]'):
    return [int(n) for n in view.eval_on_selector_all(selector, "all => all.map(item => item.dataset.node)")]


def focused(view):
    return view.evaluate("Number(document.activeElement.dataset.node)")


def test_scores_are_those_of_the_pruned_trees(show, html, tree):
    view = show(html)
    assert score(view, "training accuracy") == pytest.approx(tree.score(X, Y), abs=1e-9)
    prices, nodes = np.unique(prune.cost_complexity_path(tree.tree_).ccp_alphas[1:]), tree.tree_
    for alpha, depth, p, q in [
        (0, 3, 0.0, 0.0),
        (3, 6, 0.0, 0.0),
        (len(prices), 6, 0.0, 0.0),
        (0, 6, 0.3, 0.5),
        (4, 5, 0.1, 0.05),
    ]:
        slide(view, alpha=alpha, depth=depth, p=p, q=q)
        mask = prune.max_depth(nodes, depth) | prune.dropout(nodes, dropout.node_rates(nodes, p, q), key=KEY)
        if alpha:
            mask = mask | prune.cost_complexity(nodes, prices[alpha - 1])
        pruned = prune_to(tree, mask)
        assert score(view, "training accuracy") == pytest.approx(pruned.score(X, Y), abs=1e-9)
        assert score(view, "validation accuracy") == pytest.approx(pruned.score(X_VAL, Y_VAL), abs=1e-9)
        assert view.inner_text("#left").startswith(f"{pruned.get_n_leaves()} of {tree.get_n_leaves()} leaves")


def test_the_mean_over_draws_is_exact(show, html, tree):
    view = show(html)
    slide(view, p=0.2, q=0.5)
    codes, y = tree.encode(X), np.searchsorted(tree.classes_, Y)  # codes of unseen values may walk another way
    expected = float(dropout.expected_accuracy(tree.tree_, codes, y, dropout.node_rates(tree.tree_, 0.2, 0.5)))
    assert score(view, "training accuracy, mean") == pytest.approx(expected, rel=1e-5)


def test_charts_follow_the_sliders(show, html, tree):
    view = show(html)
    slide(view, depth=3)
    pruned = prune_to(tree, prune.max_depth(tree.tree_, 3))
    cells = view.eval_on_selector_all("#tree-confusion .cell", "all => all.map(cell => Number(cell.dataset.rows))")
    np.testing.assert_array_equal(np.reshape(cells, (3, 3)), confusion_matrix(Y_VAL, pruned.predict(X_VAL)))
    for place, name in enumerate(tree.classes_):
        view.select_option("#roc-class", str(place))
        area = float(view.get_attribute("#tree-roc figcaption", "data-value"))
        assert area == pytest.approx(roc_auc_score(name == Y_VAL, pruned.predict_proba(X_VAL)[:, place]), abs=1e-9)


def test_numbers_have_squared_errors(show):
    target, target_val = X["tall"] ** 2 + X["wide"].fillna(0), X_VAL["tall"] ** 2 + X_VAL["wide"].fillna(0)
    tree = DecisionTreeRegressor(max_depth=5).fit(X, target)
    view = show(to_html(tree, X, target, X_val=X_VAL, y_val=target_val))
    slide(view, depth=2)
    pruned = prune_to(tree, prune.max_depth(tree.tree_, 2))
    error = mean_squared_error(target_val, pruned.predict(X_VAL))
    assert score(view, "validation R²") == pytest.approx(pruned.score(X_VAL, target_val), rel=1e-6)
    assert score(view, "validation mean squared error") == pytest.approx(error, rel=1e-6)
    slide(view, depth=5, p=0.3)
    y = np.asarray(target, np.float64)
    rates = dropout.node_rates(tree.tree_, 0.3)
    expected = float(dropout.expected_squared_error(tree.tree_, tree.encode(X), y, rates))
    assert score(view, "training mean squared error, mean") == pytest.approx(expected, rel=1e-4)
    assert "R² " in view.get_attribute("#tree-predictions svg", "aria-label")


def test_the_keyboard_leads_everywhere(show, html, tree):
    view = show(html)
    view.click("#close-all")
    assert shown_nodes(view) == [0]
    view.focus('[data-node="0"]')
    view.keyboard.press("ArrowRight")
    assert shown_nodes(view) == [0, 1, 2]
    assert view.get_attribute('[data-node="0"]', "aria-expanded") == "true"
    view.keyboard.press("ArrowDown")
    view.keyboard.press("ArrowDown")
    assert focused(view) == 2
    view.keyboard.press("Enter")
    assert focused(view) == 2 and set(shown_nodes(view)) > {0, 1, 2}
    view.keyboard.press("End")
    last = focused(view)
    assert int(tree.tree_.parent[last]) == 2
    view.keyboard.press("ArrowUp")
    assert focused(view) == last - 1
    view.keyboard.press("ArrowLeft")
    assert focused(view) == 2
    view.keyboard.press("ArrowLeft")
    assert view.get_attribute('[data-node="2"]', "aria-expanded") == "false"
    view.keyboard.press("*")
    view.keyboard.press("Home")
    assert focused(view) == 0
    assert view.eval_on_selector_all('[role="treeitem"][tabindex="0"]', "all => all.length") == 1
    item = view.locator('[data-node="1"]')
    assert [item.get_attribute(f"aria-{name}") for name in ("level", "posinset", "setsize")] == ["2", "1", "2"]
    assert "weight" in item.get_attribute("aria-label")


def test_a_click_opens_a_node_and_its_details(show, html, tree):
    view = show(html)
    view.click("#close-all")
    view.click('[data-node="0"] > .row')
    view.hover('[data-node="1"] > .row')
    text = view.inner_text("#details")
    assert "impurity" in text and f"{tree.tree_.num_rows[1]}" in text
    assert view.inner_text('[data-node="1"] .branch') in text
    view.locator("#map").click(position={"x": 3, "y": 60})
    assert view.evaluate("document.activeElement.getAttribute('aria-level')") == "3"


def test_a_pruned_node_has_no_children_on_the_page(show, html):
    view = show(html)
    view.click("#open-all")
    slide(view, depth=1)
    assert shown_nodes(view) == [0, 1, 2]
    assert view.get_attribute('[data-node="1"]', "aria-expanded") is None
    assert "pruned here" in view.inner_text('[data-node="1"]')
    view.click("#reset")
    view.evaluate("new Promise(done => requestAnimationFrame(done))")
    assert len(shown_nodes(view)) > 3


@pytest.mark.parametrize("row", [0, 17, 299])
def test_a_row_is_followed_along_its_path(show, html, tree, row):
    view = show(html)
    view.click("#close-all")
    view.fill("#row-number", str(row))
    view.press("#row-number", "Enter")
    path = tree.decision_path(X.iloc[[row]]).indices
    assert sorted(shown_nodes(view, ".on-path")) == sorted(path.tolist())
    text = view.inner_text("#followed")
    assert f"Row {row}: predicted {tree.predict(X.iloc[[row]])[0]} " in text and f"truth {Y[row]}" in text
    view.click("#row-none")
    assert shown_nodes(view, ".on-path") == []


def test_search_opens_what_asks_for_a_column(show, html, tree):
    view = show(html)
    view.click("#close-all")
    view.fill("#search", "WID")
    features = tree.schema_.column_names
    asking = [
        n
        for n in range(tree.tree_.node_count)
        if not tree.tree_.is_leaf[n] and features[tree.tree_.feature[n]] == "wide"
    ]
    assert sorted(shown_nodes(view, ".is-match")) == asking
    assert f"{len(asking)} split" in view.inner_text("#found")
    view.press("#search", "Enter")
    assert focused(view) in asking
    view.fill("#search", "")
    assert shown_nodes(view, ".is-match") == []


@pytest.mark.slow
def test_rows_that_miss_a_value_end_where_they_are_shared_out(show):
    tree = C45Classifier().fit(X, Y)
    view = show(to_html(tree, X, Y))
    row = int(np.flatnonzero(~tree.tree_.is_leaf[tree.apply(X)])[0])
    view.fill("#row-number", str(row))
    view.press("#row-number", "Enter")
    assert "has no single branch from there: wide: missing" in view.inner_text("#followed")


def test_hostile_names_are_words(show):
    rows = X.rename(columns={"tall": HOSTILE, "wide": "<img src=x onerror=alert(1)>"})
    classes = np.where(Y == "low", HOSTILE, Y)
    tree = DecisionTreeClassifier(max_depth=3).fit(rows, classes)
    view = show(to_html(tree, rows, classes, title=HOSTILE))
    assert view.inner_text("h1") == HOSTILE
    assert HOSTILE in view.inner_text("#outline") and not view.locator("#broken").count()


def test_a_small_screen_needs_no_scrolling_sideways(show, html):
    view = show(html, viewport={"width": 360, "height": 700})
    assert view.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("width", [1200, 360])
def test_long_names_are_cut_and_told_whole(show, width):
    """Names of columns, classes and categories, without and with places to break."""
    long = {name: f"{name} {'<i>long</i>' * 400} {name}" for name in ("tall", "wide", "low", "blue")}
    rows = X.rename(columns=long).assign(hue=X["hue"].cat.rename_categories(long))
    classes = np.where(Y == "low", long["low"], Y)
    tree = DecisionTreeClassifier(max_depth=4).fit(rows, classes)
    view = show(to_html(tree, rows, classes, title=long["low"]), viewport={"width": width, "height": 800})
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    view.hover('[data-node="1"] > .row')
    view.fill("#row-number", "0")
    view.press("#row-number", "Enter")
    tallest = "all => Math.max(...all.map(cut => cut.getBoundingClientRect().height))"
    assert view.eval_on_selector_all(".cut", tallest) <= 150
    assert view.eval_on_selector("#details", "card => card.scrollWidth <= card.clientWidth")
    branch = view.locator('[data-node="1"] > .row .branch')
    branch.hover()
    assert branch.get_attribute("title") == branch.inner_text() and long["tall"] in branch.inner_text()
    assert not view.locator("i", has_text="long").count()


@pytest.mark.slow
def test_five_thousand_nodes_open_in_seconds(show):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(13_000, 4))
    target = rng.integers(0, 2, len(rows))
    tree = DecisionTreeClassifier().fit(rows, target)
    assert tree.tree_.node_count >= 5_000
    html = to_html(tree, rows, target)
    start = time.perf_counter()
    view = show(html)
    view.click("#open-all")
    view.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert len(shown_nodes(view)) == tree.tree_.node_count
    slide(view, depth=8)
    assert time.perf_counter() - start < 20
    pruned = prune_to(tree, prune.max_depth(tree.tree_, 8))
    assert score(view, "training accuracy") == pytest.approx(pruned.score(rows, target), abs=1e-9)


def test_rows_are_opened_by_number_and_by_keys(show):
    model = GradientBoostingClassifier(6, max_depth=2).fit(X, Y)
    view = show(to_html(model, X, Y, X_val=X_VAL, y_val=Y_VAL))
    assert view.inner_text(".row-detail h3").startswith("Row 0: ")
    view.fill(".row-goto", "77")
    view.press(".row-goto", "Enter")
    number = int(view.inner_text(".row-detail h3").split(":")[0].removeprefix("Row "))
    assert abs(number - 77) <= 1 and view.input_value(".row-goto") == str(number)
    view.focus('.row-list [aria-pressed="true"]')
    view.keyboard.press("ArrowDown")
    assert int(view.evaluate("document.activeElement.dataset.row")) > number
    view.select_option(".row-order", "off")
    chance = model.predict_proba(X_VAL)[np.arange(300), np.searchsorted(model.classes_, Y_VAL)]
    worst = int(view.inner_text(".row-detail h3").split(":")[0].removeprefix("Row "))
    assert chance[worst] == pytest.approx(min(chance[told_by(view.content())["rows"][1]["number"]]))
    view.click(".page-next")
    assert view.inner_text(".page-said").startswith("13–24")
    view.select_option(".row-set", "0")
    assert "training rows" in view.inner_text(".row-hint")


def test_a_choice_of_rows_and_class_shows_another_chart(show):
    model = GradientBoostingClassifier(6, max_depth=2).fit(X, Y)
    view = show(to_html(model, X, Y, X_val=X_VAL, y_val=Y_VAL))
    view.select_option("#roc select >> nth=0", "0")
    view.select_option("#roc select >> nth=1", "2")
    area = roc_auc_score(model.classes_[2] == Y, model.predict_proba(X)[:, 2])
    assert float(view.get_attribute("#roc figcaption", "data-value")) == pytest.approx(area, abs=1e-9)


def test_every_tree_of_a_forest_is_chosen_by_its_number(show):
    model = GradientBoostingClassifier(9, max_depth=2).fit(X, Y == "low")
    view = show(to_html(model, X, Y == "low"))

    def shown():
        return view.locator("#trees h3:visible").all_inner_texts()

    assert shown() == ["Tree 0", "Tree 1", "Tree 2"]
    view.fill("#first-tree", "4")
    view.press("#first-tree", "Enter")
    assert shown() == ["Tree 4", "Tree 5", "Tree 6"]
    view.click("#trees-next")
    assert shown() == ["Tree 6", "Tree 7", "Tree 8"] and view.input_value("#first-tree") == "6"
    view.click("#trees-before")
    assert shown() == ["Tree 3", "Tree 4", "Tree 5"]
