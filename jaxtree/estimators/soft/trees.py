"""Soft trees as estimators."""

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from jaxtree.estimators.forests.parameters import keep_parameters
from jaxtree.estimators.soft.models import OfOneTree
from jaxtree.estimators.soft.parameters import SOFT_CONSTRAINTS, TREE_CONSTRAINTS
from jaxtree.estimators.soft.targets import REGRESSION_LOSSES, SoftClassifier, SoftRegressor


class SoftTreeClassifier(OfOneTree, SoftClassifier):
    """A soft decision tree of classes: rows go to all leaves, to each with a probability; trained by gradients.

    The leaves hold distributions over the classes, and the tree says their mean. `harden` makes an ordinary tree of it,
    which decides at every gate. Depth, length of training and noise follow from the number of rows if they are not
    given.

    Args:
        depth: The number of edges from the root to every leaf. "auto" is that of `init`, or follows from the rows:
            32 a leaf or more (of k classes 32 / log2 k), at least 3 and at most 10.
        gate: "oblique", gates that divide by a plane; or "axis", by one feature and a threshold.
        step: "sigmoid"; "smooth_step", exactly 0 and 1 outside a band; or "hard", decided, with the sigmoid's gradient.
        selector: How an axis gate weighs features: "softmax", "entmax" or "onehot".
        leaf: "constant"; or "linear", a linear model at every leaf.
        loss: "log_loss", or a function of log probabilities (rows, classes) and class codes that returns a loss for
            each row, in JAX.
        label_smoothing: The share of every label that is spread over all classes.
        max_epochs: How often all rows are seen. "auto" is as often as 2,500 steps take, and 10 times at least.
        batch_size: The most rows of a step.
        gate_rate: The learning rate of gates.
        leaf_rate: The learning rate of leaves.
        optimizer: An optimiser of optax with learning rate 1; None is `optax.adam(1.0)`.
        first_temperature: The temperature of the gates in the first step; it falls by the same factor in each.
        last_temperature: The temperature in the last step, and of predictions. Lower ones make a tree that loses less
            when it is hardened.
        noise: The standard deviation of noise that is added to scaled inputs in training; None for no noise. "auto" is
            $n^{-1/5}$ of n rows, and none where training begins with `init` or in `distil`.
        averaging: How much of the running average of the parameters a step keeps; 0 for the last parameters.
        balance: The strength of the penalty on gates that send most rows to one side (Frosst and Hinton, 2017).
        feature_l1: The strength of the penalty on absolute weights of oblique gates.
        feature_entropy: The strength of the penalty on gates that look at many features.
        leaf_decay: The strength of the penalty on large leaves.
        validation_fraction: The share of the rows that is held out to judge by, where `fit` is given none; None for no
            rows. With any, the parameters after the best epoch are kept.
        judge: How validation rows judge an epoch: "loss", by the loss of the soft model; or "hardened", by the share of
            wrong classes, or the loss of numbers, of the model whose gates decide.
        patience: After how many epochs without a better validation loss training ends; None is never.
        scaling: What numbers of the table become: "standard", "quantile" or "none".
        categorical_features: "from_dtype", None, or which columns are categorical; categories are one-hot.
        max_categories: The most categories of a column.
        class_weight: Factors of classes in a dict, or "balanced".
        init: A fitted tree of jaxtree to begin with, for fine-tuning, such as a `DecisionTreeClassifier` of the same
            columns. `depth` must be at least its own.
        init_width: The width of its gates' steps to begin with, in units of scaled inputs.
        n_restarts: How many trees are trained, as one program; that of the least loss is kept, on validation rows if
            there are any.
        warm_start: Whether `fit` goes on from the fitted model; columns, classes and the model's parameters must be the
            same.
        random_state: Seed of what is drawn, or a NumPy generator.
        verbose: Whether to show a progress bar.

    Attributes:
        model_: The trained `jaxtree.soft.SoftTree`.
        depth_: Its depth.
        inputs_: How the table becomes rows of it, a `jaxtree.soft.Inputs`.
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

    _parameter_constraints: ClassVar[dict] = {
        **SOFT_CONSTRAINTS,
        **TREE_CONSTRAINTS,
        "loss": [StrOptions({"log_loss"}), callable],
        "label_smoothing": [Interval(Real, 0, 1, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        depth: int | str = "auto",
        *,
        gate: str = "oblique",
        step: str = "sigmoid",
        selector: str = "softmax",
        leaf: str = "constant",
        loss: Any = "log_loss",
        label_smoothing: float = 0.1,
        max_epochs: int | str = "auto",
        batch_size: int = 256,
        gate_rate: float = 0.03,
        leaf_rate: float = 0.2,
        optimizer: Any = None,
        first_temperature: float = 1.0,
        last_temperature: float = 0.3,
        noise: float | str | None = "auto",
        averaging: float = 0.99,
        balance: float | None = None,
        feature_l1: float | None = None,
        feature_entropy: float | None = None,
        leaf_decay: float | None = None,
        validation_fraction: float | None = None,
        judge: str = "loss",
        patience: int | None = None,
        scaling: str = "standard",
        categorical_features: Any = "from_dtype",
        max_categories: int | None = 1024,
        class_weight: Any = None,
        init: Any = None,
        init_width: float = 0.1,
        n_restarts: int = 1,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ):
        keep_parameters(self, locals())


class SoftTreeRegressor(OfOneTree, SoftRegressor):
    """A soft decision tree of numbers: rows go to all leaves, to each with a probability; trained by gradients.

    `harden` makes an ordinary tree of it, which decides at every gate.

    Args:
        depth: The number of edges from the root to every leaf. "auto" is that of `init`, or follows from the rows:
            32 a leaf or more, at least 3 and at most 10.
        gate: "oblique", gates that divide by a plane; or "axis", by one feature and a threshold.
        step: "sigmoid"; "smooth_step", exactly 0 and 1 outside a band; or "hard", decided, with the sigmoid's gradient.
        selector: How an axis gate weighs features: "softmax", "entmax" or "onehot".
        leaf: "constant"; or "linear", a linear model at every leaf.
        loss: "squared_error", "absolute_error", "quantile", "poisson" (counts or rates; the model says the logarithm of
            the mean), or a function of outputs and targets (rows, outputs) that returns a loss for each row, in JAX.
            Targets of the named ones are scaled for training.
        quantile: The level for `loss="quantile"`.
        max_epochs: How often all rows are seen. "auto" is as often as 2,500 steps take, and 10 times at least.
        batch_size: The most rows of a step.
        gate_rate: The learning rate of gates.
        leaf_rate: The learning rate of leaves.
        optimizer: An optimiser of optax with learning rate 1; None is `optax.adam(1.0)`.
        first_temperature: The temperature of the gates in the first step; it falls by the same factor in each.
        last_temperature: The temperature in the last step, and of predictions. Lower ones make a tree that loses less
            when it is hardened.
        noise: The standard deviation of noise that is added to scaled inputs in training; None for no noise. "auto" is
            $n^{-1/5}$ of n rows, and none where training begins with `init`.
        averaging: How much of the running average of the parameters a step keeps; 0 for the last parameters.
        balance: The strength of the penalty on gates that send most rows to one side (Frosst and Hinton, 2017).
        feature_l1: The strength of the penalty on absolute weights of oblique gates.
        feature_entropy: The strength of the penalty on gates that look at many features.
        leaf_decay: The strength of the penalty on large leaves.
        validation_fraction: The share of the rows that is held out to judge by, where `fit` is given none; None for no
            rows. With any, the parameters after the best epoch are kept.
        judge: How validation rows judge an epoch: "loss", by the loss of the soft model; or "hardened", by the share of
            wrong classes, or the loss of numbers, of the model whose gates decide.
        patience: After how many epochs without a better validation loss training ends; None is never.
        scaling: What numbers of the table become: "standard", "quantile" or "none".
        categorical_features: "from_dtype", None, or which columns are categorical; categories are one-hot.
        max_categories: The most categories of a column.
        init: A fitted tree of jaxtree to begin with, for fine-tuning, such as a `DecisionTreeRegressor` of the same
            columns. `depth` must be at least its own.
        init_width: The width of its gates' steps to begin with, in units of scaled inputs.
        n_restarts: How many trees are trained, as one program; that of the least loss is kept, on validation rows if
            there are any.
        warm_start: Whether `fit` goes on from the fitted model; columns, classes and the model's parameters must be the
            same.
        random_state: Seed of what is drawn, or a NumPy generator.
        verbose: Whether to show a progress bar.

    Attributes:
        model_: The trained `jaxtree.soft.SoftTree`.
        depth_: Its depth.
        inputs_: How the table becomes rows of it, a `jaxtree.soft.Inputs`.
        history_: The losses after every epoch: "loss", and "validation_loss" if there were such rows.
        best_epoch_: The number of epochs after which the model stood as it is.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(-1, 1, 200)[:, None]
        >>> y = np.abs(X[:, 0])
        >>> tree = SoftTreeRegressor(depth=2, max_epochs=200, random_state=0).fit(X, y)
        >>> tree.score(X, y) > 0.9
        True
    """

    _parameter_constraints: ClassVar[dict] = {
        **SOFT_CONSTRAINTS,
        **TREE_CONSTRAINTS,
        "loss": [StrOptions(set(REGRESSION_LOSSES)), callable],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        depth: int | str = "auto",
        *,
        gate: str = "oblique",
        step: str = "sigmoid",
        selector: str = "softmax",
        leaf: str = "constant",
        loss: Any = "squared_error",
        quantile: float = 0.5,
        max_epochs: int | str = "auto",
        batch_size: int = 256,
        gate_rate: float = 0.02,
        leaf_rate: float = 0.05,
        optimizer: Any = None,
        first_temperature: float = 1.0,
        last_temperature: float = 0.3,
        noise: float | str | None = "auto",
        averaging: float = 0.99,
        balance: float | None = None,
        feature_l1: float | None = None,
        feature_entropy: float | None = None,
        leaf_decay: float | None = None,
        validation_fraction: float | None = None,
        judge: str = "loss",
        patience: int | None = None,
        scaling: str = "standard",
        categorical_features: Any = "from_dtype",
        max_categories: int | None = 1024,
        init: Any = None,
        init_width: float = 0.1,
        n_restarts: int = 1,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ):
        keep_parameters(self, locals())
