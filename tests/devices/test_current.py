"""Where JAX computes: in the order of a mesh, arrays, `jax.default_device` and JAX's first device."""

import ast
import contextlib
import inspect
import pathlib
import threading
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

from jaxtree import devices
from jaxtree.blocks import for_blocks
from jaxtree.boosting import many
from jaxtree.compilation import options_of_small_programs
from jaxtree.cores import using_cores
from jaxtree.devices.current import (
    current_platform,
    default_device,
    device_of,
    devices_of_kind,
    kind_of,
    platform_of,
)
from jaxtree.estimators.forests.base import number_of_threads
from jaxtree.explain import shap
from jaxtree.growth import Classes, Rules
from jaxtree.growth.native import engine_of
from jaxtree.kernels import choose
from jaxtree.prune import draws
from jaxtree.soft import init
from jaxtree.soft.form import SoftForm
from jaxtree.soft.runs import models_side_by_side
from jaxtree.tree.predictor import ROWS_ON_ACCELERATOR, rows_at_a_time
from tests.devices.stand_ins import stand_in

PACKAGE = pathlib.Path(devices.__file__).parent.parent
HOST = jax.devices()[0]

QUESTIONS = {"default_backend", "jax_default_device", "device_kind"}
"""Attributes that tell where JAX computes, besides the `platform` of a device."""


def asked(source):
    """The attributes of devices in a source; reports and `sys` have a `platform`, too."""
    attributes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    of_devices = {
        node.attr for node in attributes if node.attr == "platform" and "device" in ast.unparse(node.value).lower()
    }
    return of_devices | {node.attr for node in attributes if node.attr in QUESTIONS}


def test_one_room_alone_asks_where_jax_computes():
    outside = [file for file in PACKAGE.rglob("*.py") if file.parent != PACKAGE / "devices"]
    found = {str(file.relative_to(PACKAGE)): asked(file.read_text()) for file in outside}
    allowed = {
        # A mesh of devices of several kinds is refused.
        "kernels/mesh.py": {"device_kind"},
        # A report of a machine.
        "doctor/machine.py": {"device_kind"},
    }
    assert {file: names for file, names in found.items() if names} == allowed


def test_the_check_sees_a_question():
    assert asked("jax.default_backend() == 'cpu'") == {"default_backend"}
    assert asked("next(iter(codes.devices())).platform") == asked("device.platform") == {"platform"}
    assert not asked("sys.platform == 'linux'")


def test_a_context_and_an_option_are_followed():
    with stand_in("gpu") as there:
        assert default_device() == there and current_platform() == "gpu"
        with jax.default_device(HOST):
            assert default_device() == HOST and current_platform() == "cpu"
        with jax.default_device("cpu"):
            assert kind_of(default_device()) == "cpu" and current_platform() == "cpu"
        assert current_platform() == "gpu"
    assert current_platform() == "cpu"


def test_arrays_come_before_a_context_and_a_mesh_before_arrays():
    with stand_in("tpu") as there:
        here = jax.device_put(np.zeros(3), HOST)
        of_tpu = jax.device_put(np.zeros(3), there)
        assert platform_of(np.zeros(3), [1.0]) == "tpu"
        assert platform_of(np.zeros(3), here) == "cpu"
        with jax.default_device(HOST):
            assert platform_of(of_tpu, here) == "tpu"
        assert platform_of(here, mesh=Mesh(np.array([there]), ("rows",))) == "tpu"
        assert device_of(np.zeros(2)) is None
        # A traced array lies nowhere.
        assert jax.eval_shape(lambda x: jnp.zeros(len(platform_of(x))), here).shape == (3,)


def test_a_stand_in_is_the_only_device_of_its_platform():
    with stand_in("gpu") as there:
        assert devices_of_kind("gpu") == [there]
        assert there not in devices_of_kind("cpu") and devices_of_kind("tpu") == []
    assert devices_of_kind("gpu") == [] and there in devices_of_kind("cpu")


def threads_of_three_cores():
    with using_cores(3):
        return number_of_threads()


SOFT = jax.eval_shape(lambda key: init(SoftForm(3, 4, 2), key=key), jax.random.key(0))
"""A small soft tree, of which accelerators train many side by side."""

BATCH = SimpleNamespace(
    rows=SimpleNamespace(weight=np.zeros(8)), evaluations=(), trees_per_round=1, plan=SimpleNamespace(capacity=8),
    loss=SimpleNamespace(num_scores=1),
)  # fmt: skip
"""The arguments on which the size of a batch of boosted models depends."""


def num_threads():
    """The threads in which blocks of rows are worked on."""
    threads, both = set(), threading.Barrier(2)

    def note(block):
        threads.add(threading.get_ident())
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.2)

    for_blocks(note, 8, 4)
    return len(threads)


def host_engine():
    """Who computes on the host."""
    return choose.Engine.HOST if choose.is_there() else "without the kernel nobody else"


ENTRIES = {
    "growth": lambda: engine_of(Rules(Classes(2)), current_platform(), on_host=True) is host_engine(),
    "options of the compiler": lambda: bool(options_of_small_programs(platform=current_platform())),
    "kernels": lambda: choose.choose(current_platform()) is host_engine(),
    "Shapley values": lambda: shap.current_platform() == "cpu",
    "draws": lambda: draws._block_size(np.zeros((60, 128)), 5000, draws.current_platform()) == 32,
    "soft epochs": lambda: models_side_by_side(SOFT, 2048, 256, current_platform()) == 1,
    "batches of models": lambda: inspect.unwrap(many.slots_for)(BATCH, 10**4, 1) <= many.MOST_SLOTS_OF_HOST,
    "threads of forests": lambda: threads_of_three_cores() == 3,
    "predictions": lambda: rows_at_a_time(1, 4) < ROWS_ON_ACCELERATOR,
    "threads of blocks": lambda: num_threads() == 2,
}
"""Choices by platform: true on the host."""


@pytest.mark.parametrize("name", ENTRIES)
def test_all_that_chooses_by_platform_follows(name):
    assert ENTRIES[name]()
    with stand_in("gpu"):
        assert not ENTRIES[name]()
        with jax.default_device(HOST):
            assert ENTRIES[name]()
