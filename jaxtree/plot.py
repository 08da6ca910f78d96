"""Drawings of trees by Matplotlib; each takes `ax=` and returns it."""

from jaxtree.export.plot import plot_tree as plot_tree
