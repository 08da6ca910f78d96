"""Names of examples by kind, and rows that try every threshold, word and missing value."""

import numpy as np
import pandas as pd

from jaxtree.tree import SplitKind

PLAIN = ("cart_plain", "bagged_regression")
"""Estimators of numbers alone."""
TREES = ("cart", "cart_plain", "cart_vote", "regression", "id3", "id3_onehot")
FORESTS = ("forest", "forest_vote", "forest_regression", "extra", "bagged", "bagged_regression")
SHARING = ("c45", "c45_words", "cart_fraction")
"""Trees that share out rows with missing values."""


def edge_rows(estimator, number=400, *, known=False, dtype=np.float64):
    """Rows of values at, just below and just above thresholds, of all words, and of missing and unseen ones.

    Args:
        estimator: The estimator that they are for.
        number: How many.
        known: Whether nothing is missing or unseen.
        dtype: The type of numbers, in which a neighbour of a threshold is the next one.
    """
    draw = np.random.default_rng(0)
    limits = {column.name: thresholds_of(estimator, column.name) for column in estimator.schema_.columns}
    columns = {}
    for column in estimator.schema_.columns:
        if column.kind == "numeric":
            near = np.array([0.0, -0.0, 1e-40, 3.25, -1e30, *limits[column.name]], dtype)
            near = np.concatenate([near, np.nextafter(near, dtype(np.inf)), np.nextafter(near, dtype(-np.inf))])
            values = near[np.isfinite(near)]
            columns[column.name] = draw.choice(values if known else np.append(values, dtype(np.nan)), number)
        elif column.kind == "boolean":
            columns[column.name] = draw.choice([True, False], number)
        else:
            words = list(column.categories) + ([] if known else [None, "never seen"])
            columns[column.name] = pd.Series(
                np.array(words, object)[draw.integers(len(words), size=number)], dtype=object
            )
    frame = pd.DataFrame(columns)
    return frame if hasattr(estimator, "feature_names_in_") else frame.to_numpy(dtype, copy=True)


def thresholds_of(estimator, name):
    """The finite thresholds of a column of numbers."""
    trees = estimator.forest_ if hasattr(estimator, "forest_") else [estimator.tree_]
    features = [estimator.schema_.column_names.index(name)]
    found = [
        tree.threshold[np.isin(tree.feature, features) & (tree.split_kind == SplitKind.THRESHOLD)] for tree in trees
    ]
    values = np.concatenate(found)
    return values[np.isfinite(values)]
