"""`describe`: a table is read once, and everything about it is found in its columns."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxtree.blocks import in_threads, threads_for
from jaxtree.dataset.arguments import read_arguments, read_fields
from jaxtree.description import findings
from jaxtree.description.columns import (
    Distinct,
    Weight,
    distinct_values,
    exact_weights,
    facts_of_column,
    is_known,
    taken,
)
from jaxtree.description.description import DataDescription
from jaxtree.description.findings import DataWarning
from jaxtree.description.leaks import NEARLY_ALL, JudgedTarget, score_alone
from jaxtree.description.rows import Hashes, expected_pairs, judged_rows, likeness, row_hashes
from jaxtree.description.target import DescribedTarget
from jaxtree.sklearn_compat import safe_indexing
from jaxtree.table.columns import TableColumn
from jaxtree.table.reading import Table, check_same_length, read_table, with_categorical
from jaxtree.table.sources import is_source, open_source
from jaxtree.table.summary import read_whole_column
from jaxtree.table.weights import check_sample_weight
from jaxtree.table.words import value_in_words


def describe(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    X_val: Any = None,
    event: Any = None,
    task: str | None = None,
    categorical_features: Any = "from_dtype",
) -> DataDescription:
    r"""Describes a table before any model is fitted: its columns, its target, and what looks wrong.

    It finds the kind of every column, how many values are missing, how many are different, their range, and the share
    of the most frequent one. It warns of identifiers (words nearly as many as rows, or another whole number in every
    row); of columns that alone predict the target; of columns without values, with one value, or with one value in 99 %
    of the rows; of dates and numbers that are read as words; of rows that repeat others, more than chance makes; and of
    validation rows that are among the training rows, or lack what these have.

    A column alone predicts the target if a tree of it, of at most 64 leaves, saves 99 % of the errors that the most
    frequent class makes on held-out rows, or has an $R^2$ of 0.99 there. The two halves, of at most 20,000 rows
    together, follow from what the rows hold, so that the result does not depend on their order.

    Args:
        X: A table as `fit` takes it; one in parts is read column by column.
        y: Its target, if it has one; of a table in parts perhaps the name of its column.
        sample_weight: The weight of every row. Rows of weight 0 are not there.
        X_val: Rows that a model is to be validated with.
        event: Whether the target is the time of an event, of every row, if it has survival times.
        task: "classification" or "regression"; None takes few whole numbers for classes.
        categorical_features: The columns that are categories, as estimators take them.

    Raises:
        InvalidInputError: A table, a target or a weight is not allowed, or there is no such task.

    Example:
        >>> import pandas as pd
        >>> from jaxtree import describe
        >>> X = pd.DataFrame({"id": [f"r{i}" for i in range(50)], "size": [float(i % 7) for i in range(50)]})
        >>> found = describe(X, ["small" if size < 3 else "big" for size in X["size"]])
        >>> print(found.head_in_words(), found.target[0], sep="; ")
        2 columns, 50 rows; 2 classes: big 56.0%, small 44.0%
        >>> [(warning.kind, warning.columns) for warning in found.warnings]
        [('identifier', ('id',)), ('leak', ('size',))]
    """
    rows = _read(X, y, sample_weight, event, categorical_features, task)
    threads = threads_for(len(rows.hashes))
    found = in_threads(lambda own: distinct_values(own, rows.weight), rows.columns, num_threads=threads)
    total = float(len(rows.hashes)) if rows.weight is None else float(rows.weight.sum())
    facts = [facts_of_column(own, values, total) for own, values in zip(rows.columns, found, strict=True)]
    warnings = list(findings.warnings_of_columns(rows.columns, found, facts, len(rows.hashes)))
    ruled_out = {name for own in warnings if own.kind in ("identifier", "constant", "no value") for name in own.columns}
    if rows.target is not None and rows.target.judged is not None:
        others = [own for own in rows.columns if own.name not in ruled_out]
        warnings += _leaks(others, rows.target.judged, rows.weight, rows.hashes)
    alike, num_rows = likeness(rows.hashes), len(rows.hashes)
    by_chance = expected_pairs(found, num_rows * (num_rows - 1) / 2)
    if alike.repeats >= findings.REPEATED * num_rows and alike.pairs > findings.BEYOND_CHANCE * max(by_chance, 1):
        warnings.append(findings.repeated_rows(alike.repeats, num_rows))
    if X_val is not None:
        unlike = _unlike(rows, found, X_val, categorical_features)
        warnings += [own for own in unlike if own.kind != "unseen words" or not ruled_out.issuperset(own.columns)]
    outputs = () if rows.target is None else rows.target.facts
    warnings.sort(key=lambda own: findings.KINDS.index(own.kind))
    return DataDescription(num_rows, tuple(facts), outputs, alike.repeats, warnings)


class _DescribedRows(NamedTuple):
    """Rows of some weight: their columns, target, weights and hashes, and whether the columns came with names."""

    columns: list[TableColumn]
    target: DescribedTarget | None
    weight: Weight
    hashes: Hashes
    is_named: bool


def _read(
    X: Any, y: Any, sample_weight: Any, event: Any, categorical_features: Any, task: str | None
) -> _DescribedRows:
    given = read_arguments(X, y, sample_weight, {} if event is None else {"event": event})
    columns, is_named = _columns_of(given.X, categorical_features)
    num_rows = len(columns[0])
    if given.y is not None:
        check_same_length(num_rows, given.y)
    weight = check_sample_weight(given.sample_weight, num_rows)
    y, event = given.y, read_fields(given.fields, num_rows).get("event")
    if weight is not None and not weight.all():
        there = np.flatnonzero(weight)
        columns, weight = [taken(own, there) for own in columns], weight[there]
        y, event = (None if own is None else safe_indexing(own, there) for own in (y, event))
    weight = None if weight is None else exact_weights(weight)
    target = None if y is None else DescribedTarget(y, weight, event, task)
    return _DescribedRows(
        columns, target, weight, row_hashes(columns, () if target is None else target.values), is_named
    )


def _columns_of(X: Any, categorical_features: Any) -> tuple[list[TableColumn], bool]:
    """The columns of a table, and whether they came with names."""
    if not is_source(X):
        table = with_categorical(read_table(X), categorical_features)
        return table.columns, table.is_named
    source = open_source(X, to_fit=True)
    columns = [read_whole_column(source, name) for name in source.names if name not in source.left_out]
    return with_categorical(Table.of(columns, is_named=True), categorical_features).columns, True


def _leaks(
    columns: Sequence[TableColumn], target: JudgedTarget, weight: Weight, hashes: Hashes
) -> Iterator[DataWarning]:
    """Warnings about columns that alone predict the target."""
    rows = judged_rows(hashes)
    is_held = (hashes[rows] & np.uint64(1)).astype(bool)
    own_weight = None if weight is None else weight[rows]
    judged = target._replace(values=target.values[rows])
    for column in columns:
        score = score_alone(taken(column, rows), judged, own_weight, is_held)
        if score is not None and score >= NEARLY_ALL:
            yield findings.leak(column.name, target.in_words(score))


def _unlike(
    rows: _DescribedRows, found: Sequence[Distinct], X_val: Any, categorical_features: Any
) -> Iterator[DataWarning]:
    """Warnings about validation rows beside the training rows."""
    held, is_named = _columns_of(X_val, categorical_features)
    by_name = {own.name: own for own in held}
    if not (rows.is_named and is_named):
        by_name = {own.name: other for own, other in zip(rows.columns, held, strict=False)}
    missing = [own.name for own in rows.columns if own.name not in by_name]
    if missing:
        yield findings.of_columns("missing column", missing, "no place in the validation rows")
    lost = []
    for column, values in zip(rows.columns, found, strict=True):
        other = by_name.get(column.name)
        if other is None or not len(values.value):
            continue
        if not is_known(other).any():
            lost.append(column.name)
        elif column.has_categories and other.has_categories:
            yield from _unseen(column, values, other)
    if lost:
        yield findings.of_columns("lost column", lost, "no value in any validation row")
    if not missing:
        yield from _shared(rows.columns, found, [by_name[own.name] for own in rows.columns])


def _unseen(column: TableColumn, values: Distinct, other: TableColumn) -> Iterator[DataWarning]:
    """The warning about words of validation rows that no training row has."""
    known = {column.categories[code] for code in values.value.tolist()}
    codes = np.asarray(other.values)[is_known(other)]
    is_strange = np.array([own not in known for own in other.categories], bool)[codes]
    if is_strange.any():
        first = other.categories[int(codes[is_strange].min())]
        yield findings.unseen_words(column.name, int(is_strange.sum()), value_in_words(first))


def _shared(
    columns: Sequence[TableColumn], found: Sequence[Distinct], held: Sequence[TableColumn]
) -> Iterator[DataWarning]:
    """The warning about validation rows whose columns are those of a training row."""
    own, other = row_hashes(columns), row_hashes(held)
    shared = int(np.isin(other, own).sum())
    by_chance = expected_pairs(found, len(own) * len(other))
    if shared >= findings.REPEATED * len(other) and shared > findings.BEYOND_CHANCE * max(by_chance, 1):
        yield findings.shared_rows(shared, len(other))
