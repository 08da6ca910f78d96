"""The fit of an additive model: terms of features in every bag, the pairs that interact, and the mean of all bags."""

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import as_completed
from contextlib import nullcontext
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float64, Int64

from jaxtree.additive.bags import Bag, FitData, SharedRows
from jaxtree.additive.loop import BaggedTerms, boost_terms
from jaxtree.additive.model import AdditiveModel, in_own_unit
from jaxtree.additive.pairs import Ranked, pair_layout
from jaxtree.additive.purify import purify
from jaxtree.additive.row_loss import unit_of_weights, whole_weights
from jaxtree.additive.rules import AdditiveConfig, AdditiveRules, BoostingPlan
from jaxtree.blocks import Threads
from jaxtree.cores import num_cores, with_share_of_cores
from jaxtree.devices import in_callers_context
from jaxtree.kernels.layout import Layout, join_layouts

LONGER = 5
"""Steps of fewer leaves may make so many times as many rounds."""

OfBags = Sequence[BaggedTerms]
"""The results of every bag for some terms."""

OfStages = Sequence[Sequence[BaggedTerms]]
"""The results of every bag, for single features and for pairs if there are some."""


class FittedBags(NamedTuple):
    """A fitted model, and how its bags went.

    Attributes:
        model: The model.
        bag_values: The values of every bag.
        num_rounds: The rounds of single features, and of pairs, in every bag.
        held_losses: The held-out loss at every reading of each bag, of single features and of pairs.
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


class _Bags(NamedTuple):
    """The bags of a fit, which are made where they are boosted: their rows take more memory than codes.

    Attributes:
        shared: The rows.
        stop: Ends all boosting at the next readings once it is set.
        on_bag: Called with 1 whenever a bag has boosted some terms.
        num_threads: Threads to use.
    """

    shared: SharedRows
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
    return fit_alike(SharedRows(data), [config], on_bag, num_threads=num_threads)[0]


def fit_alike(
    shared: SharedRows,
    configs: Sequence[AdditiveConfig],
    on_bag: Callable[[int], object] | None = None,
    *,
    stop: threading.Event | None = None,
    num_threads: int | None = None,
) -> list[FittedBags]:
    """Fits additive models that boost single features by the same rules, each as its fit by itself, bit for bit.

    They may differ in when boosting ends, which cuts the same steps at several places, and in their pairs. Equal parts
    are made once: models that do not differ are one object.

    Args:
        shared: The rows.
        configs: The parameters of every fit, whose `kind_of_mains` is the same.
        on_bag: Called as by `fit_additive`.
        stop: Ends all boosting, as an interrupt does, once it is set.
        num_threads: As of `fit_additive`.

    Raises:
        KeyboardInterrupt: It was to end before any bag had made a step.
    """
    bags = _Bags(shared, stop or threading.Event(), on_bag, num_threads or num_cores())
    mains = shared.mains(configs[0].monotone, configs[0].min_category_rows)
    fits = [_Fit(mains, [own]) for own in _boost_mains(mains, bags, configs)]
    ranked: dict[Hashable, Ranked] = {}
    kinds = [(fit.key, config.kind_of_pairs) for fit, config in zip(fits, configs, strict=True)]
    for (of_mains, kind), group in _grouped(kinds).items():
        config, (own,) = configs[group[0]], fits[group[0]].stages
        if not config.pairs or bags.stop.is_set():
            continue
        values = np.mean([bag.values for bag in own], axis=0)
        pairs = pair_layout(shared, config, mains, values, ranked.setdefault(of_mains, {}))
        if pairs.num_terms:
            plan = BoostingPlan(config.pair_rules, [configs[number].pair_ending for number in group])
            of_pairs = _boost_all(pairs, bags, plan, (mains, own))
            layout = join_layouts([mains, pairs])
            for number, made in zip(group, of_pairs, strict=True):
                fits[number] = _Fit(layout, [own, made], kind)
    if bags.stop.is_set():
        fits = [fit.without_idle_bags() for fit in fits]
    means: dict[Hashable, tuple[AdditiveModel, Float64[np.ndarray, "bag place score"]]] = {}
    fitted = []
    for fit in fits:
        # Losses go on for longer where boosting ended later.
        key, losses = fit.key, [[own.held_losses for own in bag] for bag in fit.bags]
        if key not in means:
            means[key] = _mean_of_bags(shared.data, fit)
        num_rounds = np.array([[own.num_rounds for own in bag] for bag in fit.bags], np.int64)
        fitted.append(FittedBags(*means[key], num_rounds, losses, bags.stop.is_set()))
    return fitted


class _Fit(NamedTuple):
    """The terms of a fit, and what bags have made of them.

    Attributes:
        layout: The terms.
        stages: The results of every bag for single features, and for pairs if there are some.
        pairs: How pairs are boosted, see `AdditiveConfig.kind_of_pairs`; None without pairs.
    """

    layout: Layout
    stages: Sequence[OfBags]
    pairs: Hashable = None

    @property
    def key(self) -> Hashable:
        """The key of fits of equal steps: those of equal rules that have ended after the same rounds."""
        return self.pairs, tuple((own.rules, own.num_rounds) for stage in self.stages for own in stage)

    def without_idle_bags(self) -> "_Fit":
        """Returns what an interrupt has left: without bags that had no round, or were no better than the start.

        These would make the mean of the others smaller.
        """
        busy = [number for number, own in enumerate(self.stages[0]) if own.num_rounds]
        if not busy:
            raise KeyboardInterrupt
        return self._replace(stages=[[stage[number] for number in busy] for stage in self.stages])

    @property
    def bags(self) -> OfStages:
        """The results of every stage, by bag."""
        return list(zip(*self.stages, strict=True))


def _grouped(kinds: Sequence[tuple[Hashable, Hashable]]) -> dict[tuple[Hashable, Hashable], list[int]]:
    """The numbers of equal kinds."""
    groups: dict[tuple[Hashable, Hashable], list[int]] = {}
    for number, kind in enumerate(kinds):
        groups.setdefault(kind, []).append(number)
    return groups


def _boost_mains(mains: Layout, bags: _Bags, configs: Sequence[AdditiveConfig]) -> list[OfBags]:
    """Boosts the terms of single features, by those of two rules that are better on the rows held out."""
    endings, smoother = [own.ending for own in configs], configs[0].smoother
    fitted = _boost_all(mains, bags, BoostingPlan(configs[0].rules, endings))
    if smoother is None or bags.stop.is_set() or bags.shared.data.bags[0].is_held is None:
        return fitted
    longer = [LONGER * max(own.num_rounds for own in of_bags) for of_bags in fitted]
    endings = [
        own._replace(max_rounds=max(1, min(own.max_rounds, most))) for own, most in zip(endings, longer, strict=True)
    ]
    others = _boost_all(mains, bags, BoostingPlan(smoother, endings))
    if bags.stop.is_set():
        return fitted
    losses = [[np.mean([own.least_loss for own in bags]) for bags in of_rule] for of_rule in (fitted, others)]
    rules = zip(fitted, others, *losses, strict=True)
    return [other if of_other < of_own else own for own, other, of_own, of_other in rules]


def rules_of_mains(shared: SharedRows, config: AdditiveConfig) -> AdditiveRules:
    """Returns the rules by which a fit boosts single features: of two the better ones on the rows held out."""
    if config.smoother is None:
        return config.rules
    bags = _Bags(shared, threading.Event(), None, num_cores())
    (fitted,) = _boost_mains(shared.mains(config.monotone, config.min_category_rows), bags, [config])
    return fitted[0].rules


def _boost_all(
    layout: Layout, bags: _Bags, plan: BoostingPlan, earlier: tuple[Layout, OfBags] | None = None
) -> list[OfBags]:
    """Boosts terms in all bags, side by side in threads; after an interrupt with what they have made until then.

    Args:
        layout: The terms.
        bags: The bags.
        plan: The rules, and when boosting ends, by every setting.
        earlier: Other terms, and what the bags have made of them: boosting goes on from their scores.

    Returns:
        The results of the bags, for every setting.
    """
    data = bags.shared.data
    number = len(data.bags)
    # Processes that sum together do so in one order.
    threads = 1 if data.codes.is_divided else min(bags.num_threads, number)
    # Pair terms differ between fits, so their sums are not shared.
    grams = bags.shared.grams(layout, plan.rules, are_kept=earlier is None)

    def boost_bag(place: int) -> list[BaggedTerms]:
        with jax.default_device(data.devices[place % len(data.devices)]) if data.devices else nullcontext():
            bag, scores = Bag.of(data, data.bags[place]), None
            if earlier is not None:
                scores = bag.codes.row_scores(earlier[0], earlier[1][place].steps)
            return boost_terms(
                layout,
                bag.codes,
                bag.loss,
                plan,
                scores=scores,
                grams=grams(place),
                should_end=bags.stop,
                num_threads=bags.num_threads // threads,
            )

    # Interrupts come to the thread that waits, and none comes between the halves of a step.
    with Threads(threads) as pool:
        work = with_share_of_cores(in_callers_context(boost_bag), threads)
        futures = [pool.submit(work, place) for place in range(number)]
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
        return [list(of_setting) for of_setting in zip(*(future.result() for future in futures), strict=True)]


def _mean_of_bags(data: FitData, fit: _Fit) -> tuple[AdditiveModel, Float64[np.ndarray, "bag place score"]]:
    """Returns the mean of the bags, pure and centred, and the values of every bag."""
    layout, weight = fit.layout, weights_of_bins(fit.layout, data)
    of_bags = [np.concatenate([own.values for own in bag], axis=1).T for bag in fit.bags]
    # All bags have one set of weights, and so one system of equations a pair.
    side_by_side = purify(layout, np.concatenate(of_bags, axis=1), weight)
    intercepts, values = (np.stack(np.split(part, len(of_bags), axis=-1)) for part in side_by_side)
    errors = _standard_errors(values, data.share_left_out)
    model = AdditiveModel(
        data.schema, layout, data.start + intercepts.mean(axis=0), values.mean(axis=0), errors, weight
    )
    return model, values


def _standard_errors(
    values: Float64[np.ndarray, "bag place score"], left_out: float
) -> Float64[np.ndarray, "place score"]:
    """Returns what the delete-d jackknife makes of bags that each leave out a share of the rows.

    Bags share most of their rows, and differ by less than fits of other rows would (Shao and Wu, *A general theory for
    jackknife variance estimation*, 1989).
    """
    if len(values) < 2 or not left_out:
        return np.zeros_like(values[0])
    deviation = in_own_unit(values, lambda own: own.std(axis=0, ddof=1))
    return deviation * np.sqrt((1 - left_out) / left_out)


def weights_of_bins(layout: Layout, data: FitData) -> Float64[np.ndarray, " place"]:
    """Returns the weight of every bin, to the digits of whole weights: exactly where these are whole."""
    weight = np.asarray(data.rows.weight, np.float64)
    unit = unit_of_weights(weight)
    sums = data.codes.bin_sums(layout, whole_weights(weight, unit).astype(np.int64)[None])[0]
    return sums * unit * data.weight_unit
