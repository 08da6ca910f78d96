"""Warnings about real tables, which know of no identifiers, no leaks, and of many rows that do repeat.

They are read where a folder of them is, named by JAXTREE_TABLES; else these tests skip, and say so.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree_studies.tables.owners import NAMES, NUMBERS, read_cells

FOLDER = os.environ.get("JAXTREE_TABLES", "")
pytestmark = pytest.mark.skipif(not Path(FOLDER, "credit-g").is_dir(), reason="no folder JAXTREE_TABLES of real tables")

REPEATED = {
    *(
        "absenteeism",
        "banknote",
        "cervical",
        "concrete",
        "hypothyroid",
        "letter",
        "segmentation",
        "soybean",
        "spambase",
    ),
    *("splice", "wine-red", "wine-white"),
}
"""Tables in which rows stand more than once."""


def described(name, change=lambda X: X):
    X, y = read_cells(name, Path(FOLDER))
    X = change(X.reset_index(drop=True).rename(columns=str))
    return jaxtree.describe(X, np.asarray(y, float if name in NUMBERS else str))


@pytest.mark.parametrize("name", NAMES)
def test_no_column_is_taken_for_an_identifier_or_a_leak(name):
    kinds = {own.kind for own in described(name).warnings}
    assert not kinds & {"identifier", "leak", "dates as words", "numbers as words"}
    assert ("repeated rows" in kinds) == (name in REPEATED)


def test_an_identifier_of_credit_is_found():
    found = described("credit-g", lambda X: X.assign(name=[f"customer {row}" for row in range(len(X))]))
    assert [(own.kind, own.columns) for own in found.warnings] == [("identifier", ("name",))]


def test_a_leak_into_concrete_is_found():
    _, y = read_cells("concrete", Path(FOLDER))
    strength = pd.Series(np.asarray(y, float)) * 0.145
    found = described("concrete", lambda X: X.assign(psi=strength.round(2)))
    assert ("leak", ("psi",)) in [(own.kind, own.columns) for own in found.warnings]
