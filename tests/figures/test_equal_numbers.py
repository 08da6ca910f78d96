"""A table of charts and models: a plot draws the numbers that the page of the same rows and weights sends."""

import functools

import numpy as np
import pytest

import jaxtree
from jaxtree import plot
from jaxtree.export.pictures import picture
from jaxtree.plot.trees import charted_rows
from tests.examples import EXTRAS, example, unfitted
from tests.page.pages import told_by

FEW = {"max_depth": 2, "min_samples_leaf": 4, "random_state": 0}


def rows_of(name):
    _, X, y = unfitted()[name]
    return X, np.asarray(y)


@functools.cache
def model_of(name):
    """An example; or one whose fit measures by a metric that is better if greater, by folds or until the loss rises."""
    if name not in LEARNERS:
        return example(name)
    _, X, y = unfitted()["boosted"]
    options, is_measured = LEARNERS[name]
    fields = {"eval_metric": "roc_auc", "eval_set": {"odd rows": (X[1::2], y[1::2])}} if is_measured else {}
    return jaxtree.GradientBoostingClassifier(12, **FEW, learning_rate=0.8, **options).fit(X[::2], y[::2], **fields)


LEARNERS = {
    "measured": ({}, True),
    "stopped": ({"early_stopping": True, "n_iter_no_change": 2}, True),
    "folds": ({"early_stopping": "cv", "cv": 3, "n_iter_no_change": 2}, False),
}


@functools.cache
def cards_of(name, weighted):
    X, y = rows_of("boosted" if name in LEARNERS else name)
    extras = {"sample_weight": weight_of(len(y))} if weighted else {}
    told = told_by(jaxtree.to_html(model_of(name), X, y, **EXTRAS.get(name, {}), **extras))
    return told["cards"] | {"terms": told.get("terms"), "rows": told["rows"]}


def weight_of(number):
    """A quarter of the rows has none."""
    return np.arange(number) % 4.0


def given(name, weighted):
    """The rows of a plot."""
    X, y = rows_of(name)
    return X, y, {"sample_weight": weight_of(len(y))} if weighted else {}


def charts(card):
    return list(card["charts"].values())


def columns_of(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def same(plotted, paged, rtol=1e-4):
    np.testing.assert_allclose(np.asarray(plotted, float), np.asarray(paged, float), rtol=rtol, atol=1e-6)


def importances(name, weighted):
    ax = plot.plot_importances(model_of(name))
    items = charts(cards_of(name, weighted)["importances"])[0]["items"]
    assert columns_of(ax)[: len(items)] == [item["name"] for item in items]
    same([bar.get_width() for bar in ax.patches][: len(items)], [item["bars"][0][1] for item in items])


def roc(name, weighted):
    X, y, weight = given(name, weighted)
    lines = plot.plot_roc(model_of(name), X, y, **weight).lines[1:]
    for line, chart in zip(lines, charts(cards_of(name, weighted)["roc"]), strict=True):
        same(line.get_xydata(), np.transpose([chart["series"][-1][axis] for axis in "xy"]))


def calibration(name, weighted):
    X, y, weight = given(name, weighted)
    lines = plot.plot_calibration(model_of(name), X, y, **weight).lines[1:]
    for line, chart in zip(lines, charts(cards_of(name, weighted)["calibration"]), strict=True):
        same(line.get_xydata(), np.transpose([chart["series"][0][axis] for axis in "xy"]))


def intervals(name, weighted):
    X, y, weight = given(name, weighted)
    ax = plot.plot_intervals(model_of(name), X, y, **weight)
    (chart,) = charts(cards_of(name, weighted)["intervals"])
    inside, outside = (len(series["x"]) for series in chart["series"][2:])
    assert [len(points.get_offsets()) for points in ax.collections[1:]] == [inside, outside]
    share = ax.get_legend().get_texts()[0].get_text().split()[1]
    assert abs(float(share[:-1]) - float(chart["caption"].split("%")[0])) <= 0.51


def shapley(name, weighted):
    X, y, weight = given(name, weighted)
    classes = getattr(model_of(name), "classes_", [])
    ax = plot.plot_shap_bar(model_of(name), X, **weight)
    items = charts(cards_of(name, weighted)["shapley"])[0]["items"]
    assert columns_of(ax)[: len(items)] == [item["name"] for item in items]
    whole = np.sum([[bar.get_width() for bar in bars] for bars in ax.containers], axis=0)
    same(whole[: len(items)] / len(ax.containers), [item["bars"][0][1] for item in items])
    chart = charts(cards_of(name, weighted)["swarm"])[0]
    of_class = {"of_class": classes[0]} if len(classes) > 2 else {}
    kept = weight["sample_weight"] > 0 if weight else np.ones(len(y), bool)
    ax = plot.plot_shap_beeswarm(model_of(name), X[kept], **of_class)
    drawn = dict(zip(columns_of(ax), ax.collections, strict=True))
    for item in chart["items"]:
        points = drawn[item["name"]]
        same(points.get_offsets()[:, 0], item["swarm"]["x"], rtol=1e-3)
        red = np.broadcast_to(points.get_facecolors()[:, 0], len(item["swarm"]["tone"]))
        tones = np.array([np.nan if tone is None else tone for tone in item["swarm"]["tone"]])
        for tone in np.unique(tones[~np.isnan(tones)]):
            assert red[tones == tone].max() <= red[tones > tone].min(initial=np.inf)


def learning(name, weighted):
    (chart,) = charts(cards_of(name, weighted)["curve"])
    ax = plot.plot_learning_curve(model_of(name))
    for line, series in zip(ax.lines, chart["series"], strict=False):
        same(line.get_xydata(), np.transpose([series[axis] for axis in "xy"]))
    assert ax.lines[-1].get_xdata()[0] == chart["mark"] and len(ax.lines) == len(chart["series"]) + 1


def terms(name, weighted):
    model, told = model_of(name), cards_of(name, weighted)["terms"]["terms"]
    curves = {own["name"]: own for own in told if len(own["columns"]) == 1 and "edges" in own}
    for term, own in curves.items():
        ax = plot.plot_terms(model, term)
        steps = [line for line in ax.lines if line.get_drawstyle() == "steps-post"]
        for line, values in zip(steps, own["values"], strict=True):
            same(line.get_xdata(), own["edges"])
            same(line.get_ydata()[:-1], values[:-1])
        heights = np.array([bar.get_height() for bar in ax.patches])
        same(heights / heights.max(), np.array(own["density"]) / np.max(own["density"]))


def nodes(name, weighted):
    """The page counts rows, so that weights are whether a row is there."""
    X, y = rows_of(name)
    model, there = model_of(name), np.arange(len(y)) % 4 > 0 if weighted else np.ones(len(y), bool)
    told = told_by(jaxtree.to_html(model, X, y, sample_weight=there.astype(float)))
    drawn = charted_rows(model, model.model_, picture(model), X, y, there.astype(float)).bars
    charts = told["histograms"]
    for low, high, heights, chart in zip(drawn.low, drawn.high, drawn.heights, charts, strict=True):
        assert (chart is None) == (not len(heights))
        if chart is not None:
            assert (low, high) == (chart["low"], chart["high"])
            np.testing.assert_array_equal(heights, np.array(chart["bars"])[:, : heights.shape[1]])


TABLE = {
    importances: ["forest", "boosted", "boosted_regression", "hardened", "hardened_forest"],
    nodes: ["cart", "c45", "regression"],
    roc: ["forest", "boosted"],
    calibration: ["forest", "boosted", "cart"],
    intervals: ["boosted_distribution"],
    shapley: ["boosted_regression", "forest", "cart", "regression", "boosted", "boosted_ranker"],
    learning: ["measured", "stopped", "folds"],
    terms: ["additive_regression", "additive_classes"],
}
"""Models of which both a plot and a page have a chart."""

CASES = [(chart, name, weighted) for chart, names in TABLE.items() for name in names for weighted in (False, True)]


@pytest.mark.parametrize(
    ("chart", "name", "weighted"),
    [pytest.param(*case, id=f"{case[0].__name__}-{case[1]}-{'weighted' if case[2] else 'alike'}") for case in CASES],
)
def test_a_plot_draws_what_the_page_sends(chart, name, weighted):
    chart(name, weighted)
