"""A link of a loss as a formula that other languages write: what JAX traces of it, as steps on single numbers.

Links act on each row by itself, so that what is done with the scores of one row is all.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal
from jaxtyping import Shaped

from jaxtree.errors import JaxtreeError
from jaxtree.tree.link import ScoreLink

Operand: TypeAlias = int | float
"""A number, if it is a float; or the place of a value: scores come first, and then what the steps make."""

IN_ORDER = "in_order"
"""The step whose last argument is a place, from 0: the value there when the others stand in ascending order."""


class Operation(NamedTuple):
    """One operation.

    Attributes:
        name: Its name: that of a primitive of JAX such as "add", or `IN_ORDER`.
        arguments: Its operands.
    """

    name: str
    arguments: tuple[Operand, ...]


class Formula(NamedTuple):
    """The predictions that follow from the scores of a row.

    Attributes:
        num_scores: The number of scores.
        steps: The operations.
        predictions: The operands that are the predictions.
    """

    num_scores: int
    steps: tuple[Operation, ...]
    predictions: tuple[Operand, ...]

    def written(
        self, scores: list[str], number: Callable[[float], str], write: Callable[[Operation, list[str]], str]
    ) -> Any:
        """Returns the predictions in a language.

        Args:
            scores: The scores in the language.
            number: Writes a number.
            write: Writes a step, given its arguments in the language.
        """
        values = list(scores)

        def text(operand: Operand) -> str:
            return values[operand] if isinstance(operand, int) else number(operand)

        for step in self.steps:
            values.append(write(step, [text(operand) for operand in step.arguments]))
        return [text(operand) for operand in self.predictions]


def formula_of(link: ScoreLink, num_scores: int, known: set[str]) -> Formula | None:
    """Returns a link as a formula; None if JAX does not trace it, or if it takes steps that a language does not have.

    Args:
        link: The link, of trees that add up to scores.
        num_scores: The number of scores.
        known: The names of the steps that the language has.

    Example:
        >>> from jaxtree.boosting import distributions
        >>> from jaxtree.losses.links import link_of
        >>> formula = formula_of(link_of(distributions.gamma(), None), 2, {"exp"})
        >>> formula.steps, formula.predictions
        ((Operation(name='exp', arguments=(0,)),), (2,))
    """
    try:
        with jax.enable_x64(True):
            traced = jax.make_jaxpr(link.predict)(jax.ShapeDtypeStruct((num_scores, 1), jnp.float64))
        made = _Made(num_scores, known)
        (predictions,) = made.results(traced, [_column(range(num_scores))])
    except (TypeError, JaxtreeError, _NotKnown):
        return None
    return Formula(num_scores, tuple(made.steps), tuple(predictions[:, 0]))


class _NotKnown(Exception):
    """A step is not known."""


_SAME = ("copy", "copy_p", "stop_gradient", "convert_element_type")
_INNER = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr"}
_REDUCED = {"reduce_sum": "add", "reduce_max": "max", "reduce_min": "min", "reduce_prod": "mul"}

Operands: TypeAlias = Shaped[np.ndarray, "..."]
_ONE = np.array(1.0, object)


def _column(operands: Any) -> Operands:
    column = np.empty((len(operands), 1), object)
    column[:, 0] = list(operands)
    return column


class _Made:
    """The steps of a formula while it is made; arrays of JAX stand for arrays of operands."""

    def __init__(self, num_scores: int, known: set[str]):
        self.num_scores, self.known = num_scores, known
        self.steps: list[Operation] = []

    def add(self, name: str, *arguments: Operand) -> int:
        """Adds a step, and returns the place of its value."""
        if name not in self.known:
            raise _NotKnown(name)
        self.steps.append(Operation(name, arguments))
        return self.num_scores + len(self.steps) - 1

    def results(self, closed: ClosedJaxpr, arguments: list[Operands]) -> list[Operands]:
        """Returns what a program returns of some arguments."""
        constants = [np.asarray(value, np.float64).astype(object) for value in closed.consts]
        values: dict[Any, Operands] = dict(zip(closed.jaxpr.constvars, constants, strict=True))
        values |= dict(zip(closed.jaxpr.invars, arguments, strict=True))

        def read(atom: Any) -> Operands:
            return np.asarray(atom.val, np.float64).astype(object) if isinstance(atom, Literal) else values[atom]

        for equation in _needed(closed):
            if equation.primitive.name in _SAME and equation.invars[0].aval.dtype == bool:
                raise _NotKnown("a truth value as a number")
            made = self._apply(equation.primitive.name, equation.params, [read(atom) for atom in equation.invars])
            values |= dict(zip(equation.outvars, made, strict=True))
        return [read(atom) for atom in closed.jaxpr.outvars]

    def _apply(self, name: str, params: dict[str, Any], given: list[Operands]) -> list[Operands]:
        """Returns what one primitive makes."""
        if name in _INNER:
            return self.results(params[_INNER[name]], given)
        if name in _SHAPES:
            return [_SHAPES[name](params, given)]
        if name in _REDUCED:
            return [self._reduced(_REDUCED[name], params["axes"], given[0])]
        if name in _SAME:
            return given
        if name == "sort":
            return [self._sorted(params, given)]
        if name == "clamp":
            least, number, most = given
            return self._apply("min", params, [*self._apply("max", params, [number, least]), most])
        if name == "log1p" and name not in self.known:
            return self._apply("log", params, self._apply("add", params, [given[0], _ONE]))
        if name == "expm1" and name not in self.known:
            return self._apply("sub", params, [*self._apply("exp", params, given), _ONE])
        if name in ("integer_pow", "square"):
            name, given = "pow", [given[0], np.array(float(params.get("y", 2)), object)]
        step = np.frompyfunc(lambda *operands: self.add(name, *operands), len(given), 1)
        return [np.asarray(step(*given), object)]

    def _reduced(self, name: str, axes: tuple[int, ...], values: Operands) -> Operands:
        step = np.frompyfunc(lambda one, two: self.add(name, one, two), 2, 1)
        for axis in sorted(axes, reverse=True):
            values = np.asarray(functools.reduce(step, np.moveaxis(values, axis, 0)), object)
        return values

    def _sorted(self, params: dict[str, Any], given: list[Operands]) -> Operands:
        if len(given) > 1:
            raise _NotKnown("sort of several")
        axis, result = params["dimension"], np.empty(given[0].shape, object)
        lines = np.moveaxis(given[0], axis, 0).reshape(given[0].shape[axis], -1)
        ordered = np.moveaxis(result, axis, 0).reshape(lines.shape)
        for place, column in np.ndindex(*lines.shape):
            ordered[place, column] = self.add(IN_ORDER, *lines[:, column].tolist(), float(place))
        return np.moveaxis(ordered.reshape(np.moveaxis(result, axis, 0).shape), 0, axis)


def _needed(closed: ClosedJaxpr) -> list[Any]:
    """The equations of a program on which its results depend."""
    needed, found = {atom for atom in closed.jaxpr.outvars if not isinstance(atom, Literal)}, []
    for equation in reversed(closed.jaxpr.eqns):
        if needed & {*equation.outvars}:
            needed |= {atom for atom in equation.invars if not isinstance(atom, Literal)}
            found.append(equation)
    return found[::-1]


def _broadcast(params: dict[str, Any], given: list[Operands]) -> Operands:
    shape = np.ones(len(params["shape"]), np.int64)
    shape[list(params["broadcast_dimensions"])] = given[0].shape
    return np.broadcast_to(given[0].reshape(shape), params["shape"])


def _slice(params: dict[str, Any], given: list[Operands]) -> Operands:
    steps = params["strides"] or (1,) * given[0].ndim
    return given[0][tuple(map(slice, params["start_indices"], params["limit_indices"], steps))]


_SHAPES: dict[str, Callable[[dict[str, Any], list[Operands]], Operands]] = {
    "slice": _slice,
    "broadcast_in_dim": _broadcast,
    "squeeze": lambda params, given: np.squeeze(given[0], tuple(params["dimensions"])),
    "reshape": lambda params, given: given[0].reshape(params["new_sizes"]),
    "expand_dims": lambda params, given: np.expand_dims(given[0], params["dimensions"]),
    "stack": lambda params, given: np.stack(given, params["axis"]),
    "concatenate": lambda params, given: np.concatenate(given, params["dimension"]),
    "transpose": lambda params, given: given[0].transpose(params["permutation"]),
    "rev": lambda params, given: np.flip(given[0], params["dimensions"]),
}
