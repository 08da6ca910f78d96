r"""A stack of boosted trees, a pytree, and the round that adds one.

The structure of a tree is a constant under differentiation. The steps of its leaves are computed exactly, in fixed
point, and have the derivatives of their formula $-\eta \, G / (H + \lambda)$ by the sums G and H of a leaf's rows, by
the penalties and by the rate.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int32, UInt

from jaxtree.arrays import AnyArray
from jaxtree.boosting.leaves import solve_steps
from jaxtree.boosting.round_tree import Rates, RoundInfo, TreeTargets, draw_by, tree_of
from jaxtree.boosting.rounds import changes_of
from jaxtree.compilation import compiled, options_of_small_programs
from jaxtree.devices import platform_of
from jaxtree.errors import InvalidInputError
from jaxtree.growth.inputs.newton import Penalties, newton_step
from jaxtree.growth.loop.prepare import GrowthInputs
from jaxtree.growth.plan.plan import Plan
from jaxtree.kernels.choose import choose
from jaxtree.losses.loss import Derivatives
from jaxtree.tree import Tree
from jaxtree.tree.walk import apply_in_program


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TreeStack:
    """Boosted trees of fixed shape, a pytree; a call returns the scores of codes.

    Rounds from `number` on are padding: their values are 0. Derivatives of scores by `value` and `start` are those of
    sums; by codes there are none.

    Attributes:
        tree: The nodes of every round.
        value: The change of the scores that every node makes.
        start: The scores before the first round.
        number: The number of rounds that count.
        has_axis: Whether scores have the shape (row, output), and not (row,); static.
    """

    tree: Tree
    value: Float[AnyArray, "*batch round score node"]
    start: Float[AnyArray, "*batch score"]
    number: Int32[AnyArray, "*batch"]
    has_axis: bool = dataclasses.field(metadata={"static": True})

    def __call__(self, codes: UInt[AnyArray, "feature row"]) -> Float[Array, "row *output"]:
        """Returns the scores of rows, added up round after round.

        Args:
            codes: The codes of the rows, as `BinEdges` makes them.
        """
        if codes.ndim != 2:
            raise InvalidInputError(f"codes must have the shape (feature, row), got {codes.shape}")
        return as_given(_scores(self, codes), self.has_axis)

    def __repr__(self) -> str:
        """The sizes in a line."""
        *batch, num_rounds, num_scores, num_nodes = self.value.shape
        many = f", batch of {' x '.join(map(str, batch))}" if batch else ""
        return f"TreeStack({num_rounds} rounds of {num_nodes} nodes, scores: {num_scores}{many})"


@compiled(options=options_of_small_programs)
def _scores(stack: TreeStack, codes: UInt[AnyArray, "feature row"]) -> Float[Array, "score row"]:
    engine = choose(platform_of(codes), on_host=False)
    trees = lax.stop_gradient(stack.tree)

    def add(scores, own):
        tree, value = own
        return scores + value[:, apply_in_program(tree, codes, engine=engine)], None

    start = jnp.broadcast_to(stack.start[:, None], (len(stack.start), codes.shape[1]))
    return lax.scan(add, start.astype(stack.value.dtype), (trees, stack.value))[0]


def as_given(scores: Float[Array, "score row"], has_axis: bool) -> Float[Array, "row *output"]:
    """The scores of rows as targets have them: of shape (row, output), or (row,)."""
    return scores.T if has_axis else scores[0]


class GrownRound(NamedTuple):
    """The tree of a round.

    Attributes:
        tree: Its nodes.
        value: The change of the scores that every node makes; differentiable at leaves.
        of_row: The leaf of every row.
        is_finite: Whether all derivatives were numbers.
    """

    tree: Tree
    value: Float[Array, "score node"]
    of_row: Int32[Array, " row"]
    is_finite: Bool[Array, ""]


def grow_round(
    prepared: GrowthInputs,
    exact: TreeTargets,
    smooth: Derivatives,
    weight: Float[Array, " row"],
    rates: Rates,
    info: RoundInfo,
    *,
    plan: Plan,
) -> GrownRound:
    """Grows the tree of a round; needs 64-bit types.

    Args:
        prepared: The arrays of growth.
        exact: The derivatives of all rows as trees are grown by them, which are constants; with residuals where leaves
            take quantiles.
        smooth: The same derivatives, not rounded, by which values of leaves are differentiated.
        weight: The weights of rows, with which derivatives have been multiplied.
        rates: The numbers.
        info: The number of the round, its learning rate and its seed.
        plan: The static sizes of growth.
    """
    weight, numbers, constants = lax.stop_gradient((weight, rates, info))
    options = {"plan": plan, "l2": numbers.penalties.l2}
    drawn, targets, is_finite = draw_by(prepared, exact.derivatives, weight, numbers, constants.seed, **options)
    targets = targets._replace(residual=exact.residual, level=exact.level)
    tree, of_row = tree_of(prepared, drawn, targets, numbers, constants, plan=plan, num_ordered=1)
    value = changes_of(tree)
    if exact.residual is None:
        leaf = jnp.where(drawn.is_used, of_row, tree.capacity)
        value = with_derivatives(value, info.learning_rate * _steps_of_leaves(smooth, leaf, tree, rates.penalties))
    return GrownRound(tree, value, of_row, is_finite)


def _steps_of_leaves(
    derivatives: Derivatives, leaf: Int32[Array, " row"], tree: Tree, penalties: Penalties
) -> Float[Array, "score node"]:
    """The steps of leaves by plain sums over their rows; 0 at all other nodes."""
    gradient, hessian = derivatives
    sums = lambda values: jnp.zeros((len(values), tree.capacity)).at[:, leaf].add(values, mode="drop")  # noqa: E731
    if hessian.ndim == 3:
        steps = solve_steps(sums(gradient), sums(hessian[np.tril_indices(len(hessian))]), penalties)
    else:
        steps = newton_step(sums(gradient), sums(hessian), penalties)
    return jnp.where(tree.is_leaf, steps, 0.0)


@jax.custom_jvp
def with_derivatives(exact: Any, smooth: Any) -> Any:
    """Returns exact values that have the derivatives of other ones, which are not computed without these."""
    return exact


@with_derivatives.defjvp
def _derivatives_of_smooth(primals: Any, tangents: Any) -> Any:
    return primals[0], tangents[1]
