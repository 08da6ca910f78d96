"""Drawings by Matplotlib of trees, of what they say, and of their pruning; each takes `ax=` and returns the axes."""

from jaxtree.export.plot import plot_tree as plot_tree
from jaxtree.plot.boundary import plot_decision_boundary as plot_decision_boundary
from jaxtree.plot.dropout import plot_dropout as plot_dropout
from jaxtree.plot.importances import plot_importances as plot_importances
from jaxtree.plot.learning import plot_learning_curve as plot_learning_curve
from jaxtree.plot.pruning_path import plot_pruning_path as plot_pruning_path
