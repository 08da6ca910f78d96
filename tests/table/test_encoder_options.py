"""Options of the encoder: what is refused."""

import pandas as pd
import pytest

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table import Encoder

WRONG_OPTIONS = [
    ({"unseen": "ignore"}, "unseen must be one of 'missing', 'error', got 'ignore'"),
    ({"max_bins": 1}, "max_bins must be 'auto', None or an integer from 2 to 65535, got 1"),
    ({"max_bins": "all"}, "got 'all'"),
    ({"max_categories": 0}, "max_categories must be None or an integer from 1 to 65535, got 0"),
    ({"max_categories": True}, "max_categories must be None or .* got True"),
    ({"max_bins": 65_536}, "got 65536"),
    ({"max_bins": 0}, "got 0"),
    ({"max_bins": True}, "got True"),
    ({"categorical_features": ["a", "z"]}, "one of 'a', 'b' .a place from 0 to 1., got 'z'"),
    ({"categorical_features": "from_dtypes"}, "unless it is 'from_dtype' or None, must name .* got 'from_dtypes'"),
    ({"categorical_features": [2]}, "got 2"),
    ({"categorical_features": [-1]}, "got -1"),
    ({"categorical_features": [True]}, "a truth value for each of the 2 columns, got .True"),
    ({"categorical_features": [1.5]}, "got 1.5"),
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
