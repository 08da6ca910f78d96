"""The functions of a file in C that predict from scores; an @ stands for the beginning of all names in the file."""

import numpy as np

from jaxtree.export.formulas import IN_ORDER, Operation, formula_of
from jaxtree.tree.link import Link, ScoreLink

_FROM_SCORES = """
/* $what_is_predicted. */
void @predict$suffix(const double *row, double *output) {
  double score[@num_outputs];
  @scores(row, score);
$link
}
"""

_EVERY = "  for (int place = 0; place < $num_predictions; place++)"
_LINKS = {
    Link.IDENTITY: f"{_EVERY} output[place] = score[place];",
    Link.EXP: f"{_EVERY} output[place] = exp(score[place]);",
    Link.LOGISTIC: f"{_EVERY} output[place] = 1 / (1 + exp(-score[place]));",
    Link.SOFTMAX: """\
  double most = score[0], sum = 0;
  for (int place = 1; place < $num_scores; place++)
    if (score[place] > most) most = score[place];
  for (int place = 0; place < $num_scores; place++) sum += output[place] = exp(score[place] - most);
  for (int place = 0; place < $num_scores; place++) output[place] /= sum;""",
}
_STEPS = {
    **{"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-({})"},
    **{"logistic": "1 / (1 + exp(-({})))", "select_n": "{0} ? {2} : {1}"},
    **{"gt": "{} > {}", "ge": "{} >= {}", "lt": "{} < {}", "le": "{} <= {}", "eq": "{} == {}", "ne": "{} != {}"},
    **{name: f"{name}({{}})" for name in ("exp", "log", "log1p", "expm1", "sqrt", "tanh", "lgamma", "erf", "erfc")},
    **{"abs": "fabs({})", "pow": "pow({}, {})", "max": "fmax({}, {})", "min": "fmin({}, {})"},
}
"""The operations of `jaxtree.export.formulas` in C."""

_IN_ORDER = """
/* The value at a place, from 0, when all stand in ascending order. */
static double @in_order(int place, int number, const double *value) {
  for (int at = 0; at < number; at++) {
    int before = 0;
    for (int other = 0; other < number; other++)
      before += value[other] < value[at] || (value[other] == value[at] && other < at);
    if (before == place) return value[at];
  }
  return NAN;
}
"""

_TWO_CLASSES = """\
  output[1] = 1 / (1 + exp(-score[0]));
  output[0] = 1 - output[1];"""


def text_of_link(link: ScoreLink, num_scores: int) -> str:
    """Returns the function that predicts from scores; nothing if C does not have the link.

    Args:
        link: The link.
        num_scores: The number of scores.
    """
    if link.kind != Link.OTHER:
        is_of_two = link.classes is not None and link.kind == Link.LOGISTIC
        return _FROM_SCORES.replace("$link", _TWO_CLASSES if is_of_two else _LINKS[link.kind])
    formula = formula_of(link, num_scores, {*_STEPS, IN_ORDER})
    if formula is None or link.classes is not None:
        return ""
    lines: list[str] = []

    def write(step: Operation, arguments: list[str]) -> str:
        if step.name == IN_ORDER:
            values = arguments[:-1]
            made = f"@in_order({int(step.arguments[-1])}, {len(values)}, (const double[]){{{', '.join(values)}}})"
        else:
            made = _STEPS[step.name].format(*arguments)
        lines.append(f"  const double value{len(lines)} = {made};")
        return f"value{len(lines) - 1}"

    predictions = formula.written([f"score[{place}]" for place in range(num_scores)], number_in_c, write)
    lines += [f"  output[{place}] = {value};" for place, value in enumerate(predictions)]
    helper = _IN_ORDER if any(step.name == IN_ORDER for step in formula.steps) else ""
    return helper + _FROM_SCORES.replace("$link", "\n".join(lines))


def number_in_c(value: float) -> str:
    """Returns a number in hexadecimal, which is read without rounding."""
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return value.hex()
