"""Soft trees: differentiable, trained by gradients, made from hard trees and made hard again."""

from jaxtree.notebook import lister
from jaxtree.soft import losses as losses
from jaxtree.soft.epochs import Hyperparameters as Hyperparameters
from jaxtree.soft.epochs import TrainingConfig as TrainingConfig
from jaxtree.soft.epochs import make_rows as make_rows
from jaxtree.soft.form import SoftForm as SoftForm
from jaxtree.soft.from_tree import class_votes as class_votes
from jaxtree.soft.from_tree import from_tree as from_tree
from jaxtree.soft.from_tree import log_shares as log_shares
from jaxtree.soft.harden import harden as harden
from jaxtree.soft.inputs import fit_inputs as fit_inputs
from jaxtree.soft.model import SoftTree as SoftTree
from jaxtree.soft.model import apply as apply
from jaxtree.soft.model import init as init
from jaxtree.soft.model import node_probability as node_probability
from jaxtree.soft.model import with_dropout as with_dropout
from jaxtree.soft.rates import LearningRates as LearningRates
from jaxtree.soft.runs import Validation as Validation
from jaxtree.soft.training import train as train
from jaxtree.soft.training import train_many as train_many

__dir__ = lister(__name__)
