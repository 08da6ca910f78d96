"""The plane of two columns as an estimator divides it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Float64
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.arguments import vector_of_column
from jaxtree.errors import InvalidInputError
from jaxtree.explain.dependence import column_values, with_value
from jaxtree.export.conditions import features_of
from jaxtree.export.models import best_of_search
from jaxtree.export.pictures import colour_of_class
from jaxtree.plot.numbers import drawn_numbers, name_numbers
from jaxtree.plot.style import BLUES, axes_to_draw_in, calm, draw_legend, draw_legend_beside, draw_scale, legend_name
from jaxtree.table.names import column_place
from jaxtree.table.schema import Schema

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
    ax: Axes | None = None,
) -> Axes:
    """Draws what a fitted estimator predicts at every point of the plane of two columns, and the rows on it.

    Other columns have the median of their numbers among the rows at every point of the plane, or their most frequent
    category. Of classes the colours are mixed by the shares of the classes; of numbers they are the darker the larger.

    Args:
        estimator: A fitted tree, forest or boosted trees, hard or soft, of one output.
        X: Rows, which the plane reaches around.
        y: Their classes or numbers, to draw the rows; only the plane is drawn if not given.
        features: The names or positions of the two columns, of numbers or dates; not needed if there are no others.
        resolution: Points along each side.
        margin: How far the plane reaches past the rows, as a share of their range.
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
    own = np.stack([column_values(schema, rows, place) for place in across], axis=1)
    sides = [_side(value, resolution, margin) for value in own.T]
    plane = _plane(schema, rows, across, sides)
    shown = [schema.columns[place] for place in across]
    drawn = [drawn_numbers(column, side) for column, side in zip(shown, sides, strict=True)]
    points = np.stack([drawn_numbers(column, own[:, side]) for side, column in enumerate(shown)], axis=1)
    if is_classifier(estimator):
        ax = _draw_classes(ax, estimator.classes_.tolist(), drawn, estimator.predict_values(plane), points, y)
    else:
        ax = _draw_numbers(axes_to_draw_in(ax), drawn, estimator.predict_values(plane)[:, 0], points, y)
    for axis, column in zip("xy", shown, strict=True):
        name_numbers(ax, axis, column)
    calm(ax, grid=False)
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


def _plane(
    schema: Schema, rows: Float[np.ndarray, "row feature"], across: list[int], sides: list[Any]
) -> Float64[np.ndarray, "point feature"]:
    """The points of the plane as rows, with a typical value in every other column."""
    first, second = (part.ravel() for part in np.meshgrid(*sides))
    point = rows[:1] if len(rows) else np.zeros((1, schema.num_features))
    for place, column in enumerate(schema.columns):
        cells = column_values(schema, rows, place)
        known = cells[~np.isnan(cells)]
        typical = np.nan
        if known.size and column.kind == "numeric":
            typical = float(np.median(known))
        elif known.size:
            typical = float(np.bincount(known.astype(int)).argmax())
        point = with_value(schema, point, place, typical)
    plane = np.tile(point, (first.size, 1))
    for place, numbers in zip(across, (first, second), strict=True):
        plane[:, features_of(schema, place)[0]] = numbers
    return plane


def _check(estimator: Any, resolution: int, margin: float) -> None:
    if getattr(estimator, "n_outputs_", 1) != 1:
        raise InvalidInputError(f"a plane shows one output, and the estimator has {estimator.n_outputs_}")
    if resolution < 2 or not 0 <= margin < np.inf:
        raise InvalidInputError(f"resolution must be at least 2 and margin at least 0, got {resolution} and {margin}")


def _side(value: Float[np.ndarray, " row"], resolution: int, margin: float) -> Float[np.ndarray, " point"]:
    """The points along a side, which are the middles of the patches that are drawn."""
    known = value[~np.isnan(value)]
    if not known.size:
        raise InvalidInputError("X must have a known number in both columns")
    low, high = known.min(), known.max()
    beyond = margin * (high - low) if high > low else 0.5
    return np.linspace(low - beyond, high + beyond, resolution)


def _draw_classes(ax: Axes | None, names: list, sides: list, shares: Any, rows: Any, y: Any) -> Axes:
    is_new, ax = ax is None, axes_to_draw_in(ax)
    colours = np.array([to_rgb(colour_of_class(place)) for place in range(len(names))])
    mixed = 1 - STRENGTH * (1 - shares @ colours)
    image = mixed.reshape(sides[1].size, sides[0].size, 3)
    ax.pcolormesh(*sides, np.clip(image, 0, 1), shading="nearest", rasterized=True)
    if y is None:
        return ax
    given = np.asarray(vector_of_column(y))
    for place, name in enumerate(names):
        chosen = given == name
        mark = {"s": 22, "color": colours[place], "edgecolor": "white", "linewidth": 0.6}
        ax.scatter(*rows[chosen].T, label=legend_name(name), **mark)
    if len(names) > 6:
        draw_legend_beside(ax, is_new=is_new)
    else:
        draw_legend(ax, frameon=True, framealpha=0.9, edgecolor="none")
    return ax


def _draw_numbers(ax: Axes, sides: list, means: Any, rows: Any, y: Any) -> Axes:
    given = None if y is None else np.asarray(y, np.float64).ravel()
    whole = means if given is None else np.concatenate([means, given])
    shades = {"cmap": BLUES, "vmin": whole.min(), "vmax": whole.max()}
    image = means.reshape(sides[1].size, sides[0].size)
    drawn = ax.pcolormesh(*sides, image, shading="nearest", rasterized=True, **shades)
    if given is not None:
        ax.scatter(*rows.T, s=22, c=given, edgecolor="white", linewidth=0.6, **shades)
    draw_scale(ax, drawn, "predicted")
    return ax
