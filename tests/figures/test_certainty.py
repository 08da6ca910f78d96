"""Intervals of scores from rows that are drawn again."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from jaxtree.figures import certainty
from jaxtree.figures.certainty import interval_by_rows, interval_of_mean, interval_of_r2, interval_of_share

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("number", [500, 50_000])
def test_the_interval_of_a_share_is_as_wide_as_theory_says(number):
    """Also where clusters are pooled."""
    is_so = RNG.random(number) < 0.3
    found = interval_of_share(is_so, np.ones(number))
    share = is_so.mean()
    deviation = np.sqrt(share * (1 - share) / number)
    assert found.low == pytest.approx(share - 1.96 * deviation, abs=0.3 * deviation)
    assert found.high == pytest.approx(share + 1.96 * deviation, abs=0.3 * deviation)


def test_rows_of_a_cluster_count_once():
    values, weight = RNG.normal(size=300), RNG.integers(1, 4, 300).astype(float)
    once = interval_of_mean(values, weight)
    thrice = interval_of_mean(np.repeat(values, 3), np.repeat(weight, 3) / 3, np.repeat(np.arange(300) + 5, 3))
    assert thrice == pytest.approx(once)
    apart = interval_of_mean(np.repeat(values, 3), np.repeat(weight, 3))
    assert apart.high - apart.low < 0.8 * (once.high - once.low)


def test_a_weight_of_two_is_a_row_twice():
    values = RNG.normal(size=200)
    cluster, twice = np.arange(200), np.r_[np.arange(200), np.arange(50)]
    weight = np.where(cluster < 50, 2.0, 1.0)
    assert interval_of_mean(values, weight) == pytest.approx(interval_of_mean(values[twice], np.ones(250), twice))


def test_the_interval_of_r2_is_that_of_scores_computed_anew(monkeypatch):
    monkeypatch.setattr(certainty, "FEW_DRAWS", certainty.NUM_DRAWS)
    target = 1e6 + RNG.normal(size=400)
    predicted = target + 0.5 * RNG.normal(size=400)
    found = interval_of_r2(target, predicted, np.ones(400))
    anew = interval_by_rows(lambda rows: r2_score(target[rows], predicted[rows]), 400)
    assert found == pytest.approx(anew, abs=1e-9)  # the draws are the same


def test_scores_computed_anew_draw_clusters_as_they_are():
    clusters, drawn = np.array([7, 3, 7, 9]), []
    interval_by_rows(lambda rows: drawn.append(sorted(rows.tolist())) or 0.0, 4, clusters)
    assert all((rows.count(0) == rows.count(2)) and 3 <= len(rows) <= 6 for rows in drawn)
    assert len({tuple(rows) for rows in drawn}) > 5


def test_there_is_no_interval_of_too_few_or_too_many():
    assert interval_of_share(np.ones(3, bool), np.ones(3), np.zeros(3, int)) is None
    assert interval_of_mean(np.empty(0), np.empty(0)) is None
    assert interval_by_rows(lambda rows: 0.0, certainty.MOST_ROWS + 1) is None
    assert interval_by_rows(lambda rows: 0.0, 3, np.zeros(3, int)) is None
    assert interval_of_r2(np.ones(9), np.ones(9), np.ones(9)) is None
