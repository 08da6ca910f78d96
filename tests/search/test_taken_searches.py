"""Every function that takes a fitted estimator takes a fitted search, and means its best estimator."""

import inspect
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import jaxtree
import jaxtree.explain
import jaxtree.plot
import jaxtree.serving
from jaxtree import SearchCV
from jaxtree.errors import InvalidInputError
from jaxtree.resampling import bag
from tests.examples import mixed_classes, mixed_numbers, mixed_table

TABLE = mixed_table()
CLASSES = mixed_classes(TABLE)
NUMBERS = mixed_numbers(TABLE)
PLAIN = np.nan_to_num(TABLE[["number", "is_new"]].to_numpy(float))
LOW = CLASSES == "low"
COIN = np.arange(len(PLAIN)) % 2
TIMES = np.exp(NUMBERS / 10)
FEW = {"n_estimators": 3, "min_samples_leaf": 4}
HELD = {"eval_set": [(PLAIN, LOW)]}
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def predicted_by_library(function, model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.so"
        function(model, path)
        return jaxtree.serving.load(path).predict_proba(PLAIN)


SEARCHES = {
    "tree": lambda: SearchCV(jaxtree.DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2).fit(PLAIN, LOW),
    "boosting": lambda: SearchCV(jaxtree.GradientBoostingClassifier(**FEW), {"max_depth": [1, 2]}, cv=2).fit(
        PLAIN, LOW, **HELD
    ),
    "quantiles": lambda: SearchCV(
        jaxtree.GradientBoostingRegressor(**FEW, loss=jaxtree.boosting.quantiles([0.1, 0.9])), {"max_depth": [1]}, cv=2
    ).fit(PLAIN, NUMBERS),
    "survival": lambda: SearchCV(jaxtree.GradientBoostingRegressor(**FEW, loss="cox"), {"max_depth": [1, 2]}, cv=2).fit(
        PLAIN, TIMES, event=LOW.astype(float)
    ),
    "additive": lambda: SearchCV(
        jaxtree.ExplainableBoostingClassifier(outer_bags=1, max_rounds=20), {"learning_rate": [0.2]}, cv=2
    ).fit(PLAIN, LOW),
    "optimal": lambda: SearchCV(jaxtree.OptimalTreeClassifier(max_thresholds=3), {"max_depth": [2]}, cv=2).fit(
        PLAIN, LOW
    ),
    "effects": lambda: SearchCV(jaxtree.CausalForest(24, random_state=0), {"min_samples_leaf": [2]}, cv=2).fit(
        PLAIN, NUMBERS, treatment=COIN
    ),
    "scikit-learn's": lambda: GridSearchCV(jaxtree.DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2).fit(
        PLAIN, LOW
    ),
}

ONE_EPOCH = jaxtree.FineTuning(max_epochs=1, random_state=0)

TAKEN = {
    "explain_row": ("boosting", lambda f, model: str(f(model, PLAIN[:1]))),
    "export_text": ("tree", lambda f, model: f(model)),
    "fine_tune": ("boosting", lambda f, model: f(model, PLAIN, LOW, options=ONE_EPOCH).predict_proba(PLAIN)),
    "importances": ("boosting", lambda f, model: f(model)),
    "leaf_penalty_path": ("optimal", lambda f, model: f(model, PLAIN, LOW).costs),
    "plot_effect_groups": ("effects", lambda f, model: lines(f(model))),
    "plot_effects": ("effects", lambda f, model: lines(f(model))),
    "plot_overlap": ("effects", lambda f, model: lines(f(model))),
    "plot_calibration": ("boosting", lambda f, model: lines(f(model, PLAIN, LOW))),
    "plot_decision_boundary": ("tree", lambda f, model: f(model, PLAIN, LOW).get_xlabel()),
    "plot_dependence": ("boosting", lambda f, model: lines(f(model, PLAIN, 0))),
    "plot_dropout": ("tree", lambda f, model: lines(f(model, PLAIN, LOW))),
    "plot_importances": ("boosting", lambda f, model: f(model).get_xlabel()),
    "plot_intervals": ("quantiles", lambda f, model: lines(f(model, PLAIN, NUMBERS))),
    "plot_learning_curve": ("boosting", lambda f, model: lines(f(model))),
    "plot_pruning_path": ("tree", lambda f, model: lines(f(model))),
    "plot_roc": ("boosting", lambda f, model: lines(f(model, PLAIN, LOW))),
    "plot_shap_bar": ("boosting", lambda f, model: f(model, PLAIN).get_xlabel()),
    "plot_shap_beeswarm": ("boosting", lambda f, model: f(model, PLAIN).get_xlabel()),
    "plot_shap_waterfall": ("boosting", lambda f, model: f(model, PLAIN[:1]).get_xlabel()),
    "plot_survival": ("survival", lambda f, model: lines(f(model, PLAIN, TIMES, event=LOW))),
    "plot_term_importances": ("additive", lambda f, model: f(model).get_xlabel()),
    "plot_terms": ("additive", lambda f, model: len(np.ravel(f(model)))),
    "plot_tree": ("tree", lambda f, model: len(f(model).texts)),
    "prune_to": ("tree", lambda f, model: f(model, np.ones(len(nodes_of(model)), bool)).get_n_leaves()),
    "reason_codes": ("boosting", lambda f, model: str(f(model, PLAIN[:3], wanted=True))),
    "refine": ("tree", lambda f, model: f(model, PLAIN, LOW).predict(PLAIN)),
    "shap_interaction_values": ("boosting", lambda f, model: f(model, PLAIN[:3]).values),
    "shap_values": ("scikit-learn's", lambda f, model: f(model, PLAIN[:3]).values),
    "to_c": ("boosting", lambda f, model: f(model)),
    "to_dataframe": ("boosting", lambda f, model: f(model).to_string()),
    "to_graphviz": ("tree", lambda f, model: str(f(model))),
    "to_html": ("boosting", lambda f, model: f(model, PLAIN, LOW)),
    "to_jax_export": ("boosting", lambda f, model: str(f(model).fun_name)),
    "to_lightgbm": ("boosting", lambda f, model: f(model)),
    "to_library": ("boosting", lambda f, model: predicted_by_library(f, model)),
    "to_onnx": ("boosting", lambda f, model: f(model).SerializeToString()),
    "to_scorecard": ("additive", lambda f, model: str(f(model))),
    "to_sklearn": ("tree", lambda f, model: f(model).predict(PLAIN)),
    "to_sql": ("boosting", lambda f, model: f(model, share_of=True)),
    "to_treelite": ("boosting", lambda f, model: f(model).num_tree),
    "to_xgboost": ("boosting", lambda f, model: f(model)),
    "tune_dropout": ("tree", lambda f, model: f(model, PLAIN, LOW).rates),
}
"""For every such function the search that it is given, and the result that is compared."""

NOT_OF_THE_FITTED = {"from_catboost", "from_lightgbm", "from_sklearn", "from_xgboost", "tune"}


def nodes_of(model):
    return getattr(model, "best_estimator_", model).tree_.feature


def lines(ax):
    axes = np.ravel(ax)
    return [np.asarray(line.get_xydata(), float) for own in axes for line in own.lines]


@pytest.fixture(scope="module")
def searches():
    made = {}
    return lambda name: made.setdefault(name, None) or made.update({name: SEARCHES[name]()}) or made[name]


def functions():
    """All public functions whose first argument is an estimator or a model, by name."""
    rooms = (jaxtree, jaxtree.explain, jaxtree.plot)
    found = {name: getattr(room, name) for room in rooms for name in dir(room)}
    found = {name: own for name, own in found.items() if inspect.isfunction(own)}
    return {name: own for name, own in found.items() if next(iter(inspect.signature(own).parameters)) in OF_MODELS}


OF_MODELS = ("estimator", "model")


def test_the_table_has_every_function_that_takes_an_estimator():
    assert functions().keys() - NOT_OF_THE_FITTED == TAKEN.keys()


@pytest.mark.parametrize("name", TAKEN)
def test_a_fitted_search_means_its_best_estimator(name, searches):
    if name == "to_treelite":
        pytest.importorskip("treelite")
    if name == "to_library" and COMPILER is None:
        pytest.skip("needs a compiler of C")
    kind, call = TAKEN[name]
    search, function = searches(kind), functions()[name]
    of_best, of_search = call(function, search.best_estimator_), call(function, search)
    if isinstance(of_best, list):
        assert len(of_best) == len(of_search)
        for one, other in zip(of_best, of_search, strict=True):
            np.testing.assert_array_equal(one, other)
    else:
        np.testing.assert_array_equal(of_best, of_search)


@pytest.mark.parametrize("kind", ["tree", "boosting", "additive"])
def test_a_search_is_saved_as_its_best_estimator(kind, searches, tmp_path):
    search = searches(kind)
    search.save(tmp_path / "model")
    loaded = jaxtree.load(tmp_path / "model")
    assert type(loaded) is type(search.best_estimator_)
    np.testing.assert_array_equal(loaded.predict_proba(PLAIN), search.predict_proba(PLAIN))


def test_a_search_is_a_teacher_and_is_bagged(searches):
    search = searches("boosting")
    labels = jaxtree.teacher_labels(search, PLAIN, cv=None)
    np.testing.assert_array_equal(labels.probabilities, search.predict_proba(PLAIN))
    other = jaxtree.teacher_labels(search.best_estimator_, PLAIN, LOW)
    np.testing.assert_array_equal(jaxtree.teacher_labels(search, PLAIN, LOW).probabilities, other.probabilities)
    bagged = bag(search, PLAIN, LOW, n_estimators=2)
    assert bagged.members[0].get_params() == bagged.model.get_params() == search.best_estimator_.get_params()


def test_a_search_without_a_best_estimator_is_refused_in_words(tmp_path):
    blank = SearchCV(jaxtree.DecisionTreeClassifier(), {"max_depth": [1]}, cv=2, refit=False)
    for call in (jaxtree.to_c, jaxtree.export_text, lambda own: own.save(tmp_path / "model")):
        with pytest.raises(NotFittedError):
            call(blank)
    blank.fit(PLAIN, LOW)
    for call in (jaxtree.to_c, jaxtree.export_text, lambda own: own.save(tmp_path / "model")):
        with pytest.raises(
            InvalidInputError, match="SearchCV has no best estimator, as it was fitted with refit=False"
        ):
            call(blank)
