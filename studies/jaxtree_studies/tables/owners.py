"""The tables of a study of defaults: as their owners wrote them, with columns of words as categories.

Rows of classes that fewer than `LEAST_OF_A_CLASS` rows have are left out, and of large tables rows are drawn.
"""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
from scipy.io import arff

from jaxtree_studies.tables.readers import read_real

LEAST_OF_A_CLASS = 6
MOST_ROWS = 12_000


class Format(NamedTuple):
    """How a text file is read.

    Attributes:
        files: One or more, in the folder of the data, rows behind one another.
        target: The place of the target among the columns; negative from the end.
        drop: The places of identifiers and of what is the target in other words.
        separator: The separator of cells.
        header: The number of the line with names; None for none.
        skip: Lines before the data.
        of: Makes the target of its cells; None for the cells.
    """

    files: tuple[str, ...]
    target: int = -1
    drop: tuple[int, ...] = ()
    separator: str = ","
    header: int | None = None
    skip: int = 0
    of: Callable[[pandas.Series], Any] | None = None


def _above_0(cells: pandas.Series) -> Any:
    return (cells > 0).astype(int)


FORMATS = {
    "absenteeism": Format(("gradtree/absenteeism.csv",), drop=(0,), separator=";", header=0, of=lambda x: (x > 4) * 1),
    "anneal": Format(("gradtree/anneal.data",)),
    "bank": Format(("gradtree/bank.csv.gz",), separator=";", header=0),
    "cervical": Format(("gradtree/cervical.csv",), header=0),
    "cmc": Format(("gradtree/cmc.data",)),
    "credit-card": Format(("gradtree/credit-card.csv.gz",), drop=(0,), header=0),
    "dermatology": Format(("gradtree/dermatology.data",)),
    "flare": Format(("gradtree/flare.data1", "gradtree/flare.data2"), -3, (-2, -1), r"\s+", skip=1, of=_above_0),
    "heart-cleveland": Format(("gradtree/heart-cleveland.data",), of=_above_0),
    "heart-failure": Format(("gradtree/heart-failure.csv",), header=0),
    "hepatitis": Format(("gradtree/hepatitis.data",), 0),
    "horse-colic": Format(("gradtree/horse-colic.data", "gradtree/horse-colic.test"), 23, (2, 24, 25, 26), r"\s+"),
    "lymphography": Format(("gradtree/lymphography.data",), 0),
    "landsat": Format(("gradtree/sat.trn.gz", "gradtree/sat.tst.gz"), separator=r"\s+"),
    "segmentation": Format(("gradtree/segmentation.data", "gradtree/segmentation.test.gz"), 0, skip=5),
    "thyroid": Format(("gradtree/thyroid0387.data.gz",), of=lambda x: x.str.extract(r"^([^\[]*)")[0].str[0]),
    "transfusion": Format(("gradtree/transfusion.data",), header=0),
    "wdbc": Format(("gradtree/wdbc.data",), 1, (0,)),
    "car": Format(("car/car.data",)),
    "balance-scale": Format(("balance-scale/balance-scale.data",), 0),
    "kr-vs-kp": Format(("kr-vs-kp/kr-vs-kp.data",)),
    "breast-cancer-wisconsin": Format(("breast-cancer-wisconsin/breast-cancer-wisconsin.data",), drop=(0,)),
    "banknote": Format(("banknote/banknote_authentication.csv",)),
    "connect-4": Format(("connect-4-binary/connect-4-binary.csv.gz",), header=0),
    "higgs": Format(("lightgbm-binary/binary.train", "lightgbm-binary/binary.test"), 0, separator="\t"),
    "penguins": Format(("penguins/penguins.csv",), 1, (0,), header=0),
    "wine": Format(("wine/wine.csv",)),
    "poker": Format(("poker/poker-hand-training-true.data",), header=0),
    "wine-red": Format(("winequality/winequality-red.csv",), separator=";", header=0),
    "wine-white": Format(("winequality/winequality-white.csv",), separator=";", header=0),
}
ARFF = ("breast-cancer", "credit-g", "diabetes", "glass", "hypothyroid", "ionosphere", "soybean", "vote")
OTHERS = (
    *("abalone", "adult", "airfoil", "ccpp", "concrete", "covtype-20k", "diamonds", "letter", "magic04", "mushroom"),
    *("nursery", "spambase", "tic-tac-toe"),
)
NUMBERS = frozenset({"abalone", "airfoil", "ccpp", "concrete", "diamonds", "wine-red", "wine-white"})
"""Tables whose target is a number."""

NAMES = tuple(sorted([*FORMATS, *ARFF, *OTHERS, "splice"]))


def read_owned(name: str, data: Path) -> tuple[pandas.DataFrame, np.ndarray]:
    """Returns the columns and the target of a table: codes of classes, or numbers."""
    X, y = with_categories(*read_cells(name, data))
    if name not in NUMBERS:
        y = y.astype(str)
        is_kept = (y.map(y.value_counts()) >= LEAST_OF_A_CLASS).to_numpy()
        X, y = X.loc[is_kept].reset_index(drop=True), y.loc[is_kept]
    rows = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    X, y = X.iloc[rows].reset_index(drop=True), y.iloc[rows]
    if name in NUMBERS:
        return X, y.to_numpy(float)
    return X, np.unique(y, return_inverse=True)[1]


def with_categories(X: pandas.DataFrame, y: Any) -> tuple[pandas.DataFrame, pandas.Series]:
    """Returns columns c0, c1, ..., those of words as categories, and the target."""
    X = X.reset_index(drop=True)
    X.columns = [f"c{place}" for place in range(X.shape[1])]
    for column in X:
        if not pandas.api.types.is_numeric_dtype(X[column]):
            X[column] = X[column].astype("category")
    return X, pandas.Series(np.asarray(y))


def read_cells(name: str, data: Path) -> tuple[pandas.DataFrame, Any]:
    """Returns the columns and the target of a table as they stand in its files."""
    if name in FORMATS:
        return read_text(FORMATS[name], data)
    if name in ARFF:
        return _of_arff(data / name / f"{name}.arff")
    if name == "splice":
        table = pandas.read_csv(data / "gradtree" / "splice.data.gz", header=None, skipinitialspace=True)
        return pandas.DataFrame(list(map(list, table[2].str.strip()))), table[0]
    return read_real(name, data)


def read_text(own: Format, data: Path) -> tuple[pandas.DataFrame, Any]:
    """Returns the columns and the target of a table of such a format; no rows without a target."""
    options = {"sep": own.separator, "na_values": ["?"], "skipinitialspace": True, "engine": "python"}
    parts = [
        pandas.read_csv(data / file, header=own.header, skiprows=own.skip, **options).dropna(axis=1, how="all")
        for file in own.files
    ]
    table = pandas.concat(parts, ignore_index=True)
    places = list(range(table.shape[1]))
    target, dropped = places[own.target], {places[place] for place in own.drop}
    y = table.iloc[:, target]
    table = table[y.notna()]
    y = y[y.notna()]
    kept = [place for place in places if place != target and place not in dropped]
    return table.iloc[:, kept], y if own.of is None else own.of(y)


def _of_arff(path: Path) -> tuple[pandas.DataFrame, Any]:
    text = path.read_text().replace("'?'", "?").replace(", ", ",")
    table = pandas.DataFrame(arff.loadarff(io.StringIO(text))[0])
    for column in table:
        if table[column].dtype == object:
            words = table[column].str.decode("utf-8")
            table[column] = words.where(words != "?")
    return table.iloc[:, :-1], table.iloc[:, -1]
