"""The driver of boosting: a batch has slots, and members in them, whose rounds a compiled loop makes.

Members come and go. A member that pauses leaves the batch for the host, and comes back to a slot of another. A model
alone is the member of a batch of one slot.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Float

from jaxtree.boosting.data import Shrinkage, learning_rates
from jaxtree.boosting.dropping import keep_trees
from jaxtree.boosting.ending import EarlyStopping, Stop
from jaxtree.boosting.round_tree import Rates, ScoredRows
from jaxtree.boosting.rounds import SLOTS, BoostState, OwnRows, RoundOutputs, Slots, blank_trees, make_rounds
from jaxtree.errors import present
from jaxtree.growth.inputs.bundles import Limits, limits_of_roots
from jaxtree.growth.loop.prepare import GrowthInputs
from jaxtree.growth.plan.plan import Plan
from jaxtree.heap import give_back_freed
from jaxtree.kernels.mesh import ROWS
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree import Tree
from jaxtree.tree.forest import Forest, join_forests, take_trees, with_all_scores


class Checkpoint(NamedTuple):
    """A model after some rounds, from which it goes on.

    Attributes:
        state: Its state, with an axis of one slot in front.
        losses: The mean loss of every evaluation after each of these rounds that is known.
        forest: The trees of these rounds: one a round, or one for every score; None if they are not kept.
    """

    state: BoostState
    losses: Float[np.ndarray, "round evaluation"]
    forest: Forest | None = None


class Member(NamedTuple):
    """A model of a batch: numbers alone.

    Attributes:
        limits: When nodes are not split.
        shrinkage: How the boosting holds back; only a model alone drops trees.
        num_rounds: The most rounds.
        seed: The seed of what is drawn.
        pause: The number of rounds after which it pauses, if it has not stopped before; None for never.
        earlier: The state in which it paused before; None if it has not.
        own: Targets and weights of its own, with its start; None for those of all.
    """

    limits: Limits
    shrinkage: Shrinkage
    num_rounds: int
    seed: int = 0
    pause: int | None = None
    earlier: Checkpoint | None = None
    own: OwnRows | None = None

    @property
    def end(self) -> int:
        """The number of rounds at which it ends or pauses."""
        return self.num_rounds if self.pause is None else min(self.pause, self.num_rounds)


class BoostedMember(NamedTuple):
    """A model of a batch when it is done.

    Attributes:
        losses: The mean loss of every evaluation after each round.
        best_round: The number of rounds of the least loss of the first evaluation; all without any.
        scores: The scores of every evaluation: after the best round of a member with patience, else after all.
        stop: Why it ended; `Stop.ASKED` if it has paused.
        forest: A tree a round, or one for every score, if trees are kept.
        paused: With what it goes on, if it has paused.
    """

    losses: Float[np.ndarray, "round evaluation"]
    best_round: int
    scores: tuple[Float[np.ndarray, "score row"], ...]
    stop: Stop
    forest: Forest | None
    paused: Checkpoint | None = None


class Call(NamedTuple):
    """The arguments that all calls of the compiled loop share."""

    prepared: GrowthInputs
    plan: Plan
    loss: BaseLoss
    rows: ScoredRows
    evaluations: tuple[ScoredRows, ...]
    start: Float[np.ndarray, " score"]
    precision: type[np.floating]
    mesh: Mesh | None
    trees_per_round: int


class BatchPlan(NamedTuple):
    """The data that all batches of some members share.

    Attributes:
        call: The arguments of all calls of the compiled loop.
        members: The members.
        rates: Their numbers, with learning rates of all their rounds.
        shared: The start, targets and weights of members that have none of their own; None where none has any.
        rounds_at_a_time: The most rounds of a call.
        keeps_trees: Whether trees are kept.
        keeps_scores: Whether the scores of evaluations are kept.
    """

    call: Call
    members: Sequence[Member]
    rates: Sequence[Rates]
    shared: OwnRows | None
    rounds_at_a_time: int
    keeps_trees: bool
    keeps_scores: bool


def rates_of(call: Call, members: Sequence[Member]) -> list[Rates]:
    """Returns the numbers of members, with learning rates of all their rounds; what one draws is drawn of all."""
    number, all_rates = int(np.sum(np.asarray(call.prepared.num_codes) > 0)), []
    draws_columns = any([member.shrinkage.column_fractions.tree < 1 for member in members])
    for member in members:
        own = member.shrinkage
        of_tree, of_level, of_node = own.column_fractions.numbers(number)
        limits = own.limits(member.limits)._replace(level_features=of_level, max_features=of_node)
        rates = Rates(
            learning_rate=learning_rates(own.learning_rate, member.num_rounds),
            sample=jax.tree.map(np.float64, own.sample),
            dropping=jax.tree.map(np.float64, own.dropping),
            least_gain=np.float64(own.least_gain),
            stopping=EarlyStopping(np.int32(own.patience), np.float64(own.tolerance)),
            end=np.int32(member.end),
            seed=np.uint32(member.seed),
            limits=limits_of_roots(limits, 1),
            num_columns=np.int32(of_tree) if draws_columns else None,
            score_noise=np.float64(own.score_noise) if call.plan.rules.draws_scores else None,
            units=call.loss.units(call.start if member.own is None else np.asarray(member.own.start, np.float64)),
        )
        all_rates.append(rates)
    return all_rates


class Running(NamedTuple):
    """A member in a slot; replaced as a whole, so that an interrupt finds nothing half done.

    Attributes:
        number: Its number among all members.
        last: The number of its rounds so far.
        losses: The losses after them.
        forests: Their trees.
        state: Its state after them, without scores.
        stop: Why it has ended or paused; None if it goes on.
    """

    number: int
    last: int = 0
    losses: tuple[Float[np.ndarray, "round evaluation"], ...] = ()
    forests: tuple[Forest, ...] = ()
    state: BoostState | None = None
    stop: Stop | None = None


class MemberBatch:
    """Slots, the members in them, and the states of these; its arrays have 64-bit types.

    Args:
        plan: The data that all batches share.
        num_slots: The number of slots.
    """

    def __init__(self, plan: BatchPlan, num_slots: int):
        self.running: list[Running | None] = [None] * num_slots
        self._plan = plan
        # The numbers of an empty slot are those of any member.
        self._in_slot = [0] * num_slots
        self._is_new = np.zeros(num_slots, bool)
        self._slots: Slots | None = None
        self._states = blank_states(plan, num_slots)

    def put(self, slot: int, number: int) -> None:
        """Gives a slot to a member, which begins or goes on."""
        earlier = self._plan.members[number].earlier
        self._in_slot[slot], self._is_new[slot], self._slots = number, earlier is None, None
        if earlier is None:
            self.running[slot] = Running(number)
            return
        forests = () if earlier.forest is None else (earlier.forest,)
        self.running[slot] = Running(number, int(earlier.state.round[0]), (earlier.losses,), forests)
        is_alone = len(self.running) == 1
        self._states = jax.device_put(earlier.state) if is_alone else put_in_slot(self._states, slot, earlier.state)

    def make_rounds(self, most: int) -> RoundOutputs:
        """Makes the next rounds of all slots, so many at most, and returns what they make while the device goes on."""
        call = self._plan.call
        give_back_freed(call.rows.codes.shape[1])
        static = {"plan": call.plan, "loss": call.loss, "keeps_trees": self._plan.keeps_trees, "mesh": call.mesh}
        arrays = (call.prepared, (call.rows, *call.evaluations), self._next_rounds(most), self._states)
        self._states, made = make_rounds(*arrays, **static)
        self._is_new = np.zeros_like(self._is_new)
        return made

    def _next_rounds(self, most: int) -> Slots:
        """The members in all slots for the next rounds, of which an empty slot has none to make.

        The program is the same for fewer rounds: they end earlier.
        """
        if self._slots is None:
            self._slots = self._stacked()
        number = self._plan.rounds_at_a_time
        learning, end = np.zeros((len(self.running), number)), np.zeros(len(self.running), np.int32)
        for slot, running in enumerate(self.running):
            if running is not None:
                rates, first = self._plan.rates[running.number], running.last
                learning[slot] = np.resize(rates.learning_rate[first : first + number], number)
                end[slot] = min(rates.end, first + most)
        rates = self._slots.rates._replace(learning_rate=learning, end=end)
        return self._slots._replace(rates=rates, is_new=self._is_new)

    def _stacked(self) -> Slots:
        """The members in all slots, but for the numbers of the next rounds."""
        plan, rates, rows = self._plan, [], []
        for number in self._in_slot:
            # Learning rates are as many as a member's rounds.
            rates.append(plan.rates[number]._replace(learning_rate=None))
            own = plan.members[number].own
            rows.append(plan.shared if own is None else own)
        rates = jax.tree.map(lambda *values: np.array(values), *rates)
        if plan.shared is None:
            return Slots(rates, np.tile(plan.call.start, (len(rows), 1)), self._is_new, None)
        own = jax.tree.map(lambda same, *values: np.stack(values).astype(same.dtype), plan.shared, *rows)
        return Slots(rates, own.start, self._is_new, own)

    def collect(self, made: RoundOutputs) -> int:
        """Takes the trees and losses of rounds to the host, and returns how many rounds of all members they are."""
        kept = self._states.kept
        shares = None if kept is None else kept._replace(trees=None)
        numbers = self._states._replace(scores=None, evaluated=(), kept=shares, final=())
        num_made = 0
        for slot, running in enumerate(self.running):
            if running is None:
                continue
            # A slice of what is on the device would be a program for each array of each slot.
            state = jax.tree.map(lambda own, slot=slot: np.asarray(own)[slot], numbers)
            # The last tree is discarded if its round made values that are not finite.
            last = int(state.round) if state.is_finite else int(state.round) - 1
            number, forests = last - running.last, running.forests
            if made.trees is not None and number:
                forests = (*forests, forest_of(made.trees, slot, number, self._plan.call.loss.num_scores))
            losses = (*running.losses, np.asarray(made.losses)[:number, slot])
            stop = self._reason(running.number, state)
            self.running[slot] = Running(running.number, last, losses, forests, state, stop)
            num_made += number
        return num_made

    def _reason(self, number: int, state: BoostState) -> Stop | None:
        """Why a member has ended or paused; None if it goes on."""
        member = self._plan.members[number]
        if not state.is_finite:
            return Stop.NOT_FINITE
        if self._plan.call.evaluations and not member.shrinkage.stopping.has_patience(state.round, state.best_round):
            return Stop.NO_BETTER_LOSS
        end = self._plan.rates[number].end
        if state.round < end:
            return None
        return Stop.ASKED if end < member.num_rounds else Stop.ALL_ROUNDS

    def take(self, slot: int, stop: Stop) -> BoostedMember:
        """Returns the member of a slot, which leaves it."""
        running, self.running[slot] = present(self.running[slot]), None
        # On a CPU an array is not copied to the host, where a slice of it would be a program.
        final = jax.tree.map(lambda scores: np.array(np.asarray(scores)[slot]), self._states.final)
        forest = join_forests(list(running.forests)) if running.forests else None
        best_round = int(present(running.state).best_round) if self._plan.call.evaluations else running.last
        losses = np.concatenate(running.losses)
        is_paused = running.stop == Stop.ASKED
        paused = Checkpoint(state_in_slot(self._states, slot), losses, forest) if is_paused else None
        return BoostedMember(losses, best_round, final, stop, forest, paused)


def blank_states(plan: BatchPlan, num_slots: int) -> BoostState:
    """Returns the states of empty slots; on a mesh they are divided as every call leaves them.

    On one device they are made by NumPy, so that no program is compiled for the number of rows.
    """
    call, precision, dropping = plan.call, plan.call.precision, plan.members[0].shrinkage.dropping
    axes, blank = () if call.mesh is None else call.mesh.axis_names, []
    for rows in (call.rows, *call.evaluations):
        is_divided, size = ROWS in axes, rows.weight.shape
        of_rows = jnp.zeros_like(rows.weight, precision) if is_divided else np.zeros(size, precision)
        blank.append(np.zeros((num_slots, len(call.start), 1), precision) + of_rows)
    kept, numbers = None, np.zeros(num_slots, np.int32)
    if dropping is not None:
        kept = keep_trees(blank_trees(call.plan, call.loss, num_slots, plan.members[0].num_rounds))
    scores, *evaluated = blank
    states = BoostState(
        round=numbers, scores=scores, evaluated=tuple(evaluated), best=np.zeros(num_slots, precision),
        best_round=numbers, is_finite=np.zeros(num_slots, bool), kept=kept,
        final=tuple(evaluated) if plan.keeps_scores else (),
    )  # fmt: skip
    if ROWS in axes:  # other processes have their parts of the scores
        return states
    return jax.device_put(states, NamedSharding(present(call.mesh), P(SLOTS)) if SLOTS in axes else None)


def state_in_slot(states: BoostState, slot: int) -> BoostState:
    """Returns the state in a slot, on the host, with an axis of one slot; it outlives the batch."""
    return jax.tree.map(lambda own: np.array(own[slot : slot + 1]), states)


@functools.partial(jax.jit, donate_argnums=0)
def put_in_slot(states: BoostState, slot: Any, own: BoostState) -> BoostState:
    """Returns the states of a batch with that of a model in a slot; the memory of the old ones is used again."""
    return jax.tree.map(lambda all_, one: all_.at[slot].set(one[0]), states, own)


def forest_of(trees: Tree, slot: int, number: int, num_scores: int) -> Forest:
    """Returns the trees of the first rounds of a slot in one table, with a step for each of so many scores."""
    *axes, capacity = trees.feature.shape
    first = np.arange(number * math.prod(axes[2:]), dtype=np.int32) * capacity
    size = len(first) * capacity

    def one_by_one(column):
        rest = column.shape[len(axes) + 1 :]
        is_of_nodes = column.ndim > len(axes)
        return np.asarray(column)[:number, slot].reshape(size, *rest) if is_of_nodes else np.array(size, np.int32)

    flat, offset = jax.tree.map(one_by_one, trees), np.repeat(first, capacity)
    links = {"first_child": flat.first_child + offset, "parent": flat.parent + offset, "root": flat.root + offset}
    forest = take_trees(dataclasses.replace(flat, **links), first)
    return forest if len(axes) == 2 else with_all_scores(forest, num_scores)
