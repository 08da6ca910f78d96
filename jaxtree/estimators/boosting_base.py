"""The base of boosted estimators: one table, the rounds of boosting on it, and what its trees predict together."""

import abc
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Real, UInt
from sklearn.exceptions import DataConversionWarning

from jaxtree import buckets
from jaxtree.boosting.booster import BoostData, Boosted, NewRounds, Stop, boost
from jaxtree.boosting.loss import BaseLoss
from jaxtree.boosting.rounds import ScoredRows
from jaxtree.errors import InterruptedFitWarning, InvalidInputError
from jaxtree.estimators.base import BaseTree
from jaxtree.estimators.boosting_kept import FittedBoosting
from jaxtree.estimators.boosting_parameters import BINS, OF_READING, BoostingParameters
from jaxtree.estimators.conventions import progress_of_trees
from jaxtree.estimators.growing import decode_thresholds, features_of, padded_codes, padded_rows, widths_of
from jaxtree.estimators.parts import part_by_part, read_arguments
from jaxtree.estimators.sample import PreparedFit, Sample
from jaxtree.table.target import check_sample_weight
from jaxtree.tree.forest import Forest
from jaxtree.tree.nodes import target_means


class BaseBoosting(BoostingParameters, FittedBoosting):
    """Boosted trees on any table."""

    pruning = None

    _tree_class: ClassVar[type[BaseTree]]

    def __sklearn_tags__(self):
        """Sets scikit-learn's tags: one target."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Sequence[Any] | None = None) -> Self:
        """Boosts trees, round by round.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, a data frame, or a sparse matrix of scipy.
                Or a source that is read in parts, such as the path of a Parquet file (see
                `jaxtree.table.open_source`).
            y: The target of every row. Of a source also the name of its column.
            sample_weight: The weight of every row; a row of weight 0 is left out. Of a source also the name of a
                column.
            eval_set: Pairs of other tables and their targets, perhaps with weights as a third: `losses_` has the mean
                loss of each after every round. With `early_stopping` the first decides; without any, a part of the
                rows does, on which no tree is grown.

        Raises:
            InvalidInputError: The table, the target, the weights or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        self.check_parameters()
        blank = self._blank_tree()
        start = blank.prepare_fit(X, y, sample_weight)
        if blank.n_outputs_ > 1:
            raise InvalidInputError(f"boosted trees have one target, got {blank.n_outputs_} columns of y")
        if len(getattr(y, "shape", ())) == 2:
            message = "A column-vector y was passed when a 1d array was expected"
            warnings.warn(message, DataConversionWarning, stacklevel=2)
            blank.is_vector_ = True
        held = [self._evaluation(blank, given) for given in eval_set or ()]
        if self.early_stopping and not held:
            grown_on, own = start.sample.split(self.validation_fraction, self.random_state)
            start, held = blank.prepare_sample(grown_on), [own]
        self._learn_from(blank)
        self.loss_ = self._make_loss()
        with progress_of_trees(self.verbose, self.n_estimators, "boosting", "rounds are done") as on_grown:
            boosted = self._boost(blank, start, held, on_grown)
        self._settle(boosted)
        return self

    @property
    def n_estimators_(self) -> int:
        """The number of trees, which early stopping may have made smaller than `n_estimators`."""
        return len(self.model_.forest)

    @property
    def feature_importances_(self) -> Float[np.ndarray, " column"]:
        """Share of the loss saved by all splits that those on each column save."""
        saved = self._gains().sum(axis=0)
        return saved / saved.sum() if saved.sum() > 0 else saved

    @part_by_part
    def apply(self, X: Any) -> Int[np.ndarray, "row tree"]:
        """Returns the node of every tree where the walk of every row ends, counted from the tree's root."""
        values = self._values(X)
        return self.model_.predictor.ends_in_trees(values) - self.forest_.first_node[:-1]

    def raw_scores(self, X: Any) -> Float[np.ndarray, "row score"]:
        """Returns the scores of every row, which the loss turns into predictions: a column a score."""
        return self.model_.predict(self._values(X))

    def staged_scores(self, X: Any) -> Iterator[Float[np.ndarray, "row score"]]:
        """Yields the scores of every row after each round."""
        steps, ends = target_means(self.forest_.nodes), self.model_.predictor.ends_in_trees(self._values(X))
        scores = np.tile(self.start_, (len(ends), 1))
        for end in ends.T:
            scores = scores + steps[end]
            yield scores

    def predict_values(self, values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row column"]:
        """Returns predictions of rows that `encoder_.values` has encoded."""
        return self._predictions(self.model_.predict(values))

    @abc.abstractmethod
    def _make_loss(self) -> BaseLoss:
        """Returns the loss, when classes are known."""

    def _predictions(self, scores: Float[np.ndarray, "row score"]) -> Float[np.ndarray, "row column"]:
        """Returns what the loss predicts from scores."""
        with jax.enable_x64(True):
            return np.asarray(self.loss_.predict(jnp.asarray(scores.T))).T

    def _blank_tree(self) -> Any:
        """Returns a tree that reads the table as this estimator wants it, and does not grow."""
        names = [name for name in OF_READING if hasattr(self, name)]
        given: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.max_bins == "auto":
            given["max_bins"] = BINS
        return self._tree_class(**given)

    def _evaluation(self, blank: BaseTree, given: Any) -> Sample:
        """Returns a table of `eval_set` with its target and weights."""
        if not isinstance(given, list | tuple) or len(given) not in (2, 3):
            raise InvalidInputError(f"eval_set must hold pairs (X, y) or triples (X, y, weights), got {type(given)}")
        X, y, weight, _ = read_arguments(*given)
        target = blank.read_target(y)
        if np.any(target < 0) and blank.class_names():
            raise InvalidInputError("y of eval_set has a class that y does not have")
        return Sample(X, target, (), check_sample_weight(weight, target.shape[1]))

    def _boost(self, blank: BaseTree, start: PreparedFit, held: list[Sample], on_grown: Any) -> Boosted:
        """Returns what the rounds have made."""
        encoded = start.encoded
        widths, codes = widths_of([encoded]), padded_codes([encoded])
        features = features_of(encoded.schema, encoded.recipe, widths, len(codes) - encoded.schema.num_features)
        rows = _rows_of(codes, encoded.target, encoded.weight)
        evaluations = []
        for sample in held:
            own = blank.encoder_.transform(sample.X)
            evaluations.append(_rows_of(buckets.pad_codes(own), sample.target, sample.weight))

        def on_rounds(new: NewRounds) -> bool:
            if on_grown is not None:
                on_grown(len(new.trees))
            return False

        return boost(
            BoostData(rows, features, tuple(evaluations)),
            self.loss_,
            self.base_learner(encoded.codes.shape[1], widths.num_bins),
            self.shrinkage(),
            num_rounds=self.n_estimators,
            seed=self.seed(),
            on_rounds=on_rounds,
        )

    def _settle(self, boosted: Boosted) -> None:
        """Takes a boosted model as the fitted one, with thresholds in units of the table."""
        if boosted.stop == Stop.NOT_FINITE:
            warnings.warn(
                f"{self.loss_}: derivatives are no numbers after round {len(boosted.forest)}; its trees are kept",
                InterruptedFitWarning,
                stacklevel=3,
            )
        forest = boosted.best if self.early_stopping else boosted.forest
        nodes = decode_thresholds(forest.nodes, self.encoder_.schema_)
        self.take_trees(Forest(nodes, forest.first_node), boosted.start, boosted.losses)


def _rows_of(
    codes: UInt[np.ndarray, "feature row"],
    target: Real[np.ndarray, "output row"],
    weight: Float[np.ndarray, " row"] | None,
) -> ScoredRows:
    """Returns rows padded to the length of the codes, by rows of weight 0."""
    weight = np.ones(target.shape[1]) if weight is None else weight
    target, weight = (padded_rows(part, codes.shape[1]) for part in (target[0], weight))
    return ScoredRows(codes, target, weight, {})
