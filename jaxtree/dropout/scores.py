r"""Scores of dropout pruning: of draws, and their means and variances over all draws in closed form.

Rows are sent down the unpruned tree once. A row whose code has no branch at a node stays there, and so does one whose
value is missing where missing values are shared out among the branches.

A score is a sum over rows, and depends on the node where a row's walk stops: $z_v = \sum_k n_{vk}\, h_{vk}$ if all rows
that pass v stop there, with the rows' sums n in columns k and the node's score h of each. A split *changes* it by
$g_v = \sum_c (z_c - \sum_k n_{ck}\, h_{vk})$ over the children c; rows that stay at v, since no branch has their code,
change nothing. The score of a pruned tree is $z_0 + \sum_v g_v$ over its kept nodes.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int32, Num, PRNGKeyArray, Real, UInt

from jaxtree.arrays import AnyArray, FloatLike, is_traced, library_of
from jaxtree.buckets import pad_to, row_bucket
from jaxtree.compilation import compiled
from jaxtree.devices import current_platform
from jaxtree.errors import InvalidInputError
from jaxtree.prune.draws import DrawPlan, Rates, padded_rates, plan_draws, scan_draws
from jaxtree.prune.inputs import check_classes, exactly
from jaxtree.tree import Tree, apply, majority_class
from jaxtree.tree.nodes import pad_to_bucket, target_means
from jaxtree.tree.paths import Links, along_path, links_of, sum_below, sum_over_children

RowCodes = UInt[AnyArray, "feature row"]
"""The codes of rows, of every feature."""

RowClasses = Int[AnyArray, " row"]
"""The class of every row."""


class SplitEffects(NamedTuple):
    """A score as the root alone has it, and what the split of every node adds where it is kept; 0 for a leaf."""

    at_root: Real[AnyArray, ""]
    by_split: Real[AnyArray, " node"]


def sampled_accuracy(
    tree: Tree, codes: RowCodes, y: RowClasses, rates: Rates, *, key: PRNGKeyArray, num_draws: int
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
    plan, batch = plan_draws(tree, rates, key, num_draws)
    correct = _score_draws(plan, right_rows(tree, codes, y), num_draws=num_draws, platform=current_platform()).reshape(
        *batch, num_draws
    )
    return correct / jnp.asarray(codes.shape[1], float)


def expected_accuracy(tree: Tree, codes: RowCodes, y: RowClasses, rates: Rates) -> Float[Array, "..."]:
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
    tree: Tree, codes: RowCodes, y: RowClasses, rates: Rates, *, laplace: FloatLike = 1.0
) -> Float[Array, "..."]:
    r"""Returns the exact mean over rows and draws of $-\ln \frac{w_y + a}{w + a\,C}$, differentiable in the rates.

    The weights $w_y$ of the row's class and w of all C classes are those of training at the node where the walk stops;
    a is Laplace's, so that no share is 0.

    Args:
        tree: A tree of one target of classes, with its root at node 0.
        codes: Codes of every feature.
        y: Class of every row.
        rates: The rate of every node, see `jaxtree.prune.dropout`.
        laplace: The weight a that is added to every class, above 0.

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


def expected_squared_error(tree: Tree, codes: RowCodes, y: Real[AnyArray, " row"], rates: Rates) -> Float[Array, "..."]:
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


def accuracy_variance(tree: Tree, codes: RowCodes, y: RowClasses, rates: Rates) -> Float[Array, "..."]:
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
    variance = _variance_of_sum(links_of(tree), right_rows(tree, codes, y), padded_rates(tree, rates))
    return variance / jnp.asarray(codes.shape[1], float) ** 2


def sum_of_kept(links: Links, effects: SplitEffects, rates: Float[Array, "... node"]) -> Float[Array, "..."]:
    """The exact mean over all draws of a score."""
    kept = along_path(jnp.multiply, 1 - rates, links.parent)
    return effects.at_root + jnp.sum(kept * effects.by_split, axis=-1)


_sum_of_kept = compiled()(sum_of_kept)


def _mean(tree: Tree, effects: SplitEffects, codes, rates) -> Float[Array, "..."]:
    """The mean over rows and draws, in the user's floats."""
    return _sum_of_kept(links_of(tree), effects, padded_rates(tree, rates)) / codes.shape[1]


@compiled("num_draws", "platform")
def _score_draws(plan: DrawPlan, right: SplitEffects, *, num_draws: int, platform: str) -> Int32[Array, "setting draw"]:
    effect = right.by_split[plan.inner.node][:, None]

    def score(_, kept):
        return right.at_root + jnp.sum(jnp.where(kept, effect, 0), axis=1, dtype=jnp.int32)

    return scan_draws(plan, num_draws, score, platform=platform)[1]


@compiled()
def _variance_of_sum(links: Links, right: SplitEffects, rates) -> Float[Array, "..."]:
    change = jnp.broadcast_to(right.by_split.astype(rates.dtype), rates.shape)
    expected = sum_below(links, change, 1 - rates)
    kept = along_path(jnp.multiply, 1 - rates, links.parent)
    return jnp.sum(kept * rates * expected**2, axis=-1)


def right_rows(tree: Tree, codes: RowCodes, y: RowClasses) -> SplitEffects:
    """Returns the number of rows whose class is predicted."""
    ended = ended_rows(tree, codes, y)
    return exactly(_effects, links_of(tree), ended, majority_table(tree).astype(np.int32))


def log_losses(tree: Tree, codes: RowCodes, y: RowClasses, laplace: FloatLike = 1.0) -> SplitEffects:
    r"""Returns the sum over rows of $-\ln \frac{w_y + a}{w + a\,C}$, by training weights of y and of all C classes.

    Raises:
        InvalidInputError: A class is none of the tree's, or a is not above 0.
    """
    ended = ended_rows(tree, codes, y)
    num_classes = ended.shape[1]
    if not is_traced(y) and y.size and not (y.min() >= 0 and y.max() < num_classes):
        raise InvalidInputError(f"y must hold classes from 0 to {num_classes - 1}, got {y.min()} to {y.max()}")
    if not is_traced(laplace) and not laplace > 0:
        raise InvalidInputError(f"laplace must be a number above 0, got {laplace!r}")
    library = jnp if is_traced(tree, laplace) else np
    count = library.asarray(tree.count, float)
    share = (count + laplace) / (count.sum(axis=1, keepdims=True) + laplace * num_classes)
    return exactly(_effects, links_of(tree), ended, pad_like_links(tree, -library.log(share)))


def squared_errors(tree: Tree, codes: RowCodes, y: Real[AnyArray, " row"]) -> SplitEffects:
    r"""Returns the sum over rows of $(y - m)^2$, with the node's training mean m.

    Targets and means are counted from the root's mean, so that large ones do not cancel. Rows are summed as their
    number and the sum of their targets: a node's scores of these are $m^2$ and $-2m$.
    """
    if tree.num_classes or tree.target_sum.shape[-1] != 1:
        given = f"{len(tree.num_classes)} of classes" if tree.num_classes else f"{tree.target_sum.shape[-1]} of numbers"
        raise InvalidInputError(f"squared errors need a tree of one target of numbers, got {given}")
    mean, links = target_means(tree)[:, 0], links_of(tree)
    target, mean = y - mean[0], mean - mean[0]
    sums = library_of(target).stack([target * 0 + 1, target], axis=1)
    codes, sums = _pad_rows(codes, y, sums, 0)
    ended = exactly(_sum_ended, apply(tree, codes), sums, num_nodes=len(links.parent))
    scores = pad_like_links(tree, library_of(mean).stack([mean**2, -2 * mean], axis=1))
    effects = exactly(_effects, links, ended, scores)
    return effects._replace(at_root=effects.at_root + (target**2).sum())


def ended_rows(tree: Tree, codes: RowCodes, y: RowClasses) -> Int32[AnyArray, "node class"]:
    """Returns the rows of every class whose unpruned walk ends at each node; unknown classes do not count."""
    check_classes(tree, "the analysis of dropout", of_one_output=True)
    codes, y = _pad_rows(codes, y, y, -1)
    sizes = {"num_nodes": len(links_of(tree).parent), "num_classes": tree.count.shape[-1]}
    return exactly(_count_ended, apply(tree, codes), y, **sizes)


def _pad_rows(codes, y, values, fill) -> tuple[UInt[AnyArray, "feature padded"], Real[AnyArray, "padded *column"]]:
    """Pads codes, and what is known of every row, to a bucket of rows on the host.

    Raises:
        InvalidInputError: There are not as many targets as rows of codes.
    """
    if codes.ndim != 2 or y.shape != codes.shape[1:]:
        raise InvalidInputError(
            f"codes must have the shape (feature, row) and y the shape (row,), got {codes.shape} and {y.shape}"
        )
    if is_traced(codes, values):
        return codes, values
    size = row_bucket(len(y))
    return np.pad(codes, [(0, 0), (0, size - len(y))]), pad_to(values, size, fill)


@compiled("num_nodes", "num_classes")
def _count_ended(end, y, *, num_nodes: int, num_classes: int) -> Int32[Array, "node class"]:
    y = jnp.where((y < 0) | (y >= num_classes), num_classes, y)
    return jnp.zeros((num_nodes, num_classes), jnp.int32).at[end, y].add(1, mode="drop")


@compiled("num_nodes")
def _sum_ended(end, values, *, num_nodes: int) -> Float[Array, "node column"]:
    return jnp.zeros((num_nodes, values.shape[1]), values.dtype).at[end].add(values)


@compiled()
def _effects(links: Links, ended: Num[Array, "node column"], score: Num[Array, "node column"]) -> SplitEffects:
    passed = sum_below(links, ended.T).T
    here, at_parent = (jnp.sum(passed * given, axis=1, dtype=score.dtype) for given in (score, score[links.parent]))
    return SplitEffects(here[0], sum_over_children(links, here - at_parent))


def majority_table(tree: Tree) -> Float[AnyArray, "node class"]:
    """Returns 1 for the class that a node predicts, 0 for the others; padded as the tree's links are."""
    check_classes(tree, "the analysis of dropout", of_one_output=True)
    classes = np.arange(tree.count.shape[-1], dtype=np.int32)
    return pad_like_links(tree, (majority_class(tree)[:, None] == classes).astype(float))


def pad_like_links(tree: Tree, table: Num[AnyArray, "node column"]) -> Real[AnyArray, "padded column"]:
    """Pads a table over the nodes as the tree's links are."""
    return table if is_traced(tree, table) else pad_to_bucket(table)
