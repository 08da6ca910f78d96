"""A small table with a treatment, forests of its effects, and the numbers that two forests must have alike."""

from typing import Any

import numpy as np

from jaxtree import CausalForest, InstrumentalForest

ROWS, TREES = 240, 24
_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(ROWS, 3))
TREATED = _RNG.integers(0, 2, ROWS)
EFFECT = np.maximum(X[:, 0], 0)
Y = EFFECT * TREATED + X[:, 1] + 0.5 * _RNG.normal(size=ROWS)
OFFERED = _RNG.integers(0, 2, ROWS)
TAKEN = TREATED * OFFERED
NEW = _RNG.normal(size=(20, 3))
NOISE = _RNG.normal(size=ROWS)
KNOWN = {"y_hat": X[:, 1] + EFFECT / 2, "treatment_hat": np.full(ROWS, 0.5)}
"""The expectations, as if they were known: forests of them alone are grown."""


def fit_causal(table: Any = X, y: Any = Y, sample_weight: Any = None, *, treatment: Any = TREATED, **given: Any) -> Any:
    """A causal forest; arguments that `fit` does not take are parameters."""
    fields = {name: given.pop(name) for name in ("groups", "y_hat", "treatment_hat") if name in given}
    forest = CausalForest(**{"n_estimators": TREES, "random_state": 0} | given)
    return forest.fit(table, y, sample_weight, treatment=treatment, **fields)


def fit_instrumental(table: Any = X, y: Any = Y, sample_weight: Any = None, **given: Any) -> Any:
    """An instrumental forest of an instrument that moves half of the treated."""
    fields = {"treatment": TAKEN, "instrument": OFFERED}
    names = ("treatment", "instrument", "groups", "y_hat", "treatment_hat", "instrument_hat")
    fields |= {name: given.pop(name) for name in names if name in given}
    forest = InstrumentalForest(**{"n_estimators": TREES, "random_state": 0} | given)
    return forest.fit(table, y, sample_weight, **fields)


def fields_of(fit: Any) -> dict[str, np.ndarray]:
    """The treatments, and instruments where there are, that a fit takes unless others are given."""
    return {"treatment": TREATED} if fit is fit_causal else {"treatment": TAKEN, "instrument": OFFERED}


def numbers_of(forest: Any, rows: Any = NEW) -> np.ndarray:
    """Effects, their standard errors, and both out of bag."""
    parts = (forest.predict(rows), forest.predict_std(rows), forest.oob_prediction_, forest.oob_std_)
    return np.concatenate([part.ravel() for part in parts])


def assert_same(one: Any, other: Any) -> None:
    """Two forests have the same bits."""
    np.testing.assert_array_equal(numbers_of(one), numbers_of(other))
