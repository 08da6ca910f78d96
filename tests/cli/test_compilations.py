"""Programs that commands compile: few on a small table, and slow ones are told of."""

import logging

import jax
import pytest

from jaxtree import compilation
from jaxtree.compilation import PROGRAMS

EVENT = "/jax/core/compile/backend_compile_duration"
MOST_PROGRAMS = {"cart": 0, "c45": 2, "forest": 8, "soft": 13}
"""Measured with the kernel in C++, which grows a tree without any. One of a forest makes a key of what it keeps on the
host, so that it outlives a fork. Before keys and
beginnings were made in one program each, forests took 15 and soft trees 43."""


@pytest.fixture
def compilations():
    """A list that grows by every compilation, in a process that has compiled nothing."""
    PROGRAMS.clear()
    jax.clear_caches()
    events = []

    def note(event, duration, **_):
        if event == EVENT:
            events.append(duration)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield events
    jax.monitoring.unregister_event_duration_listener(note)


@pytest.mark.parametrize("algorithm", MOST_PROGRAMS)
def test_a_small_fit_compiles_few_programs(run, patients, compilations, algorithm):
    settings = ("--set", "max_epochs=4") if algorithm == "soft" else ()
    run("fit", patients, "-t", "ill", "-a", algorithm, "-o", "m.jaxtree", "--quiet", *settings)
    assert len(compilations) <= MOST_PROGRAMS[algorithm] and (len(compilations) > 0) is (algorithm != "cart")
    if algorithm == "forest":
        before = len(compilations)
        run("predict", "m.jaxtree", patients, "--quiet")
        assert len(compilations) <= before + 1


def test_a_slow_compilation_is_told_on_the_error_stream(run, patients, monkeypatch):
    monkeypatch.setattr(compilation, "SLOW_COMPILATION", 0.0)
    level = logging.getLogger("jaxtree").level
    for quiet in ((), ("--quiet",)):
        PROGRAMS.clear()
        done = run("fit", patients, "-t", "ill", "-a", "boosting", "--set", "n_estimators=3", "-o", "-", *quiet)
        assert done.stdout_bytes[8:9] == b"{", "the model file comes first"
        assert ("compiled " in done.stderr) is (not quiet)
        assert b"compiled" not in done.stdout_bytes
    assert logging.getLogger("jaxtree").level == level
