"""Numbers that are 0 after rounding have no sign: an error of -0.0000 is none."""

import pathlib
import re

import jaxtree
from jaxtree.cli.applied import scores_in_words

ROOM = pathlib.Path(jaxtree.__file__).parent
OF_FIXED_DIGITS = re.compile(r"[:%]([^\s{}:\"]{0,4})\.[1-9]f\b")


def test_what_is_rounded_to_fixed_digits_loses_the_sign_of_0():
    """Everywhere where a number is printed to so many digits: the "z" of Python's formats."""
    sources = [ROOM / "table" / "numerals.py", *ROOM.glob("cli/*.py"), *ROOM.glob("page/*.py")]
    sources += ROOM.glob("page/assets/*.html")
    lines = [(path.name, line) for path in sources for line in path.read_text().splitlines()]
    # Coordinates of a drawing are read by no one.
    texts = [(name, line) for name, line in lines if "<svg" not in line and "{at(x)" not in line]
    formats = [(name, found) for name, line in texts for found in OF_FIXED_DIGITS.finditer(line)]
    assert len(formats) > 5
    assert not [(name, found.group()) for name, found in formats if "z" not in found.group()]


def test_errors_of_a_constant_target_are_0():
    words = scores_in_words({"mean absolute error": -0.0, "mean squared error": 0.0})
    assert "-" not in words and words.count("0.0000") == 2
