"""Prunings as masks: each function takes a tree and returns the nodes that it collapses."""

from jaxtree.pruning.best_first import best_first as best_first
from jaxtree.pruning.collapse import collapse as collapse
from jaxtree.pruning.dropout import dropout as dropout
