"""All prunings beside one another: nested cross-validation, ranks, a page."""

from jaxtree.study.prunings.experiment import Plan as Plan
from jaxtree.study.prunings.experiment import run as run
