"""The fit of an additive model: terms of features in every bag, the pairs that interact, and the mean of all bags."""

import dataclasses
import functools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64, UInt

from jaxtree.additive.layout import Layout, join_layouts
from jaxtree.additive.model import AdditiveModel
from jaxtree.additive.purify import purify
from jaxtree.additive.quadratic import RowLoss, rows_of_loss
from jaxtree.additive.rules import AdditiveRules
from jaxtree.additive.screening import savings_of_pairs
from jaxtree.additive.sums import row_scores
from jaxtree.additive.terms import Heredity, candidate_pairs, coarse_axes, main_terms, pair_terms
from jaxtree.additive.training import BaggedTerms, boost_terms
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.devices import carried, num_cores
from jaxtree.losses.loss import BaseLoss
from jaxtree.table.schema import Schema

Pairs = Sequence[tuple[int, int]]

LONGER = 5
"""Steps of fewer leaves may make so many times as many rounds."""


class AdditiveConfig(NamedTuple):
    """The parameters of a fit.

    Attributes:
        rules: The rules of boosting single features.
        smoother: Other rules for single features, which are taken where they are better on the rows held out.
        pair_rules: Those of boosting pairs.
        monotone: How the first score may go as a feature rises: 1, -1 or 0.
        pairs: The pairs of features that are fitted, or how many, of those that save most.
        heredity: Which pairs may be among the best; all may if None.
        pair_bins: The most bins of a feature in a pair, that of missing values included.
        most_places: The most bins of all pairs together; coarser bins make them fewer.
        screening_bins: The most bins of a feature where pairs are compared.
        min_category_rows: The least rows of a category that has a bin of its own.
    """

    rules: AdditiveRules
    smoother: AdditiveRules | None
    pair_rules: AdditiveRules
    monotone: Int64[np.ndarray, " feature"]
    pairs: Pairs | int
    heredity: Heredity | None
    pair_bins: int
    most_places: int
    screening_bins: int
    min_category_rows: int


class FitData(NamedTuple):
    """The rows of a fit.

    Attributes:
        codes: Their codes.
        schema: The meaning of the codes.
        rows: Targets, weights and extras, without padding.
        loss: The loss.
        start: The scores before the first step.
        held: Which rows are held out of every bag; none if None.
    """

    codes: UInt[np.ndarray, "feature row"]
    schema: Schema
    rows: ScoredRows
    loss: BaseLoss
    start: Float64[np.ndarray, " score"]
    held: Sequence[Bool[np.ndarray, " row"] | None]


class FittedBags(NamedTuple):
    """A fitted model, and how its bags went.

    Attributes:
        model: The model.
        bag_values: The values of every bag.
        num_rounds: The rounds of single features, and of pairs, in every bag.
        held_losses: What every reading of each bag found, of single features and of pairs.
        was_interrupted: Whether an interrupt ended it.
    """

    model: AdditiveModel
    bag_values: Float64[np.ndarray, "bag place score"]
    num_rounds: Int64[np.ndarray, "bag stage"]
    held_losses: list[list[list[float]]]
    was_interrupted: bool


class _Bags(NamedTuple):
    """The bags of a fit.

    Attributes:
        losses: The loss of the rows of each.
        stop: Ends all boosting at the next readings once it is set.
        on_bag: Called with 1 whenever a bag has boosted some terms.
    """

    losses: list[RowLoss]
    stop: threading.Event
    on_bag: Callable[[int], object] | None


def fit_additive(data: FitData, config: AdditiveConfig, on_bag: Callable[[int], object] | None = None) -> FittedBags:
    """Fits an additive model.

    Every bag boosts the terms of single features until the loss of its held rows is not less any more. The pairs are
    chosen at the mean scores of all bags; every bag then goes on with them from its own scores. The model is the mean
    of the bags, with pure pairs and centred terms.

    Args:
        data: The rows.
        config: The parameters.
        on_bag: Called with 1 whenever a bag has boosted the terms of features, or of pairs.

    Raises:
        KeyboardInterrupt: An interrupt came before any bag had made a step.
        TrainingError: Derivatives at the start are no numbers.
    """
    losses = [rows_of_loss(data.loss, data.rows, data.start, is_held) for is_held in data.held]
    bags = _Bags(losses, threading.Event(), on_bag)
    counts = [np.bincount(own, minlength=n + 1) for own, n in zip(data.codes, data.schema.num_values, strict=True)]
    mains = main_terms(data.schema, counts, config.monotone, config.min_category_rows)
    fitted = _boost_mains(mains, data, bags, config)
    stages, layout = [fitted], mains
    if config.pairs and not bags.stop.is_set():
        pairs = _pair_layout(data, config, mains, counts, fitted)
        if pairs.num_terms:
            before = [_scores(mains, data.codes, own) for own in fitted]
            stages.append(_boost_all(pairs, data, bags, config.pair_rules, before))
            layout = join_layouts([mains, pairs])
    if bags.stop.is_set():
        # Bags that had not begun, or were no better than the start, would make the mean of the others smaller.
        begun = [number for number, own in enumerate(fitted) if own.num_rounds]
        if not begun:
            raise KeyboardInterrupt
        stages = [[stage[number] for number in begun] for stage in stages]
    return _mean_of_bags(data, layout, stages, bags.stop.is_set())


def _boost_mains(mains: Layout, data: FitData, bags: _Bags, config: AdditiveConfig) -> list[BaggedTerms]:
    """Boosts the terms of single features, by those of two rules that are better on the rows held out."""
    before = [None] * len(bags.losses)
    fitted = _boost_all(mains, data, bags, config.rules, before)
    if config.smoother is None or bags.stop.is_set() or data.held[0] is None:
        return fitted
    most = LONGER * max(own.num_rounds for own in fitted)
    smoother = dataclasses.replace(config.smoother, max_rounds=max(1, min(config.smoother.max_rounds, most)))
    others = _boost_all(mains, data, bags, smoother, before)
    losses = [np.mean([own.least_loss for own in bags_of_rules]) for bags_of_rules in (fitted, others)]
    return others if losses[1] < losses[0] and not bags.stop.is_set() else fitted


def _boost_all(
    layout: Layout,
    data: FitData,
    bags: _Bags,
    rules: AdditiveRules,
    before: Sequence[Int64[np.ndarray, "score row"] | None],
) -> list[BaggedTerms]:
    """Boosts terms in all bags, side by side in threads; after an interrupt with what they have made until then."""
    threads = min(num_cores(), len(bags.losses))

    def boost_bag(row_loss: RowLoss, scores: Any) -> BaggedTerms:
        return boost_terms(
            layout, data.codes, row_loss, rules, scores=scores, should_end=bags.stop, num_threads=num_cores() // threads
        )

    # Interrupts come to the thread that waits, and none comes between the halves of a step.
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(carried(boost_bag), *of_bag) for of_bag in zip(bags.losses, before, strict=True)]
        try:
            for _ in as_completed(futures):
                if bags.on_bag is not None:
                    bags.on_bag(1)
        except KeyboardInterrupt:
            bags.stop.set()
        return [future.result() for future in futures]


def _scores(
    layout: Layout, codes: UInt[np.ndarray, "feature row"], bagged: BaggedTerms
) -> Int64[np.ndarray, "score row"]:
    return np.stack([row_scores(layout, codes, own) for own in bagged.steps])


def _pair_layout(
    data: FitData,
    config: AdditiveConfig,
    mains: Layout,
    counts: Sequence[Int64[np.ndarray, " _code"]],
    fitted: Sequence[BaggedTerms],
) -> Layout:
    """Returns the terms of the pairs that are named, or that save most of the loss at the mean scores of all bags."""
    sizes, values = [len(count) for count in counts], np.mean([own.values[0] for own in fitted], axis=0)
    rows = np.concatenate(
        [np.bincount(mains.bins[f, 0, : len(n)], n, mains.size[f]) for f, n in enumerate(counts)]
    ).astype(np.int64)  # fmt: skip
    fine = functools.partial(coarse_axes, sizes, rows, mains, values)
    if not isinstance(config.pairs, int):
        return _fine_pairs(config.pairs, fine, config)
    size = np.abs(values) * rows
    candidates = candidate_pairs(np.add.reduceat(size, mains.first[:-1]), config.heredity)
    # A surface could bend a curve that has one way to go.
    candidates = [pair for pair in candidates if not config.monotone[list(pair)].any()]
    whole = rows_of_loss(data.loss, data.rows, data.start, None)
    # The mean of the bags' scores, which have one unit.
    mean = np.sum([_scores(mains, data.codes, own) for own in fitted], axis=0) // len(fitted)
    weight = whole.curvature(mean)
    coarse = coarse_axes(sizes, rows, mains, values, config.screening_bins)
    saved = savings_of_pairs(
        candidates, coarse, data.codes, whole.read(mean).gradient, weight, config.pair_rules.min_samples_leaf
    )
    best = [int(pair) for pair in np.argsort(-saved, kind="stable")[: config.pairs] if saved[pair] > 0]
    return _fine_pairs([candidates[pair] for pair in best], fine, config)


def _fine_pairs(pairs: Pairs, axes_of: Callable[[int], Any], config: AdditiveConfig) -> Layout:
    """Returns the terms of pairs on as many bins as are allowed, or as leave all pairs few enough places."""
    least, most = 2, config.pair_bins
    while least < most:
        bins = (least + most + 1) // 2
        if pair_terms(pairs, axes_of(bins)).num_places <= config.most_places:
            least = bins
        else:
            most = bins - 1
    return pair_terms(pairs, axes_of(least))


def _mean_of_bags(
    data: FitData, layout: Layout, stages: Sequence[Sequence[BaggedTerms]], was_interrupted: bool
) -> FittedBags:
    """Returns the mean of the bags, pure and centred."""
    weight = _weights(layout, data)
    of_bags = [np.concatenate([own.values for own in bag], axis=1).T for bag in zip(*stages, strict=True)]
    # All bags have one set of weights, and so one system of equations a pair.
    side_by_side = purify(layout, np.concatenate(of_bags, axis=1), weight)
    intercepts, values = (np.stack(np.split(part, len(of_bags), axis=-1)) for part in side_by_side)
    errors = _standard_errors(values, data.held)
    model = AdditiveModel(
        data.schema, layout, data.start + intercepts.mean(axis=0), values.mean(axis=0), errors, weight
    )
    num_rounds = np.array([[own.num_rounds for own in bag] for bag in zip(*stages, strict=True)], np.int64)
    losses = [[own.held_losses for own in bag] for bag in zip(*stages, strict=True)]
    return FittedBags(model, values, num_rounds, losses, was_interrupted)


def _standard_errors(
    values: Float64[np.ndarray, "bag place score"], held: Sequence[Bool[np.ndarray, " row"] | None]
) -> Float64[np.ndarray, "place score"]:
    """Returns what the delete-d jackknife makes of bags that each leave out a share of the rows.

    Bags share most of their rows, and differ by less than fits of other rows would (Shao and Wu, *A general theory for
    jackknife variance estimation*, 1989).
    """
    shares = [own.mean() for own in held if own is not None]
    if len(values) < 2 or not shares:
        return np.zeros_like(values[0])
    left_out = float(np.mean(shares))
    return values.std(axis=0, ddof=1) * np.sqrt((1 - left_out) / left_out)


def _weights(layout: Layout, data: FitData) -> Float64[np.ndarray, " place"]:
    weight = np.asarray(data.rows.weight, np.float64)
    return np.concatenate(
        [np.bincount(layout.bins_of(t, data.codes), weight, layout.size[t]) for t in range(layout.num_terms)]
    )  # fmt: skip
