"""A tree as plain HTML that opens and closes by itself, small enough to stand in a notebook's cell."""

import html
from typing import Any

from jaxtree.export.picture import PicturedNode, picture

SMALL_DEPTH, MOST_NODES = 6, 200
"""How deep a small tree is drawn, and with how many nodes at most; both are said where more is left out."""

OPEN_DEPTH = 2
"""Nodes above this depth are open at first."""

_STYLE = "font:13px/1.7 system-ui,sans-serif;margin:0.5em 0"
_BELOW = "margin-left:0.55em;padding-left:0.9em;border-left:1px solid #8886"
_COLOUR = "display:inline-block;width:0.7em;height:0.7em;border-radius:0.2em;margin-right:0.4em;background:"


def small_html(estimator: Any) -> str:
    """Returns the upper part of a fitted tree as HTML without scripts: what branches ask, and what nodes predict.

    Args:
        estimator: A fitted estimator with a `tree_`.

    Raises:
        sklearn.exceptions.NotFittedError: The estimator is not fitted.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> X, y = load_play_tennis(return_X_y=True, as_frame=True)
        >>> text = small_html(ID3Classifier().fit(X, y))
        >>> "outlook = overcast" in text, "<script" in text
        (True, False)
    """
    depth = _depth_of_most_nodes(estimator.tree_)
    nodes = {node.node: node for node in picture(estimator, max_depth=depth)}
    tree = estimator.tree_
    shown = f", drawn to depth {depth}" if any(node.hides_children for node in nodes.values()) else ""
    size = f"{tree.node_count:,} nodes, {tree.n_leaves:,} leaves, depth {tree.max_depth}{shown}"
    return f'<div style="{_STYLE}"><div style="opacity:0.65">{size}</div>{_node(nodes[0], nodes)}</div>'


def _depth_of_most_nodes(tree: Any) -> int:
    """The depth down to which a tree has no more than the most nodes."""
    depths = tree.depth[: tree.node_count]
    depth = 1
    while depth < SMALL_DEPTH and (depths <= depth + 1).sum() <= MOST_NODES:
        depth += 1
    return depth


def _node(node: PicturedNode, nodes: dict[int, PicturedNode]) -> str:
    line = _line(node)
    if not node.children:
        return f'<div style="padding-left:1em">{line}</div>'
    below = "".join(_node(nodes[child], nodes) for child in node.children)
    is_open = " open" if node.depth < OPEN_DEPTH else ""
    summary = f'<summary style="cursor:pointer">{line}</summary>'
    return f'<details{is_open}>{summary}<div style="{_BELOW}">{below}</div></details>'


def _line(node: PicturedNode) -> str:
    asked, said = (node.lines[0], node.lines[1:]) if node.children else ("", node.lines)
    branch = f"<b>{html.escape(node.branch or 'all rows')}</b>"
    words = html.escape(", ".join((*said, "…") if node.hides_children else said))
    asks = f' <span style="opacity:0.65">{html.escape(asked)}</span>' if asked else ""
    return f'<span style="{_COLOUR}{node.colour}"></span>{branch}: {words}{asks}'
