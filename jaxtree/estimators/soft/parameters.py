"""Parameters that all soft estimators have, the sizes that "auto" stands for, and the training that follows."""

import dataclasses
import math
from collections.abc import Callable
from numbers import Real
from typing import Annotated, Any, NamedTuple

import optax
from sklearn.base import is_classifier

from jaxtree.buckets import row_bucket
from jaxtree.devices import current_platform
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import SEED, AnnotatedParameters, Role, Words, whole
from jaxtree.estimators.common.prunings import AT_LEAST_0
from jaxtree.kernels.choose import choose
from jaxtree.losses.loss import BaseLoss
from jaxtree.sklearn_compat import Interval
from jaxtree.soft.choices import CHOICES
from jaxtree.soft.epochs import Hyperparameters, Predict, TrainingConfig
from jaxtree.soft.forest import TOGETHER
from jaxtree.soft.form import DEFAULT_CHOICES, GATES
from jaxtree.soft.functions import Elementwise, Schedule, check_schedule, name_of
from jaxtree.soft.losses import Loss, zero_one
from jaxtree.soft.rates import LearningRates, constant, cosine, scheduled
from jaxtree.soft.scales import SCALINGS
from jaxtree.soft.sides import SIDES

AUTO = "auto"
"""A value that follows from the rows of the table, or from what kind of model is trained."""
DECIDED = 1e-6
"""A temperature at which gates decide."""

BITS_A_LEAF = 32
"""The least number of bits of the target for a leaf, in the mean, in a tree that is deeper than it is at least."""
NUM_STEPS = 2500
"""The number of steps of a training that sees the rows at least `LEAST_EPOCHS` times."""
LEAST_EPOCHS = 10

DEPTHS = whole(0, 16)
POSITIVE = Interval(Real, 0, None, closed="neither")
PART_ABOVE_0 = Interval(Real, 0, 1, closed="right")
FROM_0_BELOW_1 = Interval(Real, 0, 1, closed="left")
BETWEEN_0_AND_1 = Interval(Real, 0, 1, closed="neither")


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftParameters(AnnotatedParameters):
    """Parameters of all soft estimators.

    Args:
        depth: The number of edges from the root to every leaf. "auto" is that of `init`, or follows from the rows:
            32 a leaf or more (of k classes 32 / log2 k), at least 3, of hard gates 6, and at most 10. In a forest
            it is at most 8, and at least 4 of hard gates whose scores add up.
        gate: "oblique", gates that divide by a plane; "axis", by one feature and a threshold; or "hard", the same,
            but each row takes one side from the first step on, and gradients pass as if it were shared
            (straight-through: Marton et al., *GradTree*, 2024). A tree of hard gates and its `harden()` predict the
            same. Its root begins at the best split of a single column, and a tree that ends with more loss than this
            split alone gives way to it. Or a function in JAX of the weights of a gate (a vector), its bias and the
            features of a row (a vector) to the gate's value: gates that are no planes, and have no hard form.
        choice: The shares of columns by which axis gates and hard gates choose one: "entmax15", "sparsemax",
            "softmax", or a function in JAX of logits, the last axis of an array, to shares. "auto" is "softmax" of axis
            gates, and "entmax15" of hard gates.
        side: The share of a row that goes right, by the value of its gate; of hard gates the slope by which they are
            trained: "sigmoid", "entmoid", "softsign", or a function in JAX of an array of values to shares, which
            rises and is 1/2 at 0. "auto" is "softsign" of hard gates, and "sigmoid" of others.
        oblivious: Whether all hard gates of a level are one.
        max_epochs: How often all rows are seen. "auto" is as often as 2,500 steps take, and 10 times at least.
        batch_size: The most rows of a step. "auto" is 256, and 64 of fewer than 10,000 rows where the scores of hard
            trees add up.
        optimizer: An optimiser of optax with learning rate 1; None is `optax.adam(1.0)`.
        gate_rate: The learning rate of gates, which falls by a cosine. "auto" is 0.1 of hard gates, and of others 0.03
            for classes and 0.02 for numbers. Or a schedule: a function in JAX of the share of training that is done,
            from 0 to 1, to the rate, as are those of optax that end after one step; `partial_fit` has the first rate.
        leaf_rate: The learning rate of leaves. "auto" is 0.1 of hard gates, and of others 0.2 for classes and 0.05
            for numbers. Or a schedule, as of `gate_rate`.
        first_temperature: The temperature of the gates in the first step; it falls by the same factor in each. For hard
            gates it is the width of the slope by which they are trained. Or a schedule, as of `gate_rate`, whose last
            temperature is that of predictions; `last_temperature` is then "auto".
        last_temperature: The temperature in the last step, and of predictions. Lower ones make a tree that loses
            less when it is hardened. "auto" is 0.3, and 0.2 of hard gates.
        noise: The standard deviation of noise that is added to scaled inputs in training; None for no noise. Or a
            schedule, as of `gate_rate`; `partial_fit` has the last noise. "auto"
            is $n^{-1/5}$ of n rows, and none where training begins with `init`, targets are probabilities, or scores
            of hard trees add up. For
            distributions and several quantiles it is also added to targets, in deviations of these (to the
            logarithms of positive targets, to the log odds of shares; not to counts), so that none becomes as
            narrow as a single row.
        averaging: How much of the running average of the parameters a step keeps; 0 for the last parameters.
        validation_fraction: The share of the rows that is held out for validation, where `fit` is given none; None
            for no rows. With any, the parameters after the best epoch are kept. "auto" is None, except for rows
            whose class is less than 0.9 bits, as of two classes where one has less than 31 % of the rows, and, from
            50 rows on, for distributions, several quantiles, survival times and other losses of several scores a
            target: a tenth, of fewer than 1,000 rows 100 and at most a fifth, and of classes none of fewer than
            100. Leaves are then shrunk towards the shares of all rows, or the constant, and where targets have
            noise scales are moved, as far as the rows say that were held out.
        monitor: By what epochs are compared on validation rows: "loss", the loss of the soft model; or "hardened",
            the share of wrong classes, or the loss of numbers, of the model whose gates decide.
        n_iter_no_change: After how many epochs without a better validation loss training ends; None is never, and
            so is any number without validation rows. "auto" is 40 with the folds of a forest whose hard trees add
            up their scores, and else never.
        scaling: How numbers of the table are scaled: "standard", "quantile" or "none". "auto" is "standard", and
            "quantile" of hard gates. A column whose nine middle tenths take less than a ten-thousandth of its range
            becomes quantiles instead of "standard", which would make all but its ends equal.
        categorical_features: "from_dtype", None, or which columns are categorical.
        max_categories: The most categories of a column, beyond which the rarest share one; None is 65,535.
        one_hot_max_size: The most categories of a column that are one-hot: a column of zeros and ones for each. A
            column of more becomes the mean of the target that its categories have, smoothed by the mean of all
            rows; of several classes or outputs a mean for each. A row that the model learns from has the mean of
            the rows of its category before it, in a random order (CatBoost's ordered statistics); hardened trees of
            axis gates or hard gates have subsets of categories. None is one-hot always, as are all columns where
            training begins with `init`, or where targets are survival times. `partial_fit` keeps the means of its
            first call.
        warm_start: Whether `fit` goes on from the fitted model; columns, classes and the model's parameters must be
            the same.
        random_state: Seed of what is drawn, or a NumPy generator.
        verbose: 1 for a bar of progress, with the losses; n for a line every n epochs.
    """

    depth: Annotated[int | str, DEPTHS, Words({AUTO}), Role.TRAINS] = AUTO
    gate: Annotated[str | Callable[..., Any], Words(GATES), callable, Role.FIT] = "oblique"
    choice: Annotated[str | Elementwise, Words({AUTO, *CHOICES}), callable, Role.TRAINS] = AUTO
    side: Annotated[str | Elementwise, Words({AUTO, *SIDES}), callable, Role.TRAINS] = AUTO
    oblivious: Annotated[bool, "boolean", Role.TRAINS] = False
    max_epochs: Annotated[int | str, whole(1), Words({AUTO}), Role.TRAINS] = AUTO
    batch_size: Annotated[int | str, whole(1), Words({AUTO}), Role.TRAINS] = AUTO
    optimizer: Annotated[Any, optax.GradientTransformation, None, Role.TRAINS] = None
    gate_rate: Annotated[float | str | Schedule, POSITIVE, Words({AUTO}), callable, Role.TRAINS] = AUTO
    leaf_rate: Annotated[float | str | Schedule, POSITIVE, Words({AUTO}), callable, Role.TRAINS] = AUTO
    first_temperature: Annotated[float | Schedule, POSITIVE, callable, Role.TRAINS] = 1.0
    last_temperature: Annotated[float | str, POSITIVE, Words({AUTO}), Role.TRAINS] = AUTO
    noise: Annotated[float | str | Schedule | None, AT_LEAST_0, None, Words({AUTO}), callable, Role.TRAINS] = AUTO
    averaging: Annotated[float, FROM_0_BELOW_1, Role.TRAINS] = 0.99
    validation_fraction: Annotated[float | str | None, BETWEEN_0_AND_1, None, Words({AUTO}), Role.FIT] = AUTO
    monitor: Annotated[str, Words({"loss", "hardened"}), Role.TRAINS] = "loss"
    n_iter_no_change: Annotated[int | str | None, whole(1), None, Words({AUTO}), Role.TRAINS] = AUTO
    scaling: Annotated[str, Words({AUTO, *SCALINGS}), Role.FIT] = AUTO
    categorical_features: Annotated[Any, "array-like", Words({"from_dtype"}), None, Role.FIT] = "from_dtype"
    max_categories: Annotated[int | None, whole(1, 65_535), None, Role.FIT] = None
    one_hot_max_size: Annotated[int | None, whole(0), None, Role.FIT] = 10
    warm_start: Annotated[bool, "boolean", Role.FIT] = False
    random_state: Annotated[Any, *SEED, Role.SEED] = None
    verbose: Annotated[int, "verbose", Role.REPORTS] = 0


class Settings(NamedTuple):
    """The values of parameters that may be "auto".

    Attributes:
        gate_rate: The learning rate of gates.
        leaf_rate: The learning rate of leaves.
        last_temperature: The temperature in the last step, and of predictions.
        label_smoothing: The share of a label that is spread over all classes.
        scaling: How numbers of the table are scaled.
        least_depth: The least that a depth of "auto" is.
        noise: The standard deviation of noise that is added to inputs; "auto" follows from the rows.
        batch_size: The most rows of a step; of many rows `USUAL_BATCH` at least.
        n_estimators: The number of trees of a forest.
        colsample_bytree: The share of the columns that each of its trees sees.
        cv: The number of folds that end the training of a forest, of few rows; None for none.
    """

    gate_rate: float | Schedule
    leaf_rate: float | Schedule
    last_temperature: float
    label_smoothing: float
    scaling: str
    least_depth: int
    noise: float | str | Schedule | None = AUTO
    batch_size: int = 256
    n_estimators: int = 10
    colsample_bytree: float = 1.0
    cv: Any = None


BITS_OF_UNEVEN_CLASSES = 0.9
"""Classes are uneven if that of a row is less than so many bits."""

LEAST_SHARE_HELD_OUT, ROWS_HELD_OUT, MOST_SHARE_HELD_OUT = 0.1, 100, 0.2
"""The shares and rows that are held out by "auto", see `auto_share_held_out`."""

LEAST_CLASSES_TO_HOLD_OUT, LEAST_NUMBERS_TO_HOLD_OUT = 100, 50
"""The rows of the smallest tables of which some are held out."""

SOFT_CLASSES = Settings(0.03, 0.2, 0.3, 0.1, "standard", 3, cv=5)
"""Folds keep the probabilities of forests right where rows are few: without any, ten oblique trees have a higher log
loss than the constant on two of twelve tables, and by folds on none."""
SOFT_NUMBERS = SOFT_CLASSES._replace(gate_rate=0.02, leaf_rate=0.05, label_smoothing=0.0, cv=None)
HARD_ALONE = Settings(0.1, 0.1, 0.2, 0.0, "quantile", 6)
"""Hard gates of trees that are trained apart. Steps are long, and leaves many, for a row teaches but one of them."""
HARD_TOGETHER = Settings(
    0.03, 0.05, 1.0, 0.0, "quantile", 4, noise=None, batch_size=64, n_estimators=64, colsample_bytree=0.5, cv=5
)
"""Hard gates of trees whose scores add up."""

USUAL_BATCH, MANY_ROWS, FEW_ROWS = 256, 10_000, 50
"""The rows of a step of tables of many rows. Folds end the training of forests of fewer, and of few nothing does."""
OF_FOLDS = ("mean", "by_tree")
"""Mixtures of which the forests of several folds are one forest."""
PATIENCE = 40
"""Epochs without a better loss of a fold after which the training of its forest of hard trees ends."""


def settings_of(estimator: Any) -> Settings:
    """Returns the parameters of an estimator, those that are "auto" as they follow from the kind of its model."""
    usual = SOFT_CLASSES if is_classifier(estimator) else SOFT_NUMBERS
    if has_hard_trees_together(estimator):
        usual = HARD_TOGETHER
    elif estimator.gate == "hard":
        usual = HARD_ALONE
    if mixture_of(estimator) not in OF_FOLDS:
        usual = usual._replace(cv=None)
    first: float | Schedule = estimator.first_temperature
    if callable(first):
        usual = usual._replace(last_temperature=float(first(1.0)))
    if getattr(estimator, "n_estimators", AUTO) == 1:
        usual = usual._replace(colsample_bytree=1.0)  # no other tree would see what it does not
    given = {name: getattr(estimator, name, AUTO) for name in Settings._fields}
    return usual._replace(**{name: value for name, value in given.items() if not is_auto(value)})


def is_auto(value: Any) -> bool:
    """Returns whether a parameter follows from others; it may be an array."""
    return isinstance(value, str) and value == AUTO


def mixture_of(estimator: Any) -> str | None:
    """Returns how the trees of a forest are mixed: "auto" is "by_tree" of hard gates; None of a single tree."""
    mixture = getattr(estimator, "mixture", None)
    if mixture == AUTO:
        return "by_tree" if estimator.gate == "hard" else "mean"
    return mixture


def has_hard_trees_together(estimator: Any) -> bool:
    """Returns whether an estimator is a forest whose trees have hard gates, and whose scores add up."""
    return estimator.gate == "hard" and mixture_of(estimator) in TOGETHER


def auto_share_held_out(num_rows: int) -> float:
    """Returns the share of so many rows that is held out: a tenth, or 100 rows, and at most a fifth.

    Example:
        >>> [auto_share_held_out(num_rows) for num_rows in (100, 500, 1000, 10_000)]
        [0.2, 0.2, 0.1, 0.1]
    """
    return min(max(ROWS_HELD_OUT / num_rows, LEAST_SHARE_HELD_OUT), MOST_SHARE_HELD_OUT)


def epochs_of(estimator: Any, num_rows: int, rows_of_step: int) -> int:
    """How often a fit of so many rows sees them, so many of them in a step at most."""
    return auto_epochs(num_rows, rows_of_step) if estimator.max_epochs == AUTO else estimator.max_epochs


def rows_of_step(estimator: Any, loss: Any, num_rows: int) -> int:
    """The most rows of a step, of so many rows: all of them if the losses of rows depend on one another."""
    joins_all = isinstance(loss, BaseLoss) and not loss.takes_batches
    if joins_all:
        return row_bucket(num_rows)
    if not is_auto(estimator.batch_size):
        return int(estimator.batch_size)
    return USUAL_BATCH if num_rows >= MANY_ROWS else settings_of(estimator).batch_size


def patience_of(estimator: Any, *, has_folds: bool) -> int | None:
    """Returns after how many epochs without a better validation loss training ends; None for never."""
    if estimator.n_iter_no_change == AUTO:
        return PATIENCE if has_folds and has_hard_trees_together(estimator) else None
    return estimator.n_iter_no_change


def hyperparameters_of(estimator: Any, num_rows: int, *, is_guided: bool = False) -> Hyperparameters:
    """The numbers of the training that follow from an estimator's parameters.

    Args:
        estimator: The estimator.
        num_rows: The rows that it is trained on.
        is_guided: Whether training begins with a hard tree or follows a teacher: "auto" is then no noise.
    """
    settings = settings_of(estimator)
    noise = settings.noise
    if noise == AUTO:
        noise = None if is_guided else auto_noise(num_rows)
    gate_rate, leaf_rate, noise = (
        1.0 if callable(own) else own for own in (settings.gate_rate, settings.leaf_rate, noise)
    )
    first, last = estimator.first_temperature, settings.last_temperature
    return Hyperparameters(
        rates=LearningRates(gate=gate_rate, leaf=leaf_rate),
        first_temperature=last if callable(first) else first,
        last_temperature=last,
        monitor_temperature=DECIDED if estimator.monitor == "hardened" else None,
        noise=noise or None,
        averaging=estimator.averaging,
        drop_rate=getattr(estimator, "drop_rate", None) or None,
        subsample=own if (own := getattr(estimator, "subsample", 1)) < 1 else None,
    )


def config_of(estimator: Any, loss: Loss, predict: Predict) -> TrainingConfig:
    """The static part of the training that follows from an estimator's parameters."""
    monitor = zero_one if estimator.monitor == "hardened" and is_classifier(estimator) else None
    knows = estimator.gate == "hard" and isinstance(estimator.side, str)
    engine = choose(current_platform(), knows=knows, on_host=False)
    config = TrainingConfig(loss, monitor, predict, engine=engine)._replace(**_schedules_of(estimator))
    return config if estimator.optimizer is None else config._replace(optimizer=estimator.optimizer)


def _schedules_of(estimator: Any) -> dict[str, Any]:
    """The parts of the static part that an estimator's schedules change."""
    schedules, rates = {}, (estimator.gate_rate, estimator.leaf_rate)
    if any(map(callable, rates)):
        gate, leaf = (own if callable(own) else cosine for own in rates)
        schedules["decay"] = LearningRates(gate, leaf, cosine)
    for name, own in (("temperature", estimator.first_temperature), ("noise", estimator.noise)):
        if callable(own):
            schedules[name] = own
    return schedules


def at_the_end(config: TrainingConfig, numbers: Hyperparameters) -> tuple[TrainingConfig, Hyperparameters]:
    """Returns a training at the last temperature and with rates that do not fall, those of its first step."""
    if config.noise is not None:
        last = float(config.noise(1.0))
        noises = {name: last * own for name in ("noise", "target_noise") if (own := getattr(numbers, name)) is not None}
        numbers = numbers._replace(**noises)
    if isinstance(config.decay, LearningRates):
        numbers = numbers._replace(rates=scheduled(numbers.rates, config.decay, 0.0))
    numbers = numbers._replace(first_temperature=numbers.last_temperature)
    return config._replace(decay=constant, temperature=None, noise=None), numbers


def check_functions(estimator: Any) -> None:
    """Raises InvalidInputError if a schedule is none, or a parameter has no effect beside another."""
    for name, may_be_0 in (("gate_rate", True), ("leaf_rate", True), ("first_temperature", False), ("noise", True)):
        if callable(own := getattr(estimator, name)):
            check_schedule(name, own, may_be_0=may_be_0)
    if callable(estimator.first_temperature) and not is_auto(estimator.last_temperature):
        raise InvalidInputError(
            "last_temperature must be 'auto' where first_temperature is a schedule, whose last temperature counts, got "
            f"{estimator.last_temperature!r}"
        )
    if not is_auto(estimator.choice) and estimator.gate not in DEFAULT_CHOICES:
        raise InvalidInputError(
            f"choice={name_of(estimator.choice)!r} is for gates that choose a column, 'axis' and 'hard', got "
            f"gate={name_of(estimator.gate)!r}"
        )
    if estimator.oblivious and estimator.gate != "hard":
        raise InvalidInputError(f"oblivious=True is for gate='hard', got gate={name_of(estimator.gate)!r}")


def auto_depth(num_rows: int, num_classes: int, least: int, largest: int) -> int:
    r"""Returns how deep a tree of so many rows is.

    The class of a row has $\log_2 k$ bits for k classes: more classes need more leaves.

    Args:
        num_rows: The rows that it is trained on.
        num_classes: The number of classes; 2 for numbers.
        least: The least.
        largest: The most: every level doubles the time of a step.

    Example:
        >>> [auto_depth(num_rows, 2, 3, 10) for num_rows in (100, 1000, 10_000, 1_000_000)]
        [3, 4, 8, 10]
        >>> auto_depth(10_000, 26, 3, 10)
        10
    """
    num_leaves = num_rows * max(math.log2(num_classes), 1.0) / BITS_A_LEAF
    return min(max(int(num_leaves).bit_length() - 1, least), largest)


def auto_epochs(num_rows: int, batch_size: int) -> int:
    """Returns how often so many rows are seen: small tables often, so that there are steps enough.

    Example:
        >>> [auto_epochs(num_rows, 256) for num_rows in (100, 1000, 10_000, 1_000_000)]
        [2500, 625, 63, 10]
    """
    steps_an_epoch = -(-num_rows // batch_size)
    return max(-(-NUM_STEPS // steps_an_epoch), LEAST_EPOCHS)


def auto_noise(num_rows: int) -> float:
    r"""Returns $n^{-1/5}$ of n rows: the rate at which a kernel's best width falls (Silverman, 1986).

    Example:
        >>> [round(auto_noise(num_rows), 2) for num_rows in (100, 1000, 10_000, 1_000_000)]
        [0.4, 0.25, 0.16, 0.06]
    """
    return num_rows**-0.2
