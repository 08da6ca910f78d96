"""Models that are boosted together, and a batch of them: slots, and the members in them, which come and go.

Members that pause leave the batch for the host, and come back to a slot of another.
"""

import functools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float

from jaxtree.boosting.booster import Call, forest_of, reason_to_stop
from jaxtree.boosting.ending import Deadline, Pace, Stop
from jaxtree.boosting.many_rounds import (
    ManyStates,
    OwnRows,
    RoundOutputsOfMany,
    Slots,
    divide_slots,
    make_rounds_of_many,
)
from jaxtree.boosting.round_tree import Rates
from jaxtree.boosting.rounds import BoostState
from jaxtree.boosting.shrinkage import Shrinkage
from jaxtree.growth.inputs.bundles import Limits
from jaxtree.kernels.mesh import devices_of
from jaxtree.tree.forest import Forest, join_forests

ROUNDS_AT_A_TIME = 10
"""Rounds of one call at most, after which models that have stopped give their slots to others."""

OnRoundsOfMany: TypeAlias = Callable[[int], Any]
"""The callback with a number of further rounds, those of all models together."""


class Paused(NamedTuple):
    """A paused model in host memory.

    Attributes:
        states: Its state, and the scores that are kept; those of one slot.
        losses: The mean loss of every evaluation after each round.
        forest: A tree a round, or one for every score, if trees are kept.
    """

    states: ManyStates
    losses: Float[np.ndarray, "round evaluation"]
    forest: Forest | None

    @property
    def num_rounds(self) -> int:
        """The number of rounds made."""
        return len(self.losses)


class Member(NamedTuple):
    """One of many models: numbers alone.

    Attributes:
        limits: When nodes are not split.
        shrinkage: How the boosting holds back; no trees are dropped.
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
    earlier: Paused | None = None
    own: OwnRows | None = None

    @property
    def end(self) -> int:
        """The number of rounds at which it ends or pauses."""
        return self.num_rounds if self.pause is None else min(self.pause, self.num_rounds)


class BoostedMember(NamedTuple):
    """One of many models when it is done.

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
    paused: Paused | None = None


class Bounds(NamedTuple):
    """The resources of a boosting of many models.

    Attributes:
        num_slots: The number of models of a batch; as many as memory allows and speed asks for if None.
        deadline: When the models end with the rounds that they have, one at least; those that have not begun by then
            are left out of what is returned. None for never.
        mesh: Devices of one kind, in one axis, that the models of a batch are divided among; None for one.
    """

    num_slots: int | None = None
    deadline: Deadline | None = None
    mesh: Mesh | None = None

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return devices_of(self.mesh).number


class _Running(NamedTuple):
    """A member in a slot.

    Attributes:
        number: Its number among all members.
        last: The number of its rounds so far.
        losses: The losses after them.
        forests: Their trees.
    """

    number: int
    last: int = 0
    losses: tuple[Float[np.ndarray, "round evaluation"], ...] = ()
    forests: tuple[Forest, ...] = ()

    @classmethod
    def after(cls, number: int, earlier: Paused) -> "_Running":
        """A member that goes on."""
        forests = () if earlier.forest is None else (earlier.forest,)
        return cls(number, earlier.num_rounds, (earlier.losses,), forests)


class BatchPlan(NamedTuple):
    """The data that all batches of many models share.

    Attributes:
        call: The arguments of all calls of the compiled loop.
        start: The state before the first round.
        members: The models.
        rates: Their numbers.
        shared_rows: The targets and weights of members that have none of their own.
        keeps_trees: Whether the trees of all models are kept.
    """

    call: Call
    start: BoostState
    members: Sequence[Member]
    rates: Sequence[Rates]
    shared_rows: OwnRows
    keeps_trees: bool

    @property
    def has_own_rows(self) -> bool:
        """Whether some member has targets and weights of its own."""
        return any(member.own is not None for member in self.members)


class ModelBatch:
    """Slots, the members in them, and the states of these.

    Args:
        plan: The data that all batches share.
        num_slots: The number of slots.
        pace: How many rounds are made in one call.
        on_rounds: Called with the number of rounds that have just been made.
    """

    def __init__(self, plan: BatchPlan, num_slots: int, pace: Pace, on_rounds: OnRoundsOfMany | None):
        self._plan, self._pace, self._on_rounds = plan, pace, on_rounds
        self._running: list[_Running | None] = [None] * num_slots
        # The numbers of an empty slot are those of any member.
        self._in_slot = [0] * num_slots
        self._rates_in_slot = self._stacked_rates()

        def spread(values: Any) -> np.ndarray:
            return np.broadcast_to(np.asarray(values), (num_slots, *np.shape(values)))

        states = jax.tree.map(spread, plan.start)
        with jax.enable_x64(True):
            self._states = divide_slots(ManyStates(states, states.evaluated), plan.call.mesh)

    def run(self, numbers: Sequence[int]) -> Iterator[tuple[int, BoostedMember]]:
        """Boosts some of the members, in this order, and yields each that is done while the device goes on."""
        waiting, ended = deque(numbers), list[tuple[int, BoostedMember]]()
        while (waiting and not self._pace.is_over) or any(self._running):
            try:
                with jax.enable_x64(True):
                    made = self._make_rounds(self._fill(waiting), self._pace.begin())
            except BaseException:
                # Neither an interrupt nor too little memory loses those that are done.
                yield from ended
                raise
            yield from ended
            with jax.enable_x64(True):
                ended = self._collect(made)
        yield from ended

    def _fill(self, waiting: deque[int]) -> Bool[np.ndarray, " slot"]:
        """Gives free slots to members that wait, and returns which slots have such as begin."""
        is_new, is_filled = np.zeros(len(self._running), bool), False
        for slot, running in enumerate(self._running):
            if running is not None or not waiting:
                continue
            number = waiting.popleft()
            self._in_slot[slot] = number
            earlier = self._plan.members[number].earlier
            is_new[slot] = earlier is None
            if earlier is None:
                self._running[slot] = _Running(number)
            else:
                self._running[slot] = _Running.after(number, earlier)
                self._states = put_in_slot(self._states, slot, earlier.states)
            is_filled = True
        if is_filled:
            self._rates_in_slot = self._stacked_rates()
        return is_new

    def _make_rounds(self, is_new: Bool[np.ndarray, " slot"], most: int) -> RoundOutputsOfMany:
        """Makes the next rounds of all slots, so many at most."""
        call = self._plan.call
        slots = Slots(self._rates_of_slots(most), self._rows_of_slots(), is_new, self._plan.start, self._states)
        static = {"plan": call.plan, "loss": call.loss, "keeps_trees": self._plan.keeps_trees, "mesh": call.mesh}
        self._states, made = make_rounds_of_many(call.prepared, call.rows, call.evaluations, slots, **static)
        return made

    def _stacked_rates(self) -> Rates:
        """The numbers of the members in all slots, but for learning rates, which are as many as a member's rounds."""
        own = [self._plan.rates[number]._replace(learning_rate=None) for number in self._in_slot]
        return jax.tree.map(lambda *values: np.stack(values), *own)

    def _rates_of_slots(self, most: int) -> Rates:
        """The numbers of the next rounds of all slots; an empty one has no round to make.

        The program is the same for fewer rounds: they end earlier.
        """
        learning = np.zeros((len(self._running), ROUNDS_AT_A_TIME))
        end = np.zeros(len(self._running), np.int32)
        for slot, running in enumerate(self._running):
            if running is not None:
                rates, first = self._plan.rates[running.number], running.last
                learning[slot] = np.resize(rates.learning_rate[first : first + ROUNDS_AT_A_TIME], ROUNDS_AT_A_TIME)
                end[slot] = min(rates.end, first + most)
        return self._rates_in_slot._replace(learning_rate=learning, end=end)

    def _rows_of_slots(self) -> OwnRows | None:
        """The targets and weights of the members in all slots; None where no member has any of its own."""
        if not self._plan.has_own_rows:
            return None
        shared = self._plan.shared_rows
        given = [None if running is None else self._plan.members[running.number].own for running in self._running]
        of_slots = [shared if own is None else own for own in given]
        return jax.tree.map(lambda same, *own: np.stack(own).astype(same.dtype), shared, *of_slots)

    def _collect(self, made: RoundOutputsOfMany) -> list[tuple[int, BoostedMember]]:
        """Takes what rounds have made to the host, and returns the members that are done."""
        small = self._states.own._replace(scores=None, evaluated=())
        # A slice of what is on the device would be a program for each array of each slot.
        states, losses, trees_of_slots = jax.device_get((small, made.losses, made.trees))
        self._pace.end()
        num_made, done, num_scores = 0, list[tuple[int, BoostedMember]](), self._plan.call.loss.num_scores
        for slot, running in enumerate(self._running):
            if running is None:
                continue
            state = jax.tree.map(lambda own, slot=slot: own[slot], states)
            # The tree of a round that leaves the numbers is worth nothing.
            last = int(state.round) if state.is_finite else int(state.round) - 1
            number = last - running.last
            num_made += number
            running = running._replace(last=last, losses=(*running.losses, losses[:number, slot]))
            if trees_of_slots is not None and number:
                trees = jax.tree.map(lambda own, slot=slot: own[:, slot], trees_of_slots)
                running = running._replace(forests=(*running.forests, forest_of(trees, number, num_scores)))
            stop = self._reason(state, self._plan.members[running.number])
            self._running[slot] = running if stop is None else None
            if stop is not None:
                done.append((running.number, self._result(slot, running, state, stop)))
        if self._on_rounds is not None:
            self._on_rounds(num_made)
        return done

    def _result(self, slot: int, running: _Running, state: BoostState, stop: Stop) -> BoostedMember:
        # On a CPU an array is not copied to the host, where a slice of it would be a program.
        kept = tuple(np.array(np.asarray(scores)[slot]) for scores in self._states.kept)
        forest = join_forests(list(running.forests)) if running.forests else None
        best_round = int(state.best_round) if self._plan.call.evaluations else running.last
        losses = np.concatenate(running.losses)
        paused = Paused(state_in_slot(self._states, slot), losses, forest) if stop == Stop.ASKED else None
        return BoostedMember(losses, best_round, kept, stop, forest, paused)

    def _reason(self, state: BoostState, member: Member) -> Stop | None:
        """Why a member has ended or paused; None if it goes on."""
        stop = reason_to_stop(state, member.shrinkage, member.end, bool(self._plan.call.evaluations))
        if stop is None and self._pace.is_over:
            return Stop.NO_TIME
        return Stop.ASKED if stop == Stop.ALL_ROUNDS and member.end < member.num_rounds else stop


def state_in_slot(states: ManyStates, slot: int) -> ManyStates:
    """Returns what a slot holds, on the host; it outlives the batch."""
    return jax.tree.map(lambda own: np.array(own[slot]), states)


@functools.partial(jax.jit, donate_argnums=0)
def put_in_slot(states: ManyStates, slot: Any, own: ManyStates) -> ManyStates:
    """Returns the states of a batch with those of a model in a slot; the memory of the old ones is used again."""
    return jax.tree.map(lambda all_, one: all_.at[slot].set(one), states, own)
