"""Causal and instrumental forests: local solutions by forest weights, averages, scores, files and searches."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, cross_val_score

import jaxtree
from jaxtree import CausalForest, InstrumentalForest
from jaxtree.errors import InvalidInputError, InvalidTypeError

RNG = np.random.default_rng(7)
NUM_ROWS = 240
X = RNG.random((NUM_ROWS, 3))
COIN = RNG.integers(0, 2, NUM_ROWS)
Y = COIN * (X[:, 0] > 0.5) + X[:, 1] + 0.2 * RNG.normal(size=NUM_ROWS)
TAKEN = COIN * RNG.integers(0, 2, NUM_ROWS)
KNOWN = {"y_hat": X[:, 1] + 0.25, "treatment_hat": np.full(NUM_ROWS, 0.5)}
ROWS = RNG.random((9, 3))


def causal(**options):
    known, y = {name: options.pop(name, KNOWN[name]) for name in KNOWN}, options.pop("y", Y)
    given = {name: options.pop(name) for name in ("sample_weight", "groups") if name in options}
    treatment, table = options.pop("treatment", COIN), options.pop("table", X)
    forest = CausalForest(**{"n_estimators": 16, "random_state": 0, **options})
    return forest.fit(table, y, treatment=treatment, **known, **given)


@pytest.fixture(scope="module")
def forest():
    return causal()


def weights_of_rows(forest, rows, values):
    """The forest's weights of the rows of its fit at others, from the leaves that both share."""
    ends, own = forest.apply(rows), forest.apply(values)
    weight = np.zeros((len(rows), len(values)))
    for tree, filled in enumerate(filling_rows(forest, len(values))):
        for row, end in enumerate(ends[:, tree]):
            here = filled[own[filled, tree] == end]
            weight[row, here] += 1 / len(here)
    return weight / ends.shape[1]


def filling_rows(forest, num_rows):
    """The rows that fill the leaves of every tree."""
    from jaxtree.forests.forest import Rows, Sampling, halves_of, sampler_of
    from jaxtree.forests.samples import draw_rows
    from jaxtree.forests.subsamples import Bags

    sampling = Sampling(bags=Bags(0.5, 4), split_share=0.5)
    rows = Rows(np.zeros((1, num_rows), np.uint8), np.zeros((1, num_rows)), 0, 2)
    key = forest.keys()[0]
    drawn = draw_rows(sampler_of(rows, sampling, key), 0, len(forest))
    _, fill = halves_of(rows, sampling, key).divide(drawn, 0)
    return [fill.row[fill.tree == tree] for tree in range(len(forest))]


def test_effects_solve_the_moment_with_the_forest_s_weights(forest):
    weight = weights_of_rows(forest, ROWS, X)
    outcome, treatment = Y - KNOWN["y_hat"], COIN - 0.5
    for row, own in enumerate(weight):
        w = treatment - own @ treatment
        expected = (own * w) @ (outcome - own @ outcome) / ((own * w) @ w)
        assert forest.predict(ROWS[[row]])[0] == pytest.approx(expected, rel=1e-7)


def test_the_treatment_as_its_own_instrument_makes_the_causal_forest(forest):
    known = KNOWN | {"instrument_hat": KNOWN["treatment_hat"]}
    own = InstrumentalForest(16, random_state=0).fit(X, Y, treatment=COIN, instrument=COIN, **known)
    for name in ("feature", "threshold", "first_child", "num_rows"):
        np.testing.assert_array_equal(getattr(own.forest_.nodes, name), getattr(forest.forest_.nodes, name))
    np.testing.assert_array_equal(own.predict(ROWS), forest.predict(ROWS))
    np.testing.assert_array_equal(own.predict_std(ROWS), forest.predict_std(ROWS))


def test_a_larger_forest_begins_with_the_smaller_one(forest):
    larger = causal(n_estimators=20)
    end = forest.forest_.first_node[-1]
    np.testing.assert_array_equal(larger.forest_.nodes.threshold[:end], forest.forest_.nodes.threshold)


@pytest.mark.parametrize("scale", [2.0**-70, 2.0**30])
def test_effects_have_the_unit_of_the_outcome(forest, scale):
    own = causal(y=Y * scale, y_hat=KNOWN["y_hat"] * scale)
    np.testing.assert_array_equal(own.predict(ROWS), forest.predict(ROWS) * scale)
    np.testing.assert_array_equal(own.predict_std(ROWS), forest.predict_std(ROWS) * scale)


def test_effects_are_those_of_a_unit_of_the_treatment():
    dose = RNG.normal(size=NUM_ROWS)
    y, known = dose * X[:, 0], {"y_hat": np.zeros(NUM_ROWS), "treatment_hat": np.zeros(NUM_ROWS)}
    one = causal(treatment=dose, y=y, **known)
    other = causal(treatment=4 * dose, y=y, **known)
    np.testing.assert_array_equal(other.predict(ROWS), one.predict(ROWS) / 4)


def test_the_origin_of_the_outcome_changes_nothing():
    """Nuisances take it off; out of bag they are exact up to rounding, so that no split depends on it."""
    one, other = (causal(y=Y + shift, y_hat=None, n_estimators=8) for shift in (0, 1024))
    np.testing.assert_allclose(other.predict(ROWS), one.predict(ROWS), atol=1e-6)


def test_rows_in_another_order_make_the_same_forest_where_groups_name_them(forest):
    order = RNG.permutation(NUM_ROWS)
    one = causal(groups=np.arange(NUM_ROWS))
    other = CausalForest(16, random_state=0).fit(
        X[order], Y[order], treatment=COIN[order], groups=order, **{name: own[order] for name, own in KNOWN.items()}
    )
    np.testing.assert_array_equal(other.predict(ROWS), one.predict(ROWS))
    np.testing.assert_array_equal(other.predict_std(ROWS), one.predict_std(ROWS))
    np.testing.assert_array_equal(other.oob_prediction_, one.oob_prediction_[order])
    np.testing.assert_array_equal(one.predict(ROWS), forest.predict(ROWS))


def test_doubled_rows_are_those_of_twice_the_weight():
    """The copies of a row are one group; limits of numbers of rows do not bind."""
    twice = RNG.integers(0, 2, NUM_ROWS) > 0
    copies = np.concatenate([np.arange(NUM_ROWS), np.flatnonzero(twice)])
    free = {"min_samples_leaf": 1, "min_samples_arm": 1, "alpha": 0.2}
    weighted = causal(sample_weight=1.0 + twice, groups=np.arange(NUM_ROWS), **free)
    doubled = CausalForest(16, random_state=0, **free).fit(
        X[copies], Y[copies], treatment=COIN[copies], groups=copies, **{n: own[copies] for n, own in KNOWN.items()}
    )
    np.testing.assert_allclose(doubled.predict(ROWS), weighted.predict(ROWS), rtol=1e-7)
    np.testing.assert_allclose(doubled.predict_std(ROWS), weighted.predict_std(ROWS), rtol=1e-6)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_change_nothing(forest, n_jobs):
    np.testing.assert_array_equal(causal(n_jobs=n_jobs).predict(ROWS), forest.predict(ROWS))


def test_arms_may_be_words_booleans_or_numbers(forest):
    for treatment in (COIN.astype(bool), np.array(["no", "yes"])[COIN], COIN.astype(float), list(map(str, COIN))):
        np.testing.assert_array_equal(causal(treatment=treatment).predict(ROWS), forest.predict(ROWS))
    other = causal(treatment=np.array(["no", "yes"])[COIN], control="yes", treatment_hat=KNOWN["treatment_hat"])
    np.testing.assert_allclose(other.predict(ROWS), -forest.predict(ROWS), rtol=1e-9)
    assert other.classes_of_treatment_.tolist() == ["yes", "no"]


def test_several_arms_have_an_effect_each():
    arm = RNG.integers(0, 3, 600)
    table = RNG.random((600, 2))
    y = (arm == 1) * table[:, 0] + 2.0 * (arm == 2) + 0.1 * RNG.normal(size=600)
    own = CausalForest(40, random_state=0).fit(table, y, treatment=np.array(["a", "b", "c"])[arm])
    effect = own.predict([[0.1, 0.5], [0.9, 0.5]])
    np.testing.assert_allclose(effect, [[0.1, 2], [0.9, 2]], atol=0.3)
    assert own.predict_interval(table[:4]).shape == (4, 2, 2)
    averages = own.average_treatment_effect()
    assert averages.keys() == {"b", "c"}
    assert averages["c"].estimate == pytest.approx(2, abs=0.1)
    assert own.doubly_robust_rewards().shape == (600, 3)


def test_averages_agree_with_the_trial():
    forest = causal(n_estimators=48)
    found = forest.average_treatment_effect()
    assert abs(found.estimate - np.mean(X[:, 0] > 0.5)) < 4 * found.standard_error
    half = forest.average_treatment_effect(subset=X[:, 0] > 0.5)
    assert half.estimate == pytest.approx(1, abs=0.2)
    assert forest.average_treatment_effect("treated").estimate == pytest.approx(found.estimate, abs=0.2)
    assert forest.calibration_test().estimate[0] == pytest.approx(1, abs=0.2)
    assert forest.best_linear_projection(X[:, :1]).estimate[1] > 0.5
    assert forest.rank_average_treatment_effect(X[:, 0]).estimate[0] > 0.1
    assert forest.overlap().is_good


def test_a_file_has_all_that_averages_need(tmp_path):
    forest = causal(n_estimators=48)
    forest.save(tmp_path / "effects.jaxtree")
    again = jaxtree.load(tmp_path / "effects.jaxtree")
    np.testing.assert_array_equal(again.predict_interval(ROWS), forest.predict_interval(ROWS))
    assert again.average_treatment_effect() == forest.average_treatment_effect()
    np.testing.assert_array_equal(again.oob_std_, forest.oob_std_)


@pytest.mark.slow
@pytest.mark.parametrize("nuisance", ["boosting", sklearn.linear_model.LinearRegression()])
def test_nuisances_by_folds(nuisance):
    own = CausalForest(24, random_state=0, nuisance=nuisance).fit(X, Y, treatment=COIN)
    assert np.corrcoef(own.training_.y_hat, X[:, 1])[0, 1] > 0.7
    assert own.predict([[0.9, 0.5, 0.5]])[0] - own.predict([[0.1, 0.5, 0.5]])[0] > 0.5


@pytest.mark.slow
def test_searches_score_by_the_loss_of_the_r_learner():
    grid, own = {"min_samples_leaf": [5, 60]}, CausalForest(16, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        theirs = GridSearchCV(own, grid, cv=2).fit(X, Y, treatment=COIN)
        assert len(cross_val_score(own, X, Y, cv=2, params={"treatment": COIN})) == 2
    ours = jaxtree.SearchCV(own, grid, cv=2).fit(X, Y, treatment=COIN)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert ours.best_params_ == {"min_samples_leaf": 5}


def test_the_score_is_that_beyond_one_effect(forest):
    half = {"y_hat": KNOWN["y_hat"], "treatment_hat": KNOWN["treatment_hat"]}
    assert 0.1 < forest.score(X, Y, treatment=COIN, **half) < 1
    flat = causal(y=COIN + 0.0, y_hat=np.full(NUM_ROWS, 0.5))
    with pytest.raises(InvalidInputError, match="arms of the fit"):
        flat.score(X, Y, treatment=np.array(["x", "y"])[COIN])


BAD = {
    "no treatment": ({"treatment": None}, InvalidTypeError, "needs treatment="),
    "one value": ({"treatment": COIN * 0}, InvalidInputError, "treatment is 0 in all rows"),
    "one word": ({"treatment": ["x"] * NUM_ROWS}, InvalidInputError, "treatment is x in all rows"),
    "a gap": ({"treatment": np.where(np.arange(NUM_ROWS) == 3, np.nan, COIN)}, InvalidInputError, "treatment"),
    "too few": ({"treatment": COIN[:-1]}, InvalidInputError, "treatment must have a value for each of 240 rows"),
    "a far guess": (
        {"treatment_hat": np.full(NUM_ROWS, np.inf)},
        InvalidInputError,
        "treatment_hat must have a finite",
    ),
    "no such control": ({"control": "z"}, InvalidInputError, "control must be one of 0, 1, got 'z'"),
    "too many arms": ({"treatment": [f"word {row}" for row in range(NUM_ROWS)]}, InvalidInputError, "has 240 arms"),
    "too large a share": ({"max_samples": 0.8}, InvalidInputError, "at most 0.5 where trees come in bags"),
    "no such parameter": ({"alpha": 0.4}, InvalidInputError, "alpha"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    options, kind, words = BAD[name]
    with pytest.raises(kind, match=words):
        causal(**options)


def test_bags_of_one_tree_have_no_intervals():
    own = causal(bag_size=1, max_samples=0.9)
    assert np.isfinite(own.predict(ROWS)).all()
    assert np.isnan(own.oob_std_).all()
    with pytest.raises(InvalidInputError, match="intervals need two bags of two trees"):
        own.predict_interval(ROWS)


def test_instruments_find_the_effect_on_those_whom_they_move():
    will = RNG.normal(size=3000)
    offered = RNG.integers(0, 2, 3000)
    taken = offered * (will > 0)
    y = 2.0 * taken + will
    table = RNG.random((3000, 2))
    own = InstrumentalForest(60, random_state=0).fit(table, y, treatment=taken, instrument=offered)
    found = own.average_treatment_effect()
    assert abs(found.estimate - 2) < 4 * found.standard_error < 1
    assert own.training_.compliance.mean() == pytest.approx(0.5, abs=0.05)
    naive = CausalForest(60, random_state=0).fit(table, y, treatment=taken).average_treatment_effect()
    assert naive.estimate > 2.5
