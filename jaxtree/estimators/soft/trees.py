"""Soft trees as estimators."""

import dataclasses
from typing import Annotated, Any

import jax
import numpy as np
from jaxtyping import Array, Float, Key
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.arrays import AnyArray
from jaxtree.compilation import compiled
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.common.conventions import Role, whole
from jaxtree.estimators.common.extras import check_arguments
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.soft.base import BaseSoft
from jaxtree.estimators.soft.hardened import hard_estimator
from jaxtree.estimators.soft.numbers import SoftRegressor
from jaxtree.estimators.soft.parameters import AUTO, POSITIVE
from jaxtree.estimators.soft.rows import SoftRows, SoftTask
from jaxtree.estimators.soft.targets import SoftClassifier
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.soft.form import DEFAULT_CHOICES, SoftForm
from jaxtree.soft.from_tree import from_tree
from jaxtree.soft.functions import name_of
from jaxtree.soft.harden import harden
from jaxtree.soft.model import SoftTree, init
from jaxtree.table.encoder import Encoder

ROWS_FOR_THRESHOLDS = 1000
"""Rows among which axis gates have their first thresholds."""


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class OfOneTree(BaseSoft):
    """The model is one soft tree, the best of several.

    Args:
        init: A fitted tree of jaxtree to begin with, for fine-tuning, such as a `DecisionTreeClassifier` of the
            same columns. `depth` must be at least its own.
        init_width: The width of its gates' steps to begin with, in units of scaled inputs.
        n_restarts: How many trees are trained, as one program; that of the least loss is kept, on validation rows
            if there are any.
    """

    depth: int | str = dataclasses.field(default=AUTO, kw_only=False)
    init: Annotated[Any, object, Role.FIT] = None
    init_width: Annotated[float, POSITIVE, Role.FIT] = 0.1
    n_restarts: Annotated[int, whole(1), Role.TRAINS] = 1

    _largest_auto_depth = 10
    _name_of_models = "restart"
    _needs_all = False

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed, or has no effect beside another."""
        super().check_parameters()
        if self.init is None and self.init_width != OfOneTree.init_width:
            raise InvalidInputError(f"init_width is for a tree to begin with: give init, got {self.init_width!r} alone")

    def harden(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        refit: bool | None = None,
        drop_unreached_by: str = "box",
        **extras: Any,
    ) -> Any:
        """Returns an ordinary tree that sends every row to the side to which the gates send more than half of it.

        Axis gates give a `DecisionTreeClassifier` or `DecisionTreeRegressor`, whose node table `tree_` can be pruned,
        exported and plotted like any other; oblique gates give a `HardTreeClassifier` or `HardTreeRegressor`. Its
        `agreement_` is the share of rows for which both predict the same.

        Args:
            X: Rows to refit leaves on, and to find dead branches with; those of the last fit if not given.
            y: Their targets.
            sample_weight: Their weights.
            refit: Whether a leaf gets the shares of its rows, or their mean, or by an absolute error or quantiles their
                quantile. If not, it keeps what the leaf of the soft tree predicts. Not given, leaves are refitted where
                the loss is least at one of these, and those of classes are not, which have learned from rows nearby,
                too.
            drop_unreached_by: Which branches are dropped: those that no point of the "box" reaches, whose sides are the
                ranges of the columns, or those that none of the "rows" reach: a smaller tree, which fits other rows
                less well.
            extras: Further inputs of the loss, as in `fit`.

        Raises:
            InvalidInputError: The estimator was loaded from a file or a pickle, which has no rows; the loss has several
                scores a target, such as one of a distribution; or other arguments are not allowed.
        """
        forks.check_is_whole("harden")
        check_is_fitted(self)
        check_arguments(self, "harden", extras, self.extras_of_fit)
        if X is not None:
            sample = self._read_sample(X, y, sample_weight, is_known=True, fields=extras)
        elif (sample := getattr(self, "_rows", None)) is None:
            raise InvalidInputError("the rows of the fit are not kept in a file or pickle: give harden() X and y")
        refit = self._refits(refit, sample.target)
        of_classes, leaf = is_classifier(self), self.soft_model_.leaf
        with placed_fit(self, sample.values):
            hardened = harden(
                dataclasses.replace(self.soft_model_, leaf=leaf._replace(value=self._hard_value(leaf.value))),
                self.inputs_,
                sample._replace(target=self._hard_target(sample.target)),
                num_classes=(self.n_classes_,) if of_classes else (),
                temperature=self.last_temperature_,
                refit=refit,
                drop_unreached_by=drop_unreached_by,
            )
            hardened = self._renewed(hardened, sample) if refit else hardened
            return hard_estimator(self, hardened, np.asarray(sample.values, np.float64))

    def begin_fit(self, rows: SoftRows) -> SoftTask:
        """Returns what is trained on rows that are read; hard gates begin at the best split of a single column."""
        task = super().begin_fit(rows)
        return task if self.init is not None else self._beside_stump(task, rows)

    def _first_models(
        self, form: SoftForm, key: Key[Array, ""], x: Float[np.ndarray, "row feature"], num_parts: int
    ) -> SoftTree:
        keys = jax.random.split(key, self.n_restarts)
        if self.init is None:
            return first_trees_of(form, keys, x)
        return jax.vmap(lambda key: self._soft_init(form, key))(keys)

    def _encoder_to_fit(self, X: Any) -> Encoder:
        """A fitted encoder: that of the tree to begin with, if there is any."""
        if self.init is None:
            return super()._encoder_to_fit(X)
        if self.oblivious:
            raise InvalidInputError("init has a gate for every node, and oblivious=True one for every level")
        if callable(self.gate):
            raise InvalidInputError(
                f"init has splits by columns, and gate={name_of(self.gate)} is a function: gate must be a name"
            )
        if not isinstance(self.init, BaseTree):
            raise InvalidTypeError(f"init must be a fitted tree of jaxtree, got {type(self.init).__name__}")
        check_is_fitted(self.init)
        known = np.asarray(getattr(self.init, "classes_", None)).tolist()
        if is_classifier(self) and known != self.classes_.tolist():
            raise InvalidInputError(f"init must have the classes of y, {self.classes_.tolist()}, got {known}")
        return self.init.encoder_

    def _soft_init(self, form: SoftForm, key: Key[Array, ""]) -> SoftTree:
        """The hard tree that training begins with, as a soft one."""
        soft = from_tree(
            self.init.tree_,
            self.inputs_,
            temperature=self.init_width,
            gate=name_of(form.gate),
            node_value=self._value_of_nodes(self.init.tree_),
            depth=None if self.depth == AUTO else form.depth,
            key=key,
        )
        own = dataclasses.replace(soft.form, choice=form.choice, side=form.side)
        return dataclasses.replace(soft, form=own)


def first_trees_of(form: SoftForm, keys: Key[Array, " model"], x: Float[np.ndarray, "row feature"]) -> SoftTree:
    """Returns random trees. Planes pass through the middle of the rows, thresholds of axis gates lie among them."""
    rows = x[:: max(1, len(x) // ROWS_FOR_THRESHOLDS)] if form.gate in DEFAULT_CHOICES else None
    return _first_trees(keys, rows, form=form)


@compiled("form")
def _first_trees(
    keys: Key[Array, " model"], rows: Float[AnyArray, "row feature"] | None, *, form: SoftForm
) -> SoftTree:
    return jax.vmap(lambda key: init(form, key=key, inputs=rows))(keys)


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftTreeClassifier(OfOneTree, SoftClassifier):
    """A soft decision tree of classes: rows go to all leaves, to each with a probability; trained by gradients.

    The leaves hold distributions over the classes, and the tree predicts their mean. `harden` makes an ordinary tree of
    it, which decides at every gate. Depth, length of training and noise follow from the number of rows if they are not
    given. Targets may be probabilities, see `jaxtree.ClassProbabilities`: training then makes the mean cross entropy
    small, without smoothing of labels and, where it is "auto", without noise.

    Attributes:
        soft_model_: The trained `jaxtree.soft.SoftTree`.
        depth_: Its depth.
        inputs_: How the table becomes rows of it, a `jaxtree.soft.inputs.Inputs`.
        history_: The losses after every epoch: "loss", and "validation_loss" if there were such rows.
        best_epoch_: The number of epochs after which the model stood as it is.
        classes_: The classes in ascending order.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = SoftTreeClassifier(random_state=0).fit(X, y)
        >>> tree.score(X, y) > 0.9
        True
    """


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class SoftTreeRegressor(OfOneTree, SoftRegressor):
    """A soft decision tree of numbers: rows go to all leaves, to each with a probability; trained by gradients.

    `harden` makes an ordinary tree of it, which decides at every gate. For distributions `predict_dist` and
    `predict_quantile` tell more than `predict`, for survival times `predict_survival_function` and `predict_median`;
    `score` is then the mean log likelihood or the concordance index, and for orders within groups the NDCG.

    Attributes:
        soft_model_: The trained `jaxtree.soft.SoftTree`.
        loss_: The loss of the fit.
        start_: The scores of a model whose outputs are 0.
        unit_: The change of each score for an output of 1.
        event_times_: For survival times, the different times of events in the fit.
        depth_: Its depth.
        inputs_: How the table becomes rows of it, a `jaxtree.soft.inputs.Inputs`.
        history_: The losses after every epoch: "loss", and "validation_loss" if there were such rows.
        best_epoch_: The number of epochs after which the model stood as it is.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(-1, 1, 200)[:, None]
        >>> y = np.abs(X[:, 0])
        >>> tree = SoftTreeRegressor(depth=2, max_epochs=200, random_state=0).fit(X, y)
        >>> tree.score(X, y) > 0.9
        True

    A distribution whose scale grows with the column:
        >>> noisy = X[:, 0] + (1.1 + X[:, 0]) * np.random.default_rng(0).normal(size=200)
        >>> tree = SoftTreeRegressor(depth=2, loss="normal", max_epochs=200, random_state=0).fit(X, noisy)
        >>> scale = tree.predict_dist([[-0.9], [0.9]]).parameters["scale"]
        >>> bool(scale[0] < 0.7 < 1.2 < scale[1])
        True
    """
