"""The engine: growth of trees, level by level, and what its callers need: arrays in, node tables out."""

from jaxtree.growth.inputs.bundles import Data as Data
from jaxtree.growth.inputs.bundles import Features as Features
from jaxtree.growth.inputs.bundles import Limits as Limits
from jaxtree.growth.inputs.bundles import Missing as Missing
from jaxtree.growth.inputs.bundles import Rules as Rules
from jaxtree.growth.inputs.bundles import Selection as Selection
from jaxtree.growth.inputs.bundles import Sizes as Sizes
from jaxtree.growth.inputs.objective import Objective as Objective
from jaxtree.growth.inputs.shares import Shares as Shares
from jaxtree.growth.inputs.standard_objectives import Classes as Classes
from jaxtree.growth.inputs.standard_objectives import Numbers as Numbers
from jaxtree.growth.loop.grow import grow as grow
from jaxtree.notebook import lister
from jaxtree.table.encoder import Encoder as Encoder
from jaxtree.tree import SplitKind as SplitKind
from jaxtree.tree import apply as apply
from jaxtree.tree import majority_class as majority_class
from jaxtree.tree import predict_proba as predict_proba
from jaxtree.tree import take_tree as take_tree

__dir__ = lister(__name__)
