"""Rows divided at random into those that a model learns from and those that it is validated with."""

from typing import Any

import numpy as np
from jaxtyping import Int, Real, Shaped
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.utils import check_random_state

from jaxtree.errors import InvalidInputError

Parts = tuple[Int[np.ndarray, " train"], Int[np.ndarray, " held"]]


def generator_of(random_state: Any) -> np.random.RandomState:
    """Returns what scikit-learn draws with, of a seed, of either of NumPy's generators, or of None.

    A `numpy.random.Generator` moves on by one number, so that further fits draw anew.
    """
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**32))
    return check_random_state(random_state)


def split_rows(
    target: Real[np.ndarray, "output row"], num_classes: tuple[int, ...], fraction: float, seed: Any
) -> Parts:
    """Returns the rows to learn from, and a share of so large a fraction to validate with.

    Classes of one output keep their shares, if every class has two rows.

    Raises:
        InvalidInputError: A part would have no row.
    """
    num_rows = target.shape[1]
    num_held = round(fraction * num_rows)
    if not 0 < num_held < num_rows:
        raise InvalidInputError(
            f"validation_fraction {fraction} of {num_rows} rows leaves a part without rows; pass X_val and "
            "y_val, or another fraction"
        )
    strata = None
    if len(num_classes) == 1:
        fits_all = min(fraction, 1 - fraction) * num_rows >= num_classes[0]
        strata = target[0] if fits_all and np.all(np.bincount(target[0]) != 1) else None
    parts = train_test_split(np.arange(num_rows), test_size=num_held, random_state=generator_of(seed), stratify=strata)
    train, held = map(np.sort, parts)
    return train, held


def split_groups(group: Shaped[np.ndarray, " row"], fraction: float, seed: Any) -> Parts:
    """Returns the rows of both parts, of which each has whole groups.

    Raises:
        InvalidInputError: A part would have no group.
    """
    number = len(np.unique(group))
    if not 0 < round(fraction * number) < number:
        raise InvalidInputError(
            f"validation_fraction {fraction} of {number} groups leaves a part without groups; pass eval_set, or "
            "another fraction"
        )
    splitter = GroupShuffleSplit(1, test_size=fraction, random_state=generator_of(seed))
    train, held = map(np.sort, next(iter(splitter.split(group, groups=group))))
    return train, held
