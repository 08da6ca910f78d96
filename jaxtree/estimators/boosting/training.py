"""One fit of a boosted estimator, from rows and codes to the trees of its rounds."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, UInt

from jaxtree import buckets
from jaxtree.boosting.booster import BaseLearner, BoostData, Boosted, Earlier, NewRounds, boost
from jaxtree.boosting.ending import KEPT, NO_NUMBERS, Stop
from jaxtree.boosting.measured import Measured
from jaxtree.boosting.precision import score_type
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.boosting.shrinkage import NO_PATIENCE
from jaxtree.dataset.dataset import Dataset
from jaxtree.dataset.sample import Sample
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, TrainingError
from jaxtree.estimators.boosting.categories import order_categories
from jaxtree.estimators.boosting.metrics import (
    Evaluation,
    Metric,
    Recorder,
    best_and_last,
    name_of,
    staged,
)
from jaxtree.estimators.boosting.rows import scored_rows
from jaxtree.estimators.boosting.together import any_in_all, join_parts
from jaxtree.estimators.common.conventions import progress_of_trees
from jaxtree.estimators.common.growing import features_of, joined_codes, padded_rows, widths_of
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree.forest import Forest, join_forests

ROWS_OF_MANY = 128
"""The rows of many models at once are padded to a multiple: their program is compiled once for many fits."""

OnProgress: TypeAlias = Callable[[int, dict[str, dict[str, list[float]]]], Any]
"""What is called with the number of rounds and what was measured after each; a true result ends a fit."""


class BoostingRun:
    """The rounds of one fit.

    Args:
        model: The estimator, which knows its table and its loss.
        dataset: The rows that trees are grown on.
        held: Those that are measured, by name.
        metrics: What is measured of them beside the loss; the first decides when to stop.
        kept: Trees of earlier rounds, in units of the table.
    """

    def __init__(
        self,
        model: Any,
        dataset: Dataset,
        held: dict[str, Sample],
        metrics: Sequence[Metric],
        kept: Forest | None,
    ):
        if metrics and model.drop_rate > 0:
            raise InvalidInputError("eval_metric is for drop_rate=0: later rounds change the trees that are measured")
        self.dataset = dataset
        self._model, self._metrics, self._kept = model, metrics, kept
        self._value_before: float | None = None
        values_of = dataset.encoder.values
        self._evaluations = [
            Evaluation(name, own, values_of(own.X), model.fixed_predictions) for name, own in held.items()
        ]

    def make(self, callbacks: Sequence[OnProgress], mesh: Mesh | None) -> None:
        """Makes the rounds, on the devices of a mesh if there is one, and gives the model its trees."""
        model, earlier = self._model, len(self._kept or ())
        seed, num_rows = model.seed(), self.dataset.sample.num_rows
        data, is_asked = self.data(seed), any
        if self.dataset.across is not None:
            assert mesh is not None
            data, is_asked = join_parts(data, num_rows, model.loss_, seed, mesh), any_in_all
        assert data.start is not None
        before = [self._scores_before(own.values, data.start) for own in self._evaluations]
        if self._kept is not None and self._metrics and self._evaluations:
            own = self._evaluations[0]
            self._value_before = float(self._metrics[0].of(own, before[0]))
        recorder = Recorder(self._evaluations, name_of(model.loss_), self._metrics, before)
        with progress_of_trees(model.verbose, model.n_estimators - earlier, "boosting", "rounds are done") as on_grown:

            def on_rounds(new: NewRounds) -> bool:
                # Metrics walk the trees; the loss of evaluations is known without them.
                recorder.add(self._in_table_units(new.trees) if self._metrics else None, new.losses)
                if on_grown is not None:
                    on_grown(len(new.trees), recorder.words)
                measured = self._with_earlier(recorder.measured)
                asked = [callback(new.number, measured.as_dict()) for callback in callbacks]
                return is_asked(asked) or self._is_late(recorder.measured)

            shrinkage = model.shrinkage()
            boosted = boost(
                data,
                model.loss_,
                self.base_learner(model, data.num_rows or num_rows),
                shrinkage._replace(patience=NO_PATIENCE) if self._metrics else shrinkage,
                num_rounds=model.n_estimators,
                seed=seed,
                on_rounds=on_rounds,
                mesh=mesh,
            )
        self._settle(boosted, recorder.measured)

    def rows_of(self, name: str) -> Sample:
        """Returns the rows of an evaluation."""
        return next(own.rows for own in self._evaluations if own.name == name)

    def base_learner(self, model: Any, num_rows: int) -> BaseLearner:
        """Returns how a model with the parameters of this fit, or others, grows a tree on so many rows of `data`."""
        return model.base_learner(num_rows, widths_of([self._categories.data]).num_bins)

    def data(self, seed: int) -> BoostData:
        """Returns codes, targets and scores of all rows, padded to buckets."""
        model, dataset = self._model, self.dataset
        codes = joined_codes([dataset])
        rows = scored_rows(dataset.sample, codes)
        start = self._start(rows)
        is_ordered = model.has_statistics(dataset.schema)
        features = model.features_of_growth(dataset.schema, dataset.outputs)
        self._categories = order_categories(dataset, features, is_ordered, model.loss_, start, rows, seed)
        of_growth, widths = self._categories.data, widths_of([self._categories.data])
        if of_growth.codes is not dataset.codes:
            codes = joined_codes([of_growth])
            rows = rows._replace(codes=codes)
        features = features_of(
            of_growth.schema, self._categories.features, widths, len(codes) - of_growth.schema.num_features
        )
        own_codes = [self._codes(own.rows.X) for own in self._evaluations]
        evaluated = [scored_rows(own.rows, codes) for own, codes in zip(self._evaluations, own_codes, strict=True)]
        if self._kept is None:
            return BoostData(rows, features, tuple(evaluated), start)
        tables = [dataset.encoder.values(dataset.sample.X), *(own.values for own in self._evaluations)]
        first = start.astype(score_type(rows, codes.shape[1]))
        scores = [
            padded_rows(self._scores_before(values, first).T, codes.shape[1])
            for values, codes in zip(tables, (codes, *own_codes), strict=True)
        ]
        earlier = Earlier(len(self._kept), scores[0], tuple(scores[1:]))
        return BoostData(rows, features, tuple(evaluated), start, earlier)

    def data_of_many(self, seed: int) -> BoostData:
        """Returns the same for many models at once, with so few rows of padding that they cost little.

        Precisions stay those of the buckets. The rows of a loss that joins them keep their padding.
        """
        data, num_rows = self.data(seed), self.dataset.sample.num_rows
        if self._model.loss_.joins_rows:
            return data
        pairs = zip(data.evaluations, self._evaluations, strict=True)
        evaluations = [_with_little_padding(rows, len(own.values)) for rows, own in pairs]
        rows = _with_little_padding(data.rows, num_rows)
        return data._replace(rows=rows, evaluations=tuple(evaluations), num_rows=num_rows)

    def _start(self, rows: ScoredRows) -> Float[np.ndarray, " score"]:
        """Returns the scores before the first tree, rounded as all scores are."""
        if self._kept is not None:
            return self._model.start_
        start = self._model.loss_.start(rows.target, rows.weight, rows.extras)
        return start.astype(score_type(rows, len(rows.weight))).astype(np.float64)

    def _codes(self, X: Any) -> UInt[np.ndarray, "feature row"]:
        """Returns the codes of other rows as growth has them, padded to buckets."""
        return buckets.pad_codes(self._categories.codes(self.dataset.encoder.transform(X)))

    def _scores_before(
        self, values: Float[np.ndarray, "row feature"], start: Float[np.ndarray, " score"]
    ) -> Float[np.ndarray, "row score"]:
        """Returns the scores of rows after the earlier rounds, summed in the type of the start."""
        scores = np.tile(start, (len(values), 1))
        return scores if self._kept is None else list(staged(self._kept, scores, values))[-1]

    def _in_table_units(self, trees: Forest) -> Forest:
        return Forest(self._categories.in_table_units(trees.nodes), trees.first_node)

    def _is_late(self, measured: Measured) -> bool:
        """Returns whether the metric that decides has long not been better."""
        return bool(self._model.early_stopping and self._metrics) and self._decision(measured)[1] < len(measured.values)

    def _decision(self, measured: Measured) -> tuple[int, int]:
        """Returns the rounds of the best value of the metric that decides, and those at which it stops."""
        sign = -1 if self._metrics[0].is_better_if_greater else 1
        before = np.inf if self._value_before is None else sign * self._value_before
        return best_and_last(sign * measured.values[:, 1], self._model.n_iter_no_change, self._model.tol, before)

    def _with_earlier(self, measured: Measured) -> Measured:
        """Returns what was measured in all rounds; NaN where earlier rounds were measured otherwise."""
        if self._kept is None:
            return measured
        old = self._model.measured_
        if old.measures != measured.measures:
            old = Measured(measured.measures, np.full((len(self._kept), len(measured.measures)), np.nan))
        return measured._replace(values=np.concatenate([old.values[: len(self._kept)], measured.values]))

    def _settle(self, boosted: Boosted, measured: Measured) -> None:
        """Gives the model what the rounds have made, with thresholds in units of the table."""
        model, earlier = self._model, len(self._kept or ())
        _warn_if_cut_short(boosted, model.loss_, earlier, model.n_estimators)
        # An interrupt may come between the rounds and what is measured of them.
        number = min(len(boosted.forest), len(measured.values))
        measured = measured.first(number)
        forest = boosted.best if model.early_stopping and not self._metrics else boosted.forest.first(number)
        if model.early_stopping and self._metrics:
            number, last = self._decision(measured)
            forest, measured = forest.first(number), measured.first(last)
        if earlier + len(forest) == 0:
            raise TrainingError(f"{model.loss_}: what decides when to stop is no number after any round")
        new = self._in_table_units(forest)
        forest = new if self._kept is None else join_forests([self._kept, new])
        model.take_trees(forest, boosted.start, self._with_earlier(measured))


def _with_little_padding(rows: ScoredRows, number: int) -> ScoredRows:
    """So many rows, and up to a multiple of `ROWS_OF_MANY` of those behind them."""
    end = -(-number // ROWS_OF_MANY) * ROWS_OF_MANY
    extras = {name: values[:end] for name, values in rows.extras.items()}
    return ScoredRows(rows.codes[:, :end], rows.target[:end], rows.weight[:end], extras)


def _warn_if_cut_short(boosted: Boosted, loss: BaseLoss, earlier: int, wanted: int) -> None:
    """Warns when boosting ended early for a reason that the user did not set."""
    number = earlier + len(boosted.forest)
    if boosted.stop == Stop.NOT_FINITE:
        text = f"{loss}: derivatives after round {number} are {NO_NUMBERS}{KEPT}"
    elif boosted.stop == Stop.INTERRUPTED:
        text = f"fit was interrupted: the model has been made in {number} of {wanted} rounds"
    else:
        return
    warnings.warn(text, InterruptedFitWarning, stacklevel=5)
