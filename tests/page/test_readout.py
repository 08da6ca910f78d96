"""Every chart says its values to mouse, finger and keys, and leads to the rows behind them."""

import json

import numpy as np
import pandas as pd
import pytest

from jaxtree import (
    DecisionTreeRegressor,
    ExplainableBoostingClassifier,
    GradientBoostingClassifier,
    GradientBoostingDistribution,
    GradientBoostingRanker,
    RandomForestClassifier,
    to_html,
)
from jaxtree.page.model import PageModel, name_of_target
from tests.page.pages import HOSTILE, table, told_by
from tests.page.pictures import looked_at

X, Y = table()
NUMBERS = pd.Series(X["tall"].to_numpy() ** 2 + 1, name="height")
FEW = {"n_estimators": 5, "max_depth": 2}


def page(kind):
    """A page of a small model, whose target has a name."""
    named = pd.Series(Y, name="size")
    if kind == "classes":
        return to_html(GradientBoostingClassifier(**FEW).fit(X, Y), X, named)
    if kind == "forest":
        return to_html(RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, Y), X, named)
    if kind == "numbers":
        return to_html(DecisionTreeRegressor(max_depth=3).fit(X, NUMBERS), X, NUMBERS)
    if kind == "distributions":
        return to_html(GradientBoostingDistribution(**FEW).fit(X, NUMBERS), X, NUMBERS)
    if kind == "ranks":
        group, relevance = np.arange(300) // 10, np.arange(300) % 3
        return to_html(GradientBoostingRanker(**FEW).fit(X, relevance, group=group), X, relevance, group=group)
    model = ExplainableBoostingClassifier(outer_bags=2, max_rounds=20).fit(X, np.asarray(Y) == "top")
    return to_html(model, X, np.asarray(Y) == "top")


KINDS = ("classes", "forest", "numbers", "distributions", "ranks", "terms")

SAID = """() => {
  const shown = document.querySelector(".readout");
  return shown.hidden ? null : [...shown.children].map((line) => line.textContent);
}"""


def readings(view, picture):
    """Lines that are shown where the pointer is at some places of a drawing."""
    picture.scroll_into_view_if_needed()
    box, found = picture.bounding_box(), []
    for across, up in ((0.45, 0.4), (0.7, 0.6), (0.3, 0.2)):
        view.mouse.move(box["x"] + across * box["width"], box["y"] + up * box["height"])
        found.append(view.evaluate(SAID))
    return [lines for lines in found if lines]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_says_numbers_under_the_mouse(browser, kind):
    view = looked_at(browser, page(kind), 1200)
    pictures = view.query_selector_all("svg.plot")  # that of a node is made anew wherever the pointer is
    assert len(pictures) >= 6
    for picture in pictures:
        card = picture.evaluate("one => one.closest('[id]').id")
        found = readings(view, picture)
        assert found and all(any(sign.isdigit() for sign in " ".join(lines)) for lines in found), (card, found)
        assert not any("undefined" in line or "NaN" in line for lines in found for line in lines), (card, found)
    view.close()


def marks(view, selector):
    """All that a chart says, one mark after the other by keys."""
    view.focus(selector)
    view.keyboard.press("Home")
    said = [view.evaluate(SAID)]
    for _ in range(2000):
        view.keyboard.press("ArrowRight")
        lines = view.evaluate(SAID)
        if lines == said[-1]:
            return said
        said.append(lines)
    raise AssertionError("the keys lead nowhere")


@pytest.mark.slow
def test_keys_lead_along_the_marks_and_say_them(browser):
    html = page("classes")
    view, cards = looked_at(browser, html, 1200), told_by(html)["cards"]
    cells = cards["confusion"]["charts"]["0"]["cells"]
    said = marks(view, "#confusion svg.plot")
    assert [int(lines[1].split(" ")[0]) for lines in said] == np.ravel(cells).tolist()
    assert said[0][0] == "truth low, predicted low"
    assert view.inner_text("body > [role=status]").startswith("truth top, predicted top, ")
    view.keyboard.press("Home")
    view.keyboard.press("ArrowDown")
    assert view.evaluate(SAID)[0] == "truth middle, predicted low"
    view.keyboard.press("Escape")
    assert view.evaluate(SAID) is None
    dependence = cards["dependence-2"]["charts"][""]["items"]
    said = marks(view, "#dependence-2 svg.plot")
    assert [lines[0] for lines in said] == [item["name"] for item in dependence]
    assert said[0][1] == f"low: {dependence[0]['dots'][0][0]:.4g}" and said[0][-1].endswith("% of the rows")
    view.close()


@pytest.mark.slow
def test_a_cell_lists_its_rows_and_a_point_opens_its_own(browser):
    view = looked_at(browser, page("classes"), 1200)
    view.focus("#confusion svg.plot")
    for key in ("Home", "ArrowRight", "Enter"):
        view.keyboard.press(key)
    rows = told_by(view.content())["rows"][0]
    pairs = zip(rows["number"], rows["truth"], rows["said"], strict=True)
    expected = [number for number, truth, said in pairs if (truth, said) == ("low", "middle")]
    assert view.inner_text(".row-hint").startswith(f"Only the {len(expected)} of low predicted as middle.")
    listed = view.eval_on_selector_all(".row-list [data-row]", "all => all.map(one => Number(one.dataset.row))")
    assert listed == expected[:12]
    view.click(".row-hint button")
    assert view.inner_text(".row-hint").startswith("200 of the 300")
    view.close()
    view = looked_at(browser, page("numbers"), 1200)
    view.focus("#tree-predictions svg.plot")
    view.keyboard.press("Home")
    row = int(view.evaluate(SAID)[0].split(" ")[1])
    view.keyboard.press("Enter")
    assert view.inner_text(".row-detail h3").startswith(f"Row {row}: ")
    view.close()


@pytest.mark.slow
def test_a_finger_reads_values(browser):
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    view = context.new_page()
    view.set_content(page("forest"))
    view.wait_for_selector("html[data-ready]")
    picture = view.query_selector("#dependence-0 svg.plot")
    picture.scroll_into_view_if_needed()
    view.wait_for_timeout(200)
    box = picture.bounding_box()
    view.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    lines = view.evaluate(SAID)
    assert lines[0].startswith("tall ") and [line.split(" ")[0] for line in lines[1:4]] == ["low", "middle", "top"]
    place = view.query_selector(".readout").bounding_box()
    assert place["x"] >= 0 and place["x"] + place["width"] <= 390
    context.close()


@pytest.mark.slow
def test_a_frame_is_no_higher_than_its_page(browser):
    whole = page("ranks")
    view = browser.new_page(viewport={"width": 1000, "height": 900})
    view.set_content(whole._repr_html_())
    frame = view.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for(state="attached")
    view.wait_for_timeout(100)
    assert view.locator("iframe").bounding_box()["height"] == pytest.approx(0.85 * 900, abs=1)
    frame.locator("main").evaluate("main => main.replaceChildren()")
    view.wait_for_timeout(100)
    assert view.locator("iframe").bounding_box()["height"] < 400
    view.close()


def test_targets_are_called_by_their_names():
    cards = told_by(page("classes"))["cards"]
    assert cards["calibration"]["charts"]["0,0"]["y"]["label"] == "share of rows that are size low"
    assert cards["swarm"]["charts"]["0"]["x"]["label"] == "added to the score of size low"
    html = page("numbers")
    assert told_by(html)["cards"]["calibration"]["charts"]["0"]["y"]["label"] == "mean height"
    assert "<dt>target</dt><dd>height</dd>" in html
    assert "<dt>target</dt><dd>size: low, middle, top</dd>" in page("classes")
    unnamed = to_html(DecisionTreeRegressor(max_depth=2).fit(X, NUMBERS), X, NUMBERS.to_numpy())
    assert "<dt>target</dt>" not in unnamed
    hostile = to_html(DecisionTreeRegressor(max_depth=2).fit(X, NUMBERS), X, NUMBERS.rename(HOSTILE))
    assert HOSTILE not in hostile and json.dumps(HOSTILE)[1:-1] not in hostile


def test_names_of_targets_come_from_series_tables_and_sources():
    import polars as pl

    tree = DecisionTreeRegressor()
    assert name_of_target(tree, NUMBERS) == name_of_target(tree, NUMBERS.to_frame()) == "height"
    assert name_of_target(tree, None, pl.Series("age", [1])) == "age" == name_of_target(tree, "age")
    assert name_of_target(tree, pd.Series([1]), np.array([1])) == "" == name_of_target(tree, pl.Series([1]))
    model = PageModel(None, None, ["1", "no"], "bought")
    assert [model.in_target(0), model.in_target(1)] == ["bought = 1", "bought no"]


@pytest.mark.slow
def test_two_classes_have_contributions_in_probability(browser):
    model = GradientBoostingClassifier(**FEW).fit(X, np.asarray(Y) == "top")
    view = looked_at(browser, to_html(model, X, np.asarray(Y) == "top"), 1200)
    said = marks(view, ".row-detail svg.plot")
    start, end = (float(lines[-1].rstrip("%")) for lines in (said[0], said[-1]))
    steps = [float(lines[-1].replace("−", "-").rstrip("%")) for lines in said[1:-1]]
    assert end == pytest.approx(100 * model.predict_proba(X)[0, 1], abs=0.06)
    assert start + sum(steps) == pytest.approx(end, abs=0.1 * len(said))
    assert view.get_attribute(".row-detail svg.plot", "aria-label") == "How the probability of True of row 0 adds up"
    view.close()


def test_rows_of_distributions_have_their_intervals():
    model = GradientBoostingDistribution(**FEW).fit(X, NUMBERS)
    rows = told_by(to_html(model, X, NUMBERS))["rows"][0]
    low, high = model.predict_dist(X.iloc[rows["number"]]).interval(0.9).T
    found = np.array([own.split(" to ") for own in rows["interval"]], float)
    np.testing.assert_allclose(found, np.stack([low, high], axis=1), rtol=1e-3)
    assert "interval" not in told_by(page("numbers"))["rows"][0]


LONG_TAIL = pd.DataFrame({"income": np.exp(2.5 * np.random.default_rng(0).normal(size=300)), "tall": X["tall"]})


@pytest.mark.slow
def test_columns_with_long_tails_have_axes_of_quantiles(browser):
    model = GradientBoostingClassifier(**FEW).fit(LONG_TAIL, LONG_TAIL["income"] > 1.5)
    html = to_html(model, LONG_TAIL, LONG_TAIL["income"] > 1.5)
    cards = told_by(html)["cards"]
    x = cards["dependence-0"]["charts"][""]["x"]
    numbers, places = x["scale"]
    np.testing.assert_allclose(numbers, np.quantile(LONG_TAIL["income"], places), rtol=0.05)
    assert "scale" not in told_by(page("classes"))["cards"]["dependence-0"]["charts"][""]["x"]
    view = looked_at(browser, html, 1200)
    d = view.get_attribute("#dependence-0 svg.plot .curve", "d")
    across = [float(point.split("V")[0].split(" ")[0]) for point in d.replace("M", "H").split("H")[1:]]
    edges = cards["dependence-0"]["charts"][""]["series"][0]["x"]
    shares = (np.array(across) - across[0]) / (across[-1] - across[0])
    np.testing.assert_allclose(shares, np.interp(edges, numbers, places), atol=0.01)
    said = marks(view, "#dependence-0 svg.plot")
    assert said[0][0].startswith("income ") and " rows from " in said[0][-1]
    view.close()
