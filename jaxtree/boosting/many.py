"""Boosting of many models at once on the same rows: each is the model that `boost` makes alone, bit for bit."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float

from jaxtree.boosting.booster import Call, forest_of, open_boosting, reason_to_stop
from jaxtree.boosting.checks import check_members
from jaxtree.boosting.columns import ColumnFractions
from jaxtree.boosting.data import BaseLearner, BoostData
from jaxtree.boosting.ending import Deadline, Pace, Stop
from jaxtree.boosting.many_rounds import ManyMade, ManyStates, OwnRows, Slots, divide_slots, make_rounds_of_many
from jaxtree.boosting.memory import slots_for
from jaxtree.boosting.paused import Paused, put_in_slot, state_in_slot
from jaxtree.boosting.round_tree import Rates
from jaxtree.boosting.rounds import BoostState
from jaxtree.boosting.shrinkage import Shrinkage, rates_of
from jaxtree.compilation import is_out_of_memory
from jaxtree.errors import InvalidInputError
from jaxtree.growth.inputs.bundles import NO_LIMIT, Limits, limits_of_roots
from jaxtree.growth.inputs.mesh import check_mesh, devices_of
from jaxtree.growth.inputs.newton import Penalties
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree.forest import Forest, join_forests

ROUNDS_AT_A_TIME = 10
"""Rounds of one call at most, after which models that have stopped give their slots to others."""


class Member(NamedTuple):
    """One of many models: numbers alone.

    Attributes:
        limits: When nodes are not split.
        shrinkage: How the boosting holds back; no trees are dropped.
        num_rounds: The most rounds.
        seed: The seed of what is drawn.
        pause: The number of rounds after which it pauses, if it has not stopped before; None for never.
        earlier: What it had when it paused before; None if it has not.
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
        forest: A tree a round, if trees are kept.
        paused: With what it goes on, if it has paused.
    """

    losses: Float[np.ndarray, "round evaluation"]
    best_round: int
    scores: tuple[Float[np.ndarray, "score row"], ...]
    stop: Stop
    forest: Forest | None
    paused: Paused | None = None


class Bounds(NamedTuple):
    """What a boosting of many models may use.

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


UNBOUNDED = Bounds()


OnMember: TypeAlias = Callable[[int, BoostedMember], Callable[[], Any] | None]
"""Called with the number of each finished model, and the model, while the device is idle. It may return a function that
runs during the next device call and must not start JAX programs."""

OnRoundsOfMany: TypeAlias = Callable[[int], Any]
"""What is called with a number of further rounds, those of all models together."""


def boost_many(
    data: BoostData,
    loss: BaseLoss,
    learner: BaseLearner,
    members: Sequence[Member],
    *,
    keeps_trees: bool = False,
    bounds: Bounds = UNBOUNDED,
    on_member: OnMember | None = None,
    on_rounds: OnRoundsOfMany | None = None,
) -> list[BoostedMember]:
    """Boosts many models on the same rows in one program; see `boost`.

    A batch has a number of slots. A model that has stopped gives its slot to the next one, so that it costs nothing
    more. A model depends on neither the batch nor its neighbours, and one that pauses goes on as if it had not. A batch
    for which there is not enough memory is halved.

    Args:
        data: The rows, and those of evaluations; without earlier rounds.
        loss: The loss.
        learner: How trees are grown; the members have limits of their own.
        members: The models. Their samples are of one class.
        keeps_trees: Whether the trees of all models are kept.
        bounds: How many models a batch has, and how long it may take.
        on_member: Called with every member when it is done, and what it returns soon after; what these have had is kept
            where an interrupt ends all others.
        on_rounds: Called now and then with the number of rounds that have just been made.

    Raises:
        InvalidInputError: Members have samples of several classes, drop trees, or have rows of their own of another
            shape; or a target of theirs is not one that the loss allows.

    Example:
        >>> from jaxtree.boosting import squared
        >>> from jaxtree.boosting.round_tree import ScoredRows
        >>> from jaxtree.growth.inputs.bundles import Sizes
        >>> codes, target = np.array([[0, 1, 2, 3]], np.uint8), np.array([0.0, 0.0, 1.0, 5.0])
        >>> rows = ScoredRows(codes, target, np.ones(4), {})
        >>> members = [Member(Limits(max_depth=2), Shrinkage(rate, l2=0.0), 5) for rate in (0.5, 1.0)]
        >>> learner = BaseLearner(Limits(), Sizes(num_bins=4, capacity=7))
        >>> done = boost_many(BoostData(rows, evaluations=(rows,)), squared(), learner, members)
        >>> [member.losses[-1].round(3).tolist() for member in done]
        [[0.002], [0.0]]
    """
    if not members:
        return []
    check_members(members)
    if bounds.mesh is not None:
        check_mesh(bounds.mesh)
    for member in members:
        if member.shrinkage.dropping is not None:
            raise InvalidInputError("models that drop trees are boosted one by one, by boost")
    kinds = sorted({type(member.shrinkage.sample).__name__ for member in members})
    if len(kinds) > 1:
        raise InvalidInputError(f"many models draw rows in one way, got {' and '.join(kinds)}")
    with jax.enable_x64(True):
        call, start = open_boosting(data, loss, learner, _loosest(members))
        _check_own_rows(call, members)
        rates = _rates(call, members)
        devices = bounds.num_devices
        of_device = -(-len(members) // devices)
        slots = bounds.num_slots or devices * slots_for(call, of_device, ROUNDS_AT_A_TIME * keeps_trees)
        pace, done = Pace(bounds.deadline, ROUNDS_AT_A_TIME), dict[int, BoostedMember]()
        while len(done) < len(members) and not pace.is_over:
            left = [number for number in range(len(members)) if number not in done]
            # Every device has as many.
            slots = -(-min(slots, len(left)) // devices) * devices
            batch = _Batch(
                (call._replace(mesh=bounds.mesh), start), members, rates, slots, keeps_trees, pace, on_member, on_rounds
            )
            try:
                batch.run(left, done)
            except Exception as error:
                if not is_out_of_memory(error) or slots == devices:
                    raise
                slots //= 2
    return [done[number] for number in sorted(done)]


def _check_own_rows(call: Call, members: Sequence[Member]) -> None:
    """Raises if a member has rows of its own that are no rows of the data, or targets that the loss does not allow."""
    shared = _shared_rows(call)
    for number, member in enumerate(members):
        if member.own is None:
            continue
        shapes, wanted = (jax.tree.map(np.shape, own) for own in (member.own, shared))
        if shapes != wanted:
            raise InvalidInputError(f"rows of member {number} must have the shapes {wanted}, got {shapes}")
        is_there = np.asarray(member.own.weight[0]) > 0
        extras = {name: np.asarray(values)[is_there] for name, values in call.rows.extras.items()}
        call.loss.check_fit(np.asarray(member.own.target[0])[is_there], extras)


def _loosest(members: Sequence[Member]) -> Shrinkage:
    """A shrinkage whose program draws whatever any member draws, and grows best-first if any member's does."""
    fractions = zip(*(member.shrinkage.column_fractions for member in members), strict=True)
    is_cut = any(member.shrinkage.max_leaf_nodes is not None for member in members)
    return Shrinkage(
        column_fractions=ColumnFractions(*map(min, fractions)), max_leaf_nodes=NO_LIMIT if is_cut else None
    )


def _rates(call: Call, members: Sequence[Member]) -> list[Rates]:
    """The numbers of every member, with learning rates of all its rounds."""
    shrinkages = [member.shrinkage for member in members]
    draws_columns = any(own.column_fractions.tree < 1 for own in shrinkages)
    all_rates = []
    for member in members:
        own = member.shrinkage
        leaves = NO_LIMIT if own.max_leaf_nodes is None else own.max_leaf_nodes
        limits = member.limits._replace(parameters=Penalties(own.l2, own.l1, own.max_step), max_leaf_nodes=leaves)
        prepared = call.prepared._replace(limits=limits_of_roots(limits, 1))
        prepared = prepared._replace(limits=own.column_fractions.limits(prepared))
        rates = rates_of(own, prepared, member.num_rounds, member.seed)._replace(end=np.int32(member.end))
        start = call.start if member.own is None else np.asarray(member.own.start, np.float64)
        rates = rates._replace(units=call.loss.units(start))
        if draws_columns and rates.num_columns is None:
            rates = rates._replace(num_columns=np.int32(len(call.prepared.num_codes)))
        all_rates.append(rates)
    return all_rates


def _shared_rows(call: Call) -> OwnRows:
    """The targets and weights of a member that has none of its own."""
    tables = (call.rows, *call.evaluations)
    target, weight = (tuple(np.asarray(getattr(rows, name)) for rows in tables) for name in ("target", "weight"))
    return OwnRows(call.start, target, weight)


class _Running(NamedTuple):
    """A member in a slot.

    Attributes:
        number: Its number among all members.
        last: The number of its rounds so far.
        losses: What was measured after them.
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


def _keep(ended: Sequence[tuple[int, BoostedMember, Callable[[], Any] | None]], done: dict[int, BoostedMember]) -> None:
    """Keeps members that have ended, and calls what was left for later."""
    for number, member, later in ended:
        done[number] = member
        if later is not None:
            later()


class _Batch:
    """Slots, the members in them, and the states of these."""

    def __init__(
        self, opened: tuple[Call, BoostState], members: Sequence[Member], rates: Sequence[Rates], num_slots: int,
        keeps_trees: bool, pace: Pace, on_member: OnMember | None, on_rounds: OnRoundsOfMany | None,
    ):  # fmt: skip
        self._call, self._start = opened
        self._members, self._rates = members, rates
        self._keeps_trees, self._pace, self._on_member, self._on_rounds = keeps_trees, pace, on_member, on_rounds
        self._running: list[_Running | None] = [None] * num_slots
        self._has_own_rows = any(member.own is not None for member in members)
        self._shared_rows = _shared_rows(self._call)
        self._stacked_for, self._stacked = list[int](), rates[0]
        spread = lambda own: np.broadcast_to(np.asarray(own), (num_slots, *np.shape(own)))  # noqa: E731
        states = jax.tree.map(spread, self._start)
        self._states = divide_slots(ManyStates(states, states.evaluated), self._call.mesh)

    def run(self, numbers: Sequence[int], done: dict[int, BoostedMember]) -> None:
        """Boosts some of the members, and keeps each that is done, in this order.

        What `on_member` leaves for later is called while the device makes the next rounds.
        """
        waiting, ended = deque(numbers), list[tuple[int, BoostedMember, Callable[[], Any] | None]]()
        while (waiting and not self._pace.is_over) or any(self._running):
            is_new = self._fill(waiting)
            try:
                made = self._make_rounds(is_new, self._pace.begin())
            finally:
                # Neither an interrupt nor too little memory loses those that are done.
                _keep(ended, done)
            on_member = self._on_member or (lambda number, member: None)
            ended = [(number, member, on_member(number, member)) for number, member in self._collect(made)]
        _keep(ended, done)

    def _fill(self, waiting: deque[int]) -> Bool[np.ndarray, " slot"]:
        """Gives free slots to members that wait, and returns which slots have such as begin."""
        is_new = np.zeros(len(self._running), bool)
        for slot, running in enumerate(self._running):
            if running is not None or not waiting:
                continue
            number = waiting.popleft()
            earlier = self._members[number].earlier
            is_new[slot] = earlier is None
            if earlier is None:
                self._running[slot] = _Running(number)
            else:
                self._running[slot] = _Running.after(number, earlier)
                self._states = put_in_slot(self._states, slot, earlier.states)
        return is_new

    def _make_rounds(self, is_new: Bool[np.ndarray, " slot"], most: int) -> ManyMade:
        """Makes the next rounds of all slots, so many at most."""
        call = self._call
        slots = Slots(self._rates_of_slots(most), self._rows_of_slots(), is_new, self._start, self._states)
        plan = call.plan._replace(num_models=len(self._running) // devices_of(call.mesh).number)
        static = {"plan": plan, "loss": call.loss, "keeps_trees": self._keeps_trees, "mesh": call.mesh}
        self._states, made = make_rounds_of_many(call.prepared, call.rows, call.evaluations, slots, **static)
        return made

    def _rates_of_slots(self, most: int) -> Rates:
        """The numbers of the members in all slots; an empty slot has those of any member, and no round to make.

        The program is the same for fewer rounds: they end earlier.
        """
        numbers = [0 if running is None else running.number for running in self._running]
        if numbers != self._stacked_for:
            # The learning rates of a member are as many as its rounds.
            blank = [self._rates[number]._replace(learning_rate=None) for number in numbers]
            self._stacked_for, self._stacked = numbers, jax.tree.map(lambda *own: np.stack(own), *blank)
        learning = np.zeros((len(numbers), ROUNDS_AT_A_TIME))
        end = np.zeros(len(numbers), np.int32)
        for slot, running in enumerate(self._running):
            if running is not None:
                rates, first = self._rates[running.number], running.last
                learning[slot] = np.resize(rates.learning_rate[first : first + ROUNDS_AT_A_TIME], ROUNDS_AT_A_TIME)
                end[slot] = min(rates.end, first + most)
        return self._stacked._replace(learning_rate=learning, end=end)

    def _rows_of_slots(self) -> OwnRows | None:
        """The targets and weights of the members in all slots; None where no member has any of its own."""
        if not self._has_own_rows:
            return None
        given = [None if running is None else self._members[running.number].own for running in self._running]
        of_slots = [self._shared_rows if own is None else own for own in given]
        return jax.tree.map(lambda shared, *own: np.stack(own).astype(shared.dtype), self._shared_rows, *of_slots)

    def _collect(self, made: ManyMade) -> list[tuple[int, BoostedMember]]:
        """Takes what rounds have made to the host, and returns the members that are done."""
        small = self._states.own._replace(scores=None, evaluated=())
        states, losses = jax.device_get((small, made.losses))
        self._pace.end()
        num_made, done = 0, []
        for slot, running in enumerate(self._running):
            if running is None:
                continue
            state = jax.tree.map(lambda own, slot=slot: own[slot], states)
            # The tree of a round that leaves the numbers is worth nothing.
            last = int(state.round) if state.is_finite else int(state.round) - 1
            number = last - running.last
            num_made += number
            running = running._replace(last=last, losses=(*running.losses, losses[:number, slot]))
            if made.trees is not None and number:
                trees = jax.tree.map(lambda own, slot=slot: own[:, slot], made.trees)
                running = running._replace(forests=(*running.forests, forest_of(trees, number)))
            stop = self._reason(state, self._members[running.number])
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
        best_round = int(state.best_round) if self._call.evaluations else running.last
        losses = np.concatenate(running.losses)
        paused = Paused(state_in_slot(self._states, slot), losses, forest) if stop == Stop.ASKED else None
        return BoostedMember(losses, best_round, kept, stop, forest, paused)

    def _reason(self, state: BoostState, member: Member) -> Stop | None:
        """Why a member has ended or paused; None if it goes on."""
        stop = reason_to_stop(state, member.shrinkage, member.end, bool(self._call.evaluations))
        if stop is None and self._pace.is_over:
            return Stop.NO_TIME
        return Stop.ASKED if stop == Stop.ALL_ROUNDS and member.end < member.num_rounds else stop
