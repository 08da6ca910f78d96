"""Rows of a boosted fit as losses take them, and the rows that are measured beside."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Shaped, UInt

from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.dataset.arguments import ValidationRows
from jaxtree.dataset.exchange import LONE, Exchange
from jaxtree.dataset.magnitude import unit_of
from jaxtree.dataset.sample import Outputs, Sample, read_known
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.extras import fit_fields
from jaxtree.estimators.common.growing import padded_rows
from jaxtree.losses.loss import BaseLoss


def target_of(sample: Sample) -> Shaped[np.ndarray, "row *output"]:
    """Returns the target as losses take it: of several outputs, or of shares of several classes, a column each."""
    if sample.outputs.has_shares and len(sample.target) == 2:
        return sample.target[1]
    return sample.target[0] if len(sample.target) == 1 else sample.target.T


def target_in_words(sample: Sample) -> Shaped[np.ndarray, "row *output"]:
    """Returns the target as the user has given it; of probabilities the most probable classes."""
    return sample.outputs.classes[0][sample.labels[0]] if sample.outputs.classes else target_of(sample)


def weight_of(sample: Sample) -> Shaped[np.ndarray, " row"]:
    """Returns the weight of every row."""
    return np.ones(sample.num_rows) if sample.weight is None else sample.weight


def unit_of_rows(loss: BaseLoss, sample: Sample, exchange: Exchange = LONE) -> float:
    """Returns the weight that counts as one row where second derivatives are compared with limits and penalties.

    Second derivatives of a loss such as that of Poisson have the unit of the target, too: a row counts by its weight
    times its target, which is the number of events where the target is a rate and the weight an exposure.

    Args:
        loss: The loss, which allows the rows.
        sample: The rows, all of positive weight.
        exchange: How the processes that have parts of the rows know of one another.
    """
    weight = weight_of(sample)
    if loss.degree:
        target = np.asarray(target_of(sample), np.float64).reshape(sample.num_rows, -1)
        weight = weight * np.mean(np.abs(target) ** loss.degree, axis=1)
    return unit_of(exchange.join(weight))


def in_unit(sample: Sample, unit: float) -> Sample:
    """Returns the rows with weights that count rows, of which one has the weight `unit`."""
    return sample if unit == 1 else sample._replace(weight=weight_of(sample) / unit)


def scored_rows(sample: Sample, codes: UInt[np.ndarray, "feature padded_row"]) -> ScoredRows:
    """Returns the rows with their codes, padded to the length of these by rows of weight 0."""
    target, weight, *fields = (
        padded_rows(values.T, codes.shape[1]).T
        for values in (target_of(sample), weight_of(sample), *sample.fields.values())
    )
    return ScoredRows(codes, target, weight, dict(zip(sample.fields, fields, strict=True)))


def allowed_rows(loss: BaseLoss, sample: Sample) -> Sample:
    """Returns rows that no tree is grown on with the fields of a loss, which allows them and the target."""
    sample = fit_fields(loss, sample)
    loss.check(target_of(sample), sample.fields)
    return sample


def evaluations_by_name(
    eval_set: Sequence[Any] | Mapping[str, Any] | None, validation: ValidationRows | None = None
) -> dict[str, Any]:
    """Returns the members of `eval_set` by name, after validation rows that are given by themselves.

    Raises:
        InvalidInputError: A member has the name of these rows.
    """
    first: list[Any] = [] if validation is None else [validation]
    if not isinstance(eval_set, Mapping):
        return {f"validation_{number}": given for number, given in enumerate([*first, *(eval_set or ())])}
    if first and "validation_0" in eval_set:
        raise InvalidInputError("X_val is measured as 'validation_0': a table of eval_set must have another name")
    return dict(zip(["validation_0"], first, strict=False)) | dict(eval_set)


def read_evaluation(outputs: Outputs, given: Any) -> Sample:
    """Reads a member of `eval_set`: a table and its target, perhaps weights, perhaps a dict of fields.

    Raises:
        InvalidInputError: It is something else, or has classes that the fit has not.
    """
    if not isinstance(given, list | tuple) or not 2 <= len(given) <= 4:
        raise InvalidInputError(
            f"eval_set must hold pairs (X, y), perhaps with weights and a dict of extras, got {type(given)}"
        )
    *table, fields = given if isinstance(given[-1], dict) else (*given, {})
    X, y, weight = (*table, None)[:3]
    sample = read_known(outputs, X, y, weight, fields)
    if outputs.classes and np.any(sample.target < 0):
        raise InvalidInputError("y of eval_set has a class that y does not have")
    return sample
