"""A report goes to JSON and back, says what is wrong with one that is none, and is described in words."""

import json
from pathlib import Path

import pytest

from jaxtree.doctor import describe, from_text, to_text
from jaxtree.doctor.report import (
    FORM,
    HOST,
    WITHOUT_KERNEL,
    Compared,
    DeviceFacts,
    FitPlace,
    Machine,
    ProgramsKept,
    Report,
    Timed,
    without_home,
)
from jaxtree.errors import InvalidInputError

DIGEST = "0123456789abcdef"
REPORT = Report(
    form=FORM,
    date="2026-11-26",
    seconds=41.5,
    rows=10_000,
    versions={"python": "3.11.7", "jaxtree": "0.1.0", "jax": "0.10.2", "jaxlib": "0.10.2"},
    machine=Machine("Linux", "a processor", 2, 2**34, 0.5),
    kernel=None,
    devices=(DeviceFacts("cpu:0", "cpu", "cpu", None), DeviceFacts("gpu:0", "gpu", "Some GPU", 2**33)),
    warnings=("a GPU may be present",),
    folder="~/.cache/jaxtree/jaxlib-0.10.2",
    programs=(ProgramsKept("gpu", True, True, ""), ProgramsKept("cpu", True, False, "no +prefer")),
    fits=(
        Compared("forest", HOST, DIGEST, None, None),
        Compared("forest", "gpu:0", DIGEST, None, None),
        Compared("forest", WITHOUT_KERNEL, DIGEST, None, None),
        Compared("soft tree", HOST, "", None, None),
    ),
    times=(
        Timed("forest", HOST, 1.0, 0.5, 0.001, None),
        Timed("forest", "scikit-learn's RandomForestClassifier", 1.0, 0.9, 0.002, None),
        Timed("forest", "gpu:0", 9.0, 0.25, 0.0005, 0.125),
    ),
    choices=(FitPlace("tree", 1_000, 10, "cpu:0", "small"), FitPlace("tree", 100_000, 28, "cpu:0", "small")),
)


def test_a_report_is_read_as_it_was_written():
    assert from_text(to_text(REPORT)) == REPORT
    assert json.loads(to_text(REPORT))["machine"]["cores"] == 2


def changed(**parts):
    return json.dumps(json.loads(to_text(REPORT)) | parts)


WRONG = {
    "{": "a report is JSON, as `jaxtree doctor --json` prints it",
    "[]": "does not have the parts of Report",
    changed(form=2): "it is of form 2",
    changed(extra=1): "does not have the parts of Report",
    changed(date="26.11.2026"): "date must be as 2026-11-26, got '26.11.2026'",
    changed(rows=0): "rows must be at least 1, got 0",
    changed(rows="many"): "rows must be int, got 'many'",
    changed(versions={"python": "3.11"}): "versions lack python, jaxtree, jax or jaxlib",
    changed(devices=[]): "fits are at gpu:0, which is no device of the report",
    changed(machine={"system": "Linux"}): "machine does not have the parts of Machine",
    changed(kernel=1): "kernel must be str or None, got 1",
    changed(fits=[{"fit": "forest", "place": "host", "digest": "x", "differs": None, "error": None}]): (
        "digest of 'forest' must be 16 hexadecimal digits or empty, got 'x'"
    ),
    changed(times=[dict(fit="forest", place="host", first=-1.0, later=1.0, predict=1.0, predicted=None)]): (
        "times of 'forest' must be seconds"
    ),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_text_that_is_no_report_is_refused_by_its_part(text):
    with pytest.raises(InvalidInputError) as refused:
        from_text(text)
    assert WRONG[text] in str(refused.value)


def test_words_have_every_fact_in_columns():
    lines = describe(REPORT).splitlines()
    assert "  cpu     kept, and not found by the next process, which compiles again (no +prefer)" in lines
    assert "             host              gpu:0      host without kernel" in lines
    assert f"  forest     {DIGEST}  same bits  same bits" in lines
    assert "  soft tree  (values)          -          -" in lines
    assert "          gpu:0                                   9000    250     0.50        125" in lines
    assert "  no prediction for this kind: Some GPU" in lines and "  no prediction for this kind: cpu" not in lines
    assert "  tree  cpu:0  1,000 x 10, 100,000 x 28  small" in lines
    assert "  processor      a processor, 2 cores, 16.0 GiB" in lines
    assert lines[-1] == "All 4 fits are as they must be; 42 s."


def test_words_say_what_is_wrong():
    worse = REPORT._replace(
        machine=REPORT.machine._replace(load=3.0),
        kernel="JAXTREE_NATIVE=0 switches it off",
        folder=None,
        programs=(ProgramsKept("cpu", False, False, ""),),
        fits=(
            Compared("forest", HOST, DIGEST, None, None),
            Compared("forest", "gpu:0", DIGEST, "threshold", None),
            Compared("boosting", HOST, DIGEST, None, None),
            Compared("boosting", "gpu:0", "", None, "XlaRuntimeError: out of memory"),
        ),
        times=(),
    )
    assert [own.fit for own in worse.faults] == ["forest", "boosting"]
    text = describe(worse)
    assert "kernel in C++  is not there: JAXTREE_NATIVE=0 switches it off" in text
    assert "cpu     not kept: JAX has written none" in text and "every process compiles anew" in text
    assert "16.0 GiB; 3.0 programs wanted them" in text
    assert "DIFFERS: threshold" in text and "boosting on gpu:0: XlaRuntimeError: out of memory" in text
    assert text.endswith("2 of 4 fits are not as they must be: forest (gpu:0), boosting (gpu:0).")


def test_the_home_of_a_user_is_left_out():
    assert without_home(f"{Path.home()}/.venv/kernels.so: no GLIBCXX") == "~/.venv/kernels.so: no GLIBCXX"
