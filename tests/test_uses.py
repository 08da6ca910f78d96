"""A table of models and of what can be asked of them: each answers, or refuses with a reason that names what to do."""

import functools

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import jaxtree
from jaxtree import plot
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.explain import shap_interaction_values, shap_values
from jaxtree.tree.kinds import ModelKind, Prediction, kind_of
from tests.examples import effects, example, unfitted
from tests.marks import in_turn

USES = {
    "export_text": lambda model, X: jaxtree.export_text(model),
    "to_graphviz": lambda model, X: jaxtree.to_graphviz(model),
    "plot_tree": lambda model, X: plot.plot_tree(model),
    "to_dataframe": lambda model, X: jaxtree.to_dataframe(model),
    "to_html": lambda model, X: jaxtree.to_html(model),
    "to_c": lambda model, X: jaxtree.to_c(model, no_missing=True),
    "to_sql": lambda model, X: jaxtree.to_sql(model, no_missing=True, share_of=getattr(model, "classes_", [None])[0]),
    "to_jax_export": lambda model, X: jaxtree.to_jax_export(model, no_missing=True),
    "to_treelite": lambda model, X: jaxtree.to_treelite(model),
    "explain_row": lambda model, X: jaxtree.explain_row(model, X[:1]),
    "shap_values": lambda model, X: shap_values(model, X[:3]),
    "shap_interaction_values": lambda model, X: shap_interaction_values(model, X[:3]),
    "plot_dependence": lambda model, X: plot.plot_dependence(model, X[:9], 0),
    "plot_importances": lambda model, X: plot.plot_importances(model),
    "plot_terms": lambda model, X: plot.plot_terms(model),
    "plot_learning_curve": lambda model, X: plot.plot_learning_curve(model),
}

ONE_TREE = dict.fromkeys(["export_text", "to_graphviz", "plot_tree"], "must be a single tree of hard splits, got")
HARDEN = dict.fromkeys(
    [*ONE_TREE, "to_dataframe", "to_c", "to_sql", "to_jax_export", "to_treelite"], r"harden\(\) it first"
)
NO_TERMS = {"plot_terms": "must be an additive model"}
NO_CURVE = {"plot_learning_curve": "has no learning curve: give a soft"}
NO_IMPORTANCES = {"plot_importances": r'has no importances of its own: give those of .*kind="permutation"'}
OF_PLANES = {"to_treelite": "splits by planes: its forms are export_text"}

REFUSED = {
    ModelKind.TREE: ("cart", NO_TERMS | NO_CURVE),
    ModelKind.FOREST: ("forest", ONE_TREE | NO_TERMS | NO_CURVE),
    ModelKind.BOOSTED: ("boosted", ONE_TREE | NO_TERMS),
    ModelKind.TERMS: ("additive", ONE_TREE | NO_CURVE),
    ModelKind.PLANES: ("hardened", OF_PLANES | NO_TERMS | NO_CURVE),
    ModelKind.WEIGHTED: (
        "hardened_forest",
        ONE_TREE | NO_TERMS | NO_CURVE | {"to_treelite": "divides by their weights: its forms are"},
    ),
    ModelKind.MOMENT: (
        "effects",
        ONE_TREE
        | NO_TERMS
        | NO_CURVE
        | {
            "to_treelite": "these trees have another: take to_onnx",
            "shap_interaction_values": "where predictions are sums over trees",
        },
    ),
    ModelKind.SOFT: ("soft", HARDEN | NO_TERMS | NO_IMPORTANCES),
}
"""An example of every kind, and the uses that it refuses, with the reason."""


def check(model, X, use, reason):
    if reason is None:
        assert USES[use](model, X) is not None
        return
    with pytest.raises((InvalidTypeError, InvalidInputError), match=reason):
        USES[use](model, X)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", ModelKind, ids=lambda kind: kind.name)
def test_a_model_answers_or_says_why_not(kind, use):
    if use == "to_treelite":
        pytest.importorskip("treelite")
    name, refused = REFUSED[kind]
    model, X = effects("causal")[:2] if name == "effects" else (example(name), unfitted()[name][1])
    assert kind_of(model) == kind
    check(model, X, use, refused.get(use))


@functools.cache
def search():
    _, X, y = unfitted()["cart"]
    return jaxtree.SearchCV(jaxtree.DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2).fit(X, y)


OF_SEARCHES = sorted(set(USES) - {"to_sql", "to_treelite"})


@pytest.mark.parametrize("use", OF_SEARCHES)
def test_a_search_answers_as_its_best_estimator(use):
    check(search(), unfitted()["cart"][1], use, REFUSED[ModelKind.TREE][1].get(use))


@pytest.mark.parametrize(
    ("other", "use"),
    in_turn(
        [DecisionTreeClassifier(), LinearRegression()],
        sorted(set(USES) - {"to_sql", "plot_importances", "plot_learning_curve"}),
    ),
)
def test_models_of_others_are_refused_by_their_class(other, use):
    X = np.arange(8.0)[:, None]
    with pytest.raises(InvalidTypeError, match=type(other).__name__):
        USES[use](other.fit(X, X[:, 0] > 3), X)


PREDICTIONS = {
    "cart": Prediction.CLASSES,
    "regression": Prediction.NUMBERS,
    "hardened": Prediction.CLASSES,
    "boosted": Prediction.CLASSES,
    "boosted_counts": Prediction.NUMBERS,
    "boosted_distribution": Prediction.DISTRIBUTIONS,
    "boosted_normal": Prediction.NUMBERS,
    "boosted_ranker": Prediction.RANKS,
    "additive_regression": Prediction.NUMBERS,
    "soft_regression": Prediction.NUMBERS,
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_a_model_says_what_it_predicts(name):
    assert example(name).predicts == PREDICTIONS[name]


@pytest.mark.parametrize("name", ["causal", "instrumental"])
def test_forests_of_effects_say_so(name):
    assert effects(name)[0].predicts == Prediction.EFFECTS


@pytest.mark.parametrize(
    ("loss", "prediction"), [("cox", Prediction.RISKS), ("accelerated_failure_time", Prediction.TIMES)]
)
def test_models_of_times_say_so(loss, prediction):
    X, time = np.arange(20.0)[:, None], np.arange(1.0, 21.0)
    extras = {"event": time % 3 > 0} if loss == "cox" else {"upper": time}
    model = jaxtree.GradientBoostingRegressor(1, loss=loss).fit(X, time, **extras)
    assert model.predicts == prediction
