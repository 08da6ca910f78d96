"""Forests as estimators: votes, out-of-bag scores, warm starts, prunings and interrupts."""

import itertools
import warnings

import jax
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier as PeerExtraTrees
from sklearn.ensemble import RandomForestClassifier as PeerForest
from sklearn.ensemble import RandomForestRegressor as PeerRegressor
from sklearn.metrics import balanced_accuracy_score, r2_score

import jaxtree.forests.forest as growing
from jaxtree import (
    CostComplexity,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    ReducedError,
    load,
)
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, InvalidTypeError
from jaxtree.estimators.common.conventions import key_of
from jaxtree.forests.batches import BatchLimits
from jaxtree.forests.forest import Rows, Sampling, sampler_of
from jaxtree.kernels import choose
from tests.estimators.comparing import assert_same_tree
from tests.marks import in_turn

GROW = "grow_on_host" if choose.is_there() else "grow_checked"
"""The function that grows a batch of trees here."""

X, CLASS = make_classification(
    900, 8, n_informative=5, n_classes=3, n_clusters_per_class=2, flip_y=0.05, class_sep=1.5, random_state=3
)
X = np.round(X, 1)
WORD = np.array(["ash", "birch", "cedar"])[CLASS]
NUMBER = 2 * X[:, 0] - np.abs(X[:, 1]) + 0.3 * np.random.default_rng(0).normal(size=900) + 100
TRAIN, TEST = slice(None, 600), slice(600, None)
FEW = dict(n_estimators=12, random_state=4, max_bins=8)


@pytest.fixture(scope="module")
def classifier():
    # With 12 trees some rows are drawn by all.
    return RandomForestClassifier(oob_score=True, **FEW).fit(X[TRAIN], WORD[TRAIN])


@pytest.fixture(scope="module")
def regressor():
    return RandomForestRegressor(oob_score=True, **FEW).fit(X[TRAIN], NUMBER[TRAIN])


@pytest.fixture(scope="module", params=["classifier", "regressor"])
def fitted(request):
    return request.getfixturevalue(request.param)


def target_of(forest):
    return WORD if hasattr(forest, "classes_") else NUMBER


def says(forest, table=X):
    return forest.predict_proba(table) if hasattr(forest, "classes_") else forest.predict(table)


def drawn_by(forest, num_rows=600):
    """How often every tree has drawn every row, from the key that the seed gives."""
    key = jax.random.split(key_of(forest.random_state))[0]
    rows = Rows(np.zeros((1, num_rows), np.uint8), np.zeros((1, num_rows), np.int32), 2, 2)
    return sampler_of(rows, Sampling(num_rows), key).draw_counts(0, len(forest.forest_))


def test_the_class_of_greatest_share_is_predicted(classifier):
    assert (classifier.predict(X) == classifier.classes_[classifier.predict_proba(X).argmax(axis=1)]).all()
    assert classifier.score(X[TEST], WORD[TEST]) > 0.7
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(X)), classifier.predict_proba(X), rtol=1e-12)


def test_out_of_bag_predictions_are_those_of_a_slow_loop(fitted):
    counts, target = drawn_by(fitted), target_of(fitted)[TRAIN]
    ours = fitted.oob_decision_function_ if hasattr(fitted, "classes_") else fitted.oob_prediction_
    said = [says(tree, X[TRAIN]) for tree in fitted.estimators_]
    known = counts.min(axis=0) == 0
    for row in range(600):
        parts = [of_tree[row] for of_tree, count in zip(said, counts, strict=True) if not count[row]]
        slow = np.mean(parts, axis=0) if parts else np.nan
        np.testing.assert_allclose(ours[row], slow, rtol=1e-12)
    assert 580 < known.sum() < 600
    if hasattr(fitted, "classes_"):
        right = fitted.classes_[ours[known].argmax(axis=1)] == target[known]
        assert fitted.oob_score_ == right.mean()
    else:
        assert fitted.oob_score_ == r2_score(target[known], ours[known])


def test_rows_without_weight_have_no_out_of_bag_prediction(classifier):
    weight = np.ones(900)
    weight[600:] = 0
    forest = clone(classifier).fit(X, WORD, sample_weight=weight)
    assert np.isnan(forest.oob_decision_function_[600:]).all()
    np.testing.assert_array_equal(forest.oob_decision_function_[:600], classifier.oob_decision_function_)
    assert forest.oob_score_ == classifier.oob_score_


def test_another_score_may_be_given(classifier):
    forest = clone(classifier).set_params(oob_score=balanced_accuracy_score).fit(X[TRAIN], WORD[TRAIN])
    shares = classifier.oob_decision_function_
    known = ~np.isnan(shares[:, 0])
    label = classifier.classes_[shares[known].argmax(axis=1)]
    assert forest.oob_score_ == balanced_accuracy_score(WORD[TRAIN][known], label)


def test_too_few_trees_leave_rows_without_a_prediction(classifier):
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        forest = clone(classifier).set_params(n_estimators=2).fit(X[TRAIN], WORD[TRAIN])
    missing = np.isnan(forest.oob_decision_function_[:, 0])
    assert (missing == (drawn_by(forest) > 0).all(axis=0)).all()
    assert 0 < forest.oob_score_ < 1


def test_the_forest_does_not_depend_on_the_number_of_jobs(fitted):
    for n_jobs in (1, 2):
        again = clone(fitted).set_params(n_jobs=n_jobs, oob_score=False).fit(X[TRAIN], target_of(fitted)[TRAIN])
        assert (says(again) == says(fitted)).all()


@pytest.mark.filterwarnings("ignore:.*rows have no out-of-bag")
def test_a_warm_start_ends_where_one_fit_does(fitted):
    target = target_of(fitted)[TRAIN]
    forest = clone(fitted).set_params(warm_start=True, n_estimators=5, oob_score=False).fit(X[TRAIN], target)
    first = list(forest.estimators_)
    assert len(first) == 5
    forest.set_params(n_estimators=12, oob_score=True).fit(X[TRAIN], target)
    assert (says(forest) == says(fitted)).all()
    assert forest.oob_score_ == fitted.oob_score_
    assert (says(forest.estimators_[3]) == says(first[3])).all()
    with pytest.warns(UserWarning, match="Warm-start fitting without increasing n_estimators"):
        forest.fit(X[TRAIN], target)
    with pytest.raises(InvalidInputError, match="n_estimators=3 must be larger"):
        forest.set_params(n_estimators=3).fit(X[TRAIN], target)


def test_a_warm_start_needs_the_same_classes(classifier):
    forest = clone(classifier).set_params(warm_start=True, oob_score=False).fit(X[TRAIN], WORD[TRAIN])
    with pytest.raises(InvalidInputError, match="warm_start needs the columns, categories, classes"):
        forest.set_params(n_estimators=14).fit(X[TRAIN], np.char.upper(WORD[TRAIN]))


OTHER_ROWS = {
    "other rows": lambda X, y: ({"X": X[300:], "y": y[300:]}, {}),
    "as many others": lambda X, y: ({"X": X[200:500], "y": y[200:500]}, {}),
    "another order": lambda X, y: ({"X": X[299::-1], "y": y[299::-1]}, {}),
    "other targets": lambda X, y: ({"X": X[:300], "y": y[np.r_[1:300, 0]]}, {}),
    "weights": lambda X, y: ({"X": X[:300], "y": y[:300], "sample_weight": np.arange(300) % 3}, {}),
    "draws": lambda X, y: ({"X": X[:300], "y": y[:300]}, {"max_samples": 100}),
}


@pytest.mark.parametrize(
    ("name", "kind"), in_turn(OTHER_ROWS, [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier])
)
def test_a_warm_start_on_other_rows_has_no_score_out_of_bag(kind, name, tmp_path):
    target = NUMBER if kind is RandomForestRegressor else WORD
    given, params = OTHER_ROWS[name](X[TRAIN], target[TRAIN])
    start = kind(**FEW | {"n_estimators": 5}, bootstrap=True, warm_start=True).fit(X[:300], target[:300])
    start.save(tmp_path / "forest")
    for forest in (start, load(tmp_path / "forest")):
        forest.set_params(n_estimators=7, oob_score=True, **params)
        with pytest.raises(InvalidInputError, match="oob_score needs to know which rows every tree has drawn"):
            forest.fit(**given)
        forest.set_params(oob_score=False).fit(**given)
        # Nor do the rows of the last fit say what the first trees have drawn.
        with pytest.raises(InvalidInputError, match="oob_score needs to know which rows"):
            forest.set_params(n_estimators=8, oob_score=True).fit(**given)
        with pytest.raises(AttributeError, match="a warm start has grown trees on other rows"):
            _ = forest.estimators_samples_


def test_a_loaded_forest_goes_on_on_its_rows(tmp_path):
    RandomForestRegressor(**FEW | {"n_estimators": 5}).fit(X[TRAIN], NUMBER[TRAIN]).save(tmp_path / "forest")
    forest = load(tmp_path / "forest").set_params(n_estimators=40, warm_start=True, oob_score=True)
    whole = RandomForestRegressor(**FEW | {"n_estimators": 40}, oob_score=True).fit(X[TRAIN], NUMBER[TRAIN])
    assert forest.fit(X[TRAIN], NUMBER[TRAIN]).oob_score_ == whole.oob_score_
    for ours, theirs in zip(forest.estimators_samples_, whole.estimators_samples_, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_an_interrupt_keeps_the_trees_that_have_grown(classifier, monkeypatch):
    calls = []

    def interrupted(*arrays, **keywords):
        if calls:
            raise KeyboardInterrupt
        calls.append(keywords)
        return whole(*arrays, **keywords)

    whole = getattr(growing, GROW)
    monkeypatch.setattr(growing, GROW, interrupted)
    monkeypatch.setattr("jaxtree.forests.forest.CPU_LIMITS", BatchLimits(2000, 2**30))
    forest = clone(classifier).set_params(n_jobs=1, oob_score=False)
    with pytest.warns(InterruptedFitWarning, match="fit was interrupted: the forest has 4 of 12 trees"):
        forest.fit(X[TRAIN], WORD[TRAIN])
    mean = np.mean([says(tree) for tree in classifier.estimators_[:4]], axis=0)
    np.testing.assert_allclose(says(forest), mean, atol=1e-12)
    calls.clear()
    calls.append(None)
    with pytest.raises(KeyboardInterrupt):
        forest.fit(X[TRAIN], WORD[TRAIN])


@pytest.mark.slow
def test_trees_divided_among_devices_are_those_of_one(classifier, monkeypatch):
    used = set()

    def spy(data, *others, **keywords):
        (device,) = data.codes.devices()
        used.add(device)
        return whole(data, *others, **keywords)

    monkeypatch.setattr(growing, "engine_of", lambda *_, **__: choose.Engine.PROGRAM)
    whole = growing.grow_checked
    monkeypatch.setattr(growing, "grow_checked", spy)
    devices = jax.devices()[1:4]
    forest = clone(classifier).fit(X[TRAIN], WORD[TRAIN], mesh=jax.sharding.Mesh(devices, ("trees",)))
    assert used == set(devices)
    for one, other in zip(forest.forest_, classifier.forest_, strict=True):
        assert_same_tree(one, other)
    np.testing.assert_array_equal(forest.oob_decision_function_, classifier.oob_decision_function_)


def test_threads_keep_to_the_device_that_the_caller_chose(classifier, monkeypatch):
    used = set()
    monkeypatch.setattr(growing, "engine_of", lambda *_, **__: choose.Engine.PROGRAM)
    whole = growing.grow_checked
    monkeypatch.setattr(
        growing, "grow_checked", lambda data, *a, **k: used.update(data.codes.devices()) or whole(data, *a, **k)
    )
    with jax.default_device(jax.devices()[2]):
        clone(classifier).set_params(n_jobs=2, oob_score=False).fit(X[TRAIN], WORD[TRAIN])
    assert used == {jax.devices()[2]}


def test_a_mesh_must_have_devices_of_one_axis(classifier):
    with pytest.raises(InvalidTypeError, match=r"mesh must be a jax.sharding.Mesh or None, got 'cpu'"):
        clone(classifier).fit(X, WORD, mesh="cpu")
    square = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 2), ("a", "b"))
    with pytest.raises(InvalidInputError, match="mesh must have one axis"):
        clone(classifier).fit(X, WORD, mesh=square)


def test_weights_are_chances_of_rows(classifier):
    """A class that is never drawn is never predicted; a row drawn nine times as often counts as much as nine."""
    table, words = X[TRAIN], WORD[TRAIN]
    forest = clone(classifier).set_params(oob_score=False)
    forest.fit(table, words, sample_weight=np.where(words == "ash", 1e-12, 1.0))
    assert forest.predict_proba(X)[:, 0].max() == 0
    forest.fit(table, words, sample_weight=np.where(words == "ash", 9.0, 1.0))
    root, part = np.mean([tree.count[0] for tree in forest.forest_], axis=0), np.mean(words == "ash")
    assert abs(root[0] / root.sum() - 9 * part / (9 * part + 1 - part)) < 0.02


@pytest.mark.parametrize("max_samples,expected", [(550, 550), (0.9, 540), (None, 600)])
def test_trees_draw_as_many_rows_as_asked(classifier, max_samples, expected):
    forest = clone(classifier).set_params(max_samples=max_samples, oob_score=False).fit(X[TRAIN], WORD[TRAIN])
    assert [tree.weight[0] for tree in forest.forest_] == [expected] * 12


def test_prunings_are_masks_of_every_tree(classifier):
    whole = clone(classifier).set_params(oob_score=False)
    few = clone(whole).set_params(max_leaf_nodes=7).fit(X[TRAIN], WORD[TRAIN])
    assert {tree.get_n_leaves() for tree in few.estimators_} == {7}
    by_price = clone(whole).set_params(ccp_alpha=0.01).fit(X[TRAIN], WORD[TRAIN])
    by_pruning = clone(whole).set_params(pruning=CostComplexity(0.01)).fit(X[TRAIN], WORD[TRAIN])
    assert (by_price.forest_.num_nodes < classifier.forest_.num_nodes).all()
    assert (says(by_price) == says(by_pruning)).all()


def test_rows_that_a_tree_has_not_drawn_prune_it(classifier):
    forest = clone(classifier).set_params(pruning=ReducedError(), oob_score=False).fit(X[TRAIN], WORD[TRAIN])
    counts = drawn_by(forest)
    for number in (0, 7):
        unseen = counts[number] == 0
        whole, pruned = classifier.estimators_[number], forest.estimators_[number]
        assert pruned.tree_.node_count < whole.tree_.node_count
        assert pruned.score(X[TRAIN][unseen], WORD[TRAIN][unseen]) >= whole.score(X[TRAIN][unseen], WORD[TRAIN][unseen])


@pytest.mark.parametrize(
    "parameters,message",
    [
        (dict(n_estimators=0), "n_estimators"),
        (dict(n_jobs=0), "n_jobs must be None, an integer >= 1"),
        (dict(bootstrap=False, max_samples=0.5), "`max_sample` cannot be set if `bootstrap=False`"),
        (dict(bootstrap=False, oob_score=True), "only available if bootstrap=True"),
        (dict(max_samples=0.0), "max_samples"),
        (dict(pruning=CostComplexity("cv")), "not cross-validated one by one"),
        (dict(pruning=ReducedError(), bootstrap=False), "with bootstrap=True it takes those not drawn"),
        (dict(max_depth=-3), "The 'max_depth' parameter of RandomForestClassifier must be"),
        (dict(class_weight="balance"), "class_weight"),
    ],
)
def test_wrong_parameters_are_told_before_work_is_done(parameters, message, monkeypatch):
    monkeypatch.setattr(growing, GROW, None)
    with pytest.raises(InvalidInputError, match=message):
        RandomForestClassifier(**parameters).fit(X, CLASS)


@pytest.mark.slow
def test_several_outputs():
    both = np.stack([WORD, np.where(X[:, 0] > 0, "high", "low")], axis=1)
    forest = RandomForestClassifier(oob_score=True, **FEW).fit(X[TRAIN], both[TRAIN])
    assert [share.shape for share in forest.predict_proba(X[TEST])] == [(300, 3), (300, 2)]
    assert np.mean(forest.predict(X[TEST]) == both[TEST]) > 0.8
    assert [share.shape for share in forest.oob_decision_function_] == [(600, 3), (600, 2)]
    equal = forest.fit(X[TRAIN], np.stack([WORD, WORD], axis=1)[TRAIN]).oob_decision_function_
    assert equal.shape == (600, 3, 2)
    np.testing.assert_array_equal(equal[..., 0], equal[..., 1])
    numbers = RandomForestRegressor(oob_score=True, **FEW).fit(X[TRAIN], np.stack([NUMBER, -NUMBER], axis=1)[TRAIN])
    said = numbers.predict(X[TEST])
    assert said.shape == (300, 2)
    assert numbers.oob_prediction_.shape == (600, 2)
    np.testing.assert_allclose(said[:, 0], -said[:, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestRegressor(8, bootstrap=False, max_features=1, random_state=0),
        ExtraTreesRegressor(8, max_features=1, random_state=0),
        DecisionTreeRegressor(max_features=1, random_state=0),
        DecisionTreeRegressor(max_features=1, splitter="random", random_state=0),
        RandomForestRegressor(8, bootstrap=False, max_features=1, random_state=0, categorical_features=[0, 2]),
    ],
    ids=lambda estimator: f"{type(estimator).__name__}-{getattr(estimator, 'splitter', estimator.max_features)}",
)
def test_rows_that_differ_are_told_apart_however_few_columns_a_node_draws(estimator):
    table = np.array(list(itertools.product(range(3), repeat=4)), float)
    number = np.random.default_rng(0).permutation(81).astype(float)
    np.testing.assert_array_equal(estimator.fit(table, number).predict(table), number)


@pytest.mark.slow
def test_forests_are_as_good_as_scikit_learn_s():
    pairs = [
        (RandomForestClassifier, PeerForest, CLASS, {}),
        (ExtraTreesClassifier, PeerExtraTrees, CLASS, {}),
        (RandomForestRegressor, PeerRegressor, NUMBER, dict(max_features=0.5)),
    ]
    for ours, peer, target, parameters in pairs:
        scores = [
            np.mean([f(40, random_state=seed, **parameters).fit(X[TRAIN], target[TRAIN]).score(X[TEST], target[TEST])
                     for seed in range(2)])
            for f in (ours, peer)
        ]  # fmt: skip
        assert abs(scores[0] - scores[1]) < 0.025, (ours, scores)


@pytest.mark.slow
def test_letters_are_told_apart_as_well_as_by_scikit_learn(real_data):
    table = np.loadtxt(real_data / "letter" / "letter-recognition.data", dtype=str, delimiter=",")
    y, features = table[:, 0], table[:, 1:].astype(np.float32)
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = rows[:8000], rows[8000:14000]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = RandomForestClassifier(50, random_state=0).fit(features[train], y[train])
    peer = PeerForest(50, random_state=0).fit(features[train], y[train])
    assert abs(ours.score(features[test], y[test]) - peer.score(features[test], y[test])) < 0.015
