"""How predictions depend on columns: importances, dependence on one, and the plane of two."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.arrays import spread
from jaxtree.dataset.arguments import vector_of_column
from jaxtree.errors import InvalidInputError, InvalidTypeError, present
from jaxtree.export.models import best_of_search
from jaxtree.export.pictures import colour_of_class
from jaxtree.figures.dependence import Dependence, dependence_on, limits_on, plane_of
from jaxtree.figures.importances import MOST_COLUMNS, importances_of
from jaxtree.figures.numbers import histogram_of
from jaxtree.figures.outputs import class_labels, output_labels, place_of_class
from jaxtree.plot import style
from jaxtree.table.names import column_place
from jaxtree.table.schema import Column, Schema
from jaxtree.table.weights import check_sample_weight, rows_there
from jaxtree.table.words import value_in_words
from jaxtree.tree.kinds import kind_of


def plot_importances(
    estimator: Any, importances: Any = None, *, max_columns: int = MOST_COLUMNS, ax: Axes | None = None
) -> Axes:
    """Draws how much each column counts, the most important one on top.

    Args:
        estimator: A fitted estimator.
        importances: A number a column, or what `sklearn.inspection.permutation_importance` returns,
            whose standard deviations are drawn as lines; `estimator.feature_importances_` if not given.
        max_columns: How many columns to draw at most.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is not one number a column, no column is to be drawn, or there are importances by
            several scorers.
        InvalidTypeError: None are given, and the estimator has none of its own.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> ax = plot_importances(DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True)), max_columns=2)
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['x2', 'x3']
    """
    estimator = best_of_search(estimator)
    check_is_fitted(estimator)
    if max_columns < 1:
        raise InvalidInputError(f"max_columns must be at least 1, got {max_columns}")
    found = importances_of(estimator, importances)
    deviations = None if found.deviations is None else found.deviations[:max_columns]
    ax = style.draw_bars(ax, found.names[:max_columns], found.values[:max_columns], deviations)
    style.name_axes(ax, found.meaning)
    return ax


class _Answers(NamedTuple):
    """Predictions while all rows have one value of a column.

    Attributes:
        found: The values that were tried, with the share of each.
        means: The mean prediction of every value, for every class or number that is drawn.
        of_rows: The predictions of some rows alone, of the class that is drawn.
        labels: The names of the columns of the means; one empty word of one number.
        is_share: Whether they are probabilities.
        ends: The lower and upper ends of the means' bands; None where none are known.
    """

    found: Dependence
    means: Float64[np.ndarray, "value class"]
    of_rows: Float64[np.ndarray, "value some"]
    labels: list[str]
    is_share: bool
    ends: tuple[Float64[np.ndarray, "value class"], Float64[np.ndarray, "value class"]] | None = None


def plot_dependence(
    estimator: Any,
    X: Any,
    column: Any,
    *,
    sample_weight: Any = None,
    of_class: Any = None,
    num_lines: int = 0,
    bands: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws the mean prediction of all rows while they have one value of a column after the other.

    Numbers and dates have a curve over a histogram of the column; categories a point each, the largest mean on top,
    with its share of the rows. The prediction where the value is missing is a dashed line, or a point.

    Args:
        estimator: A fitted tree, forest or boosted trees, hard or soft, or a search that has refitted one.
        X: The rows; of more than 300 as many are drawn, spread over the table.
        column: The name or the place of the column; a number is a name where columns are named by numbers.
        sample_weight: The weight of every row in the means, shares and histogram; rows of weight 0 are left out.
        of_class: The class whose probability is drawn; all if not given, of two classes the second.
        num_lines: How many rows have a curve of their own, where one class or number is drawn.
        bands: The `bands` of an additive model, boosted trees or a forest, of which the dependence has one; X without
            weights.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is no such column, class or row, a number of lines below 0, or bands of another model
            or with weights.
        InvalidTypeError: The estimator is none of jaxtree that predicts from encoded rows.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> from jaxtree import DecisionTreeRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> ax = plot_dependence(DecisionTreeRegressor(max_depth=3).fit(X, y), X, "bmi")
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('bmi', 'mean prediction')
    """
    estimator = best_of_search(estimator)
    if kind_of(estimator) is None:
        raise InvalidTypeError(
            f"estimator must be a tree, a forest or boosted trees of jaxtree, got {type(estimator).__name__}"
        )
    check_is_fitted(estimator)
    schema = estimator.encoder_.schema_
    place = column_place(column, schema.column_names, "column")
    rows = np.asarray(estimator.encoder_.values(X), np.float64)
    if not len(rows) or num_lines < 0:
        raise InvalidInputError(f"X must have rows and num_lines be at least 0, got {len(rows)} rows and {num_lines}")
    weight = check_sample_weight(sample_weight, len(rows))
    if weight is not None and bands is not None:
        raise InvalidInputError("bands are drawn over rows of equal weight, got sample_weight, too")
    if weight is not None:
        rows, weight = rows[weight > 0], weight[weight > 0]
    found = dependence_on(schema, rows, place, estimator.predict_values, weight, limits_on(estimator, place))
    ends = None
    if bands is not None:
        bands.check_is_of(estimator)
        ends = bands.dependence(place, X).band[1:]
    answers, own = _answers(estimator, found, (of_class, num_lines), ends), schema.columns[place]
    if own.kind == "numeric":
        return _draw_dependence(ax, own, (rows[:, place], weight), answers)
    return _draw_words(ax, own, answers)


def _answers(estimator: Any, found: Dependence, asked: tuple[Any, int], ends: Any = None) -> _Answers:
    """Chooses what is drawn of a class, or of all, and of some rows; see `_Answers`."""
    of_class, num_lines = asked
    predicted, means = found.of_rows, found.means
    names = class_labels(estimator)
    if estimator.n_outputs_ > 1 and names:
        raise InvalidInputError(f"a dependence is of one output of classes, got {estimator.n_outputs_} outputs")
    labels = [""] if predicted.shape[2] == 1 else output_labels(estimator, predicted.shape[2])
    if len(names) == 2 and of_class is None:
        of_class = names[1]
    if of_class is not None:
        only = place_of_class(names, of_class)
        predicted, means, labels = predicted[:, :, [only]], means[:, [only]], [names[only]]
        ends = None if ends is None else tuple(end[:, [only]] for end in ends)
    some = spread(predicted.shape[1], num_lines) if num_lines else np.zeros(0, int)
    return _Answers(found, means, predicted[:, some, 0], labels, bool(names), ends)


def _name_of(answers: _Answers) -> str:
    if not answers.is_share:
        return "mean prediction"
    return "mean probability" if len(answers.labels) > 1 else f"mean probability of {answers.labels[0]}"


def _draw_dependence(ax: Axes | None, column: Column, rows: tuple[Any, Any], answers: _Answers) -> Axes:
    """Draws a curve of numbers over a histogram of the rows, given by the column's values and the weights."""
    is_new, ax = ax is None, style.axes_to_draw_in(ax)
    known = ~np.isnan(answers.found.values)
    several, (numbers, places, step) = len(answers.labels) > 1, _points(answers.found, known)
    x = drawn_numbers(column, numbers)
    if answers.of_rows.shape[1] and not several:
        rows_alone = {"color": style.grey(), "linewidth": 0.6, "alpha": 0.6, "zorder": 1}
        ax.plot(x, answers.of_rows[places], drawstyle=step, **rows_alone)
    for place, label in enumerate(answers.labels):
        how = {"color": style.class_colour(place, of_many=several), "linewidth": 2.0}
        if answers.ends is not None:
            low, high = (end[places, place] for end in answers.ends)
            ax.fill_between(x, low, high, color=how["color"], alpha=0.22, linewidth=0, zorder=2)
        ax.plot(
            x,
            answers.means[places, place],
            drawstyle=step,
            label=style.legend_name(label) if several else None,
            zorder=3,
            **how,
        )
        if not known.all():
            ax.axhline(answers.means[-1, place], linestyle="--", label=None, **{**how, "linewidth": 1.2})
    own, weight = rows
    is_there = ~np.isnan(own)
    if is_there.any():
        weight = None if weight is None else weight[is_there]
        style.draw_bars_below(ax, *histogram_of(drawn_numbers(column, own[is_there]), weight))
    if not known.all():
        ax.plot([], [], color=style.grey(), linestyle="--", linewidth=1.2, label="where it is missing")
    style.calm(ax)
    if several:
        style.draw_legend_beside(ax, is_new=is_new)
    elif not known.all():
        style.draw_legend(ax)
    name_numbers(ax, "x", column)
    style.name_axes(ax, y=_name_of(answers))
    style.round_ticks(ax, "y")
    return ax


def _points(
    found: Dependence, known: Bool[np.ndarray, " value"]
) -> tuple[Float64[np.ndarray, " point"], Int[np.ndarray, " point"], str]:
    """The numbers that a curve goes through, the places of their means, and how points are joined."""
    places = np.flatnonzero(known)
    if found.edges is None:
        return found.values[places], places, "default"
    return found.edges, np.append(places, places[-1]), "steps-post"


def _draw_words(ax: Axes | None, column: Column, answers: _Answers) -> Axes:
    tried, several = answers.found.values, len(answers.labels) > 1
    has_order = column.kind in ("ordered", "boolean")
    order = np.arange(len(tried)) if has_order else np.argsort(-answers.means[:, 0], kind="stable")
    words = [
        "missing" if np.isnan(value) else value_in_words(column.categories[int(value)])
        for value in tried[order].tolist()
    ]
    names = style.named_shares(words, answers.found.shares[order].tolist())
    is_new, ax = ax is None, style.axes_to_draw_in(ax, (6.0, style.height_of_rows(names, 0.36, 1.2)))
    for row, value in enumerate(order.tolist()):
        if answers.of_rows.shape[1] and not several:
            ax.plot(
                answers.of_rows[value],
                [row] * answers.of_rows.shape[1],
                "|",
                color=style.grey(),
                markersize=7,
                zorder=1,
            )
    for place in range(len(answers.labels) if answers.ends is not None else 0):
        low, high = (end[order, place] for end in present(answers.ends))
        colour = style.class_colour(place, of_many=several)
        ax.hlines(np.arange(len(order)), low, high, color=colour, alpha=0.4, linewidth=3, zorder=2)
    points = {place: (label, answers.means[order, place]) for place, label in enumerate(answers.labels)}
    style.draw_points_by_name(ax, names, points, is_new=is_new)
    style.name_axes(ax, _name_of(answers), column.name)
    return ax


def _is_date(column: Column) -> bool:
    return column.time is not None and column.time.kind != "duration"


def _unit_of(column: Column) -> tuple[float, str]:
    """The unit of a column of durations."""
    bins = present(column.bins)
    return style.unit_of_times(float(bins.high[-1] - bins.low[0]))


def drawn_numbers(column: Column, numbers: Float[np.ndarray, " some"]) -> Float64[np.ndarray, " some"]:
    """Numbers of a column as an axis has them."""
    if column.time is None:
        return numbers
    if column.time.kind == "duration":
        return numbers / _unit_of(column)[0]
    return float(date2num(column.time.value(0.0))) + numbers


def name_numbers(ax: Axes, axis: str, column: Column) -> None:
    """Writes the name of a column at the "x" or the "y" axis, and sets its ticks."""
    unit = "" if column.time is None or _is_date(column) else f" ({_unit_of(column)[1]})"
    style.name_axes(ax, **{axis: column.name + unit})
    if not _is_date(column):
        style.round_ticks(ax, axis)
        return
    own = ax.xaxis if axis == "x" else ax.yaxis
    locator = AutoDateLocator(maxticks=6)
    own.set_major_locator(locator)
    own.set_major_formatter(ConciseDateFormatter(locator))


STRENGTH = 0.55
"""The strength of the colour of a class where its share is 1: below 1, so that points stand out."""


def plot_decision_boundary(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    features: Sequence[str | int] | None = None,
    resolution: int = 300,
    margin: float = 0.06,
    sample_weight: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws what a fitted estimator predicts at every point of the plane of two columns, and the rows on it.

    Other columns have the median of their numbers among the rows at every point of the plane, or their most frequent
    category. Colours are mixed by the shares of the classes; of numbers they are the darker the larger.

    Args:
        estimator: A fitted tree, forest or boosted trees, hard or soft, of one output.
        X: Rows, which the plane reaches around.
        y: Their classes or numbers, to draw the rows; only the plane is drawn if not given.
        features: The names or positions of the two columns, of numbers or dates; not needed if there are no others.
        resolution: Points along each side.
        margin: How far the plane reaches past the rows, as a share of their range.
        sample_weight: The weight of every row in medians and frequencies; rows of weight 0 are left out.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There are not two such columns, or several outputs; or a number is not allowed.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
        >>> ax = plot_decision_boundary(tree, X, y, features=["petal length (cm)", "petal width (cm)"])
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('petal length (cm)', 'petal width (cm)')
    """
    estimator = best_of_search(estimator)
    check_is_fitted(estimator)
    schema = estimator.encoder_.schema_
    across = _two_of(schema, features)
    _check(estimator, resolution, margin)
    rows = np.asarray(estimator.encoder_.values(X), np.float64)
    weight = check_sample_weight(sample_weight, len(rows))
    rows, y, weight = rows_there(rows, None if y is None else np.asarray(vector_of_column(y)), weight)
    plane = plane_of(schema, rows, weight, across, (resolution, margin))
    own, sides = plane.values, plane.sides
    shown = [schema.columns[place] for place in across]
    drawn = [drawn_numbers(column, side) for column, side in zip(shown, sides, strict=True)]
    points = np.stack([drawn_numbers(column, own[:, side]) for side, column in enumerate(shown)], axis=1)
    if is_classifier(estimator):
        ax = _draw_classes(ax, estimator.classes_.tolist(), drawn, estimator.predict_values(plane.points), points, y)
    else:
        ax = _draw_plane(style.axes_to_draw_in(ax), drawn, estimator.predict_values(plane.points)[:, 0], points, y)
    for axis, column in zip("xy", shown, strict=True):
        name_numbers(ax, axis, column)
    style.calm(ax, grid=False)
    return ax


def _two_of(schema: Schema, features: Sequence[str | int] | None) -> list[int]:
    """The positions of the two columns of the plane."""
    kinds = [column.kind for column in schema.columns]
    if features is None and kinds != ["numeric", "numeric"]:
        named = ", ".join(f"{column.name!r} ({column.kind})" for column in schema.columns[:5])
        raise InvalidInputError(
            f"a plane has two columns of numbers, and the estimator has {len(kinds)}: {named}; name two by features="
        )
    places = [0, 1] if features is None else [column_place(one, schema.column_names, "features") for one in features]
    if len(places) != 2 or places[0] == places[1] or any(kinds[place] != "numeric" for place in places):
        named = ", ".join(f"{schema.column_names[place]!r} ({kinds[place]})" for place in places)
        raise InvalidInputError(f"features must be two different columns of numbers or dates, got {named or 'none'}")
    return places


def _check(estimator: Any, resolution: int, margin: float) -> None:
    if estimator.n_outputs_ != 1:
        raise InvalidInputError(f"a plane shows one output, and the estimator has {estimator.n_outputs_}")
    if resolution < 2 or not 0 <= margin < np.inf:
        raise InvalidInputError(f"resolution must be at least 2 and margin at least 0, got {resolution} and {margin}")


def _draw_classes(ax: Axes | None, names: list, sides: list, shares: Any, rows: Any, y: Any) -> Axes:
    is_new, ax = ax is None, style.axes_to_draw_in(ax)
    colours = np.array([to_rgb(colour_of_class(place)) for place in range(len(names))])
    mixed = 1 - STRENGTH * (1 - shares @ colours)
    image = mixed.reshape(sides[1].size, sides[0].size, 3)
    ax.pcolormesh(*sides, np.clip(image, 0, 1), shading="nearest", rasterized=True)
    if y is None:
        return ax
    for place, name in enumerate(names):
        chosen = y == name
        mark = {"s": 22, "color": colours[place], "edgecolor": "white", "linewidth": 0.6}
        ax.scatter(*rows[chosen].T, label=style.legend_name(name), **mark)
    if len(names) > 6:
        style.draw_legend_beside(ax, is_new=is_new)
    else:
        style.draw_legend(ax, frameon=True, framealpha=0.9, edgecolor="none")
    return ax


def _draw_plane(ax: Axes, sides: list, means: Any, rows: Any, y: Any) -> Axes:
    given = None if y is None else np.asarray(y, np.float64).ravel()
    whole = means if given is None else np.concatenate([means, given])
    shades = {"cmap": style.BLUES, "vmin": whole.min(), "vmax": whole.max()}
    image = means.reshape(sides[1].size, sides[0].size)
    drawn = ax.pcolormesh(*sides, image, shading="nearest", rasterized=True, **shades)
    if given is not None:
        ax.scatter(*rows.T, s=22, c=given, edgecolor="white", linewidth=0.6, **shades)
    style.draw_scale(ax, drawn, "predicted")
    return ax
