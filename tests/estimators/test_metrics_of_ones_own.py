"""Metrics of one's own say whether greater is better, and return one number; groups have no gaps. Words if not."""

import functools

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss, make_scorer, roc_auc_score
from sklearn.model_selection import GroupKFold

from jaxtree import (
    DecisionTreeClassifier,
    ExplainableBoostingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRanker,
    RandomForestClassifier,
    SearchCV,
    SoftTreeClassifier,
    tune,
)
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.metrics import ndcg
from jaxtree.resampling import ConformalRegressor, cross_validate, learning_curve
from tests.marks import in_turn

ROWS = 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 3))
Y = (X[:, 0] + RNG.normal(size=ROWS) > 0).astype(int)
WORD = np.where(Y, "yes", "no")
STOPS: dict = {"n_estimators": 30, "early_stopping": True, "n_iter_no_change": 3, "random_state": 0}
NEW_X = RNG.normal(size=(200, 3))
NEW_WORD = np.where(NEW_X[:, 0] + RNG.normal(size=200) > 0, "yes", "no")


def boosted(metric, **params):
    model = GradientBoostingClassifier(**STOPS | params)
    return model.fit(X, WORD, eval_set=[(NEW_X, NEW_WORD)], eval_metric=metric)


def brier_score(target, predicted):
    return float(np.mean(target != predicted))


def quality(target, predicted):
    return -brier_score(target, predicted)


def brier_loss(target, predicted):
    return brier_score(target, predicted)


@pytest.mark.parametrize(
    ("stops", "metric"),
    in_turn(
        [True, "cv"], [brier_score, quality, functools.partial(brier_score), lambda target, predicted: 0.0, np.mean]
    ),
)
def test_a_function_whose_direction_is_not_known_is_refused(metric, stops):
    with pytest.raises(InvalidInputError, match=r"does not say whether it is better if greater: give .*make_scorer\("):
        boosted(metric, early_stopping=stops)


LIKE_EACH_OTHER = {
    "loss by name": (brier_loss, make_scorer(brier_score, greater_is_better=False)),
    "score of scikit-learn": (accuracy_score, "accuracy"),
    "partial score": (functools.partial(f1_score, pos_label="yes"), make_scorer(f1_score, pos_label="yes")),
    "opposite": (make_scorer(quality), brier_loss),
}


@pytest.mark.parametrize("name", LIKE_EACH_OTHER)
def test_the_direction_that_is_given_decides(name):
    one, other = map(boosted, LIKE_EACH_OTHER[name])
    assert one.n_estimators_ == other.n_estimators_ > 1
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


NO_NUMBERS = {
    "a tuple": lambda target, predicted: ("cost", 1.0, True),
    "None": lambda target, predicted: None,
    "an array": lambda target, predicted: np.ones(3),
    "a word": lambda target, predicted: "good",
    "a complex number": lambda target, predicted: 1j,
    "a list": lambda target, predicted: [1.0],
}


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_what_is_no_number_is_named(name):
    def cost_loss(target, predicted):
        return NO_NUMBERS[name](target, predicted)

    value = repr(cost_loss(WORD, WORD))[:5].replace("(", r"\(").replace("[", r"\[")
    for early_stopping in (True, "cv"):
        with pytest.raises(InvalidInputError, match=f"eval_metric cost_loss must return one number, got .*{value}"):
            boosted(cost_loss, early_stopping=early_stopping)
    with pytest.raises(InvalidInputError, match="eval_metric make_scorer"):
        boosted(make_scorer(cost_loss))
    with pytest.raises(InvalidInputError, match="oob_score must return one number, got"):
        RandomForestClassifier(20, oob_score=cost_loss, random_state=0).fit(X, WORD)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.array([0.5]), np.array(0.5), True, 1, np.int8(1)])
def test_numbers_of_all_types_are_numbers(value):
    def cost_loss(target, predicted):
        return value

    assert boosted(cost_loss).evals_result_["validation_0"]["cost_loss"][0] == np.float64(value)


def test_a_function_of_one_argument_is_no_metric():
    with pytest.raises(InvalidInputError, match="must take two arguments, the targets and what is predicted of them"):
        boosted(lambda target: 0.0)


def _search(scoring):
    return SearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, scoring=scoring, cv=2).fit(X, WORD)


def _boost_search(scoring):
    return SearchCV(GradientBoostingClassifier(2), {"max_depth": [1, 2]}, scoring=scoring, cv=2).fit(X, WORD)


def _tune(scoring):
    return tune(X, WORD, scoring=scoring, n_iter=1, cv=2, verbose=0, minutes=0.1)


WAYS = {
    "trees": _search,
    "forests": lambda scoring: SearchCV(RandomForestClassifier(2), {"max_depth": [1]}, scoring=scoring).fit(X, WORD),
    "boosting": _boost_search,
    "additive": lambda scoring: SearchCV(
        ExplainableBoostingClassifier(max_rounds=2), {"max_bins": [8]}, scoring=scoring
    ).fit(X, WORD),
    "soft": lambda scoring: SearchCV(SoftTreeClassifier(max_epochs=1), {"depth": [1]}, scoring=scoring).fit(X, WORD),
    "cross-validation": lambda scoring: cross_validate(DecisionTreeClassifier(), X, WORD, scoring=scoring),
    "learning curve": lambda scoring: learning_curve(DecisionTreeClassifier(), X, WORD, scoring=scoring),
}


@pytest.mark.parametrize(("metric", "way"), in_turn([brier_score, accuracy_score, roc_auc_score, log_loss], WAYS))
def test_a_metric_is_no_scorer(way, metric):
    with pytest.raises(InvalidInputError, match=rf"does not take these three: give .*make_scorer\({metric.__name__}\)"):
        WAYS[way](metric)


@pytest.mark.parametrize(("name", "way"), in_turn(["f1", "precision", "jaccard"], [*WAYS, "tuning", "early stopping"]))
def test_a_positive_class_must_be_known(way, name):
    ways = {**WAYS, "tuning": _tune, "early stopping": boosted}
    with pytest.raises(ValueError, match=r"pos_label=1 is not a valid label.*'no'.*'yes'"):
        ways[way](name)


@pytest.mark.parametrize("way", [_search, _boost_search, _tune])
def test_a_scorer_of_numbers_is_none_of_classes(way):
    with pytest.raises(InvalidInputError, match=r"scoring='r2' cannot score models of classes: could not convert"):
        way("r2")


# Groups -----------------------------------------------------------------------------------------------------------

GAPS = {
    "None": np.array(["a", "b", "c", "d", None] * 24, object),
    "NaN": np.array([1.0, 2, 3, 4, np.nan] * 24),
    "NaN among words": np.array(["a", "b", "c", "d", np.nan] * 24, object),
    "pandas": pd.Series(["a", "b", "c", "d", None] * 24),
    "categories": pd.Series(["a", "b", "c", "d", None] * 24).astype("category"),
    "Int64": pd.Series([1, 2, 3, 4, None] * 24, dtype="Int64"),
    "NaT": np.array(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04", "NaT"] * 24, "datetime64[D]"),
}
TREES = {"max_depth": [1]}
TAKE_GROUPS = {
    "ranker": lambda group: GradientBoostingRanker(2).fit(X, Y, group=group),
    "held out": lambda group: GradientBoostingClassifier(**STOPS).fit(X, Y, group=group),
    "folds": lambda group: GradientBoostingClassifier(3, early_stopping="cv").fit(X, Y, group=group),
    "additive": lambda group: ExplainableBoostingClassifier(max_rounds=1).fit(X, Y, group=group),
    "search": lambda group: SearchCV(GradientBoostingRanker(2), TREES, cv=2).fit(X, Y, group=group),
    "splitter of a search": lambda groups: SearchCV(DecisionTreeClassifier(), TREES, cv=GroupKFold(2)).fit(
        X, Y, groups=groups
    ),
    "splitter of a cross-validation": lambda groups: cross_validate(
        DecisionTreeClassifier(), X, Y, cv=GroupKFold(2), groups=groups
    ),
    "splitter of a tuning": lambda groups: tune(X, Y, cv=GroupKFold(2), groups=groups, n_iter=1, verbose=0),
    "splitter of intervals": lambda groups: ConformalRegressor(DecisionTreeClassifier(), cv=GroupKFold(2)).fit(
        X, Y, groups=groups
    ),
    "splitter of a learning curve": lambda groups: learning_curve(
        DecisionTreeClassifier(), X, Y, cv=GroupKFold(2), groups=groups
    ),
    "metric": lambda group: ndcg(Y, X[:, 0], group=group),
}


@pytest.mark.parametrize(("gap", "way"), in_turn(GAPS, TAKE_GROUPS))
def test_a_row_without_a_group_is_named(way, gap):
    with pytest.raises(InvalidInputError, match=r"groups? must have a group for every row, and row 4 has .* 23 others"):
        TAKE_GROUPS[way](GAPS[gap])


def test_groups_are_of_one_kind():
    with pytest.raises(InvalidTypeError, match="group must be all words or all numbers, got float, int, str"):
        ndcg(Y, X[:, 0], group=np.array(["a", 1, 2.5] * 40, object))


def test_groups_keep_their_rows_together():
    group = np.repeat(np.arange(24), 5)
    model = ConformalRegressor(DecisionTreeClassifier(), cv=GroupKFold(4)).fit(X, Y, groups=group)
    assert all(len(set(model.fold_[group == own])) == 1 for own in range(24))
    sizes, _, _ = learning_curve(DecisionTreeClassifier(), X, Y, cv=GroupKFold(4), groups=group, train_sizes=[0.5])
    assert sizes.tolist() == [45]
    options = {"cv": GroupKFold(3), "groups": group, "n_iter": 1, "verbose": 0}
    search = tune(X, Y, **options, minutes=0.1)
    assert all(
        len(set(group[rows]) & set(group[np.setdiff1d(np.arange(ROWS), rows)])) == 0 for rows in search.tuned_.tests
    )
    assert options["groups"] is group
