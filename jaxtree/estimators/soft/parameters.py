"""Parameters that all soft estimators have: what is allowed, and what they mean to training."""

from numbers import Integral, Real
from typing import Any

import optax
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval, StrOptions

from jaxtree.errors import InvalidTypeError
from jaxtree.estimators.soft.sizes import auto_epochs, auto_noise
from jaxtree.soft.courses import Course, Method, Rates
from jaxtree.soft.gates import GATES, SELECTORS, STEPS
from jaxtree.soft.losses import Loss, zero_one
from jaxtree.soft.model import LEAVES
from jaxtree.soft.regularisers import Penalties
from jaxtree.soft.scaling import SCALINGS

AUTO = "auto"
"""Asks for what follows from the rows, see `jaxtree.estimators.soft.sizes`."""
DECIDED = 1e-6
"""A temperature at which gates decide."""

_STRENGTH = [Interval(Real, 0, None, closed="left"), None]
_RATE = [Interval(Real, 0, None, closed="neither")]

SOFT_CONSTRAINTS = {
    "depth": [Interval(Integral, 0, 16, closed="both"), StrOptions({AUTO})],
    "gate": [StrOptions(set(GATES))],
    "step": [StrOptions(set(STEPS))],
    "selector": [StrOptions(set(SELECTORS))],
    "leaf": [StrOptions(set(LEAVES))],
    "max_epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({AUTO})],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "gate_rate": _RATE,
    "leaf_rate": _RATE,
    "optimizer": [optax.GradientTransformation, None],
    "first_temperature": _RATE,
    "last_temperature": _RATE,
    "noise": [*_STRENGTH, StrOptions({AUTO})],
    "averaging": [Interval(Real, 0, 1, closed="left")],
    "balance": _STRENGTH,
    "feature_l1": _STRENGTH,
    "feature_entropy": _STRENGTH,
    "leaf_decay": _STRENGTH,
    "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
    "judge": [StrOptions({"loss", "hardened"})],
    "patience": [Interval(Integral, 1, None, closed="left"), None],
    "scaling": [StrOptions(set(SCALINGS))],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    "max_categories": [Interval(Integral, 1, 65_535, closed="both"), None],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
TREE_CONSTRAINTS = {
    "n_restarts": [Interval(Integral, 1, None, closed="left")],
    "init": [object],
    "init_width": _RATE,
}
FOREST_CONSTRAINTS = {
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "mixture": [StrOptions({"mean", "learned"})],
}


def epochs_of(estimator: Any, num_rows: int) -> int:
    """How often a fit of so many rows sees them."""
    if estimator.max_epochs == AUTO:
        return auto_epochs(num_rows, int(estimator.batch_size))
    return estimator.max_epochs


def course_of(estimator: Any, num_rows: int) -> Course:
    """The numbers of the training that an estimator's parameters ask for, of so many rows."""
    rates = Rates(gate=estimator.gate_rate, leaf=estimator.leaf_rate, stop=estimator.gate_rate)
    penalties = Penalties(
        balance=estimator.balance,
        feature_l1=estimator.feature_l1,
        feature_entropy=estimator.feature_entropy,
        leaf_decay=estimator.leaf_decay,
    )
    return Course(
        rates=rates,
        first_temperature=estimator.first_temperature,
        last_temperature=estimator.last_temperature,
        judging_temperature=DECIDED if estimator.judge == "hardened" else None,
        noise=_noise_of(estimator, num_rows) or None,
        averaging=estimator.averaging,
        penalties=penalties,
    )


def _noise_of(estimator: Any, num_rows: int) -> float | None:
    """The noise of the inputs; none of itself where a hard tree or a teacher tells more than the rows do."""
    if estimator.noise != AUTO:
        return estimator.noise
    is_guided = getattr(estimator, "init", None) is not None or getattr(estimator, "_taught", False)
    return None if is_guided else auto_noise(num_rows)


def method_of(estimator: Any, loss: Loss, predict: Any) -> Method:
    """What the training of an estimator is compiled for.

    Raises:
        InvalidTypeError: The loss is no function.
    """
    if not callable(loss):
        raise InvalidTypeError(f"loss must be a name or a function of outputs and targets, got {loss!r}")
    judge = zero_one if estimator.judge == "hardened" and is_classifier(estimator) else None
    method = Method(loss=loss, judge=judge, predict=predict, batch_size=int(estimator.batch_size))
    return method if estimator.optimizer is None else method._replace(optimizer=estimator.optimizer)
