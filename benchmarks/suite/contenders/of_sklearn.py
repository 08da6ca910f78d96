"""scikit-learn: the exact tree and its forests, one round of histogram boosting, and a loop of trees."""

from typing import Any

import numpy as np
from sklearn import ensemble, tree

from benchmarks.suite.contenders.base import NUM_THREADS, Contender, Timing, Undivided, chosen_class, word_columns


class SklearnExact(Contender):
    """Depth-first growth on the numbers themselves, without bins; a tree on one core, a forest on all."""

    def encode(self, X: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Categories as numbers, in their order; a matrix as it is."""
        return as_numbers(X), y

    def grow(self, encoded: tuple[np.ndarray, np.ndarray]) -> Any:
        """Fits the estimator."""
        return self._estimator().fit(*encoded)

    def predict(self, model: Any, X: Any) -> np.ndarray:
        """Numbers or classes."""
        return model.predict(as_numbers(X))

    def timed_fit(self, X: Any, y: np.ndarray) -> tuple[Any, Timing]:
        """A matrix needs no encoding, so that growth is all."""
        model, timing = super().timed_fit(X, y)
        return model, timing if word_columns(X) else timing._replace(encoding=None)

    def _estimator(self) -> Any:
        task = self.task
        family = "Classifier" if task.num_classes else "Regressor"
        options: dict[str, Any] = {"max_depth": task.max_depth, "max_features": task.max_features, "random_state": 0}
        if not task.is_forest:
            return getattr(tree, f"DecisionTree{family}")(**options)
        kind = "RandomForest" if task.kind == "forest" else "ExtraTrees"
        return getattr(ensemble, kind + family)(task.num_trees, n_jobs=NUM_THREADS, **options)


class SklearnHistogram(Undivided):
    """One round of boosting, of several classes one tree a class; its binning is private."""

    def encode(self, X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
        """The table as it is."""
        return X, y

    def grow(self, encoded: tuple[Any, np.ndarray]) -> Any:
        """Bins the columns and grows the tree."""
        kind = ensemble.HistGradientBoostingClassifier
        if not self.task.num_classes:
            kind = ensemble.HistGradientBoostingRegressor
        options: dict[str, Any] = {
            "learning_rate": 1.0,
            "max_iter": 1,
            "max_leaf_nodes": None,
            "max_depth": self.task.max_depth,
            "min_samples_leaf": 1,
            "max_bins": self.task.max_bins,
            "early_stopping": False,
        }
        return kind(**options).fit(*encoded)

    def predict(self, model: Any, X: Any) -> np.ndarray:
        """Numbers or classes."""
        return model.predict(X)


class SklearnLoop(SklearnExact):
    """A forest as one would write it by hand: a loop over bootstrap samples, one tree each."""

    def grow(self, encoded: tuple[np.ndarray, np.ndarray]) -> Any:
        """A list of trees."""
        X, y = encoded
        draw = np.random.default_rng(0).integers(0, len(y), (self.task.num_trees, len(y)))
        options = {"max_depth": self.task.max_depth, "max_features": self.task.max_features}
        return [tree.DecisionTreeClassifier(random_state=0, **options).fit(X[rows], y[rows]) for rows in draw]

    def predict(self, model: Any, X: Any) -> np.ndarray:
        """The class with the largest mean share."""
        return chosen_class(np.mean([one.predict_proba(X) for one in model], axis=0))


def as_numbers(X: Any) -> np.ndarray:
    """A matrix as it is, a frame with the number of every category; a missing one is NaN."""
    if isinstance(X, np.ndarray):
        return X
    words = word_columns(X)
    codes = {name: X[name].cat.codes.astype(np.float32).replace(-1, np.nan) for name in words}
    return X.assign(**codes).to_numpy(np.float32)
