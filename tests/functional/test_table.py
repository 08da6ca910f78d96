"""The lines that a user of JAX writes: each runs, in programs of 32 bits as JAX has them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxtree.boosting import Newton, Penalties
from jaxtree.functional import BinEdges, Boosting, FitRows, Hyper, bins, fit, tree
from jaxtree.growth import Classes, Data, Limits, Numbers, Rules, Selection, Sizes, apply, grow
from jaxtree.prune import cost_complexity
from tests.functional.tables import BINS, FORM, ROUNDS, squares, table


def test_traced_penalties_are_a_tuple():
    _, codes, y = table()
    rows, rules = Data(codes, np.stack([np.ones_like(y), -y])), Rules(Newton())

    def root_step(l2):
        limits = Limits(max_depth=2, parameters=Penalties(l2=l2))
        grown = grow(rows, None, limits, rules, Sizes(BINS + 1, 7)).tree
        return grown.target_sum[1, 0] / grown.weight[1]

    steps = jax.jit(jax.vmap(root_step))(jnp.array([0.0, 50.0]))
    assert abs(steps[1]) < abs(steps[0])


def test_trees_of_the_engine_are_constants():
    _, codes, y = table()

    def rounds(rate):
        scores = jnp.zeros_like(y)
        for _ in range(2):
            target = jnp.stack([jnp.ones_like(scores), scores - y])
            grown = grow(Data(codes, target), None, Limits(max_depth=2, parameters=Penalties()), Rules(Newton()),
                         Sizes(BINS + 1, 7)).tree  # fmt: skip
            scores = scores + rate * (grown.target_sum[:, 0] / grown.weight)[apply(grown, codes)]
        return jnp.mean((scores - y) ** 2)

    assert jax.jit(jax.grad(rounds))(0.1) < 0


def test_scans_and_carries():
    _, codes, y = table()
    boost = fit(squares, ROUNDS, FORM)

    @jax.jit
    def refit(y):
        """Fits on what the last model leaves, whose trees are the carry."""
        step = lambda left, _: (left - boost(codes, left).scores, None)  # noqa: E731
        return jax.lax.scan(step, y, None, length=3)[0]

    assert jnp.var(refit(y)) < jnp.var(y - boost(codes, y).scores)


def test_targets_have_rows_first():
    _, codes, y = table()
    two = np.stack([y, -2 * y], axis=1)
    form = Boosting(num_bins=BINS, num_leaves=4, num_outputs=2)
    made = fit(lambda scores, target: jnp.sum(squares(scores, target), axis=1), ROUNDS, form)(codes, two)
    assert made.scores.shape == two.shape and made(codes[:, :5]).shape == (5, 2)
    np.testing.assert_allclose(made.scores[:, 1], -2 * made.scores[:, 0], rtol=1e-4, atol=1e-5)
    grown = tree(codes, two, Numbers(num_outputs=2), Limits(max_depth=2))
    np.testing.assert_allclose(grown(codes)[:, 1], -2 * grown(codes)[:, 0], rtol=1e-5, atol=1e-6)


def test_bins_are_pure():
    X, _, _ = table()
    edges = jax.jit(bins, static_argnums=1)(X, BINS)
    np.testing.assert_array_equal(edges.edge, bins(X, BINS).edge)
    by_row = jax.vmap(lambda row: edges(row[None])[:, 0], out_axes=1)(X)
    np.testing.assert_array_equal(by_row, edges(X))
    for column, own, codes in zip(X.T, np.asarray(edges.edge), np.asarray(edges(X)), strict=True):
        np.testing.assert_array_equal(codes, np.searchsorted(own, column))
        counts = np.bincount(codes, minlength=BINS)
        values, repeats = np.unique(column, return_counts=True)
        # Few values have a bin each; all other bins are about equally full, but for equal values.
        if values.size <= BINS:
            assert np.unique(codes).size == values.size
        else:
            assert counts.max() <= repeats.max() + len(column) / BINS
    assert repr(edges) == "BinEdges(10 features, 16 bins)"


def test_edges_may_be_given():
    edges = BinEdges(jnp.array([[0.0, 1.0, jnp.inf]]))
    assert edges(jnp.array([[-1.0], [0.0], [0.5], [2.0], [jnp.nan]])).tolist() == [[0, 0, 1, 2, 4]]


def test_missing_values_take_the_branch_that_saves_more():
    X = jnp.array([[0.0], [1.0], [jnp.nan], [jnp.nan], [0.2], [1.2]] * 10)
    y = jnp.array([0.0, 1.0, 1.0, 1.0, 0.0, 1.0] * 10)
    edges = bins(X, 4)
    hyper = Hyper(1.0, min_samples_leaf=None, reg_lambda=0.0)
    made = fit(squares, 1, Boosting(num_bins=4, num_leaves=2))(edges(X), y, hyper)
    np.testing.assert_allclose(made.scores, y, atol=1e-6)


def test_trees_of_other_rules_and_their_prunings():
    _, codes, y = table()
    target, rules = (y > 0).astype(np.int32), Rules(Classes(2), selection=Selection.GAIN_RATIO)
    random = Rules(Classes(2), samples_features=True)
    weights = jax.random.poisson(jax.random.key(0), 1.0, (3, len(y)))
    keys = jax.random.split(jax.random.key(1), 3)
    grow_one = lambda weight, key: tree(codes, target, random, Limits(max_depth=3, max_features=3), key, weight=weight)  # noqa: E731
    forest = jax.jit(jax.vmap(grow_one))(weights, keys)
    assert repr(forest) == "SingleTree(15 nodes, columns: 2, batch of 3)"
    shares = jax.vmap(lambda own: own(codes))(forest).mean(axis=0)
    assert jnp.mean(jnp.argmax(shares, axis=1) == target) > 0.7
    grown = tree(codes, target, rules, Limits(max_depth=4))
    mask = cost_complexity(grown.tree, 1.0)
    np.testing.assert_allclose(grown(codes, mask)[:, 1], target.mean(), rtol=1e-6)


def test_models_are_pytrees_that_print_a_line():
    _, codes, y = table()
    made = fit(squares, ROUNDS, FORM)(codes, y)
    assert repr(made) == "BoostedFit(TreeStack(6 rounds of 15 nodes, scores: 1))"
    state = FORM.init(codes, 2)
    assert repr(state) == "BoostingState(442 rows, TreeStack(2 rounds of 15 nodes, scores: 1))"
    leaves, structure = jax.tree.flatten(made)
    kept = {str(place): np.asarray(leaf) for place, leaf in enumerate(leaves)}
    again = jax.tree.unflatten(structure, list(kept.values()))
    np.testing.assert_array_equal(again(codes), made(codes))


def test_states_are_donated_and_carried():
    _, codes, y = table()
    update = lambda state: FORM.update(state, state.scores - y, None)  # noqa: E731
    step = jax.jit(update, donate_argnums=0)
    by_steps = step(step(step(FORM.init(codes, 3))))
    has_room = lambda state: state.stack.number < 3  # noqa: E731
    by_loop = jax.jit(lambda: jax.lax.while_loop(has_room, update, FORM.init(codes, 3)))()
    assert by_steps.stack.number == 3
    np.testing.assert_allclose(by_loop.scores, by_steps.scores, rtol=1e-5, atol=1e-6)
    # Other rows of the same model.
    other = FORM.on(by_steps, codes[:, :7])
    np.testing.assert_allclose(other.scores, by_steps.scores[:7], rtol=1e-6, atol=1e-6)


def test_leaf_values_are_trained_by_optax():
    _, codes, y = table()
    made, optimiser = fit(squares, ROUNDS, FORM)(codes, y), optax.sgd(0.2)
    loss = lambda value: jnp.mean(squares(dataclasses.replace(made.stack, value=value)(codes), y))  # noqa: E731
    value, moments = made.stack.value, optimiser.init(made.stack.value)
    for _ in range(3):
        changes, moments = optimiser.update(jax.grad(loss)(value), moments)
        value = optax.apply_updates(value, changes)
    assert loss(value) < loss(made.stack.value)


def test_losses_may_close_over_parameters():
    _, codes, y = table()

    def spread(factor):
        return fit(lambda scores, target: squares(scores, factor * target), 2, FORM)(codes, y).scores.var()

    assert jax.jit(spread)(2.0) > jax.jit(spread)(1.0)
    with jax.enable_x64(True):
        assert float(jax.grad(spread)(1.0)) == pytest.approx(2 * float(spread(1.0)), rel=1e-5)


@pytest.mark.parametrize("is_wide", [False, True])
def test_what_stops_early_is_a_mask(is_wide):
    _, codes, y = table()
    with jax.enable_x64(is_wide):
        held = FitRows(codes, -y)  # which no round predicts better
        boost = fit(squares, ROUNDS, FORM)
        made = boost(codes, y, Hyper(n_iter_no_change=2), held=held)
        # The first round is better than none, as it is for estimators.
        assert made.stack.number == 1 and jnp.isnan(made.losses[3:]).all() and not jnp.isnan(made.losses[:3]).any()
        np.testing.assert_array_equal(made(codes), fit(squares, 1, FORM)(codes, y).scores)
        rounds = boost(codes, y, Hyper(n_estimators=3), held=FitRows(codes, y))
        assert rounds.stack.number == 3 and jnp.isnan(rounds.losses[3:]).all()
        first = fit(squares, 3, FORM)(codes, y)
        np.testing.assert_array_equal(rounds.scores, first.scores)
        np.testing.assert_allclose(rounds.losses[:3, 0][-1], jnp.mean(squares(first.scores, y)), rtol=1e-6)


def test_a_loss_that_joins_rows_brings_one_sample_to_another():
    """At the end the weights of simulated rows give every bin the share that it has of the real ones."""
    rng = np.random.default_rng(0)
    bin_of = np.concatenate([rng.choice(4, 300, p=[0.4, 0.3, 0.2, 0.1]), rng.choice(4, 142, p=[0.1, 0.2, 0.3, 0.4])])
    is_real = np.arange(442) >= 300

    def divergence(scores, is_real):
        simulated = jnp.where(is_real, -jnp.inf, scores)
        return 142 * jax.nn.logsumexp(simulated) - jnp.sum(jnp.where(is_real, scores, 0.0))

    boost = fit(divergence, 60, Boosting(num_bins=4, num_leaves=4, has_missing=False))
    made = boost(bin_of[None].astype(np.uint8), is_real, Hyper(2.0, min_samples_leaf=None))
    weight = jax.nn.softmax(made.scores[:300])
    found, wanted = np.bincount(bin_of[:300], weight), np.bincount(bin_of[300:]) / 142
    np.testing.assert_allclose(found, wanted, atol=2e-3)
    assert np.abs(np.bincount(bin_of[:300]) / 300 - wanted).max() > 0.2
