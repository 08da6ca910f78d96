"""Where a fit computes if nobody says where: the device and the reason, for a grid of sizes."""

from typing import NamedTuple

import jax

from jaxtree.doctor.machine import place_of
from jaxtree.doctor.report import Choice


class Work(NamedTuple):
    """A fit of a size.

    Attributes:
        fit: The kind of model.
        rows: The number of rows.
        columns: The number of columns.
    """

    fit: str
    rows: int
    columns: int


GRID = tuple(
    Work(fit, rows, columns)
    for fit in ("tree", "forest of 100 trees", "100 rounds of boosting", "soft tree")
    for rows, columns in ((1_000, 10), (100_000, 28), (1_000_000, 28))
)
"""The fits whose place is told."""


def choose_places() -> tuple[Choice, ...]:
    """Returns where every fit of the grid computes.

    >>> choose_places()[0].place
    'cpu:0'
    """
    chosen = jax.config.values["jax_default_device"]
    device = chosen if isinstance(chosen, jax.Device) else jax.local_devices(backend=chosen)[0]
    reason = "jax.default_device names it" if chosen else "it is the first device that JAX finds"
    return tuple(Choice(*work, place_of(device), reason) for work in GRID)
