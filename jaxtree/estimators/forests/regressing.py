"""What forests of numbers share."""

from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from jaxtree.estimators.base import FitStart
from jaxtree.estimators.forests.base import BaseForest, with_weightless_rows
from jaxtree.estimators.forests.parameters import FOREST_CONSTRAINTS
from jaxtree.estimators.parts import ScoresSources, part_by_part
from jaxtree.estimators.trees import DecisionTreeRegressor
from jaxtree.tree import target_means


class BaseForestRegressor(ScoresSources, RegressorMixin, BaseForest):
    """A forest of regression trees."""

    criterion: str

    _tree_class = DecisionTreeRegressor
    _parameter_constraints: ClassVar[dict] = {**DecisionTreeRegressor._parameter_constraints, **FOREST_CONSTRAINTS}

    @part_by_part
    def predict(self, X: Any) -> Float[np.ndarray, "row *output"]:
        """Returns the mean over the trees of the leaves' means, for several outputs of shape (rows, outputs)."""
        values = self._values(X)
        return self._as_given(self._predicting.mean(values, self._say(0)))

    def _check_parameters(self) -> None:
        if self.criterion == "absolute_error":
            self._blank_tree()._check_parameters()
        super()._check_parameters()

    def _blank_tree(self) -> DecisionTreeRegressor:
        tree: Any = super()._blank_tree()
        tree._positive = "strictly positive"
        return tree

    def _learn_from(self, blank: Any) -> None:
        super()._learn_from(blank)
        self._is_vector = blank._is_vector

    def _as_given(self, means: Float[np.ndarray, "row output"]) -> Float[np.ndarray, "row *output"]:
        """The numbers as a vector where the target was one."""
        return means[:, 0] if self._is_vector else means

    def _say(self, output: int) -> Float[np.ndarray, "node output"]:
        if self.pruning is not None and self.pruning.votes:
            return np.concatenate([tree._said for tree in self.estimators_])
        return target_means(self.forest_.nodes)

    def _score_out_of_bag(self, start: FitStart) -> None:
        means = self._means_out_of_bag(start, 0)
        known = ~np.isnan(means[:, 0])
        score = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = score(self._as_given(start.sample.target.T[known]), self._as_given(means[known]))
        self.oob_prediction_ = self._as_given(with_weightless_rows(means, start))
