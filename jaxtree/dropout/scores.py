"""Scores of dropout pruning: of draws, and their means and variances over all draws in closed form.

Rows are sent down the unpruned tree once. A row whose code has no branch at a node stays there, and so does one whose
value is missing where missing values are shared out among the branches.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Int32, PRNGKeyArray, Real, UInt

from jaxtree.arrays import AnyArray, FloatLike, is_traced
from jaxtree.compilation import compiled
from jaxtree.dropout.split_effects import SplitEffects, ended_rows, log_losses, right_rows, squared_errors
from jaxtree.prune.draws import (
    DrawPlan,
    Rates,
    block_size,
    check_whole_number,
    first_draws,
    kept_in_draws,
    padded_rates,
    plan_draws,
)
from jaxtree.prune.votes import expected_votes, majority_table
from jaxtree.tree import Tree, apply
from jaxtree.tree.paths import Inner, Links, along_path, links_of, sum_below


def sampled_accuracy(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Int[AnyArray, " row"],
    rates: Rates,
    *,
    key: PRNGKeyArray,
    num_draws: int,
) -> Float[Array, "... draw"]:
    """Returns the accuracy of every draw; draw d is `dropout(tree, rates, key=jax.random.fold_in(key, d))`.

    The rows are sent down the tree once; a draw costs its nodes alone.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        rates: The rate of every node, see `jaxtree.prune.dropout`.
        key: A typed key.
        num_draws: Number of draws; fewer draws are the first of more.

    Raises:
        InvalidInputError: The rates, the number of draws or the shapes are out of their range.

    Example:
        >>> import jax
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> from jaxtree.dropout import node_rates
        >>> table = load_play_tennis()
        >>> estimator = ID3Classifier().fit(table.data, table.target)
        >>> codes, y = estimator.encode(table.data), (table.target == "yes").astype(int)
        >>> rates = node_rates(estimator.tree_, 0.5)
        >>> accuracy = sampled_accuracy(estimator.tree_, codes, y, rates, key=jax.random.key(0), num_draws=1000)
        >>> expected = expected_accuracy(estimator.tree_, codes, y, rates)
        >>> print(f"{accuracy.mean():.2f} {expected:.2f}")
        0.86 0.86
    """
    check_whole_number("num_draws", num_draws)
    right = right_rows(tree, codes, y)
    inner, plan, batch = plan_draws(tree, rates, key)
    right = SplitEffects(right.at_root, right.by_split[inner.node])
    correct = _score_draws(plan, right, num_draws=num_draws).reshape(*batch, num_draws)
    return correct / jnp.asarray(codes.shape[1], float)


def expected_accuracy(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Int[AnyArray, " row"],
    rates: Rates,
) -> Float[Array, "..."]:
    r"""Returns the exact mean accuracy over all draws, differentiable in the rates.

    $E = \frac{1}{n}\bigl(R_0 + \sum_v K_v\, g_v\bigr)$, where $R_0$ counts the rows that the root
    predicts rightly, v runs over the inner nodes, $K_v$ is the probability that v is kept, and $g_v$ the number of rows
    that the children of v predict rightly more than v itself.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        rates: The rate of every node, see `jaxtree.prune.dropout`.

    Raises:
        InvalidInputError: The rates or the shapes are out of their range.
    """
    return _mean(tree, right_rows(tree, codes, y), codes, rates)


def expected_log_loss(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Int[AnyArray, " row"],
    rates: Rates,
    *,
    laplace: FloatLike = 1.0,
) -> Float[Array, "..."]:
    r"""Returns the exact mean over rows and draws of $-\ln \frac{w_y + a}{w + a\,C}$, differentiable in the rates.

    The weights $w_y$ of the row's class and w of all C classes are those of training at the node where the walk stops;
    a is Laplace's, so that no share is 0.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        rates: The rate of every node, see `jaxtree.prune.dropout`.
        laplace: The weight a that every class is given beside its own, above 0.

    Raises:
        InvalidInputError: The rates, the shapes, the classes or `laplace` are out of their range.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> from jaxtree.dropout import node_rates
        >>> table = load_play_tennis()
        >>> estimator = ID3Classifier().fit(table.data, table.target)
        >>> codes, y = estimator.encode(table.data), (table.target == "yes").astype(int)
        >>> rates = node_rates(estimator.tree_, jnp.array([0.0, 1.0]))
        >>> losses = expected_log_loss(estimator.tree_, codes, y, rates)
        >>> print(f"{losses[0]:.3f} {losses[1]:.3f}")
        0.230 0.534
    """
    return _mean(tree, log_losses(tree, codes, y, laplace), codes, rates)


def expected_squared_error(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Real[AnyArray, " row"],
    rates: Rates,
) -> Float[Array, "..."]:
    """Returns the exact mean squared error over rows and draws of a regression tree, differentiable in the rates.

    Args:
        tree: A tree of one target of numbers, with its root at node 0.
        codes: Codes of every feature.
        y: Target of every row.
        rates: The rate of every node, see `jaxtree.prune.dropout`.

    Raises:
        InvalidInputError: The rates or the shapes are out of their range, or the tree is of classes.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> from jaxtree.dropout import node_rates
        >>> X, y = jnp.arange(4.0)[:, None], jnp.array([0.0, 1.0, 4.0, 9.0])
        >>> estimator = DecisionTreeRegressor().fit(X, y)
        >>> rates = node_rates(estimator.tree_, jnp.array([0.0, 1.0]))
        >>> print(expected_squared_error(estimator.tree_, estimator.encode(X), y, rates).round(3))
        [0.    2.167]
    """
    return _mean(tree, squared_errors(tree, codes, y), codes, rates)


def accuracy_variance(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Int[AnyArray, " row"],
    rates: Rates,
) -> Float[Array, "..."]:
    r"""Returns the exact variance of the accuracy over all draws, differentiable in the rates.

    Below a kept node v, $G_v = g_v + \sum_c B_c\, G_c$ rows more are right, with independent $B_c$ that are 1 with
    probability $k_c = 1 - r_c$. So $\mathrm{E}\,G_v = g_v + \sum_c k_c\, \mathrm{E}\,G_c$ and
    $\mathrm{Var}\,G_v = \sum_c \bigl(k_c \mathrm{Var}\,G_c + k_c (1 - k_c) (\mathrm{E}\,G_c)^2\bigr)$, which summed
    over the tree is $\mathrm{Var}\,G_0 = \sum_{c \ne 0} K_c\, r_c\, (\mathrm{E}\,G_c)^2$.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        rates: The rate of every node, see `jaxtree.prune.dropout`.

    Raises:
        InvalidInputError: The rates or the shapes are out of their range.
    """
    right = right_rows(tree, codes, y)
    rates = padded_rates(tree, rates, jnp.result_type(float))
    return _variance_of_sum(links_of(tree), right, rates) / jnp.asarray(codes.shape[1], float) ** 2


def vote_share(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    rates: Rates,
) -> Float[AnyArray, "... row class"]:
    """Returns the exact share of all draws that vote for each class, for every row: the infinite ensemble.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        rates: The rate of every node, see `jaxtree.prune.dropout`.

    Raises:
        InvalidInputError: The rates are out of their range.
    """
    votes = expected_votes(tree, rates)
    end = apply(tree, codes)
    return votes[..., end if is_traced(votes, end) else np.asarray(end), :]


def vote_accuracy(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Int[AnyArray, " row"],
    rates: Rates,
    *,
    key: PRNGKeyArray,
    num_draws: int,
) -> Float[Array, "... draw"]:
    """Returns the accuracy of the vote of the first draw, of the first two, and so on.

    Of equal votes the lowest class wins. Draw d is `dropout(tree, rates, key=jax.random.fold_in(key, d))`.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        rates: The rate of every node, see `jaxtree.prune.dropout`.
        key: A typed key.
        num_draws: The most draws that vote.

    Raises:
        InvalidInputError: The rates, the number of draws or the shapes are out of their range.

    Example:
        >>> import jax
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> from jaxtree.dropout import node_rates
        >>> table = load_play_tennis()
        >>> estimator = ID3Classifier().fit(table.data, table.target)
        >>> codes, y = estimator.encode(table.data), (table.target == "yes").astype(int)
        >>> rates = node_rates(estimator.tree_, 0.4)
        >>> accuracy = vote_accuracy(estimator.tree_, codes, y, rates, key=jax.random.key(0), num_draws=101)
        >>> print(f"{accuracy[0]:.3f} {accuracy[-1]:.3f}")
        0.857 1.000
    """
    check_whole_number("num_draws", num_draws)
    ended = ended_rows(tree, codes, y)
    votes = majority_table(tree).astype(bool)
    inner, plan, batch = plan_draws(tree, rates, key)
    right = _count_right_votes(inner, plan, votes, ended, num_draws=num_draws)
    return right.reshape(*batch, num_draws) / jnp.asarray(codes.shape[1], float)


def sum_of_kept(links: Links, effects: SplitEffects, rates: Float[Array, "... node"]) -> Float[Array, "..."]:
    """The exact mean over all draws of a score."""
    kept = along_path(jnp.multiply, 1 - rates, links.parent)
    return effects.at_root + jnp.sum(kept * effects.by_split, axis=-1)


_sum_of_kept = compiled()(sum_of_kept)


def _mean(tree: Tree, effects: SplitEffects, codes, rates) -> Float[Array, "..."]:
    """The mean over rows and draws, in the user's floats."""
    rates = padded_rates(tree, rates, jnp.result_type(float))
    return _sum_of_kept(links_of(tree), effects, rates) / codes.shape[1]


@compiled("num_draws")
def _score_draws(plan: DrawPlan, right: SplitEffects, *, num_draws: int) -> Int32[Array, "setting draw"]:
    size = block_size(plan.rates, num_draws)

    def score_block(first):
        kept = kept_in_draws(plan, first, size)
        return right.at_root + jnp.sum(jnp.where(kept, right.by_split[:, None], 0), axis=1, dtype=jnp.int32)

    blocks = lax.map(score_block, first_draws(num_draws, size))
    return jnp.moveaxis(blocks, 0, 1).reshape(plan.rates.shape[0], -1)[:, :num_draws]


@compiled()
def _variance_of_sum(links: Links, right: SplitEffects, rates) -> Float[Array, "..."]:
    change = jnp.broadcast_to(right.by_split.astype(rates.dtype), rates.shape)
    expected = sum_below(links, change, 1 - rates)
    kept = along_path(jnp.multiply, 1 - rates, links.parent)
    return jnp.sum(kept * rates * expected**2, axis=-1)


@compiled("num_draws")
def _count_right_votes(
    inner: Inner,
    plan: DrawPlan,
    node_votes: Bool[Array, "node class"],
    ended: Int32[Array, "node class"],
    *,
    num_draws: int,
) -> Int32[Array, "setting draw"]:
    size = block_size(plan.rates, num_draws, columns=2)

    def count_block(before, first):
        kept = kept_in_draws(plan, first, size)
        count = before[..., None] + jnp.cumsum(kept, axis=-1, dtype=jnp.int32)
        return count[..., -1], _right_votes(inner, count, node_votes, ended)

    start = jnp.zeros(plan.rates.shape, jnp.int32)
    blocks = lax.scan(count_block, start, first_draws(num_draws, size))[1]
    return jnp.moveaxis(blocks, 0, 1).reshape(plan.rates.shape[0], -1)[:, :num_draws]


def _right_votes(
    inner: Inner, count: Int32[Array, "setting place draw"], node_votes, ended
) -> Int32[Array, "setting draw"]:
    """Rows for whose class most draws vote, by how many draws up to each one keep a node."""
    stopped = count[:, inner.parent] - count

    def vote_for(class_, so_far):
        most, right = so_far
        above = along_path(jnp.add, stopped * node_votes[inner.node, class_, None], inner.parent, axis=-2)
        votes = above[:, inner.above] + count[:, inner.above] * node_votes[:, class_, None]
        return jnp.maximum(most, votes), jnp.where(votes > most, ended[:, class_, None], right)

    shape = (count.shape[0], node_votes.shape[0], count.shape[2])
    start = jnp.full(shape, -1, jnp.int32), jnp.zeros(shape, jnp.int32)
    return jnp.sum(lax.fori_loop(0, node_votes.shape[1], vote_for, start)[1], axis=1, dtype=jnp.int32)
