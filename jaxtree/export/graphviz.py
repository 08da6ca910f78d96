"""A tree in DOT, the language of Graphviz."""

from collections.abc import Sequence
from typing import Any

from jaxtree.export.picture import PicturedNode, picture

_HEAD = """digraph tree {
  node [shape=box, style="filled,rounded", color="#6b6b6b", fontname="Helvetica"];
  edge [color="#6b6b6b", fontname="Helvetica", fontsize=11];"""


def to_graphviz(estimator: Any, *, feature_names: Sequence[str] | None = None, max_depth: int | None = None) -> str:
    r"""Returns the tree of a fitted estimator in DOT; no program of Graphviz is needed to make it.

    `dot -Tsvg tree.dot -o tree.svg` draws it, and so does `graphviz.Source(text)` of the Python package in a notebook.

    Args:
        estimator: A fitted estimator with a `tree_`.
        feature_names: Names of the columns, for a table that had none.
        max_depth: How deep to draw; to the leaves if not given.

    Raises:
        InvalidInputError: There is not one name a column, or the depth is negative.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> X, y = load_play_tennis(return_X_y=True, as_frame=True)
        >>> text = to_graphviz(ID3Classifier().fit(X, y), max_depth=1)
        >>> print(*text.splitlines()[3:6], sep=chr(10))
          0 [label="outlook?\nyes 64%\nn = 14", fillcolor="#f8e5ba"];
          1 [label="yes 100%\nn = 4", fillcolor="#efc159"];
          0 -> 1 [label="outlook = overcast"];
    """
    lines = [_HEAD]
    for node in picture(estimator, feature_names=feature_names, max_depth=max_depth):
        lines.append(_node(node))
        if node.branch:
            lines.append(f"  {node.parent} -> {node.node} [label={_quoted(node.branch)}];")
    return "\n".join([*lines, "}"])


def _node(node: PicturedNode) -> str:
    shown = (*node.lines, "…") if node.hides_children else node.lines
    label = "\\n".join(_escaped(line) for line in shown)
    return f'  {node.node} [label="{label}", fillcolor="{node.colour}"];'


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
