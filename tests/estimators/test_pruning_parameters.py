"""Prunings as parameters of an estimator, `prune_to`, and rows that stay at an inner node."""

import jax
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import jaxtree
from jaxtree import (
    C45Classifier,
    ChiSquared,
    CostComplexity,
    CriticalValue,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    Dropout,
    ID3Classifier,
    MaxLeafNodes,
    MinimumError,
    Pessimistic,
    Pessimistic1987,
    ReducedError,
    ValidationGate,
    export_text,
    prune,
    prune_to,
)
from jaxtree.dropout import node_rates
from jaxtree.errors import InvalidInputError
from jaxtree.growth import take_tree
from jaxtree.table.encoder import Encoder


@pytest.fixture(scope="module")
def table():
    """1,000 rows of noise and signal, in 8 columns of few values."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, (1000, 8)).astype(float)
    y = ((X[:, 0] > 2) ^ (X[:, 1] > 3) ^ (rng.uniform(size=1000) < 0.15)).astype(int)
    return X, y


@pytest.fixture(scope="module")
def whole(table):
    return DecisionTreeClassifier().fit(*table)


MASKS = [
    (Pessimistic(0.1), lambda tree: prune.pessimistic(tree, 0.1)),
    (Pessimistic(0.25, z="release8"), lambda tree: prune.pessimistic(tree, 0.25, z="release8")),
    (Pessimistic1987(2.0), lambda tree: prune.pessimistic_1987(tree, 2.0)),
    (MinimumError(8.0), lambda tree: prune.minimum_error(tree, 8.0)),
    (ChiSquared(0.01), lambda tree: prune.chi_squared(tree, 0.01)),
    (CriticalValue(0.49), lambda tree: prune.critical_value(tree, 0.49)),
    (MaxLeafNodes(9), lambda tree: prune.max_leaf_nodes(tree, 9)),
    (CostComplexity(0.003), lambda tree: prune.cost_complexity(tree, 0.003)),
    (CostComplexity(0.003, cost="error"), lambda tree: prune.cost_complexity(tree, 0.003, cost="error")),
    (Dropout(0.1, 0.3), lambda tree: prune.dropout(tree, node_rates(tree, 0.1, 0.3), key=jax.random.key(5))),
    (ChiSquared(0.1) | MaxLeafNodes(30), lambda tree: prune.chi_squared(tree, 0.1) | prune.max_leaf_nodes(tree, 30)),
]


@pytest.mark.parametrize(("pruning", "mask"), MASKS, ids=[repr(pruning) for pruning, _ in MASKS])
def test_a_pruned_fit_is_the_whole_tree_pruned_to_the_mask(table, whole, pruning, mask):
    X, y = table
    pruned = DecisionTreeClassifier(pruning=pruning, random_state=5).fit(X, y)
    expected = prune_to(whole, mask(whole.tree_))
    assert pruned.get_n_leaves() == expected.get_n_leaves() < whole.get_n_leaves()
    assert export_text(pruned) == export_text(expected)
    np.testing.assert_array_equal(pruned.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(pruned.predict_proba(X), pruned.tree_.value[pruned.apply(X), 0])
    assert pruned.decision_path(X).shape[1] == pruned.tree_.node_count
    assert np.all(pruned.tree_.feature[pruned.tree_.is_leaf] == -2)
    assert clone(pruned).fit(X, y).get_n_leaves() == pruned.get_n_leaves()


def test_prune_to_composes_and_leaves_the_estimator_alone(table, whole):
    X, _ = table
    first, second = (prune.max_depth(whole.tree_, 6), prune.min_samples_split(whole.tree_, 60))
    nodes = whole.tree_.node_count
    shallow = prune_to(whole, first)
    twice = prune_to(shallow, prune.min_samples_split(shallow.tree_, 60))
    at_once = prune_to(whole, np.asarray(first) | np.asarray(second))
    np.testing.assert_array_equal(twice.predict_proba(X), at_once.predict_proba(X))
    assert whole.tree_.node_count == nodes > shallow.tree_.node_count > twice.tree_.node_count
    assert twice.get_depth() <= 6


@pytest.mark.parametrize("mask", [np.zeros(3, bool), np.zeros(0, bool), "nodes"])
def test_prune_to_refuses_what_is_no_mask(whole, mask):
    mask = np.zeros(whole.tree_.node_count) if isinstance(mask, str) else mask
    with pytest.raises(InvalidInputError, match="must be a mask of the tree's"):
        prune_to(whole, mask)
    with pytest.raises(InvalidInputError, match="fitted tree of jaxtree"):
        prune_to(object(), mask)


VALIDATED = [(ReducedError(), prune.reduced_error), (ValidationGate(), prune.validation_gate)]


@pytest.mark.parametrize(("pruning", "mask"), VALIDATED, ids=["reduced error", "gate"])
def test_validation_rows_given(table, pruning, mask):
    X, y = table
    whole = DecisionTreeClassifier().fit(X[:700], y[:700])
    pruned = DecisionTreeClassifier(pruning=pruning).fit(X[:700], y[:700], X_val=X[700:], y_val=y[700:])
    held = prune.hold_out_codes(whole.tree_, whole.encode(X[700:]), y[700:])
    expected = take_tree(whole.tree_, collapsed=mask(whole.tree_, held))
    assert pruned.tree_.node_count == expected.node_count < whole.tree_.node_count
    assert pruned.score(X[700:], y[700:]) >= whole.score(X[700:], y[700:])


def test_validation_rows_split_off(table):
    """The same rows again and again; none of them is grown on; classes keep their shares."""
    X, y = table
    fits = [DecisionTreeClassifier(pruning=ReducedError(0.2), random_state=1).fit(X, y) for _ in range(2)]
    assert export_text(fits[0]) == export_text(fits[1])
    assert fits[0].tree_.num_rows[0] == 800
    assert abs(fits[0].tree_.count[0, 1] - 0.8 * y.sum()) <= 1
    other = DecisionTreeClassifier(pruning=ReducedError(0.2), random_state=2).fit(X, y)
    assert export_text(other) != export_text(fits[0])


def test_unknown_classes_of_validation_rows_count_as_errors(table):
    X, y = table
    tree = DecisionTreeClassifier(pruning=ReducedError())
    with_unknown = tree.fit(X[:700], y[:700], X_val=X[700:], y_val=np.where(np.arange(300) < 20, 7, y[700:]))
    assert with_unknown.classes_.tolist() == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["min", pytest.param("1se", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["classes", pytest.param("numbers", marks=pytest.mark.slow)])
def test_the_price_found_by_cross_validation(table, rule, kind):
    """Against one fit a price and fold."""
    X, y = table
    estimator = DecisionTreeClassifier if kind == "classes" else DecisionTreeRegressor
    fitted = estimator(pruning=CostComplexity("cv", rule=rule, cv=4), random_state=0).fit(X, y)
    steps = np.unique(prune.cost_complexity_path(estimator().fit(X, y).tree_).ccp_alphas)
    prices = np.append(np.sqrt(steps[1:] * steps[:-1]), steps[-1])
    splitter = StratifiedKFold if kind == "classes" else None
    folds = _folds(splitter, X, y)
    losses = np.empty((len(prices), len(y)))
    for train, test in folds:
        part = estimator().fit(X[train], y[train])
        for i, price in enumerate(prices):
            said = prune_to(part, prune.cost_complexity(part.tree_, price)).predict(X[test])
            losses[i, test] = said != y[test] if kind == "classes" else (said - y[test]) ** 2
    error = losses.mean(axis=1)
    best = np.flatnonzero(error <= error.min() + 1e-12)[-1]
    if rule == "1se":
        best = np.flatnonzero(error <= error[best] + losses[best].std() / np.sqrt(len(y)))[-1]
    assert fitted.pruning_.ccp_alpha == pytest.approx(prices[best])
    expected = prune.cost_complexity(estimator().fit(X, y).tree_, prices[best])
    assert fitted.get_n_leaves() == prune_to(estimator().fit(X, y), expected).get_n_leaves()


def _folds(splitter, X, y):
    from sklearn.model_selection import KFold

    return list((splitter or KFold)(4, shuffle=True, random_state=0).split(X, y))


def test_a_vote_of_draws_is_the_vote_of_their_trees(table, whole):
    X, y = table
    voting = DecisionTreeClassifier(pruning=Dropout(0.2, 0.1, draws=5), random_state=9).fit(X, y)
    masks = jaxtree.dropout.draws(whole.tree_, node_rates(whole.tree_, 0.2, 0.1), key=jax.random.key(9), num_draws=5)
    votes = np.mean([prune_to(whole, mask).predict(X) == 1 for mask in np.asarray(masks)], axis=0)
    np.testing.assert_allclose(voting.predict_proba(X)[:, 1], votes, atol=1e-6)
    np.testing.assert_array_equal(voting.predict(X), (votes > 0.5).astype(int))
    assert voting.get_n_leaves() == whole.get_n_leaves()


def test_a_vote_on_numbers_is_the_mean_of_the_draws(table):
    X, y = table
    voting = DecisionTreeRegressor(max_depth=5, pruning=Dropout(0.3, 0.0, draws=4), random_state=2).fit(X, y * 3.5)
    whole = DecisionTreeRegressor(max_depth=5).fit(X, y * 3.5)
    masks = np.asarray(
        jaxtree.dropout.draws(whole.tree_, node_rates(whole.tree_, 0.3, 0.0), key=jax.random.key(2), num_draws=4)
    )
    mean = np.mean([prune_to(whole, mask).predict(X) for mask in masks], axis=0)
    np.testing.assert_allclose(voting.predict(X), mean, atol=1e-5)


WRONG = [
    (lambda: Dropout(2), "The 'p' parameter of Dropout"),
    (lambda: Dropout(0.1, draws=0), "The 'draws' parameter of Dropout"),
    (lambda: Dropout(0.1, draws="some"), "The 'draws' parameter of Dropout"),
    (lambda: Pessimistic(0.7), "The 'confidence' parameter of Pessimistic"),
    (lambda: Pessimistic(z="table"), "The 'z' parameter of Pessimistic"),
    (lambda: MinimumError(-1), "The 'm' parameter of MinimumError"),
    (lambda: ChiSquared(0), "The 'p_value' parameter of ChiSquared"),
    (lambda: CostComplexity(-0.1), "The 'ccp_alpha' parameter of CostComplexity"),
    (lambda: CostComplexity("cv", rule="2se"), "The 'rule' parameter of CostComplexity"),
    (lambda: ReducedError(1.5), "The 'validation_fraction' parameter of ReducedError"),
    (lambda: MaxLeafNodes(1), "The 'max_leaf_nodes' parameter of MaxLeafNodes"),
    (lambda: Dropout(0.1, draws=3) | ChiSquared(), "only prunings that are masks of the tree alone unite"),
    (lambda: CostComplexity("cv") | ChiSquared(), "only prunings that are masks of the tree alone unite"),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_what_is_no_pruning(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


def test_a_parameter_set_later_is_checked_before_growth(table):
    tree = DecisionTreeClassifier(pruning=Dropout(0.1))
    tree.set_params(pruning__p=3)
    with pytest.raises(InvalidInputError, match="The 'p' parameter"):
        tree.fit(*table)
    with pytest.raises(InvalidInputError, match="'pruning' parameter of DecisionTreeClassifier"):
        DecisionTreeClassifier(pruning="dropout").fit(*table)


def test_validation_rows_that_nobody_asks_for(table):
    X, y = table
    with pytest.raises(InvalidInputError, match="are for a pruning that asks for them"):
        DecisionTreeClassifier().fit(X, y, X_val=X, y_val=y)
    with pytest.raises(InvalidInputError, match="go together"):
        DecisionTreeClassifier(pruning=ReducedError()).fit(X, y, X_val=X)
    with pytest.raises(InvalidInputError, match="leaves a part without rows"):
        DecisionTreeClassifier(pruning=ReducedError(0.01)).fit(X[:9], y[:9])


def test_a_row_that_no_branch_takes_is_predicted_by_its_node():
    """It is shared out only where missing values are, as C4.5 does."""
    X = pd.DataFrame({"a": list("xxxyyy"), "b": list("uvuuvv")})
    y = [0, 0, 0, 1, 0, 0]
    unseen = pd.DataFrame({"a": ["q", "q"], "b": ["u", "v"]})
    tree = ID3Classifier().fit(X, y)
    np.testing.assert_allclose(tree.predict_proba(unseen), [[5 / 6, 1 / 6]] * 2)
    np.testing.assert_array_equal(tree.apply(unseen), [0, 0])
    shared = C45Classifier(min_samples_leaf=1, confidence=None, collapse=False).fit(X, y)
    np.testing.assert_allclose(shared.predict_proba(unseen)[:, 1], [0.5, 0.0])


def test_a_fit_encodes_its_table_once(table, monkeypatch):
    """Rows of weight 0 and rows held out for the pruning are left out before the table is encoded."""
    X, y = table
    sizes, whole = [], Encoder.fit_transform
    monkeypatch.setattr(Encoder, "fit_transform", lambda self, X: sizes.append(len(X)) or whole(self, X))
    weight = np.ones(len(y))
    weight[:100] = 0
    DecisionTreeClassifier(pruning=ReducedError(0.2), random_state=0).fit(X, y, sample_weight=weight)
    assert sizes == [720]


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, np.ndarray.tolist, scipy.sparse.csr_array])
def test_a_table_longer_than_its_target_is_refused_before_rows_are_left_out(table, form):
    X, y = table
    weight = np.r_[0.0, np.ones(998)]
    with pytest.raises(InvalidInputError, match=r"inconsistent numbers of samples: \[1000, 999\]"):
        DecisionTreeClassifier().fit(form(X), y[:999], sample_weight=weight)
    with pytest.raises(InvalidInputError, match=r"inconsistent numbers of samples: \[1000, 999\]"):
        DecisionTreeClassifier(pruning=ReducedError(0.2)).fit(form(X), y[:999])


def test_values_of_rows_of_weight_0_are_not_looked_at(table):
    X, y = table
    changed, weight = X.copy(), np.ones(len(y))
    changed[0], weight[0] = np.inf, 0
    one = DecisionTreeClassifier(max_depth=3).fit(changed, y, sample_weight=weight)
    other = DecisionTreeClassifier(max_depth=3).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(one.tree_.threshold, other.tree_.threshold)
