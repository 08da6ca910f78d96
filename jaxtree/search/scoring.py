"""Scores of many masks of one tree, from sums of held-out rows at its nodes.

A metric that is a mean over rows is a sum over nodes: of what every node would score as a leaf. So a mask's score costs
as much as the tree has nodes, however many rows there are.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from sklearn import metrics
from sklearn.base import is_classifier

from jaxtree.estimators.parts import ScoresSources
from jaxtree.prune.validation import HeldOut
from jaxtree.tree import Tree, target_means
from jaxtree.tree.paths import survivors

LEAST_SPREAD = 1e-6
"""Held-out numbers whose variance is a smaller share of their squared distance from the center are too much alike."""

ROUNDING = 1e-12
"""Scores that differ by a smaller share of the greatest one are equal."""


class Outcome(NamedTuple):
    """What becomes of held-out rows under masks, and what is said of them.

    Attributes:
        stops: The nodes where walks stop that would go on, or end there anyway.
        goes_on: The inner nodes that remain; some rows may end there.
        held: The rows at the nodes.
        labels: The class that every node predicts; none for numbers.
        shares: The share of every class at every node; for numbers the mean in its one column.
        center: What held-out numbers are counted from.
        classes: The classes in words.
    """

    stops: Bool[np.ndarray, "mask node"]
    goes_on: Bool[np.ndarray, "mask node"]
    held: HeldOut
    labels: Int[np.ndarray, " node"]
    shares: Float[np.ndarray, "node column"]
    center: float
    classes: Shaped[np.ndarray, " class"]

    @property
    def num_classes(self) -> int:
        """The number of classes."""
        return self.shares.shape[1]

    @property
    def total(self) -> Float[np.ndarray, " column"]:
        """The sums of all held-out rows."""
        return self.held.passed[0]


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


def outcome(
    tree: Tree,
    masks: Bool[np.ndarray, "mask node"],
    held: HeldOut,
    labels: Int[np.ndarray, " node"],
    shares: Float[np.ndarray, "node column"],
    classes: Shaped[np.ndarray, " class"],
) -> Outcome:
    """Returns what becomes of held-out rows under masks of a tree."""
    kept = survivors(tree, masks)
    stops = kept & (masks | np.asarray(tree.is_leaf))
    center = 0.0 if tree.num_classes else float(target_means(tree)[0, 0])
    return Outcome(stops, kept & ~stops, held, labels, shares, center, classes)


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


def even_out(scores: Float[np.ndarray, " setting"]) -> Float[np.ndarray, " setting"]:
    """Returns the scores with those made equal that rounding alone tells apart, so that it decides no rank."""
    known = np.flatnonzero(np.isfinite(scores))
    order = known[np.argsort(scores[known], kind="stable")]
    step = np.diff(scores[order], prepend=-np.inf)
    first = np.flatnonzero(step > ROUNDING * np.abs(scores[known]).max(initial=0.0))
    result = scores.copy()
    result[order] = np.repeat(scores[order[first]], np.diff(first, append=order.size))
    return result


def accuracy(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """The share of rows predicted rightly."""
    return _mean(rows, np.eye(rows.num_classes)[rows.labels])


def log_loss(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """The mean of -log of the share of the true class, clipped as scikit-learn does."""
    tiny = np.finfo(np.float64).eps
    return _mean(rows, -np.log(np.clip(rows.shares, tiny, 1 - tiny)))


def brier(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """The mean squared distance of shares from the truth; of two classes half of it."""
    truth = np.eye(rows.num_classes)
    distance = ((rows.shares[:, None, :] - truth) ** 2).sum(axis=2)
    return _mean(rows, distance / 2 if rows.num_classes == 2 else distance)


def balanced_accuracy(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """The mean over the classes of the share of their rows predicted rightly."""
    known = rows.num_classes
    right = np.eye(known)[rows.labels]
    recall = _sums(rows, rows.held.passed[:, :known] * right, rows.held.ended[:, :known] * right)
    return (recall / rows.total[:known]).mean(axis=1)


def roc_auc(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """The chance that of two rows of different classes the second class's has the greater share (ties: one half)."""
    order = np.argsort(rows.shares[:, 1], kind="stable")
    share = rows.shares[order, 1]
    first = np.flatnonzero(np.diff(share, prepend=-1.0) > 0)
    mass = [
        np.add.reduceat((rows.stops * passed + rows.goes_on * ended)[:, order], first, axis=1)
        for passed, ended in zip(rows.held.passed.T[:2], rows.held.ended.T[:2], strict=True)
    ]
    below = np.cumsum(mass[0], axis=1) - mass[0] / 2
    return (mass[1] * below).sum(axis=1) / (rows.total[0] * rows.total[1])


def of_pairs(function: Callable, kwargs: dict[str, Any], rows: Outcome) -> Float[np.ndarray, " mask"]:
    """Any metric of labels, from the weight of every pair of a true and a predicted class."""
    predicted, known = np.eye(rows.num_classes)[rows.labels], rows.num_classes
    pairs = [
        (sums[:, :known, None] * predicted[:, None, :]).reshape(len(sums), known**2)
        for sums in (rows.held.passed, rows.held.ended)
    ]
    weights = _sums(rows, *pairs)
    true, label = (rows.classes[number.ravel()] for number in np.indices((known, known)))

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


def _mean(rows: Outcome, score: Float[np.ndarray, "node class"]) -> Float[np.ndarray, " mask"]:
    """The mean over rows of what a row of each class scores at each node; 0 for a class unknown to the tree."""
    held, known = rows.held, rows.num_classes
    passed, ended = ((sums[:, :known] * score).sum(axis=1) for sums in (held.passed, held.ended))
    return _sums(rows, passed[:, None], ended[:, None])[:, 0] / rows.total.sum()


def _squares(rows: Outcome) -> Float[np.ndarray, " mask"]:
    """The sum of squared deviations from what is said; 0 where rounding makes it less."""
    mean = rows.shares[:, 0] - rows.center
    passed, ended = (
        sums[:, 2] - 2 * mean * sums[:, 1] + mean**2 * sums[:, 0] for sums in (rows.held.passed, rows.held.ended)
    )
    return np.maximum(_sums(rows, passed[:, None], ended[:, None])[:, 0], 0.0)


def _sums(
    rows: Outcome, passed: Float[np.ndarray, "node column"], ended: Float[np.ndarray, "node column"]
) -> Float[np.ndarray, "mask column"]:
    """Sums over where rows end under each mask."""
    return rows.stops @ passed + rows.goes_on @ ended
