"""The data sets of the study of optimal trees: those of the comparison of prunings, and eight of its peers' papers.

The peers are ConTree (Brița, van der Linden and Demirović, 2025), of whose data are banknote and magic04, and STreeD
(van der Linden, de Weerdt and Demirović, 2023), of whose data are the six others.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from jaxtree_studies.prunings import StudyTable, seed_of, study_tables

UNREAD = (
    "avila", "bean", "bidding", "eeg", "fault", "htru", "occupancy", "page", "raisin", "rice", "room", "segment",
    "skin", "wilt",
)  # fmt: skip
"""Data sets of ConTree's paper that the study does not read."""

WISCONSIN = (
    "id", "thickness", "size", "shape", "adhesion", "epithelial", "nuclei", "chromatin", "nucleoli", "mitoses", "class",
)  # fmt: skip


def _separated(path: str, **options: Any) -> Callable[[Path], pd.DataFrame]:
    return lambda folder: pd.read_csv(folder / path, header=None, **options)


def _arff(path: str) -> Callable[[Path], pd.DataFrame]:
    return lambda folder: read_arff(folder / path)


PEERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    "banknote": _separated("banknote/banknote_authentication.csv"),
    "breast-cancer-wisconsin": _separated(
        "breast-cancer-wisconsin/breast-cancer-wisconsin.data",
        names=list(WISCONSIN),
        usecols=list(WISCONSIN[1:]),
        na_values="?",
    ),
    "credit-g": _arff("credit-g/credit-g.arff"),
    "diabetes": _arff("diabetes/diabetes.arff"),
    "ionosphere": _arff("ionosphere/ionosphere.arff"),
    "kr-vs-kp": _separated("kr-vs-kp/kr-vs-kp.data"),
    "magic04": _separated("magic04/magic04.data"),
    "vote": _arff("vote/vote.arff"),
}
"""The readers of the peers' data sets by name; the last column is the class."""


def read_arff(path: Path) -> pd.DataFrame:
    """Returns the table of an ARFF file of numbers and words."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    lines = [line for line in lines if line and not line.startswith("%")]
    start = next(place for place, line in enumerate(lines) if line.lower().startswith("@data"))
    rows = [[cell.strip().strip("'\"") for cell in line.split(",")] for line in lines[start + 1 :]]
    table = pd.DataFrame(rows).replace("?", np.nan)
    for column in table:
        numbers: Any = pd.to_numeric(table[column], errors="coerce")
        if np.array_equal(numbers.notna(), table[column].notna()):
            table[column] = numbers
    return table


def optimal_tables(
    folder: Path | None, most_rows: int | None, seed: int
) -> tuple[list[StudyTable], list[dict[str, str]]]:
    """Returns the data sets that are there, and the names of the others with the reason why they are skipped.

    Args:
        folder: The folder of the files, see `jaxtree.datasets.load_uci`; None if there are none.
        most_rows: The most rows of a part; of a larger one so many are drawn. None is no limit.
        seed: Seed of the draws.
    """
    tables, skipped = study_tables(folder)
    for name, read in PEERS.items():
        try:
            if folder is None:
                raise FileNotFoundError(2, "no folder", name)
            tables.append(_as_table(name, read(folder)))
        except FileNotFoundError:
            skipped.append({"name": name, "reason": "no folder of data was given" if folder is None else "absent"})
    skipped += [{"name": name, "reason": "no reader"} for name in UNREAD]
    return [thinned(table, most_rows, seed_of(seed, table.name, "rows")) for table in tables], skipped


def _as_table(name: str, table: pd.DataFrame) -> StudyTable:
    X = table.iloc[:, :-1]
    X.columns = [f"x{number}" for number in range(X.shape[1])]
    words = [column for column in X if not pd.api.types.is_numeric_dtype(X[column].dtype)]
    return StudyTable(name, X.astype(dict.fromkeys(words, "category")), np.asarray(table.iloc[:, -1]))


def thinned(table: StudyTable, most_rows: int | None, seed: int) -> StudyTable:
    """Returns a data set with so many rows at most, drawn, in their order; training and test rows each for itself."""
    if most_rows is None:
        return table
    chance, first = np.random.default_rng(seed), table.num_train or len(table.y)
    parts = [
        np.sort(chance.permutation(np.arange(start, stop))[:most_rows])
        for start, stop in ((0, first), (first, len(table.y)))
    ]
    X, y = table.take(np.concatenate(parts))
    return table._replace(X=X, y=y, num_train=None if table.num_train is None else len(parts[0]))
