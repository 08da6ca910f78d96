"""Arguments that a method does not take: refused by name before anything is read, with advice that can be followed."""

import inspect
import re

import numpy as np
import pytest
import sklearn
from sklearn.base import is_classifier
from sklearn.model_selection import GroupKFold, cross_val_score

import jaxtree
from jaxtree.errors import InvalidInputError, InvalidTypeError, JaxtreeError
from jaxtree.estimators.common.peers import hint_for_argument, peers
from jaxtree.resampling import BorutaSelector, ConformalRegressor, cross_validate, learning_curve

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(60, 3))
CLASSES, NUMBERS = (X[:, 0] > 0).astype(int), X[:, 0] + GENERATOR.normal(size=60)
GROUP = np.repeat(np.arange(12), 5)
FEW = {"n_estimators": 3, "max_rounds": 2, "outer_bags": 1, "max_epochs": 2, "depth": 2}

KINDS = [
    own
    for own in (getattr(jaxtree, name) for name in sorted(jaxtree.__all__))
    if inspect.isclass(own)
    and hasattr(own, "fit")
    and not inspect.signature(own).parameters.keys() & {"estimator", "estimators"}
]
"""The estimators that are made without another."""

assert len(KINDS) > 20

MISSPELT = {
    "evals": [(X, NUMBERS)],
    "evalset": [(X, NUMBERS)],
    "eval_metrics": "rmse",
    "sample_weights": np.ones(60),
    "weight": None,
    "groups": GROUP,
    "colour": 3,
}

METHODS = {
    "score": lambda model, y, given: model.score(X, y, **given),
    "refit": lambda model, y, given: model.refit(X, y, **given),
    "add_rows": lambda model, y, given: model.add_rows(X, y, **given),
    "remove_rows": lambda model, y, given: model.remove_rows(X, y, **given),
    "partial_fit": lambda model, y, given: model.partial_fit(X, y, **given),
    "harden": lambda model, y, given: model.harden(X, y, **given),
    "cost_of_edits": lambda model, y, given: model.flatten(0).cost_of_edits(X, y, **given),
}


OF_EFFECTS = (jaxtree.CausalForest, jaxtree.InstrumentalForest)
COIN = np.arange(60) % 2


def made(kind):
    """A small estimator, with its target and the extras that it cannot do without."""
    known = inspect.signature(kind).parameters
    needed = {"psi": lambda theta, nu, y: y - theta} if "psi" in known else {}
    model = kind(**needed, **{name: value for name, value in FEW.items() if name in known})
    if kind in OF_EFFECTS:
        return model, NUMBERS, dict.fromkeys(model.needed, COIN)
    if kind is jaxtree.SurvivalForest:
        return model, np.abs(NUMBERS), {}
    if kind is jaxtree.GradientBoostingRanker:
        return model, CLASSES, {"group": GROUP}
    return model, CLASSES if is_classifier(model) else NUMBERS, {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_misspelt_argument_of_fit_is_named(kind):
    model, y, extras = made(kind)
    own = inspect.signature(kind.fit).parameters
    for name, values in MISSPELT.items():
        if name in own:
            continue
        with pytest.raises((JaxtreeError, TypeError), match=f"'{name}'") as caught:
            model.fit(X, y, **extras, **{name: values})
        follows(str(caught.value), kind, "fit")


FITTING_MANY = {
    "search": lambda model, y, given: jaxtree.SearchCV(model, {}, cv=2).fit(X, y, **given),
    "validation": lambda model, y, given: cross_validate(model, X, y, cv=2, fit_params=given),
    "curve": lambda model, y, given: learning_curve(model, X, y, cv=2, **given),
    "selection": lambda model, y, given: BorutaSelector(model).fit(X, y, **given),
    "intervals": lambda model, y, given: ConformalRegressor(model, cv=2).fit(X, y, **given),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_misspelt_argument_of_many_fits_is_named_before_the_first(kind):
    """It is no failure of each of them, to be found among their tracebacks."""
    model, y, extras = made(kind)
    for way, fit in FITTING_MANY.items():
        if way == "intervals" and is_classifier(model):
            continue
        for name in ("sample_weights", "colour", "evals"):
            with pytest.raises(InvalidInputError, match=f"^{kind.__name__}.fit.* takes no '{name}'") as caught:
                fit(model, y, {**extras, name: np.ones(60)})
            follows(str(caught.value), kind, "fit")


def test_a_search_takes_what_one_of_its_losses_takes():
    upper = NUMBERS + 1
    model = jaxtree.GradientBoostingRegressor(2)
    losses = {"loss": ["squared_error", "accelerated_failure_time"]}
    search = jaxtree.SearchCV(model, losses, cv=2, error_score=-9e9, scoring="neg_mean_absolute_error")
    with pytest.raises(InvalidInputError, match=r"takes no 'uper': do you mean upper\?; .* takes offset, upper"):
        search.fit(X, np.exp(NUMBERS), uper=np.exp(upper))
    with pytest.warns(Warning, match="fits failed"):
        search.fit(X, np.exp(NUMBERS), upper=np.exp(upper))
    assert search.best_params_ == {"loss": "accelerated_failure_time"}


def follows(message, kind, method):
    """Advice names what the method, or the constructor, takes."""
    own = {*inspect.signature(getattr(kind, method)).parameters, *inspect.signature(kind).parameters}
    extras = set(re.findall(r"\w+", message.partition("of every row it takes")[2]))
    advised = set(re.findall(r"(\w+)=(?!')|give (\w+) ", message.partition("' takes no")[2]))
    assert {name for pair in advised for name in pair if name} <= own | extras, message


@pytest.mark.parametrize(
    "kind", [jaxtree.GradientBoostingRegressor, jaxtree.SoftTreeRegressor, jaxtree.ExplainableBoostingRegressor]
)
def test_a_misspelt_argument_of_another_method_is_named(kind):
    model, y, _ = made(kind)
    model.fit(X, y)
    for method in METHODS.keys() & dir(model):
        with pytest.raises(InvalidInputError, match=f"{kind.__name__}.{method} .*takes no 'evals'"):
            METHODS[method](model, y, {"evals": [(X, y)]})


def test_functions_name_arguments_that_they_do_not_take():
    model = jaxtree.GradientBoostingDistribution(2).fit(X, NUMBERS)
    with pytest.raises(InvalidInputError, match="must be among: none, got upp"):
        model.predict_dist(X).log_prob(NUMBERS, upp=[[1], [1, 2]])
    for name, hint in {
        "evals": "",
        "titel": ": do you mean title",
        "sample_weights": ": pass it as sample_weight",
    }.items():
        with pytest.raises(InvalidTypeError, match=f"to_html of a .* takes no '{name}'{hint}"):
            jaxtree.to_html(model, X, NUMBERS, **{name: [[1], [1, 2]]})


@pytest.mark.parametrize("own", [["X", "y", "eval_set", "group"], ["X", "y", "X_val", "y_val"], ["X", "y"]])
def test_a_hint_names_arguments_that_there_are(own):
    for parameters in (["validation_size"], ["n_iter_no_change", "early_stopping"], []):
        for name in (
            "evals",
            "X_val",
            "qid",
            "groups",
            "early_stopping_rounds",
            "baseline",
            *sorted(peers().parameters),
        ):
            hint = hint_for_argument(name, own, parameters)
            advised = {one for pair in re.findall(r"(\w+)=(?!')|give (\w+) ", hint) for one in pair if one}
            assert advised <= {*own, *parameters}, hint


def test_a_part_that_is_held_out_keeps_groups_together():
    """Rows that one group has all of cannot be divided."""
    model = jaxtree.GradientBoostingClassifier(3, early_stopping=True)
    assert model.fit(X, CLASSES, group=GROUP).n_estimators_ <= 3
    with pytest.raises(InvalidInputError, match="group"):
        model.fit(X, CLASSES, group=np.zeros(60))


def test_a_fit_that_holds_no_rows_out_says_where_groups_count():
    with pytest.raises(InvalidInputError, match=r"takes no 'group': .*early_stopping='cv'"):
        jaxtree.GradientBoostingClassifier(2).fit(X, CLASSES, group=GROUP)
    with pytest.raises(InvalidInputError, match="pass its groups to fit as group="):
        jaxtree.GradientBoostingClassifier(2, early_stopping="cv", cv=GroupKFold(3)).fit(X, CLASSES)


@pytest.mark.parametrize("early_stopping", [True, "cv"])
def test_groups_reach_fits_and_no_scores(early_stopping):
    """By a search, by a cross-validation, and by scikit-learn's routing of metadata."""
    model = jaxtree.GradientBoostingRegressor(2, early_stopping=early_stopping, n_iter_no_change=1)
    search = jaxtree.SearchCV(model, {"max_depth": [1, 2]}, cv=3, error_score="raise").fit(X, NUMBERS, group=GROUP)
    scores = cross_validate(model, X, NUMBERS, cv=3, fit_params={"group": GROUP})
    assert np.isfinite([search.best_score_, *scores["test_score"]]).all()
    with sklearn.config_context(enable_metadata_routing=True):
        for own, y in (
            (model, NUMBERS),
            (jaxtree.GradientBoostingClassifier(2, early_stopping=early_stopping), CLASSES),
        ):
            assert np.isfinite(cross_val_score(own, X, y, cv=2, params={"group": GROUP}, error_score="raise")).all()
