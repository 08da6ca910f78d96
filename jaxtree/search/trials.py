"""The store of a search: its settings, their fits on the folds, and what follows from these.

A *trial* is a setting with a fit on every fold. All strategies fill the same store, batch by batch.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Bool, Float, Num

from jaxtree.boosting.batch import Checkpoint
from jaxtree.boosting.ending import Deadline
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import configured
from jaxtree.figures.searches import Scale, ScoredSettings
from jaxtree.search.evaluation import Fitted, Parameters, Search
from jaxtree.search.out_of_fold import scores_of_folds
from jaxtree.search.results import parameter_importances

NUM_REPEATS = 20
"""Shuffles of a parameter, by which its importance is measured."""


class TrialBatch(NamedTuple):
    """Trials that are fitted at once on all folds.

    Attributes:
        numbers: Their numbers in the store.
        rung: The number of the batch among those of the same trials.
        until: The number of rounds after which models pause; None for never.
        paused: The models that go on, by trial and fold, from a state or, if it is None, from their beginning; None
            where all begin.
        deadline: When all is to be done. The folds share the time; models that share a program end with the rounds
            that they have, and those that have not begun by then are left out.
    """

    numbers: Sequence[int]
    rung: int = 0
    until: int | None = None
    paused: Mapping[tuple[int, int], Checkpoint | None] | None = None
    deadline: Deadline | None = None

    def models(self, num_folds: int) -> list[tuple[int, int]]:
        """Returns the models that make rounds, by trial and fold."""
        every = itertools.product(self.numbers, range(num_folds))
        return [*every] if self.paused is None else [own for own in every if own in self.paused]


@dataclasses.dataclass
class Trial:
    """A setting, and its fits on the folds.

    Attributes:
        parameters: The parameters.
        estimator: The estimator with these.
        most_rounds: The most rounds of its models; 1 of models that are not counted by rounds.
        newest: The fit on every fold in the present batch, or from an earlier one; None where there is none yet.
        fits: The fits after the last batch in which all were there; empty before.
        rung: The number of that batch.
        num_rounds: The rounds that the models may have made by then.
        seconds: When that batch was finished, since the search began.
        predicted: The out-of-fold predictions of these fits.
        scores: The scores of these predictions on every fold, greater if better.
    """

    parameters: Parameters
    estimator: Any
    most_rounds: int
    newest: list[Fitted | None]
    fits: list[Fitted] = dataclasses.field(default_factory=list)
    rung: int = 0
    num_rounds: int = 0
    seconds: float = 0.0
    predicted: Any = None
    scores: Any = None

    def settle(self, batch: TrialBatch) -> None:
        """Takes the newest fits, if there is one of every fold."""
        if None not in self.newest:
            most, self.fits, self.rung = self.most_rounds, cast(list[Fitted], [*self.newest]), batch.rung
            self.num_rounds = min(batch.until or most, most)


class Trials:
    """The settings that a search tries, in the order in which they were begun, and their fits on the folds.

    Args:
        num_folds: The number of folds.
        scales: The scales on which the space draws parameters, of those that it says.

    Attributes:
        num_folds: The number of folds that all trials have; fewer than all after an interrupt.
        most_rounds: The most rounds of any setting.
    """

    def __init__(self, num_folds: int, scales: Mapping[str, Scale] | None = None):
        self.num_folds, self.most_rounds = num_folds, 1
        self._scales = scales or {}
        self._all: list[Trial] = []

    def __len__(self) -> int:
        """The number of trials."""
        return len(self._all)

    def __getitem__(self, number: int) -> Trial:
        """The trial of a number."""
        return self._all[number]

    def add(self, search: Search, parameters: Sequence[Parameters]) -> list[int]:
        """Adds settings of a search, and returns their numbers.

        Raises:
            InvalidInputError: A name is none of a parameter.
        """
        first = len(self._all)
        for own in parameters:
            estimator = configured(search.estimator, own)
            most = estimator.most_rounds if search.makes_rounds else 1
            self._all.append(Trial(own, estimator, most, [None] * self.num_folds))
            self.most_rounds = max(self.most_rounds, most)
        return [*range(first, len(self._all))]

    def begin(self, batch: TrialBatch) -> list[tuple[int, int]]:
        """Begins a batch: its fits are the newest ones of its trials; returns its models, by trial and fold."""
        models = batch.models(self.num_folds)
        for number, fold in models:
            self._all[number].newest[fold] = None
        for number in batch.numbers:
            self._all[number].settle(batch)  # of a trial whose models have all ended before
        return models

    def keep(self, batch: TrialBatch, number: int, fold: int, fitted: Fitted) -> None:
        """Takes a fit of a batch."""
        self._all[number].newest[fold] = fitted
        self._all[number].settle(batch)

    def leave_out_unfinished(self) -> None:
        """Leaves out trials that lack the fit of a fold."""
        self._all = [trial for trial in self._all if trial.fits]

    def leave_out_incomparable(self) -> None:
        """Leaves out trials, and last folds, so that as many fits as can be are of the same folds.

        None is left out unless there was an interrupt.
        """
        num_folds = self.num_folds
        finished = [num_folds if own.fits else (*own.newest, None).index(None) for own in self._all]
        # More folds count where there are as many fits.
        self.num_folds = max(
            range(1, num_folds + 1), key=lambda number: (number * sum(own >= number for own in finished), number)
        )
        self._all = [own for own, number in zip(self._all, finished, strict=True) if number >= self.num_folds]
        for trial in self._all:
            trial.fits = [own for own in (trial.fits or trial.newest)[: self.num_folds] if own is not None]

    def predict(self, search: Search) -> None:
        """Finds the out-of-fold predictions of trials that have none: means over the folds that test a row.

        They are NaN for rows that no fold tests. With a yardstick they are scored.
        """
        new = [trial for trial in self._all if trial.predicted is None]
        y, classes, splits = np.asarray(search.y), search.classes, search.splits[: self.num_folds]
        if classes is None:
            known = [own.predicted.shape[1] for trial in new for own in trial.fits if own.predicted is not None]
            columns = [np.arange(max(known, default=1))] * len(splits)
        else:
            # Classes that the training part of a fold does not have get no probability.
            columns = [np.searchsorted(classes, np.unique(y[train])) for train, _ in splits]
        for trial in new:
            total = np.zeros((len(y), len(columns[0]) if classes is None else len(classes)))
            number = np.zeros((len(y), 1))
            for own, (_, test), of_fold in zip(trial.fits, splits, columns, strict=True):
                if own.predicted is not None:
                    total[np.ix_(test, of_fold)] += own.predicted
                    number[test] += 1
            trial.predicted = np.where(number > 0, total / np.maximum(number, 1), np.nan)
            trial.fits, trial.newest = [own._replace(predicted=None, error=None) for own in trial.fits], []
            if search.yardstick is not None:
                tests = [np.asarray(test) for _, test in splits]
                trial.scores = scores_of_folds(search.yardstick, trial.predicted[None], tests)[0]

    def each(self, name: str) -> list[Any]:
        """Returns an attribute of every `Trial`."""
        return [getattr(trial, name) for trial in self._all]

    def of_fits(self, name: str) -> list[list[Any]]:
        """Returns an attribute of every `Fitted`, by trial and fold."""
        return [[getattr(own, name) for own in trial.fits] for trial in self._all]

    @property
    def settings(self) -> list[Parameters]:
        """The parameters of every trial."""
        return self.each("parameters")

    @property
    def predicted(self) -> Float[np.ndarray, "trial row column"]:
        """The out-of-fold predictions."""
        return np.array(self.each("predicted"))

    @property
    def scores(self) -> Float[np.ndarray, "trial fold"]:
        """The scores of a tuning on every fold, greater if better."""
        return np.array(self.each("scores"))

    @property
    def curves(self) -> list[list[Float[np.ndarray, " round"]]]:
        """The losses of every trial on the test rows after each round, an array a fold."""
        return self.of_fits("curve")

    @property
    def num_rounds(self) -> Num[np.ndarray, "trial fold"]:
        """The number of rounds of every model."""
        return np.array(self.of_fits("num_rounds"))

    @property
    def fit_seconds(self) -> Float[np.ndarray, "trial fold"]:
        """How long every fit took, as long as it was not among others that share its program."""
        return np.array([[own["fit_time"] for own in row] for row in self.of_fits("result")])

    @property
    def seconds(self) -> Float[np.ndarray, " trial"]:
        """When each was finished, since the search began."""
        return np.array(self.each("seconds"))

    @property
    def was_cut(self) -> Bool[np.ndarray, " trial"]:
        """Whether time did not suffice for all rounds of a trial on some fold."""
        return np.any(self.of_fits("was_cut"), axis=1)

    def scored(self, scores: Float[np.ndarray, "trial fold"], measure: str, *, is_loss: bool) -> ScoredSettings:
        """Returns the settings with their scores, as tables and charts show them.

        Args:
            scores: The scores, greater if better; NaN where a fit failed.
            measure: The name of what is measured, of a loss without its sign.
            is_loss: Whether less of the measure is better.
        """
        rounds = self.num_rounds.mean(axis=1)
        has_curves = any(len(curve) for folds in self.curves for curve in folds)
        return ScoredSettings(
            self.settings,
            scores,
            measure,
            is_loss,
            self._scales,
            self.fit_seconds.sum(axis=1),
            rounds if np.isfinite(rounds).any() else None,
            self.curves if has_curves else None,
            None,
            None,
            np.array(self.each("rung"), np.int64),
        )

    def parameter_importances(self) -> list[tuple[str, float]]:
        """Returns parameters by how much they count, the greatest first; none where there are too few settings."""
        means = self.scores.mean(axis=1)
        results = {"params": self.settings, "mean_test_score": np.where(np.isfinite(means), means, np.nan)}
        try:
            return parameter_importances(results, "score", n_repeats=NUM_REPEATS, random_state=0).ranked()
        except InvalidInputError:
            return []
