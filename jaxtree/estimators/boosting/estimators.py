"""Gradient boosting with scikit-learn's conventions."""

import copy
import dataclasses
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float, Shaped
from sklearn.utils.metaestimators import available_if

from jaxtree.boosting.folds import Folds
from jaxtree.dataset.sample import Outputs
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.base import BaseBoosting
from jaxtree.estimators.boosting.parameters import MULTI_OUTPUT, OF_SPREAD, ONE_OUTPUT
from jaxtree.estimators.boosting.scored import ClassesByScores, NumbersByScores
from jaxtree.estimators.boosting.survival import PredictsSurvival, is_of_times, learn_times
from jaxtree.estimators.boosting.training import BoostingTask, Rounds
from jaxtree.estimators.common.conventions import Role, Words
from jaxtree.estimators.common.parameters import BALANCED
from jaxtree.estimators.common.sorted_lists import SortedLists, intervals_around
from jaxtree.losses.classes import focal, for_classes, logistic, softmax
from jaxtree.losses.loss import BaseLoss, Loss
from jaxtree.losses.names import LOSSES, OF_CLASSES, AnyLoss, loss_of
from jaxtree.serving.by_loss import numbers_of, with_offset
from jaxtree.serving.rows import over_sources


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class GradientBoostingClassifier(ClassesByScores, BaseBoosting):
    r"""Gradient boosting of classes (Friedman, *Greedy function approximation*, Annals of Statistics 29, 2001).

    Every round grows one tree on the derivatives of the log loss at the present scores, by what a Newton step saves
    (Chen and Guestrin, *XGBoost*, KDD 2016). For two classes a row has one score, the log odds of the second; for more
    one a class, all of which one tree changes, or by `multi_strategy` each a tree of its own. Leaves make
    Newton steps with the diagonal of the matrix of second derivatives, or with all of it.

    Gradients are rounded to whole numbers of few bits, at random but the same in every fit, so that sums are exact
    (Shi et al., *Quantized training of gradient boosting decision trees*, NeurIPS 2022); leaves take the steps of the
    gradients as they are. The same table and parameters give the same model, bit for bit.

    Args:
        loss: "log_loss"; or a loss of `jaxtree.boosting` of classes, such as `focal(gamma=2)`, or a `Loss` of one's
            own, or its function alone, of the scores of a row, its target and its extras; or a function of outputs and
            targets of rows, as in `jaxtree.soft.losses`. A class has a score each, the logarithm of its probability, or
            by a loss of one score the second of two classes its log odds; targets are the places of classes in
            `classes_`.
        hessian: For several classes: "diagonal", or "full" for steps with the whole matrix of second derivatives; a
            loss of one's own has its own.
        class_weight: Factors of classes in a dict, or "balanced".

    Attributes:
        forest_: The trees in one table of nodes, a `Forest`, round after round; the means of their nodes are changes of
            scores.
        start_: The scores before the first tree.
        evals_result_: The measures after every round, by names of evaluation and metric: "log_loss" of classes,
            "squared_error", "absolute_error" and so on of numbers, and those of `eval_metric`.
        best_iteration_: The number of rounds, from 1, at which the first metric, or the loss, of the first rows that
            were measured was best; with "cv" the mean of those of the folds.
        best_score_: Its value then, with "cv" the mean over the folds.
        n_estimators_: The number of rounds; with "cv" those of all models.
        trees_per_round_: How many trees a round has.
        folds_: The data per fold, `jaxtree.boosting.Folds`; None without "cv".
        oof_predictions_: With "cv", the predictions of every row by the mean of the models that have been judged by
            it; NaN where none has.
        oof_score_: With "cv", what `score` says of these.
        classes_: The classes in ascending order.
        feature_importances_: Share of the loss saved that splits on each column save.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = GradientBoostingClassifier(50).fit(X[::2], y[::2])
        >>> model.score(X[1::2], y[1::2]) > 0.92
        True
    """

    loss: Annotated[AnyLoss, Words(OF_CLASSES), BaseLoss, callable, Role.FIT] = "log_loss"
    hessian: Annotated[str, Words({"diagonal", "full"}), Role.FIT] = "diagonal"
    class_weight: Annotated[Any, dict, list, BALANCED, None, Role.NUMBER] = None

    def staged_predict_proba(self, X: Any, *, offset: Any = None) -> Iterator[Float[np.ndarray, "row class"]]:
        """Yields the probabilities of every row after each round."""
        return map(self._predictions, self.staged_scores(X, offset=offset))

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[Shaped[np.ndarray, " row"]]:
        """Yields the most probable class of every row after each round."""
        return (self.fixed_predictions(scores).predict() for scores in self.staged_scores(X, offset=offset))

    def _make_loss(self, outputs: Outputs) -> BaseLoss:
        if outputs.number > 1:
            raise InvalidInputError(f"boosted trees have one target of classes, got {outputs.number} columns of y")
        (number,) = outputs.num_classes
        if number < 2:
            raise InvalidInputError(f"boosting needs two classes or more, got {number} class")
        if number > 2 and self.hessian == "full" and self.multi_strategy == ONE_OUTPUT:
            raise InvalidInputError(
                f'hessian="full" is of trees that change all scores: multi_strategy must be {MULTI_OUTPUT!r}, got '
                f"{ONE_OUTPUT!r}"
            )
        if isinstance(self.loss, str):
            return logistic() if number == 2 else softmax(number, self.hessian)
        loss = for_classes(loss_of(self.loss, {}, number), number)
        if self.hessian == "diagonal" or loss.num_scores == 1:
            return loss
        if not isinstance(loss, Loss) or loss.name != "focal":
            raise InvalidInputError(f'hessian="full" is of the log loss and of focal: {loss} has its own')
        return focal(**{**dict(loss.parameters), "hessian": self.hessian})


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class GradientBoostingRegressor(PredictsSurvival, NumbersByScores, BaseBoosting):
    r"""Gradient boosting of numbers (Friedman, *Greedy function approximation*, Annals of Statistics 29, 2001).

    Every round grows one tree on the derivatives of the loss at the present scores. Leaves of "absolute_error" and
    `jaxtree.boosting.quantile` take exact weighted quantiles of what is left, those of all others Newton steps.

    Predictions of targets in another unit, or counted from another origin, are the same in that unit, but for "poisson"
    and "tweedie": their variances are powers of means that belong to one unit, in which penalties count, too. "huber"
    and "pseudo_huber" take what is a large error from the errors, nine tenths of which are smaller, as scikit-learn
    does. `gamma`, `reg_alpha`, `max_delta_step` and `tol` are numbers in the unit.

    One tree changes all scores of a row where these are several: of several targets (squared errors), or of quantiles
    (`jaxtree.boosting.quantiles`). With `multi_strategy="one_output_per_tree"` each has a tree of its own in every
    round; where a loss has whole matrices of second derivatives, steps are then made with their diagonals.
    Survival times are boosted with `loss="cox"` or `loss="accelerated_failure_time"` and `fit(X, time, event=event)`,
    or `fit(X, y)` with scikit-survival's structured y; the latter loss also with `fit(X, lower, upper=upper)`. For
    survival times `predict_survival_function` and `predict_median` tell more than `predict`, and `score` is the
    concordance index.

    Args:
        loss: "squared_error", "absolute_error", "huber", "pseudo_huber", "poisson", "gamma", "tweedie", "cox" or
            "accelerated_failure_time", or a loss of `jaxtree.boosting`, such as `quantile(0.9)`, or a
            `jaxtree.boosting.Loss` of one's own, or its function alone, of the scores of a row, its target and its
            extras; or a function of outputs and targets of rows, as in `jaxtree.soft.losses`.

    Attributes:
        forest_: The trees in one table of nodes; the other attributes are those of a `GradientBoostingClassifier`, too.
        event_times_: With survival times the different times of events in the fit.

    Example: a loss of one's own, by which errors above the target cost five times as much.
        >>> import jax.numpy as jnp
        >>> from sklearn.datasets import load_diabetes
        >>> from jaxtree.boosting import Loss
        >>> def lopsided(scores, target, extras):
        ...     error = scores[0] - target
        ...     return jnp.where(error > 0, 5.0, 1.0) * error**2
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = GradientBoostingRegressor(50, max_depth=3, loss=Loss(lopsided)).fit(X, y)
        >>> bool(np.mean(model.predict(X) > y) < 0.4)
        True
    """

    loss: Annotated[AnyLoss, Words(LOSSES), BaseLoss, callable, Role.FIT] = "squared_error"

    _named_losses = LOSSES

    @property
    def _is_of_spread(self) -> bool:
        name = self.loss if isinstance(self.loss, str) else getattr(self.loss, "name", None)
        return name in OF_SPREAD

    def __sklearn_tags__(self):
        """Sets scikit-learn's tags: several targets, too."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[Float[np.ndarray, "row *prediction"]]:
        """Yields the predictions of every row after each round."""
        return (self.fixed_predictions(scores).predict() for scores in self.staged_scores(X, offset=offset))

    def set_model(self, task: BoostingTask, rounds: Rounds, folds: Folds | None = None) -> None:
        """Takes what a fit has learned, of survival times also the baseline."""
        super().set_model(task, rounds, folds)
        vars(self).pop("survival_", None)
        if is_of_times(task.loss) and not task.data.exchange.is_shared:
            self.survival_ = learn_times(task.loss, task.data.sample, self._scores(task.data.sample.X))

    @available_if(lambda self: not hasattr(self, "_model") or bool(self._folds("predict_interval")))
    def predict_interval(self, X: Any, *, coverage: float = 0.9, offset: Any = None) -> Float[np.ndarray, "row 2"]:
        """Returns the lower and the upper end of every row's interval, of a model with `early_stopping="cv"`.

        They are those of CV+ (Barber, Candes, Ramdas and Tibshirani, 2021): rows that are exchangeable with those of
        the fit lie between them with probability at least 1 - 2 (1 - coverage), less a term that vanishes with the rows
        of a fold, whatever the distribution; in practice the share is close to `coverage`. Where folds are repeated, a
        row has a residual of every repeat, and so has a new one; a residual counts with its row's weight. Ends are
        infinite where the rows of the fit are too few.

        Args:
            X: A table, or a source.
            coverage: The share of rows that the intervals are to hold, above 0 and below 1.
            offset: The numbers that are added to the scores, as in `fit`.

        Raises:
            AttributeError: The model has no folds.
            InvalidInputError: The coverage is not allowed, or predictions are no numbers close to one target.
        """
        folds = self._folds("predict_interval")
        if not 0 < coverage < 1:
            raise InvalidInputError(f"coverage must be above 0 and below 1, got {coverage}")
        if not folds.residual.size:
            raise InvalidInputError(f"predict_interval is for one target of numbers, got the loss {self.loss_}")
        of_folds = self._scores_of_folds(X)
        center = np.concatenate(
            [numbers_of(self.loss_, with_offset(self.loss_, own, offset)) for own in of_folds.T[..., None]], axis=1
        )
        # A new row has a residual of every repeat, too.
        repeats = len(folds.residual) / len(np.unique(folds.row))
        weight = folds.weight if folds.weight.size else None
        lists = SortedLists.of(folds.residual, folds.fold_of_held, len(folds), weight)
        return intervals_around(center, lists, coverage=coverage, num_new=repeats)

    @over_sources
    def _scores_of_folds(self, X: Any) -> Float[np.ndarray, "row fold"]:
        """The one score of every row by the model of each fold."""
        values, folds, alone, scores = self._values(X), self._folds("predict_interval"), copy.copy(self), []
        for fold, start in enumerate(folds.start):
            alone.set_rounds(Rounds.unmeasured(folds.model_of(fold, self.forest_), start, self.trees_per_round_))
            scores.append(alone.model_.predict(values))
        return np.concatenate(scores, axis=1)
