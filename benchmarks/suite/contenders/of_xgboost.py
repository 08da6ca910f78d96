"""XGBoost's histogram method: one boosting round of one tree, or of many parallel trees for a forest."""

from typing import Any

import numpy as np
import xgboost

from benchmarks.suite.contenders.base import NUM_THREADS, Contender, chosen_class, word_columns

BAGGED_SHARE = 0.632
"""Rows of a tree of a forest, drawn without replacement: as many different ones as a bootstrap draws."""


class XGBoost(Contender):
    """Level-wise growth; several classes share one tree, but on columns of categories, where it is one a class."""

    def encode(self, X: Any, y: np.ndarray) -> xgboost.QuantileDMatrix:
        """Bins the columns."""
        words = word_columns(X)
        self._strategy = "one_output_per_tree" if words else "multi_output_tree"
        return xgboost.QuantileDMatrix(
            X, y, max_bin=self.task.max_bins, nthread=NUM_THREADS, enable_categorical=bool(words)
        )

    def grow(self, encoded: xgboost.QuantileDMatrix) -> xgboost.Booster:
        """One round."""
        return xgboost.train(self._parameters(encoded.num_col()), encoded, num_boost_round=1)

    def predict(self, model: xgboost.Booster, X: Any) -> np.ndarray:
        """Numbers, or the likeliest classes."""
        if isinstance(X, np.ndarray):
            said = model.inplace_predict(X)
        else:
            said = model.predict(xgboost.DMatrix(X, enable_categorical=True))
        return chosen_class(said) if self.task.num_classes else said

    def _parameters(self, num_columns: int) -> dict[str, Any]:
        task = self.task
        objective = {0: "reg:squarederror", 2: "binary:logistic"}.get(task.num_classes, "multi:softprob")
        parameters: dict[str, Any] = {
            "objective": objective,
            "tree_method": "hist",
            "max_depth": task.max_depth or 0,
            "max_bin": task.max_bins,
            "learning_rate": 1.0,
            "min_child_weight": 0,
            "reg_lambda": 0,
            "nthread": NUM_THREADS,
        }
        if objective == "multi:softprob":
            parameters |= {"num_class": task.num_classes, "multi_strategy": self._strategy}
        if task.is_forest:
            parameters |= {"num_parallel_tree": task.num_trees, "subsample": BAGGED_SHARE}
            parameters |= {"colsample_bynode": task.columns_a_node(num_columns) / num_columns}
        return parameters
