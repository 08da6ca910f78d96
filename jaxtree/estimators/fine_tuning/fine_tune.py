"""`fine_tune`: all thresholds and leaves of a fitted model trained together by gradients."""

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Annotated, Any, TypeVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.dataset.arguments import split_validation
from jaxtree.dataset.sample import Sample, read_known
from jaxtree.errors import InvalidInputError, InvalidTypeError, named, present
from jaxtree.estimators.boosting.base import BaseBoosting
from jaxtree.estimators.boosting.rows import allowed_rows
from jaxtree.estimators.common.conventions import (
    SEED,
    AnnotatedParameters,
    Role,
    Words,
    check_parameters,
    key_of,
    progress_of,
    whole,
)
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.common.prunings import AT_LEAST_0
from jaxtree.estimators.fine_tuning.tuned import TrainableModel, trainable_model
from jaxtree.estimators.forests.base import BaseForest
from jaxtree.estimators.soft.parameters import (
    AUTO,
    BETWEEN_0_AND_1,
    FROM_0_BELOW_1,
    POSITIVE,
    auto_epochs,
    rows_of_step,
)
from jaxtree.estimators.soft.rows import split_sample
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.export.models import best_of_search
from jaxtree.soft.epochs import Hyperparameters, TrainingConfig, TrainingRows, make_rows
from jaxtree.soft.fine_tuning import Comparisons, fit_scales, tuned_of, with_thresholds
from jaxtree.soft.inputs import SoftSample
from jaxtree.soft.rates import LearningRates
from jaxtree.soft.runs import Run, Validation
from jaxtree.soft.sides import SIDES
from jaxtree.soft.training import check_trained, final_loss, train_to_the_end

PENALTIES_OF_BOOSTED = (1.0, 5.0, 20.0, 50.0)
"""From tables whose classes are told apart to those where a default fit has learned what is chance."""

AnyModel = TypeVar("AnyModel", bound=BaseTree | BaseForest | BaseBoosting)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class FineTuning(AnnotatedParameters):
    """How `fine_tune` trains.

    Args:
        max_epochs: How often all rows are seen at most. "auto" is as often as 2,500 steps take, and 10 times at least.
        batch_size: The most rows of a step; a loss that compares rows sees all of them.
        gate_rate: The learning rate of thresholds, in quantiles of a normal distribution; 0 leaves them as they are.
        leaf_rate: The learning rate of leaves, in deviations of the target, or in log odds.
        side: The slope by which thresholds are trained, a name of `jaxtree.soft.sides.SIDES`.
        width: How wide it is, in quantiles of a normal distribution.
        noise: The standard deviation of noise that is added to columns in training; None for no noise.
        averaging: How much of the running average of the parameters a step keeps.
        reg_lambda: The L2 penalty on leaf values, in units of rows on which the model is at its best: a
            penalty of half of it times the square of a leaf, beside the sum of the losses of all rows. With several, as
            many models are trained with one program, and that of the least loss on the validation rows stays. "auto"
            is 1, 5, 20 and 50 of boosted models, and 0 of others, whose leaves stand for all that is said.
        validation_fraction: The share of the rows that is held out for validation, where no rows are given.
        n_iter_no_change: After how many epochs without a better validation loss training ends.
        min_standard_errors: By how many standard errors of the difference the copy must be better than the given model
            on the validation rows: of few rows the best of many epochs is better by chance. For losses that compare
            rows it must be better at all.
        random_state: Seed of the rows that are held out, of batches and of noise, or a NumPy generator.
        verbose: 1 for a bar of progress, with the losses; n for a line every n epochs.

    Example:
        >>> FineTuning(leaf_rate=0.01).leaf_rate
        0.01
    """

    max_epochs: Annotated[int | str, whole(1), Words({AUTO}), Role.FIT] = AUTO
    batch_size: Annotated[int, whole(1), Role.FIT] = 256
    gate_rate: Annotated[float, AT_LEAST_0, Role.FIT] = 0.003
    leaf_rate: Annotated[float, AT_LEAST_0, Role.FIT] = 0.001
    side: Annotated[str, Words(set(SIDES)), Role.FIT] = "softsign"
    width: Annotated[float, POSITIVE, Role.FIT] = 0.3
    noise: Annotated[float | None, AT_LEAST_0, None, Role.FIT] = None
    averaging: Annotated[float, FROM_0_BELOW_1, Role.FIT] = 0.99
    reg_lambda: Annotated[float | Sequence[float] | str, AT_LEAST_0, list, tuple, Words({AUTO}), Role.FIT] = AUTO
    validation_fraction: Annotated[float, BETWEEN_0_AND_1, Role.FIT] = 0.2
    n_iter_no_change: Annotated[int, whole(1), Role.FIT] = 20
    min_standard_errors: Annotated[float, AT_LEAST_0, Role.FIT] = 1.0
    random_state: Annotated[Any, *SEED, Role.SEED] = None
    verbose: Annotated[int, "verbose", Role.REPORTS] = 0


def fine_tune(
    estimator: AnyModel,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    X_val: Any = None,
    y_val: Any = None,
    sample_weight_val: Any = None,
    options: FineTuning | None = None,
    extras: Mapping[str, Any] | None = None,
) -> AnyModel:
    """Returns a copy of a fitted tree, forest or boosted model with thresholds and leaves that were trained together.

    A greedy fit chooses a threshold once and never looks at it again. Here all of them are parameters, as all values of
    leaves are, and gradients of the loss train them together; columns, categories, and the shape of the trees stay. The
    forward pass is that of the hard trees, so that nothing is lost in the end. The copy is an estimator of the same
    kind, with every export. On the validation rows its loss is lower than that of the given model; if none was found,
    the copy is that model.

    Args:
        estimator: A fitted tree or forest of one target of classes or of numbers, or a boosted model or an ensemble of
            such, of splits in two.
        X: The table that it was fitted on, or another one.
        y: Its target.
        sample_weight: The weight of every row; None is 1.
        X_val: Rows on which models are compared after every epoch; if not given, a share of X. Take rows that the model
            was not fitted on: those of its fit flatter it, so that training seems not to help.
        y_val: Their targets.
        sample_weight_val: Their weights.
        options: How it trains.
        extras: Further arguments of the loss of a boosted model, such as `{"group": group}`; it needs no `X_val` then.

    Returns:
        The copy. `fine_tuning_` is a dict: the losses after every epoch, the "reg_lambda" of the best, and the
        validation loss of the given model ("start") and of the copy ("end"). Rows, weights and gains of nodes stay
        those of the growth.

    Raises:
        InvalidInputError: The model has splits in more than two, several targets of classes, votes of prunings or
            monotone constraints; or an argument is not allowed.
        InvalidTypeError: The estimator is no tree, forest or boosted model.
        TrainingError: The loss has become infinite or not a number.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> from jaxtree import GradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> boosted = GradientBoostingRegressor(10, max_depth=2).fit(X, y)
        >>> tuned = fine_tune(boosted, X, y, options=FineTuning(max_epochs=20, random_state=0))
        >>> tuned.fine_tuning_["end"] <= tuned.fine_tuning_["start"]
        True
    """
    estimator = best_of_search(estimator)
    forks.check_is_whole("fine_tune")
    if not isinstance(estimator, BaseTree | BaseForest | BaseBoosting):
        raise InvalidTypeError(
            f"fine_tune takes a tree, a forest or a boosted model of jaxtree, got {type(estimator).__name__}"
        )
    check_is_fitted(estimator)
    _check_can_be_tuned(estimator)
    options = FineTuning() if options is None else options
    check_parameters(options)
    penalties = _penalties_of(options, estimator)
    validation, _ = split_validation(X_val, y_val, sample_weight_val, {})
    if extras and validation is not None:
        raise InvalidInputError("rows of X_val have no extras: leave X_val out, and a part of X is held out")
    with placed_fit(estimator, X):
        given = _read(estimator, X, y, sample_weight, extras)
        tuned = trainable_model(estimator, given)
        rows = tuned.rows(given)
        if validation is not None:
            with named("X_val and y_val"):
                parts = rows, tuned.rows(_read(estimator, *validation[:3], None))
        else:
            num_classes = given.outputs.num_classes if is_classifier(estimator) else ()
            parts = split_sample(rows, num_classes, options.validation_fraction, options.random_state)
        return _train(tuned, *parts, options, penalties)


def _read(estimator: Any, X: Any, y: Any, sample_weight: Any, extras: Mapping[str, Any] | None) -> Sample:
    """Reads rows, which a boosted model's loss allows."""
    given = read_known(estimator.outputs(), X, y, sample_weight, extras).without_weightless_rows()
    if given.outputs.classes and (given.target < 0).any():
        known = estimator.classes_.tolist()
        raise InvalidInputError(f"y has a class that the model was not fitted on; known are {known}")
    if isinstance(estimator, BaseBoosting):
        return allowed_rows(estimator.loss_, given)
    if extras:
        raise InvalidInputError(f"extras are for boosted models, got {sorted(extras)}")
    return given


def _check_can_be_tuned(estimator: Any) -> None:
    """Raises InvalidInputError if training could break what the model promises, or cannot say what it says."""
    if getattr(estimator, "monotonic_cst", None) is not None:
        raise InvalidInputError("fine_tune moves leaves without a look at monotonic_cst: fit the model without it")
    if estimator.pruning is not None and estimator.pruning.votes:
        raise InvalidInputError(f"fine_tune takes no votes of prunings, got pruning={estimator.pruning!r}")
    if is_classifier(estimator) and estimator.n_outputs_ > 1:
        raise InvalidInputError(f"fine_tune takes a model of one target of classes, got {estimator.n_outputs_}")


def _train(
    tuned: TrainableModel, rows: SoftSample, held: SoftSample, options: FineTuning, penalties: Sequence[float]
) -> Any:
    """Trains on rows, compares on those held out, and returns a copy of the estimator, or a better one."""
    inputs = fit_scales(tuned.forest, tuned.estimator.schema_, rows.values, rows.weight)
    comparisons = Comparisons(tuned.forest, inputs)
    first = tuned_of(tuned.forest, tuned.value, comparisons, says=tuned.says, side=options.side)
    batch_size = rows_of_step(options, tuned.loss, len(rows.values))
    num_epochs = auto_epochs(len(rows.values), batch_size) if options.max_epochs == AUTO else int(options.max_epochs)
    training_rows, key = _training_rows(rows, comparisons), key_of(options.random_state)
    validation = Validation(_training_rows(held, comparisons), options.n_iter_no_change, keeps_start=True)
    runs = [
        Run(first, training_rows, key, num_epochs, _numbers_of(options, own / rows.weight.sum()), validation)
        for own in penalties
    ]
    with progress_of(options.verbose, len(runs) * num_epochs, "training", "epochs") as report:
        every = train_to_the_end(
            runs, config=TrainingConfig(tuned.loss, predict=tuned.predict, batch_size=batch_size), report=report
        )
    check_trained(every, "reg_lambda", needs_all=False)
    best = min(range(len(every)), key=lambda number: final_loss(every[number]))
    trained = every[best]
    start = end = tuned.loss_of(tuned.estimator, held)
    model = copy.copy(tuned.estimator)
    if int(trained.best_epoch) > 0:
        better = tuned.trained_model(
            trained.model, *with_thresholds(tuned.forest, first, trained.model, inputs, rows.values)
        )
        if tuned.is_better(better, held, options.min_standard_errors):
            model, end = better, tuned.loss_of(better, held)
    history = {"loss": trained.loss.tolist(), "validation_loss": present(trained.validation_loss).tolist()}
    model.fine_tuning_ = {**history, "reg_lambda": penalties[best], "start": start, "end": end}
    return model


def _penalties_of(options: FineTuning, estimator: Any) -> Sequence[float]:
    """The penalties that are tried."""
    if isinstance(options.reg_lambda, str):
        return PENALTIES_OF_BOOSTED if isinstance(estimator, BaseBoosting) else [0.0]
    given = options.reg_lambda if isinstance(options.reg_lambda, Sequence) else [options.reg_lambda]
    penalties = [float(one) if isinstance(one, Real) else np.nan for one in given]
    if not penalties or not all(0 <= one < np.inf for one in penalties):
        raise InvalidInputError(f"reg_lambda must be a number from 0 on, or several, got {options.reg_lambda!r}")
    return penalties


def _numbers_of(options: FineTuning, leaf_penalty: float) -> Hyperparameters:
    """The numbers of a training, with a penalty beside the mean loss of a row."""
    return Hyperparameters(
        rates=LearningRates(gate=options.gate_rate, leaf=options.leaf_rate),
        first_temperature=options.width,
        last_temperature=options.width,
        noise=options.noise or None,
        averaging=options.averaging,
        leaf_penalty=leaf_penalty,
    )


def _training_rows(rows: SoftSample, comparisons: Comparisons) -> TrainingRows:
    """The rows as training takes them; weights are 1 in the mean."""
    return make_rows(comparisons.transform(rows.values), rows.target, rows.weight / rows.weight.mean())
