"""Tiny tables with everything that a table may have, of the same sizes, so that their programs are shared."""

import numpy as np

from jaxtree.kernels.choose import Engines
from jaxtree.optimal.costs import cost_of_classes, cost_of_numbers, cost_of_rewards
from jaxtree.optimal.exact import SplitTable
from jaxtree.optimal.indicators import make_indicators

NUM_VALUES = np.array([3, 2, 3, 3], np.int32)
IS_CATEGORICAL = np.array([False, False, True, False])
ROWS = 24
LOSS = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [1.0, 3.0, 0.5]])


def draw_table(seed, *, rows=ROWS, num_values=NUM_VALUES, missing=0.15):
    """Codes of a table, some of them missing in two of the features, with classes, numbers, counts and weights."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, values, rows) for values in num_values]).astype(np.uint8)
    for feature in (0, 2):
        codes[feature, rng.random(rows) < missing] = num_values[feature]
    score = codes[0] + 2 * (codes[2] == 1) * codes[1] + rng.normal(size=rows)
    classes = np.digitize(score, [1.0, 2.5])
    numbers = np.stack([score, rng.normal(size=rows)])
    weight = rng.choice([0.25, 1.0, 2.5, 1 / 3], rows)
    return codes, classes, numbers, rng.poisson(np.exp(score / 2), rows)[None].astype(float), weight


def indicators_of(codes, num_values=NUM_VALUES, is_categorical=IS_CATEGORICAL, **options):
    cuts = [np.arange(values) for values in num_values]
    return make_indicators(codes, num_values, is_categorical, cuts, **options)


CASES = {
    "errors": ("misclassification", None, False, 1),
    "errors_weighted": ("misclassification", None, True, 1),
    "loss": ("misclassification", LOSS, False, 1),
    "loss_weighted": ("misclassification", LOSS, True, 3),
    "gini": ("gini", None, False, 1),
    "gini_weighted": ("gini", None, True, 3),
    "entropy": ("entropy", None, False, 2),
    "squared_error": ("squared_error", None, False, 1),
    "squared_error_weighted": ("squared_error", None, True, 3),
    "poisson": ("poisson", None, False, 1),
    "poisson_weighted": ("poisson", None, True, 1),
    "regret": ("regret", None, False, 1),
    "regret_weighted": ("regret", None, True, 3),
}


def case_of(name, seed):
    """The codes of a case, its target and weights, and the target as the package takes it."""
    criterion, loss, is_weighted, least_rows = CASES[name]
    codes, classes, numbers, counts, weight = draw_table(seed)
    weight = weight if is_weighted else None
    if criterion == "regret":
        target = np.stack([0 * numbers[0], numbers[0] - 2, numbers[1]])
        made = cost_of_rewards(target, weight, least_rows)
    elif criterion in ("squared_error", "poisson"):
        target = numbers if criterion == "squared_error" else counts
        made = cost_of_numbers(target, weight, criterion, least_rows)
    else:
        target = classes[None]
        made = cost_of_classes(classes, 3, weight, criterion, loss, least_rows)
    return codes, target, weight, made


def table_of(codes, made):
    return SplitTable(indicators_of(codes), made, Engines.of("cpu"))
