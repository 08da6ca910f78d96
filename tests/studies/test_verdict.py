"""The sentences follow the numbers: change a number, and another sentence comes out."""

import numpy as np
import pytest

from jaxtree_studies.dropout_paper import verdict


@pytest.fixture
def results(study):
    return study[0]


def test_one_setting_better_on_average(results):
    results["dropout"]["expected_test"][3][2] = 0.9
    first = verdict(results)[0]
    assert first.startswith("On average dropout helps at 1 of the 55 settings")
    assert "p = 0.15 and q = 0.2, has an expected test accuracy of 0.9000, 0.0389 above" in first


def test_settings_without_pruning_do_not_count(results):
    """At p = 0 nothing is pruned, so its row must never be the best."""
    results["dropout"]["expected_test"][0] = [0.99] * 11
    assert "does not help" in verdict(results)[0]


@pytest.mark.parametrize(
    ("share", "expected", "ending"),
    [
        (0.75, 0.85, "yet their average does not: the others lose more than these win."),
        (0.75, 0.87, "and so does their average."),
        (0.25, 0.85, "and no other setting wins more often."),
    ],
)
def test_frequent_wins_are_held_against_the_average(results, share, expected, ending):
    results["dropout"]["share_above_classic"] = np.zeros((6, 11)).tolist()
    results["dropout"]["share_above_classic"][4][0] = share
    results["dropout"]["expected_test"] = np.full((6, 11), 0.8).tolist()
    results["dropout"]["expected_test"][4][0] = expected
    assert verdict(results)[1].endswith(
        f"At p = 0.2 and q = 0, {100 * share:.1f} % of the draws beat the unpruned tree, {ending}"
    )


@pytest.mark.parametrize(
    ("vote", "against_unpruned", "against_limit"),
    [
        (0.91, "0.0489 more than", "0.0072 less than"),
        (390 / 432, "0.0417 more than", "as much as"),
        (0.8, "0.0611 less than", "0.1028 more than"),
    ],
)
def test_vote_is_held_against_the_plain_trees(results, vote, against_unpruned, against_limit):
    results["dropout"]["vote_test"] = np.full((6, 11), vote).tolist()
    third = verdict(results)[2]
    assert f"has at best {vote:.4f}, first at p = 0.05 and q = 0: {against_unpruned} the unpruned tree" in third
    assert f"A plain limit of depth 3 has 0.9028, {against_limit} that vote" in third


def test_shuffled_rows_worse_and_better(results):
    assert "dropout raises that at none of the 10 settings with p > 0" in verdict(results)[3]
    results["shuffled"]["expected"][1][4] = [0.999] * 20
    assert "dropout raises that at 1 of the 10 settings with p > 0" in verdict(results)[3]
