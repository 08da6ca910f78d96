"""The second table: what users do with a model, each use compared with what the model predicts.

A use is a function of a model of `models.py`, of rows that it has not seen, and of an empty folder. It does what a user
does, and compares what comes out with `predict`, or with `predict_proba` of a classifier. Where a model has no such
use, the error is the user's.
"""

import pathlib
import pickle
import shutil
from collections.abc import Callable
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score

import jaxtree
from jaxtree.estimators.common.prediction import FittedTree
from tests.export import running
from tests.page.pages import told_by
from tests.together.models import Model

DOUBLE = {"rtol": 1e-9, "atol": 1e-9}
"""Of forms that compute in doubles, in another order or by other exponentials."""
SINGLE = {"rtol": 1e-4, "atol": 1e-5}
"""Of forms that compute in float32."""


def rows_beside(X: Any, number: int = 80, *, known: bool = False) -> Any:
    """Rows of values at, between and beside those of the fit, all words, and missing and unseen ones unless `known`."""
    draw = np.random.default_rng(0)
    if isinstance(X, np.ndarray):
        return np.stack([_drawn(pd.Series(own), number, draw, known) for own in X.T], axis=1).astype(np.float64)
    return pd.DataFrame({name: _drawn(own, number, draw, known) for name, own in X.items()})


def _drawn(column: pd.Series, number: int, draw: np.random.Generator, known: bool) -> Any:
    if column.dtype.kind == "f":
        seen = np.unique(column.dropna())
        values = np.concatenate([seen, (seen[1:] + seen[:-1]) / 2, [seen[0] - 1, seen[-1] + 1]])
        values = np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)])
        values = np.concatenate([values, [0.0, -0.0, 1e-40, -1e30], [] if known else [np.nan] * 8])
        return draw.choice(values, number)
    if column.dtype.kind == "b":
        return draw.choice([True, False], number)
    words = list(pd.unique(column.dropna())) + ([] if known else [None, "never seen"])
    return pd.Series(np.array(words, object)[draw.integers(len(words), size=number)], dtype=object)


def answers(estimator: Any, X: Any) -> np.ndarray:
    """What a model predicts, a column a class or a number."""
    found = estimator.predict_proba(X) if is_classifier(estimator) else estimator.predict(X)
    found = np.concatenate(found, axis=1) if isinstance(found, list) else np.asarray(found)
    return found.reshape(len(found), -1)


def assert_close(estimator: Any, said: Any, expected: Any) -> None:
    """Compares what a program says: bit for bit of means over trees, nearly of links and of sums over columns."""
    model = getattr(hard(estimator), "model_", None)
    is_exact = model is not None and model.link is None and not hasattr(type(hard(estimator)), "planes")
    # SQL adds more trees in brackets, of which each is rounded.
    is_exact = is_exact and model.forest.first_node.size <= 200
    tolerance = {"rtol": 0.0, "atol": 0.0} if is_exact else DOUBLE
    np.testing.assert_allclose(np.reshape(said, expected.shape), expected, **tolerance)


def hard(estimator: Any) -> Any:
    """The model itself, of a search the best one."""
    return getattr(estimator, "best_estimator_", estimator)


def explained_form(estimator: Any) -> Any:
    """The model that explanations are of: of a soft one its hardened form."""
    own = hard(estimator)
    return own.harden() if hasattr(type(own), "harden") else own


def page(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """Every row of the page is predicted as the model predicts it, and the curve's mark lies on the curve."""
    given = {"X_val": rows, "y_val": np.resize(model.y, len(rows))} if not model.extras and model.y.ndim == 1 else {}
    extras = {name: value for name, value in model.extras.items() if name != "eval_set"}
    told = told_by(jaxtree.to_html(model.estimator, model.X, model.y, **extras, **given))
    offset = {"offset": extras["offset"]} if "offset" in extras else {}
    tables = [(model.X, offset), *([(rows, {})] if given else [])]
    assert told["rows"], "a page of rows has none"
    for shown, (X, own) in zip(told["rows"], tables, strict=True):
        number = np.array(shown["number"])
        said = np.ravel(shown["said"])
        expected = np.asarray(model.estimator.predict(X, **own))[number]
        if is_classifier(model.estimator):
            assert [str(name) for name in said] == [str(name) for name in expected]
        else:
            np.testing.assert_allclose(said.astype(float), expected.reshape(len(number), -1)[:, 0], rtol=1e-3)
    for card in told["cards"].values():
        for chart in card["charts"].values():
            if "mark" in chart and chart["mark"] is not None and chart.get("series"):
                assert chart["mark"] <= max(len(series["y"]) for series in chart["series"])


def explanation(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """`explain_row` names what is predicted, and its parts add up to the score."""
    for place in (0, 3, len(rows) - 1):
        row = rows.iloc[[place]] if isinstance(rows, pd.DataFrame) else rows[[place]]
        explained, own = jaxtree.explain_row(model.estimator, row), explained_form(model.estimator)
        predicted = np.ravel(own.predict(row))[0]
        assert ("agreement" in getattr(explained, "note", "")) == (own is not hard(model.estimator))
        if is_classifier(own):
            assert explained.prediction == predicted
            assert explained.share == pytest.approx(own.predict_proba(row).max())
        else:
            assert explained.prediction == pytest.approx(predicted)
        if hasattr(explained, "contributions"):
            total = explained.base + sum(part.score for part in explained.contributions)
            assert total == pytest.approx(explained.score)
        assert str(explained)


def shapley(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """Shapley values and the base add up to the scores, or to what is predicted; pairs of columns add up to them."""
    own = explained_form(model.estimator)
    expected = own.raw_scores(rows) if hasattr(own, "raw_scores") else answers(own, rows)
    explained = jaxtree.explain.shap_values(model.estimator, rows)
    total = (explained.values.sum(axis=1) + explained.base).reshape(len(rows), -1)
    np.testing.assert_allclose(total, expected, rtol=1e-6, atol=1e-8)
    few = rows[:5]
    pairs = jaxtree.explain.shap_interaction_values(model.estimator, few).values
    np.testing.assert_allclose(pairs.sum(axis=2), explained.values[:5], rtol=1e-6, atol=1e-8)


def _in_sql(model: Model, rows: Any, dialect: str, run: Callable[[str, Any], list]) -> None:
    rows, options = _rows_of_programs(model, rows)
    expected = answers(model.estimator, rows)
    asked: list[dict[str, Any]] = [{}]
    if is_classifier(model.estimator) and model.y.ndim == 1:
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


def _shares_out(model: Model) -> bool:
    """Whether a tree shares rows with missing values out, which programs do for rows without them alone."""
    predictor = getattr(getattr(hard(model.estimator), "model_", None), "predictor", None)
    return bool(predictor is not None and np.any(predictor.shares_out))


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


def onnx(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """The models of ONNX, of float32 and of float64, predict the same."""
    rows, options = _rows_of_programs(model, rows)
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
    rows, options = _rows_of_programs(model, rows)
    library = running.compile_c(compiler, jaxtree.to_c(model.estimator, **options), folder)
    own, expected = hard(model.estimator), answers(model.estimator, rows)
    function = library.tree_predict
    if is_classifier(model.estimator):
        function = library.tree_predict_proba
        places = running.c_rows(library, library.tree_predict, own, rows, 0)
        np.testing.assert_array_equal(model.estimator.classes_[places], model.estimator.predict(rows))
    said = running.c_rows(library, function, own, rows, expected.shape[1])
    assert_close(model.estimator, said, expected)


def _rows_of_programs(model: Model, rows: Any) -> tuple[Any, dict[str, bool]]:
    return (rows_beside(model.X, known=True), {"no_missing": True}) if _shares_out(model) else (rows, {})


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


def _in_single(rows: Any) -> Any:
    """The rows with numbers that float32 has."""
    if isinstance(rows, np.ndarray):
        return rows.astype(np.float32).astype(np.float64)
    return rows.astype({name: np.float32 for name, own in rows.items() if own.dtype == np.float64})


def file(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """A model that was saved and loaded predicts the same, bit for bit."""
    model.estimator.save(folder / "model.jaxtree")
    np.testing.assert_array_equal(answers(jaxtree.load(folder / "model.jaxtree"), rows), answers(model.estimator, rows))


def pickled(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """A model that was pickled predicts the same, bit for bit."""
    again = pickle.loads(pickle.dumps(model.estimator))
    np.testing.assert_array_equal(answers(again, rows), answers(model.estimator, rows))


def importances(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """Gains and their shares are those of columns, and a column with neither gain nor splits changes no prediction."""
    gain, size = jaxtree.importances(model.estimator), running.as_frame(model.X).shape[1]
    share = hard(model.estimator).feature_importances_
    assert gain.shape == share.shape == (size,) and (gain >= 0).all()
    assert share.sum() == pytest.approx(1.0 if gain.any() else 0.0)
    used = gain
    if not hasattr(type(hard(model.estimator)), "term_importances_"):
        used = gain + jaxtree.importances(model.estimator, "splits")
    before = answers(model.estimator, rows)
    for place in range(size):
        changed = rows.copy()
        cells = changed.iloc[:, place] if isinstance(rows, pd.DataFrame) else changed[:, place]
        shuffled = np.roll(np.asarray(cells, cells.dtype), 7)
        if isinstance(rows, pd.DataFrame):
            changed[changed.columns[place]] = pd.Series(shuffled, index=changed.index, dtype=cells.dtype)
        else:
            changed[:, place] = shuffled
        if not np.array_equal(answers(model.estimator, changed), before):
            assert used[place] > 0


def dependence(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """Each point of the drawn curve is the mean of what is predicted of rows that have its value."""
    name = model.X.columns[0] if isinstance(model.X, pd.DataFrame) else 0
    ax = jaxtree.plot.plot_dependence(model.estimator, rows, name)
    place = 1 if is_classifier(model.estimator) and len(model.estimator.classes_) == 2 else 0
    x, y = ax.lines[0].get_data()
    is_curve = isinstance(rows, np.ndarray) or rows[name].dtype.kind == "f"
    for point in (0, len(x) // 2, -1) if is_curve else ():
        changed = rows.copy()
        if isinstance(rows, pd.DataFrame):
            changed[name] = x[point]
        else:
            changed[:, 0] = x[point]
        np.testing.assert_allclose(y[point], answers(model.estimator, changed)[:, place].mean(), rtol=1e-6)
    assert ax.get_xlabel() or ax.get_ylabel()
    pyplot.close("all")


def display(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """A notebook shows a tree, or the columns and classes that predictions have, and the loss as the user named it."""
    shown = model.estimator._repr_mimebundle_()["text/html"]
    size = running.as_frame(model.X).shape[1]
    facts = shown[
        shown.rfind(" nodes, " if isinstance(model.estimator, FittedTree) else f">columns</span> <b>{size}<") :
    ]
    assert len(facts) > 1
    if is_classifier(model.estimator) and model.y.ndim == 1:
        assert all(str(name) in facts for name in np.unique(model.estimator.predict(rows)))
    assert "hessian=" not in facts and "num_classes=" not in facts and " object at 0x" not in facts
    assert repr(model.estimator) and str(model.estimator)


def text(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """The printed tree has every class that is predicted, and a line a node."""
    printed = jaxtree.export_text(model.estimator)
    tree = hard(model.estimator).tree_
    assert printed.count("\n") + 1 >= len(np.flatnonzero(tree.is_leaf))
    if is_classifier(model.estimator):
        assert all(str(name) in printed for name in np.unique(model.estimator.predict(rows)))


def learning_curve(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """The curve has what was measured, and its mark stands at a round that it has."""
    ax = jaxtree.plot.plot_learning_curve(model.estimator)
    *curves, mark = ax.lines
    (place, _) = mark.get_xdata()
    assert curves and 1 <= place <= max(len(curve.get_xdata()) for curve in curves)
    own = hard(model.estimator)
    if hasattr(own, "evals_result_"):
        measured = [next(iter(found.values())) for found in own.evals_result_.values()]
        for curve, losses in zip(curves, measured, strict=True):
            np.testing.assert_allclose(curve.get_ydata(), losses)
        shown = own.best_iteration_, own.best_score_
        assert shown[0] >= 1 and np.isfinite(shown[1])
    pyplot.close("all")


def scores(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """`score` is the share of rows that are predicted right, or better than that of shuffled targets."""
    extras = {name: value for name, value in model.extras.items() if name not in ("eval_set", "sample_weight", "group")}
    if "group" in model.extras:
        extras["group"] = model.extras["group"]
    found = model.estimator.score(model.X, model.y, **extras)
    if is_classifier(model.estimator) and not hasattr(model.estimator, "tuned_") and model.y.ndim == 1:
        assert found == pytest.approx(accuracy_score(model.y, model.estimator.predict(model.X)))
        return
    assert np.isfinite(found)
    order = np.random.default_rng(0).permutation(len(model.y))
    if "group" not in extras:
        shuffled = {name: value[order] for name, value in extras.items()}
        assert found >= model.estimator.score(model.X, model.y[order], **shuffled)


def frame(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """Frames of Polars and Arrow, and columns in another order where they have names, are predicted as pandas' are."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    if isinstance(rows, np.ndarray):
        plain = pd.DataFrame(rows)
        np.testing.assert_array_equal(answers(model.estimator, plain), answers(model.estimator, rows))
        return
    expected = answers(model.estimator, rows)
    for own in (polars.from_pandas(rows.rename(columns=str)), pyarrow.Table.from_pandas(rows.rename(columns=str))):
        np.testing.assert_array_equal(answers(model.estimator, own), expected)


def single_row(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """A row alone is predicted as it is among others."""
    expected = answers(model.estimator, rows)
    for place in range(6):
        row = rows.iloc[[place]] if isinstance(rows, pd.DataFrame) else rows[[place]]
        np.testing.assert_array_equal(answers(model.estimator, row)[0], expected[place])


def array(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """An array of NumPy with the same cells is predicted the same."""
    cells = rows.to_numpy(object) if isinstance(rows, pd.DataFrame) else rows.tolist()
    np.testing.assert_array_equal(answers(model.estimator, cells), answers(model.estimator, rows))


USES: dict[str, Callable[[Model, Any, pathlib.Path], None]] = {
    "page": page,
    "explanation": explanation,
    "Shapley values": shapley,
    "SQLite": sqlite,
    "DuckDB": duckdb,
    "ONNX": onnx,
    "C": c,
    "jax.export": jax_export,
    "file": file,
    "pickle": pickled,
    "importances": importances,
    "dependence": dependence,
    "display": display,
    "text": text,
    "learning curve": learning_curve,
    "scores": scores,
    "frame": frame,
    "single row": single_row,
    "array": array,
}
