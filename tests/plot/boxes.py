"""Tables of long words, many classes and odd values, the plots of them, and the boxes of all that is written there."""

import functools

import numpy as np
import pandas as pd
from matplotlib.patches import FancyBboxPatch

import jaxtree
from jaxtree import plot

ROWS = 130
NARROW = (3.6, 3.0)


def _numbers(seed, columns=3):
    return np.random.default_rng(seed).normal(size=(ROWS, columns)).round(3)


def _long_words():
    """Categories and 26 classes of many words."""
    row = np.arange(ROWS)
    places = [f"municipality of {name} upon the river" for name in ("Adelaide", "Brisbane", "Chattanooga", "Edinburgh")]
    words = [f"{place} number {number}" for place in places for number in range(4)]
    table = pd.DataFrame(
        {
            "place of residence of the holder of the policy": np.array(words)[row * 7 % 16],
            "number of times that the customer has called the office before": row * 5 % 11 + 0.5,
        }
    )
    classes = np.array([f"class {letter} of all the classes that there are" for letter in "abcdefghijklmnopqrstuvwxyz"])
    return table, classes[(row * 7 % 16 * 3 + row * 5 % 11) % 26]


def _no_spaces():
    """Names without a space, of sixty letters, and numbers as target."""
    names = ["mean_of_the_standardised_residuals_of_the_previous_quarter_" + end for end in ("a", "b")]
    x = _numbers(0, 2)
    long = pd.DataFrame(x, columns=names).assign(Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbau=x[:, 0] > 0)
    return long, x[:, 0] * 2 + (x[:, 1] > 0)


def _two_classes():
    x = pd.DataFrame(_numbers(1), columns=["a", "b", "c"])
    words = ["the customer has cancelled the contract within a year", "the customer has stayed for longer than a year"]
    return x, np.array(words)[(x["a"] + x["b"] > 0).astype(int)]


def _dates():
    row = np.arange(ROWS)
    day = np.datetime64("2019-12-30T11:17:43") + (row * 37 % 101 * 86_400 + row * 1_000).astype("timedelta64[s]")
    waited = pd.to_timedelta(row * 5 % 7 * 13, "min")
    return pd.DataFrame({"first day of the insured time": day, "time waited": waited}), np.sin(row * 37 % 101 / 20)


def _missing():
    x = pd.DataFrame(_numbers(2), columns=["first", "second", "third"])
    target = np.where(x["first"] > 0, "up", np.where(x["second"] > 0, "down", "level"))
    return x.where(_numbers(3) > -0.8), target


def _truths():
    x = pd.DataFrame(
        _numbers(4, 4) > 0, columns=["is new", "has been seen before", "is paid", "is the last one of its kind"]
    )
    return x, x.iloc[:, 0].astype(float) + 2 * x.iloc[:, 1] + 0.5 * x.iloc[:, 3]


def _far():
    """Targets of milliards, and columns of billionths beside large ones."""
    x = _numbers(5, 2) * [1e-9, 1e9]
    return pd.DataFrame(x, columns=["tiny", "huge"]), 1.7e9 + 1e3 * (x[:, 0] > 0) + x[:, 1] / 1e8


def _signs():
    """Names that Matplotlib could take for formulas, of several lines, and of other scripts."""
    x = pd.DataFrame(_numbers(6), columns=[r"cost in $\x$ {", "line\nbreak\nof names", "größe ≥ λ_{max}^2"])
    return x, np.where(x.iloc[:, 0] > 0, r"$\frac$ of all", np.where(x.iloc[:, 1] > 0, "a\nb", "_c^d"))


def _constant():
    return pd.DataFrame({"nothing changes here": np.ones(ROWS), "nor here": ["same"] * ROWS}), ["the only one"] * ROWS


def _many_categories():
    row = np.arange(ROWS)
    codes = np.array([f"code {number:03d}/{number * 7919 % 1000:03d}-{'x' * (number % 9)}" for number in range(60)])
    x = pd.DataFrame({"code of the product": codes[row * 13 % 60], "shop": codes[row * 3 % 50], "day": row % 7 + 0.0})
    return x, np.where(row * 13 % 60 % 3 == 0, "sold", np.where(row % 7 > 3, "returned", "kept"))


TABLES = {
    "long_words": _long_words,
    "no_spaces": _no_spaces,
    "dates": _dates,
    "signs": _signs,
    "constant": _constant,
}


@functools.cache
def fitted(name):
    """A tree of a table, with the table and its target."""
    X, y = TABLES[name]()
    is_number = np.asarray(y).dtype.kind == "f"
    kind = jaxtree.DecisionTreeRegressor if is_number else jaxtree.DecisionTreeClassifier
    return kind(max_depth=3, min_samples_leaf=3).fit(X, y), X, y


def plots_of(name):
    """The plots of a table: functions of axes or None."""
    tree, X, y = fitted(name)
    one = {} if not hasattr(tree, "classes_") else {"of_class": tree.classes_[0]}
    numeric = [column.name for column in tree.schema_.columns if column.kind == "numeric"]
    plots = {
        "tree": lambda ax: plot.plot_tree(tree, ax=ax),
        "tree_charts": lambda ax: plot.plot_tree(tree, X, y, max_depth=2, ax=ax),
        "importances": lambda ax: plot.plot_importances(tree, ax=ax),
        "shap_bar": lambda ax: plot.plot_shap_bar(tree, X, ax=ax),
        "shap_beeswarm": lambda ax: plot.plot_shap_beeswarm(tree, X, **one, ax=ax),
        "shap_waterfall": lambda ax: plot.plot_shap_waterfall(tree, X[5:6], **one, ax=ax),
        "dependence": lambda ax: plot.plot_dependence(tree, X, 0, ax=ax),
        "dependence_last": lambda ax: plot.plot_dependence(tree, X, X.shape[1] - 1, **one, ax=ax),
    }
    if len(numeric) > 1:
        plots["plane"] = lambda ax: plot.plot_decision_boundary(tree, X, y, features=numeric[:2], resolution=9, ax=ax)
    if one and len(tree.classes_) > 1:
        plots["roc"] = lambda ax: plot.plot_roc(tree, X, y, ax=ax)
        plots["calibration"] = lambda ax: plot.plot_calibration(tree, X, y, **one, ax=ax)
    return plots


def texts_of(figure):
    """All that is written in a figure, with its box in pixels."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    written = [own for ax in figure.axes for own in _written_in(ax)]
    return [(own, own.get_window_extent(renderer)) for own in written if own.get_visible() and own.get_text().strip()]


def _written_in(ax):
    """The texts of axes: those on them, of the legend, and where they are drawn names and ticks in view."""
    yield from ax.texts
    if ax.get_legend() is not None:
        yield from ax.get_legend().get_texts()
    if not ax.axison:
        return
    yield ax.title
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        yield axis.label
        for place, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False):
            if low - 1e-9 * (high - low) <= place <= high + 1e-9 * (high - low):
                yield label


def faults_of(figure):
    """The texts that lie on one another, leave the figure, or lie under a node that they are not of."""
    texts, frame, faults = texts_of(figure), figure.bbox, []
    boxes = [
        patch.get_window_extent()
        for patch in figure.findobj(FancyBboxPatch)
        if (patch.get_gid() or "").startswith("node")
    ]
    for number, (own, box) in enumerate(texts):
        if not _is_inside(box, frame):
            faults.append(f"outside: {own.get_text()!r}")
        for other, second in texts[:number]:
            if _overlap(box, second):
                faults.append(f"on one another: {own.get_text()!r} and {other.get_text()!r}")
        for node in boxes:
            is_inside = (
                node.x0 - 1 <= box.x0 and box.x1 <= node.x1 + 1 and node.y0 - 1 <= box.y0 and box.y1 <= node.y1 + 1
            )
            if _overlap(box, node) and not is_inside:
                faults.append(f"under a node: {own.get_text()!r}")
    faults += [
        "nodes on one another" for number, box in enumerate(boxes) for other in boxes[:number] if _overlap(box, other)
    ]
    return faults


def _overlap(one, other, spare=1.0):
    """Whether two boxes share more than a line of pixels."""
    wide = min(one.x1, other.x1) - max(one.x0, other.x0) > spare
    return wide and min(one.y1, other.y1) - max(one.y0, other.y0) > spare


def _is_inside(one, other, spare=1.0):
    """Whether a box lies in another."""
    across = other.x0 - spare <= one.x0 and one.x1 <= other.x1 + spare
    return across and other.y0 - spare <= one.y0 and one.y1 <= other.y1 + spare
