"""Many models at once: each is the model that is boosted alone, whatever the batch, the order and the neighbours."""

import itertools
import re

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

from jaxtree.boosting import batch as module
from jaxtree.boosting import logistic, quantile, softmax, squared
from jaxtree.boosting.batch import Member
from jaxtree.boosting.booster import boost
from jaxtree.boosting.data import BaseLearner, BoostData, ColumnFractions, Shrinkage
from jaxtree.boosting.dropping import Dropping
from jaxtree.boosting.ending import Deadline, Stop
from jaxtree.boosting.many import Bounds, boost_many, boost_members
from jaxtree.boosting.rounds import OwnRows, make_rounds
from jaxtree.boosting.samples import MinimalVariance, OneSided, Uniform
from jaxtree.errors import InvalidInputError
from jaxtree.growth import Limits
from jaxtree.growth.inputs.bundles import Sizes
from jaxtree.kernels import choose
from jaxtree.tree.forest import Forest
from tests.boosting.test_boost import BINS, classes, numbers
from tests.marks import rest_is_slow

SIZES = Sizes(BINS, capacity=32)
LEARNER = BaseLearner(Limits(), SIZES)
CASES = {
    "squared": (squared(), numbers),
    "logistic": (logistic(), classes),
    "quantile": (quantile(0.7), numbers),
    "softmax": (softmax(3, "diagonal"), lambda **options: classes(3, **options)),
}


def members(number, sample=Uniform, seed=0):
    """Models that differ in every number."""
    rng = np.random.default_rng(seed)
    made = []
    for own in range(number):
        limits = Limits(int(rng.integers(1, 5)), 0, 0, float(rng.uniform(0.5, 3)), 1e-300)
        shrinkage = Shrinkage(
            float(rng.uniform(0.1, 0.5)), float(rng.uniform(0, 2)), float(rng.uniform(0, 1)), max_step=5.0 + own,
            least_gain=float(rng.uniform(0, 0.1)), sample=sample(), patience=int(rng.integers(2, 6)),
            column_fractions=ColumnFractions(*rng.choice([0.5, 1.0], 3).tolist()),
            max_leaf_nodes=[None, 5][own % 2],
        )  # fmt: skip
        made.append(Member(limits, shrinkage._replace(tolerance=1e-4 * own), int(rng.integers(3, 24)), seed=own))
    return made


def data_of(rows_of):
    return BoostData(rows_of(), evaluations=(rows_of(seed=1, num_rows=150), rows_of(seed=2, num_rows=90)))


def alone(data, loss, member):
    learner = BaseLearner(member.limits, SIZES)
    return boost(data, loss, learner, member.shrinkage, num_rounds=member.num_rounds, seed=member.seed)


def many(data, loss, made, **options):
    return boost_many(data, loss, BaseLearner(Limits(), SIZES), made, keeps_trees=True, **options)


def equal(one: Forest, other: Forest):
    return all(map(np.array_equal, jax.tree.leaves(one.nodes), jax.tree.leaves(other.nodes)))


@pytest.fixture(params=["kernel", "xla"])
def engine(request, monkeypatch):
    if request.param == "xla":
        monkeypatch.setattr(choose, "is_there", lambda: False)
    elif not choose.is_there():
        pytest.skip("the kernel is not installed")
    return request.param


@pytest.mark.slow
@pytest.mark.parametrize("case", ["quantile", "softmax"])
def test_a_member_is_the_model_that_is_boosted_alone(case):
    loss, rows_of = CASES[case]
    data, made = data_of(rows_of), members(5)
    for member, done in zip(made, many(data, loss, made, bounds=Bounds(2)), strict=True):
        lone = alone(data, loss, member)
        if case == "softmax":
            # In programs that are not optimised, as here, sums over scores may differ in the last bit.
            np.testing.assert_array_equal(done.forest.nodes.feature, lone.forest.nodes.feature)
            np.testing.assert_allclose(done.losses, lone.losses, rtol=1e-12)
            continue
        assert equal(done.forest, lone.forest)
        np.testing.assert_array_equal(done.losses, lone.losses)
        assert (done.best_round, done.stop) == (lone.best_round, lone.stop)


@pytest.mark.slow
@pytest.mark.parametrize("sample", [OneSided, pytest.param(MinimalVariance, marks=pytest.mark.slow)])
def test_members_draw_rows_as_they_do_alone(sample):
    data, made = data_of(numbers), members(3, sample)
    for member, done in zip(made, many(data, squared(), made), strict=True):
        assert equal(done.forest, alone(data, squared(), member).forest)


def test_scores_are_those_of_the_best_round_or_of_the_last():
    data, (first, *_) = data_of(numbers), members(1)
    last = first._replace(shrinkage=first.shrinkage._replace(patience=2**31 - 1))
    for member, done in zip((first, last), many(data, squared(), [first, last]), strict=True):
        number = done.best_round if member is first else member.num_rounds
        short = member._replace(num_rounds=number)
        np.testing.assert_array_equal(done.scores[0], many(data, squared(), [short])[0].scores[0])
        assert len(done.losses) == len(done.forest)


def test_a_model_that_has_stopped_leaves_before_the_others():
    made = [own._replace(num_rounds=rounds) for own, rounds in zip(members(3), (40, 2, 15), strict=True)]
    made = [own._replace(shrinkage=own.shrinkage._replace(patience=99)) for own in made]
    order = []
    for number, done in boost_members(data_of(numbers), squared(), LEARNER, made, bounds=Bounds(2)):
        order.append((number, len(done.losses), done.stop))
    assert order == [(1, 2, Stop.ALL_ROUNDS), (2, 15, Stop.ALL_ROUNDS), (0, 40, Stop.ALL_ROUNDS)]


def test_a_model_that_is_done_is_yielded_while_the_next_rounds_are_made(monkeypatch):
    made = [own._replace(num_rounds=rounds) for own, rounds in zip(members(3), (25, 2, 15), strict=True)]
    made = [own._replace(shrinkage=own.shrinkage._replace(patience=99)) for own in made]
    calls, really = [], module.make_rounds

    def make(*arrays, **static):
        calls.append("make")
        return really(*arrays, **static)

    monkeypatch.setattr(module, "make_rounds", make)
    told = {"bounds": Bounds(2), "on_rounds": lambda number: calls.append("rounds")}
    for number, _ in boost_members(data_of(numbers), squared(), LEARNER, made, **told):
        assert not jax.config.read("jax_enable_x64")
        calls.append(number)
    assert calls == ["make", "rounds", "make", 1, "rounds", "make", "rounds", 0, 2]


def test_an_interrupt_of_the_next_rounds_loses_no_member_that_is_done(monkeypatch):
    made = [own._replace(num_rounds=rounds) for own, rounds in zip(members(2), (25, 2), strict=True)]
    made = [own._replace(shrinkage=own.shrinkage._replace(patience=99)) for own in made]
    yielded, really = [], module.make_rounds

    def interrupted(*arrays, **static):
        if not arrays[2].is_new.any():
            raise KeyboardInterrupt
        return really(*arrays, **static)

    monkeypatch.setattr(module, "make_rounds", interrupted)
    with pytest.raises(KeyboardInterrupt):
        for number, _ in boost_members(data_of(numbers), squared(), LEARNER, made):
            yielded.append(number)
    assert yielded == [1]


@pytest.mark.slow
@pytest.mark.parametrize("case", [pytest.param("squared", marks=pytest.mark.slow), "logistic"])
def test_a_member_that_pauses_goes_on_as_if_it_had_not(case):
    loss, rows_of = CASES[case]
    data, made = data_of(rows_of), members(6)
    whole = many(data, loss, made)
    paused = many(data, loss, [member._replace(pause=2) for member in made], bounds=Bounds(4))
    again = [member._replace(pause=11, earlier=own.paused) for member, own in zip(made, paused, strict=True)]
    # Members that go on stand beside others that begin.
    longer = many(data, loss, [*again[::-1], *made[:2]], bounds=Bounds(5))
    done = many(
        data, loss, [own._replace(earlier=so_far.paused) for own, so_far in zip(made, longer[5::-1], strict=True)]
    )
    assert {own.stop for own in longer[:6]} > {Stop.ASKED}
    assert all(len(own.losses) == 2 for own in paused if own.stop == Stop.ASKED)
    for member, first, second, third, own in zip(made, paused, longer[5::-1], done, whole, strict=True):
        last = next(one for one in (first, second, third) if one.stop != Stop.ASKED)
        assert equal(last.forest, own.forest), member
        np.testing.assert_array_equal(last.losses, own.losses)
        jax.tree.map(np.testing.assert_array_equal, last.scores, own.scores)
        assert (last.best_round, last.stop, last.paused) == (own.best_round, own.stop, None)


def test_rounds_are_told_while_they_are_made():
    told = []
    done = many(data_of(numbers), squared(), members(3), bounds=Bounds(2), on_rounds=told.append)
    assert sum(told) == sum(len(own.losses) for own in done)
    assert len(told) > 1


@pytest.mark.slow
def test_what_a_deadline_cuts_are_first_rounds_of_the_same_models():
    """Every look at the clock takes a second, and a call has two: one of 1 round and two of 3."""
    seconds = itertools.count(0.0)
    made = [own._replace(shrinkage=own.shrinkage._replace(patience=50), num_rounds=20) for own in members(6)]
    data = data_of(numbers)
    whole = many(data, squared(), made)
    cut = many(data, squared(), made, bounds=Bounds(4, Deadline(5.0, clock=lambda: next(seconds))))
    assert len(cut) == 4
    for one, other in zip(cut, whole, strict=False):
        assert one.stop == Stop.NO_TIME and len(one.losses) == 7
        np.testing.assert_array_equal(one.losses, other.losses[: len(one.losses)])
        assert equal(one.forest, other.forest.first(len(one.losses)))


def test_a_batch_without_enough_memory_is_halved(monkeypatch):
    data, made, tried = data_of(numbers), members(4), []
    whole = many(data, squared(), made)
    really = module.make_rounds

    def with_little_memory(*arrays, **static):
        tried.append(len(arrays[2].is_new))
        if tried[-1] > 2:
            raise MemoryError
        return really(*arrays, **static)

    monkeypatch.setattr(module, "make_rounds", with_little_memory)
    assert all(equal(a.forest, b.forest) for a, b in zip(whole, many(data, squared(), made), strict=True))
    assert tried[:2] == [4, 2]


def test_members_that_no_batch_can_have():
    data, (one, other) = data_of(numbers), members(2)
    draws = other._replace(shrinkage=other.shrinkage._replace(sample=OneSided()))
    with pytest.raises(InvalidInputError, match="draw rows in one way, got OneSided and Uniform"):
        many(data, squared(), [one, draws])
    with pytest.raises(InvalidInputError, match="one by one"):
        many(data, squared(), [one._replace(shrinkage=one.shrinkage._replace(dropping=Dropping()))])
    with pytest.raises(InvalidInputError, match="mesh must have one axis"):
        many(data, squared(), [one], bounds=Bounds(mesh=Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("a", "b"))))


@pytest.mark.parametrize(
    ("case", "engine"),
    [
        ("logistic", "kernel"),
        *(
            pytest.param(*given, marks=pytest.mark.slow)
            for given in (("quantile", "kernel"), ("softmax", "kernel"), ("logistic", "xla"))
        ),
    ],
    indirect=["engine"],
)
def test_members_with_rows_of_their_own_are_the_models_of_these_rows(case, engine):
    loss, rows_of = CASES[case]
    data, made = data_of(rows_of), members(5)
    rng = np.random.default_rng(0)
    tables = [[data.rows, *data.evaluations]]
    for _ in made[1:]:
        permuted = [rows._replace(target=rng.permutation(rows.target)) for rows in tables[0]]
        # Some rows are none of the model: those of another fold.
        tables.append([own._replace(weight=own.weight * rng.choice([0, 0.5, 2], own.weight.shape)) for own in permuted])
    own_data = [data._replace(rows=own[0], evaluations=tuple(own[1:])) for own in tables]
    starts = [loss.start(own.rows.target, own.rows.weight, {}) for own in own_data]
    own_rows = [
        OwnRows(start, tuple(rows.target for rows in own), tuple(rows.weight for rows in own))
        for start, own in zip(starts, tables, strict=True)
    ]
    given = [made[0], *(m._replace(own=own) for m, own in zip(made[1:], own_rows[1:], strict=True))]
    for member, own, boosted in zip(made, own_data, many(data, loss, given, bounds=Bounds(2)), strict=True):
        expected = alone(own, loss, member)
        assert equal(boosted.forest, expected.forest)
        np.testing.assert_array_equal(boosted.losses, expected.losses)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "engine"),
    [("squared", "kernel"), pytest.param("logistic", "xla", marks=pytest.mark.exhaustive)],
    indirect=["engine"],
)
def test_devices_change_no_member(case, engine):
    loss, rows_of = CASES[case]
    data, made = data_of(rows_of), members(7)
    expected = many(data, loss, made)
    for number in (2, 4):
        bounds = Bounds(mesh=Mesh(np.array(jax.devices()[:number]), ("models",)))
        # Some slots of a device are empty from the beginning on, or from when a model has stopped.
        before = make_rounds.num_programs()
        divided = many(data, loss, made, bounds=bounds)
        assert make_rounds.num_programs() - before == 1
        for one, other in zip(divided, expected, strict=True):
            assert equal(one.forest, other.forest)
            np.testing.assert_array_equal(one.losses, other.losses)


@pytest.mark.parametrize("engine", rest_is_slow(["kernel", "xla"]), indirect=True)
def test_devices_have_slots_of_their_own_and_wait_for_none(engine, monkeypatch):
    calls = []

    def make(*arrays, **static):
        calls.append((arrays, static))
        states, made = make_rounds(*arrays, **static)
        for of_slots in jax.tree.leaves(states):
            assert of_slots.sharding.shard_shape(of_slots.shape)[0] == 2
        return states, made

    monkeypatch.setattr(module, "make_rounds", make)
    many(data_of(classes), logistic(), members(7), bounds=Bounds(mesh=Mesh(np.array(jax.devices()[:4]), ("models",))))
    arrays, static = calls[0]
    with jax.enable_x64(True):
        program = make_rounds.jitted(static, platform="cpu").lower(*arrays).compile().as_text()
    assert "num_partitions=4" in program
    assert not re.findall(r"all-reduce|all-gather|all-to-all|reduce-scatter|collective", program)


def test_rows_of_another_shape_or_target_are_named():
    data, (first, second) = data_of(classes), members(2)
    tables = (data.rows, *data.evaluations)
    own = OwnRows(np.zeros(1), tuple(rows.target for rows in tables), tuple(rows.weight for rows in tables))
    short = own._replace(weight=(own.weight[0][:-1], *own.weight[1:]))
    with pytest.raises(InvalidInputError, match=r"rows of member 1 must have the shapes .* got"):
        many(data, logistic(), [first, second._replace(own=short)])
    with pytest.raises(InvalidInputError, match="7"):
        many(data, logistic(), [first, second._replace(own=own._replace(target=(own.target[0] + 7, *own.target[1:])))])
