"""Scores from sums at nodes are scikit-learn's on rows, for any mask of a tree."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.metrics import check_scoring, get_scorer, make_scorer

from jaxtree import DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier, prune_to
from jaxtree.prune.validation import hold_out
from jaxtree.search.scoring import NodeMetric, metric_of, outcome
from jaxtree.search.search import even_out
from tests.marks import rest_is_slow
from tests.search.beside import ROWS, numbers, targets, words

HELD = np.arange(ROWS) % 3 == 0
OF_CLASSES = (
    "accuracy",
    "balanced_accuracy",
    "neg_log_loss",
    "neg_brier_score",
    "f1_macro",
    "precision_weighted",
    "jaccard_micro",
    "matthews_corrcoef",
)
OF_TWO_CLASSES = (*OF_CLASSES, "roc_auc", "f1", "recall")
OF_NUMBERS = ("r2", "neg_mean_squared_error", "neg_root_mean_squared_error")


@functools.cache
def fitted(kind):
    """An estimator grown on two thirds of the rows, and the others."""
    match kind:
        case "two classes":
            estimator, (X, y) = DecisionTreeClassifier(), numbers(num_classes=2)
        case "three classes":
            estimator, (X, y) = DecisionTreeClassifier(), numbers()
        case "words":
            # Rows of a category that the others lack end at inner nodes.
            estimator, (X, y) = ID3Classifier(), words()
            y = (y == "yes").astype(int)
            X.loc[HELD & (X["shape"] == "flat"), "shape"] = "bent"
            X.loc[~HELD & (X["color"] == "pink"), "color"] = "red"
        case "numbers":
            estimator, (X, y) = DecisionTreeRegressor(), targets()
    return estimator.fit(X[~HELD], y[~HELD]), X[HELD], y[HELD]


def masks_of(tree, num_masks, seed=0):
    """Random masks, from the root alone to the whole tree, some of them twice."""
    rng = np.random.default_rng(seed)
    masks = rng.random((num_masks, tree.node_count)) < rng.random((num_masks, 1)) ** 2
    return np.concatenate(
        [np.eye(1, tree.node_count, dtype=bool), np.zeros((1, tree.node_count), bool), masks, masks[:2]]
    )


def outcome_of(estimator, X, y, masks, weight=None):
    tree = estimator.tree_
    target = estimator.read_target(y)
    held = hold_out(tree, estimator.apply(X), target, weight)
    return outcome(estimator.model_of(tree), masks, held)


def assert_scores_of_rows(kind, scoring, weight=None):
    estimator, X, y = fitted(kind)
    masks, scorer = masks_of(estimator.tree_, 12), get_scorer(scoring)
    metric, kwargs = metric_of(scorer, estimator), {} if weight is None else {"sample_weight": weight}
    rows = outcome_of(estimator, X, y, masks, weight)
    assert metric.fits(rows.held, rows.classes)
    expected = [scorer(prune_to(estimator, mask), X, y, **kwargs) for mask in masks]
    np.testing.assert_allclose(metric.scores(rows), expected, rtol=1e-9, atol=1e-12)
    assert len(set(expected)) > 2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scoring", OF_TWO_CLASSES)
@pytest.mark.parametrize("kind", rest_is_slow(["two classes", "words"]))
def test_scores_of_two_classes(kind, scoring, weighted):
    weight = np.random.default_rng(1).integers(0, 4, HELD.sum()) * 0.3 if weighted else None
    assert_scores_of_rows(kind, scoring, weight)


@pytest.mark.parametrize("scoring", OF_CLASSES)
def test_scores_of_three_classes(scoring):
    assert_scores_of_rows("three classes", scoring)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scoring", OF_NUMBERS)
def test_scores_of_numbers(scoring, weighted):
    weight = np.random.default_rng(1).uniform(0.5, 2, HELD.sum()) if weighted else None
    assert_scores_of_rows("numbers", scoring, weight)


def test_rows_that_end_at_inner_nodes():
    """The table of words is there for them."""
    estimator, X, _ = fitted("words")
    assert (~estimator.tree_.is_leaf[estimator.apply(X)]).sum() > 3


def test_the_estimator_s_own_score():
    for kind, name in (("three classes", "accuracy"), ("numbers", "r2")):
        estimator, X, y = fitted(kind)
        metric = metric_of(check_scoring(estimator), estimator)
        masks = masks_of(estimator.tree_, 3)
        found = metric.scores(outcome_of(estimator, X, y, masks))
        np.testing.assert_allclose(found, [get_scorer(name)(prune_to(estimator, mask), X, y) for mask in masks])


def test_arguments_of_a_metric():
    estimator, X, y = fitted("three classes")
    scorer = make_scorer(metrics.fbeta_score, beta=2, average="macro", greater_is_better=False)
    masks = masks_of(estimator.tree_, 5)
    found = metric_of(scorer, estimator).scores(outcome_of(estimator, X, y, masks))
    np.testing.assert_allclose(found, [scorer(prune_to(estimator, mask), X, y) for mask in masks])


def own_metric(y, predicted, sample_weight=None):
    return float(len(y))


@pytest.mark.parametrize(
    ("scorer", "kind"),
    [
        (get_scorer("roc_auc_ovr"), "three classes"),
        (get_scorer("average_precision"), "two classes"),
        (get_scorer("rand_score"), "two classes"),
        (get_scorer("neg_mean_squared_error"), "two classes"),
        (get_scorer("r2"), "two classes"),
        (get_scorer("neg_median_absolute_error"), "two classes"),
        (make_scorer(own_metric), "two classes"),
        (make_scorer(metrics.log_loss, response_method="predict_proba", normalize=False), "two classes"),
        (lambda estimator, X, y: 1.0, "two classes"),
        (get_scorer("neg_mean_absolute_error"), "numbers"),
        (get_scorer("accuracy"), "numbers"),
        (get_scorer("f1_macro"), "numbers"),
    ],
)
def test_what_does_not_follow_from_sums_at_nodes(scorer, kind):
    """Metrics of ranks, of numbers for classes, and anyone's own, who may do with weights what they like."""
    assert metric_of(scorer, fitted(kind)[0]) is None


def test_an_estimator_with_a_score_of_its_own():
    class Own(DecisionTreeClassifier):
        def score(self, X, y, sample_weight=None):
            return 0.5

    assert metric_of(check_scoring(Own()), Own()) is None


def test_rows_that_scikit_learn_scores_in_a_way_of_its_own():
    """A class that is not there, or not known; no weight at all; numbers that are all the same."""
    estimator, X, y = fitted("two classes")
    no_mask = np.zeros((1, estimator.tree_.node_count), bool)

    def fits(name, X, y, weight=None):
        rows = outcome_of(estimator, X, y, no_mask, weight)
        return metric_of(get_scorer(name), estimator).fits(rows.held, rows.classes)

    assert fits("accuracy", X, y) and fits("roc_auc", X, y) and fits("f1_macro", X, y)
    single, unknown, zero = X[y == 0], np.where(np.arange(y.size) == 3, 7, y), np.zeros(y.size)
    for name in ("roc_auc", "f1_macro", "neg_log_loss", "balanced_accuracy"):
        assert not fits(name, single, y[y == 0]) and not fits(name, X, unknown)
        assert not fits(name, X, y, np.where(y == 0, 0.0, 1.0))
    assert fits("accuracy", single, y[y == 0]) and fits("accuracy", X, unknown)
    assert not fits("accuracy", X, y, zero)

    estimator, X, y = fitted("numbers")
    no_mask = np.zeros((1, estimator.tree_.node_count), bool)
    assert fits("r2", X, y)
    assert not fits("r2", X, np.full(y.size, 0.1)) and not fits("r2", X[:1], y[:1])
    assert not fits("r2", X, np.full(y.size, 1e6 + 0.1))


@pytest.mark.parametrize(("classes", "fits"), [([0, 1], True), ([-1, 1], True), (["a", "b"], False), ([1, 2], False)])
def test_the_brier_score_of_two_classes_needs_to_know_the_positive_one(classes, fits):
    estimator, X, y = fitted("two classes")
    rows = outcome_of(estimator, X, y, np.zeros((1, estimator.tree_.node_count), bool))
    assert metric_of(get_scorer("neg_brier_score"), estimator).fits(rows.held, np.array(classes)) == fits


def test_masks_of_the_same_outcome_have_the_same_score():
    """A node collapsed below a collapsed node is of no account."""
    estimator, X, y = fitted("two classes")
    tree = estimator.tree_
    mask = tree.depth == 1
    both = np.stack([mask, mask | (tree.depth > 1)])
    for name in OF_TWO_CLASSES:
        scores = metric_of(get_scorer(name), estimator).scores(outcome_of(estimator, X, y, both))
        assert scores[0] == scores[1]


# Rounding


@given(
    values=st.lists(st.integers(-5, 5), min_size=1, max_size=20),
    noise=st.lists(st.integers(-3, 3), min_size=20, max_size=20),
)
def test_rounding_decides_no_rank(values, noise):
    exact = np.array(values, float)
    scores = exact * (1 + np.array(noise[: len(values)]) * 2e-16)
    evened = even_out(scores)
    np.testing.assert_allclose(evened, scores, rtol=1e-12, atol=1e-11)
    assert np.array_equal(evened[:, None] == evened, exact[:, None] == exact)
    assert np.array_equal(np.argsort(evened, kind="stable"), np.argsort(exact, kind="stable"))


def test_scores_that_differ_or_are_none_stay():
    scores = np.array([0.5, np.nan, 0.5 + 1e-9, -np.inf, 0.25, np.nan])
    np.testing.assert_array_equal(even_out(scores), scores)
    np.testing.assert_array_equal(even_out(np.full(3, np.nan)), np.full(3, np.nan))
    np.testing.assert_array_equal(even_out(np.zeros(3)), np.zeros(3))


def test_a_metric_s_sign():
    estimator, X, y = fitted("numbers")
    rows = outcome_of(estimator, X, y, np.zeros((1, estimator.tree_.node_count), bool))
    metric = metric_of(get_scorer("neg_mean_squared_error"), estimator)
    assert metric.sign == -1 and metric.scores(rows) < 0 < NodeMetric(metric.function, 1).scores(rows)
