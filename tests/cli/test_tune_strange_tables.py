"""`jaxtree tune` on tables that a user may well have: it tunes, or says in a line what is wrong."""

import numpy as np
import pandas as pd
import pytest

from tests.marks import rest_is_slow

NUM_ROWS = 40
ROWS = np.arange(NUM_ROWS)
CLASSES = np.array(["no", "yes"])[np.random.default_rng(0).integers(0, 2, NUM_ROWS)]


def columns(**more):
    """A good table with further columns, or others."""
    rng = np.random.default_rng(1)
    return pd.DataFrame({"a": rng.normal(size=NUM_ROWS), "b": rng.normal(size=NUM_ROWS), "y": CLASSES} | more)


TUNED = {
    "a constant column": columns(c=1),
    "a column without values": columns(c=np.nan),
    "constant columns alone": columns(a=1, b="x"),
    "words with commas and quotes": columns(c=np.where(ROWS % 2, 'a, "b"', "c,d")),
    "dates": columns(c=pd.date_range("2020-01-01", periods=NUM_ROWS).strftime("%Y-%m-%d")),
    "a word of its own in every row": columns(c=[f"row {row}" for row in ROWS]),
    "a class of two rows": columns(y=np.where(ROWS < 2, "rare", CLASSES)),
    "a class in one fold alone": columns(y=np.where(ROWS < 1, "rare", CLASSES)),
    "a row without a target": columns(y=np.where(ROWS == 3, None, CLASSES)),
    "numbers that are all the same": columns(y=3.5),
    "a number that counts the rows": columns(id=ROWS),
}
REFUSED = {
    "one class alone": (columns(y="yes").to_csv(index=False), "'y' has one class only, 'yes'"),
    "infinity": (columns(a=np.inf).to_csv(index=False), "infinity in column 'a'"),
    "a name twice": ("a,a,y\n" + "1,2,yes\n3,4,no\n" * 10, "'a' appears twice"),
    "no columns": (columns()[["y"]].to_csv(index=False), "has no columns except the target"),
    "twelve rows": (columns()[:12].to_csv(index=False), "10 rows or more to fit on"),
    "no rows": ("a,b,y\n", "t.csv"),
}
OPTIONS = ["-t", "y", "--n-iter", "2", "--cv", "2", "--minutes", "60", "-o", "m.jaxtree", "--page", "p.html"]


@pytest.mark.parametrize(
    "name", rest_is_slow([pytest.param(n, marks=() if at < 2 else pytest.mark.slow) for at, n in enumerate(TUNED)])
)
def test_strange_tables_are_tuned(name, run):
    TUNED[name].to_csv("t.csv", index=False)
    run("tune", "t.csv", *OPTIONS)
    run("predict", "m.jaxtree", "t.csv", "-o", "p.csv")
    predicted = pd.read_csv("p.csv").iloc[:, -1]
    assert len(predicted) == NUM_ROWS and not predicted.isna().any()
    assert "<html" in open("p.html").read()  # noqa: SIM115


@pytest.mark.parametrize("name", REFUSED)
def test_tables_that_cannot_be_tuned_are_refused_in_words(name, run):
    content, words = REFUSED[name]
    with open("t.csv", "w") as file:
        file.write(content)
    done = run("tune", "t.csv", *OPTIONS, status=1)
    assert done.stderr.splitlines()[-1].startswith("error: ") and words in done.stderr
