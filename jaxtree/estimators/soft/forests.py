"""Soft forests as estimators."""

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any

import jax
import numpy as np
from jaxtyping import Array, Float, Key
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.errors import InvalidInputError, present
from jaxtree.estimators.common.conventions import Role, Words, whole
from jaxtree.estimators.common.fold_rows import Fold, divide
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.soft.base import BaseSoft
from jaxtree.estimators.soft.hard_forests import hard_ensemble
from jaxtree.estimators.soft.numbers import SoftRegressor
from jaxtree.estimators.soft.parameters import (
    AUTO,
    FEW_ROWS,
    FROM_0_BELOW_1,
    MANY_ROWS,
    OF_FOLDS,
    PART_ABOVE_0,
    is_auto,
    mixture_of,
    settings_of,
)
from jaxtree.estimators.soft.rows import SoftPart, SoftRows, SoftTask
from jaxtree.estimators.soft.targets import SoftClassifier
from jaxtree.estimators.soft.trees import first_trees_of
from jaxtree.soft.forest import MIXTURES, SoftForest, hide_columns, join_forests, mix, predict_in_blocks
from jaxtree.soft.form import SoftForm
from jaxtree.soft.inputs import SoftSample
from jaxtree.soft.runs import Trained
from jaxtree.soft.training import stacked
from jaxtree.table.weights import check_sample_weight


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class OfOneForest(BaseSoft):
    """The model is a soft forest, its trees trained apart, or all together with their weights.

    Args:
        n_estimators: The number of trees. "auto" is 10, and 64 of hard gates whose scores add up.
        mixture: "mean": trees are trained apart and count alike. With all others they are trained together:
            "learned" with weights that depend on the row, "by_tree" with a weight a tree, "by_leaf" with one a leaf
            (Marton et al., *GRANDE*, 2024); of both the scores of trees add up. "auto" is "by_tree" of hard gates, and
            "mean" of others. For hard gates in such a forest "auto" is a gate_rate of 0.03, a leaf_rate of 0.05, and a
            temperature of 1.
        colsample_bytree: The share of the columns that each tree sees, of hard gates and axis gates. "auto" is all, and
            half of them of several trees of hard gates whose scores add up.
        subsample: The share of the rows that each tree learns from, of trees whose scores add up.
        drop_rate: The share of these trees that a step leaves out, of every row others.
        cv: Folds that end trainings, of the mixtures "mean" and "by_tree": a number, a splitter of scikit-learn, or its
            splits of the rows of weight; None for none. The trees of "mean" take turns at the folds, and "by_tree"
            makes `n_estimators` trees for each. They learn from the rows of the others and keep the epoch that is best
            on the fold's; together they are one forest, which is shrunk towards the constant as far as all folds say.
            "auto" is 5 folds of hard gates "by_tree", and of other gates for classes if the trees are 5 at least, from
            50 rows on and below 10,000, unless `fit` has other rows to compare epochs on or goes on with a forest.
            Above, a tenth of the rows is held out of hard gates "by_tree".
    """

    n_estimators: Annotated[int | str, whole(1), Words({AUTO}), Role.TRAINS] = dataclasses.field(
        default=AUTO, kw_only=False
    )
    mixture: Annotated[str, Words({AUTO, *MIXTURES}), Role.FIT] = AUTO
    colsample_bytree: Annotated[float | str, PART_ABOVE_0, Words({AUTO}), Role.TRAINS] = AUTO
    subsample: Annotated[float, PART_ABOVE_0, Role.TRAINS] = 1.0
    drop_rate: Annotated[float, FROM_0_BELOW_1, Role.TRAINS] = 0.0
    cv: Annotated[Any, whole(2), Words({AUTO}), None, "cv_object", Role.FIT] = AUTO

    _largest_auto_depth = 8
    _name_of_models = "tree"
    _needs_all = True

    def harden(self, X: Any = None, sample_weight: Any = None) -> Any:
        """Returns an ordinary ensemble, whose trees send every row to the side to which the gates send most of it.

        With hard gates its predictions are the soft forest's, for any row, to the rounding of 32 bits; with axis gates
        the trees decide where the soft ones share out. Leaves keep their values: they count with those of other trees,
        so they are not refitted. The mixture determines its class, and each can be exported, kept in files and drawn:

        - "mean": a `RandomForestClassifier` or `RandomForestRegressor`; of Poisson's loss as "by_tree".
        - "by_tree": a `GradientBoostingClassifier` or `GradientBoostingRegressor`, whose trees add up steps.
        - "by_leaf": a `HardForestClassifier` or `HardForestRegressor`, whose leaves have weights.

        Its `agreement_` is the share of rows for which both predict the same.

        Args:
            X: Rows that nodes count and bins describe; those of the last fit if not given.
            sample_weight: Their weights.

        Raises:
            InvalidInputError: The mixture is "learned", or the gates are oblique; there is but one class; or the
                estimator was loaded from a file or a pickle, which has no rows.
        """
        forks.check_is_whole("harden")
        check_is_fitted(self)
        if X is not None:
            values = self._values(X)
            weight = check_sample_weight(sample_weight, len(values))
            weight = np.ones(len(values)) if weight is None else np.asarray(weight, np.float64)
        elif (sample := getattr(self, "_rows", None)) is not None:
            values, weight = sample.values, sample.weight
        else:
            raise InvalidInputError("the rows of the fit are not kept in a file or pickle: give harden() X")
        with placed_fit(self, values):
            return hard_ensemble(self, values, weight)

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        super().check_parameters()
        if self.cv is None or is_auto(self.cv):
            return
        if mixture_of(self) not in OF_FOLDS:
            raise InvalidInputError(f"cv is for a mixture that is one of {OF_FOLDS}, got {self.mixture!r}")
        if self.warm_start:
            raise InvalidInputError("warm_start goes on with one forest, and cv makes one of each fold: give one alone")

    def begin_fit(self, rows: SoftRows) -> SoftTask:
        """Returns what is trained on rows that are read; one tree of hard gates begins as an estimator of one does."""
        task, settings = super().begin_fit(rows), settings_of(self)
        is_lone = settings.n_estimators == len(rows.parts) == 1 and settings.colsample_bytree == 1
        return self._beside_stump(task, rows) if is_lone else task

    def _folds_of(self, sample: SoftSample, held: SoftSample | None) -> list[Fold]:
        table, cv = self._as_table(sample), self.cv
        if is_auto(cv):
            settings, group = settings_of(self), table.fields.get("group")
            cv, num_units = settings.cv, table.num_rows if group is None else len(np.unique(group))
            has_others = held is not None or self.validation_fraction != AUTO or self.warm_start
            if cv is None or has_others or not FEW_ROWS <= table.num_rows < MANY_ROWS:
                return []
            num_trees = settings.n_estimators if mixture_of(self) == "mean" else cv
            if min(num_units, num_trees) < cv:
                return []
        return [] if cv is None else divide(table, cv, self.random_state)

    def _take_folds(self, models: Sequence[Trained], parts: Sequence[SoftPart]) -> None:
        num_rows = len(self._rows.weight)
        total, count = np.zeros((num_rows, self._num_outputs)), np.zeros((num_rows, 1))
        for one, part in zip(models, parts, strict=True):
            number, predict = present(part.number), self._predict_function(one.model)
            x = np.asarray(present(part.held_rows).x)[: len(number)]
            total[number] += predict_in_blocks(predict, one.model, x, self.last_temperature_)
            count[number] += 1
        with np.errstate(invalid="ignore"):
            predicted = np.asarray(self._hard_value(total / count))
        self.oof_predictions_ = predicted[:, 0] if predicted.shape[1] == 1 else predicted
        # Forests of several folds may have different numbers of trees.
        alike = [one._replace(model=None, progress=models[0].progress) for one in models]
        self._take(_mean_of(stacked(alike))._replace(model=join_forests([one.model for one in models])))

    def _first_models(
        self, form: SoftForm, key: Key[Array, ""], x: Float[np.ndarray, "row feature"], num_parts: int
    ) -> Any:
        mixture, settings = mixture_of(self), settings_of(self)
        if mixture in ("mean", "learned") and (self.subsample < 1 or self.drop_rate):
            raise InvalidInputError(
                f"subsample and drop_rate are for trees whose scores add up, got mixture={mixture!r}: take "
                "'by_tree' or 'by_leaf'"
            )
        if mixture == "mean" and num_parts > settings.n_estimators:
            raise InvalidInputError(
                f"n_estimators must be at least {num_parts}, the number of folds, got {settings.n_estimators}"
            )
        number = settings.n_estimators * (1 if mixture == "mean" else num_parts)
        trees = first_trees_of(form, jax.random.split(key, number), x)
        if settings.colsample_bytree < 1:
            trees = hide_columns(trees, settings.colsample_bytree, key=jax.random.fold_in(key, number))
        if mixture == "mean":
            return trees
        apart = jax.tree.map(lambda part: part.reshape(num_parts, -1, *part.shape[1:]), trees)
        return jax.vmap(lambda own: mix(own, present(mixture)))(apart)

    def _stacked(self, model: Any) -> Any:
        if mixture_of(self) != "mean":
            return super()._stacked(model)
        return model.trees if isinstance(model, SoftForest) else model

    def _choose(self, trained: Sequence[Trained]) -> Trained:
        if mixture_of(self) != "mean":
            return super()._choose(trained)
        # An interrupt leaves trees that have not begun.
        together = stacked([one for one in trained if one.loss.size] or trained)
        return _mean_of(together)._replace(model=SoftForest(together.model, None))


def _mean_of(together: Trained) -> Trained:
    """A training whose losses are the means of several, and which stands after the median of their best epochs."""
    loss, validation_loss = jax.tree.map(
        lambda loss: np.nanmean(loss, axis=0), (together.loss, together.validation_loss)
    )
    best_epoch, diverged_in = np.median(together.best_epoch), together.diverged_in.max()
    return together._replace(loss=loss, validation_loss=validation_loss, best_epoch=best_epoch, diverged_in=diverged_in)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftForestClassifier(OfOneForest, SoftClassifier):
    """Several soft trees of classes that predict together.

    Trees are trained side by side as one program.

    Attributes:
        soft_model_: The trained `jaxtree.soft.forest.SoftForest`.
        depth_: The depth of its trees.
        inputs_: How the table becomes rows of it, a `jaxtree.soft.inputs.Inputs`.
        history_: The losses after every epoch: "loss", and "validation_loss" if there were such rows.
        best_epoch_: The number of epochs after which the model stood as it is.
        oof_predictions_: With folds, what trees that have not seen a row predict for it, of rows of weight; NaN where
            all have seen it. Files do not keep them.
        classes_: The classes in ascending order.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = SoftForestClassifier(3, depth=2, max_epochs=200, random_state=0).fit(X, y)
        >>> forest.score(X, y) > 0.9
        True
    """


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftForestRegressor(OfOneForest, SoftRegressor):
    """Several soft trees of numbers that predict together.

    Trees are trained side by side as one program.

    Attributes:
        soft_model_: The trained `jaxtree.soft.forest.SoftForest`.
        depth_: The depth of its trees.
        inputs_: How the table becomes rows of it, a `jaxtree.soft.inputs.Inputs`.
        history_: The losses after every epoch: "loss", and "validation_loss" if there were such rows.
        best_epoch_: The number of epochs after which the model stood as it is.
        oof_predictions_: With folds, what trees that have not seen a row predict for it, of rows of weight; NaN where
            all have seen it. Files do not keep them.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(-1, 1, 200)[:, None]
        >>> y = np.abs(X[:, 0])
        >>> forest = SoftForestRegressor(3, depth=2, max_epochs=200, random_state=0).fit(X, y)
        >>> forest.score(X, y) > 0.9
        True
    """
