"""Models of libraries that know nothing of scikit-learn's conventions, as its estimators."""

import copy
from typing import Any, Self

import numpy as np
from jaxtyping import Shaped
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.utils.metaestimators import available_if

from jaxtree.errors import InvalidTypeError


class WrappedModel(BaseEstimator):
    """A model with `fit` and `predict` as an estimator of scikit-learn, which copies it for each fit.

    Args:
        model: The model.
    """

    def __init__(self, model: Any):
        self.model = model

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fits a copy of the model; arguments are those of its own `fit`."""
        self.fitted_ = copy.deepcopy(self.model)
        self.fitted_.fit(X, y, **params)
        return self

    def predict(self, X: Any) -> Any:
        """Returns what the model predicts."""
        return np.asarray(self.fitted_.predict(X))


class ForeignClassifier(ClassifierMixin, WrappedModel):
    """A foreign model of classes, whose probabilities are in the order of its `classes_`, or else of the sorted ones.

    Args:
        model: The model.
    """

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fits a copy of the model; arguments are those of its own `fit`."""
        super().fit(X, y, **params)
        self.classes_ = np.asarray(getattr(self.fitted_, "classes_", np.unique(np.asarray(y))))
        return self

    @available_if(lambda self: hasattr(self.model, "predict_proba"))
    def predict_proba(self, X: Any) -> Shaped[np.ndarray, "row class"]:
        """Returns the probabilities of classes."""
        return np.asarray(self.fitted_.predict_proba(X))


class ForeignRegressor(RegressorMixin, WrappedModel):
    """A foreign model of numbers.

    Args:
        model: The model.
    """


def predicts_classes(model: Any) -> bool | None:
    """Returns whether a model is one of classes; None if it does not tell.

    >>> from jaxtree import DecisionTreeClassifier
    >>> predicts_classes(DecisionTreeClassifier()), predicts_classes(object())
    (True, None)
    """
    try:
        return True if is_classifier(model) else False if is_regressor(model) else None
    except (AttributeError, TypeError):
        return True if hasattr(model, "predict_proba") else None


def as_estimator(name: str, model: Any, *, of_classes: bool) -> Any:
    """Returns a model as an estimator of scikit-learn: itself if it is one.

    Args:
        name: The name of the model, for errors.
        model: The model.
        of_classes: Whether it is one of classes.

    Raises:
        InvalidTypeError: It has no `fit` or no `predict`, or it is a class.
    """
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
        given = f"the class {model.__name__}, not an instance" if isinstance(model, type) else type(model).__name__
        raise InvalidTypeError(f"a model must have fit and predict, and {name!r} is {given}")
    if hasattr(model, "get_params") and hasattr(model, "__sklearn_tags__"):
        return model
    return ForeignClassifier(model) if of_classes else ForeignRegressor(model)
