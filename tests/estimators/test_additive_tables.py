"""Additive models of the same rows in other forms: frames, sparse tables, files, other units, weights and orders."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

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


def test_the_order_of_rows_does_not_count():
    order = np.random.default_rng(0).permutation(60)
    for y in (CLASSES, NUMBERS):
        first = scores(TABLE, y, **ALL_ROWS)
        shuffled = scores(TABLE.iloc[order], y[order], **ALL_ROWS)
        np.testing.assert_allclose(shuffled, first[order], atol=1e-9)


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
    for _, held in (model._rows_of_bag(sample, seed) for seed in range(4)):
        assert set(group[held]).isdisjoint(group[~held]) and held.any()


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
