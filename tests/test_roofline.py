"""The prediction of times on devices: how work is read from a program's text, and what times follow from it."""

import json
import re

import pytest

from benchmarks.compile_only.targets import NoCompilerError, mesh_of
from benchmarks.roofline import rounds
from benchmarks.roofline.__main__ import COUNTS, main
from benchmarks.roofline.counts import Counts, Part, count_workload, parts_of
from benchmarks.roofline.page import DEVICES, predictions, write_page
from benchmarks.roofline.program import read
from benchmarks.roofline.rates import NVIDIA
from benchmarks.roofline.workloads import WORKLOADS

PROGRAM = f"""\
HloModule jit_f, is_scheduled=true

FileNames
1 "/elsewhere/run.py"
2 "{rounds.PACKAGE}/growth/some.py"

FunctionNames
1 "<module>"
2 "grow_all"
3 "grow_all.<locals>.split"

FileLocations
1 {{file_name_id=1 function_name_id=1 line=3 end_line=3 column=0 end_column=9}}
2 {{file_name_id=2 function_name_id=2 line=10 end_line=10 column=4 end_column=20}}
3 {{file_name_id=2 function_name_id=3 line=20 end_line=20 column=4 end_column=20}}

StackFrames
1 {{file_location_id=1 parent_frame_id=1}}
2 {{file_location_id=2 parent_frame_id=2}}
3 {{file_location_id=3 parent_frame_id=3}}

%fused_add (p0: s32[1000], p1: s32[500]) -> s32[1000] {{
  %p0 = s32[1000]{{0}} parameter(0)
  %p1 = s32[500]{{0}} parameter(1)
  ROOT %s = s32[1000]{{0}} scatter(%p0, %p1, %p1), update_window_dims={{}}, to_apply=%sum
}}

%fused_log (p2: f64[600000], p3: s32[200]) -> f64[200] {{
  %p2 = f64[600000]{{0}} parameter(0)
  %p3 = s32[200]{{0}} parameter(1)
  %g = f64[200]{{0}} gather(%p2, %p3), slice_sizes={{1}}
  ROOT %l = f64[200]{{0}} log(%g)
}}

%ends (c: (s32[], s32[1000])) -> pred[] {{
  %c = (s32[], s32[1000]{{0}}) parameter(0)
  ROOT %less = pred[] fusion(%c), kind=kLoop, calls=%fused_less
}}

%body (b: (s32[], s32[1000])) -> (s32[], s32[1000]) {{
  %b = (s32[], s32[1000]{{0}}) parameter(0)
  %t = s32[1000]{{0}} get-tuple-element(%b), index=1
  %v = s32[500]{{0}} slice(%t), slice={{[0:500]}}
  %f = s32[1000]{{0}} fusion(%t, %v), kind=kInput, calls=%fused_add, backend_config={{"estimated_cycles":"70"}}
  ROOT %r = (s32[], s32[1000]{{0}}) tuple(%b, %f)
}}

%few (e: s32[1000]) -> s32[1000] {{
  %e = s32[1000]{{0}} parameter(0)
  ROOT %copied = s32[1000]{{0}} copy(%e)
}}

%many (h: s32[1000]) -> s32[1000] {{
  %h = s32[1000]{{0}} parameter(0)
  %sorted = s32[1000]{{0}} sort(%h), dimensions={{0}}
  ROOT %twice = s32[1000]{{0}} copy(%sorted)
}}

ENTRY %main (x: s32[1000], y: f64[600000], q: s32[200], z: pred[]) -> s32[1000] {{
  %x = s32[1000]{{0}} parameter(0)
  %y = f64[600000]{{0}} parameter(1)
  %q = s32[200]{{0}} parameter(2)
  %z = pred[] parameter(3)
  %logs = f64[200]{{0}} fusion(%y, %q), kind=kLoop, calls=%fused_log
  %i = (s32[], s32[1000]{{0}}) tuple(%x, %x)
  %w = (s32[], s32[1000]{{0}}) while(%i), condition=%ends, body=%body, metadata={{op_name="while" stack_frame_id=3}}
  %k = (s32[], s32[1000]{{0}}) while(%w), condition=%ends, body=%body, backend_config={{"known_trip_count":{{"n":"5"}}}}
  ROOT %a = s32[1000]{{0}} conditional(%z, %x, %x), branch_computations={{%few, %many}}, metadata={{stack_frame_id=2}}
}}
"""
"""A program with a loop of unknown rounds, one of five, and a branch."""

ENTERED = {"grow_all > split:20": 3, "grow_all:10#0": 1, "grow_all:10#1": 0}


def parts(entered=ENTERED, *, host_ends_loops=True):
    return list(parts_of(read(PROGRAM), entered, host_ends_loops=host_ends_loops))


def test_parts_count_as_often_as_they_are_entered():
    found = {(part.place, part.times): part for part in parts()}
    assert {key: part.reads for key, part in found.items()} == {
        ("entry", 1): 0, ("grow_all > split:20", 3): 0, ("grow_all > split:20 condition", 4): 4,
        ("", 5): 0, (" condition", 6): 0, ("grow_all:10#0", 1): 1, ("grow_all:10#1", 0): 0,
    }  # fmt: skip
    assert all(part.is_known for part in found.values())
    assert not sum(part.reads for part in parts(host_ends_loops=False))


def test_work_is_what_is_touched():
    found = {part.place: part.work for part in parts()}
    # A lookup takes 200 numbers of a table of 4.8 MB; the places and the logarithms are read and written whole.
    assert found["entry"]["scattered"] == 200
    assert found["entry"]["bytes"] == 200 * 8 + 200 * 4 + 200 * 8
    assert found["entry"]["f64"] == 200 * 20
    body = found["grow_all > split:20"]
    assert (body["additions"], body["cells"], body["launches"], body["cycles"]) == (500, 4000, 2, 70)
    assert body["bytes"] == 500 * 4 + (500 + 500) * 4
    assert found["grow_all:10#1"]["launches"] == 16 + 1


def counts(**work):
    return Counts([Part("entry", 1, {"launches": 10, "bytes": 1e9} | work, 4)], 10**6, 0, 1.0)


def test_the_stored_counts_make_a_page_of_all_devices(tmp_path, capsys):
    stored = json.loads(COUNTS.read_text())
    found = predictions(stored)
    assert set(found) == set(WORKLOADS)
    for name, own in found.items():
        assert set(own) == set(DEVICES if "tpu" in WORKLOADS[name].counted else NVIDIA)
        assert all(0 < each.seconds.best < each.seconds.likely < each.seconds.worst for each in own.values())
    main(["--out", str(tmp_path)])
    page = capsys.readouterr().out
    assert page.strip() == write_page(stored, re.search(r"devices, ([\d-]+)", page)[1]).strip()
    assert page == (next(tmp_path.glob("roofline-*.md")).read_text()) + "\n"
    figures = json.loads(next(tmp_path.glob("roofline-*.json")).read_text())["predictions"]
    assert figures["tree"]["H100"]["seconds"]["likely"] == found["tree"]["H100"].seconds.likely


@pytest.mark.slow
def test_a_program_for_a_gpu_is_counted():
    pytest.importorskip("jax_plugins.xla_cuda12", reason="no compiler for GPUs: jaxtree[aot]")
    try:
        mesh_of("gpu")
    except NoCompilerError as error:
        pytest.skip(str(error))
    found = count_workload(WORKLOADS["predictions"], "gpu", 4096)
    walk = next(
        part for part in found.parts if part.place.startswith("_walk_codes > walk") and "condition" not in part.place
    )
    assert walk.times == 4 and walk.is_known
    assert found.total["reads"] == 5
    assert found.argument_bytes > 28 * 4096
