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
from jaxtree.estimators.common.conventions import Role, Words, whole
from jaxtree.estimators.common.extras import check_arguments
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.soft.base import BaseSoft
from jaxtree.estimators.soft.hardened import hard_estimator
from jaxtree.estimators.soft.numbers import SoftRegressor
from jaxtree.estimators.soft.parameters import AUTO, DEPTHS, POSITIVE
from jaxtree.estimators.soft.stumps import columns_of_inputs, with_leaves_of, with_root
from jaxtree.estimators.soft.targets import SoftClassifier
from jaxtree.estimators.soft.tasks import SoftRows, SoftTask
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.soft.form import SoftForm
from jaxtree.soft.from_tree import from_tree
from jaxtree.soft.harden import harden
from jaxtree.soft.model import SoftTree, init
from jaxtree.table.encoder import Encoder

ROWS_FOR_THRESHOLDS = 1000
"""Rows among which axis gates have their first thresholds."""


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class OfOneTree(BaseSoft):
    """The model is one soft tree, the best of several."""

    depth: Annotated[int | str, DEPTHS, Words({AUTO})] = dataclasses.field(default=AUTO, kw_only=False)
    init: Annotated[Any, object] = None
    init_width: Annotated[float, POSITIVE] = 0.1
    n_restarts: Annotated[int, whole(1), Role.TRAINS] = 1

    _largest_auto_depth = 10
    _name_of_models = "restart"
    _needs_all = False

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

        Of axis gates it is a `DecisionTreeClassifier` or `DecisionTreeRegressor`, whose node table `tree_` can be
        pruned, exported and plotted like any other; of oblique gates a `HardTreeClassifier` or `HardTreeRegressor`.
        Its `agreement_` is the share of rows for which both predict the same.

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
            extras: What else the loss asks for, as in `fit`.

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
        is_old = self.warm_start and hasattr(self, "soft_model_")
        task = super().begin_fit(rows)
        form = task.runs[0].model.form
        if is_old or self.init is not None or form.gate != "hard" or not form.depth:
            return task
        columns = columns_of_inputs(np.asarray(rows.rows.x)[: len(rows.sample.values)], form)
        stump = self._stump_of(columns, rows.sample)
        if stump is None or int(stump.num_nodes) == 1:
            return task
        runs = [run._replace(model=with_root(run.model, stump, columns)) for run in task.runs]
        return task._replace(runs=runs, stump=with_leaves_of(runs[0].model, stump, self._value_of_nodes(stump)))

    def _first_models(self, form: SoftForm, key: Key[Array, ""], x: Float[np.ndarray, "row feature"]) -> SoftTree:
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
        if not isinstance(self.init, BaseTree):
            raise InvalidTypeError(f"init must be a fitted tree of jaxtree, got {type(self.init).__name__}")
        check_is_fitted(self.init)
        known = np.asarray(getattr(self.init, "classes_", None)).tolist()
        if is_classifier(self) and known != self.classes_.tolist():
            raise InvalidInputError(f"init must have the classes of y, {self.classes_.tolist()}, got {known}")
        return self.init.encoder_

    def _soft_init(self, form: SoftForm, key: Key[Array, ""]) -> SoftTree:
        """The hard tree that training begins with, as a soft one."""
        return from_tree(
            self.init.tree_,
            self.inputs_,
            temperature=self.init_width,
            gate=form.gate,
            node_value=self._value_of_nodes(self.init.tree_),
            depth=None if self.depth == AUTO else form.depth,
            key=key,
        )


def first_trees_of(form: SoftForm, keys: Key[Array, " model"], x: Float[np.ndarray, "row feature"]) -> SoftTree:
    """Returns random trees. Planes pass through the middle of the rows, thresholds of axis gates lie among them."""
    rows = x[:: max(1, len(x) // ROWS_FOR_THRESHOLDS)] if form.gate != "oblique" else None
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

    Args:
        depth: The number of edges from the root to every leaf. "auto" is that of `init`, or follows from the rows:
            32 a leaf or more (of k classes 32 / log2 k), at least 3, of hard gates 6, and at most 10.
        gate: "oblique", gates that divide by a plane; "axis", by one feature and a threshold; or "hard", the same, but
            each row takes one side from the first step on, and gradients pass as if it were shared (straight-through:
            Marton et al., *GradTree*, 2024). What a tree of hard gates predicts is what its `harden()` does. Its root
            begins at the best split of a single column, and a tree that ends with more loss than this split alone gives
            way to it.
        choice: How hard gates are trained to choose a column: by the shares of "entmax15", "sparsemax" or "softmax".
        side: The slope by which hard gates are trained: "softsign", "entmoid" or "sigmoid".
        oblivious: Whether all hard gates of a level are one.
        loss: "log_loss"; or a loss of `jaxtree.boosting` with a score a class, such as a `Loss` of one's own: scores
            are the logarithms of probabilities, and targets the places of classes in `classes_`.
        label_smoothing: The share of every label that is spread over all classes; by the shares of their rows where the
            class of a row is less than 0.9 bits. "auto" is 0.1, and 0 of hard gates.
        max_epochs: How often all rows are seen. "auto" is as often as 2,500 steps take, and 10 times at least.
        batch_size: The most rows of a step.
        gate_rate: The learning rate of gates. "auto" is 0.03 of soft ones and 0.1 of hard ones.
        leaf_rate: The learning rate of leaves. "auto" is 0.2, and 0.1 of hard gates.
        optimizer: An optimiser of optax with learning rate 1; None is `optax.adam(1.0)`.
        first_temperature: The temperature of the gates in the first step; it falls by the same factor in each. Of
            hard gates it is the width of the slope by which they are trained.
        last_temperature: The temperature in the last step, and of predictions. Lower ones make a tree that loses less
            when it is hardened. "auto" is 0.3, and 0.2 of hard gates.
        noise: The standard deviation of noise that is added to scaled inputs in training; None for no noise. "auto" is
            $n^{-1/5}$ of n rows, and none where training begins with `init` or targets are probabilities.
        averaging: How much of the running average of the parameters a step keeps; 0 for the last parameters.
        validation_fraction: The share of the rows that is held out for validation, where `fit` is given none; None for
            no rows. With any, the parameters after the best epoch are kept. "auto" is None, but for rows whose class is
            less than 0.9 bits, as of two classes where one has less than 31 % of the rows: a tenth, of fewer than 1,000
            rows 100 and at most a fifth, and none of fewer than 100. Of such classes leaves are then shrunk towards the
            shares of all rows, as far as rows say that were held out.
        monitor: By what epochs are compared on validation rows: "loss", the loss of the soft model; or "hardened", the
            share of wrong classes, or the loss of numbers, of the model whose gates decide.
        n_iter_no_change: After how many epochs without a better validation loss training ends; None is never, and so is
            any number without validation rows.
        scaling: What numbers of the table become: "standard", "quantile" or "none". "auto" is "standard", and
            "quantile" of hard gates. A column whose nine middle tenths take less than a ten-thousandth of its range
            becomes quantiles instead of "standard", which would make all but its ends equal.
        categorical_features: "from_dtype", None, or which columns are categorical.
        max_categories: The most categories of a column, beyond which the rarest share one; None is 65,535.
        one_hot_max_size: The most categories of a column that are one-hot: a column of zeros and ones for each. A
            column of more becomes the mean of the target that its categories have, smoothed by the mean of all rows; of
            several classes or outputs a mean for each. A row that the model learns from has the mean of the rows of its
            category before it, in a random order (CatBoost's ordered statistics); hardened trees of axis gates or hard
            gates have subsets of categories. None is one-hot always, as are all columns where training begins with
            `init`, or where targets are survival times. `partial_fit` keeps the means of its first call.
        class_weight: Factors of classes in a dict, or "balanced".
        init: A fitted tree of jaxtree to begin with, for fine-tuning, such as a `DecisionTreeClassifier` of the same
            columns. `depth` must be at least its own.
        init_width: The width of its gates' steps to begin with, in units of scaled inputs.
        n_restarts: How many trees are trained, as one program; that of the least loss is kept, on validation rows if
            there are any.
        warm_start: Whether `fit` goes on from the fitted model; columns, classes and the model's parameters must be the
            same.
        random_state: Seed of what is drawn, or a NumPy generator.
        verbose: 1 for a bar of progress, with the losses; n for a line every n epochs.

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

    `harden` makes an ordinary tree of it, which decides at every gate. Of distributions `predict_dist` and
    `predict_quantile` tell more than `predict`, of survival times `predict_survival_function` and `predict_median`;
    `score` is then the mean log likelihood or the concordance index, and of orders within groups the NDCG.

    Args:
        depth: As of a `SoftTreeClassifier`, as are all parameters that are not named here; "auto" counts 32 rows a
            leaf.
        loss: A loss of boosted trees by name: "squared_error", "absolute_error", "huber", "pseudo_huber", "poisson",
            "gamma", "tweedie", "cox" or "accelerated_failure_time" of survival times, "ndcg", "map" or "pairwise" of
            orders within groups; or a distribution, "normal", "lognormal", "laplace", "logistic", "student_t",
            "weibull", "negative_binomial" or "beta". Or a loss of `jaxtree.boosting`, such as `quantile(0.9)`, or a
            `jaxtree.boosting.Loss` of one's own. Training begins at its best constant, and where scores are in the
            target's unit, outputs are in deviations of the target. "cox" and orders are trained on all rows in a step.
        gate_rate: The learning rate of gates. "auto" is 0.02 of soft ones and 0.1 of hard ones.
        leaf_rate: The learning rate of leaves. "auto" is 0.05, and 0.1 of hard gates.
        noise: That of distributions and several quantiles is also added to targets, in deviations of these (of positive
            targets to their logarithms, of shares to their log odds; not to counts), so that none becomes as narrow as
            a single row.
        validation_fraction: "auto" is None, but of distributions, several quantiles, survival times and other losses of
            several scores a target as of uneven classes, from 50 rows on. Leaves are then shrunk towards the constant,
            and where targets have noise, scales are moved, as far as rows say that were held out.
        init: A fitted tree of jaxtree to begin with, such as a `DecisionTreeRegressor` of the same columns.

    Attributes:
        soft_model_: The trained `jaxtree.soft.SoftTree`.
        loss_: The loss of the fit.
        start_: The scores of a model whose outputs are 0.
        unit_: What an output of 1 adds to each.
        event_times_: Of survival times the different times of events in the fit.
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
