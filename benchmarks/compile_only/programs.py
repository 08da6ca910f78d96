"""The programs that are compiled: growth by all rules, and what is done with a tree."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import jax
import numpy as np
from jax.sharding import Mesh

import jaxtree
from jaxtree.growth import Classes, Data, Features, Limits, Numbers, Rules, Sizes
from jaxtree.growth.inputs.bundles import Missing, Selection
from jaxtree.kernels.choose import Engine
from jaxtree.tree import SplitKind

NUM_FEATURES, NUM_BINS, DEPTH, NUM_TREES = 28, 256, 8, 8


class Program(NamedTuple):
    """A program.

    Attributes:
        function: The name of the compiled function.
        run: Runs the public function that calls it, on so many rows.
        num_devices: The number of devices that share the rows.
    """

    function: str
    run: Callable[[int], Any]
    num_devices: int = 1


def grow_classes(num_rows: int, *, num_devices: int = 1, **rules: Any) -> Any:
    """Grows a tree of two classes."""
    mesh = Mesh(np.array(jax.devices("cpu")[:num_devices]), ("rows",)) if num_devices > 1 else None
    return _grow(Data(_codes(num_rows), _classes(num_rows)), Rules(Classes(2), **rules), mesh=mesh)


def grow_numbers(num_rows: int) -> Any:
    """Grows a tree of numbers."""
    return _grow(Data(_codes(num_rows), _classes(num_rows) / 2), Rules(Numbers()))


def grow_weighted(num_rows: int) -> Any:
    """Grows a tree on rows whose weights are no whole numbers."""
    return _grow(Data(_codes(num_rows), _classes(num_rows), np.full(num_rows, 0.5)), Rules(Classes(2)))


def grow_with_gaps(num_rows: int, **rules: Any) -> Any:
    """Grows a tree on numbers and categories of which some are missing."""
    kind = np.where(np.arange(NUM_FEATURES) < 24, SplitKind.THRESHOLD, SplitKind.SUBSET).astype(np.int32)
    if rules:
        kind = np.where(kind == SplitKind.SUBSET, SplitKind.MULTIWAY, kind).astype(np.int32)
    num_codes = np.where(np.arange(NUM_FEATURES) < 24, NUM_BINS, 8).astype(np.int32)
    codes = np.minimum(_codes(num_rows), num_codes[:, None] - 1).astype(np.uint8)
    features = Features(kind, num_codes, num_codes - 1)
    return _grow(Data(codes, _classes(num_rows)), Rules(Classes(2), **rules), features)


def grow_forest(num_rows: int, **rules: Any) -> Any:
    """Grows several trees together, each on rows of its own, whose nodes draw features."""
    rng = np.random.default_rng(0)
    row = rng.integers(0, num_rows, NUM_TREES * num_rows).astype(np.int32)
    root = np.repeat(np.arange(NUM_TREES, dtype=np.int32), num_rows)
    data = Data(_codes(num_rows), _classes(num_rows), None, row, root)
    drawn = Rules(Classes(2), samples_features=True, **rules)
    return _grow(data, drawn, limits=Limits(max_depth=DEPTH, max_features=5), num_roots=NUM_TREES)


def _grow(
    data: Data,
    rules: Rules,
    features: Features | None = None,
    *,
    limits: Limits | None = None,
    num_roots: int = 1,
    mesh: Mesh | None = None,
) -> Any:
    limits = Limits(max_depth=DEPTH) if limits is None else limits
    sizes = Sizes(num_bins=NUM_BINS, capacity=4096 * num_roots, num_roots=num_roots)
    key = jax.random.key(0) if num_roots > 1 else None
    return jaxtree.growth.grow(data, features, limits, rules, sizes, key=key, mesh=mesh)


def _codes(num_rows: int) -> np.ndarray:
    """Codes; no value of them matters to a compiler."""
    return np.zeros((NUM_FEATURES, num_rows), np.uint8)


def _classes(num_rows: int) -> np.ndarray:
    return np.zeros(num_rows, np.int32)


@functools.cache
def _fitted() -> tuple[Any, np.ndarray, np.ndarray]:
    """A fitted tree, and its rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, (512, NUM_FEATURES)).astype(float)
    y = (X[:, 0] + X[:, 1] > 15).astype(int)
    return jaxtree.DecisionTreeClassifier(max_depth=4).fit(X, y), X, y


def walk(num_rows: int) -> Any:
    """Sends rows down a tree."""
    from jaxtree.tree import apply

    return apply(_fitted()[0].tree_, _codes(num_rows))


def drop_out(num_rows: int) -> Any:
    """Scores a thousand draws of dropout pruning at sixty rates; their rows are sent down the tree before."""
    from jaxtree.dropout import node_rates, sampled_accuracy

    model, X, y = _fitted()
    rates = np.stack([node_rates(model.tree_, rate) for rate in np.linspace(0, 0.6, 60)])
    return sampled_accuracy(model.tree_, model.encode(X), y, rates, key=jax.random.key(0), num_draws=1000)


def train_softly(num_rows: int) -> Any:
    """Trains a soft tree for an epoch."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(num_rows, NUM_FEATURES)).astype(np.float32)
    return jaxtree.SoftTreeClassifier(depth=6, max_epochs=1, random_state=0).fit(X, (X[:, 0] > 0).astype(int))


def explain(num_rows: int) -> Any:
    """Divides the predictions of rows among the columns."""
    from jaxtree.explain import shap_values

    with mock.patch("jaxtree.explain.shap.choose", lambda platform: Engine.XLA):  # a CPU has the kernel
        return shap_values(_fitted()[0], np.zeros((num_rows, NUM_FEATURES)))


C45 = {"missing": Missing.FRACTION, "selection": Selection.GAIN_RATIO}

PROGRAMS = {
    "growth, classes": Program("_grow", grow_classes),
    "growth, numbers": Program("_grow", grow_numbers),
    "growth, float weights": Program("_grow", grow_weighted),
    "growth, subsets and missing values": Program("_grow", grow_with_gaps),
    "growth, missing values shared out": Program("_grow", functools.partial(grow_with_gaps, **C45)),
    "growth, a forest": Program("_grow", grow_forest),
    "growth, random thresholds": Program("_grow", functools.partial(grow_forest, samples_thresholds=True)),
    "growth, four devices": Program("_grow_on_mesh", functools.partial(grow_classes, num_devices=4), 4),
    "walk": Program("_walk_codes", walk),
    "dropout": Program("_score_draws", drop_out),
    "a soft epoch": Program("run_epochs", train_softly),
    "Shapley values": Program("sum_shap_values", explain),
}
"""All programs, by what they do."""
