"""A tree or forest as a C99 file: tables of questions, and a loop that walks through them."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import Question, questions_of
from jaxtree.export.models import Planes, TermKind, exported_with_planes
from jaxtree.table.schema import Schema
from jaxtree.tree import FittedModel

_WORD = 32
_PER_LINE = 12

_TEMPLATE = """\
/* {title}, made by jaxtree. It needs C99, <math.h> and <string.h>, and no memory but the stack.

   A row is one double a column, in this order:
{columns}
   A missing value, and a word that is not listed, is NAN. */

#include <math.h>
#include <string.h>

enum {{ {name}_num_columns = {num_columns}, {name}_num_outputs = {num_outputs} }};

{tables}

/* The code of a word in a column of words; NAN if it is not listed, or the column has numbers. */
double {name}_code(int column, const char *word) {{
  for (int code = {name}_first_word[column]; code < {name}_first_word[column + 1]; code++)
    if (strcmp({name}_word[code], word) == 0) return code - {name}_first_word[column];
  return NAN;
}}

{planes}/* The end of a row's walk from a question on: the number of what is said there. */
static int {name}_walk(const double *row, int at) {{
  while ({name}_column[at] >= 0) {{
    double value = {value};
    int yes;
    if (isnan(value)) yes = {name}_missing_is_yes[at];
    else if ({name}_first_bits[at] < 0) yes = value <= {name}_limit[at];
    else {{
      int code = (int)value;
      yes = code >= 0 && code < {name}_num_codes[{name}_column[at]] &&
            ({name}_bits[{name}_first_bits[at] + code / {word}] >> (code % {word}) & 1u);
    }}
    at = yes ? {name}_yes[at] : {name}_no[at];
  }}
  return {name}_yes[at];
}}

/* {what}. */
void {name}_predict{suffix}(const double *row, double *output) {{
  for (int column = 0; column < {name}_num_outputs; column++) output[column] = 0;
  for (int tree = 0; tree < {num_trees}; tree++) {{
    const double *said = {name}_said + (long){name}_num_outputs * {name}_walk(row, {name}_root[tree]);
    for (int column = 0; column < {name}_num_outputs; column++) output[column] += said[column];
  }}
  for (int column = 0; column < {name}_num_outputs; column++) output[column] /= {num_trees};
}}
"""

_PLANES = """\
/* A plane: a weighted sum of scaled numbers, categories (1 or 0) and missing values (1 or 0). */
static double {name}_plane(const double *row, int plane) {{
  double sum = 0;
  for (int term = 0; term < {num_terms}; term++) {{
    double value = row[{name}_term_column[term]];
    float x = 0;
    if ({name}_term_kind[term] == {missing}) x = isnan(value) ? 1 : 0;
    else if (isnan(value)) x = 0;
    else if ({name}_term_kind[term] == {category}) x = value == {name}_middle[term] ? 1 : 0;
    else x = (float)((value - {name}_middle[term]) / {name}_unit[term]);
    sum += {name}_weight[plane * {num_terms} + term] * x;
  }}
  return sum + {name}_offset[plane];
}}

"""

_LABEL_OF_TREE = """
/* The place of the predicted class among: {classes}. */
int {name}_predict(const double *row) {{
  return {name}_label[{name}_walk(row, {name}_root[0])];
}}
"""

_LABEL_OF_FOREST = """
/* The place of the predicted class among: {classes}. */
int {name}_predict(const double *row) {{
  double share[{name}_num_outputs];
  int best = 0;
  {name}_predict_proba(row, share);
  for (int column = 1; column < {name}_num_outputs; column++)
    if (share[column] > share[best]) best = column;
  return best;
}}
"""


def to_c(estimator: Any, *, name: str = "tree", no_missing: bool = False) -> str:
    """Returns a fitted tree or forest as the text of a C99 file.

    It has the functions `<name>_predict_proba(row, shares)` and `int <name>_predict(row)` of classes, or
    `<name>_predict(row, output)` of numbers, and `<name>_code(column, word)` for the code of a word. A row is one
    double a column; a missing value is NAN. They predict what the estimator does, in the same arithmetic; of an oblique
    tree sums may be rounded otherwise, which matters for rows that lie on a plane.

    Args:
        estimator: A fitted tree or forest of one output, or an oblique tree that `harden` made.
        name: What the names in the file begin with.
        no_missing: Allows a tree that shares out rows whose value is missing, for rows without missing values and
            unseen words.

    Raises:
        InvalidInputError: The name is none of C; the estimator has several outputs, or shares out rows with missing
            values.
        InvalidTypeError: It is no tree or forest of jaxtree with hard splits.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> text = to_c(DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True)), name="iris")
        >>> "int iris_predict(const double *row)" in text
        True
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise InvalidInputError(f"name must be letters, digits and underscores, got {name!r}")
    model, planes = exported_with_planes(estimator)
    table = model.schema if planes is None else planes.schema
    text = _TEMPLATE.format(
        title="A forest" if model.averages_trees else "A decision tree",
        columns="\n".join(_column_lines(table)),
        name=name,
        num_columns=len(table.columns),
        num_outputs=model.node_value.shape[1],
        tables="\n".join([*_tables(model, table, name, no_missing=no_missing), *_tables_of_planes(planes, name)]),
        planes=_planes(planes, name),
        value=f"row[{name}_column[at]]" if planes is None else f"{name}_plane(row, {name}_column[at])",
        what="The number that is predicted" if not model.classes else "The share of every class",
        suffix="_proba" if model.classes else "",
        num_trees=len(model.forest),
        word=_WORD,
    )
    if not model.classes:
        return text
    label = _LABEL_OF_FOREST if model.averages_trees else _LABEL_OF_TREE
    return text + label.format(name=name, classes=_comment(", ".join(map(str, model.classes[0]))))


def _column_lines(schema: Schema) -> Iterable[str]:
    for place, column in enumerate(schema.columns):
        number = column.unit or "a number"
        words = number if column.kind == "numeric" else f"the code of one of {len(column.categories)} words"
        if column.kind == "boolean":
            words = "0 or 1"
        yield f"   {place}: {_comment(column.name)}, {words}"


def _comment(text: str) -> str:
    """A text that does not end a comment, nor begin one, nor break a line."""
    printable = "".join(letter if letter.isprintable() and letter != "\\" else "?" for letter in text)
    return printable.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def _planes(planes: Planes | None, name: str) -> str:
    """The function that sums a plane."""
    if planes is None:
        return ""
    kinds = {"missing": int(TermKind.MISSING), "category": int(TermKind.CATEGORY)}
    return _PLANES.format(name=name, num_terms=planes.num_terms, **kinds)


def _tables_of_planes(planes: Planes | None, name: str) -> list[str]:
    if planes is None:
        return []
    numbers = {
        "middle": planes.middle,
        "unit": planes.unit,
        "weight": planes.weight.ravel(),
        "offset": planes.offset,
    }
    return [
        _table("int", f"{name}_term_column", planes.column.tolist()),
        _table("int", f"{name}_term_kind", planes.kind.tolist()),
        *(_table("double", f"{name}_{of}", [_number(value) for value in values]) for of, values in numbers.items()),
    ]


def _tables(model: FittedModel, table: Schema, name: str, *, no_missing: bool) -> list[str]:
    questions: list[Question] = []
    columns = model.schema.columns
    roots, ends, bits, first_bits = [], [], [], []
    for tree, first_node in zip(model.forest, model.forest.first_node.tolist(), strict=False):
        first = len(questions)
        roots.append(first)
        for asked in questions_of(tree, model.schema, no_missing=no_missing):
            if asked.is_end:
                questions.append(asked._replace(yes=len(ends)))
                ends.append(first_node + asked.node)
            else:
                questions.append(asked._replace(yes=asked.yes + first, no=asked.no + first))
            is_group = not asked.is_end and columns[asked.column].kind != "numeric" and asked.limit < np.inf
            first_bits.append(len(bits) if is_group else -1)
            bits += _bits(asked.codes, columns[asked.column].num_values) if is_group else []
    words = [[str(word) for word in column.categories] if column.kind != "numeric" else [] for column in table.columns]
    first_word = np.cumsum([0, *(len(part) for part in words)]).tolist()
    tables = [
        _table("const char *const", f"{name}_word", [_string(word) for part in words for word in part]),
        _table("int", f"{name}_first_word", first_word),
        _table("int", f"{name}_num_codes", np.diff(first_word).tolist()),
        _table("int", f"{name}_root", roots),
        _table("int", f"{name}_column", [asked.column for asked in questions]),
        _table("double", f"{name}_limit", [_number(asked.limit) for asked in questions]),
        _table("int", f"{name}_yes", [asked.yes for asked in questions]),
        _table("int", f"{name}_no", [asked.no for asked in questions]),
        _table("char", f"{name}_missing_is_yes", [int(asked.missing_is_yes) for asked in questions]),
        _table("int", f"{name}_first_bits", first_bits),
        _table("unsigned int", f"{name}_bits", [f"{word}u" for word in bits]),
        _table("double", f"{name}_said", [_number(value) for value in model.node_value[ends].ravel().tolist()]),
    ]
    if model.node_label is not None:
        tables.append(_table("int", f"{name}_label", model.node_label[0, ends].tolist()))
    return tables


def _bits(codes: tuple[int, ...], num_values: int) -> list[int]:
    words = [0] * (num_values // _WORD + 1)
    for code in codes:
        words[code // _WORD] |= 1 << code % _WORD
    return words


def _table(kind: str, name: str, values: list) -> str:
    """An array; C has none without elements."""
    texts = [str(value) for value in values] or ['""' if "*" in kind else "0"]
    lines = [", ".join(texts[first : first + _PER_LINE]) for first in range(0, len(texts), _PER_LINE)]
    kind = kind if kind.startswith("const") else f"const {kind}"
    return f"static {kind} {name}[] = {{\n  " + ",\n  ".join(lines) + "};"


def _number(value: float) -> str:
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return float(value).hex()


def _string(text: str) -> str:
    """A string of C, byte by byte where it is not plain."""
    data = text.encode("utf-8", "surrogatepass")
    if b"\0" in data:
        raise InvalidInputError(f"the word {text!r} has a zero character, which strings of C have not")
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;()<>=/"
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in data) + '"'
