"""Comparisons of models: beside scikit-learn's on the same folds, and laws of what must not matter."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GroupKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from jaxtree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    compare,
)
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.figures.comparisons import paired_difference
from tests.examples import mixed_classes, mixed_numbers, mixed_table

TABLE = np.nan_to_num(mixed_table()[["number", "is_new"]].to_numpy(float))
CLASSES = mixed_classes(mixed_table())
NUMBERS = mixed_numbers(mixed_table())
GROUPS = np.arange(len(TABLE)) // 3
TREES = {"tree": DecisionTreeClassifier(max_depth=3, random_state=0), "stump": DecisionTreeClassifier(max_depth=1)}
SCORERS = ["accuracy", "neg_log_loss", "roc_auc_ovr"]


def scaled(model):
    return make_pipeline(StandardScaler(), model)


def same_scores(one, other):
    assert one.metrics == other.metrics
    for metric in one.metrics:
        for name in one.estimators:
            np.testing.assert_array_equal(
                one.scores[metric][list(one.estimators).index(name)],
                other.scores[metric][list(other.estimators).index(name)],
            )


@pytest.mark.parametrize("weight", [None, 1.0 + np.arange(len(TABLE)) % 3])
def test_scores_are_those_of_scikit_learn_on_the_same_folds(weight):
    models = {**TREES, "logistic": scaled(LogisticRegression())}
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=1)
    found = compare(models, TABLE, CLASSES, weight, cv=cv, scoring=SCORERS)
    assert len(found.splits) == 6
    for name, model in {**models, "baseline": DummyClassifier()}.items():
        place = list(found.estimators).index(name)
        for fold, (train, test) in enumerate(cv.split(TABLE, CLASSES)):
            np.testing.assert_array_equal(found.splits[fold][1], test)
            given = {} if weight is None else {"sample_weight": weight}
            named = {"logisticregression__sample_weight": weight} if name == "logistic" else given
            own = {key: values[train] for key, values in named.items() if values is not None}
            model.fit(TABLE[train], CLASSES[train], **own)
            for metric in SCORERS:
                scored = {key: values[test] for key, values in given.items()}
                expected = get_scorer(metric)(model, TABLE[test], CLASSES[test], **scored)
                assert found.scores[metric][place, fold] == pytest.approx(expected, abs=1e-12), (name, metric, fold)


def test_several_scores_are_those_of_cross_validate():
    cv = StratifiedKFold(4, shuffle=True, random_state=3)
    found = compare(TREES, TABLE, CLASSES, cv=cv, scoring=SCORERS)
    for place, model in enumerate(TREES.values()):
        expected = cross_validate(model, TABLE, CLASSES, cv=cv, scoring=SCORERS)
        for metric in SCORERS:
            np.testing.assert_allclose(found.scores[metric][place], expected[f"test_{metric}"], atol=1e-12)


def test_the_order_of_the_models_does_not_matter():
    models = {**TREES, "logistic": LogisticRegression(), "knn": KNeighborsClassifier()}
    one, other = (compare(own, TABLE, CLASSES, cv=(3, 2)) for own in (models, dict(reversed(models.items()))))
    same_scores(one, other)
    assert [row[:5] for row in one.rows()] == [row[:5] for row in other.rows()]
    assert one.verdict() == other.verdict()


def test_a_model_differs_from_itself_by_nothing():
    models = {"one": RandomForestClassifier(5), "two": RandomForestClassifier(5), "knn": KNeighborsClassifier(3)}
    found = compare(models, TABLE, CLASSES, cv=(3, 2), random_state=4)
    assert tuple(found.difference("one", "two")) == (0, 0, 0)
    assert {row.rank for row in found.rows() if row.name in ("one", "two")} in ({1}, {2}, {3})
    assert found.difference("one", "knn") == found.difference("two", "knn")
    assert found.difference("one", "knn").mean == -found.difference("knn", "one").mean


def test_doubled_weights_change_nothing():
    weight = 1.0 + np.arange(len(TABLE)) % 2
    models = {**TREES, "logistic": DecisionTreeClassifier(max_depth=2)}
    same_scores(*(compare(models, TABLE, CLASSES, own, cv=3, scoring=SCORERS) for own in (weight, 2 * weight)))


def test_rows_of_weight_0_are_in_no_fold():
    weight = np.ones(len(TABLE))
    weight[:7] = 0
    found = compare(TREES, TABLE, CLASSES, weight, cv=3)
    assert sorted(np.concatenate([test for _, test in found.splits])) == list(range(7, len(TABLE)))
    rest = compare(TREES, TABLE[7:], CLASSES[7:], cv=3)
    np.testing.assert_allclose(found.scores["accuracy"], rest.scores["accuracy"], atol=1e-12)


def test_a_seed_decides_folds_and_models_without_a_seed():
    models = {"forest": RandomForestClassifier(5, random_state=None), "svm": scaled(LinearSVC())}
    one, again, other = (compare(models, TABLE, CLASSES, cv=(3, 2), random_state=seed) for seed in (1, 1, 2))
    same_scores(one, again)
    assert not np.array_equal(one.splits[0][1], other.splits[0][1])
    assert one.estimators["svm"].get_params()["linearsvc__random_state"] == 1
    assert models["svm"].get_params()["linearsvc__random_state"] is None


def test_repeats_draw_other_folds_and_all_models_get_the_same():
    seen = []

    class Watching(DummyClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(tuple(X[:, 0].tolist()))
            return super().fit(X, y, sample_weight)

    found = compare({"a": Watching(), "b": Watching(strategy="uniform")}, TABLE, CLASSES, cv=(3, 2))
    assert seen[:6] == seen[6:] and len(set(seen)) == 6
    assert found.folds == "3 folds, drawn twice"
    for part in (found.splits[:3], found.splits[3:]):
        assert sorted(np.concatenate([test for _, test in part])) == list(range(len(TABLE)))


def test_groups_stay_whole():
    found = compare(TREES, TABLE, CLASSES, groups=GROUPS, cv=(4, 2))
    for train, test in found.splits:
        assert not set(GROUPS[train]) & set(GROUPS[test])
    assert not np.array_equal(found.splits[0][1], found.splits[4][1])
    given = compare(TREES, TABLE, CLASSES, groups=GROUPS, cv=GroupKFold(4))
    for (_, test), (_, expected) in zip(given.splits, GroupKFold(4).split(TABLE, CLASSES, GROUPS), strict=True):
        np.testing.assert_array_equal(test, expected)
    with pytest.raises(InvalidInputError, match="at most 2, the number of groups, got 3 folds"):
        compare(TREES, TABLE, CLASSES, groups=np.arange(len(TABLE)) % 2, cv=3)


def test_intervals_are_those_of_nadeau_and_bengio():
    found = compare(TREES, TABLE, CLASSES, cv=(5, 2))
    scores = found.scores["accuracy"]
    differences = scores[1] - scores[0]
    ratio = np.mean([len(test) / len(train) for train, test in found.splits])
    error = np.sqrt((1 / 10 + ratio) * differences.var(ddof=1))
    own = found.difference("stump", "tree")
    expected = stats.t.interval(0.95, 9, loc=differences.mean(), scale=error)
    np.testing.assert_allclose(own, [differences.mean(), *expected], atol=1e-12)
    assert paired_difference(scores[1][:1], scores[0][:1], ratio)[1:] == (-np.inf, np.inf)


def test_models_of_a_kind_share_a_program(monkeypatch):
    calls = []
    fit_jobs = GradientBoostingClassifier.fit_jobs.__func__

    def counted(cls, jobs):
        calls.append(len(jobs))
        return fit_jobs(cls, jobs)

    monkeypatch.setattr(GradientBoostingClassifier, "fit_jobs", classmethod(counted))
    models = {str(rate): GradientBoostingClassifier(5, learning_rate=rate) for rate in (0.1, 0.2, 0.3)}
    found = compare(models, TABLE, CLASSES, cv=3)
    assert calls == [3, 3, 3]
    alone = compare({"0.2": GradientBoostingClassifier(5, learning_rate=0.2)}, TABLE, CLASSES, cv=3)
    np.testing.assert_array_equal(found.scores["accuracy"][1], alone.scores["accuracy"][0])


class Own:
    """A model of no library, which predicts the class of the first row."""

    def fit(self, X, y):
        self.first = np.asarray(y)[0]

    def predict(self, X):
        return np.repeat(self.first, len(X))


def test_a_model_of_no_library_needs_only_fit_and_predict():
    own = Own()
    found = compare({"own": own, **TREES}, TABLE, CLASSES, cv=3)
    for fold, (train, test) in enumerate(found.splits):
        assert found.scores["accuracy"][0, fold] == np.mean(CLASSES[test] == CLASSES[train][0])
    assert not hasattr(own, "first")
    with pytest.raises(InvalidTypeError, match="must have fit and predict, and 'x' is int"):
        compare({"x": 3}, TABLE, CLASSES)
    with pytest.raises(InvalidTypeError, match="'x' is the class DecisionTreeClassifier, not an instance"):
        compare({"x": DecisionTreeClassifier}, TABLE, CLASSES)


def test_one_failure_leaves_the_others():
    models = {**TREES, "bad": DecisionTreeClassifier(max_depth=-3), "svm": scaled(LinearSVC())}
    found = compare(models, TABLE, CLASSES, cv=3, scoring=["neg_log_loss", "accuracy"])
    alone = compare(TREES, TABLE, CLASSES, cv=3, scoring=["neg_log_loss", "accuracy"])
    np.testing.assert_array_equal(found.scores["accuracy"][:2], alone.scores["accuracy"][:2])
    assert found.failures.keys() == {"bad", "svm"}
    assert found.failures["bad"].startswith("on 3 of 3 folds, InvalidInputError: ")
    assert "max_depth" in found.failures["bad"]
    assert found.failures["svm"].startswith("on 3 of 3 folds, neg_log_loss: AttributeError: ")
    assert np.isnan(found.scores["neg_log_loss"][3]).all() and np.isfinite(found.scores["accuracy"][3]).all()
    assert [row.name for row in found.rows()][-2:] == ["bad", "svm"]
    assert "bad failed: on 3 of 3 folds" in repr(found)
    nothing = compare({"bad": models["bad"]}, TABLE, CLASSES, cv=3)
    assert nothing.verdict() == "No model has a score."


def test_weights_that_a_model_does_not_take_are_its_failure():
    found = compare({"knn": KNeighborsClassifier(), **TREES}, TABLE, CLASSES, np.ones(len(TABLE)), cv=3)
    assert found.failures.keys() == {"knn"}
    assert "sample_weight" in found.failures["knn"]


def test_the_baseline_is_the_constant_that_the_score_asks_for():
    models = {"tree": DecisionTreeRegressor(max_depth=2), "line": LinearRegression()}
    skewed = np.exp(NUMBERS / 4)
    for metric, center in (("r2", np.mean), ("neg_mean_absolute_error", np.median)):
        found = compare(models, TABLE, skewed, cv=3, scoring=metric)
        assert found.metrics == [metric]
        train, test = found.splits[0]
        constant = center(skewed[train])
        error = np.abs(skewed[test] - constant).mean()
        squares = 1 - np.sum((skewed[test] - constant) ** 2) / np.sum((skewed[test] - skewed[test].mean()) ** 2)
        assert found.scores[metric][2, 0] == pytest.approx(squares if metric == "r2" else -error)


def test_survival_times_and_ranks_have_their_own_scores_and_constants():
    event, time = np.arange(len(TABLE)) % 3 > 0, np.exp(NUMBERS / 10)
    models = {"cox": GradientBoostingRegressor(5, loss="cox")}
    found = compare(models, TABLE, time, event=event.astype(float), cv=3)
    assert found.metrics == ["concordance"] and not found.failures
    assert (found.scores["concordance"][1] == 0.5).all()
    assert found.rows()[0].name in ("cox", "baseline")


def test_words_and_tables_say_the_same():
    found = compare({**TREES, "copy": TREES["tree"]}, TABLE, CLASSES, cv=(3, 2), scoring=["neg_log_loss", "accuracy"])
    frame = found.to_frame("accuracy")
    assert isinstance(frame, pd.DataFrame) and frame["model"].tolist() == [row.name for row in found.rows("accuracy")]
    losses = found.to_dict()
    assert losses["log loss"] == sorted(losses["log loss"]) and min(losses["log loss"]) > 0
    assert all(
        low <= mean <= high for low, mean, high in zip(*map(losses.get, ("low", "from best", "high")), strict=True)
    )
    assert all(mean >= 0 for mean in losses["from best"])
    best = found.rows("accuracy")[0].name
    assert found.verdict("accuracy").startswith(f"{best} is the best: accuracy ")
    assert found.verdict() in repr(found) and found.verdict()[:30] in found._repr_html_()
    assert all(name in repr(found) for name in found.estimators)
    with pytest.raises(InvalidInputError, match="metric must be one of neg_log_loss, accuracy, got 'r2'"):
        found.verdict("r2")
    with pytest.raises(InvalidInputError, match="the models are tree, stump, copy, baseline, got 'cart'"):
        found.difference("tree", "cart")


def test_a_comparison_in_which_nothing_is_learned_says_so():
    noise = np.random.default_rng(0).permutation(np.arange(len(TABLE)) % 2)
    found = compare({"tree": DecisionTreeClassifier()}, TABLE, noise, cv=3, scoring="neg_log_loss")
    assert found.verdict().startswith("No model is better than a constant, whose log loss")


def test_lists_are_named_by_classes_and_what_they_differ_in():
    models = [DecisionTreeClassifier(), DecisionTreeClassifier(max_depth=1), LogisticRegression(), LogisticRegression()]
    found = compare(models, TABLE, CLASSES, cv=3)
    assert list(found.estimators) == [
        "DecisionTreeClassifier()",
        "DecisionTreeClassifier(max_depth=1)",
        "LogisticRegression()",
        "LogisticRegression() #2",
        "baseline",
    ]
    assert list(compare(DecisionTreeClassifier(), TABLE, CLASSES, cv=3).estimators) == [
        "DecisionTreeClassifier",
        "baseline",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"models": {}}, "one model or more"),
        ({"models": {"baseline": DecisionTreeClassifier()}}, "'baseline' is the name of the constant"),
        ({"models": [DecisionTreeClassifier(), DecisionTreeRegressor()]}, "all be of classes or all of numbers"),
        ({"cv": 1}, "cv must be 2 folds or more, drawn once or more, got 1"),
        ({"cv": (3, 0)}, "drawn once or more, got"),
        ({"scoring": "acuracy"}, "scoring must be a scorer of scikit-learn"),
        ({"scoring": []}, "one scorer or more"),
        ({"y": [np.nan] * len(TABLE)}, "y contains NaN: every row needs a class"),
    ],
)
def test_wrong_arguments_are_refused_in_words(given, message):
    with pytest.raises(InvalidInputError, match=message):
        compare(**{"models": TREES, "X": TABLE, "y": CLASSES, **given})


def test_a_single_fold_has_no_interval():
    found = compare(TREES, TABLE, CLASSES, cv=ShuffleSplit(1, random_state=0))
    assert "one fold, no interval" in found.verdict()
