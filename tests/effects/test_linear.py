"""Linear fits: HC3 by its formula and by leaving out, projections, calibration, laws and bad input."""

import numpy as np
import pandas as pd
import pytest

from jaxtree.effects import best_linear_projection, calibration_test, doubly_robust_scores
from jaxtree.errors import InvalidInputError

from .trials import draw_trial

ROWS = np.random.default_rng(0)
A = ROWS.normal(size=(60, 2))
SCORES = 1 + A @ [2.0, -1.0] + ROWS.normal(size=60) * (1 + np.abs(A[:, 0]))
WEIGHT = ROWS.integers(1, 4, 60) * 1.0
GROUPS = ROWS.integers(0, 12, 60)


def hc3(design, target, weight, cluster):
    """The coefficients and their errors by matrices as large as a cluster."""
    root = np.sqrt(weight)
    design, target = design * root[:, None], target * root
    inverse = np.linalg.inv(design.T @ design)
    coefficient = inverse @ design.T @ target
    middle = 0
    for name in np.unique(cluster):
        own = design[cluster == name]
        residual = target[cluster == name] - own @ coefficient
        moment = own.T @ np.linalg.solve(np.eye(len(own)) - own @ inverse @ own.T, residual)
        middle = middle + np.outer(moment, moment)
    return coefficient, np.sqrt(np.diag(inverse @ middle @ inverse))


@pytest.mark.parametrize("clusters", [None, GROUPS])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_errors_are_those_of_the_formula(clusters, weight):
    own = best_linear_projection(SCORES, A, sample_weight=weight, clusters=clusters)
    cluster = np.arange(60) if clusters is None else clusters
    design = np.hstack([np.ones((60, 1)), A])
    coefficient, error = hc3(design, SCORES, np.ones(60) if weight is None else weight, cluster)
    np.testing.assert_allclose(own.estimate, coefficient, rtol=1e-10)
    np.testing.assert_allclose(own.standard_error, error, rtol=1e-10)
    assert own.freedom == (57 if clusters is None else 11)


def test_errors_of_single_rows_are_those_of_leverages():
    own = best_linear_projection(SCORES, A)
    design = np.hstack([np.ones((60, 1)), A])
    inverse = np.linalg.inv(design.T @ design)
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    residual = (SCORES - design @ own.estimate) / (1 - leverage)
    variance = inverse @ (design * residual[:, None] ** 2).T @ design @ inverse
    np.testing.assert_allclose(own.standard_error, np.sqrt(np.diag(variance)), rtol=1e-10)


def test_a_sum_of_squares_left_out_is_the_jackknife():
    """(I - H)^-1 e is the residual of a cluster from the fit of the others."""
    own = best_linear_projection(SCORES, A, clusters=GROUPS)
    design = np.hstack([np.ones((60, 1)), A])
    others = [np.flatnonzero(GROUPS - name) for name in range(12)]
    left_out = [np.linalg.lstsq(design[rows], SCORES[rows])[0] for rows in others]
    error = np.sqrt(np.square(np.array(left_out) - own.estimate).sum(axis=0))
    np.testing.assert_allclose(own.standard_error, error, rtol=1e-9)


def test_laws_of_projections():
    own = best_linear_projection(SCORES, A, sample_weight=WEIGHT)
    order = ROWS.permutation(60)
    mixed = best_linear_projection(SCORES[order], A[order], sample_weight=5 * WEIGHT[order])
    single = best_linear_projection(SCORES, A, sample_weight=WEIGHT, clusters=np.arange(60))
    for other in (mixed, single):
        np.testing.assert_allclose(other.estimate, own.estimate, rtol=1e-9)
        np.testing.assert_allclose(other.standard_error, own.standard_error, rtol=1e-9)
        np.testing.assert_allclose(other.p_value, own.p_value, rtol=1e-7)
    scaled = best_linear_projection(8 * SCORES + 5, A * [1e6, 1e-6] + [0, 3], sample_weight=WEIGHT)
    np.testing.assert_allclose(scaled.estimate[1:], 8 * own.estimate[1:] / [1e6, 1e-6], rtol=1e-7)
    np.testing.assert_allclose(scaled.t[1:], own.t[1:], rtol=1e-7)
    rows = np.repeat(np.arange(60), WEIGHT.astype(int))
    repeated = best_linear_projection(SCORES[rows], A[rows], clusters=rows)
    np.testing.assert_allclose(repeated.estimate, own.estimate, rtol=1e-9)
    np.testing.assert_allclose(repeated.standard_error, own.standard_error, rtol=1e-9)
    is_in = np.arange(60) % 4 > 0
    masked = best_linear_projection(SCORES, A, sample_weight=WEIGHT * is_in)
    part = best_linear_projection(SCORES[is_in], A[is_in], sample_weight=WEIGHT[is_in])
    np.testing.assert_allclose(masked.standard_error, part.standard_error, rtol=1e-12)


def test_no_column_is_the_mean_effect():
    own = best_linear_projection(SCORES)
    assert own.names == ("(intercept)",)
    assert own.estimate[0] == pytest.approx(SCORES.mean())
    assert own.standard_error[0] == pytest.approx(SCORES.std(ddof=1) / np.sqrt(60) * np.sqrt(60 / 59))


def test_a_frame_gives_its_names_and_prints_a_table():
    own = best_linear_projection(SCORES, pd.DataFrame(A, columns=["age", "income"]))
    lines = repr(own).splitlines()
    assert lines[0] == "best linear projection of the effect, from 60 rows"
    assert [line.split()[0] for line in lines[1:]] == ["estimate", "(intercept)", "age", "income"]
    assert len({len(line) for line in lines[1:]}) == 1
    assert "<table" in own._repr_html_()
    np.testing.assert_array_equal(
        best_linear_projection(SCORES, A[:, 0]).estimate, best_linear_projection(SCORES, A[:, :1]).estimate
    )


def test_projections_of_scores_cover_those_of_the_effect():
    rows, covered = np.random.default_rng(1), []
    for _ in range(300):
        trial = draw_trial(200, rows)
        own = best_linear_projection(doubly_robust_scores(*trial.arguments), trial.x)
        low, high = own.interval().T
        covered.append((low <= 1) & (high >= 1))  # the effect is 1 + x
    assert (np.abs(np.mean(covered, axis=0) - 0.95) < 0.035).all()


def calibrated(trial, prediction, **more):
    _, y, treatment, y_hat, chance = trial.arguments
    return calibration_test(prediction, y, y_hat=y_hat, treatment=treatment, treatment_hat=chance, **more)


def test_calibration_knows_good_predictions_and_bad_ones():
    trial = draw_trial(4_000, np.random.default_rng(2))
    good = calibrated(trial, trial.effect)
    np.testing.assert_allclose(good.estimate, 1, atol=0.15)
    assert (good.p_value < 1e-6).all() and good.is_one_sided
    turned = calibrated(trial, 2 - trial.effect)
    assert turned.estimate[1] == pytest.approx(-1, abs=0.2) and turned.p_value[1] > 0.999
    flat = calibrated(trial, 1 + 3 * (trial.effect - 1))
    assert flat.estimate[1] == pytest.approx(good.estimate[1] / 3, rel=0.01)


def test_p_values_of_calibration_are_uniform_without_differences():
    rows, found = np.random.default_rng(3), []
    for _ in range(300):
        trial = draw_trial(150, rows)
        found.append(calibrated(trial, 1 + 0.1 * rows.normal(size=150)).p_value[1])
    # The effect does differ, but by nothing that these predictions know.
    assert np.mean(np.array(found) < 0.1) == pytest.approx(0.1, abs=0.05)
    assert np.mean(np.array(found) < 0.5) == pytest.approx(0.5, abs=0.09)


def test_calibration_of_outcomes_has_no_treatment():
    rows = np.random.default_rng(4)
    mean = rows.normal(size=500) + 2
    own = calibration_test(mean, mean + rows.normal(size=500), clusters=np.arange(500) // 2)
    np.testing.assert_allclose(own.estimate, 1, atol=0.15)
    assert repr(own).startswith("calibration of predictions, from 500 rows in 250 clusters\n")
    assert "p (greater)" in repr(own)


def test_large_clusters_need_no_large_matrices():
    """By matrices of the size of clusters this would take 80 GB."""
    rows = np.random.default_rng(5)
    scores, columns = rows.normal(size=200_000), rows.normal(size=(200_000, 3))
    own = best_linear_projection(scores, columns, clusters=rows.integers(0, 2, 200_000))
    assert own.freedom == 1


@pytest.mark.parametrize(
    ("columns", "more", "words"),
    [
        (A[1:], {}, r"A must have 60 rows, as there are scores, got shape \(59, 2\)"),
        (np.hstack([A, A[:, :1]]), {}, "A3 is the same in every row, or a sum of other columns"),
        (np.ones((60, 1)), {}, "A1 is the same in every row, or a sum of other columns"),
        (np.where(np.arange(60)[:, None] == 3, np.nan, A), {}, "A must be finite numbers, got nan in row 3 of A1"),
        (np.array([["a"]] * 60), {}, "A must be numbers"),
        ((np.arange(60) == 5) * 1.0, {}, "known from row 5 .* alone"),
        ((GROUPS == 3) * 1.0, {"clusters": GROUPS}, "known from cluster 3 .* alone"),
        (A, {"sample_weight": (np.arange(60) < 3) * 1.0}, "3 coefficients need more rows of some weight, got 3"),
    ],
)
def test_bad_input_of_projections_is_named(columns, more, words):
    with pytest.raises(InvalidInputError, match=words):
        best_linear_projection(SCORES, columns, **more)


def test_bad_input_of_calibration_is_named():
    with pytest.raises(InvalidInputError, match="go together, got no treatment and no treatment_hat"):
        calibration_test(SCORES, SCORES, y_hat=SCORES)
    with pytest.raises(InvalidInputError, match=r"prediction is 0\.1 in every row: there are no differences"):
        calibration_test(np.full(60, 0.1), SCORES)
