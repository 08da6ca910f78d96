"""Predictions by NumPy and the kernel alone, of models in files: a server starts soon, as nothing else is loaded."""

from jaxtree.notebook import lister
from jaxtree.serving.load import ServedModel as ServedModel
from jaxtree.serving.load import load as load

__dir__ = lister(__name__)
