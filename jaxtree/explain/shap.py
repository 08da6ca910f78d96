"""Shapley values of the columns of a table and of pairs of them, for every row and what is predicted of it.

The scores of boosted trees are explained.

On a CPU the kernel in C++ computes them, for which nothing is compiled; without it, and on an accelerator, a program of
JAX does, block by block of rows.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64, Int64
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks, notebook
from jaxtree.blocks import for_blocks
from jaxtree.devices import costs, current_platform, placed
from jaxtree.errors import InvalidInputError, InvalidTypeError, import_extra, present
from jaxtree.explain.carried import carried
from jaxtree.explain.hard_forms import compare, hard_form, has_no_sum, together
from jaxtree.explain.kernel import Rule, groups_of, sum_shap_interactions, sum_shap_values
from jaxtree.explain.splits import SplitForest, splits_of
from jaxtree.export.models import best_of_search, exported_model
from jaxtree.kernels.choose import Engine, choose
from jaxtree.kernels.explain import KernelTrees
from jaxtree.table.words import value_in_words
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
        encoder: The encoder of the rows, if an estimator is explained.
        table: The rows.
        outputs: The names of the classes or scores; none of one.
    """

    how: str = "exact"
    encoder: Any = None
    table: Any = None
    outputs: tuple[str, ...] = ()

    def to_shap(self) -> Any:
        """Returns the values as an `Explanation` of the package shap, for its plots.

        Its `data` are numbers by which rows are coloured, categories by their codes, and `display_data` words.
        With several classes or scores it has three axes, and a plot takes one: `explanation[:, :, "yes"]`.

        Raises:
            MissingExtraError: shap is not installed.
            InvalidInputError: The values do not know their rows: `shap_values` makes such as do.

        Example:
            >>> from jaxtree import DecisionTreeClassifier
            >>> model = DecisionTreeClassifier().fit([["a", 1], ["b", 2]] * 5, ["no", "yes"] * 5)
            >>> found = shap_values(model, [["a", 1]])
            >>> found.outputs, found.values.shape
            (('no', 'yes'), (1, 2, 2))
        """
        if self.encoder is None:
            raise InvalidInputError("to_shap takes the values that shap_values has returned, which know their rows")
        shap = import_extra("shap", "to_shap", "shap")
        schema, rows = self.encoder.schema_, np.asarray(self.encoder.values(self.table), np.float64)
        words = np.empty(rows.shape, object)
        for place, column in enumerate(schema.columns):
            words[:, place] = [column.in_words(float(value)) for value in rows[:, place]]
        return shap.Explanation(
            self.values,
            base_values=np.broadcast_to(self.base, (len(rows), *np.shape(self.base))).copy(),
            data=rows,
            display_data=words,
            feature_names=list(schema.column_names),
            output_names=list(self.outputs) or None,
        )

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

    Forests of moment equations solve one in means of statistics: the Shapley values of these are carried along a line
    to the solution, see `jaxtree.explain.carried`; they add up to the effect.

    Planes, and hardened forests with weights of leaves, are no such sums: the values compare rows with at most a
    hundred of a background, over all coalitions of up to eight columns, or of more over 64 random orders, which
    estimate them; they add up all the same. Soft trees and forests are explained by their hardened form. `how` says
    which.

    The cost grows with the number of nodes and with half the most columns on a path, and for a background with its
    rows. A row has the same bits beside any others, on any number of cores. Rows of additive models look their values
    up, see `jaxtree.additive.shapley`.

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
    found = _found_by_table(estimator, X, background)
    found.encoder, found.table = estimator.encoder_, X
    if found.values.ndim > 2:
        found.outputs = _names_of(estimator, found.values.shape[2])
    return found


def _names_of(estimator: Any, number: int) -> tuple[str, ...]:
    """The names of classes or scores."""
    if is_classifier(estimator):
        return tuple(map(value_in_words, estimator.classes_.tolist()))
    if estimator.model_kind == ModelKind.MOMENT:
        return tuple(estimator.names_of_predictions())
    return tuple(f"output {place}" for place in range(number))


def _found_by_table(estimator: Any, X: Any, background: Any) -> ShapValues:
    """The values of an estimator; see `shap_values`."""
    if background is None and kind_of(estimator) == ModelKind.TERMS:
        found = estimator.shap_by_table(X)
        return _found(found.values, found.base, found.how)
    if kind_of(estimator) == ModelKind.SOFT:
        hard, note = hard_form(estimator)
        explained = shap_values(hard, X, background=background)
        return _found(explained.values, explained.base, together(note, explained.how))
    if has_no_sum(estimator):
        return shap_in_comparison(estimator, X, background)
    model, values = _prepare(estimator, X)
    others = None if background is None else np.asarray(estimator.encoder_.values(background), np.float64)
    found = _shap_values(model, splits_of(model), values, others)
    return found if kind_of(estimator) != ModelKind.MOMENT or model.link is None else of_solution(model, found)


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
    return _shap_values(model, splits_of(model), values, None)


def of_solution(model: FittedModel, found: ShapValues) -> ShapValues:
    """Returns the contributions to the solution of a moment, from Shapley values of the means of its statistics."""
    number = model.node_value.shape[1]
    parts = found.values.reshape(*found.values.shape[:2], number)
    values, base = carried(parts, np.reshape(found.base, number), present(model.link).predict_on_host)
    values, base = _of_outputs(model, values, base)
    return _found(values, base, "Shapley values of means of statistics, carried to the solution of the moment")


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

    The cost is two to three times that of `shap_values` for trees of up to ten levels. Planes and weights of leaves
    have interactions of up to eight columns, in comparison with rows, and soft models those of their hardened form.

    Args:
        estimator: A fitted tree or forest of one output, boosted trees, or a soft tree or forest that has
            a hard form.
        X: A table.

    Raises:
        InvalidInputError: The estimator has several outputs, the table is not like the fitted one, there are too many
            columns, or a soft model has no hard form.
        InvalidTypeError: It is no tree or forest of jaxtree, or a forest of a moment equation.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 0.0, 0.0, 4.0]
        >>> shap_interaction_values(DecisionTreeRegressor().fit(X, y), [[1.0, 1.0]]).values.tolist()
        [[[1.0, 0.5], [0.5, 1.0]]]
    """
    estimator = best_of_search(estimator)
    if kind_of(estimator) == ModelKind.TERMS:
        return estimator.shap_interactions_by_table(X)
    if kind_of(estimator) == ModelKind.MOMENT and estimator.model_.link is not None:
        raise InvalidTypeError(
            f"pairs of columns have interactions where predictions are sums over trees, and those of a "
            f"{type(estimator).__name__} are not: shap_values has the contributions of single columns"
        )
    estimator = hard_form(estimator).estimator
    if has_no_sum(estimator):
        values, base, _ = _compared(estimator, X, None, of_pairs=True)
        return ShapInteractions(values, base)
    model, values = _prepare(estimator, X)
    forest = splits_of(model)
    pairs = _sum_up(_Question(forest, values, None, of_pairs=True)) / len(model.forest)
    return ShapInteractions(*_of_outputs(model, pairs, forest.base))


def _prepare(estimator: Any, X: Any) -> tuple[FittedModel, Float64[np.ndarray, "row feature"]]:
    """The model, and the rows."""
    model = exported_model(estimator)
    return model, np.asarray(estimator.encoder_.values(X), np.float64)


def _shap_values(
    model: FittedModel,
    forest: SplitForest,
    values: Float64[np.ndarray, "row feature"],
    others: Float64[np.ndarray, "other feature"] | None,
) -> ShapValues:
    """The values of rows compared with the training rows, or with other rows."""
    num_others, base = 1, forest.base
    if others is not None:
        num_others, base = len(others), model.predict(others).mean(axis=0)
    sums = _sum_up(_Question(forest, values, others, of_pairs=False))
    return ShapValues(*_of_outputs(model, sums / (len(model.forest) * num_others), base))


def _of_outputs(
    model: FittedModel, values: Float64[np.ndarray, "row *column output"], base: Float64[np.ndarray, " output"]
) -> tuple[Any, Any]:
    """Values and base, of one score or mean without its axis."""
    return (values[..., 0], base[0]) if base.size == 1 and not model.classes else (values, base)


_NUMBERS_OF_BLOCK = 2**18
"""The most numbers of a tree in a block of rows, for a program on a CPU: what its caches hold."""

_NUMBERS_ON_ACCELERATOR = 2**26

_MOST_ROWS = 4096
_LEAST_ROWS = 16


class _Question(NamedTuple):
    """The rows and the forest that are to be explained.

    Attributes:
        forest: The forest.
        values: The rows.
        others: The rows to compare with; None for the training rows.
        of_pairs: Whether pairs of columns are explained.
    """

    forest: SplitForest
    values: Float64[np.ndarray, "row feature"]
    others: Float64[np.ndarray, "other feature"] | None
    of_pairs: bool

    @property
    def num_points(self) -> int:
        """The most points at which an integrand is evaluated."""
        return int(self.forest.num_points.max())

    @property
    def num_outputs(self) -> int:
        """The numbers that are predicted."""
        return self.forest.node_value.shape[1]

    @property
    def num_numbers(self) -> int:
        """The product of rows, edges, points and outputs, and of pairs of half the depth."""
        times = (1 if self.others is None else len(self.others)) * (self.num_levels if self.of_pairs else 1)
        return 2 * len(self.forest.splits.column) * self.num_points * self.num_outputs * len(self.values) * times

    @property
    def num_levels(self) -> int:
        """The most splits on a path."""
        return int(self.forest.splits.depth.max()) + 1


def _sum_up(question: _Question) -> Float64[np.ndarray, "row *column output"]:
    """Returns the sums over all trees for all rows, and over rows that they are compared with."""
    num_rows, num_columns = question.values.shape
    columns = (num_columns, num_columns) if question.of_pairs else (num_columns,)
    if not question.forest.has_splits.any() or not num_rows:
        return np.zeros((num_rows, *columns, question.num_outputs))
    with placed(None, lambda: costs.shapley(num_rows, num_columns, numbers=question.num_numbers)):
        if choose(current_platform()) == Engine.HOST:
            return _sum_by_kernel(question)
        return _sum_by_program(question, columns)


def _sum_by_kernel(question: _Question) -> Float64[np.ndarray, "row *column output"]:
    """The sums, by the kernel in C++."""
    forest, splits = question.forest, question.forest.splits
    first, end = _outputs_of_trees(forest)
    of_trees = np.stack([forest.first_split[:-1], forest.num_points, first, end], axis=1)[forest.has_splits]
    rules = [_rule(number) for number in range(1, question.num_points + 1)]
    trees = KernelTrees(
        wholes=np.stack([splits.column, splits.question, splits.subset, *splits.child, splits.before]),
        reals=np.stack([splits.limit, splits.most, *splits.part, splits.share, splits.share_before]),
        node_value=forest.node_value,
        words=forest.words,
        of_trees=of_trees.astype(np.int32),
        rules=np.stack([np.concatenate(numbers) for numbers in zip(*rules, strict=True)]),
    )
    others = question.values[:0] if question.others is None else question.others
    return trees.sums(question.values, others, of_pairs=question.of_pairs)


def _outputs_of_trees(forest: SplitForest) -> tuple[Int64[np.ndarray, " tree"], Int64[np.ndarray, " tree"]]:
    """The first output to which every tree adds, and the one after the last: trees of many scores are of one each."""
    adds = np.logical_or.reduceat(forest.node_value != 0, forest.first_node[:-1], axis=0)
    first = adds.argmax(axis=1)
    return first, np.maximum(adds.shape[1] - adds[:, ::-1].argmax(axis=1), first + 1)


def _sum_by_program(question: _Question, columns: tuple[int, ...]) -> Float64[np.ndarray, "row *column output"]:
    """The sums, by a program of JAX: block by block of rows, on a CPU in threads."""
    forks.check_is_whole("an explanation without the kernel in C++")
    groups, is_plain = groups_of(question.forest), bool((question.forest.splits.question == SplitKind.THRESHOLD).all())
    others = None if question.others is None else question.others.T
    program = sum_shap_interactions if question.of_pairs else partial(sum_shap_values, background=others)
    size = _rows_of_block(
        groups.column[0].size * question.num_points * (4 + question.num_outputs), len(question.values)
    )
    result = np.empty((len(question.values), *columns, question.num_outputs))
    with jax.enable_x64(True):
        rule, on_device = jax.tree.map(jnp.asarray, (_rule(question.num_points), groups))

    def fill_block(block: slice) -> None:
        rows = question.values[block]
        padded = np.pad(rows, ((0, size - len(rows)), (0, 0))).T
        with jax.enable_x64(True):
            found = np.asarray(program(on_device, rule, padded, num_columns=columns[0], is_plain=is_plain))
        result[block] = np.moveaxis(found[..., : len(rows)], -1, 0)

    for_blocks(fill_block, len(question.values), size)
    return _halved(result) if question.of_pairs else result


def _rule(num_points: int) -> Rule:
    """The rule of some points."""
    point, weight = np.polynomial.legendre.leggauss(num_points)
    return Rule((point + 1) / 2, weight / 2)


def _halved(
    pairs: Float64[np.ndarray, "row column column output"],
) -> Float64[np.ndarray, "row column column output"]:
    """Interaction values, given both orders of a pair in either place, and Shapley values on the diagonal."""
    own = np.arange(pairs.shape[1])
    main = pairs[:, own, own]
    pairs = (pairs + pairs.swapaxes(1, 2)) / 2
    pairs[:, own, own] = 0
    pairs[:, own, own] = main - pairs.sum(axis=2)
    return pairs


def _rows_of_block(numbers_of_row: int, num_rows: int) -> int:
    """Rows that a program works on at a time, a power of two."""
    numbers = _NUMBERS_OF_BLOCK if current_platform() == "cpu" else _NUMBERS_ON_ACCELERATOR
    most = min(_MOST_ROWS, max(_LEAST_ROWS, numbers // numbers_of_row))
    return min(1 << (most.bit_length() - 1), 1 << max(num_rows - 1, 1).bit_length())
