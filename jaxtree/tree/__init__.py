"""The node table, walks through it, and what a fitted model predicts at its nodes.

A *tree* is a table with one row a node, parents before children, the children of a node side by side,
so that `child = first_child + branch`. Several trees may share one table; node t is then the root of
tree t. A *leaf* has no children. Every pruning is a mask `collapsed` over the table: a walk stops at
the first collapsed node.
"""

from jaxtree.tree.forest import take_tree as take_tree
from jaxtree.tree.nodes import ALL_BRANCHES as ALL_BRANCHES
from jaxtree.tree.nodes import SplitKind as SplitKind
from jaxtree.tree.nodes import majority_class as majority_class
from jaxtree.tree.tree import Tree as Tree
from jaxtree.tree.walk import apply as apply
from jaxtree.tree.walk import predict_proba as predict_proba
