"""Average effects: closed forms, laws, coverage in a simulation, and bad input."""

import warnings

import numpy as np
import pytest
from scipy.stats import t as student

from jaxtree.effects import average_effect, average_effect_on, doubly_robust_scores
from jaxtree.effects.averages import Target
from jaxtree.errors import InvalidInputError, OverlapWarning

from .trials import draw_trial

TARGETS = ("all", "treated", "control", "overlap")
TRIAL = draw_trial(200, np.random.default_rng(0))
GROUPS = np.random.default_rng(1).integers(0, 25, 200)
WEIGHT = np.random.default_rng(2).integers(1, 4, 200) * 1.0


def of_trial(target, trial=TRIAL, **more):
    return average_effect_on(target, *trial.arguments, **more)


def test_all_targets_are_tried():
    assert Target.__args__ == TARGETS


def test_the_mean_of_scores_has_the_textbook_error():
    scores = np.random.default_rng(3).normal(size=30)
    own = average_effect(scores)
    error = scores.std(ddof=1) / np.sqrt(30)
    assert (own.estimate, own.standard_error) == pytest.approx((scores.mean(), error))
    assert own.interval() == pytest.approx(student.interval(0.95, 29, scores.mean(), error))
    assert own.p_value == pytest.approx(2 * student.sf(abs(scores.mean() / error), 29))
    assert repr(own).startswith(f"average effect on all rows: {scores.mean():.4g}, standard error {error:.3g}, 95%")


def test_the_effect_on_all_is_the_mean_of_the_scores():
    own = of_trial("all", sample_weight=WEIGHT, clusters=GROUPS)
    scores = doubly_robust_scores(*TRIAL.arguments)
    assert own == average_effect(scores, sample_weight=WEIGHT, clusters=GROUPS)


def test_the_effects_on_treated_and_control_are_those_of_the_definition():
    """In grf's form: the mean of predicted effects there, and a correction by weighted residuals of both arms."""
    effect, y, treatment, y_hat, chance = TRIAL.arguments
    of_control, of_treated = y - (y_hat - chance * effect), y - (y_hat + (1 - chance) * effect)
    odds = chance / (1 - chance)
    on, off = treatment == 1, treatment == 0
    wanted = np.average(effect[on], weights=WEIGHT[on]) + np.average(of_treated[on], weights=WEIGHT[on])
    wanted -= np.average(of_control[off], weights=(WEIGHT * odds)[off])
    assert of_trial("treated", sample_weight=WEIGHT).estimate == pytest.approx(wanted)
    wanted = np.average(effect[off], weights=WEIGHT[off]) - np.average(of_control[off], weights=WEIGHT[off])
    wanted += np.average(of_treated[on], weights=(WEIGHT / odds)[on])
    assert of_trial("control", sample_weight=WEIGHT).estimate == pytest.approx(wanted)


def test_a_shock_of_a_cluster_that_both_treatments_share_makes_no_error():
    rows, clusters, nothing = np.random.default_rng(8), np.arange(200) % 100, np.zeros(200)
    y = 10 * rows.normal(size=100)[clusters] + 0.1 * rows.normal(size=200)
    given = nothing, y, (np.arange(200) < 100) * 1.0, nothing, np.full(200, 0.5)
    for target in ("all", "treated", "control"):
        paired = average_effect_on(target, *given, clusters=clusters)
        assert paired.standard_error == pytest.approx(0.1 * np.sqrt(2 / 100), rel=0.25)
        assert average_effect_on(target, *given).standard_error > 1


def test_the_control_are_the_treated_of_the_other_treatment():
    effect, y, treatment, y_hat, chance = TRIAL.arguments
    other = average_effect_on("treated", -effect, y, 1 - treatment, y_hat, 1 - chance)
    own = of_trial("control")
    assert (own.estimate, own.standard_error) == pytest.approx((-other.estimate, other.standard_error))


def test_the_effect_on_the_overlap_is_a_slope_of_residuals():
    _, y, treatment, y_hat, chance = TRIAL.arguments
    slope, _ = np.polyfit(treatment - chance, y - y_hat, 1)
    assert of_trial("overlap").estimate == pytest.approx(slope)


@pytest.mark.parametrize("target", TARGETS)
def test_laws_of_averages(target):
    own = of_trial(target, sample_weight=WEIGHT)
    # The order of rows.
    order = np.random.default_rng(4).permutation(200)
    mixed = average_effect_on(target, *(part[order] for part in TRIAL.arguments), sample_weight=WEIGHT[order])
    assert (mixed.estimate, mixed.standard_error) == pytest.approx((own.estimate, own.standard_error))
    # The unit of weights.
    heavy = of_trial(target, sample_weight=7 * WEIGHT)
    assert (heavy.estimate, heavy.standard_error) == pytest.approx((own.estimate, own.standard_error))
    # Unit and origin of y.
    effect, y, treatment, y_hat, chance = TRIAL.arguments
    moved = average_effect_on(target, 4 * effect, 4 * y + 100, treatment, 4 * y_hat + 100, chance, sample_weight=WEIGHT)
    assert (moved.estimate, moved.standard_error) == pytest.approx((4 * own.estimate, 4 * own.standard_error))
    # Repeated rows against weights, and their clusters against single rows.
    rows = np.repeat(np.arange(200), WEIGHT.astype(int))
    repeated = average_effect_on(target, *(part[rows] for part in TRIAL.arguments), clusters=rows)
    assert repeated.estimate == pytest.approx(own.estimate)
    clustered = of_trial(target, sample_weight=WEIGHT, clusters=np.arange(200))
    assert (clustered.estimate, clustered.standard_error) == pytest.approx((own.estimate, own.standard_error))
    if target != "overlap":  # whose leverage counts
        assert repeated.standard_error == pytest.approx(own.standard_error)
    # Rows of weight 0.
    is_in = np.arange(200) % 3 > 0
    part = average_effect_on(target, *(part[is_in] for part in TRIAL.arguments), clusters=GROUPS[is_in])
    masked = of_trial(target, sample_weight=is_in * 1.0, clusters=GROUPS)
    assert (masked.estimate, masked.standard_error) == pytest.approx((part.estimate, part.standard_error))
    assert masked.num_rows == is_in.sum()


def test_rows_that_are_repeated_in_clusters_say_no_more():
    scores = np.random.default_rng(5).normal(size=40)
    once, often = average_effect(scores), average_effect(np.repeat(scores, 9), clusters=np.repeat(np.arange(40), 9))
    assert often.standard_error == pytest.approx(once.standard_error)
    assert average_effect(np.repeat(scores, 9)).standard_error < 0.5 * once.standard_error
    assert "from 360 rows in 40 clusters" in repr(often)


def test_a_subset_is_a_mask_or_places():
    scores = doubly_robust_scores(*TRIAL.arguments)
    mask = TRIAL.x > 0
    wanted = average_effect(scores[mask], sample_weight=WEIGHT[mask])
    for subset in (mask, np.flatnonzero(mask)):
        assert average_effect(scores, subset=subset, sample_weight=WEIGHT) == wanted


@pytest.mark.parametrize(
    ("target", "truth"), [("all", 1.0), ("treated", 1 + 0.4 / 3), ("control", 1 - 0.4 / 3), ("overlap", 1.0)]
)
def test_intervals_cover(target, truth):
    """The chance is 1/2 + 0.2 x, so that the treated have E[x (1/2 + 0.2 x)] / (1/2) = 0.4 / 3 more.

    The model of the outcome is wrong in all but that of the overlap, which trusts it.
    """
    rows, found = np.random.default_rng(6), []
    for _ in range(400):
        trial = draw_trial(250, rows, narrow=0.2)
        if target != "overlap":
            trial = trial._replace(y_hat=0 * trial.y_hat, effect=np.full(250, 0.5))
        own = of_trial(target, trial)
        found.append((own.estimate, own.standard_error, own.interval()[0] <= truth <= own.interval()[1]))
    estimate, error, covered = np.array(found).T
    assert estimate.mean() == pytest.approx(truth, abs=4 * estimate.std() / 20)
    assert error.mean() == pytest.approx(estimate.std(), rel=0.12)
    assert 0.92 <= covered.mean() <= 0.975


def test_intervals_of_clusters_cover():
    rows, covered, naive = np.random.default_rng(7), [], []
    cluster = np.repeat(np.arange(12), 10)
    for _ in range(400):
        scores = rows.normal(size=12)[cluster] + rows.normal(size=120)
        low, high = average_effect(scores, clusters=cluster).interval()
        covered.append(low <= 0 <= high)
        low, high = average_effect(scores).interval()
        naive.append(low <= 0 <= high)
    assert 0.92 <= np.mean(covered) <= 0.975
    assert np.mean(naive) < 0.75


def test_the_overlap_needs_no_propensity_that_is_positive_and_the_treated_only_that_of_the_control():
    effect, y, treatment, y_hat, chance = TRIAL.arguments
    sure = np.where(treatment == 1, np.where(np.arange(200) < 50, 0.0, chance), chance)
    with pytest.raises(InvalidInputError, match="has the chance 0"):
        average_effect_on("control", effect, y, treatment, y_hat, sure)
    for target in ("treated", "overlap"):
        assert np.isfinite(average_effect_on(target, effect, y, treatment, y_hat, sure).estimate)
    low = np.where(np.arange(200) < 50, 0.01, chance)
    with pytest.warns(OverlapWarning, match='target="treated"'):
        average_effect_on("all", effect, y, treatment, y_hat, low)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        average_effect_on("treated", effect, y, treatment, y_hat, low)
        average_effect_on("control", effect, y, 1 - treatment, y_hat, 1 - low)
    with pytest.warns(OverlapWarning, match="below 0.05"):
        average_effect_on("control", effect, y, treatment, y_hat, low)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"clusters": ["a"] * 200}, "two rows or clusters of some weight at least, got one cluster"),
        ({"clusters": GROUPS[1:]}, r"clusters must have a name for each of 200 rows, got \(199,\)"),
        (
            {"clusters": np.where(np.arange(200) == 5, np.nan, GROUPS)},
            "clusters must have a group for every row, and row 5",
        ),
        ({"sample_weight": -WEIGHT}, "Negative values in data passed to `sample_weight`"),
        ({"sample_weight": WEIGHT[1:]}, "with a weight for every row"),
    ],
)
def test_bad_rows_are_named(more, words):
    with pytest.raises(InvalidInputError, match=words):
        average_effect(TRIAL.y, **more)
    with pytest.raises(InvalidInputError, match=words):
        of_trial("treated", **more)


def test_other_bad_input_is_named():
    effect, y, treatment, y_hat, chance = TRIAL.arguments
    with pytest.raises(
        InvalidInputError, match="target must be one of 'all', 'treated', 'control', 'overlap', got 'ate'"
    ):
        of_trial("ate")
    for target in TARGETS:
        with pytest.raises(InvalidInputError, match="treatment must have two values at least, got 1 in every row"):
            average_effect_on(target, effect, y, np.ones(200), y_hat, chance)
    with pytest.raises(InvalidInputError, match="target='treated' needs a treatment of 0 and 1"):
        average_effect_on("treated", effect, y, treatment * 2, y_hat, chance)
    with pytest.raises(InvalidInputError, match="subset must hold rows, got none"):
        average_effect(y, subset=np.zeros(200, bool))
    for subset in (np.zeros(3, bool), [200], [0.5], [[1]]):
        with pytest.raises(InvalidInputError, match="subset must be a truth value for each of 200 rows, or places"):
            average_effect(y, subset=subset)
    with pytest.raises(InvalidInputError, match="coverage must be above 0 and below 1, got 1"):
        of_trial("all").interval(1)
    with pytest.raises(InvalidInputError, match="got one row"):
        average_effect([1.0])
