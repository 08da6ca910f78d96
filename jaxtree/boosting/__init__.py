"""Gradient boosting of trees, from any loss."""

from jaxtree.boosting import distributions as distributions
from jaxtree.boosting.booster import Boosted as Boosted
from jaxtree.boosting.booster import NewRounds as NewRounds
from jaxtree.boosting.booster import boost as boost
from jaxtree.boosting.data import BaseLearner as BaseLearner
from jaxtree.boosting.data import BoostData as BoostData
from jaxtree.boosting.data import ColumnFractions as ColumnFractions
from jaxtree.boosting.data import InitialScores as InitialScores
from jaxtree.boosting.data import Shrinkage as Shrinkage
from jaxtree.boosting.dropping import Dropping as Dropping
from jaxtree.boosting.ending import Stop as Stop
from jaxtree.boosting.folds import Folds as Folds
from jaxtree.boosting.round_tree import ScoredRows as ScoredRows
from jaxtree.boosting.samples import MinimalVariance as MinimalVariance
from jaxtree.boosting.samples import OneSided as OneSided
from jaxtree.boosting.samples import Uniform as Uniform
from jaxtree.growth.inputs.newton import Newton as Newton
from jaxtree.growth.inputs.newton import Penalties as Penalties
from jaxtree.losses.classes import logistic as logistic
from jaxtree.losses.classes import softmax as softmax
from jaxtree.losses.curves import SurvivalCurve as SurvivalCurve
from jaxtree.losses.curves import SurvivalCurves as SurvivalCurves
from jaxtree.losses.distribution import Distribution as Distribution
from jaxtree.losses.loss import BaseLoss as BaseLoss
from jaxtree.losses.loss import Derivatives as Derivatives
from jaxtree.losses.loss import Extras as Extras
from jaxtree.losses.loss import Loss as Loss
from jaxtree.losses.numbers import absolute as absolute
from jaxtree.losses.numbers import expectile as expectile
from jaxtree.losses.numbers import gamma as gamma
from jaxtree.losses.numbers import poisson as poisson
from jaxtree.losses.numbers import quantile as quantile
from jaxtree.losses.numbers import quantiles as quantiles
from jaxtree.losses.numbers import squared as squared
from jaxtree.losses.numbers import tweedie as tweedie
from jaxtree.losses.predicted import PredictedDistribution as PredictedDistribution
from jaxtree.losses.ranking import average_precision as average_precision
from jaxtree.losses.ranking import ndcg as ndcg
from jaxtree.losses.ranking import pairwise as pairwise
from jaxtree.losses.robust import huber as huber
from jaxtree.losses.robust import pseudo_huber as pseudo_huber
from jaxtree.losses.survival import accelerated_failure_time as accelerated_failure_time
from jaxtree.losses.survival import cox as cox
from jaxtree.notebook import lister

__dir__ = lister(__name__)
