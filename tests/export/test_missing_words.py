"""Trees that ask whether a word is missing, in other programs: whatever the table, each predicts what jaxtree does."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxtree
from tests.export.test_shipping import assert_same_as_onnx, run_onnx, run_sql

NUM_ROWS = 16
CATEGORIES = {"word": ["a", "b", "c"], "grade": ["low", "high"], "never": []}
KINDS = ("subset", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("forest", "one_vs_rest", "multiway")))
MAKERS = {
    "subset": lambda: jaxtree.DecisionTreeClassifier(),
    "one_vs_rest": lambda: jaxtree.DecisionTreeClassifier(categorical_splits="one_vs_rest"),
    "multiway": lambda: jaxtree.DecisionTreeClassifier(categorical_splits="multiway"),
    "forest": lambda: jaxtree.RandomForestClassifier(3, max_features=None, random_state=0),
}


def table(codes, number):
    """Rows of words, of ordered words, of no word at all, and of numbers; a code of -1 is missing.

    Something is missing in every column, and no value is left out, so that all tables share a program.
    """
    codes, number = [[-1, 0, 1, *own] for own in codes], [-1, 0, 1, *number]
    columns: dict = {
        name: pd.Categorical.from_codes(np.minimum(codes[place], len(words) - 1), words, ordered=name == "grade")
        for place, (name, words) in enumerate(CATEGORIES.items())
    }
    return pd.DataFrame(columns | {"number": np.where(np.array(number) < 0, np.nan, number)})


def row_codes(high):
    return st.lists(st.integers(-1, high), min_size=NUM_ROWS - 3, max_size=NUM_ROWS - 3)


EVERY_ROW = pd.DataFrame(
    [(word, grade, None, number) for word in ("a", "b", "c", None) for grade in ("low", "high", None) for number in
     (0.0, 1.0, np.nan)], columns=["word", "grade", "never", "number"],
).astype({"word": object, "grade": object, "never": object})  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(
    codes=st.tuples(row_codes(2), row_codes(1), row_codes(-1)),
    number=row_codes(1),
    label=st.lists(st.integers(0, 2), min_size=NUM_ROWS - 3, max_size=NUM_ROWS - 3),
)
def test_every_row_is_predicted_the_same(kind, codes, number, label):
    estimator = MAKERS[kind]().fit(table(codes, number), [0, 1, 2, *label])
    assert_same_as_onnx(estimator, EVERY_ROW, run_onnx(estimator, EVERY_ROW, np.float32))
    shares = [run_sql(jaxtree.to_sql(estimator, share_of=label), EVERY_ROW) for label in (0, 1, 2)]
    np.testing.assert_allclose(np.array(shares).T, estimator.predict_proba(EVERY_ROW), rtol=1e-15)
