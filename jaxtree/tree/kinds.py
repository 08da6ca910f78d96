"""Kinds of fitted models and of predictions, by which exports, explanations, drawings and pages differ.

An estimator has them as `model_kind` and `predicts`.
"""

import enum
from typing import Any


class ModelKind(enum.Enum):
    """The form of a fitted model."""

    TREE = "a tree"
    FOREST = "a forest"
    BOOSTED = "boosted trees"
    TERMS = "an additive model"
    PLANES = "a tree of planes"
    WEIGHTED = "a forest with weights of leaves"
    MOMENT = "a forest of a moment equation"
    SOFT = "a soft tree or forest"

    @property
    def adds_up(self) -> bool:
        """Whether it adds up scores, which a loss turns into predictions."""
        return self in (ModelKind.BOOSTED, ModelKind.TERMS, ModelKind.WEIGHTED)

    @property
    def has_estimators(self) -> bool:
        """Whether its trees are estimators, too: `estimators_`."""
        return self in (ModelKind.FOREST, ModelKind.BOOSTED)

    @property
    def is_one_tree(self) -> bool:
        """Whether it is a single tree of hard splits."""
        return self in (ModelKind.TREE, ModelKind.PLANES)


class Prediction(enum.Enum):
    """The kind of predictions; the value is how pages call an answer."""

    CLASSES = "probability"
    NUMBERS = "prediction"
    DISTRIBUTIONS = "predicted mean"
    TIMES = "predicted time"
    RISKS = "relative risk"
    RANKS = "score"
    EFFECTS = "effect"
    PARAMETERS = "parameter"

    @property
    def is_observed(self) -> bool:
        """Whether rows have a target that predictions can be compared with."""
        return self not in (Prediction.EFFECTS, Prediction.PARAMETERS)


def keeps_rows(estimator: Any) -> bool:
    """Returns whether predictions follow from rows that leaves keep, so that they are no function of sums over trees.

    >>> from jaxtree import QuantileForest
    >>> keeps_rows(QuantileForest())
    True
    """
    return kind_of(estimator) == ModelKind.MOMENT and bool(getattr(estimator, "keeps_rows", False))


def prediction_of(estimator: Any) -> Prediction | None:
    """Returns the kind of the predictions of an estimator of jaxtree; None of any other."""
    return getattr(estimator, "predicts", None)


def unit_of(estimator: Any) -> str:
    """Returns how pages and explanations call a prediction of an estimator of jaxtree.

    >>> from jaxtree import DecisionTreeClassifier, SurvivalForest
    >>> unit_of(DecisionTreeClassifier()), unit_of(SurvivalForest())
    ('probability', 'mortality')
    """
    return getattr(estimator, "unit_of_predictions", estimator.predicts.value)


def kind_of(estimator: Any) -> ModelKind | None:
    """Returns the kind of an estimator of jaxtree; None of any other.

    >>> from jaxtree import DecisionTreeClassifier
    >>> kind_of(DecisionTreeClassifier()).value
    'a tree'
    """
    return getattr(estimator, "model_kind", None)
