"""Searches over 100 settings on eight folds of 10,000 rows of 20 columns, beside one fit of eight bags.

*Drawn* settings differ in what every step depends on, and share rows, bags and sums over pairs of bins. A *grid* of two
learning rates and two numbers of leaves has five ends of rounds and five of patience for each: four ways that are cut.
Fits on folds have one bag, so that 800 of them make the steps of 100 fits of eight bags, where nothing is shared.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from benchmarks.additive.synthetic import draw

NUM_ROWS, NUM_COLUMNS, NUM_FOLDS, NUM_SETTINGS = 10_000, 20, 8, 100
DRAWN = {
    "learning_rate": stats.loguniform(0.01, 0.2),
    "max_leaves": stats.randint(2, 6),
    "min_samples_leaf": stats.randint(2, 60),
    "reg_lambda": stats.uniform(0, 10),
}
GRID = {
    "learning_rate": [0.02, 0.05],
    "max_leaves": [2, 3],
    "max_rounds": [50, 100, 200, 400, 50_000],
    "early_stopping_rounds": [25, 50, 100, 200, 400],
}


class Searched(NamedTuple):
    """A search.

    Attributes:
        of_classes: Whether the target has classes.
        is_drawn: Whether settings are drawn, not those of a grid.
        interactions: The pairs of all settings, and of the fit beside it.
    """

    of_classes: bool
    is_drawn: bool
    interactions: Any


SEARCHES = {
    "classes, drawn": Searched(True, True, 0),
    "classes, grid": Searched(True, False, 0),
    "numbers, drawn": Searched(False, True, 0),
    "numbers, grid": Searched(False, False, 0),
    "classes, grid, pairs": Searched(True, False, "auto"),
    "numbers, grid, pairs": Searched(False, False, "auto"),
}


def table_of(searched: Searched) -> tuple[np.ndarray, np.ndarray]:
    """The columns and the target of a search."""
    X, odds, classes = draw(NUM_ROWS, NUM_COLUMNS, 0)
    return X, classes if searched.of_classes else odds + np.random.default_rng(0).standard_normal(NUM_ROWS)


def search_of(searched: Searched, num_settings: int) -> tuple[Any, Any]:
    """An estimator of eight bags, and a search over one bag a fold."""
    from jaxtree import ExplainableBoostingClassifier, ExplainableBoostingRegressor, SearchCV

    kind = ExplainableBoostingClassifier if searched.of_classes else ExplainableBoostingRegressor
    one = kind(outer_bags=1, interactions=searched.interactions)
    space = DRAWN if searched.is_drawn else GRID
    search = SearchCV(one, space, cv=NUM_FOLDS, n_iter=num_settings, random_state=0, refit=False)
    return kind(outer_bags=8, interactions=searched.interactions), search
