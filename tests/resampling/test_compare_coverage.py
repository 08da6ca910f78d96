"""How often intervals of differences leave out 0 where models do not differ.

Each table has two sets of columns that are alike by design. The same learner on one set and on the other is two models
whose expected scores are equal, whatever the learner is: an interval that leaves out 0 is wrong.
"""

import numpy as np
import pytest
from scipy import stats
from sklearn.model_selection import KFold

from jaxtree.figures.comparisons import paired_difference, ratio_of_parts

TABLES, ROWS, COLUMNS = 400, 120, 4


def of_least_squares(X, y, rows):
    """A stable learner: a line through the targets."""
    weights = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    return np.column_stack([rows, np.ones(len(rows))]) @ weights


def of_nearest(X, y, rows):
    """An unstable one: the target of the nearest row."""
    return y[((rows[:, None] - X[None]) ** 2).sum(axis=2).argmin(axis=1)]


def shares_that_leave_out_0(learner, folds, repeats):
    """The shares of corrected intervals and of plain ones of t that leave out 0."""
    rng, corrected, plain = np.random.default_rng(1), 0, 0
    for _ in range(TABLES):
        X = rng.normal(size=(ROWS, 2 * COLUMNS))
        y = np.sign(X.sum(axis=1) + rng.normal(size=ROWS))
        splits = [
            split for repeat in range(repeats) for split in KFold(folds, shuffle=True, random_state=repeat).split(X)
        ]
        scores = np.array(
            [
                [
                    np.mean(np.sign(learner(X[train][:, own], y[train], X[test][:, own])) == y[test])
                    for train, test in splits
                ]
                for own in (slice(0, COLUMNS), slice(COLUMNS, None))
            ]
        )
        corrected += paired_difference(scores[0], scores[1], ratio_of_parts(splits)).is_clear
        plain += stats.ttest_rel(*scores).pvalue < 0.05
    return corrected / TABLES, plain / TABLES


@pytest.mark.slow
@pytest.mark.parametrize("learner", [of_least_squares, of_nearest])
@pytest.mark.parametrize(("folds", "repeats"), [(10, 2), (5, 1)])
def test_intervals_seldom_leave_out_a_difference_of_nothing(learner, folds, repeats):
    corrected, plain = shares_that_leave_out_0(learner, folds, repeats)
    assert corrected <= 0.08
    if repeats > 1:
        assert plain > 2 * corrected
