"""Shapley values of the columns of a table and of pairs of them, for every row and what is predicted of it.

The scores of boosted trees are explained.

Rows are worked on in blocks, in threads: on a CPU by NumPy, for which nothing is compiled; so much that a compilation
pays, and all on an accelerator, by a program of JAX.
"""

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks, notebook
from jaxtree.blocks import for_blocks
from jaxtree.devices import costs, current_platform, placed
from jaxtree.explain.edges import Edges, Rule, edges_by_tree, edges_of
from jaxtree.explain.hard_forms import compare, hard_form, has_no_sum, together
from jaxtree.explain.kernel import sum_shap_interactions, sum_shap_values
from jaxtree.explain.on_host import HostTree
from jaxtree.export.models import best_of_search, exported_model
from jaxtree.tree import SplitKind
from jaxtree.tree.kinds import ModelKind, kind_of
from jaxtree.tree.model import FittedModel

MOST_SHOWN = 10
"""The number of columns that a notebook shows."""


class _ShapValues(NamedTuple):
    values: Float64[np.ndarray, "row column *class"]
    base: Float64[np.ndarray, "*class"]


class ShapValues(_ShapValues):
    """Shapley values, a pair of arrays.

    Attributes:
        values: A value for every row and column; of classes also for every class, of several scores for every score.
            With `base` they add up to the prediction, or to the scores.
        base: The prediction of no row in particular.
        how: How they were found: "exact", or in some words more.
    """

    how: str = "exact"

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the mean size of every column's values, the greatest first."""
        sizes = np.abs(self.values).mean(axis=0)
        order = np.argsort(-sizes.reshape(len(sizes), -1).sum(axis=1), kind="stable")
        size = np.atleast_2d(sizes.T).T
        rows = [[f"column {place}", *(f"{own:.4g}" for own in size[place])] for place in order[:MOST_SHOWN].tolist()]
        parts = ["mean size"] if size.shape[1] == 1 else [f"mean size, {place}" for place in range(size.shape[1])]
        base = ", ".join(f"{own:.4g}" for own in np.atleast_1d(self.base))
        facts = [("Shapley values of rows", f"{len(self.values):,}"), ("base", base), ("how", self.how)]
        head = notebook.facts(facts)
        return head + notebook.table(["", *parts], rows, len(order) - MOST_SHOWN)


def _found(values: Float64[np.ndarray, "..."], base: Any, how: str) -> ShapValues:
    """Shapley values with the words for how they were found."""
    made = ShapValues(values, base)
    made.how = how
    return made


def shap_values(estimator: Any, X: Any, *, background: Any = None) -> ShapValues:
    r"""Returns the Shapley values of what a fitted tree or forest predicts: means, or shares of classes.

    The value of a column is its mean contribution over all orders in which columns become known. The prediction without
    a column is the mean over the training rows that reach a node (path-dependent TreeSHAP: Lundberg et al., *From local
    explanations to global understanding*, 2020), or over the rows of a background (interventional TreeSHAP).
    A column that is split one-hot is one column. Where a missing value shares out a row among branches, it counts as if
    it were not known. These are exact.

    Planes, and hardened forests with weights of leaves, are no such sums: the values compare rows with at most a
    hundred of a background, over all coalitions of up to eight columns, or of more over 64 random orders, which
    estimate them; they add up all the same. Soft trees and forests are explained by their hardened form. `how` says
    which.

    The cost grows with the number of nodes and with half the most columns on a path, and for a background with its
    rows. Rows of additive models look their values up, see `jaxtree.additive.shapley`.

    Args:
        estimator: A fitted tree or forest of one output, boosted trees, or a soft tree or forest that has
            a hard form.
        X: A table.
        background: A table of rows to compare with; None for the training rows, as the nodes have counted them, of
            planes and weights of leaves for rows that they were hardened on, or for X itself if they are from a file.

    Raises:
        InvalidInputError: The estimator has several outputs, a table is not like the fitted one, or a soft model has no
            hard form.
        InvalidTypeError: It is no tree or forest of jaxtree.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 2.0, 4.0, 6.0]
        >>> explained = shap_values(DecisionTreeRegressor().fit(X, y), [[1.0, 1.0]])
        >>> explained.base.item(), explained.values.tolist()
        (3.0, [[2.0, 1.0]])
    """
    estimator = best_of_search(estimator)
    if background is None and kind_of(estimator) == ModelKind.TERMS:
        return estimator.shap_by_table(X)
    if kind_of(estimator) == ModelKind.SOFT:
        hard, note = hard_form(estimator)
        explained = shap_values(hard, X, background=background)
        return _found(explained.values, explained.base, together(note, explained.how))
    if has_no_sum(estimator):
        return shap_in_comparison(estimator, X, background)
    model, values = _prepare(estimator, X)
    others = None if background is None else np.asarray(estimator.encoder_.values(background), np.float64)
    return _shap_values(model, edges_by_tree(model), values, others)


def shap_in_comparison(estimator: Any, X: Any, background: Any = None) -> ShapValues:
    """Returns the values of an estimator of planes or of weights of leaves; see `shap_values`."""
    values, base, how = _compared(estimator, X, background, of_pairs=False)
    return _found(values, base, how)


def _compared(estimator: Any, X: Any, background: Any, *, of_pairs: bool) -> tuple[Any, Any, str]:
    """The contributions of columns or pairs, in comparison with rows; of one score or mean without its axis."""
    check_is_fitted(estimator)
    encode = estimator.encoder_.values
    others = None if background is None else np.asarray(encode(background), np.float64)
    values, base, how = compare(estimator, np.asarray(encode(X), np.float64), others, of_pairs=of_pairs)
    if base.size > 1 or (is_classifier(estimator) and not estimator.model_kind.adds_up):
        return values, base, how
    return values[..., 0], base[0], how


def shap_values_of(model: FittedModel, values: Float64[np.ndarray, "row feature"]) -> ShapValues:
    """Returns the values of a model and of rows as `encoder_.values` has encoded them; see `shap_values`."""
    return _shap_values(model, edges_by_tree(model), values, None)


class ShapInteractions(NamedTuple):
    """Shapley interaction values.

    Attributes:
        values: A value for every row and pair of columns, both orders alike; of classes also for every class, of
            several scores for every score. A column with itself has its main effect. Each row of the matrix adds up to
            the Shapley value of its column; with `base` all add up to the prediction, or to the scores.
        base: The prediction of no row in particular.
    """

    values: Float64[np.ndarray, "row column column *class"]
    base: Float64[np.ndarray, "*class"]

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: of how many rows and columns they are."""
        sizes = [("rows", f"{len(self.values):,}"), ("columns", self.values.shape[1])]
        base = ", ".join(f"{own:.4g}" for own in np.atleast_1d(self.base))
        return notebook.facts([("Shapley interaction values", ""), *sizes, ("base", base)])


def shap_interaction_values(estimator: Any, X: Any) -> ShapInteractions:
    r"""Returns the exact Shapley interaction values of what a fitted tree or forest predicts.

    The value of two columns is half of what knowing one changes in the contribution of the other, as a mean over all
    orders in which columns become known (Fujimoto, Kojadinovic and Marichal, 2006; for trees Lundberg et al., *From
    local explanations to global understanding*, 2020). The prediction without a column is the mean over the training
    rows that reach a node, as in `shap_values`.

    The cost is that of `shap_values` times about the depth of the trees. Planes and weights of leaves have interactions
    of up to eight columns, in comparison with rows, and soft models those of their hardened form.

    Args:
        estimator: A fitted tree or forest of one output, boosted trees, or a soft tree or forest that has
            a hard form.
        X: A table.

    Raises:
        InvalidInputError: The estimator has several outputs, the table is not like the fitted one, there are too many
            columns, or a soft model has no hard form.
        InvalidTypeError: It is no tree or forest of jaxtree.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 0.0, 0.0, 4.0]
        >>> shap_interaction_values(DecisionTreeRegressor().fit(X, y), [[1.0, 1.0]]).values.tolist()
        [[[1.0, 0.5], [0.5, 1.0]]]
    """
    estimator = best_of_search(estimator)
    if kind_of(estimator) == ModelKind.TERMS:
        return estimator.shap_interactions_by_table(X)
    estimator = hard_form(estimator).estimator
    if has_no_sum(estimator):
        values, base, _ = _compared(estimator, X, None, of_pairs=True)
        return ShapInteractions(values, base)
    model, values = _prepare(estimator, X)
    edges = edges_by_tree(model)
    main = _shap_values(model, edges, values, None)
    num_columns = main.values.shape[1]
    asked = _Question(model, edges, values, None, of_pairs=True)
    pairs = _sum_up(asked, sum_shap_interactions, (num_columns, num_columns), 1 / len(model.forest))
    pairs += pairs.swapaxes(1, 2)
    own = np.arange(num_columns)
    pairs[:, own, own] = 0
    pairs[:, own, own] = main.values.reshape(len(values), num_columns, -1) - pairs.sum(axis=2)
    return ShapInteractions(pairs[..., 0] if main.values.ndim == 2 else pairs, main.base)


def _prepare(estimator: Any, X: Any) -> tuple[FittedModel, Float64[np.ndarray, "row feature"]]:
    """The model, and the rows."""
    model = exported_model(estimator)
    return model, np.asarray(estimator.encoder_.values(X), np.float64)


def _shap_values(
    model: FittedModel,
    edges: list[Edges],
    values: Float64[np.ndarray, "row feature"],
    others: Float64[np.ndarray, "other feature"] | None,
) -> ShapValues:
    """The values of rows compared with the training rows, or with other rows."""
    num_others, base = 1, np.mean([tree.base for tree in edges], axis=0)
    if others is not None:
        num_others, base = len(others), model.predict(others).mean(axis=0)
    program = partial(sum_shap_values, background=None if others is None else others.T)
    asked = _Question(model, edges, values, others, of_pairs=False)
    phi = _sum_up(asked, program, (len(model.schema.columns),), 1 / (len(model.forest) * num_others))
    return ShapValues(phi[:, :, 0], base[0]) if base.size == 1 and not model.classes else ShapValues(phi, base)


MANY_NUMBERS = 10**9
"""The product of rows, edges, points and outputs from which on a program is compiled on a CPU, too.

NumPy computes them in half a minute, a program in a third of that.
"""

MOST_LEVELS = 16
"""A program takes half a second a level to compile: of deeper trees none is made on a CPU."""

_NUMBERS_OF_BLOCK = 2**16
"""The most numbers of the widest level of a block of rows on a CPU: what its caches hold."""

_NUMBERS_ON_HOST = 2**18
"""The most numbers of all levels of a tree in a block of rows for NumPy."""

_NUMBERS_ON_ACCELERATOR = 2**26

_MOST_ROWS = 4096
_LEAST_ROWS = 16


class _Question(NamedTuple):
    """The rows and the model that are to be explained.

    Attributes:
        model: The model.
        edges: Its trees, each by itself.
        values: The rows.
        others: The rows to compare with; None for the training rows.
        of_pairs: Whether pairs of columns are explained.
    """

    model: FittedModel
    edges: list[Edges]
    values: Float64[np.ndarray, "row feature"]
    others: Float64[np.ndarray, "other feature"] | None
    of_pairs: bool

    @property
    def rule(self) -> Rule:
        """The points at which the integrand is evaluated."""
        most_columns = max(tree.most_columns for tree in self.edges)
        point, weight = np.polynomial.legendre.leggauss(max(1, -(-most_columns // 2)))
        return Rule((point + 1) / 2, weight / 2)

    @property
    def num_levels(self) -> int:
        """The most levels of edges."""
        return max(len(tree.levels) for tree in self.edges)

    @property
    def num_numbers(self) -> int:
        """The product of rows, edges, points and outputs."""
        num_edges = sum(level.parent.size for tree in self.edges for level in tree.levels)
        times = (1 if self.others is None else len(self.others)) * (self.num_levels if self.of_pairs else 1)
        return num_edges * len(self.rule.point) * self.edges[0].base.size * len(self.values) * times

    def is_for_jax(self) -> bool:
        """Whether JAX computes it."""
        if current_platform() == "cpu" and (forks.is_cut_off() or self.num_levels > MOST_LEVELS):
            return False
        return current_platform() != "cpu" or self.num_numbers > MANY_NUMBERS


def _sum_up(
    asked: _Question,
    program: Callable[..., Float64[Any, "*column output row"]],
    columns: tuple[int, ...],
    factor: float,
) -> Float64[np.ndarray, "row *column output"]:
    """Returns the sums over all trees for all rows, times a factor; block by block and in threads.

    Args:
        asked: The rows and scores that are explained.
        program: A function in JAX of the edges, the rule and some rows; see `sum_shap_values`.
        columns: The number of columns, once or for pairs twice.
        factor: The factor.
    """
    result = np.zeros((len(asked.values), *columns, asked.edges[0].base.size))
    if not asked.num_levels or not len(asked.values):
        return result
    with placed(None, lambda: costs.shapley(*asked.values.shape, numbers=asked.num_numbers)):
        return _sum_of_blocks(asked, program, columns[0], factor, result)


def _sum_of_blocks(
    asked: _Question, program: Callable[..., Any], num_columns: int, factor: float, result: Float64[np.ndarray, "..."]
) -> Float64[np.ndarray, "..."]:
    """Writes the sums of all rows, block by block and in threads."""
    if asked.is_for_jax():
        size, explain = _explain_in_jax(asked, program, num_columns)
    else:
        size, explain = _explain_on_host(asked, num_columns)

    def fill_block(block: slice) -> None:
        result[block] = np.moveaxis(explain(asked.values[block]), -1, 0) * factor

    for_blocks(fill_block, len(asked.values), size)
    return result


Explain = Callable[[Float64[np.ndarray, "some feature"]], Float64[np.ndarray, "*column output some"]]
"""The sums of some rows."""


def _explain_on_host(asked: _Question, num_columns: int) -> tuple[int, Explain]:
    """The rows that NumPy works on at a time, and what explains them."""
    rule = asked.rule
    trees = [HostTree(tree, rule, num_columns) for tree in asked.edges if tree.levels]
    others = None if asked.others is None else asked.others.T

    def explain(rows: Float64[np.ndarray, "some feature"]) -> Float64[np.ndarray, "*column output some"]:
        of_trees = (tree.interactions(rows.T) if asked.of_pairs else tree.values(rows.T, others) for tree in trees)
        total = reduce(np.add, of_trees)
        return total / 2 if asked.of_pairs else total

    most = max(tree.num_edges for tree in trees) * len(rule.point) * asked.edges[0].base.size
    return max(1, min(_MOST_ROWS, _NUMBERS_ON_HOST // most)), explain


def _explain_in_jax(asked: _Question, program: Callable[..., Any], num_columns: int) -> tuple[int, Explain]:
    """The rows that a program works on at a time, and what explains them."""
    edges, host_rule = edges_of(asked.model), asked.rule
    splits = edges.splits
    is_plain = bool((splits.kind == SplitKind.THRESHOLD).all() and (splits.missing_branch <= 1).all())
    with jax.enable_x64(True):
        rule = Rule(*map(jnp.asarray, host_rule))
        on_device = jax.tree.map(jnp.asarray, edges)
    size = _rows_of_block(edges, len(host_rule.point), len(asked.values))

    def explain(rows: Float64[np.ndarray, "some feature"]) -> Float64[np.ndarray, "*column output some"]:
        padded = np.pad(rows, ((0, size - len(rows)), (0, 0))).T
        with jax.enable_x64(True):
            found = np.asarray(program(on_device, rule, padded, num_columns=num_columns, is_plain=is_plain))
        return found[..., : len(rows)]

    return size, explain


def _rows_of_block(edges: Edges, num_points: int, num_rows: int) -> int:
    """Rows that a program works on at a time, a power of two."""
    widest = max(level.parent.shape[1] for level in edges.levels) * num_points * edges.base.size
    numbers = _NUMBERS_OF_BLOCK if current_platform() == "cpu" else _NUMBERS_ON_ACCELERATOR
    most = min(_MOST_ROWS, max(_LEAST_ROWS, numbers // widest))
    return min(1 << (most.bit_length() - 1), 1 << max(num_rows - 1, 1).bit_length())
