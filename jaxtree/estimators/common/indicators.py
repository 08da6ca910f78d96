"""Trees grown on indicators of categories, and their translation back to categories.

An *indicator* is 1 in the rows of one category, 0 in the others and 2 where the value is missing; where the fit has
seen no missing value, one that comes later is none of the categories.
"""

import dataclasses

import numpy as np

from jaxtree.buckets import empty_codes
from jaxtree.dataset.dataset import Dataset
from jaxtree.table.schema import Column, Columns, Schema
from jaxtree.tree import SplitKind, Tree

MOST_INDICATORS = 1024
"""Indicators of a column of words, where no other number is given."""


class CategoryIndicators:
    """The rows of a fit with an indicator for every category, and the translation of trees back to categories.

    Args:
        data: The rows of the fit.

    Attributes:
        data: The rows as growth sees them.
    """

    def __init__(self, data: Dataset):
        table = self._table = data.schema
        self._place, self._category = table.indicators
        described = list(zip(self._place.tolist(), self._category.tolist(), table.indicator_names, strict=True))
        columns = [
            table.columns[place]
            if category < 0
            else Column(name, "boolean", (False, True), None, bool(table.columns.has_missing[place]))
            for place, category, name in described
        ]
        schema = Schema(Columns.of(columns))
        codes = empty_codes(len(columns), data.codes.shape[1], schema.code_dtype)
        for own, column, (place, category, _) in zip(codes, columns, described, strict=True):
            given = data.codes[place]
            if category < 0:
                own[:] = given
                continue
            own[:] = given == category
            if column.has_missing:
                own[given == table.num_values[place]] = 2
        self.data = data._replace(codes=codes, schema=schema)

    def in_categories(self, tree: Tree) -> Tree:
        """Returns grown trees, whose thresholds are decoded, with one category against the rest for an indicator.

        A split between known and missing values has the code of these for its category.
        """
        asked = np.where(tree.is_leaf, 0, tree.feature)
        feature = np.where(tree.is_leaf, tree.feature, self._place[asked]).astype(np.int32)
        is_moved = ~tree.is_leaf & (self._category[asked] >= 0)
        missing_code = np.where(is_moved, self._table.num_values[self._place[asked]], tree.missing_code)
        is_of_missing = tree.threshold == np.inf
        code = np.where(is_moved, np.where(is_of_missing, missing_code, self._category[asked]), tree.code)
        has_missing = self._table.columns.has_missing[self._place[asked]]
        return dataclasses.replace(
            tree,
            feature=feature,
            code=code.astype(np.int32),
            next_code=np.where(is_moved, 0, tree.next_code).astype(np.int32),
            threshold=np.where(is_moved, code, tree.threshold).astype(np.float64),
            split_kind=np.where(is_moved, SplitKind.ONE_VS_REST, tree.split_kind).astype(np.int32),
            missing_code=missing_code.astype(np.int32),
            missing_branch=np.where(is_moved & ~has_missing, 0, tree.missing_branch).astype(np.int32),
            num_features=self._table.num_features,
        )
