"""Scores of dropout pruning: of draws, and their means and variances over all draws in closed form.

Rows are sent down the unpruned tree once. A row whose code has no branch at a node stays there, and so does one whose
value is missing where missing values are shared out among the branches.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, Int32, PRNGKeyArray, Real, UInt

from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.programs import compiled
from jaxtree.pruning.dropout.changes import Changes, log_losses, right_rows, squared_errors
from jaxtree.pruning.dropout.masks import (
    Drawing,
    block_size,
    check_whole_number,
    drawing_of,
    first_draws,
    kept_in_draws,
)
from jaxtree.pruning.dropout.rates import Rate, rates_of
from jaxtree.pruning.dropout.skeleton import Skeleton, along_path, skeleton_of, sum_below
from jaxtree.tree import Tree


def sampled_accuracy(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Int[AnyArray, " row"],
    p: Rate | None = None,
    q: Rate = 0.0,
    *,
    key: PRNGKeyArray,
    num_draws: int,
    rates: Float[AnyArray, "... node"] | None = None,
) -> Float[Array, "... draw"]:
    """Accuracy of every draw; draw d is `dropout(tree, p, q, key=jax.random.fold_in(key, d))`.

    The rows are sent down the tree once; a draw costs its nodes alone.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        key: A typed key.
        num_draws: Number of draws; fewer draws are the first of more.
        rates: In place of p and q, the probability of every node.

    Raises:
        InvalidInputError: p, q, the rates, the number of draws or the shapes are out of their range.

    Example:
        >>> import jax
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> table = load_play_tennis()
        >>> estimator = ID3Classifier().fit(table.data, table.target)
        >>> codes, y = estimator.encode(table.data), (table.target == "yes").astype(int)
        >>> accuracy = sampled_accuracy(estimator.tree_, codes, y, 0.5, key=jax.random.key(0), num_draws=1000)
        >>> expected = expected_accuracy(estimator.tree_, codes, y, 0.5)
        >>> print(f"{accuracy.mean():.2f} {expected:.2f}")
        0.86 0.86
    """
    check_whole_number("num_draws", num_draws)
    right = right_rows(tree, codes, y)
    _, inner, drawing, batch = drawing_of(tree, p, q, rates, key)
    right = Changes(right.at_root, right.by_split[inner.node])
    correct = _score_draws(drawing, right, num_draws=num_draws).reshape(*batch, num_draws)
    return correct / jnp.asarray(codes.shape[1], float)


def expected_accuracy(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Int[AnyArray, " row"],
    p: Rate | None = None,
    q: Rate = 0.0,
    *,
    rates: Float[AnyArray, "... node"] | None = None,
) -> Float[Array, "..."]:
    r"""The exact mean accuracy over all draws, differentiable in the rates.

    $E = \frac{1}{n}\bigl(R_0 + \sum_v K_v\, g_v\bigr)$, where $R_0$ counts the rows that the root
    predicts rightly, v runs over the inner nodes, $K_v$ is the probability that v is kept, and $g_v$ the number of rows
    that the children of v predict rightly more than v itself.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        rates: In place of p and q, the probability of every node.

    Raises:
        InvalidInputError: p, q, the rates or the shapes are out of their range.
    """
    return _mean(tree, right_rows(tree, codes, y), codes, p, q, rates)


def expected_log_loss(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Int[AnyArray, " row"],
    p: Rate | None = None,
    q: Rate = 0.0,
    *,
    laplace: FloatLike = 1.0,
    rates: Float[AnyArray, "... node"] | None = None,
) -> Float[Array, "..."]:
    r"""The exact mean over rows and draws of $-\ln \frac{w_y + a}{w + a\,C}$, differentiable in the rates.

    The weights $w_y$ of the row's class and w of all C classes are those of training at the node where the walk stops;
    a is Laplace's, so that no share is 0.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        laplace: The weight a that every class is given beside its own, above 0.
        rates: In place of p and q, the probability of every node.

    Raises:
        InvalidInputError: p, q, the rates, the shapes, the classes or `laplace` are out of their range.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> table = load_play_tennis()
        >>> estimator = ID3Classifier().fit(table.data, table.target)
        >>> codes, y = estimator.encode(table.data), (table.target == "yes").astype(int)
        >>> losses = expected_log_loss(estimator.tree_, codes, y, jnp.array([0.0, 1.0]))
        >>> print(f"{losses[0]:.3f} {losses[1]:.3f}")
        0.230 0.534
    """
    return _mean(tree, log_losses(tree, codes, y, laplace), codes, p, q, rates)


def expected_squared_error(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Real[AnyArray, " row"],
    p: Rate | None = None,
    q: Rate = 0.0,
    *,
    rates: Float[AnyArray, "... node"] | None = None,
) -> Float[Array, "..."]:
    """The exact mean squared error over rows and draws of a regression tree, differentiable in the rates.

    Args:
        tree: A tree of one target of numbers, with its root at node 0.
        codes: Codes of every feature.
        y: Target of every row.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        rates: In place of p and q, the probability of every node.

    Raises:
        InvalidInputError: p, q, the rates or the shapes are out of their range, or the tree is of classes.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> X, y = jnp.arange(4.0)[:, None], jnp.array([0.0, 1.0, 4.0, 9.0])
        >>> estimator = DecisionTreeRegressor().fit(X, y)
        >>> print(expected_squared_error(estimator.tree_, estimator.encode(X), y, jnp.array([0.0, 1.0])).round(3))
        [0.    2.167]
    """
    return _mean(tree, squared_errors(tree, codes, y), codes, p, q, rates)


def accuracy_variance(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Int[AnyArray, " row"],
    p: Rate | None = None,
    q: Rate = 0.0,
    *,
    rates: Float[AnyArray, "... node"] | None = None,
) -> Float[Array, "..."]:
    r"""The exact variance of the accuracy over all draws, differentiable in the rates.

    Below a kept node v, $G_v = g_v + \sum_c B_c\, G_c$ rows more are right, with independent $B_c$ that are 1 with
    probability $k_c = 1 - r_c$. So $\mathrm{E}\,G_v = g_v + \sum_c k_c\, \mathrm{E}\,G_c$ and
    $\mathrm{Var}\,G_v = \sum_c \bigl(k_c \mathrm{Var}\,G_c + k_c (1 - k_c) (\mathrm{E}\,G_c)^2\bigr)$, which summed
    over the tree is $\mathrm{Var}\,G_0 = \sum_{c \ne 0} K_c\, r_c\, (\mathrm{E}\,G_c)^2$.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        p: Probability at level 0, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more; p and q broadcast.
        rates: In place of p and q, the probability of every node.

    Raises:
        InvalidInputError: p, q, the rates or the shapes are out of their range.
    """
    right = right_rows(tree, codes, y)
    skeleton = skeleton_of(tree)
    rates = rates_of(tree, skeleton, p, q, rates, jnp.result_type(float))
    return _variance_of_sum(skeleton, right, rates) / jnp.asarray(codes.shape[1], float) ** 2


def sum_of_kept(skeleton: Skeleton, changes: Changes, rates: Float[Array, "... node"]) -> Float[Array, "..."]:
    """The exact mean over all draws of a score."""
    kept = along_path(jnp.multiply, 1 - rates, skeleton.parent)
    return changes.at_root + jnp.sum(kept * changes.by_split, axis=-1)


_sum_of_kept = compiled()(sum_of_kept)


def _mean(tree: Tree, changes: Changes, codes, p, q, rates) -> Float[Array, "..."]:
    """The mean over rows and draws, in the user's floats."""
    skeleton = skeleton_of(tree)
    rates = rates_of(tree, skeleton, p, q, rates, jnp.result_type(float))
    return _sum_of_kept(skeleton, changes, rates) / codes.shape[1]


@compiled("num_draws")
def _score_draws(drawing: Drawing, right: Changes, *, num_draws: int) -> Int32[Array, "setting draw"]:
    size = block_size(drawing.rates, num_draws)

    def score_block(first):
        kept = kept_in_draws(drawing, first, size)
        return right.at_root + jnp.sum(jnp.where(kept, right.by_split[:, None], 0), axis=1, dtype=jnp.int32)

    blocks = lax.map(score_block, first_draws(num_draws, size))
    return jnp.moveaxis(blocks, 0, 1).reshape(drawing.rates.shape[0], -1)[:, :num_draws]


@compiled()
def _variance_of_sum(skeleton: Skeleton, right: Changes, rates) -> Float[Array, "..."]:
    change = jnp.broadcast_to(right.by_split.astype(rates.dtype), rates.shape)
    expected = sum_below(skeleton, change, 1 - rates)
    kept = along_path(jnp.multiply, 1 - rates, skeleton.parent)
    return jnp.sum(kept * rates * expected**2, axis=-1)
