"""Reports of hardware, devices and kept programs, also where something is missing."""

import logging
import subprocess
import unittest.mock

import jax
import pytest

from jaxtree.doctor import machine, programs
from jaxtree.doctor.machine import describe_device, describe_machine, find_devices
from jaxtree.doctor.programs import COMPILED, FOUND, check_programs
from jaxtree.errors import InvalidInputError


def test_the_container_bounds_memory(tmp_path, monkeypatch):
    (tmp_path / "memory.max").write_text("1024\n")
    monkeypatch.setattr(machine, "_LIMIT", tmp_path / "memory.max")
    assert describe_machine().memory == 1024
    (tmp_path / "memory.max").write_text("max\n")
    assert describe_machine().memory > 1024


def test_the_devices_of_the_tests():
    devices, said = find_devices()
    assert [device.id for device in devices] == [0, 1, 2, 3] and said == []
    assert describe_device(devices[1]) == ("cpu:1", "cpu", "cpu", None)


def test_what_jax_says_of_an_accelerator_it_cannot_use_is_kept(monkeypatch):
    def local_devices(backend=None):
        logging.getLogger(machine.BACKENDS).warning("an NVIDIA GPU may be\npresent")
        if backend is None:
            raise RuntimeError("no CUDA plugin")
        return ["host"]

    monkeypatch.setattr(jax, "local_devices", local_devices)
    devices, said = find_devices()
    assert devices == ["host"]
    assert said == ["an NVIDIA GPU may be present", "no CUDA plugin", "an NVIDIA GPU may be present"]


def test_without_a_cpu_there_is_nothing_to_compare_with(monkeypatch):
    def local_devices(backend=None):
        if backend == "cpu":
            raise RuntimeError("unknown backend cpu")
        return []

    monkeypatch.setattr(jax, "local_devices", local_devices)
    with pytest.raises(InvalidInputError, match="add cpu to JAX_PLATFORMS, as in cuda,cpu"):
        find_devices()


def test_a_device_that_does_not_count_its_memory():
    def refuse():
        raise jax.errors.JaxRuntimeError("UNIMPLEMENTED")

    device = unittest.mock.Mock(platform="tpu", id=2, device_kind="TPU v5 lite", memory_stats=refuse)
    assert describe_device(device) == ("tpu:2", "tpu", "TPU v5 lite", None)
    device.memory_stats = lambda: {"bytes_limit": 7}
    assert describe_device(device).memory == 7


def children(monkeypatch, *ends):
    """Processes that end so, in turn: what they print, and what they say."""
    left = list(ends)

    def run(command, *, env, **_):
        printed, said, status = left.pop(0)
        (folder := env["JAX_COMPILATION_CACHE_DIR"]) and open(f"{folder}/program", "w").close()
        return subprocess.CompletedProcess(command, status, printed, said)

    monkeypatch.setattr(programs.subprocess, "run", run)


ONCE, AGAIN = f'["cpu", {{"{COMPILED}": 3}}]\n', f'["cpu", {{"{FOUND}": 3}}]\n'
REFUSED = "E0000 Loading XLA:CPU AOT result. Target machine feature +prefer-no-gather is not  supported on the host.\n"


def test_programs_that_are_found_and_programs_that_never_are(monkeypatch):
    children(monkeypatch, (ONCE, "", 0), (AGAIN, "", 0))
    assert check_programs() == (("cpu", True, True, ""),)
    children(monkeypatch, (ONCE, "", 0), (ONCE, REFUSED, 0))
    ((_, keeps, finds, said),) = check_programs()
    assert (keeps, finds) == (True, False) and said.endswith("does not name the feature +prefer-no-gather")


def test_a_device_that_cannot_start_leaves_the_cpu(monkeypatch):
    children(monkeypatch, ("", "Traceback\n  x\nRuntimeError: TPU in use\nmore", 1), (ONCE, "", 0), (AGAIN, "", 0))
    first, cpu = check_programs()
    assert first == ("first device", False, False, "RuntimeError: TPU in use") and cpu.finds


def test_a_process_that_never_ends(monkeypatch):
    def run(*_, **__):
        raise subprocess.TimeoutExpired([], 1)

    monkeypatch.setattr(programs.subprocess, "run", run)
    assert check_programs()[0].said == "the process was not done after 120 s"
