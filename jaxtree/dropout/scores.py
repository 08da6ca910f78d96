r"""Scores of dropout pruning: of draws, and their means and variances over all draws in closed form.

Rows are sent down the unpruned tree once. A row whose code has no branch at a node stays there, and so does one whose
value is missing where missing values are shared out among the branches.

A score is a sum over rows, and depends on the node where a row's walk stops: $z_v = \sum_k n_{vk}\, h_{vk}$ if all rows
that pass v stop there, with the rows' sums n in columns k and the node's score h of each. A split *changes* it by
$g_v = \sum_c (z_c - \sum_k n_{ck}\, h_{vk})$ over the children c; rows that stay at v, since no branch has their code,
change nothing. The score of a pruned tree is $z_0 + \sum_v g_v$ over its kept nodes.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray, Real, UInt

from jaxtree.arrays import AnyArray, FloatLike, is_traced, library_of
from jaxtree.buckets import pad_to, row_bucket
from jaxtree.compilation import compiled
from jaxtree.devices import current_platform
from jaxtree.errors import InvalidInputError
from jaxtree.prune.draws import DrawPlan, Rates, padded_rates, plan_draws, scan_draws
from jaxtree.prune.inputs import call_in_float64, check_classes
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree import Tree, apply, majority_class
from jaxtree.tree.nodes import pad_to_bucket, target_means
from jaxtree.tree.paths import Links, along_path, links_of, sum_below, sum_over_children

RowCodes = UInt[AnyArray, "feature row"]
"""The codes of rows, of every feature."""

RowClasses = Int[AnyArray, " row"]
"""The class of every row."""

RowWeights = Real[AnyArray, " row"] | None
"""The weight of every row; None is 1."""


class SplitEffects(NamedTuple):
    """A score as the root alone has it, and what the split of every node adds where it is kept; 0 for a leaf."""

    at_root: Real[AnyArray, ""]
    by_split: Real[AnyArray, " node"]


def sampled_accuracy(
    tree: Tree,
    codes: RowCodes,
    y: RowClasses,
    rates: Rates,
    *,
    key: PRNGKeyArray,
    num_draws: int,
    weight: RowWeights = None,
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
        weight: Weight of every row; 1 if not given.

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
    right = right_rows(tree, codes, y, weight)
    correct = _score_draws(plan, right, num_draws=num_draws, platform=current_platform())
    return correct.reshape(*batch, num_draws) / jnp.asarray(total_weight(codes, weight), float)


def expected_accuracy(
    tree: Tree, codes: RowCodes, y: RowClasses, rates: Rates, *, weight: RowWeights = None
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
        weight: Weight of every row; 1 if not given.

    Raises:
        InvalidInputError: The rates or the shapes are out of their range.
    """
    return _mean(tree, right_rows(tree, codes, y, weight), rates, total_weight(codes, weight))


def expected_log_loss(
    tree: Tree,
    codes: RowCodes,
    y: RowClasses,
    rates: Rates,
    *,
    laplace: FloatLike = 1.0,
    weight: RowWeights = None,
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
        weight: Weight of every row; 1 if not given.

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
    return _mean(tree, log_losses(tree, codes, y, weight, laplace), rates, total_weight(codes, weight))


def expected_squared_error(
    tree: Tree, codes: RowCodes, y: Real[AnyArray, " row"], rates: Rates, *, weight: RowWeights = None
) -> Float[Array, "..."]:
    """Returns the exact mean squared error over rows and draws of a regression tree, differentiable in the rates.

    Args:
        tree: A tree of one target of numbers, with its root at node 0.
        codes: Codes of every feature.
        y: Target of every row.
        rates: The rate of every node, see `jaxtree.prune.dropout`.
        weight: Weight of every row; 1 if not given.

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
    return _mean(tree, squared_errors(tree, codes, y, weight), rates, total_weight(codes, weight))


def accuracy_variance(
    tree: Tree, codes: RowCodes, y: RowClasses, rates: Rates, *, weight: RowWeights = None
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
        weight: Weight of every row; 1 if not given.

    Raises:
        InvalidInputError: The rates or the shapes are out of their range.
    """
    variance = _variance_of_sum(links_of(tree), right_rows(tree, codes, y, weight), padded_rates(tree, rates))
    return variance / jnp.asarray(total_weight(codes, weight), float) ** 2


def sum_of_kept(links: Links, effects: SplitEffects, rates: Float[Array, "... node"]) -> Float[Array, "..."]:
    """The exact mean over all draws of a score."""
    kept = along_path(jnp.multiply, 1 - rates, links.parent)
    return effects.at_root + jnp.sum(kept * effects.by_split, axis=-1)


_sum_of_kept = compiled()(sum_of_kept)


def _mean(tree: Tree, effects: SplitEffects, rates, total) -> Float[Array, "..."]:
    """The mean over rows and draws, in the user's floats."""
    return _sum_of_kept(links_of(tree), effects, padded_rates(tree, rates)) / total


@compiled("num_draws", "platform")
def _score_draws(plan: DrawPlan, right: SplitEffects, *, num_draws: int, platform: str) -> Real[Array, "setting draw"]:
    effect = right.by_split[plan.inner.node][:, None]

    def score(_, kept):
        return right.at_root + jnp.sum(jnp.where(kept, effect, 0), axis=1, dtype=effect.dtype)

    return scan_draws(plan, num_draws, score, platform=platform)[1]


@compiled()
def _variance_of_sum(links: Links, right: SplitEffects, rates) -> Float[Array, "..."]:
    change = jnp.broadcast_to(right.by_split.astype(rates.dtype), rates.shape)
    expected = sum_below(links, change, 1 - rates)
    kept = along_path(jnp.multiply, 1 - rates, links.parent)
    return jnp.sum(kept * rates * expected**2, axis=-1)


def total_weight(codes: RowCodes, weight: RowWeights) -> Any:
    """Returns the sum of the weights of all rows, which is their number without weights."""
    return codes.shape[1] if weight is None else weight.sum()


def right_rows(tree: Tree, codes: RowCodes, y: RowClasses, weight: RowWeights = None) -> SplitEffects:
    """Returns the weight of the rows whose class is predicted; their number, if no weights are given."""
    ended = ended_rows(tree, codes, y, weight)
    return call_in_float64(_effects, links_of(tree), ended, majority_table(tree).astype(ended.dtype))


def log_losses(
    tree: Tree, codes: RowCodes, y: RowClasses, weight: RowWeights = None, laplace: FloatLike = 1.0
) -> SplitEffects:
    r"""Returns the sum over rows of $-\ln \frac{w_y + a}{w + a\,C}$, by training weights of y and of all C classes.

    The rows count with their weights.

    Raises:
        InvalidInputError: A class is none of the tree's, or a is not above 0.
    """
    ended = ended_rows(tree, codes, y, weight)
    num_classes = ended.shape[1]
    if not is_traced(y) and y.size and not (y.min() >= 0 and y.max() < num_classes):
        raise InvalidInputError(f"y must hold classes from 0 to {num_classes - 1}, got {y.min()} to {y.max()}")
    if not is_traced(laplace) and not laplace > 0:
        raise InvalidInputError(f"laplace must be a number above 0, got {laplace!r}")
    library = jnp if is_traced(tree, laplace) else np
    count = library.asarray(tree.count, float)
    share = (count + laplace) / (count.sum(axis=1, keepdims=True) + laplace * num_classes)
    return call_in_float64(_effects, links_of(tree), ended, pad_like_links(tree, -library.log(share)))


def squared_errors(tree: Tree, codes: RowCodes, y: Real[AnyArray, " row"], weight: RowWeights = None) -> SplitEffects:
    r"""Returns the weighted sum over rows of $(y - m)^2$, with the node's training mean m.

    Targets and means are counted from the root's mean, so that large ones do not cancel. Rows are summed as their
    weight and the weighted sum of their targets: a node's scores of these are $m^2$ and $-2m$.
    """
    if tree.num_classes or tree.target_sum.shape[-1] != 1:
        given = f"{len(tree.num_classes)} of classes" if tree.num_classes else f"{tree.target_sum.shape[-1]} of numbers"
        raise InvalidInputError(f"squared errors need a tree of one target of numbers, got {given}")
    mean, links = target_means(tree)[:, 0], links_of(tree)
    target, mean = y - mean[0], mean - mean[0]
    weight = target * 0 + 1 if weight is None else _checked(weight, y)
    sums = library_of(target, weight).stack([weight, weight * target], axis=1)
    codes, sums = _pad_rows(codes, y, (sums, 0))
    ended = call_in_float64(_sum_ended, apply(tree, codes), sums, num_nodes=len(links.parent))
    scores = pad_like_links(tree, library_of(mean).stack([mean**2, -2 * mean], axis=1))
    effects = call_in_float64(_effects, links, ended, scores)
    return effects._replace(at_root=effects.at_root + (weight * target**2).sum())


def ended_rows(tree: Tree, codes: RowCodes, y: RowClasses, weight: RowWeights = None) -> Real[AnyArray, "node class"]:
    """Returns the weight of the rows of every class whose unpruned walk ends at each node.

    It is their number, of int32, if no weights are given. Unknown classes do not count.
    """
    check_classes(tree, "the analysis of dropout", of_one_output=True)
    weight = np.ones(y.shape, np.int32) if weight is None else _checked(weight, y)
    codes, y, weight = _pad_rows(codes, y, (y, -1), (weight, 0))
    sizes = {"num_nodes": len(links_of(tree).parent), "num_classes": tree.count.shape[-1]}
    return call_in_float64(_count_ended, apply(tree, codes), y, weight, **sizes)


def _checked(weight: Real[AnyArray, " row"], y: Real[AnyArray, " row"]) -> Real[AnyArray, " row"]:
    """Weights of rows; on the host in float64, after a check."""
    return weight if is_traced(weight) else check_sample_weight(weight, len(y))


def _pad_rows(codes, y, *columns: tuple[Any, int]) -> tuple[Real[AnyArray, "..."], ...]:
    """Pads codes, and columns of every row each with its own number, to a bucket of rows on the host.

    Raises:
        InvalidInputError: There are not as many targets as rows of codes, or there are no rows or features.
    """
    if codes.ndim != 2 or y.shape != codes.shape[1:]:
        raise InvalidInputError(
            f"codes must have the shape (feature, row) and y the shape (row,), got {codes.shape} and {y.shape}"
        )
    if 0 in codes.shape:
        raise InvalidInputError(f"codes must have a feature and a row at least, got the shape {codes.shape}")
    if is_traced(codes, *(values for values, _ in columns)):
        return codes, *(values for values, _ in columns)
    size = row_bucket(len(y))
    return np.pad(codes, [(0, 0), (0, size - len(y))]), *(pad_to(values, size, fill) for values, fill in columns)


@compiled("num_nodes", "num_classes")
def _count_ended(end, y, weight, *, num_nodes: int, num_classes: int) -> Real[Array, "node class"]:
    y = jnp.where((y < 0) | (y >= num_classes), num_classes, y)
    return jnp.zeros((num_nodes, num_classes), weight.dtype).at[end, y].add(weight, mode="drop")


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
