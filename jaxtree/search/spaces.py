"""Spaces of settings: of a grid or of distributions, and those that suit the size of a table.

Small tables get many cautious rounds, large ones few. The ranges of boosted trees are about those in which LightGBM is
tuned in comparisons of learners, with the names of jaxtree's parameters, and the noise of CatBoost. The first setting
is that of models of folds. All settings of a space share a program of boosting, except that large tables have two sizes
of trees. The ranges of additive models are those of the parameters that interpret's users tune, around the defaults.
Their settings are scored with one bag a fold, as the mean of bags is better for all of them; the winner has the bags of
the estimator. Smaller tables get more settings at once, which share codes and sums of their folds.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.additive.parameters import USUAL_LEAVES, USUAL_RATE, AdditiveParameters, usual_bins
from jaxtree.estimators.boosting.parameters import FOLDS, usual_values
from jaxtree.estimators.common.conventions import generator_of
from jaxtree.figures.searches import Scale
from jaxtree.search.evaluation import Parameters

SMALL, MEDIUM = 20_000, 100_000
"""Rows times scores up to which a table is small, or of medium size."""

ROUNDS_OF_FINALISTS = 1_000
"""The most rounds of the models of folds, of which early stopping leaves those that they need."""

PART_KEPT = 0.5
"""The part of the values that a setting keeps of the defaults if it is to be like them."""

SMOOTHEST, ROUGHEST = 0.01, 0.2
"""The range of the learning rate of additive models."""

MOST_ROUNDS = 5_000
"""The most rounds of additive models: most end after some hundred, but the loss of separable classes falls forever."""

MOST_PAIRS = 10
"""The most pairs of an additive model, a column."""


def settings_of(space: Any, number: int | None, random_state: Any, name: str) -> list[Parameters]:
    """Returns the settings of a space.

    Args:
        space: A dict of lists and distributions of `scipy.stats`, or a list of such; a single value stands for a list
            of one.
        number: How many settings are drawn; all of a grid if None.
        random_state: The seed of what is drawn.
        name: The name of the space in errors.

    Raises:
        InvalidInputError: There is no setting, or a distribution and no number.

    Example:
        >>> settings_of({"max_depth": [2, 3], "criterion": "gini"}, None, None, "param_grid")
        [{'criterion': 'gini', 'max_depth': 2}, {'criterion': 'gini', 'max_depth': 3}]
    """
    spaces = [space] if isinstance(space, dict) else space
    spaces = [{parameter: _listed(values) for parameter, values in own.items()} for own in spaces]
    drawn = [parameter for own in spaces for parameter, values in own.items() if hasattr(values, "rvs")]
    if number is None and drawn:
        raise InvalidInputError(
            f"{name} has a distribution of {drawn[0]!r}: n_iter must be the number of settings to draw, got None"
        )
    try:
        own = (
            ParameterGrid(spaces)
            if number is None
            else ParameterSampler(spaces, number, random_state=generator_of(random_state))
        )
        settings = list(own)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name}: {error}") from error
    if not settings:
        raise InvalidInputError(f"{name} must have one setting or more, got {space!r}")
    return settings


def _listed(values: Any) -> Any:
    """A list of one for a single value."""
    if hasattr(values, "rvs") or isinstance(values, np.ndarray | range):
        return values
    is_several = isinstance(values, Sequence) and not isinstance(values, str)
    return values if is_several else [values]


class Range(NamedTuple):
    """The values of a parameter between two ends.

    Attributes:
        low: The least value.
        high: The greatest value.
        is_log: Whether the logarithms of values are spread evenly, not the values.
        is_whole: Whether the values are whole numbers.
        default: The value of the first setting.
    """

    low: float
    high: float
    is_log: bool
    is_whole: bool
    default: float

    def draw(self, rng: np.random.Generator) -> float | int:
        """Returns a value, of four digits."""
        if self.is_log:
            value = float(np.exp(rng.uniform(np.log(self.low), np.log(self.high))))
        else:
            value = float(rng.uniform(self.low, self.high))
        return int(np.clip(round(value), self.low, self.high)) if self.is_whole else float(f"{value:.4g}")


class Space(NamedTuple):
    """The settings that a search tries.

    Attributes:
        fixed: Parameters that all settings share.
        ranges: The ranges of the others, by name.
        batch: The number of settings that are fitted at once: fewer where they take long.
        finals: Parameters that all finalists share: means of models of folds, which learn from every row and differ
            less by chance. None where there is no final round.
    """

    fixed: dict[str, Any]
    ranges: dict[str, Range]
    batch: int
    finals: dict[str, Any] | None = None

    def scales(self) -> dict[str, Scale]:
        """Returns the scales on which parameters are drawn."""
        return {name: Scale.LOGARITHMIC if own.is_log else Scale.LINEAR for name, own in self.ranges.items()}

    def settings(self, number: int, seed: int) -> list[dict[str, Any]]:
        """Returns settings: first that of the defaults, then drawn ones, the same for a seed however many they are.

        Every other one of these keeps about half of the values of the defaults, which few draws are close to otherwise.
        """
        rng = np.random.default_rng(seed)
        defaults = {name: int(own.default) if own.is_whole else float(own.default) for name, own in self.ranges.items()}
        settings = [defaults, *({name: own.draw(rng) for name, own in self.ranges.items()} for _ in range(number - 1))]
        is_kept = np.random.default_rng((seed, 1)).uniform(size=(number, len(defaults))) < PART_KEPT
        for place in range(1, number, 2):
            own = zip(defaults.items(), is_kept[place], strict=True)
            settings[place] |= {name: value for (name, value), kept in own if kept}
        return settings


def space_for(num_rows: int, num_columns: int, num_classes: int = 0) -> Space:
    """Returns the space for a table.

    Args:
        num_rows: Rows of the table.
        num_columns: Columns of it.
        num_classes: Classes of the target; 0 for numbers.

    >>> small, large = space_for(1_000, 20, 2), space_for(1_000_000, 20, 2)
    >>> small.fixed["n_estimators"], large.fixed["n_estimators"], small.batch, large.batch
    (400, 150, 8, 2)
    >>> small.settings(2, seed=0)[0]["learning_rate"]
    0.1
    """
    num_scores = num_classes if num_classes > 2 else 1
    work = num_rows * num_scores
    usual = usual_values(num_rows, has_folds=True, of_classes=num_classes > 0)
    size = 0 if work <= SMALL else 1 if work <= MEDIUM else 2
    most_rows = max(3, min(100, num_rows // 20))
    ranges = {
        "learning_rate": Range(*((0.02, 0.2), (0.03, 0.2), (0.05, 0.3))[size], True, False, usual.learning_rate),
        "max_leaf_nodes": Range(4, 64 if num_rows > SMALL else 32, True, True, usual.max_leaf_nodes),
        "min_samples_leaf": Range(1, most_rows, True, True, min(usual.min_samples_leaf, most_rows)),
        "min_child_weight": Range(1e-3, 10, True, False, usual.min_child_weight),
        "reg_lambda": Range(0.01, 30, True, False, 1),
        "reg_alpha": Range(0.001, 10, True, False, 0),
        "subsample": Range(0.5, 1, False, False, usual.subsample),
        "random_strength": Range(0, 10, False, False, usual.random_strength),
        "colsample_bytree": Range(min(1.0, max(0.4, 1 / num_columns)), 1, False, False, 1),
    }
    fixed = {
        "n_estimators": (400, 250, 150)[size],
        "early_stopping": True,
        "n_iter_no_change": (20, 15, 10)[size],
    }
    finals = {
        "n_estimators": ROUNDS_OF_FINALISTS,
        "early_stopping": FOLDS,
        "n_iter_no_change": usual.n_iter_no_change,
    }
    return Space(fixed, ranges, (8, 4, 2)[size], finals)


def additive_space_for(num_rows: int, num_columns: int, num_classes: int = 0) -> Space:
    """Returns the space for a table.

    Args:
        num_rows: Rows of the table.
        num_columns: Columns of it.
        num_classes: Classes of the target; 0 for numbers.

    >>> space = additive_space_for(1_000, 20, 2)
    >>> space.batch, space.settings(2, seed=0)[0]["interactions"], sorted(space.ranges)[:3]
    (8, 60, ['greedy_ratio', 'interactions', 'learning_rate'])
    """
    work = num_rows * (num_classes if num_classes > 2 else 1)
    usual = AdditiveParameters()
    most_rows = max(4, min(100, num_rows // 20))
    all_pairs = num_columns * (num_columns - 1) // 2
    pairs_a_column = 3 if num_classes else 5
    bins = usual_bins(num_columns)
    ranges = {
        "learning_rate": Range(SMOOTHEST, ROUGHEST, True, False, USUAL_RATE),
        "max_leaves": Range(2, 5, False, True, USUAL_LEAVES),
        "greedy_ratio": Range(0, usual.greedy_ratio, False, False, usual.greedy_ratio),
        "min_samples_leaf": Range(1, most_rows, True, True, usual.min_samples_leaf),
        "reg_lambda": Range(0.01, 30, True, False, usual.reg_lambda),
        "max_bins": Range(16, max(16, min(bins, num_rows)), True, True, bins),
        "max_interaction_bins": Range(8, 64, True, True, 64),
        "interactions": Range(0, min(all_pairs, MOST_PAIRS * num_columns), False, True,
                              min(all_pairs, pairs_a_column * num_columns)),
    }  # fmt: skip
    return Space(
        {"max_rounds": MOST_ROUNDS, "outer_bags": 1}, ranges, 8 if work <= SMALL else 4 if work <= MEDIUM else 1
    )
