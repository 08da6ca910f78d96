"""Trees that the kernel in C++ and XLA's programs grow from the same table, to be compared."""

import dataclasses

import jax
import numpy as np
import pytest

from jaxtree import criteria
from jaxtree.growth import Classes, Data, Features, Limits, Missing, Numbers, Rules, Selection, Sizes, grow
from jaxtree.growth.device.open_features import sets_in_bits
from jaxtree.growth.host import grow_on_host
from jaxtree.growth.inputs.bundles import has_seeds
from jaxtree.growth.inputs.moments import MomentLimits
from jaxtree.growth.inputs.newton import Penalties
from jaxtree.growth.loop.grow import root_seeds
from jaxtree.growth.native import engine_of
from jaxtree.kernels import choose
from jaxtree.kernels.choose import Engine
from jaxtree.tree import SplitKind

needs_kernel = pytest.mark.skipif(not choose.is_there(), reason="the kernel is not installed")

T, S, O, M = SplitKind.THRESHOLD, SplitKind.SUBSET, SplitKind.ONE_VS_REST, SplitKind.MULTIWAY  # noqa: E741
MIXED, THRESHOLDS, BRANCHES = (T, T, T, T, T, S, S, O), (T,) * 8, (T, M, T, M, O, S, M, M)
IN_ROW_ORDER = {"kinds": THRESHOLDS, "num_bins": 256, "num_rows": 20_000}
"""Nodes of that many rows are summed in the order of the rows, smaller ones by rows that are sorted by node."""
PENALTIES = Penalties()
MOMENT_LIMITS = MomentLimits()


def table(rng, kinds, num_rows, num_bins, num_categories, has_missing, missing_share, num_rare):
    """Codes and the number of known codes of every feature; nearly all rows have one code of those of rare codes."""
    num_values = np.where(np.array(kinds) == T, num_bins - 2, num_categories).astype(np.int32)
    codes = rng.integers(0, num_bins, (len(kinds), num_rows))
    most = num_values[:, None] if has_missing else num_values[:, None] - 1
    for feature in range(len(kinds) - num_rare, len(kinds)):
        usual = feature % (most[feature, 0] + 1)
        codes[feature] = np.where(rng.random(num_rows) < 0.05, codes[feature], usual)
    if missing_share is not None:
        codes = np.where(rng.random(codes.shape) < missing_share, num_values[:, None], codes % num_values[:, None])
    return np.minimum(codes, most).astype(np.uint16 if num_bins > 256 else np.uint8), num_values


def derivatives(rng, label, newton):
    """Second derivatives and gradients of rows, and noise."""
    curvature = rng.random((newton.num_curvatures, label.size)) / 2 + 0.1
    gradient = rng.normal(size=(newton.num_scores, label.size)) - label
    noise = rng.random((1, label.size))
    return np.concatenate([curvature, gradient] + [noise] * newton.has_noise)


def statistics(rng, codes, label, moments, weight):
    """The statistics of rows whose effects differ by their codes."""
    num_arms, num_rows = moments.num_arms, label.size
    instrument = rng.normal(size=(num_arms, num_rows)) + 0.3 * label
    treatment = instrument + moments.has_instruments * rng.normal(size=(num_arms, num_rows))
    effect = 1 + (codes[1] > np.median(codes[1])) + (codes[2] > np.median(codes[2]))
    outcome = effect * treatment.sum(axis=0) + label + rng.normal(size=(moments.num_outcomes, num_rows))
    return moments.statistics(outcome, treatment, instrument, weight.astype(float))


def arguments(
    *, kinds, num_rows=600, num_bins=64, num_categories=6, num_classes=2, num_outputs=1,
    of_numbers=False, criterion=criteria.gini, has_missing=True, missing=Missing.LEARN, weight="whole",
    counts_rows=False, is_apart=False, max_features=None, draws_thresholds=False, draws_ties=False, num_roots=1,
    max_depth=99, selection=Selection.GAIN, monotone=None, newton=None, penalties=PENALTIES,
    moments=None, moment_limits=MOMENT_LIMITS,
    sets=None, level_features=None, max_leaf_nodes=None, num_rare=0, score_noise=0.0,
    min_samples_leaf=3, missing_share=None, seed=7,
):  # fmt: skip
    """The table of a case, and how it is grown: `grow` has these arguments."""
    rng = np.random.default_rng(seed)
    codes, num_values = table(rng, kinds, num_rows, num_bins, num_categories, has_missing, missing_share, num_rare)
    label = (codes[0] > num_bins // 3).astype(np.int32) + (codes[6] % 3 == 1) + (rng.random(num_rows) < 0.1)
    if num_classes > 4:
        label += rng.integers(0, num_classes, num_rows) // 2
    label %= num_classes
    target = rng.normal(size=num_rows) + label if of_numbers else label
    target = np.exp(target) if criterion is criteria.poisson else target
    target = target if num_outputs == 1 else np.stack([target, target[::-1]])
    if newton is not None:
        target = derivatives(rng, label, newton)
    weights = {"whole": np.arange(num_rows, dtype=np.int32) % 3, "floats": rng.random(num_rows)}[weight]
    if moments is not None:
        target = statistics(rng, codes, label, moments, weights)
    data = Data(codes, target, weights)
    if num_roots > 1:
        row = np.sort(rng.integers(0, num_rows, (num_roots, num_rows))).reshape(-1).astype(np.int32)
        data = Data(codes, target, row=row, root=np.repeat(np.arange(num_roots, dtype=np.int32), num_rows))
    code = np.arange(num_bins)
    features = Features(
        np.array(kinds, np.int32), num_values + has_missing, num_values,
        monotone=None if monotone is None else np.array(monotone, np.int32),
        next_separable=np.minimum(code + 2, num_values[:, None]).astype(np.int32) if is_apart else None,
        position=np.cumsum(rng.random((len(kinds), num_bins)), axis=1) if draws_thresholds else None,
        sets=None if sets is None else sets_in_bits(sets, len(kinds)),
    )  # fmt: skip
    number_criterion = criterion if criterion is criteria.poisson else criteria.squared_error
    objective = Numbers(number_criterion, num_outputs) if of_numbers else Classes(num_classes, criterion, num_outputs)
    rules = Rules(
        newton or moments or objective, missing,
        counts_rows=counts_rows, samples_features=max_features is not None, samples_thresholds=draws_thresholds,
        draws_ties=draws_ties, selection=selection, samples_levels=level_features is not None,
        grows_best_first=max_leaf_nodes is not None, draws_scores=score_noise > 0,
    )  # fmt: skip
    most = {"max_features": max_features or len(kinds), "level_features": level_features or len(kinds)}
    limits = Limits(max_depth, min_samples_leaf=min_samples_leaf, score_noise=score_noise, **most)
    if newton is not None:
        limits = limits._replace(parameters=penalties)
    if moments is not None:
        limits = limits._replace(parameters=moment_limits)
    if max_leaf_nodes is not None:
        limits = limits._replace(max_leaf_nodes=max_leaf_nodes)
    capacity = 2**15 if max_leaf_nodes is None else 128 * num_roots
    return data, features, limits, rules, Sizes(num_bins, capacity=capacity, num_roots=num_roots)


def grown(uses_kernel, monkeypatch, **case):
    """The tree of a case, grown by the kernel or by XLA's programs."""
    choose_engine(uses_kernel, monkeypatch)
    with jax.enable_x64(True):
        growth = grow(*arguments(**case), key=jax.random.key(3))
    assert growth.complete and (growth.tree.num_nodes > 60 or case.get("max_leaf_nodes") is not None)
    return growth.tree


def choose_engine(uses_kernel, monkeypatch):
    """Has the kernel grow trees, or XLA's programs."""
    monkeypatch.setattr(choose, "is_there", lambda: uses_kernel)


def assert_that_of_xla(case, monkeypatch, *, is_contracted):
    """The kernel grows the tree of XLA's programs, in a program and perhaps on the host.

    Args:
        case: Arguments of `grown`.
        monkeypatch: pytest's, to choose who grows.
        is_contracted: Whether gains may differ in the last bits, as XLA contracts products and sums or not.
    """
    expected = grown(False, monkeypatch, **case)
    assert_same(grown(True, monkeypatch, **case), expected, is_contracted=is_contracted)
    if engine_of(arguments(**case)[3], "cpu", on_host=True) is Engine.HOST:
        assert_same(on_host(**case), expected, is_contracted=is_contracted)


def on_host(**case):
    """The tree of a case, grown by the kernel without XLA."""
    data, features, limits, rules, sizes = arguments(**case)
    assert engine_of(rules, "cpu", on_host=True) is Engine.HOST
    key = jax.random.key(3) if has_seeds(rules) else None
    seeds = np.asarray(root_seeds(key, sizes.num_roots))
    tree = grow_on_host(data, features, limits, rules, sizes.num_bins, seeds)
    assert all(type(field) is np.ndarray for field in jax.tree.leaves(tree))
    return tree


def assert_same(tree, expected, *, is_contracted=False):
    """A tree is another; on the host a table has no room for further nodes."""
    size = tree.capacity
    for field in dataclasses.fields(tree):
        own, other = getattr(tree, field.name), getattr(expected, field.name)
        if isinstance(own, np.ndarray) and own.ndim:
            other = other[:size]
        if field.name in ("gain", "impurity") and is_contracted:
            np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-12, err_msg=field.name)
        else:
            np.testing.assert_array_equal(own, other, err_msg=field.name)
