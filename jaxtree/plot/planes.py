"""The plane of two columns as an estimator divides it."""

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.export.pictures import colour_of_class
from jaxtree.plot.style import BLUES, axes_to_draw_in, calm, draw_legend, draw_scale
from jaxtree.table.schema import Schema

STRENGTH = 0.55
"""The strength of the colour of a class where its share is 1: below 1, so that points stand out."""


def plot_decision_boundary(
    estimator: Any, X: Any, y: Any = None, *, resolution: int = 300, margin: float = 0.06, ax: Axes | None = None
) -> Axes:
    """Draws what a fitted estimator of two columns predicts at every point of their plane, and the rows on it.

    Of classes the colours are mixed by the shares of the classes; of numbers they are the darker the larger.

    Args:
        estimator: A fitted tree or forest, hard or soft, of one output and two columns of numbers.
        X: Rows, which the plane reaches around.
        y: Their classes or numbers, to draw the rows; only the plane is drawn if not given.
        resolution: Points along each side.
        margin: How far the plane reaches past the rows, as a share of their range.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There are other columns than two of numbers, or several outputs; or a number is not allowed.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> ax = plot_decision_boundary(DecisionTreeClassifier(max_depth=3).fit(X[:, 2:], y), X[:, 2:], y)
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('x0', 'x1')
    """
    check_is_fitted(estimator)
    schema = estimator.encoder_.schema_
    _check(estimator, schema, resolution, margin)
    rows = np.asarray(estimator.encoder_.values(X), np.float64)
    sides = [_side(value, resolution, margin) for value in rows.T]
    plane = np.stack([part.ravel() for part in np.meshgrid(*sides)], axis=1)
    ax = axes_to_draw_in(ax)
    if is_classifier(estimator):
        _draw_classes(ax, estimator.classes_.tolist(), sides, estimator.predict_values(plane), rows, y)
    else:
        _draw_numbers(ax, sides, estimator.predict_values(plane).ravel(), rows, y)
    ax.set_xlabel(schema.columns[0].name, parse_math=False)
    ax.set_ylabel(schema.columns[1].name, parse_math=False)
    calm(ax, grid=False)
    return ax


def _check(estimator: Any, schema: Schema, resolution: int, margin: float) -> None:
    kinds = [column.kind for column in schema.columns]
    if kinds != ["numeric", "numeric"]:
        named = ", ".join(f"{column.name!r} ({column.kind})" for column in schema.columns[:5])
        raise InvalidInputError(f"a plane has two columns of numbers, and the estimator has {len(kinds)}: {named}")
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


def _draw_classes(ax: Axes, names: list, sides: list, shares: Any, rows: Any, y: Any) -> None:
    colours = np.array([to_rgb(colour_of_class(place)) for place in range(len(names))])
    mixed = 1 - STRENGTH * (1 - shares @ colours)
    image = mixed.reshape(sides[1].size, sides[0].size, 3)
    ax.pcolormesh(*sides, np.clip(image, 0, 1), shading="nearest", rasterized=True)
    if y is None:
        return
    given = np.asarray(y)
    for place, name in enumerate(names):
        chosen = given == name
        ax.scatter(*rows[chosen].T, s=22, color=colours[place], edgecolor="white", linewidth=0.6, label=str(name))
    draw_legend(ax, frameon=True, framealpha=0.9, edgecolor="none")


def _draw_numbers(ax: Axes, sides: list, means: Any, rows: Any, y: Any) -> None:
    given = None if y is None else np.asarray(y, np.float64).ravel()
    whole = means if given is None else np.concatenate([means, given])
    shades = {"cmap": BLUES, "vmin": whole.min(), "vmax": whole.max()}
    image = means.reshape(sides[1].size, sides[0].size)
    drawn = ax.pcolormesh(*sides, image, shading="nearest", rasterized=True, **shades)
    if given is not None:
        ax.scatter(*rows.T, s=22, c=given, edgecolor="white", linewidth=0.6, **shades)
    draw_scale(ax, drawn, "predicted")
