"""The terms of an additive model in the units of the table, and their additions to one row."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.stats
from jaxtyping import Float64

from jaxtree import notebook
from jaxtree.additive.axes import TermAxis, axes_of_term
from jaxtree.additive.model import AdditiveModel
from jaxtree.errors import InvalidInputError
from jaxtree.explain.scores import Contribution
from jaxtree.export.node_tables import check_backend, frame_of
from jaxtree.table.names import column_place, name_in_words

MOST_SHOWN = 20
"""Terms that a notebook shows."""


@dataclasses.dataclass(frozen=True, eq=False)
class ExplainedTerm:
    """A term of an additive model: a curve of one column, or a surface of two.

    The last bin of every column is that of missing values; `missing` has what it adds.

    Attributes:
        name: Its name: that of its column, or of a pair as "age & hours".
        axes: The bins of its columns, one or two.
        values: The contribution of every bin to the scores.
        errors: Standard errors of the values; NaN of one bag, and where no rows were held out.
        weight: The weight of the rows of the fit in every bin: how dense the data are there.
        importance: The mean size of what it adds, over the rows of the fit.
        num_bags: The number of bags.
        band: The ends of the bands that `bands` of the estimator has drawn; None where intervals follow from errors.
    """

    name: str
    axes: tuple[TermAxis, ...]
    values: Float64[np.ndarray, "*bin score"]
    errors: Float64[np.ndarray, "*bin score"]
    weight: Float64[np.ndarray, "*bin"]
    importance: float
    num_bags: int
    band: tuple[Float64[np.ndarray, "*bin score"], Float64[np.ndarray, "*bin score"]] | None = None

    @property
    def kind(self) -> str:
        """The kind of its column, "numeric", "ordered", "categorical" or "boolean", or "pair"."""
        return "pair" if self.is_pair else self.axes[0].kind

    @property
    def is_pair(self) -> bool:
        """Whether it is a surface of two columns."""
        return len(self.axes) == 2

    @property
    def missing(self) -> Float64[np.ndarray, " score"]:
        """The addition to the scores of a missing value of its one column.

        Raises:
            InvalidInputError: It is a pair.
        """
        if self.is_pair:
            raise InvalidInputError(f"term {self.name!r} is a pair: its last row and column are of missing values")
        return self.values[-1]

    def with_band(
        self, lower: Float64[np.ndarray, "*bin score"], upper: Float64[np.ndarray, "*bin score"]
    ) -> "ExplainedTerm":
        """Returns the term with a band."""
        return dataclasses.replace(self, band=(lower, upper))

    def interval(self, confidence: float = 0.95) -> tuple[Any, Any]:
        """Returns the lower and upper ends of pointwise intervals of the values.

        They are the values less and more so many standard errors as Student's distribution with a degree of freedom
        less than there are bags has. The errors follow from how much the bags differ (see `AdditiveModel`): they
        measure what other rows would have changed, and not that steps are smooth or early stopping pulls values
        towards 0. Each interval is of its bin alone; a whole curve lies within all of them less often.

        Args:
            confidence: The share of intervals that are to hold what the fit estimates, above 0 and below 1.

        Raises:
            InvalidInputError: `confidence` is not between 0 and 1.
        """
        if not 0 < confidence < 1:
            raise InvalidInputError(f"confidence must be above 0 and below 1, got {confidence}")
        if self.num_bags < 2:
            return self.values - self.errors, self.values + self.errors
        far = float(scipy.stats.t.ppf((1 + confidence) / 2, self.num_bags - 1)) * self.errors
        return self.values - far, self.values + far


@dataclasses.dataclass(frozen=True, eq=False)
class GlobalExplanation:
    """All terms of an additive model, the most important first.

    Attributes:
        intercept: The mean scores; the scores of a row are the intercept plus the values of its bins.
        terms: The terms.
        labels: The name of every score: the second of two classes, every class of more than two, or "" for one number.
        unit: The unit of the scores, such as "log odds".
    """

    intercept: Float64[np.ndarray, " score"]
    terms: tuple[ExplainedTerm, ...]
    labels: tuple[str, ...]
    unit: str

    def __getitem__(self, term: Any) -> ExplainedTerm:
        """Returns a term by its name, or by its place in the order of importance unless columns are named by numbers.

        Raises:
            InvalidInputError: There is no such term.
        """
        names = [own.name for own in self.terms]
        return self.terms[term_place(names, term)]

    def __len__(self) -> int:
        """The number of terms."""
        return len(self.terms)

    def __iter__(self) -> Iterator[ExplainedTerm]:
        """Yields the terms."""
        return iter(self.terms)

    def to_dataframe(self, *, backend: str = "pandas") -> Any:
        """Returns the values of all bins as a data frame, a row a bin and score.

        Its columns are `term`, `kind`, `bin` (in words; of pairs both, joined by " & "), `low` and `high` (the edges of
        a bin of one column of numbers; else missing), `score` (what the score is of), `value`, `error` and `weight`.

        Args:
            backend: "pandas", "polars", "pyarrow", "modin" or "cudf".

        Raises:
            InvalidInputError: The backend is none of these.
            MissingExtraError: The library is not installed.
        """
        check_backend(backend)
        rows = [row for term in self.terms for row in _rows_of(term, self.labels)]
        names = ("term", "kind", "bin", "low", "high", "score", "value", "error", "weight")
        columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
        return frame_of(columns, backend)

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the importance and the range of every term."""
        rows = [
            [own.name, own.kind, f"{own.importance:.4g}", f"{own.values.min():+.4g} to {own.values.max():+.4g}"]
            for own in self.terms[:MOST_SHOWN]
        ]
        head = notebook.facts([("terms", len(self.terms)), ("adds up to", self.unit)])
        names = ["term", "kind", "importance", "adds"]
        return head + notebook.table(names, rows, len(self.terms) - MOST_SHOWN)


def term_place(names: Sequence[str], term: Any) -> int:
    """Returns the place of a term by its name, or by its number as `column_place` reads it.

    Example:
        >>> term_place(["age", "hours", "age & hours"], "hours & age")
        2

    Raises:
        InvalidInputError: There is no such term.
    """
    turned = " & ".join(reversed(term.split(" & "))) if isinstance(term, str) else term
    return column_place(turned if term not in names and turned in names else term, names, "term", "term")


def listed_terms(names: Sequence[str], terms: Any) -> list:
    """Returns a list of terms as it is, and one of a term that is given by itself.

    >>> listed_terms(["age", "hours"], "age"), listed_terms(["pay, 5", "age"], ("pay", 5))
    (['age'], [('pay', 5)])
    """
    return [terms] if is_one_term(names, terms) else list(terms)


def is_one_term(names: Sequence[str], terms: Any) -> bool:
    """Returns whether terms are one that is given by itself; a tuple may be the name of one."""
    return not isinstance(terms, Iterable) or isinstance(terms, str) or name_in_words(terms) in names


def explain_terms(model: AdditiveModel, num_bags: int) -> tuple[ExplainedTerm, ...]:
    """Returns the terms of a model, in its order.

    Args:
        model: The model.
        num_bags: The bags that its errors are of.
    """
    layout, importances = model.layout, model.importances()
    found = []
    for term, name in enumerate(model.term_names):
        axes, places = axes_of_term(model.schema, layout, term), layout.places(term)
        shape = tuple(len(own.labels) for own in axes)
        values, errors = (own[places].reshape(*shape, -1) for own in (model.values, model.errors))
        errors = errors if num_bags > 1 and model.errors.any() else np.full_like(errors, np.nan)
        weight = model.weight[places].reshape(shape)
        found.append(ExplainedTerm(name, axes, values, errors, weight, float(importances[term]), num_bags))
    return tuple(found)


def contributions_of(
    model: AdditiveModel,
    added: Float64[np.ndarray, " term"],
    words: list[str],
    effects: Float64[np.ndarray, " term"],
) -> tuple[Contribution, ...]:
    """Returns what the terms add to one score of a row, the greatest first.

    Args:
        model: The model.
        added: The additions of the terms.
        words: The value of every column in words.
        effects: How this changes what is predicted.
    """
    of_terms = [" & ".join(words[own] for own in pair if own >= 0) for pair in model.layout.features.tolist()]
    order = np.argsort(-np.abs(added), kind="stable").tolist()
    return tuple(
        Contribution(model.term_names[term], of_terms[term], float(added[term]), float(effects[term])) for term in order
    )


def _rows_of(term: ExplainedTerm, labels: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of a term in a data frame."""
    edges = term.axes[0].edges
    for place in np.ndindex(term.weight.shape):
        words = " & ".join(axis.labels[own] for axis, own in zip(term.axes, place, strict=True))
        has_edges = not term.is_pair and place[0] + 1 < len(edges)
        low, high = (float(edges[place[0]]), float(edges[place[0] + 1])) if has_edges else (None, None)
        for score, label in enumerate(labels):
            value, error = float(term.values[place][score]), float(term.errors[place][score])
            yield term.name, term.kind, words, low, high, label, value, error, float(term.weight[place])
