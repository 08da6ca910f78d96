"""Oblique trees in other programs and in drawings: all predict the same, and forms without planes name those with."""

import copy
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.export.node_tables import to_dataframe
from jaxtree.soft.scales import Standard
from tests.examples import example, unfitted
from tests.export.running import compile_c, run_c, run_onnx, run_sql
from tests.export.test_shipping import compiler  # noqa: F401

FORMS = (
    jaxtree.to_onnx,
    jaxtree.to_sql,
    jaxtree.to_c,
    jaxtree.to_jax_export,
    jaxtree.export_text,
    jaxtree.to_graphviz,
)


def random_rows(tree, number=300):
    """Rows with words, missing and unseen ones; none lies on a plane."""
    draw = np.random.default_rng(1)
    columns = {}
    for column in tree.encoder_.schema_.columns:
        if column.kind == "numeric":
            values = draw.normal(size=number, scale=3).astype(np.float32).astype(np.float64)
            columns[column.name] = np.where(draw.random(number) < 0.1, np.nan, values)
        elif column.kind == "boolean":
            columns[column.name] = draw.choice([True, False], number)
        else:
            words = np.array([*column.categories, None, "never seen"], object)
            columns[column.name] = pd.Series(draw.choice(words, number), dtype=object)
    frame = pd.DataFrame(columns)
    return frame if hasattr(tree, "feature_names_in_") else frame.to_numpy()


def test_words_and_missing_values_are_predicted_the_same(compiler, tmp_path):  # noqa: F811
    tree = example("hardened")
    X = random_rows(tree)
    label, shares = tree.predict(X), tree.predict_proba(X)
    assert len(np.unique(tree.apply(X))) > 2
    for dtype in (np.float32, np.float64):
        said = run_onnx(tree, X, dtype)
        np.testing.assert_array_equal(said["label"], label)
        np.testing.assert_array_equal(said["probabilities"], shares)
    assert run_sql(jaxtree.to_sql(tree), X) == label.tolist()
    outputs, places = run_c(compile_c(compiler, jaxtree.to_c(tree), tmp_path), tree, X)
    np.testing.assert_array_equal(outputs, shares)
    np.testing.assert_array_equal(tree.classes_[places], label)


def standard_numbers():
    """A tree of numbers: the kept one, its scales replaced."""
    tree = copy.copy(example("hardened_regression"))
    scales = tuple(Standard(0.5 * place, 1.5 + place) for place in range(len(tree.tree_.inputs.scales)))
    tree.tree_ = replace(tree.tree_, inputs=replace(tree.tree_.inputs, scales=scales))
    return tree


def test_numbers_are_predicted_the_same(compiler, tmp_path):  # noqa: F811
    tree = standard_numbers()
    X = random_rows(tree)
    number = tree.predict(X)
    assert len(np.unique(number)) > 1
    np.testing.assert_array_equal(run_onnx(tree, X, np.float64)["variable"][:, 0], number)
    assert run_sql(jaxtree.to_sql(tree), X) == number.tolist()
    outputs, _ = run_c(compile_c(compiler, jaxtree.to_c(tree), tmp_path), tree, X)
    np.testing.assert_array_equal(outputs[:, 0], number)


def test_a_single_leaf_is_exported(compiler, tmp_path):  # noqa: F811
    tree = standard_numbers()
    leaf = {name: getattr(tree.tree_, name)[:1] for name in ("parent", "depth", "num_rows", "weight", "value")}
    zeros = {name: 0 * getattr(tree.tree_, name)[:1] for name in ("normal", "offset", "first_child", "num_children")}
    tree.tree_ = replace(tree.tree_, **leaf, **zeros)
    X = random_rows(tree, 5)
    said = tree.tree_.value[0, 0]
    assert run_sql(jaxtree.to_sql(tree), X) == tree.predict(X).tolist() == [said] * 5
    assert run_onnx(tree, X, np.float64)["variable"][:, 0].tolist() == [said] * 5
    outputs, _ = run_c(compile_c(compiler, jaxtree.to_c(tree), tmp_path), tree, X)
    assert outputs[:, 0].tolist() == [said] * 5


@pytest.mark.parametrize("name", ["hardened", "hardened_regression"])
def test_drawings_have_the_planes_in_words(name):
    pytest.importorskip("matplotlib").use("Agg")
    from jaxtree.plot import plot_tree

    tree = example(name)
    branches = [tree.tree_.branch_in_words(node) for node in range(1, tree.tree_.node_count)]
    lines = jaxtree.export_text(tree).splitlines()
    assert len(lines) == tree.tree_.node_count
    for branch in branches:
        assert any(f"-- {branch}: " in line for line in lines)
    graph, nodes = jaxtree.to_graphviz(tree), np.flatnonzero(~tree.tree_.is_leaf).tolist()
    for words, limit in (tree.tree_.plane_in_words(node, 3) for node in nodes):
        assert f"{words} <= {limit:g}" in graph and len(re.findall(" [+-] ", f" {words.lstrip('- ')}")) <= 3
    assert len(plot_tree(tree).texts) == 2 * tree.tree_.node_count - 1


def test_drawings_take_other_names_of_the_columns():
    tree = example("hardened_regression")
    names = [f"name {place}" for place in range(len(tree.encoder_.schema_.columns))]
    assert f"q({names[0]})" in jaxtree.export_text(tree, feature_names=names)
    with pytest.raises(InvalidInputError, match="columns, got 1 names"):
        jaxtree.to_graphviz(tree, feature_names=["one"])


def test_axis_gates_have_all_forms():
    tree = example("hardened_axis")
    for form in (*FORMS, to_dataframe, jaxtree.to_html):
        assert form(tree) is not None


def test_quantiles_are_refused_where_they_cannot_be_said():
    for form in (jaxtree.to_onnx, jaxtree.to_sql, jaxtree.to_c):
        with pytest.raises(InvalidInputError, match=r"scaled by quantiles.*scaling='standard'"):
            form(example("hardened_regression"))


@pytest.mark.parametrize("name", ["hardened", "hardened_regression"])
def test_a_frame_has_the_planes_and_what_ends_there_predict(name):
    tree, X = example(name), unfitted()[name][1]
    frame = to_dataframe(tree)
    ends = frame.iloc[tree.apply(X)]
    assert frame["num_rows"].tolist() == tree.tree_.num_rows.tolist() and not {"gain", "impurity"} & set(frame)
    assert frame["column"].notna().tolist() == (~tree.tree_.is_leaf).tolist()
    if name == "hardened":
        shares = ends[[f"share of {own}" for own in tree.classes_]].to_numpy()
        np.testing.assert_allclose(shares, tree.predict_proba(X))
    else:
        np.testing.assert_allclose(ends["prediction"], tree.predict(X))
