"""The pages of the gallery: name, caption, and the code that makes `page`."""

from pictures import CANCER, DIABETES, PATIENTS, SEARCH, Plot

HALVES = "X[::2], y[::2], X_val=X[1::2], y_val=y[1::2]"

PAGES = (
    Plot(
        "page_tree",
        "A tree: nodes that open and close, the path of a row, sliders that prune",
        """\
import jaxtree

X, y = jaxtree.datasets.load_car_evaluation(return_X_y=True, as_frame=True)
tree = jaxtree.C45Classifier().fit(X, y)
page = jaxtree.to_html(tree, X, y, title="Car evaluation")
""",
    ),
    Plot(
        "page_regression",
        "A regression tree, with validation rows",
        DIABETES
        + f"""\
tree = jaxtree.DecisionTreeRegressor(max_leaf_nodes=8).fit(X[::2], y[::2])
page = jaxtree.to_html(tree, {HALVES}, title="Diabetes")
""",
    ),
    Plot(
        "page_boosted",
        "Boosted trees: losses by round, errors, effects of columns",
        CANCER
        + f"""\
model = jaxtree.GradientBoostingClassifier(500, early_stopping=True, random_state=0)
model.fit(X[::2], y[::2])
page = jaxtree.to_html(model, {HALVES}, title="Breast cancer")
""",
    ),
    Plot(
        "page_forest",
        "A forest, and each of its trees",
        CANCER
        + f"""\
forest = jaxtree.RandomForestClassifier(40, oob_score=True, random_state=0)
forest.fit(X[::2], y[::2])
page = jaxtree.to_html(forest, {HALVES}, title="Breast cancer")
""",
    ),
    Plot(
        "page_additive",
        "An additive model: its curves and surfaces, and a row whose values can be changed",
        DIABETES
        + f"""\
model = jaxtree.ExplainableBoostingRegressor(interactions=3, random_state=0)
model.fit(X[::2], y[::2])
page = jaxtree.to_html(model, {HALVES}, title="Diabetes")
""",
    ),
    Plot(
        "page_distribution",
        "A distribution: its coverage, and its parameters by column",
        DIABETES
        + f"""\
model = jaxtree.GradientBoostingDistribution(
    300, distribution="gamma", max_depth=3, early_stopping=True, random_state=0
).fit(X[::2], y[::2])
page = jaxtree.to_html(model, {HALVES}, title="Diabetes")
""",
    ),
    Plot(
        "page_survival",
        "Survival times: curves of risk groups, medians of rows",
        PATIENTS
        + """\
hazards = jaxtree.GradientBoostingRegressor(60, loss="cox", max_depth=2, random_state=0)
hazards.fit(X, months, event=event)
page = jaxtree.to_html(hazards, X, months, event=event, title="Patients, simulated")
""",
    ),
    Plot(
        "page_ranking",
        "A ranking: the quality of the order in each group",
        """\
import numpy as np
import pandas as pd
import jaxtree

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(900, 4)), columns=["match", "clicks", "age", "length"])
query = np.repeat(np.arange(90), 10)
relevance = np.digitize(X["match"] + X["clicks"] ** 2 + rng.normal(size=900), [0, 1, 2])
ranker = jaxtree.GradientBoostingRanker(60, ndcg_at=5).fit(X, relevance, group=query)
page = jaxtree.to_html(ranker, X, relevance, group=query, title="Answers, simulated")
""",
    ),
    Plot(
        "page_hardened",
        "A soft tree, hardened: planes at its gates",
        """\
from sklearn.datasets import load_iris
import jaxtree

X, y = load_iris(return_X_y=True, as_frame=True)
y = y.map(dict(enumerate(["setosa", "versicolor", "virginica"])))
hard = jaxtree.SoftTreeClassifier(depth=2, random_state=0).fit(X, y).harden()
page = jaxtree.to_html(hard, X, y, title="Irises")
""",
    ),
    Plot(
        "page_described",
        "A table with faults: warnings about the data before the model's scores",
        CANCER
        + """\
import numpy as np

X = X.iloc[:, :6].assign(clinic="A", patient=[f"p{row}" for row in range(len(X))])
X["report"] = np.where(y == "malignant", "see letter", None)  # written after the diagnosis
X.loc[::3, "mean area"] = np.nan
model = jaxtree.DecisionTreeClassifier(max_depth=3).fit(X, y)
page = jaxtree.to_html(model, X, y, title="Breast cancer, with faults")
""",
    ),
    Plot(
        "page_compared",
        "Models side by side: the same folds, differences with intervals, a constant",
        CANCER
        + """\
models = [
    jaxtree.DecisionTreeClassifier(max_depth=4),
    jaxtree.RandomForestClassifier(40, random_state=0),
    jaxtree.GradientBoostingClassifier(60, random_state=0),
]
page = jaxtree.compare(models, X, y, cv=5).to_html(title="Breast cancer, three models")
""",
    ),
    Plot(
        "page_search",
        "A search: its leaderboard, scores by parameter, and the chosen setting",
        DIABETES
        + SEARCH
        + """\
page = search.to_html(title="Diabetes, 24 settings")
""",
    ),
    Plot(
        "page_tuned",
        "Tuning: the settings tried, and the ensemble of the best",
        """\
import jaxtree

X, y = jaxtree.datasets.load_car_evaluation(return_X_y=True, as_frame=True)
search = jaxtree.tune(X[::2], y[::2], minutes=5, n_iter=20, cv=3, verbose=0)
page = search.to_html(title="Car evaluation, tuned")
""",
    ),
)

LIVE = tuple(own for own in PAGES if own.name != "page_tuned")
"""The pages that are in the site: tuning takes minutes."""
