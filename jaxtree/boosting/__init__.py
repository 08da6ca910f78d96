"""Gradient boosting of trees, from any loss."""

from jaxtree.boosting.loss import BaseLoss as BaseLoss
from jaxtree.boosting.loss import Derivatives as Derivatives
from jaxtree.boosting.loss import Extras as Extras
from jaxtree.boosting.loss import Loss as Loss
from jaxtree.boosting.losses import logistic as logistic
from jaxtree.boosting.losses import softmax as softmax
from jaxtree.boosting.losses import squared as squared
