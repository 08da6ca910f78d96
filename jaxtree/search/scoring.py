"""Scores of many masks of one tree, from sums of held-out rows at its nodes.

A metric that is a mean over rows is a sum over nodes: of what every node would score as a leaf. So the cost of a mask's
score grows with the nodes of the tree, and not with the rows.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped
from sklearn import metrics
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor

from jaxtree.errors import InvalidInputError, present
from jaxtree.estimators.common.parts import ScoresSources
from jaxtree.estimators.common.scorers import check_scorer_name, in_words, scorer_named
from jaxtree.prune.validation import HeldOut
from jaxtree.tree.model import FittedModel
from jaxtree.tree.nodes import target_means
from jaxtree.tree.paths import survivors

LEAST_SPREAD = 1e-6
"""The least share of the squared distance of held-out numbers from the center that their variance must be."""


def check_scorer(name: str | None, y: Any, *, of_classes: bool) -> None:
    """Raises InvalidInputError if there is no such scorer, or it cannot score even a model that predicts a constant.

    >>> check_scorer("r2", ["a", "b"], of_classes=True)
    Traceback (most recent call last):
    jaxtree.errors.InvalidInputError: scoring='r2' cannot score models of classes: could not convert string to float:
    'a'
    """
    if name is None:
        return
    check_scorer_name(name, takes_extras=False)
    model = DummyClassifier() if of_classes else DummyRegressor()
    rows = np.zeros((len(np.asarray(y)), 1))
    try:
        scorer_named(name)(model.fit(rows, y), rows, y)
    except (ValueError, TypeError, AttributeError) as error:
        kind = "classes" if of_classes else "numbers"
        raise InvalidInputError(f"scoring={name!r} cannot score models of {kind}: {in_words(error)}") from error


class Outcome(NamedTuple):
    """The leaves of held-out rows under masks, and the predictions of nodes.

    Attributes:
        stops: The nodes where walks stop that would go on, or end there anyway.
        goes_on: The inner nodes that remain; some rows may end there.
        held: The rows at the nodes.
        model: The tree, and what its nodes predict.
    """

    stops: Bool[np.ndarray, "mask node"]
    goes_on: Bool[np.ndarray, "mask node"]
    held: HeldOut
    model: FittedModel

    @property
    def classes(self) -> Shaped[np.ndarray, " class"]:
        """The classes; none of numbers."""
        return self.model.classes[0] if self.model.classes else np.zeros(0)

    @property
    def total(self) -> Float[np.ndarray, " column"]:
        """The sums of all held-out rows."""
        return self.held.passed[0]

    @property
    def is_right(self) -> Float[np.ndarray, "node class"]:
        """1 where a row of a class is predicted rightly at a node, else 0."""
        return np.eye(len(self.classes))[present(self.model.node_label)[0]]

    def sums(
        self, passed: Float[np.ndarray, "node sum"], ended: Float[np.ndarray, "node sum"]
    ) -> Float[np.ndarray, "mask sum"]:
        """Sums of what rows that pass a node, or end there anyway, add where they end under each mask."""
        return self.stops @ passed + self.goes_on @ ended

    def total_score(self, score: Float[np.ndarray, "node column"]) -> Float[np.ndarray, " mask"]:
        """The sum over rows of a score for each column of the held-out sums; 0 for classes unknown to the tree."""
        passed, ended = ((sums[:, : score.shape[1]] * score).sum(axis=1, keepdims=True) for sums in self.held)
        return self.sums(passed, ended)[:, 0]

    def mean_score(self, score: Float[np.ndarray, "node class"]) -> Float[np.ndarray, " mask"]:
        """The mean over rows of a score for each class; 0 for classes unknown to the tree."""
        return self.total_score(score) / self.total.sum()


class NodeMetric(NamedTuple):
    """A metric that follows from sums at nodes, and 1 if greater is better, else -1."""

    function: Callable[[Outcome], Float[np.ndarray, " mask"]]
    sign: int

    def scores(self, rows: Outcome) -> Float[np.ndarray, " mask"]:
        """The scores under every mask, greater ones being better."""
        return self.sign * self.function(rows)

    def fits(self, held: HeldOut, classes: Shaped[np.ndarray, " class"]) -> bool:
        """Whether scikit-learn would score such rows in the plain way; odd ones are left to it.

        Odd are classes that only one part of the rows has, numbers that are all the same, and for the Brier score two
        classes of which neither is known to be the positive one.
        """
        total, num_classes = held.passed[0], len(classes)
        if not num_classes:
            return bool(total[0] >= 2 and total[2] - total[1] ** 2 / total[0] > LEAST_SPREAD * total[2])
        if self.function is accuracy:
            return bool(total.sum() > 0)
        is_plain = total[num_classes] == 0 and bool(np.all(total[:num_classes] > 0))
        if self.function is brier and num_classes == 2:
            return is_plain and set(classes.tolist()) in ({0, 1}, {-1, 1})
        return is_plain and (num_classes == 2 if self.function is roc_auc else num_classes > 1)


def outcome(model: FittedModel, masks: Bool[np.ndarray, "mask node"], held: HeldOut) -> Outcome:
    """Returns where held-out rows of one output end under masks of a tree."""
    kept = survivors(model.tree, masks)
    stops = kept & (masks | np.asarray(model.tree.is_leaf))
    return Outcome(stops, kept & ~stops, held, model)


def metric_of(scorer: Any, estimator: Any) -> NodeMetric | None:
    """Returns how to compute a scorer of scikit-learn from sums at nodes; None if it takes the rows themselves."""
    if type(scorer).__name__ == "_PassthroughScorer":
        if type(estimator).score is not ScoresSources.score:
            return None
        return NodeMetric(accuracy if is_classifier(estimator) else r2, 1)
    function, kwargs = getattr(scorer, "_score_func", None), getattr(scorer, "_kwargs", None)
    if function is None or kwargs is None:
        return None
    methods = scorer._response_method
    known = CLASS_METRICS if is_classifier(estimator) else NUMBER_METRICS
    response, metric = known.get(function, (None, None)) if not kwargs else (None, None)
    if metric is not None and response in ((methods,) if isinstance(methods, str) else methods):
        return NodeMetric(metric, scorer._sign)
    if is_classifier(estimator) and methods == "predict" and _counts_pairs(function):
        return NodeMetric(functools.partial(of_pairs, function, kwargs), scorer._sign)
    return None


def _counts_pairs(function: Callable) -> bool:
    """Whether a metric is one of scikit-learn's that sum weights over pairs of a true and a predicted class."""
    return (
        getattr(function, "__module__", "") == metrics.accuracy_score.__module__
        and "sample_weight" in inspect.signature(function).parameters
    )


def accuracy(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """The share of rows predicted rightly."""
    return rows.mean_score(rows.is_right)


def balanced_accuracy(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """The mean over the classes of the share of their rows predicted rightly."""
    num_classes = len(rows.classes)
    return rows.mean_score(rows.is_right * rows.total.sum() / (num_classes * rows.total[:num_classes]))


def log_loss(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """The mean of -log of the share of the true class."""
    return rows.mean_score(-log_of_chance(rows.model.node_value))


def log_of_chance(chance: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Returns logarithms of chances, which are clipped as scikit-learn's log loss clips them.

    >>> log_of_chance(np.array([0.0, 0.5])).round(3).tolist()
    [-36.044, -0.693]
    """
    tiny = np.finfo(np.float64).eps
    return np.log(np.clip(chance, tiny, 1 - tiny))


def brier(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """The mean squared distance of shares from the truth; of two classes half of it."""
    num_classes = len(rows.classes)
    distance = ((rows.model.node_value[:, None, :] - np.eye(num_classes)) ** 2).sum(axis=2)
    return rows.mean_score(distance / 2 if num_classes == 2 else distance)


def roc_auc(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """The chance that of two rows of different classes the second class's has the greater share (ties: one half)."""
    order = np.argsort(rows.model.node_value[:, 1], kind="stable")
    share = rows.model.node_value[order, 1]
    first = np.flatnonzero(np.diff(share, prepend=-1.0) > 0)
    negative, positive = (
        np.add.reduceat((rows.stops * passed + rows.goes_on * ended)[:, order], first, axis=1)
        for passed, ended in zip(rows.held.passed.T[:2], rows.held.ended.T[:2], strict=True)
    )
    below = np.cumsum(negative, axis=1) - negative / 2
    return (positive * below).sum(axis=1) / (rows.total[0] * rows.total[1])


def of_pairs(function: Callable, kwargs: dict[str, Any], rows: Outcome) -> Float[np.ndarray, " mask"]:
    """Any metric of labels, from the weight of every pair of a true and a predicted class."""
    num_classes, predicted = len(rows.classes), rows.is_right[:, None, :]
    pairs = ((sums[:, :num_classes, None] * predicted).reshape(-1, num_classes**2) for sums in rows.held)
    weights = rows.sums(*pairs)
    true, label = (rows.classes[number.ravel()] for number in np.indices((num_classes, num_classes)))

    def score(weight):
        some = weight > 0
        return function(true[some], label[some], sample_weight=weight[some], **kwargs)

    return np.array([score(weight) for weight in weights], np.float64)


def mean_squared_error(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """The mean squared deviation."""
    return _squares(rows) / rows.total[0]


def root_mean_squared_error(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """Its root."""
    return np.sqrt(mean_squared_error(rows))


def r2(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """1 less the squared deviations over those from the mean of the held-out rows."""
    weight, shifted, square = rows.total
    return 1 - _squares(rows) / (square - shifted**2 / weight)


def _squares(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """The sum of squared deviations from the predictions; 0 where rounding makes it less."""
    mean = rows.model.node_value[:, 0] - float(target_means(rows.model.tree)[0, 0])
    return np.maximum(rows.total_score(np.stack([mean**2, -2 * mean, np.ones_like(mean)], axis=1)), 0.0)


CLASS_METRICS: dict[Any, tuple[str, Callable[[Outcome], Float[np.ndarray, " mask"]]]] = {
    metrics.accuracy_score: ("predict", accuracy),
    metrics.balanced_accuracy_score: ("predict", balanced_accuracy),
    metrics.log_loss: ("predict_proba", log_loss),
    metrics.brier_score_loss: ("predict_proba", brier),
    metrics.roc_auc_score: ("predict_proba", roc_auc),
}
"""Metrics of scikit-learn for classes that follow from sums at nodes, with the method that they ask for."""

NUMBER_METRICS: dict[Any, tuple[str, Callable[[Outcome], Float[np.ndarray, " mask"]]]] = {
    metrics.mean_squared_error: ("predict", mean_squared_error),
    metrics.root_mean_squared_error: ("predict", root_mean_squared_error),
    metrics.r2_score: ("predict", r2),
}
"""The same for numbers."""
