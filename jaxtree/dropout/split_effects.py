r"""The effect of every split of a tree on its score on given rows.

A score is a sum over rows, and depends on the node where a row's walk stops: $z_v = \sum_k n_{vk}\, h_{vk}$ if all rows
that pass v stop there, with the rows' sums n in columns k and the node's score h of each. A split *changes* it by
$g_v = \sum_c (z_c - \sum_k n_{ck}\, h_{vk})$ over the children c; rows that stay at v, since no branch has their code,
change nothing. The score of a pruned tree is $z_0 + \sum_v g_v$ over its kept nodes.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int32, Num, Real, UInt

from jaxtree.arrays import AnyArray, FloatLike, is_traced, library_of
from jaxtree.buckets import row_bucket
from jaxtree.compilation import compiled
from jaxtree.errors import InvalidInputError
from jaxtree.prune.inputs import check_classes, exactly
from jaxtree.prune.votes import majority_table, mean_table, pad_like_links
from jaxtree.tree import Tree, apply
from jaxtree.tree.paths import Links, links_of, sum_below, sum_over_children


class SplitEffects(NamedTuple):
    """A score as the root alone has it, and what the split of every node adds where it is kept; 0 for a leaf."""

    at_root: Real[AnyArray, ""]
    by_split: Real[AnyArray, " node"]


def right_rows(tree: Tree, codes: UInt[AnyArray, "feature row"], y: Int[AnyArray, " row"]) -> SplitEffects:
    """Returns the number of rows whose class is predicted."""
    ended = ended_rows(tree, codes, y)
    return exactly(_effects, links_of(tree), ended, majority_table(tree).astype(np.int32))


def log_losses(
    tree: Tree, codes: UInt[AnyArray, "feature row"], y: Int[AnyArray, " row"], laplace: FloatLike
) -> SplitEffects:
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
    library, count = _as_float(tree, tree.count)
    share = (count + laplace) / (count.sum(axis=1, keepdims=True) + laplace * num_classes)
    return exactly(_effects, links_of(tree), ended, pad_like_links(tree, -library.log(share)))


def squared_errors(tree: Tree, codes: UInt[AnyArray, "feature row"], y: Real[AnyArray, " row"]) -> SplitEffects:
    r"""Returns the sum over rows of $(y - m)^2$, with the node's training mean m.

    Targets and means are counted from the root's mean, so that large ones do not cancel. Rows are summed as their
    number and the sum of their targets: a node's scores of these are $m^2$ and $-2m$.
    """
    if tree.num_classes or tree.target_sum.shape[-1] != 1:
        given = f"{len(tree.num_classes)} of classes" if tree.num_classes else f"{tree.target_sum.shape[-1]} of numbers"
        raise InvalidInputError(f"squared errors need a tree of one target of numbers, got {given}")
    library, mean = _as_float(tree, mean_table(tree)[:, 0])
    target = y - mean[0]
    mean = mean - mean[0]
    links = links_of(tree)
    sums = library_of(target).stack([target * 0 + 1, target], axis=1)
    codes, sums = _pad_rows(codes, y, sums, 0)
    ended = exactly(_sum_ended, apply(tree, codes), sums, num_nodes=len(links.parent))
    scores = pad_like_links(tree, library.stack([mean**2, -2 * mean], axis=1))
    effects = exactly(_effects, links, ended, scores)
    return effects._replace(at_root=effects.at_root + (target**2).sum())


def ended_rows(
    tree: Tree, codes: UInt[AnyArray, "feature row"], y: Int[AnyArray, " row"]
) -> Int32[AnyArray, "node class"]:
    """Returns the rows of every class whose unpruned walk ends at each node; unknown classes do not count."""
    check_classes(tree, "the analysis of dropout", of_one_output=True)
    codes, y = _pad_rows(codes, y, y, -1)
    sizes = {"num_nodes": len(links_of(tree).parent), "num_classes": tree.count.shape[-1]}
    return exactly(_count_ended, apply(tree, codes), y, **sizes)


def _as_float(tree: Tree, values: Real[AnyArray, "*shape"]) -> tuple[Any, Float[AnyArray, "*shape"]]:
    """The array library of a tree, and values in its widest floats."""
    return (jnp, jnp.asarray(values, float)) if is_traced(tree, values) else (np, np.asarray(values, np.float64))


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
    padding = (0, row_bucket(len(y)) - len(y))
    around = [padding] + [(0, 0)] * (values.ndim - 1)
    return np.pad(codes, [(0, 0), padding]), np.pad(values, around, constant_values=fill)


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
