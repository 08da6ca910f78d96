"""The rounds of boosting as one compiled loop: derivatives, a tree of them, its nodes' steps, and the new scores.

Nothing goes to the host from round to round. A call makes some rounds, so that the host can say how far they are.

A loop makes the rounds of several models, its *members*, which share rows and codes; each has a *slot*. Members differ
in numbers: rates, limits, the number of rounds, the seed, and targets and weights where they have their own. So the
trees of all members of a round are grown in one call, and none depends on its neighbours. The round of several is that
of one, mapped over slots; a model alone has one slot, and its program no axis for it.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import sequential_vmap
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Bool, Float, Int32, Shaped

from jaxtree.arrays import AnyArray, mix, safe_divide
from jaxtree.boosting.dropping import Kept, put_back, take_out
from jaxtree.boosting.ending import NO_PATIENCE
from jaxtree.boosting.round_tree import (
    MOST_SIZE,
    Rates,
    RoundInfo,
    ScoredRows,
    add_own_steps,
    grow_trees,
    trees_per_round,
    walk_all,
)
from jaxtree.compilation import compiled, options_of_small_programs, quick_options
from jaxtree.errors import InvalidInputError, instance_of
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.loop.prepare import GrowthInputs
from jaxtree.growth.plan.plan import KernelPlan, Plan
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.mesh import ROWS, Devices
from jaxtree.kernels.rows import add_steps, are_within, sum_rows
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree import Tree
from jaxtree.tree.nodes import target_means
from jaxtree.tree.walk import apply_in_program

SLOTS = "slots"
"""The axis of a mesh that slots are divided along."""


class BoostState(NamedTuple):
    """The state that rounds change: that of a model, or of those in all slots, along an axis in front.

    Attributes:
        round: The number of rounds made.
        scores: The scores of the rows that trees are grown on.
        evaluated: The scores of the rows of every evaluation.
        best: The least loss of the first evaluation.
        best_round: The number of rounds that it was reached with.
        is_finite: Whether all derivatives, scores and predictions were finite; if not, discard the last tree, and the
            scores.
        kept: The trees of all rounds, where trees are dropped.
        final: The scores of the rows of every evaluation by the model as it will be, if they are kept: after its best
            round, if it stops for the first evaluation, and after its last one if it does not.
    """

    round: Int32[AnyArray, "*slot"]
    scores: Float[AnyArray, "*slot score row"]
    evaluated: tuple[Float[AnyArray, "*slot score row"], ...]
    best: Float[AnyArray, "*slot"]
    best_round: Int32[AnyArray, "*slot"]
    is_finite: Bool[AnyArray, "*slot"]
    kept: Kept | None = None
    final: tuple[Float[AnyArray, "*slot score row"], ...] = ()


class RoundOutputs(NamedTuple):
    """The trees and losses of a round, or of those of a call by slot; entries after a member's last are padding.

    Attributes:
        trees: The tree of every round, whose means are the changes of the scores, or that of every round and score;
            those that are dropped at times count less, as `BoostState.kept` says. None if they are not kept.
        losses: The mean loss of every evaluation after each round.
    """

    trees: Tree | None
    losses: Float[Array, "*made evaluation"]


class OwnRows(NamedTuple):
    """Targets and weights of rows that one member has for itself; rows of weight 0 are none of its own.

    Attributes:
        start: The scores before its first tree.
        target: The target of the rows that trees are grown on, then that of the rows of every evaluation.
        weight: Their weights.
    """

    start: Float[AnyArray, "*slot score"]
    target: tuple[Shaped[AnyArray, "..."], ...]
    weight: tuple[Float[AnyArray, "*slot row"], ...]

    @classmethod
    def of(cls, start: Float[np.ndarray, " score"], tables: Sequence[ScoredRows]) -> "OwnRows":
        """Returns those of tables, on the host."""
        target, weight = [], []
        for rows in tables:
            target.append(np.asarray(rows.target))
            weight.append(np.asarray(rows.weight))
        return cls(start, tuple(target), tuple(weight))

    def put_into(self, tables: Sequence[ScoredRows]) -> list[ScoredRows]:
        """Returns tables of rows with these targets and weights."""
        parts = zip(tables, self.target, self.weight, strict=True)
        return [rows._replace(target=target, weight=weight) for rows, target, weight in parts]


class Slots(NamedTuple):
    """The members in all slots.

    Attributes:
        rates: Their numbers.
        start: Their scores before the first tree.
        is_new: Whether a member begins now.
        own: Their targets and weights; None where all share them.
    """

    rates: Rates
    start: Float[AnyArray, "*slot score"]
    is_new: Bool[AnyArray, "*slot"]
    own: OwnRows | None


def _compiler_options(*, plan: Plan, **_: object) -> dict[str, Any]:
    """XLA's options: those of quick compilation where rows are few, on a CPU."""
    is_small = plan.is_on_cpu and plan.entry_capacity <= plan.costs.few_entries
    return quick_options(1) if is_small else plan.options_of_gpu


@compiled("plan", "loss", "keeps_trees", "mesh", what=lambda *_, **__: "boosting", options=_compiler_options)
def make_rounds(
    prepared: GrowthInputs,
    tables: tuple[ScoredRows, ...],
    slots: Slots,
    states: BoostState,
    *,
    plan: Plan,
    loss: BaseLoss,
    keeps_trees: bool,
    mesh: Mesh | None,
) -> tuple[BoostState, RoundOutputs]:
    """Makes one round of every member for each of the given learning rates, or fewer.

    On a mesh of rows every device has its part of these, and all of the evaluations and the trees. On one of slots it
    has all rows and its part of the slots; none waits for another before the end.

    Args:
        prepared: The arrays of growth; targets, weights and limits are made here.
        tables: The rows that trees are grown on, and others whose loss is recorded; targets and weights are those of
            members that have none of their own.
        slots: The members.
        states: The states after the rounds before.
        plan: The static sizes of growth.
        loss: The loss.
        keeps_trees: Whether the trees are handed back.
        mesh: The devices that rows are divided among, along the axis `ROWS`, or slots, along `SLOTS`.
    """
    loop: Any = functools.partial(_make_rounds, plan=plan, loss=loss, keeps_trees=keeps_trees)
    if mesh is None:
        return loop(prepared, tables, slots, states)
    row, slot = (name if name in mesh.axis_names else None for name in (ROWS, SLOTS))
    spread = lambda values, spec: jax.tree.map(lambda _: spec, values)  # noqa: E731
    of_codes = spread(prepared, P())._replace(codes=P(None, row))
    of_rows = ScoredRows(P(None, row), P(row), P(row), {name: P(row) for name in tables[0].extras})
    of_states = spread(states, P(slot))._replace(scores=P(slot, None, row))
    others = [P()] * (len(tables) - 1)
    given, made = (of_codes, (of_rows, *others), P(slot), of_states), (of_states, P(None, slot))
    loop = jax.shard_map(loop, mesh=mesh, in_specs=given, out_specs=made, check_vma=False)
    return loop(prepared, tables, slots, states)


def _make_rounds(
    prepared: GrowthInputs,
    tables: tuple[ScoredRows, ...],
    slots: Slots,
    states: BoostState,
    *,
    plan: Plan,
    loss: BaseLoss,
    keeps_trees: bool,
) -> tuple[BoostState, RoundOutputs]:
    is_alone, num_evaluations = len(slots.is_new) == 1, len(tables) - 1
    # Without its axis the steps of one slot are as fast as those of a program for one model.
    if is_alone:
        slots, states = jax.tree.map(lambda own: own[0], (slots, states))
    rates, num_made = slots.rates, slots.rates.learning_rate.shape[-1]
    if isinstance(plan, KernelPlan) and plan.reads_rows:
        # Before the loop, where a barrier keeps it.
        prepared = prepared._replace(codes_of_rows=lax.optimization_barrier(jnp.asarray(prepared.codes).T))

    def make_own(
        rates: Rates, state: BoostState, rate: Float[Array, ""], own: OwnRows | None
    ) -> tuple[BoostState, RoundOutputs]:
        grown_on, *others = tables if own is None else own.put_into(tables)
        return make_round(prepared, grown_on, tuple(others), rates, state, rate, plan=plan, loss=loss)

    make_all = make_own if is_alone else jax.vmap(make_own)

    def goes_on(states: BoostState) -> Bool[Array, "*slot"]:
        has_patience = rates.stopping.has_patience(states.round, states.best_round)
        return (states.round < rates.end) & states.is_finite & (has_patience | (num_evaluations == 0))

    def make_next(
        carry: tuple[Int32[Array, ""], BoostState, RoundOutputs],
    ) -> tuple[Int32[Array, ""], BoostState, RoundOutputs]:
        at, states, made = carry
        # The loop of a lone model ends with it.
        is_alive = jnp.bool_(True) if is_alone else goes_on(states)
        # The tree of a member that has stopped is a root, and by its step of 0 it goes on later where it is.
        depth = jnp.where(is_alive[..., None], rates.limits.max_depth, 0)
        limited = rates._replace(limits=rates.limits._replace(max_depth=depth))
        rate = jnp.where(is_alive, rates.learning_rate[..., at], 0)
        moved, new = make_all(limited, states, rate, slots.own)
        new = new if keeps_trees else new._replace(trees=None)
        made = jax.tree.map(lambda all_, own: all_.at[at].set(own.astype(all_.dtype)), made, new)
        return at + 1, _after_round(states, moved, is_alive, rates), made

    sizes = (num_made, *slots.is_new.shape)
    trees = blank_trees(plan, loss, *sizes) if keeps_trees else None
    blank = RoundOutputs(trees, jnp.zeros((*sizes, num_evaluations), jnp.float64))
    is_any = lambda carry: (carry[0] < num_made) & jnp.any(goes_on(carry[1]))  # noqa: E731
    _, states, made = lax.while_loop(is_any, make_next, (jnp.int32(0), _with_new(states, slots), blank))
    if is_alone:
        states, made = jax.tree.map(lambda own: own[None], states), jax.tree.map(lambda own: own[:, None], made)
    return states, made


def _with_new(states: BoostState, slots: Slots) -> BoostState:
    """The states, those of members that begin as before the first round."""
    start = slots.start[..., None].astype(states.scores.dtype)
    begin = lambda first, old: _where(slots.is_new, jnp.broadcast_to(first, old.shape).astype(old.dtype), old)  # noqa: E731
    scores, evaluated, final = jax.tree.map(
        functools.partial(begin, start), (states.scores, states.evaluated, states.final)
    )
    return states._replace(
        round=begin(0, states.round), scores=scores, evaluated=evaluated, best=begin(np.inf, states.best),
        best_round=begin(0, states.best_round), is_finite=states.is_finite | slots.is_new, final=final,
    )  # fmt: skip


def _after_round(states: BoostState, moved: BoostState, is_alive: Bool[Array, "*slot"], rates: Rates) -> BoostState:
    """The states after a round, which changes nothing of members that have stopped: their steps were 0."""
    numbers = lambda own: own._replace(scores=None, evaluated=(), kept=None, final=())  # noqa: E731
    own = jax.tree.map(functools.partial(jnp.where, is_alive), numbers(moved), numbers(states))
    is_better = (own.best_round == own.round) | (rates.stopping.patience == NO_PATIENCE)
    keep = functools.partial(_where, is_alive & own.is_finite & is_better)
    final = tuple(map(keep, moved.evaluated, states.final))
    return moved._replace(
        round=own.round, best=own.best, best_round=own.best_round, is_finite=own.is_finite, final=final
    )


def _where(condition: Bool[Array, "*slot"], yes: Any, no: Any) -> Any:
    """`jnp.where` by slot."""
    return jnp.where(condition.reshape(*condition.shape, *[1] * (yes.ndim - condition.ndim)), yes, no)


def make_round(
    prepared: GrowthInputs,
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
    changes = changes_of
    if trees_per_round(plan, loss) > 1:
        changes = jax.vmap(changes)
        walk, add = functools.partial(walk_all, walk), functools.partial(add_own_steps, add)
    steps = changes(counted).astype(state.scores.dtype)
    ends = [walk(tree, own.codes) for own in evaluations]
    evaluated = tuple(add(own, steps, end) for own, end in zip(state.evaluated, ends, strict=True))
    pairs = zip(evaluated, evaluations, strict=True)
    losses = [mean_loss(loss, scores, own, engine=plan.engine) for scores, own in pairs]
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
    return mean_loss(loss, scores, rows, engine=engine)


def mean_loss(
    loss: BaseLoss, scores: Float[Array, "score row"], rows: ScoredRows, *, engine: Engine
) -> Float[Array, ""]:
    """The mean loss of rows, with the same bits in every program: of many models, too."""
    if loss.joins_rows:
        return sequential_vmap(loss.mean)(scores, rows.target, rows.weight, rows.extras)
    is_there, exact = rows.weight > 0, functools.partial(sum_rows, devices=Devices(1), engine=engine)
    values = lax.optimization_barrier(loss.values(lax.optimization_barrier(scores), rows.target, rows.extras))
    # A kernel has no derivatives; the mean of a user's functions takes them from elsewhere.
    values = lax.stop_gradient(lax.optimization_barrier(jnp.where(is_there, rows.weight * values, 0)))
    total = jnp.where(are_within(values, np.inf, engine=engine), exact(values[None], is_there), jnp.nan)
    # A product, as XLA would make one of the quotients of many models by one number.
    inverse = lax.optimization_barrier(safe_divide(1.0, exact(rows.weight[None], is_there)))
    return (total * inverse).astype(scores.dtype)


def changes_of(tree: Tree) -> Float[Array, "score node"]:
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


def blank_trees(plan: Plan, loss: BaseLoss, *rounds: int) -> Tree:
    """Space for the trees of an array of rounds of a shape."""
    of_round = trees_per_round(plan, loss)
    return blank_tables(plan, *rounds) if of_round == 1 else blank_tables(plan, *rounds, of_round)


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
