"""The node table, and walking it.

A *tree* is a table with one row a node, parents before children, the children of a node side by side,
so that `child = first_child + branch`. Several trees may share one table; node t is then the root of
tree t. A *leaf* has no children. Every pruning is a mask `collapsed` over the table: a walk stops at
the first collapsed node.
"""

from jaxtree.tree.nodes import CODES_PER_WORD as CODES_PER_WORD
from jaxtree.tree.nodes import SplitKind as SplitKind
from jaxtree.tree.nodes import Tree as Tree
from jaxtree.tree.nodes import children_of as children_of
from jaxtree.tree.nodes import class_shares as class_shares
from jaxtree.tree.nodes import majority_class as majority_class
from jaxtree.tree.nodes import output_counts as output_counts
from jaxtree.tree.nodes import pad_nodes as pad_nodes
from jaxtree.tree.nodes import take_tree as take_tree
from jaxtree.tree.nodes import target_means as target_means
from jaxtree.tree.walking import apply as apply
from jaxtree.tree.walking import apply_to_values as apply_to_values
from jaxtree.tree.walking import branch_of_code as branch_of_code
from jaxtree.tree.walking import predict_proba as predict_proba
