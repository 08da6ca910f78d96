"""LightGBM: one boosting round, which is one tree (of several classes one tree a class), or random-forest mode."""

from typing import Any

import lightgbm
import numpy as np

from benchmarks.suite.contenders.base import NUM_THREADS, Contender, chosen_class

MOST_LEAVES = 131_072
"""LightGBM's own limit; a tree without limits ends there."""
HISTOGRAMS_MIB = 2048
"""A tree without limits would keep a histogram a leaf: 15 GB for 131,072 of them on 28 columns."""
BAGGED_SHARE = 0.632
"""Rows of a tree of a forest, drawn without replacement: as many different ones as a bootstrap draws."""


class LightGBM(Contender):
    """Best-first growth, limited by depth, with as many leaves as the depth allows."""

    def encode(self, X: Any, y: np.ndarray) -> lightgbm.Dataset:
        """Bins the columns."""
        parameters = {"max_bin": self.task.max_bins, "min_data_in_leaf": 1, "min_data_in_bin": 1, "verbose": -1}
        return lightgbm.Dataset(X, y, params=parameters | {"num_threads": NUM_THREADS}).construct()

    def grow(self, encoded: lightgbm.Dataset) -> lightgbm.Booster:
        """One round, or one for each tree of a forest."""
        parameters = self._parameters(encoded.num_data(), encoded.num_feature())
        return lightgbm.train(parameters, encoded, num_boost_round=self.task.num_trees)

    def predict(self, model: lightgbm.Booster, X: Any) -> np.ndarray:
        """Numbers, or the likeliest classes."""
        said = np.asarray(model.predict(X, num_threads=NUM_THREADS))
        return chosen_class(said) if self.task.num_classes else said

    def _parameters(self, num_rows: int, num_columns: int) -> dict[str, Any]:
        task = self.task
        # It sets memory aside for as many leaves as it is told, so never more than there are rows.
        most = min(num_rows, MOST_LEAVES)
        objective = {0: "regression", 2: "binary"}.get(task.num_classes, "multiclass")
        parameters = {
            "objective": objective,
            "num_class": task.num_classes if objective == "multiclass" else 1,
            "max_depth": -1 if task.max_depth is None else task.max_depth,
            "num_leaves": most if task.max_depth is None else min(2**task.max_depth, most),
            "max_bin": task.max_bins,
            "min_data_in_bin": 1,
            "min_data_in_leaf": 1,
            "min_sum_hessian_in_leaf": 0,
            "min_data_per_group": 1,
            "cat_smooth": 0,
            "cat_l2": 0,
            "learning_rate": 1.0,
            "num_threads": NUM_THREADS,
            "verbose": -1,
        }
        if task.max_depth is None:
            parameters["histogram_pool_size"] = HISTOGRAMS_MIB
        if task.is_forest:
            share = task.columns_a_node(num_columns) / num_columns
            parameters |= {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": BAGGED_SHARE}
            parameters |= {"feature_fraction_bynode": share}
        return parameters
