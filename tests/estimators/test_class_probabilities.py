"""Probabilities of classes as targets: the laws that hold for all classifiers."""

import numpy as np
import pytest

from jaxtree import (
    C45Classifier,
    ClassProbabilities,
    DecisionTreeClassifier,
    ExplainableBoostingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    OptimalTreeClassifier,
    RandomForestClassifier,
    ReducedError,
    SoftForestClassifier,
    SoftTreeClassifier,
)
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.losses.classes import logistic, softmax
from tests.marks import are_slow

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(160, 2)), RNG.integers(0, 4, 160)])
NAMES = np.array(["red", "blue", "green"])
SCORES = np.exp(np.column_stack([X[:, 0], 1.5 * X[:, 1], -X[:, 0] * X[:, 1]]))
SHARES = SCORES / SCORES.sum(axis=1, keepdims=True)
SHARES[::3] = np.eye(3)[SHARES[::3].argmax(axis=1)]
SHARES[1::3, 0] = 0
SHARES /= SHARES.sum(axis=1, keepdims=True)
WEIGHT = RNG.uniform(0.5, 2, 160)

CLASSIFIERS = {
    "tree": lambda: DecisionTreeClassifier(max_depth=3),
    "entropy": lambda: DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=6),
    "c45": lambda: C45Classifier(subtree_raising=False),
    "optimal": lambda: OptimalTreeClassifier(max_depth=2, max_thresholds=8, refine_thresholds=False),
    "optimal gini": lambda: OptimalTreeClassifier(
        criterion="gini", max_depth=2, max_thresholds=8, refine_thresholds=False
    ),
    "forest": lambda: RandomForestClassifier(5, max_depth=3, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(5, max_depth=3, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=5),
    "additive": lambda: ExplainableBoostingClassifier(outer_bags=1, interactions=0, random_state=0),
    "soft tree": lambda: SoftTreeClassifier(depth=2, max_epochs=3, random_state=0),
    "soft forest": lambda: SoftForestClassifier(2, depth=2, max_epochs=3, random_state=0),
}
ALL = are_slow(CLASSIFIERS, "additive", "soft tree", "soft forest")
GROWN = ["tree", "entropy", "c45", "optimal", "optimal gini"]


def repeated(weight=None):
    """The rows once for every class of some probability, which multiplies their weights."""
    row, label = np.nonzero(SHARES)
    own = SHARES[row, label] if weight is None else SHARES[row, label] * weight[row]
    return X[row], NAMES[label], own


@pytest.mark.parametrize("name", ALL)
def test_ones_and_zeros_are_classes_bit_for_bit(name):
    label = SHARES.argmax(axis=1)
    of_shares = CLASSIFIERS[name]().fit(X, ClassProbabilities(np.eye(3)[label], NAMES))
    of_classes = CLASSIFIERS[name]().fit(X, NAMES[label])
    np.testing.assert_array_equal(of_shares.predict_proba(X), of_classes.predict_proba(X))
    assert of_shares.classes_.tolist() == ["blue", "green", "red"]


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", GROWN)
def test_a_tree_is_that_of_rows_repeated_with_weights(name, weight):
    tree = CLASSIFIERS[name]().fit(X, ClassProbabilities(SHARES, NAMES), weight)
    other = CLASSIFIERS[name]().fit(*repeated(weight))
    np.testing.assert_allclose(tree.predict_proba(X), other.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(tree.tree_.threshold, other.tree_.threshold)
    assert tree.tree_.num_rows[0] == len(X), "a row counts once"
    assert tree.tree_.num_rows.sum() < other.tree_.num_rows.sum()


def test_extra_trees_on_all_rows_are_those_of_rows_repeated():
    forest = ExtraTreesClassifier(5, max_depth=3, random_state=0).fit(X, ClassProbabilities(SHARES, NAMES))
    other = ExtraTreesClassifier(5, max_depth=3, random_state=0).fit(*repeated())
    np.testing.assert_allclose(forest.predict_proba(X), other.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("loss", [logistic(), softmax(3)], ids=str)
def test_derivatives_are_means_over_classes(loss):
    shares = SHARES if loss.num_scores == 3 else SHARES[:, :2] + SHARES[:, 2:] / 2
    scores = RNG.normal(size=(loss.num_scores, len(X))).astype(np.float32)
    target = shares if loss.num_scores == 3 else shares[:, 1]
    own = loss.derivatives(scores, target.astype(np.float32), np.ones(len(X), np.float32), {})
    of_class = [
        loss.derivatives(scores, np.full(len(X), c), np.ones(len(X), np.float32), {}) for c in range(shares.shape[1])
    ]
    for part, parts in zip(own, zip(*of_class, strict=True), strict=True):
        mean = sum(share * np.asarray(one) for share, one in zip(shares.T, parts, strict=True))
        np.testing.assert_allclose(part, mean, atol=1e-5)
    row, label = np.nonzero(shares)
    of_rows = loss.start(label.astype(np.int32), shares[row, label], {})
    np.testing.assert_allclose(loss.start(target, np.ones(len(X)), {}), of_rows, atol=1e-9)


@pytest.mark.parametrize("number", [2, 3])
def test_a_round_of_boosting_takes_the_steps_of_rows_repeated(number):
    """Without penalties, whose unit is a row of mean weight: of repeated rows there are more."""
    step = np.where(X[:, 0] > 0, 0.8, 0.1)
    shares = np.column_stack([step, 1 - step] if number == 2 else [step, (1 - step) / 4, (1 - step) * 3 / 4])
    row, label = np.nonzero(shares)
    rules = dict(n_estimators=3, max_depth=1, max_leaf_nodes=None, min_samples_leaf=1)
    rules |= dict(reg_lambda=0.0, min_child_weight=0.0)
    own = GradientBoostingClassifier(**rules).fit(X, ClassProbabilities(shares))
    other = GradientBoostingClassifier(**rules).fit(X[row], label, shares[row, label])
    np.testing.assert_allclose(own.predict_proba(X), other.predict_proba(X), atol=1e-5)
    assert np.abs(own.predict_proba(X) - shares).mean() < np.abs(shares.mean(axis=0) - shares).mean()


@pytest.mark.slow
def test_an_additive_model_says_what_its_probabilities_say():
    """Its steps are shorter on rows of one class: their curvature is bounded row by row by their gradients."""
    rules = dict(outer_bags=1, validation_size=0, interactions=0, max_rounds=20, min_samples_leaf=1)
    order = [NAMES.tolist().index(name) for name in sorted(NAMES)]
    given = (X, ClassProbabilities(SHARES, NAMES)), repeated(), (X, NAMES[SHARES.argmax(axis=1)])
    losses = []
    for own in given:
        said = ExplainableBoostingClassifier(**rules).fit(*own).predict_proba(X)
        losses.append(-(SHARES[:, order] * np.log(said)).sum(axis=1).mean())
    assert losses[0] <= losses[1] < losses[2]


@pytest.mark.parametrize("early_stopping", [True, "cv"])
def test_boosting_holds_out_rows_of_probabilities(early_stopping):
    model = GradientBoostingClassifier(n_estimators=20, early_stopping=early_stopping, random_state=0)
    model.fit(X, ClassProbabilities(SHARES, NAMES))
    order = [NAMES.tolist().index(name) for name in model.classes_]
    far = np.abs(model.predict_proba(X) - SHARES[:, order]).mean()
    assert far < np.abs(SHARES.mean(axis=0) - SHARES).mean()


def test_evaluations_beside_probabilities_have_either():
    model = GradientBoostingClassifier(n_estimators=3)
    given = ClassProbabilities(SHARES, NAMES)
    model.fit(X, given, eval_set=[(X, given), (X, given.labels())], eval_metric="accuracy")
    soft, hard = (model.evals_result_[name] for name in ("validation_0", "validation_1"))
    assert soft["accuracy"] == hard["accuracy"] and soft["log_loss"][0] > hard["log_loss"][0]
    with pytest.raises(InvalidInputError, match="a class that y does not have"):
        model.fit(X, given, eval_set=[(X[:2], ["red", "yellow"])])


@pytest.mark.parametrize("class_weight", [{"red": 2.0, "blue": 0.5}, "balanced"], ids=str)
def test_class_weights_multiply_those_of_the_classes(class_weight):
    tree = DecisionTreeClassifier(max_depth=3, class_weight=class_weight).fit(X, ClassProbabilities(SHARES, NAMES))
    rows, label, weight = repeated()
    factors = {"red": 2.0, "blue": 0.5, "green": 1.0}
    if class_weight == "balanced":
        factors = {name: len(X) / 3 / weight[label == name].sum() for name in NAMES}
    weight = weight * np.array([factors[name] for name in label])
    other = DecisionTreeClassifier(max_depth=3).fit(rows, label, weight)
    np.testing.assert_allclose(tree.predict_proba(X), other.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("name", ["tree", "optimal"])
def test_limits_count_rows_and_not_their_classes(name):
    tree = CLASSIFIERS[name]().set_params(min_samples_leaf=40).fit(X, ClassProbabilities(SHARES, NAMES))
    rows_of_leaf = np.bincount(tree.apply(X))[tree.tree_.is_leaf]
    assert rows_of_leaf.min() >= 40 and (tree.tree_.num_rows[tree.tree_.is_leaf] == rows_of_leaf).all()


def test_a_bag_has_a_row_with_all_its_classes():
    forest = RandomForestClassifier(20, max_depth=3, oob_score=True, random_state=0)
    forest.fit(X, ClassProbabilities(SHARES, NAMES))
    assert {len(rows) for rows in forest.estimators_samples_} == {len(X)}
    drawn = forest.estimators_samples_[0]
    order = [NAMES.tolist().index(name) for name in forest.classes_]
    np.testing.assert_allclose(forest[0].tree_.count[0], SHARES[drawn][:, order].sum(axis=0), rtol=1e-8)
    assert 0.5 < forest.oob_score_ < 1


def test_what_needs_one_class_for_every_row_says_so():
    given = ClassProbabilities(SHARES, NAMES)
    with pytest.raises(InvalidInputError, match=r"ReducedError.* looks at the class of every row"):
        DecisionTreeClassifier(pruning=ReducedError()).fit(X, given)
    with pytest.raises(InvalidInputError, match=r"ReducedError.* looks at the class of every row"):
        RandomForestClassifier(2, pruning=ReducedError()).fit(X, given)
    with pytest.raises(InvalidInputError, match="subtree_raising=True looks at the class"):
        C45Classifier().fit(X, given)
    with pytest.raises(InvalidInputError, match="balanced_subsample"):
        RandomForestClassifier(2, class_weight="balanced_subsample").fit(X, given)
    with pytest.raises(InvalidInputError, match="class_weight of soft trees"):
        SoftTreeClassifier(class_weight="balanced").fit(X, given)
    with pytest.raises(InvalidInputError, match="loss must be 'log_loss'"):
        SoftTreeClassifier(loss=softmax(len(NAMES))).fit(X, given)
    with pytest.raises(InvalidInputError, match="partial_fit takes a class"):
        SoftTreeClassifier().partial_fit(X, given)
    with pytest.raises(InvalidTypeError, match="y must be classes or numbers here, got ClassProbabilities"):
        GradientBoostingRegressor().fit(X, given)
    with pytest.raises(InvalidTypeError, match="y must be classes or numbers here, got ClassProbabilities"):
        DecisionTreeClassifier().fit(X, given).score(X, given)
    with pytest.raises(InvalidInputError, match="inconsistent numbers of samples"):
        DecisionTreeClassifier().fit(X, given.take(range(5)))


@pytest.mark.parametrize(
    "probabilities, classes, message",
    [
        ([[0.5, 0.6]], None, "must add up to 1, got .* in row 0, 1.1 in all"),
        ([[0.5, 0.5], [-0.1, 1.1]], None, "must be from 0 to 1, got .* in row 1"),
        ([[0.5, np.nan]], None, "contains NaN: row 0"),
        ([[1.0], [1.0]], None, r"two classes or more, got \(2, 1\)"),
        ([0.5, 0.5], None, r"two classes or more, got \(2,\)"),
        ([[0.5, 0.5]], ["a", "a"], "classes must be 2 different ones"),
        ([[0.5, 0.5]], ["a", "b", "c"], "classes must be 2 different ones"),
    ],
)
def test_probabilities_that_are_none(probabilities, classes, message):
    with pytest.raises(InvalidInputError, match=message):
        ClassProbabilities(probabilities, classes)
