"""Prunings as masks: each function takes a tree and returns the nodes that it collapses."""

from jaxtree.pruning.best_first import best_first as best_first
from jaxtree.pruning.collapse import collapse as collapse
from jaxtree.pruning.cost_complexity import CostComplexity as CostComplexity
from jaxtree.pruning.cost_complexity import CostComplexityPath as CostComplexityPath
from jaxtree.pruning.cost_complexity import cost_complexity as cost_complexity
from jaxtree.pruning.cost_complexity import cost_complexity_path as cost_complexity_path
from jaxtree.pruning.dropout import dropout as dropout
