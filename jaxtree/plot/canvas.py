"""What all drawings have in common: axes, curves, and colours from white to one of those of classes."""

from typing import Any

from matplotlib.ticker import MaxNLocator

from jaxtree.errors import MissingExtraError
from jaxtree.export.pictures import CLASS_COLOURS

try:
    from matplotlib import pyplot
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap
except ImportError as error:
    raise MissingExtraError('drawings need matplotlib: pip install "jaxtree[plot]"') from error

BLUE, ORANGE = CLASS_COLOURS[0], CLASS_COLOURS[1]
GREY = "#6b6b6b"

BLUES = LinearSegmentedColormap.from_list("jaxtree_blues", ["#f2f7fb", "#9cc7e3", BLUE, "#00304d"])
"""Of numbers: the darker the larger."""


def axes_to_draw_in(ax: Axes | None, size: tuple[float, float] = (6.0, 4.2)) -> Axes:
    """Returns the axes that were given, else those of a new figure of such a size in inches."""
    return pyplot.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def calm(ax: Axes, *, grid: bool = True) -> None:
    """Takes away the lines above and to the right, and draws a pale grid behind everything."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(color=GREY)
    if grid:
        ax.grid(color="#e4e4e4", linewidth=0.8)
        ax.set_axisbelow(True)


def scale_beside(ax: Axes, drawn: Any, label: str) -> None:
    """Draws the scale of the colours beside the axes."""
    figure: Any = ax.figure
    bar = figure.colorbar(drawn, ax=ax, label=label)
    bar.outline.set_visible(False)


def plot_curves(history: dict[str, list[float]], best_epoch: int, ax: Axes | None = None) -> Axes:
    """Draws the losses of a training after every epoch, and the epoch whose parameters were kept.

    Args:
        history: "loss", and "validation_loss" if there is one.
        best_epoch: The number of epochs after which the model stood as it is.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.
    """
    ax = axes_to_draw_in(ax)
    for name, curve in history.items():
        colour = BLUE if name == "loss" else ORANGE
        ax.plot(range(1, len(curve) + 1), curve, color=colour, linewidth=1.8, label=name.replace("_", " "))
    ax.axvline(best_epoch, color=GREY, linestyle=":", linewidth=1.2, label="kept")
    ax.set(xlabel="epoch", ylabel="loss")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(frameon=False)
    calm(ax)
    return ax
