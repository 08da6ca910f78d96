"""Decision trees in JAX, on CPU, GPU and TPU."""

import importlib
from typing import TYPE_CHECKING

from jaxtree import compilation as compilation
from jaxtree import criteria as criteria
from jaxtree import datasets as datasets
from jaxtree import dropout as dropout
from jaxtree import errors as errors
from jaxtree import explain as explain
from jaxtree import prune as prune
from jaxtree.estimators.c45 import C45Classifier as C45Classifier
from jaxtree.estimators.files import forests as _forests_in_files  # noqa: F401, which registers forests
from jaxtree.estimators.files import hardened as _hardened_in_files  # noqa: F401, which registers hardened trees
from jaxtree.estimators.files import soft as _soft_in_files  # noqa: F401, which registers soft trees and forests
from jaxtree.estimators.files import trees as _trees_in_files  # noqa: F401, which registers trees
from jaxtree.estimators.files.registry import load as load
from jaxtree.estimators.forests.extra_trees import ExtraTreesClassifier as ExtraTreesClassifier
from jaxtree.estimators.forests.extra_trees import ExtraTreesRegressor as ExtraTreesRegressor
from jaxtree.estimators.forests.random_forests import RandomForestClassifier as RandomForestClassifier
from jaxtree.estimators.forests.random_forests import RandomForestRegressor as RandomForestRegressor
from jaxtree.estimators.id3 import ID3Classifier as ID3Classifier
from jaxtree.estimators.leaves import LeafEncoder as LeafEncoder
from jaxtree.estimators.pruned import prune_to as prune_to
from jaxtree.estimators.prunings import ChiSquared as ChiSquared
from jaxtree.estimators.prunings import Collapse as Collapse
from jaxtree.estimators.prunings import CostComplexity as CostComplexity
from jaxtree.estimators.prunings import CriticalValue as CriticalValue
from jaxtree.estimators.prunings import Dropout as Dropout
from jaxtree.estimators.prunings import MaxLeafNodes as MaxLeafNodes
from jaxtree.estimators.prunings import MinimumError as MinimumError
from jaxtree.estimators.prunings import Pessimistic as Pessimistic
from jaxtree.estimators.prunings import Pessimistic1987 as Pessimistic1987
from jaxtree.estimators.prunings import Pruning as Pruning
from jaxtree.estimators.prunings import ReducedError as ReducedError
from jaxtree.estimators.prunings import ValidationGate as ValidationGate
from jaxtree.estimators.soft.forests import SoftForestClassifier as SoftForestClassifier
from jaxtree.estimators.soft.forests import SoftForestRegressor as SoftForestRegressor
from jaxtree.estimators.soft.hardened import HardTreeClassifier as HardTreeClassifier
from jaxtree.estimators.soft.hardened import HardTreeRegressor as HardTreeRegressor
from jaxtree.estimators.soft.trees import SoftTreeClassifier as SoftTreeClassifier
from jaxtree.estimators.soft.trees import SoftTreeRegressor as SoftTreeRegressor
from jaxtree.estimators.trees import DecisionTreeClassifier as DecisionTreeClassifier
from jaxtree.estimators.trees import DecisionTreeRegressor as DecisionTreeRegressor
from jaxtree.estimators.tuning import tune_dropout as tune_dropout
from jaxtree.explain.rows import explain_row as explain_row
from jaxtree.export.c_code import to_c as to_c
from jaxtree.export.frame import to_dataframe as to_dataframe
from jaxtree.export.graphviz import to_graphviz as to_graphviz
from jaxtree.export.jax_function import to_jax_export as to_jax_export
from jaxtree.export.onnx_model import to_onnx as to_onnx
from jaxtree.export.sklearn_model import to_sklearn as to_sklearn
from jaxtree.export.sql import to_sql as to_sql
from jaxtree.export.text import export_text as export_text
from jaxtree.export.treelite_model import to_treelite as to_treelite
from jaxtree.growth.grow import grow as grow
from jaxtree.growth.inputs import Features as Features
from jaxtree.growth.inputs import Limits as Limits
from jaxtree.growth.loop import Growth as Growth
from jaxtree.growth.rules import Missing as Missing
from jaxtree.growth.rules import Selection as Selection
from jaxtree.page import to_html as to_html
from jaxtree.search.tree_search import TreeSearchCV as TreeSearchCV
from jaxtree.sklearn_tree import from_sklearn as from_sklearn
from jaxtree.table.encoder import Encoder as Encoder
from jaxtree.table.schema import Schema as Schema
from jaxtree.tree import SplitKind as SplitKind
from jaxtree.tree import Tree as Tree
from jaxtree.tree import apply as apply
from jaxtree.tree import majority_class as majority_class
from jaxtree.tree import predict_proba as predict_proba
from jaxtree.tree import take_tree as take_tree

if TYPE_CHECKING:
    from jaxtree import plot as plot

__version__ = "0.1.0"

_LATER = ("plot",)
"""Modules that are imported when they are first asked for, because of the libraries that they bring: Matplotlib."""


def __getattr__(name: str):
    if name in _LATER:
        return importlib.import_module(f"jaxtree.{name}")
    raise AttributeError(f"module 'jaxtree' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
