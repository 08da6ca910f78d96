"""Early stopping by folds: models that have each been grown without a fold, which judges them, and their mean.

No row is lost to a validation part: each is learned from by all models but those that hold it out. The models share
bins, which know no targets, so that one program makes them all.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float

from jaxtree.boosting.batch import Bounds, Member
from jaxtree.boosting.data import BoostData
from jaxtree.boosting.early_stopping import Measure, Measured
from jaxtree.boosting.ending import KEPT, NO_NUMBERS, Stop
from jaxtree.boosting.folds import HELD, Folds, mean_of_models, measures_of_folds
from jaxtree.boosting.many import boost_members
from jaxtree.boosting.many_rounds import OwnRows
from jaxtree.dataset.sample import Sample
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, TrainingError, present, warn_user
from jaxtree.estimators.boosting.categories import forest_in_table_units
from jaxtree.estimators.boosting.fold_rows import Fold, Rows
from jaxtree.estimators.boosting.metrics import measures_of, staged
from jaxtree.estimators.boosting.parameters import BoostingConfig
from jaxtree.estimators.boosting.responses import scores_by_loss
from jaxtree.estimators.boosting.rows import target_in_words, target_of, weight_of
from jaxtree.estimators.boosting.training import BoostingRows, BoostingTask, Rounds, encode, train
from jaxtree.estimators.common.conventions import progress_of
from jaxtree.table.source_rows import rows_of_source
from jaxtree.table.sources import is_source, open_source
from jaxtree.tree.forest import Forest


class FoldModel(NamedTuple):
    """The model that was grown without a fold.

    Attributes:
        forest: Its trees, with thresholds in units of the table; None if there is no round.
        start: Its scores before the first tree.
        losses: The mean loss of the fold and of every evaluation after each round.
        scores: What it says of the rows of the fold.
        stop: Why it ended.
    """

    forest: Forest | None
    start: Float[np.ndarray, " score"]
    losses: Float[np.ndarray, "round measure"]
    scores: Float[np.ndarray, "held score"]
    stop: Stop


def train_folds(
    task: BoostingTask, rows: BoostingRows, config: BoostingConfig, mesh: Mesh | None = None
) -> tuple[Rounds, Folds]:
    """Makes a model without every fold, and returns their mean.

    Args:
        task: What the fit has read.
        rows: Its rows.
        config: The parameters of the rounds.
        mesh: Devices to divide the models among.

    Raises:
        InvalidInputError: The loss does not allow the rows of a model.
        KeyboardInterrupt: An interrupt came before the first model was done; later ones leave those that are.
        TrainingError: Derivatives are no numbers at the start of a model.
    """
    for number in range(len(task.folds)):
        _check_rows(task, number)
    make = _made_one_by_one if _is_alone(task, config) else _made_together
    models: dict[int, FoldModel] = {}
    total = config.num_rounds * len(task.folds) if config.is_end_known else None
    with progress_of(config.verbose, total, "boosting", "rounds") as on_grown:
        try:
            for number, model in make(task, rows, config, mesh, on_grown):
                models[number] = model
        except KeyboardInterrupt:
            if not models:
                raise
            text = f"fit was interrupted: the model is the mean of {len(models)} of {len(task.folds)} folds"
            warn_user(text, InterruptedFitWarning)
    for number, model in sorted(models.items()):
        _check(task, number, model)
    return _joined(task, dict(sorted(models.items())), config.learner.trees_per_round(task.loss))


def _check_rows(task: BoostingTask, number: int) -> None:
    """Raises InvalidInputError if the loss allows all rows, but not those without a fold."""
    sample = task.data.sample
    is_grown_on = _grown_weight(sample, task.folds[number]) > 0
    try:
        task.loss.check_fit(
            target_of(sample)[is_grown_on], {name: values[is_grown_on] for name, values in sample.fields.items()}
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"without fold {number}, {error}") from None


def _is_alone(task: BoostingTask, config: BoostingConfig) -> bool:
    """Whether models have codes or rounds of their own, or are made by what one program does not do."""
    has_own = bool(task.is_ordered.any() or task.earlier_of_folds)
    return has_own or bool(task.metrics) or config.shrinkage.dropping is not None


def _seed_of(task: BoostingTask, fold: int) -> int:
    """The seed of a model: draws of rounds follow from sums of a seed and a round, so that seeds must lie far apart."""
    return int(np.random.SeedSequence((task.seed, fold)).generate_state(1)[0])


def _made_together(
    task: BoostingTask,
    rows: BoostingRows,
    config: BoostingConfig,
    mesh: Mesh | None,
    on_grown: Callable[..., Any] | None,
) -> Any:
    """Makes all models in one program, and yields each with its number when it is done."""
    data = rows.data if task.loss.joins_rows else rows.with_little_padding()
    # The rows of the table are those of the first evaluation, too.
    data = data._replace(evaluations=(data.rows, *data.evaluations))
    members = [
        Member(config.learner.limits, config.shrinkage, config.num_rounds, _seed_of(task, number), own=own)
        for number, own in enumerate(_own_rows(task, data))
    ]
    bounds = Bounds(mesh=mesh)
    made = boost_members(data, task.loss, config.learner, members, keeps_trees=True, bounds=bounds, on_rounds=on_grown)
    trees_per_round = config.learner.trees_per_round(task.loss)
    for number, member in made:
        forest, own = member.forest, present(members[number].own)
        if forest is not None:
            forest = forest_in_table_units(rows.categories, forest.first(member.best_round * trees_per_round))
        scores = member.scores[0][:, task.folds[number].held].T.astype(np.float64)
        yield number, FoldModel(forest, own.start, member.losses, scores, member.stop)


def _own_rows(task: BoostingTask, data: BoostData) -> list[OwnRows]:
    """The weights of every model: of its rows while it grows, and of its fold while it is measured."""
    target, weight = np.asarray(data.rows.target), np.asarray(data.rows.weight)
    beside = data.evaluations[1:]
    own = []
    for fold in task.folds:
        grown, judged = np.zeros_like(weight), np.zeros_like(weight)
        grown[: task.data.sample.num_rows] = _grown_weight(task.data.sample, fold)
        judged[fold.held] = weight[fold.held]
        start = task.loss.start(target, grown, data.rows.extras).astype(data.precision).astype(np.float64)
        targets = (target, target, *(np.asarray(rows.target) for rows in beside))
        own.append(OwnRows(start, targets, (grown, judged, *(np.asarray(rows.weight) for rows in beside))))
    return own


def _made_one_by_one(
    task: BoostingTask,
    rows: BoostingRows,
    config: BoostingConfig,
    mesh: Mesh | None,
    on_grown: Callable[..., Any] | None,
) -> Any:
    """Makes one model after the other, and yields each with its number."""
    for number in range(len(task.folds)):
        own = task_of_fold(task, number)
        encoded = encode(own)
        held, made, stop = encoded.evaluations[0], own.earlier, Stop.ALL_ROUNDS
        if made is None or own.num_earlier < config.num_rounds:
            made, stop, _ = train(own, encoded, config._replace(verbose=0), mesh=mesh)
        if stop == Stop.INTERRUPTED:  # the models that are done are kept, and this one is not
            raise KeyboardInterrupt
        scores = np.tile(made.start.astype(encoded.data.precision), (held.rows.num_rows, 1))
        *_, last = staged(made.forest, scores, held.values, made.trees_per_round)
        if on_grown is not None:
            on_grown(config.num_rounds if config.is_end_known else len(made.measured.values))
        losses = made.measured.by(_measures_of_one(task)).values
        yield number, FoldModel(made.forest, made.start, losses, last.astype(np.float64), stop)


def task_of_fold(task: BoostingTask, number: int) -> BoostingTask:
    """Returns the task of the model of a fold alone: its rows weigh nothing, and are measured first."""
    fold, sample = task.folds[number], task.data.sample
    table = rows_of_source(open_source(sample.X), fold.held) if is_source(sample.X) else None
    held = sample.take(fold.held) if table is None else _blank(sample).take(fold.held)._replace(X=table)
    own = task._replace(
        data=task.data.with_weight(_grown_weight(sample, fold)),
        held={HELD: held, **task.held},
        seed=_seed_of(task, number),
        folds=(),
        earlier_of_folds=(),
    )
    return own._replace(earlier=task.earlier_of_folds[number]) if task.earlier_of_folds else own


def _grown_weight(sample: Sample, fold: Fold) -> Float[np.ndarray, " row"]:
    """The weights of the rows that the model of a fold is grown on, and 0 for all others."""
    weight = weight_of(sample).copy()
    weight[fold.held] = weight[fold.left_out] = 0
    return weight


def _blank(sample: Sample) -> Sample:
    """The same rows without their table, which need not be at hand."""
    return sample._replace(X=np.zeros((sample.num_rows, 0)))


def earlier_models(kept: Folds, forest: Forest, trees_per_round: int, task: BoostingTask) -> list[Rounds]:
    """Returns the rounds that the models of a fit go on from.

    Args:
        kept: What the fit before knows of its folds.
        forest: The mean of its models.
        trees_per_round: How many trees a round of these has.
        task: What this fit has read.

    Raises:
        InvalidInputError: Its folds or rows are others, so that models would be judged by rows that they have seen.
    """
    held = [_rows_of_table(task, fold.held) for fold in task.folds]
    same = len(held) == len(kept) and np.array_equal(np.concatenate(held), kept.row)
    if not same or not np.array_equal(np.cumsum([0, *map(len, held)]), kept.first):
        raise InvalidInputError(
            f"warm_start needs the folds of the fit before, which held out {len(kept)} parts of its rows, got "
            f"{len(held)} that are others"
        )
    if task.data.digest() != kept.rows:
        raise InvalidInputError(
            "warm_start of models of folds needs the rows of the fit before in the same order, of which each of its "
            "models has seen all but a fold, got others: fit on those, or with warm_start=False"
        )
    return [
        Rounds(kept.model_of(fold, forest), start, kept.measured_of(fold), trees_per_round)
        for fold, start in enumerate(kept.start)
    ]


def _check(task: BoostingTask, number: int, model: FoldModel) -> None:
    """Raises or warns where a model is not what was asked for."""
    if model.forest is None or not len(model.forest):
        raise TrainingError(
            f"{task.loss}: without fold {number}, what decides when to stop is no number after any round"
        )
    if model.stop == Stop.NOT_FINITE:
        text = f"{task.loss}: without fold {number}, derivatives after round {len(model.losses)} are {NO_NUMBERS}{KEPT}"
        warn_user(text, InterruptedFitWarning)


def _joined(task: BoostingTask, models: dict[int, FoldModel], trees_per_round: int) -> tuple[Rounds, Folds]:
    """The mean of the models, and what is known of their folds."""
    made, held = list(models.values()), [task.folds[number].held for number in models]
    forest, fold_of_tree = mean_of_models([model.forest for model in made if model.forest is not None], trees_per_round)
    start = np.stack([model.start for model in made])
    row, scores = np.concatenate(held), np.concatenate([model.scores for model in made])
    predictions, score = _judged(task, row, scores)
    folds = Folds(
        fold_of_tree,
        start,
        _rows_of_table(task, row),
        np.cumsum([0, *map(len, held)]),
        _residuals(task, row, scores),
        np.zeros(0) if task.data.sample.weight is None else task.data.sample.weight[row],
        _of_table(task, predictions),
        score,
        _measured(task, made),
        np.array([len(model.losses) for model in made]),
        task.data.digest(),
    )
    return Rounds.unmeasured(forest, start.mean(axis=0), trees_per_round), folds


def _judged(
    task: BoostingTask, row: Rows, scores: Float[np.ndarray, "held score"]
) -> tuple[Float[np.ndarray, "row column"], float]:
    """The mean prediction of every row by the models that have not seen it, and their score."""
    sample = task.data.sample
    sums, number = np.zeros((sample.num_rows, scores.shape[1])), np.zeros(sample.num_rows)
    np.add.at(sums, row, scores)
    np.add.at(number, row, 1)
    known = np.flatnonzero(number)
    means = sums[known] / number[known, None]
    judged = _blank(sample).take(known)
    fixed: Any = task.predict(means, judged.fields.get("offset"))
    own = np.asarray(fixed.predictions, np.float64).reshape(len(known), -1)
    predictions = np.full((sample.num_rows, own.shape[1]), np.nan)
    predictions[known] = own
    return predictions, float(fixed.score(judged.X, target_in_words(judged), judged.weight, **judged.fields))


def _residuals(
    task: BoostingTask, row: Rows, scores: Float[np.ndarray, "held score"]
) -> Float[np.ndarray, " residual"]:
    """The distance of every target that was held out from its prediction, if these are numbers of one kind."""
    sample = task.data.sample
    if sample.outputs.classes or sample.outputs.number > 1 or scores_by_loss(task.loss, 1):
        return np.zeros(0)
    offset = sample.fields.get("offset")
    fixed = task.predict(scores, None if offset is None else offset[row])
    return np.abs(target_of(sample)[row] - np.asarray(fixed.predictions, np.float64).reshape(-1))


def _rows_of_table(task: BoostingTask, row: Rows) -> Rows:
    """The numbers of rows of weight among all rows of the table."""
    return row if task.data.has_weight is None else np.flatnonzero(task.data.has_weight)[row]


def _of_table(task: BoostingTask, values: Float[np.ndarray, "row column"]) -> Float[np.ndarray, "row column"]:
    """Values of the rows of weight, with NaN for all others of the table."""
    if task.data.has_weight is None:
        return values
    whole = np.full((task.data.has_weight.size, values.shape[1]), np.nan)
    whole[task.data.has_weight] = values
    return whole


def _measured(task: BoostingTask, models: Sequence[FoldModel]) -> Measured:
    """The measures of every fold; a round that a model has not made is NaN."""
    longest = max(len(model.losses) for model in models)
    columns = [np.pad(own.losses, ((0, longest - len(own.losses)), (0, 0)), constant_values=np.nan) for own in models]
    return Measured(measures_of_folds(_measures_of_one(task), len(models)), np.concatenate(columns, axis=1))


def _measures_of_one(task: BoostingTask) -> tuple[Measure, ...]:
    """The measures of the model of a fold: on its rows, and on every evaluation beside."""
    return measures_of(task.loss, task.metrics, (HELD, *task.held))
