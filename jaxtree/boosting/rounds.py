"""The rounds of boosting as one compiled loop: derivatives, a tree of them, its nodes' steps, and the new scores.

Nothing goes to the host from round to round. A call makes some rounds, so that the host can say how far they are.
"""

import contextlib
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import sequential_vmap
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Bool, Float, Int32

from jaxtree.arrays import AnyArray, mix, safe_divide
from jaxtree.boosting.dropping import Kept, put_back, take_out
from jaxtree.boosting.leaves import exact_sum
from jaxtree.boosting.round_tree import MOST_SIZE, Rates, ScoredRows, Turn, grow_tree
from jaxtree.boosting.score_trees import add_own_steps, grow_score_trees, trees_per_round, walk_all
from jaxtree.compilation import compiled, options_of_small_programs, quick_options
from jaxtree.errors import instance_of
from jaxtree.growth.inputs.mesh import ROWS, Devices, as_rows
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.inputs.whole_numbers import are_within
from jaxtree.growth.loop.prepare import Prepared
from jaxtree.growth.native import rows as native_rows
from jaxtree.growth.plan.plan import Plan
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree import Tree
from jaxtree.tree.nodes import target_means
from jaxtree.tree.walk import apply


class BoostState(NamedTuple):
    """The state that a round changes.

    Attributes:
        round: The number of rounds made.
        scores: The scores of the rows that trees are grown on.
        evaluated: The scores of the rows of every evaluation.
        best: The least loss of the first evaluation.
        best_round: The number of rounds that it was reached with.
        is_finite: Whether all derivatives, scores and predictions were finite; if not, discard the last tree.
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
    """The outputs of the rounds of one call; only the first rounds are used.

    Attributes:
        trees: The tree of every round, whose means are the changes of the scores, or that of every round and score;
            those that are dropped at times count less, as `BoostState.kept` says.
        losses: The mean loss of every evaluation after each round.
    """

    trees: Tree
    losses: Float[Array, "*made evaluation"]


def _compiler_options(*, plan: Plan, **_: object) -> dict[str, Any]:
    """XLA's options: those of quick compilation where rows are few, on a CPU."""
    is_small = plan.is_on_cpu and plan.entry_capacity <= plan.costs.few_entries
    return quick_options(1) if is_small else plan.options_of_gpu


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
        has_patience = rates.stopping.has_patience(state.round, state.best_round)
        return in_time & state.is_finite & (has_patience | (not evaluations))

    def make_next(carry):
        state, made = carry
        at, rate = state.round - first, rates.learning_rate[state.round - first]
        state, new = make_round(prepared, rows, evaluations, rates, state, rate, plan=plan, loss=loss)
        made = jax.tree.map(lambda all_, own: all_.at[at].set(own.astype(all_.dtype)), made, new)
        return state, made

    return lax.while_loop(goes_on, make_next, (state, Made(blank_trees(plan, loss, num_made), losses)))


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
    turn = Turn(state.round, learning_rate, mix(rates.seed + state.round.astype(jnp.uint32)))
    is_of_scores = trees_per_round(plan, loss) > 1
    grow = functools.partial(grow_score_trees if is_of_scores else grow_tree, plan=plan, loss=loss)
    before = state.kept
    if rates.dropping is None:
        tree, of_row, is_finite = grow(prepared, rows, state.scores, rates, turn)
        counted = tree
    else:
        tables = (rows.codes, *(own.codes for own in evaluations))
        state, dropped = take_out(state, tables, rates.dropping, rates.seed)
        tree, of_row, is_finite = grow(prepared, rows, state.scores, rates, turn)
        state, counted = put_back(state, dropped, tree, learning_rate)
    walk, add_steps = (native_rows.walk, native_rows.add_steps) if plan.is_native else (apply, _add_steps)
    changes = _changes
    if is_of_scores:
        changes = jax.vmap(changes)
        walk, add_steps = functools.partial(walk_all, walk), functools.partial(add_own_steps, add_steps)
    steps = changes(counted).astype(state.scores.dtype)
    ends = [walk(tree, own.codes) for own in evaluations]
    evaluated = tuple(add_steps(own, steps, end) for own, end in zip(state.evaluated, ends, strict=True))
    pairs = zip(evaluated, evaluations, strict=True)
    losses = [_mean_loss(loss, scores, own, is_native=plan.is_native) for scores, own in pairs]
    scores = add_steps(state.scores, steps, of_row)
    is_finite &= _are_usable(loss, scores, plan.devices)
    for own in evaluated:
        is_finite &= _are_usable(loss, own, Devices(1))
    if state.kept is not None and before is not None:
        state = state._replace(kept=state.kept.with_round(is_finite, before.share))
    state = state._replace(round=state.round + 1, scores=scores, evaluated=evaluated, is_finite=is_finite)
    return _with_best(state, losses, rates), Made(tree, jnp.array(losses, jnp.float64))


def _are_usable(loss: BaseLoss, scores: Float[Array, "score row"], devices: Devices) -> Bool[Array, ""]:
    """Whether the scores of all rows have sizes up to `MOST_SIZE`, and the extreme ones predictions that are numbers.

    The predictions of a loss of one's own need not be traceable; then scores alone are looked at.
    """
    extremes = jnp.stack([jnp.min(scores, axis=1), jnp.max(scores, axis=1)], axis=1)
    is_usable = are_within(extremes, MOST_SIZE)
    with contextlib.suppress(jax.errors.JAXTypeError):
        is_usable &= jnp.all(jnp.isfinite(loss.predict(extremes.astype(jnp.float64))))
    return devices.total((~is_usable).astype(jnp.int32)) == 0


def loss_before(
    scores: Float[AnyArray, "score row"],
    rows: ScoredRows,
    worst: Float[np.ndarray, ""],
    loss: BaseLoss,
    *,
    is_native: bool,
) -> Float[np.ndarray, ""]:
    """Returns the mean loss of rows after earlier rounds, with the bits that these had; the worst if it is NaN."""
    # On one device, whatever mesh the rows are on.
    given, rows = np.asarray(scores, worst.dtype), jax.tree.map(np.asarray, rows)
    found = np.asarray(_mean_loss_alone(given, rows, loss=loss, is_native=is_native))
    return worst if np.isnan(found) else found


@compiled("loss", "is_native", what=lambda *_, loss, **__: f"the mean of {loss}", options=options_of_small_programs)
def _mean_loss_alone(
    scores: Float[AnyArray, "score row"], rows: ScoredRows, *, loss: BaseLoss, is_native: bool
) -> Float[Array, ""]:
    return _mean_loss(loss, scores, rows, is_native=is_native)


def _mean_loss(
    loss: BaseLoss, scores: Float[Array, "score row"], rows: ScoredRows, *, is_native: bool
) -> Float[Array, ""]:
    """The mean loss of rows, with the same bits in every program: of many models, too."""
    if loss.joins_rows:
        return sequential_vmap(loss.mean)(scores, rows.target, rows.weight, rows.extras)
    is_there, exact = rows.weight > 0, functools.partial(exact_sum, devices=Devices(1), is_native=is_native)
    values = lax.optimization_barrier(loss.values(lax.optimization_barrier(scores), rows.target, rows.extras))
    values = lax.optimization_barrier(jnp.where(is_there, rows.weight * values, 0))
    within = native_rows.are_within if is_native else are_within
    total = jnp.where(within(values, np.inf), exact(values[None], is_there), jnp.nan)
    # A product, as XLA would make one of the quotients of many models by one number.
    inverse = lax.optimization_barrier(safe_divide(1.0, exact(rows.weight[None], is_there)))
    return (total * inverse).astype(scores.dtype)


def _changes(tree: Tree) -> Float[Array, "score node"]:
    """The means of all nodes, with the bits that they have on the host: scores are those of the fitted model."""
    return lax.optimization_barrier(target_means(tree)).T


def _add_steps(
    scores: Float[Array, "score row"], steps: Float[Array, "score node"], leaf: Int32[Array, " row"]
) -> Float[Array, "score row"]:
    """The scores, each with the step of its row's leaf."""
    return scores + steps[:, leaf]


def _with_best(state: BoostState, losses: list[Float[Array, ""]], rates: Rates) -> BoostState:
    """The state, after the losses of its last round."""
    if not losses:
        return state
    is_better = rates.stopping.is_better(losses[0], state.best) & state.is_finite
    return state._replace(
        best=jnp.where(is_better, losses[0], state.best),
        best_round=jnp.where(is_better, state.round, state.best_round),
        kept=None if state.kept is None else state.kept.with_best(is_better),
    )


def blank_trees(plan: Plan, loss: BaseLoss, number: int) -> Tree:
    """Space for the trees of a number of rounds."""
    of_round = trees_per_round(plan, loss)
    return blank_tables(plan, number) if of_round == 1 else blank_tables(plan, number, of_round)


def blank_tables(plan: Plan, *trees: int) -> Tree:
    """Space for an array of trees of a shape."""
    objective, size = instance_of(Newton, plan.rules.objective), (*trees, plan.capacity)
    zero, real = jnp.zeros(size, jnp.int32), jnp.zeros(size, jnp.float64)
    return Tree(
        feature=zero, code=zero, next_code=zero, threshold=real, split_kind=zero,
        subset=jnp.zeros((*size, plan.num_words), jnp.uint32), missing_code=zero, missing_branch=zero,
        first_child=zero, num_children=zero, parent=zero, depth=zero, root=zero,
        weight=real, count=jnp.zeros((*size, 0)), target_sum=jnp.zeros((*size, objective.num_scores)),
        num_rows=zero, impurity=real, gain=real, num_nodes=jnp.zeros(trees, jnp.int32), num_classes=(),
    )  # fmt: skip
