"""Early stopping by folds: models that have each been grown without a fold, which judges them, and their mean.

No row is lost to a validation part: each is learned from by all models but those that hold it out. The models share
bins, which know no targets, so that one program makes them all.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, Int
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from jaxtree.boosting.batch import Bounds, Member
from jaxtree.boosting.data import BoostData
from jaxtree.boosting.early_stopping import Measure, Measured
from jaxtree.boosting.ending import KEPT, NO_NUMBERS, Stop
from jaxtree.boosting.folds import Folds, mean_of_models
from jaxtree.boosting.many import boost_members
from jaxtree.boosting.many_rounds import OwnRows
from jaxtree.dataset.dataset import Dataset
from jaxtree.dataset.splitting import generator_of
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, TrainingError
from jaxtree.estimators.boosting.metrics import name_of, staged
from jaxtree.estimators.boosting.parameters import BoostingConfig
from jaxtree.estimators.boosting.responses import scores_by_loss
from jaxtree.estimators.boosting.rows import target_in_words, target_of, weight_of
from jaxtree.estimators.boosting.training import BoostingRows, BoostingTask, Rounds, encode, train
from jaxtree.estimators.common.conventions import progress_of
from jaxtree.tree.forest import Forest

USUAL_FOLDS = 8
"""Folds of a fit, unless the user says otherwise or there are fewer rows."""

HELD = "held"
"""The name of the rows of a fold while its model is made."""

Rows = Int[np.ndarray, " taken"]


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


def divide(data: Dataset, folds: Any, seed: Any) -> list[Rows]:
    """Returns the rows that every fold holds out.

    Rows of a group stay together. Classes have their shares in every fold, and so have events and censored times.

    Args:
        data: The rows.
        folds: A number of folds, "auto", a splitter of scikit-learn, or its splits.
        seed: The seed of the order of the rows.

    Raises:
        InvalidInputError: There are fewer rows or groups than folds, or a fold is all rows or none.
    """
    number = data.sample.num_rows
    group, event = data.fields.get("group"), data.fields.get("event")
    strata = data.target[0] if len(data.num_classes) == 1 else event
    units = number if group is None else len(np.unique(group))
    if isinstance(folds, str):
        folds = min(USUAL_FOLDS, units)
    if isinstance(folds, int | np.integer):
        if not 2 <= folds <= units:
            what = "rows" if group is None else "groups"
            raise InvalidInputError(f"folds must be from 2 to {units}, the number of {what}, got {folds}")
        folds = _splitter(int(folds), group, strata, generator_of(seed))
    if hasattr(folds, "split"):
        with warnings.catch_warnings():
            # A class of fewer rows than there are folds is in some of them.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            folds = list(folds.split(np.zeros((number, 1)), strata if strata is not None else np.zeros(number), group))
    return [_checked(test, number) for _, test in folds]


def _splitter(number: int, group: Any, strata: Any, generator: np.random.RandomState) -> Any:
    if group is not None:
        return GroupKFold(number, shuffle=True, random_state=generator)
    kind = KFold if strata is None else StratifiedKFold
    # Classes of which none has as many rows are not divided equally by scikit-learn.
    if strata is not None and np.unique(strata, return_counts=True)[1].max() < number:
        kind = KFold
    return kind(number, shuffle=True, random_state=generator)


def _checked(test: Any, number: int) -> Rows:
    rows = np.asarray(test)
    rows = np.flatnonzero(rows) if rows.dtype == bool else np.sort(rows)
    if not 0 < len(rows) < number or rows[0] < 0 or rows[-1] >= number:
        what = f"some of the {number} rows of weight, not all"
        raise InvalidInputError(f"folds must hold out {what}, got {len(rows)} rows")
    return rows


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
        KeyboardInterrupt: An interrupt came before the first model was done; later ones leave those that are.
        TrainingError: Derivatives are no numbers at the start of a model.
    """
    make = _made_one_by_one if _is_alone(task, config) else _made_together
    models: dict[int, FoldModel] = {}
    total = config.num_rounds * len(task.folds)
    with progress_of(config.verbose, total, "boosting", "rounds") as on_grown:
        try:
            for number, model in make(task, rows, config, mesh, on_grown):
                models[number] = model
        except KeyboardInterrupt:
            if not models:
                raise
            text = f"fit was interrupted: the model is the mean of {len(models)} of {len(task.folds)} folds"
            warnings.warn(text, InterruptedFitWarning, stacklevel=3)
    for number, model in sorted(models.items()):
        _check(task, number, model)
    return _joined(task, dict(sorted(models.items())), config.learner.trees_per_round(task.loss))


def _is_alone(task: BoostingTask, config: BoostingConfig) -> bool:
    """Whether models have codes of their own, or are made by what one program does not do."""
    return bool(task.is_ordered.any() or task.metrics or config.shrinkage.dropping is not None)


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
        forest, own = member.forest, members[number].own
        assert own is not None
        if forest is not None:
            forest = rows.categories.forest_in_table_units(forest.first(member.best_round * trees_per_round))
        scores = member.scores[0][:, task.folds[number]].T.astype(np.float64)
        yield number, FoldModel(forest, own.start, member.losses, scores, member.stop)


def _own_rows(task: BoostingTask, data: BoostData) -> list[OwnRows]:
    """The weights of every model: of its rows while it grows, and of its fold while it is measured."""
    target, weight = np.asarray(data.rows.target), np.asarray(data.rows.weight)
    beside = data.evaluations[1:]
    own = []
    for held in task.folds:
        is_held = np.zeros(len(weight), bool)
        is_held[held] = True
        grown, judged = np.where(is_held, 0, weight), np.where(is_held, weight, 0)
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
        made = train(own, encoded, config._replace(verbose=0), mesh=mesh)
        held = encoded.evaluations[0]
        scores = np.tile(made.start.astype(encoded.data.precision), (held.rows.num_rows, 1))
        *_, last = staged(made.forest, scores, held.values, made.trees_per_round)
        if on_grown is not None:
            on_grown(config.num_rounds)
        losses = made.measured.values
        yield number, FoldModel(made.forest, made.start, losses, last.astype(np.float64), Stop.NO_BETTER_LOSS)


def task_of_fold(task: BoostingTask, number: int) -> BoostingTask:
    """Returns the task of the model of a fold alone: its rows weigh nothing, and are measured first."""
    held, sample = task.folds[number], task.data.sample
    weight = weight_of(sample).copy()
    weight[held] = 0
    judged = {HELD: sample.take(held), **task.held}
    return task._replace(data=task.data.with_weight(weight), held=judged, seed=_seed_of(task, number), folds=())


def _check(task: BoostingTask, number: int, model: FoldModel) -> None:
    """Raises or warns where a model is not what was asked for."""
    if model.forest is None or not len(model.forest):
        raise TrainingError(
            f"{task.loss}: without fold {number}, what decides when to stop is no number after any round"
        )
    if model.stop == Stop.NOT_FINITE:
        text = f"{task.loss}: without fold {number}, derivatives after round {len(model.losses)} are {NO_NUMBERS}{KEPT}"
        warnings.warn(text, InterruptedFitWarning, stacklevel=4)


def _joined(task: BoostingTask, models: dict[int, FoldModel], trees_per_round: int) -> tuple[Rounds, Folds]:
    """The mean of the models, and what is known of their folds."""
    made, held = list(models.values()), [task.folds[number] for number in models]
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
        _of_table(task, predictions),
        score,
        _measured(task, made),
        np.array([len(model.losses) for model in made]),
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
    judged = sample._replace(X=np.zeros((sample.num_rows, 0))).take(known)
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
    """What was measured of every fold; a round that a model has not made is NaN."""
    names = [name_of(task.loss), *(metric.name for metric in task.metrics)]
    names = [*names, *(f"{held} {name}" for held in task.held for name in names)]
    longest = max(len(model.losses) for model in models)
    columns = [np.pad(own.losses, ((0, longest - len(own.losses)), (0, 0)), constant_values=np.nan) for own in models]
    measures = [Measure(f"fold_{number}", name) for number in range(len(models)) for name in names]
    return Measured(tuple(measures), np.concatenate(columns, axis=1))
