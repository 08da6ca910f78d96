"""Runs what estimators are exported to: SQL in SQLite, C by a compiler, ONNX by its runtime."""

import ctypes
import sqlite3
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

import jaxtree
from jaxtree.table.words import value_in_words


def as_frame(X):
    """The rows as a frame of pandas, the columns of an array named as fit names them."""
    return X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])


def run_sql(expression, X):
    """The value of an expression for every row, in SQLite."""
    frame = as_frame(X)
    names = ", ".join(f'"{name}"' for name in frame.columns)
    with sqlite3.connect(":memory:") as database:
        database.execute(f"CREATE TABLE rows ({names})")
        rows = frame.astype(object).where(frame.notna(), None).values.tolist()
        database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * frame.shape[1])})", rows)
        return [value for (value,) in database.execute(f"SELECT {expression} FROM rows ORDER BY rowid")]


def compile_c(compiler, text, folder):
    """The functions of a file of C, which compiles without a warning."""
    (folder / "tree.c").write_text(text)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wno-unused-function", "-pedantic", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "tree.c", "-o", "tree.so", "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "tree.so"))


def run_c(library, estimator, X):
    """The results of the compiled functions for every row: outputs, and classes if it has some."""
    if not is_classifier(estimator):
        return c_rows(library, library.tree_predict, estimator, X, 1), []
    outputs = c_rows(library, library.tree_predict_proba, estimator, X, len(estimator.classes_))
    return outputs, c_rows(library, library.tree_predict, estimator, X, 0)


def c_rows(library, function, estimator, X, num_outputs):
    """The result of a compiled function for every row: so many outputs, or its return value if these are 0."""
    library.tree_code.restype = ctypes.c_double
    frame, columns, said = as_frame(X), estimator.encoder_.schema_.columns, []
    for values in frame.astype(object).where(frame.notna(), None).values.tolist():
        row = (ctypes.c_double * len(values))(
            *(
                _number(library, place, column, value)
                for place, (column, value) in enumerate(zip(columns, values, strict=True))
            )
        )
        output = (ctypes.c_double * num_outputs)()
        returned = function(row, output) if num_outputs else function(row)
        said.append(list(output) if num_outputs else returned)
    return np.array(said)


def _number(library, place, column, value):
    if value is None:
        return float("nan")
    if column.kind in ("numeric", "boolean"):
        return float(value)
    return library.tree_code(place, value_in_words(value).encode())


def as_numbers(estimator, X):
    """Rows as models of numbers alone read them: words as places among the categories, NaN for what is missing."""
    columns = []
    for column, (_, values) in zip(estimator.schema_.columns, as_frame(X).items(), strict=True):
        if column.kind in ("numeric", "boolean"):
            columns.append(values.to_numpy(np.float64))
        else:
            place = {word: number for number, word in enumerate(column.categories)} | {None: np.nan}
            rest = np.nan if column.rare_words is None else len(column.categories) - 1
            known = values.astype(object).where(values.notna(), None)
            columns.append(np.array([place.get(word, rest) for word in known]))
    return np.stack(columns, axis=1)


def run_onnx(estimator, X, dtype, **options):
    """The outputs of a model by name."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(jaxtree.to_onnx(estimator, dtype=dtype, **options).SerializeToString())
    given = {}
    for column in session.get_inputs():
        if column.name == "X":
            given["X"] = np.asarray(X, dtype)
        elif column.type == "tensor(string)":
            words = ["" if word is None or word != word else word for word in X[column.name].astype(object)]
            given[column.name] = np.array(words, object)[:, None]
        else:
            given[column.name] = X[column.name].to_numpy(dtype)[:, None]
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, given), strict=True))
