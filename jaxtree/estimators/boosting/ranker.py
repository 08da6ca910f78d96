"""Gradient boosting of the order of rows within groups, with scikit-learn's conventions."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.sample import Outputs, Sample, read_known
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.base import BaseBoosting
from jaxtree.estimators.boosting.responses import fixed_ranks, ndcg_of
from jaxtree.estimators.boosting.training import OnProgress
from jaxtree.estimators.common.conventions import Role, Words, whole
from jaxtree.estimators.common.extras import check_arguments
from jaxtree.losses import ranking
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.names import RANKING_LOSSES
from jaxtree.serving.rows import of_arrays


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class GradientBoostingRanker(BaseBoosting):
    r"""Gradient boosting of the order of rows within groups, such as the documents of a query (LambdaMART).

    Every round grows one tree on the derivatives of a loss of order at the present scores (Burges, *From RankNet to
    LambdaRank to LambdaMART*, 2010): of every pair of a group the more relevant row is pushed up, by how much the
    measure changes if the two change places.

    Args:
        loss: "ndcg", "map" (mean average precision, of targets 0 and 1), "pairwise" (RankNet), or a loss of
            `jaxtree.boosting`.
        ndcg_at: How many rows of a group count in "ndcg" and in `score`, from the highest score on; None counts
            all.

    Attributes:
        forest_: The trees in one table of nodes; the other attributes are those of a `GradientBoostingClassifier`, too.

    Example: 40 queries of 10 documents each.
        >>> rng = np.random.default_rng(0)
        >>> X, group = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10)
        >>> relevance = np.digitize(X[:, 0] + X[:, 1] ** 2, [0, 1, 2])
        >>> model = GradientBoostingRanker(20, ndcg_at=5).fit(X, relevance, group=group)
        >>> model.score(X, relevance, group=group) > 0.9
        True
    """

    loss: Annotated[str | BaseLoss, Words(RANKING_LOSSES), BaseLoss, Role.FIT] = "ndcg"
    ndcg_at: Annotated[int | None, whole(1), None, Role.FIT] = None

    _named_losses = RANKING_LOSSES

    @property
    def _fixed_predictions(self) -> Any:
        return functools.partial(fixed_ranks, k=self.ndcg_at)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        group: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        group_val: Any = None,
        eval_set: Sequence[Any] | Mapping[str, Any] | None = None,
        eval_metric: Any = None,
        callbacks: Sequence[OnProgress] = (),
        **extras: Any,
    ) -> Self:
        """Boosts trees, round by round.

        Args:
            X: A table, or a source; see `GradientBoostingClassifier.fit` for this and all that is not named here.
            y: How relevant every row is: for "ndcg" a whole number from 0 to 31.
            sample_weight: The weight of every row; a group counts with the mean weight of its rows.
            group: The group of every row, such as the number or the word of a query; rows of a group need not stand
                together. For a source, a column's name is accepted, too. Sizes of groups that follow one another, as
                other libraries take them, become groups of rows by `np.repeat(np.arange(len(sizes)), sizes)`.
            X_val: Rows that are measured after every round.
            y_val: How relevant they are.
            sample_weight_val: Their weights.
            group_val: Their groups.
            eval_set: Several such tables, as `(X, y, {"group": group})`, or `(X, y, weights, {"group": group})`.
            eval_metric: Metrics of these tables in `evals_result_` besides the loss.
            callbacks: Functions called about every 25 rounds.
            extras: Further inputs of the loss, such as `offset`.

        Raises:
            InvalidInputError: There are no groups, or an argument or a parameter is not allowed.
        """
        if group is None:
            check_arguments(self, "fit", extras, self.extras_of_fit)
            raise InvalidInputError("a ranker needs group, the group of every row, got None")
        if group_val is not None:
            extras["group_val"] = group_val
        given = {"eval_set": eval_set, "eval_metric": eval_metric, "callbacks": callbacks}
        given |= {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val}
        return super().fit(X, y, sample_weight, group=group, **given, **extras)

    @of_arrays
    def predict(self, X: Any, *, offset: Any = None) -> Float[np.ndarray, " row"]:
        """Returns the score of every row: within a group the most relevant rows have the highest."""
        return self.fixed_predictions(self.raw_scores(X, offset=offset)).predict()

    @property
    def score_name_(self) -> str:
        """The name of what `score` returns: "NDCG", or "NDCG of the first 5"."""
        return "NDCG" if self.ndcg_at is None else f"NDCG of the first {self.ndcg_at}"

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, group: Any = None, offset: Any = None) -> float:
        """Returns the mean over groups of the normalised discounted cumulative gain of their first `ndcg_at` rows.

        A group in which no row is relevant counts as 1. Rows of equal scores count with the mean over all their orders,
        as in scikit-learn's `ndcg_score`, so that the order of the table does not matter.

        Args:
            X: A table, or a source.
            y: How relevant every row is, a whole number from 0 to 31.
            sample_weight: The weight of every row.
            group: The group of every row.
            offset: The numbers that are added to the scores.
        """
        check_is_fitted(self)
        rows = read_known(self.outputs(), X, y, sample_weight, {"group": group, "offset": offset})
        return self.score_known(rows, self._scores(rows.X))

    def score_known(self, rows: Sample, scores: Float[np.ndarray, "row score"]) -> float:
        """Returns what `score` does of rows that are read already."""
        return ndcg_of(self.loss_, rows, scores, k=self.ndcg_at)

    def _make_loss(self, outputs: Outputs) -> BaseLoss:
        if outputs.number > 1:
            raise InvalidInputError(f"a ranker has one target, got {outputs.number} columns of y")
        if not isinstance(self.loss, str):
            return self.loss
        return ranking.ndcg(self.ndcg_at) if self.loss == "ndcg" else RANKING_LOSSES[self.loss]()
