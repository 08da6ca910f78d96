"""The loop of boosting: beside a booster in NumPy, and the laws of its rounds."""

import itertools

import jax
import numpy as np
import optax
import pytest

from jaxtree.boosting import Loss, absolute, boost, logistic, quantile, softmax, squared
from jaxtree.boosting.booster import Shrinkage
from jaxtree.boosting.data import BaseLearner, BoostData, InitialScores
from jaxtree.boosting.ending import Stop
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.boosting.rounds import make_rounds
from jaxtree.boosting.samples import MinimalVariance, OneSided, Uniform
from jaxtree.errors import InvalidInputError, TrainingError
from jaxtree.growth import Features, Limits
from jaxtree.growth.inputs.bundles import Missing, Sizes
from jaxtree.kernels import choose
from jaxtree.tree.forest import join_forests
from jaxtree.tree.nodes import target_means
from jaxtree.tree.walk import apply
from tests.marks import rows_are_slow
from tests.reference import booster

BINS, DEPTH = 16, 3
LIMITS = Limits(max_depth=DEPTH, min_samples_split=0, min_samples_leaf=0, min_weight_leaf=1.0, min_gain=1e-300)
SIZES = Sizes(BINS, capacity=16)


def table(num_rows=400, seed=0, num_features=4):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, BINS, (num_features, num_rows)).astype(np.uint8)
    signal = np.sin(codes[0] / 3) + (codes[1] > 7) * (codes[2] > 4)
    return codes, signal, rng


def numbers(**options):
    codes, signal, rng = table(**options)
    return ScoredRows(codes, signal + rng.normal(0, 0.3, signal.size), np.ones(signal.size), {})


def classes(num_classes=2, **options):
    codes, signal, rng = table(**options)
    edges = np.quantile(signal, np.linspace(0, 1, num_classes + 1)[1:-1])
    return ScoredRows(codes, np.digitize(signal + rng.normal(0, 0.3, signal.size), edges), np.ones(signal.size), {})


def boosted(rows, loss, shrinkage=Shrinkage(), *, num_rounds=10, limits=LIMITS, missing=Missing.LEARN, **options):  # noqa: B008
    data = {name: options.pop(name) for name in ("features", "evaluations", "start", "earlier") if name in options}
    learner = BaseLearner(limits, SIZES._replace(capacity=options.pop("capacity", SIZES.capacity)), missing)
    return boost(BoostData(rows, **data), loss, learner, shrinkage, num_rounds=num_rounds, **options)


def scores_of(model, codes):
    """The scores of all rows after every round."""
    steps = [target_means(tree)[np.asarray(apply(tree, codes))].T for tree in model.forest]
    return np.cumsum([np.broadcast_to(model.start[:, None], steps[0].shape), *steps], axis=0)[1:]


def nested(tree, node=0):
    """A tree as that of the booster in NumPy."""
    if tree.num_children[node] == 0:
        return target_means(tree)[node, 0]
    below = int(tree.first_child[node])
    return (int(tree.feature[node]), int(tree.code[node]), nested(tree, below), nested(tree, below + 1))


def same(own, other, rate):
    if not isinstance(other, tuple):
        return own == pytest.approx(rate * other, rel=1e-9, abs=1e-12)
    return own[:2] == other[:2] and all(same(*pair, rate) for pair in zip(own[2:], other[2:], strict=True))


DERIVATIVES = {
    "squared": (squared(), numbers, lambda score, target: rounded(score - target, np.ones_like(score))),
    "logistic": (
        logistic(),
        classes,
        lambda score, target: rounded(sigmoid(score) - target, sigmoid(score) * sigmoid(-score)),
    ),
}


def rounded(*derivatives):
    return tuple(part.astype(np.float32).astype(np.float64) for part in derivatives)


def sigmoid(score):
    return 1 / (1 + np.exp(-score))


@pytest.mark.parametrize("name", DERIVATIVES)
def test_the_trees_are_those_of_a_booster_in_numpy(name):
    loss, make, derivatives = DERIVATIVES[name]
    rows, weight = make(), np.arange(400) % 3 / 2.0
    rows = rows._replace(weight=weight)
    model = boosted(rows, loss, Shrinkage(0.3, l2=2.0))
    expected, trees = booster.boost(
        rows.codes, rows.target, weight, derivatives, model.start[0], rounds=10, rate=0.3, depth=DEPTH, l2=2.0
    )
    assert all(same(nested(own), other, 0.3) for own, other in zip(model.forest, trees, strict=True))
    np.testing.assert_allclose(scores_of(model, rows.codes)[:, 0], expected, rtol=1e-9, atol=1e-12)


def pairs(losses, samples):
    """Every loss with a way to draw rows of its own; other pairs are tested by hand."""
    return [
        pytest.param(
            loss, sample, id=f"{loss}-{sample}", marks=[pytest.mark.exhaustive] * (row % len(samples) != column)
        )
        for (row, loss), (column, sample) in itertools.product(enumerate(losses), enumerate(samples))
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss, sample",
    pairs(
        [squared(), logistic(), softmax(3, hessian="diagonal"), softmax(3, "full")],
        [Uniform(), Uniform(0.5), OneSided(), MinimalVariance()],
    ),
)
def test_the_model_is_the_same_with_and_without_the_kernel(loss, sample, monkeypatch):
    if not choose.is_there():
        pytest.skip("the kernel is not installed")
    rows = numbers() if loss.name == "squared" else classes(max(loss.num_scores, 2))
    by_kernel = boosted(rows, loss, Shrinkage(sample=sample))
    monkeypatch.setattr(choose, "is_there", lambda: False)
    model = boosted(rows, loss, Shrinkage(sample=sample))
    for name in ("feature", "code", "first_child", "num_rows", "weight", "target_sum"):
        own, other = (getattr(grown.forest.nodes, name) for grown in (by_kernel, model))
        np.testing.assert_array_equal(own, other, err_msg=name)


@pytest.mark.parametrize(
    "loss, sample",
    rows_are_slow(
        pairs(
            [squared(), logistic(), quantile(0.7), softmax(3, "full")],
            [Uniform(), Uniform(0.5), MinimalVariance(0.5)],
        ),
        2,
    ),
)
def test_rounds_go_on_from_earlier_ones_bit_for_bit(loss, sample):
    make = numbers if loss.name in ("squared", "quantile") else lambda **seed: classes(max(loss.num_scores, 2), **seed)
    rows, other, rates = make(), make(seed=1), np.linspace(0.5, 0.1, 8)
    held, boosting = Shrinkage(rates, sample=sample), {"seed": 5, "evaluations": (other,)}
    whole = boosted(rows, loss, held, num_rounds=8, **boosting)
    few = boosted(rows, loss, held._replace(learning_rate=rates[:3]), num_rounds=3, **boosting)
    earlier = InitialScores(3, scores_of(few, rows.codes)[-1], (scores_of(few, other.codes)[-1],))
    more = boosted(rows, loss, held, num_rounds=8, start=few.start, earlier=earlier, **boosting)
    joined = join_forests([few.forest, more.forest])
    for name in ("feature", "code", "first_child", "target_sum", "weight"):
        np.testing.assert_array_equal(getattr(joined.nodes, name), getattr(whole.forest.nodes, name), err_msg=name)
    np.testing.assert_array_equal(np.concatenate([few.losses, more.losses]), whole.losses)


def test_calls_of_the_loop_join(monkeypatch):
    whole = boosted(numbers(), squared(), num_rounds=7, evaluations=(numbers(seed=1),))
    monkeypatch.setattr("jaxtree.boosting.booster.ROUNDS_AT_A_TIME", 3)
    seen = []
    parts = boosted(
        numbers(), squared(), num_rounds=7, evaluations=(numbers(seed=1),),
        on_rounds=lambda new: bool(seen.append((new.number, len(new.trees), len(new.losses)))),
    )  # fmt: skip
    assert seen == [(3, 3, 3), (6, 3, 3), (7, 1, 1)]
    np.testing.assert_array_equal(parts.forest.nodes.target_sum, whole.forest.nodes.target_sum)
    np.testing.assert_array_equal(parts.losses, whole.losses)


def test_a_wish_ends_the_boosting(monkeypatch):
    monkeypatch.setattr("jaxtree.boosting.booster.ROUNDS_AT_A_TIME", 2)
    model = boosted(numbers(), squared(), on_rounds=lambda new: new.number == 4)
    assert len(model.forest) == 4 and model.stop == Stop.ASKED


def test_early_stopping_ends_after_the_round_it_names():
    rows, other = numbers(), numbers(seed=1)
    model = boosted(rows, squared(), Shrinkage(0.5, patience=5), num_rounds=100, evaluations=(other,))
    best = int(np.argmin(model.losses[:, 0])) + 1
    assert model.stop == Stop.NO_BETTER_LOSS and model.best_round == best == len(model.forest) - 5
    losses = np.mean((scores_of(model, other.codes)[:, 0] - other.target) ** 2 / 2, axis=1)
    np.testing.assert_allclose(model.losses[:, 0], losses, rtol=1e-12)


def test_leaves_take_exact_quantiles():
    rows = numbers()._replace(weight=np.random.default_rng(1).integers(0, 4, 400).astype(float))
    for loss, level in ((absolute(), 0.5), (quantile(0.9), 0.9)):
        tree = boosted(rows, loss, Shrinkage(1.0), num_rounds=1).forest[0]
        leaf = np.asarray(apply(tree, rows.codes))
        start = boosted(rows, loss, num_rounds=1).start[0]
        for number in np.unique(leaf[rows.weight > 0]):
            own = (leaf == number) & (rows.weight > 0)
            residual, weight = np.sort(rows.target[own] - start), rows.weight[own][np.argsort(rows.target[own] - start)]
            expected = residual[np.searchsorted(np.cumsum(weight), level * weight.sum() - 1e-9)]
            assert target_means(tree)[number, 0] == pytest.approx(expected)


def test_steps_keep_a_monotone_constraint():
    codes, signal, rng = table(1000)
    rows = ScoredRows(codes, signal + rng.normal(0, 0.5, 1000), np.ones(1000), {})
    features = Features(np.zeros(4, np.int32), np.full(4, BINS), monotone=np.array([-1, 1, 0, 0]))
    model = boosted(rows, squared(), num_rounds=30, features=features)
    for feature, sign in ((0, -1), (1, 1)):
        grid = np.repeat(codes[:, :50], BINS, axis=1)
        grid[feature] = np.tile(np.arange(BINS), 50)
        final = scores_of(model, grid)[-1, 0].reshape(50, BINS)
        assert np.all(sign * np.diff(final, axis=1) >= -1e-12) and np.any(sign * np.diff(final, axis=1) > 0.01)


def test_a_sweep_of_rates_and_penalties_compiles_once():
    rows = numbers(num_rows=300)
    boosted(rows, squared())
    before = make_rounds.num_programs()
    for shrinkage in (
        Shrinkage(0.5, l2=3.0),
        Shrinkage(0.1, l1=0.5, max_step=0.2),
        Shrinkage(least_gain=1.0, sample=Uniform(0.5)),
    ):
        boosted(rows, squared(), shrinkage, seed=7, limits=LIMITS._replace(max_depth=2, min_weight_leaf=5.0))
    assert make_rounds.num_programs() == before


def test_penalties_hold_back():
    rows, size = numbers(), lambda model: float(np.abs(scores_of(model, rows.codes)[-1] - model.start[0]).max())
    free = boosted(rows, squared(), num_rounds=1)
    for held in (Shrinkage(l2=100.0), Shrinkage(l1=20.0), Shrinkage(max_step=0.1)):
        assert size(boosted(rows, squared(), held, num_rounds=1)) < size(free)
    leaves = [
        boosted(rows, squared(), Shrinkage(least_gain=gain), num_rounds=1).forest.nodes.n_leaves for gain in (0, 5, 1e9)
    ]
    assert leaves[0] > leaves[1] > leaves[2] == 1


def test_missing_values_take_the_branch_that_saves_more():
    rows = numbers()
    codes = rows.codes.copy()
    codes[0, ::3] = BINS - 1
    features = Features(np.zeros(4, np.int32), np.full(4, BINS), num_values=np.full(4, BINS - 1))
    codes = np.minimum(codes, BINS - 1)
    model = boosted(rows._replace(codes=codes), squared(), features=features, num_rounds=20)
    split = model.forest.nodes.num_children > 0
    assert set(np.unique(model.forest.nodes.missing_branch[split])) == {0, 1}


def lopsided(scores, target, extras):
    error = scores[0] - target
    return np.float32(1) * jax.numpy.where(error > 0, 5.0, 1.0) * error**2


def test_a_loss_of_one_s_own_with_an_offset():
    rows = numbers()
    offset = np.linspace(0, 2, 400)
    shifted = rows._replace(target=rows.target + offset, extras={"offset": offset})
    plain, moved = boosted(rows, Loss(lopsided)), boosted(shifted, Loss(lopsided))
    np.testing.assert_allclose(scores_of(moved, rows.codes), scores_of(plain, rows.codes), rtol=1e-6, atol=1e-8)
    assert np.mean(scores_of(plain, rows.codes)[-1, 0] > rows.target) < 0.35


def exploding(scores, target, extras):
    return jax.numpy.sqrt(0.3 - scores[0])


@pytest.mark.filterwarnings("ignore")
def test_a_loss_that_leaves_the_numbers_keeps_the_trees_until_then(monkeypatch):
    loss = Loss(exploding, hessian="one", constant=lambda target, weight: np.zeros(1))
    model = boosted(numbers(), loss, num_rounds=50, evaluations=(numbers(),))
    assert model.stop == Stop.NOT_FINITE and 0 < len(model.forest) == len(model.losses) < 50
    # The round that fails may be the first one of a call.
    monkeypatch.setattr("jaxtree.boosting.booster.ROUNDS_AT_A_TIME", len(model.forest))
    again = boosted(numbers(), loss, num_rounds=50)
    assert again.stop == Stop.NOT_FINITE and len(again.forest) == again.best_round == len(model.forest)
    assert np.isfinite(model.forest.nodes.target_sum).all()
    always = Loss(lambda scores, target, extras: scores[0] * jax.numpy.nan, constant=lambda target, weight: np.zeros(1))
    with pytest.raises(TrainingError, match="derivatives at the scores of the start"):
        boosted(numbers(), always)


@pytest.mark.parametrize("shape", [(2,), (3, 1)])
def test_a_loss_of_another_shape_is_named(shape):
    loss = Loss(lambda scores, target, extras: jax.numpy.zeros(shape), name="odd")
    with pytest.raises(InvalidInputError, match=r"odd\(\) must return one number, or one a score, .* got .*shape"):
        boosted(numbers(), loss)


def test_a_schedule_gives_the_rate_of_every_round():
    rates = 0.5 * 0.8 ** np.arange(10)
    schedule = boosted(numbers(), squared(), Shrinkage(optax.exponential_decay(0.5, 1, 0.8)))
    given = boosted(numbers(), squared(), Shrinkage(rates))
    np.testing.assert_allclose(schedule.forest.nodes.target_sum, given.forest.nodes.target_sum, rtol=1e-5, atol=1e-7)
    flat = boosted(numbers(), squared(), Shrinkage(0.5))
    steps = [target_means(tree)[1:, 0] for tree in (flat.forest[0], given.forest[0])]
    np.testing.assert_array_equal(*steps)
    assert np.any(flat.forest[1].target_sum != given.forest[1].target_sum)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"num_rounds": 0}, "num_rounds must be at least 1, got 0"),
        ({"missing": Missing.FRACTION}, "missing must be LEARN or BRANCH"),
        ({"shrinkage": Shrinkage(lambda number: 1.0 - number)}, "learning rates must be finite .* got -8.0"),
        ({"loss": logistic()}, r"logistic\(\): a target must be from 0 to 1"),
    ],
)
def test_bad_input_is_named(change, words):
    arguments = {"rows": numbers(), "loss": squared(), **change}
    with pytest.raises(InvalidInputError, match=words):
        boosted(**arguments)
