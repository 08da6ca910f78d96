"""Parameters that are "auto": what they are for one model, for models of folds, and by the number of rows."""

import warnings

import numpy as np
import pytest

from jaxtree import GradientBoostingClassifier, GradientBoostingDistribution, GradientBoostingRegressor
from jaxtree.estimators.boosting import parameters as usual
from jaxtree.estimators.boosting.parameters import FEW_NUMBERS, FEW_ROWS, MANY_ROWS, Usual, usual_values
from tests.estimators.comparing import same_trees

RNG = np.random.default_rng(3)
X = RNG.normal(size=(160, 4))
SIGNAL = X[:, 0] + X[:, 1] ** 2 + 0.3 * RNG.normal(size=160)
KINDS = {"classes": (GradientBoostingClassifier, SIGNAL > 0.8), "numbers": (GradientBoostingRegressor, SIGNAL)}
FOLDS = {"early_stopping": "cv", "cv": 3}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stopping", [{}, FOLDS], ids=["one model", "folds"])
def test_auto_is_what_these_values_are(kind, stopping):
    estimator, y = KINDS[kind]
    values = usual_values(len(X), has_folds=bool(stopping), of_classes=kind == "classes")
    explicit = estimator(**stopping, **values._asdict() | {"n_estimators": 12}).fit(X, y)
    usual_model = estimator(12, **stopping).fit(X, y)
    if not stopping:
        assert same_trees(usual_model, explicit)
    assert usual_model.shrinkage(len(X)) == explicit.shrinkage(len(X))
    assert usual_model.config(len(X), 100).learner == explicit.config(len(X), 100).learner


@pytest.mark.parametrize("kind", KINDS)
def test_draws_by_default_are_the_same_in_every_fit(kind):
    estimator, y = KINDS[kind]
    one, other = (estimator(12, **FOLDS).fit(X, y) for _ in range(2))
    assert same_trees(one, other)
    drawn = estimator(12, **FOLDS, subsample=0.8)
    assert drawn.seed() != drawn.seed(), "those that are asked for are others in every fit"


def test_what_is_given_replaces_auto_and_nothing_else():
    model = GradientBoostingClassifier(early_stopping="cv", max_leaf_nodes=None, max_depth=3)
    shrinkage = model.shrinkage(2_000)
    assert shrinkage.max_leaf_nodes is None
    assert shrinkage.score_noise == usual.FOLDS_OF_CLASSES.random_strength
    assert shrinkage.patience == usual.FOLDS_OF_CLASSES.n_iter_no_change


def test_small_tables_have_small_trees_with_folds_and_large_ones_leaves_of_any_size():
    of = lambda rows, folds=True: usual_values(rows, has_folds=folds, of_classes=True)  # noqa: E731
    assert of(FEW_ROWS - 1).max_leaf_nodes * 2 == of(FEW_ROWS).max_leaf_nodes
    assert of(FEW_ROWS - 1, False) == of(FEW_ROWS, False) == Usual()
    for folds in (True, False):
        assert of(MANY_ROWS, folds).min_samples_leaf == 1 < of(MANY_ROWS - 1, folds).min_samples_leaf


def test_folds_of_few_numbers_go_in_smaller_steps_and_draw_columns():
    of = lambda rows, **kind: usual_values(rows, **{"has_folds": True, "of_classes": False} | kind)  # noqa: E731
    few, many = of(FEW_NUMBERS - 1), of(FEW_NUMBERS)
    assert few.learning_rate < many.learning_rate == 0.1 and few.colsample_bynode < many.colsample_bynode == 1
    assert few.n_iter_no_change > many.n_iter_no_change
    for kind in ({"has_folds": False}, {"of_classes": True}):
        assert (of(FEW_ROWS, **kind).learning_rate, of(FEW_ROWS, **kind).colsample_bynode) == (0.1, 1)
    model = GradientBoostingRegressor(**FOLDS, learning_rate=0.3, colsample_bynode=0.9).shrinkage(len(X))
    assert (model.learning_rate, model.column_fractions.node) == (0.3, 0.9)


@pytest.mark.parametrize("num_rows", [24, 80])
def test_models_of_a_spread_split_few_rows(num_rows):
    y, event = np.exp(SIGNAL[:num_rows]), np.arange(num_rows) % 3 > 0
    hazards = GradientBoostingRegressor(loss="cox", random_state=0).fit(X[:num_rows], y, event=event)
    scale = GradientBoostingDistribution(random_state=0).fit(X[:num_rows], y)
    for model in (hazards, scale):
        assert len(np.unique(model.predict(X))) > 1
        assert (np.diff(model.forest_.first_node) <= 3).all(), "two leaves"


@pytest.mark.parametrize(("estimator", "y"), KINDS.values(), ids=KINDS)
def test_a_fit_of_too_few_rows_says_that_nothing_is_split(estimator, y):
    with pytest.warns(UserWarning, match="the fit has 39 rows, and each branch must have min_samples_leaf=20"):
        model = estimator(3).fit(X[:39], y[:39])
    assert len(np.unique(model.predict(X))) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator(3).fit(X[:40], y[:40])
        estimator(3, min_samples_leaf=5).fit(X[:39], y[:39])


@pytest.mark.parametrize("name", Usual._fields)
def test_no_other_word_is_allowed(name):
    with pytest.raises(ValueError, match=name):
        GradientBoostingRegressor(**{"n_estimators": 5, name: "usual"}).fit(X, SIGNAL)
