"""Boosting: trees grown one after another, each on the derivatives of a loss at the scores of those before it."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Float, Real

from jaxtree.arrays import AnyArray
from jaxtree.boosting.checks import check_boosting, check_data, check_ordered
from jaxtree.boosting.data import BaseLearner, BoostData, Earlier, score_type
from jaxtree.boosting.dropping import keep_trees, with_shares
from jaxtree.boosting.ending import NO_NUMBERS, Stop
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.boosting.rounds import BoostState, RoundOutputs, blank_trees, loss_before, make_rounds
from jaxtree.boosting.score_trees import with_all_scores
from jaxtree.boosting.shrinkage import Shrinkage, rates_of
from jaxtree.devices import platform_of
from jaxtree.errors import InvalidInputError, TrainingError
from jaxtree.growth.inputs.bundles import NO_LIMIT, Data, Rules
from jaxtree.growth.inputs.checks import check_features, check_limits, check_number, check_rules, check_sizes
from jaxtree.growth.inputs.newton import NARROW_BITS, Newton, Penalties
from jaxtree.growth.loop.prepare import Prepared, prepare
from jaxtree.growth.native import engine_of
from jaxtree.growth.plan.plan import Plan
from jaxtree.heap import give_back_freed
from jaxtree.kernels.mesh import ROWS, as_rows, check_mesh
from jaxtree.losses.loss import BaseLoss
from jaxtree.switches import by_own
from jaxtree.tree import Tree
from jaxtree.tree.checks import known
from jaxtree.tree.forest import Forest, join_forests, take_trees

ROUNDS_AT_A_TIME = 25
"""Rounds of one call of the compiled loop, after which the host looks at them; fewer of large trees."""

NODES_AT_A_TIME = 2**20
"""Nodes of the trees of one call at most, if it makes several."""

LEAST_BITS = 8
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
    check_sizes(learner.sizes)
    check_data(data, loss, learner.sizes.num_bins)
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
    """Boosts trees as `boost` does, on arrays of rows that are known to be right."""
    if mesh is not None:
        check_mesh(mesh)
        if loss.joins_rows:
            raise InvalidInputError(f"{loss} cannot be given with a mesh: its rows depend on one another")
    with jax.enable_x64(True):
        call, state = open_boosting(data, loss, learner, shrinkage, mesh)
        return _run(call, shrinkage, state, num_rounds, seed, on_rounds)


def open_boosting(
    data: BoostData, loss: BaseLoss, learner: BaseLearner, shrinkage: Shrinkage, mesh: Mesh | None = None
) -> tuple["Call", BoostState]:
    """Returns what all calls of the compiled loop are given, and the state before the first; needs 64-bit types."""
    rows = data.rows
    check_boosting(data, loss, learner, shrinkage)
    start = _start(data, loss)
    plan, prepared = _prepare(data, loss, learner, shrinkage, mesh)
    if plan.rules.has_monotone:
        check_ordered(loss)
    precision = score_type(rows, data.size) if data.precision is None else data.precision
    place = functools.partial(_placed, mesh=mesh, precision=precision)
    rows, evaluations = _divided(rows, place), jax.tree.map(place, data.evaluations)
    start, prepared = np.asarray(start, precision), prepared._replace(codes=rows.codes)
    shown = start.astype(np.float64)
    call = Call(prepared, plan, loss, rows, evaluations, shown, mesh, learner.trees_per_round(loss))
    return call, _open(start, call, data.earlier)


def _start(data: BoostData, loss: BaseLoss) -> Float[np.ndarray, " score"]:
    """The scores before the first tree."""
    rows = data.rows
    if data.start is not None:
        return data.start
    if known(rows.target) is None:
        raise InvalidInputError("rows of which other processes have a part need start, got None")
    return loss.start(np.asarray(rows.target), np.asarray(rows.weight), rows.extras)


class Call(NamedTuple):
    """The arguments that all calls of the compiled loop share."""

    prepared: Prepared
    plan: Plan
    loss: BaseLoss
    rows: ScoredRows
    evaluations: tuple[ScoredRows, ...]
    start: Float[np.ndarray, " score"]
    mesh: Mesh | None
    trees_per_round: int


class _Progress(NamedTuple):
    """The results of the calls so far; replaced as a whole, so that an interrupt finds nothing half done."""

    state: BoostState
    last: int
    forests: tuple[Forest, ...] = ()
    losses: tuple[Float[np.ndarray, "round evaluation"], ...] = ()

    def then(self, state: BoostState, last: int, made: RoundOutputs, num_scores: int) -> "_Progress":
        """The progress after the rounds up to the last one."""
        number = last - self.last
        forests = (*self.forests, forest_of(made.trees, number, num_scores))
        return _Progress(state, last, forests, (*self.losses, np.asarray(made.losses[:number])))


def _run(
    call: Call, shrinkage: Shrinkage, state: BoostState, num_rounds: int, seed: int, on_rounds: OnRounds | None
) -> Boosted:
    """Calls the compiled loop until it ends or is interrupted, and joins the trees."""
    rates = rates_of(shrinkage, call.prepared, num_rounds, seed)._replace(units=call.loss.units(call.start))
    earlier = int(state.round)
    if shrinkage.dropping is not None:
        state = state._replace(kept=keep_trees(blank_trees(call.plan, call.loss, num_rounds)))
    at_a_time = max(1, min(ROUNDS_AT_A_TIME, NODES_AT_A_TIME // (call.trees_per_round * call.plan.capacity)))
    progress, stop = _Progress(state, earlier), None
    try:
        while stop is None:
            first = progress.last
            give_back_freed(call.rows.codes.shape[1])
            own = np.resize(rates.learning_rate[first : first + at_a_time], at_a_time)
            arguments = (call.prepared, call.rows, call.evaluations, rates._replace(learning_rate=own), progress.state)
            state, made = make_rounds(*arguments, plan=call.plan, loss=call.loss, mesh=call.mesh)
            # The last tree is discarded if its round made values that are not finite.
            last = int(state.round) if state.is_finite else int(state.round) - 1
            if last == earlier:
                scores = f"after round {earlier}" if earlier else f"of the start, {call.start.tolist()},"
                raise TrainingError(f"{call.loss}: derivatives at the scores {scores} are {NO_NUMBERS}")
            stop = reason_to_stop(state, shrinkage, num_rounds, bool(call.evaluations))
            if last > first:
                progress = progress.then(state, last, made, call.loss.num_scores)
                new = NewRounds(last, progress.forests[-1], progress.losses[-1])
                if on_rounds is not None and on_rounds(new) and stop is None:
                    stop = Stop.ASKED
    except KeyboardInterrupt:
        if not progress.forests:
            raise
        stop = Stop.INTERRUPTED
    return _joined(progress, call, earlier, stop)


def _joined(progress: _Progress, call: Call, earlier: int, stop: Stop) -> Boosted:
    """The trees of all rounds in one forest, and those of the best."""
    state, forest = progress.state, join_forests(list(progress.forests))
    best_round = int(state.best_round) if call.evaluations else progress.last
    best = forest.first((best_round - earlier) * call.trees_per_round)
    if state.kept is not None:
        monotone = call.prepared.features.monotone if call.plan.rules.has_monotone else None
        shares_of = functools.partial(with_shares, monotone=monotone, num_ordered=call.loss.num_ordered)
        best = shares_of(best, state.kept.best_share if call.evaluations else state.kept.share)
        forest = shares_of(forest, state.kept.share)
    return Boosted(forest, call.start, np.concatenate(progress.losses), best_round, best, stop)


def reason_to_stop(state: BoostState, shrinkage: Shrinkage, num_rounds: int, is_evaluated: bool) -> Stop | None:
    """Why boosting has ended; None if it goes on."""
    if not state.is_finite:
        return Stop.NOT_FINITE
    if is_evaluated and not shrinkage.stopping.has_patience(int(state.round), int(state.best_round)):
        return Stop.NO_BETTER_LOSS
    return Stop.ALL_ROUNDS if int(state.round) >= num_rounds else None


def _prepare(
    data: BoostData, loss: BaseLoss, learner: BaseLearner, shrinkage: Shrinkage, mesh: Mesh | None
) -> tuple[Plan, Prepared]:
    """The plan of growth, and its arrays without targets, which every round makes."""
    trees_per_round = learner.trees_per_round(loss)
    objective = _objective(loss, data.size, loss.num_scores // trees_per_round)
    rules = Rules(objective, learner.missing, counts_rows=learner.counts_rows)
    rules = shrinkage.column_fractions.rules(rules)
    limits = learner.limits._replace(parameters=Penalties(shrinkage.l2, shrinkage.l1, shrinkage.max_step))
    if shrinkage.score_noise > 0:
        rules = rules._replace(draws_scores=True)
    if shrinkage.max_leaf_nodes is not None:
        rules = rules._replace(grows_best_first=True)
        limits = limits._replace(max_leaf_nodes=shrinkage.max_leaf_nodes)
    check_rules(rules)
    check_limits(limits, objective, learner.sizes.num_roots)
    if data.features is not None:
        check_features(data.features, data.rows.codes, rules, learner.sizes.num_bins)
    blank = Data(data.rows.codes, np.zeros((objective.num_outputs, len(data.rows.weight))))
    engine = engine_of(rules, platform_of(data.rows.codes, mesh=mesh), mesh, on_host=False)
    plan, prepared = prepare(
        blank, data.features, limits, rules, learner.sizes, np.zeros(1, np.uint32), engine=engine, mesh=mesh
    )
    # Numbers of columns are set only now, so that no size of the program depends on them.
    prepared = prepared._replace(limits=shrinkage.column_fractions.limits(prepared))
    prepared = prepared._replace(target=np.zeros((objective.num_outputs, 0)), weight=None)
    return plan, prepared


def _divided(rows: ScoredRows, place: Callable[..., Array]) -> ScoredRows:
    """The rows, divided among the devices of a mesh if there is one."""
    extras = {name: place(values, axis=0) for name, values in rows.extras.items()}
    return ScoredRows(place(rows.codes, axis=1), place(rows.target, axis=0), place(rows.weight, axis=0), extras)


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


def _objective(loss: BaseLoss, num_rows: int, num_scores: int) -> Newton:
    """The objective of growth of a tree that changes so many scores.

    Its sums have 32 bits if these leave enough for the derivatives of a row.
    """
    num_curvatures = 1 if loss.hessian == "one" else num_scores
    bits = NARROW_BITS - (num_rows * num_curvatures).bit_length()
    return Newton(num_scores, num_curvatures, has_noise=True, needs_wide_sums=bits < LEAST_BITS)


def _open(start: Float[np.ndarray, " score"], call: Call, earlier: Earlier | None) -> BoostState:
    """Before the first round: the same scores for all rows, or those of earlier rounds, the last of which is best."""
    best = np.asarray(np.inf, start.dtype)
    if earlier is not None and call.evaluations:
        best = loss_before(earlier.evaluated[0], call.evaluations[0], best, call.loss, engine=call.plan.engine)
    if earlier is None:
        spread = functools.partial(_spread, start, is_divided=call.mesh is not None)
        earlier = Earlier(0, spread(call.rows), tuple(map(spread, call.evaluations)))
    place = functools.partial(_placed, mesh=call.mesh, precision=start.dtype)
    return BoostState(
        round=np.int32(earlier.number), scores=place(earlier.scores, axis=1),
        evaluated=tuple(map(place, earlier.evaluated)), best=best,
        best_round=np.int32(earlier.number), is_finite=np.bool_(True),
    )  # fmt: skip


def _spread(start: Float[np.ndarray, " score"], rows: ScoredRows, *, is_divided: bool) -> Float[AnyArray, "score row"]:
    """The same scores for all rows; on one device made by NumPy, so that no program is compiled for their number."""
    return start[:, None] + (jnp.zeros_like(rows.weight) if is_divided else np.zeros(rows.weight.shape, start.dtype))


def forest_of(trees: Tree, number: int, num_scores: int) -> Forest:
    """The trees of the first of some rounds, in one table, with a step for each of so many scores."""
    axes, capacity = trees.feature.ndim - 1, trees.capacity
    num_trees = number if axes == 1 else number * num_scores
    size, first = num_trees * capacity, np.arange(num_trees, dtype=np.int32) * capacity

    def one_by_one(x):
        rest = x.shape[axes + 1 :]
        return np.asarray(x)[:number].reshape(size, *rest) if x.ndim > axes else np.array(size, np.int32)

    flat = jax.tree.map(one_by_one, trees)
    links = {name: getattr(flat, name) + np.repeat(first, capacity) for name in ("first_child", "parent", "root")}
    forest = take_trees(dataclasses.replace(flat, **links), first)
    return forest if axes == 1 else with_all_scores(forest, num_scores)
