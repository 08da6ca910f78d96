"""Arguments and tables of forests of effects: what is refused, in which words, and what extreme tables give."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import jaxtree
from jaxtree import CausalForest
from jaxtree.errors import InvalidInputError, InvalidTypeError
from tests.estimators.effect_tables import (
    KNOWN,
    NEW,
    NOISE,
    ROWS,
    TREATED,
    X,
    Y,
    assert_same,
    fit_causal,
    fit_instrumental,
)
from tests.marks import rest_is_slow

FIFTH = np.arange(ROWS) == 5
GAP = np.where(FIFTH, np.nan, TREATED)
WORDS = np.where(TREATED, "drug", "control").astype(object)


@pytest.fixture(scope="module")
def causal():
    return fit_causal()


REFUSED = {
    "one value": ({"treatment": np.ones(ROWS)}, r"treatment is 1(\.0)? in all rows"),
    "one word": ({"treatment": ["drug"] * ROWS}, "treatment is '?drug'? in all rows"),
    "one arm of weight": ({"sample_weight": (TREATED == 0) * 1.0}, "treatment is 0 in all rows"),
    "a gap": ({"treatment": GAP}, "treatment.*row 5"),
    "a gap among words": ({"treatment": np.where(FIFTH, None, WORDS)}, "treatment.*None"),
    "infinite": ({"treatment": np.where(FIFTH, np.inf, TREATED)}, "treatment.*row 5"),
    "another length": ({"treatment": TREATED[:-1]}, "treatment must have a value for each of 240 rows"),
    "many arms": ({"treatment": np.array([f"arm {own}" for own in np.arange(ROWS) % 30])}, "treatment has 30 arms"),
    "an unknown control": ({"control": "x"}, "control must be one of 0, 1, got 'x'"),
    "a control of numbers": ({"treatment": NOISE, "control": 1}, "control"),
    "a gap in y": ({"y": np.where(FIFTH, np.nan, Y)}, "row 5"),
    "two outcomes": ({"y": np.stack([Y, Y], axis=1)}, "y must have one outcome, got 2"),
    "a gap in groups": ({"groups": np.where(FIFTH, np.nan, np.arange(ROWS))}, "groups.*row 5"),
    "short groups": ({"groups": np.arange(ROWS - 1)}, "groups must have a value"),
    "a short expectation": ({"y_hat": Y[:-1]}, "y_hat must have a value"),
    "a gap in an expectation": ({"treatment_hat": np.where(FIFTH, np.nan, 0.5)}, "treatment_hat"),
    "large samples in bags": ({"max_samples": 0.7}, "max_samples.*bag_size"),
    "a negative weight": ({"sample_weight": np.where(FIFTH, -1.0, 1.0)}, "sample_weight"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_arguments_are_refused_in_words(case):
    """grf#482, grf#368: a treatment of one value, or with gaps, gave NaN everywhere."""
    given, words = REFUSED[case]
    with pytest.raises(InvalidInputError, match=words) as found:
        fit_causal(**given)
    assert "np." not in str(found.value)


@pytest.mark.parametrize(
    ("given", "words"), [({"treatment": None}, "treatment="), ({"y": WORDS}, "y must be numbers: row 0 has 'control'")]
)
def test_wrong_types_are_refused_in_words(given, words):
    with pytest.raises(InvalidTypeError, match=words):
        fit_causal(**given)


@pytest.mark.parametrize(
    ("instrument", "words"),
    [
        (np.ones(ROWS), r"instrument is 1(\.0)? in all rows"),
        (GAP, "instrument.*row 5"),
        (X[:, :2], "one instrument for each of 1 treatments, got 2"),
    ],
    ids=["one value", "a gap", "two"],
)
def test_wrong_instruments_are_refused_in_words(instrument, words):
    with pytest.raises(InvalidInputError, match=words):
        fit_instrumental(instrument=instrument)


def test_a_fit_that_fails_leaves_the_forest_as_it_was(causal):
    forest = copy.deepcopy(causal)
    with pytest.raises(InvalidInputError):
        forest.fit(X, Y, treatment=GAP)
    assert_same(forest, causal)


@pytest.mark.parametrize("coverage", [0.0, 1.0, 95, np.nan])
def test_coverage_is_a_share(causal, coverage):
    with pytest.raises(InvalidInputError, match="coverage"):
        causal.predict_interval(NEW, coverage=coverage)


def test_intervals_are_of_their_coverage(causal):
    narrow, wide = (causal.predict_interval(NEW, coverage=share) for share in (0.5, 0.99))
    assert (wide[:, 0] < narrow[:, 0]).all() and (narrow[:, 1] < wide[:, 1]).all()
    np.testing.assert_allclose(narrow.mean(1), causal.predict(NEW), atol=1e-12)


@pytest.mark.parametrize(
    "given", [{"bag_size": 1, "max_samples": 0.7}, {"n_estimators": 6}], ids=["no bags", "one bag"]
)
def test_intervals_need_bags(given):
    """grf#1497: without bags predictions work, and what needs them says so."""
    forest = fit_causal(**given)
    assert np.isfinite(forest.predict(NEW)).all()
    with pytest.raises(InvalidInputError, match="bags"):
        forest.predict_std(NEW)


@pytest.mark.parametrize("number", rest_is_slow([7, 1, 2, 3, 10], 2))
def test_a_forest_has_as_many_trees_as_asked_for(number):
    """grf#548, grf#908: few trees gave NaN, and an odd number became an even one."""
    forest = fit_causal(n_estimators=number)
    assert len(forest.forest_) == number
    assert np.isfinite(forest.predict(NEW)).all()


def test_rows_that_all_trees_have_drawn_have_no_effect_out_of_bag():
    forest = fit_causal(n_estimators=4)
    is_missing = np.isnan(forest.oob_prediction_)
    assert 0 < is_missing.sum() < ROWS


def test_rows_are_predicted_alike_alone_and_together(causal):
    """EconML#497."""
    alone = [causal.predict_interval(NEW[at : at + 1]) for at in range(len(NEW))]
    np.testing.assert_array_equal(np.concatenate(alone), causal.predict_interval(NEW))


@pytest.mark.parametrize("jobs", [1, 2])
def test_threads_change_nothing(causal, jobs):
    """grf#1368: the number of threads changed the forest."""
    assert_same(causal, fit_causal(n_jobs=jobs))


def test_seeds_repeat_and_differ(causal):
    assert_same(causal, clone(causal).fit(X, Y, treatment=TREATED))
    assert not np.array_equal(causal.predict(NEW), fit_causal(random_state=1).predict(NEW))


@pytest.mark.parametrize("fit", rest_is_slow([fit_causal, fit_instrumental]))
def test_forests_are_copied_pickled_and_saved(fit, tmp_path):
    """EconML#392, EconML#251: pickles that could not be read."""
    forest = fit(treatment=WORDS)
    forest.save(tmp_path / "forest.jaxtree")
    for again in (copy.deepcopy(forest), pickle.loads(pickle.dumps(forest)), jaxtree.load(tmp_path / "forest.jaxtree")):
        assert_same(forest, again)
        assert again.classes_of_treatment_.tolist() == ["control", "drug"]


# Tables


def test_frames_are_arrays_with_names(causal):
    """grf#345: columns in another order are never taken for others."""
    pandas = pytest.importorskip("pandas")
    frame, new = (pandas.DataFrame(own, columns=list("abc")) for own in (X, NEW))
    forest = fit_causal(frame)
    np.testing.assert_array_equal(forest.predict(new), causal.predict(NEW))
    with pytest.raises(InvalidInputError, match="order"):
        forest.predict(new[["c", "a", "b"]])


def test_words_and_gaps_in_columns():
    """EconML#827: gaps that a fit takes, predictions take, too."""
    pandas = pytest.importorskip("pandas")
    word = np.array(["red", "green", "blue", None], object)[np.arange(ROWS) % 4]
    frame = pandas.DataFrame({"word": word, "number": np.where(np.arange(ROWS) % 5, X[:, 0], np.nan), "none": np.nan})
    y = 2 * TREATED * (word == "red") + 0.1 * NOISE
    forest = fit_causal(frame, y)
    of_red, of_blue, of_gap, of_new = forest.predict(
        pandas.DataFrame({"word": ["red", "blue", None, "mauve"], "number": [0.0, 0.0, np.nan, 0.0], "none": np.nan})
    )
    assert of_red == pytest.approx(2, abs=0.5) and of_blue == pytest.approx(0, abs=0.5)
    assert np.isfinite([of_gap, of_new]).all()


def test_gaps_at_predictions_alone(causal):
    assert np.isfinite(causal.predict_interval(np.full((1, 3), np.nan))).all()


EXTREME = {
    "no columns that vary": (np.ones((ROWS, 2)), Y, TREATED),
    "one column": (X[:, :1], Y, TREATED),
    "empty columns": (np.full((ROWS, 2), np.nan), Y, TREATED),
    "many rare dummies": ((np.random.default_rng(1).random((ROWS, 60)) < 0.02) * 1.0, Y, TREATED),
    "few treated": (X, Y, (np.arange(ROWS) % 40 == 0) * 1),
    "one treated": (X, Y, (np.arange(ROWS) == 7) * 1),
    "a constant outcome": (X, np.ones(ROWS), TREATED),
    "a column that decides the treatment": (X, Y, (X[:, 0] > 0) * 1),
    "a dose that is a column": (X, Y, X[:, 0]),
    "one dose twice": (X, Y, np.stack([X[:, 0], X[:, 0]], axis=1)),
    "rows that are all alike": (np.repeat(X[:3], 80, axis=0), Y, TREATED),
}


@pytest.mark.parametrize("case", EXTREME)
@pytest.mark.filterwarnings("ignore::jaxtree.errors.OverlapWarning")
def test_extreme_tables_give_finite_effects(case):
    """grf#313, grf#1010, causalml#589: NaN and infinite predictions."""
    table, y, treatment = EXTREME[case]
    forest = fit_causal(table, y, treatment=treatment)
    found = forest.predict(table[:20])
    assert np.isfinite(found).all() and np.abs(found).max() < 100 * np.ptp(Y)
    assert (forest.predict_std(table[:20]) >= 0).all()


def test_a_constant_outcome_has_no_effect():
    forest = fit_causal(y=np.full(ROWS, 3.0))
    assert not forest.predict(NEW).any() and not forest.predict_std(NEW).any()


@pytest.mark.parametrize("number", [4, 8, 20])
def test_small_tables(number):
    forest = fit_causal(X[:number], Y[:number], treatment=np.arange(number) % 2)
    assert np.isfinite(forest.predict(NEW)).all()


def test_standard_errors_are_positive(causal):
    """EconML#480: variances of little bags may be negative, but not ours."""
    assert (causal.predict_std(NEW) > 0).all()
    two_bags = fit_causal(n_estimators=8)
    assert (two_bags.predict_std(NEW) > 0).all()


# Nuisances


@pytest.mark.parametrize("nuisance", rest_is_slow([LinearRegression(), "boosting"]), ids=str)
def test_nuisances_are_out_of_sample(nuisance):
    y = NOISE
    forest = fit_causal(y=y, nuisance=nuisance, max_depth=2)
    assert np.corrcoef(forest.training_.y_hat, y)[0, 1] < 0.3


def test_known_expectations_are_taken_as_they_are():
    forest = fit_causal(**KNOWN)
    np.testing.assert_array_equal(forest.training_.y_hat, KNOWN["y_hat"])
    np.testing.assert_array_equal(forest.training_.treatment_hat.ravel(), KNOWN["treatment_hat"])


def test_confounding_is_adjusted_for():
    """The treated differ from the others by a column that drives the outcome."""
    draw = np.random.default_rng(1)
    table = draw.normal(size=(1500, 3))
    treated = (draw.random(1500) < 1 / (1 + np.exp(-2 * table[:, 0]))) * 1
    y = 3 * table[:, 0] + treated + 0.3 * draw.normal(size=1500)
    naive = y[treated == 1].mean() - y[treated == 0].mean()
    forest = CausalForest(100, random_state=0).fit(table, y, treatment=treated)
    assert naive > 3
    assert np.nanmean(forest.oob_prediction_) == pytest.approx(1, abs=0.3)
