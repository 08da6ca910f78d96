"""The pages of the gallery: name, caption, and the code that makes `page`."""

from typing import NamedTuple


class Picture(NamedTuple):
    """A page or plot of the gallery.

    Attributes:
        name: Its file's, without the ending.
        caption: What it shows, in a line.
        code: Python that leaves the HTML of a page as `page`, or what Matplotlib drew on.
        at: The words of a heading that is scrolled to, if not the upper part is to be seen.
    """

    name: str
    caption: str
    code: str
    at: str | None = None


CANCER = """\
from sklearn.datasets import load_breast_cancer
import jaxtree

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
"""
DIABETES = """\
from sklearn.datasets import load_diabetes
import jaxtree

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
"""
HALVES = "X[::2], y[::2], X_val=X[1::2], y_val=y[1::2]"

PAGES = (
    Picture(
        "page_tree",
        "The page of a tree: nodes that open and close, the path of a row, sliders that prune",
        """\
import jaxtree

X, y = jaxtree.datasets.load_car_evaluation(return_X_y=True, as_frame=True)
tree = jaxtree.C45Classifier().fit(X, y)
page = jaxtree.to_html(tree, X, y, title="Car evaluation")
""",
    ),
    Picture(
        "page_regression",
        "A tree of numbers, with validation rows",
        DIABETES
        + f"""\
tree = jaxtree.DecisionTreeRegressor(max_leaf_nodes=8).fit(X[::2], y[::2])
page = jaxtree.to_html(tree, {HALVES}, title="Diabetes")
""",
    ),
    Picture(
        "page_boosted",
        "The page of boosted trees: losses by round, importances, dependences",
        CANCER
        + f"""\
model = jaxtree.GradientBoostingClassifier(500, early_stopping=True, random_state=0)
model.fit(X[::2], y[::2])
page = jaxtree.to_html(model, {HALVES}, title="Breast cancer")
""",
    ),
    Picture(
        "page_forest",
        "The page of a forest",
        CANCER
        + f"""\
forest = jaxtree.RandomForestClassifier(oob_score=True, random_state=0)
forest.fit(X[::2], y[::2])
page = jaxtree.to_html(forest, {HALVES}, title="Breast cancer")
""",
    ),
    Picture(
        "page_distribution",
        "The page of a distribution: every parameter of it",
        DIABETES
        + f"""\
model = jaxtree.GradientBoostingDistribution(60, distribution="gamma", max_depth=3)
model.fit(X[::2], y[::2])
page = jaxtree.to_html(model, {HALVES}, title="Diabetes")
""",
    ),
)
