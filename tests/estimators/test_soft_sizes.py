"""Soft estimators without parameters: sizes that follow from the rows."""

import pytest
from sklearn.datasets import load_iris

from jaxtree import (
    DecisionTreeClassifier,
    SoftForestClassifier,
    SoftForestRegressor,
    SoftTreeClassifier,
    SoftTreeRegressor,
)
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.soft.parameters import (
    LEAST_EPOCHS,
    NUM_STEPS,
    auto_depth,
    auto_epochs,
    auto_noise,
    epochs_of,
    hyperparameters_of,
    rows_of_step,
)

KINDS = (SoftTreeClassifier, SoftTreeRegressor, SoftForestClassifier, SoftForestRegressor)


@pytest.mark.parametrize("num_rows", [100, 10_000, 1_000_000])
def test_every_default_makes_steps_enough(num_rows):
    for kind in KINDS:
        estimator = kind()
        batch_size = rows_of_step(estimator, None, num_rows)
        epochs = epochs_of(estimator, num_rows, batch_size)
        assert epochs >= LEAST_EPOCHS
        assert epochs * -(-num_rows // batch_size) >= NUM_STEPS
        assert hyperparameters_of(estimator, num_rows).noise == pytest.approx(num_rows**-0.2)


@pytest.mark.parametrize(
    ("num_rows", "depth", "epochs", "noise"), [(100, 3, 2500, 0.398), (10_000, 8, 63, 0.158), (10**6, 10, 10, 0.063)]
)
def test_sizes_of_tables(num_rows, depth, epochs, noise):
    assert auto_depth(num_rows, 2, 3, 10) == depth
    assert auto_epochs(num_rows, 256) == epochs
    assert auto_noise(num_rows) == pytest.approx(noise, abs=1e-3)


def test_more_classes_get_more_leaves_up_to_a_bound():
    depths = [auto_depth(10_000, num_classes, 3, 10) for num_classes in (1, 2, 3, 26, 1000)]
    assert depths == [8, 8, 8, 10, 10]
    assert SoftTreeRegressor()._depth_to_begin_with(10_000, None) == 8
    assert SoftForestRegressor()._depth_to_begin_with(10**6, None) == 8 < auto_depth(10**6, 2, 3, 10)


def test_what_is_given_counts():
    given = SoftTreeClassifier(depth=5, max_epochs=7, noise=0.5)
    assert given._depth_to_begin_with(10_000, None) == 5
    assert epochs_of(given, 10_000, 256) == 7
    assert hyperparameters_of(given, 10_000).noise == 0.5
    assert hyperparameters_of(SoftTreeClassifier(noise=None), 10_000).noise is None


def test_a_tree_that_is_tuned_or_taught_gets_no_noise_of_itself():
    assert hyperparameters_of(SoftTreeClassifier(), 10_000, is_guided=True).noise is None
    assert hyperparameters_of(SoftTreeClassifier(noise=0.5), 10_000, is_guided=True).noise == 0.5


@pytest.mark.slow
def test_a_tree_that_is_tuned_keeps_its_depth():
    X, y = load_iris(return_X_y=True)
    cart = DecisionTreeClassifier(max_depth=2).fit(X, y)
    assert SoftTreeClassifier(gate="axis", init=cart, max_epochs=1, random_state=0).fit(X, y).depth_ == 2


@pytest.mark.slow
def test_training_goes_on_at_the_depth_of_the_first_fit():
    X, y = load_iris(return_X_y=True)
    tree = SoftTreeClassifier(warm_start=True, max_epochs=1, random_state=0).fit(X, y)
    X, y = X.repeat(3, axis=0), y.repeat(3)
    assert tree.depth_ == 3
    assert tree.fit(X, y).depth_ == 3 < SoftTreeClassifier(max_epochs=1).fit(X, y).depth_
    with pytest.raises(InvalidInputError, match="'depth' parameter"):
        SoftTreeClassifier(depth="deep").fit(X, y)
