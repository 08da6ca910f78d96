r"""Shapley values of trees, for many rows at once.

A leaf has the value $v$, the columns $D$ on its path, and presences $o_j$ for the row and $z_j$ for what it is compared
with. The value of column $i$ is

$$\phi_i = \sum_\text{leaves} v\,(o_i - z_i) \int_0^1 \prod_{j \in D \setminus i} \bigl(t\,o_j + (1-t)\,z_j\bigr)\,dt,$$

because the integral of $t^s (1-t)^{d-s}$ is the weight $s!\,(d-s)!/(d+1)!$ of a set of $s$ others. The integrand is a
polynomial, so Gauss-Legendre's rule with $\lceil |D|/2 \rceil$ points has the integral exactly. At every point products
go down the tree and sums go up it, and the edges of one column on a path take out what those above put in (Yu et al.,
*Linear TreeShap*, 2022, has the sums in another basis).

The interaction value of columns $i \ne j$ is

$$\Phi_{ij} = \frac12 \sum_\text{leaves} v\,(o_i - z_i)(o_j - z_j)
\int_0^1 \prod_{k \in D \setminus ij} \bigl(t\,o_k + (1-t)\,z_k\bigr)\,dt,$$

because the integral of $t^s (1-t)^{d-s}$ is the weight of a set of $s$ of the $d$ others; each of the two orders has
half. Two edges on the path to a leaf stand one above the other, so that every edge meets each of those above it once.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Float64

from jaxtree.compilation import compiled
from jaxtree.explain.edges import TINY, Edges, EdgeWeights, Level, Rule, Splits, Taken
from jaxtree.kernels.walk import branch_of
from jaxtree.tree import ALL_BRANCHES

_Presence = Float[Array, "edge row"] | float


@compiled("num_columns", "is_plain")
def sum_shap_values(
    edges: Edges,
    rule: Rule,
    values: Float64[Array, "feature row"],
    background: Float64[Array, "feature other"] | None,
    *,
    num_columns: int,
    is_plain: bool,
) -> Float64[Array, "column output row"]:
    """The sum over the trees of the Shapley values of rows, compared with the training rows.

    Args:
        edges: The trees.
        rule: The points at which the integrand is evaluated.
        values: The rows.
        background: Other rows, to compare with each of these instead, and to sum over them too.
        num_columns: The number of columns.
        is_plain: Whether all splits are thresholds that send a missing value to a branch.
    """

    def add(phi, splits, levels):
        taken = _branches_of(splits, values, is_plain=is_plain)
        if background is None:
            return _add_values(phi, levels, _weights_of(levels, rule, taken))
        others = background

        def add_row(number, phi):
            other = _branches_of(splits, lax.dynamic_slice_in_dim(others, number, 1, axis=1), is_plain=is_plain)
            return _add_values(phi, levels, _weights_against(levels, rule, taken, other))

        return lax.fori_loop(0, others.shape[1], add_row, phi)

    return _over_trees(add, edges, (num_columns, edges.base.shape[0], values.shape[1]))


@compiled("num_columns", "is_plain")
def sum_shap_interactions(
    edges: Edges, rule: Rule, values: Float64[Array, "feature row"], *, num_columns: int, is_plain: bool
) -> Float64[Array, "column column output row"]:
    """The sum over the trees of the interaction values of rows, compared with the training rows; half of it a place.

    The value of a pair of columns is the sum of both places; that of a column with itself means nothing.
    """

    def add(phi, splits, levels):
        weights = _weights_of(levels, rule, _branches_of(splits, values, is_plain=is_plain))
        return _add_pairs(phi, levels, weights, rule)

    return _over_trees(add, edges, (num_columns, num_columns, edges.base.shape[0], values.shape[1])) / 2


def _over_trees(add: Callable[..., Array], edges: Edges, shape: tuple[int, ...]) -> Array:
    """The sum that a function adds up, tree after tree."""
    return lax.scan(lambda phi, tree: (add(phi, *tree), None), jnp.zeros(shape), (edges.splits, edges.levels))[0]


def _branches_of(splits: Splits, values: Float64[Array, "feature row"], *, is_plain: bool) -> Taken:
    """The branches of rows at all splits of a tree."""
    value = values[splits.feature]
    is_missing, missing_branch = jnp.isnan(value), splits.missing_branch[:, None]
    if is_plain:
        return Taken(jnp.where(is_missing, missing_branch, (value > splits.limit[:, None]).astype(jnp.int32)), None)
    num_words = splits.subset.shape[1]

    def read_word(place):
        return jnp.take_along_axis(splits.subset, jnp.minimum(place, num_words - 1), axis=1)

    branch = branch_of(splits.kind[:, None], splits.limit[:, None], value, read_word if num_words else None)
    branch, num_children = jnp.where(is_missing, missing_branch, branch), splits.num_children[:, None]
    return Taken(jnp.minimum(branch, num_children), (branch >= num_children) & (missing_branch == ALL_BRANCHES))


def _add_values(
    phi: Float64[Array, "column output row"], levels: tuple[Level, ...], weights: list[EdgeWeights]
) -> Float64[Array, "column output row"]:
    """Adds the Shapley values of one tree."""
    value = _values_below(levels, weights)
    for level, weight, here in zip(reversed(levels), reversed(weights), reversed(value), strict=True):
        phi = phi.at[level.column].add(jnp.sum(here * weight.up[:, None], axis=2))
    return phi


def _values_below(levels: tuple[Level, ...], weights: list[EdgeWeights]) -> list[Float[Array, "edge output point row"]]:
    """The sums, over the leaves below every edge of a level, of their values times the product over all columns."""
    product, products = jnp.ones((1, *weights[0].down.shape[1:])), []
    for level, weight in zip(levels, weights, strict=True):
        product = product[level.parent] * weight.down
        products.append(product)
    below = jnp.zeros((1, levels[0].value.shape[1], *product.shape[1:]))
    sums = []
    for level, product in zip(reversed(levels), reversed(products), strict=True):
        value = level.value[:, :, None, None] * product[:, None] + below[level.pair]
        sums.append(value)
        pairs = value.reshape(value.shape[0] // 2, 2, *value.shape[1:]).sum(axis=1)
        below = jnp.concatenate([pairs, jnp.zeros((1, *pairs.shape[1:]))])
    return sums[::-1]


def _weights_of(levels: tuple[Level, ...], rule: Rule, taken: Taken) -> list[EdgeWeights]:
    """The weights of all levels for rows compared with the training rows, which take all branches in proportion."""
    if taken.is_shared is None:
        return _whole_weights(levels, rule, taken)
    everywhere = jnp.ones((taken.branch.shape[0], 1), bool)
    return _weights_against(levels, rule, taken, Taken(jnp.zeros(everywhere.shape, jnp.int32), everywhere))


def _whole_weights(levels: tuple[Level, ...], rule: Rule, taken: Taken) -> list[EdgeWeights]:
    """Returns the weights of rows that take one branch at every split: one of three numbers an edge.

    They are compared with the training rows.
    """
    present, theirs, weights = jnp.ones((1, taken.branch.shape[1]), bool), jnp.ones((1, 1)), []
    for level in levels:
        before, their_before = present[level.previous], theirs[level.previous]
        own, their_own = before & _takes(level, taken), their_before * level.share[:, None]
        present, theirs = jnp.concatenate([present, own]), jnp.concatenate([theirs, their_own])
        both, lost, never = (
            _weights(rule, mine, their_own, mine_before, their_before)
            for mine, mine_before in ((1.0, 1.0), (0.0, 1.0), (0.0, 0.0))
        )
        own, before = own[:, None], before[:, None]
        down = jnp.where(own, both.down, jnp.where(before, lost.down, never.down))
        weights.append(EdgeWeights(down, jnp.where(own, both.up, jnp.where(before, lost.up, never.up))))
    return weights


def _weights_against(levels: tuple[Level, ...], rule: Rule, taken: Taken, other: Taken) -> list[EdgeWeights]:
    """Returns the weights of rows compared with another one, or with such as take branches as the training rows do."""
    ours, theirs, weights = jnp.ones((1, taken.branch.shape[1])), jnp.ones((1, other.branch.shape[1])), []
    for level in levels:
        before, their_before = ours[level.previous], theirs[level.previous]
        own, their_own = before * _share(level, taken), their_before * _share(level, other)
        ours, theirs = jnp.concatenate([ours, own]), jnp.concatenate([theirs, their_own])
        weights.append(_weights(rule, own, their_own, before, their_before))
    return weights


def _weights(
    rule: Rule,
    own: _Presence,
    other: Float[Array, "edge other"],
    before: _Presence,
    other_before: Float[Array, "edge other"],
) -> EdgeWeights:
    """The weights of edges at which a column has these presences, and had those at the nearest edge above."""
    point, weight = rule.point[:, None], rule.weight[:, None]
    own, other, before, other_before = (_with_points(x) for x in (own, other, before, other_before))
    factor, factor_before = (point * x + (1 - point) * y + TINY for x, y in ((own, other), (before, other_before)))
    return EdgeWeights(
        factor / factor_before, weight * ((own - other) / factor - (before - other_before) / factor_before)
    )


def _with_points(presence: Float[Array, "edge _row"] | float) -> Float[Array, "..."]:
    """A presence with an axis for the points before that of the rows."""
    presence = jnp.asarray(presence)
    return presence[:, None] if presence.ndim else presence


def _takes(level: Level, taken: Taken) -> Bool[Array, "edge row"]:
    """Whether every row takes every edge, at its split."""
    branch = taken.branch[level.split]
    return (branch >= level.first_branch[:, None]) & (branch < level.end_branch[:, None])


def _share(level: Level, taken: Taken) -> Float[Array, "edge row"]:
    """The part of every row that takes every edge, at its split."""
    share = _takes(level, taken).astype(jnp.float64)
    if taken.is_shared is None:
        return share
    return jnp.where(taken.is_shared[level.split], level.share[:, None], share)


def _add_pairs(
    phi: Float64[Array, "column column output row"], levels: tuple[Level, ...], weights: list[EdgeWeights], rule: Rule
) -> Float64[Array, "column column output row"]:
    """Adds the interaction values of one tree."""
    for depth, (level, weight, value) in enumerate(zip(levels, weights, _values_below(levels, weights), strict=True)):
        above = level.parent
        own = value * (weight.up / rule.weight[:, None])[:, None]  # the rule's weights stand in both factors
        for upper, upper_weight in zip(levels[:depth][::-1], weights[:depth][::-1], strict=True):
            both = jnp.sum(own * upper_weight.up[above][:, None], axis=2)
            phi = phi.at[level.column, upper.column[above]].add(both)
            above = upper.parent[above]
    return phi
