"""How much each column counts, as bars."""

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.export.canvas import BLUE, GREY, axes_to_draw_in, calm


def plot_importances(estimator: Any, importances: Any = None, *, max_columns: int = 20, ax: Axes | None = None) -> Axes:
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

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> ax = plot_importances(DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True)), max_columns=2)
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['x2', 'x3']
    """
    check_is_fitted(estimator)
    names = estimator.encoder_.schema_.column_names
    value, spread, label = _numbers(estimator, importances)
    if value.shape != (len(names),) or max_columns < 1:
        raise InvalidInputError(
            f"importances must be one number for each of {len(names)} columns and max_columns at least 1, got shape "
            f"{value.shape} and {max_columns}"
        )
    order = np.argsort(-value, kind="stable")[:max_columns]
    place = np.arange(order.size)
    ax = axes_to_draw_in(ax, (6.0, 1.0 + 0.32 * order.size))
    errors = None if spread is None else spread[order]
    ax.barh(place, value[order], xerr=errors, color=BLUE, height=0.7, error_kw={"ecolor": GREY, "capsize": 2})
    ax.set_yticks(place, [names[column] for column in order])
    ax.invert_yaxis()
    ax.set_xlabel(label)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    calm(ax)
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0)
    return ax


def _numbers(estimator: Any, importances: Any) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."] | None, str]:
    """The lengths of the bars, those of the lines on them, and what they mean."""
    if importances is None:
        return np.asarray(estimator.feature_importances_, np.float64), None, "share of the gain"
    if isinstance(importances, dict) and "importances_mean" not in importances:
        raise InvalidInputError(f"importances by several scorers are drawn one by one, got {', '.join(importances)}")
    if isinstance(importances, Bunch):
        return importances.importances_mean, importances.importances_std, "loss of score when the column is shuffled"
    return np.asarray(importances, np.float64), None, "importance"
