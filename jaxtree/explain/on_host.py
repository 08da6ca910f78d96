"""Shapley values in NumPy, tree by tree and level by level: nothing is compiled, whatever trees and rows there are.

The sums are those of `jaxtree.explain.kernel`, which explains them. Arrays have edges first, then rows, then points.
"""

import numpy as np
import scipy.sparse
from jaxtyping import Bool, Float64, Int

from jaxtree.explain.edges import TINY, Edges, EdgeWeights, Level, Rule, Splits, Taken
from jaxtree.kernels.walk import branch_of
from jaxtree.tree import ALL_BRANCHES


class HostTree:
    """One tree, ready to explain rows.

    Args:
        edges: Its edges, alone and without padding.
        rule: The points at which the integrand is evaluated.
        num_columns: The number of columns.

    Attributes:
        num_edges: The number of edges.
    """

    def __init__(self, edges: Edges, rule: Rule, num_columns: int):
        self._splits = Splits(*(field[0] for field in edges.splits))
        self._levels = tuple(Level(*(field[0] for field in level)) for level in edges.levels)
        self._rule, self._num_outputs, self._num_columns = rule, edges.base.size, num_columns
        column = np.concatenate([level.column for level in self._levels]) if self._levels else np.zeros(0, np.int32)
        self.num_edges, self._by_column = len(column), _sums_by(column, num_columns)

    def values(
        self,
        values: Float64[np.ndarray, "feature row"],
        others: Float64[np.ndarray, "feature other"] | None,
    ) -> Float64[np.ndarray, "column output row"]:
        """The Shapley values of rows, compared with the training rows, or in sum with each of other ones."""
        total = np.zeros((self._num_columns, self._num_outputs, values.shape[1]))
        if not self._levels:
            return total
        taken = self._branches(values)
        comparisons = [None] if others is None else [self._branches(others[:, [n]]) for n in range(others.shape[1])]
        for other in comparisons:
            weights = self._weights(taken, other)
            below = self._values_below(weights)
            sums = [np.einsum("eorp,erp->eor", *pair) for pair in zip(below, (w.up for w in weights), strict=True)]
            total += (self._by_column @ np.concatenate(sums).reshape(self.num_edges, -1)).reshape(total.shape)
        return total

    def interactions(
        self, values: Float64[np.ndarray, "feature row"]
    ) -> Float64[np.ndarray, "column column output row"]:
        """Returns twice the interaction values, each pair of columns once; see `kernel.sum_shap_interactions`."""
        shape = (self._num_columns**2, self._num_outputs, values.shape[1])
        total = np.zeros(shape)
        weights = self._weights(self._branches(values), None) if self._levels else []
        all_below = self._values_below(weights)
        for depth, (level, weight, value) in enumerate(zip(self._levels, weights, all_below, strict=True)):
            above = level.parent
            own = value * (weight.up / self._rule.weight)[:, None]  # the rule's weights stand in both factors
            for upper, upper_weight in zip(self._levels[:depth][::-1], weights[:depth][::-1], strict=True):
                both = np.einsum("eorp,erp->eor", own, upper_weight.up[above])
                pair = level.column * self._num_columns + upper.column[above]
                total += (_sums_by(pair, shape[0]) @ both.reshape(len(pair), -1)).reshape(shape)
                above = upper.parent[above]
        return total.reshape(self._num_columns, self._num_columns, *shape[1:])

    def _branches(self, values: Float64[np.ndarray, "feature row"]) -> Taken:
        """The branches of rows at all splits."""
        splits = self._splits
        value = values[splits.feature]
        is_missing, missing_branch = np.isnan(value), splits.missing_branch[:, None]
        num_words = splits.subset.shape[1]

        def read_word(place):
            return np.take_along_axis(splits.subset, np.minimum(place, num_words - 1), axis=1)

        branch = branch_of(splits.kind[:, None], splits.limit[:, None], value, read_word if num_words else None)
        branch, num_children = np.where(is_missing, missing_branch, branch), splits.num_children[:, None]
        is_shared = (branch >= num_children) & (missing_branch == ALL_BRANCHES)
        return Taken(np.minimum(branch, num_children), is_shared if is_shared.any() else None)

    def _weights(self, taken: Taken, other: Taken | None) -> list[EdgeWeights]:
        """The weights of all levels, of rows compared with another one, or with the training rows."""
        if other is None and taken.is_shared is None:
            return self._whole_weights(taken)
        ours, theirs, weights, start = self._of_edges(taken.branch.shape[1], float), self._of_edges(1, float), [], 1
        for level in self._levels:
            end = start + len(level.parent)
            before, their_before = ours[level.previous], theirs[level.previous]
            own = ours[start:end] = before * _share(level, taken)
            their_own = their_before * (level.share[:, None] if other is None else _share(level, other))
            theirs[start:end], start = their_own, end
            weights.append(self._weights_of(own, their_own, before, their_before))
        return weights

    def _whole_weights(self, taken: Taken) -> list[EdgeWeights]:
        """Returns the weights of rows that take one branch at every split: one of three numbers an edge.

        They are compared with the training rows. The presence of a column is 0 at the edge and before, or 1 before, or
        1 at both.
        """
        present, theirs, weights, start = self._of_edges(taken.branch.shape[1], int), self._of_edges(1, float), [], 1
        for level in self._levels:
            end = start + len(level.parent)
            before, their_before = present[level.previous], theirs[level.previous]
            own, their_own = before * _takes(level, taken), their_before * level.share[:, None]
            present[start:end], theirs[start:end], start = own, their_own, end
            kinds = (np.array([kind]) for kind in ([0.0, 0.0, 1.0], [0.0, 1.0, 1.0]))
            of_kinds = self._weights_of(next(kinds), their_own, next(kinds), their_before)
            place = 3 * np.arange(len(own))[:, None] + own + before
            weights.append(
                EdgeWeights(*(of_kind.reshape(-1, len(self._rule.point)).take(place, axis=0) for of_kind in of_kinds))
            )
        return weights

    def _of_edges(self, number: int, dtype: type) -> np.ndarray:
        """Presences at all edges: a column that is on no edge is present."""
        presences = np.empty((1 + self.num_edges, number), dtype)
        presences[0] = 1
        return presences

    def _weights_of(
        self,
        own: Float64[np.ndarray, "_edge row"],
        other: Float64[np.ndarray, "edge _row"],
        before: Float64[np.ndarray, "_edge row"],
        other_before: Float64[np.ndarray, "edge _row"],
    ) -> EdgeWeights:
        """The weights of edges at which a column has these presences, and had those at the nearest edge above."""
        point, weight = self._rule
        own, other, before, other_before = (part[..., None] for part in (own, other, before, other_before))
        factor = point * own + (1 - point) * other + TINY
        factor_before = point * before + (1 - point) * other_before + TINY
        up = weight * ((own - other) / factor - (before - other_before) / factor_before)
        return EdgeWeights(factor / factor_before, up)

    def _values_below(self, weights: list[EdgeWeights]) -> list[Float64[np.ndarray, "edge output row point"]]:
        """The sums, over the leaves below every edge, of their values times the product over all columns."""
        product, products = np.ones((1, 1, 1)), []
        for level, weight in zip(self._levels, weights, strict=True):
            product = weight.down * product[level.parent]
            products.append(product)
        below, sums = None, []
        for level, product in zip(reversed(self._levels), reversed(products), strict=True):
            value = np.empty((len(product), self._num_outputs, *product.shape[1:]))
            is_inner = np.zeros(len(product), bool) if below is None else level.pair < len(below)
            leaf = np.flatnonzero(~is_inner)
            value[leaf] = level.value[leaf, :, None, None] * product[leaf, None]
            if below is not None:
                value[is_inner] = below[level.pair[is_inner]]
            sums.append(value)
            below = value[::2] + value[1::2]
        return sums[::-1]


def _sums_by(group: Int[np.ndarray, " edge"], num_groups: int) -> scipy.sparse.csr_matrix:
    """The matrix whose product with numbers of edges are their sums by groups."""
    ones = (np.ones(len(group)), (group, np.arange(len(group))))
    return scipy.sparse.csr_matrix(ones, (num_groups, len(group)))


def _takes(level: Level, taken: Taken) -> Bool[np.ndarray, "edge row"]:
    """Whether every row takes every edge, at its split."""
    branch = taken.branch[level.split]
    return (branch >= level.first_branch[:, None]) & (branch < level.end_branch[:, None])


def _share(level: Level, taken: Taken) -> Float64[np.ndarray, "edge row"]:
    """The part of every row that takes every edge, at its split."""
    share = _takes(level, taken).astype(np.float64)
    return share if taken.is_shared is None else np.where(taken.is_shared[level.split], level.share[:, None], share)
