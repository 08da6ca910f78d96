"""What forests of classes share."""

from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions

from jaxtree.ensemble.forest import Sampling
from jaxtree.estimators.base import FitStart
from jaxtree.estimators.forests.base import BaseForest, with_weightless_rows
from jaxtree.estimators.forests.parameters import FOREST_CONSTRAINTS
from jaxtree.estimators.parts import ScoresSources, part_by_part
from jaxtree.estimators.trees import DecisionTreeClassifier
from jaxtree.tree import class_shares


class BaseForestClassifier(ScoresSources, ClassifierMixin, BaseForest):
    """A forest of classification trees; the parts of several outputs are lists."""

    class_weight: Any
    classes_: Any
    n_classes_: Any

    _tree_class = DecisionTreeClassifier
    _parameter_constraints: ClassVar[dict] = {
        **DecisionTreeClassifier._parameter_constraints,
        **FOREST_CONSTRAINTS,
        "class_weight": [dict, list, StrOptions({"balanced", "balanced_subsample"}), None],
    }

    @part_by_part
    def predict(self, X: Any) -> Shaped[np.ndarray, "row *output"]:
        """Returns the class of every row: the one of greatest mean share over the trees, of equal ones the first."""
        shares = self._by_output(self.predict_proba(X))
        columns = [names[share.argmax(axis=1)] for names, share in zip(self._classes(), shares, strict=True)]
        return columns[0] if self.n_outputs_ == 1 else np.stack(columns, axis=1)

    @part_by_part
    def predict_proba(self, X: Any) -> Float[np.ndarray, "row class"] | list[Float[np.ndarray, "row class"]]:
        """Returns the mean over the trees of the share of every class in the row's leaf, in the order of `classes_`."""
        values = self._values(X)
        shares = [self._predicting.mean(values, self._say(output)) for output in range(self.n_outputs_)]
        return shares[0] if self.n_outputs_ == 1 else shares

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "row class"] | list[Float[np.ndarray, "row class"]]:
        """Returns the logarithms of what `predict_proba` returns."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(share) for share in shares] if isinstance(shares, list) else np.log(shares)

    def _blank_tree(self) -> DecisionTreeClassifier:
        tree: Any = super()._blank_tree()
        if self.class_weight == "balanced_subsample":
            # Every tree weights the rows that it draws; where all have all rows that is the same for all.
            tree.class_weight = None if self.bootstrap else "balanced"
        return tree

    def _sampling(self, start: FitStart) -> Sampling:
        balances = self.bootstrap and self.class_weight == "balanced_subsample"
        return super()._sampling(start)._replace(balances_classes=balances)

    def _by_output(self, parts: Any) -> list:
        return [parts] if self.n_outputs_ == 1 else parts

    def _classes(self) -> list[Shaped[np.ndarray, " class"]]:
        return self._by_output(self.classes_)

    def _say(self, output: int) -> Float[np.ndarray, "node class"]:
        if self.pruning is not None and self.pruning.votes:
            return np.concatenate([tree._shares(output) for tree in self.estimators_])
        return class_shares(self.forest_.nodes, output)

    def _score_out_of_bag(self, start: FitStart) -> None:
        shares = [self._means_out_of_bag(start, output) for output in range(self.n_outputs_)]
        known = ~np.isnan(shares[0][:, 0])
        label = np.stack([share[known].argmax(axis=1) for share in shares])
        target = start.sample.target[:, known].astype(np.int64)
        given, predicted = self._names(target), self._names(label)
        score = self.oob_score if callable(self.oob_score) else _accuracy
        self.oob_score_ = score(given, predicted)
        whole = [with_weightless_rows(share, start) for share in shares]
        self.oob_decision_function_ = whole[0] if self.n_outputs_ == 1 else _stacked(whole)

    def _names(self, label: Int[np.ndarray, "output row"]) -> Shaped[np.ndarray, "row *output"]:
        columns = [names[codes] for names, codes in zip(self._classes(), label, strict=True)]
        return columns[0] if self.n_outputs_ == 1 else np.stack(columns, axis=1)


def _stacked(
    shares: list[Float[np.ndarray, "row class"]],
) -> Float[np.ndarray, "row class output"] | list[Float[np.ndarray, "row class"]]:
    """One array of all outputs as scikit-learn has it; a list if they differ in their number of classes."""
    return np.stack(shares, axis=2) if len({share.shape[1] for share in shares}) == 1 else shares


def _accuracy(given: Shaped[np.ndarray, "row *output"], predicted: Shaped[np.ndarray, "row *output"]) -> float:
    """The share of rows that are right in all outputs."""
    right = given == predicted
    return float(np.mean(right if right.ndim == 1 else right.all(axis=1)))
