"""What tree estimators of classes share."""

from typing import Any, Self

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, Int, Shaped
from sklearn.base import ClassifierMixin

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.base import BaseTree, FitStart, Said
from jaxtree.estimators.growing import grow_tables
from jaxtree.estimators.parts import ScoresSources, part_by_part
from jaxtree.estimators.processes import AgreedTarget, common_classes, spans_processes, sum_of_all
from jaxtree.estimators.sample import Sample
from jaxtree.table.target import ClassTarget, encode_classes
from jaxtree.table.weights import check_sample_weight, class_weights
from jaxtree.tree import Tree, class_shares, output_counts

PROBABILITY_TOLERANCE = 1e-6
"""By how much shares of classes may differ that are mixed from several leaves and count as equal."""


class BaseTreeClassifier(ScoresSources, ClassifierMixin, BaseTree):
    """A single classification tree; the parts of several outputs are lists."""

    class_weight: Any = None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        mesh: Mesh | None = None,
    ) -> Self:
        """Grows the tree, and prunes it if the estimator has a pruning.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, a data frame, or a sparse matrix of scipy,
                of which one or two bytes a cell are held, and floats of a column at a time. Or a source that is read
                in parts, such as the path of a Parquet file (see `jaxtree.table.open_source`).
            y: The class of every row, numbers or strings; several columns for several outputs. Of a
                source also the name of its column, or a list of names.
            sample_weight: The weight of every row; a row of weight 0 is left out. Of a source also the name of a
                column.
            X_val: Rows to prune with, for a pruning that asks for held-out rows; a part of X if not given.
            y_val: Their classes.
            mesh: Devices to divide the rows among; the tree is the same. If these belong to several processes, each
                calls this with rows of its own, and all get the tree of all rows.

        Raises:
            DistributedError: Another process is gone.
            InvalidInputError: The table, the target, the weights or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        if spans_processes(mesh):
            return self._fit_together(X, y, sample_weight, X_val, y_val, mesh)
        start = self._begin(X, y, sample_weight, X_val, y_val)
        (grown,) = grow_tables([start.encoded], mesh)
        return self._finish(grown, start)

    @part_by_part
    def predict(self, X: Any) -> Shaped[np.ndarray, "row *output"]:
        """Returns the class of every row: the most frequent one of its leaf, of equal ones the first.

        Classes come in the order of `classes_`, unless the dtype of the target declared another
        (and the estimator heeds it, as `C45Classifier` does).
        """
        values, end = self._walk(X)
        classes = self._by_output(self.classes_)
        labels = [self._labels_of_rows(values, end, output) for output in range(self.n_outputs_)]
        columns = [names[label] for names, label in zip(classes, labels, strict=True)]
        return columns[0] if self.n_outputs_ == 1 else np.stack(columns, axis=1)

    @part_by_part
    def predict_proba(self, X: Any) -> Float[np.ndarray, "row class"] | list[Float[np.ndarray, "row class"]]:
        """Returns the share of every class in the row's leaf, classes in the order of `classes_`."""
        values, end = self._walk(X)
        shares = [self._predicting.mean(values, end, self._shares(output)) for output in range(self.n_outputs_)]
        return shares[0] if self.n_outputs_ == 1 else shares

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "row class"] | list[Float[np.ndarray, "row class"]]:
        """Returns the logarithms of what `predict_proba` returns."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(share) for share in shares] if isinstance(shares, list) else np.log(shares)

    def _begin(self, X, y, sample_weight=None, X_val=None, y_val=None, encoded=None) -> FitStart:
        self._check_parameters()
        X, y, sample_weight = self._open(X, y, sample_weight)
        target = encode_classes(y)
        self._set_classes(target)
        codes = self._read(X, target.codes[0], encoded)
        weight = check_sample_weight(sample_weight, codes.shape[1])
        factor = class_weights(self.class_weight, target)
        if factor is not None:
            weight = factor if weight is None else weight * factor
        num_classes = tuple(len(classes) for classes in target.classes)
        sample = Sample(X, target.codes, num_classes, weight)
        return self._start(sample, codes, self._validation(X_val, y_val, num_classes))

    def _read_target_of_part(self, y: Any) -> ClassTarget:
        return encode_classes(y)

    def _agree_on_target(self, target: ClassTarget) -> AgreedTarget:
        target = common_classes(target)
        self._set_classes(target)
        num_classes = tuple(len(classes) for classes in target.classes)
        counts = [sum_of_all(np.bincount(c, minlength=n)) for c, n in zip(target.codes, num_classes, strict=True)]
        return AgreedTarget(target.codes, num_classes, class_weights(self.class_weight, target, counts))

    def _read_target(self, y: Any) -> Int[np.ndarray, "output row"]:
        """The codes of classes; -1 for a class that fit has not seen."""
        target = encode_classes(y)
        known = self._by_output(self.classes_)
        if len(known) != len(target.classes):
            raise InvalidInputError(f"y must have {len(known)} outputs, as in fit, got {len(target.classes)}")
        parts = zip(known, target.classes, target.codes, strict=True)
        return np.stack([_positions(ours, classes)[codes] for ours, classes, codes in parts])

    def _settle(self, tree: Tree, said: Float[np.ndarray, "node column"] | None = None) -> Self:
        super()._settle(tree, said)
        self._label = [self._label_of_rows_at(output) for output in range(self.n_outputs_)]
        return self

    def _say(self, tree: Tree) -> Float[np.ndarray, "node column"]:
        labels = self._labels(tree)
        sizes = tree.num_classes
        return np.concatenate([np.eye(size)[label] for size, label in zip(sizes, labels, strict=True)], axis=1)

    def _labels(self, tree: Tree) -> Int[np.ndarray, "output node"]:
        """The class that every node predicts: of equal weights the first; of an empty node its parent's."""
        labels = []
        for output, order in enumerate(self._by_output(self.class_order_)):
            count = np.asarray(output_counts(tree, output))
            label = order[count[:, order].argmax(axis=1)]
            labels.append(np.where(count.any(axis=1), label, label[tree.parent]))
        return np.stack(labels)

    def _set_classes(self, target: ClassTarget) -> None:
        self.n_outputs_ = len(target.classes)
        classes, order = list(target.classes), [np.arange(len(names)) for names in target.classes]
        self.n_classes_ = len(classes[0]) if self.n_outputs_ == 1 else np.array([len(names) for names in classes])
        self.classes_ = classes[0] if self.n_outputs_ == 1 else classes
        self.class_order_ = order[0] if self.n_outputs_ == 1 else order

    def _by_output(self, parts: Any) -> list:
        return [parts] if self.n_outputs_ == 1 else parts

    def _shares(self, output: int) -> Float[np.ndarray, "node class"]:
        """The share of every class at every node; where the pruning is a vote, the share of votes."""
        return self._shares_of(self.tree_, output) if self._said is None else self._votes(output)

    def _shares_of(self, tree: Tree, output: int) -> Float[np.ndarray, "node class"]:
        """The share of every class that a node predicts by itself."""
        return class_shares(tree, output)

    def _votes(self, output: int) -> Float[np.ndarray, "node class"]:
        assert self._said is not None
        start = sum(self.tree_.num_classes[:output])
        return self._said[:, start : start + self.tree_.num_classes[output]]

    def _label_of_rows_at(self, output: int) -> Int[np.ndarray, " node"]:
        """The class that is predicted of a row that ends at each node."""
        if self._said is None:
            return self._labels(self.tree_)[output]
        return self._most_voted(self._votes(output), output)

    def _most_voted(self, votes: Float[np.ndarray, "node class"], output: int) -> Int[np.ndarray, " node"]:
        order = self._by_output(self.class_order_)[output]
        return order[_first_of_most(votes[:, order])]

    def _said_of_nodes(self, tree: Tree, votes: Float[np.ndarray, "node class"] | None) -> Said:
        if votes is None:
            return Said(self._labels(tree)[0], self._shares_of(tree, 0))
        return Said(self._most_voted(votes, 0), votes)

    def _labels_of_rows(self, values, end: Int[np.ndarray, " row"], output: int) -> Int[np.ndarray, " row"]:
        label = self._label[output][end]
        held = self._predicting.held_up(end)
        if held.size:
            order = self._by_output(self.class_order_)[output]
            shares = self._predicting.mean(values[held], end[held], self._shares(output))[:, order]
            label[held] = order[_first_of_most(shares)]
        return label


def _positions(known: Shaped[np.ndarray, " known"], given: Shaped[np.ndarray, " given"]) -> Int[np.ndarray, " given"]:
    """Where each of the given values stands among the known ones, which ascend; -1 where it does not."""
    position = {value: number for number, value in enumerate(known.tolist())}
    return np.array([position.get(value, -1) for value in given.tolist()], np.int32)


def _first_of_most(shares: Float[np.ndarray, "row class"]) -> Int[np.ndarray, " row"]:
    """The first class of greatest share, but for rounding."""
    return (shares >= shares.max(axis=1, keepdims=True) - PROBABILITY_TOLERANCE).argmax(axis=1)
