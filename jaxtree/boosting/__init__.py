"""Gradient boosting of trees, from any loss."""

from jaxtree.boosting import distributions as distributions
from jaxtree.boosting.distribution import Distribution as Distribution
from jaxtree.boosting.loss import BaseLoss as BaseLoss
from jaxtree.boosting.loss import Derivatives as Derivatives
from jaxtree.boosting.loss import Extras as Extras
from jaxtree.boosting.loss import Loss as Loss
from jaxtree.boosting.losses import absolute as absolute
from jaxtree.boosting.losses import expectile as expectile
from jaxtree.boosting.losses import gamma as gamma
from jaxtree.boosting.losses import huber as huber
from jaxtree.boosting.losses import logistic as logistic
from jaxtree.boosting.losses import poisson as poisson
from jaxtree.boosting.losses import pseudo_huber as pseudo_huber
from jaxtree.boosting.losses import quantile as quantile
from jaxtree.boosting.losses import softmax as softmax
from jaxtree.boosting.losses import squared as squared
from jaxtree.boosting.losses import tweedie as tweedie
from jaxtree.boosting.quantiles import quantiles as quantiles
from jaxtree.boosting.ranking import average_precision as average_precision
from jaxtree.boosting.ranking import ndcg as ndcg
from jaxtree.boosting.ranking import pairwise as pairwise
from jaxtree.boosting.survival import accelerated_failure_time as accelerated_failure_time
from jaxtree.boosting.survival import cox as cox
