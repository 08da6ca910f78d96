"""Fits on a cluster with Ray: the rows of a dataset are divided among the workers of Ray Train.

Every worker is a process of `jax.distributed` and has rows that follow one another in the dataset. Together they grow
one tree (`jaxtree.dataset.exchange`). Its model file is the checkpoint of the run.
"""

import socket
import tempfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from sklearn.base import clone

from jaxtree.errors import InvalidInputError, InvalidTypeError, import_extra
from jaxtree.estimators.trees.base import BaseTree, check_fits_together
from jaxtree.files.registry import describe_estimator, load
from jaxtree.table.sources import ROWS_AT_A_TIME

MODEL_FILE = "model.jaxtree"
"""The name of the file in the checkpoint."""


def fit(
    estimator: Any,
    dataset: Any,
    *,
    label: str | list[str],
    scaling_config: Any,
    sample_weight: str | None = None,
    run_config: Any = None,
) -> Any:
    """Grows a tree on the workers of a Ray cluster, and returns it fitted; the estimator itself stays as it is.

    The tree is the one that a single process would grow on all rows, bit for bit, for any number of workers; only the
    gains and impurities that it reports may differ in their last bits. Where Ray replaces a lost worker
    (`run_config=RunConfig(failure_config=FailureConfig(max_failures=3))`), all begin again, with the same rows.

    Args:
        estimator: A single tree, such as `DecisionTreeClassifier`.
        dataset: A `ray.data.Dataset`. It is materialised: its blocks stay in the object store of the cluster, or on its
            disks, until the fit ends. A worker holds a batch of its rows at a time, and the codes of all of them.
        label: The column to predict, or a list of several.
        scaling_config: The `ray.train.ScalingConfig`: how many workers there are, and what each one has. They compute
            on CPUs unless it says `use_gpu` or `use_tpu`.
        sample_weight: The column with the weights of the rows.
        run_config: A `ray.train.RunConfig`: where the checkpoint is stored, which several machines must share, and how
            often a failed run begins again.

    Raises:
        InvalidInputError: A parameter, a column's name, or the number of rows or workers is not allowed.
        InvalidTypeError: The estimator is no single tree of jaxtree, or the dataset none of Ray's.
        MissingExtraError: Ray is not installed.
        ray.train.TrainingFailedError: The run failed more often than its `run_config` allows; it has the errors of the
            workers.
    """
    train = _import_ray("train")
    estimator = _check_estimator(estimator)
    beside = [*([label] if isinstance(label, str) else label), *([] if sample_weight is None else [sample_weight])]
    _check_dataset(dataset, beside)
    parts = _split_rows(dataset, _check_workers(scaling_config))
    # Ray prepares JAX on workers with GPUs or TPUs alone; others do so themselves, in `_join_processes`.
    trainer = _import_ray("train.v2.jax").JaxTrainer(
        _fit_part,
        train_loop_config={"estimator": estimator, "label": label, "sample_weight": sample_weight},
        scaling_config=scaling_config,
        run_config=run_config,
        datasets={_name_of(rank): part for rank, part in enumerate(parts)},
        dataset_config=train.DataConfig(datasets_to_split=[]),
    )
    with trainer.fit().checkpoint.as_directory() as folder:
        return load(Path(folder) / MODEL_FILE)


def _fit_part(config: dict[str, Any]) -> None:
    """Fits on the rows of this worker, and reports the model file of the first one."""
    train = _import_ray("train")
    rank = train.get_context().get_world_rank()
    part, estimator = train.get_dataset_shard(_name_of(rank)), config["estimator"]
    joined = _join_processes(train.get_context())
    estimator.fit(
        lambda: part.iter_batches(batch_size=ROWS_AT_A_TIME, batch_format="pyarrow"),
        y=config["label"],
        sample_weight=config["sample_weight"],
        mesh=Mesh(np.array(jax.devices()), ("rows",)),
    )
    with tempfile.TemporaryDirectory() as folder:
        if rank == 0:
            estimator.save(Path(folder) / MODEL_FILE)
        train.report({}, checkpoint=train.Checkpoint.from_directory(folder) if rank == 0 else None)
    if joined:
        jax.distributed.shutdown()


def _join_processes(context: Any) -> bool:
    """Makes the workers processes of `jax.distributed`, on CPUs, unless Ray has done so; returns whether it did."""
    if jax.distributed.is_initialized():
        return False
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    own = _free_address() if context.get_world_rank() == 0 else None
    address = _import_ray("train.collective").broadcast_from_rank_zero(own)
    jax.distributed.initialize(address, context.get_world_size(), context.get_world_rank())
    return True


def _free_address() -> str:
    """Returns an address of this machine that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return f"{_import_ray('util').get_node_ip_address()}:{probe.getsockname()[1]}"


def _check_estimator(estimator: Any) -> Any:
    """Returns an unfitted copy of a tree that several processes can grow, and a file can hold."""
    if not isinstance(estimator, BaseTree):
        raise InvalidTypeError(
            "estimator must be a single tree of jaxtree, such as DecisionTreeClassifier(), got "
            f"{type(estimator).__module__}.{type(estimator).__name__}"
        )
    describe_estimator(estimator)
    check_fits_together(estimator)
    return clone(estimator)


def _check_dataset(dataset: Any, beside: list[str]) -> None:
    if not isinstance(dataset, _import_ray("data").Dataset):
        raise InvalidTypeError(f"dataset must be a ray.data.Dataset, got {type(dataset).__name__}")
    columns = dataset.columns() or []
    unknown = [name for name in beside if name not in columns]
    if columns and unknown:
        raise InvalidInputError(f"label and sample_weight must be columns of the dataset {columns}, got {unknown}")


def _check_workers(scaling_config: Any) -> int:
    number = getattr(scaling_config, "num_workers", None)
    if not isinstance(number, int) or number < 1:
        raise InvalidInputError(
            f"scaling_config must be a ray.train.ScalingConfig with an integer num_workers >= 1, got {scaling_config!r}"
        )
    return number


def _split_rows(dataset: Any, num_parts: int) -> list[Any]:
    """Returns the dataset in parts of rows that follow one another, as many in each as in any other, or one more."""
    options = dataset.context.execution_options
    before, options.preserve_order = options.preserve_order, True  # else blocks stand in the order of their completion
    try:
        whole = dataset.materialize()
    finally:
        options.preserve_order = before
    num_rows = whole.count()
    if num_rows < num_parts:
        raise InvalidInputError(f"the dataset must have a row for each of {num_parts} workers, got {num_rows} rows")
    bounds = [num_rows * part // num_parts for part in range(1, num_parts)]
    return whole.split_at_indices(bounds) if bounds else [whole]


def _name_of(rank: int) -> str:
    """Returns the name of a worker's rows among the datasets of the run."""
    return f"rows of worker {rank}"


def _import_ray(module: str) -> Any:
    return import_extra(f"ray.{module}", "jaxtree.ray.fit", "ray")
