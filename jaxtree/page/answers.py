"""Answers of a fitted model on their own scale: probabilities of classes, means, times, or ranks."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Real
from sklearn.base import is_classifier

from jaxtree.dataset.arguments import read_arguments
from jaxtree.dataset.fields import read_fields
from jaxtree.dataset.sample import Outputs, read_known
from jaxtree.errors import present
from jaxtree.export.models import exported_model, exported_with_planes
from jaxtree.export.pictures import colour_of_class
from jaxtree.page.cards import ACCENT
from jaxtree.table.reading import check_same_length
from jaxtree.table.schema import Schema
from jaxtree.table.sources import is_source
from jaxtree.table.weights import check_sample_weight

SURVIVAL = {"cox", "accelerated_failure_time"}
RANKING = {"ndcg", "map", "pairwise"}
"""Names of losses."""

Values = Float[np.ndarray, "row feature"]


class Answers(NamedTuple):
    """The questions that a page asks a fitted model.

    Attributes:
        estimator: The model.
        kind: "classes", "numbers", "distributions", "survival" or "ranks".
        schema: The columns.
        classes: The names of the classes; none for others.
        unit: What an answer is, in words: "probability", or "prediction".
        answer: Returns the answers of encoded rows, a column a class or an output.
    """

    estimator: Any
    kind: str
    schema: Schema
    classes: list[str]
    unit: str
    answer: Callable[[Values], Float[np.ndarray, "row output"]]

    @property
    def outputs(self) -> Outputs:
        """The kind of the model's target."""
        if hasattr(self.estimator, "outputs"):
            return self.estimator.outputs()
        classes = (np.asarray(self.estimator.classes_),) if self.classes else ()
        return Outputs(getattr(self.estimator, "n_outputs_", 1), classes, is_vector=True)

    @property
    def link(self) -> Any:
        """The link of a model whose trees add up to scores; None of others."""
        return self.estimator.model_.link if self.adds_up else None

    @property
    def adds_up(self) -> bool:
        """Whether it is a model of boosted trees, or of terms."""
        return hasattr(type(self.estimator), "raw_scores")

    @property
    def is_ratio(self) -> bool:
        """Whether its scores are means by the weights of leaves."""
        return self.link is not None and self.link.is_ratio

    @property
    def is_additive(self) -> bool:
        """Whether it is a sum of terms of one column or two."""
        return hasattr(type(self.estimator), "eval_terms")

    @property
    def is_ensemble(self) -> bool:
        """Whether it averages boosted models."""
        return hasattr(self.estimator, "weights_")

    def name(self, place: int) -> str:
        """Returns the name of an output: a class, "quantile 0.9", or "output 1"."""
        if self.classes:
            return self.classes[place]
        loss = getattr(self.estimator, "loss_", None)
        levels = dict(getattr(loss, "parameters", ())).get("levels", ())
        return f"quantile {levels[place]:g}" if place < len(levels) else f"output {place}"

    def colour(self, place: int) -> str:
        """Returns the colour of a class, or of an output."""
        return colour_of_class(place) if self.classes else (ACCENT if place == 0 else colour_of_class(place))


class PageTable(NamedTuple):
    """Rows of a page.

    Attributes:
        name: "training" or "validation".
        number: Their places in the given table.
        values: Their values, encoded.
        target: Their classes as codes, -1 of one that the model does not know, or numbers, a column an output; None if
            it is not given.
        weight: Their weights; ones if not given.
        fields: What else the loss asks for.
        predicted: What is answered of them.
        X: The table.
        y: The target as it was given.
        extras: The extras as they were given.
    """

    name: str
    number: Int[np.ndarray, " row"]
    values: Values
    target: Real[np.ndarray, "row output"] | None
    weight: Float[np.ndarray, " row"]
    fields: Mapping[str, Any]
    predicted: Float[np.ndarray, "row output"]
    X: Any
    y: Any
    extras: Mapping[str, Any]

    @property
    def truth(self) -> Real[np.ndarray, "row output"]:
        """The target, of rows that have one."""
        return present(self.target)

    @property
    def labels(self) -> Int[np.ndarray, " row"]:
        """The codes of the first output."""
        return self.truth[:, 0].astype(np.int64)


def answers_of(estimator: Any) -> Answers:
    """Returns what is asked of a fitted model.

    Raises:
        InvalidInputError: It has several outputs, of classes.
        InvalidTypeError: It is no tree, forest or ensemble of jaxtree, or decides by degrees.
        sklearn.exceptions.NotFittedError: It is not fitted.
    """
    if hasattr(type(estimator), "model_of_planes"):
        exported_with_planes(estimator, no_missing=True)
        schema = estimator.encoder_.schema_
    else:
        schema = exported_model(estimator).schema
    kind = _kind(estimator)
    classes = [str(name) for name in estimator.classes_] if kind == "classes" else []
    unit = _unit(kind, getattr(getattr(estimator, "loss_", None), "name", ""))
    return Answers(estimator, kind, schema, classes, unit, estimator.predict_values)


def _kind(estimator: Any) -> str:
    if is_classifier(estimator):
        return "classes"
    name = getattr(getattr(estimator, "loss_", None), "name", "")
    if name in SURVIVAL:
        return "survival"
    if name in RANKING:
        return "ranks"
    return "distributions" if hasattr(type(estimator), "predict_dist") else "numbers"


def _unit(kind: str, loss: str = "") -> str:
    if kind == "classes":
        return "probability"
    if kind == "survival":
        return "relative risk" if loss == "cox" else "predicted time"
    return {"ranks": "score", "distributions": "predicted mean"}.get(kind, "prediction")


def read_table(answers: Answers, name: str, X: Any, y: Any, extras: Mapping[str, Any]) -> PageTable | None:
    """Returns rows with what the model answers of them; None where there is no table.

    Rows of weight 0 are left out.

    Args:
        answers: What is asked of the model.
        name: "training" or "validation".
        X: A table as in fit, or a source.
        y: Its target, or the name of its column; None for rows without one.
        extras: `sample_weight`, and what the loss asks for.

    Raises:
        InvalidInputError: They are not as in fit, or all have weight 0.
    """
    if X is None:
        return None
    encoder, fields = answers.estimator.encoder_, dict(extras)
    weight, target = fields.pop("sample_weight", None), None
    if y is None:
        given = read_arguments(X, None, weight, fields)
        own = given.X.without(answers.estimator.other_columns_) if is_source(given.X) else given.X
        values = np.asarray(encoder.values(own), np.float64)
        weight, fields = check_sample_weight(given.sample_weight, len(values)), read_fields(given.fields, len(values))
    else:
        has_fields = answers.kind not in ("classes", "numbers") or answers.adds_up
        sample = read_known(answers.outputs, X, y, weight, fields if has_fields else None)
        values, weight, fields = np.asarray(encoder.values(sample.X), np.float64), sample.weight, sample.fields
        target = sample.target.T
        check_same_length(len(values), sample.target[0])
    weights = np.ones(len(values)) if weight is None else np.asarray(weight, np.float64)
    number = np.flatnonzero(weights > 0)
    values, fields = values[number], {key: np.asarray(own)[number] for key, own in fields.items()}
    target = None if target is None else target[number]
    predicted = _with_offset(answers, values, fields)
    return PageTable(name, number, values, target, weights[number], fields, predicted, X, y, dict(extras))


def _with_offset(answers: Answers, values: Values, fields: Mapping[str, Any]) -> Float[np.ndarray, "row output"]:
    """Predictions of rows, with their offset added to the scores."""
    if "offset" not in fields:
        return answers.answer(values)
    estimator = answers.estimator
    fixed = estimator.fixed_predictions(estimator.scores_of(values), fields["offset"])
    found = fixed.predict_proba(None) if answers.classes else fixed.predict(None)
    return np.asarray(found, np.float64).reshape(len(values), -1)
