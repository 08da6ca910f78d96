"""How scores become predictions: of classes their probabilities, of numbers what the loss predicts."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxtree.dataset.fields import read_fields
from jaxtree.dataset.sample import Outputs, read_known
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.metrics import mean_loss
from jaxtree.estimators.boosting.rows import allowed_rows
from jaxtree.estimators.common.fixed import FixedClasses, FixedNumbers
from jaxtree.losses.links import predictions_of
from jaxtree.losses.loss import BaseLoss, shifted

Scores = Float[np.ndarray, "row score"]


def with_offset(loss: BaseLoss, scores: Scores, offset: Any) -> Scores:
    """Returns scores to which an offset is added, if there is one.

    Raises:
        InvalidInputError: It has another number of rows, or of columns.
    """
    if offset is None:
        return scores
    offset = read_fields({"offset": offset}, len(scores))["offset"]
    if offset.shape[1:] not in ((), scores.shape[1:]):
        raise InvalidInputError(f"offset must have 1 or {scores.shape[1]} columns, got {offset.shape[1]}")
    return shifted(scores.T, offset, loss.has_location).T


def numbers_of(loss: BaseLoss, scores: Scores) -> Float[np.ndarray, "row prediction"]:
    """Returns what a loss predicts."""
    return predictions_of(loss, scores.T).T


def shares_of(loss: BaseLoss, scores: Scores) -> Float[np.ndarray, "row class"]:
    """Returns the probability of every class; of two the loss predicts that of the second."""
    shares = numbers_of(loss, scores)
    return np.concatenate([1 - shares, shares], axis=1) if shares.shape[1] == 1 else shares


def scores_by_loss(loss: BaseLoss, num_outputs: int) -> bool:
    """Returns whether predictions are no numbers close to the targets, so that the loss scores them."""
    return bool(loss.needs) or loss.num_scores != num_outputs


def fixed_classes(loss: BaseLoss, outputs: Outputs, scores: Scores, offset: Any = None) -> FixedClasses:
    """Returns the probabilities of the classes of one output."""
    scores = with_offset(loss, scores, offset)
    of_second = scores[:, 0] if scores.shape[1] == 1 else scores
    return FixedClasses(shares_of(loss, scores), outputs.classes[0], of_second)


def fixed_numbers(loss: BaseLoss, outputs: Outputs, scores: Scores, offset: Any = None) -> FixedNumbers:
    """Returns the numbers that a loss predicts; of one output a vector."""
    numbers = numbers_of(loss, with_offset(loss, scores, offset))
    score_by = None
    if scores_by_loss(loss, outputs.number):
        score_by = functools.partial(_minus_mean_loss, loss, outputs, scores)
    return FixedNumbers(numbers[:, 0] if outputs.is_vector and numbers.shape[1] == 1 else numbers, score_by)


def fixed_means(loss: BaseLoss, outputs: Outputs, scores: Scores, offset: Any = None) -> FixedNumbers:
    """Returns the first number that a loss predicts, of distributions the mean."""
    return FixedNumbers(numbers_of(loss, with_offset(loss, scores, offset))[:, 0])


def fixed_ranks(loss: BaseLoss, outputs: Outputs, scores: Scores, offset: Any = None) -> FixedNumbers:
    """Returns the scores themselves, by which rows are ranked."""
    return FixedNumbers(with_offset(loss, scores, offset)[:, 0])


def _minus_mean_loss(
    loss: BaseLoss, outputs: Outputs, scores: Scores, X: Any, y: Any, sample_weight: Any, fields: Mapping[str, Any]
) -> float:
    """Returns minus the mean loss of rows of known scores."""
    return -mean_loss(loss, scores, allowed_rows(loss, read_known(outputs, X, y, sample_weight, fields)))
