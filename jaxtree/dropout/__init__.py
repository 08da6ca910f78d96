r"""Analysis of dropout pruning (Zhu and Zhou, *Decision Trees for Classification*, 2023), and its generalisations.

A node's *rate* $r_v$ is the probability that it is collapsed by itself, independently of all others; the root's is 0.
A *draw* is one mask of collapsed nodes. A node is *kept* in a draw if neither it nor any node above it is collapsed,
with probability $K_v = \prod_{u \le v} (1 - r_u)$ over the path; a walk goes on below v if v is kept.
In the paper a node made by a split at level l (the root's split is at level 0) has the rate $\min(1, p\,(1+q)^l)$.

Every score of a tree is the root's plus what the splits of kept nodes *change*: that gives draws without sending rows
down, means and variances in closed form, and gradients.
"""

from jaxtree.dropout.scores import accuracy_variance as accuracy_variance
from jaxtree.dropout.scores import expected_accuracy as expected_accuracy
from jaxtree.dropout.scores import expected_log_loss as expected_log_loss
from jaxtree.dropout.scores import expected_squared_error as expected_squared_error
from jaxtree.dropout.scores import sampled_accuracy as sampled_accuracy
from jaxtree.dropout.tuning import tune as tune
from jaxtree.dropout.votes import vote_accuracy as vote_accuracy
from jaxtree.dropout.votes import vote_share as vote_share
from jaxtree.notebook import lister
from jaxtree.prune.draws import draws as draws
from jaxtree.prune.draws import level_rates as level_rates
from jaxtree.prune.draws import node_rates as node_rates

__dir__ = lister(__name__)
