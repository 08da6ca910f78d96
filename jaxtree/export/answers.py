"""The label of a drawing's line to a child: the threshold or the set of its branch alone, since its parent asks.

A set has only the categories that the splits above let through, so that deep in a tree it is short.
"""

from collections.abc import Sequence

from jaxtree.export.conditions import condition, group_codes, takes_missing
from jaxtree.table.schema import Schema
from jaxtree.table.words import value_in_words
from jaxtree.tree import SplitKind, Tree

MOST_LETTERS = 44
"""Letters of a set before it is shortened to its first categories and their number."""

MOST_LETTERS_OF_NAME = 40
"""Letters of one category before it is shortened."""


def answer_in_words(tree: Tree, schema: Schema, node: int) -> str:
    """Writes the branch to a node without its column: "≤ 30", "green, red", "… 7 of 26", "> 2 or missing".

    Args:
        tree: The tree.
        schema: Its columns.
        node: A node below the root.
    """
    parent, asked = int(tree.parent[node]), condition(tree, schema, node)
    if asked.relation in ("is known", "is missing"):
        return asked.relation.removeprefix("is ")
    if asked.relation in ("<=", ">"):
        words = f"{'≤' if asked.relation == '<=' else '>'} {value_in_words(asked.values[0])}"
    elif schema.columns[tree.feature[parent]].kind == "boolean":
        words = value_in_words(asked.values[0])
    else:
        words = _set_in_words(tree, schema, node)
    return words + (" or missing" if takes_missing(tree, schema, node) else "")


def codes_of_branch(tree: Tree, schema: Schema, node: int) -> list[int]:
    """The codes of the parent's column that come to a node, of those that the splits above let through."""
    parent = int(tree.parent[node])
    column = int(tree.feature[parent])
    codes, child = set(range(schema.columns[column].num_values)), node
    while child:
        above = int(tree.parent[child])
        if tree.feature[above] == column:
            codes &= _own_codes(tree, schema, child)
        child = above
    return sorted(codes)


def _own_codes(tree: Tree, schema: Schema, node: int) -> set[int]:
    """The codes that the parent's split sends to a node."""
    parent = int(tree.parent[node])
    branch, every = node - int(tree.first_child[parent]), schema.num_values[tree.feature[parent]]
    if tree.split_kind[parent] == SplitKind.MULTIWAY:
        return {branch}
    group = set(group_codes(tree, schema, parent))
    return group if branch == 1 else set(range(every)) - group


def _set_in_words(tree: Tree, schema: Schema, node: int) -> str:
    column = schema.columns[tree.feature[tree.parent[node]]]
    codes = codes_of_branch(tree, schema, node)
    names = [shortened_name(value_in_words(column.categories[code])) for code in codes]
    return short_list(names, column.num_values) if names else "others"


def shortened_name(name: str, most: int = MOST_LETTERS_OF_NAME) -> str:
    """A name in one line of few letters.

    >>> shortened_name("a name of more letters than there is room for")
    'a name of more letters than there is ro…'
    """
    name = " ".join(name.split())
    return name if len(name) <= most else name[: most - 1].rstrip() + "…"


def short_list(names: Sequence[str], number: int, most: int = MOST_LETTERS) -> str:
    r"""Writes some of a number of names: all of them, or the first and how many they are.

    >>> short_list(["red", "green"], 5)
    'red, green'
    >>> print(short_list([f"colour {place}" for place in range(9)], 26).replace("\N{NO-BREAK SPACE}", " "))
    colour 0, colour 1, … (9 of 26)
    """
    if len(names) == 1 or len(", ".join(names)) <= most:
        return ", ".join(names)
    shown = [names[0]]
    for name in names[1:]:
        if len(", ".join([*shown, name])) > most // 2:
            break
        shown.append(name)
    return f"{', '.join(shown)}, … ({len(names)}\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}{number})"
