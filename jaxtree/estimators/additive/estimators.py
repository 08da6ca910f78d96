"""Additive models with scikit-learn's conventions, and the names of interpret's."""

import dataclasses
from typing import Annotated, Any

from jaxtree.additive.fit import FittedBags
from jaxtree.dataset.sample import Outputs
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.additive.base import AdditiveTask, BaseAdditive, TimedRows
from jaxtree.estimators.boosting.scored import ClassesByScores, NumbersByScores
from jaxtree.estimators.boosting.survival import PredictsSurvival, is_of_times, learn_times
from jaxtree.estimators.common.conventions import Role, Words
from jaxtree.estimators.common.parameters import BALANCED
from jaxtree.losses.classes import logistic, softmax
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.names import LOSSES, AnyLoss


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class ExplainableBoostingClassifier(ClassesByScores, BaseAdditive):
    r"""An additive model of classes: a curve a column and surfaces of pairs of columns (explainable boosting).

    The score of a row, the log odds of the second of two classes, is $b + \sum_j f_j(x_j) + \sum_{jk} f_{jk}(x_j,
    x_k)$: an intercept, and terms that are tables of bins, each of which can be looked at and changed (Lou, Caruana,
    Gehrke and Hooker, *Accurate intelligible models with pairwise interactions*, KDD 2013; Nori et al., *InterpretML*,
    2019). With more classes a row has one score a class, and every term a curve a class.

    Terms are boosted in turn by steps of few leaves, which read no rows where that is quicker: on a quadratic loss all
    that a step needs is how much weight two bins share, and losses that are not quadratic read the rows now and then.
    Every bag holds some rows out, and keeps the terms that were best on them; the model is the mean of the bags. The
    mean of every term over the rows of the fit is 0, and a pair's surface has nothing that a curve could have
    (Lengerich et al., *Purifying interaction effects with the functional ANOVA*, AISTATS 2020). Missing values have a
    bin of their own. The same table and parameters give the same model, bit for bit.

    `explain_global` returns the terms, `explain_row` what they add to a row, `jaxtree.plot.plot_terms` draws them,
    `monotonize`, `flatten` and others change them, and `jaxtree.to_scorecard` makes points of them. The parameters have
    the names and the meaning of interpret's.

    Args:
        class_weight: Factors of classes in a dict, or "balanced".

    Attributes:
        additive_: The terms, an `AdditiveModel`.
        intercept_: The mean scores.
        term_names_: The names of the terms: columns, and pairs of columns, as "age & hours".
        term_importances_: The mean size of what every term adds to the scores of the rows of the fit.
        feature_importances_: Share of all terms' importances that those of each column have.
        bag_values_: The contribution of every bin to the scores in every bag.
        num_rounds_: The rounds of every bag, of columns and of pairs.
        edits_: The changes by hand since the fit.
        forest_: The terms as trees, whose leaves are bins, which exports and explanations read.
        classes_: The classes in ascending order.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> model = ExplainableBoostingClassifier(interactions=2, outer_bags=2).fit(X[::2], y[::2])
        >>> model.score(X[1::2], y[1::2]) > 0.95
        True
        >>> len(model.term_names_)
        32
    """

    class_weight: Annotated[Any, dict, list, BALANCED, None, Role.ROWS] = None

    def _make_loss(self, outputs: Outputs) -> BaseLoss:
        if outputs.number > 1:
            raise InvalidInputError(f"additive models have one target of classes, got {outputs.number} columns of y")
        (number,) = outputs.num_classes
        if number < 2:
            raise InvalidInputError(f"an additive model needs two classes or more, got {number} class")
        return logistic() if number == 2 else softmax(number)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class ExplainableBoostingRegressor(PredictsSurvival, NumbersByScores, BaseAdditive):
    r"""An additive model of numbers: a curve a column and surfaces of pairs of columns (explainable boosting).

    The loss may be any that boosted trees have, with its link: the terms of "poisson", "gamma" and "tweedie" add up to
    the logarithm of the mean. Several targets have a curve each, with squared errors. Survival times are fitted with
    `loss="cox"` or `loss="accelerated_failure_time"` and `fit(X, time, event=event)`, as those of a
    `GradientBoostingRegressor`.

    Args:
        loss: "squared_error", "absolute_error", "huber", "pseudo_huber", "poisson", "gamma", "tweedie", "cox" or
            "accelerated_failure_time", or a loss of `jaxtree.boosting`, such as `quantile(0.9)`, or a
            `jaxtree.boosting.Loss` of one's own, or its function alone, of the scores of a row, its target and its
            extras; or a function of outputs and targets of rows, as in `jaxtree.soft.losses`.

    Attributes:
        additive_: The terms, an `AdditiveModel`; the other attributes are those of an `ExplainableBoostingClassifier`,
            too.
        event_times_: For survival times, the different times of events in the fit.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = ExplainableBoostingRegressor(interactions=0, outer_bags=2).fit(X[::2], y[::2])
        >>> model.score(X[1::2], y[1::2]) > 0.35
        True
        >>> float((model.eval_terms(X).sum(axis=(1, 2)) + model.intercept_ - model.predict(X)).std().round(9))
        0.0
    """

    loss: Annotated[AnyLoss, Words(LOSSES), BaseLoss, callable, Role.ROWS] = "squared_error"

    _named_losses = LOSSES

    def set_model(self, task: AdditiveTask, fitted: FittedBags) -> None:
        """Takes what a fit has learned, of survival times also the baseline."""
        super().set_model(task, fitted)
        for learned in ("survival_", "timed_rows"):
            vars(self).pop(learned, None)
        if is_of_times(task.loss):
            scores = self._scores(task.sample.X)
            self.survival_ = learn_times(task.loss, task.sample, task.codes.join(scores.T).T)
            if self.survival_.log_hazard is not None and not task.codes.is_divided:
                self.timed_rows = TimedRows(task.codes.codes, task.sample._replace(X=None))

    def __getstate__(self) -> dict:
        """Leaves the rows of the fit out of copies and pickles."""
        state: Any = super().__getstate__()
        return {name: part for name, part in state.items() if name != "timed_rows"}
