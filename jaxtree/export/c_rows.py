"""The functions of a file in C that predict many rows at once; an @ stands for the beginning of all names in the file.

They compute the steps of `jaxtree.kernels.ranks` for a group of rows, as the kernel does. A question whether a
category is one of several has ranks 0 and 1 in a column of its own, a *set*.
"""

from typing import Any, NamedTuple

import numpy as np

from jaxtree.export.conditions import Question
from jaxtree.kernels.ranks import Ranks, TreeSteps, bytes_of_rank, pays

_ROWS = 128
"""Rows of a group."""

_FEWEST_ROWS = 12
"""Rows from which on it pays to compute a group."""

_MOST_BYTES = 2**18
"""The ranks of a group that stand on the stack; threads have half a megabyte at least."""

_PLAIN = """
/* The same of many rows, one after the other. */
void @${function}_rows(const double *rows, size_t number, double *output) {
  for (size_t row = 0; row < number; row++) @$function(rows + row * @num_columns, output + row * @num_outputs);
}
"""

_RANKED = """
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define @FOR_EVERY_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define @FOR_EVERY_PROCESSOR
#endif
#ifdef __GNUC__
#define @ALIGNED __attribute__((aligned(64)))
#else
#define @ALIGNED
#endif

typedef $rank_type @rank;

/* The number of limits that are below a value: none are if it is missing. */
static int @rank_of(double value, const double *limit, int number) {
  const double *at = limit;
  for (; number > 1; number -= number / 2) at += (number / 2) & -(int)(at[number / 2 - 1] < value);
  return (int)(at - limit) + (*at < value);
}

/* The ranks of a group of rows in every column, and whether its category is not in a set: a plane has one a row. */
static void @read_ranks(const double *rows, int number, @rank *plane) {
  for (int place = 0; place < $num_ranked; place++) {
    const int column = @ranked[place].column, bits = @ranked[place].first_bits;
    @rank *least = @ranked[place].least < 0 ? 0 : plane + @ranked[place].least * $group;
    @rank *greatest = @ranked[place].greatest < 0 ? 0 : plane + @ranked[place].greatest * $group;
    for (int at = 0; at < number; at++) {
      const double *row = rows + (size_t)at * @num_columns;
      const double value = $number;
      const int rank = bits >= 0 ? !@is_in(value, bits, @num_codes[column])
                                 : @rank_of(value, @cut + @ranked[place].first_cut, @ranked[place].num_cuts);
      if (least) least[at] = (@rank)(isnan(value) ? 0 : rank);
      if (greatest) greatest[at] = (@rank)(isnan(value) ? -1 : rank);
    }
  }
}

/* The ends of a tree where a group of rows comes to, counted from its first. */
@FOR_EVERY_PROCESSOR
static const @rank *@compute(int tree, const @rank *plane, @rank *place) {
  const @rank *result = place;
  for (int step = @first_step[tree]; step < @first_step[tree + 1]; step++) {
    const @rank *restrict rank = plane + @step[step].plane * $group;
    const @rank *restrict left = place + @step[step].left * $group;
    const @rank *restrict right = place + @step[step].right * $group;
    @rank *restrict to = place + @step[step].to * $group;
    const @rank limit = (@rank)@step[step].limit, leaves = (@rank)@step[step].leaves;
    for (int row = 0; row < $group; row++) {
      const @rank other = (@rank)(right[row] + leaves), own = left[row];
      to[row] = rank[row] > limit ? other : own;
    }
    result = to;
  }
  return result;
}

static void @compute_group(const double *rows, int number, double *output) {
  @ALIGNED @rank plane[$num_planes * $group] = {0};
  @ALIGNED @rank place[$num_places * $group] = {0};
  @read_ranks(rows, number, plane);
  for (int at = 0; at < number * @num_outputs; at++) output[at] = 0;
  for (int tree = 0; tree < $num_trees; tree++) {
    const @rank *end = @compute(tree, plane, place);
    const double *said = @said + (size_t)@num_outputs * @first_end[tree];
    for (int row = 0; row < number; row++)
      for (int column = 0; column < @num_outputs; column++)
        output[row * @num_outputs + column] += said[(size_t)end[row] * @num_outputs + column];
  }
  for (int row = 0; row < number; row++) {
    double *own = output + row * @num_outputs;
    for (int column = 0; column < @num_outputs; column++) own[column] /= $num_trees;$ratio
  }
}

/* The same of many rows, which lie one behind the other, as their outputs do. */
void @${function}_rows(const double *rows, size_t number, double *output) {
  for (size_t first = 0; first < number; first += $group) {
    const int some = number - first < $group ? (int)(number - first) : $group;
    const double *own = rows + first * @num_columns;
    if (some >= $fewest) @compute_group(own, some, output + first * @num_outputs);
    else for (int row = 0; row < some; row++)
      @$function(own + (size_t)row * @num_columns, output + (first + (size_t)row) * @num_outputs);
  }
}
"""


_RECORD = "const struct {{ {}; }} @{}"
"""The declaration of an array of structures."""


class RankedQuestions(NamedTuple):
    """The questions of all trees as steps over ranks.

    Attributes:
        ranks: The ranks; columns behind those of the table are sets, with limit 0.
        steps: The steps; nodes are questions.
        records: The steps as records.
        sets: The column and the codes of every set.
        num_columns: The columns of the table.
    """

    ranks: Ranks
    steps: TreeSteps
    records: np.ndarray
    sets: list[tuple[int, tuple[int, ...]]]
    num_columns: int


def ranked(questions: list[Question], roots: list[int], num_columns: int) -> RankedQuestions | None:
    """Returns the steps of questions; None where rows take less time one after the other.

    Args:
        questions: The questions of all trees.
        roots: The first of every tree.
        num_columns: The columns of the table.
    """
    is_end = np.array([asked.is_end for asked in questions])
    if is_end.all():
        return None
    inner = np.flatnonzero(~is_end)
    asked_of = [questions[place] for place in inner]
    places: dict[tuple[int, tuple[int, ...]], int] = {}
    column = np.array(
        [places.setdefault((q.column, q.codes), len(places)) + num_columns if q.codes else q.column for q in asked_of]
    )
    limit = np.array([0.0 if asked.codes else asked.limit for asked in asked_of])
    ranks = Ranks.of(column, limit, np.array([not asked.missing_is_yes for asked in asked_of]))
    left, right = (np.array([getattr(asked, name) for asked in questions]) for name in ("yes", "no"))
    steps = TreeSteps.of(np.array(roots), left, right, is_end)
    num_levels = int(np.maximum.reduceat(steps.place, roots).sum()) // 2
    size = bytes_of_rank(ranks, steps)
    if size is None or ranks.num_planes * size * _ROWS > _MOST_BYTES or not pays(ranks, steps, num_levels):
        return None
    plane, rank = np.zeros(len(questions), np.int32), np.zeros(len(questions), np.int64)
    plane[inner], rank[inner] = ranks.plane, ranks.rank
    return RankedQuestions(ranks, steps, steps.records(plane, rank, left, right), list(places), num_columns)


def text_of_rows(ranks: RankedQuestions | None) -> str:
    """Returns the functions that predict many rows."""
    if ranks is None:
        return _PLAIN
    size = bytes_of_rank(ranks.ranks, ranks.steps)
    numbers = {
        "rank_type": "unsigned char" if size == 1 else "unsigned short",
        "num_ranked": len(ranks.ranks.column),
        "num_planes": ranks.ranks.num_planes,
        "num_places": ranks.steps.num_places,
        "group": _ROWS,
        "fewest": _FEWEST_ROWS,
    }
    text = _RANKED
    for name, number in numbers.items():
        text = text.replace(f"${name}", str(number))
    return text


def arrays_of_rows(ranks: RankedQuestions, first_of_set: dict[tuple[int, tuple[int, ...]], int]) -> dict[str, list]:
    """Returns the arrays that these functions read, by their declarations.

    Args:
        ranks: The ranks and the steps.
        first_of_set: Where the bits of every set begin.
    """
    own, steps = ranks.ranks, ranks.steps
    ranked_columns = []
    for place, column in enumerate(own.column.tolist()):
        is_set = column >= ranks.num_columns
        codes = ranks.sets[column - ranks.num_columns] if is_set else (column, ())
        cuts = own.first_cut[place : place + 2].tolist()
        numbers = (codes[0], cuts[0], cuts[1] - cuts[0], first_of_set[codes] if is_set else -1, *own.planes[place])
        ranked_columns.append(_record(numbers))
    of_column = "int column, first_cut, num_cuts, first_bits, least, greatest"
    return {
        _RECORD.format(of_column, "ranked"): ranked_columns,
        "const double @cut": own.cuts.tolist(),
        _RECORD.format("unsigned short plane, limit, leaves, left, right, to", "step"): [
            _record(step) for step in ranks.records.tolist()
        ],
        "const int @first_step": steps.first_step.tolist(),
        "const int @first_end": steps.first_leaf.tolist(),
    }


def _record(numbers: Any) -> str:
    return "{" + ", ".join(map(str, numbers)) + "}"
