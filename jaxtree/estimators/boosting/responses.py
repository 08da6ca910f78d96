"""How scores become predictions: of classes their probabilities, of numbers what the loss predicts."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from jaxtree.dataset.sample import Outputs, Sample, read_known
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.metrics import mean_loss
from jaxtree.estimators.boosting.rows import allowed_rows, target_of
from jaxtree.estimators.boosting.survival import concordance_of, is_of_times
from jaxtree.estimators.common.fixed import FixedClasses, FixedNumbers
from jaxtree.losses.loss import BaseLoss
from jaxtree.metrics import ndcg
from jaxtree.serving.by_loss import Scores, first_numbers, first_scores, given_numbers, shares_of, with_offset


def scores_by_loss(loss: BaseLoss, num_outputs: int) -> bool:
    """Returns whether predictions are no numbers close to the targets, so that the loss says what scores them."""
    return bool(loss.needs) or loss.num_scores != num_outputs


def name_of_score(loss: BaseLoss, num_outputs: int) -> str:
    """Returns what numbers are scored by.

    >>> from jaxtree.boosting import cox, quantiles, squared
    >>> name_of_score(cox(), 1), name_of_score(squared(), 1), name_of_score(quantiles([0.1, 0.9]), 1)
    ('concordance', 'R²', 'minus mean quantiles(levels=(0.1, 0.9))')
    """
    if is_of_times(loss):
        return "concordance"
    return f"minus mean {loss}" if scores_by_loss(loss, num_outputs) else "R²"


def score_of(loss: BaseLoss, rows: Sample, scores: Scores) -> float:
    """Returns the score of rows by the loss: of survival times the concordance index, of others minus the mean.

    Args:
        loss: The loss.
        rows: The rows with the fields of the loss.
        scores: Their scores by the trees, without offsets.
    """
    if is_of_times(loss):
        return concordance_of(loss, rows, with_offset(loss, scores, rows.fields.get("offset")))
    return likelihood_of(loss, rows, scores)


def likelihood_of(loss: BaseLoss, rows: Sample, scores: Scores) -> float:
    """Returns minus the mean loss of rows, which is the mean log likelihood where the loss is one of a distribution."""
    return -mean_loss(loss, scores, rows)


def fixed_classes(loss: BaseLoss, outputs: Outputs, scores: Scores, offset: Any = None) -> FixedClasses:
    """Returns the probabilities of the classes of one output."""
    scores = with_offset(loss, scores, offset)
    of_second = scores[:, 0] if scores.shape[1] == 1 else scores
    return FixedClasses(shares_of(loss, scores), outputs.classes[0], of_second)


def fixed_numbers(loss: BaseLoss, outputs: Outputs, scores: Scores, offset: Any = None) -> FixedNumbers:
    """Returns the numbers that a loss predicts; of one output a vector."""
    predicted = given_numbers(loss, with_offset(loss, scores, offset), is_vector=outputs.is_vector)
    score_by = None
    if scores_by_loss(loss, outputs.number):
        score_by = functools.partial(_score_of_table, score_of, loss, outputs, scores)
    return FixedNumbers(predicted, score_by, name_of_score(loss, outputs.number))


def fixed_means(loss: BaseLoss, outputs: Outputs, scores: Scores, offset: Any = None) -> FixedNumbers:
    """Returns the first number that a loss predicts, of distributions the mean."""
    means = first_numbers(loss, with_offset(loss, scores, offset))
    score_by = functools.partial(_score_of_table, likelihood_of, loss, outputs, scores)
    return FixedNumbers(means, score_by, "mean log likelihood")


def fixed_ranks(
    loss: BaseLoss, outputs: Outputs, scores: Scores, offset: Any = None, *, k: int | None = None
) -> FixedNumbers:
    """Returns the scores themselves, by which rows are ranked; they are scored by the first k rows of each group."""
    score_by = functools.partial(_score_of_table, functools.partial(ndcg_of, k=k), loss, outputs, scores)
    return FixedNumbers(first_scores(loss, with_offset(loss, scores, offset)), score_by, "NDCG")


def ndcg_of(loss: BaseLoss, rows: Sample, scores: Scores, *, k: int | None) -> float:
    """Returns the mean normalised discounted cumulative gain of rows of known scores."""
    if rows.fields.get("group") is None:
        raise InvalidInputError("a ranker needs group, the group of every row, got None")
    shown = with_offset(loss, scores, rows.fields.get("offset"))[:, 0]
    return ndcg(target_of(rows), shown, group=rows.fields["group"], k=k, sample_weight=rows.weight)


def _score_of_table(
    measure: Callable[[BaseLoss, Sample, Scores], float],
    loss: BaseLoss,
    outputs: Outputs,
    scores: Scores,
    X: Any,
    y: Any,
    sample_weight: Any,
    fields: Mapping[str, Any],
) -> float:
    """Returns what a measure says of rows of known scores."""
    return measure(loss, allowed_rows(loss, read_known(outputs, X, y, sample_weight, fields)), scores)
