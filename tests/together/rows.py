"""Rows that a model has not seen, and what it predicts of them: what every use is compared with."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier


def rows_beside(X: Any, number: int = 80, *, known: bool = False) -> Any:
    """Rows of values at, between and beside those of the fit, all words, and missing and unseen ones unless `known`."""
    draw = np.random.default_rng(0)
    if isinstance(X, np.ndarray):
        return np.stack([_drawn(pd.Series(own), number, draw, known) for own in X.T], axis=1).astype(np.float64)
    return pd.DataFrame({name: _drawn(own, number, draw, known) for name, own in X.items()})


def _drawn(column: pd.Series, number: int, draw: np.random.Generator, known: bool) -> Any:
    if column.dtype.kind == "f":
        seen = np.unique(column.dropna())
        values = np.concatenate([seen, (seen[1:] + seen[:-1]) / 2, [seen[0] - 1, seen[-1] + 1]])
        values = np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)])
        values = np.concatenate([values, [0.0, -0.0, 1e-40, -1e30], [] if known else [np.nan] * 8])
        return draw.choice(values, number)
    if column.dtype.kind == "b":
        return draw.choice([True, False], number)
    words = list(pd.unique(column.dropna())) + ([] if known else [None, "never seen"])
    return pd.Series(np.array(words, object)[draw.integers(len(words), size=number)], dtype=object)


def answers(estimator: Any, X: Any) -> np.ndarray:
    """The predictions of a model, a column a class or a number."""
    found = estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X)
    found = np.concatenate(found, axis=1) if isinstance(found, list) else np.asarray(found)
    return found.reshape(len(found), -1)


def hard(estimator: Any) -> Any:
    """The model itself, of a search the best one."""
    return getattr(estimator, "best_estimator_", estimator)


def explained_form(estimator: Any) -> Any:
    """The model that explanations are of: of a soft one its hardened form."""
    own = hard(estimator)
    return own.harden() if hasattr(type(own), "harden") else own
