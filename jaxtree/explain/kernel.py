r"""Shapley values of trees, for many rows at once.

A leaf has the value $v$, the columns $D$ on its path, and presences $o_j$ for the row and $z_j$ for what it is compared
with. The value of column $i$ is

$$\phi_i = \sum_\text{leaves} v\,(o_i - z_i) \int_0^1 \prod_{j \in D \setminus i} \bigl(t\,o_j + (1-t)\,z_j\bigr)\,dt,$$

because the integral of $t^s (1-t)^{d-s}$ is the weight $s!\,(d-s)!/(d+1)!$ of a set of $s$ others. The integrand is a
polynomial, so Gauss-Legendre's rule with $\lceil |D|/2 \rceil$ points has the integral exactly (Wettenstein et al.,
*Quadrature-TreeSHAP*, 2026). At every point the products $P$ of the factors of all columns go down the tree, and the
sums $R$ of the leaves' values times the factors below come up it. A split whose column has the presences $b$ and $y$
above, of the row's part $o$ and the training rows' share $z$ of the first child, has the numbers

$$h = \frac{(1-t)\,y}{t\,b + (1-t)\,y}, \quad g = \frac{b\,y}{(t\,b + (1-t)\,y)^2}, \quad a = o - h\,(o - z),$$

and with them $P_1 = a\,P$, $P_2 = P - P_1$, $R = R_2 + a\,(R_1 - R_2)$; its column gets
$(o - z) \int g\,P\,(R_1 - R_2)\,dt$. At the first split of a column $h = 1 - t$ and $g = 1$; a later one takes out what
those above have put in.

The interaction value of columns $i \ne j$ is

$$\Phi_{ij} = \frac12 \sum_\text{leaves} v\,(o_i - z_i)(o_j - z_j)
\int_0^1 \prod_{k \in D \setminus ij} \bigl(t\,o_k + (1-t)\,z_k\bigr)\,dt,$$

because the integral of $t^s (1-t)^{d-s}$ is the weight of a set of $s$ of the $d$ others; each of the two orders has
half. One of two splits on the path to a leaf stands above the other: a split takes with each column $j$ above it, whose
presences are $o_j$ and $z_j$ there, its own integrand times $(o_j - z_j) / (t\,o_j + (1-t)\,z_j)$.

The kernel in C++ goes through a tree depth first (`native/src/explain/block.h`). The program of XLA, which is here,
works on several splits of one level at a time, in loops, so that no tree takes longer to compile than another.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float64, Int, Int32, UInt32

from jaxtree.arrays import AnyArray
from jaxtree.compilation import compiled
from jaxtree.explain.splits import SplitForest
from jaxtree.kernels.walk import CODES_PER_WORD, SplitKind

MOST_TOGETHER = 32
"""The most splits of a level that are worked on together."""


class Rule(NamedTuple):
    """Points of Gauss-Legendre's rule between 0 and 1, and their weights."""

    point: Float64[AnyArray, " point"]
    weight: Float64[AnyArray, " point"]


class Groups(NamedTuple):
    """Splits of all trees, several of one level in each group, behind those above; fields as in `Splits`.

    Attributes:
        column: The column; 0 of splits that only fill a group, at which all rows take the first child.
        question: A `SplitKind`.
        words: The subset.
        limit: The limit of values.
        most: The greatest value that has a branch.
        part: The parts for the answers no and yes and for a missing value.
        share: The share of the training rows.
        parent: The edge that leads here plus 1: edge 0 stands above the root.
        before: The nearest edge above of the same column plus 1.
        child: The splits below; the last one, which is no split, stands for a leaf.
        value: The values of the leaves below; 0 where there is a split.
    """

    column: Int32[AnyArray, "*tree group split"]
    question: Int32[AnyArray, "*tree group split"]
    words: UInt32[AnyArray, "*tree group split word"]
    limit: Float64[AnyArray, "*tree group split"]
    most: Float64[AnyArray, "*tree group split"]
    part: Float64[AnyArray, "*tree group split 3"]
    share: Float64[AnyArray, "*tree group split"]
    parent: Int32[AnyArray, "*tree group split"]
    before: Int32[AnyArray, "*tree group split"]
    child: Int32[AnyArray, "*tree group split 2"]
    value: Float64[AnyArray, "*tree group split 2 output"]


def groups_of(forest: SplitForest) -> Groups:
    """Puts the splits of all trees into groups, the same number of groups for every tree."""
    splits, has_splits = forest.splits, forest.has_splits
    size = np.diff(forest.first_split)[has_splits]
    tree, num_levels = np.repeat(np.arange(len(size)), size), int(splits.depth.max()) + 1
    of_level = np.zeros((len(size), num_levels), np.int64)
    np.add.at(of_level, (tree, splits.depth), 1)
    widest = of_level.max(axis=0)
    together = min(MOST_TOGETHER, 1 << int(np.median(widest) - 1).bit_length())
    start = np.cumsum([0, *(-(-widest // together) * together)])
    first = np.cumsum(of_level.reshape(-1)).reshape(of_level.shape) - of_level
    place = start[splits.depth] + np.arange(len(tree)) - first[tree, splits.depth]
    last, nothing = int(start[-1]), forest.node_value.shape[1:]

    def by_group(values: np.ndarray, fill: int | float, dtype: type = np.float64) -> np.ndarray:
        table = np.full((len(size), last, *values.shape[1:]), fill, dtype)
        table[tree, place] = values
        return table.reshape(len(size), last // together, together, *values.shape[1:])

    def edge_of(edge: Int[np.ndarray, " split"]) -> Int32[np.ndarray, "tree group place"]:
        return by_group(np.where(edge >= 0, 2 * place[edge // 2] + edge % 2 + 1, 0), 0, np.int32)

    child, is_leaf = splits.child.T, splits.child.T < 0
    value = np.where(is_leaf[..., None], forest.node_value[np.where(is_leaf, ~child, 0)], np.zeros(nothing))
    return Groups(
        column=by_group(splits.column, 0, np.int32),
        question=by_group(splits.question, SplitKind.THRESHOLD, np.int32),
        words=by_group(forest.words[splits.subset], 0, np.uint32),
        limit=by_group(splits.limit, np.inf),
        most=by_group(splits.most, np.inf),
        part=by_group(splits.part.T, 1),
        share=by_group(splits.share, 1),
        parent=edge_of(splits.parent),
        before=edge_of(splits.before),
        child=by_group(np.where(is_leaf, last, place[np.where(is_leaf, 0, child)]), last, np.int32),
        value=by_group(value, 0),
    )


class _Descent(NamedTuple):
    """The numbers of the splits of a tree on the way down, for every row and at every point.

    Attributes:
        ratio: The factor a by which the product changes on the way to the first child.
        weighted: The product of all columns above, times g.
        excess: How far the part of the row exceeds the share of what it is compared with.
    """

    ratio: Float64[Array, "group split point row"]
    weighted: Float64[Array, "group split point row"]
    excess: Float64[Array, "group split row"]


class _Presences(NamedTuple):
    """The presences of the columns of all edges: of the rows, and of what they are compared with."""

    own: Float64[Array, "edge row"]
    other: Float64[Array, "edge _row"]


@compiled("num_columns", "is_plain")
def sum_shap_values(
    groups: Groups,
    rule: Rule,
    values: Float64[Array, "feature row"],
    background: Float64[Array, "feature other"] | None,
    *,
    num_columns: int,
    is_plain: bool,
) -> Float64[Array, "column output row"]:
    """The sum over the trees of the Shapley values of rows, compared with the training rows.

    Args:
        groups: The trees.
        rule: The points at which the integrand is evaluated.
        values: The rows.
        background: Other rows, to compare with each of these instead, and to sum over them too.
        num_columns: The number of columns.
        is_plain: Whether all splits are thresholds.
    """

    def add(tree, phi):
        part = _parts(tree, values, is_plain=is_plain)
        if background is None:
            return _add_values(phi, tree, _go_down(tree, rule, part, tree.share[..., None])[0])
        others = background

        def add_row(number, phi):
            other = lax.dynamic_slice_in_dim(others, number, 1, axis=1)
            return _add_values(phi, tree, _go_down(tree, rule, part, _parts(tree, other, is_plain=is_plain))[0])

        return lax.fori_loop(0, others.shape[1], add_row, phi)

    return _over_trees(add, groups, (num_columns, groups.value.shape[-1], values.shape[1]))


@compiled("num_columns", "is_plain")
def sum_shap_interactions(
    groups: Groups, rule: Rule, values: Float64[Array, "feature row"], *, num_columns: int, is_plain: bool
) -> Float64[Array, "column column output row"]:
    """The sum over the trees of the interaction values of rows, compared with the training rows, of both orders.

    Both are in one place, that of the lower split's column first; a column with itself has its Shapley value there.
    """

    def add(tree, phi):
        descent, presences = _go_down(tree, rule, _parts(tree, values, is_plain=is_plain), tree.share[..., None])
        return _add_pairs(phi, tree, descent, presences, rule)

    return _over_trees(add, groups, (num_columns, num_columns, groups.value.shape[-1], values.shape[1]))


def _over_trees(add: Callable[[Groups, Array], Array], groups: Groups, shape: tuple[int, ...]) -> Array:
    """The sum that a function adds up, tree after tree."""
    return lax.scan(lambda phi, tree: (add(tree, phi), None), jnp.zeros(shape), groups)[0]


def _parts(tree: Groups, values: Float64[Array, "feature row"], *, is_plain: bool) -> Float64[Array, "group split row"]:
    """The parts of rows that take the first child of every split."""
    value, limit = values[tree.column], tree.limit[..., None]
    answer = value > limit
    if not is_plain:
        question = tree.question[..., None]
        answer = jnp.where(question == SplitKind.ONE_VS_REST, value == limit, answer)
        if tree.words.shape[-1]:
            code = jnp.where(jnp.isnan(value) | (question != SplitKind.SUBSET), 0, value).astype(jnp.int32)
            place = jnp.minimum(code // CODES_PER_WORD, tree.words.shape[-1] - 1)
            word = jnp.take_along_axis(tree.words, place, axis=-1)
            is_member = (word >> (code % CODES_PER_WORD).astype(jnp.uint32)) & 1 == 1
            answer = jnp.where(question == SplitKind.SUBSET, is_member, answer)
    no, yes, missing = jnp.moveaxis(tree.part[..., None], -2, 0)
    return jnp.where(value <= tree.most[..., None], jnp.where(answer, yes, no), missing)


def _go_down(
    tree: Groups, rule: Rule, part: Float64[Array, "group split row"], share: Float64[Array, "group split _row"]
) -> tuple[_Descent, _Presences]:
    """The numbers of all splits on the way down, group by group, and the presences behind them."""
    num_groups, together, num_rows = part.shape
    num_edges, t = 1 + 2 * num_groups * together, rule.point[:, None]
    product = jnp.zeros((num_edges, len(rule.point), num_rows)).at[0].set(rule.weight[:, None])
    presences = _Presences(*(jnp.zeros((num_edges, sides.shape[2])).at[0].set(1) for sides in (part, share)))

    def step(carry, group):
        product, presences = carry
        number, parent, before, own, other = group
        above, (b, y) = product[parent], (presence[before][:, None] for presence in presences)
        mine, theirs = t * b, (1 - t) * y
        whole = mine + theirs
        is_there = whole > 0
        guarded = jnp.where(is_there, whole, 1)
        h = jnp.where(is_there, theirs / guarded, 1)
        g = jnp.where(is_there, (b / guarded) * (y / guarded), 0)
        excess = own - other
        ratio = own[:, None] - h * excess[:, None]
        start = 1 + 2 * together * number
        product = _written(product, _both(ratio * above, above - ratio * above), start)
        presences = _Presences(
            _written(presences.own, _both(b[:, 0] * own, b[:, 0] * (1 - own)), start),
            _written(presences.other, _both(y[:, 0] * other, y[:, 0] * (1 - other)), start),
        )
        return (product, presences), _Descent(ratio, g * above, excess)

    numbers = jnp.arange(num_groups)
    (_, presences), descent = lax.scan(step, (product, presences), (numbers, tree.parent, tree.before, part, share))
    return descent, presences


def _both(first: Float64[Array, "split ..."], second: Float64[Array, "split ..."]) -> Float64[Array, "edge ..."]:
    """The numbers of the edges of a group, the two of a split side by side."""
    return jnp.stack([first, second], axis=1).reshape(-1, *first.shape[1:])


def _written(table: Float64[Array, "edge ..."], values: Float64[Array, "some ..."], start: Array) -> Array:
    """A table with other values from some row on."""
    return lax.dynamic_update_slice_in_dim(table, values, start, axis=0)


def _gains(tree: Groups, descent: _Descent) -> Float64[Array, "group split output point row"]:
    """The integrand of every split, without the excess: g P times the difference of the sums of both children."""
    num_groups, together, num_points, num_rows = descent.ratio.shape
    size = num_groups * together
    below = jnp.zeros((size + 1, tree.value.shape[-1], num_points, num_rows))

    def step(below, group):
        number, child, value, ratio, weighted = group
        first, second = (below[child[:, side]] + value[:, side, :, None, None] for side in (0, 1))
        change = first - second
        below = _written(below, second + ratio[:, None] * change, together * number)
        return below, weighted[:, None] * change

    groups = jnp.arange(num_groups), tree.child, tree.value, descent.ratio, descent.weighted
    return lax.scan(step, below, groups, reverse=True)[1]


def _add_values(
    phi: Float64[Array, "column output row"], tree: Groups, descent: _Descent
) -> Float64[Array, "column output row"]:
    """Adds the Shapley values of one tree."""
    own = _gains(tree, descent).sum(axis=3) * descent.excess[:, :, None]
    return phi.at[tree.column.reshape(-1)].add(own.reshape(-1, *phi.shape[1:]))


def _add_pairs(
    phi: Float64[Array, "column column output row"], tree: Groups, descent: _Descent, presences: _Presences, rule: Rule
) -> Float64[Array, "column column output row"]:
    """Adds the interaction values of one tree, and its Shapley values on the diagonal."""
    gain = _gains(tree, descent) * descent.excess[:, :, None, None]
    gain = gain.reshape(-1, *gain.shape[2:])
    column, parent, before = (field.reshape(-1) for field in (tree.column, tree.parent, tree.before))
    phi = phi.at[column, column].add(gain.sum(axis=2))
    own, other = (presence[:, None] for presence in presences)
    whole = rule.point[:, None] * own + (1 - rule.point[:, None]) * other
    pull = jnp.where(whole > 0, (own - other) / jnp.where(whole > 0, whole, 1), 0)
    # A column counts once on a path: what an edge has more than the one before it of its column.
    more = jnp.concatenate([jnp.zeros_like(pull[:1]), pull[1:] - pull[jnp.repeat(before, 2)]])

    def step(state):
        edge, phi = state
        upper = jnp.maximum(edge - 1, 0) // 2
        is_pair = (edge > 0) & (column[upper] != column)
        both = jnp.sum(gain * more[edge][:, None], axis=2) * is_pair[:, None, None]
        return parent[upper] * (edge > 0), phi.at[column, column[upper]].add(both)

    return lax.while_loop(lambda state: state[0].any(), step, (parent, phi))[1]
