"""The tables that are measured and their folds, kept in a folder so that all processes read the same ones.

A *place* is a folder with the columns of a table, its target, and a number for every row: the fold that tests it. Words
are categories and gaps missing values, for all contenders; classes are whole numbers from 0.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas

ADULT = "adult-test"
"""Adult with the rows that its owners test on; it has one fold."""
BOOSTING = (
    *("credit-g", "abalone", "concrete", "spambase", "magic04", "covtype-20k", "letter", "adult", "diamonds"),
    *("nursery", "winequality", "ccpp", "airfoil"),
)
"""The tables of the chart of losses beside other libraries."""
GRADTREE = (
    *("absenteeism", "anneal", "bank", "cervical", "cmc", "credit-card", "flare", "landsat", "segmentation", "splice"),
    *("thyroid", "transfusion", "wdbc"),
)
"""Tables of the folder `gradtree` with more than 500 rows; of credit-card 12,000 rows are drawn."""
NAMES = (ADULT, *BOOSTING, *GRADTREE)
NUM_FOLDS = 5
TRAINS = -1
"""The number of a row that tests no fold."""


class Place(NamedTuple):
    """A table that was read.

    Attributes:
        X: The columns.
        y: Classes (int64) or numbers (float64).
        fold: The fold that tests every row, or `TRAINS`.
    """

    X: pandas.DataFrame
    y: np.ndarray
    fold: np.ndarray

    @property
    def num_classes(self) -> int:
        """0 where the target is a number."""
        return 0 if self.y.dtype.kind == "f" else int(self.y.max()) + 1


def write_case(name: str, folder: Path, data: Path) -> Path:
    """Reads a table from the folder of the real ones, and writes it into a subfolder of `folder` if it is not there."""
    place = folder / name
    if not place.is_dir():
        write_place(place, *_read_adult(data) if name == ADULT else _read_folds(name, data))
    return place


def write_place(place: Path, X: pandas.DataFrame, y: np.ndarray, fold: np.ndarray) -> None:
    """Makes a folder of a table."""
    place.mkdir(parents=True)
    X.to_parquet(place / "X.parquet")
    np.save(place / "y.npy", y)
    np.save(place / "fold.npy", fold)


def read_place(place: Path) -> Place:
    """Reads what `write_place` has written."""
    X = pandas.read_parquet(place / "X.parquet")
    return Place(X, np.load(place / "y.npy"), np.load(place / "fold.npy"))


def describe(place: Place) -> dict[str, Any]:
    """The size of a table."""
    words = sum(dtype == "category" for dtype in place.X.dtypes)
    gaps = int(place.X.isna().to_numpy().sum())
    rows, columns = place.X.shape
    return {"rows": rows, "columns": columns, "words": words, "gaps": gaps, "classes": place.num_classes}


def _read_adult(data: Path) -> tuple[pandas.DataFrame, np.ndarray, np.ndarray]:
    from jaxtree.datasets import load_uci

    parts = [load_uci("adult", data, part=part) for part in ("train", "test")]
    X = pandas.concat([X for X, _ in parts], ignore_index=True)
    y = np.unique(np.concatenate([y for _, y in parts]), return_inverse=True)[1]
    return X, y, np.repeat([TRAINS, 0], [len(y) for _, y in parts])


def _read_folds(name: str, data: Path) -> tuple[pandas.DataFrame, np.ndarray, np.ndarray]:
    from sklearn.model_selection import KFold, StratifiedKFold

    if name in GRADTREE:
        from jaxtree_studies.tables.owners import read_owned

        X, y = read_owned(name, data)
    else:
        from jaxtree_studies.tables.thirteen import read_table

        X, y = read_table(name, data)
    kind = KFold if y.dtype.kind == "f" else StratifiedKFold
    fold = np.full(len(y), TRAINS)
    for number, (_, test) in enumerate(kind(NUM_FOLDS, shuffle=True, random_state=0).split(X, y)):
        fold[test] = number
    return X.reset_index(drop=True), y, fold
