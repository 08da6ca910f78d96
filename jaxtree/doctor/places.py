"""The devices of fits that nobody has placed, and the reasons, for a grid of sizes."""

from typing import Any

import jaxtree
from jaxtree.devices import default_device, kind_of
from jaxtree.devices.current import is_given
from jaxtree.devices.policy import choose
from jaxtree.doctor.machine import place_of
from jaxtree.doctor.report import FitPlace

SIZES = ((1_000, 10), (100_000, 28), (1_000_000, 28))
"""Rows and columns."""


def choose_places() -> tuple[FitPlace, ...]:
    """Returns where fits of several kinds and sizes compute.

    >>> choose_places()[0].place
    'cpu:0'
    """
    models: dict[str, Any] = {
        "tree": jaxtree.DecisionTreeClassifier(),
        "forest of 100 trees": jaxtree.RandomForestClassifier(),
        "100 rounds of boosting": jaxtree.GradientBoostingClassifier(),
        "1,000 rounds of boosting": jaxtree.GradientBoostingClassifier(1000),
        "soft tree": jaxtree.SoftTreeClassifier(),
    }
    return tuple(FitPlace(fit, *size, *_place_of(model, *size)) for fit, model in models.items() for size in SIZES)


def _place_of(model: Any, num_rows: int, num_columns: int) -> tuple[str, str]:
    """The device of a fit, and the reason."""
    device = default_device()
    if is_given():
        return place_of(device), "jax.default_device names it"
    if kind_of(device) == "cpu":
        return place_of(device), "JAX finds no other kind"
    choice = choose(model.work_of_fit(num_rows, num_columns), kind_of(device))
    return "cpu:0" if choice.platform == "cpu" else place_of(device), choice.reason
