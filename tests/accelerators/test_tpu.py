"""Programs compile for a TPU v5e, which multiplies no 64-bit numbers; see `tests/accelerators/programs.py`."""

import pytest

from benchmarks.compile_only.boosting_programs import BOOSTING, FUNCTIONS, MANY, SMALL_FUNCTIONS, without_growth
from benchmarks.compile_only.reading import count
from tests.accelerators.programs import ALL, ROWS, compiled, marked, megabytes, rows_of

EXHAUSTIVE = {
    "growth, numbers",
    "growth, missing values shared out",
    "growth, a forest",
    "growth, random thresholds",
    "growth, four devices",
    "additive, boosting",
    "additive, boosting on rows",
    *BOOSTING,
    *MANY,
    *FUNCTIONS.keys() - {SMALL_FUNCTIONS},
}


@pytest.mark.parametrize("name", marked(ALL, EXHAUSTIVE))
def test_a_tpu_multiplies_no_wide_numbers(name):
    is_whole = name == "growth, classes"
    program = compiled(name, "tpu", rows_of(name), quickly=not is_whole)
    found = count(program.as_text())
    assert found.wide_products == 0
    if is_whole:
        assert found.fusions <= 240
        assert megabytes(program) <= 150


@pytest.mark.parametrize(
    "name", marked(BOOSTING, {"boosting, squared", "boosting, two classes", "boosting, five classes"})
)
def test_a_tpu_multiplies_no_wide_numbers_in_the_rounds_around_growth(name):
    with without_growth():
        assert count(compiled(name, "tpu", quickly=True).as_text()).wide_products == 0


@pytest.mark.slow
def test_derivatives_of_few_rows_are_rounded_on_a_tpu():
    """Their scores have 64 bits, which a TPU cannot round to fewer digits."""
    with without_growth():
        assert count(compiled("boosting, two classes", "tpu", 10_000, quickly=True).as_text()).wide_products == 0


@pytest.mark.exhaustive
def test_memory_grows_no_faster_than_rows():
    temporary = [megabytes(compiled("growth, classes", "tpu", rows)) for rows in (ROWS, 10 * ROWS)]
    assert temporary[1] <= 10 * temporary[0]


def test_what_a_tpu_cannot_multiply_is_counted():
    wide = (
        "ENTRY %main (a: s64[2,2]) -> s64[2,2] {\n  ROOT %d = s64[2,2]{1,0} dot(%a, %a), lhs_contracting_dims={1}\n}\n"
    )
    assert count(wide).wide_products == 1
    assert count(wide.replace("s64", "s32")).wide_products == 0
