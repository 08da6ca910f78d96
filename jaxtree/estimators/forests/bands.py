r"""Bands of forests: of predictions, importances and dependence.

A *draw* is the forest that a fit would have been had the targets of its rows been others: the rows stay, and a target
is what forests say of the row that were grown without it, with noise that is drawn again (`jaxtree.forests.redraws`).
Forests are means of targets by weights that splits choose, $\sum_i w_i(x) y_i$ (Lin and Jeon, *Random forests and
adaptive nearest neighbors*, Journal of the American Statistical Association 101, 2006), whose noise is that of
$\sum_i w_i(x) \epsilon_i$: draws of targets have it, whatever rows a tree draws. Draws of rows have less where trees
are deep, as the mean of a leaf of one row does not depend on how often it is drawn. On six simulated tables of 500 rows
predictions have the deviation 0.41 by draws of targets for random forests, and 0.42 for extra trees, as those of
forests on new tables have it; by draws of rows they have 0.36 and 0.29.

A draw has few trees, in two halves. The variance within halves says how much of the variance between draws is the noise
of trees, which is taken away, and the noise of as many trees as the forest has is added: little bags (Sexton and Laake,
*Standard errors for bagged and random forest estimators*, Computational Statistics and Data Analysis 53, 2009; see
`jaxtree.moments.little_bags`).

Trees also smooth. Draws are made around what forests say and smooth it again, so that the distance of their mean from
that shows by how much, at rows that neither have seen; a band is wider by it.
"""

import abc
import functools
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int64

from jaxtree.arrays import spread
from jaxtree.dataset.dataset import Dataset
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import key_of, progress_of
from jaxtree.estimators.common.drawn_bands import ColumnBands, ImportanceWords, RowsOfFit, as_vectors
from jaxtree.estimators.common.fold_rows import divide
from jaxtree.figures.bands import Band, BandWidths, widths_of
from jaxtree.figures.dependence import MOST_ROWS
from jaxtree.files.trees import RandomKey
from jaxtree.forests.redraws import draw_classes, draw_numbers
from jaxtree.moments.little_bags import debiased
from jaxtree.table.redraws import RedrawnRows
from jaxtree.table.sources import is_source
from jaxtree.table.target import ClassTarget
from jaxtree.table.weights import class_weights

NUM_FOLDS = 5
"""Forests that each predict a fifth of the rows, which they have not seen."""

NUM_AGAIN = 4
"""The draws of each fold, from which it is known how far forests smooth."""

TREES_OF_HALF = 4
"""The trees of each half of a draw, at most; half of those of the forest if these are fewer."""


class ForestDraws(NamedTuple):
    """The draws of a fit.

    Attributes:
        bias: The root of the mean square of the bias of every column of `DrawnTargets.predict`.
        halves: The halves of all draws, those of one side by side.
    """

    bias: Float64[np.ndarray, " column"]
    halves: list[Any]


class ForestBands(ColumnBands):
    """Bands of a forest, from forests of the same rows whose targets are drawn again.

    The truth lies in the band of a prediction at a share of `level` of the rows: bands are pointwise, and whole curves
    lie within them less often. They know the noise of targets, and how far trees smooth as far as smoothing the forest
    once more shows it, which a forest of much noise makes greater than it is: `bias` has its size. They do not know
    that columns are missing. Parameters and bins are not chosen anew.

    On simulated tables of 500 rows, bands of level 0.9 hold 0.95 to 0.98 of true means and probabilities where these
    follow from a sum of columns, and of an interaction 0.89 with random forests and 0.92 with extra trees. With leaves
    of 10 rows they hold 0.92 to 0.94 and 0.80: such a forest smooths more than smoothing it once more shows. They hold
    0.97 to 0.99 of the mean of forests on such tables, which has no bias, and bands of dependence 0.79 to 0.97 of the
    true values (`python -m benchmarks.bands --models forest`).

    See `jaxtree.RandomForestRegressor.bands`, which makes them.

    Attributes:
        level: The share of rows whose bands are to hold.
        draws: How many draws they are made of.
        seed: The seed of the draws.
    """

    _why_biased = (
        "Trees smooth so much that they pull some {noun} towards their mean by much more than their noise. Bands know "
        "this bias only as far as the {noun} show it, and may not hold:"
    )

    _held_in_simulations = (
        "bands of level 0.9 held 0.80 to 0.98 of the true means of simulated tables, the least of an interaction with "
        "leaves of 10 rows, and 0.97 to 0.99 of the mean of forests."
    )
    """How often bands have held what is known, in words."""

    def __init__(self, estimator: Any, rows: RowsOfFit, drawn: ForestDraws, level: float):
        super().__init__(estimator, rows, level, len(drawn.halves) // 2)
        self._bias, self._members = drawn.bias, [self._estimator, *drawn.halves]

    def predict(self, X: Any) -> Band:
        """Returns the predictions of rows with their bands: numbers, or of classes their probabilities.

        A band is of what is predicted, such as a mean, and not of targets, which lie farther off. It does not depend on
        the other rows: the bias is that of rows which a forest has not seen, in the mean.

        Args:
            X: A table.
        """
        predicted = self._predictions(self._values_of(X))
        return as_vectors(self._within(self._around(predicted, self._bias[: predicted.shape[2]])))

    def importances(self) -> Band:
        """Returns `feature_importances_` with its band: the shares of the gain, in the order of `column_names`.

        Noise makes shares greater: that of a column that tells nothing is not 0.
        """
        return self._band(np.stack([own.feature_importances_ for own in self._members])).clipped(0, 1)

    def importance_words(self) -> ImportanceWords:
        """Returns the names of the columns, and what their importances are."""
        return ImportanceWords("column", self.column_names, "share of the gain", "Share of the gain of all splits")

    def _predictions(self, values: Float64[np.ndarray, "row feature"]) -> Float64[np.ndarray, "member row column"]:
        return np.stack([own.predict_values(values) for own in self._members])

    @property
    def _names(self) -> list[str]:
        outputs = self._estimator.class_names()
        if len(outputs) < 2:
            return super()._names
        return [f"{name} of output {number}" for number, classes in enumerate(outputs) for name in classes]

    @property
    def _num_members(self) -> int:
        return 1 + 2 * self.draws

    def _band(
        self,
        found: Float[np.ndarray, "member *point"],
        curve: Any = None,
        weight: Float[np.ndarray, "*point"] | None = None,
    ) -> Band:
        draws = self._without_noise_of_trees(found[1:])
        return super()._band(np.concatenate([found[:1], found[:1], draws]), curve, weight)

    def _around(self, found: Float64[np.ndarray, "member row column"], bias: Float64[np.ndarray, " column"]) -> Band:
        """Returns the band of numbers that all members have, with a bias that is known."""
        center, variance = found[0], self._without_noise_of_trees(found[1:]).var(axis=0, ddof=1)
        half = self._widths.factor * np.sqrt(variance + np.square(bias))
        return Band(center, center - half, center + half)

    def _without_noise_of_trees(self, halves: Float[np.ndarray, "half *point"]) -> Float64[np.ndarray, "draw *point"]:
        """Returns draws whose variance has the noise of as many trees as the forest has."""
        first, second = halves[::2], halves[1::2]
        draws, noise = (first + second) / 2, np.square(first - second).mean(axis=0) / 4
        mean, between = draws.mean(axis=0), draws.var(axis=0, ddof=1)
        number = np.full(between.size, len(draws))
        own = debiased(between.reshape(1, -1), noise.reshape(1, -1), number).reshape(between.shape)
        share = sum(map(len, self._members[1:3])) / len(self._estimator)
        factor = np.divide(own + share * noise, between, out=np.zeros_like(between), where=between > 0)
        return mean + np.sqrt(factor) * (draws - mean)

    @functools.cached_property
    def _widths(self) -> BandWidths:
        """The half widths of predictions of the rows of the fit, an output a curve."""
        draws = self._without_noise_of_trees(self._predictions(self._rows.values)[1:])
        num_outputs, weight = draws.shape[2], self._rows.weight
        truth = (draws.mean(axis=0) - self._bias[:num_outputs]).ravel()
        curve, weight = np.tile(np.arange(num_outputs), len(weight)), np.repeat(weight, num_outputs)
        return widths_of(draws.reshape(self.draws, -1), truth, self.level, curve=curve, weight=weight)

    def _origin(self) -> str:
        number = self._rows.sample.num_rows
        return (
            f"Bands of level {self.level:g} by {self.draws} draws of the targets of {number:,} rows. They hold the "
            f"truth less often where trees smooth more than shows: {self._held_in_simulations}"
        )


class DrawnTargets(abc.ABC):
    """The rows of a fit of a forest, whose targets are drawn again.

    Args:
        estimator: The fitted estimator.
        data: Its rows.
        drawn: How targets are drawn.
    """

    def __init__(self, estimator: Any, data: Dataset, drawn: RedrawnRows):
        self.estimator, self.data, self.drawn = estimator, data, drawn
        classes = estimator.class_names(), data.outputs.classes
        is_same = estimator.n_outputs_ == data.outputs.number and len(classes[0]) == len(classes[1])
        check_is_of_fit(is_same and data.schema == estimator.schema_ and all(map(np.array_equal, *classes)))
        X = data.sample.X
        table = X.without(estimator.other_columns_) if is_source(X) else X
        self.values = np.asarray(estimator.encoder_.values(table), np.float64)
        self.folds = self._divide()

    def _divide(self) -> list[Int64[np.ndarray, " held"]]:
        """Returns the rows that each of some forests does not see; those of a group are together."""
        groups, sample = self.drawn.groups, self.data.sample
        fields = sample.fields if groups is None else {**sample.fields, "group": groups}
        num_units = sample.num_rows if groups is None else int(groups.max()) + 1
        blank = sample._replace(X=np.zeros((sample.num_rows, 0)), fields=fields, weight=None)
        return [fold.held for fold in divide(blank, min(NUM_FOLDS, num_units), self.drawn.seed)]

    @abc.abstractmethod
    def learn(self) -> Float64[np.ndarray, "row column"]:
        """Learns the truth of every row, and returns its predictions, by forests that have not seen the row."""

    @abc.abstractmethod
    def draw(self, generator: np.random.Generator) -> Dataset:
        """Returns the rows with targets that are drawn again."""

    def predict(self, forest: Any, values: Float64[np.ndarray, "row feature"]) -> Float64[np.ndarray, "row column"]:
        """Returns what a forest predicts of encoded rows, of which the bias is to be known."""
        return forest.predict_values(values)

    def check_is_of_fit(self) -> None:
        """Raises InvalidInputError if the trees that grow on the rows are not those of the estimator."""
        estimator, some = self.estimator, spread(self.data.num_rows, MOST_ROWS)
        right = estimator.predict_values(self.values[some])
        again = estimator.grown_anew(self.data, len(estimator), estimator.key_of_fit)
        check_is_of_fit(np.allclose(again.predict_values(self.values[some]), right, rtol=1e-9, atol=1e-12))

    def held_out(self, estimator: Any, data: Dataset) -> Float64[np.ndarray, "row column"]:
        """Returns what forests predict of the rows that they have not seen.

        Args:
            estimator: The parameters of the forests.
            data: The rows.
        """
        order, number = np.argsort(np.concatenate(self.folds)), len(estimator)
        parts = []
        for fold, held in enumerate(self.folds):
            own = estimator.grown_anew(without_rows(data, held), number, key_of_draw(self.drawn.seed, fold))
            parts.append(self.predict(own, self.values[held]))
        return np.concatenate(parts)[order]

    def bias_of(self, known: Float64[np.ndarray, "row column"]) -> Float64[np.ndarray, " column"]:
        """Returns how far forests of draws are from what these are made around, at rows that they have not seen.

        It is the root of the mean square of the bias over some rows, without the noise of the draws.

        Args:
            known: The result of `learn`.
        """
        some = spread(self.data.num_rows, MOST_ROWS)
        total, weight = np.zeros(known.shape[1]), self.data.weight
        weight = np.ones(self.data.num_rows) if weight is None else weight
        for fold, held in enumerate(self.folds):
            rows, found = np.intersect1d(held, some), []
            for again in range(NUM_AGAIN if rows.size else 0):
                generator = self.drawn.generator(again, fold + 1)
                data = without_rows(self.draw(generator), held)
                forest = self.estimator.grown_anew(data, 2 * self.trees_of_half, key_of_draw(generator.integers(2**31)))
                found.append(self.predict(forest, self.values[rows]))
            if found:
                noise = np.var(found, axis=0, ddof=1) / NUM_AGAIN
                total += weight[rows] @ (np.square(np.mean(found, axis=0) - known[rows]) - noise)
        return np.sqrt(np.maximum(total / weight[some].sum(), 0))

    @property
    def trees_of_half(self) -> int:
        """The trees of each half of a draw."""
        return max(1, min(TREES_OF_HALF, len(self.estimator) // 2))


class DrawnNumbers(DrawnTargets):
    """Rows whose targets are numbers."""

    def learn(self) -> Float64[np.ndarray, "row column"]:
        """Learns the truth of every row."""
        self.truth = self.held_out(self.estimator, self.data)
        return self.truth

    def draw(self, generator: np.random.Generator) -> Dataset:
        """Returns the rows with residuals, or their opposites; counts have targets from 0 on."""
        uniform = self.drawn.uniform(generator, 1, self.data.num_rows)[0]
        least = 0.0 if self.estimator.criterion == "poisson" else -np.inf
        return with_target(self.data, draw_numbers(self.data.target.T, self.truth, uniform, least).T)


class DrawnClasses(DrawnTargets):
    """Rows whose targets are classes.

    Args:
        estimator: The fitted estimator.
        data: Its rows.
        drawn: How targets are drawn.
        weight: The weights of rows without those of classes.
    """

    def __init__(self, estimator: Any, data: Dataset, drawn: RedrawnRows, weight: Float64[np.ndarray, " row"] | None):
        super().__init__(estimator, data, drawn)
        self.plain = data.with_weight(weight)

    def learn(self) -> Float64[np.ndarray, "row column"]:
        """Learns the chances of classes, which weights of classes would change."""
        held = self.held_out(self.estimator.with_plain_classes(), self.plain)
        self.truth = self.estimator.model_.by_output(held)
        return held if self.estimator.class_weight is None else self.held_out(self.estimator, self.data)

    def draw(self, generator: np.random.Generator) -> Dataset:
        """Returns the rows with classes, and the weights that these have."""
        uniform = self.drawn.uniform(generator, len(self.truth), self.data.num_rows)
        codes = np.stack([draw_classes(*own) for own in zip(self.truth, uniform, strict=True)]).astype(np.int32)
        drawn = with_target(self.plain, codes)
        return drawn.with_weight(weighted_by_class(self.estimator, drawn))


def drawn_anew(targets: DrawnTargets, number: int) -> tuple[RowsOfFit, ForestDraws]:
    """Returns the rows of a fit, and its draws.

    Args:
        targets: The rows.
        number: How many draws.

    Raises:
        InvalidInputError: The rows are not those of the fit.
    """
    estimator, data = targets.estimator, targets.data
    targets.check_is_of_fit()
    bias, halves = targets.bias_of(targets.learn()), []
    with progress_of(estimator.verbose, number, "growing", "draws") as on_draw:
        for draw in range(number):
            generator = targets.drawn.generator(draw)
            rows = targets.draw(generator)
            for seed in generator.integers(2**31, size=2):
                halves.append(estimator.grown_anew(rows, targets.trees_of_half, key_of_draw(seed)))
            if on_draw is not None:
                on_draw(1)
    some = spread(data.num_rows, MOST_ROWS)
    weight = np.ones(data.num_rows) if data.weight is None else np.asarray(data.weight, np.float64)
    kept = data.sample._replace(X=np.zeros((data.num_rows, 0)))
    return RowsOfFit(targets.values[some], weight[some], kept, targets.drawn), ForestDraws(bias, halves)


def check_is_of_fit(is_of_fit: bool) -> None:
    """Raises InvalidInputError if rows are not those of a fit."""
    if not is_of_fit:
        raise InvalidInputError(
            "X must be the rows of the fit, with y, weights, further inputs and parameters as they were: growing the "
            "trees again makes others than those of the model. Trees that were changed after the fit have no bands"
        )


def weighted_by_class(estimator: Any, data: Dataset) -> Float64[np.ndarray, " row"] | None:
    """Returns the weights of rows times those of their classes."""
    given, weight, outputs = estimator.tree_parameters().class_weight, data.weight, data.outputs
    # The fit has found that a dict names no class that the target does not declare.
    named = tuple({name for own in ([given] if isinstance(given, dict) else given or []) for name in own})
    absent = () if isinstance(given, str) else named
    target = ClassTarget(outputs.classes, data.target, outputs.declared, (absent,) * len(outputs.classes))
    with np.errstate(divide="ignore"):  # a class that a draw lacks
        factor = class_weights(given, target, None, weight)
    return weight if factor is None else factor if weight is None else weight * factor


def with_target(data: Dataset, target: Any, **fields: Any) -> Dataset:
    """Returns rows with another target, and other fields of some names."""
    sample = data.sample._replace(target=target, fields={**data.fields, **fields})
    return data._replace(sample=sample, whole=sample)


def without_rows(data: Dataset, rows: Int64[np.ndarray, " left_out"]) -> Dataset:
    """Returns the rows without some."""
    kept = np.delete(np.arange(data.num_rows), rows)
    sample = data.sample.take(kept)
    return data._replace(sample=sample, whole=sample, codes=data.codes[:, kept], has_weight=None)


def key_of_draw(seed: Any, fold: int = 0) -> RandomKey:
    """Returns the key of a forest, by a seed and the number of its fold."""
    return RandomKey.of(key_of(int(seed) + fold))
