"""A tree or forest as a program that needs no jaxtree: in C99, as tables of questions and a loop, or made by JAX."""

import re
from collections.abc import Callable, Iterable, Sequence
from string import Template
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jaxtyping import Array, Float32

from jaxtree.errors import InvalidInputError
from jaxtree.export.c_links import number_in_c, text_of_link
from jaxtree.export.c_rows import RankedQuestions, arrays_of_rows, ranked, text_of_rows
from jaxtree.export.conditions import Question, questions_of_forest
from jaxtree.export.functions import function_of
from jaxtree.export.jax_walks import planes_of_rows
from jaxtree.export.models import Planes, PlaneTermKind, best_of_search, exported_with_planes
from jaxtree.table.schema import Schema
from jaxtree.tree.kinds import ModelKind, kind_of
from jaxtree.tree.model import FittedModel

_PER_LINE = 12

_FILE = """\
/* $title, made by jaxtree. It needs C99, <math.h> and <string.h>, and no memory but the stack.

   A row is one double a column, in this order:
$columns
   A missing value is NAN. */

#include <math.h>
#include <string.h>

enum { @num_columns = $num_columns, @num_outputs = $num_outputs };

$tables

/* The code of a word in a column of words; of one that is not listed that of rare words, or NAN if there is none. */
double @code(int column, const char *word) {
  for (int code = @first_word[column]; code < @first_word[column + 1]; code++)
    if (strcmp(@word[code], word) == 0) return code - @first_word[column];
  return @has_rare[column] ? @num_codes[column] - 1 : NAN;
}

/* Whether a code is in the set whose bits begin at a place; NAN is in none. */
static int @is_in(double value, int first_bits, int num_codes) {
  return value >= 0 && value < num_codes && (@bits[first_bits + (int)value / 32] >> ((int)value % 32) & 1u);
}

$planes/* The end of a row's walk from a question on: the number of what is said there. */
static int @walk(const double *row, int at) {
  while (@column[at] >= 0) {
    double value = $value;
    int yes;
    if (isnan(value)) yes = @missing_is_yes[at];
    else if (@first_bits[at] < 0) yes = value <= @limit[at];
    else yes = @is_in(value, @first_bits[at], @num_codes[@column[at]]);
    at = yes ? @yes[at] : @no[at];
  }
  return @yes[at];
}

/* $what. */
void @$function(const double *row, double *output) {
  for (int column = 0; column < @num_outputs; column++) output[column] = 0;
  for (int tree = 0; tree < $num_trees; tree++) {
    const double *said = @said + (long)@num_outputs * @walk(row, @root[tree]);
    for (int column = 0; column < @num_outputs; column++) output[column] += said[column];
  }
  for (int column = 0; column < @num_outputs; column++) output[column] /= $num_trees;$ratio
}
$many"""

_SCORES = ("The scores that the trees add up to", "The scores of the trees, and last their mean weight")

_RATIO = """
  for (int column = 0; column < $num_scores; column++) $output[column] /= $output[$num_scores];"""
"""Scores are means by weights, whose sum is the last number that the trees add up to."""

_PLANES = """\
/* A plane: a weighted sum of scaled numbers, categories (1 or 0) and missing values (1 or 0). */
static double @plane(const double *row, int plane) {
  double sum = 0;
  for (int term = 0; term < $num_terms; term++) {
    double value = row[@term_column[term]];
    float x = 0;
    if (@term_kind[term] == $missing) x = isnan(value) ? 1 : 0;
    else if (isnan(value)) x = 0;
    else if (@term_kind[term] == $category) x = value == @middle[term] ? 1 : 0;
    else x = (float)((value - @middle[term]) / @unit[term]);
    sum += @weight[plane * $num_terms + term] * x;
  }
  return sum + @offset[plane];
}

"""

_LABEL_OF_TREE = """
/* The place of the predicted class among: $classes. */
int @predict(const double *row) {
  return @label[@walk(row, @root[0])];
}
"""

_LABEL_OF_FOREST = """
/* The place of the predicted class among: $classes. */
int @predict(const double *row) {
  double share[$num_classes];
  int best = 0;
  @predict_proba(row, share);
  for (int column = 1; column < $num_classes; column++)
    if (share[column] > share[best]) best = column;
  return best;
}
"""

"""An @ stands for the beginning of all names in the file."""


def to_c(estimator: Any, *, name: str = "tree", no_missing: bool = False) -> str:
    """Returns a fitted tree or forest as the text of a C99 file.

    It has the functions `<name>_predict_proba(row, shares)` and `int <name>_predict(row)` of classes, or
    `<name>_predict(row, output)` of numbers, and `<name>_code(column, word)` for the code of a word. A row is one
    double a column; a missing value is NAN. They predict what the estimator does, in the same arithmetic; of an oblique
    tree sums may be rounded otherwise, which matters for rows that lie on a plane. Boosted trees have
    `<name>_scores(row, scores)` besides, and it alone where the link of their loss has functions that C99 does not
    have; of a hardened forest with weights of leaves the mean weight stands behind the scores.

    Many rows, which lie one behind the other, are predicted by `<name>_scores_rows(rows, number, outputs)` of boosted
    trees, and by `<name>_predict_proba_rows` or `<name>_predict_rows` of others: in a tenth of the time where there are
    many trees. All functions may be called from several threads. `jaxtree.to_library` compiles the file.

    Args:
        estimator: A fitted tree or forest of one output, boosted trees, or an oblique tree that `harden` made.
        name: The beginning of all names in the file.
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
    estimator = best_of_search(estimator)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise InvalidInputError(f"name must be letters, digits and underscores, got {name!r}")
    model, planes = exported_with_planes(estimator, no_missing=no_missing)
    schema = model.schema if planes is None else planes.schema
    link, classes, num_scores = model.link, model.predicted_classes, model.num_scores
    label = _LABEL_OF_FOREST if model.averages_trees else _LABEL_OF_TREE
    text = _FILE + ("" if link is None else text_of_link(link, num_scores)) + ("" if classes is None else label)
    words = [
        [_string(str(word)) for word in column.categories] if column.kind != "numeric" else []
        for column in schema.columns
    ]  # which may refuse a word, before the work
    questions, roots = questions_of_forest(model)
    ranks = ranked(questions, roots, len(model.schema.columns))
    text = _with_parts(text, text_of_rows(ranks), _RATIO if model.is_ratio else "", planes)
    what = "The number that is predicted" if classes is None else "The share of every class"
    suffix = "" if classes is None else "_proba"
    return Template(text.replace("@", f"{name}_")).substitute(
        title=_title(estimator, model),
        columns="\n".join(_column_lines(schema)),
        num_columns=len(schema.columns),
        num_outputs=model.node_value.shape[1],
        num_scores=num_scores,
        tables="\n".join(_arrays(model, planes, schema, name, words, (questions, roots), ranks)),
        what=_SCORES[model.is_ratio] if link else what,
        what_is_predicted=what,
        suffix=suffix,
        function="scores" if link else f"predict{suffix}",
        num_predictions=0 if link is None else link.num_predictions,
        num_classes=0 if classes is None else len(classes),
        num_trees=len(model.forest),
        num_terms=0 if planes is None else planes.column.size,
        missing=int(PlaneTermKind.MISSING),
        category=int(PlaneTermKind.CATEGORY),
        classes="" if classes is None else _comment(", ".join(map(str, classes))),
    )


def _title(estimator: Any, model: FittedModel) -> str:
    """The kind of a model, as the first comment of a file has it."""
    if kind_of(estimator) == ModelKind.MOMENT:
        return ModelKind.MOMENT.value.capitalize()
    return "Boosted trees" if model.link else "A forest" if model.averages_trees else "A decision tree"


def _with_parts(text: str, many: str, ratio: str, planes: Planes | None) -> str:
    """The text of a file with its function of many rows, with the ratio of sums, and with planes or plain values."""
    text = text.replace("$many", many.replace("$ratio", ratio.replace("$output", "own")))
    text = text.replace("$ratio", ratio.replace("$output", "output"))
    text = text.replace("$planes", "" if planes is None else _PLANES)
    for value, at in (("$value", "@column[at]"), ("$number", "column")):
        text = text.replace(value, f"row[{at}]" if planes is None else f"@plane(row, {at})")
    return text


def _column_lines(schema: Schema) -> Iterable[str]:
    for place, column in enumerate(schema.columns):
        kinds = {"numeric": column.unit or "a number", "boolean": "0 or 1"}
        words = kinds.get(column.kind, f"the code of one of {len(column.categories)} words")
        yield f"   {place}: {_comment(column.name)}, {words}"


def _comment(text: str) -> str:
    """A text that does not end a comment, nor begin one, nor break a line."""
    printable = "".join(letter if letter.isprintable() and letter != "\\" else "?" for letter in text)
    return re.sub(r"\?(?=\?)", "? ", printable.replace("*/", "* /").replace("/*", "/ *"))


def _arrays(
    model: FittedModel,
    planes: Planes | None,
    schema: Schema,
    name: str,
    words: list[list[str]],
    asked: tuple[list[Question], list[int]],
    ranks: RankedQuestions | None,
) -> Iterable[str]:
    """The definitions of all arrays of the file."""
    questions, roots = asked
    is_end = np.array([asked.is_end for asked in questions])
    ends = np.flatnonzero(is_end) if ranks is None else ranks.steps.leaf
    number_of_end = np.zeros(len(questions), np.int64)
    number_of_end[ends] = np.arange(len(ends))
    first_word = np.cumsum([0, *(len(part) for part in words)])
    first_of_set, bits = _sets(questions, model)
    end_node = np.array([asked.node for asked in questions])[ends]
    arrays = {
        "const char *const @word": [word for part in words for word in part],
        "const int @first_word": first_word.tolist(),
        "const int @num_codes": np.diff(first_word).tolist(),
        "const char @has_rare": [int(column.rare_words is not None) for column in schema.columns],
        "const int @root": roots,
        "const int @column": [asked.column for asked in questions],
        "const double @limit": [asked.limit for asked in questions],
        "const int @yes": np.where(is_end, number_of_end, [asked.yes for asked in questions]).tolist(),
        "const int @no": [asked.no for asked in questions],
        "const char @missing_is_yes": [int(asked.missing_is_yes) for asked in questions],
        "const int @first_bits": [first_of_set.get((asked.column, asked.codes), -1) for asked in questions],
        "const unsigned int @bits": bits,
        "const double @said": model.node_value[end_node].ravel().tolist(),
    }
    if model.node_label is not None:
        arrays["const int @label"] = model.node_label[0, end_node].tolist()
    if ranks is not None:
        arrays |= arrays_of_rows(ranks, first_of_set)
    if planes is not None:
        arrays |= {f"const int @term_{of}": getattr(planes, of).tolist() for of in ("column", "kind")}
        numbers = ("middle", "unit", "weight", "offset")
        arrays |= {f"const double @{of}": getattr(planes, of).ravel().tolist() for of in numbers}
    return (_array(declared.replace("@", f"{name}_"), values) for declared, values in arrays.items())


def _sets(questions: list[Question], model: FittedModel) -> tuple[dict[tuple[int, tuple[int, ...]], int], list[str]]:
    """The sets of codes in questions of every column: where the bits of each begin, and the bits of all."""
    first, bits = {}, []
    for asked in questions:
        if asked.codes and (asked.column, asked.codes) not in first:
            first[asked.column, asked.codes] = len(bits)
            members = sum(1 << code for code in asked.codes)
            places = range(0, model.schema.columns[asked.column].num_values + 1, 32)
            bits += [f"{members >> place & 0xFFFFFFFF}u" for place in places]
    return first, bits


def _array(declared: str, values: list) -> str:
    """The definition of an array; C has none without elements."""
    texts = [number_in_c(value) if isinstance(value, float) else str(value) for value in values]
    texts = texts or ['""' if "*" in declared else "0"]
    lines = [", ".join(texts[first : first + _PER_LINE]) for first in range(0, len(texts), _PER_LINE)]
    return f"static {declared}[] = {{\n  " + ",\n  ".join(lines) + "};"


def _string(text: str) -> str:
    """A string of C, byte by byte where it is not plain."""
    data = text.encode("utf-8", "surrogatepass")
    if b"\0" in data:
        raise InvalidInputError(f"the word {text!r} has a zero character, which strings of C have not")
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;()<>=/"
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in data) + '"'


PLATFORMS = ("cpu", "cuda", "tpu")


def to_jax_export(
    estimator: Any, *, num_rows: int | None = None, platforms: Sequence[str] = PLATFORMS, no_missing: bool = False
) -> export.Exported:
    """Returns the prediction of a fitted tree or forest as a `jax.export.Exported`, whose `serialize()` are bytes.

    It is a function of a float32 table of shape (rows, features), of NaN where a value is missing: what
    `estimator.encoder_.values(X)` returns, the numbers of numeric columns and the codes of the others. It returns the
    place of every row's class and the shares of all classes, or the means, in float32; of boosted trees these, by
    whatever link, and last the scores. Walks are those of jaxtree itself: thresholds are rounded down, so that every
    float32 falls on the side where it does there. A CPU may take numbers closer to 0 than 1.2e-38 for 0. Trees that
    share out rows whose value is missing, as C4.5's, do so here, too. The planes of an oblique tree are sums of
    float32: a row very near to one may fall on its other side.

    Args:
        estimator: A fitted tree or forest of one output, boosted trees, or an oblique tree that `harden` made.
        num_rows: The number of rows of a table; None for any number.
        platforms: The platforms that it shall run on.
        no_missing: Makes the shorter program of rows without missing values, of a tree that shares these out.

    Raises:
        InvalidInputError: The estimator has several outputs, or there is no such platform or number of rows; or planes
            have columns scaled by quantiles.
        InvalidTypeError: It is no tree or forest of jaxtree.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> data = to_jax_export(DecisionTreeClassifier(max_depth=2).fit(X, y)).serialize()
        >>> place, shares = jax.export.deserialize(data).call(X[:3].astype("float32"))
        >>> place.tolist(), shares.shape
        ([0, 0, 0], (3, 3))
    """
    estimator = best_of_search(estimator)
    _check_sizes(num_rows, platforms)
    model, planes = exported_with_planes(estimator, no_missing=True)
    num_features = (model.schema if planes is None else planes.schema).num_features
    most = (2**31 - 1) // max(num_features, model.schema.num_features)
    rows = (num_rows,) if num_rows is not None else export.symbolic_shape("rows", constraints=[f"rows <= {most}"])
    table = jax.ShapeDtypeStruct((*rows, num_features), jnp.float32)
    function = _function(model, planes, shares_out=bool(model.predictor.shares_out.any()) and not no_missing)
    return export.export(jax.jit(function), platforms=list(platforms))(table)


def _check_sizes(num_rows: Any, platforms: Any) -> None:
    if num_rows is not None and (type(num_rows) is not int or num_rows < 1):
        raise InvalidInputError(f"num_rows must be None or an integer >= 1, got {num_rows!r}")
    if isinstance(platforms, str) or not platforms or not set(platforms) <= {*PLATFORMS, "rocm"}:
        allowed = ", ".join(map(repr, (*PLATFORMS, "rocm")))
        raise InvalidInputError(f"platforms must be a list of some of {allowed}, got {platforms!r}")


def _function(model: FittedModel, planes: Planes | None, *, shares_out: bool) -> Callable[..., Any]:
    """The prediction as a function of rows of values; whether they may be shared out."""
    sums = None if planes is None else planes_of_rows(planes)
    parameters, predict = function_of(model, sums, dtype=np.float32, shares_out=shares_out)

    def predict_rows(values: Float32[Array, "row feature"]) -> Any:
        answer = predict(parameters, values)
        numbers: tuple[Any, ...]
        if answer.label is not None:
            numbers = (answer.label[0], answer.numbers)
        else:
            numbers = (answer.numbers[:, 0] if answer.numbers.shape[1] == 1 else answer.numbers,)
        numbers = numbers if answer.scores is None else (*numbers, answer.scores)
        return numbers[0] if len(numbers) == 1 else numbers

    return predict_rows
