"""PageModel of a fitted model on their own scale: probabilities of classes, means, times, or ranks."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Real
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.arguments import numbers_of_groups, read_arguments, read_fields
from jaxtree.dataset.sample import Outputs, Sample, read_known
from jaxtree.errors import present
from jaxtree.estimators.common.extras import extras_of
from jaxtree.export.models import exported_with_planes
from jaxtree.export.pictures import colour_of_class
from jaxtree.figures.outputs import class_labels, link_of, output_labels
from jaxtree.metrics import concordance_index
from jaxtree.page.cards import ACCENT
from jaxtree.serving.by_loss import with_offset
from jaxtree.table.reading import check_same_length
from jaxtree.table.schema import Schema
from jaxtree.table.sources import is_source
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree.kinds import ModelKind, Prediction, keeps_rows, unit_of

Values = Float[np.ndarray, "row feature"]


class PageModel(NamedTuple):
    """A fitted model as a page asks it.

    Attributes:
        estimator: The estimator.
        schema: Its columns.
        classes: The names of the classes; none for others.
        target: The name of the target's column; empty if nobody has named it.
    """

    estimator: Any
    schema: Schema
    classes: list[str]
    target: str = ""

    @property
    def kind(self) -> ModelKind:
        """The kind of the model."""
        return self.estimator.model_kind

    @property
    def predicts(self) -> Prediction:
        """The kind of its predictions."""
        return self.estimator.predicts

    @property
    def unit(self) -> str:
        """The name of a prediction: "probability", or "prediction"."""
        return unit_of(self.estimator)

    @property
    def outputs(self) -> Outputs:
        """The kind of the model's target."""
        return self.estimator.outputs()

    @property
    def link(self) -> Any:
        """The link of a model whose trees add up to scores; None of others."""
        return link_of(self.estimator)

    @property
    def extras(self) -> tuple[str, ...]:
        """The names of what rows have beside targets and weights, as the model's fit took it."""
        if self.adds_up:
            return extras_of(self.estimator.loss_)
        return self.estimator.extras_of_fit if self.predicts == Prediction.RISKS else ()

    @property
    def adds_up(self) -> bool:
        """Whether it is a model of boosted trees, or of terms."""
        return self.kind.adds_up

    def name(self, place: int) -> str:
        """Returns the name of an output: a class, "quantile 0.9", or "output 1"."""
        return self.classes[place] if self.classes else output_labels(self.estimator, place + 1)[place]

    def in_target(self, place: int) -> str:
        """Returns a class with the name of the target, such as "species setosa" or "survived = 1".

        >>> named = PageModel(None, None, ["setosa", "1"], "species")
        >>> named.in_target(0), named.in_target(1), named._replace(target="").in_target(0)
        ('species setosa', 'species = 1', 'setosa')
        """
        name = self.classes[place]
        if not self.target:
            return name
        return f"{self.target} = {name}" if name[:1].isdigit() else f"{self.target} {name}"

    def colour(self, place: int) -> str:
        """Returns the colour of a class, or of an output."""
        return colour_of_class(place) if self.classes else (ACCENT if place == 0 else colour_of_class(place))


class PageTable(NamedTuple):
    """Rows of a page.

    Attributes:
        name: "training" or "validation".
        number: Their places in the given table.
        values: Their values, encoded.
        scores: The scores of trees or terms, without offsets; None of models that add none up.
        target: Their classes as codes, -1 of one that the model does not know, or numbers, a column an output; None if
            it is not given.
        weight: Their weights; ones if not given.
        fields: Further data of rows that the loss needs.
        predicted: Their predictions.
        said: The codes of the classes that are predicted; None of numbers.
        clusters: The numbers of the groups of rows that are alike; None where every row stands for itself.
    """

    name: str
    number: Int[np.ndarray, " row"]
    values: Values
    scores: Float[np.ndarray, "row score"] | None
    target: Real[np.ndarray, "row output"] | None
    weight: Float[np.ndarray, " row"]
    fields: Mapping[str, Any]
    predicted: Float[np.ndarray, "row output"]
    said: Int[np.ndarray, " row"] | None
    clusters: Int[np.ndarray, " row"] | None = None

    def at(self, rows: Int[np.ndarray, " some"]) -> "PageTable":
        """Returns some of the rows, which may be there more than once."""

        def taken(own: Any) -> Any:
            return None if own is None else np.asarray(own)[rows]

        return self._replace(
            number=taken(self.number),
            values=taken(self.values),
            scores=taken(self.scores),
            target=taken(self.target),
            weight=taken(self.weight),
            fields={name: taken(own) for name, own in self.fields.items()},
            predicted=taken(self.predicted),
            said=taken(self.said),
            clusters=taken(self.clusters),
        )

    @property
    def truth(self) -> Real[np.ndarray, "row output"]:
        """The target, of rows that have one."""
        return present(self.target)

    @property
    def labels(self) -> Int[np.ndarray, " row"]:
        """The codes of the first output."""
        return self.truth[:, 0].astype(np.int64)


def page_model(estimator: Any) -> PageModel:
    """Returns a fitted estimator as pages ask it.

    Raises:
        InvalidInputError: It has several outputs, of classes.
        InvalidTypeError: It is no tree, forest or ensemble of jaxtree, or decides by degrees.
        sklearn.exceptions.NotFittedError: It is not fitted.
    """
    if keeps_rows(estimator):
        check_is_fitted(estimator)
    else:
        exported_with_planes(estimator, no_missing=True)
    return PageModel(estimator, estimator.encoder_.schema_, class_labels(estimator))


def name_of_target(estimator: Any, *targets: Any) -> str:
    """Returns the name of a target's column: that of the first series or table that has one, or of the fit's source.

    >>> import pandas as pd
    >>> from jaxtree import DecisionTreeClassifier
    >>> name_of_target(DecisionTreeClassifier(), None, pd.Series([1], name="age"))
    'age'
    """
    for target in targets:
        columns: list[Any] = list(getattr(target, "columns", ()))
        name = target if isinstance(target, str) else columns[0] if len(columns) == 1 else getattr(target, "name", None)
        if isinstance(name, str) and name:
            return name
    names: Any = getattr(estimator, "other_columns_", ())
    return str(names[0]) if len(names) else ""


def read_table(model: PageModel, name: str, X: Any, y: Any, extras: Mapping[str, Any]) -> PageTable | None:
    """Returns rows with what the model answers of them; None where there is no table.

    Rows of weight 0 are left out.

    Args:
        model: The model.
        name: "training" or "validation".
        X: A table as in fit, or a source.
        y: Its target, or the name of its column; None for rows without one.
        extras: `sample_weight`, `groups`, and what the loss asks for.

    Raises:
        InvalidInputError: They are not as in fit, or all have weight 0.
    """
    if X is None:
        return None
    encoder, fields = model.estimator.encoder_, dict(extras)
    weight, target, groups = fields.pop("sample_weight", None), None, fields.pop("groups", None)
    if y is None:
        given = read_arguments(X, None, weight, fields)
        own = given.X.without(model.estimator.other_columns_) if is_source(given.X) else given.X
        values = np.asarray(encoder.values(own), np.float64)
        weight, fields = check_sample_weight(given.sample_weight, len(values)), read_fields(given.fields, len(values))
    else:
        has_fields = model.adds_up or bool(model.extras)
        sample = read_known(model.outputs, X, y, weight, fields if has_fields else None)
        values, weight, fields = np.asarray(encoder.values(sample.X), np.float64), sample.weight, sample.fields
        target = sample.target.T
        check_same_length(len(values), sample.target[0])
    weights = np.ones(len(values)) if weight is None else np.asarray(weight, np.float64)
    number = np.flatnonzero(weights > 0)
    if groups is not None:
        groups = numbers_of_groups("groups", groups)
        check_same_length(len(values), groups)
        groups = groups[number]
    values, fields = values[number], {key: np.asarray(own)[number] for key, own in fields.items()}
    target = None if target is None else target[number]
    scores = np.asarray(model.estimator.scores_of(values), np.float64) if model.adds_up else None
    predicted = _predicted(model, values, scores, fields.get("offset"))
    said = _said(model, values, predicted) if model.classes else None
    return PageTable(name, number, values, scores, target, weights[number], fields, predicted, said, groups)


def _predicted(model: PageModel, values: Values, scores: Any, offset: Any) -> Float[np.ndarray, "row output"]:
    """Predictions of rows, with their offset added to the scores."""
    if scores is None:
        return model.estimator.predict_values(values)
    fixed = model.estimator.fixed_predictions(scores, offset)
    found = fixed.predict_proba(None) if model.classes else fixed.predict(None)
    return np.asarray(found, np.float64).reshape(len(values), -1)


def _said(model: PageModel, values: Values, predicted: Float[np.ndarray, "row class"]) -> Int[np.ndarray, " row"]:
    """The classes that are predicted: of trees along the axes by costs, or by the order of equal classes."""
    if model.adds_up or model.kind == ModelKind.PLANES:
        return predicted.argmax(axis=1)
    return np.asarray(model.estimator.model_.predict_label(values)[0], np.int64)


def score_of_table(model: PageModel, table: PageTable) -> float:
    """Returns the score of rows with a target, as `score` of the estimator has it."""
    if model.classes:
        return float(np.average(present(table.said) == table.labels, weights=table.weight))
    if model.predicts == Prediction.RISKS and table.scores is None:
        event = table.fields.get("event")
        return concordance_index(table.truth[:, 0], table.predicted[:, 0], event=event, sample_weight=table.weight)
    if table.scores is None:
        return float(r2_score(table.truth, table.predicted, sample_weight=table.weight))
    rows = Sample(table.values, table.truth.T, model.outputs, table.weight, dict(table.fields), ())
    return float(model.estimator.score_known(rows, table.scores))


def shifted_scores(model: PageModel, table: PageTable) -> Float[np.ndarray, "row score"]:
    """Returns the scores of rows with their offsets."""
    return with_offset(model.estimator.loss_, present(table.scores), table.fields.get("offset"))
