"""Prunings as parameters of an estimator: what `pruning=` takes.

A pruning has scikit-learn's protocol of parameters, so that a search can set `pruning__p`. A parameter given as an
array makes a mask for each of its values.
"""

from jaxtree.estimators.prunings.base import Pruning as Pruning
from jaxtree.estimators.prunings.drawn import Dropout as Dropout
from jaxtree.estimators.prunings.training import ChiSquared as ChiSquared
from jaxtree.estimators.prunings.training import Collapse as Collapse
from jaxtree.estimators.prunings.training import CostComplexity as CostComplexity
from jaxtree.estimators.prunings.training import CriticalValue as CriticalValue
from jaxtree.estimators.prunings.training import MaxLeafNodes as MaxLeafNodes
from jaxtree.estimators.prunings.training import MinimumError as MinimumError
from jaxtree.estimators.prunings.training import Pessimistic as Pessimistic
from jaxtree.estimators.prunings.training import Pessimistic1987 as Pessimistic1987
from jaxtree.estimators.prunings.validation import ReducedError as ReducedError
from jaxtree.estimators.prunings.validation import ValidationGate as ValidationGate
