"""Bands of an additive model: of its curves, of importances, and of all that is predicted by it."""

import copy
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64, UInt

from jaxtree import notebook
from jaxtree.additive.axes import codes_of_values
from jaxtree.additive.bags import FitData
from jaxtree.additive.explanations import ExplainedTerm, GlobalExplanation
from jaxtree.additive.redraws import RedrawnRows, Redraws, is_of_rows, redraw
from jaxtree.additive.terms import LEAST_PARENT
from jaxtree.arrays import spread
from jaxtree.dataset.arguments import numbers_of_groups
from jaxtree.dataset.sample import Sample
from jaxtree.errors import InvalidInputError, present
from jaxtree.estimators.boosting.rows import weight_of
from jaxtree.estimators.boosting.survival import is_of_times, learn_times
from jaxtree.estimators.common.conventions import progress_of
from jaxtree.figures.bands import LESS, Band, BandWidths, widths_of
from jaxtree.figures.dependence import MOST_ROWS, dependence_on
from jaxtree.kernels.layout import Layout
from jaxtree.losses.curves import SurvivalCurves, times_of
from jaxtree.table.names import column_place
from jaxtree.table.sources import is_source

MOST_POINTS = 4_000
"""The most points from which the factor of predictions is known; of more, as many spread over them."""

MOST_BIAS = 2.0
"""The size of a bias, in sizes of the noise, above which it is too great to be known from curves that have it."""

NEAREST = 1e-12
"""The least distance of a chance of survival from 0 and 1, where its log hazard is infinite."""


class RowsOfFit(NamedTuple):
    """The rows of a fit, of which bands are drawn.

    Attributes:
        values: The encoded values of some of them, over which dependence is averaged.
        weight: The weights of these.
        sample: The codes of all in place of a table, with their targets, weights and fields; one row has the weight 1.
        drawn: How they were drawn.
    """

    values: Float64[np.ndarray, "some feature"]
    weight: Float64[np.ndarray, " some"]
    sample: Sample
    drawn: RedrawnRows


class DependenceBand(NamedTuple):
    """Partial dependence on a column, with its band.

    Attributes:
        values: The numbers, or the codes of categories; NaN is a missing value and comes last.
        band: The mean predictions while all rows have one value, a column an output, and the ends of their band.
    """

    values: Float64[np.ndarray, " value"]
    band: Band


class Bands:
    """Bands of an additive model, from draws of the residuals of its fit.

    The truth lies in the band at a share of `level` of the places of a curve, by the density of the rows: bands are
    pointwise, and a whole curve lies within them less often. They know noise, and the bias that shrinkage and early
    stopping make, as far as draws show it: `coverage` has how often the bands around draws hold what these were made
    around, curve by curve. They do not know that columns are missing or that the model is not additive, and pairs are
    not chosen anew.

    See `jaxtree.ExplainableBoostingRegressor.bands`, which makes them.

    Attributes:
        level: The share of places that bands are to hold.
        draws: How many draws they are made of.
        seed: The seed of the draws.
    """

    def __init__(self, estimator: Any, rows: RowsOfFit, redraws: Redraws, level: float):
        self.level, self.draws, self.seed = level, len(redraws.values), rows.drawn.seed
        # Another fit of the estimator changes neither the copy nor what the bands are of.
        self._estimator, self._rows, model = copy.copy(estimator), rows, estimator.additive_
        # The model comes first, then the truth of draws, and then the draws.
        self._intercepts = np.concatenate([[model.intercept, redraws.truth.intercept], redraws.intercepts])
        self._values = np.concatenate([[model.values, redraws.truth.values], redraws.values])

    def check_is_of(self, estimator: Any) -> None:
        """Raises InvalidInputError if an estimator is not the one that the bands are of."""
        if getattr(estimator, "additive_", None) is not self._estimator.additive_:
            raise InvalidInputError(
                f"bands must be those of the model that is shown, got those of another {type(self._estimator).__name__}"
            )

    @property
    def term_names(self) -> list[str]:
        """The names of the terms: columns, and pairs of columns, as "age & hours"."""
        return self._estimator.term_names_

    @property
    def coverage(self) -> dict[str, float]:
        """The share of its places at which the bands around draws hold what these were made around, of every term."""
        return dict(zip(self.term_names, self._widths.coverage.tolist(), strict=True))

    @property
    def bias(self) -> dict[str, float]:
        """The size of the bias of every term as a part of that of its noise: of its draws' standard deviation."""
        found = self._widths
        share = np.divide(found.bias, found.spread, out=np.zeros(len(found.bias)), where=found.spread > 0)
        return dict(zip(self.term_names, share.tolist(), strict=True))

    def explain_global(self) -> GlobalExplanation:
        """Returns all terms in the units of the table, with their bands; see `explain_global` of the estimator."""
        explained, places = self._estimator.explain_global(), dict(zip(self.term_names, self._layouts, strict=True))
        band = self._curves
        terms = []
        for own in explained.terms:
            ends = (end[places[own.name]].reshape(own.values.shape) for end in (band.lower, band.upper))
            terms.append(own.with_band(*ends))
        return GlobalExplanation(explained.intercept, tuple(terms), explained.labels, explained.unit)

    def curve(self, term: Any) -> ExplainedTerm:
        """Returns a term with its band: `values`, and in `band` the lower and upper ends, of all bins.

        Args:
            term: A term by its name, or by its place in the order of importance.

        Raises:
            InvalidInputError: There is no such term.
        """
        return self.explain_global()[term]

    def importances(self) -> Band:
        """Returns the mean size of what every term adds, in the order of `term_names`, with its band.

        Noise makes sizes greater: that of a column that tells nothing is not 0, and its band reaches down to it.
        """
        weight, layout = self._estimator.additive_.weight, self._layout
        size = np.abs(self._values).mean(axis=2) * weight
        total = max(float(weight[layout.places(0)].sum()), np.finfo(float).tiny)
        return self._band(np.add.reduceat(size, layout.first[:-1], axis=1) / total).clipped(0, np.inf)

    def predict(self, X: Any) -> Band:
        """Returns the predictions of rows with their bands: numbers, or of classes their probabilities.

        A band is of what is predicted, such as a mean, and not of targets, which lie farther off.

        Args:
            X: A table.
        """
        return self._of_scores(self._scores(self._codes(X)))

    def dependence(self, column: Any, X: Any = None) -> DependenceBand:
        """Returns the mean prediction while all rows have one value of a column, with its band.

        Args:
            column: The name of the column, or its place.
            X: The rows, of equal weight; those of the fit, with their weights, if not given.

        Raises:
            InvalidInputError: There is no such column.
        """
        schema, rows = self._estimator.schema_, self._rows
        place = column_place(column, schema.column_names, "column")

        def predict(values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row column"]:
            scores = self._scores(codes_of_values(schema, values))
            return np.concatenate([self._predicted(own) for own in scores], axis=1)

        values, weight = rows.values, rows.weight
        if X is not None:
            values, weight = np.asarray(self._estimator.encoder_.values(X), np.float64), None
        tried = dependence_on(schema, values, place, predict, weight)
        means = tried.means.reshape(len(tried.values), len(self._values), -1).transpose(1, 0, 2)
        numbers = np.arange(means.shape[2])
        curve = np.broadcast_to(numbers, means.shape[1:])
        band = self._band(means, curve=curve)
        return DependenceBand(tried.values, self._within(band))

    def survival(self, X: Any, *, times: Any = None) -> Band:
        """Returns the chances of rows to have had no event by some times, with their bands.

        Args:
            X: A table.
            times: Where curves are shown; the times of events in the fit if not given.

        Raises:
            InvalidInputError: The model has no survival times.
        """
        estimator, known = self._estimator, self._times_of_draws
        at = present(estimator.survival_).times if times is None else times_of(times)
        scores = self._scores(self._codes(X))
        chances = np.stack(
            [SurvivalCurves(estimator.loss_, *own, at).probabilities for own in zip(scores, known, strict=True)]
        )
        # Hazards are multiplied by what scores add, so that bands are even in the logarithm of theirs.
        log_hazards = np.log(-np.log(np.clip(chances, NEAREST, 1 - NEAREST)))
        curve = np.broadcast_to(np.arange(len(at)), log_hazards.shape[1:])
        found = self._band(log_hazards, curve=curve)
        return Band(chances[0], *(np.exp(-np.exp(own)) for own in (found.upper, found.lower)))

    def notes(self) -> list[str]:
        """Returns sentences about the bands: of what they are, and which terms they may hold less than they are to."""
        said = [
            f"Bands of level {self.level:g} by {self.draws} draws of the residuals of {self._rows.sample.num_rows:,} "
            "rows: each is of its bin alone."
        ]
        coverage, bias, terms = self.coverage, self.bias, self._terms_that_count
        pulled = [f"{name} (bias {bias[name]:.1f} times the noise)" for name in terms if bias[name] > MOST_BIAS]
        if pulled:
            said.append(
                "Boosting ends so early that it pulls some curves towards 0 by much more than their noise. Bands know "
                f"this bias only as far as the curves show it, and may not hold: {', '.join(pulled)}."
            )
        low = [f"{name} ({coverage[name]:.2f})" for name in terms if coverage[name] < self.level - LESS]
        if low:
            said.append(f"The bands around draws hold less of some curves than they are to: {', '.join(low)}.")
        return said

    def __repr__(self) -> str:
        """The importance of every term with its band, and how often bands of its curve hold."""
        head = [("term", "importance", "band", "coverage", "bias")]
        rows = [*head, *self._lines()]
        wide = [max(len(line[place]) for line in rows) for place in range(len(head[0]))]
        lines = ["  ".join(word.ljust(own) for word, own in zip(line, wide, strict=True)).rstrip() for line in rows]
        return "\n".join([*self.notes(), *lines])

    def _repr_html_(self) -> str:
        """Returns what a notebook shows."""
        names = ["term", "importance", "band", "coverage", "bias / noise"]
        return notebook.lines(" ".join(self.notes())) + notebook.table(names, self._lines())

    def _lines(self) -> list[tuple[str, ...]]:
        """The terms in words, the most important first."""
        found, coverage, bias = self.importances(), self.coverage, self.bias
        order = np.argsort(-found.center, kind="stable").tolist()
        return [
            (
                self.term_names[term],
                f"{found.center[term]:.3g}",
                f"{found.lower[term]:.3g} to {found.upper[term]:.3g}",
                f"{coverage[self.term_names[term]]:.2f}",
                f"{bias[self.term_names[term]]:.1f}",
            )
            for term in order
        ]

    @property
    def _terms_that_count(self) -> list[str]:
        """The names of the terms that matter by their size, the most important first."""
        sizes = self._estimator.term_importances_
        order = np.argsort(-sizes, kind="stable").tolist()
        return [self.term_names[term] for term in order if sizes[term] > LEAST_PARENT * sizes.max()]

    @property
    def _layout(self) -> Layout:
        return self._estimator.additive_.layout

    @property
    def _layouts(self) -> list[slice]:
        """The places of every term."""
        return [self._layout.places(term) for term in range(self._layout.num_terms)]

    @functools.cached_property
    def _widths(self) -> BandWidths:
        """The half widths at all bins, of every score."""
        num_scores, weight = self._values.shape[2], self._estimator.additive_.weight
        term = np.repeat(np.arange(self._layout.num_terms), self._layout.size)
        draws = self._values[1:].reshape(self.draws + 1, -1)
        curve, weight = np.repeat(term, num_scores), np.repeat(weight, num_scores)
        return widths_of(draws[1:], draws[0], self.level, curve=curve, weight=weight)

    @functools.cached_property
    def _curves(self) -> Band:
        center = self._values[0]
        half = self._widths.half.reshape(center.shape)
        return Band(center, center - half, center + half)

    def _band(self, found: Float[np.ndarray, "member *point"], curve: Any = None) -> Band:
        """Returns the band of numbers that all members have; points of one curve have their bias in common."""
        center, (truth, *_), draws = found[0], found[1:], found[2:].reshape(self.draws, -1)
        curve = np.arange(center.size) if curve is None else np.ravel(curve)
        some = spread(center.size, MOST_POINTS)
        weight = np.zeros(center.size)
        weight[some] = 1.0
        half = widths_of(draws, np.ravel(truth), self.level, curve=curve, weight=weight).half.reshape(center.shape)
        return Band(center, center - half, center + half)

    def _of_scores(self, scores: Float64[np.ndarray, "member row score"]) -> Band:
        """Returns the band of predictions: of one score by its ends, of several by predictions themselves."""
        curve = np.broadcast_to(np.arange(scores.shape[2]), scores.shape[1:])
        if scores.shape[2] == 1:
            found = self._band(scores, curve=curve)
            center, *ends = (self._predicted(own) for own in found)
            band = Band(center, np.minimum(*ends), np.maximum(*ends))
        else:
            predicted = np.stack([self._predicted(own) for own in scores])
            curve = np.broadcast_to(np.arange(predicted.shape[2]), predicted.shape[1:])
            band = self._within(self._band(predicted, curve=curve))
        is_vector = band.center.shape[1] == 1
        return Band(*(own[:, 0] for own in band)) if is_vector else band

    def _within(self, band: Band) -> Band:
        """Returns a band of what may be: probabilities are from 0 to 1."""
        return band.clipped(0, 1) if hasattr(self._estimator, "classes_") else band

    def _predicted(self, scores: Float64[np.ndarray, "row score"]) -> Float64[np.ndarray, "row column"]:
        fixed: Any = self._estimator.fixed_predictions(scores)
        return np.asarray(fixed.predictions, np.float64).reshape(len(scores), -1)

    def _scores(self, codes: UInt[np.ndarray, "feature row"]) -> Float64[np.ndarray, "member row score"]:
        layout = self._layout
        scores = np.repeat(self._intercepts[:, None], codes.shape[1], axis=1)
        for term in range(layout.num_terms):
            scores += self._values[:, layout.first[term] + layout.bins_of(term, codes)]
        return scores

    def _codes(self, X: Any) -> UInt[np.ndarray, "feature row"]:
        return self._estimator.encoder_.transform(X)

    @functools.cached_property
    def _times_of_draws(self) -> Sequence[Any]:
        """The event times and the baseline of every member, learned from its rows and scores."""
        estimator, rows = self._estimator, self._rows
        if not is_of_times(estimator.loss_):
            raise InvalidInputError(f"survival is predicted of survival times, not with loss {estimator.loss_}")
        weight, learn = weight_of(rows.sample), functools.partial(learn_times, estimator.loss_)
        scores, known = self._scores(rows.sample.X.T), []
        for member, own in enumerate(scores):
            drawn = weight if member < 2 else weight * rows.drawn.factors(member - 2, weight)
            is_there = np.flatnonzero(drawn > 0)
            known.append(learn(rows.sample._replace(weight=drawn).take(is_there), own[is_there]))
        return known


def groups_of_draws(
    sample: Sample, groups: Any, is_there: Bool[np.ndarray, " row"] | None
) -> Int64[np.ndarray, " row"] | None:
    """Returns the number of the group of every row that is drawn; None where each is drawn by itself.

    Args:
        sample: The rows of weight.
        groups: The group of every row; that of the fit if not given.
        is_there: Which rows have some weight; None if all have.

    Raises:
        InvalidInputError: There is not one group for each row, or fewer than two.
    """
    if groups is None:
        given = sample.fields.get("group")
        return None if given is None else np.unique(given, return_inverse=True)[1]
    numbers = numbers_of_groups("groups", groups)
    if len(numbers) != (sample.num_rows if is_there is None else len(is_there)):
        raise InvalidInputError(f"groups must have one group for each row, got {len(numbers)}")
    found, place = np.unique(numbers if is_there is None else numbers[is_there], return_inverse=True)
    if len(found) < 2:
        raise InvalidInputError(f"groups must be two or more, which are drawn as a whole, got {len(found)}")
    return place


def drawn_anew(estimator: Any, task: Any, drawn: RedrawnRows, number: int) -> tuple[RowsOfFit, Redraws]:
    """Returns the rows of a fit, and its draws.

    Args:
        estimator: The fitted estimator.
        task: The result of its `read_task` for the rows of the fit.
        drawn: How residuals are drawn.
        number: How many draws.

    Raises:
        InvalidInputError: The rows are not those of the fit.
    """
    data, sample = estimator.fit_data(task), task.sample
    values = _values_of_fit(estimator, sample.X, data)
    config = estimator.config(task.data.schema, task.data.outputs, sample.num_rows)
    with progress_of(estimator.verbose, number, "boosting", "draws") as on_draw:
        redraws = redraw(data, config, estimator.additive_, estimator.num_rounds_, drawn, number, on_draw)
    some, weight = spread(sample.num_rows, MOST_ROWS), np.asarray(data.rows.weight, np.float64)
    kept = sample._replace(X=data.codes.codes.T, weight=weight)
    return RowsOfFit(values[some], weight[some], kept, drawn), redraws


def _values_of_fit(estimator: Any, X: Any, data: FitData) -> Float64[np.ndarray, "row feature"]:
    """Returns the encoded values of rows, which must be those of the fit."""
    if data.schema.column_names == estimator.schema_.column_names and is_of_rows(estimator.additive_, data):
        table = X.without(estimator.other_columns_) if is_source(X) else X
        values = np.asarray(estimator.encoder_.values(table), np.float64)
        if np.array_equal(codes_of_values(estimator.schema_, values), data.codes.codes):
            return values
    raise InvalidInputError("X must be the rows of the fit: its bins have other rows than those of the model")
