"""The mean of boosted models: the conditions under which models are averaged, and the table that they share."""

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxtree.errors import InvalidInputError
from jaxtree.losses.links import name_of_link
from jaxtree.table.encoder import Encoder
from jaxtree.table.schema import Column, Columns, Schema


def common_encoder(encoders: Sequence[Encoder]) -> Encoder:
    """Returns the encoder of a table that several models have read: of each column the finest of their bins.

    Raises:
        InvalidInputError: They have read several tables, or one in several ways.
    """
    first, schemas = encoders[0], [own.schema_ for own in encoders]
    if all(schema == schemas[0] for schema in schemas):
        return first
    names = {schema.column_names for schema in schemas}
    if len(names) > 1:
        raise InvalidInputError("models must be fitted on one table to be averaged, got several lists of columns")
    columns = tuple(_common_column(own) for own in zip(*(schema.columns for schema in schemas), strict=True))
    encoder = copy.copy(first)
    encoder.schema_ = Schema(Columns.of(columns))
    return encoder


def _common_column(columns: Sequence[Column]) -> Column:
    first = columns[0]
    for own in columns:
        if (own.kind, own.categories, own.time) != (first.kind, first.categories, first.time):
            raise InvalidInputError(
                "models must read the columns of one table alike to be averaged, and of "
                f"{first.name!r} they have other kinds, categories or dates"
            )
    finest = max(columns, key=lambda own: own.num_values)
    return dataclasses.replace(finest, has_missing=any(own.has_missing for own in columns))


def check_can_average(models: Sequence[Any]) -> None:
    """Raises InvalidInputError unless fitted models have the same classes, and predict alike from their scores."""
    first = models[0]
    link, classes = name_of_link(first.loss_), [own.tolist() for own in first.class_names()]
    for model in models:
        if (own := [names.tolist() for names in model.class_names()]) != classes:
            raise InvalidInputError(
                f"models must have the same classes to be averaged, got {classes[0]} and {own[0]}: stratify the parts "
                "that they are fitted on"
            )
        is_like = link is not None and (link, first.start_.size) == (name_of_link(model.loss_), model.start_.size)
        if not is_like and model.loss_ != first.loss_:
            raise InvalidInputError(
                "models must predict alike from their scores, which are averaged, got the losses "
                f"{first.loss_} and {model.loss_}"
            )


def shares_of(models: Sequence[Any], weights: Sequence[float] | None) -> Float[np.ndarray, " model"]:
    """Returns the weights of models, all alike if not given, divided by their sum.

    Raises:
        InvalidInputError: There is no model, or one without a finite weight above 0.
    """
    given = np.ones(len(models)) if weights is None else np.asarray(weights)
    is_vector = given.shape == (len(models),) and given.dtype.kind in "iuf"
    if not len(models) or not is_vector or not (np.isfinite(given) & (given > 0)).all():
        raise InvalidInputError(
            f"a mean is of one model or more, each with a weight above 0, got {len(models)} with weights={weights!r}"
        )
    return given.astype(np.float64) / np.sum(given, dtype=np.float64)
