"""Bands of an additive model: of its curves, of importances, and of all that is predicted by it."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64, UInt

from jaxtree.additive.axes import codes_of_values
from jaxtree.additive.bags import FitData
from jaxtree.additive.explanations import ExplainedTerm, GlobalExplanation
from jaxtree.additive.redraws import Redraws, is_of_rows, losses_of, redraw
from jaxtree.additive.terms import LEAST_PARENT
from jaxtree.arrays import spread
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.rows import weight_of
from jaxtree.estimators.boosting.scored_bands import ScoredBands
from jaxtree.estimators.boosting.survival import learn_times
from jaxtree.estimators.common.conventions import progress_of
from jaxtree.estimators.common.drawn_bands import ImportanceWords, RowsOfFit
from jaxtree.figures.bands import Band, BandWidths, band_of_sizes, widths_of
from jaxtree.figures.dependence import MOST_ROWS
from jaxtree.kernels.layout import Layout
from jaxtree.table.redraws import RedrawnRows
from jaxtree.table.sources import is_source

LEAST_LOSS = 1e-6
"""The least part of a loss that is no rounding: on the target of its fit a model has no greater one than its start."""


class Bands(ScoredBands):
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

    _learned, _noun = "additive_", "curves"
    _head = ("term", "importance", "band", "coverage", "bias / noise")

    def __init__(self, estimator: Any, rows: RowsOfFit, redraws: Redraws, level: float):
        super().__init__(estimator, rows, level, len(redraws.values))
        model = estimator.additive_
        self._intercepts = np.concatenate([[model.intercept, redraws.truth.intercept], redraws.intercepts])
        self._values = np.concatenate([[model.values, redraws.truth.values], redraws.values])

    @property
    def term_names(self) -> list[str]:
        """The names of the terms: columns, and pairs of columns, as "age & hours"."""
        return self._estimator.term_names_

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

        Noise makes sizes greater, so that of a column that tells nothing is not 0, and shrinkage makes them smaller.
        Bands are moved against both, as far as draws show it.
        """
        weight, layout = self._estimator.additive_.weight, self._layout
        size = np.abs(self._values).mean(axis=2) * weight
        total = max(float(weight[layout.places(0)].sum()), np.finfo(float).tiny)
        return band_of_sizes(np.add.reduceat(size, layout.first[:-1], axis=1) / total, self.level)

    def importance_words(self) -> ImportanceWords:
        """Returns the names of the terms, and what their importances are."""
        unit = f"mean absolute contribution in {self._estimator.explain_global().unit}"
        return ImportanceWords("term", self.term_names, unit, "Mean absolute contribution of each term to a score")

    def _origin(self) -> str:
        return (
            f"Bands of level {self.level:g} by {self.draws} draws of the residuals of {self._rows.sample.num_rows:,} "
            "rows: each is of its bin alone."
        )

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
    def _names(self) -> list[str]:
        return self.term_names

    @property
    def _names_that_count(self) -> list[str]:
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

    def _scores(self, values: Float64[np.ndarray, "row feature"]) -> Float64[np.ndarray, "member row score"]:
        return self._scores_of_codes(codes_of_values(self._estimator.schema_, values))

    def _scores_of_codes(self, codes: UInt[np.ndarray, "feature row"]) -> Float64[np.ndarray, "member row score"]:
        layout = self._layout
        scores = np.repeat(self._intercepts[:, None], codes.shape[1], axis=1)
        for term in range(layout.num_terms):
            scores += self._values[:, layout.first[term] + layout.bins_of(term, codes)]
        return scores

    @functools.cached_property
    def _known_times(self) -> Sequence[Any]:
        """The event times and the baseline of every member, learned from its rows and scores."""
        estimator, rows = self._estimator, self._rows
        weight, learn = weight_of(rows.sample), functools.partial(learn_times, estimator.loss_)
        scores, known = self._scores_of_codes(rows.sample.X.T), []
        for member, own in enumerate(scores):
            drawn = weight if member < 2 else weight * rows.drawn.factors(member - 2, weight)
            is_there = np.flatnonzero(drawn > 0)
            known.append(learn(rows.sample._replace(weight=drawn).take(is_there), own[is_there]))
        return known


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
    own, plain = losses_of(estimator.additive_, data)
    if own > plain + LEAST_LOSS * abs(plain):
        raise InvalidInputError(
            "y must be the target of the fit: on this one the model has a loss of "
            f"{own:.6g}, and a constant {plain:.6g}"
        )
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
