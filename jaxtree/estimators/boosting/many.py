"""Models that one program makes on the same rows: those of several settings, or of the folds of one."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxtree.boosting.batch import BoostedMember, Member
from jaxtree.boosting.data import BaseLearner, BoostData
from jaxtree.boosting.ending import Measure, Measured
from jaxtree.boosting.many import UNBOUNDED, Bounds, OnRoundsOfMany, boost_members
from jaxtree.boosting.rounds import OwnRows
from jaxtree.errors import InvalidInputError, TrainingError, present
from jaxtree.estimators.boosting.parameters import BoostingConfig
from jaxtree.estimators.boosting.training import BoostingRows, BoostingTask, Rounds, encode
from jaxtree.estimators.common.conventions import identity
from jaxtree.estimators.common.jobs import Job


class OpenedJob(NamedTuple):
    """A job before the first round of the program that makes it.

    Attributes:
        task: The rows and settings that it has read.
        config: The parameters of its rounds.
        member: Its model among those of the program.
    """

    task: BoostingTask
    config: BoostingConfig
    member: Member


class OpenedJobs(NamedTuple):
    """Jobs of one program before its first round.

    Attributes:
        rows: The rows of all.
        data: The same with little padding.
        learner: The learner whose program grows the trees of all.
        by_place: The jobs by their places among those that were to be opened; others need codes of their own.
    """

    rows: BoostingRows
    data: BoostData
    learner: BaseLearner
    by_place: dict[int, OpenedJob]


def open_jobs(jobs: Sequence[Job], test: Any = None) -> OpenedJobs:
    """Reads and encodes the rows of jobs of one kind on one part, once for all with the same weights of classes.

    Args:
        jobs: The jobs.
        test: Further rows that are measured, see `BaseBoosting.read_task`.

    Raises:
        InvalidInputError: They are measured by metrics, which walk the trees of each.
    """
    of_weights: dict[Hashable, list[int]] = {}
    for place, job in enumerate(jobs):
        of_weights.setdefault(identity(getattr(job.estimator, "class_weight", None)), []).append(place)
    opened = [_open(jobs[places[0]], test) for places in of_weights.values()]
    (task, rows, data), by_place = opened[0], {}
    if task.metrics:
        raise InvalidInputError("models of one program are measured by their loss alone")
    for (own_task, _, own_data), places in zip(opened, of_weights.values(), strict=True):
        own_rows, tables = None, (own_data.rows, *own_data.evaluations)
        if own_data is not data:
            pairs = zip((data.rows, *data.evaluations), tables, strict=True)
            if not all([np.array_equal(one.codes, other.codes) for one, other in pairs]):
                continue
            own_rows = OwnRows.of(present(own_data.start), tables)
        for place in places:
            setting = jobs[place].estimator
            if task.is_ordered.any() and setting.random_state != jobs[0].estimator.random_state:
                continue  # statistics of categories follow from the seed
            config = setting.config(task.data.num_rows, rows.num_bins)
            member = Member(config.learner.limits, config.shrinkage, config.num_rounds, setting.seed(), own=own_rows)
            by_place[place] = OpenedJob(own_task, config, member)
    learners = [own.config.learner for own in by_place.values()]
    sizes = learners[0].sizes._replace(capacity=max([own.sizes.capacity for own in learners]))
    learner = learners[0]._replace(sizes=sizes, counts_rows=any([own.counts_rows for own in learners]))
    return OpenedJobs(rows, data, learner, by_place)


def _open(job: Job, test: Any) -> tuple[BoostingTask, BoostingRows, BoostData]:
    """Reads and encodes the rows of a job."""
    X, y, params = job.part.arguments(job.estimator)
    task = job.estimator.read_task(X, y, test=test, encoder=job.part.encoder, **params)
    rows = encode(task)
    return task, rows, rows.for_many(task.loss)


class Models(NamedTuple):
    """Models of one program before its first round.

    Attributes:
        data: The rows of all.
        learner: The learner whose program grows the trees of all.
        members: The models.
    """

    data: BoostData
    learner: BaseLearner
    members: Sequence[Member]


def train_many(
    task: BoostingTask,
    models: Models,
    measures: tuple[Measure, ...],
    *,
    is_best_kept: bool,
    bounds: Bounds = UNBOUNDED,
    on_rounds: OnRoundsOfMany | None = None,
    in_words: Callable[[int], str] = lambda number: "",
) -> Iterator[tuple[int, Rounds, BoostedMember]]:
    """Makes the rounds of many models, and yields the number and the rounds of each as soon as they are made.

    Thresholds are codes.

    Args:
        task: The rows and settings that the fit has read.
        models: The models.
        measures: The names of what is measured of each.
        is_best_kept: Whether trees are kept up to the best round.
        bounds: How many models are made at once, and on which devices.
        on_rounds: Called with the number of further rounds.
        in_words: Returns words about a model in front of an error.

    Raises:
        TrainingError: The loss that decides when a model stops is never a number.
    """
    (data, learner, members), trees_per_round = models, models.learner.trees_per_round(task.loss)
    given: dict[str, Any] = {"keeps_trees": True, "bounds": bounds, "on_rounds": on_rounds}
    for number, made in boost_members(data, task.loss, learner, members, **given):
        kept = made.best_round if is_best_kept else len(made.losses)
        if made.forest is None or not kept:
            words = f"{in_words(number)}what decides when to stop is no number after any round"
            raise TrainingError(f"{task.loss}: {words}")
        own, forest = members[number].own, made.forest.first(kept * trees_per_round)
        start = present(data.start) if own is None else own.start
        measured = Measured(measures, made.losses)
        yield number, Rounds(forest, start, measured, trees_per_round, made.stop, len(made.losses)), made
