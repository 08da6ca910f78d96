"""Grid searches: many settings on the folds of a small table."""

from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier as SklearnTree

from benchmarks.suite.contenders.base import NUM_THREADS, Undivided

GRID = {
    "criterion": ["gini", "entropy"],
    "max_depth": list(range(3, 9)),
    "min_samples_split": list(range(5, 51, 5)),
}
FOLDS = StratifiedKFold(10)


class _Search(Undivided):
    def encode(self, X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
        """The table as it is."""
        return X, y

    def predict(self, model: Any, X: Any) -> np.ndarray:
        """Classes by the winner."""
        return model.predict(X)


class JaxTreeSearch(_Search):
    """One growth for all settings and folds that differ in masks only."""

    def grow(self, encoded: tuple[Any, np.ndarray]) -> Any:
        """Scores every setting, and fits the winner."""
        import jaxtree

        return jaxtree.SearchCV(jaxtree.DecisionTreeClassifier(), GRID, cv=FOLDS).fit(*encoded)


class SklearnSearch(_Search):
    """One fit a setting and fold, on all cores."""

    def grow(self, encoded: tuple[Any, np.ndarray]) -> Any:
        """Scores every setting, and fits the winner."""
        search = GridSearchCV(SklearnTree(random_state=0), GRID, cv=FOLDS, n_jobs=NUM_THREADS)
        return search.fit(*encoded)
