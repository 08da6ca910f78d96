"""The tables of the studies of GradTree and GRANDE (Marton et al., 2024), with the targets that these have.

Of four of their binary tables there are no files: Titanic, Raisins, Rice and Loan House.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas
from jaxtyping import Int
from sklearn.model_selection import train_test_split

from jaxtree_studies.tables.owners import Format, read_cells, read_text, with_categories

BINARY = {
    "Blood Transfusion": "transfusion",
    "Banknote Authentication": "banknote",
    "Echocardiogram": "echocardiogram",
    "Wisconsin Diagnostic Breast Cancer": "wdbc",
    "Heart Failure": "heart-failure",
    "Heart Disease": "heart-cleveland",
    "Adult": "adult",
    "Bank Marketing": "bank",
    "Congressional Voting": "vote",
    "Absenteeism": "absenteeism",
    "Hepatitis": "hepatitis",
    "German": "credit-g",
    "Mushroom": "mushroom",
    "Credit Card": "credit-card",
    "Horse Colic": "horse-colic",
    "Thyroid": "thyroid",
    "Cervical Cancer": "cervical",
    "Spambase": "spambase",
}
MULTICLASS = {
    "Iris": "iris",
    "Balance Scale": "balance-scale",
    "Car": "car",
    "Glass": "glass",
    "Contraceptive": "cmc",
    "Solar Flare": "flare",
    "Wine": "wine",
    "Zoo": "zoo",
    "Lymphography": "lymphography",
    "Segment": "segmentation",
    "Dermatology": "dermatology",
    "Landsat": "landsat",
    "Annealing": "anneal",
    "Splice": "splice",
}
TITLES = (*BINARY, *MULTICLASS)

FORMATS = {
    "echocardiogram": Format(("gradtree/echocardiogram.data",), 1, (0, 10, 11, 12)),
    "zoo": Format(("gradtree/zoo.data",), drop=(0,)),
    # How many common flares there were, one class a number.
    "flare": Format(("gradtree/flare.data1", "gradtree/flare.data2"), -3, (11, 12), r"\s+", skip=1),
    # Whether there is any condition at all.
    "thyroid": Format(("gradtree/thyroid0387.data.gz",), of=lambda x: x.str.startswith("-") * 1),
    # Three more tests of the same disease are no columns.
    "cervical": Format(("gradtree/cervical.csv",), drop=(32, 33, 34), header=0),
}
"""Tables that the study of defaults does not have, or has with other targets."""

LEAST_OF_A_STRATUM = 10
"""Rows of a class that is divided in the same shares as the table; rarer ones are divided with the largest class."""


class Part(NamedTuple):
    """Some rows of a table.

    Attributes:
        X: The columns.
        y: Codes of classes.
    """

    X: pandas.DataFrame
    y: Int[np.ndarray, " row"]


class Parts(NamedTuple):
    """A table divided for one trial.

    Attributes:
        train: Rows to fit.
        held: Rows on which epochs and settings are compared; all of their classes are in `train`.
        test: Rows to score.
    """

    train: Part
    held: Part
    test: Part


def read_table(title: str, data: Path, most_rows: int | None = None) -> Part:
    """Returns a table by its title in the studies.

    Args:
        title: A key of `BINARY` or `MULTICLASS`.
        data: The folder of the files.
        most_rows: Of more rows so many are drawn; None is all.
    """
    name = (BINARY | MULTICLASS)[title]
    X, y = with_categories(*(read_text(FORMATS[name], data) if name in FORMATS else read_cells(name, data)))
    X = X.drop(columns=[name for name in X if X[name].unique().size < 2])
    rows = np.random.default_rng(0).permutation(len(X))[:most_rows]
    return Part(
        pandas.DataFrame(X.iloc[rows]).reset_index(drop=True), np.unique(y.astype(str), return_inverse=True)[1][rows]
    )


def divide(table: Part, trial: int) -> Parts:
    """Returns a fifth of the rows for tests, and a fifth of the others to compare on; every trial divides anew."""
    others, test = part_in_two(table, trial)
    train, held = part_in_two(others, trial)
    is_known = np.isin(held.y, train.y)
    return Parts(train, Part(held.X.loc[is_known], held.y[is_known]), test)


def part_in_two(table: Part, seed: int) -> tuple[Part, Part]:
    """Returns four fifths of the rows and the others, of about the same shares of classes."""
    one, other = train_test_split(np.arange(len(table.y)), test_size=0.2, random_state=seed, stratify=strata(table.y))
    one, other = (Part(pandas.DataFrame(table.X.iloc[rows]), table.y[rows]) for rows in (one, other))
    return one, other


def strata(y: Int[np.ndarray, " row"]) -> Int[np.ndarray, " row"]:
    """Returns classes of which none is rare.

    >>> strata(np.array([0] * 20 + [1] * 12 + [2])).tolist()[-2:]
    [1, 0]
    """
    number = np.bincount(y)
    return np.where(number[y] < LEAST_OF_A_STRATUM, number.argmax(), y)
