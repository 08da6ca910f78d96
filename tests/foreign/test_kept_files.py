"""Models that older and newer versions of other libraries have written, with the scores that they gave."""

import base64
import json
import pathlib

import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree.foreign.comparisons import ThresholdRule, greatest_alike

FOLDER = pathlib.Path(__file__).parent / "files"
FILES = sorted(path.stem for path in FOLDER.glob("*.json"))
READERS = {"xgboost": jaxtree.from_xgboost, "lightgbm": jaxtree.from_lightgbm, "catboost": jaxtree.from_catboost}
APART = {"xgboost": 2e-7, "lightgbm": 1e-14, "catboost": 1e-14}
"""How far scores may be apart: XGBoost adds float32."""


def read(name):
    """The content of a file, and its model as an estimator."""
    content = json.loads((FOLDER / f"{name}.json").read_text())
    model, library = content["model"], name.partition("-")[0]
    if isinstance(model, str):
        model = model.encode() if library == "lightgbm" else base64.b64decode(model)
    return content, READERS[library](model)


def rows_of(content, estimator):
    """The rows of a file: numbers, or a frame of the columns of the model."""
    words = [place for place, column in enumerate(estimator.schema_.columns) if column.kind == "categorical"]
    if not words:
        return np.array(content["rows"], float)
    frame = pd.DataFrame(content["rows"], columns=list(estimator.schema_.column_names))
    return frame.astype({frame.columns[place]: object for place in words})


@pytest.mark.parametrize("name", FILES)
def test_scores_are_those_of_the_library(name):
    content, estimator = read(name)
    expected = np.array(content["scores"]).reshape(len(content["rows"]), -1)
    scores = estimator.raw_scores(rows_of(content, estimator))
    np.testing.assert_allclose(scores, expected, rtol=0, atol=APART[name.partition("-")[0]] * np.abs(expected).max())


def test_every_version_has_its_kinds_of_files():
    kinds = {name.rpartition("-")[2] for name in FILES}
    assert kinds == {"numbers", "ubjson", "score", "classes", "counts", "dart", "words"}
    versions = {tuple(name.split("-")[:2]) for name in FILES}
    assert {library for library, _ in versions} == set(READERS) and len(versions) >= 6
    assert all((FOLDER / f"{name}.json").stat().st_size < 20_000 for name in FILES)


def test_words_and_names_are_those_of_the_frame():
    for name in ("xgboost-3.2.0-words", "lightgbm-3.3.5-words", "catboost-1.2.10-words"):
        columns = read(name)[1].schema_.columns
        assert [column.name for column in columns] == ["size", "color", "number"]
        words = {str(word) for word in columns[1].categories} - {"any other"}
        assert words <= {"blue", "green", "red"} and "red" in words


@pytest.mark.parametrize("comparison", ThresholdRule)
def test_limits_keep_the_comparison_of_every_row_beside_a_threshold(comparison):
    """Rows of float64 a few doubles to both sides of all that round to the threshold, and rows of float32."""
    draw = np.random.default_rng(0)
    numbers = [0.0, -0.0, 1.0, 2.5, 0.1, -0.1, 1e-30, -1e30, 3.4e38, 2.0**24, 16777217.0]
    singles = np.concatenate([numbers, draw.normal(size=50)]).astype(np.float32)
    thresholds = singles.astype(np.float64)
    if comparison in (ThresholdRule.AT_MOST_DOUBLE, ThresholdRule.ABOVE_MIDDLE):
        thresholds = thresholds + draw.normal(size=len(thresholds)) * 1e-3
    limits = comparison.limits(thresholds)
    for threshold, limit in zip(thresholds, limits, strict=True):
        ends = greatest_alike(np.array([threshold], np.float32))
        rows = [threshold, *ends, limit, *np.nextafter([threshold, *ends, limit], np.inf)]
        rows = np.array([*rows, *np.nextafter([threshold, *ends, limit], -np.inf)])
        with np.errstate(over="ignore"):
            single = rows.astype(np.float32)
        theirs = {
            ThresholdRule.BELOW_SINGLE: single < np.float32(threshold),
            ThresholdRule.AT_MOST_SINGLE: single.astype(np.float64) <= threshold,
        }.get(comparison, rows <= threshold)
        is_normal = (single == 0) | (np.abs(single) >= np.finfo(np.float32).tiny)
        np.testing.assert_array_equal((rows <= limit)[is_normal], theirs[is_normal])


def test_words_of_limits_are_short():
    """A whole number, and a float32 that a decimal of few digits stands for, are written as such."""
    at_most = ThresholdRule.AT_MOST_SINGLE
    limit = at_most.limits(np.array([0.8], np.float32))
    assert at_most.least_alike(limit)[0] <= 0.8 <= limit[0]
    text = jaxtree.export_text(read("lightgbm-3.3.5-words")[1].estimators_[0])
    assert "number <= 2.5:" in text and "color in {" in text
