"""The rounds of boosting as one compiled loop: derivatives, a tree of them, its nodes' steps, and the new scores.

Nothing goes to the host from round to round. A call makes some rounds, so that the host can say how far they are.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import sequential_vmap
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Bool, Float, Int32, Shaped, UInt, UInt32

from jaxtree.arrays import AnyArray, mix, safe_divide
from jaxtree.boosting.columns import draw_columns
from jaxtree.boosting.dropping import Dropping, Kept, put_back, take_out
from jaxtree.boosting.leaves import Leaves, exact_sum, newton_steps, quantile_steps, within_bounds
from jaxtree.boosting.loss import BaseLoss, Derivatives, with_offset
from jaxtree.boosting.samples import RowsToDraw, Sample
from jaxtree.compilation import compiled, quick_options
from jaxtree.growth import native_rows
from jaxtree.growth.grow import grow_to_leaves
from jaxtree.growth.inputs import Limits
from jaxtree.growth.mesh import ROWS, Devices, as_rows
from jaxtree.growth.newton import Newton, Penalties
from jaxtree.growth.plan import Plan
from jaxtree.growth.prepare import Prepared
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.nodes import target_means
from jaxtree.tree.walk import apply

DIGITS = 23
"""Binary digits of a derivative after the first one: those of numbers of 32 bits."""


class ScoredRows(NamedTuple):
    """Rows that scores are made for.

    Attributes:
        codes: Codes of every feature.
        target: The target of every row; of several outputs a column each.
        weight: The weight of every row; 0 for padding.
        extras: What else the loss asks for, see `jaxtree.boosting.Extras`.
    """

    codes: UInt[AnyArray, "feature row"]
    target: Shaped[AnyArray, "row *output"]
    weight: Float[AnyArray, " row"]
    extras: dict[str, AnyArray]


class Rates(NamedTuple):
    """The numbers of a boosting, on which no program depends.

    Attributes:
        learning_rate: The part of every step that is made, for each round of a call.
        sample: How the rows of a tree are drawn.
        dropping: How trees are dropped; None where none are.
        least_gain: The least loss that a split must save.
        patience: The number of rounds without a better loss of the first evaluation after which boosting stops.
        tolerance: How much less a loss must be to be better.
        end: The number of rounds at which to end.
        seed: The seed of what is drawn; a draw depends on it, the round and the row.
        penalties: The penalties of steps.
        limits: The limits of the trees.
        num_columns: The number of columns that a tree draws; None for all.
    """

    learning_rate: Float[AnyArray, " made"]
    sample: Sample
    dropping: Dropping | None
    least_gain: Float[AnyArray, ""]
    patience: Int32[AnyArray, ""]
    tolerance: Float[AnyArray, ""]
    end: Int32[AnyArray, ""]
    seed: UInt32[AnyArray, ""]
    penalties: Penalties
    limits: Limits
    num_columns: Int32[AnyArray, ""] | None


class BoostState(NamedTuple):
    """What a round changes.

    Attributes:
        round: The number of rounds made.
        scores: The scores of the rows that trees are grown on.
        evaluated: The scores of the rows of every evaluation.
        best: The least loss of the first evaluation.
        best_round: The number of rounds that it was reached with.
        is_finite: Whether all derivatives were numbers; if not, the last tree is worth nothing.
        kept: The trees of all rounds, where trees are dropped.
    """

    round: Int32[AnyArray, ""]
    scores: Float[AnyArray, "score row"]
    evaluated: tuple[Float[AnyArray, "score row"], ...]
    best: Float[AnyArray, ""]
    best_round: Int32[AnyArray, ""]
    is_finite: Bool[AnyArray, ""]
    kept: Kept | None = None


class Made(NamedTuple):
    """What the rounds of one call have made; only the first rounds of it are used.

    Attributes:
        trees: The tree of every round, whose means are the changes of the scores; those that are dropped at times
            count less, as `BoostState.kept` says.
        losses: The mean loss of every evaluation after each round.
    """

    trees: Tree
    losses: Float[Array, "*made evaluation"]


def _compiler_options(*, plan: Plan, **_: object) -> dict[str, Any]:
    """XLA's options: those of quick compilation where rows are few and the kernel in C++ does most of the work."""
    return quick_options(1) if plan.is_native and plan.entry_capacity <= plan.costs.few_entries else {}


@compiled("plan", "loss", "mesh", what=lambda *_, **__: "boosting", options=_compiler_options)
def make_rounds(
    prepared: Prepared,
    rows: ScoredRows,
    evaluations: tuple[ScoredRows, ...],
    rates: Rates,
    state: BoostState,
    *,
    plan: Plan,
    loss: BaseLoss,
    mesh: Mesh | None,
) -> tuple[BoostState, Made]:
    """Makes one round for each of the given learning rates, or fewer.

    On a mesh every device has its part of the rows, and all of the evaluations and the trees.

    Args:
        prepared: The arrays of growth; targets and weights are made here.
        rows: The rows that trees are grown on.
        evaluations: Other rows, whose loss is recorded.
        rates: The numbers of the boosting.
        state: What the rounds before have led to.
        plan: The static sizes of growth.
        loss: The loss.
        mesh: The devices that rows are divided among.
    """
    loop = functools.partial(_make_rounds, plan=plan, loss=loss)
    if mesh is None:
        return loop(prepared, rows, evaluations, rates, state)
    given, whole = (prepared, rows, evaluations, rates, state), P()
    spread = lambda values: jax.tree.map(lambda _: whole, values)  # noqa: E731
    of_state = spread(state)._replace(scores=P(None, ROWS))
    of_rows = ScoredRows(P(None, ROWS), P(ROWS), P(ROWS), {name: P(ROWS) for name in rows.extras})
    specs = (spread(prepared)._replace(codes=P(None, ROWS)), of_rows, spread(evaluations), spread(rates), of_state)
    return jax.shard_map(loop, mesh=as_rows(mesh), in_specs=specs, out_specs=(of_state, whole), check_vma=False)(*given)


def _make_rounds(
    prepared: Prepared,
    rows: ScoredRows,
    evaluations: tuple[ScoredRows, ...],
    rates: Rates,
    state: BoostState,
    *,
    plan: Plan,
    loss: BaseLoss,
) -> tuple[BoostState, Made]:
    first, num_made = state.round, rates.learning_rate.shape[0]
    losses = jnp.zeros((num_made, len(evaluations)), jnp.float64)

    def goes_on(carry):
        state, _ = carry
        in_time = state.round < jnp.minimum(rates.end, first + num_made)
        hopes = state.round - state.best_round < rates.patience
        return in_time & state.is_finite & (hopes | (not evaluations))

    def make_next(carry):
        state, made = carry
        at, rate = state.round - first, rates.learning_rate[state.round - first]
        state, new = make_round(prepared, rows, evaluations, rates, state, rate, plan=plan, loss=loss)
        made = jax.tree.map(lambda all_, own: all_.at[at].set(own.astype(all_.dtype)), made, new)
        return state, made

    return lax.while_loop(goes_on, make_next, (state, Made(blank_trees(plan, num_made), losses)))


def make_round(
    prepared: Prepared,
    rows: ScoredRows,
    evaluations: tuple[ScoredRows, ...],
    rates: Rates,
    state: BoostState,
    learning_rate: Float[Array, ""],
    *,
    plan: Plan,
    loss: BaseLoss,
) -> tuple[BoostState, Made]:
    """Makes a round of one model; see `make_rounds`.

    Returns:
        The state, the tree and the mean loss of every evaluation.
    """
    if rates.dropping is None:
        leaves, is_finite = _grow_tree(prepared, rows, rates, state, learning_rate, plan, loss)
        tree = counted = leaves.tree
    else:
        tables = (rows.codes, *(own.codes for own in evaluations))
        state, dropped = take_out(state, tables, rates.dropping, rates.seed)
        leaves, is_finite = _grow_tree(prepared, rows, rates, state, learning_rate, plan, loss)
        tree = leaves.tree
        state, counted = put_back(state, dropped, tree, learning_rate)
    steps = _changes(counted).astype(state.scores.dtype)
    ends = [(native_rows.walk if plan.is_native else apply)(tree, own.codes) for own in evaluations]
    evaluated = tuple(_add_steps(own, steps, end) for own, end in zip(state.evaluated, ends, strict=True))
    pairs = zip(evaluated, evaluations, strict=True)
    losses = [_mean_loss(loss, scores, own, is_native=plan.is_native) for scores, own in pairs]
    scores = (native_rows.add_steps if plan.is_native else _add_steps)(state.scores, steps, leaves.of_row)
    state = state._replace(round=state.round + 1, scores=scores, evaluated=evaluated, is_finite=is_finite)
    return _with_best(state, losses, rates), Made(tree, jnp.array(losses, jnp.float64))


def _mean_loss(
    loss: BaseLoss, scores: Float[Array, "score row"], rows: ScoredRows, *, is_native: bool
) -> Float[Array, ""]:
    """The mean loss of rows, with the same bits in every program: of many models, too."""
    if loss.joins_rows:
        return sequential_vmap(loss.mean)(scores, rows.target, rows.weight, rows.extras)
    is_there, exact = rows.weight > 0, functools.partial(exact_sum, devices=Devices(1), is_native=is_native)
    values = lax.optimization_barrier(loss.values(lax.optimization_barrier(scores), rows.target, rows.extras))
    values = lax.optimization_barrier(jnp.where(is_there, rows.weight * values, 0))
    total = jnp.where(jnp.all(jnp.isfinite(values)), exact(values[None], is_there), jnp.nan)
    # A product, as XLA would make one of the quotients of many models by one number.
    inverse = lax.optimization_barrier(safe_divide(1.0, exact(rows.weight[None], is_there)))
    return (total * inverse).astype(scores.dtype)


def _changes(tree: Tree) -> Float[Array, "score node"]:
    """The means of all nodes, with the bits that they have on the host, so that scores are those of the fitted model.

    One score at a time: of several XLA would make products with the reciprocals of weights.
    """
    columns = jnp.split(tree.target_sum, tree.target_sum.shape[1], axis=1)
    means = [target_means(dataclasses.replace(tree, target_sum=column)) for column in columns]
    return lax.optimization_barrier(jnp.concatenate(means, axis=1)).T


def _add_steps(
    scores: Float[Array, "score row"], steps: Float[Array, "score node"], leaf: Int32[Array, " row"]
) -> Float[Array, "score row"]:
    """The scores, each with the step of its row's leaf."""
    return scores + steps[:, leaf]


def _with_best(state: BoostState, losses: list[Float[Array, ""]], rates: Rates) -> BoostState:
    """The state, after the losses of its last round."""
    if not losses:
        return state
    is_better = losses[0] < state.best - rates.tolerance
    return state._replace(
        best=jnp.where(is_better, losses[0], state.best),
        best_round=jnp.where(is_better, state.round, state.best_round),
        kept=None if state.kept is None else state.kept.with_best(is_better),
    )


def _grow_tree(
    prepared: Prepared, rows: ScoredRows, rates: Rates, state: BoostState, learning_rate, plan: Plan, loss: BaseLoss
) -> tuple[Leaves, Bool[Array, ""]]:
    """The tree of a round, whose means are the changes of scores, and whether all derivatives are numbers."""
    derivatives = row_derivatives(loss, state.scores, rows)
    strange = [jnp.sum(~jnp.isfinite(part)) for part in derivatives]
    is_finite = plan.devices.total(jnp.stack(strange)).sum() == 0
    seed = mix(rates.seed + state.round.astype(jnp.uint32))
    noise, number = _numbers_of_rows(seed, plan.devices.number_rows(rows.weight > 0))
    drawn_from = RowsToDraw(rows.weight > 0, number, derivatives, rates.penalties.l2, plan.devices)
    is_used, factor = rates.sample.draw(drawn_from)
    if factor is not None:
        factor = lax.optimization_barrier(factor.astype(rows.weight.dtype))
        rows = rows._replace(weight=rows.weight * factor)
        derivatives = Derivatives(derivatives.gradient * factor, derivatives.hessian * factor)
    curvature = _curvatures(derivatives, plan)
    # Growth asks for a part of the root's weight.
    weight = exact_sum(curvature, is_used, plan.devices, is_native=plan.is_native)
    prepared = prepared if rates.num_columns is None else draw_columns(prepared, rates.num_columns, seed)
    limits = rates.limits._replace(min_impurity_decrease=(rates.least_gain / jnp.where(weight > 0, weight, 1))[None])
    grown, of_row = grow_to_leaves(
        prepared._replace(
            target=jnp.concatenate([curvature, _of_one_spread(derivatives.gradient, loss), noise[None]]),
            weight=is_used.astype(jnp.int32),
            limits=limits,
            root_seed=seed[None],
        ),
        plan=plan,
    )
    monotone = prepared.features.monotone if plan.rules.has_monotone else None
    tree = _split_at_codes(grown.tree, prepared)
    leaves = Leaves(tree, of_row, is_used, plan.devices, plan.is_native)
    steps = learning_rate * node_steps(leaves, derivatives, rows, state.scores, rates.penalties, monotone, loss)
    tree = dataclasses.replace(tree, target_sum=(steps * tree.weight).T)
    return leaves._replace(tree=tree), is_finite


def _split_at_codes(tree: Tree, prepared: Prepared) -> Tree:
    """The tree with thresholds right above the codes of its splits.

    So rows that it was not grown on take the same branches by their codes, in the loop, and by their values, later.
    """
    missing_code = prepared.features.missing_code[tree.feature]
    is_threshold, is_known = tree.split_kind == SplitKind.THRESHOLD, tree.next_code < missing_code
    next_code = jnp.minimum(tree.next_code, tree.code + 1)
    return dataclasses.replace(
        tree,
        # A split that sets missing values apart has all known ones below it.
        code=jnp.where(is_threshold & ~is_known, missing_code - 1, tree.code),
        next_code=jnp.where(is_threshold & is_known, next_code, tree.next_code),
    )


def row_derivatives(loss: BaseLoss, scores: Float[Array, "score row"], rows: ScoredRows) -> Derivatives:
    """The derivatives of all rows.

    Between barriers XLA does not fuse them with what is around them, which would change their last bits. Of many
    models at once those whose rows depend on one another are made one model after another, for the same reason.

    The last bits of exponentials and of sums over scores may still differ from program to program, so derivatives of
    64 bits keep `DIGITS`, which then are the same: one of 2**28 that differ lies so close to the middle of two such
    numbers that they are not. Those of more rows have 32 bits as XLA computes them.
    """
    derive = sequential_vmap(loss.derivatives) if loss.joins_rows else loss.derivatives
    scores = lax.optimization_barrier(scores)
    derivatives = derive(scores, rows.target, rows.weight, rows.extras)
    if scores.dtype == jnp.float64:
        rounded = functools.partial(lax.reduce_precision, exponent_bits=11, mantissa_bits=DIGITS)
        derivatives = jax.tree.map(rounded, derivatives)
    return lax.optimization_barrier(derivatives)


def node_steps(
    leaves: Leaves, derivatives: Derivatives, rows: ScoredRows, scores, penalties: Penalties, monotone, loss: BaseLoss
) -> Float[Array, "score node"]:
    """The whole steps of all nodes; `monotone` has the constraint of every feature, or is None."""
    if loss.renewal is not None:
        shifted, _ = with_offset(scores, rows.extras, loss.has_location)
        levels = np.broadcast_to(loss.renewal, loss.num_scores).tolist()
        return quantile_steps(leaves, rows.target - shifted, rows.weight, tuple(levels))
    steps = newton_steps(leaves, derivatives, penalties)
    if monotone is not None:
        steps = within_bounds(leaves.tree, steps, monotone)
    return steps


def _curvatures(derivatives: Derivatives, plan: Plan) -> Float[Array, "curvature row"]:
    """The second derivatives that splits are scored by: of a matrix the diagonal."""
    hessian, objective = derivatives.hessian, plan.rules.objective
    assert isinstance(objective, Newton)
    diagonal = jnp.diagonal(hessian).T if hessian.ndim == 3 else hessian
    return diagonal[: objective.num_curvatures]


def _of_one_spread(gradient: Float[Array, "score row"], loss: BaseLoss) -> Float[Array, "score row"]:
    r"""The gradients that splits are scored by: of several quantiles each by its deviation $\sqrt{\tau (1 - \tau)}$."""
    if loss.renewal is None or loss.num_scores == 1:
        return gradient
    level = np.broadcast_to(loss.renewal, loss.num_scores)
    factor = (0.5 / np.sqrt(level * (1 - level))).astype(gradient.dtype)
    return lax.optimization_barrier(gradient * factor[:, None])


def _numbers_of_rows(
    seed: UInt32[Array, ""], row: Int32[Array, " row"]
) -> tuple[Float[Array, " row"], Float[Array, " row"]]:
    """Two numbers from 0 to below 1 for every row, which follow from the seed and the row's number.

    A row's number counts the rows of some weight before it: neither padding nor devices change what is drawn.
    """
    first = mix(row.astype(jnp.uint32) ^ seed)
    second = mix(first + jnp.uint32(0x9E3779B9))
    as_float = lambda bits: (bits >> 8).astype(jnp.float32) / 2**24  # noqa: E731
    return as_float(first), as_float(second)


def blank_trees(plan: Plan, number: int) -> Tree:
    """Space for a number of trees."""
    objective, size = plan.rules.objective, (number, plan.capacity)
    assert isinstance(objective, Newton)
    zero, real = jnp.zeros(size, jnp.int32), jnp.zeros(size, jnp.float64)
    return Tree(
        feature=zero, code=zero, next_code=zero, threshold=real, split_kind=zero,
        subset=jnp.zeros((*size, plan.num_words), jnp.uint32), missing_code=zero, missing_branch=zero,
        first_child=zero, num_children=zero, parent=zero, depth=zero, root=zero,
        weight=real, count=jnp.zeros((*size, 0)), target_sum=jnp.zeros((*size, objective.num_scores)),
        num_rows=zero, impurity=real, gain=real, num_nodes=jnp.zeros(number, jnp.int32), num_classes=(),
    )  # fmt: skip
