"""Prunings as masks: functions from a tree to the nodes that they collapse, and the sums and tests behind them."""

from jaxtree.pruning.best_first import max_leaf_nodes as max_leaf_nodes
from jaxtree.pruning.collapse import collapse as collapse
from jaxtree.pruning.cost_complexity import CostComplexityPath as CostComplexityPath
from jaxtree.pruning.cost_complexity import cost_complexity as cost_complexity
from jaxtree.pruning.cost_complexity import cost_complexity_path as cost_complexity_path
from jaxtree.pruning.dropout import draws as _draws
from jaxtree.pruning.dropout import dropout as dropout
from jaxtree.pruning.expected_errors import minimum_error as minimum_error
from jaxtree.pruning.expected_errors import pessimistic_1987 as pessimistic_1987
from jaxtree.pruning.pessimistic import added_errors as added_errors
from jaxtree.pruning.pessimistic import pessimistic as pessimistic
from jaxtree.pruning.pessimistic import pessimistic_errors as pessimistic_errors
from jaxtree.pruning.raising import prune_with_raising as prune_with_raising
from jaxtree.pruning.stopping import ChiSquaredTest as ChiSquaredTest
from jaxtree.pruning.stopping import chi_squared as chi_squared
from jaxtree.pruning.stopping import chi_squared_test as chi_squared_test
from jaxtree.pruning.stopping import critical_value as critical_value
from jaxtree.pruning.stopping import max_depth as max_depth
from jaxtree.pruning.stopping import min_gain as min_gain
from jaxtree.pruning.stopping import min_impurity_decrease as min_impurity_decrease
from jaxtree.pruning.stopping import min_samples_split as min_samples_split
from jaxtree.pruning.validation import HeldOut as HeldOut
from jaxtree.pruning.validation import hold_out as hold_out
from jaxtree.pruning.validation import leaf_errors as leaf_errors
from jaxtree.pruning.validation import reduced_error as reduced_error
from jaxtree.pruning.validation import reduced_error_of as reduced_error_of
from jaxtree.pruning.validation import validation_gate as validation_gate
from jaxtree.pruning.validation import validation_gate_of as validation_gate_of

dropout_draws = _draws
"""Many draws of dropout pruning; `jaxtree.dropout.draws`."""
