"""Fitted estimators that read rows which are encoded already: numbers and codes in the place of a table."""

import copy
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxtree.table.schema import Schema


class NoEncoder:
    """Stands for an encoder where rows are encoded already.

    Attributes:
        schema_: What their numbers and codes mean.
    """

    def __init__(self, schema: Schema):
        self.schema_ = schema

    def values(self, X: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row feature"]:
        """Returns the rows as they are."""
        return X


def reading_encoded(estimator: Any) -> Any:
    """Returns the same fitted estimator, reading what its `encoder_.values` returns of a table."""
    twin = copy.copy(estimator)
    twin.encoder_ = NoEncoder(estimator.encoder_.schema_)
    twin.n_features_in_ = estimator.encoder_.schema_.num_features
    vars(twin).pop("feature_names_in_", None)
    return twin
