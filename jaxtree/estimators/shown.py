"""Fitted trees in notebooks: scikit-learn's diagram of the parameters, and the tree below it."""

from typing import Any

from sklearn.utils import estimator_html_repr

from jaxtree.export.small_html import small_html


class ShownWithTree:
    """Lets the display of an estimator in a notebook have its tree once it is fitted; before it is scikit-learn's own.

    It stands before `BaseEstimator`, whose `_repr_html_` and `_repr_mimebundle_` show what `_html_repr` returns.
    """

    def _html_repr(self) -> str:
        own: Any = self
        diagram = estimator_html_repr(own)
        return diagram + small_html(own) if hasattr(own, "tree_") else diagram
