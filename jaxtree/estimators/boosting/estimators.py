"""Gradient boosting with scikit-learn's conventions."""

import dataclasses
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float, Shaped

from jaxtree.boosting.folds import Folds
from jaxtree.dataset.sample import Outputs
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.base import BaseBoosting
from jaxtree.estimators.boosting.fold_results import FoldIntervals
from jaxtree.estimators.boosting.loss_names import LOSSES
from jaxtree.estimators.boosting.parameters import MULTI_OUTPUT, ONE_OUTPUT
from jaxtree.estimators.boosting.scored import ClassesByScores, NumbersByScores
from jaxtree.estimators.boosting.survival import PredictsSurvival, is_of_times, learn_times
from jaxtree.estimators.boosting.training import BoostingTask, Rounds
from jaxtree.estimators.boosting.usual import OF_SPREAD
from jaxtree.estimators.common.conventions import Role, Words
from jaxtree.estimators.common.parameters import BALANCED
from jaxtree.losses.classes import logistic, softmax
from jaxtree.losses.loss import BaseLoss


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class GradientBoostingClassifier(ClassesByScores, BaseBoosting):
    r"""Gradient boosting of classes (Friedman, *Greedy function approximation*, Annals of Statistics 29, 2001).

    Every round grows one tree on the derivatives of the log loss at the present scores, by what a Newton step saves
    (Chen and Guestrin, *XGBoost*, KDD 2016). Of two classes a row has one score, the log odds of the second; of more it
    has one score a class, all of which one tree changes, or by `multi_strategy` each a tree of its own. Leaves make
    Newton steps with the diagonal of the matrix of second derivatives, or with all of it.

    Gradients are rounded to whole numbers of few bits, at random but the same in every fit, so that sums are exact
    (Shi et al., *Quantized training of gradient boosting decision trees*, NeurIPS 2022); leaves take the steps of the
    gradients as they are. The same table and parameters give the same model, bit for bit.

    Args:
        n_estimators: The most rounds, of a tree each, or of one for every score. "auto" is 100; with
            `early_stopping` as many as it takes, at most 10,000. Without it, distributions, quantiles and
            survival times of fewer than 400 rows have a round for every fourth row.
        learning_rate: Shrinkage of every tree's leaf values; or a schedule, such as optax's: a function of the number
            of rounds made.
        max_depth: The largest depth of a leaf; None for no limit.
        max_leaf_nodes: The most leaves of a tree, which grows best-first: the split that saves most is next. None for
            no limit; set `max_depth` then, or trees grow until no split reduces the loss. "auto" is 31, with
            folds 16 of classes and 32 of numbers, and half of that below 1,000 rows. Without folds distributions,
            quantiles and survival times have one for 500 rows each, from 3 to 31, and 2 below 400 rows.
        min_samples_leaf: The least number of rows in a branch; "auto" is 20, with folds 3 of classes and 1 of numbers;
            without them 50 of distributions, quantiles and survival times, or a fourth of the rows; and 1 of tables
            from 50,000 rows on, whose sums are then quicker.
        min_child_weight: The least sum of second derivatives in a branch; "auto" is 0.001 of tables below 50,000 rows,
            and 1 of larger ones.
        reg_lambda: Added to the sum of second derivatives of a leaf.
        reg_alpha: Taken from the size of the sum of gradients of a leaf.
        gamma: The least loss that a split must save.
        max_delta_step: The greatest size of a leaf's step before the learning rate; 0 for any.
        subsample: The part of the rows, drawn anew in every round, that a tree is grown on; "auto" is all, with folds
            0.8 of classes and 0.6 of numbers.
        sampling: How they are drawn: "uniform"; "mvs", those of larger derivatives rather than others, by minimal
            variance sampling; or "goss", by `top_rate` and `other_rate` and not `subsample`.
        top_rate: Under "goss" the part of the rows that is kept, those of the largest gradients.
        other_rate: Under "goss" the part of the rows that is drawn from the rest.
        drop_rate: The chance of every tree to be dropped in a round (DART): the new tree is grown on what is then
            left, and the steps of all these trees are made smaller. Early stopping keeps the trees as they were in the
            best round; other stages count the final steps.
        skip_drop: The chance of a round in which no tree is dropped.
        colsample_bytree: The part of the columns, drawn anew for every tree, that it is grown on.
        colsample_bylevel: The part of these, drawn anew for every level of a tree, that its nodes may split by.
        colsample_bynode: The part of these, drawn anew for every node, that it looks at.
        random_strength: The noise on the scores of columns among which a node chooses, in deviations of what a column
            that tells nothing would score (CatBoost's random strength): other columns than the best are tried, too. It
            fades as the rounds, times the learning rate, pass the logarithm of the number of rows. "auto" is 0, with
            folds 6 of classes.
        hessian: Of several classes: "diagonal", or "full" for steps with the whole matrix of second derivatives.
        multi_strategy: Of several classes: "multi_output_tree" grows a tree a round, whose leaves have a step for every
            score; "one_output_per_tree" grows one for every class, all from the scores before the round and on the same
            rows, and takes neither `drop_rate` nor the whole matrix of `hessian`.
        class_weight: Factors of classes in a dict, or "balanced".
        monotonic_cst: For every column 1, -1 or 0, or a dict from names: how the score may go as the column rises.
        interaction_cst: Sets of columns, by name or place: only columns of one set occur together on a path from the
            root; columns in no set form one more. Or "pairwise", "no_interactions", or None.
        categorical_splits: "subset" (the best two groups), "one_vs_rest" (a category and the rest), "multiway" (a
            branch a category), or "ordered": groups of categories of smaller and of larger gradients at the start,
            among which a row's own is not while trees grow (CatBoost's ordered target statistics), for columns of many
            categories. "auto" is "ordered" for columns of more than 16 categories, and "subset" for others.
        missing: Where rows go whose value is missing: "learn" (the branch that saves more) or "branch" (above all
            numbers, or a category of its own).
        early_stopping: Whether to stop when the loss of other rows is not better for `n_iter_no_change` rounds, and to
            keep the trees until its least. With "folds" a model is made without every one of `folds`, which judges it,
            all in one program, and the fitted model is the mean of their scores: one sum of trees, for which no row is
            lost, and which knows predictions of every row by models that have not seen it.
        validation_fraction: The part of the rows that are set apart for that with True, if `fit` is given none.
        folds: With "folds", their number; "auto", which is 3 times 5 below 500 rows, and 8 of more, as the log says;
            or a splitter of scikit-learn, such as `RepeatedKFold`, or its splits: pairs of the rows of the table that a
            model is grown on, and those that judge it. Of a number, rows of a group stay together, and classes have
            their shares in every fold; without a `random_state` they are the same in every fit.
        n_iter_no_change: Rounds without a better loss; "auto" is 10, with folds 30.
        tol: How much less a loss must be to be better.
        categorical_features: "from_dtype", None, or which columns are categorical.
        max_bins: The most bins of a numeric column, at most 65,535; "auto" is 255, None is exact up to 65,535 values.
        max_categories: The most categories of a column, beyond which the rarest share one; None is 65,535.
        random_state: Seed of what is drawn, or a NumPy generator.
        warm_start: Whether `fit` goes on from the rounds of the last fit, or of a loaded model; of folds, which must be
            the same, from those of every model. With "ordered" categories further rounds go on from predictions, in
            which rows have seen their own targets.
        verbose: 1 for a bar of progress, with what was measured last; n for a line every n rounds.

    Attributes:
        forest_: The trees in one table of nodes, a `Forest`, round after round; the means of their nodes are changes of
            scores.
        start_: The scores before the first tree.
        evals_result_: What was measured after every round, by names of evaluation and metric: "log_loss" of classes,
            "squared_error", "absolute_error" and so on of numbers, and those of `eval_metric`.
        best_iteration_: The number of rounds, from 1, at which the first metric, or the loss, of the first rows that
            were measured was best; with "folds" the mean of those of the folds.
        best_score_: What it was then, with "folds" in the mean.
        n_estimators_: The number of rounds; with "folds" those of all models.
        trees_per_round_: How many trees a round has.
        folds_: What is known of the folds, `jaxtree.boosting.Folds`; None without "folds".
        oof_predictions_: With "folds", the predictions of every row by the mean of the models that have been judged by
            it; NaN where none has.
        oof_score_: With "folds", what `score` says of these.
        classes_: The classes in ascending order.
        feature_importances_: Share of the loss saved that splits on each column save.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = GradientBoostingClassifier(50).fit(X[::2], y[::2])
        >>> model.score(X[1::2], y[1::2]) > 0.92
        True
    """

    hessian: Annotated[str, Words({"diagonal", "full"})] = "diagonal"
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
        return logistic() if number == 2 else softmax(number, self.hessian)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class GradientBoostingRegressor(PredictsSurvival, NumbersByScores, FoldIntervals, BaseBoosting):
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
    or `fit(X, y)` with scikit-survival's structured y; the latter loss also with `fit(X, lower, upper=upper)`. Of these
    `predict_survival_function` and `predict_median` tell more than `predict`, and `score` is the concordance index.

    Args:
        n_estimators: The most rounds; this and all parameters that are not named here are those of a
            `GradientBoostingClassifier`.
        loss: "squared_error", "absolute_error", "huber", "pseudo_huber", "poisson", "gamma", "tweedie", "cox" or
            "accelerated_failure_time", or a loss of `jaxtree.boosting`, such as `quantile(0.9)`, or a
            `jaxtree.boosting.Loss` of one's own.

    Attributes:
        forest_: The trees in one table of nodes; the other attributes are those of a `GradientBoostingClassifier`, too.
        event_times_: Of survival times the different times of events in the fit.

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

    loss: Annotated[str | BaseLoss, Words(LOSSES), BaseLoss] = "squared_error"

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
        if is_of_times(task.loss) and task.data.across is None:
            self.survival_ = learn_times(task.loss, task.data.sample, self._scores(task.data.sample.X))
