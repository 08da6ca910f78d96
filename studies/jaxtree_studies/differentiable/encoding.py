"""The table of numbers that GradTree's authors make of a table of words and gaps, from scikit-learn's pieces.

Words of few values are one-hot, those of many become shares of the classes among other rows: the authors leave out the
row itself, scikit-learn's `TargetEncoder` a fifth of the rows. Numbers become quantiles of a normal distribution, and
gaps their median; a gap among words is a word.
"""

from typing import Any

import numpy as np
import pandas
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, TargetEncoder

from jaxtree_studies.differentiable.tables import Part, Parts

MOST_ONE_HOT = 10
"""The most values of a column that is one-hot."""
MOST_KNOTS = 1000


def encoder_of(X: pandas.DataFrame) -> Pipeline:
    """Returns what encodes a table with these columns, not fitted."""
    words = list(X.select_dtypes("category"))
    few = [name for name in words if X[name].unique().size <= MOST_ONE_HOT]
    many = [name for name in words if name not in few]
    numbers = [name for name in X if name not in words]
    folds: Any = KFold(5, shuffle=True, random_state=0)  # a class may have fewer rows than there are folds
    columns = ColumnTransformer(
        [
            ("few", OneHotEncoder(handle_unknown="ignore", sparse_output=False), few),
            ("many", TargetEncoder(cv=folds), many),
            ("numbers", SimpleImputer(strategy="median", keep_empty_features=True), numbers),
        ]
    )
    scale = QuantileTransformer(
        n_quantiles=min(MOST_KNOTS, len(X)), output_distribution="normal", subsample=len(X), random_state=0
    )
    return make_pipeline(columns, scale)


def encode(parts: Parts) -> Parts:
    """Returns the parts as tables of numbers; what there is to learn is learned from the rows to fit."""
    encoder = encoder_of(parts.train.X)
    train = encoder.fit_transform(parts.train.X, parts.train.y)
    held, test = (encoder.transform(part.X) for part in (parts.held, parts.test))
    tables = (pandas.DataFrame(np.asarray(values)) for values in (train, held, test))
    return Parts(*(Part(table, part.y) for table, part in zip(tables, parts, strict=True)))
