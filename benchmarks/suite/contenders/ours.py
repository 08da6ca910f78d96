"""jaxtree: the estimators from the raw table, and their two parts by themselves."""

from typing import Any, NamedTuple

import jax
import numpy as np

import jaxtree
from benchmarks.suite.contenders.base import Contender, Timing, timed
from jaxtree.dataset.dataset import Dataset
from jaxtree.estimators.common.growing import GrowthTask, grow_tables

SEED = 0


class Encoded(NamedTuple):
    """The state of a fit when growth begins.

    Attributes:
        estimator: The tree or the forest.
        read: The rows of a forest in codes; of a tree also how it grows.
    """

    estimator: Any
    read: Dataset | GrowthTask


class JaxTree(Contender):
    """Level-wise growth on codes."""

    def encode(self, X: Any, y: np.ndarray) -> Encoded:
        """Returns the input of growth: the codes of the table."""
        estimator = self._estimator()
        return Encoded(estimator, estimator.read(X, y) if self.task.is_forest else estimator.growth_task(X, y))

    def grow(self, encoded: Encoded) -> Any:
        """The tree with codes as thresholds, or the trees of a forest."""
        estimator, read = encoded
        if not self.task.is_forest:
            return grow_tables([read])
        estimator.draw_key()
        return estimator.grow_trees(read)

    def predict(self, model: Any, X: Any) -> np.ndarray:
        """Numbers or classes."""
        return model.predict(X)

    def fit(self, X: Any, y: np.ndarray) -> Any:
        """The fitted estimator."""
        estimator = self._estimator().fit(X, y)
        jax.block_until_ready(getattr(estimator, "tree_", None))
        return estimator

    def timed_fit(self, X: Any, y: np.ndarray) -> tuple[Any, Timing]:
        """The whole fit, and then encoding and growth once more by themselves."""
        model, together = timed(lambda: self.fit(X, y))
        encoded, encoding = timed(lambda: self.encode(X, y))
        return model, Timing(together, encoding, timed(lambda: self.grow(encoded))[1])

    def _estimator(self) -> Any:
        task = self.task
        family = "Classifier" if task.num_classes else "Regressor"
        options: dict[str, Any] = {
            "max_depth": task.max_depth,
            "max_bins": task.max_bins,
            "max_features": task.max_features,
            "random_state": SEED,
        }
        if not task.is_forest:
            return getattr(jaxtree, f"DecisionTree{family}")(**options)
        kind = "RandomForest" if task.kind == "forest" else "ExtraTrees"
        return getattr(jaxtree, kind + family)(n_estimators=task.num_trees, **options)
