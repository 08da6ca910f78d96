"""The static part of a soft tree: its sizes, and the kinds of its gates."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Int

from jaxtree.errors import InvalidInputError
from jaxtree.soft.choices import CHOICES
from jaxtree.soft.functions import Elementwise, check_choice, check_function, check_side, name_of
from jaxtree.soft.sides import SIDES

AUTO = "auto"
"""An option that follows from the gates."""

GATES = ("oblique", "axis", "hard")
DEFAULT_SIDES = {"hard": "softsign"}
"""The sides of gates by default; those of others are "sigmoid"."""
DEFAULT_CHOICES = {"axis": "softmax", "hard": "entmax15"}
"""The choices of gates that look at one column by default."""


@dataclasses.dataclass(frozen=True)
class SoftForm:
    """The static part of a soft tree: all that is not a parameter.

    Attributes:
        depth: Edges from the root to every leaf.
        num_features: Columns of the rows, indicators included.
        num_outputs: Logits of classes, or values.
        gate: "oblique", any plane; "axis", one feature and a threshold; or "hard", the same, each row on one side from
            the first step on. Or a function of the weights, the bias and the features of a row to the gate's value,
            which for planes is `jnp.dot(weight, x) + bias`.
        stops: Whether rows may stop at inner nodes, see `with_dropout`.
        missing: For each of the last features, which are indicators, the features that are missing where it is 1.
        choice: The shares of columns by which axis gates and hard gates choose one: a name of
            `jaxtree.soft.choices.CHOICES`, or a function of logits to shares. "auto" is "softmax" of axis gates and
            "entmax15" of hard gates.
        side: The share of a row that goes right by the value of its gate, and the slope by which hard gates are
            trained: a name of `jaxtree.soft.sides.SIDES`, or a function that is 1/2 at 0 and rises. "auto" is
            "softsign" of hard gates, and "sigmoid" of others.
        oblivious: Whether all nodes of a level have the same gate.
    """

    depth: int
    num_features: int
    num_outputs: int
    gate: str | Callable[..., Any] = "oblique"
    stops: bool = False
    missing: tuple[tuple[int, ...], ...] = ()
    choice: str | Elementwise = AUTO
    side: str | Elementwise = AUTO
    oblivious: bool = False

    def __post_init__(self):
        """Puts what "auto" stands for in its place; raises InvalidInputError if something is not allowed."""
        for name, least in (("depth", 0), ("num_features", 1), ("num_outputs", 1)):
            if getattr(self, name) < least:
                raise InvalidInputError(f"{name} must be at least {least}, got {getattr(self, name)}")
        check_function("gate", self.gate, GATES, ((self.num_features,), (), (self.num_features,)))
        name = self.gate if isinstance(self.gate, str) else ""
        for option, defaults in (("side", DEFAULT_SIDES), ("choice", DEFAULT_CHOICES)):
            if getattr(self, option) == AUTO:
                object.__setattr__(self, option, defaults.get(name, "sigmoid" if option == "side" else AUTO))
        check_function("side", self.side, tuple(SIDES), ((2, 3),))
        if not isinstance(self.side, str):
            check_side(self.side)
        if name in DEFAULT_CHOICES:
            check_function("choice", self.choice, tuple(CHOICES), ((2, 3),))
            if not isinstance(self.choice, str):
                check_choice(self.choice)
        elif self.choice != AUTO:
            raise InvalidInputError(
                f"choice={name_of(self.choice)} is for gates that choose a column, 'axis' and 'hard', got "
                f"gate={name_of(self.gate)!r}"
            )
        if self.gate == "hard" and self.stops:
            raise InvalidInputError("rows do not stop at the nodes of hard gates: stops are for the other gates")
        if self.oblivious and self.gate != "hard":
            raise InvalidInputError(f"oblivious trees have hard gates, got gate {name_of(self.gate)!r}")
        if len(self.missing) >= self.num_features:
            raise InvalidInputError(f"{len(self.missing)} of {self.num_features} features cannot be indicators")

    def check_rows(self, name: str, rows: Any) -> None:
        """Raises InvalidInputError unless rows have the columns of the tree."""
        if np.ndim(rows) != 2 or rows.shape[1] != self.num_features:
            raise InvalidInputError(f"{name} must have the shape (row, {self.num_features}), got {np.shape(rows)}")

    @property
    def num_inner(self) -> int:
        """Number of inner nodes, which have gates."""
        return 2**self.depth - 1

    @property
    def num_gates(self) -> int:
        """Number of gates: those of inner nodes, or of levels."""
        return self.depth if self.oblivious else self.num_inner

    @property
    def num_ends(self) -> int:
        """Number of nodes where rows end: the leaves, or all nodes where there are stops."""
        return 2**self.depth + (self.num_inner if self.stops else 0)

    def gate_of_nodes(self) -> Int[np.ndarray, " inner"]:
        """Returns the gate of every inner node, in heap order."""
        nodes = np.arange(self.num_inner)
        return np.log2(nodes + 1).astype(np.int64) if self.oblivious else nodes


def check_option(name: str, given: str, allowed: tuple[str, ...]) -> None:
    """Raises InvalidInputError if an option is not one of those allowed."""
    if given not in allowed:
        raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {given!r}")
