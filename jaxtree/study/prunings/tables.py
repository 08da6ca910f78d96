"""The data sets of the study, and how their rows are divided.

The *outer* folds measure; on the *inner* folds of an outer fold's training rows the settings are chosen. Both are
divided alike, since a choice that is to hold for rows of another kind must be made on rows of another kind.
"""

import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int
from sklearn.model_selection import KFold, StratifiedKFold

from jaxtree.datasets import load_car_evaluation, load_uci
from jaxtree.datasets.uci import WITH_TEST_ROWS

ORIGINAL, SHUFFLED = "car, original order", "car, shuffled"
UCI = ("nursery", "tic-tac-toe", "mushroom", "monks-1", "monks-2", "monks-3", "letter", "adult", "covtype-20k")

Split = tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]


class StudyTable(NamedTuple):
    """One data set.

    Attributes:
        name: Its name in the tables.
        X: The columns.
        y: The classes.
        in_order: Whether folds are neighbouring rows in the order of the file.
        num_train: The number of training rows, which come first, where the data have test rows of their own.
    """

    name: str
    X: Any
    y: np.ndarray
    in_order: bool = False
    num_train: int | None = None

    @property
    def division(self) -> str:
        """How the outer folds are made, in words."""
        if self.num_train is not None:
            return "its own test rows"
        return "neighbouring rows" if self.in_order else "shuffled, stratified"


def study_tables(folder: Path | None) -> tuple[list[StudyTable], list[dict[str, str]]]:
    """Returns the data sets that are there, and the names of the others with the reason why they are skipped.

    The cars, with two classes as in Zhu and Zhou (2023), are there always.

    Args:
        folder: The folder of the files of UCI's data sets, see `jaxtree.datasets.load_uci`; None if there are none.
    """
    X, y = load_car_evaluation(return_X_y=True, binary=True)
    tables = [StudyTable(ORIGINAL, X, y, in_order=True), StudyTable(SHUFFLED, X, y)]
    skipped = []
    for name in UCI:
        if folder is None:
            skipped.append({"name": name, "reason": "no folder of data was given"})
            continue
        try:
            tables.append(_read(name, folder))
        except FileNotFoundError as error:
            absent = Path(error.filename).relative_to(folder).as_posix()
            skipped.append({"name": name, "reason": f"its file {absent} is absent"})
    return tables, skipped


def outer_splits(table: StudyTable, folds: int, seed: int) -> list[Split]:
    """Returns the training and test rows of every outer fold."""
    if table.num_train is not None:
        return [(np.arange(table.num_train), np.arange(table.num_train, len(table.y)))]
    return _divide(table.y, folds, seed, in_order=table.in_order)


def inner_splits(table: StudyTable, rows: Int[np.ndarray, " row"], folds: int, seed: int) -> list[Split]:
    """Returns the rows of every inner fold, as places among the given rows."""
    return _divide(table.y[rows], folds, seed, in_order=table.in_order)


def take_rows(X: Any, rows: Int[np.ndarray, " row"]) -> Any:
    """Returns rows of a table of pandas or NumPy."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def seed_of(seed: int, *names: str | int) -> int:
    """Returns a seed of its own for what the names name, so that no data set's numbers depend on which others run."""
    text = "/".join(map(str, (seed, *names)))
    return zlib.crc32(text.encode()) % 2**31


def _divide(y: np.ndarray, folds: int, seed: int, *, in_order: bool) -> list[Split]:
    rows = np.zeros(len(y))
    if in_order:
        return list(KFold(folds).split(rows))
    with warnings.catch_warnings():
        # A class of fewer rows than folds is missing from some, which every method has to bear alike.
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(rows, y))


def _read(name: str, folder: Path) -> StudyTable:
    X, y = load_uci(name, folder)
    num_train = len(load_uci(name, folder, part="train")[1]) if name in WITH_TEST_ROWS else None
    return StudyTable(name, X, np.asarray(y), num_train=num_train)


def num_folds(tables: Sequence[StudyTable], folds: int) -> int:
    """Returns the number of outer folds of all data sets together."""
    return sum(1 if table.num_train is not None else folds for table in tables)
