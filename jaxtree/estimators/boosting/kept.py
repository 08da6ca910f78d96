"""What boosted estimators have once they are fitted: files, trees one by one, and models that other rooms take."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Float64
from sklearn.utils.validation import check_is_fitted

from jaxtree.boosting.measured import Measured
from jaxtree.dataset.sample import Outputs
from jaxtree.estimators.common.prediction import FittedTrees
from jaxtree.estimators.trees.cart import DecisionTreeRegressor
from jaxtree.files.boosting import BoostedState
from jaxtree.files.container import shortened
from jaxtree.files.records import require
from jaxtree.losses.links import link_of
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree.forest import Forest
from jaxtree.tree.model import FittedModel
from jaxtree.tree.nodes import target_means


class FittedBoosting(FittedTrees):
    """Boosted trees after the fit."""

    forest_: Forest
    start_: Float64[np.ndarray, " score"]
    measured_: Measured
    loss_: BaseLoss

    _trees: list[DecisionTreeRegressor] | None = None
    _make_loss: Callable[[Outputs], BaseLoss]

    @property
    def estimators_(self) -> list[DecisionTreeRegressor]:
        """The trees as fitted estimators, each of which predicts the steps of its round."""
        check_is_fitted(self)
        if self._trees is None:
            self._trees = [self._tree_of_round(number) for number in range(len(self.forest_))]
        return self._trees

    @property
    def n_estimators_(self) -> int:
        """The number of trees, which early stopping may have made smaller than `n_estimators`."""
        return len(self.model_.forest)

    @property
    def evals_result_(self) -> dict[str, dict[str, list[float]]]:
        """What was measured after every round, by names of evaluation and metric, as LightGBM and XGBoost have it."""
        return self.measured_.as_dict()

    @property
    def feature_importances_(self) -> Float[np.ndarray, " column"]:
        """Share of the loss saved by all splits that those on each column save."""
        saved = self._gains().sum(axis=0)
        return saved / saved.sum() if saved.sum() > 0 else saved

    def fitted_state(self) -> BoostedState:
        """Returns what fitting has learned: what a model file keeps."""
        return BoostedState.of(self.fitted_table(), self.forest_, self.start_, self.measured_, self.loss_)

    def restore(self, state: BoostedState) -> None:
        """Takes what `fitted_state` of another estimator of these parameters returned; see `KeptInFiles.restore`."""
        self.check_parameters()
        self.restore_table(state.table)
        made: BaseLoss = self._make_loss(self.outputs())
        fits = (made.name, made.num_scores) == (state.loss.name, state.loss.num_scores)
        require(fits, f"its loss is {shortened(state.loss)}, and its parameters and target are of {shortened(made)}")
        self.loss_ = state.loss
        self.take_trees(state.forest(self.schema_), state.start, state.measured)

    def take_trees(self, forest: Forest, start: Float[np.ndarray, " score"], measured: Measured) -> None:
        """Takes trees in units of the table as the fitted ones."""
        self.forest_, self.start_, self.measured_, self._trees = forest, start, measured, None
        # The mean of the trees' predictions is the sum of their steps, behind the start.
        value = start + len(forest) * target_means(forest.nodes)
        link = link_of(self.loss_, getattr(self, "classes_", None))
        self._model = FittedModel(self.schema_, forest, value, None, (), (), averages_trees=True, link=link)

    def _tree_of_round(self, number: int) -> DecisionTreeRegressor:
        """Returns one tree as an estimator."""
        tree = DecisionTreeRegressor()
        for name in ("encoder_", "n_features_in_", "feature_names_in_", "other_columns_"):
            if hasattr(self, name):
                setattr(tree, name, getattr(self, name))
        tree.n_outputs_, tree.is_vector_ = self.start_.size, self.start_.size == 1
        return tree.settle(self.forest_[number])
