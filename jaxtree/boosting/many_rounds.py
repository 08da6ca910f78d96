"""Rounds of many models at once: the round of one, mapped over models that share rows and codes.

A model has a *slot* of a batch. Only numbers differ from model to model: rates, limits, the number of rounds, the seed,
and targets and weights where it has its own. So the trees of all models of a round are grown in one call, and none
depends on its neighbours.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Bool, Float, Int32, Shaped

from jaxtree.arrays import AnyArray
from jaxtree.boosting.early_stopping import NO_PATIENCE
from jaxtree.boosting.round_tree import Rates, ScoredRows
from jaxtree.boosting.rounds import BoostState, RoundOutputs, blank_trees, make_round
from jaxtree.compilation import compiled, quick_options
from jaxtree.growth.loop.prepare import Prepared
from jaxtree.growth.plan.plan import Plan
from jaxtree.kernels.choose import Engine
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree import Tree

SLOTS = "slots"
"""The axis of a mesh that slots are divided along."""


class ManyStates(NamedTuple):
    """The state of the rounds of a batch; every array has a slot for each model.

    Attributes:
        own: The states of the models. Scores of a model that has left the numbers are those of no model.
        kept: The scores of every evaluation by the model as it will be: after its best round, if it stops for the first
            evaluation, and after its last one if it does not.
    """

    own: BoostState
    kept: tuple[Float[AnyArray, "slot score row"], ...]


class RoundOutputsOfMany(NamedTuple):
    """Trees and losses of one call per model; entries after a model's last round are padding.

    Attributes:
        trees: The trees; None if they are not kept.
        losses: The mean loss of every evaluation after each round.
    """

    trees: Tree | None
    losses: Float[Array, "made slot evaluation"]


class OwnRows(NamedTuple):
    """Targets and weights of rows that one model has for itself; rows of weight 0 are none of its own.

    Attributes:
        start: The scores before its first tree.
        target: The target of the rows that trees are grown on, then that of the rows of every evaluation.
        weight: Their weights.
    """

    start: Float[AnyArray, "*slot score"]
    target: tuple[Shaped[AnyArray, "..."], ...]
    weight: tuple[Float[AnyArray, "*slot row"], ...]

    def put_into(self, tables: Sequence[ScoredRows]) -> list[ScoredRows]:
        """Returns tables of rows with these targets and weights."""
        parts = zip(tables, self.target, self.weight, strict=True)
        return [rows._replace(target=target, weight=weight) for rows, target, weight in parts]


def divide_slots(states: ManyStates, mesh: Mesh | None) -> ManyStates:
    """Returns states as every call leaves them: the slots divided among the devices of a mesh, if there is one."""
    return states if mesh is None else jax.device_put(states, NamedSharding(Mesh(mesh.devices, (SLOTS,)), P(SLOTS)))


class Slots(NamedTuple):
    """The slots of a batch.

    Attributes:
        rates: The numbers of the model in every slot.
        own: Its targets and weights; None where all models share them.
        is_new: Whether that model begins now.
        start: The state of any model before its first round, if it has no start of its own.
        states: The states after the rounds before.
    """

    rates: Rates
    own: OwnRows | None
    is_new: Bool[AnyArray, " slot"]
    start: BoostState
    states: ManyStates

    def first_states(self) -> ManyStates:
        """The states before the first round."""
        if self.own is None:
            return ManyStates(self.start, self.start.evaluated)
        of_any_row = self.own.start[:, :, None].astype(self.start.scores.dtype)
        evaluated = (of_any_row,) * len(self.start.evaluated)
        return ManyStates(self.start._replace(scores=of_any_row, evaluated=evaluated), evaluated)


def _compiler_options(*, plan: Plan, **_: object) -> dict[str, Any]:
    """XLA's options, as for one model."""
    return quick_options(1) if plan.engine is not Engine.XLA and plan.entry_capacity <= plan.costs.few_entries else {}


@compiled(
    "plan", "loss", "keeps_trees", "mesh", what=lambda *_, **__: "boosting of many models", options=_compiler_options
)
def make_rounds_of_many(
    prepared: Prepared,
    rows: ScoredRows,
    evaluations: tuple[ScoredRows, ...],
    slots: Slots,
    *,
    plan: Plan,
    loss: BaseLoss,
    keeps_trees: bool,
    mesh: Mesh | None,
) -> tuple[ManyStates, RoundOutputsOfMany]:
    """Makes one round of every model for each of the given learning rates, or fewer.

    On a mesh every device has all rows and its part of the slots; none waits for another before the end.

    Args:
        prepared: The arrays of growth; targets, weights and limits are made here.
        rows: The rows that trees are grown on; targets and weights are those of models that have none of their own.
        evaluations: Other rows, whose loss is recorded.
        slots: The models.
        plan: The static sizes of growth.
        loss: The loss.
        keeps_trees: Whether the trees are handed back.
        mesh: The devices that slots are divided among.

    Returns:
        The states, and what the rounds have made.
    """
    loop = functools.partial(_make_rounds, plan=plan, loss=loss, keeps_trees=keeps_trees)
    if mesh is None:
        return loop(prepared, rows, evaluations, slots)
    whole, of_slots = P(), P(SLOTS)
    of_all = jax.tree.map(lambda _: of_slots, slots)._replace(start=jax.tree.map(lambda _: whole, slots.start))
    specs: Any = {"in_specs": (whole, whole, whole, of_all), "out_specs": (of_slots, P(None, SLOTS))}
    run = jax.shard_map(loop, mesh=Mesh(mesh.devices, (SLOTS,)), check_vma=False, **specs)
    return run(prepared, rows, evaluations, slots)


def _make_rounds(
    prepared: Prepared,
    rows: ScoredRows,
    evaluations: tuple[ScoredRows, ...],
    slots: Slots,
    *,
    plan: Plan,
    loss: BaseLoss,
    keeps_trees: bool,
) -> tuple[ManyStates, RoundOutputsOfMany]:
    rates = slots.rates
    begin = lambda old, first: _where(slots.is_new, jnp.broadcast_to(first, old.shape), old)  # noqa: E731
    states = jax.tree.map(begin, slots.states, slots.first_states())
    num_slots, num_made = rates.learning_rate.shape

    def one(
        rates: Rates, state: BoostState, rate: Float[Array, ""], own: OwnRows | None
    ) -> tuple[BoostState, RoundOutputs]:
        tables = (rows, *evaluations)
        grown_on, *others = tables if own is None else own.put_into(tables)
        return make_round(prepared, grown_on, tuple(others), rates, state, rate, plan=plan, loss=loss)

    trees = _blank_trees(plan, loss, num_made, num_slots) if keeps_trees else None

    def goes_on(own: BoostState) -> Bool[Array, " slot"]:
        has_patience = rates.stopping.has_patience(own.round, own.best_round)
        return (own.round < rates.end) & own.is_finite & (has_patience | (not evaluations))

    def make_next(
        carry: tuple[Int32[Array, ""], ManyStates, RoundOutputsOfMany],
    ) -> tuple[Int32[Array, ""], ManyStates, RoundOutputsOfMany]:
        at, states, made = carry
        is_alive = goes_on(states.own)
        # The tree of a model that has stopped is a root, and by its step of 0 it goes on later where it is.
        depth = jnp.where(is_alive[:, None], rates.limits.max_depth, 0)
        limited = rates._replace(limits=rates.limits._replace(max_depth=depth))
        rate = jnp.where(is_alive, rates.learning_rate[:, at], 0)
        moved, new = jax.vmap(one)(limited, states.own, rate, slots.own)
        states = _after_round(states, moved, is_alive, rates)
        put = lambda all_, own: all_.at[at].set(own.astype(all_.dtype))  # noqa: E731
        trees = jax.tree.map(put, made.trees, new.trees) if keeps_trees else None
        return at + 1, states, RoundOutputsOfMany(trees, put(made.losses, new.losses))

    blank = RoundOutputsOfMany(trees, jnp.full((num_made, num_slots, len(evaluations)), jnp.nan))
    is_any = lambda carry: (carry[0] < num_made) & jnp.any(goes_on(carry[1].own))  # noqa: E731
    _, states, made = lax.while_loop(is_any, make_next, (jnp.int32(0), states, blank))
    return states, made


def _blank_trees(plan: Plan, loss: BaseLoss, num_made: int, num_slots: int) -> Tree:
    """Space for the trees of a call."""
    spread = lambda own: jnp.zeros((num_made, num_slots, *own.shape[1:]), own.dtype)  # noqa: E731
    return jax.tree.map(spread, blank_trees(plan, loss, 1))


def _after_round(states: ManyStates, moved: BoostState, is_alive: Bool[Array, " slot"], rates: Rates) -> ManyStates:
    """The states after a round, which changes nothing of models that have stopped: their steps were 0."""
    frozen = moved._replace(scores=states.own.scores, evaluated=states.own.evaluated)
    own = jax.tree.map(functools.partial(_where, is_alive), frozen, states.own)
    own = own._replace(scores=moved.scores, evaluated=moved.evaluated)
    is_better = (own.best_round == own.round) | (rates.stopping.patience == NO_PATIENCE)
    is_kept = is_alive & own.is_finite & is_better
    return ManyStates(own, tuple(map(functools.partial(_where, is_kept), moved.evaluated, states.kept)))


def _where(condition: Bool[Array, " slot"], yes: Any, no: Any) -> Any:
    """`jnp.where` by slot."""
    return jnp.where(condition.reshape(-1, *[1] * (yes.ndim - 1)), yes, no)
