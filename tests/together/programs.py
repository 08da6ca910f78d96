"""Uses of a model outside Python: in SQL, ONNX, C, stored programs of JAX, treelite and scikit-learn.

Each runs what was exported on rows that the model has not seen, and compares what comes out with what is predicted.
"""

import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier

import jaxtree
from tests.export import running
from tests.together.models import Model
from tests.together.rows import answers, hard, rows_beside

DOUBLE = {"rtol": 1e-9, "atol": 1e-9}
"""Tolerances of forms that compute in doubles, in another order or by other exponentials."""
SINGLE = {"rtol": 1e-4, "atol": 1e-5}
"""Tolerances of forms that compute in float32."""


def assert_close(estimator: Any, said: Any, expected: Any) -> None:
    """Compares what a program says: bit for bit of means over trees, nearly of links and of sums over columns."""
    model = getattr(hard(estimator), "model_", None)
    is_exact = model is not None and model.link is None and not hasattr(type(hard(estimator)), "planes")
    # SQL adds more trees in brackets, of which each is rounded.
    is_exact = is_exact and model.forest.first_node.size <= 200
    tolerance = {"rtol": 0.0, "atol": 0.0} if is_exact else DOUBLE
    np.testing.assert_allclose(np.reshape(said, expected.shape), expected, **tolerance)


def sqlite(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """The expression of SQL says in SQLite what is predicted."""
    _in_sql(model, rows, "sqlite", running.run_sql)


def duckdb(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """The expression of SQL says in DuckDB what is predicted."""
    database = pytest.importorskip("duckdb")

    def run(expression: str, X: Any) -> list:
        frame = running.as_frame(X)
        with database.connect() as opened:
            opened.register("frame", frame.assign(row_number=np.arange(len(frame))))
            found = opened.execute(f"SELECT {expression} FROM frame ORDER BY row_number").fetchall()
        return [value for (value,) in found]

    _in_sql(model, rows, "duckdb", run)


def _in_sql(model: Model, rows: Any, dialect: str, run: Callable[[str, Any], list]) -> None:
    rows, options = rows_of_programs(model, rows)
    expected = answers(model.estimator, rows)
    asked: list[dict[str, Any]] = [{}]
    if is_classifier(model.estimator) and expected.shape[1] == len(model.estimator.classes_):
        asked = [{"share_of": name} for name in model.estimator.classes_.tolist()]
    elif expected.shape[1] > 1:
        asked = [{"score": place} for place in range(expected.shape[1])]
    expressions = [jaxtree.to_sql(model.estimator, dialect=dialect, **own, **options) for own in asked]
    named = _named(model, rows)
    said = [run(expression, named) for expression in expressions]
    assert_close(model.estimator, np.array(said, float).T, expected)


def _named(model: Model, rows: Any) -> Any:
    """The rows with the names of columns that programs have: those that are no words are x0, x1, ..."""
    return rows if isinstance(rows, np.ndarray) else rows.set_axis(hard(model.estimator).schema_.column_names, axis=1)


def onnx(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """The models of ONNX, of float32 and of float64, predict the same."""
    rows, options = rows_of_programs(model, rows)
    for dtype, own in ((np.float32, _in_single(rows)), (np.float64, rows)):
        said = running.run_onnx(model.estimator, _named(model, own), dtype, **options)
        is_of_classes = is_classifier(model.estimator)
        assert_close(
            model.estimator, said["probabilities" if is_of_classes else "variable"], answers(model.estimator, own)
        )
        if is_of_classes:
            np.testing.assert_array_equal(said["label"], model.estimator.predict(own))


def c(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """The program in C predicts the same."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    rows, options = rows_of_programs(model, rows)
    library = running.compile_c(compiler, jaxtree.to_c(model.estimator, **options), folder)
    own, expected = hard(model.estimator), answers(model.estimator, rows)
    function = library.tree_predict
    if is_classifier(model.estimator):
        function = library.tree_predict_proba
        places = running.c_rows(library, library.tree_predict, own, rows, 0)
        np.testing.assert_array_equal(model.estimator.classes_[places], model.estimator.predict(rows))
    said = running.c_rows(library, function, own, rows, expected.shape[1])
    assert_close(model.estimator, said, expected)


def jax_export(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """The program that JAX stores predicts the same."""
    from jax import export

    stored = jaxtree.to_jax_export(model.estimator).serialize()
    rows = _in_single(rows)
    values = hard(model.estimator).encoder_.values(rows).astype(np.float32)
    said = export.deserialize(stored).call(values)
    parts = list(said) if isinstance(said, tuple | list) else [said]
    place = 1 if is_classifier(model.estimator) else 0
    expected = answers(model.estimator, rows)
    np.testing.assert_allclose(np.reshape(parts[place], expected.shape), expected, **SINGLE)


def treelite(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """The model of treelite predicts the same, of two boosted classes the second."""
    library = pytest.importorskip("treelite")
    rows, options = rows_of_programs(model, rows)
    own, expected = hard(model.estimator), answers(model.estimator, rows)
    exported = jaxtree.to_treelite(model.estimator, **options)
    said = library.gtil.predict(exported, running.as_numbers(own, rows))
    link = own.model_.link
    if link is not None and is_classifier(own) and expected.shape[1] == 2:
        expected = expected[:, 1:]
    if link is not None and is_classifier(own) and expected.shape[1] > 1:
        # treelite's softmax has 32 bits.
        np.testing.assert_allclose(said.reshape(expected.shape), expected, **SINGLE)
    else:
        assert_close(model.estimator, said, expected)


def scikit_learn(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """The tree of scikit-learn predicts the same of numbers that float32 has."""
    exported = jaxtree.to_sklearn(model.estimator, **rows_of_programs(model, rows)[1])
    rows = _in_single(rows_of_programs(model, rows)[0])
    cells = rows if isinstance(rows, np.ndarray) else rows.to_numpy(np.float64)
    assert_close(model.estimator, answers(exported, cells), answers(model.estimator, rows))
    np.testing.assert_array_equal(exported.predict(cells), model.estimator.predict(rows))
    np.testing.assert_array_equal(exported.apply(cells), hard(model.estimator).apply(rows))


def rows_of_programs(model: Model, rows: Any) -> tuple[Any, dict[str, bool]]:
    return (rows_beside(model.X, known=True), {"no_missing": True}) if _shares_out(model) else (rows, {})


def _shares_out(model: Model) -> bool:
    """Whether a tree shares rows with missing values out, which programs do for rows without them alone."""
    predictor = getattr(getattr(hard(model.estimator), "model_", None), "predictor", None)
    return bool(predictor is not None and np.any(predictor.shares_out))


def _in_single(rows: Any) -> Any:
    """The rows with numbers that float32 has."""
    if isinstance(rows, np.ndarray):
        return rows.astype(np.float32).astype(np.float64)
    return rows.astype({name: np.float32 for name, own in rows.items() if own.dtype == np.float64})
