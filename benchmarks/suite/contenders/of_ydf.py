"""Yggdrasil Decision Forests: its CART and random-forest learners, on columns cut into bins beforehand."""

from typing import Any

import numpy as np
import ydf

from benchmarks.suite.contenders.base import NUM_THREADS, Contender

TARGET = "target"
ydf.verbose(0)


class YDF(Contender):
    """Depth-first growth of classification or regression trees."""

    def encode(self, X: Any, y: np.ndarray) -> Any:
        """Takes the table column by column, and bins the numbers."""
        semantic = ydf.Semantic.CATEGORICAL if self.task.num_classes else ydf.Semantic.NUMERICAL
        return ydf.create_vertical_dataset(
            as_columns(X) | {TARGET: y},
            columns=[(TARGET, semantic)],
            include_all_columns=True,
            min_vocab_frequency=1,
            discretize_numerical_columns=True,
            num_discretized_numerical_bins=self.task.max_bins,
        )

    def grow(self, encoded: Any) -> Any:
        """A tree, or a forest of bootstrap trees."""
        return self._learner().train(encoded)

    def predict(self, model: Any, X: Any) -> np.ndarray:
        """Numbers, or the likeliest classes."""
        said = model.predict(as_columns(X))
        if not self.task.num_classes:
            return said
        position = (said > 0.5).astype(int) if said.ndim == 1 else said.argmax(axis=1)
        return np.array([int(name) for name in model.label_classes()])[position]

    def _learner(self) -> Any:
        task = self.task
        options: dict[str, Any] = {
            "label": TARGET,
            "task": ydf.Task.CLASSIFICATION if task.num_classes else ydf.Task.REGRESSION,
            # A root alone has depth 1 there.
            "max_depth": -1 if task.max_depth is None else task.max_depth + 1,
            "min_examples": 1,
            "num_threads": NUM_THREADS,
        }
        if not task.is_forest:
            return ydf.CartLearner(validation_ratio=0.0, **options)
        return ydf.RandomForestLearner(
            num_trees=task.num_trees,
            num_candidate_attributes=-1 if task.max_features is None else 0,
            winner_take_all=False,
            compute_oob_performances=False,
            **options,
        )


def as_columns(X: Any) -> dict[str, Any]:
    """A matrix as one wide column, a frame as columns of numbers and of strings."""
    if isinstance(X, np.ndarray):
        return {"x": X}
    return {
        name: column.astype(str).to_numpy(object) if column.dtype == "category" else column.to_numpy()
        for name, column in X.items()
    }
