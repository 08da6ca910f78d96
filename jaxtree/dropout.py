"""Analysis of dropout pruning: accuracies of draws, their exact mean, and the vote of all draws."""

from jaxtree.pruning.dropout import expected_accuracy as expected_accuracy
from jaxtree.pruning.dropout import sampled_accuracy as sampled_accuracy
from jaxtree.pruning.dropout import vote_share as vote_share
