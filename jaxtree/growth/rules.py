"""What a growth is told once and for all: how splits are judged, chosen and made."""

import enum
from typing import NamedTuple

from jaxtree.growth.measure import Measure


class Missing(enum.IntEnum):
    """Where a row goes whose value is missing.

    BRANCH: missing is a value of its own, larger than every number and beside every category.
    LEARN: every split sends it to the branch where it gains most.
    FRACTION: into every branch, with the share of the known weight that goes there (C4.5).
    """

    BRANCH = 0
    LEARN = 1
    FRACTION = 2


class Selection(enum.IntEnum):
    """How a node chooses among the features' best splits.

    GAIN: the greatest gain.
    GAIN_RATIO: of the splits of at least average gain, the greatest ratio of gain to split information (C4.5).
    INFORMATION: the greatest gain, under C4.5's other rules.
    """

    GAIN = 0
    GAIN_RATIO = 1
    INFORMATION = 2


class Rules(NamedTuple):
    """The static rules of one growth.

    Attributes:
        measure: What is summed and how it is judged.
        missing: Where rows go whose value is missing.
        selection: How a node chooses among features.
        has_missing: Whether any code means missing.
        tells_missing: Whether splits differ in the branch of a missing value.
        has_monotone: Whether any feature is constrained to be monotone.
        has_close_values: Whether some values lie too close to be cut apart.
        draws_features: Whether a node looks at a random subset of the features.
        draws_thresholds: Whether a node looks at one random candidate a feature.
    """

    measure: Measure
    missing: Missing = Missing.BRANCH
    selection: Selection = Selection.GAIN
    has_missing: bool = False
    tells_missing: bool = True
    has_monotone: bool = False
    has_close_values: bool = False
    draws_features: bool = False
    draws_thresholds: bool = False

    @property
    def is_c45(self) -> bool:
        """Whether C4.5's rules hold."""
        return self.selection != Selection.GAIN

    @property
    def sets_missing_apart(self) -> bool:
        """Whether the weight of missing values is not that of a branch."""
        return self.has_missing and self.missing != Missing.BRANCH

    @property
    def shares_missing(self) -> bool:
        """Whether a row may go into several branches."""
        return self.has_missing and self.missing == Missing.FRACTION
