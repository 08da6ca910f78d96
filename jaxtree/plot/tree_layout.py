"""The places of a drawn tree's nodes, in points: no box and no label covers another, whatever they say.

The boxes of a level begin at one height. A line to a child leaves its parent downwards, is slanted between the levels
alone, and ends at the label that stands on the child's box; so no line crosses a box or a label either. Subtrees stand
as close together as their outlines allow (Reingold and Tilford, *Tidier drawings of trees*, 1981).
"""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from jaxtree.export.pictures import PicturedNode

LINE_HEIGHT = 1.22
"""The height of a line of text, in sizes of its font."""

PADDING = 0.65
"""Room between a text and its box, in sizes of the font."""

SPARE = 1.06
"""Room for fonts that a renderer rounds up to whole pixels."""


class FontSize(NamedTuple):
    """The size of a text.

    Attributes:
        laid_out: In points of the layout.
        scale: The points of the axes per point of the layout, at most 1.
    """

    laid_out: float
    scale: float

    @property
    def drawn(self) -> float:
        """In points of the axes; small text is smaller, since its letters are as wide as whole pixels."""
        return self.laid_out * self.scale * (0.8 + 0.2 * self.scale)


class Size(NamedTuple):
    """The space of a node: its box, and the label on it."""

    width: float
    height: float
    label_width: float
    label_height: float

    @property
    def half(self) -> float:
        """Half of the wider of the two."""
        return max(self.width, self.label_width) / 2


class Places(NamedTuple):
    """The places of nodes, from the left and from the top.

    Attributes:
        middle: The middle of every box.
        top: The upper edge of the boxes of every level.
        bottom: The lower edge of the highest of them.
        band: Where the labels of a level begin at most, which slanted lines do not pass.
        width: The width of all.
        height: The height of all.
    """

    middle: dict[int, float]
    top: list[float]
    bottom: list[float]
    band: list[float]
    width: float
    height: float


def size_of_text(text: str, fontsize: float) -> tuple[float, float]:
    """The width and height of lines of text in points; of no text both are 0."""
    if not text:
        return 0.0, 0.0
    font, lines = FontProperties(size=fontsize), text.split("\n")
    widths = [text_to_path.get_text_width_height_descent(line, font, False)[0] for line in lines]
    return SPARE * max(widths), LINE_HEIGHT * fontsize * len(lines)


def lay_out(nodes: Sequence[PicturedNode], sizes: dict[int, Size], fontsize: float) -> Places:
    """Places the nodes of a tree.

    Args:
        nodes: Each before its children.
        sizes: Their widths and heights, by number.
        fontsize: The size of the text.
    """
    offset, outline = _offsets(nodes, sizes, gap=1.2 * fontsize)
    middle: dict[int, float] = {}
    for node in nodes:
        is_root = not middle
        middle[node.node] = -min(left for left, _ in outline) if is_root else middle[node.parent] + offset[node.node]
    levels: list[list[PicturedNode]] = [[] for _ in range(1 + max(node.depth for node in nodes))]
    for node in nodes:
        levels[node.depth].append(node)
    top, bottom, band, height = [], [], [], 0.0
    for level in levels:
        band.append(height)
        top.append(height + max(sizes[node.node].label_height for node in level))
        bottom.append(top[-1] + max(sizes[node.node].height for node in level))
        height = bottom[-1] + 2.2 * fontsize
    width = max(right for _, right in outline) + middle[nodes[0].node]
    return Places(middle, top, bottom, band, width, bottom[-1])


_Outline = list[tuple[float, float]]
"""How far a subtree reaches to the left and to the right of its root, level by level."""


def _offsets(nodes: Sequence[PicturedNode], sizes: dict[int, Size], gap: float) -> tuple[dict[int, float], _Outline]:
    """How far every node stands to the right of its parent, and the outline of the whole tree."""
    offset: dict[int, float] = {}
    outlines: dict[int, _Outline] = {}
    for node in reversed(nodes):
        places, below = _side_by_side([outlines.pop(child) for child in node.children], gap)
        center = (places[0] + places[-1]) / 2 if places else 0.0
        offset |= {child: place - center for child, place in zip(node.children, places, strict=True)}
        half = sizes[node.node].half
        outlines[node.node] = [(-half, half), *((left - center, right - center) for left, right in below)]
    return offset, outlines[nodes[0].node]


def _side_by_side(outlines: list[_Outline], gap: float) -> tuple[list[float], _Outline]:
    """The places of the roots of subtrees next to one another, and the outline of all from the first."""
    places: list[float] = []
    joined: _Outline = []
    for own in outlines:
        apart = (right - left + gap for (_, right), (left, _) in zip(joined, own, strict=False))
        place = max(apart, default=0.0)
        places.append(place)
        for level, (left, right) in enumerate(own):
            if level < len(joined):
                joined[level] = (joined[level][0], place + right)
            else:
                joined.append((place + left, place + right))
    return places, joined
