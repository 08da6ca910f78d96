"""Evaluation metrics after each boosting round, and early stopping on them."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Shaped

from jaxtree.boosting.ending import EarlyStopping, Measure, Measured
from jaxtree.compilation import compiled, options_of_small_programs
from jaxtree.dataset.sample import Sample
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.loss_names import hint_for_metric
from jaxtree.estimators.boosting.rows import target_in_words, target_of, weight_of
from jaxtree.estimators.common.fixed import FixedPredictions
from jaxtree.estimators.common.scorers import (
    in_words,
    number_of_metric,
    of_all_classes,
    scorer_named,
    weighted_if_taken,
)
from jaxtree.losses.distribution import Distribution
from jaxtree.losses.loss import BaseLoss
from jaxtree.metrics.scorers import ScorerOfExtras, takes_places
from jaxtree.tree.forest import Forest
from jaxtree.tree.nodes import target_means
from jaxtree.tree.predictor import Predictor

NAMES = {
    "squared": "squared_error",
    "absolute": "absolute_error",
    "logistic": "log_loss",
    "softmax": "log_loss",
}
"""The names of losses that estimators, and scikit-learn's metrics, call otherwise."""

Predict: TypeAlias = Callable[[Float[np.ndarray, "row score"], Any], FixedPredictions]
"""Returns what scores and an offset predict."""


class Evaluation(NamedTuple):
    """Rows that rounds are measured on.

    Attributes:
        name: Their name.
        rows: The rows.
        values: The numbers that thresholds are compared with.
        predict: Returns what scores and an offset predict.
    """

    name: str
    rows: Sample
    values: Float[np.ndarray, "row feature"]
    predict: Predict

    @property
    def target(self) -> Shaped[np.ndarray, "row *output"]:
        """The target as the user has given it."""
        return target_in_words(self.rows)

    def predictions(self, scores: Float[np.ndarray, "row score"]) -> FixedPredictions:
        """Returns the predictions of the rows, as an estimator."""
        return self.predict(scores, self.rows.fields.get("offset"))


class Metric(NamedTuple):
    """A number for the rows of an evaluation.

    Attributes:
        name: Its name in `evals_result_`.
        of: The function that measures them, given their scores.
        is_better_if_greater: Whether it is better if it is greater.
    """

    name: str
    of: Callable[[Evaluation, Float[np.ndarray, "row score"]], Any]
    is_better_if_greater: bool

    def measure(self, evaluation: Evaluation, scores: Float[np.ndarray, "row score"]) -> float:
        """Returns the number for rows of given scores.

        Raises:
            InvalidInputError: A metric of the user's own returns something else.
        """
        return number_of_metric(f"eval_metric {self.name}", self.of(evaluation, scores))


def metric_of(given: Any, named_losses: Mapping[str, Callable[[], BaseLoss]]) -> Metric:
    """Returns a metric.

    Args:
        given: The name of a loss or of a scorer of scikit-learn; a loss; a scorer; or a function of targets and
            predictions whose name says whether it is better if greater, see `_is_better_if_greater`.
        named_losses: Losses that have names.

    Raises:
        InvalidInputError: It is none of these.
    """
    if isinstance(given, str) and given in named_losses:
        return Metric(given, _mean_of(named_losses[given]()), False)
    if isinstance(given, BaseLoss):
        return Metric(name_of(given), _mean_of(given), False)
    if isinstance(given, str):
        try:
            return Metric(given, _scored_by(scorer_named(given), repr(given)), True)
        except ValueError as error:
            hint = hint_for_metric(given) or f": {error}"
            raise InvalidInputError(f"eval_metric {given!r} is no loss with a name and no scorer{hint}") from None
    if not callable(given):
        raise InvalidInputError(f"eval_metric must be names, losses, scorers or functions, got {given!r}")
    if hasattr(given, "set_score_request"):  # as scorers of scikit-learn have
        return Metric(str(given), _scored_by(of_all_classes(given), str(given)), True)
    function = given
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    if not takes_places(given, 2):
        raise InvalidInputError(
            f"eval_metric {name} must take two arguments, the targets and what is predicted of them"
        )
    return Metric(name, _function_of_predictions(given), _is_better_if_greater(name, function))


def _is_better_if_greater(name: str, function: Callable[..., Any]) -> bool:
    """Whether a function is better if it is greater, as far as its name says that.

    In scikit-learn, whose convention it is, names of these end in "_score", and of others in "_loss", "_error" or
    "_deviance". Elsewhere a score may be either: that of Brier is better if it is smaller.

    Raises:
        InvalidInputError: The name does not say it.
    """
    if name.endswith(("_loss", "_error", "_deviance")):
        return False
    if name.endswith("_score") and (getattr(function, "__module__", None) or "").startswith("sklearn.metrics."):
        return True
    raise InvalidInputError(
        f"eval_metric {name} does not say whether it is better if greater: give "
        f"sklearn.metrics.make_scorer({name}, greater_is_better=True), or False; names that end in _loss, _error or "
        "_deviance are better if smaller"
    )


def name_of(loss: BaseLoss) -> str:
    """Returns the name of a loss in `evals_result_`: that of estimators, or its own with its parameters, if any.

    >>> from jaxtree.boosting import quantile, softmax, squared
    >>> name_of(squared()), name_of(softmax(3)), name_of(quantile(0.9))
    ('squared_error', 'log_loss', 'quantile(level=0.9)')
    """
    return (not isinstance(loss, Distribution) and NAMES.get(loss.name)) or repr(loss).removesuffix("()")


def measures_of(loss: BaseLoss, metrics: Sequence[Metric], evaluations: Sequence[str]) -> tuple[Measure, ...]:
    """Returns what is measured of every evaluation: the loss, and the metrics.

    Raises:
        InvalidInputError: A metric is there twice.
    """
    own = {name_of(loss): False} | {metric.name: metric.is_better_if_greater for metric in metrics}
    if len(own) <= len(metrics):
        given = [metric.name for metric in metrics]
        raise InvalidInputError(
            f"eval_metric must have every metric once, beside the loss {name_of(loss)}, which is always measured, got "
            f"{given}"
        )
    return tuple(Measure(evaluation, *measure) for evaluation in evaluations for measure in own.items())


def best_of(measured: Measured, tolerance: float) -> tuple[int, float] | None:
    """Returns the number of rounds at which what decides is best, from 1, and what it is; None if nothing is measured.

    The first rows decide, by the first metric, or by the loss without any. Scores are better if greater.

    Args:
        measured: The measures of every round.
        tolerance: How much better a value must be than the best so far.

    Example:
        >>> both = (Measure("validation_0", "log_loss"), Measure("validation_0", "roc_auc", True))
        >>> best_of(Measured(both, np.array([[0.6, 0.7], [0.4, 0.9], [0.3, 0.8]])), 0.0)
        (2, 0.9)
    """
    of_first = [own for own in measured.measures if own.evaluation == measured.measures[0].evaluation]
    if not of_first:
        return None
    place = min(1, len(of_first) - 1)
    values = measured.values[:, place]
    sign = -1 if of_first[place].is_better_if_greater else 1
    best, _ = EarlyStopping(tolerance=tolerance).best_and_last(sign * values)
    return (best, float(values[best - 1])) if best else None


def mean_loss(loss: BaseLoss, scores: Float[np.ndarray, "row score"], rows: Sample) -> float:
    """Returns the mean loss of rows of given scores, to which offsets are added."""
    with jax.enable_x64(True):
        return float(_mean_loss(scores.T, target_of(rows), weight_of(rows), rows.fields, loss=loss))


def _mean_of(loss: BaseLoss) -> Callable[..., Any]:
    return lambda evaluation, scores: mean_loss(loss, scores, evaluation.rows)


@compiled("loss", what=lambda *_, loss: f"the mean of {loss}", options=options_of_small_programs)
def _mean_loss(scores: Any, target: Any, weight: Any, extras: Any, *, loss: BaseLoss) -> Any:
    return loss.mean(jnp.asarray(scores), target, weight, extras)


def _scored_by(scorer: Callable[..., Any], name: str) -> Callable[..., Any]:
    def score(evaluation: Evaluation, scores: Float[np.ndarray, "row score"]) -> Any:
        own = weighted_if_taken(scorer, evaluation.rows.weight)
        if isinstance(scorer, ScorerOfExtras):
            own = functools.partial(own, **evaluation.rows.fields)
        try:
            return evaluation.predictions(scores).scored_by(own, evaluation.target)
        except (ValueError, TypeError) as error:
            raise InvalidInputError(f"eval_metric {name} cannot score {evaluation.name}: {in_words(error)}") from error

    return score


def _function_of_predictions(function: Callable[..., Any]) -> Callable[..., Any]:
    def value(evaluation: Evaluation, scores: Float[np.ndarray, "row score"]) -> Any:
        own = weighted_if_taken(function, evaluation.rows.weight)
        return own(evaluation.target, evaluation.predictions(scores).predict())

    return value


class Recorder:
    """Measures evaluations round by round.

    Args:
        evaluations: The evaluations.
        loss: The loss, which the rounds themselves measure.
        metrics: Further measures; the first may decide when to stop.
        scores: The scores of every evaluation before the first round.
        earlier: The measures of the rounds before these, if there are any.
        trees_per_round: How many trees a round has.

    Attributes:
        values: The measures, an array of every call.
        trees: The trees of every call, where there are metrics.
    """

    def __init__(
        self,
        evaluations: Sequence[Evaluation],
        loss: BaseLoss,
        metrics: Sequence[Metric],
        scores: Sequence[Float[np.ndarray, "row score"]],
        earlier: Measured | None = None,
        trees_per_round: int = 1,
    ):
        self._evaluations, self._metrics, self._scores, self._earlier = evaluations, metrics, list(scores), earlier
        self._trees_per_round = trees_per_round
        has_before = earlier is not None and bool(metrics and evaluations)
        self._before = metrics[0].measure(evaluations[0], scores[0]) if has_before else None
        self.measures = measures_of(loss, metrics, [own.name for own in evaluations])
        self.values: list[Float[np.ndarray, "round measure"]] = []
        self.trees: list[Forest] = []

    @property
    def num_rounds(self) -> int:
        """The number of rounds that were measured."""
        return sum(map(len, self.values))

    def measured(self, number: int | None = None) -> Measured:
        """Returns what was measured in the first of these rounds, or all, behind that of earlier ones.

        It is NaN of earlier rounds that were measured otherwise.
        """
        values = np.concatenate([np.zeros((0, len(self.measures))), *self.values])[:number]
        if self._earlier is not None:
            values = np.concatenate([self._earlier.by(self.measures).values, values])
        return Measured(self.measures, values)

    def best_and_last(self, stopping: EarlyStopping) -> tuple[int, int]:
        """Returns the number of rounds of the best value of the first metric, and that at which it stops boosting."""
        sign = -1 if self._metrics[0].is_better_if_greater else 1
        before = np.inf if self._before is None else sign * self._before
        return stopping.best_and_last(sign * np.concatenate(self.values)[:, 1], before)

    def words_of_newest(self) -> list[str]:
        """Returns the numbers of every round of the last call, in words."""
        names = [f"{own.evaluation} {own.metric}" for own in self.measures]
        return [
            ", ".join(f"{name} {x:z.5g}" for name, x in zip(names, row, strict=True))
            for row in self.values[-1].tolist()
        ]

    def add(self, trees: Forest | None, losses: Float[np.ndarray, "round evaluation"]) -> None:
        """Measures new rounds.

        Args:
            trees: Their trees, with thresholds in units of the table; None without metrics, which alone need them.
            losses: The mean loss of every evaluation after each.
        """
        columns = []
        if trees is not None:
            self.trees.append(trees)
        for number, own in enumerate(self._evaluations):
            columns.append(losses[:, number])
            if trees is not None:
                columns.extend(np.array(self._measure(number, own, trees)).T)
        self.values.append(np.stack(columns, axis=1) if columns else np.zeros((len(losses), 0)))

    def _measure(self, number: int, own: Evaluation, trees: Forest) -> list[list[float]]:
        """Returns all metrics of an evaluation after each round."""
        measured = []
        for scores in staged(trees, self._scores[number], own.values, self._trees_per_round):
            measured.append([metric.measure(own, scores) for metric in self._metrics])
            self._scores[number] = scores
        return measured


def staged(
    trees: Forest,
    scores: Float[np.ndarray, "row score"],
    values: Float[np.ndarray, "row feature"],
    trees_per_round: int = 1,
) -> Iterator[Float[np.ndarray, "row score"]]:
    """Yields the scores of rows after each round, with the bits that rounds make.

    Args:
        trees: The trees, with thresholds in units of the table.
        scores: The scores before the first one.
        values: The rows.
        trees_per_round: How many trees a round has.
    """
    steps, ends = target_means(trees.nodes), Predictor(trees).ends_in_trees(values)
    for number, end in enumerate(ends.T, 1):
        scores = scores + steps[end].astype(scores.dtype)
        if number % trees_per_round == 0:
            yield scores
