"""What soft estimators do without parameters: sizes that follow from the rows."""

import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold, cross_val_score

from jaxtree import (
    DecisionTreeClassifier,
    SoftForestClassifier,
    SoftForestRegressor,
    SoftTreeClassifier,
    SoftTreeRegressor,
)
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.soft.parameters import course_of, epochs_of
from jaxtree.estimators.soft.sizes import LEAST_EPOCHS, NUM_STEPS, auto_depth, auto_epochs, auto_noise

KINDS = (SoftTreeClassifier, SoftTreeRegressor, SoftForestClassifier, SoftForestRegressor)


@pytest.mark.parametrize("num_rows", [100, 10_000, 1_000_000])
def test_every_default_makes_steps_enough_and_leaves_rows_for_every_leaf(num_rows):
    for kind in KINDS:
        estimator = kind()
        epochs = epochs_of(estimator, num_rows)
        assert epochs >= LEAST_EPOCHS
        assert epochs * -(-num_rows // estimator.batch_size) >= NUM_STEPS
        depth = estimator._depth_to_begin_with(num_rows, None)
        assert num_rows >= 8 * 2**depth
        assert course_of(estimator, num_rows).noise == pytest.approx(num_rows**-0.2)


@pytest.mark.parametrize(
    ("num_rows", "depth", "epochs", "noise"), [(100, 3, 2500, 0.398), (10_000, 10, 63, 0.158), (10**6, 10, 10, 0.063)]
)
def test_sizes_of_tables(num_rows, depth, epochs, noise):
    assert auto_depth(num_rows, 10) == depth
    assert auto_epochs(num_rows, 256) == epochs
    assert auto_noise(num_rows) == pytest.approx(noise, abs=1e-3)


def test_what_is_given_counts():
    given = SoftTreeClassifier(depth=5, max_epochs=7, noise=0.5)
    assert given._depth_to_begin_with(10_000, None) == 5
    assert epochs_of(given, 10_000) == 7
    assert course_of(given, 10_000).noise == 0.5
    assert course_of(SoftTreeClassifier(noise=None), 10_000).noise is None


def test_a_tree_that_is_tuned_gets_no_noise():
    assert course_of(SoftTreeClassifier(init=DecisionTreeClassifier()), 10_000).noise is None
    assert course_of(SoftTreeClassifier(init=DecisionTreeClassifier(), noise=0.5), 10_000).noise == 0.5


@pytest.mark.slow
def test_a_tree_that_is_tuned_keeps_its_depth():
    X, y = load_iris(return_X_y=True)
    cart = DecisionTreeClassifier(max_depth=2).fit(X, y)
    assert SoftTreeClassifier(gate="axis", init=cart, max_epochs=1, random_state=0).fit(X, y).depth_ == 2


@pytest.mark.slow
def test_iris_by_default():
    X, y = load_iris(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert cross_val_score(SoftTreeClassifier(random_state=0), X, y, cv=folds).mean() > 0.94


@pytest.mark.slow
def test_training_goes_on_at_the_depth_of_the_first_fit():
    X, y = load_iris(return_X_y=True)
    tree = SoftTreeClassifier(warm_start=True, max_epochs=1, random_state=0).fit(X, y)
    assert tree.depth_ == 4
    assert tree.fit(X[::2], y[::2]).depth_ == 4
    with pytest.raises(InvalidInputError, match="'depth' parameter"):
        SoftTreeClassifier(depth="deep").fit(X, y)
