"""Analysis of dropout pruning: rates, scores of draws and of all draws, votes, and rates tuned on held-out rows."""

from jaxtree.pruning.dropout import Tuned as Tuned
from jaxtree.pruning.dropout import accuracy_variance as accuracy_variance
from jaxtree.pruning.dropout import check_rates as check_rates
from jaxtree.pruning.dropout import collapse_probability as collapse_probability
from jaxtree.pruning.dropout import drawn_votes as drawn_votes
from jaxtree.pruning.dropout import draws as draws
from jaxtree.pruning.dropout import expected_accuracy as expected_accuracy
from jaxtree.pruning.dropout import expected_log_loss as expected_log_loss
from jaxtree.pruning.dropout import expected_squared_error as expected_squared_error
from jaxtree.pruning.dropout import expected_votes as expected_votes
from jaxtree.pruning.dropout import level_rates as level_rates
from jaxtree.pruning.dropout import node_rates as node_rates
from jaxtree.pruning.dropout import sampled_accuracy as sampled_accuracy
from jaxtree.pruning.dropout import survival as survival
from jaxtree.pruning.dropout import tune as tune
from jaxtree.pruning.dropout import vote_accuracy as vote_accuracy
from jaxtree.pruning.dropout import vote_share as vote_share
