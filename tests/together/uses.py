"""The second table: what users do with a model, each use compared with what the model predicts.

A use is a function of a model of `models.py`, of rows that it has not seen, and of an empty folder. It does what a user
does, and compares what comes out with `predict`, or with `predict_proba` of a classifier. Where a model has no such
use, the error is the user's.
"""

import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score

import jaxtree
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.export.models import drawn_model
from jaxtree.sklearn_compat import safe_indexing
from jaxtree.tree.kinds import ModelKind
from tests.export import running
from tests.page.pages import told_by
from tests.plot.test_dependence import points_of
from tests.together.models import Model
from tests.together.programs import (
    DOUBLE,
    c,
    duckdb,
    jax_export,
    onnx,
    rows_of_programs,
    scikit_learn,
    sqlite,
    treelite,
)
from tests.together.rows import answers, explained_form, hard


def page(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """Every row of the page is predicted as the form that it shows predicts, and the curve's mark lies on the curve."""
    own_form = explained_form(model.estimator)
    given = {"X_val": rows, "y_val": np.resize(model.y, len(rows))} if not model.extras and model.y.ndim == 1 else {}
    extras = {name: value for name, value in model.extras.items() if name != "eval_set"}
    told = told_by(jaxtree.to_html(model.estimator, model.X, model.y, **extras, **given))
    offset = {"offset": extras["offset"]} if "offset" in extras else {}
    tables = [(model.X, offset), *([(rows, {})] if given else [])]
    assert told["rows"], "a page of rows has none"
    for shown, (X, own) in zip(told["rows"], tables, strict=True):
        number = np.array(shown["number"])
        said = np.ravel(shown["said"])
        expected = np.asarray(own_form.predict(X, **own))[number]
        if is_classifier(model.estimator):
            assert [str(name) for name in said] == [str(name) for name in expected]
        else:
            np.testing.assert_allclose(said.astype(float), expected.reshape(len(number), -1)[:, 0], rtol=1e-3)
        if X is model.X and "sentences" in shown:  # of other rows a page knows no words that the fit has not seen
            row = X.iloc[number[-1:]] if isinstance(X, pd.DataFrame) else X[number[-1:]]
            assert shown["sentences"][-1] == jaxtree.explain_row(own_form, row).sentence
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
    x, y = points_of(ax.lines[0])
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
    facts = shown[shown.rfind(" nodes, " if isinstance(model.estimator, BaseTree) else f">columns</span> <b>{size}<") :]
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
    if isinstance(model.estimator, jaxtree.InstrumentalForest):
        return  # one effect for all may fit few rows better
    order = np.random.default_rng(0).permutation(len(model.y))
    if "group" not in extras:
        shuffled = {name: value[order] for name, value in extras.items()}
        assert found >= model.estimator.score(model.X, safe_indexing(model.y, order), **shuffled)


def data_frame(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """The rows of the frame at which walks end say what is predicted: their mean, or the sum of their steps."""
    rows, _ = rows_of_programs(model, rows)
    own, frame = hard(model.estimator), jaxtree.to_dataframe(model.estimator)
    is_plane, expected = own.model_kind == ModelKind.PLANES, answers(model.estimator, rows)
    fitted = drawn_model(own) if is_plane else own.model_
    ends = own.apply(rows)[:, None] if is_plane else fitted.predictor.ends_in_trees(own.encoder_.values(rows))
    assert frame["num_rows"].tolist() == fitted.tree.num_rows.tolist()
    steps = frame[[name for name in frame if name.startswith(("step", "weighted score", "weight in mean"))]]
    of_trees = steps.to_numpy(float)[ends].sum(axis=1)
    if fitted.link is None:
        names = [f"share of {name}" for name in own.classes_] if is_classifier(own) else ["prediction"]
        np.testing.assert_allclose(frame[names].to_numpy(float)[ends].mean(axis=1), expected, **DOUBLE)
    elif own.model_kind == ModelKind.MOMENT:
        means = frame[[name for name in frame if name.startswith("mean of statistic")]].to_numpy(float)[ends]
        np.testing.assert_allclose(fitted.link.predict_on_host(means.mean(axis=1).T).T, expected, **DOUBLE)
    elif fitted.link.is_ratio:
        np.testing.assert_allclose(of_trees[:, :-1] / of_trees[:, -1:], own.raw_scores(rows), **DOUBLE)
    else:
        np.testing.assert_allclose(own.start_ + of_trees, own.raw_scores(rows), **DOUBLE)


def drawing(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """Graphviz's words and the drawn tree have every node, every line to a child, and every class that is predicted."""
    source, ax = str(jaxtree.to_graphviz(model.estimator)), jaxtree.plot.plot_tree(model.estimator)
    own = hard(model.estimator)
    number = own.tree_.node_count
    assert source.count("->") == number - 1 and len(ax.texts) == 2 * number - 1
    drawn = " ".join(text.get_text() for text in ax.texts)
    if is_classifier(own) and model.y.ndim == 1:
        for name in map(str, np.unique(own.predict(rows))):
            assert name in source and name in drawn
    pyplot.close("all")


def shapley_charts(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """The bars are as long as the values are in the mean, and the drawing of a row ends at its score."""
    own, few = explained_form(model.estimator), rows[:20]
    sizes = np.abs(jaxtree.explain.shap_values(model.estimator, few).values).mean(axis=0)
    if is_classifier(own) and len(own.classes_) == 2 and sizes.ndim == 2:
        sizes = sizes[:, 1]
    lengths = np.sort([bar.get_width() for bar in jaxtree.plot.plot_shap_bar(model.estimator, few).patches])
    np.testing.assert_allclose(lengths, np.sort(sizes, axis=None)[-len(lengths) :], rtol=1e-6, atol=1e-9)
    if is_classifier(own):
        jaxtree.plot.plot_shap_beeswarm(model.estimator, few, of_class=own.classes_[-1])
        jaxtree.plot.plot_shap_waterfall(model.estimator, few[:1], of_class=own.classes_[-1])
    pyplot.close("all")


def scorecard(model: Model, rows: Any, folder: pathlib.Path) -> None:
    """The points of a row stand for its odds, but for their rounding."""
    card = jaxtree.to_scorecard(model.estimator)
    said = np.log2(card.odds(card.score(rows)))
    expected = hard(model.estimator).raw_scores(rows)[:, 0] / np.log(2)
    assert np.abs(said - expected).max() * card.points_to_double_odds <= card.largest_error + 1e-6


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
    "treelite": treelite,
    "scikit-learn": scikit_learn,
    "data frame": data_frame,
    "file": file,
    "pickle": pickled,
    "importances": importances,
    "dependence": dependence,
    "display": display,
    "text": text,
    "drawing": drawing,
    "Shapley charts": shapley_charts,
    "scorecard": scorecard,
    "learning curve": learning_curve,
    "scores": scores,
    "frame": frame,
    "single row": single_row,
    "array": array,
}
