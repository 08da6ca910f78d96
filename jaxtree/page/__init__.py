"""A fitted model as one interactive page: how right it is, what counts, and each row, without a network.

The page's numbers come from sums at the nodes: what Python sends are the nodes, the rows that end at each, the price
from which on cost-complexity pruning collapses it and its number in a draw of dropout; what a setting of the sliders
makes of them is worked out in the browser (`assets/`).
"""

from jaxtree.page.page import to_html as to_html
