"""When boosting stops is said once, for arrays of either library and for one model or many."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.boosting.ending import NO_PATIENCE, EarlyStopping, Measure, Measured


@pytest.mark.parametrize(
    ("values", "patience", "tolerance", "before", "expected"),
    [
        ([3.0, 2.0, 2.0, 2.5, 1.0], 2, 0.0, np.inf, (2, 4)),
        ([3.0, 2.0, 2.0, 2.5, 1.0], 3, 0.0, np.inf, (5, 5)),
        ([3.0, 2.9, 2.8], 9, 0.15, np.inf, (3, 3)),
        ([3.0, 2.9, 2.8], 9, 0.5, np.inf, (1, 3)),
        ([3.0, 4.0], 2, 0.0, 1.0, (0, 2)),
        ([np.nan, np.nan, 1.0], 2, 0.0, np.inf, (0, 2)),
        ([np.nan, 1.0], 2, 0.0, np.nan, (2, 2)),
    ],
)
def test_the_best_round_and_the_last(values, patience, tolerance, before, expected):
    assert EarlyStopping(patience, tolerance).best_and_last(np.array(values), before) == expected


@pytest.mark.parametrize("library", [np, jnp])
def test_many_models_have_patience_of_their_own(library):
    stopping = EarlyStopping(library.array([1, 3, NO_PATIENCE]), library.array([0.0, 0.5, 0.0]))
    num_rounds, best_round = library.array([4, 4, 4]), library.array([3, 2, 0])
    assert stopping.has_patience(num_rounds, best_round).tolist() == [False, True, True]
    better = stopping.is_better(library.array([1.0, 1.0, np.nan]), library.array([1.5, 1.5, 1.5]))
    assert better.tolist() == [True, False, False]


def test_what_was_measured_has_names():
    measured = Measured((Measure("own", "squared"), Measure("own", "r2")), np.array([[1.0, 0.5], [0.5, 0.8]]))
    assert measured.as_dict() == {"own": {"squared": [1.0, 0.5], "r2": [0.5, 0.8]}}
    assert measured.first(1).as_dict() == {"own": {"squared": [1.0], "r2": [0.5]}}
