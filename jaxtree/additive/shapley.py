r"""Shapley values of additive models in closed form: what every bin of a term is worth to each of its columns.

A term of one column belongs to its column. From the term $v$ of a pair of columns $i$ and $j$, column $i$ gets

$$\phi_i = \tfrac12 \bigl(v_{ij} - v_j + v_i - v_\emptyset\bigr),$$

and $v_{ij} - v_i - v_j + v_\emptyset$ is what they have together. The prediction where a column is not known is the
mean by the weights of the trees of `jaxtree.additive.trees`, which halve the bins of the first column and then those of
the second: so $v_i$ is the mean over the bins of $j$ among the rows of the bin of $i$, and $v_j$ the mean over all bins
of $i$. The values are those of path-dependent TreeSHAP on these trees; rows look them up.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, UInt

from jaxtree.additive.model import AdditiveModel
from jaxtree.explain.shap import ShapInteractions, ShapValues


class ShapTable(NamedTuple):
    """The values of a term's bins.

    Attributes:
        own: To the columns of the term, one or two, where it is not shared with the other.
        shared: Half of what both have together; 0 of a term of one column.
        base: The mean.
    """

    own: tuple[Float64[np.ndarray, "bin score"], ...]
    shared: Float64[np.ndarray, "bin score"]
    base: Float64[np.ndarray, " score"]


def shap_table(model: AdditiveModel, term: int) -> ShapTable:
    """Returns what the bins of a term are worth to its columns."""
    layout, places = model.layout, model.layout.places(term)
    values, weight = model.values[places], model.weight[places]
    if layout.features[term, 1] < 0:
        base = halving_shares(weight) @ values
        return ShapTable((values - base,), np.zeros_like(values), base)
    shape = tuple(layout.num_bins[term].tolist())
    surface, cells = values.reshape(*shape, -1), weight.reshape(shape)
    of_second = np.stack([halving_shares(own) for own in cells])
    of_first = halving_shares(cells.sum(axis=1))
    first = np.einsum("ab,abs->as", of_second, surface)[:, None]
    second = np.einsum("a,abs->bs", of_first, surface)[None]
    base = of_first @ first[:, 0]
    shared = (surface - first - second + base) / 2
    # Whole worths less their shared halves are the main effects.
    own = tuple((np.broadcast_to(part, surface.shape) - base).reshape(values.shape) for part in (first, second))
    return ShapTable(own, shared.reshape(values.shape), base)


def halving_shares(weight: Float64[np.ndarray, " bin"]) -> Float64[np.ndarray, " bin"]:
    """Returns the share of every bin in the weight; without weight every half has half of it, as trees have it.

    Example:
        >>> halving_shares(np.array([3.0, 1.0])).tolist(), halving_shares(np.zeros(3)).tolist()
        ([0.75, 0.25], [0.5, 0.25, 0.25])
    """
    total = weight.sum()
    if total > 0:
        return weight / total
    if len(weight) <= 1:
        return np.ones(len(weight))
    middle = len(weight) // 2
    return np.concatenate([halving_shares(weight[:middle]), halving_shares(weight[middle:])]) / 2


def shap_by_table(model: AdditiveModel, codes: UInt[np.ndarray, "feature row"]) -> ShapValues:
    """Returns the Shapley values of rows.

    Args:
        model: The model.
        codes: The codes of the rows.
    """
    layout, schema = model.layout, model.schema
    values = np.zeros((codes.shape[1], len(schema.columns), model.num_scores))
    base = model.intercept.copy()
    for term in range(layout.num_terms):
        table, bins = shap_table(model, term), layout.bins_of(term, codes)
        base += table.base
        for feature, own in zip(layout.features[term].tolist(), table.own, strict=False):
            values[:, feature] += (own + table.shared)[bins]
    return ShapValues(values[..., 0], base[0]) if base.size == 1 else ShapValues(values, base)


def shap_interactions_by_table(model: AdditiveModel, codes: UInt[np.ndarray, "feature row"]) -> ShapInteractions:
    """Returns the Shapley interaction values of rows.

    Args:
        model: The model.
        codes: The codes of the rows.
    """
    layout, schema = model.layout, model.schema
    number = len(schema.columns)
    values = np.zeros((codes.shape[1], number, number, model.num_scores))
    base = model.intercept.copy()
    for term in range(layout.num_terms):
        table, bins = shap_table(model, term), layout.bins_of(term, codes)
        columns = [own for own in layout.features[term].tolist() if own >= 0]
        base += table.base
        for column, own in zip(columns, table.own, strict=True):
            values[:, column, column] += own[bins]
        if len(columns) > 1:
            first, second = columns
            values[:, first, second] += table.shared[bins]
            values[:, second, first] += table.shared[bins]
    return ShapInteractions(values[..., 0], base[0]) if base.size == 1 else ShapInteractions(values, base)
