"""Inference about effects of a treatment from arrays: scores of rows, averages, projections, calibration, ranks."""

from jaxtree.effects.averages import AverageEffect as AverageEffect
from jaxtree.effects.averages import average_effect as average_effect
from jaxtree.effects.averages import average_effect_on as average_effect_on
from jaxtree.effects.linear import LinearFit as LinearFit
from jaxtree.effects.linear import best_linear_projection as best_linear_projection
from jaxtree.effects.linear import calibration_test as calibration_test
from jaxtree.effects.propensities import Overlap as Overlap
from jaxtree.effects.propensities import overlap as overlap
from jaxtree.effects.ranks import RankAverageEffect as RankAverageEffect
from jaxtree.effects.ranks import rank_average_effect as rank_average_effect
from jaxtree.effects.scores import arm_scores as arm_scores
from jaxtree.effects.scores import doubly_robust_rewards as doubly_robust_rewards
from jaxtree.effects.scores import doubly_robust_scores as doubly_robust_scores
from jaxtree.effects.scores import instrumental_scores as instrumental_scores
from jaxtree.notebook import lister

__dir__ = lister(__name__)
