"""Explanations of models whose trees do not add up: hardened forms of soft ones, and comparisons with other rows."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from jaxtree.errors import InvalidInputError
from jaxtree.explain.coalitions import (
    NUM_PAIRS,
    Others,
    Values,
    drawn_background,
    is_exact,
    predictions_of_coalitions,
    weights_of,
    weights_of_pairs,
)
from jaxtree.tree.kinds import ModelKind, keeps_rows, kind_of


class HardForm(NamedTuple):
    """The model that is explained in the place of an estimator.

    Attributes:
        estimator: The hardened form of a soft model; any other estimator itself.
        note: How far both predict the same, in words; empty of others.
    """

    estimator: Any
    note: str


def hard_form(estimator: Any) -> HardForm:
    """Returns what explains a fitted estimator.

    Raises:
        InvalidInputError: A soft model has no hard form, or does not have the rows of its fit, as one from a file.
    """
    if kind_of(estimator) != ModelKind.SOFT:
        return HardForm(estimator, "")
    hard = estimator.harden()
    name = type(estimator).__name__
    return HardForm(hard, f"of the hardened form, whose agreement with this {name} is {hard.agreement_:.1%}")


def together(*notes: str) -> str:
    """Returns some notes as one.

    >>> together("of the hardened form", "", "over all coalitions")
    'of the hardened form; over all coalitions'
    """
    return "; ".join(note for note in notes if note)


class BackgroundContributions(NamedTuple):
    """Contributions of columns, or of pairs of columns, in comparison with a background.

    Attributes:
        values: A contribution for every row, column and output.
        base: The mean prediction of the background.
        how: How they were found, in words.
    """

    values: Float64[np.ndarray, "row *column output"]
    base: Float64[np.ndarray, " output"]
    how: str


def has_no_sum(estimator: Any) -> bool:
    """Returns whether what an estimator predicts is no function of sums over trees.

    It splits by planes, divides what its trees add up to by weights of leaves, or predicts from rows in its leaves.
    """
    return kind_of(estimator) in (ModelKind.PLANES, ModelKind.WEIGHTED) or keeps_rows(estimator)


def compare(
    estimator: Any, values: Values, others: Others | None = None, *, of_pairs: bool = False
) -> BackgroundContributions:
    """Returns the contributions of columns to the predictions, or the scores, of an estimator that has no sum.

    Args:
        estimator: The estimator.
        values: The rows, encoded.
        others: The background, encoded; if not given, rows that it was hardened on, or the rows themselves.
        of_pairs: Whether pairs of columns are asked about, which have in the diagonal what each column has alone.

    Raises:
        InvalidInputError: There is no background, and one row; or there are too many columns for pairs.
    """
    others = getattr(estimator, "background_", None) if others is None else others
    if others is None and len(values) < 2:
        raise InvalidInputError(
            f"this {type(estimator).__name__} has no rows to compare one with: call shap_values with background, a "
            "table of rows"
        )
    background = drawn_background(values if others is None else others)
    number = values.shape[1]
    pairs = weights_of_pairs(number) if of_pairs else None
    predicted = predictions_of_coalitions(_explained(estimator), values, background)
    found = np.einsum("ck,kro->rco", weights_of(number).weight, predicted)
    if pairs is not None:
        together, own = np.einsum("cdk,kro->rcdo", pairs, predicted), np.arange(number)
        together[:, own, own] = found - together.sum(axis=2)
        found = together
    over = f"all coalitions of {number} columns" if is_exact(number) else f"{2 * NUM_PAIRS} orders of columns"
    known = "exact over" if is_exact(number) else "estimated over"
    base = predicted[0, 0] if len(values) else np.zeros(predicted.shape[-1])
    return BackgroundContributions(found, base, f"{known} {over}, in comparison with {len(background)} rows")


def _explained(estimator: Any) -> Callable[[Values], Float64[np.ndarray, "row output"]]:
    """The values that are explained: scores where there are some, and else predictions."""
    return estimator.scores_of if estimator.model_kind.adds_up else estimator.predict_values
