"""Bands from draws of a fit: of predictions and dependence, whatever models a draw makes.

The *members* of bands are the fitted model, the *truth* that draws are made around, and the draws, in this order.
"""

import abc
import copy
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64

from jaxtree import notebook
from jaxtree.arrays import spread
from jaxtree.dataset.arguments import numbers_of_groups
from jaxtree.dataset.sample import Sample
from jaxtree.errors import InvalidInputError
from jaxtree.figures.bands import LESS, Band, BandWidths, widths_of
from jaxtree.figures.dependence import dependence_on, limits_on
from jaxtree.figures.outputs import output_labels
from jaxtree.table.names import column_place
from jaxtree.table.redraws import RedrawnRows
from jaxtree.table.sources import is_source

MOST_POINTS = 4_000
"""The most points from which the factor of predictions is known; of more, as many spread over them."""

MOST_BIAS = 2.0
"""The size of a bias, in sizes of the noise, above which it is too great to be known from curves that have it."""


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


class ImportanceWords(NamedTuple):
    """The words for importances.

    Attributes:
        noun: The word for what has one each.
        names: The names of these.
        unit: The unit of importances.
        meaning: The sentence that says what they are, without its end.
    """

    noun: str
    names: list[str]
    unit: str
    meaning: str


class DrawnBands(abc.ABC):
    """Bands of a model from draws of its fit.

    Args:
        estimator: The fitted estimator.
        rows: The rows of its fit.
        level: The share of places that bands are to hold.
        draws: How many draws there are.
    """

    _learned: ClassVar[str]
    """The attribute of an estimator that another fit replaces."""
    _noun: ClassVar[str]
    """The word for what has a coverage and a bias each."""
    _why_biased: ClassVar[str]
    """The sentence about a great bias, up to the names of what has it; "{noun}" stands for `_noun`."""
    _head: ClassVar[tuple[str, ...]]
    """The names of the columns that are printed."""

    @abc.abstractmethod
    def importances(self) -> Band:
        """Returns importances with their bands."""

    @abc.abstractmethod
    def importance_words(self) -> ImportanceWords:
        """Returns the names of what is important, and what importances are."""

    def __init__(self, estimator: Any, rows: RowsOfFit, level: float, draws: int):
        self.level, self.draws, self.seed = level, draws, rows.drawn.seed
        # Another fit of the estimator changes neither the copy nor what the bands are of.
        self._estimator, self._rows = copy.copy(estimator), rows

    @abc.abstractmethod
    def _predictions(self, values: Float64[np.ndarray, "row feature"]) -> Float64[np.ndarray, "member row column"]:
        """Returns the predictions of encoded rows by every member: numbers, or the probabilities of classes."""

    @property
    @abc.abstractmethod
    def _widths(self) -> BandWidths:
        """The half widths of the bands that have a coverage and a bias each."""

    @property
    @abc.abstractmethod
    def _names(self) -> list[str]:
        """The names of these."""

    @property
    @abc.abstractmethod
    def _names_that_count(self) -> list[str]:
        """The names of those that notes are about."""

    @abc.abstractmethod
    def _origin(self) -> str:
        """Returns the sentence that says how the draws were made."""

    @abc.abstractmethod
    def _lines(self) -> list[tuple[str, ...]]:
        """Returns the rows that are printed, the most important first."""

    def check_is_of(self, estimator: Any) -> None:
        """Raises InvalidInputError if an estimator is not the one that the bands are of."""
        if getattr(estimator, self._learned, None) is not getattr(self._estimator, self._learned):
            raise InvalidInputError(
                f"bands must be those of the model that is shown, got those of another {type(self._estimator).__name__}"
            )

    @property
    def coverage(self) -> dict[str, float]:
        """The share of its places at which the bands around draws hold what these were made around, by name."""
        return dict(zip(self._names, self._widths.coverage.tolist(), strict=True))

    @property
    def bias(self) -> dict[str, float]:
        """The size of the bias as a part of that of the noise, which is the draws' standard deviation, by name."""
        found = self._widths
        share = np.divide(found.bias, found.spread, out=np.zeros(len(found.bias)), where=found.spread > 0)
        return dict(zip(self._names, share.tolist(), strict=True))

    def predict(self, X: Any) -> Band:
        """Returns the predictions of rows with their bands: numbers, or of classes their probabilities.

        A band is of what is predicted, such as a mean, and not of targets, which lie farther off. The bias is known in
        the mean over the rows that are given together.

        Args:
            X: A table.
        """
        return self._of_predictions(self._predictions(self._values_of(X)))

    def dependence(self, column: Any, X: Any = None) -> DependenceBand:
        """Returns the mean prediction while all rows have one value of a column, with its band.

        Args:
            column: The name of the column, or its place.
            X: The rows, of equal weight; those of the fit, with their weights, if not given.

        Raises:
            InvalidInputError: There is no such column.
        """
        place = column_place(column, self._estimator.schema_.column_names, "column")
        if X is not None:
            return self.dependence_of_values(place, self._values_of(X), None)
        return self.dependence_of_values(place, self._rows.values, self._rows.weight)

    def dependence_of_values(
        self, place: int, values: Float64[np.ndarray, "row feature"], weight: Float[np.ndarray, " row"] | None
    ) -> DependenceBand:
        """Returns the dependence on the column at a place over encoded rows, see `dependence`.

        Args:
            place: The place of the column.
            values: The rows.
            weight: Their weights; None for equal ones.
        """
        schema = self._estimator.schema_

        def predict(values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row column"]:
            return np.concatenate(list(self._predictions(values)), axis=1)

        tried = dependence_on(schema, values, place, predict, weight, limits_on(self._estimator, place))
        means = tried.means.reshape(len(tried.values), self._num_members, -1).transpose(1, 0, 2)
        curve = np.broadcast_to(np.arange(means.shape[2]), means.shape[1:])
        return DependenceBand(tried.values, self._within(self._band(means, curve=curve)))

    def notes(self) -> list[str]:
        """Returns sentences about the bands: how they were drawn, and which may hold less than they are to."""
        said, coverage, bias, names = [self._origin()], self.coverage, self.bias, self._names_that_count
        pulled = [f"{name} (bias {bias[name]:.1f} times the noise)" for name in names if bias[name] > MOST_BIAS]
        if pulled:
            said.append(f"{self._why_biased.format(noun=self._noun)} {', '.join(pulled)}.")
        low = [f"{name} ({coverage[name]:.2f})" for name in names if coverage[name] < self.level - LESS]
        if low:
            said.append(f"The bands around draws hold less of some {self._noun} than they are to: {', '.join(low)}.")
        return said

    def __repr__(self) -> str:
        """The importances with their bands, and how often bands hold."""
        rows = [self._head, *self._lines()]
        wide = [max(len(line[place]) for line in rows) for place in range(len(self._head))]
        lines = ["  ".join(word.ljust(own) for word, own in zip(line, wide, strict=True)).rstrip() for line in rows]
        return "\n".join([*self.notes(), *lines])

    def _repr_html_(self) -> str:
        """Returns what a notebook shows."""
        return notebook.lines(" ".join(self.notes())) + notebook.table(list(self._head), self._lines())

    def _values_of(self, X: Any) -> Float64[np.ndarray, "row feature"]:
        estimator = self._estimator
        table = estimator.encoder_.open(X).without(estimator.other_columns_) if is_source(X) else X
        return np.asarray(estimator.encoder_.values(table), np.float64)

    def _band(
        self,
        found: Float[np.ndarray, "member *point"],
        curve: Any = None,
        weight: Float[np.ndarray, "*point"] | None = None,
    ) -> Band:
        """Returns the band of numbers that all members have.

        Args:
            found: The numbers.
            curve: The curve of every point: points of one have their bias in common. None for one each.
            weight: How much every point tells of the bias and the factor; 1 if not given.
        """
        center, (truth, *_), draws = found[0], found[1:], found[2:].reshape(self.draws, -1)
        curve = np.arange(center.size) if curve is None else np.ravel(curve)
        some = spread(center.size, MOST_POINTS)
        told = np.zeros(center.size)
        told[some] = 1.0 if weight is None else np.ravel(weight)[some]
        half = widths_of(draws, np.ravel(truth), self.level, curve=curve, weight=told).half.reshape(center.shape)
        return Band(center, center - half, center + half)

    def _of_predictions(
        self, predicted: Float64[np.ndarray, "member row column"], weight: Float64[np.ndarray, " row"] | None = None
    ) -> Band:
        """Returns the band of predictions, of a single column as vectors.

        Args:
            predicted: The predictions of rows.
            weight: How much every row tells of the bias and the factor; 1 if not given.
        """
        shape = predicted.shape[1:]
        curve = np.broadcast_to(np.arange(shape[1]), shape)
        told = None if weight is None else np.broadcast_to(weight[:, None], shape)
        return as_vectors(self._within(self._band(predicted, curve, told)))

    @property
    def _num_members(self) -> int:
        """The number of members."""
        return self.draws + 2

    def _within(self, band: Band) -> Band:
        """Returns a band of what may be: probabilities are from 0 to 1."""
        return band.clipped(0, 1) if hasattr(self._estimator, "classes_") else band


class ColumnBands(DrawnBands):
    """Bands of a model of columns, each of which has an importance, and whose predictions have a bias in common."""

    _learned, _noun = "forest_", "predictions"
    _head = ("column", "importance", "band")

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self._estimator.schema_.column_names)

    @property
    def _names(self) -> list[str]:
        number = self._widths.coverage.size
        return ["prediction"] if number == 1 else output_labels(self._estimator, number)

    @property
    def _names_that_count(self) -> list[str]:
        return self._names

    def _lines(self) -> list[tuple[str, ...]]:
        found = self.importances()
        return [
            (
                self.column_names[place],
                f"{found.center[place]:.3g}",
                f"{found.lower[place]:.3g} to {found.upper[place]:.3g}",
            )
            for place in np.argsort(-found.center, kind="stable").tolist()
        ]


def as_vectors(band: Band) -> Band:
    """Returns the band of a single column of predictions as vectors, and others as they are."""
    return Band(*(own[:, 0] for own in band)) if band.center.shape[1] == 1 else band


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
