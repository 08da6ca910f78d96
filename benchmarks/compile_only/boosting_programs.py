"""The rounds of boosting as programs: losses, draws of rows and dropped trees.

Growth is half of such a program, and the same in all. With `without_growth` a tree of no meaning stands in its place,
so that what differs from loss to loss compiles alone.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import jax
import numpy as np
from jaxtyping import Array, Float, Int32, UInt8

from benchmarks.compile_only.programs import NUM_BINS, NUM_FEATURES, Program
from jaxtree.boosting import boost, logistic, quantile, softmax, squared
from jaxtree.boosting.batch import Member
from jaxtree.boosting.booster import Shrinkage
from jaxtree.boosting.data import BaseLearner, BoostData
from jaxtree.boosting.dropping import Dropping
from jaxtree.boosting.many import Bounds, boost_many
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.boosting.rounds import blank_tables
from jaxtree.boosting.samples import MinimalVariance, OneSided
from jaxtree.compilation import compiled
from jaxtree.functional import Boosting, Hyper, fit
from jaxtree.growth import Limits, Sizes
from jaxtree.growth.loop.grow import Growth
from jaxtree.growth.loop.prepare import GrowthInputs
from jaxtree.growth.plan.plan import Plan
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree.walk import apply

DEPTH, NUM_CLASSES, NUM_ROUNDS, NUM_EVALUATED = 6, 5, 100, 10_000
NUM_MODELS, FEW_BINS, NUM_SETTINGS, FEW_LEAVES = 16, 32, 64, 16
SMALL_TABLE = (4, 256)
"""Features and rows of the smallest table, for a program that compiles in seconds."""


def boost_trees(num_rows: int, loss: BaseLoss, **shrinkage: Any) -> Any:
    """Boosts trees on a loss, and evaluates it on other rows."""
    rows, evaluated = (_rows(number, loss.num_scores) for number in (num_rows, NUM_EVALUATED))
    data = BoostData(rows, evaluations=(evaluated,), start=np.zeros(loss.num_scores))
    learner = BaseLearner(Limits(max_depth=DEPTH), Sizes(num_bins=NUM_BINS, capacity=2 ** (DEPTH + 1)))
    return boost(data, loss, learner, Shrinkage(**shrinkage), num_rounds=NUM_ROUNDS)


def boost_models(num_rows: int) -> Any:
    """Boosts many models of few codes on the squared error, together."""
    data = BoostData(_rows(num_rows, 1), start=np.zeros(1))
    learner = BaseLearner(Limits(), Sizes(num_bins=FEW_BINS, capacity=2 ** (DEPTH + 1)))
    member = Member(Limits(max_depth=DEPTH), Shrinkage(), NUM_ROUNDS)
    return boost_many(data, squared(), learner, [member] * NUM_MODELS, bounds=Bounds(NUM_MODELS))


@compiled()
def fit_settings(
    codes: UInt8[Array, "feature row"], target: Float[Array, " row"], rate: Float[Array, " setting"]
) -> Any:
    """Boosts a model for each of many rates, as a user of functions does."""
    boost_one = fit(squared(), NUM_ROUNDS, Boosting(FEW_BINS, FEW_LEAVES))
    return jax.vmap(lambda own: boost_one(codes, target, Hyper(own), start=0.0).stack)(rate)


def fit_by_functions(num_rows: int, num_settings: int) -> Any:
    """Boosts models by a function of arrays."""
    codes = np.zeros((NUM_FEATURES, num_rows), np.uint8)
    return fit_settings(codes, np.zeros(num_rows, np.float32), np.full(num_settings, 0.1, np.float32))


@compiled()
def fit_table(codes: UInt8[Array, "feature row"], target: Float[Array, " row"]) -> Any:
    """Boosts small trees from the scores that are best for all rows."""
    boost_one = fit(squared(), 2, Boosting(8, 4, has_missing=False))
    return boost_one(codes, target, Hyper(min_samples_leaf=None)).stack


def fit_a_table(_: int) -> Any:
    """Boosts a model of a small table by a function, in a program of 32 bits."""
    with jax.enable_x64(False):
        return fit_table(np.zeros(SMALL_TABLE, np.uint8), np.zeros(SMALL_TABLE[1], np.float32))


def _rows(number: int, num_scores: int) -> ScoredRows:
    """Rows with classes; no value of the codes matters to a compiler."""
    target = np.arange(number) % max(2, num_scores)
    return ScoredRows(np.zeros((NUM_FEATURES, number), np.uint8), target, np.ones(number), {})


@contextmanager
def without_growth() -> Iterator[None]:
    """Puts a tree of no meaning in the place of growth."""
    with mock.patch("jaxtree.boosting.round_tree.grow_with_leaves", _any_tree):
        yield


def _any_tree(prepared: GrowthInputs, *, plan: Plan) -> tuple[Growth, Int32[Array, " row"]]:
    """A tree that depends on the rows, so that the compiler cannot know it, and the leaf of every row."""
    assert prepared.weight is not None
    unknown = prepared.weight[0]
    tree = jax.tree.map(lambda column: column[0] + unknown.astype(column.dtype), blank_tables(plan, 1))
    return Growth(tree, unknown > 0), apply(tree, prepared.codes)


def _boosting(loss: BaseLoss, **shrinkage: Any) -> Program:
    return Program("make_rounds", functools.partial(boost_trees, loss=loss, **shrinkage))


BOOSTING = {
    "boosting, squared": _boosting(squared()),
    "boosting, two classes": _boosting(logistic(), sample=OneSided(), dropping=Dropping()),
    "boosting, five classes": _boosting(softmax(NUM_CLASSES)),
    "boosting, whole Hessians": _boosting(softmax(NUM_CLASSES, "full"), sample=MinimalVariance()),
    "boosting, a quantile": _boosting(quantile(0.3)),
}
"""Programs of boosting, by their losses; that of two classes also draws rows by one side and drops trees."""

MANY = {"boosting, many models": Program("make_rounds", boost_models)}
"""The program of many models, whose levels near the root are products."""

SMALL_FUNCTIONS = "boosting by functions, a small table"
FUNCTIONS = {
    f"boosting by functions, {number} settings": Program(
        "fit_settings", functools.partial(fit_by_functions, num_settings=number)
    )
    for number in (1, NUM_SETTINGS)
} | {SMALL_FUNCTIONS: Program("fit_table", fit_a_table)}
"""Programs of users: a fit by a function, one of many settings by `vmap`, and one that compiles in seconds."""
