"""Exports refuse before they work what they cannot do: options, names and words are looked at first."""

import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree.errors import InvalidInputError, MissingExtraError
from jaxtree.export import ensembles, node_tables, programs, sql
from tests.examples import example

X = np.arange(12.0)[:, None]
BOOL = np.arange(12) % 2 == 0


def of_words(words, *, name="w", y=None):
    frame = pd.DataFrame({name: pd.Series(np.resize(words, 12)).astype("category"), "n": X[:, 0]})
    return jaxtree.DecisionTreeClassifier().fit(frame, BOOL if y is None else y)


CASES = {
    "sql, forest without a share": (lambda: jaxtree.to_sql(example("forest")), "share_of"),
    "sql, dialect": (lambda: jaxtree.to_sql(example("cart"), dialect="SQL"), "dialect must be one of"),
    "sql, a zero in a word": (lambda: jaxtree.to_sql(of_words(["a\0c", "b"])), "zero character"),
    "c, name": (lambda: jaxtree.to_c(example("forest"), name="1x"), "name must be letters"),
    "c, a zero in a word": (lambda: jaxtree.to_c(of_words(["a\0c", "b"])), "zero character"),
    "onnx, dtype": (lambda: jaxtree.to_onnx(example("forest"), dtype=np.float16), "dtype must be float32 or float64"),
    "onnx, name": (lambda: jaxtree.to_onnx(of_words(["a", "b"], name="label")), "is the name of an output"),
    "onnx, classes": (lambda: jaxtree.to_onnx(of_words(["a", "b"], y=BOOL * 1.0)), "ONNX has labels of"),
    "onnx, categories": (lambda: jaxtree.to_onnx(of_words([0.1, 0.2])), "no type for the categories"),
    "jax, rows": (lambda: jaxtree.to_jax_export(example("forest"), num_rows=0), "num_rows must be None or an integer"),
    "jax, platforms": (lambda: jaxtree.to_jax_export(example("forest"), platforms=["toaster"]), "platforms must be"),
    "frame, backend": (lambda: jaxtree.to_dataframe(example("forest"), backend="excel"), "backend must be one of"),
    "frame, not installed": (lambda: jaxtree.to_dataframe(example("forest"), backend="modin"), "needs it installed"),
    "page, half of a table": (lambda: jaxtree.to_html(example("cart"), X_val=X), "X_val and y_val go together"),
    "page, tree": (lambda: jaxtree.to_html(example("forest"), tree=9), "tree must be a whole number from 0 to 2"),
    "text, style": (lambda: jaxtree.export_text(example("cart"), style="java"), "style must be one of"),
    "text, names": (lambda: jaxtree.export_text(example("cart"), feature_names=["a"]), "got 1 names"),
    "dot, depth": (lambda: jaxtree.to_graphviz(example("cart"), max_depth=-1), "max_depth must be None or"),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_before_the_work(name, monkeypatch):
    if name.startswith("onnx"):
        pytest.importorskip("onnx")
    call, message = CASES[name]

    def work(*_, **__):
        raise AssertionError("worked before it looked")

    for room in (ensembles, programs, sql):
        monkeypatch.setattr(room, "questions_of_forest", work)
    monkeypatch.setattr(node_tables, "_columns", work)
    monkeypatch.setattr(programs, "_function", work)
    with pytest.raises((InvalidInputError, MissingExtraError), match=message):
        call()
