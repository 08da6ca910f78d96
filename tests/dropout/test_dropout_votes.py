"""Votes of the draws of dropout pruning."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.dropout import votes
from jaxtree.dropout.votes import drawn_votes, expected_votes, vote_accuracy, vote_share
from jaxtree.errors import InvalidInputError
from jaxtree.prune import draws as drawing
from jaxtree.prune.draws import draws, node_rates
from tests.prune import dropouts
from tests.reference import dropout_oracle as oracle

pytestmark = pytest.mark.slow

KEY = jax.random.key(1)
P, Q = np.array([[0.0], [0.2], [1.0]]), np.array([0.0, 0.6])
DRAWS = 30


@pytest.fixture(scope="module")
def tiny():
    return dropouts.tiny()


@pytest.fixture(scope="module")
def noisy():
    return dropouts.noisy()


def test_expected_votes_are_sums_over_all_masks(tiny):
    tree, codes, _ = tiny
    said, rates = dropouts.majority_table(tree), np.asarray(node_rates(tree, 0.3, 0.4), np.float64)
    wanted = oracle.mean_over_masks(tree, rates, lambda mask: oracle.said_at_ends(tree, said, mask))
    ours = expected_votes(tree, node_rates(tree, 0.3, 0.4))
    assert ours.dtype == np.float64
    np.testing.assert_allclose(ours, wanted, atol=1e-7)
    np.testing.assert_allclose(expected_votes(tree, rates), wanted, atol=1e-12)
    np.testing.assert_allclose(
        vote_share(tree, codes, node_rates(tree, 0.3, 0.4)), wanted[oracle.end_nodes(tree, codes, None)], atol=1e-7
    )


def test_expected_votes_of_numbers(tiny):
    """By default the means of a regression tree; else whatever the caller's table says, in float64."""
    tree = dropouts.tiny_regression()[0]
    rates = np.asarray(node_rates(tree, 0.3, 0.4), np.float64)
    means = tree.target_sum / tree.weight[:, None]
    wanted = oracle.mean_over_masks(tree, rates, lambda mask: oracle.said_at_ends(tree, means, mask))
    np.testing.assert_allclose(expected_votes(tree, rates), wanted, rtol=1e-13)
    said = np.random.default_rng(0).normal(size=(tiny[0].node_count, 2))
    rates = np.asarray(node_rates(tiny[0], 0.3, 0.4), np.float64)
    wanted = oracle.mean_over_masks(tiny[0], rates, lambda mask: oracle.said_at_ends(tiny[0], said, mask))
    np.testing.assert_allclose(expected_votes(tiny[0], rates, node_value=said), wanted, atol=1e-13)


def test_drawn_votes_are_means_over_the_draws(tiny):
    """Whole numbers of votes over the number of draws, so that ties are ties."""
    tree = tiny[0]
    said = np.random.default_rng(0).normal(size=(tree.node_count, 2))
    rates, options = node_rates(tree, P, Q), {"key": KEY, "num_draws": DRAWS}
    ours, ours_said = (drawn_votes(tree, rates, **options, node_value=table) for table in (None, said))
    assert ours.shape == (3, 2, 22, 3) and ours_said.shape == (3, 2, 22, 2)
    masks = draws(tree, rates, **options)
    for setting in np.ndindex(3, 2):
        for table, votes_ in ((dropouts.majority_table(tree), ours), (said, ours_said)):
            wanted = np.mean([oracle.said_at_ends(tree, table, mask) for mask in masks[setting]], axis=0)
            np.testing.assert_allclose(votes_[setting], wanted, atol=1e-14)
    np.testing.assert_array_equal(ours * DRAWS, np.rint(ours * DRAWS))


def test_drawn_votes_come_close_to_the_expected(noisy):
    share = np.clip(expected_votes(noisy[0], node_rates(noisy[0], 0.1, 0.5)), 0, 1)
    drawn = drawn_votes(noisy[0], node_rates(noisy[0], 0.1, 0.5), key=KEY, num_draws=100_000)
    assert np.all(np.abs(drawn - share) < 4.5 * np.sqrt(share * (1 - share) / 100_000) + 1e-9)


def test_what_is_said_does_not_care_for_nodes_below_a_stopped_one(tiny):
    for node in (0, np.flatnonzero(~tiny[0].is_leaf)[1]):
        compare_stopped(*dropouts.stop_at(tiny[0], node))


def compare_stopped(stopped, small):
    path = {}
    for name, table in (("stopped", stopped), ("small", small)):
        reached = [0]
        for node in range(1, table.node_count):
            above = table.parent[node]
            reached += [node] if above in reached and table.num_children[above] else []
        path[name] = {dropouts.branches(table, n): n for n in reached}
    assert path["stopped"].keys() == path["small"].keys()
    for votes_of in (
        lambda tree: expected_votes(tree, node_rates(tree, 0.3, 0.2)),
        lambda tree: drawn_votes(tree, node_rates(tree, 0.3, 0.2), key=KEY, num_draws=DRAWS),
    ):
        ours, wanted = votes_of(stopped), votes_of(small)
        for where, node in path["stopped"].items():
            np.testing.assert_allclose(ours[node], wanted[path["small"][where]], atol=1e-14)


def test_vote_accuracy_is_that_of_counted_votes(tiny, noisy):
    """After every draw; of equal votes, which two or four draws often make, the lowest class wins."""
    for tree, codes, y in (tiny, noisy):
        ours = np.asarray(vote_accuracy(tree, codes, y, node_rates(tree, P, Q), key=KEY, num_draws=DRAWS))
        assert ours.shape == (3, 2, DRAWS)
        masks = draws(tree, node_rates(tree, P, Q), key=KEY, num_draws=DRAWS)
        table = dropouts.majority_table(tree)
        for setting in ((1, 0), (1, 1), (2, 0)):
            given = np.stack([table[oracle.end_nodes(tree, codes, mask)] for mask in masks[setting]])
            wanted = (np.cumsum(given, axis=0).argmax(axis=-1) == y).mean(axis=-1)
            np.testing.assert_allclose(ours[setting], wanted, atol=1e-6)


def test_blocks_change_no_votes(noisy, monkeypatch):
    tree, codes, y = noisy
    rates, options = node_rates(tree, 0.2, 0.3), {"key": KEY, "num_draws": DRAWS}
    whole = vote_accuracy(tree, codes, y, rates, **options)
    drawn = drawn_votes(tree, rates, **options)
    monkeypatch.setattr(drawing, "BLOCK_SIZE", 500)
    jax.clear_caches()
    np.testing.assert_array_equal(vote_accuracy(tree, codes, y, rates, **options), whole)
    np.testing.assert_array_equal(drawn_votes(tree, rates, **options), drawn)


def test_jit_and_vmap_change_nothing(tiny):
    tree, codes, y = tiny

    def all_votes(tree, p):
        expected = expected_votes(tree, node_rates(tree, p, 0.3)), vote_share(tree, codes, node_rates(tree, p, 0.3))
        drawn = drawn_votes(tree, node_rates(tree, p, 0.3), key=KEY, num_draws=DRAWS)
        return *expected, drawn, vote_accuracy(tree, codes, y, node_rates(tree, p, 0.3), key=KEY, num_draws=DRAWS)

    def agree(ours, wanted):
        for one, other in zip(ours, wanted, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)

    p = np.array([0.1, 0.6], np.float32)
    eager = [all_votes(tree, each) for each in p]
    two = jax.tree.map(lambda field: np.stack([field, field]), tree)
    agree(jax.jit(jax.vmap(all_votes))(two, p), [np.stack(x) for x in zip(*eager, strict=True)])
    with jax.enable_x64(True):
        agree(all_votes(tree, p[0]), eager[0])


def test_gradient_of_votes_is_the_finite_difference(tiny):
    said = np.random.default_rng(0).normal(size=(tiny[0].node_count, 1))
    with jax.enable_x64(True):
        f = jax.jit(lambda p: jnp.sum(expected_votes(tiny[0], node_rates(tiny[0], p, 0.3), said) ** 2))
        for p in (0.0, 0.2, 1.0):
            inwards = -1e-7 if p == 1 else 1e-7
            np.testing.assert_allclose(jax.grad(f)(p), (f(p + inwards) - f(p)) / inwards, rtol=1e-5, atol=1e-5)


def test_trees_of_a_like_size_share_programs(noisy):
    tree = noisy[0]
    drawn_votes(tree, node_rates(tree, P, Q), key=KEY, num_draws=DRAWS)
    before = votes._drawn_votes.num_programs()
    smaller = dropouts.stop_at(tree, np.flatnonzero(~tree.is_leaf)[-1])[1]
    drawn_votes(smaller, node_rates(smaller, P / 2, Q), key=KEY, num_draws=DRAWS)
    assert votes._drawn_votes.num_programs() == before


def test_what_is_not_allowed(tiny):
    with pytest.raises(InvalidInputError, match="a row for each of 22 nodes"):
        expected_votes(tiny[0], node_rates(tiny[0], 0.1), node_value=np.zeros((21, 2)))
    with pytest.raises(InvalidInputError, match="num_draws"):
        drawn_votes(tiny[0], node_rates(tiny[0], 0.1), key=KEY, num_draws=0)
