"""A fitted model as one interactive page: how right it is, what counts, and each row, without a network.

One template has the parts that a model and its rows have (`page.py`): cards with charts, rows, and trees. Python works
out the numbers of charts; one script draws them in the pixels of their place (`assets/plot.js`, `list.js`, `grid.js`).

The numbers of a tree with sliders come from sums at the nodes: Python sends the nodes, the rows that end at each, the
price from which on cost-complexity pruning collapses it and its number in a draw of dropout; the browser works out what
a setting of the sliders makes of them.
"""

from jaxtree.page.page import to_html as to_html
