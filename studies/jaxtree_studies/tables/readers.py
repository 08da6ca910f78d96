"""Readers of real data sets, as a frame and its target; columns of words are categories."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas
from scipy.io import arff

from jaxtree.datasets import load_uci

REGRESSION = frozenset({"abalone", "airfoil", "ccpp", "concrete", "diamonds"})
"""Data sets whose target is a number."""
DIAMOND_LEVELS = {
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
    "color": ["J", "I", "H", "G", "F", "E", "D"],
    "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
}
WORDS_OF_KDD = (1, 2, 3)


def read_real(name: str, data: Path) -> tuple[pandas.DataFrame, Any]:
    """Returns the columns and the target of a data set in a subfolder of `data`.

    Raises:
        FileNotFoundError: The file is absent; `filename` says what.
    """
    return _READERS[name](data) if name in _READERS else load_uci(name, data)


def diamonds(folder: Path) -> tuple[Any, Any]:
    """Prices of diamonds, from ggplot2; their grades are ordered."""
    table = pandas.read_csv(folder / "diamonds" / "diamonds.csv.gz").drop(columns="rownames")
    ordered = {name: pandas.CategoricalDtype(levels, ordered=True) for name, levels in DIAMOND_LEVELS.items()}
    return table.drop(columns="price").astype(ordered), table["price"]


def _kdd(data: Path) -> tuple[Any, Any]:
    """A tenth of KDD Cup 99: 494,021 rows of 38 numbers and 3 words, 23 classes."""
    path = data / "kddcup99-10pct" / "kddcup.data_10_percent.gz"
    X, target = _target_last(pandas.read_csv(path, header=None, compression="gzip"))
    words = [X.columns[number] for number in WORDS_OF_KDD]
    numbers = {name: np.float32 for name in X.columns if name not in words}
    return X.astype(dict.fromkeys(words, "category") | numbers), target


def _concrete(data: Path) -> tuple[Any, Any]:
    return _target_last(pandas.read_csv(data / "concrete" / "concrete.csv").drop(columns="rownames"))


def _airfoil(data: Path) -> tuple[Any, Any]:
    return _target_last(pandas.read_csv(data / "airfoil" / "airfoil_self_noise.dat", header=None, sep="\t"))


def _ccpp(data: Path) -> tuple[Any, Any]:
    return _target_last(pandas.read_csv(data / "ccpp" / "data.txt", header=None, sep="\t"))


def _magic(data: Path) -> tuple[Any, Any]:
    return _target_last(pandas.read_csv(data / "magic04" / "magic04.data", header=None))


def _spambase(data: Path) -> tuple[Any, Any]:
    return _target_last(pandas.read_csv(data / "spambase" / "spambase.data.gz", header=None))


def _iris(data: Path) -> tuple[Any, Any]:
    return _of_arff(data / "iris" / "iris.arff")


def _credit(data: Path) -> tuple[Any, Any]:
    return _of_arff(data / "credit-g" / "credit-g.arff")


def _of_arff(path: Path) -> tuple[Any, Any]:
    """A file of numbers and words without missing cells, whose last column is the target."""
    with path.open() as file:
        table = pandas.DataFrame(arff.loadarff(file)[0])
    words = [name for name in table.columns if table[name].dtype == object]
    X, target = _target_last(table.assign(**{name: table[name].str.decode("utf-8") for name in words}))
    return X.astype(dict.fromkeys((name for name in words if name in X), "category")), target


def _target_last(table: Any) -> tuple[Any, Any]:
    """Columns without a name are called c0, c1, ..."""
    table.columns = [name if isinstance(name, str) else f"c{name}" for name in table.columns]
    return table.iloc[:, :-1], table.iloc[:, -1]


_READERS = {
    "airfoil": _airfoil,
    "ccpp": _ccpp,
    "kddcup99": _kdd,
    "concrete": _concrete,
    "magic04": _magic,
    "spambase": _spambase,
    "iris": _iris,
    "credit-g": _credit,
    "diamonds": diamonds,
}
