"""Prunings as masks: each function takes a tree and returns the nodes that it collapses."""

from jaxtree.pruning.dropout import dropout as dropout
