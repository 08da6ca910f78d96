"""A report goes to JSON, and is described in words."""

import json
from pathlib import Path

from jaxtree.doctor import describe, to_text
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
    without_home,
)

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
        Compared(HOST, DIGEST, None, None, 0.5),
        Compared("gpu:0", DIGEST, None, None, 0.0025),
        Compared(WITHOUT_KERNEL, DIGEST, None, None, 1.0),
    ),
    choices=(FitPlace("tree", 1_000, 10, "cpu:0", "small"), FitPlace("tree", 100_000, 28, "cpu:0", "small")),
)


def test_json_has_every_part_and_a_line_a_fact():
    text = to_text(REPORT)
    found = json.loads(text)
    assert list(found) == list(Report._fields) and found["machine"]["cores"] == 2 and found["kernel"] is None
    assert found["fits"][1] == {"place": "gpu:0", "digest": DIGEST, "differs": None, "error": None, "seconds": 0.0025}
    assert found["warnings"] == ["a GPU may be present"] and found["versions"]["jax"] == "0.10.2"
    assert '  {"place": "cpu:0", "platform": "cpu", "kind": "cpu", "memory": null},' in text.splitlines()


def test_words_have_every_fact_in_columns():
    lines = describe(REPORT).splitlines()
    assert "  cpu     kept, and not found by the next process, which compiles again (no +prefer)" in lines
    assert f"  host                 {DIGEST}  500.0 ms" in lines
    assert "  gpu:0                same bits         2.5 ms" in lines
    assert "  tree  cpu:0  1,000 x 10, 100,000 x 28  small" in lines
    assert "  processor      a processor, 2 cores, 16.0 GiB" in lines
    assert lines[-1] == "All 3 trees are as they must be; 42 s."


def test_words_say_what_is_wrong():
    worse = REPORT._replace(
        machine=REPORT.machine._replace(load=3.0),
        kernel="JAXTREE_NATIVE=0 switches it off",
        folder=None,
        programs=(ProgramsKept("cpu", False, False, ""),),
        fits=(
            Compared(HOST, DIGEST, None, None, 0.5),
            Compared("gpu:0", DIGEST, "threshold", None, 0.5),
            Compared("gpu:1", "", None, "XlaRuntimeError: out of memory", None),
        ),
    )
    assert [own.place for own in worse.faults] == ["gpu:0", "gpu:1"]
    text = describe(worse)
    assert "kernel in C++  is not there: JAXTREE_NATIVE=0 switches it off" in text
    assert "cpu     not kept: JAX has written none" in text and "every process compiles anew" in text
    assert "16.0 GiB; load 3.0 on 2 cores: timings are unreliable" in text
    assert "DIFFERS: threshold" in text and "on gpu:1: XlaRuntimeError: out of memory" in text
    assert text.endswith("2 of 3 trees are not as they must be: gpu:0, gpu:1.")


def test_the_home_of_a_user_is_left_out():
    assert without_home(f"{Path.home()}/.venv/kernels.so: no GLIBCXX") == "~/.venv/kernels.so: no GLIBCXX"
