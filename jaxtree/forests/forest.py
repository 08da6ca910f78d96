"""Growth of a forest: many trees on one table, as roots of few growths.

Tree t of a key is the same whatever the number of trees, of batches, threads and devices: its rows and the seed of its
random splits follow from the key and t, and its sums are exact.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float64, PRNGKeyArray, Real, UInt

from jaxtree.arrays import Device
from jaxtree.forests.batches import ACCELERATOR_LIMITS, CPU_LIMITS, make_batches, run_batches
from jaxtree.forests.drawing import Drawing, make_drawing, split_key
from jaxtree.forests.growing import ForestGrowth, ForestSample
from jaxtree.growth.inputs import Features, Limits, Rules
from jaxtree.tree import Forest, join_forests


class Rows(NamedTuple):
    """The table that a forest is grown on.

    Attributes:
        codes: The codes of every feature.
        target: Classes of every output, or numbers.
        num_classes: The number of classes of the output that has most; 0 for numbers.
        num_bins: Codes of the feature that has most.
        weight: The weight of every row, with bootstrap samples its chance; None is 1.
    """

    codes: UInt[np.ndarray, "feature row"]
    target: Real[np.ndarray, "output row"]
    num_classes: int
    num_bins: int
    weight: Float64[np.ndarray, " row"] | None = None


class Sampling(NamedTuple):
    """The rows that each tree is grown on.

    Attributes:
        num_draws: Draws of a bootstrap sample; None for all rows, each with its weight.
        balances_classes: Whether a tree weights the classes of its sample so that all count alike.
        least_share: The least share of a tree's whole weight in a branch.
    """

    num_draws: int | None = None
    balances_classes: bool = False
    least_share: float = 0.0


class Course(NamedTuple):
    """How the work is done, on which the forest does not depend.

    Attributes:
        num_threads: Batches that grow at the same time, where there is one device.
        devices: The devices to divide the batches among; the default one if not given.
        trees_per_batch: The most trees of a batch; chosen by memory and threads if not given.
        on_grown: Called with the number of trees of every batch that is done.
    """

    num_threads: int = 1
    devices: tuple[Device, ...] = ()
    trees_per_batch: int | None = None
    on_grown: Callable[[int], Any] | None = None


def grow_forest(
    rows: Rows,
    features: Features,
    limits: Limits,
    sampling: Sampling,
    rules: Rules,
    *,
    key: PRNGKeyArray,
    trees: range,
    course: Course = Course(),
) -> Forest:
    """Grows some trees of a key's forest, by their numbers; thresholds are codes.

    Args:
        rows: The table.
        features: How the features may be split.
        limits: When a node is not split: numbers, or arrays with one number for every tree. A row of a bootstrap sample
            counts as often as it was drawn.
        sampling: The rows of each tree.
        rules: How splits are judged, chosen and made.
        key: The key of the forest.
        trees: The numbers of the trees.
        course: Threads and batches.

    Returns:
        The trees; after an interrupt (Ctrl-C) those that come before the first that was not grown.

    Raises:
        KeyboardInterrupt: An interrupt came before the first batch was done.
        MemoryError: There is not enough memory for one tree; or JAX's own error of the kind.

    Example:
        >>> from jaxtree import Classes
        >>> rows = Rows(np.array([[0, 0, 1, 1]], np.uint8), np.array([[0, 0, 1, 1]]), num_classes=2, num_bins=2)
        >>> features = Features(np.zeros(1, np.int32), np.full(1, 2))
        >>> sampling, rules = Sampling(num_draws=4), Rules(Classes(2))
        >>> forest = grow_forest(rows, features, Limits(), sampling, rules, key=jax.random.key(0), trees=range(3))
        >>> len(forest), [int(tree.count[0].sum()) for tree in forest]
        (3, [4, 4, 4])
    """
    sample_key, growth_key = split_key(key)
    drawing = None if sampling.num_draws is None else _drawing(rows, sampling.num_draws, sample_key)
    sample = ForestSample(*rows, drawing, sampling.balances_classes, sampling.least_share)
    growth = ForestGrowth(sample, features, limits, rules, key=growth_key, first_tree=trees.start)
    # A thread does not see the device that its caller has chosen in a context.
    devices = course.devices or (_default_device(),) * course.num_threads
    batch_limits = CPU_LIMITS if devices[0].platform == "cpu" else ACCELERATOR_LIMITS
    batches = make_batches(len(trees), growth.size_of_tree, len(devices), course.trees_per_batch, batch_limits)
    workers = [functools.partial(growth, device=device) for device in devices]
    return join_forests(run_batches(batches, workers, on_grown=course.on_grown))


def _default_device() -> Device:
    """The device that arrays are made on."""
    chosen = jax.config.values["jax_default_device"]
    return chosen if isinstance(chosen, jax.Device) else jax.local_devices(backend=chosen)[0]


def drawing_of(rows: Rows, num_draws: int, key: PRNGKeyArray) -> Drawing:
    """Returns how the trees of a key's forest draw their rows, for those who ask which rows a tree has not seen."""
    return _drawing(rows, num_draws, split_key(key)[0])


def _drawing(rows: Rows, num_draws: int, sample_key: PRNGKeyArray) -> Drawing:
    return make_drawing(sample_key, rows.target.shape[1], num_draws, rows.weight)
