"""Boosting of many models at once on the same rows: each is the model that `boost` makes alone, bit for bit."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np
from jax.sharding import Mesh

from jaxtree.boosting.batch import BatchPlan, BoostedMember, Call, Member, MemberBatch, rates_of
from jaxtree.boosting.booster import check_boosting, open_boosting
from jaxtree.boosting.data import BaseLearner, BoostData, ColumnFractions, Shrinkage, check_shrinkage
from jaxtree.boosting.ending import Deadline, Pace, Stop
from jaxtree.boosting.rounds import SLOTS, OwnRows
from jaxtree.devices import current_platform, default_device, kind_of
from jaxtree.errors import InvalidInputError, is_out_of_memory
from jaxtree.growth.inputs.bundles import NO_LIMIT
from jaxtree.growth.inputs.checks import check_limits, check_number, check_weight
from jaxtree.growth.inputs.newton import Newton
from jaxtree.kernels.mesh import check_mesh, devices_of
from jaxtree.losses.loss import BaseLoss
from jaxtree.switches import by_own

ROUNDS_AT_A_TIME = 10
"""Rounds of one call at most, after which models that have stopped give their slots to others."""

MOST_SLOTS_OF_HOST, MOST_SLOTS_OF_DEVICE = 16, 256
"""Slots of a batch: on a processor more save nothing, as the steps of a program take long enough, and their scores and
derivatives stay less long in caches; on an accelerator models that have stopped cost nothing until others come."""

BYTES_PER_ROW, BYTES_PER_NODE = 100, 250
"""Bytes of a row of one score, and of a node, while rounds are made."""

SHARE_OF_DEVICE, SHARE_OF_HOST = 0.5, 0.25
"""The part of the free memory of an accelerator, and of a computer, which others use, too."""

MOST_BYTES_OF_HOST = 2**28
"""More bytes at a time make nothing faster on a processor, whose caches are small."""

OnRoundsOfMany: TypeAlias = Callable[[int], Any]
"""The callback with a number of further rounds, those of all models together."""


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


UNBOUNDED = Bounds()


@by_own
def boost_many(
    data: BoostData,
    loss: BaseLoss,
    learner: BaseLearner,
    members: Sequence[Member],
    *,
    keeps_trees: bool = False,
    bounds: Bounds = UNBOUNDED,
    on_rounds: OnRoundsOfMany | None = None,
) -> list[BoostedMember]:
    """Boosts many models on the same rows in one program, and returns them in their order; see `boost_members`.

    Raises:
        InvalidInputError: An input is not allowed. Members have samples of several classes, drop trees, or have rows of
            their own of another shape; or a target of theirs is not one that the loss allows.
        InvalidTypeError: An input is of a type that is not allowed.

    Example:
        >>> from jaxtree.boosting import ScoredRows, squared
        >>> from jaxtree.growth import Limits, Sizes
        >>> codes, target = np.array([[0, 1, 2, 3]], np.uint8), np.array([0.0, 0.0, 1.0, 5.0])
        >>> rows = ScoredRows(codes, target, np.ones(4), {})
        >>> members = [Member(Limits(max_depth=2), Shrinkage(rate, l2=0.0), 5) for rate in (0.5, 1.0)]
        >>> learner = BaseLearner(Limits(), Sizes(num_bins=4, capacity=7))
        >>> done = boost_many(BoostData(rows, evaluations=(rows,)), squared(), learner, members)
        >>> [member.losses[-1].round(3).tolist() for member in done]
        [[0.002], [0.0]]
    """
    if members:
        check_boosting(data, loss, learner, _loosest(members))
        for number, member in enumerate(members):
            _check_member(number, member, data, loss)
        kinds = sorted({type(member.shrinkage.sample).__name__ for member in members})
        if len(kinds) > 1:
            raise InvalidInputError(f"many models draw rows in one way, got {' and '.join(kinds)}")
    given: dict[str, Any] = {"keeps_trees": keeps_trees, "bounds": bounds, "on_rounds": on_rounds}
    return [member for _, member in sorted(boost_members(data, loss, learner, members, **given), key=_number_of)]


def _number_of(done: tuple[int, BoostedMember]) -> int:
    return done[0]


def boost_members(
    data: BoostData,
    loss: BaseLoss,
    learner: BaseLearner,
    members: Sequence[Member],
    *,
    keeps_trees: bool = False,
    bounds: Bounds = UNBOUNDED,
    on_rounds: OnRoundsOfMany | None = None,
) -> Iterator[tuple[int, BoostedMember]]:
    """Boosts many models on the same rows in one program, and yields each with its number once it is done.

    A batch has a number of slots. A model that has stopped gives its slot to the next one, so that it costs nothing
    more. A model depends on neither the batch nor its neighbours, and one that pauses goes on as if it had not. A batch
    for which there is not enough memory is halved.

    The device makes the next rounds meanwhile, so that programs of JAX would wait for it. Where an interrupt ends them,
    models that are done are still yielded before it is raised.

    Args:
        data: The rows, and those of evaluations, without earlier rounds. These, and all else but the mesh, are right.
        loss: The loss.
        learner: How trees are grown; the members have limits of their own.
        members: The models. Their samples are of one class.
        keeps_trees: Whether the trees of all models are kept.
        bounds: How many models a batch has, and how long it may take.
        on_rounds: Called now and then with the number of rounds that have just been made.
    """
    if not members:
        return
    if bounds.mesh is not None:
        check_mesh(bounds.mesh)
    devices, mesh = devices_of(bounds.mesh).number, None if bounds.mesh is None else Mesh(bounds.mesh.devices, (SLOTS,))
    with jax.enable_x64(True):
        call = open_boosting(data, loss, learner, _loosest(members))._replace(mesh=mesh)
        has_own = any([member.own is not None for member in members])
        shared = OwnRows.of(call.start, (call.rows, *call.evaluations)) if has_own else None
        plan = BatchPlan(
            call, members, rates_of(call, members), shared, ROUNDS_AT_A_TIME, keeps_trees, keeps_scores=True
        )
        slots = bounds.num_slots or devices * slots_for(
            call, -(-len(members) // devices), ROUNDS_AT_A_TIME * keeps_trees
        )
    pace, done = Pace(bounds.deadline, ROUNDS_AT_A_TIME), set[int]()
    while len(done) < len(members) and not pace.is_over:
        left = [number for number in range(len(members)) if number not in done]
        # Every device has as many.
        slots = -(-min(slots, len(left)) // devices) * devices
        try:
            for number, member in _run(plan, slots, left, pace, on_rounds):
                done.add(number)
                yield number, member
        except Exception as error:
            if not is_out_of_memory(error) or slots == devices:
                raise
            slots //= 2


def _run(
    plan: BatchPlan, num_slots: int, numbers: Sequence[int], pace: Pace, on_rounds: OnRoundsOfMany | None
) -> Iterator[tuple[int, BoostedMember]]:
    """Boosts some of the members, in this order, and yields each that is done while the device goes on."""
    waiting, ended = deque(numbers), list[tuple[int, BoostedMember]]()
    with jax.enable_x64(True):
        batch = MemberBatch(plan, num_slots)
    while (waiting and not pace.is_over) or any(batch.running):
        try:
            with jax.enable_x64(True):
                for slot, running in enumerate(batch.running):
                    if running is None and waiting:
                        batch.put(slot, waiting.popleft())
                made = batch.make_rounds(pace.begin())
        except BaseException:
            # Neither an interrupt nor too little memory loses those that are done.
            yield from ended
            raise
        yield from ended
        with jax.enable_x64(True):
            num_made, ended = batch.collect(made), []
            pace.end()
            for slot, running in enumerate(batch.running):
                if running is None:
                    continue
                stop = Stop.NO_TIME if running.stop is None and pace.is_over else running.stop
                if stop is not None:
                    ended.append((running.number, batch.take(slot, stop)))
        if on_rounds is not None:
            on_rounds(num_made)
    yield from ended


def _check_member(number: int, member: Member, data: BoostData, loss: BaseLoss) -> None:
    """Checks the numbers of a model, and the rows that it has for itself.

    Raises:
        InvalidInputError: One is not allowed, it drops trees, it has other rows than the data, or targets that the loss
            does not allow.
    """
    check_number("num_rounds", member.num_rounds, 1)
    check_number("seed", member.seed, 0, 2**32 - 1)
    check_shrinkage(member.shrinkage)
    if member.shrinkage.dropping is not None:
        raise InvalidInputError("models that drop trees are boosted one by one, by boost")
    check_limits(member.shrinkage.limits(member.limits), Newton(), 1)
    if member.own is None:
        return
    own = OwnRows.of(np.zeros(loss.num_scores), (data.rows, *data.evaluations))
    shapes, wanted = (jax.tree.map(np.shape, rows) for rows in (member.own, own))
    if shapes != wanted:
        raise InvalidInputError(f"rows of member {number} must have the shapes {wanted}, got {shapes}")
    for values in member.own.weight:
        check_weight(values)
    is_there = np.asarray(member.own.weight[0]) > 0
    extras = {name: np.asarray(values)[is_there] for name, values in data.rows.extras.items()}
    loss.check_fit(np.asarray(member.own.target[0])[is_there], extras)


def _loosest(members: Sequence[Member]) -> Shrinkage:
    """A shrinkage whose program draws whatever any member draws, and grows best-first if any member's does."""
    fractions = zip(*(member.shrinkage.column_fractions for member in members), strict=True)
    is_cut = any(member.shrinkage.max_leaf_nodes is not None for member in members)
    return Shrinkage(
        column_fractions=ColumnFractions(*map(min, fractions)),
        score_noise=max(member.shrinkage.score_noise for member in members),
        max_leaf_nodes=NO_LIMIT if is_cut else None,
    )


def slots_for(call: Call, num_members: int, num_kept: int) -> int:
    """Returns the number of slots of a batch: few enough for memory, and so that the last batch is nearly full.

    Args:
        call: The arguments that all models share.
        num_members: The number of models.
        num_kept: The rounds of each model whose trees are kept on the device.
    """
    num_rows = sum(rows.weight.size for rows in (call.rows, *call.evaluations))
    of_trees = call.trees_per_round * call.plan.capacity * (num_kept + 1)
    num_bytes = num_rows * BYTES_PER_ROW * call.loss.num_scores + of_trees * BYTES_PER_NODE
    is_host = current_platform() == "cpu"
    most = int(np.clip(bytes_at_a_time() // num_bytes, 1, MOST_SLOTS_OF_HOST if is_host else MOST_SLOTS_OF_DEVICE))
    return -(-num_members // -(-num_members // most))


def bytes_at_a_time() -> int:
    """Returns how many bytes the scores, derivatives and trees of a batch may take.

    Models do not depend on it: it decides how many of them are made at once.
    """
    device = default_device()
    stats = device.memory_stats() or {}
    if kind_of(device) != "cpu" and "bytes_limit" in stats:
        return int((stats["bytes_limit"] - stats.get("bytes_in_use", 0)) * SHARE_OF_DEVICE)
    free = free_bytes_of_host()
    return MOST_BYTES_OF_HOST if free is None else min(MOST_BYTES_OF_HOST, int(free * SHARE_OF_HOST))


def free_bytes_of_host() -> int | None:
    """Returns the bytes of memory that are free; None where the operating system does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
