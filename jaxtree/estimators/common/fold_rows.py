"""The rows of folds: those that a model is grown without, and that judge it.

A fold is of rows of weight: all others are none. Where the user gives splits, these are of all rows of the table.
"""

import logging
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int, Shaped
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from jaxtree.dataset.sample import Sample, generator_of
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.folds import split_rows_of_weight

LOGGER = logging.getLogger("jaxtree")

Rows = Int[np.ndarray, " taken"]


class Fold(NamedTuple):
    """The rows of a fold, in ascending order.

    Attributes:
        held: The rows that its model is grown without, and is judged by.
        left_out: Further rows that it is grown without, and that do not judge it; only splits of the user's have any.
    """

    held: Rows
    left_out: Rows


class Scheme(NamedTuple):
    """How rows are divided.

    Attributes:
        num_folds: The number of folds.
        num_repeats: How often all rows are divided into so many.
    """

    num_folds: int
    num_repeats: int


USUAL = Scheme(8, 1)

FEW_ROWS, OF_FEW_ROWS = 500, Scheme(5, 3)
"""The rows below which more models are averaged, at little cost, and folds are larger: they must say when to stop."""


def scheme_of(num_rows: int, num_units: int) -> Scheme:
    """Returns how rows are divided where `cv` is "auto".

    Args:
        num_rows: The number of rows.
        num_units: The number of what stays together: of groups, or of rows without any.

    Example:
        >>> for number in (4, 499, 500):
        ...     print(scheme_of(number, number))
        Scheme(num_folds=4, num_repeats=1)
        Scheme(num_folds=5, num_repeats=3)
        Scheme(num_folds=8, num_repeats=1)
    """
    usual = OF_FEW_ROWS if num_rows < FEW_ROWS else USUAL
    return usual if num_units > usual.num_folds else Scheme(num_units, 1)


def divide(sample: Sample, cv: Any, seed: Any) -> list[Fold]:
    """Returns the folds of the rows of weight, which are numbered without the others.

    Rows of a group stay together. Classes have their shares in every fold, and so have events and censored times.

    Args:
        sample: All rows of the table; what stands in it is not read.
        cv: A number of folds, "auto", a splitter of scikit-learn, or its splits of all rows.
        seed: The seed of the order of the rows.

    Raises:
        InvalidInputError: There are fewer rows or groups than folds; or given splits are none, hold out all rows or
            none, have a row in both parts, or cut a group.
    """
    if not isinstance(cv, str | int | np.integer):
        return _given(sample, cv)
    there = _rows_there(sample)
    group, strata = (None if own is None else own[there] for own in (sample.fields.get("group"), _strata(sample)))
    num_units, units = (len(there), "rows") if group is None else (len(np.unique(group)), "groups")
    if num_units < 2:
        raise InvalidInputError(f"folds need two {units} of weight or more, got {num_units}")
    scheme = scheme_of(len(there), num_units) if isinstance(cv, str) else Scheme(int(cv), 1)
    if not 2 <= scheme.num_folds <= num_units:
        raise InvalidInputError(f"cv must be from 2 to {num_units}, the number of {units}, got {cv}")
    if isinstance(cv, str):
        LOGGER.info('cv="auto": %d x %d folds of %d %s', scheme.num_repeats, scheme.num_folds, num_units, units)
    splitter = _splitter(scheme.num_folds, group, strata, generator_of(seed))
    nothing = np.zeros(0, np.int64)
    repeats = [_split(splitter, len(there), strata, group, None) for _ in range(scheme.num_repeats)]
    return [Fold(np.sort(held), nothing) for splits in repeats for _, held in splits]


def _rows_there(sample: Sample) -> Rows:
    """The rows of weight."""
    return np.arange(sample.num_rows) if sample.weight is None else np.flatnonzero(sample.weight)


def _strata(sample: Sample) -> Shaped[np.ndarray, " row"] | None:
    """The labels to stratify by."""
    if len(sample.outputs.num_classes) == 1:
        return sample.labels[0]
    return sample.fields["event"] != 0 if "event" in sample.fields else None


def _splitter(number: int, group: Any, strata: Any, generator: np.random.RandomState) -> Any:
    if group is not None:
        return GroupKFold(number, shuffle=True, random_state=generator)
    kind = KFold if strata is None else StratifiedKFold
    # Classes of which none has as many rows are not divided equally by scikit-learn.
    if strata is not None and np.unique(strata, return_counts=True)[1].max() < number:
        kind = KFold
    return kind(number, shuffle=True, random_state=generator)


def _split(splitter: Any, number: int, strata: Any, group: Any, weight: Any) -> list[Any]:
    """The splits of so many rows, without those of weight 0."""
    with warnings.catch_warnings():
        # A class of fewer rows than there are folds is in some of them; and not all splitters look at groups.
        warnings.filterwarnings("ignore", "The least populated class|The groups parameter is ignored", UserWarning)
        target = np.zeros(number) if strata is None else strata
        return split_rows_of_weight(splitter, np.zeros((number, 1)), target, weight, groups=group)


def _given(sample: Sample, cv: Any) -> list[Fold]:
    """The folds that the user gives."""
    group = sample.fields.get("group")
    if hasattr(cv, "split"):
        try:
            splits = _split(cv, sample.num_rows, _strata(sample), group, sample.weight)
        except ValueError as error:
            way = "pass its groups to fit as group=, or give its splits, such as list(cv.split(X, y, groups))"
            raise InvalidInputError(f"cv={cv} cannot divide the rows ({error}): {way}") from error
    else:
        splits = list(cv) if isinstance(cv, Iterable) else []
    if not splits:
        what = "a number, a splitter, or a list of pairs of rows to grow on and to hold out"
        raise InvalidInputError(f"cv must be {what}, got {cv!r}, which has none")
    return [_fold(sample, number, pair) for number, pair in enumerate(splits)]


def _fold(sample: Sample, number: int, pair: Any) -> Fold:
    """A fold of given rows."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        what = "pairs of rows to grow on and to hold out"
        raise InvalidInputError(f"cv must be {what}, got {type(pair).__name__} as split {number}")
    grown, held = (_part(sample.num_rows, number, rows) for rows in pair)
    both, there = np.flatnonzero(grown & held), _rows_there(sample)
    if len(both):
        raise InvalidInputError(
            f"cv must hold out rows that are not grown on, and split {number} has {both[0]} in both"
        )
    group = sample.fields.get("group")
    if group is not None and np.isin(group[held], group[grown]).any():
        raise InvalidInputError(f"cv must keep the rows of a group together, and split {number} cuts one")
    grown, held = grown[there], held[there]
    if not grown.any() or not held.any():
        what = f"some of the {len(there)} rows of weight, and grow on others"
        raise InvalidInputError(
            f"cv must hold out {what}, and split {number} holds out {held.sum()} and grows on {grown.sum()}"
        )
    return Fold(np.flatnonzero(held), np.flatnonzero(~held & ~grown))


def _part(num_rows: int, number: int, rows: Any) -> Shaped[np.ndarray, " row"]:
    """Which rows of the table are in a part of a split."""
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (num_rows,):
        return rows
    is_whole = rows.ndim == 1 and (rows.dtype.kind in "iu" or not rows.size)
    if not is_whole or (rows.size and not 0 <= rows.min() <= rows.max() < num_rows):
        what = f"numbers of rows from 0 to {num_rows - 1}, or masks of {num_rows}"
        raise InvalidInputError(f"cv must have {what}, got {rows.dtype} of shape {rows.shape} in split {number}")
    is_in = np.zeros(num_rows, bool)
    is_in[rows.astype(np.int64)] = True
    return is_in
