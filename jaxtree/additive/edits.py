"""Changes of fitted terms by hand: a stretch made level, a curve made monotone, a term scaled or taken away.

A change is made of the model and of every bag alike, so that standard errors are those of what is left. Terms stay
centred: what a change adds to the mean score goes to the intercept, so that the sum is what was asked for.
"""

import dataclasses
import numbers
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64
from sklearn.isotonic import isotonic_regression

from jaxtree.additive.axes import codes_of_bins
from jaxtree.additive.explanations import listed_terms, term_place
from jaxtree.additive.model import AdditiveModel, in_own_unit
from jaxtree.errors import InvalidInputError
from jaxtree.kernels.layout import TermKind
from jaxtree.table.numerals import decimal_near
from jaxtree.table.rare_words import ANY_OTHER
from jaxtree.table.schema import Column
from jaxtree.table.times import as_times, in_ticks
from jaxtree.table.words import value_in_words

BinValues = Float64[np.ndarray, "bin score"]


class ModelAndBags(NamedTuple):
    """A model and the values of its bags.

    Attributes:
        model: The model.
        values: The values of every bag.
    """

    model: AdditiveModel
    values: Float64[np.ndarray, "bag place score"]


@dataclasses.dataclass(frozen=True, eq=False)
class Edit:
    """A change by hand.

    Attributes:
        words: The change, in words, such as "hours: level from 10 to 30".
        before: The model before it.
    """

    words: str
    before: AdditiveModel = dataclasses.field(repr=False)

    def __str__(self) -> str:
        """The edit, in words."""
        return self.words


class EditCosts(NamedTuple):
    """The cost of edits: the mean loss of some rows before the first of them and after each.

    Attributes:
        words: The edits, in words.
        losses: The mean loss: one more than there are edits.
        loss: The name of the loss.
        num_rows: The number of rows.
    """

    words: tuple[str, ...]
    losses: tuple[float, ...]
    loss: str
    num_rows: int

    @property
    def cost(self) -> float:
        """By how much all edits raise the mean loss; below 0 if they lower it."""
        return self.losses[-1] - self.losses[0]

    def __str__(self) -> str:
        """A line an edit."""
        lines = [f"mean {self.loss} of {self.num_rows:,} rows: {self.losses[0]:.6g} without edits"]
        pairs = zip(self.words, self.losses[:-1], self.losses[1:], strict=True)
        lines += [f"    {after:.6g} ({after - before:+.2g})  {words}" for words, before, after in pairs]
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Stretch:
    """Bins of a term of one column.

    Attributes:
        low: A number in the lowest of the bins; None for the first.
        high: A number in the highest; None for the last.
        categories: The categories, of a column that has some; None for all.
        missing: Whether it is the bin of missing values alone.
    """

    low: Any = None
    high: Any = None
    categories: Sequence[Any] | None = None
    missing: bool = False

    def bins(self, model: AdditiveModel, term: int) -> Bool[np.ndarray, " bin"]:
        """Returns which bins of a term belong to it.

        Raises:
            InvalidInputError: The term is a pair, or has no such numbers or categories.
        """
        name, column = model.term_names[term], _column_of(model, term)
        chosen = np.zeros(int(model.layout.size[term]), bool)
        if self.missing:
            chosen[-1] = True
            return chosen
        codes = codes_of_bins(model.schema, model.layout, term, 0)
        if column.bins is None:
            if self.low is not None or self.high is not None:
                raise InvalidInputError(f"term {name!r} has categories: name them by categories=, not by low and high")
            wanted = _codes_of(column, self.categories)
            chosen[:-1] = [bool(np.isin(own, wanted).any()) for own in codes]
            return chosen
        if self.categories is not None:
            raise InvalidInputError(f"term {name!r} has numbers: give low and high, not categories")
        low = -np.inf if self.low is None else _number(column, self.low)
        high = np.inf if self.high is None else _number(column, self.high)
        if low > high:
            raise InvalidInputError(f"low must be at most high, got {self.low} and {self.high}")
        first, last = np.searchsorted(column.bins.edges, [low, high]).tolist()
        chosen[:-1] = [bool(first <= own[-1] and own[0] <= last) for own in codes]
        return chosen

    def in_words(self, model: AdditiveModel, term: int) -> str:
        """Returns its bins in words, with all categories that share one with those named."""
        if self.missing:
            return "where it is missing"
        column = _column_of(model, term)
        if self.categories is not None:
            codes = codes_of_bins(model.schema, model.layout, term, 0)
            chosen = np.flatnonzero(self.bins(model, term)[:-1]).tolist()
            others = (column.categories[code] for number in chosen for code in codes[number].tolist())
            return "in " + ", ".join(value_in_words(name) for name in dict.fromkeys([*self.categories, *others]))
        ends = ((word, end) for word, end in (("from", self.low), ("to", self.high)) if end is not None)
        return " ".join(f"{word} {value_in_words(column.number(_number(column, end)))}" for word, end in ends) or (
            "everywhere"
        )


def flattened(bagged: ModelAndBags, term: Any, stretch: Stretch) -> tuple[ModelAndBags, str]:
    """Returns a model with one value in a stretch of a term, its mean by the rows of the fit; and what was done.

    The mean score of the rows of the fit stays the same.
    """
    place = term_place(bagged.model.term_names, term)
    chosen = stretch.bins(bagged.model, place)
    weight = bagged.model.weight[bagged.model.layout.places(place)]

    def level(values: BinValues) -> BinValues:
        return np.where(chosen[:, None], _mean(values[chosen], weight[chosen]), values)

    words = stretch.in_words(bagged.model, place)
    return _changed(bagged, place, level), f"{bagged.model.term_names[place]}: level {words}"


def with_value(bagged: ModelAndBags, term: Any, value: Any, stretch: Stretch) -> tuple[ModelAndBags, str]:
    """Returns a model with a given value in a stretch of a term, one or one a score; and what was done.

    The other bins add what they did; where the mean score of the rows of the fit changes by that, the intercept does.
    """
    place, number = term_place(bagged.model.term_names, term), bagged.model.num_scores
    given = np.asarray(value, np.float64)
    if given.shape not in ((), (number,)) or not np.isfinite(given).all():
        raise InvalidInputError(f"value must be a finite number, or {number} of them, got {value!r}")
    chosen = stretch.bins(bagged.model, place)

    def put(values: BinValues) -> BinValues:
        return np.where(chosen[:, None], given, values)

    said = ", ".join(decimal_near(own) for own in np.atleast_1d(given).tolist())
    words = stretch.in_words(bagged.model, place)
    return _changed(bagged, place, put), f"{bagged.model.term_names[place]}: {said} {words}"


def monotone(bagged: ModelAndBags, term: Any, increasing: Any) -> tuple[ModelAndBags, str]:
    """Returns a model with a curve that rises or falls all along; and what was done.

    It is the curve that is nearest by weighted squares (isotonic regression), of which missing values are no part. The
    mean score of the rows of the fit stays the same.

    Raises:
        InvalidInputError: The term is no curve of an ordered column, or there are several scores.
    """
    model, place = bagged.model, term_place(bagged.model.term_names, term)
    name, weight = model.term_names[place], model.weight[model.layout.places(place)]
    if increasing not in (True, False, "auto"):
        raise InvalidInputError(f"increasing must be True, False or 'auto', got {increasing!r}")
    if model.layout.kind[place] != TermKind.ORDERED:
        raise InvalidInputError(f"monotonize takes a term of one ordered column, and {name!r} is none")
    if model.num_scores > 1:
        raise InvalidInputError(f"monotonize takes models of one score, got one of {model.num_scores} classes")
    values = model.values[model.layout.places(place)]
    if increasing == "auto":
        far = [weight @ (_isotonic(values, weight, rises) - values) ** 2 for rises in (True, False)]
        increasing = bool(far[0] <= far[1])

    def sort(own: BinValues) -> BinValues:
        return _isotonic(own, weight, bool(increasing))

    return _changed(bagged, place, sort), f"{name}: made to {'rise' if increasing else 'fall'} all along"


def scaled(bagged: ModelAndBags, term: Any, factor: Any) -> tuple[ModelAndBags, str]:
    """Returns a model of which a term, of one column or a pair, adds so many times as much; and what was done."""
    place = term_place(bagged.model.term_names, term)
    if not isinstance(factor, numbers.Real) or not np.isfinite(float(factor)):
        raise InvalidInputError(f"factor must be a finite number, got {factor!r}")
    words = f"{bagged.model.term_names[place]}: times {decimal_near(float(factor))}"
    return _changed(bagged, place, lambda values: values * float(factor)), words


def without_terms(bagged: ModelAndBags, terms: Any) -> tuple[ModelAndBags, str]:
    """Returns a model without some terms, whose mean is 0 and so needs no change elsewhere; and what was done.

    Raises:
        InvalidInputError: There is no such term, or none would be left.
    """
    model = bagged.model
    gone = {term_place(model.term_names, term) for term in listed_terms(model.term_names, terms)}
    kept = [term for term in range(model.layout.num_terms) if term not in gone]
    if not kept or not gone:
        raise InvalidInputError(f"terms must be some of the {model.layout.num_terms} terms and not all, got {terms!r}")
    places = np.concatenate([np.arange(model.layout.first[term], model.layout.first[term + 1]) for term in kept])
    left = dataclasses.replace(
        model,
        layout=model.layout.take(kept),
        values=model.values[places],
        errors=model.errors[places],
        weight=model.weight[places],
    )
    names = ", ".join(model.term_names[term] for term in sorted(gone))
    return ModelAndBags(left, bagged.values[:, places]), f"{names}: removed"


def _changed(bagged: ModelAndBags, term: int, change: Callable[[BinValues], BinValues]) -> ModelAndBags:
    """Returns a model and bags with other values of one term, centred again."""
    model, places = bagged.model, bagged.model.layout.places(term)
    weight = model.weight[places]
    values, bags = model.values.copy(), bagged.values.copy()
    new = change(values[places])
    mean = _mean(new, weight)
    values[places] = new - mean
    for own in bags:
        other = change(own[places])
        own[places] = other - _mean(other, weight)
    errors = model.errors.copy()
    if len(bags) > 1:
        # Errors are as many times the deviation of bags as they were.
        before, after = (in_own_unit(own, lambda own: own.std(axis=0)) for own in (bagged.values, bags))
        size = in_own_unit(before, np.linalg.norm)
        errors[places] = after[places] * (in_own_unit(model.errors, np.linalg.norm) / size if size > 0 else 0.0)
    changed = dataclasses.replace(model, intercept=model.intercept + mean, values=values, errors=errors)
    return ModelAndBags(changed, bags)


def _mean(values: BinValues, weight: Float64[np.ndarray, " bin"]) -> Float64[np.ndarray, " score"]:
    total = weight.sum()
    return weight @ values / total if total > 0 else values.mean(axis=0) if len(values) else np.zeros(values.shape[1])


def _isotonic(values: BinValues, weight: Float64[np.ndarray, " bin"], rises: bool) -> BinValues:
    """Returns the nearest curve of known bins that goes one way; bins without rows lie between their neighbours."""
    known = np.flatnonzero(weight[:-1] > 0)
    result = values.copy()
    if len(known):
        nearest = isotonic_regression(values[known, 0], sample_weight=weight[known], increasing=rises)
        result[:-1, 0] = np.interp(np.arange(len(values) - 1), known, nearest)
    return result


def _column_of(model: AdditiveModel, term: int) -> Column:
    first, second = model.layout.features[term].tolist()
    if second >= 0:
        raise InvalidInputError(
            f"term {model.term_names[term]!r} is a pair: it can be scaled or removed, and curves of one column edited"
        )
    return model.schema.columns[first]


def _codes_of(column: Column, categories: Sequence[Any] | None) -> Int64[np.ndarray, " code"]:
    if categories is None:
        return np.arange(len(column.categories))
    if isinstance(categories, str):
        raise InvalidInputError(f"categories must be a list, got {categories!r}")
    known = [*column.named_categories] if column.rare_words is None else [*column.named_categories, ANY_OTHER]
    lost = [own for own in categories if own not in known]
    if lost:
        some = ", ".join(map(repr, known[:20]))
        raise InvalidInputError(f"column {column.name!r} has no category {lost[0]!r}; it has {some}")
    return np.array([known.index(own) for own in categories], np.int64)


def _number(column: Column, end: Any) -> float:
    """Returns an end of a stretch as a number of the column: dates and durations as such, or as days."""
    if column.time is not None and not isinstance(end, numbers.Real):
        times, _ = as_times(column.name, [np.datetime64(end) if isinstance(end, str) else end])
        return float(column.time.numbers(in_ticks(column.name, times))[0])
    if not isinstance(end, numbers.Real) or np.isnan(float(end)):
        raise InvalidInputError(f"low and high must be numbers of column {column.name!r}, got {end!r}")
    return float(end)
