"""The tables: columns of numbers, which both libraries read alike; words become one column a word."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas

from jaxtree_studies.tables.readers import read_real

_FILES = {
    "white wine": ("winequality/winequality-white.csv", {"sep": ";"}),
    "red wine": ("winequality/winequality-red.csv", {"sep": ";"}),
    "poker": ("poker/poker-hand-training-true.data", {}),
    "glass": ("glass/glass.arff", {}),
    "diabetes": ("diabetes/diabetes.arff", {}),
    "ionosphere": ("ionosphere/ionosphere.arff", {}),
    "kr-vs-kp": ("kr-vs-kp/kr-vs-kp.data", {"header": None}),
    "balance-scale": ("balance-scale/balance-scale.data", {"header": None}),
    "airfoil": ("airfoil/airfoil_self_noise.dat", {"header": None, "sep": "\t"}),
    "ccpp": ("ccpp/data.txt", {"header": None, "sep": "\t"}),
}
"""Files that only this study reads: the target is the last column, or the first of those in `_TARGET_FIRST`."""
_TARGET_FIRST = ("balance-scale",)

CLASSES = (
    "letter", "white wine", "red wine", "covtype-20k", "poker", "spambase", "magic04", "nursery", "kr-vs-kp",
    "tic-tac-toe", "balance-scale", "credit-g", "diabetes", "ionosphere", "glass",
)  # fmt: skip
NUMBERS = ("abalone", "concrete", "white wine as numbers", "airfoil", "ccpp")


class Table(NamedTuple):
    """A matrix of numbers in float32, and a class or a number for every row."""

    X: np.ndarray
    y: np.ndarray

    @property
    def are_whole(self) -> bool:
        """Whether every column has whole numbers only."""
        return bool(np.all(np.floor(self.X) == self.X))


def read_table(name: str, data: Path) -> Table:
    """Reads a table from a subfolder of `data`.

    Raises:
        FileNotFoundError: The file is absent; `filename` says what.
    """
    file = name.removesuffix(" as numbers")
    X, y = _read_file(file, data) if file in _FILES else read_real(file, data)
    X = np.ascontiguousarray(pandas.get_dummies(X), np.float32)
    y = np.asarray(y, np.float64) if name in NUMBERS else np.unique(np.asarray(y, str), return_inverse=True)[1]
    return Table(X, y)


def _read_file(name: str, data: Path) -> tuple[pandas.DataFrame, pandas.Series]:
    path, options = _FILES[name]
    if path.endswith(".arff"):
        lines = (data / path).read_text().splitlines()
        rows = [line.split(",") for line in lines if line and line[0] not in "@%"]
        table = pandas.DataFrame(rows).apply(_as_numbers)
    else:
        table = pandas.read_csv(data / path, **options)
    target = table.columns[0 if name in _TARGET_FIRST else -1]
    return table.drop(columns=target), table[target]


def _as_numbers(column: pandas.Series) -> pandas.Series:
    numbers = pandas.to_numeric(column, errors="coerce")
    return column if numbers.isna().any() else numbers
