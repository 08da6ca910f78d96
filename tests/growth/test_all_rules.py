"""The engine against a slow oracle, node for node: weights, numbers, outputs, missing values, subsets, limits."""

import dataclasses

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtree import criteria
from jaxtree.criteria import poisson, squared_error
from jaxtree.growth import Classes, Data, Features, Limits, Missing, Numbers, Rules, Sizes, SplitKind, grow, take_tree
from tests.reference import weighted_oracle as oracle

pytestmark = pytest.mark.exhaustive

ROWS, CODES = 24, 8
KINDS = np.array(
    [SplitKind.THRESHOLD, SplitKind.MULTIWAY, SplitKind.ONE_VS_REST, SplitKind.SUBSET, SplitKind.THRESHOLD]
)
CRITERIA = {
    "gini": (criteria.gini, oracle.gini),
    "entropy": (criteria.entropy, oracle.entropy),
    "misclassification": (criteria.misclassification, oracle.misclassification),
    "squared_error": (squared_error, oracle.squared_error),
    "poisson": (poisson, oracle.poisson),
}


@dataclasses.dataclass(frozen=True)
class Setting:
    """A set of static rules: one program."""

    criterion: str
    missing: str
    num_classes: int = 0
    num_outputs: int = 1
    has_weights: bool = True
    counts_rows: bool = False
    is_monotone: bool = False
    has_close_values: bool = False


SETTINGS = [
    Setting("gini", "learn", num_classes=2),
    Setting("gini", "branch", num_classes=2, is_monotone=True, has_close_values=True),
    Setting("gini", "learn", num_classes=3, has_weights=False, counts_rows=True),
    Setting("entropy", "fraction", num_classes=3),
    Setting("entropy", "learn", num_classes=2, num_outputs=2, counts_rows=True),
    Setting("misclassification", "branch", num_classes=3, num_outputs=2, has_weights=False),
    Setting("squared_error", "learn", is_monotone=True),
    Setting("squared_error", "branch", has_weights=False, has_close_values=True),
    Setting("squared_error", "fraction", num_outputs=2, counts_rows=True),
    Setting("poisson", "branch", has_weights=False),
    Setting("poisson", "learn", num_outputs=2),
]


def draw_problem(setting, seed, num_rows, **limits):
    """A table with few values, ties, absent and missing codes; weights and targets are dyadic, so sums are exact."""
    rng = np.random.default_rng(seed)
    num_values = rng.integers(2, CODES, KINDS.size)
    most = [rng.integers(1, n + 1) for n in num_values]
    codes = np.stack([rng.integers(0, n, num_rows) for n in most])
    is_missing = rng.random(codes.shape) < rng.choice([0, 0.3])
    codes = np.where(is_missing, num_values[:, None], codes)
    target = rng.integers(0, setting.num_classes or 6, (setting.num_outputs, num_rows))
    target = target if setting.num_classes else target / 4 - (setting.criterion == "squared_error")
    if not setting.num_classes and setting.missing == "fraction":
        # Shares are rounded, and equal means of categories then differ; no two are equal here.
        target = target + np.arange(num_rows) / 64
    elif rng.random() < 0.3:
        target = (codes[:1] + codes[1:2]) % 2 + np.zeros_like(target)
    apart = np.arange(1, CODES + 1) + rng.integers(0, 2, (KINDS.size, CODES))
    problem = oracle.Problem(
        codes, target, CRITERIA[setting.criterion][1], KINDS, num_values + 1, num_values,
        num_classes=setting.num_classes, missing=setting.missing, counts_rows=setting.counts_rows,
        needs_positive=setting.criterion == "poisson",
        monotone=rng.integers(-1, 2, KINDS.size) * (KINDS == SplitKind.THRESHOLD) if setting.is_monotone else None,
        next_separable=np.minimum(apart, num_values[:, None]) if setting.has_close_values else None,
        **limits,
    )  # fmt: skip
    weight = rng.integers(0 if rng.random() < 0.5 else 1, 9, num_rows) / 8 if setting.has_weights else np.ones(num_rows)
    weight[0] = 1
    return problem, weight


def rules_of(setting):
    criterion = CRITERIA[setting.criterion][0]
    if setting.num_classes:
        objective = Classes(setting.num_classes, criterion, setting.num_outputs)
    else:
        objective = Numbers(criterion, setting.num_outputs)
    return Rules(objective, missing=Missing[setting.missing.upper()], counts_rows=setting.counts_rows)


def grow_padded(setting, problem, weight):
    """The engine's tree; rows are padded to one shape."""
    padding = ROWS - weight.size
    dtype = np.float64 if setting.has_weights else np.int32
    limits = Limits(
        max_depth=min(problem.max_depth, 2**31 - 1),
        min_samples_split=problem.min_samples_split,
        min_samples_leaf=problem.min_samples_leaf,
        min_weight_leaf=problem.min_weight_leaf,
        min_gain=problem.min_gain,
        min_impurity_decrease=problem.min_impurity_decrease,
    )
    monotone, apart = problem.monotone, problem.next_separable
    if monotone is not None and not monotone.any():
        monotone = np.where(KINDS == SplitKind.MULTIWAY, 1, 0)  # no threshold: the same rules, no constraint
    with jax.enable_x64(True):
        data = Data(
            np.pad(problem.codes, ((0, 0), (0, padding))).astype(np.uint8),
            np.pad(problem.target, ((0, 0), (0, padding))).astype(np.int32 if setting.num_classes else np.float64),
            np.pad(weight, (0, padding)).astype(dtype),
        )
        features = Features(
            KINDS.astype(np.int32),
            np.asarray(problem.num_codes, np.int32),
            np.asarray(problem.num_values, np.int32),
            None if monotone is None else monotone.astype(np.int32),
            next_separable=None if apart is None else apart.astype(np.int32),
        )
        sizes = Sizes(num_bins=CODES, capacity=1024, entry_capacity=16 * ROWS)
        grown = grow(data, features, limits, rules_of(setting), sizes)
    assert grown.complete
    return take_tree(grown.tree)


@pytest.mark.parametrize(
    "setting", SETTINGS, ids=lambda s: f"{s.criterion}-{s.missing}-{s.num_classes}x{s.num_outputs}"
)
@given(
    seed=st.integers(0, 2**32 - 1),
    num_rows=st.integers(1, ROWS),
    max_depth=st.sampled_from([1, 2, 10**9, 10**9, 10**9]),
    min_samples_split=st.sampled_from([0.1, 2.3, 5.1]),
    min_samples_leaf=st.sampled_from([0.01, 0.01, 0.9, 2.1]),
    min_weight_leaf=st.sampled_from([0, 0, 1.03]),
    min_gain=st.sampled_from([0.0, 0.0, 0.0301]),
    min_impurity_decrease=st.sampled_from([0.0, 0.0, 0.0213]),
)
def test_same_tree_as_the_oracle(setting, seed, num_rows, **limits):
    problem, weight = draw_problem(setting, seed, num_rows, **limits)
    tree = grow_padded(setting, problem, weight)
    oracle.assert_same_tree(tree, oracle.grow(problem, weight), problem)
