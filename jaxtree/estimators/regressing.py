"""What tree estimators of numbers share."""

from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import RegressorMixin

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.base import BaseTree
from jaxtree.estimators.distributed import common_number_of_outputs
from jaxtree.estimators.magnitude import exponent_of
from jaxtree.estimators.parts import ScoresSources, part_by_part
from jaxtree.estimators.sample import FitTarget
from jaxtree.table.target import NumberTarget, encode_numbers
from jaxtree.tree import Tree, target_means
from jaxtree.tree.model import encode_known_numbers


class BaseTreeRegressor(ScoresSources, RegressorMixin, BaseTree):
    """A single regression tree."""

    @part_by_part
    def predict(self, X: Any) -> Float[np.ndarray, "row *output"]:
        """Returns the mean of every row's leaf, of shape (rows,) or for several outputs (rows, outputs)."""
        values = self._values(X)
        mean = self._model.predict(values)
        return mean[:, 0] if self.is_vector_ else mean

    def learn_target(self, y: Any) -> FitTarget:
        """Reads the target of a fit."""
        target = encode_numbers(y)
        self._check_target(target.values)
        return self._take(target)

    def read_target_of_part(self, y: Any) -> NumberTarget:
        """The target of this process's rows, by itself."""
        target = encode_numbers(y)
        self._check_target(target.values)
        if exponent_of(target.values) > 0:
            raise InvalidInputError(
                "over several processes y must be below 2**400 in size, so that it can be squared, got "
                f"{np.abs(target.values).max():g}: divide it by a constant"
            )
        return target

    def agree_on_target(self, target: NumberTarget) -> FitTarget:
        """The target of this process's rows."""
        common_number_of_outputs(len(target.values))
        return self._take(target)

    def _take(self, target: NumberTarget) -> FitTarget:
        self.is_vector_, self.n_outputs_ = target.is_vector, len(target.values)
        return FitTarget(target.values, (), None)

    def read_target(self, y: Any) -> Float[np.ndarray, "output row"]:
        """Returns the target of rows that the tree is not grown on, in the codes of the fit."""
        return encode_known_numbers(y, self.n_outputs_)

    def node_values(self, tree: Tree) -> Float[np.ndarray, "node output"]:
        """The shares of classes at every node, the outputs side by side, or the means."""
        return target_means(tree)

    def _check_target(self, values: Float[np.ndarray, "output row"]) -> None:
        """Raises InvalidInputError if the criterion does not allow a target."""
