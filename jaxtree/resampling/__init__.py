"""Many fits on parts of a table: comparisons of models, cross-validation, learning curves, bags, intervals."""

from jaxtree.notebook import lister
from jaxtree.resampling.bagging import Bagged as Bagged
from jaxtree.resampling.bagging import bag as bag
from jaxtree.resampling.boruta import BorutaSelector as BorutaSelector
from jaxtree.resampling.compare import compare as compare
from jaxtree.resampling.comparison import Comparison as Comparison
from jaxtree.resampling.conformal import ConformalRegressor as ConformalRegressor
from jaxtree.resampling.validation import cross_validate as cross_validate
from jaxtree.resampling.validation import learning_curve as learning_curve

__dir__ = lister(__name__)
