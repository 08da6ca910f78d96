"""Distributions of targets, of which boosting fits all parameters; see `jaxtree.losses.distributions`."""

from jaxtree.losses.distributions import laplace as laplace
from jaxtree.losses.distributions import logistic as logistic
from jaxtree.losses.distributions import lognormal as lognormal
from jaxtree.losses.distributions import normal as normal
from jaxtree.losses.distributions import student_t as student_t
from jaxtree.losses.shaped import beta as beta
from jaxtree.losses.shaped import gamma as gamma
from jaxtree.losses.shaped import negative_binomial as negative_binomial
from jaxtree.losses.shaped import weibull as weibull
