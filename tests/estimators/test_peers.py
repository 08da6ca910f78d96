"""Parameters of other libraries: an estimator that is given one names its own."""

import copy
import functools
import importlib
import inspect
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.base import clone
from sklearn.datasets import load_iris

import jaxtree
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.common.peers import ATTRIBUTES, LIBRARIES, hint_for, peers

ESTIMATORS = [
    jaxtree.DecisionTreeClassifier,
    jaxtree.C45Classifier,
    jaxtree.RandomForestRegressor,
    jaxtree.CausalForest,
    jaxtree.GradientBoostingClassifier,
    jaxtree.GradientBoostingRegressor,
    jaxtree.GradientBoostingDistribution,
    jaxtree.GradientBoostingRanker,
    jaxtree.OptimalTreeClassifier,
    jaxtree.SoftTreeClassifier,
    jaxtree.ExplainableBoostingClassifier,
    jaxtree.ExplainableBoostingRegressor,
]


def parameters_of(kind):
    return list(inspect.signature(kind).parameters)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_name_of_a_peer_leads_to_ours(kind):
    own = parameters_of(kind)
    ours_of = {}
    for ours in peers().parameters:
        for name in peers().names_of(ours):
            ours_of.setdefault(name, []).extend([ours] * (ours in own))
    for name, ours in ours_of.items():
        if ours and name not in own:
            called = " or ".join(word for word in own if word in ours)
            with pytest.raises(
                InvalidTypeError, match=f"{kind.__name__} has no parameter '{name}': it is {called} here"
            ):
                kind(**{name: 1})


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        (jaxtree.GradientBoostingClassifier, "l2_regularization", ": it is reg_lambda here"),
        (jaxtree.GradientBoostingClassifier, "objective", ": it is loss here"),
        (jaxtree.ExplainableBoostingClassifier, "objective", ": of classes the loss follows"),
        (jaxtree.GradientBoostingRegressor, "objective", ": it is loss here"),
        (jaxtree.GradientBoostingDistribution, "objective", ": it is distribution here"),
        (jaxtree.GradientBoostingClassifier, "n_jobs", ": all cores are used"),
        (jaxtree.ExplainableBoostingClassifier, "max_iter", ": it is max_rounds here"),
        (jaxtree.ExplainableBoostingClassifier, "exclude", ": interactions takes a list of the pairs"),
        (jaxtree.ExplainableBoostingRegressor, "objective", ": it is loss here"),
        (jaxtree.ExplainableBoostingRegressor, "inner_bags", "; there is nothing like it here"),
        (jaxtree.DecisionTreeClassifier, "max_deph", r": do you mean max_depth\?"),
        (jaxtree.DecisionTreeClassifier, "colour", "; it has categorical_features, .*, ties, splitter"),
    ],
)
def test_hints(kind, name, hint):
    with pytest.raises(InvalidTypeError, match=f"has no parameter '{name}'{hint}"):
        kind(**{name: 1})
    with pytest.raises(InvalidInputError, match=rf"Invalid parameter '{name}' for estimator {kind.__name__}\(\){hint}"):
        kind().set_params(**{name: 1})


def test_the_table_names_parameters_that_are_there():
    own = {name for kind in ESTIMATORS for name in parameters_of(kind)}
    assert peers().parameters.keys() <= own
    assert all(of_libraries.keys() <= set(LIBRARIES) for of_libraries in peers().parameters.values())
    assert not {name for name in peers().elsewhere if name in parameters_of(jaxtree.GradientBoostingClassifier)}


def test_classes_of_the_user_s_own_take_what_their_constructors_take():
    class Noted(jaxtree.DecisionTreeClassifier):
        def __init__(self, note="", **parameters):
            super().__init__(**parameters)
            self.note = note

    assert Noted(note="x", max_depth=2).note == "x"
    with pytest.raises(TypeError, match="num_leaves"):
        Noted(num_leaves=2)


@functools.cache
def parameters_of_peers():
    """The parameters of the libraries that are installed."""
    found = {}
    for library, names in {"xgboost": ("XGBClassifier", "XGBRanker"), "lightgbm": ("LGBMClassifier",),
                           "catboost": ("CatBoostClassifier", "CatBoostRegressor"),
                           "interpret.glassbox": ("ExplainableBoostingClassifier",)}.items():  # fmt: skip
        try:
            module = importlib.import_module(library)
        except ImportError:
            continue
        for name in names:
            kind = getattr(module, name)
            own = kind().get_params() if library != "catboost" else inspect.signature(kind.__init__).parameters
            found[name] = set(own) - {"self", "kwargs"}
    for name in ("HistGradientBoostingClassifier", "GradientBoostingRegressor"):
        found[name] = set(parameters_of(getattr(sklearn.ensemble, name)))
    return found


@pytest.mark.parametrize("peer", parameters_of_peers())
def test_every_parameter_of_a_peer_is_answered(peer):
    kind = jaxtree.ExplainableBoostingRegressor if peer.startswith("Explain") else jaxtree.GradientBoostingRegressor
    own = parameters_of(kind)
    for name in parameters_of_peers()[peer] - {*own}:
        hint = hint_for(name, own)
        assert not hint.startswith(("; it has", ": do you mean")), (name, hint)


def test_names_of_peers_are_read_when_an_error_needs_them():
    code = """
import sys, jaxtree
from jaxtree.estimators.common.peers import peers
jaxtree.DecisionTreeClassifier().fit([[0], [1], [2]], [0, 1, 1])
assert not peers.cache_info().misses, "a fit reads them"
try:
    jaxtree.DecisionTreeClassifier(num_leaves=2)
except TypeError:
    assert peers.cache_info().misses == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)


MODELS = [
    *(jaxtree.GradientBoostingClassifier(2), jaxtree.RandomForestClassifier(2), jaxtree.DecisionTreeClassifier()),
    jaxtree.ExplainableBoostingClassifier(outer_bags=1, max_rounds=20, interactions=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda own: type(own).__name__)
def test_what_peers_models_have_is_answered(model):
    X, y = load_iris(return_X_y=True)
    fitted = clone(model).fit(X, y)
    for name, way in ATTRIBUTES.items():
        if name not in dir(fitted):
            for own in (fitted, clone(model)):
                with pytest.raises(AttributeError, match=f"has no attribute '{name}': {re.escape(way)}"):
                    getattr(own, name)
    assert not hasattr(fitted, "get_booster") and not hasattr(fitted, "colour")
    with pytest.raises(AttributeError, match=r"no attribute 'colour'$"):
        fitted.colour  # noqa: B018
    again = pickle.loads(pickle.dumps(copy.deepcopy(fitted)))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_ways_to_attributes_are_there():
    X, y = load_iris(return_X_y=True)
    fitted = jaxtree.GradientBoostingClassifier(2).fit(X, y, eval_set=[(X, y)])
    for way in ATTRIBUTES.values():
        name = re.match(r"it is (\w+) here", way)
        assert name is None or hasattr(fitted, name[1]), way


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"verbose": True}, "make the estimator with verbose=1"),
        ({"eval_names": ["a"]}, "give eval_set as a dict of tables by name"),
        ({"cat_features": [0]}, "make the estimator with categorical_features=cat_features"),
        ({"early_stopping_rounds": 5}, "make the estimator with early_stopping=True"),
        ({"init_model": "m"}, "warm_start=True"),
    ],
)
def test_arguments_of_other_fits_are_answered(given, said):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidInputError, match=said):
        jaxtree.GradientBoostingClassifier(2).fit(X, y, **given)


OPTIONS = {
    "n_trials": "n_iter is the number of settings",
    "n_jobs": "make the estimator with|$",
    "param_distributions": "param_grid takes lists and distributions",
    "metric": "scoring names the metric",
    "folds": "cv is the number of folds",
    "seed": "it is random_state here",
    "eta": "make the estimator with learning_rate=eta",
    "max_depth": "make the estimator with max_depth=",
}
"""Options of other searches, and what is said of them."""


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_other_searches_are_answered(name):
    X, y = load_iris(return_X_y=True)
    base, given = jaxtree.GradientBoostingClassifier(2), {name: 1}
    with pytest.raises(InvalidTypeError, match=f"^SearchCV takes no '{name}'(: )?({OPTIONS[name]})"):
        jaxtree.SearchCV(base, {"max_depth": [1]}, **given)
    if name != "param_distributions":
        with pytest.raises(InvalidTypeError, match=f"^tune takes no '{name}'(: )?({OPTIONS[name]})"):
            jaxtree.tune(X, y, **given)
    if name in ("metric", "folds", "seed"):
        with pytest.raises(InvalidTypeError, match=f"^compare takes no '{name}': {OPTIONS[name]}"):
            jaxtree.compare(base, X, y, **given)
    with pytest.raises(InvalidTypeError, match=r"^TunedSearchCV takes no 'timeout': minutes is the time"):
        jaxtree.TunedSearchCV(base, timeout=60)


def test_searches_of_the_user_s_own_take_what_their_constructors_take():
    class Noted(jaxtree.SearchCV):
        def __init__(self, estimator, note="", **options):
            super().__init__(estimator, {"max_depth": [1, 2]}, **options)
            self.note = note

    assert Noted(jaxtree.DecisionTreeClassifier(), note="x", cv=3).note == "x"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("auc", "it is 'roc_auc' here"),
        ("RMSE", "it is 'neg_root_mean_squared_error' here"),
        ("logloss", "it is 'neg_log_loss' here"),
        ("mean_absolute_error", "it is 'neg_mean_absolute_error' here"),
        ("c-index", "it is 'concordance' here"),
        ("acuracy", r"do you mean 'accuracy'\?"),
        ("beauty", "'beauty'$"),
    ],
)
def test_names_of_metrics_lead_to_scorers(given, meant):
    X, y = load_iris(return_X_y=True)
    base = jaxtree.DecisionTreeClassifier(max_depth=1)
    for scoring in (given, ["accuracy", given], {"own": given}):
        for uses in (
            lambda scoring=scoring: jaxtree.SearchCV(base, {"max_depth": [1]}, scoring=scoring, refit=False).fit(X, y),
            lambda scoring=scoring: jaxtree.resampling.cross_validate(base, X, y, scoring=scoring),
            lambda scoring=scoring: jaxtree.compare(base, X, y, scoring=scoring),
        ):
            with pytest.raises(InvalidInputError, match=f"scoring must be a scorer of scikit-learn.*got.*{meant}"):
                uses()
    if given != "c-index":  # a tuning takes the scorers of scikit-learn alone
        with pytest.raises(InvalidInputError, match=f"scoring must be a scorer of scikit-learn.*got.*{meant}"):
            jaxtree.tune(X, y, scoring=given)


def test_more_than_two_classes_have_scorers_of_their_own():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(
        InvalidInputError, match=r"'roc_auc' cannot score .* more than two classes, which 'roc_auc_ovr'"
    ):
        jaxtree.tune(X, y, scoring="roc_auc")


def test_names_of_other_libraries_lead_to_ours():
    for name, advice in peers().names.items():
        with pytest.raises(AttributeError, match=f"no attribute '{name}': {re.escape(advice)}$"):
            getattr(jaxtree, name)
        for path in re.findall(r"jaxtree\.([\w.]+)", advice):
            assert functools.reduce(getattr, path.split("."), jaxtree), advice
    with pytest.raises(AttributeError, match=r"no attribute 'colour'$"):
        jaxtree.colour  # noqa: B018
