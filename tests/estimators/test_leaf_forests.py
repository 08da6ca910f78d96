"""Forests whose leaves keep rows: laws that all of them follow."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import jaxtree
from jaxtree import LocalLinearForest, MomentForest, QuantileForest, SurvivalForest
from jaxtree.errors import InvalidInputError

ROWS, COLUMNS = 120, 3


def mean_of(theta, nu, y):
    """The equation of a mean."""
    return y - theta


def settings(**others):
    """One forest of every kind, small."""
    few = {"n_estimators": 12, "random_state": 0, "min_samples_leaf": 4, **others}
    return [
        QuantileForest(**few),
        QuantileForest(criterion="quantile", honest=True, **few),
        SurvivalForest(**few),
        LocalLinearForest(penalty=0.1, **few),
        MomentForest(mean_of, **few),
    ]


def name_of(forest):
    return type(forest).__name__


def table(seed=0, num_rows=ROWS):
    """Rows on a grid, and whole numbers as targets, so that no sum is rounded."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, (num_rows, COLUMNS)).astype(float)
    return X, np.round(X[:, 0] + 10 * rng.exponential(size=num_rows))


def fit(forest, X, y, seed=1, **given):
    """Fits a forest, of survival times with events."""
    if isinstance(forest, SurvivalForest) and "event" not in given:
        given["event"] = np.random.default_rng(seed).random(len(y)) < 0.7
    return clone(forest).fit(X, y, **given)


def answers(forest, X):
    """All that a forest predicts."""
    found = [forest.predict(X)]
    if isinstance(forest, QuantileForest):
        found += [forest.predict(X, [0.1, 0.9]), forest.predict_interval(X, coverage=0.5)]
    if isinstance(forest, SurvivalForest):
        found += [forest.predict_survival_function(X, return_array=True)]
        found += [forest.predict_cumulative_hazard_function(X, return_array=True), forest.predict_median(X)]
    return found


def assert_alike(first, second, X, *, exact=True):
    for own, other in zip(answers(first, X), answers(second, X), strict=True):
        if exact:
            np.testing.assert_array_equal(own, other)
        else:
            np.testing.assert_allclose(own, other, rtol=1e-6)


@pytest.mark.parametrize("forest", settings(), ids=name_of)
def test_the_same_forest_on_one_core_and_two_and_in_any_order_of_rows(forest):
    X, y = table()
    event = {"event": np.arange(ROWS) % 3 > 0} if isinstance(forest, SurvivalForest) else {}
    ids = np.arange(ROWS)
    own = fit(forest, X, y, groups=ids, **event)
    two = fit(clone(forest).set_params(n_jobs=1), X, y, groups=ids, **event)
    assert_alike(own, two, X)
    order = np.random.default_rng(5).permutation(ROWS)
    shuffled = fit(forest, X[order], y[order], groups=ids[order], **{k: v[order] for k, v in event.items()})
    assert_alike(own, shuffled, X, exact=not isinstance(forest, LocalLinearForest))


@pytest.mark.parametrize("forest", settings(min_samples_leaf=1), ids=name_of)
def test_a_row_of_weight_two_is_two_rows_of_a_group(forest):
    X, y = table()
    ids, twice = np.arange(ROWS), np.append(np.arange(ROWS), np.arange(0, ROWS, 2))
    weight = np.where(ids % 2 == 0, 2.0, 1.0)
    event = ids % 3 > 0
    given, doubled = ({"event": own} if isinstance(forest, SurvivalForest) else {} for own in (event, event[twice]))
    heavy = fit(forest, X, y, sample_weight=weight, groups=ids, **given)
    double = fit(forest, X[twice], y[twice], groups=ids[twice], **doubled)
    assert_alike(heavy, double, X, exact=False)
    plain = fit(forest, X, y, groups=ids, **given)
    assert not np.allclose(plain.predict(X), heavy.predict(X))


@pytest.mark.parametrize("forest", settings(), ids=name_of)
def test_rows_without_weight_are_as_good_as_absent(forest):
    X, y = table()
    weight, event = np.ones(ROWS), np.arange(ROWS) % 3 > 0
    weight[::4] = 0
    kept = weight > 0
    given, less = ({"event": own} if isinstance(forest, SurvivalForest) else {} for own in (event, event[kept]))
    assert_alike(fit(forest, X, y, sample_weight=weight, **given), fit(forest, X[kept], y[kept], **less), X)


@pytest.mark.parametrize("forest", settings(), ids=name_of)
def test_files_and_pickles_predict_alike(forest, tmp_path):
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["word"] = np.where(X[:, 1] > 20, "high", "low")
    frame.loc[::7, "a"] = np.nan
    weight = np.random.default_rng(0).random(ROWS) + 0.5
    own = fit(forest, frame, y, sample_weight=weight)
    assert_alike(own, pickle.loads(pickle.dumps(own)), frame)
    if isinstance(forest, MomentForest):
        return
    own.save(tmp_path / "forest.jaxtree")
    loaded = jaxtree.load(tmp_path / "forest.jaxtree")
    assert_alike(own, loaded, frame)
    np.testing.assert_array_equal(own.feature_importances_, loaded.feature_importances_)
    assert loaded.get_params() == own.get_params()


@pytest.mark.parametrize("forest", settings(), ids=name_of)
def test_rows_out_of_bag_are_predicted_by_trees_that_have_not_drawn_them(forest):
    X, y = table()
    forest = clone(forest).set_params(oob_score=True, n_estimators=40)
    own = fit(forest, X, y)
    assert own.oob_prediction_.shape == (ROWS,) and np.isfinite(own.oob_prediction_).all()
    if not isinstance(forest, MomentForest):
        assert own.oob_score_ < own.score(X, y, **_event(own, 1))
    moved = y.copy()
    moved[0] += 1000
    other = fit(forest, X, moved)
    # The row's own target has no part in its prediction: trees that have not drawn it are the same.
    if not isinstance(forest, SurvivalForest | LocalLinearForest | MomentForest):
        assert other.oob_prediction_[0] == own.oob_prediction_[0]


def _event(forest, seed):
    return {"event": np.random.default_rng(seed).random(ROWS) < 0.7} if isinstance(forest, SurvivalForest) else {}


@pytest.mark.parametrize("forest", settings(), ids=name_of)
def test_scikit_learn_clones_shows_and_validates(forest):
    X, y = table()
    assert clone(forest).get_params() == forest.get_params()
    assert name_of(forest) in repr(forest)
    own = fit(forest, X, y)
    assert "trees" in own._repr_html_() and "most important" in own._repr_html_()
    if isinstance(forest, MomentForest):
        with pytest.raises(InvalidInputError, match="scoring"):
            own.score(X, y)
        return
    scores = cross_val_score(forest, X, y, cv=2)
    assert scores.shape == (2,) and np.isfinite(scores).all()


@pytest.mark.parametrize("forest", settings(), ids=name_of)
@pytest.mark.parametrize(
    ("changed", "words"),
    [({"honest_share": 1.0}, "honest_share"), ({"n_jobs": 0}, "n_jobs"), ({"max_samples": 1.5}, "max_samples")],
)
def test_a_wrong_parameter_is_named(forest, changed, words):
    with pytest.raises(ValueError, match=words):
        fit(clone(forest).set_params(**changed), *table())


@pytest.mark.parametrize("forest", settings(), ids=name_of)
def test_a_target_that_is_missing_is_an_error(forest):
    X, y = table()
    y[3] = np.nan
    with pytest.raises(ValueError, match="y"):
        fit(forest, X, y)


def test_quantiles_follow_increasing_maps_of_the_target():
    X, y = table()
    forest = QuantileForest(20, criterion="quantile", random_state=0)
    levels = [0.2, 0.5, 0.7]
    plain = fit(forest, X, y).predict(X, levels)
    for change in (lambda own: 3 * own - 7, np.sqrt, lambda own: 1e6 * own):
        np.testing.assert_allclose(fit(forest, X, change(y)).predict(X, levels), change(plain), rtol=1e-12)
    assert (np.diff(plain, axis=1) >= 0).all()


def test_quantiles_of_one_tree_are_those_of_its_leaves():
    X, y = table()
    forest = QuantileForest(1, max_samples=1.0, min_samples_leaf=20, random_state=0).fit(X, y)
    leaf = forest.apply(X)[:, 0]
    found = forest.predict(X, [0.1, 0.5, 0.9])
    for own in np.unique(leaf):
        wanted = np.quantile(y[leaf == own], [0.1, 0.5, 0.9], method="inverted_cdf")
        np.testing.assert_array_equal(found[leaf == own], np.broadcast_to(wanted, ((leaf == own).sum(), 3)))


def test_many_different_targets_are_kept_by_sixteen_bits():
    from jaxtree.estimators.moments.quantile import atoms_of

    y = np.random.default_rng(0).normal(size=200_000)
    atoms = atoms_of(y)
    assert atoms.value.size == 2**16 and (np.diff(atoms.value) > 0).all()
    place = np.argsort(np.argsort(y))
    near = np.searchsorted(np.sort(y), atoms.value[atoms.atom])
    assert np.abs(place - near).max() <= 4


@pytest.mark.parametrize(
    ("levels", "given"), [(0.0, "0.0"), ([0.1, 1.0], "1.0"), ("half", "half"), ([[0.1]], "0.1"), (np.nan, "nan")]
)
def test_a_level_that_is_none_is_an_error(levels, given):
    X, y = table()
    forest = QuantileForest(2, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match=f"between 0 and 1.*{given}"):
        forest.predict(X, levels)
    with pytest.raises(InvalidInputError, match="quantiles"):
        QuantileForest(2, quantiles=levels).fit(X, y)


def test_curves_of_one_tree_are_kaplan_and_meiers_of_its_leaves():
    X, y = table()
    event = np.arange(ROWS) % 3 > 0
    forest = SurvivalForest(1, max_samples=1.0, min_samples_leaf=25, random_state=0).fit(X, y, event=event)
    leaf = forest.apply(X)[:, 0]
    curves = forest.predict_survival_function(X)
    hazards = forest.predict_cumulative_hazard_function(X)
    for own in np.unique(leaf):
        time, is_event, survived, hazard = y[leaf == own], event[leaf == own], 1.0, 0.0
        for at in forest.event_times_:
            share = ((time == at) & is_event).sum() / max((time >= at).sum(), 1)
            survived, hazard = survived * (1 - share), hazard + share
            row = int(np.flatnonzero(leaf == own)[0])
            np.testing.assert_allclose(curves[row](at), survived, atol=1e-8)
            np.testing.assert_allclose(hazards[row](at), hazard, atol=1e-8)
    mortality = hazards(forest.event_times_).sum(axis=1)
    np.testing.assert_allclose(forest.predict(X), mortality, rtol=1e-7)


def test_curves_begin_at_one_and_never_rise():
    X, y = table()
    forest = fit(SurvivalForest(20, random_state=0), X, y)
    curves = forest.predict_survival_function(X)
    assert len(curves) == ROWS and (curves([-1.0]) == 1).all()
    assert (np.diff(curves.probabilities, axis=1) <= 0).all()
    median = forest.predict_median(X)
    known = np.isfinite(median)
    assert (curves[: int(known.sum())].probabilities.shape[1]) == forest.event_times_.size
    reached = np.array([curves[int(row)](median[row]) for row in np.flatnonzero(known)])
    assert known.any() and (reached <= 0.5).all()


def test_times_come_as_scikit_survival_has_them():
    X, y = table()
    event = np.arange(ROWS) % 3 > 0
    both = np.array(list(zip(event, y, strict=True)), dtype=[("died", bool), ("days", float)])
    forest = SurvivalForest(5, random_state=0)
    own, other = fit(forest, X, y, event=event), clone(forest).fit(X, both)
    assert_alike(own, other, X)
    assert own.score(X, y, event=event) == other.score(X, both)
    assert own.score_name_ == "concordance"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"y": -1.0}, "from 0 on"),
        ({"event": 2}, "1 or True"),
        ({"event": "no"}, "event"),
    ],
)
def test_survival_times_that_are_none_are_errors(changed, words):
    X, y = table()
    event: np.ndarray = np.ones(ROWS)
    if "y" in changed:
        y[5] = changed["y"]
    elif isinstance(changed["event"], str):
        event = np.array(["no"] * ROWS)
    else:
        event[4] = changed["event"]
    with pytest.raises(ValueError, match=words):
        SurvivalForest(2).fit(X, y, event=event)


def test_survival_without_events_is_an_error():
    X, y = table()
    with pytest.raises(InvalidInputError, match="without events"):
        SurvivalForest(2).fit(X, y, event=np.zeros(ROWS))


def test_a_line_is_predicted_beyond_means():
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = 5 * X[:, 0] + 0.01 * rng.normal(size=300)
    at = np.array([[0.01, 0.5], [0.99, 0.5]])
    forest = LocalLinearForest(50, random_state=0).fit(X, y)
    assert forest.penalty_ < 0.3
    np.testing.assert_allclose(forest.predict(at), 5 * at[:, 0], atol=0.1)
    scaled = clone(forest).fit(X * [1000.0, 1.0], y).predict(at * [1000.0, 1.0])
    np.testing.assert_allclose(scaled, forest.predict(at), rtol=1e-6)
    far = clone(forest).fit(X, y + 1e6).predict(at)
    np.testing.assert_allclose(far - 1e6, forest.predict(at), atol=1e-4)


def test_a_mean_as_an_equation_is_the_mean_of_the_forest():
    X, y = table()
    forest = MomentForest(mean_of, n_estimators=10, random_state=0).fit(X, y)
    means = forest.model_.predict(forest.encoder_.values(X))[:, 0]
    np.testing.assert_allclose(forest.predict(X), means, rtol=1e-6)


def test_programs_and_exports_say_that_rows_are_no_function():
    X, y = table()
    forest = QuantileForest(3, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="keep"):
        forest.functional()
    risk = fit(SurvivalForest(3, random_state=0), X, y)
    parameters, function = risk.functional()
    np.testing.assert_allclose(np.asarray(function(parameters, X)), risk.predict(X), rtol=1e-5)
