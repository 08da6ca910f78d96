"""How a training went, as curves."""

from matplotlib.ticker import MaxNLocator

from jaxtree.export.canvas import BLUE, GREY, ORANGE, Axes, axes_to_draw_in, calm


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
