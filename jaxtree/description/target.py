"""Facts about a target: the balance of its classes, or how its numbers or times are spread."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64, Real, Shaped

from jaxtree.description.columns import Weight, distinct_of, shown
from jaxtree.description.leaks import JudgedTarget
from jaxtree.errors import InvalidInputError
from jaxtree.table.probabilities import ClassProbabilities, ShareTarget, encode_probabilities
from jaxtree.table.target import ClassTarget, encode_classes, encode_numbers, has_classes

_MOST_SHOWN = 6
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class TargetFacts:
    """Facts about an output of a target.

    Attributes:
        kind: "classes", "numbers" or "times" (of survival).
        shares: The share of every class, the most frequent first; of times those of events and of others.
        quartiles: The least, the quartiles and the greatest of numbers and times.
        mean: The mean of numbers.
        deviation: Their standard deviation.
        unique: The number of different classes or numbers.
    """

    kind: str
    shares: Mapping[Any, float]
    quartiles: tuple[float, ...]
    mean: float | None
    deviation: float | None
    unique: int

    def __str__(self) -> str:
        """The facts in one line."""
        listed = [f"{shown(name)} {share:.1%}" for name, share in self.shares.items()]
        more = [f"and {len(listed) - _MOST_SHOWN} more"] if len(listed) > _MOST_SHOWN else []
        words = ", ".join(listed[:_MOST_SHOWN] + more)
        if self.kind == "classes":
            return f"{self.unique} classes: {words}"
        least, low, middle, high, most = map(shown, self.quartiles)
        spread = f"from {least} to {most}, half of them between {low} and {high}"
        if self.kind == "times":
            return f"times {spread}; {words}"
        return f"numbers {spread}, median {middle}, mean {shown(self.mean)}"


class DescribedTarget:
    """A target that is read: its outputs as numbers or the places of classes, with their facts.

    Attributes:
        facts: The facts about each output.
        values: The numbers, or places of classes, of each; of probabilities those of the most probable ones.
        judged: The target that single columns may tell; None of several outputs, of times and of probabilities.
    """

    def __init__(self, y: Any, weight: Weight, event: Any, task: str | None):
        """Reads a target.

        Args:
            y: The target.
            weight: The weights of its rows.
            event: Which of its times are those of events; None if it has no times.
            task: "classification" or "regression"; None follows from the values.
        """
        if task not in (None, "classification", "regression"):
            raise InvalidInputError(f"task must be 'classification', 'regression' or None, got {task!r}")
        target = _encoded(y, event, task)
        rows = target.shares.shape[1] if isinstance(target, ShareTarget) else target.num_rows
        weights = np.ones(rows) if weight is None else weight
        self.judged: JudgedTarget | None = None
        self.values: Sequence[Real[np.ndarray, " row"]]
        if isinstance(target, ShareTarget):
            means = [math.fsum(own * weights) / float(weights.sum()) for own in target.shares]
            self.facts = (_facts_of_classes(target.classes, np.array(means)),)
            self.values = [target.shares.argmax(axis=0)]
        elif isinstance(target, ClassTarget):
            pairs = list(zip(target.classes, target.codes, strict=True))
            self.facts = tuple(
                _facts_of_classes(classes, np.bincount(codes, weights, len(classes)) / weights.sum())
                for classes, codes in pairs
            )
            self.values = list(target.codes)
            if len(pairs) == 1:
                self.judged = JudgedTarget(target.codes[0].astype(np.float64), len(target.classes[0]))
        else:
            self.values = list(target.values)
            self.facts = tuple(_facts_of_numbers(own, weight) for own in self.values)
            if event is not None:
                is_event = np.asarray(event).astype(bool)
                share = float(weights[is_event].sum() / weights.sum())
                self.facts = (_as_times(self.facts[0], share),)
                self.values = [*self.values, is_event.astype(np.float64)]
            elif len(self.values) == 1:
                self.judged = JudgedTarget(self.values[0], 0)


def _encoded(y: Any, event: Any, task: str | None) -> Any:
    if isinstance(y, ClassProbabilities):
        return encode_probabilities(y)
    of_classes = has_classes(y) if task is None else task == "classification"
    return encode_classes(y) if of_classes and event is None else encode_numbers(y)


def _facts_of_classes(classes: Shaped[np.ndarray, " _class"], share: Float64[np.ndarray, " _class"]) -> TargetFacts:
    falling = np.argsort(-share, kind="stable")
    named = classes.tolist()
    return TargetFacts("classes", {named[own]: float(share[own]) for own in falling}, (), None, None, len(named))


def _facts_of_numbers(values: Float64[np.ndarray, " row"], weight: Weight) -> TargetFacts:
    value, weights, _ = distinct_of(values, weight)
    mean = float(np.average(value, weights=weights))
    deviation = float(np.sqrt(np.average(np.square(value - mean), weights=weights)))
    # The first value up to which a part of the weight lies: a doubled row is one of weight 2.
    below = np.cumsum(weights)
    places = np.searchsorted(below, np.multiply(QUARTERS, below[-1]))
    return TargetFacts("numbers", {}, tuple(value[places].tolist()), mean, deviation, len(value))


def _as_times(facts: TargetFacts, share: float) -> TargetFacts:
    shares = {"events": share, "no event yet": 1 - share}
    return TargetFacts("times", shares, facts.quartiles, facts.mean, facts.deviation, facts.unique)
