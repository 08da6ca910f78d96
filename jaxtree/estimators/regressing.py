"""What tree estimators of numbers share."""

from typing import Any, Self

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float
from sklearn.base import RegressorMixin

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.base import BaseTree, FitStart, Said
from jaxtree.estimators.growing import grow_tables
from jaxtree.estimators.magnitude import check_sums, exponent_of
from jaxtree.estimators.parts import ScoresSources, part_by_part
from jaxtree.estimators.processes import AgreedTarget, common_number_of_outputs, spans_processes
from jaxtree.estimators.sample import Sample
from jaxtree.table.target import NumberTarget, encode_numbers
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree import Tree, target_means


class BaseTreeRegressor(ScoresSources, RegressorMixin, BaseTree):
    """A single regression tree."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        mesh: Mesh | None = None,
    ) -> Self:
        """Grows the tree, and prunes it if the estimator has a pruning.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, a data frame, or a sparse matrix of scipy,
                of which one or two bytes a cell are held, and floats of a column at a time. Or a source that is read
                in parts, such as the path of a Parquet file (see `jaxtree.table.open_source`).
            y: The number of every row; several columns for several outputs. Of a
                source also the name of its column, or a list of names.
            sample_weight: The weight of every row; a row of weight 0 is left out. Of a source also the name of a
                column.
            X_val: Rows to prune with, for a pruning that asks for held-out rows; a part of X if not given.
            y_val: Their numbers.
            mesh: Devices to divide the rows among; the tree is the same. If these belong to several processes, each
                calls this with rows of its own, and all get the tree of all rows.

        Raises:
            DistributedError: Another process is gone.
            InvalidInputError: The table, the target, the weights or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        if spans_processes(mesh):
            return self._fit_together(X, y, sample_weight, X_val, y_val, mesh)
        start = self._begin(X, y, sample_weight, X_val, y_val)
        (grown,) = grow_tables([start.encoded], mesh)
        return self._finish(grown, start)

    @part_by_part
    def predict(self, X: Any) -> Float[np.ndarray, "row *output"]:
        """Returns the mean of every row's leaf, of shape (rows,) or for several outputs (rows, outputs)."""
        values, end = self._walk(X)
        mean = self._predicting.mean(values, end, target_means(self.tree_) if self._said is None else self._said)
        return mean[:, 0] if self._is_vector else mean

    def _read_target_of_part(self, y: Any) -> NumberTarget:
        target = encode_numbers(y)
        self._check_target(target.values)
        if exponent_of(target.values) > 0:
            raise InvalidInputError(
                "over several processes y must be below 2**400 in size, so that it can be squared, got "
                f"{np.abs(target.values).max():g}: divide it by a constant"
            )
        return target

    def _agree_on_target(self, target: NumberTarget) -> AgreedTarget:
        common_number_of_outputs(len(target.values))
        self._is_vector, self.n_outputs_ = target.is_vector, len(target.values)
        return AgreedTarget(target.values, (), None)

    def _begin(self, X, y, sample_weight=None, X_val=None, y_val=None, encoded=None) -> FitStart:
        self._check_parameters()
        X, y, sample_weight = self._open(X, y, sample_weight)
        target = encode_numbers(y)
        self._check_target(target.values)
        self._is_vector = target.is_vector
        self.n_outputs_ = len(target.values)
        codes = self._read(X, target.values[0], encoded)
        weight = check_sample_weight(sample_weight, codes.shape[1])
        check_sums(target.values, weight)
        return self._start(Sample(X, target.values, (), weight), codes, self._validation(X_val, y_val, ()))

    def _read_target(self, y: Any) -> Float[np.ndarray, "output row"]:
        values = encode_numbers(y).values
        if len(values) != self.n_outputs_:
            raise InvalidInputError(f"y must have {self.n_outputs_} outputs, as in fit, got {len(values)}")
        return values

    def _say(self, tree: Tree) -> Float[np.ndarray, "node column"]:
        return target_means(tree)

    def _said_of_nodes(self, tree: Tree, votes: Float[np.ndarray, "node class"] | None) -> Said:
        means = target_means(tree) if votes is None else votes
        return Said(np.zeros(len(means), np.int64), means)

    def _check_target(self, values: Float[np.ndarray, "output row"]) -> None:
        """Raises InvalidInputError if the criterion does not allow a target."""
