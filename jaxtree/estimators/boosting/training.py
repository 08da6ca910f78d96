"""The training of a boosted model: from the rows of a fit to the trees of its rounds, as functions of data."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Float64

from jaxtree import buckets
from jaxtree.arrays import AnyArray
from jaxtree.boosting.booster import NewRounds, boost_checked
from jaxtree.boosting.data import BoostData, InitialScores, check_evaluations, score_type
from jaxtree.boosting.ending import KEPT, NO_NUMBERS, NO_PATIENCE, Measured, Stop
from jaxtree.boosting.folds import HELD
from jaxtree.boosting.round_tree import ScoredRows, diagonal_of, row_derivatives
from jaxtree.compilation import compiled, options_of_small_programs
from jaxtree.dataset.dataset import Dataset
from jaxtree.dataset.exchange import SharedExchange
from jaxtree.dataset.sample import Sample
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, TrainingError, present, warn_user
from jaxtree.estimators.boosting.metrics import Evaluation, Metric, Predict, Recorder, staged
from jaxtree.estimators.boosting.parameters import BoostingConfig
from jaxtree.estimators.boosting.rows import scored_rows
from jaxtree.estimators.boosting.shared import common_start, on_mesh
from jaxtree.estimators.common.conventions import progress_of
from jaxtree.estimators.common.features import FeatureOptions, features_of, widths_of
from jaxtree.estimators.common.fold_rows import Fold
from jaxtree.estimators.common.growing import decode_thresholds, padded_rows
from jaxtree.estimators.common.ordered_categories import Derivatives, OrderedCategories, order_categories
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree.forest import Forest, join_forests

ROWS_OF_MANY = 128
"""The rows of many models at once are padded to a multiple: their program is compiled once for many fits."""

UNWANTED = (Stop.NOT_FINITE, Stop.INTERRUPTED)
"""The ends of a boosting that the user did not set."""

OnProgress: TypeAlias = Callable[[int, dict[str, dict[str, list[float]]]], Any]
"""The callback with the number of rounds and the measures after each; a true result ends a fit."""


class Rounds(NamedTuple):
    """The rounds of a boosted model.

    Attributes:
        forest: The trees of all rounds, with thresholds in units of the table.
        start: The scores before the first tree.
        measured: The measures after each round.
        trees_per_round: How many of the trees a round has: one, or one for every score.
        stop: Why their training ended.
        num_made: After how many rounds.
    """

    forest: Forest
    start: Float64[np.ndarray, " score"]
    measured: Measured
    trees_per_round: int
    stop: Stop = Stop.ALL_ROUNDS
    num_made: int = 0

    @classmethod
    def unmeasured(cls, forest: Forest, start: Float64[np.ndarray, " score"], trees_per_round: int) -> "Rounds":
        """Rounds after which nothing was measured."""
        number = len(forest) // trees_per_round
        return cls(forest, start, Measured((), np.zeros((number, 0))), trees_per_round)

    @property
    def number(self) -> int:
        """The number of rounds."""
        return len(self.forest) // self.trees_per_round

    def first(self, number: int) -> "Rounds":
        """The first rounds."""
        forest, measured = self.forest.first(number * self.trees_per_round), self.measured.first(number)
        return self._replace(forest=forest, measured=measured)


class MeasuredRows(NamedTuple):
    """Rows that are measured after every round, in this order; the first of the fold or the tables decide when to stop.

    Attributes:
        fold: The rows of a fold, without which its model is grown; None if the model is of no fold.
        tables: The rows that the user gives, or that are held out, by name.
        test: The rows that a search scores on, which decide nothing; None if there are none.
    """

    fold: Sample | None
    tables: dict[str, Sample]
    test: Sample | None

    @property
    def by_name(self) -> dict[str, Sample]:
        """All of them by the names of what is measured."""
        fold = {} if self.fold is None else {HELD: self.fold}
        return fold | self.tables | ({} if self.test is None else {"test": self.test})


class BoostingTask(NamedTuple):
    """The rows and settings that a fit has read.

    Attributes:
        data: The rows that trees are grown on.
        loss: The loss, which allows them.
        held: The rows that are measured.
        metrics: The measures of them besides the loss; the first decides when to stop.
        predict: The function that predicts from scores and an offset.
        features: How trees may split the features of the table.
        is_ordered: The features that give way to statistics, see `jaxtree.estimators.common.ordered_categories`.
        seed: The seed of what is drawn.
        earlier: Rounds that a warm start goes on from.
        folds: The rows of each of several models, which are then averaged; none for one model.
        earlier_of_folds: The rounds that a warm start of each goes on from.
        seed_held_out: The seed of the choice of the rows that are held out of the table, if any are.
        unit: The weight that counts as one row, by which those of the rows are divided.
    """

    data: Dataset
    loss: BaseLoss
    held: MeasuredRows
    metrics: Sequence[Metric]
    predict: Predict
    features: FeatureOptions
    is_ordered: Bool[np.ndarray, " feature"]
    seed: int
    earlier: Rounds | None = None
    folds: Sequence[Fold] = ()
    earlier_of_folds: Sequence[Rounds] = ()
    seed_held_out: int = 0
    unit: float = 1.0

    @property
    def num_earlier(self) -> int:
        """The number of earlier rounds, of folds the fewest of a model."""
        if self.earlier_of_folds:
            return min(own.number for own in self.earlier_of_folds)
        return 0 if self.earlier is None else self.earlier.number


class BoostingRows(NamedTuple):
    """The rows of a fit in the codes that growth sees.

    Attributes:
        data: The rows that the rounds take, padded.
        categories: How their codes are those of the table.
        evaluations: The rows that are measured, as metrics take them.
        num_bins: The number of bins of all features.
    """

    data: BoostData
    categories: OrderedCategories
    evaluations: list[Evaluation]
    num_bins: int

    def for_many(self, loss: BaseLoss) -> BoostData:
        """Returns the rows for many models at once, with so few rows of padding that they cost little.

        Precisions stay those of the buckets. The rows of a loss that joins them keep their padding.
        """
        if loss.joins_rows:
            return self.data
        data, num_rows = self.data, self.categories.data.sample.num_rows
        pairs = zip(data.evaluations, self.evaluations, strict=True)
        evaluations = tuple(_with_little_padding(rows, own.rows.num_rows) for rows, own in pairs)
        return data._replace(rows=_with_little_padding(data.rows, num_rows), evaluations=evaluations, num_rows=num_rows)


def encode(task: BoostingTask) -> BoostingRows:
    """Returns codes, targets and scores of all rows, padded to buckets."""
    data, loss, encoder = task.data, task.loss, task.data.encoder
    rows = scored_rows(data.sample, np.zeros((0, buckets.row_bucket(data.sample.num_rows)), np.uint8))
    precision = score_type(rows, len(rows.weight))
    if task.earlier is not None:
        start = task.earlier.start
    elif isinstance(data.exchange, SharedExchange):
        start, precision = common_start(rows, data.sample.num_rows, loss, data.exchange)
    else:
        start = loss.start(rows.target, rows.weight, rows.extras).astype(precision).astype(np.float64)
    derivatives = partial(_derivatives_at_start, data, loss, start, rows)
    categories = order_categories(data, task.features, task.is_ordered, derivatives, task.seed)
    grown_on = categories.data
    widths = widths_of([grown_on.schema])
    codes = buckets.pad_codes(grown_on.codes)
    padding = len(codes) - grown_on.schema.num_features
    named = task.held.by_name.items()
    evaluations = [Evaluation(name, own, encoder.values(own.X), task.predict) for name, own in named]
    measured_on = [
        scored_rows(own.rows, buckets.pad_codes(categories.codes(encoder.transform(own.rows.X)))) for own in evaluations
    ]
    rows = rows._replace(codes=codes)
    if measured_on:
        check_evaluations(measured_on, rows)
    all_rows = BoostData(
        rows,
        features_of(grown_on.schema, categories.features, widths, padding),
        tuple(measured_on),
        start,
        precision=precision,
    )
    if task.earlier is not None:
        values, first = encoder.values(data.sample.X), start.astype(precision)
        tables = zip((values, *(own.values for own in evaluations)), (all_rows.rows, *measured_on), strict=True)
        scores = [padded_rows(_scores_before(task.earlier, values, first).T, len(own.weight)) for values, own in tables]
        all_rows = all_rows._replace(earlier=InitialScores(task.num_earlier, scores[0], tuple(scores[1:])))
    return BoostingRows(all_rows, categories, evaluations, widths.num_bins)


def train(
    task: BoostingTask,
    rows: BoostingRows,
    config: BoostingConfig,
    callbacks: Sequence[OnProgress] = (),
    mesh: Mesh | None = None,
) -> Rounds:
    """Makes the rounds of a fit.

    Args:
        task: The rows and settings that the fit has read.
        rows: Its rows.
        config: The parameters of the rounds.
        callbacks: Called now and then; a true result ends the rounds.
        mesh: Devices to divide the rows among.

    Returns:
        The earlier rounds, and those that were made and are kept.

    Raises:
        KeyboardInterrupt: An interrupt came before the first rounds were made; later ones end them.
        TrainingError: The first derivatives are no numbers, or what decides when to stop never is one.
    """
    data, metrics, exchange = rows.data, task.metrics, task.data.exchange
    if metrics and config.shrinkage.dropping is not None:
        raise InvalidInputError("eval_metric is for drop_rate=0: later rounds change the trees that are measured")
    if isinstance(exchange, SharedExchange):
        data = on_mesh(data, task.data, task.seed, exchange)
    start = present(data.start)
    before = [_scores_before(task.earlier, own.values, start) for own in rows.evaluations]
    earlier = None if task.earlier is None else task.earlier.measured.first(task.num_earlier)
    trees_per_round = config.learner.trees_per_round(task.loss)
    recorder = Recorder(rows.evaluations, task.loss, metrics, before, earlier, trees_per_round)
    stops_by_metric = config.early_stopping and bool(metrics)
    shrinkage, stopping = config.shrinkage, config.shrinkage.stopping
    total = config.num_rounds - task.num_earlier if config.is_end_known else None
    with progress_of(config.verbose, total, "boosting", "rounds") as on_grown:

        def on_rounds(new: NewRounds) -> bool:
            # Metrics walk the trees; the loss of evaluations is known without them.
            recorder.add(forest_in_table_units(rows.categories, new.trees) if metrics else None, new.losses)
            if on_grown is not None:
                for words in recorder.words_of_newest():
                    on_grown(1, words)
            asked = [callback(new.number, recorder.measured().as_dict()) for callback in callbacks]
            is_late = stops_by_metric and recorder.best_and_last(stopping)[1] < recorder.num_rounds
            return exchange.any(asked) or is_late

        boosted = boost_checked(
            data,
            task.loss,
            config.learner,
            shrinkage._replace(patience=NO_PATIENCE) if metrics else shrinkage,
            num_rounds=config.num_rounds,
            seed=task.seed,
            on_rounds=on_rounds,
            mesh=mesh,
        )
    if not recorder.num_rounds:  # the interrupt came before anything was measured
        raise KeyboardInterrupt
    # An interrupt may come between the rounds and what is measured of them.
    number = num_measured = min(len(boosted.losses), recorder.num_rounds)
    if stops_by_metric:
        number, num_measured = recorder.best_and_last(stopping)
    if metrics:
        forest = join_forests(recorder.trees).first(number * trees_per_round)
    else:
        kept = boosted.best if config.early_stopping else boosted.forest.first(number * trees_per_round)
        forest = forest_in_table_units(rows.categories, kept)
    if task.num_earlier + len(forest) == 0:
        raise TrainingError(f"{task.loss}: what decides when to stop is no number after any round")
    if task.earlier is not None:
        forest = join_forests([task.earlier.forest, forest])
    num_made = task.num_earlier + len(boosted.losses)
    measured = recorder.measured(num_measured)
    return Rounds(forest, boosted.start, measured, trees_per_round, boosted.stop, num_made)


def _scores_before(
    earlier: Rounds | None, values: Float[np.ndarray, "row feature"], start: Float[np.ndarray, " score"]
) -> Float[np.ndarray, "row score"]:
    """Returns the scores of rows after earlier rounds, summed in the type of the start."""
    scores = np.tile(start, (len(values), 1))
    return scores if earlier is None else list(staged(earlier.forest, scores, values))[-1]


def _with_little_padding(rows: ScoredRows, number: int) -> ScoredRows:
    """So many rows, and up to a multiple of `ROWS_OF_MANY` of those behind them."""
    end = -(-number // ROWS_OF_MANY) * ROWS_OF_MANY
    extras = {name: values[:end] for name, values in rows.extras.items()}
    return ScoredRows(rows.codes[:, :end], rows.target[:end], rows.weight[:end], extras)


def warn_of_few_rows(num_rows: int, config: BoostingConfig) -> None:
    """Warns of rows too few for a split."""
    least = config.learner.limits.min_samples_leaf
    if num_rows < 2 * least:
        warn_user(
            "no tree has a split, and predictions are the same for all rows: the fit has "
            f"{num_rows} rows, and each branch must have min_samples_leaf={least} of them"
        )


def warn_of_end(loss: BaseLoss, trained: Rounds, config: BoostingConfig) -> None:
    """Warns that boosting ended early for a reason that the user did not set."""
    if trained.stop == Stop.NOT_FINITE:
        text = f"{loss}: derivatives after round {trained.num_made} are {NO_NUMBERS}{KEPT}"
    else:
        of_all = f" of {config.num_rounds}" if config.is_end_known else ""
        text = f"fit was interrupted: the model has been made in {trained.num_made}{of_all} rounds"
    warn_user(text, InterruptedFitWarning)


def _derivatives_at_start(
    data: Dataset, loss: BaseLoss, start: Float[np.ndarray, " score"], rows: ScoredRows
) -> Iterator[Derivatives]:
    """The derivatives of every score at the start, of the rows of all processes.

    Args:
        data: The rows of the fit.
        loss: The loss.
        start: The scores before the first tree.
        rows: The target and weights of the rows, with padding behind them, without codes.
    """
    with jax.enable_x64(True):
        parts = [np.asarray(part, np.float64) for part in _at_start(start, rows, loss=loss)]
    parts = [data.exchange.join(part[:, : data.sample.num_rows]) for part in parts]
    yield from zip(*parts, strict=True)


def forest_in_table_units(ordered: OrderedCategories, trees: Forest) -> Forest:
    """Returns grown trees with thresholds in units of the table, and with subsets in place of statistics."""
    return Forest(ordered.in_categories(decode_thresholds(trees.nodes, ordered.data.schema)), trees.first_node)


@compiled("loss", what=lambda *_, loss: f"the derivatives of {loss}", options=options_of_small_programs)
def _at_start(
    start: Float[AnyArray, " score"], rows: ScoredRows, *, loss: BaseLoss
) -> tuple[Float[Array, "score row"], Float[Array, "score row"]]:
    """The derivatives of all rows, of whole Hessians the diagonal; codes are not looked at."""
    scores = jnp.broadcast_to(jnp.asarray(start)[:, None], (len(start), len(rows.weight)))
    gradient, hessian = row_derivatives(loss, scores, rows)
    return gradient, diagonal_of(hessian)
