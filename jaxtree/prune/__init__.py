"""Prunings as masks: functions from a tree to the nodes that they collapse, and the sums and tests behind them."""

from jaxtree.notebook import lister
from jaxtree.prune.draws import dropout as dropout
from jaxtree.prune.stopping import chi_squared as chi_squared
from jaxtree.prune.stopping import critical_value as critical_value
from jaxtree.prune.stopping import max_depth as max_depth
from jaxtree.prune.stopping import max_leaf_nodes as max_leaf_nodes
from jaxtree.prune.stopping import min_gain as min_gain
from jaxtree.prune.stopping import min_impurity_decrease as min_impurity_decrease
from jaxtree.prune.stopping import min_samples_split as min_samples_split
from jaxtree.prune.training_errors import collapse as collapse
from jaxtree.prune.training_errors import minimum_error as minimum_error
from jaxtree.prune.training_errors import pessimistic as pessimistic
from jaxtree.prune.training_errors import pessimistic_1987 as pessimistic_1987
from jaxtree.prune.validation import hold_out_codes as hold_out_codes
from jaxtree.prune.validation import reduced_error as reduced_error
from jaxtree.prune.validation import validation_gate as validation_gate
from jaxtree.prune.weakest_links import cost_complexity as cost_complexity
from jaxtree.prune.weakest_links import cost_complexity_path as cost_complexity_path

__dir__ = lister(__name__)
