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


def prediction_of(estimator: Any) -> Prediction | None:
    """Returns the kind of the predictions of an estimator of jaxtree; None of any other."""
    return getattr(estimator, "predicts", None)


def kind_of(estimator: Any) -> ModelKind | None:
    """Returns the kind of an estimator of jaxtree; None of any other.

    >>> from jaxtree import DecisionTreeClassifier
    >>> kind_of(DecisionTreeClassifier()).value
    'a tree'
    """
    return getattr(estimator, "model_kind", None)
