"""Impurity criteria: functions of the class weights of a node, and criteria of numbers."""

from jaxtree.growth.criteria import entropy as entropy
from jaxtree.growth.criteria import gini as gini
from jaxtree.growth.criteria import misclassification as misclassification
from jaxtree.growth.criteria import poisson as poisson
from jaxtree.growth.criteria import squared_error as squared_error
