"""How a training went, as curves."""

from typing import Any

from jaxtree.errors import MissingExtraError


def plot_curves(history: dict[str, list[float]], best_epoch: int, ax: Any = None) -> Any:
    """Draws the curves of a training over its epochs, and the epoch that was kept.

    Args:
        history: The curves by name.
        best_epoch: The number of epochs after which the model stood as it is.
        ax: Where to draw; a new figure if not given.

    Returns:
        The Axes.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise MissingExtraError('plots need matplotlib: pip install "jaxtree[plot]"') from error
        ax = plt.subplots()[1]
    for name, curve in history.items():
        ax.plot(range(1, len(curve) + 1), curve, label=name.replace("_", " "))
    ax.axvline(best_epoch, color="grey", linestyle=":", label="kept")
    ax.set(xlabel="epoch", ylabel="loss")
    ax.legend()
    return ax
