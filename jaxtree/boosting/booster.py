"""Boosting: trees grown one after another, each on the derivatives of a loss at the scores of those before it."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Float, Real

from jaxtree import forks
from jaxtree.arrays import AnyArray, concrete_or_none
from jaxtree.boosting.batch import BatchPlan, BoostedMember, Call, Checkpoint, Member, MemberBatch, rates_of
from jaxtree.boosting.data import (
    BaseLearner,
    BoostData,
    InitialScores,
    Shrinkage,
    check_data,
    check_evaluations,
    check_shrinkage,
    score_type,
)
from jaxtree.boosting.dropping import Dropping, Kept, with_shares
from jaxtree.boosting.ending import NO_NUMBERS, Stop
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.boosting.rounds import BoostState, loss_before
from jaxtree.devices import platform_of
from jaxtree.errors import InvalidInputError, TrainingError, present
from jaxtree.growth.inputs.bundles import NO_LIMIT, Data, Missing, Rules
from jaxtree.growth.inputs.checks import check_features, check_limits, check_number, check_rules, check_sizes
from jaxtree.growth.inputs.newton import NARROW_BITS, Newton
from jaxtree.growth.loop.prepare import GrowthInputs, prepare
from jaxtree.growth.native import engine_of
from jaxtree.growth.plan.plan import Plan
from jaxtree.kernels.mesh import ROWS, as_rows, check_mesh
from jaxtree.losses.loss import BaseLoss
from jaxtree.switches import by_own
from jaxtree.tree.forest import Forest

ROUNDS_AT_A_TIME = 25
"""Rounds of one call of the compiled loop, after which the host looks at them; fewer of large trees."""

NODES_AT_A_TIME = 2**20
"""Nodes of the trees of one call at most, if it makes several."""

USUAL_BITS = 8
"""Rows whose derivatives would have fewer bits have units that follow from sums, or sums of 64 bits."""

LEAST_BITS = 5
"""Rows whose derivatives would have fewer bits are summed in 64."""


class NewRounds(NamedTuple):
    """The argument of `on_rounds`.

    Attributes:
        number: How many rounds there are now.
        trees: The trees of the new ones; thresholds are codes.
        losses: The mean loss of every evaluation after each new one.
    """

    number: int
    trees: Forest
    losses: Float[np.ndarray, "round evaluation"]


OnRounds: TypeAlias = Callable[[NewRounds], bool]
"""Progress callback; a true result stops the boosting."""


class Boosted(NamedTuple):
    """A boosted model, on the host.

    Attributes:
        forest: A tree a new round, or one for every score, round after round; the means of its nodes are the changes of
            the scores. Thresholds are codes.
        start: The scores before the first tree.
        losses: The mean loss of every evaluation after each new round.
        best_round: The number of rounds of the least loss of the first evaluation; all without any. Among rounds that
            were made before, the last counts.
        best: The trees of these rounds, as they were then: later rounds may have dropped some.
        stop: Why it ended.
    """

    forest: Forest
    start: Float[np.ndarray, " score"]
    losses: Float[np.ndarray, "round evaluation"]
    best_round: int
    best: Forest
    stop: Stop


@by_own
def boost(
    data: BoostData,
    loss: BaseLoss,
    learner: BaseLearner,
    shrinkage: Shrinkage,
    *,
    num_rounds: int,
    seed: int = 0,
    on_rounds: OnRounds | None = None,
    mesh: Mesh | None = None,
) -> Boosted:
    """Boosts trees on a loss by Newton steps (Friedman, 2001; Chen and Guestrin, 2016).

    The tree of a round is grown by the objective `jaxtree.boosting.Newton`. Its nodes then take the steps of exact
    sums, with whole Hessians where a loss has them, or the quantiles that it asks for.

    The same rows and seed give the same model bit for bit, with and without the kernel in C++, on any number of devices
    of a kind, and in any number of calls. All sums are exact, and derivatives are rounded to the digits of 32 bits, as
    programs differ past them: up to `MOST_ROWS_IN_DOUBLE` rows, one derivative of 2**28 that differ is still rounded to
    another side. For more rows derivatives are computed in 32 bits. Programs that compute another last bit then make
    other last bits of leaves and, where a derivative lies at the border of two whole numbers, perhaps another split.

    Args:
        data: The rows, and those of evaluations.
        loss: The loss.
        learner: How trees are grown.
        shrinkage: How the boosting holds back.
        num_rounds: The most rounds, those that were made before included.
        seed: The seed of what is drawn.
        on_rounds: Called now and then with what the last rounds have made; a true result ends the boosting.
        mesh: Devices of one kind, in one axis, to divide the rows among; the model is that of one device.

    Raises:
        InvalidInputError: A target or an extra is not one that the loss allows, or shapes do not fit; or a mesh is
            given and the rows of the loss depend on one another.
        TrainingError: The first derivatives are no numbers, or too large, or their steps lead to such scores.
        KeyboardInterrupt: An interrupt came before the first rounds were made; later ones end the boosting.

    Example:
        >>> from jaxtree.boosting import BaseLearner, BoostData, ScoredRows, Shrinkage, squared
        >>> from jaxtree.growth import Limits, Sizes
        >>> codes, target = np.array([[0, 1, 2, 3]], np.uint8), np.array([0.0, 0.0, 1.0, 5.0])
        >>> data = BoostData(ScoredRows(codes, target, np.ones(4), {}))
        >>> learner = BaseLearner(Limits(max_depth=2), Sizes(num_bins=4, capacity=7))
        >>> boosted = boost(data, squared(), learner, Shrinkage(0.5, l2=0.0), num_rounds=10)
        >>> len(boosted.forest), boosted.start.tolist()
        (10, [1.5])
    """
    first = data.earlier.number if data.earlier else 0
    check_number("seed", seed, 0, 2**32 - 1)
    check_number("num_rounds", num_rounds, -NO_LIMIT)
    if num_rounds <= first:
        raise InvalidInputError(f"num_rounds must be at least {first + 1}, got {num_rounds}")
    check_boosting(data, loss, learner, shrinkage)
    options = {"num_rounds": num_rounds, "seed": seed, "on_rounds": on_rounds, "mesh": mesh}
    return boost_checked(data, loss, learner, shrinkage, **options)


def boost_checked(
    data: BoostData,
    loss: BaseLoss,
    learner: BaseLearner,
    shrinkage: Shrinkage,
    *,
    num_rounds: int,
    seed: int,
    on_rounds: OnRounds | None = None,
    mesh: Mesh | None = None,
) -> Boosted:
    """Boosts trees as `boost` does, of what is right: estimators take care of it themselves."""
    if mesh is not None:
        check_mesh(mesh)
        if loss.joins_rows:
            raise InvalidInputError(f"{loss} cannot be given with a mesh: its rows depend on one another")
    with jax.enable_x64(True):
        call = open_boosting(data, loss, learner, shrinkage, mesh)
        earlier = None if data.earlier is None else _paused(data.earlier, call, shrinkage.dropping)
        members = [Member(learner.limits, shrinkage, num_rounds, seed, earlier=earlier)]
        at_a_time = max(1, min(ROUNDS_AT_A_TIME, NODES_AT_A_TIME // (call.trees_per_round * call.plan.capacity)))
        plan = BatchPlan(call, members, rates_of(call, members), None, at_a_time, keeps_trees=True, keeps_scores=False)
        return _run(plan, on_rounds)


def _run(plan: BatchPlan, on_rounds: OnRounds | None) -> Boosted:
    """Makes the rounds of a model alone until it ends or is interrupted."""
    batch, stop = MemberBatch(plan, 1), None
    batch.put(0, 0)
    running = first = present(batch.running[0])
    try:
        while stop is None:
            batch.collect(batch.make_rounds(plan.rounds_at_a_time))
            last, running = running.last, present(batch.running[0])
            if running.last == first.last:
                scores = f"after round {first.last}" if first.last else f"of the start, {plan.call.start.tolist()},"
                raise TrainingError(f"{plan.call.loss}: derivatives at the scores {scores} are {NO_NUMBERS}")
            stop = running.stop
            if on_rounds is not None and running.last > last:
                is_asked = on_rounds(NewRounds(running.last, running.forests[-1], running.losses[-1]))
                stop = Stop.ASKED if is_asked and stop is None else stop
    except KeyboardInterrupt:
        running = present(batch.running[0])
        if not running.forests:
            raise
        stop = Stop.INTERRUPTED
    return _boosted(batch.take(0, stop), present(running.state).kept, plan.call, first.last)


def _boosted(made: BoostedMember, kept: Kept | None, call: Call, earlier: int) -> Boosted:
    """A model that has ended, with what counts of its trees."""
    forest = present(made.forest)
    best = forest.first((made.best_round - earlier) * call.trees_per_round)
    if kept is not None:
        monotone = call.prepared.features.monotone if call.plan.rules.has_monotone else None
        shares_of = functools.partial(with_shares, monotone=monotone, num_ordered=call.loss.num_ordered)
        best = shares_of(best, kept.best_share if call.evaluations else kept.share)
        forest = shares_of(forest, kept.share)
    return Boosted(forest, call.start, made.losses, made.best_round, best, made.stop)


def check_boosting(data: BoostData, loss: BaseLoss, learner: BaseLearner, shrinkage: Shrinkage) -> None:
    """Checks all that `boost` and `boost_many` are given but seeds, numbers of rounds, own rows and the mesh.

    Raises:
        InvalidInputError: A shape or a value is not allowed, or two do not fit together.
        InvalidTypeError: Something is of a type that is not allowed.
    """
    forks.check_is_whole("boosting")
    check_sizes(learner.sizes)
    check_data(data, loss, learner.sizes.num_bins)
    check_evaluations(data.evaluations, data.rows)
    if learner.missing == Missing.FRACTION:
        raise InvalidInputError("boosting does not share rows out among branches: missing must be LEARN or BRANCH")
    if shrinkage.dropping is not None and learner.trees_per_round(loss) > 1:
        raise InvalidInputError("boosting drops trees that change all scores: one_output_per_tree must be False")
    if learner.sizes.num_roots != 1:
        raise InvalidInputError(f"num_roots must be 1, as every tree is grown alone, got {learner.sizes.num_roots}")
    if data.start is None and concrete_or_none(data.rows.target) is None:
        raise InvalidInputError("rows of which other processes have a part need start, got None")
    check_shrinkage(shrinkage)
    rules = _rules_of(data, loss, learner, shrinkage)
    check_rules(rules)
    check_limits(shrinkage.limits(learner.limits), rules.objective, learner.sizes.num_roots)
    if data.features is not None:
        check_features(data.features, data.rows.codes, rules, learner.sizes.num_bins)


def open_boosting(
    data: BoostData, loss: BaseLoss, learner: BaseLearner, shrinkage: Shrinkage, mesh: Mesh | None = None
) -> Call:
    """Returns what all calls of the compiled loop are given, of inputs that are right; needs 64-bit types.

    Raises:
        InvalidInputError: Constraints bound scores of a loss that has none in order.
    """
    rows, start = data.rows, data.start
    if start is None:
        start = loss.start(np.asarray(rows.target), np.asarray(rows.weight), rows.extras)
    plan, prepared = _prepare(data, loss, learner, shrinkage, mesh)
    if plan.rules.has_monotone and not loss.num_ordered:
        raise InvalidInputError(
            f"monotone constraints bound one score, quantiles, or a location: {loss} has {loss.num_scores} scores, the "
            "first of which is none (a loss of one's own says so by has_location=True)"
        )
    precision = score_type(rows, data.size) if data.precision is None else data.precision
    place = functools.partial(_placed, mesh=mesh, precision=precision)
    extras = jax.tree.map(functools.partial(place, axis=0), rows.extras)
    rows = ScoredRows(place(rows.codes, axis=1), place(rows.target, axis=0), place(rows.weight, axis=0), extras)
    evaluations, prepared = jax.tree.map(place, data.evaluations), prepared._replace(codes=rows.codes)
    start = np.asarray(start, precision).astype(np.float64)
    divided = None if mesh is None else as_rows(mesh)
    return Call(prepared, plan, loss, rows, evaluations, start, precision, divided, learner.trees_per_round(loss))


def _prepare(
    data: BoostData, loss: BaseLoss, learner: BaseLearner, shrinkage: Shrinkage, mesh: Mesh | None
) -> tuple[Plan, GrowthInputs]:
    """The plan of growth, and its arrays without targets, weights and limits, which every round makes."""
    rules = _rules_of(data, loss, learner, shrinkage)
    num_outputs = rules.objective.num_outputs
    blank = Data(data.rows.codes, np.zeros((num_outputs, len(data.rows.weight))))
    engine = engine_of(rules, platform_of(data.rows.codes, mesh=mesh), mesh, on_host=False)
    plan, prepared = prepare(
        blank, data.features, None, rules, learner.sizes, np.zeros(1, np.uint32), engine=engine, mesh=mesh
    )
    return plan, prepared._replace(target=np.zeros((num_outputs, 0)), weight=None)


def _rules_of(data: BoostData, loss: BaseLoss, learner: BaseLearner, shrinkage: Shrinkage) -> Rules:
    """The rules of growth of a tree."""
    num_scores = loss.num_scores // learner.trees_per_round(loss)
    fractions = shrinkage.column_fractions
    return Rules(
        newton_of(num_scores, 1 if loss.hessian == "one" else num_scores, data.size),
        learner.missing,
        counts_rows=learner.counts_rows,
        samples_features=fractions.node < 1,
        samples_levels=fractions.level < 1,
        draws_scores=shrinkage.score_noise > 0,
        grows_best_first=shrinkage.max_leaf_nodes is not None,
    )


def newton_of(num_scores: int, num_curvatures: int, num_rows: int) -> Newton:
    """The objective of a round's tree; its sums have 32 bits if these leave enough for the derivatives of a row.

    Few bits are enough where units follow from sums, which is measured for one second derivative a row.
    """
    bits = NARROW_BITS - (num_rows * num_curvatures).bit_length()
    fits_sum = num_curvatures == 1 and LEAST_BITS <= bits < USUAL_BITS
    is_wide = bits < USUAL_BITS and not fits_sum
    return Newton(num_scores, num_curvatures, has_noise=True, fits_sum=fits_sum, needs_wide_sums=is_wide)


def _placed(
    values: Real[AnyArray, "..."], *, mesh: Mesh | None, precision: Any, axis: int | None = None
) -> Real[Array, "..."]:
    """The values on the device, floats with so many bits; on a mesh with an axis divided, or a copy on every device.

    Rows that do not divide equally are padded by rows of weight 0.
    """
    dtype = precision if jnp.issubdtype(values.dtype, jnp.floating) else values.dtype
    if mesh is None or isinstance(values, jax.Array):
        return jnp.asarray(values, dtype)
    padding = [(0, -length % mesh.size if number == axis else 0) for number, length in enumerate(values.shape)]
    spec = P() if axis is None else P(*[None] * axis, ROWS)
    return jax.device_put(np.pad(values, padding).astype(dtype), NamedSharding(as_rows(mesh), spec))


def _paused(earlier: InitialScores, call: Call, dropping: Dropping | None) -> Checkpoint:
    """A model after earlier rounds, the last of which is best."""
    if dropping is not None:
        raise InvalidInputError("boosting that drops trees cannot go on from earlier rounds: their trees would change")
    place = functools.partial(_placed, mesh=call.mesh, precision=call.precision)
    best = np.asarray(np.inf, call.precision)
    if call.evaluations:
        best = loss_before(earlier.evaluated[0], call.evaluations[0], best, call.loss, engine=call.plan.engine)
    number = np.full(1, earlier.number, np.int32)
    state = BoostState(
        round=number, scores=place(earlier.scores[None], axis=2),
        evaluated=tuple(place(scores[None]) for scores in earlier.evaluated), best=best[None], best_round=number,
        is_finite=np.ones(1, bool),
    )  # fmt: skip
    return Checkpoint(state, np.zeros((0, len(call.evaluations))))
