"""The thirteen tables on which boosted trees are compared, and their folds."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from jaxtree_studies.tables.readers import REGRESSION, read_real

TABLES = (
    *("credit-g", "abalone", "concrete", "spambase", "magic04", "covtype-20k", "letter", "adult", "diamonds"),
    *("nursery", "winequality", "ccpp", "airfoil"),
)
NUMBERS = REGRESSION | {"winequality"}
RAREST = 20
"""Rows of a class at least: nursery has one of two rows."""


def read_table(name: str, data: Path) -> tuple[pandas.DataFrame, np.ndarray]:
    """The columns, words as categories, and the target, classes as numbers; no rows of classes too rare to fold."""
    X, y = read_real(name, data)
    if name not in NUMBERS:
        is_kept = (pandas.Series(y).map(pandas.Series(y).value_counts()) >= RAREST).to_numpy()
        X, y = X.loc[is_kept], np.asarray(y)[is_kept]
    words = [column for column in X.columns if not pandas.api.types.is_numeric_dtype(X[column])]
    X = X.assign(**{column: X[column].astype(str).where(X[column].notna()).astype("category") for column in words})
    X.columns = X.columns.astype(str)
    return X, np.asarray(y, float) if name in NUMBERS else np.unique(np.asarray(y).astype(str), return_inverse=True)[1]


def folds(X: pandas.DataFrame, y: np.ndarray, number: int, is_number: bool) -> Iterator[tuple]:
    """Training rows, those that decide when to stop, and test rows."""
    splitter = (KFold if is_number else StratifiedKFold)(number, shuffle=True, random_state=0)
    for train, test in splitter.split(X, y):
        strata = None if is_number else y[train]
        own, held = train_test_split(train, test_size=0.1, random_state=0, stratify=strata)
        yield tuple((X.iloc[rows], y[rows]) for rows in (own, held, test))
