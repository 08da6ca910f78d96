r"""Shapley interaction values of pairs of columns, for many rows at once.

With the symbols of `kernel.py` the value of columns $i \ne j$ is

$$\Phi_{ij} = \frac12 \sum_\text{leaves} v\,(o_i - z_i)(o_j - z_j)
\int_0^1 \prod_{k \in D \setminus ij} \bigl(t\,o_k + (1-t)\,z_k\bigr)\,dt,$$

because the integral of $t^s (1-t)^{d-s}$ is the weight of a set of $s$ of the $d$ others; each of the two orders has
half. Two edges on the path to a leaf stand one above the other, so that every edge meets each of those above it once.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float64

from jaxtree.explain.edges import Edges, Level
from jaxtree.explain.kernel import Rule, Weights, branches_of, said_below, weights_of
from jaxtree.programs import compiled


def pair_sums_of_trees(
    edges: Edges, rule: Rule, values: Float64[Array, "feature row"], num_columns: int, *, is_plain: bool
) -> Float64[Array, "column column output row"]:
    """The sum over the trees of the interaction values of rows, compared with the training rows; half of it a place.

    What stands for a pair of columns is the sum of both places; what stands for a column with itself means nothing.

    Args:
        edges: The trees.
        rule: Where the integrand is looked at.
        values: The rows.
        num_columns: The number of columns.
        is_plain: Whether all splits are thresholds that send a missing value to a branch.
    """

    def add(phi, tree):
        splits, levels = tree
        weights = weights_of(levels, rule, branches_of(splits, values, is_plain=is_plain))
        return _add_tree(phi, levels, weights, rule), None

    phi = jnp.zeros((num_columns, num_columns, edges.base.shape[0], values.shape[1]))
    return lax.scan(add, phi, (edges.splits, edges.levels))[0] / 2


def _add_tree(
    phi: Float64[Array, "column column output row"], levels: tuple[Level, ...], weights: list[Weights], rule: Rule
) -> Float64[Array, "column column output row"]:
    """Adds the interaction values of one tree."""
    for depth, (level, weight, said) in enumerate(zip(levels, weights, said_below(levels, weights), strict=True)):
        above = level.parent
        own = said * (weight.up / rule.weight[:, None])[:, None]  # the rule's weights stand in both factors
        for upper, upper_weight in zip(levels[:depth][::-1], weights[:depth][::-1], strict=True):
            both = jnp.sum(own * upper_weight.up[above][:, None], axis=2)
            phi = phi.at[level.column, upper.column[above]].add(both)
            above = upper.parent[above]
    return phi


pair_sums = compiled("num_columns", "is_plain")(pair_sums_of_trees)
