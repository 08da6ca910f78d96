"""Parameters of soft estimators: defaults, limits, what "auto" means, and what they mean to training."""

import dataclasses
import math
from numbers import Integral, Real
from typing import Any, ClassVar

import optax
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval, StrOptions

from jaxtree.errors import InvalidTypeError
from jaxtree.soft.epochs import Hyperparameters, LearningRates, Predict, TrainingConfig
from jaxtree.soft.forest import MIXTURES
from jaxtree.soft.inputs import SCALINGS
from jaxtree.soft.losses import Loss, zero_one
from jaxtree.soft.model import GATES

AUTO = "auto"
"""Asks for a number that follows from the rows of the table."""
DECIDED = 1e-6
"""A temperature at which gates decide."""
REGRESSION_LOSSES = ("squared_error", "absolute_error", "quantile", "poisson")

BITS_A_LEAF = 32
"""So many bits of the target a leaf sees at least, in the mean, of a tree that is deeper than `LEAST_DEPTH`."""
LEAST_DEPTH = 3
NUM_STEPS = 2500
"""How many steps of the optimiser a training makes where it sees the rows at least `LEAST_EPOCHS` times."""
LEAST_EPOCHS = 10

_POSITIVE = [Interval(Real, 0, None, closed="neither")]


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftParameters:
    """Parameters of all soft estimators."""

    depth: int | str = AUTO
    gate: str = "oblique"
    max_epochs: int | str = AUTO
    batch_size: int = 256
    optimizer: Any = None
    first_temperature: float = 1.0
    last_temperature: float = 0.3
    noise: float | str | None = AUTO
    averaging: float = 0.99
    validation_fraction: float | None = None
    monitor: str = "loss"
    patience: int | None = None
    scaling: str = "standard"
    categorical_features: Any = "from_dtype"
    max_categories: int | None = 1024
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict] = {
        "depth": [Interval(Integral, 0, 16, closed="both"), StrOptions({AUTO})],
        "gate": [StrOptions(set(GATES))],
        "max_epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({AUTO})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "optimizer": [optax.GradientTransformation, None],
        "first_temperature": _POSITIVE,
        "last_temperature": _POSITIVE,
        "noise": [Interval(Real, 0, None, closed="left"), None, StrOptions({AUTO})],
        "averaging": [Interval(Real, 0, 1, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "monitor": [StrOptions({"loss", "hardened"})],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "scaling": [StrOptions(set(SCALINGS))],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "max_categories": [Interval(Integral, 1, 65_535, closed="both"), None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "gate_rate": _POSITIVE,
        "leaf_rate": _POSITIVE,
    }

    def __init_subclass__(cls, **options: Any):
        """Joins the constraints of all bases."""
        super().__init_subclass__(**options)
        own = [vars(base).get("_parameter_constraints", {}) for base in reversed(cls.__mro__)]
        cls._parameter_constraints = {name: allowed for part in own for name, allowed in part.items()}


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftClassifierParameters(SoftParameters):
    """Parameters of soft classifiers."""

    loss: Any = "log_loss"
    label_smoothing: float = 0.1
    gate_rate: float = 0.03
    leaf_rate: float = 0.2
    class_weight: Any = None

    _parameter_constraints: ClassVar[dict] = {
        "loss": [StrOptions({"log_loss"}), callable],
        "label_smoothing": [Interval(Real, 0, 1, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftRegressorParameters(SoftParameters):
    """Parameters of soft regressors."""

    loss: Any = "squared_error"
    quantile: float = 0.5
    gate_rate: float = 0.02
    leaf_rate: float = 0.05

    _parameter_constraints: ClassVar[dict] = {
        "loss": [StrOptions(set(REGRESSION_LOSSES)), callable],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftTreeParameters(SoftParameters):
    """Parameters of soft trees."""

    depth: int | str = dataclasses.field(default=AUTO, kw_only=False)
    init: Any = None
    init_width: float = 0.1
    n_restarts: int = 1

    _parameter_constraints: ClassVar[dict] = {
        "init": [object],
        "init_width": _POSITIVE,
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
    }


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftForestParameters(SoftParameters):
    """Parameters of soft forests."""

    n_estimators: int = dataclasses.field(default=10, kw_only=False)
    mixture: str = "mean"

    _parameter_constraints: ClassVar[dict] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "mixture": [StrOptions(set(MIXTURES))],
    }


def epochs_of(estimator: Any, num_rows: int) -> int:
    """How often a fit of so many rows sees them."""
    return auto_epochs(num_rows, int(estimator.batch_size)) if estimator.max_epochs == AUTO else estimator.max_epochs


def hyperparameters_of(estimator: Any, num_rows: int, *, is_guided: bool = False) -> Hyperparameters:
    """The numbers of the training that an estimator's parameters ask for.

    Args:
        estimator: The estimator.
        num_rows: The rows that it is trained on.
        is_guided: Whether a hard tree or a teacher tells more than the rows do: there is then no noise of itself.
    """
    noise = estimator.noise
    if noise == AUTO:
        noise = None if is_guided else auto_noise(num_rows)
    return Hyperparameters(
        rates=LearningRates(gate=estimator.gate_rate, leaf=estimator.leaf_rate),
        first_temperature=estimator.first_temperature,
        last_temperature=estimator.last_temperature,
        monitor_temperature=DECIDED if estimator.monitor == "hardened" else None,
        noise=noise or None,
        averaging=estimator.averaging,
    )


def config_of(estimator: Any, loss: Loss, predict: Predict) -> TrainingConfig:
    """The static part of the training that an estimator's parameters ask for.

    Raises:
        InvalidTypeError: The loss is no function.
    """
    if not callable(loss):
        raise InvalidTypeError(f"loss must be a name or a function of outputs and targets, got {loss!r}")
    monitor = zero_one if estimator.monitor == "hardened" and is_classifier(estimator) else None
    config = TrainingConfig(loss=loss, monitor=monitor, predict=predict, batch_size=int(estimator.batch_size))
    return config if estimator.optimizer is None else config._replace(optimizer=estimator.optimizer)


def auto_depth(num_rows: int, num_classes: int, largest: int) -> int:
    r"""Returns how deep a tree of so many rows is.

    A row tells $\log_2 k$ bits of one of k classes: the more classes there are, the more leaves tell them apart.

    Args:
        num_rows: The rows that it is trained on.
        num_classes: The number of classes; 2 for numbers.
        largest: The most: every level doubles the time of a step.

    Example:
        >>> [auto_depth(num_rows, 2, 10) for num_rows in (100, 1000, 10_000, 1_000_000)]
        [3, 4, 8, 10]
        >>> auto_depth(10_000, 26, 10)
        10
    """
    num_leaves = num_rows * max(math.log2(num_classes), 1.0) / BITS_A_LEAF
    return min(max(int(num_leaves).bit_length() - 1, LEAST_DEPTH), largest)


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
