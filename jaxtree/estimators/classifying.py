"""What tree estimators of classes share."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.base import ClassifierMixin

from jaxtree.estimators.base import BaseTree
from jaxtree.estimators.distributed import common_classes, sum_of_all
from jaxtree.estimators.parts import ScoresSources, part_by_part
from jaxtree.estimators.sample import FitTarget
from jaxtree.files.trees import FittedTable
from jaxtree.table.target import ClassTarget, class_weights, encode_classes
from jaxtree.tree import Tree, all_class_shares
from jaxtree.tree.model import encode_known_classes


class BaseTreeClassifier(ScoresSources, ClassifierMixin, BaseTree):
    """A single classification tree; the parts of several outputs are lists."""

    class_weight: Any = None

    @part_by_part
    def predict(self, X: Any) -> Shaped[np.ndarray, "row *output"]:
        """Returns the class of every row: the most frequent one of its leaf, of equal ones the first.

        Classes come in the order of `classes_`, unless the dtype of the target declared another
        (and the estimator heeds it, as `C45Classifier` does).
        """
        values = self._values(X)
        labels = self._model.predict_label(values)
        columns = [names[label] for names, label in zip(self.class_names(), labels, strict=True)]
        return columns[0] if self.n_outputs_ == 1 else np.stack(columns, axis=1)

    @part_by_part
    def predict_proba(self, X: Any) -> Float[np.ndarray, "row class"] | list[Float[np.ndarray, "row class"]]:
        """Returns the share of every class in the row's leaf, classes in the order of `classes_`."""
        values = self._values(X)
        shares = self._model.predict(values)
        return shares if self.n_outputs_ == 1 else self._model.by_output(shares)

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "row class"] | list[Float[np.ndarray, "row class"]]:
        """Returns the logarithms of what `predict_proba` returns."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(share) for share in shares] if isinstance(shares, list) else np.log(shares)

    def learn_target(self, y: Any) -> FitTarget:
        """Reads the target of a fit, and learns its classes."""
        target = encode_classes(y)
        self._set_classes(target)
        return FitTarget(target.codes, _numbers_of(target), class_weights(self.class_weight, target))

    def restore_table(self, table: FittedTable) -> None:
        """Takes what `fitted_table` of another tree returned."""
        super().restore_table(table)
        order = [classes.order for classes in table.outputs]
        self.class_order_ = order[0] if len(order) == 1 else order

    def read_target_of_part(self, y: Any) -> ClassTarget:
        """The target of this process's rows, by itself."""
        return encode_classes(y)

    def agree_on_target(self, target: ClassTarget) -> FitTarget:
        """The target of this process's rows, in the classes of all processes."""
        target = common_classes(target)
        self._set_classes(target)
        num_classes = _numbers_of(target)
        counts = [sum_of_all(np.bincount(c, minlength=n)) for c, n in zip(target.codes, num_classes, strict=True)]
        return FitTarget(target.codes, num_classes, class_weights(self.class_weight, target, counts))

    def read_target(self, y: Any) -> Int[np.ndarray, "output row"]:
        """Returns the target of rows that the tree is not grown on, in the codes of the fit."""
        return encode_known_classes(y, self.class_names())

    def node_values(self, tree: Tree) -> Float[np.ndarray, "node class"]:
        """The shares of classes at every node, the outputs side by side, or the means."""
        return all_class_shares(tree)

    def class_names(self) -> tuple[Shaped[np.ndarray, " class"], ...]:
        """The classes of every output; none for numbers."""
        return (self.classes_,) if self.n_outputs_ == 1 else tuple(self.classes_)

    def class_orders(self) -> tuple[Int[np.ndarray, " class"], ...]:
        """The places of the classes of every output in declared order."""
        return (self.class_order_,) if self.n_outputs_ == 1 else tuple(self.class_order_)

    def _set_classes(self, target: ClassTarget) -> None:
        self.n_outputs_ = len(target.classes)
        classes, order = list(target.classes), [np.arange(len(names)) for names in target.classes]
        self.n_classes_ = len(classes[0]) if self.n_outputs_ == 1 else np.array([len(names) for names in classes])
        self.classes_ = classes[0] if self.n_outputs_ == 1 else classes
        self.class_order_ = order[0] if self.n_outputs_ == 1 else order


def _numbers_of(target: ClassTarget) -> tuple[int, ...]:
    """The number of classes of every output."""
    return tuple(len(classes) for classes in target.classes)
