"""Scorecards: additive models of two classes as whole numbers of points that a person can add up.

A score of points stands for odds: so many points at some odds, and so many more whenever the odds double (Siddiqi,
*Credit Risk Scorecards*, 2006). The points of a bin are what it adds to the log odds, in this unit, as a whole number.
"""

import dataclasses
import math
import numbers
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64
from sklearn.utils.validation import check_is_fitted

from jaxtree import notebook
from jaxtree.additive.axes import axes_of_term
from jaxtree.additive.model import AdditiveModel
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.export.models import best_of_search
from jaxtree.export.node_tables import check_backend, frame_of
from jaxtree.kernels.layout import Layout, TermKind, join_layouts
from jaxtree.table.encoder import Encoder
from jaxtree.table.schema import Schema
from jaxtree.table.sources import is_source
from jaxtree.tree.kinds import ModelKind, kind_of
from jaxtree.tree.link import Link

MOST_SHOWN = 30
"""Bins that a notebook shows."""


@dataclasses.dataclass(frozen=True, eq=False)
class Scorecard:
    """Points for every bin of every term, which add up to the score of a row.

    Neighbouring bins of as many points are one bin here, and so are categories.

    Attributes:
        layout: The terms, and their bins.
        term_names: The names of the terms.
        initial_points: The points that every row has.
        points: The points of every bin.
        errors: Standard errors of the points, before they were rounded; of several bins of the model the greatest.
        weight: The weight of the rows of the fit in every bin.
        largest_error: How far a score is from that of the model in the same unit, at most, as points are rounded.
        odds_of: The class whose odds double.
        points_to_double_odds: The points for which they do.
        base_points: The points at `base_odds`.
        base_odds: The odds there.
    """

    layout: Layout
    term_names: tuple[str, ...]
    initial_points: int
    points: Int64[np.ndarray, " place"]
    errors: Float64[np.ndarray, " place"]
    weight: Float64[np.ndarray, " place"]
    largest_error: float
    odds_of: Any
    points_to_double_odds: float
    base_points: float
    base_odds: float
    _encoder: Encoder = dataclasses.field(repr=False)
    _beside: tuple[str, ...] = dataclasses.field(repr=False)

    def score(self, X: Any) -> Int64[np.ndarray, " row"]:
        """Returns the points of rows: the initial ones, and those of one bin of every term.

        Args:
            X: A table, or a source.
        """
        codes = self._encoder.transform(self._encoder.open(X).without(self._beside) if is_source(X) else X)
        scores = np.full(codes.shape[1], self.initial_points, np.int64)
        for term in range(self.layout.num_terms):
            scores += self.points[self.layout.places(term)][self.layout.bins_of(term, codes)]
        return scores

    def odds(self, points: Any) -> Float[np.ndarray, " row"]:
        """Returns the odds of `odds_of` that scores of points stand for."""
        doublings = (np.asarray(points, np.float64) - self.base_points) / self.points_to_double_odds
        return self.base_odds * np.exp2(doublings)

    def to_dataframe(self, *, backend: str = "pandas") -> Any:
        """Returns the card as a data frame, a row a bin, the initial points first.

        Its columns are `term`, `bin` (in words; of pairs both, joined by " & "), `low` and `high` (the edges of a bin
        of one column of numbers; else missing), `points`, `weight` and `error`.

        Args:
            backend: "pandas", "polars", "pyarrow", "modin" or "cudf".

        Raises:
            InvalidInputError: The backend is none of these.
            MissingExtraError: The library is not installed.
        """
        check_backend(backend)
        names = ("term", "bin", "low", "high", "points", "weight", "error")
        rows = self._rows()
        return frame_of({name: [row[place] for row in rows] for place, name in enumerate(names)}, backend)

    def _rows(self) -> list[tuple]:
        rows: list[tuple] = [("initial points", "all rows", None, None, self.initial_points, self._total(), 0.0)]
        for term, name in enumerate(self.term_names):
            axes, places = axes_of_term(self._schema, self.layout, term), self.layout.places(term)
            labels, edges = list(axes[0].labels), axes[0].edges.tolist()
            low: list[float | None] = [None] * (places.stop - places.start)
            high = low.copy()
            if len(axes) == 2:
                labels = [f"{first} & {second}" for first in labels for second in axes[1].labels]
            elif edges:
                low[:-1], high[:-1] = edges[:-1], edges[1:]
            numbers_of_bins = (own[places].tolist() for own in (self.points, self.weight, self.errors))
            rows += zip([name] * len(labels), labels, low, high, *numbers_of_bins, strict=True)
        return rows

    @property
    def _schema(self) -> Schema:
        return self._encoder.schema_

    def _total(self) -> float:
        return float(self.weight[self.layout.places(0)].sum())

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the unit, and the points of the first bins."""
        rows = self._rows()
        named = [
            ("points to double the odds of", f"{self.odds_of}: {self.points_to_double_odds:g}"),
            ("base", f"{self.base_points:g} points at odds of {self.base_odds:g}"),
            ("largest error of rounding", f"{self.largest_error:.2f} points"),
        ]
        shown = [(row[0], row[1], f"{row[4]:+d}") for row in rows[:MOST_SHOWN]]
        return notebook.facts(named) + notebook.table(["term", "bin", "points"], shown, len(rows) - MOST_SHOWN)


def to_scorecard(
    model: Any,
    *,
    points_to_double_odds: Any = 20,
    base_points: Any = 600,
    base_odds: Any = 50,
    odds_of: Any = None,
) -> Scorecard:
    """Returns an additive model of two classes as points that add up to a score.

    Points are rounded term by term, so that the sum over all terms is as near to the model's as whole numbers of each
    term allow: of the fractions of a term's points the largest gap is where rounding turns from down to up. The
    remaining error is `largest_error`; with more points to double the odds it is less in odds.

    Args:
        model: A fitted `ExplainableBoostingClassifier` of two classes.
        points_to_double_odds: The points for which the odds double, above 0.
        base_points: The points at `base_odds`.
        base_odds: Odds, above 0: 50 means 50 rows of the class for each of the other.
        odds_of: The class whose odds the points are of; the second of `classes_` if not given.

    Raises:
        InvalidInputError: An argument is not allowed, or the model has no two classes.
        InvalidTypeError: It is no additive model.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> from jaxtree import ExplainableBoostingClassifier
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> X = X[["mean radius", "mean texture"]]
        >>> model = ExplainableBoostingClassifier(interactions=0, outer_bags=1).fit(X, y)
        >>> card = to_scorecard(model)
        >>> bool((card.score(X) == card.score(X).astype(int)).all()), card.largest_error < 2
        (True, True)
    """
    model = best_of_search(model)
    _check_model(model)
    limits = {"points_to_double_odds": points_to_double_odds, "base_odds": base_odds}
    for name, value in {**limits, "base_points": base_points}.items():
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(float(value))
        if not is_number or (name in limits and value <= 0):
            raise InvalidInputError(f"{name} must be a number{' above 0' * (name in limits)}, got {value!r}")
    classes = model.classes_.tolist()
    odds_of = classes[1] if odds_of is None else odds_of
    if odds_of not in classes:
        raise InvalidInputError(f"odds_of must be one of the classes {classes}, got {odds_of!r}")
    terms: AdditiveModel = model.additive_
    sign = 1 if odds_of == classes[1] else -1
    unit = sign * points_to_double_odds / np.log(2)
    exact = unit * terms.values[:, 0]
    points, ends = exact.astype(np.int64), np.zeros((terms.layout.num_terms, 2))
    for term in range(terms.layout.num_terms):
        places = terms.layout.places(term)
        points[places] = whole_points(exact[places])
        apart = points[places] - exact[places]
        ends[term] = apart.min(), apart.max()
    start = base_points + unit * terms.intercept[0] - points_to_double_odds * np.log2(base_odds)
    initial = round(float(start - ends.mean(axis=1).sum()))
    largest = float(np.abs(initial - start + ends.sum(axis=0)).max())
    merged, place = _merge(terms.layout, points)
    weight, errors = np.zeros(merged.num_places), np.zeros(merged.num_places)
    np.add.at(weight, place, terms.weight)
    np.maximum.at(errors, place, abs(unit) * terms.errors[:, 0])
    whole = np.zeros(merged.num_places, np.int64)
    whole[place] = points
    names, unit_of_odds = terms.term_names, (float(points_to_double_odds), float(base_points), float(base_odds))
    beside = tuple(model.other_columns_)
    return Scorecard(
        merged, names, initial, whole, errors, weight, largest, odds_of, *unit_of_odds, model.encoder_, beside
    )


def whole_points(exact: Float64[np.ndarray, " bin"]) -> Int64[np.ndarray, " bin"]:
    """Returns whole numbers that are as nearly as possible as far from some numbers, all of them.

    Args:
        exact: The numbers.

    Example: all of these lie 0.4 or 0.5 above a whole number.
        >>> whole_points(np.array([0.5, 3.4, -2.6])).tolist()
        [0, 3, -3]
    """
    fraction = np.unique(exact - np.floor(exact))
    gap = np.diff(fraction, append=fraction[0] + 1)
    widest = int(gap.argmax())
    cut = fraction[widest] + gap[widest] / 2
    down = np.floor(exact - cut).astype(np.int64)
    apart = down - exact
    return down - round(float(apart.min() + apart.max()) / 2)


def _merge(layout: Layout, points: Int64[np.ndarray, " place"]) -> tuple[Layout, Int64[np.ndarray, " place"]]:
    """Returns terms whose bins have different points, and the new place of every bin; those of pairs stay."""
    terms, places, first = [], [], 0
    for term in range(layout.num_terms):
        own = points[layout.places(term)]
        new = np.arange(len(own))
        if layout.kind[term] == TermKind.ORDERED and len(own) > 1:
            new[:-1] = np.cumsum(np.append(0, np.diff(own[:-1]) != 0))
        elif layout.kind[term] == TermKind.SUBSET and len(own) > 1:
            new[:-1] = np.unique(own[:-1], return_inverse=True)[1]
        new[-1] = new[:-1].max(initial=-1) + 1
        one = layout.take([term])
        if layout.kind[term] != TermKind.PAIR:
            number = np.array([[new[-1] + 1, 1]], np.int32)
            bins = np.stack([new[one.bins[0, 0]], np.zeros(one.bins.shape[2])]).astype(np.uint16)
            one = dataclasses.replace(one, bins=bins[None], num_bins=number)
        else:
            new = np.arange(len(own))
        terms.append(one)
        places.append(first + new)
        first += one.num_places
    return join_layouts(terms), np.concatenate(places)


def _check_model(model: Any) -> None:
    """Raises an error if a model has no log odds that are a sum of terms."""
    if kind_of(model) != ModelKind.TERMS:
        raise InvalidTypeError(f"a scorecard is of an ExplainableBoostingClassifier, got {type(model).__name__}")
    check_is_fitted(model)
    if model.model_.link.classes is None or model.model_.link.kind != Link.LOGISTIC:
        number = len(getattr(model, "classes_", ()))
        got = f"a model of {number} classes" if number else f"an {type(model).__name__}, which predicts numbers"
        raise InvalidInputError(f"a scorecard is of a model of two classes, got {got}")
