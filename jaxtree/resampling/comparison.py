"""The result of a comparison of models: scores on the same folds, differences with intervals, times, and a verdict."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxtree import notebook
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.folds import Split
from jaxtree.figures.comparisons import (
    LEVEL,
    ComparedModel,
    PairedDifference,
    compared_models,
    paired_difference,
    ratio_of_parts,
)
from jaxtree.files.pages import Page
from jaxtree.metrics.scorers import metric_in_words, shown_score
from jaxtree.table.numerals import decimal_near, score_in_words

BASELINE = "baseline"
"""The name of the constant that every comparison has."""

FEW_DIGITS = 2
"""Significant digits of times."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Models that were scored on the same folds.

    Printed, it is a table of the models by the first metric and a verdict; a notebook shows both.

    Attributes:
        estimators: The models as they were compared, not fitted, by name; `BASELINE` is a constant: the shares of
            classes, or the mean (of absolute errors the median).
        scores: For each metric the scores of all models on every fold, greater if better; NaN where one has failed.
        fit_seconds: The time of every fit; models that share a program share its time.
        predict_seconds: The time of the predictions of every test part and of its score by the first metric.
        failures: Why models have no score, in words, by name.
        splits: The training and the test rows of every fold.
        folds: The folds in words.
    """

    estimators: Mapping[str, Any]
    scores: Mapping[str, Float[np.ndarray, "model fold"]]
    fit_seconds: Float[np.ndarray, "model fold"]
    predict_seconds: Float[np.ndarray, "model fold"]
    failures: Mapping[str, str]
    splits: Sequence[Split]
    folds: str

    @property
    def metrics(self) -> list[str]:
        """The names of the scorers, of which the first ranks unless another is named."""
        return list(self.scores)

    def rows(self, metric: str | None = None) -> list[ComparedModel]:
        """Returns the models by a metric, the best first.

        Args:
            metric: The name of a scorer; the first if not given.

        Raises:
            InvalidInputError: The comparison has no such scorer.
        """
        names = list(self.estimators)
        times = self.fit_seconds, self.predict_seconds
        own = self.scores[self._known(metric)]
        return compared_models(names, own, times, constant=names.index(BASELINE), ratio=ratio_of_parts(self.splits))

    def difference(self, model: str, other: str, metric: str | None = None) -> PairedDifference:
        """Returns the mean difference of two models and its interval, above 0 where the first is better.

        Args:
            model: The name of a model.
            other: The name of another.
            metric: The name of a scorer; the first if not given.

        Raises:
            InvalidInputError: The comparison has no such model or scorer.
        """
        scores, names = self.scores[self._known(metric)], list(self.estimators)
        for name in (model, other):
            if name not in names:
                raise InvalidInputError(f"the models are {', '.join(names)}, got {name!r}")
        first, second = (scores[names.index(name)] for name in (model, other))
        return paired_difference(first, second, ratio_of_parts(self.splits))

    def verdict(self, metric: str | None = None) -> str:
        """Returns which model is the best, by how much, and which others the folds cannot tell from it.

        An interval is about one pair of models. The best of many is chosen by the folds that judge it, which flatters
        it a little.

        Args:
            metric: The name of a scorer; the first if not given.
        """
        metric = self._known(metric)
        rows = [row for row in self.rows(metric) if np.isfinite(row.rank)]
        if len(rows) < 2:
            return "No model has a score."
        best, constant = rows[0], next(row for row in rows if row.name == BASELINE)
        measured = f"{metric_in_words(metric)} {_shown(metric, best.score)}"
        if best is constant:
            return f"No model is better than a constant, whose {measured} is the best."
        words = f"{best.name} is the best: {measured}, better than a constant ({_shown(metric, constant.score)}) by "
        words += best.from_constant.in_words()
        words += "." if best.from_constant.is_clear else ", which may be chance."
        others = [row for row in rows[1:] if row is not constant]
        alike = [row.name for row in others if not row.from_best.is_clear]
        worse = next((row for row in others if row.from_best.is_clear), None)
        if alike:
            words += f" These folds cannot tell it from {_listed(alike)}."
        if worse is not None:
            words += f" {worse.name} is worse by {worse.from_best.reversed().in_words()}."
        return words

    def to_dict(self, metric: str | None = None) -> dict[str, list[Any]]:
        """Returns the table as columns by name, a row a model, the best first; `pandas.DataFrame` takes them.

        Scores and differences are shown as the metric is: of a loss, the loss. Every metric has a column of means.

        Args:
            metric: The name of the scorer that ranks and has differences; the first if not given.
        """
        metric = self._known(metric)
        rows, names = self.rows(metric), list(self.estimators)
        ends = [_ends(metric, row.from_best) for row in rows]
        columns: dict[str, list[Any]] = {
            "rank": [int(row.rank) if np.isfinite(row.rank) else None for row in rows],
            "model": [row.name for row in rows],
        }
        for own in (metric, *(other for other in self.metrics if other != metric)):
            means = self.scores[own].mean(axis=1)
            columns[metric_in_words(own)] = [float(shown_score(own, means[names.index(row.name)])) for row in rows]
            if own == metric:
                for place, name in enumerate(("from best", "low", "high")):
                    columns[name] = [own_ends[place] for own_ends in ends]
        columns["mean rank"] = [row.mean_rank for row in rows]
        columns["fit seconds"] = [row.fit_seconds for row in rows]
        columns["predict seconds"] = [row.predict_seconds for row in rows]
        return columns

    def to_frame(self, metric: str | None = None) -> Any:
        """Returns the table as a pandas frame; see `to_dict`.

        Args:
            metric: The name of the scorer that ranks and has differences; the first if not given.
        """
        import pandas as pd

        return pd.DataFrame(self.to_dict(metric))

    def to_html(self, *, title: str = "Models side by side") -> Page:
        """Returns a page about the models: the verdict, differences with intervals, scores on every fold, and times.

        Args:
            title: The heading of the page.

        Raises:
            MissingExtraError: jinja2 is not installed.
        """
        from jaxtree.page.compared import compared_page

        return compared_page(self, title=title)

    def heading(self, metric: str | None = None) -> str:
        """Returns what the table is of: the metric, the folds, and the kind of the intervals."""
        metric = self._known(metric)
        better = "lower" if metric.startswith("neg_") else "higher"
        intervals = f"{LEVEL:.0%} intervals of Nadeau and Bengio"
        return f"{metric_in_words(metric)} ({better} is better); {self.folds}; {intervals}"

    def cells(self, metric: str | None = None) -> tuple[list[str], list[list[str]]]:
        """Returns the names of the columns of the table, and its cells in words, a list a model.

        Args:
            metric: The name of the scorer that ranks and has differences; the first if not given.
        """
        metric, columns = self._known(metric), self.to_dict(metric)
        best = columns["model"][0]
        rows = []
        for values in zip(*columns.values(), strict=True):
            own = dict(zip(columns, values, strict=True))
            is_best = own["model"] == best
            rows.append([_cell(name, value, is_best=is_best) for name, value in own.items()])
        return list(columns), rows

    def __repr__(self) -> str:
        """Returns the table, the verdict, and why models have failed."""
        names, rows = self.cells()
        columns = [[name, *(row[place] for row in rows)] for place, name in enumerate(names)]
        widths = [max(map(len, column)) for column in columns]
        lines = [self.heading()]
        for row in (names, *rows):
            parts = [
                cell.ljust(width) if name == "model" else cell.rjust(width)
                for name, cell, width in zip(names, row, widths, strict=True)
            ]
            lines.append("  ".join(parts).rstrip())
        return "\n".join([*lines, self.verdict(), *self.failures_in_words()])

    def _repr_html_(self) -> str:
        """Returns the same for a notebook."""
        said = "\n".join([self.verdict(), *self.failures_in_words()])
        return notebook.lines(self.heading()) + notebook.table(*self.cells()) + notebook.lines(said)

    def failures_in_words(self) -> list[str]:
        """Returns a line for each model that has failed."""
        return [f"{name} failed: {why}" for name, why in self.failures.items()]

    def _known(self, metric: str | None) -> str:
        """The name of a metric; raises InvalidInputError if the comparison has none of that name."""
        if metric is None:
            return self.metrics[0]
        if metric not in self.scores:
            raise InvalidInputError(f"metric must be one of {', '.join(self.metrics)}, got {metric!r}")
        return metric


def _ends(metric: str, difference: PairedDifference) -> tuple[float, float, float]:
    """A difference and the ends of its interval, as the metric is shown."""
    mean, low, high = (float(shown_score(metric, own)) for own in difference)
    return mean, min(low, high), max(low, high)


def _shown(metric: str, score: float) -> str:
    return score_in_words(float(shown_score(metric, score)))


def _cell(name: str, value: Any, *, is_best: bool) -> str:
    """A cell in words; the best model has no difference from itself, and one that failed no numbers."""
    if isinstance(value, str):
        return value
    if value is None or not np.isfinite(value):
        return "-"
    if is_best and name in ("from best", "low", "high"):
        return ""
    if name == "rank":
        return str(value)
    if name == "mean rank":
        return f"{value:.1f}"
    if name.endswith("seconds"):
        return decimal_near(value, least_digits=FEW_DIGITS)
    return score_in_words(value)


def _listed(names: Sequence[str]) -> str:
    """Names in words.

    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
