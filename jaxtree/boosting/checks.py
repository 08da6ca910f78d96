"""Checks of what a user gives a boosting: rows, evaluations, how trees are grown, and how it holds back.

Values are checked where they are known: not those of rows that other processes have a part of.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxtree import forks
from jaxtree.boosting.data import BaseLearner, BoostData
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.boosting.samples import MinimalVariance, OneSided, Uniform
from jaxtree.boosting.shrinkage import Shrinkage
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.growth.inputs.bundles import Missing
from jaxtree.growth.inputs.checks import check_array, check_codes, check_limits, check_number, check_sizes, check_weight
from jaxtree.growth.inputs.newton import Penalties, check_penalties
from jaxtree.growth.inputs.standard_objectives import Numbers
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree.checks import known


def check_data(data: BoostData, loss: BaseLoss, num_bins: int) -> None:
    """Checks arrays of rows, and that the loss allows their targets.

    Args:
        data: The rows, and those of evaluations.
        loss: The loss.
        num_bins: The number of codes that a feature may have.
    """
    check_rows(data.rows, num_bins)
    for number, evaluation in enumerate(data.evaluations):
        check_rows(evaluation, num_bins, f"evaluation {number}")
    check_start(data.start, data.earlier, loss, (data.rows, *data.evaluations))
    weight, target = known(data.rows.weight), known(data.rows.target)
    if weight is not None and target is not None:
        is_there = weight > 0
        extras = {name: np.asarray(values)[is_there] for name, values in data.rows.extras.items()}
        loss.check_fit(target[is_there], extras)


def check_boosting(data: BoostData, loss: BaseLoss, learner: BaseLearner, shrinkage: Shrinkage) -> None:
    """Checks what is neither checked by the loss nor by the rules and limits of growth, beside arrays that are right.

    Args:
        data: The rows, and those of evaluations.
        loss: The loss.
        learner: How trees are grown.
        shrinkage: How the boosting holds back.
    """
    forks.check_is_whole("boosting")
    if learner.missing == Missing.FRACTION:
        raise InvalidInputError("boosting does not share rows out among branches: missing must be LEARN or BRANCH")
    if shrinkage.dropping is not None and data.earlier:
        raise InvalidInputError("boosting that drops trees cannot go on from earlier rounds: their trees would change")
    if shrinkage.dropping is not None and learner.trees_per_round(loss) > 1:
        raise InvalidInputError("boosting drops trees that change all scores: one_output_per_tree must be False")
    check_sizes(learner.sizes)
    if learner.sizes.num_roots != 1:
        raise InvalidInputError(f"num_roots must be 1, as every tree is grown alone, got {learner.sizes.num_roots}")
    check_evaluations(data.evaluations, data.rows)
    check_shrinkage(shrinkage)


def check_ordered(loss: BaseLoss) -> None:
    """Checks that the scores of a loss have an order that monotone constraints can keep."""
    if not loss.num_ordered:
        raise InvalidInputError(
            f"monotone constraints bound one score, quantiles, or a location: {loss} has {loss.num_scores} scores, the "
            "first of which is none (a loss of one's own says so by has_location=True)"
        )


def check_members(members: Sequence[Any]) -> None:
    """Checks the numbers of each of many models, and the weights of those that have rows of their own.

    Args:
        members: Each a `Member` of `jaxtree.boosting.many`.
    """
    for member in members:
        check_number("num_rounds", member.num_rounds, 1)
        check_number("seed", member.seed, 0, 2**32 - 1)
        check_shrinkage(member.shrinkage)
        check_penalties(Penalties(member.shrinkage.l2, member.shrinkage.l1, member.shrinkage.max_step))
        check_limits(member.limits, Numbers(), 1)
        for weight in () if member.own is None else member.own.weight:
            check_weight(weight)


def check_rows(rows: ScoredRows, num_bins: int, what: str = "rows") -> None:
    """Checks that the arrays of rows fit together, and that codes and weights are such.

    Args:
        rows: The rows; the loss checks their targets and extras.
        num_bins: The number of codes that a feature may have.
        what: The noun for them in messages.
    """
    if not isinstance(rows, ScoredRows):
        raise InvalidTypeError(f"{what} must be ScoredRows, got {type(rows).__name__}")
    check_codes(rows.codes, num_bins)
    num_rows = rows.codes.shape[1]
    named = {
        "target": rows.target,
        "weight": rows.weight,
        **{f"extra {name!r}": own for name, own in rows.extras.items()},
    }
    for name, values in named.items():
        check_array(f"{name} of {what}", values)
        if values.shape[:1] != (num_rows,) or (name == "weight" and values.ndim != 1):
            raise InvalidInputError(f"{name} of {what} must have {num_rows} rows, as codes have, got {values.shape}")
    check_weight(rows.weight)
    weight = known(rows.weight)
    if weight is not None and not np.any(weight > 0) and what == "rows":
        raise InvalidInputError(f"weight must be above 0 for some row, got 0 for all {num_rows}")


def check_evaluations(evaluations: Sequence[ScoredRows], rows: ScoredRows) -> None:
    """Checks that rows of evaluations are like those that trees are grown on."""
    for number, evaluation in enumerate(evaluations):
        what = f"evaluation {number}"
        if len(evaluation.codes) != len(rows.codes):
            raise InvalidInputError(
                f"codes of {what} must have {len(rows.codes)} features, as the rows have, got {len(evaluation.codes)}"
            )
        if evaluation.target.shape[1:] != rows.target.shape[1:] or set(evaluation.extras) != set(rows.extras):
            raise InvalidInputError(
                f"{what} must have targets of the shape {rows.target.shape[1:]} a row and the extras "
                f"{sorted(rows.extras)}, as the rows have, got {evaluation.target.shape[1:]} and "
                f"{sorted(evaluation.extras)}"
            )


def check_start(start: Any, earlier: Any, loss: BaseLoss, tables: Sequence[ScoredRows]) -> None:
    """Checks scores to begin with: those of the start, and those of earlier rounds on the rows and every evaluation."""
    if start is not None:
        _check_scores("start", start, (loss.num_scores,))
    if earlier is None:
        return
    check_number("number of earlier rounds", earlier.number, 0)
    given = (earlier.scores, *earlier.evaluated)
    if len(given) != len(tables):
        raise InvalidInputError(f"earlier must have scores of {len(tables) - 1} evaluations, got {len(given) - 1}")
    for number, (scores, rows) in enumerate(zip(given, tables, strict=True)):
        name = f"scores of evaluation {number - 1}" if number else "scores"
        _check_scores(f"earlier {name}", scores, (loss.num_scores, rows.codes.shape[1]))


def check_shrinkage(shrinkage: Shrinkage) -> None:
    """Checks the numbers of a shrinkage that neither limits nor penalties are."""
    _check_within("least_gain", shrinkage.least_gain, -np.inf, np.inf)
    _check_within("tolerance", shrinkage.tolerance, -np.inf, np.inf)
    check_number("patience", shrinkage.patience, 1)
    if shrinkage.max_leaf_nodes is not None:
        check_number("max_leaf_nodes", shrinkage.max_leaf_nodes, 1)
    sample = shrinkage.sample
    if not isinstance(sample, Uniform | OneSided | MinimalVariance):
        raise InvalidTypeError(f"sample must be Uniform, OneSided or MinimalVariance, got {sample!r}")
    for name, part in sample._asdict().items():
        _check_within(name, part, 0, 1)
    if isinstance(sample, OneSided) and not 0 < sample.top_rate + sample.other_rate <= 1:
        raise InvalidInputError(
            f"top_rate and other_rate must have a sum above 0 and of at most 1, got {sample.top_rate} and "
            f"{sample.other_rate}"
        )
    if not isinstance(sample, OneSided) and not sample.fraction > 0:
        raise InvalidInputError(f"fraction must be above 0, got {sample.fraction}")
    if shrinkage.dropping is not None:
        for name, part in shrinkage.dropping._asdict().items():
            _check_within(name, part, 0, 1)


def _check_within(name: str, value: Any, least: float | int, most: float | int) -> None:
    if not least <= value <= most:
        raise InvalidInputError(f"{name} must be from {least} to {most}, got {value}")


def _check_scores(name: str, scores: Any, shape: tuple[int, ...]) -> None:
    """Checks the shape of scores, and that they are numbers."""
    if np.shape(scores) != shape:
        raise InvalidInputError(f"{name} must have the shape {shape}, got {np.shape(scores)}")
    values = known(scores)
    if values is not None and not np.isfinite(values).all():
        raise InvalidInputError(f"{name} must be finite, got {values[~np.isfinite(values)][0]}")
