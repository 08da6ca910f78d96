"""Overlap in numbers and words."""

import re

import numpy as np
import pytest

from jaxtree.effects import overlap
from jaxtree.errors import InvalidInputError


def test_shares_are_those_of_rows_and_weights():
    chance = [0.01, 0.2, 0.5, 0.97, 0.99]
    own = overlap(chance)
    assert (own.low, own.high, own.share_below, own.share_above) == (0.01, 0.99, 0.2, 0.4)
    assert not own.is_good and overlap(chance, least=0.005).is_good
    assert overlap(chance, sample_weight=[0, 1, 2, 1, 0]).share_above == 0.25
    assert overlap([0.05, 0.95]).is_good


@pytest.mark.parametrize(
    ("chance", "advice"),
    [
        ([0.01, 0.5], 'target="treated"'),
        ([0.5, 0.99], 'target="control"'),
        ([0.01, 0.99], ': target="overlap"|; target="overlap"'),
    ],
)
def test_words_advise_what_the_side_allows(chance, advice):
    assert re.search(advice, repr(overlap(chance)))
    assert "50.0% of the rows" in repr(overlap(chance))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.5, 1.2],), "propensity must be between 0 and 1, got 1.2 in row 1"),
        (([0.5, np.nan],), "propensity must be finite numbers, got nan in row 1"),
        (([],), "must have a row of some weight, got none"),
    ],
)
def test_bad_input_is_named(arguments, words):
    with pytest.raises(InvalidInputError, match=words):
        overlap(*arguments)
    with pytest.raises(InvalidInputError, match=r"least must be at least 0 and below 0\.5, got 0\.5"):
        overlap([0.5], least=0.5)
