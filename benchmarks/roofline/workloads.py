"""What the prediction is about: workloads that `benchmarks/` can time on a device as they stand here."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import jax
import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.datasets import make_classification
from sklearn.model_selection import ParameterSampler, StratifiedKFold

from benchmarks.gpu import grow_one, make_table
from jaxtree import DecisionTreeClassifier, GradientBoostingClassifier, SearchCV, SoftTreeClassifier
from jaxtree.boosting import BaseLearner, BoostData, ScoredRows, Shrinkage, boost, logistic
from jaxtree.boosting.batch import ROUNDS_AT_A_TIME as ROUNDS_OF_MANY
from jaxtree.boosting.booster import ROUNDS_AT_A_TIME as ROUNDS_OF_ONE
from jaxtree.growth import Classes, Data, Limits, Rules, Sizes, grow
from jaxtree.tree import apply

ROWS, NUM_FEATURES = 1_000_000, 28
FOREST_ROWS, FOREST_DEPTH = 100_000, 10
BOOSTED_DEPTH, NUM_ROUNDS = 6, 100
NUM_SETTINGS, NUM_FOLDS, SEARCH_ROWS, SEARCH_FEATURES = 200, 8, 1000, 20
TREE_DEPTH, SOFT_DEPTH = 8, 6


class Workload(NamedTuple):
    """A workload: one compiled function, called one or more times with arrays of equal shapes.

    Attributes:
        words: What is done, for the page.
        function: The name of the compiled function.
        run: Runs the public function that calls it, at a size.
        size: The size that is predicted: rows, or trees of a forest.
        counted: Two sizes at which rounds of loops are counted for each kind of device, or one if they stay the same.
        calls: How often the function is called.
        rounds: Rounds of boosting that a call makes, one like the other: all other loops are within that of rounds.
        reads_in_order: Whether codes are read in the order of the rows, so that neighbouring threads read one sector.
        timed_by: What times it on a device.
        has_kernel: Whether the kernel in Warp sums histograms, as with the extra `gpu`; rounds are counted without it.
    """

    words: str
    function: str
    run: Callable[[int], Any]
    size: int
    counted: dict[str, tuple[int, ...]]
    calls: int
    reads_in_order: bool
    timed_by: str
    rounds: int = 1
    has_kernel: bool = False


def grow_tree(num_rows: int) -> Any:
    """Grows one tree of two classes, of depth 8."""
    return grow_one(*make_table(num_rows, NUM_FEATURES))


def grow_forest(num_trees: int, num_rows: int = FOREST_ROWS) -> Any:
    """Grows trees of depth 10, each on rows of its own, whose nodes draw 5 features."""
    codes, label = make_table(num_rows, NUM_FEATURES)
    rng = np.random.default_rng(1)
    row = np.concatenate([np.sort(rng.integers(0, num_rows, num_rows)) for _ in range(num_trees)]).astype(np.int32)
    root = np.repeat(np.arange(num_trees, dtype=np.int32), num_rows)
    sizes = Sizes(num_bins=256, capacity=2 ** (FOREST_DEPTH + 1) * num_trees, num_roots=num_trees)
    limits, rules = Limits(max_depth=FOREST_DEPTH, max_features=5), Rules(Classes(2), samples_features=True)
    return grow(Data(codes, label, None, row, root), None, limits, rules, sizes, key=jax.random.key(0))


def boost_trees(num_rows: int) -> Any:
    """Boosts trees of depth 6 on the logistic loss, without rows for evaluation."""
    codes, label = make_table(num_rows, NUM_FEATURES)
    rows = ScoredRows(codes, label.astype(np.float64), np.ones(num_rows), {})
    limits = Limits(max_depth=BOOSTED_DEPTH, min_weight_leaf=1.0, min_gain=np.finfo(np.float64).tiny)
    learner = BaseLearner(limits, Sizes(num_bins=256, capacity=2 << BOOSTED_DEPTH))
    return boost(BoostData(rows), logistic(), learner, Shrinkage(0.1), num_rounds=NUM_ROUNDS)


SPACE = {
    "learning_rate": loguniform(0.03, 0.3), "max_leaf_nodes": randint(7, 64), "min_samples_leaf": randint(5, 60),
    "subsample": uniform(0.5, 0.5), "colsample_bytree": uniform(0.5, 0.5), "reg_lambda": loguniform(1e-3, 10),
    "reg_alpha": loguniform(1e-3, 10), "n_estimators": randint(NUM_ROUNDS // 2, NUM_ROUNDS + 1),
}  # fmt: skip
"""What the settings of a search are drawn from."""


def search_settings(num_rows: int, num_settings: int = NUM_SETTINGS) -> Any:
    """Boosts all settings of a search on one fold together, and scores them."""
    X, y = make_classification(num_rows, SEARCH_FEATURES, n_informative=10, flip_y=0.1, random_state=0)
    fixed = {"max_depth": [8], "min_child_weight": [1e-3], "random_state": [0]}
    drawn = ParameterSampler(SPACE, num_settings, random_state=0)
    settings = [{name: [value] for name, value in own.items()} | fixed for own in drawn]
    folds = StratifiedKFold(NUM_FOLDS)
    search = SearchCV(GradientBoostingClassifier(), settings, cv=folds, scoring="neg_log_loss", refit=False)
    # A device has room for all settings of a fold; a processor takes fewer together.
    with mock.patch("jaxtree.boosting.many.slots_for", lambda *_: num_settings):
        return search.fit(X, y)


@functools.cache
def _tree_of_depth_8() -> Any:
    codes, label = make_table(20_000, NUM_FEATURES)
    return DecisionTreeClassifier(max_depth=TREE_DEPTH).fit(codes.T.astype(float), label).tree_


def predict(num_rows: int) -> Any:
    """Sends rows of codes down a tree of depth 8."""
    return apply(_tree_of_depth_8(), np.zeros((NUM_FEATURES, num_rows), np.uint8))


def train_softly(num_rows: int) -> Any:
    """Trains a soft tree of depth 6 for one epoch, in batches of 256 rows."""
    X = np.random.default_rng(0).normal(size=(num_rows, NUM_FEATURES)).astype(np.float32)
    return SoftTreeClassifier(SOFT_DEPTH, max_epochs=1, random_state=0).fit(X, (X[:, 0] > 0).astype(int))


WORKLOADS = {
    "tree": Workload(
        "one tree: 1,000,000 rows x 28 features of 256 codes, two classes, depth 8",
        *("_grow", grow_tree, ROWS), {"gpu": (2**17,), "tpu": (2**17, 2**18)}, 1, True,
        "`python benchmarks/gpu.py --rows 1000000 --skip-boosting`, `minimum_s` of `trees`",
    ),
    "tree, kernel": Workload(
        "one tree: the same, with histograms by the kernel in Warp",
        *("_grow", grow_tree, ROWS), {"gpu": (2**17,)}, 1, True,
        "the same with `jaxtree[gpu]` installed", has_kernel=True,
    ),
    "forest": Workload(
        "a forest: 64 trees of depth 10, each on 100,000 rows drawn from 100,000 x 28, 5 features a node",
        *("_grow", grow_forest, 64), {"gpu": (64,), "tpu": (2, 4)}, 1, False,
        "`python benchmarks/gpu.py --skip-boosting`, `minimum_s` of `forest`",
    ),
    "boosting": Workload(
        "100 rounds of boosting: log loss, 1,000,000 rows x 28 features of 256 codes, depth 6",
        *("make_rounds", boost_trees, ROWS), {"gpu": (2**17,), "tpu": (2**17, 2**18)},
        *(NUM_ROUNDS // ROUNDS_OF_ONE, True),
        "`benchmarks.gpu.boosting(device, 1_000_000, 28, 100, 6)`, `minimum_s`, which also evaluates 10,000 rows",
        rounds=ROUNDS_OF_ONE,
    ),
    "boosting, kernel": Workload(
        "100 rounds of boosting: the same, with histograms by the kernel in Warp",
        *("make_rounds", boost_trees, ROWS), {"gpu": (2**17,)}, NUM_ROUNDS // ROUNDS_OF_ONE, True,
        "the same with `jaxtree[gpu]` installed", rounds=ROUNDS_OF_ONE, has_kernel=True,
    ),
    "search": Workload(
        "a search of 200 settings x 8 folds: 1,600 boosted models of 50 to 100 rounds on 1,000 rows x 20",
        *("make_rounds_of_many", search_settings, SEARCH_ROWS),
        {"gpu": (SEARCH_ROWS,), "tpu": (SEARCH_ROWS,)}, NUM_FOLDS * NUM_ROUNDS // ROUNDS_OF_MANY, True,
        "`benchmarks.roofline.workloads.search_settings(1000)`, warm", rounds=ROUNDS_OF_MANY,
    ),
    "predictions": Workload(
        "a million predictions: 1,000,000 rows x 28 codes down one tree of depth 8",
        *("_walk_codes", predict, ROWS), {"gpu": (2**12,), "tpu": (2**12,)}, 1, False,
        "`jaxtree.tree.apply(tree, codes)` of codes on the device",
    ),
    "soft epoch": Workload(
        "an epoch of a soft tree of depth 6: 1,000,000 rows x 28, 3,907 steps of 256 rows",
        *("run_epochs", train_softly, ROWS), {"gpu": (2**12, 2**13), "tpu": (2**12, 2**13)}, 1, True,
        "`SoftTreeClassifier(6, max_epochs=1).fit(X, y)`, warm",
    ),
}  # fmt: skip
"""All workloads, by a short name."""
