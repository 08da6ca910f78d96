"""Decision trees in JAX, on CPU, GPU and TPU."""

from jaxtree import criteria as criteria
from jaxtree import datasets as datasets
from jaxtree import dropout as dropout
from jaxtree import errors as errors
from jaxtree import prune as prune
from jaxtree.estimators.c45 import C45Classifier as C45Classifier
from jaxtree.estimators.id3 import ID3Classifier as ID3Classifier
from jaxtree.estimators.trees import DecisionTreeClassifier as DecisionTreeClassifier
from jaxtree.estimators.trees import DecisionTreeRegressor as DecisionTreeRegressor
from jaxtree.export.text import export_text as export_text
from jaxtree.growth.grow import Growth as Growth
from jaxtree.growth.grow import grow as grow
from jaxtree.growth.inputs import Features as Features
from jaxtree.growth.inputs import Limits as Limits
from jaxtree.growth.rules import Missing as Missing
from jaxtree.growth.rules import Selection as Selection
from jaxtree.pruning.dropout import Dropout as Dropout
from jaxtree.table.encoder import Encoder as Encoder
from jaxtree.table.schema import Schema as Schema
from jaxtree.tree import SplitKind as SplitKind
from jaxtree.tree import Tree as Tree
from jaxtree.tree import apply as apply
from jaxtree.tree import majority_class as majority_class
from jaxtree.tree import take_tree as take_tree

__version__ = "0.1.0"
