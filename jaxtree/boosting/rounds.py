"""The rounds of boosting as one compiled loop: derivatives, a tree of them, its nodes' steps, and the new scores.

Nothing goes to the host from round to round. A call makes some rounds, so that the host can say how far they are.
"""

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
from jaxtree.boosting.round_tree import MOST_SIZE, Rates, RoundInfo, ScoredRows
from jaxtree.boosting.score_trees import add_own_steps, grow_trees, trees_per_round, walk_all
from jaxtree.compilation import compiled, options_of_small_programs, quick_options
from jaxtree.errors import InvalidInputError, instance_of
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.loop.prepare import Prepared
from jaxtree.growth.plan.plan import Plan
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.mesh import ROWS, Devices, as_rows
from jaxtree.kernels.rows import add_steps, are_within, sum_rows
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree import Tree
from jaxtree.tree.nodes import target_means
from jaxtree.tree.walk import apply_in_program


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


class RoundOutputs(NamedTuple):
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
) -> tuple[BoostState, RoundOutputs]:
    """Makes one round for each of the given learning rates, or fewer.

    On a mesh every device has its part of the rows, and all of the evaluations and the trees.

    Args:
        prepared: The arrays of growth; targets and weights are made here.
        rows: The rows that trees are grown on.
        evaluations: Other rows, whose loss is recorded.
        rates: The numbers of the boosting.
        state: The state after the rounds before.
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
) -> tuple[BoostState, RoundOutputs]:
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

    return lax.while_loop(goes_on, make_next, (state, RoundOutputs(blank_trees(plan, loss, num_made), losses)))


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
) -> tuple[BoostState, RoundOutputs]:
    """Makes a round of one model; see `make_rounds`.

    Returns:
        The state, the tree and the mean loss of every evaluation.
    """
    info = RoundInfo(state.round, learning_rate, mix(rates.seed + state.round.astype(jnp.uint32)))
    before, dropped = state.kept, None
    if rates.dropping is not None:
        tables = (rows.codes, *(own.codes for own in evaluations))
        state, dropped = take_out(state, tables, rates.dropping, rates.seed)
    tree, of_row, is_finite = grow_trees(prepared, rows, state.scores, rates, info, plan=plan, loss=loss)
    state, counted = (state, tree) if dropped is None else put_back(state, dropped, tree, learning_rate)
    walk, add = (functools.partial(own, engine=plan.engine) for own in (apply_in_program, add_steps))
    changes = _changes
    if trees_per_round(plan, loss) > 1:
        changes = jax.vmap(changes)
        walk, add = functools.partial(walk_all, walk), functools.partial(add_own_steps, add)
    steps = changes(counted).astype(state.scores.dtype)
    ends = [walk(tree, own.codes) for own in evaluations]
    evaluated = tuple(add(own, steps, end) for own, end in zip(state.evaluated, ends, strict=True))
    pairs = zip(evaluated, evaluations, strict=True)
    losses = [_mean_loss(loss, scores, own, engine=plan.engine) for scores, own in pairs]
    scores = add(state.scores, steps, of_row)
    is_finite &= _are_usable(loss, scores, plan.devices)
    for own in evaluated:
        is_finite &= _are_usable(loss, own, Devices(1))
    if state.kept is not None and before is not None:
        state = state._replace(kept=state.kept.with_round(is_finite, before.share))
    state = state._replace(round=state.round + 1, scores=scores, evaluated=evaluated, is_finite=is_finite)
    return _with_best(state, losses, rates), RoundOutputs(tree, jnp.array(losses, jnp.float64))


def _are_usable(loss: BaseLoss, scores: Float[Array, "score row"], devices: Devices) -> Bool[Array, ""]:
    """Whether the scores of all rows have sizes up to `MOST_SIZE`, and the extreme ones predictions that are numbers.

    Raises:
        InvalidInputError: A loss of one's own does not compute its predictions by JAX.
    """
    extremes = jnp.stack([jnp.min(scores, axis=1), jnp.max(scores, axis=1)], axis=1)
    is_usable = are_within(extremes, MOST_SIZE)
    try:
        predicted = loss.predict(extremes.astype(jnp.float64))
    except jax.errors.JAXTypeError as error:
        raise InvalidInputError(
            f"{loss} must compute its predictions by functions of JAX, such as those of jax.numpy, which a compiled "
            f"program can follow: {error}"
        ) from error
    is_usable &= jnp.all(jnp.isfinite(predicted))
    return devices.total((~is_usable).astype(jnp.int32)) == 0


def loss_before(
    scores: Float[AnyArray, "score row"],
    rows: ScoredRows,
    worst: Float[np.ndarray, ""],
    loss: BaseLoss,
    *,
    engine: Engine,
) -> Float[np.ndarray, ""]:
    """Returns the mean loss of rows after earlier rounds, with the bits that these had; the worst if it is NaN."""
    # On one device, whatever mesh the rows are on.
    given, rows = np.asarray(scores, worst.dtype), jax.tree.map(np.asarray, rows)
    found = np.asarray(_mean_loss_alone(given, rows, loss=loss, engine=engine))
    return worst if np.isnan(found) else found


@compiled("loss", "engine", what=lambda *_, loss, **__: f"the mean of {loss}", options=options_of_small_programs)
def _mean_loss_alone(
    scores: Float[AnyArray, "score row"], rows: ScoredRows, *, loss: BaseLoss, engine: Engine
) -> Float[Array, ""]:
    return _mean_loss(loss, scores, rows, engine=engine)


def _mean_loss(
    loss: BaseLoss, scores: Float[Array, "score row"], rows: ScoredRows, *, engine: Engine
) -> Float[Array, ""]:
    """The mean loss of rows, with the same bits in every program: of many models, too."""
    if loss.joins_rows:
        return sequential_vmap(loss.mean)(scores, rows.target, rows.weight, rows.extras)
    is_there, exact = rows.weight > 0, functools.partial(sum_rows, devices=Devices(1), engine=engine)
    values = lax.optimization_barrier(loss.values(lax.optimization_barrier(scores), rows.target, rows.extras))
    values = lax.optimization_barrier(jnp.where(is_there, rows.weight * values, 0))
    total = jnp.where(are_within(values, np.inf, engine=engine), exact(values[None], is_there), jnp.nan)
    # A product, as XLA would make one of the quotients of many models by one number.
    inverse = lax.optimization_barrier(safe_divide(1.0, exact(rows.weight[None], is_there)))
    return (total * inverse).astype(scores.dtype)


def _changes(tree: Tree) -> Float[Array, "score node"]:
    """The means of all nodes, with the bits that they have on the host: scores are those of the fitted model."""
    return lax.optimization_barrier(target_means(tree)).T


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
