"""Trees as functions of arrays: boosting and fitted models inside `jit`, `vmap`, `scan` and `grad`."""

from jaxtree.functional.boosting import Boosting as Boosting
from jaxtree.functional.boosting import BoostingState as BoostingState
from jaxtree.functional.edges import BinEdges as BinEdges
from jaxtree.functional.edges import bins as bins
from jaxtree.functional.fit import BoostedFit as BoostedFit
from jaxtree.functional.fit import FitRows as FitRows
from jaxtree.functional.fit import fit as fit
from jaxtree.functional.hyper import Hyper as Hyper
from jaxtree.functional.single import SingleTree as SingleTree
from jaxtree.functional.single import tree as tree
from jaxtree.functional.stack import TreeStack as TreeStack
from jaxtree.notebook import lister

__dir__ = lister(__name__)
