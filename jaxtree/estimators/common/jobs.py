"""Jobs: fits of estimators on parts of a table, of which those that have something in common are made together.

Folds, searches, bags, intervals and labels of a teacher only make jobs. A *family* of estimators says which jobs share
codes, growth or a program, and is the only caller of its engine for several of them. Each member is what its own `fit`
on its rows makes, bit for bit.
"""

import abc
import collections
import contextlib
import threading
import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Int
from sklearn.base import clone

from jaxtree.boosting.ending import Deadline
from jaxtree.dataset.dataset import Dataset
from jaxtree.errors import InternalError, InterruptedFitWarning, JaxtreeError, is_out_of_memory
from jaxtree.estimators.common.conventions import overrides
from jaxtree.estimators.common.extras import check_arguments_of_fits
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.sklearn_compat import check_method_params, safe_indexing, safe_split
from jaxtree.table.encoder import Encoder
from jaxtree.table.weights import rows_of_weight

Read = TypeVar("Read")


class TablePart:
    """Some rows of a table, with what the jobs on them have read.

    Args:
        X: The table.
        y: Its target.
        params: Further arguments of `fit`, split like the rows where they have a value for each.
        rows: The rows; all if not given.
        encoder: A fitted encoder that boosted trees read the rows with; one of these rows if not given.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        params: Mapping[str, Any] | None = None,
        rows: Int[np.ndarray, " part"] | None = None,
        encoder: Encoder | None = None,
    ):
        self.X, self.y, self.rows, self.encoder = X, y, rows, encoder
        self.params = dict(params or {})
        self._lock = threading.RLock()
        self._known: dict[Hashable, Any] = {}

    def arguments(self, estimator: Any) -> tuple[Any, Any, dict[str, Any]]:
        """Returns the table, the target and the further arguments of a fit on these rows."""
        if self.rows is None:
            return self.X, self.y, dict(self.params)
        X, y = safe_split(estimator, self.X, self.y, self.rows)
        return X, y, check_method_params(self.X, params=self.params, indices=self.rows)

    def fit(self, estimator: Any) -> Any:
        """Fits an estimator on these rows."""
        X, y, params = self.arguments(estimator)
        if self.encoder is None:
            return estimator.fit(X, y, **params)
        return estimator.fit_task(estimator.read_task(X, y, encoder=self.encoder, **params))

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self.y if self.rows is None else self.rows)

    def read(self, key: Hashable, read: Callable[[], Read]) -> Read:
        """Returns what a function has read of these rows, which is called for the first job with this key alone."""
        with self._lock:
            if key not in self._known:
                self._known[key] = read()
            return self._known[key]

    def known_codes(self, encoder: Encoder) -> Dataset | None:
        """Returns a dataset of all these rows, encoded by an encoder of the same parameters, if there is one."""
        return self._known.get(_kind_of_codes(encoder))

    def keep_codes(self, encoder: Encoder, data: Dataset) -> None:
        """Keeps a dataset for `known_codes`, unless rows have no weight or are held out."""
        if data.has_weight is None and data.held is None:
            self.read(_kind_of_codes(encoder), lambda: data)

    def forget(self) -> None:
        """Forgets what was read: the last job on these rows is done."""
        with self._lock:
            self._known.clear()


class Job(NamedTuple):
    """A fit to be made.

    Attributes:
        estimator: The estimator, of which a copy is fitted. Jobs of one setting have the same.
        part: The rows. Jobs on the same rows have the same.
    """

    estimator: Any
    part: TablePart


class FittedJob(NamedTuple):
    """A fit that was made.

    Attributes:
        number: The number of the job.
        made: The fitted copy, or what another way than `fit_jobs` has made; None if the fit failed.
        seconds: How long it took: its share of the time of what was made with it.
        error: Why it failed.
    """

    number: int
    made: Any
    seconds: float
    error: Exception | None = None


MakeTogether = Callable[[Sequence[Job]], Iterator[Mapping[int, Any]]]
"""The function that makes jobs of one kind, see `Family.fit_jobs`."""


class Family(abc.ABC):
    """The base of estimators whose jobs may be made together.

    Such jobs have estimators of one class with the same `kind_of_jobs`, whose parameters are allowed; where a class of
    the user's own changes a method, and where `random_state` is a generator, every job is made alone.
    """

    joins_parts: ClassVar[bool] = False
    """Whether jobs on different rows are made together, too."""

    @abc.abstractmethod
    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""

    @abc.abstractmethod
    def kind_of_jobs(self) -> Hashable:
        """Returns what estimators have in common whose jobs are made together; None for one that shares nothing."""

    @classmethod
    @abc.abstractmethod
    def fit_jobs(cls, jobs: Sequence[Job]) -> Iterator[Mapping[int, Any]]:
        """Makes jobs of one kind, and yields batch by batch the fitted copy of every job by its place.

        An empty batch ends what was done for all. Jobs that are in no batch are made alone, and those with None in
        place of a copy are left out.
        """


def fit_many(
    jobs: Sequence[Job],
    *,
    keeps_errors: bool = False,
    on_fitted: Callable[[int], Any] | None = None,
    together: MakeTogether | None = None,
    deadline: Deadline | None = None,
) -> Iterator[FittedJob]:
    """Makes jobs, those of one kind together, and yields each as soon as it is made.

    Where jobs fail together, each is made alone, and fails or does not.

    Args:
        jobs: The jobs.
        keeps_errors: Whether a job that fails is yielded with its error, which is raised otherwise.
        on_fitted: Called with the number of further fits.
        together: The function that makes jobs of one kind together in place of `fit_jobs` of their family.
        deadline: When jobs that would be made alone by then are left out.

    Raises:
        InternalError: Jobs failed together, but none of them alone, which no slow way must hide.
        KeyboardInterrupt: There was an interrupt, also one that would have left a model of fewer trees.
    """
    waiting = collections.Counter(id(part) for _, part in jobs)
    for is_alone, numbers in grouped(jobs):
        make = None if is_alone else together or type(jobs[numbers[0]].estimator).fit_jobs
        for fits in _fit_alike(jobs, numbers, make, deadline, keeps_errors=keeps_errors):
            for fitted in fits:
                part = jobs[fitted.number].part
                waiting[id(part)] -= 1
                if not waiting[id(part)]:
                    part.forget()
            if on_fitted is not None:
                on_fitted(len(fits))
            yield from fits


def fit_parts(
    estimator: Any,
    X: Any,
    y: Any,
    parts: Sequence[Int[np.ndarray, " _part"]],
    params: Mapping[str, Any] | None = None,
    on_fitted: Callable[[int], Any] | None = None,
    *,
    reads_alike: bool = False,
) -> list[Any]:
    """Returns a clone of an estimator fitted on every part of a table, each as its own `fit` would have fitted it.

    Args:
        estimator: An estimator, not fitted.
        X: A table.
        y: Its target.
        parts: The rows of every part.
        params: Further arguments of `fit`, split like the rows where they have a value for each.
        on_fitted: Called with the number of further fits.
        reads_alike: Whether boosted trees read every part as all rows of weight together say: with the same kinds of
            columns, categories and bins, so that the models can be averaged.

    Raises:
        InvalidInputError: `fit` takes no argument of such a name.
    """
    check_arguments_of_fits(estimator, params or ())
    encoder = None
    if reads_alike:
        there = rows_of_weight((params or {}).get("sample_weight"), y)
        encoder = estimator.make_encoder().fit(X if there is None else safe_indexing(X, np.flatnonzero(there)))
    jobs = [Job(estimator, TablePart(X, y, params, rows, encoder)) for rows in parts]
    fits = {fitted.number: fitted.made for fitted in fit_many(jobs, on_fitted=on_fitted)}
    return [fits[number] for number in range(len(jobs))]


def grouped(jobs: Sequence[Job]) -> list[tuple[bool, list[int]]]:
    """Returns the numbers of jobs that are made together, and of each that is made alone; whether it is comes first."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    kinds: dict[int, Hashable] = {}
    for number, (estimator, part) in enumerate(jobs):
        if id(estimator) not in kinds:
            kinds[id(estimator)] = _kind_of(estimator)
        kind = kinds[id(estimator)]
        own = (number,) if kind is None else (type(estimator), kind, None if estimator.joins_parts else id(part))
        groups.setdefault((kind is None, *own), []).append(number)
    return [(is_alone, numbers) for (is_alone, *_), numbers in groups.items()]


def _kind_of(estimator: Any) -> Hashable:
    """Returns what jobs that are made together have in common; None if those of an estimator are made alone."""
    if not isinstance(estimator, Family) or overrides(type(estimator)):
        return None
    if not isinstance(getattr(estimator, "random_state", None), int | np.integer | None):
        return None  # a generator draws anew for each fit
    try:
        estimator.check_parameters()
        return estimator.kind_of_jobs()
    except JaxtreeError:
        return None


def _fit_alike(
    jobs: Sequence[Job],
    numbers: Sequence[int],
    make: MakeTogether | None,
    deadline: Deadline | None,
    *,
    keeps_errors: bool,
) -> Iterator[list[FittedJob]]:
    """Makes the jobs of a group, together or, where that is not to be or fails, one by one."""
    left, defect, shared = dict.fromkeys(numbers), None, 0.0
    estimator, part = jobs[numbers[0]]
    made = iter(()) if make is None else make([jobs[number] for number in numbers])
    try:
        while True:
            began = time.perf_counter()
            # No longer than while something is computed: a generator that rests would place its caller, too.
            with contextlib.nullcontext() if make is None else placed_fit(estimator, part.X, num_fits=len(numbers)):
                batch = next(made, None)
            if batch is None:
                break
            seconds = (time.perf_counter() - began) / (len(batch) or len(numbers))
            if not batch:
                shared += seconds
                continue
            fits = []
            for place, fitted in batch.items():
                del left[numbers[place]]
                if fitted is not None:
                    fits.append(FittedJob(numbers[place], fitted, shared + seconds))
            yield fits
    except Exception as error:
        defect = error if may_be_defect(error) else None
    alone = []
    for number in () if deadline is not None and deadline.left() <= 0 else left:
        alone.append(_fit_alone(number, jobs[number], keeps_errors=keeps_errors))
        yield [alone[-1]]
    if defect is not None and alone and all(fitted.error is None for fitted in alone):
        raise InternalError(f"fits together failed, and none of them alone: {defect}") from defect


def _fit_alone(number: int, job: Job, *, keeps_errors: bool) -> FittedJob:
    """Makes a job by the `fit` of its estimator."""
    began = time.perf_counter()
    try:
        blank: Any = clone(job.estimator)
        fitted = uninterrupted(lambda: job.part.fit(blank))
        return FittedJob(number, fitted, time.perf_counter() - began)
    except Exception as error:
        if not keeps_errors:
            raise
        return FittedJob(number, None, time.perf_counter() - began, error)


def _kind_of_codes(encoder: Encoder) -> Hashable:
    """Returns a key that encoders have in common which encode rows alike."""
    return "codes", repr(sorted(vars(encoder).items()))


def may_be_defect(error: Exception) -> bool:
    """Returns whether the error of a joint fit may be one of the code.

    One of memory may well be that of many fits at once, and rows may be such that fits cannot be joined.
    """
    is_refusal = isinstance(error, JaxtreeError) and not isinstance(error, InternalError)
    return not is_refusal and not is_out_of_memory(error)


def uninterrupted(fit: Callable[[], Any]) -> Any:
    """Calls what fits, and raises the interrupt that would have left a model of fewer trees."""
    fitted, was_interrupted = until_interrupted(fit)
    if was_interrupted:
        raise KeyboardInterrupt
    return fitted


def until_interrupted(fit: Callable[[], Any]) -> tuple[Any, bool]:
    """Calls what fits; returns the result, and whether an interrupt has ended it early, of which no warning tells."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InterruptedFitWarning)
        fitted = fit()
    is_of_interrupt = [str(own.message).startswith("fit was interrupted") for own in caught]
    for own, is_left_out in zip(caught, is_of_interrupt, strict=True):
        if not is_left_out:
            warnings.warn_explicit(own.message, own.category, own.filename, own.lineno)
    return fitted, any(is_of_interrupt)
