r"""Moment equations of one's own: their solution in weighted rows by Newton's steps, and pseudo-outcomes for splits.

The parameters $\theta$ of interest and $\nu$ beside them solve $\sum_i w_i \psi_{\theta, \nu}(O_i) = 0$, where $O_i$
is the observation of a row. The pseudo-outcomes of a node are $\rho_i = -\xi^\top A^{-1} \psi_{\theta, \nu}(O_i)$, with
$A$ the mean Jacobian of $\psi$ at the node's solution, and $\xi$ that picks $\theta$ (Athey, Tibshirani and Wager,
*Generalized random forests*, Annals of Statistics 47, 2019, equation 8). JAX makes the Jacobian.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float64, Int

from jaxtree.arrays import AnyArray
from jaxtree.buckets import row_bucket
from jaxtree.compilation import compiled
from jaxtree.errors import InvalidInputError
from jaxtree.growth.inputs.objective import Objective
from jaxtree.growth.inputs.standard_objectives import Numbers
from jaxtree.moments.moment import NodeRows, Relabelled, sums_of_nodes

MOST_STEPS = 30
"""Newton's steps, those that are halved included."""

TOLERANCE = 1e-9
"""Share of the summed sizes of a moment's terms below which their sum counts as 0."""

SINGULAR = 1e-10
"""Inverse condition of a Jacobian, of lines and columns of one size, below which it counts as singular."""

OUTCOME_BITS = 30
"""Bits of the greatest pseudo-outcome of a node."""


@dataclasses.dataclass(frozen=True)
class EstimatingEquation:
    """A moment equation of one's own; static and hashable.

    Attributes:
        psi: A function of JAX from `(theta, nu, observation)`, of one row, to the moment's terms: as many numbers as
            there are parameters, in an array or a tuple. `theta` and `nu` are numbers if there is one of them, else
            arrays; `observation` is a number, or an array of the row's outputs.
        num_parameters: The number of parameters of interest, `theta`.
        num_nuisances: The number of parameters beside them, `nu`.
        start: The numbers that Newton's steps begin with, of all parameters.

    Example:
        >>> mean = EstimatingEquation(lambda theta, nu, y: y - theta)
        >>> nodes = NodeRows.of([0, 1, 2], [0, 0, 0], np.ones(3), num_nodes=1)
        >>> solve_nodes(mean, np.array([[1.0, 2.0, 6.0]]), nodes, np.zeros((1, 1))).solution.tolist()
        [[3.0]]
    """

    psi: Callable[..., Any]
    num_parameters: int = 1
    num_nuisances: int = 0
    start: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """The number of all parameters."""
        return self.num_parameters + self.num_nuisances

    def terms(
        self, parameters: Float[Array, " parameter"], observation: Float[Array, " output"]
    ) -> Float[Array, " parameter"]:
        """Returns the terms of a row."""
        theta, nu = parameters[: self.num_parameters], parameters[self.num_parameters :]
        own = observation[0] if observation.shape[0] == 1 else observation
        found = self.psi(theta[0] if self.num_parameters == 1 else theta, nu[0] if self.num_nuisances == 1 else nu, own)
        parts = jax.tree.leaves(found)
        return jnp.concatenate([jnp.ravel(jnp.asarray(part, parameters.dtype)) for part in parts])


class NodeSolutions(NamedTuple):
    """The solutions of an equation in several nodes.

    Attributes:
        solution: The parameters.
        is_regular: Whether there is one solution, and it was found.
        terms: The terms of every entry at the solution of its node.
        inverse: The inverse of the mean Jacobian; any numbers where it is singular.
    """

    solution: Float64[np.ndarray, "node parameter"]
    is_regular: Bool[np.ndarray, " node"]
    terms: Float64[np.ndarray, "parameter entry"]
    inverse: Float64[np.ndarray, "node parameter parameter"]


@compiled("equation")
def terms_and_jacobians(
    parameters: Float[AnyArray, "parameter entry"], observation: Float[AnyArray, "output entry"], *, equation: Any
) -> tuple[Float[Array, "parameter entry"], Float[Array, "parameter parameter entry"]]:
    """Returns the terms of entries and their Jacobians, in one program for every bucket of entries."""

    def of_entry(own, row):
        return equation.terms(own, row), jax.jacobian(equation.terms)(own, row)

    return jax.vmap(of_entry, in_axes=1, out_axes=-1)(parameters, observation)


def evaluate(
    equation: EstimatingEquation,
    parameters: Float64[np.ndarray, "parameter entry"],
    observation: Float64[np.ndarray, "output entry"],
) -> tuple[Float64[np.ndarray, "parameter entry"], Float64[np.ndarray, "parameter parameter entry"]]:
    """Returns the terms of entries and their Jacobians, on the host."""
    number = parameters.shape[1]
    padding = (0, 0), (0, row_bucket(number) - number)
    with jax.enable_x64(True):
        padded = (np.pad(values, padding, mode="edge") for values in (parameters, observation))
        terms, jacobian = terms_and_jacobians(*padded, equation=equation)
        return np.asarray(terms)[:, :number], np.asarray(jacobian)[..., :number]


def check_equation(equation: EstimatingEquation, observation: Float64[np.ndarray, "output row"]) -> None:
    """Raises InvalidInputError unless the function has as many terms as parameters, numbers of rows and parameters."""
    start = jax.ShapeDtypeStruct((equation.size,), np.float64)
    row = jax.ShapeDtypeStruct((len(observation),), np.float64)
    with jax.enable_x64(True):
        try:
            shape = jax.eval_shape(equation.terms, start, row).shape
        except Exception as error:
            raise InvalidInputError(f"psi cannot be computed of a row: {error}") from error
    if shape != (equation.size,):
        raise InvalidInputError(
            f"psi must return a term for each of {equation.size} parameters, {equation.num_parameters} of interest and "
            f"{equation.num_nuisances} beside them, got {shape[0]}"
        )


def solve_nodes(
    equation: EstimatingEquation,
    observation: Float64[np.ndarray, "output row"],
    nodes: NodeRows,
    start: Float64[np.ndarray, "node parameter"],
) -> NodeSolutions:
    """Returns the solutions of an equation in the weighted entries of nodes.

    A step that enlarges the sum of terms is halved. Solutions do not depend on the order of entries.

    Args:
        equation: The equation.
        observation: The observations of all rows.
        nodes: The entries of the nodes; each node has some.
        start: The parameters to begin with.
    """
    weight, own = nodes.weight.astype(np.float64), observation[:, nodes.row]
    whole = sums_of_nodes(weight, nodes)
    kept = candidate = start.astype(np.float64)
    least, step = np.full(nodes.num_nodes, np.inf), np.zeros_like(kept)
    for _ in range(MOST_STEPS):
        size, total, jacobian, _ = _sums(equation, own, nodes, weight, candidate)
        merit = np.max(np.divide(np.abs(total), size, out=np.zeros_like(total), where=size > 0), axis=0)
        merit = np.where(np.isfinite(total).all(axis=0) & np.isfinite(jacobian).all(axis=(0, 1)), merit, np.inf)
        is_better = (merit < least) | (np.isinf(least) & np.isfinite(merit))
        inverse, _ = _inverses(jacobian / whole)
        newton = -np.einsum("npq,qn->np", inverse, total / whole)
        kept = np.where(is_better[:, None], candidate, kept)
        step = np.where(is_better[:, None], newton, step / 2)
        least = np.where(is_better, merit, least)
        open_nodes = (least > TOLERANCE) & (np.abs(step) > 1e-14 * (1e-300 + np.abs(kept))).any(axis=1)
        if not open_nodes.any():
            break
        candidate = np.where(open_nodes[:, None], kept + step, kept)
    size, total, jacobian, terms = _sums(equation, own, nodes, weight, kept)
    inverse, is_regular = _inverses(jacobian / whole)
    return NodeSolutions(kept, is_regular & (least <= np.sqrt(TOLERANCE)), terms, inverse)


def _sums(equation: EstimatingEquation, own: Any, nodes: NodeRows, weight: Any, candidate: Any) -> tuple[Any, ...]:
    """The summed sizes of terms, their sums and those of Jacobians of every node, and the terms."""
    terms, jacobian = evaluate(equation, candidate[nodes.node].T, own)
    size = sums_of_nodes(np.abs(terms) * weight, nodes)
    return size, sums_of_nodes(terms * weight, nodes), sums_of_nodes(jacobian * weight, nodes), terms


def _inverses(
    jacobian: Float64[np.ndarray, "parameter parameter node"],
) -> tuple[Float64[np.ndarray, "node parameter parameter"], Bool[np.ndarray, " node"]]:
    """The inverses of matrices, 0 where there is none, and whether there is one."""
    matrix = np.moveaxis(np.where(np.isfinite(jacobian), jacobian, 0.0), 2, 0)
    # The units of terms and of parameters make a matrix neither better nor worse.
    lines = _sizes(matrix, 2)
    columns = _sizes(matrix / lines, 1)
    scaled = matrix / lines / columns
    spread = np.linalg.svd(scaled, compute_uv=False)
    is_regular = (spread[:, -1] > SINGULAR) & np.isfinite(jacobian).all(axis=(0, 1))
    eye = np.eye(matrix.shape[1])
    inverse = np.linalg.inv(np.where(is_regular[:, None, None], scaled, eye))
    inverse = inverse / np.swapaxes(columns, 1, 2) / np.swapaxes(lines, 1, 2)
    return np.where(is_regular[:, None, None], inverse, 0.0), is_regular


def _sizes(matrix: Float64[np.ndarray, "node line column"], axis: int) -> Float64[np.ndarray, "node line column"]:
    """The greatest sizes along an axis, 1 where all are 0."""
    greatest = np.abs(matrix).max(axis=axis, keepdims=True)
    return np.where(greatest > 0, greatest, 1.0)


@dataclasses.dataclass(frozen=True, eq=False)
class EquationMoment:
    """The moment of an equation of one's own.

    Attributes:
        equation: The equation.
        observation: The observations of all rows.
        beginning: The parameters that roots begin with.
    """

    equation: EstimatingEquation
    observation: Float64[np.ndarray, "output row"]
    beginning: Float64[np.ndarray, " parameter"]
    rank = None

    @property
    def objective(self) -> Objective:
        """The squared sums of pseudo-outcomes over the weight, a mean over parameters of interest."""
        return Numbers(num_outputs=self.equation.num_parameters)

    @property
    def start(self) -> Float64[np.ndarray, " parameter"]:
        """The parameters that roots begin with."""
        return self.beginning

    def relabel(self, nodes: NodeRows, solution: Float64[np.ndarray, "node parameter"]) -> Relabelled:
        """Returns the pseudo-outcomes of every entry; a node without a solution is not split."""
        found = solve_nodes(self.equation, self.observation, nodes, solution)
        of_interest = found.inverse[:, : self.equation.num_parameters]
        outcome = -np.einsum("ekp,pe->ke", of_interest[nodes.node], found.terms)
        outcome, exponent = rounded(outcome, nodes)
        return Relabelled(outcome, found.is_regular, found.solution, exponent)


def rounded(
    outcome: Float64[np.ndarray, "outcome entry"], nodes: NodeRows
) -> tuple[Float64[np.ndarray, "outcome entry"], Int[np.ndarray, " node"]]:
    """Returns pseudo-outcomes over a power of two of each node, rounded, and the exponents of these powers.

    Sums of them are exact whatever other nodes there are.
    """
    outcome = np.where(np.isfinite(outcome), outcome, 0.0)
    greatest = np.maximum.reduceat(np.abs(outcome).max(axis=0), nodes.first[:-1])
    exponent = np.where(greatest > 0, np.frexp(greatest)[1], 0)
    scaled = np.ldexp(outcome, OUTCOME_BITS - exponent[nodes.node])
    return np.ldexp(np.rint(scaled), -OUTCOME_BITS), exponent
