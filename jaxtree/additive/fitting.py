"""The fit of an additive model: terms of features in every bag, the pairs that interact, and the mean of all bags."""

import dataclasses
import functools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float64, Int64

from jaxtree.additive.coded_rows import CodedRows
from jaxtree.additive.layout import Layout, join_layouts
from jaxtree.additive.model import AdditiveModel
from jaxtree.additive.purify import purify
from jaxtree.additive.quadratic import (
    RowLoss,
    SquaredErrors,
    is_quadratic,
    rows_of_loss,
    unit_of_weights,
    whole_weights,
)
from jaxtree.additive.rules import AdditiveRules
from jaxtree.additive.screening import savings_of_pairs
from jaxtree.additive.sums import Gram
from jaxtree.additive.terms import (
    Heredity,
    candidate_pairs,
    coarse_axes,
    leading_values,
    main_terms,
    pair_terms,
)
from jaxtree.additive.training import BaggedTerms, boost_terms, boosts_on_grams
from jaxtree.arrays import Device
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


class BagRows(NamedTuple):
    """The rows of a bag.

    Attributes:
        rows: Their numbers; all if None.
        is_held: Which of them are held out; none if None.
    """

    rows: Int64[np.ndarray, " _row"] | None
    is_held: Bool[np.ndarray, " _row"] | None


class FitData(NamedTuple):
    """The rows of a fit.

    Attributes:
        codes: Their codes.
        schema: The meaning of the codes.
        rows: Targets, weights and extras, without padding.
        loss: The loss.
        start: The scores before the first step.
        bags: The rows of every bag.
        devices: Devices that bags are divided among; none for the one that JAX computes on.
    """

    codes: CodedRows
    schema: Schema
    rows: ScoredRows
    loss: BaseLoss
    start: Float64[np.ndarray, " score"]
    bags: Sequence[BagRows]
    devices: Sequence[Device] = ()

    @property
    def share_left_out(self) -> float:
        """The share of all rows that a bag does not learn from."""
        number = self.codes.num_rows
        learned = [len(own.rows) if own.rows is not None else number for own in self.bags]
        held = [0 if own.is_held is None else int(own.is_held.sum()) for own in self.bags]
        return 1 - float(np.mean(np.subtract(learned, held))) / number


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

    @property
    def loss_left(self) -> float:
        """The part of the loss of the rows held out that the terms leave, of all bags; NaN without such rows."""
        first = sum(of_bag[0][0] for of_bag in self.held_losses)
        return sum(min(of_bag[-1]) for of_bag in self.held_losses) / first if first > 0 else np.nan


class _Bag(NamedTuple):
    """The codes of the rows of a bag, and their loss."""

    codes: CodedRows
    loss: RowLoss

    @classmethod
    def of(cls, data: FitData, bag: BagRows) -> "_Bag":
        """Returns a bag; of all rows without a copy of their codes."""
        if bag.rows is None:
            return cls(data.codes, rows_of_loss(data.loss, data.rows, data.start, bag.is_held))
        target, weight, extras = data.rows.target, data.rows.weight, data.rows.extras
        taken = {name: values[bag.rows] for name, values in extras.items()}
        rows = ScoredRows(data.rows.codes, target[bag.rows], weight[bag.rows], taken)
        return cls(data.codes.take(bag.rows), rows_of_loss(data.loss, rows, data.start, bag.is_held))


class _Bags(NamedTuple):
    """The bags of a fit, which are made where they are boosted: their rows take more memory than codes.

    Attributes:
        data: The rows.
        stop: Ends all boosting at the next readings once it is set.
        on_bag: Called with 1 whenever a bag has boosted some terms.
        num_threads: Threads to use.
    """

    data: FitData
    stop: threading.Event
    on_bag: Callable[[int], object] | None
    num_threads: int


def fit_additive(
    data: FitData,
    config: AdditiveConfig,
    on_bag: Callable[[int], object] | None = None,
    *,
    num_threads: int | None = None,
) -> FittedBags:
    """Fits an additive model.

    Every bag boosts the terms of single features until the loss of its held rows is not less any more. The pairs are
    chosen at the mean scores of all bags; every bag then goes on with them from its own scores. The model is the mean
    of the bags, with pure pairs and centred terms.

    Args:
        data: The rows.
        config: The parameters.
        on_bag: Called with 1 whenever a bag has boosted the terms of features, or of pairs.
        num_threads: Threads to use; as many as there are cores if not given.

    Raises:
        KeyboardInterrupt: An interrupt came before any bag had made a step.
        TrainingError: Derivatives at the start are no numbers.
    """
    bags = _Bags(data, threading.Event(), on_bag, num_threads or num_cores())
    counts = data.codes.counts(data.schema)
    mains = main_terms(data.schema, counts, config.monotone, config.min_category_rows)
    fitted = _boost_mains(mains, bags, config)
    stages, layout = [fitted], mains
    if config.pairs and not bags.stop.is_set():
        pairs = _pair_layout(data, config, mains, counts, np.mean([own.values for own in fitted], axis=0))
        if pairs.num_terms:
            stages.append(_boost_all(pairs, bags, config.pair_rules, (mains, fitted)))
            layout = join_layouts([mains, pairs])
    if bags.stop.is_set():
        # Bags that had not begun, or were no better than the start, would make the mean of the others smaller.
        begun = [number for number, own in enumerate(fitted) if own.num_rounds]
        if not begun:
            raise KeyboardInterrupt
        stages = [[stage[number] for number in begun] for stage in stages]
    return _mean_of_bags(data, layout, stages, bags.stop.is_set())


def _boost_mains(mains: Layout, bags: _Bags, config: AdditiveConfig) -> list[BaggedTerms]:
    """Boosts the terms of single features, by those of two rules that are better on the rows held out."""
    fitted = _boost_all(mains, bags, config.rules)
    if config.smoother is None or bags.stop.is_set() or bags.data.bags[0].is_held is None:
        return fitted
    most = LONGER * max(own.num_rounds for own in fitted)
    smoother = dataclasses.replace(config.smoother, max_rounds=max(1, min(config.smoother.max_rounds, most)))
    others = _boost_all(mains, bags, smoother)
    losses = [np.mean([own.least_loss for own in bags_of_rules]) for bags_of_rules in (fitted, others)]
    return others if losses[1] < losses[0] and not bags.stop.is_set() else fitted


def _boost_all(
    layout: Layout,
    bags: _Bags,
    rules: AdditiveRules,
    earlier: tuple[Layout, Sequence[BaggedTerms]] | None = None,
) -> list[BaggedTerms]:
    """Boosts terms in all bags, side by side in threads; after an interrupt with what they have made until then.

    Args:
        layout: The terms.
        bags: The bags.
        rules: The rules.
        earlier: Other terms, and what the bags have made of them: boosting goes on from their scores.
    """
    data, number = bags.data, len(bags.data.bags)
    gram_of_all = _gram_of_all(layout, data, rules)
    # Processes that sum together do so in one order.
    threads = 1 if data.codes.is_divided else min(bags.num_threads, number)

    def boost_bag(place: int) -> BaggedTerms:
        bag, scores = _Bag.of(data, data.bags[place]), None
        if earlier is not None:
            scores = bag.codes.row_scores(earlier[0], earlier[1][place].steps)
        return boost_terms(
            layout,
            bag.codes,
            bag.loss,
            rules,
            scores=scores,
            gram_of_all=gram_of_all,
            should_end=bags.stop,
            num_threads=bags.num_threads // threads,
        )

    def boost_on_device(place: int) -> BaggedTerms:
        with jax.default_device(data.devices[place % len(data.devices)]) if data.devices else nullcontext():
            return boost_bag(place)

    # Interrupts come to the thread that waits, and none comes between the halves of a step.
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(carried(boost_on_device), place) for place in range(number)]
        try:
            for _ in as_completed(futures):
                if bags.on_bag is not None:
                    bags.on_bag(1)
        except KeyboardInterrupt:
            bags.stop.set()
            if data.codes.is_divided:
                # Other processes would go on, and wait for this one.
                pool.shutdown(cancel_futures=True)
                raise
        return [future.result() for future in futures]


def _gram_of_all(layout: Layout, data: FitData, rules: AdditiveRules) -> Gram | None:
    """Returns the sums over pairs of bins of all rows, which bags of squared errors share; None where they do not."""
    are_parts = any(own.rows is not None or own.is_held is None for own in data.bags)
    if not is_quadratic(data.loss) or len(data.bags) < 2 or are_parts:
        return None
    whole = SquaredErrors(data.rows, data.start, None)
    is_made = boosts_on_grams(layout, whole, rules, is_divided=data.codes.is_divided)
    return data.codes.gram_sums(layout, whole.whole) if is_made else None


def _pair_layout(
    data: FitData,
    config: AdditiveConfig,
    mains: Layout,
    counts: Sequence[Int64[np.ndarray, " _code"]],
    values_of_scores: Float64[np.ndarray, "score place"],
) -> Layout:
    """Returns the terms of the pairs that are named, or that save most of the loss at the mean scores of all bags."""
    sizes = [len(count) for count in counts]
    rows = np.concatenate(
        [np.bincount(mains.bins[f, 0, : len(n)], n, mains.size[f]) for f, n in enumerate(counts)]
    ).astype(np.int64)  # fmt: skip
    values = leading_values(mains, values_of_scores, rows)
    fine = functools.partial(coarse_axes, sizes, rows, mains, values)
    if not isinstance(config.pairs, int):
        return _fine_pairs(config.pairs, fine, config)
    size = np.abs(values_of_scores).sum(axis=0) * rows
    candidates = candidate_pairs(np.add.reduceat(size, mains.first[:-1]), config.heredity)
    # A surface could bend a curve that has one way to go.
    candidates = [pair for pair in candidates if not config.monotone[list(pair)].any()]
    # Rows of the first bag, which are all but of a very long table.
    whole = _Bag.of(data, data.bags[0]._replace(is_held=None))
    scores = whole.codes.row_scores(mains, np.rint(values_of_scores / whole.loss.score_unit).astype(np.int64))
    reading = whole.loss.read(scores, renews=True)
    assert reading.weight is not None
    coarse = coarse_axes(sizes, rows, mains, values, config.screening_bins)
    saved = savings_of_pairs(
        candidates, coarse, whole.codes, reading.gradient, reading.weight, config.pair_rules.min_samples_leaf
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
    errors = _standard_errors(values, data.share_left_out)
    model = AdditiveModel(
        data.schema, layout, data.start + intercepts.mean(axis=0), values.mean(axis=0), errors, weight
    )
    num_rounds = np.array([[own.num_rounds for own in bag] for bag in zip(*stages, strict=True)], np.int64)
    losses = [[own.held_losses for own in bag] for bag in zip(*stages, strict=True)]
    return FittedBags(model, values, num_rounds, losses, was_interrupted)


def _standard_errors(
    values: Float64[np.ndarray, "bag place score"], left_out: float
) -> Float64[np.ndarray, "place score"]:
    """Returns what the delete-d jackknife makes of bags that each leave out a share of the rows.

    Bags share most of their rows, and differ by less than fits of other rows would (Shao and Wu, *A general theory for
    jackknife variance estimation*, 1989).
    """
    if len(values) < 2 or not left_out:
        return np.zeros_like(values[0])
    return values.std(axis=0, ddof=1) * np.sqrt((1 - left_out) / left_out)


def _weights(layout: Layout, data: FitData) -> Float64[np.ndarray, " place"]:
    """Returns the weight of every bin, to the digits of whole weights: exactly where these are whole."""
    weight = np.asarray(data.rows.weight, np.float64)
    unit = unit_of_weights(weight)
    return data.codes.bin_sums(layout, whole_weights(weight, unit).astype(np.int64)[None])[0] * unit
