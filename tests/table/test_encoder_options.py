"""Options of the encoder: what is refused, and how many categories are too many."""

import numpy as np
import pandas as pd
import pytest

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table import Encoder

WRONG_OPTIONS = [
    ({"encoding": "ordinal"}, "encoding must be one of 'categorical', 'onehot', got 'ordinal'"),
    ({"unseen": "ignore"}, "unseen must be one of 'missing', 'error', got 'ignore'"),
    ({"max_bins": 1}, "max_bins must be 'auto', None or an integer from 2 to 65535, got 1"),
    ({"max_bins": "all"}, "got 'all'"),
    ({"max_categories": 0}, "max_categories must be None or an integer from 1 to 65535, got 0"),
    ({"max_categories": True}, "max_categories must be None or .* got True"),
    ({"max_categories": 1}, "column 'b' has 2 categories, more than the 1 allowed"),
    ({"max_bins": 65_536}, "got 65536"),
    ({"max_bins": 0}, "got 0"),
    ({"max_bins": True}, "got True"),
    ({"categorical_features": ["a", "z"]}, r"\['a', 'b'\], got \['z'\]"),
    ({"categorical_features": "from_dtypes"}, r"'from_dtype', None, or .* got \['from_dtypes'\]"),
    ({"categorical_features": [2]}, r"got \[2\]"),
    ({"categorical_features": [-1]}, r"got \[-1\]"),
    ({"categorical_features": [True]}, "a truth value for each of the 2 columns, got .True"),
    ({"categorical_features": [1.5]}, "got .1.5"),
    ({"categorical_features": None}, "column 'b' is categorical, and categorical_features=None"),
]


@pytest.mark.parametrize(("options", "message"), WRONG_OPTIONS)
def test_wrong_options(options, message):
    table = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    for fit in (Encoder(**options).fit, Encoder(**options).fit_transform):
        with pytest.raises((InvalidInputError, InvalidTypeError), match=message):
            fit(table)


def test_options_set_later_are_checked_too():
    encoder = Encoder()
    encoder.max_bins = 10.0
    with pytest.raises(InvalidInputError, match=r"an integer from 2 to 65535, got 10\.0"):
        encoder.fit([[1.0]])


TOO_MANY = "column 'id' has 1025 categories, more than the 1024 allowed: pass a larger max_categories .* drop or hash"


@pytest.mark.parametrize("encoding", ["categorical", "onehot"])
def test_too_many_categories(encoding):
    numbers = pd.DataFrame({"id": np.arange(1025)})
    by_dtype, listed = Encoder(encoding=encoding), Encoder(encoding=encoding, categorical_features=["id"])
    for encoder, table in ((by_dtype, numbers.astype(str)), (by_dtype, numbers.astype("category")), (listed, numbers)):
        with pytest.raises(InvalidInputError, match=TOO_MANY):
            encoder.fit(table)
        fewer = table[1:].apply(lambda ids: ids.cat.remove_unused_categories() if ids.dtype == "category" else ids)
        assert encoder.fit(fewer).schema_.num_values.sum() == (2048 if encoding == "onehot" else 1024)
        encoder.transform(table)  # unseen categories are not counted


def test_a_larger_number_of_categories_may_be_allowed():
    words = np.arange(65_536)[:, None].astype(str)
    assert Encoder(max_categories=1100).fit(words[:1100]).schema_.num_values[0] == 1100
    assert Encoder(max_categories=None).fit(words[1:]).schema_.num_values[0] == 65_535
    with pytest.raises(InvalidInputError, match="'x0' has 65536 categories, more than the 65535 allowed: drop or hash"):
        Encoder(max_categories=None).fit(words)
    with pytest.raises(InvalidInputError, match="'x0' has 65536 categories"):
        Encoder(max_categories=None, categorical_features=[0]).fit(words.astype(int))
    ordered = pd.Series(pd.Categorical(words[:, 0], ordered=True)).to_frame("id")
    with pytest.raises(InvalidInputError, match="'id' has 65536 categories, more than the 65535 allowed: drop"):
        Encoder().fit(ordered)
    assert Encoder().fit(ordered.assign(id=ordered["id"].cat.remove_categories(["0"]))).schema_.num_values[0] == 65_535
