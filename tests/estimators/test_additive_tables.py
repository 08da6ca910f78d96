"""Additive models of the same rows in other forms: frames, sparse tables, files, other units, weights and orders."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse

from jaxtree import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from jaxtree.errors import InvalidInputError
from tests.examples import mixed_classes, mixed_numbers, mixed_table

FEW = {"outer_bags": 2, "max_rounds": 40, "learning_rate": 0.2, "min_samples_leaf": 2, "interactions": 1}
ALL_ROWS = {**FEW, "outer_bags": 1, "validation_size": 0}
TABLE = mixed_table()[["number", "color", "is_new"]]
CLASSES, NUMBERS = mixed_classes(mixed_table()), mixed_numbers(mixed_table())
PLAIN = np.column_stack([TABLE["number"], TABLE["is_new"]]).astype(np.float64)


def scores(X, y, **options):
    kind = ExplainableBoostingRegressor if np.asarray(y).dtype.kind == "f" else ExplainableBoostingClassifier
    return kind(**{**FEW, **options}).fit(X, y).raw_scores(X)


@pytest.mark.parametrize("y", [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_frames_of_all_libraries_are_one_table(y):
    expected = scores(TABLE, y)
    for frame in (pl.from_pandas(TABLE), pa.Table.from_pandas(TABLE), TABLE.convert_dtypes()):
        np.testing.assert_array_equal(scores(frame, y), expected)


def test_sparse_tables_are_dense_ones_of_zeros():
    dense = np.where(np.isnan(PLAIN), 0.0, PLAIN)
    np.testing.assert_array_equal(scores(scipy.sparse.csr_array(dense), NUMBERS), scores(dense, NUMBERS))


def test_files_are_read_in_parts(tmp_path):
    frame = TABLE.assign(target=NUMBERS, share=1.0 + np.arange(60) % 3)
    pa.parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "rows.parquet", row_group_size=7)
    path = str(tmp_path / "rows.parquet")
    of_file = ExplainableBoostingRegressor(**FEW).fit(path, "target", "share")
    of_table = ExplainableBoostingRegressor(**FEW).fit(TABLE, NUMBERS, frame["share"])
    assert of_file.term_names_ == of_table.term_names_
    np.testing.assert_array_equal(of_file.predict(path), of_table.predict(TABLE))
    assert of_file.score(path, "target") == of_table.score(TABLE, NUMBERS)
    np.testing.assert_array_equal(of_file.eval_terms(path), of_table.eval_terms(TABLE))


@pytest.mark.parametrize(("scale", "shift"), [(1e3, 0.0), (2.0**-20, 0.0), (1.0, 1024.0)])
def test_numbers_have_a_unit_and_an_origin(scale, shift):
    usual, moved = (scores(TABLE, y)[:, 0] for y in (NUMBERS, scale * NUMBERS + shift))
    np.testing.assert_allclose((moved - shift) / scale, usual, atol=1e-5 * NUMBERS.std())


def test_the_order_of_rows_does_not_count():
    order = np.random.default_rng(0).permutation(60)
    for y in (CLASSES, NUMBERS):
        first = scores(TABLE, y, **ALL_ROWS)
        shuffled = scores(TABLE.iloc[order], y[order], **ALL_ROWS)
        np.testing.assert_allclose(shuffled, first[order], atol=1e-9)


def test_weights_are_repeats_and_rows_of_weight_0_are_none():
    weight = np.arange(60) % 3
    options = {**ALL_ROWS, "min_samples_leaf": 1, "interactions": 0, "min_cat_samples": 1, "cat_smooth": 0.0}
    fit = ExplainableBoostingRegressor(**options).fit
    weighted = fit(PLAIN, NUMBERS, weight).predict(PLAIN)
    repeated = fit(np.repeat(PLAIN, weight, axis=0), np.repeat(NUMBERS, weight)).predict(PLAIN)
    np.testing.assert_allclose(repeated, weighted, atol=1e-6)


def test_offsets_are_added_to_scores():
    offset = np.linspace(-1, 1, 60)
    counts = np.round(np.exp(offset + 1 + 0.5 * TABLE["is_new"]))
    model = ExplainableBoostingRegressor(**ALL_ROWS, loss="poisson").fit(PLAIN, counts, offset=offset)
    with_offset = model.predict(PLAIN, offset=offset)
    np.testing.assert_allclose(with_offset, model.predict(PLAIN) * np.exp(offset), rtol=1e-9)
    without = ExplainableBoostingRegressor(**ALL_ROWS, loss="poisson").fit(PLAIN, counts)
    assert np.abs(with_offset - counts).mean() < np.abs(without.predict(PLAIN) - counts).mean()


def test_groups_stay_together():
    group = np.arange(60) // 6
    model = ExplainableBoostingRegressor(**FEW)
    sample = model.read_task(PLAIN, NUMBERS, group=group).sample
    for _, held in model._rows_of_bags(sample, seed=0):
        assert set(group[held]).isdisjoint(group[~held]) and held.any()


def test_curves_are_monotone_where_asked():
    table = pd.DataFrame({"up": PLAIN[:, 0], "other": np.arange(60.0)})
    options = {**ALL_ROWS, "interactions": 0, "monotone_constraints": {"up": 1}}
    model = ExplainableBoostingRegressor(**options).fit(table, -NUMBERS + 0.01 * np.arange(60))
    curve = model.explain_global()["up"].values[:-1, 0]
    assert (np.diff(curve) >= -1e-12).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"interactions": "many"}, "interactions must be a number, a share"),
        ({"interactions": "-1x"}, "got '-1x'"),
        ({"interactions": [("number", "number")]}, "a pair has two different columns"),
        ({"interactions": [("number", "weight")]}, "interactions must name a column, .*, got 'weight'"),
        ({"validation_size": 60}, "validation_size 60 leaves a part without rows, as n_samples=60; 0 holds none out"),
        ({"outer_bags": 0}, "outer_bags"),
        ({"heredity": "both"}, "heredity"),
        ({"loss": "log_loss"}, "that is an ExplainableBoostingClassifier here"),
        ({"monotone_constraints": {"weight": 1}}, "weight"),
    ],
)
def test_what_is_not_allowed_is_named(options, said):
    with pytest.raises(InvalidInputError, match=said):
        ExplainableBoostingRegressor(**{**FEW, **options}).fit(TABLE, NUMBERS)
