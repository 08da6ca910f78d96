"""Gradient boosting of distributions, with scikit-learn's conventions."""

import dataclasses
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float

from jaxtree.dataset.sample import Outputs
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.base import BaseBoosting
from jaxtree.estimators.boosting.responses import fixed_means, likelihood_of
from jaxtree.estimators.boosting.scored import NumbersByLoss, PredictsDistributions
from jaxtree.estimators.common.conventions import Role, Words
from jaxtree.losses.distribution import Distribution
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.names import DISTRIBUTIONS
from jaxtree.tree.kinds import Prediction


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class GradientBoostingDistribution(PredictsDistributions, NumbersByLoss, BaseBoosting):
    r"""Gradient boosting of whole distributions: all parameters of a row follow from its features.

    The scores of a row are the parameters of a distribution, and one tree changes all of them, or by `multi_strategy`
    each has a tree of its own. Steps divide by the Fisher information where it is known, which makes them those of
    natural gradients (Duan et al., *NGBoost*, ICML 2020). Locations move by scales of the start, in which penalties and
    limits such as `reg_lambda`, `min_child_weight` and `max_delta_step` are: so predictions are the same in any unit of
    the target, and from any origin where targets may be negative.

    Args:
        distribution: "normal", "lognormal", "laplace", "logistic", "student_t", "gamma", "weibull",
            "negative_binomial" or "beta"; or a `jaxtree.boosting.Distribution`, such as `student_t(3)`, or
            `accelerated_failure_time()` with `fit(X, lower, upper=upper)`.
        monotonic_cst: For every column 1, -1 or 0, or a dict from names: how the location, the first of the
            parameters that `predict_dist` names, may go as the column rises. The others are free.

    Attributes:
        forest_: The trees in one table of nodes; the other attributes are those of a `GradientBoostingClassifier`, too.

    Example: noise that grows with a column.
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 2, (1000, 2))
        >>> y = rng.normal(X[:, 0], 0.1 + X[:, 1])
        >>> model = GradientBoostingDistribution(50, max_depth=3).fit(X, y)
        >>> scale = model.predict_dist([[1.0, 0.2], [1.0, 1.8]]).parameters["scale"]
        >>> bool(scale[0] < 0.6 < 1.2 < scale[1])
        True
    """

    distribution: Annotated[str | Distribution, Words(DISTRIBUTIONS), Distribution, Role.FIT] = "normal"

    _is_of_spread = True
    _named_losses = DISTRIBUTIONS
    _fixed_predictions = staticmethod(fixed_means)
    _measure = staticmethod(likelihood_of)

    def __sklearn_tags__(self):
        """Sets scikit-learn's tags: the score is a likelihood, of which nothing is known beforehand."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[Float[np.ndarray, " row"]]:
        """Yields the means of every row after each round."""
        return (self.fixed_predictions(scores).predict() for scores in self.staged_scores(X, offset=offset))

    @property
    def predicts(self) -> Prediction:
        """The kind of the predictions: distributions, and of failure times these."""
        of_loss = super().predicts
        return Prediction.DISTRIBUTIONS if of_loss == Prediction.NUMBERS else of_loss

    def _make_loss(self, outputs: Outputs) -> BaseLoss:
        if outputs.number > 1:
            raise InvalidInputError(f"a distribution has one target, got {outputs.number} columns of y")
        return DISTRIBUTIONS[self.distribution]() if isinstance(self.distribution, str) else self.distribution
