"""Bands of boosted trees: of predictions, importances, dependence and survival curves.

A *draw* is the model that a fit would have been on other rows: each row is drawn as often as a distribution of Poisson
says whose mean is the row's weight (the bootstrap; Efron, *Bootstrap methods*, Annals of Statistics 7, 1979), and as
many rounds are boosted on them. All draws are members of one program.

Draws show noise, and no bias: boosting that ends early has not learned all that rows tell, and neither have they. So a
band has the distance of the mean of draws from a model that goes on: the *truth* has twice the rounds of the model, and
twice those after which the loss of held-out rows is least, if these are more. Rounds that are made on residuals once
more are Tukey's twicing (*Exploratory data analysis*, 1977), which takes back the bias of the first ones.
"""

import copy
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.arrays import spread
from jaxtree.boosting.batch import BoostedMember, Member
from jaxtree.boosting.data import BoostData
from jaxtree.boosting.ending import NO_PATIENCE
from jaxtree.boosting.folds import mean_of_models
from jaxtree.boosting.many import OnRoundsOfMany, boost_members
from jaxtree.errors import InvalidInputError, TrainingError, present
from jaxtree.estimators.boosting.folds import check_rows_of_weight, grown_weight, own_rows, seed_of
from jaxtree.estimators.boosting.parameters import BoostingConfig
from jaxtree.estimators.boosting.rows import weight_of
from jaxtree.estimators.boosting.scored_bands import ScoredBands
from jaxtree.estimators.boosting.survival import is_of_times, learn_times
from jaxtree.estimators.boosting.training import BoostingRows, BoostingTask, Rounds, encode, forest_in_table_units
from jaxtree.estimators.common.conventions import progress_of
from jaxtree.estimators.common.drawn_bands import ColumnBands, ImportanceWords, RowsOfFit
from jaxtree.estimators.common.fold_rows import Fold, divide
from jaxtree.figures.bands import Band, BandWidths, widths_of
from jaxtree.figures.dependence import MOST_ROWS
from jaxtree.table.redraws import RedrawnRows
from jaxtree.table.sources import is_source

NUM_FOLDS = 5
"""Models that are each judged by rows that they have not seen, to find after how many rounds their loss is least."""

MOST_TIMES = 8
"""How many times the rounds of the model these have at most."""

NUM_KNOWN = 100
"""The rows that those of the fit count as, beside the given ones, where the bias of predictions is known from both."""

MOST_TRIES = 100
"""How often a draw is made again that lacks what the loss must have, such as a row of each class."""


class _Part(NamedTuple):
    """One of the models whose mean a fit is: the weights of its rows, its rounds, and its seed."""

    weight: Float64[np.ndarray, " row"]
    num_rounds: int
    seed: int


class BoostedDraws(NamedTuple):
    """The draws of a fit.

    Attributes:
        truth: The model that goes on from the fit.
        models: The models of the draws.
        best_rounds: The rounds after which the loss of held-out rows is least; None of a model that has stopped early
            itself.
    """

    truth: Any
    models: list[Any]
    best_rounds: int | None


class BoostedBands(ColumnBands, ScoredBands):
    """Bands of boosted trees, from models of rows that are drawn again.

    The truth lies in the band of a prediction at a share of `level` of the rows: bands are pointwise, and whole curves
    lie within them less often. They know the noise of rows, and the bias of boosting that ends early as far as a model
    shows it that goes on: `bias` has its size. Where it is much greater than the noise, bands may not hold, and a
    printed object says so. They do not know that columns are missing. Parameters are not chosen anew, and neither are
    the bins of columns and statistics of "ordered" categories.

    See `jaxtree.GradientBoostingRegressor.bands`, which makes them.

    Attributes:
        level: The share of rows whose bands are to hold.
        draws: How many draws they are made of.
        seed: The seed of the draws.
        best_rounds: The rounds after which the loss of held-out rows is least, as five models say that are each made
            without a fifth of the rows, and at most eight times those of the model; None of a model that has stopped
            early itself.
    """

    def __init__(self, estimator: Any, rows: RowsOfFit, drawn: BoostedDraws, level: float):
        super().__init__(estimator, rows, level, len(drawn.models))
        self.best_rounds = drawn.best_rounds
        self._members = [self._estimator, drawn.truth, *drawn.models]

    def predict(self, X: Any) -> Band:
        """Returns the predictions of rows with their bands: numbers, or of classes their probabilities.

        A band is of what is predicted, such as a mean, and not of targets, which lie farther off. The bias is known in
        the mean over the rows that are given together and over those of the fit, which count as a hundred.

        Args:
            X: A table.
        """
        values, known = self._values_of(X), self._rows
        scores = self._scores(np.concatenate([values, known.values]))
        weight = np.append(np.ones(len(values)), NUM_KNOWN * known.weight / known.weight.sum())
        return Band(*(own[: len(values)] for own in self._of_scores(scores, weight)))

    def importances(self) -> Band:
        """Returns `feature_importances_` with its band: the shares of the loss saved, in the order of `column_names`.

        Noise makes shares greater: that of a column that tells nothing is not 0.
        """
        return self._band(np.stack([own.feature_importances_ for own in self._members])).clipped(0, 1)

    def importance_words(self) -> ImportanceWords:
        """Returns the names of the columns, and what their importances are."""
        meaning = "Share of the loss saved that the splits on a column save"
        return ImportanceWords("column", self.column_names, "share of the loss saved", meaning)

    def _scores(self, values: Float64[np.ndarray, "row feature"]) -> Float64[np.ndarray, "member row score"]:
        return np.stack([np.asarray(own.scores_of(values), np.float64) for own in self._members])

    @property
    def _known_times(self) -> Sequence[Any]:
        return [own.survival_ for own in self._members]

    def _has_even_scores(self, num_scores: int) -> bool:
        """Returns whether bands are even on the scale of scores: log odds of rows almost sure have no limit."""
        return num_scores == 1 and not hasattr(self._estimator, "classes_")

    @functools.cached_property
    def _widths(self) -> BandWidths:
        """The half widths of predictions of the rows of the fit, an output a curve."""
        scores, weight = self._scores(self._rows.values), self._rows.weight
        if not self._has_even_scores(scores.shape[2]):
            scores = np.stack([self._predicted(own) for own in scores])
        draws, num_outputs = scores[1:].reshape(self.draws + 1, -1), scores.shape[2]
        curve, weight = np.tile(np.arange(num_outputs), len(weight)), np.repeat(weight, num_outputs)
        return widths_of(draws[1:], draws[0], self.level, curve=curve, weight=weight)

    def _origin(self) -> str:
        said = f"Bands of level {self.level:g} by {self.draws} draws of {self._rows.sample.num_rows:,} rows."
        number = _rounds_of(self._estimator)
        if self.best_rounds is not None and self.best_rounds > number:
            said += f" The loss of held-out rows is least after {self.best_rounds} rounds, and the model has {number}."
        return said


def drawn_anew(estimator: Any, task: BoostingTask, drawn: RedrawnRows, number: int) -> tuple[RowsOfFit, BoostedDraws]:
    """Returns the rows of a fit, and its draws.

    Args:
        estimator: The fitted estimator.
        task: The result of its `read_task` for the rows of the fit.
        drawn: How rows are drawn.
        number: How many draws.

    Raises:
        InvalidInputError: The rows are not those of the fit, or lack what the loss must have in too many draws.
        TrainingError: Derivatives are no numbers at the start of a draw.
    """
    _check_is_of_fit(task.data.schema == estimator.encoder_.schema_ and task.loss.num_scores == estimator.start_.size)
    sample = task.data.sample
    rows = encode(task)
    refits = _RefitMembers(estimator, task, rows, estimator.config(task.data.num_rows, rows.num_bins), drawn)
    table = sample.X.without(estimator.other_columns_) if is_source(sample.X) else sample.X
    some = spread(sample.num_rows, MOST_ROWS)
    values, weight = np.asarray(estimator.encoder_.values(table), np.float64)[some], refits.weight
    parts = _parts_of(estimator, task)
    total = sum(own.num_rounds for own in parts) * (number + 1)
    with progress_of(estimator.verbose, total, "boosting", "rounds") as on_rounds:
        again, best = refits.of_fit(parts, values)
        _check_is_of_fit(np.allclose(again, estimator.scores_of(values), rtol=1e-6, atol=1e-6 * np.std(again)))
        truth, *models = refits.around(parts, best, number, on_rounds)
    kept = sample._replace(X=np.zeros((sample.num_rows, 0)), weight=weight)
    return RowsOfFit(values, weight[some], kept, drawn), BoostedDraws(truth, models, best)


def _check_is_of_fit(is_of_fit: bool) -> None:
    if not is_of_fit:
        raise InvalidInputError(
            "X must be the rows of the fit, with y, weights, further inputs and parameters as they were: boosting them "
            "again makes other trees than those of the model. A model that draws rows or columns needs a random_state "
            "that is a number, and trees that were changed after the fit have no bands"
        )


def _rounds_of(estimator: Any) -> int:
    """The rounds of a model; of a mean of models those of the longest."""
    folds, trees_per_round = estimator.folds_, estimator.trees_per_round_
    return (len(estimator.forest_) if folds is None else int(folds.num_trees.max())) // trees_per_round


def _parts_of(estimator: Any, task: BoostingTask) -> list[_Part]:
    """The models whose mean a fit is; one where it is none."""
    sample, folds = task.data.sample, estimator.folds_
    if folds is None:
        return [_Part(np.asarray(weight_of(sample), np.float64), _rounds_of(estimator), task.seed)]
    _check_is_of_fit(len(task.folds) == len(folds))
    rounds = (folds.num_trees // estimator.trees_per_round_).tolist()
    return [
        _Part(np.asarray(grown_weight(sample, fold), np.float64), rounds[number], seed_of(task.seed, number))
        for number, fold in enumerate(task.folds)
    ]


class _RefitMembers:
    """Boostings of a model anew on its rows.

    Args:
        estimator: The fitted estimator.
        task: The rows and settings that its fit has read.
        rows: The rows in codes.
        config: The parameters of its rounds.
        drawn: How rows are drawn.
    """

    def __init__(
        self, estimator: Any, task: BoostingTask, rows: BoostingRows, config: BoostingConfig, drawn: RedrawnRows
    ):
        self.estimator, self.task, self.rows, self.config, self.drawn = estimator, task, rows, config, drawn
        self.data = rows.for_many(task.loss)._replace(evaluations=())
        # A row of the table has the weight 1, whatever unit the fit counts in.
        self.weight = np.asarray(weight_of(task.data.sample), np.float64) * task.unit

    def of_fit(
        self, parts: Sequence[_Part], values: Float64[np.ndarray, "some feature"]
    ) -> tuple[Float[np.ndarray, "some score"], int | None]:
        """Returns the scores of some rows by the model that is boosted again, and its best number of rounds.

        The number is None where the model has stopped early itself.
        """
        rounds, data = max(own.num_rounds for own in parts), self.data._replace(evaluations=(self.data.rows,))
        members = [self._member(data, own.weight, own.num_rounds, own.seed, own.weight) for own in parts]
        if not self.estimator.early_stopping:
            sample = self.task.data.sample
            for fold in self._folds():
                grown, judged = grown_weight(sample, fold), np.zeros(sample.num_rows)
                judged[fold.held] = weight_of(sample)[fold.held]
                if self._allows(grown):
                    members.append(self._member(data, grown, MOST_TIMES * rounds, self.task.seed, judged, rounds))
        made, own = self._boosted(data, members), slice(len(parts))
        best = [judged.best_round for judged in made[len(parts) :]]
        again = self._model(made[own], members[own])
        return again.scores_of(values), round(np.mean(best)) if best else None

    def _folds(self) -> list[Fold]:
        """Returns folds of the rows, whose groups stay together."""
        sample, groups = self.task.data.sample, self.drawn.groups
        fields = sample.fields if groups is None else {**sample.fields, "group": groups}
        num_units = len(np.unique(fields["group"])) if "group" in fields else sample.num_rows
        blank = sample._replace(X=np.zeros((sample.num_rows, 0)), fields=fields)
        return divide(blank, min(NUM_FOLDS, num_units), self.drawn.seed)

    def around(
        self, parts: Sequence[_Part], best_rounds: int | None, number: int, on_rounds: OnRoundsOfMany | None
    ) -> list[Any]:
        """Returns the truth, and the models of draws."""
        factors = [np.ones(len(self.weight)), *(self._factors(draw) for draw in range(number))]
        members, seed = [], self.drawn.seed
        for place, factor in enumerate(factors):
            for at, part in enumerate(parts):
                rounds = part.num_rounds if place else 2 * max(part.num_rounds, best_rounds or 0)
                own_seed = seed_of(seed_of(seed, place), at) if place else part.seed
                members.append(self._member(self.data, part.weight * factor, rounds, own_seed))
        made = self._boosted(self.data, members, on_rounds)
        models = []
        for place, factor in enumerate(factors):
            own = slice(place * len(parts), (place + 1) * len(parts))
            models.append(self._with_times(self._model(made[own], members[own]), factor))
        return models

    def _factors(self, draw: int) -> Float64[np.ndarray, " row"]:
        """Returns how often every row is drawn, as a part of its weight: of a draw that the loss allows."""
        for again in range(MOST_TRIES):
            factors = self.drawn.factors(draw, self.weight, again)
            if self._allows(factors * self.weight):
                return factors
        raise InvalidInputError(
            f"rows that are drawn with replacement must have what {self.task.loss} needs, such as some of every class, "
            f"and {MOST_TRIES} draws in a row have not: the rows of the fit have too few"
        )

    def _allows(self, weight: Float64[np.ndarray, " row"]) -> bool:
        """Returns whether a model can be made of rows of some weight: all classes are among them."""
        sample = self.task.data.sample
        for labels, size in zip(sample.labels, sample.outputs.num_classes, strict=False):
            if not np.bincount(labels, weight, minlength=size).all():
                return False
        try:
            check_rows_of_weight(self.task, weight)
        except InvalidInputError:
            return False
        return True

    def _member(
        self,
        data: BoostData,
        grown: Float64[np.ndarray, " row"],
        num_rounds: int,
        seed: int,
        judged: Float64[np.ndarray, " row"] | None = None,
        patience: int | None = None,
    ) -> Member:
        shrinkage = self.config.shrinkage._replace(patience=NO_PATIENCE if patience is None else patience)
        own = own_rows(self.task, data, grown, judged)
        return Member(self.config.learner.limits, shrinkage, num_rounds, seed, own=own)

    def _boosted(
        self, data: BoostData, members: Sequence[Member], on_rounds: OnRoundsOfMany | None = None
    ) -> list[BoostedMember]:
        given = {"keeps_trees": True, "on_rounds": on_rounds}
        made = dict(boost_members(data, self.task.loss, self.config.learner, members, **given))
        for number in range(len(members)):
            if made[number].forest is None or not len(made[number].losses):
                raise TrainingError(f"{self.task.loss}: derivatives at the start of a draw are no numbers")
        return [made[number] for number in range(len(members))]

    def _model(self, made: Sequence[BoostedMember], members: Sequence[Member]) -> Any:
        """Returns members as one model, which is their mean."""
        start = np.mean([present(own.own).start for own in members], axis=0)
        trees_per_round, forests = self.estimator.trees_per_round_, [present(own.forest) for own in made]
        joined = forests[0] if len(forests) == 1 else mean_of_models(forests, trees_per_round)[0]
        forest = forest_in_table_units(self.rows.categories, joined)
        model = copy.copy(self.estimator)
        model.set_rounds(Rounds.unmeasured(forest, start, trees_per_round))
        return model

    def _with_times(self, model: Any, factors: Float64[np.ndarray, " row"]) -> Any:
        """Returns a model with what it learns of time from its rows."""
        loss, sample = self.task.loss, self.task.data.sample
        if is_of_times(loss):
            weight = weight_of(sample) * factors
            there = np.flatnonzero(weight > 0)
            rows = sample._replace(weight=weight).take(there)
            model.survival_ = learn_times(loss, rows, model.raw_scores(rows.X))
        return model
