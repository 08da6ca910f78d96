"""Parameters of additive estimators, with the names and meanings of interpret's explainable boosting machines."""

import dataclasses
import math
import numbers
import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from jaxtyping import Int

from jaxtree.additive.loop import USUAL_PASSES
from jaxtree.additive.rules import AdditiveConfig, AdditiveRules, Ending
from jaxtree.additive.terms import Heredity
from jaxtree.dataset.sample import Outputs
from jaxtree.devices import costs
from jaxtree.devices.costs import Work
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import Role, Words, generator_of, whole
from jaxtree.estimators.common.features import read_monotone
from jaxtree.estimators.common.parameters import AUTO, EncodingParameters
from jaxtree.estimators.common.placing import shape_of
from jaxtree.estimators.common.prunings import AT_LEAST_0
from jaxtree.sklearn_compat import Interval, RealNotInt
from jaxtree.table.encoder import Encoder
from jaxtree.table.names import column_place
from jaxtree.table.schema import Schema

ABOVE_0 = Interval(numbers.Real, 0, None, closed="neither")
SHARE_BELOW_1 = Interval(RealNotInt, 0, 1, closed="left")

MOST_BINS = 1024
"""Bins of a column where `max_bins` is "auto", of tables of few columns."""

LEAST_BINS = 32
"""Bins of a column there at least, of tables of many columns."""

MOST_PLACES = 8192
"""Bins of all columns there: the sums over all pairs of them take 256 MB."""

BAGS = 8
"""Bags where `outer_bags` is "auto"."""

USUAL_RATE = 0.03
"""The learning rate where it is "auto"."""

USUAL_LEAVES = 3
"""Leaves of a step where `max_leaves` is "auto", unless steps of two leaves are better on the rows held out."""

ROWS_OF_ONE_RULE = 10_000
"""Rows from which on steps of two leaves are not tried: they are smoother, which matters less."""

PAIR_RATE = 3.0
"""How much longer steps of pairs are than those of single features."""

PAIR_ROWS = 10
"""The least rows of a leaf of pairs, which are chosen among many."""

PAIR_GREEDY = 4.0
"""Greedy steps of pairs for each in turn, at most: surfaces have more to fit to noise."""

PLACES_OF_PAIRS, PLACES_A_ROW, MOST_PLACES_OF_PAIRS = 2**16, 32, 2**20
"""Bins of all pairs: as many at least, as many for every row, and as many at most."""

ROWS_OF_FEWER_BAGS = 200_000
"""Rows from which on there are fewer: bags of more rows differ less."""

SCORES_OF_FEWER_BAGS = 5
"""Scores of a row, such as classes, from which on there are fewer: each has curves of its own."""

FEWER_BAGS = 4

_TIMES = re.compile(r"\d{1,9}(\.\d{1,9})?x?")
_PAIRS = "must be a number, a share, a number of columns as '3x', or a list of pairs of columns"


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class AdditiveParameters(EncodingParameters):
    """Parameters of additive models.

    Args:
        interactions: Which pairs of columns are terms: how many of those that save most, as a number, a share of
            the number of columns below 1, or times it as "3x"; or a list of pairs, by name or place. "auto" is "3x"
            of classes and "5x" of numbers.
        heredity: Which pairs are compared: "weak" asks for one column that matters by itself, "strong" for two,
            None for none.
        max_interaction_bins: The most bins of a column in a pair, that of missing values included; "auto" is 64.
        outer_bags: The number of bags; "auto" is 8, and 4 of tables from 200,000 rows or five classes on. One bag
            has no standard errors.
        max_samples: The most rows of a bag, which are drawn at random from longer tables.
        validation_size: The part of the rows, or their number, that every bag holds out; 0 for none, and all
            rounds.
        learning_rate: Shrinkage of every step; "auto" is 0.03.
        max_leaves: The most leaves of a step on one column, from 2 to 8; "auto" is 3, and 2 where that is better on
            the rows that a bag of a table below 10,000 rows holds out.
        greedy_ratio: After every pass over the terms, this many times as many steps go to the terms that gain most.
        max_rounds: The most rounds of every bag, of as many steps as there are terms.
        early_stopping_rounds: Rounds without a better loss of the rows held out after which a bag ends.
        early_stopping_tolerance: How much less a loss must be to be better, as a part of the loss.
        min_samples_leaf: The least rows of a leaf; of pairs at least 10.
        min_hessian: The least sum of second derivatives of a leaf.
        reg_lambda: L2 regularisation of leaf values: it is added to the sum of second derivatives of a leaf.
        reg_alpha: L1 regularisation of leaf values: it is taken from the size of a leaf's sum of gradients.
        max_delta_step: The greatest size of a leaf's step before the learning rate; 0 for any.
        min_cat_samples: The least rows of a category that has a bin of its own; rarer ones share one.
        cat_smooth: Rows of mean second derivatives that are added to each category before categories are sorted by
            their mean gradient.
        monotone_constraints: For every column 1, -1 or 0, or a dict from names: how the score may go as the column
            rises. Bounded columns are in no pair.
        gram_memory: The most memory, in MiB, of the sums over all pairs of bins, of a bag with all its scores;
            where they take more, rows are read instead.
        verbose: 1 for a bar of progress over bags; n for a line every n bags.
    """

    _of_classes: ClassVar[bool] = False

    interactions: Annotated[Any, whole(0), SHARE_BELOW_1, str, list, tuple, Role.PAIRS] = "auto"
    heredity: Annotated[str | None, Words({"weak", "strong"}), None, Role.PAIRS] = None
    max_interaction_bins: Annotated[int | str, whole(2, 65_535), AUTO, Role.PAIRS] = "auto"
    outer_bags: Annotated[int | str, whole(1), AUTO, Role.ROWS] = "auto"
    max_samples: Annotated[int, whole(2), Role.ROWS] = 2_000_000
    validation_size: Annotated[int | float, whole(0), SHARE_BELOW_1, Role.ROWS] = 0.15
    learning_rate: Annotated[float | str, ABOVE_0, AUTO, Role.FIT] = "auto"
    max_leaves: Annotated[int | str, whole(2, 8), AUTO, Role.FIT] = "auto"
    greedy_ratio: Annotated[float, AT_LEAST_0, Role.FIT] = 10.0
    max_rounds: Annotated[int, whole(1), Role.ENDS] = 50_000
    early_stopping_rounds: Annotated[int, whole(1), Role.ENDS] = 100
    early_stopping_tolerance: Annotated[float, AT_LEAST_0, Role.ENDS] = 1e-5
    min_samples_leaf: Annotated[int, whole(1), Role.FIT] = 4
    min_hessian: Annotated[float, AT_LEAST_0, Role.FIT] = 1e-4
    reg_lambda: Annotated[float, AT_LEAST_0, Role.FIT] = 0.0
    reg_alpha: Annotated[float, AT_LEAST_0, Role.FIT] = 0.0
    max_delta_step: Annotated[float, AT_LEAST_0, Role.FIT] = 0.0
    min_cat_samples: Annotated[int, whole(1), Role.FIT] = 10
    cat_smooth: Annotated[float, AT_LEAST_0, Role.FIT] = 10.0
    monotone_constraints: Annotated[Any, "array-like", dict, None, Role.FIT] = None
    gram_memory: Annotated[float, AT_LEAST_0, Role.FIT] = 1024.0
    verbose: Annotated[int, "verbose", Role.REPORTS] = 0

    def make_encoder(self, X: Any) -> Encoder:
        """Returns an encoder for a table, whose columns say how many bins each has at most where that is "auto"."""
        bins = self.max_bins
        if bins == "auto":
            shape = shape_of(X)
            bins = usual_bins(1 if shape is None else shape[1])
        return Encoder(
            max_bins=bins, max_categories=self.max_categories, categorical_features=self.categorical_features
        )

    def num_bags(self, num_rows: int, num_scores: int) -> int:
        """Returns the number of bags of so many rows, which have so many scores."""
        if self.outer_bags != "auto":
            return int(self.outer_bags)
        return BAGS if num_rows < ROWS_OF_FEWER_BAGS and num_scores < SCORES_OF_FEWER_BAGS else FEWER_BAGS

    def seed(self) -> int:
        """Returns the seed of the bags: the same in every fit without a `random_state`."""
        return 0 if self.random_state is None else int(generator_of(self.random_state).randint(2**31 - 1))

    def config(self, schema: Schema, outputs: Outputs, num_rows: int) -> AdditiveConfig:
        """Returns the parameters of a fit.

        Args:
            schema: The columns.
            outputs: The kind of the target, with its classes.
            num_rows: The number of rows.

        Raises:
            InvalidInputError: A parameter does not fit the columns.
        """
        rules = AdditiveRules(
            learning_rate=USUAL_RATE if isinstance(self.learning_rate, str) else self.learning_rate,
            reg_lambda=self.reg_lambda,
            reg_alpha=self.reg_alpha,
            max_delta_step=self.max_delta_step or np.inf,
            min_samples_leaf=self.min_samples_leaf,
            min_hessian=self.min_hessian,
            cat_smooth=self.cat_smooth,
            max_leaves=USUAL_LEAVES if isinstance(self.max_leaves, str) else self.max_leaves,
            greedy_ratio=self.greedy_ratio,
            gram_memory=int(self.gram_memory * 2**20),
        )
        ending = Ending(self.max_rounds, self.early_stopping_rounds, self.early_stopping_tolerance)
        monotone = read_monotone(self.monotone_constraints, schema, outputs, name="monotone_constraints")
        bins, is_auto = self.max_interaction_bins, self.max_leaves == "auto"
        return AdditiveConfig(
            rules=rules,
            ending=ending,
            smoother=dataclasses.replace(rules, max_leaves=2) if is_auto and num_rows < ROWS_OF_ONE_RULE else None,
            pair_rules=dataclasses.replace(
                rules,
                learning_rate=PAIR_RATE * rules.learning_rate,
                greedy_ratio=min(rules.greedy_ratio, PAIR_GREEDY),
                min_samples_leaf=max(rules.min_samples_leaf, PAIR_ROWS),
            ),
            pair_ending=ending._replace(patience=max(1, round(ending.patience / PAIR_RATE))),
            monotone=np.zeros(schema.num_features, np.int32) if monotone is None else monotone,
            pairs=self._pairs(schema, monotone),
            heredity=None if self.heredity is None else Heredity[self.heredity.upper()],
            pair_bins=64 if isinstance(bins, str) else bins,
            most_places=min(MOST_PLACES_OF_PAIRS, max(PLACES_OF_PAIRS, PLACES_A_ROW * num_rows)),
            screening_bins=32,
            min_category_rows=self.min_cat_samples,
        )

    def _pairs(self, schema: Schema, monotone: Int[np.ndarray, " feature"] | None) -> int | list[tuple[int, int]]:
        """Returns the pairs of features that are fitted, or how many.

        Raises:
            InvalidInputError: `interactions` is none of what is allowed, or names columns that are not there, or that
                constraints bound.
        """
        given, number = self.interactions, schema.num_features
        most = number * (number - 1) // 2
        if isinstance(given, str):
            if given == "auto":
                given = "3x" if self._of_classes else "5x"
            if not _TIMES.fullmatch(given):
                raise InvalidInputError(f"interactions {_PAIRS}, got {self.interactions!r}")
            return min(most, math.ceil(float(given.removesuffix("x")) * number))
        if isinstance(given, numbers.Real):
            return min(most, int(given) if isinstance(given, numbers.Integral) else math.ceil(float(given) * number))
        pairs = list(dict.fromkeys(_pair(pair, schema) for pair in given))
        bound = [] if monotone is None else [pair for pair in pairs if monotone[list(pair)].any()]
        if bound:
            names = " and ".join(repr(schema.column_names[column]) for column in bound[0])
            raise InvalidInputError(
                f"interactions has the pair of {names}, one of which monotone_constraints bounds: the terms of bounded "
                "columns are curves of their own"
            )
        return pairs

    def work_of_fit(self, num_rows: int, num_columns: int) -> Work:
        """Returns how much a fit of so many rows and columns has to do."""
        rows = min(num_rows, self.max_samples)
        return costs.additive(rows, num_columns, passes=USUAL_PASSES, bags=self.num_bags(num_rows, 1))


def usual_bins(num_columns: int) -> int:
    """Returns the most bins of a column where `max_bins` is "auto".

    >>> usual_bins(4), usual_bins(20), usual_bins(1_000)
    (1024, 409, 32)
    """
    return min(MOST_BINS, max(LEAST_BINS, MOST_PLACES // max(num_columns, 1)))


def _pair(given: Any, schema: Schema) -> tuple[int, int]:
    """Returns the two features of a pair that is given by names or numbers of columns."""
    is_pair = isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2
    places = sorted(column_place(column, schema.column_names, "interactions") for column in given) if is_pair else []
    if not is_pair or places[0] == places[1]:
        raise InvalidInputError(f"interactions {_PAIRS}; a pair has two different columns, got {given!r}")
    return places[0], places[1]
