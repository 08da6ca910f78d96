"""Early stopping by folds: models that have each been grown without a fold, which judges them, and their mean.

No row is lost to a validation part: each is learned from by all models but those that hold it out. The models share
bins, which know no targets, so that one program makes them all.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float

from jaxtree.boosting.batch import Member
from jaxtree.boosting.data import BoostData
from jaxtree.boosting.ending import KEPT, NO_NUMBERS, Measure, Measured, Stop
from jaxtree.boosting.folds import HELD, Folds, mean_of_models, measures_of_folds
from jaxtree.boosting.many import Bounds
from jaxtree.boosting.rounds import OwnRows
from jaxtree.dataset.sample import Sample
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, present, warn_user
from jaxtree.estimators.boosting.many import Models, train_many
from jaxtree.estimators.boosting.metrics import measures_of, staged
from jaxtree.estimators.boosting.parameters import BoostingConfig
from jaxtree.estimators.boosting.responses import scores_by_loss
from jaxtree.estimators.boosting.rows import target_in_words, target_of, weight_of
from jaxtree.estimators.boosting.training import (
    BoostingRows,
    BoostingTask,
    Rounds,
    encode,
    forest_in_table_units,
    train,
)
from jaxtree.estimators.common.conventions import progress_of
from jaxtree.estimators.common.fold_rows import Fold, Rows
from jaxtree.table.sources import is_source, open_source, rows_of_source
from jaxtree.tree.forest import Forest

MadeFolds: TypeAlias = Iterator[tuple[int, tuple[Rounds, Float[np.ndarray, "held score"]]]]
"""The number of every fold, the rounds of the model that was grown without it, and its scores of the fold's rows."""


def train_folds(
    task: BoostingTask, rows: BoostingRows, config: BoostingConfig, mesh: Mesh | None = None
) -> tuple[Rounds, Folds]:
    """Makes a model without every fold, and returns their mean.

    Args:
        task: The rows and settings that the fit has read.
        rows: Its rows.
        config: The parameters of the rounds.
        mesh: Devices to divide the models among.

    Raises:
        InvalidInputError: The loss does not allow the rows of a model.
        KeyboardInterrupt: An interrupt came before the first model was done; later ones leave those that are.
        TrainingError: Derivatives are no numbers at the start of a model.
    """
    sample, loss = task.data.sample, task.loss
    weights = [grown_weight(sample, fold) for fold in task.folds]
    for number, weight in enumerate(weights):
        try:  # the loss allows all rows, and perhaps not those without a fold
            check_rows_of_weight(task, weight)
        except InvalidInputError as error:
            raise InvalidInputError(f"without fold {number}, {error}") from None
    # One program makes models of the same codes and rounds, which drops no trees and has no metrics.
    is_joint = not (task.is_ordered.any() or task.earlier_of_folds or task.metrics or config.shrinkage.dropping)
    models: dict[int, Any] = {}
    total = config.num_rounds * len(task.folds) if config.is_end_known else None
    with progress_of(config.verbose, total, "boosting", "rounds") as on_grown:
        if is_joint:
            made = _made_together(task, rows, config, weights, mesh, on_grown)
        else:
            made = _made_one_by_one(task, config, mesh, on_grown)
        try:
            for number, model in made:
                models[number] = model
        except KeyboardInterrupt:
            if not models:
                raise
            text = f"fit was interrupted: the model is the mean of {len(models)} of {len(task.folds)} folds"
            warn_user(text, InterruptedFitWarning)
    for number, (model, _) in sorted(models.items()):
        if model.stop == Stop.NOT_FINITE:
            text = f"{loss}: without fold {number}, derivatives after round {model.num_made} are {NO_NUMBERS}{KEPT}"
            warn_user(text, InterruptedFitWarning)
    rounds, folds = _joined(task, dict(sorted(models.items())))
    if is_joint:
        rounds = rounds._replace(forest=forest_in_table_units(rows.categories, rounds.forest))
    return rounds, folds


def check_rows_of_weight(task: BoostingTask, weight: Float[np.ndarray, " row"]) -> None:
    """Raises InvalidInputError unless the loss allows the rows of some weight."""
    is_there, sample = weight > 0, task.data.sample
    fields = {name: own[is_there] for name, own in sample.fields.items()}
    task.loss.check_fit(target_of(sample)[is_there], fields)


def seed_of(seed: int, number: int) -> int:
    """Returns the seed of one of many models, far from others: draws of rounds follow from sums of it and a round."""
    return int(np.random.SeedSequence((seed, number)).generate_state(1)[0])


def own_rows(
    task: BoostingTask,
    data: BoostData,
    grown: Float[np.ndarray, " row"],
    judged: Float[np.ndarray, " row"] | None = None,
) -> OwnRows:
    """Returns the rows of one of many models, with the start that is best for these.

    Args:
        task: The rows and settings that the fit has read.
        data: The rows of all; the first evaluation, if there are any, is of the same rows.
        grown: The weights of the rows that it is grown on.
        judged: The weights of those of the first evaluation.
    """
    shared = OwnRows.of(present(data.start), (data.rows, *data.evaluations))
    weight = list(shared.weight)
    for place, given in enumerate((grown, judged)):
        if given is not None:
            weight[place] = np.zeros_like(weight[place])
            weight[place][: len(given)] = given
    start = task.loss.start(shared.target[0], weight[0], data.rows.extras).astype(data.precision).astype(np.float64)
    return shared._replace(start=start, weight=tuple(weight))


def _made_together(
    task: BoostingTask,
    rows: BoostingRows,
    config: BoostingConfig,
    weights: Sequence[Float[np.ndarray, " row"]],
    mesh: Mesh | None,
    on_grown: Callable[..., Any] | None,
) -> MadeFolds:
    """Makes all models in one program, and yields each when it is done; their thresholds are codes."""
    data = rows.for_many(task.loss)
    # The rows of the table are those of the first evaluation, too.
    data = data._replace(evaluations=(data.rows, *data.evaluations))
    members, of_data = [], np.asarray(data.rows.weight)
    for number, (fold, weight) in enumerate(zip(task.folds, weights, strict=True)):
        judged = np.zeros_like(of_data)
        judged[fold.held] = of_data[fold.held]
        own, limits, seed = own_rows(task, data, weight, judged), config.learner.limits, seed_of(task.seed, number)
        members.append(Member(limits, config.shrinkage, config.num_rounds, seed, own=own))
    given: dict[str, Any] = {"is_best_kept": True, "bounds": Bounds(mesh=mesh), "on_rounds": on_grown}
    models = Models(data, config.learner, members)
    given["in_words"] = lambda number: f"without fold {number}, "
    for number, rounds, made in train_many(task, models, _measures_of_one(task), **given):
        yield number, (rounds, made.scores[0][:, task.folds[number].held].T.astype(np.float64))


def _made_one_by_one(
    task: BoostingTask, config: BoostingConfig, mesh: Mesh | None, on_grown: Callable[..., Any] | None
) -> MadeFolds:
    """Makes one model after the other, and yields each with its number."""
    for number in range(len(task.folds)):
        own = task_of_fold(task, number)
        encoded = encode(own)
        held, made = encoded.evaluations[0], own.earlier
        if made is None or own.num_earlier < config.num_rounds:
            made = train(own, encoded, config._replace(verbose=0), mesh=mesh)
        if made.stop == Stop.INTERRUPTED:  # the models that are done are kept, and this one is not
            raise KeyboardInterrupt
        scores = np.tile(made.start.astype(encoded.data.precision), (held.rows.num_rows, 1))
        *_, last = staged(made.forest, scores, held.values, made.trees_per_round)
        if on_grown is not None:
            on_grown(config.num_rounds if config.is_end_known else len(made.measured.values))
        yield number, (made._replace(measured=made.measured.by(_measures_of_one(task))), last.astype(np.float64))


def task_of_fold(task: BoostingTask, number: int) -> BoostingTask:
    """Returns the task of the model of a fold alone: its rows weigh nothing, and are measured first."""
    fold, sample = task.folds[number], task.data.sample
    table = rows_of_source(open_source(sample.X), fold.held) if is_source(sample.X) else None
    held = sample.take(fold.held) if table is None else _blank(sample).take(fold.held)._replace(X=table)
    own = task._replace(
        data=task.data.with_weight(grown_weight(sample, fold)),
        held=task.held._replace(fold=held),
        seed=seed_of(task.seed, number),
        folds=(),
        earlier_of_folds=(),
    )
    return own._replace(earlier=task.earlier_of_folds[number]) if task.earlier_of_folds else own


def grown_weight(sample: Sample, fold: Fold) -> Float[np.ndarray, " row"]:
    """Returns the weights of the rows that the model of a fold is grown on, and 0 for all others."""
    weight = weight_of(sample).copy()
    weight[fold.held] = weight[fold.left_out] = 0
    return weight


def _blank(sample: Sample) -> Sample:
    """The same rows without their table, which need not be at hand."""
    return sample._replace(X=np.zeros((sample.num_rows, 0)))


def earlier_models(kept: Folds, forest: Forest, trees_per_round: int, task: BoostingTask) -> list[Rounds]:
    """Returns the rounds that the models of a fit go on from.

    Args:
        kept: The folds of the fit before.
        forest: The mean of its models.
        trees_per_round: How many trees a round of these has.
        task: The rows and settings that this fit has read.

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


def _joined(
    task: BoostingTask, models: dict[int, tuple[Rounds, Float[np.ndarray, "held score"]]]
) -> tuple[Rounds, Folds]:
    """The mean of the models, and what is known of their folds."""
    made, of_folds = zip(*models.values(), strict=True)
    held, trees_per_round = [task.folds[number].held for number in models], made[0].trees_per_round
    forest, fold_of_tree = mean_of_models([model.forest for model in made], trees_per_round)
    start = np.stack([model.start for model in made])
    row, scores = np.concatenate(held), np.concatenate(of_folds)
    predictions, score = _judged(task, row, scores)
    # Rows of weight 0 have no prediction, and a round that a model has not made has no metrics.
    if (there := task.data.has_weight) is not None:
        whole = np.full((there.size, predictions.shape[1]), np.nan)
        whole[there] = predictions
        predictions = whole
    of_rounds = [model.measured.values for model in made]
    longest = max(map(len, of_rounds))
    padded = [np.pad(own, ((0, longest - len(own)), (0, 0)), constant_values=np.nan) for own in of_rounds]
    folds = Folds(
        fold_of_tree,
        start,
        _rows_of_table(task, row),
        np.cumsum([0, *map(len, held)]),
        _residuals(task, row, scores),
        np.zeros(0) if task.data.sample.weight is None else task.data.sample.weight[row],
        predictions,
        score,
        Measured(measures_of_folds(_measures_of_one(task), len(made)), np.concatenate(padded, axis=1)),
        np.array([*map(len, of_rounds)]),
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


def _measures_of_one(task: BoostingTask) -> tuple[Measure, ...]:
    """The measures of the model of a fold: on its rows, and on every evaluation beside."""
    return measures_of(task.loss, task.metrics, (HELD, *task.held.by_name))
