"""Single trees whose rows come in batches: after each the tree is that of one `fit` on all rows so far.

All rows are kept, and the tree is grown again from them. To search again for the splits of those nodes alone that a new
row reaches, or that lie below a split which changes, would spare next to nothing: of a hundredth of 10,000 rows and
more, these are nodes with 95 to 100 % of the work (`python -m benchmarks.batches`).
"""

import dataclasses
from typing import Any, Self

import numpy as np
from jaxtyping import Shaped
from sklearn.base import is_classifier

from jaxtree.dataset.dataset import Dataset, encode_sample
from jaxtree.dataset.kept_rows import KeptRows
from jaxtree.dataset.sample import Outputs
from jaxtree.errors import InvalidInputError, all_or_nothing
from jaxtree.estimators.common.features import read_monotone
from jaxtree.estimators.common.growing import GrowthTask, grow_tables
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.table.sources import is_source
from jaxtree.tree import Tree


class TakesBatches(BaseTree):
    """A tree that keeps the rows of batches, and grows from all of them."""

    monotonic_cst: Any

    @all_or_nothing
    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        """Keeps the rows of a batch, too, and grows the tree of all that are kept.

        Args:
            X: A table, or a source.
            y: Its target.
            sample_weight: The weight of every row.
            classes: All classes that there will be, see `KeptRows.read`.
        """
        self.check_parameters()
        kept = self._kept_rows
        if kept is None and self.__sklearn_is_fitted__():
            raise InvalidInputError(
                f"partial_fit goes on from the rows of its earlier calls, and this {type(self).__name__} has none: "
                "fit, refit, add_rows, remove_rows, pruned copies and files of models keep no rows. Call it on a "
                "clone, first with all rows so far"
            )
        X = self.encoder_.open(X) if kept is not None and is_source(X) else X
        batch = KeptRows.read(X, y, sample_weight, of_classes=is_classifier(self), classes=classes)
        rows = batch if kept is None else kept.plus(batch)
        with placed_fit(self, rows):
            options = self.table_options()
            data = encode_sample(rows.sample(options), options)
            task = GrowthTask(data, self.make_recipe(data))
            (grown,) = grow_tables([task])
            self.learn(data)
            tree = self.prune_grown(grown, task)
            if rows.declared and tuple(map(len, rows.declared)) != data.num_classes:
                wider = _with_classes(data, rows.declared)
                read_monotone(self.monotonic_cst, data.schema, wider.outputs)
                self.learn(wider)
                tree = _in_classes(tree, data.outputs, wider.outputs)
            self.settle(tree)
        self._kept_rows = rows
        return self


def _with_classes(data: Dataset, classes: tuple[Shaped[np.ndarray, " _class"], ...]) -> Dataset:
    """Returns rows of a target that declares classes."""
    orders = tuple(np.arange(len(own), dtype=np.int32) for own in classes)
    outputs = data.outputs._replace(classes=classes, declared=orders, num_declared=max(map(len, classes)))
    return data._replace(sample=data.sample._replace(outputs=outputs))


def _in_classes(tree: Tree, seen: Outputs, declared: Outputs) -> Tree:
    """Returns a tree of the classes that rows have with columns of zeros for all that are only declared."""
    places = [np.searchsorted(*pair) for pair in zip(declared.classes, seen.classes, strict=True)]
    first = np.cumsum((0, *declared.num_classes))
    count = np.zeros((len(tree.count), first[-1]), tree.count.dtype)
    count[:, np.concatenate([own + start for own, start in zip(places, first, strict=False)])] = tree.count
    return dataclasses.replace(tree, count=count, num_classes=declared.num_classes)
