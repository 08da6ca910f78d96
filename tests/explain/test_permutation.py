"""Permutation importances beside scikit-learn's, of tables of numbers and of words."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.tree import DecisionTreeClassifier

import jaxtree
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.explain import foreseen, permutation, permutation_importances, substitution
from tests.export.keeping import mixed_classes, mixed_numbers, mixed_table
from tests.export.shipping import kept

TABLE = mixed_table()
LONG = pd.concat([TABLE] * 10, ignore_index=True)
"""Rows enough for programs, among them missing values."""
CLASSES, NUMBERS = mixed_classes(TABLE), mixed_numbers(TABLE)
PLAIN = TABLE[["number", "is_new"]].to_numpy(np.float64)
LONG_CLASSES = np.tile(CLASSES, 10)


@pytest.mark.parametrize("name, scoring", [("cart_plain", None), ("cart_plain", "neg_log_loss"), ("hardened", None)])
def test_they_are_those_of_scikit_learn(name, scoring):
    estimator, X = kept(name), PLAIN if name == "cart_plain" else TABLE
    options = {"scoring": scoring, "n_repeats": 4, "random_state": 3}
    ours = permutation_importances(estimator, X, CLASSES, **options)
    theirs = permutation_importance(estimator, X, CLASSES, **options)
    np.testing.assert_array_equal(ours.importances, theirs.importances)
    np.testing.assert_array_equal(ours.mean, theirs.importances_mean)
    np.testing.assert_array_equal(ours.std, theirs.importances_std)
    assert ours.importances.shape == (X.shape[1], 4) and ours.mean.max() > 0.05


@pytest.mark.parametrize("name", ["forest_regression", "regression"])
def test_words_and_missing_values_are_shuffled_too(name):
    scoring = make_scorer(mean_absolute_error, greater_is_better=False)
    options = {"scoring": scoring, "random_state": 1, "sample_weight": np.arange(len(TABLE)) % 3}
    ours = permutation_importances(kept(name), TABLE, NUMBERS, **options)
    theirs = permutation_importance(kept(name), TABLE, NUMBERS, **options)
    np.testing.assert_allclose(ours.importances, theirs.importances, atol=1e-12)


def test_one_hot_features_of_a_column_are_shuffled_together():
    options = {"random_state": 5, "n_repeats": 3}
    ours = permutation_importances(kept("id3_onehot"), TABLE, CLASSES, **options)
    theirs = permutation_importance(kept("id3_onehot"), TABLE, CLASSES, **options)
    np.testing.assert_array_equal(ours.importances, theirs.importances)


def test_the_estimator_stays_as_it_is():
    tree = kept("cart_plain")
    before, encoder = tree.predict(PLAIN), tree.encoder_
    permutation_importances(tree, PLAIN, CLASSES, n_repeats=1)
    assert tree.encoder_ is encoder and tree.n_features_in_ == 2
    np.testing.assert_array_equal(tree.predict(PLAIN), before)


def test_what_has_no_importances_is_refused():
    with pytest.raises(InvalidInputError, match="n_repeats must be an integer >= 1, got 0"):
        permutation_importances(kept("cart_plain"), PLAIN, CLASSES, n_repeats=0)
    with pytest.raises(InvalidInputError, match="60 and 3"):
        permutation_importances(kept("cart_plain"), PLAIN, CLASSES[:3])
    with pytest.raises(NotFittedError):
        permutation_importances(jaxtree.DecisionTreeClassifier(), PLAIN, CLASSES)
    for other in ([], DecisionTreeClassifier().fit(PLAIN[:, 1:], CLASSES)):
        with pytest.raises(InvalidTypeError, match=type(other).__name__):
            permutation_importances(other, PLAIN[:, 1:], CLASSES)


@pytest.fixture
def foresights(monkeypatch):
    """What was made to foresee predictions, in the order of the calls; None for estimators that go on making them."""
    made = []
    monkeypatch.setattr(permutation, "foresee", lambda *given: made.append(foreseen.foresee(*given)) or made[-1])
    return made


def right_of_many(estimator, X, y):
    """The share of rows that are right in all outputs, for scorers of outputs that scikit-learn refuses."""
    return float(np.mean(np.all(estimator.predict(X) == y, axis=1)))


TWO = np.stack([CLASSES, np.where(NUMBERS > 0, "up", "down")], axis=1)
ERROR = make_scorer(mean_absolute_error, greater_is_better=False)
OF_CLASSES = ("cart", "cart_plain", "cart_fraction", "cart_vote", "c45", "id3_onehot", "forest", "forest_vote")
OF_NUMBERS = ("regression", "forest_regression", "bagging_regression")


@pytest.mark.parametrize(
    "name, y, scoring",
    [(name, CLASSES, None) for name in OF_CLASSES]
    + [(name, CLASSES, "neg_log_loss") for name in ("cart_plain", "cart_fraction", "forest")]
    + [(name, NUMBERS, None) for name in OF_NUMBERS]
    + [("extra", CLASSES == "low", "roc_auc"), ("bagging", np.digitize(NUMBERS, [0]), "balanced_accuracy")]
    + [(name, np.stack([NUMBERS, -NUMBERS], axis=1), ERROR) for name in ("regression_outputs", "extra_regression")]
    + [("cart_outputs", TWO, right_of_many), ("hardened_axis", CLASSES, "accuracy")],
)
def test_batches_are_those_of_scikit_learn_bit_for_bit(name, y, scoring, foresights):
    table = LONG[["number", "is_new"]].to_numpy(np.float64) if name in ("cart_plain", "bagging_regression") else LONG
    target = np.tile(y, (10,) + (1,) * (y.ndim - 1))
    options = {"scoring": scoring, "n_repeats": 3, "random_state": 2}
    if scoring is not right_of_many:
        options["sample_weight"] = 0.5 + np.arange(len(LONG)) % 7
    ours = permutation_importances(kept(name), table, target, **options)
    theirs = permutation_importance(kept(name), table, target, **options)
    np.testing.assert_array_equal(ours.importances, theirs.importances)
    assert foresights[0] is not None


def test_what_batches_cannot_serve_is_predicted_shuffle_by_shuffle(foresights):
    fractions = jaxtree.BaggingTreeClassifier(3, max_depth=3, missing="fraction", random_state=0).fit(
        LONG, LONG_CLASSES
    )
    for estimator in (fractions, kept("soft"), kept("hardened")):
        options = {"n_repeats": 2, "random_state": 2}
        ours = permutation_importances(estimator, LONG, LONG_CLASSES, **options)
        theirs = permutation_importance(estimator, LONG, LONG_CLASSES, **options)
        np.testing.assert_array_equal(ours.importances, theirs.importances)
    permutation_importances(kept("cart"), TABLE, CLASSES)  # few rows
    assert foresights == [None] * 4


def of_numbers(num_rows, num_columns=6, seed=0):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(num_rows, num_columns))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * draw.normal(size=num_rows) > 0).astype(int)


@pytest.mark.parametrize("is_cpu", [True, False])
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("max_depth", [3, 14])
def test_walks_by_level_and_by_column_end_where_shuffled_rows_do(max_depth, missing, is_cpu, monkeypatch):
    monkeypatch.setattr(substitution, "_is_cpu", lambda: is_cpu)
    X, y = of_numbers(700)
    if missing:
        X[::5, 1] = np.nan
    tree = jaxtree.DecisionTreeClassifier(max_depth=max_depth).fit(X, y)
    walks = substitution.Substitution(tree.tree_, np.array([0]), np.arange(6), X)
    orders = np.stack([np.random.default_rng(seed).permutation(700) for seed in range(2)])
    for levels in ((1, 1000), (1000, 1)):
        walks._levels = levels
        ends = walks.ends(np.arange(6), orders)
        for column, repeat in np.ndindex(6, 2):
            shuffled = X.copy()
            shuffled[:, column] = X[orders[repeat], column]
            np.testing.assert_array_equal(ends[column, repeat], tree.apply(shuffled))


def test_programs_are_compiled_once_a_bucket():
    for seed, num_rows in enumerate((600, 700, 1000)):
        X, y = of_numbers(num_rows, 10, seed=seed)
        X[:, 9] *= seed == 0  # which no split asks for then
        forest = jaxtree.RandomForestClassifier(6 + seed, max_depth=4, random_state=seed).fit(X, y)
        permutation_importances(forest, X, y, n_repeats=2)
        if not seed:
            number = substitution._sums.num_programs()
    assert substitution._sums.num_programs() == number


@pytest.mark.parametrize("num_shuffles", [0.5, 1, 4, 13])
def test_no_batch_is_past_its_bound(num_shuffles, monkeypatch):
    X, y = of_numbers(600)
    forest = jaxtree.RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, y)
    whole = permutation_importances(forest, X, y, n_repeats=4, random_state=0)
    sizes, sums = [], substitution.Substitution.sums

    def measured(*given):
        sizes.append(sums(*given))
        return sizes[-1]

    monkeypatch.setattr(substitution.Substitution, "sums", measured)
    bound = int(num_shuffles * 600 * 2 * 8)
    monkeypatch.setattr(permutation, "BYTES_OF_BATCH", bound)
    np.testing.assert_array_equal(permutation_importances(forest, X, y, n_repeats=4, random_state=0)[0], whole[0])
    assert max(result.nbytes for result in sizes) <= max(bound, 600 * 2 * 8)
    assert sum(result.shape[0] * result.shape[1] for result in sizes) == 6 * 4


def test_only_named_scorers_leave_out_columns_that_no_tree_asks_for():
    X, y = of_numbers(600)
    tree = jaxtree.DecisionTreeClassifier(max_depth=1).fit(X, y)
    for scoring in (None, "roc_auc"):
        importances = permutation_importances(tree, X, y, scoring=scoring, random_state=0).importances
        assert (importances == 0).all(axis=1).sum() == 5
    calls = []

    def by_rows(estimator, rows, _):
        calls.append(estimator.predict(rows[:100]).mean())
        return rows[:100].sum(axis=0) @ 2.0 ** np.arange(6) + calls[-1]

    options = {"scoring": by_rows, "n_repeats": 2, "random_state": 0}
    ours = permutation_importances(tree, X, y, **options).importances
    assert (ours != 0).all() and len(calls) == 1 + 6 * 2
    np.testing.assert_array_equal(ours, permutation_importance(tree, X, y, **options).importances)


def test_a_scorer_cannot_write_into_the_rows():
    def write(estimator, rows, _):
        rows[0] = 0.0
        return 0.0

    X, y = of_numbers(600)
    tree = jaxtree.DecisionTreeClassifier(max_depth=1).fit(X, y)
    with pytest.raises(ValueError, match="read-only"):
        permutation_importances(tree, X, y, scoring=write)
