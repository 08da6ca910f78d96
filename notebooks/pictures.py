"""Every plot as a picture with its code: `python notebooks/pictures.py FOLDER [NAME ...]` writes `FOLDER/NAME.png`.

With `--style dark_background`, or another style of Matplotlib, they are drawn in that style.
"""

import argparse
import pathlib
from typing import NamedTuple


class Plot(NamedTuple):
    """A plot of the gallery.

    Attributes:
        name: Its file's, without the ending.
        caption: Its caption, in a line.
        code: Python that leaves the axes as `ax`.
    """

    name: str
    caption: str
    code: str


CANCER = """\
from sklearn.datasets import load_breast_cancer
import jaxtree
from jaxtree import plot

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
"""
DIABETES = """\
from sklearn.datasets import load_diabetes
import jaxtree
from jaxtree import plot

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
"""
WINE = """\
from sklearn.datasets import load_wine
import jaxtree
from jaxtree import plot

X, y = load_wine(return_X_y=True, as_frame=True)
y = y.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
"""
CARS = """\
import jaxtree
from jaxtree import plot

X, y = jaxtree.datasets.load_car_evaluation(return_X_y=True, as_frame=True)
"""
DIGITS = """\
from sklearn.datasets import load_digits
import jaxtree
from jaxtree import plot

X, y = load_digits(return_X_y=True)
forest = jaxtree.RandomForestClassifier(30, max_depth=7, random_state=0).fit(X[::2], y[::2])
"""
BOOSTED = "model = jaxtree.GradientBoostingRegressor(60, max_depth=3, random_state=0).fit(X[::2], y[::2])\n"
ADDITIVE = "model = jaxtree.ExplainableBoostingRegressor(interactions=3, random_state=0).fit(X, y)\n"
FOREST = "forest = jaxtree.RandomForestClassifier(60, random_state=0).fit(X[::2], y[::2])\n"
SEARCH = """\
space = {"learning_rate": [0.01, 0.03, 0.1, 0.3], "max_depth": [2, 3, 4], "min_samples_leaf": [5, 20]}
model = jaxtree.GradientBoostingRegressor(60, early_stopping=True, random_state=0)
search = jaxtree.SearchCV(model, space, cv=3, refit="ensemble").fit(X, y)
"""
PATIENTS = """\
import numpy as np
import pandas as pd
import jaxtree
from jaxtree import plot

rng = np.random.default_rng(0)
X = pd.DataFrame({"age": rng.uniform(30, 80, 900), "stage": rng.integers(1, 5, 900), "marker": rng.normal(size=900)})
died = rng.exponential(400 * np.exp(-0.04 * X["age"] - 0.4 * X["stage"] - 0.5 * X["marker"]))
watched = rng.exponential(25, 900)
months, event = np.minimum(died, watched), died < watched
"""

TREES = (
    Plot(
        "tree",
        "A tree: its splits, its predictions, and the number of rows in each node",
        WINE + "tree = jaxtree.DecisionTreeClassifier(max_depth=3).fit(X, y)\nax = plot.plot_tree(tree)\n",
    ),
    Plot(
        "tree_histograms",
        "With rows, each node shows the histogram of the column that it splits on",
        WINE + "tree = jaxtree.DecisionTreeClassifier(max_depth=2).fit(X, y)\nax = plot.plot_tree(tree, X, y)\n",
    ),
    Plot(
        "tree_numbers",
        "A regression tree: the target against the column, and the means of both branches",
        DIABETES + "tree = jaxtree.DecisionTreeRegressor(max_depth=2).fit(X, y)\nax = plot.plot_tree(tree, X, y)\n",
    ),
    Plot(
        "tree_categories",
        "Splits of categories: a branch for each, or two subsets",
        CARS + "tree = jaxtree.C45Classifier().fit(X, y)\nax = plot.plot_tree(tree, X, y, max_depth=2)\n",
    ),
    Plot(
        "tree_planes",
        "A hardened soft tree, whose splits are planes: their three largest terms",
        WINE
        + """\
soft = jaxtree.SoftTreeClassifier(depth=2, max_epochs=60, random_state=0).fit(X, y)
ax = plot.plot_tree(soft.harden(), X, y)
""",
    ),
    Plot(
        "tree_of_a_forest",
        "One tree of a forest, or the tree of a round of boosting",
        CANCER + FOREST + "ax = plot.plot_tree(forest.estimators_[0], X[::2], y[::2], max_depth=2)\n",
    ),
    Plot(
        "decision_boundary",
        "Decision boundary over two columns; other columns have their medians",
        WINE
        + """\
forest = jaxtree.RandomForestClassifier(60, random_state=0).fit(X, y)
ax = plot.plot_decision_boundary(forest, X, y, features=["proline", "flavanoids"])
""",
    ),
    Plot(
        "pruning_path",
        "The trees of cost-complexity pruning: leaves, and accuracy on other rows",
        CANCER
        + """\
tree = jaxtree.DecisionTreeClassifier().fit(X[::2], y[::2])
ax = plot.plot_pruning_path(tree, X[1::2], y[1::2])
""",
    ),
    Plot(
        "dropout",
        "The mean accuracy of all draws of dropout pruning, exactly, for many rates",
        CANCER
        + """\
tree = jaxtree.DecisionTreeClassifier().fit(X[::2], y[::2])
ax = plot.plot_dropout(tree, X[1::2], y[1::2])
""",
    ),
    Plot(
        "accuracy_by_leaves",
        "Accuracy of small trees by the number of leaves, for each method",
        CANCER
        + """\
trees = jaxtree.trees_by_size(X[::2], y[::2], methods=["greedy", "optimal"], sizes=[2, 3, 4], max_depth=2)
ax = plot.plot_accuracy_by_leaves(trees, X[1::2], y[1::2])
""",
    ),
)

EXPLANATIONS = (
    Plot(
        "terms",
        "Curves of an additive model, with intervals and the density of rows",
        DIABETES + ADDITIVE + 'ax = plot.plot_terms(model, ["bmi", "bp", "s5"])[0]\n',
    ),
    Plot(
        "term_importances",
        "Importances of the terms of an additive model, including pairs",
        DIABETES + ADDITIVE + "ax = plot.plot_term_importances(model)\n",
    ),
    Plot(
        "shap_bar",
        "Importances of columns: mean absolute Shapley values",
        DIABETES + BOOSTED + "ax = plot.plot_shap_bar(model, X)\n",
    ),
    Plot(
        "shap_bar_classes",
        "The same for all classes, stacked",
        WINE + FOREST + "ax = plot.plot_shap_bar(forest, X, max_columns=8)\n",
    ),
    Plot(
        "shap_beeswarm",
        "Shapley values row by row, coloured by the value of the column",
        DIABETES + BOOSTED + "ax = plot.plot_shap_beeswarm(model, X)\n",
    ),
    Plot(
        "shap_waterfall",
        "How the columns of one row add up from the mean to its prediction",
        DIABETES + BOOSTED + "ax = plot.plot_shap_waterfall(model, X.iloc[[3]], max_columns=6)\n",
    ),
    Plot(
        "dependence",
        "Partial dependence on a column, with curves of single rows and the column's histogram",
        DIABETES + BOOSTED + 'ax = plot.plot_dependence(model, X, "bmi", num_lines=30)\n',
    ),
    Plot(
        "dependence_classes",
        "The probabilities of all classes",
        WINE + FOREST + 'ax = plot.plot_dependence(forest, X, "flavanoids")\n',
    ),
    Plot(
        "dependence_categories",
        "A column of categories, each with its share of the rows",
        CARS
        + """\
model = jaxtree.GradientBoostingClassifier(60).fit(X, y)
ax = plot.plot_dependence(model, X, "safety")
""",
    ),
    Plot(
        "importances",
        "The share of each column in the gain of splits",
        CANCER + FOREST + "ax = plot.plot_importances(forest, max_columns=10)\n",
    ),
)

QUALITY = (
    Plot(
        "confusion",
        "Confusion matrix, by scikit-learn's display",
        DIGITS
        + """\
from sklearn.metrics import ConfusionMatrixDisplay

ax = ConfusionMatrixDisplay.from_estimator(forest, X[1::2], y[1::2], cmap="Blues", colorbar=False).ax_
""",
    ),
    Plot("roc", "ROC curves of all classes", DIGITS + "ax = plot.plot_roc(forest, X[1::2], y[1::2])\n"),
    Plot(
        "calibration",
        "Calibration: observed frequency against predicted probability, with 95 % intervals",
        CANCER + FOREST + "ax = plot.plot_calibration(forest, X[1::2], y[1::2])\n",
    ),
    Plot(
        "residuals",
        "Residuals against predictions, by scikit-learn's display",
        DIABETES
        + BOOSTED
        + """\
from sklearn.metrics import PredictionErrorDisplay

ax = PredictionErrorDisplay.from_estimator(model, X[1::2], y[1::2], kind="residual_vs_predicted").ax_
""",
    ),
    Plot(
        "intervals",
        "Prediction intervals, and the targets inside and outside",
        DIABETES
        + """\
model = jaxtree.GradientBoostingDistribution(60, max_depth=2, distribution="gamma").fit(X[::2], y[::2])
ax = plot.plot_intervals(model, X[1::2], y[1::2], coverage=0.9)
""",
    ),
    Plot(
        "survival",
        "Survival by predicted risk, with 95 % bands",
        PATIENTS
        + """\
model = jaxtree.GradientBoostingRegressor(60, max_depth=2, loss="cox").fit(X[::2], months[::2], event=event[::2])
ax = plot.plot_survival(model, X[1::2], months[1::2], event[1::2])
""",
    ),
)

LEARNING = (
    Plot(
        "learning_curve",
        "Boosting round by round, and where it stopped",
        CANCER
        + """\
model = jaxtree.GradientBoostingClassifier(500, early_stopping=True, random_state=0)
model.fit(X[::2], y[::2], eval_set={"test": (X[1::2], y[1::2]), "training": (X[::2], y[::2])})
ax = plot.plot_learning_curve(model)
""",
    ),
    Plot(
        "search_curves",
        "The curves of all settings of a search",
        DIABETES + SEARCH + "ax = plot.plot_search_curves(search)\n",
    ),
    Plot(
        "search_scatter",
        "The scores of all settings by one of their parameters",
        DIABETES + SEARCH + 'ax = plot.plot_search_scatter(search, "learning_rate")\n',
    ),
    Plot(
        "parameter_importances",
        "Importances of parameters",
        DIABETES + SEARCH + "ax = plot.plot_parameter_importances(search)\n",
    ),
    Plot(
        "ensemble_weights",
        "The shares of settings in the ensemble of a search",
        DIABETES + SEARCH + "ax = plot.plot_ensemble_weights(search)\n",
    ),
)

PLOTS = {
    "Trees": TREES,
    "Explanations": EXPLANATIONS,
    "How good predictions are": QUALITY,
    "Learning and searching": LEARNING,
}
"""All plots, by the titles of their sections."""


def draw(own: Plot) -> object:
    """Runs the code of a plot, and returns its axes."""
    names: dict = {}
    exec(own.code, names)
    return names["ax"]


def main() -> None:
    """Writes the pictures that are asked for."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--style", default="default")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for own in (plot for plots in PLOTS.values() for plot in plots):
        if not asked.names or own.name in asked.names:
            with pyplot.style.context(asked.style):
                draw(own).figure.savefig(asked.folder / f"{own.name}.png", dpi=150)
            pyplot.close("all")


if __name__ == "__main__":
    main()
