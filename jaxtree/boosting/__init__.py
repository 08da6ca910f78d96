"""Gradient boosting of trees, from any loss.

A name is loaded when it is first used: models that are served have the losses and records of this room alone.
"""

from jaxtree.lazy import names_of_stub

__all__, __getattr__, __dir__ = names_of_stub(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
