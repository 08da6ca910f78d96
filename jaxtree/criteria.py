"""Impurity criteria: functions of the class weights of a node."""

from jaxtree.growth.criteria import entropy as entropy
from jaxtree.growth.criteria import gini as gini
from jaxtree.growth.criteria import misclassification as misclassification
