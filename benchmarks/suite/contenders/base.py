"""The protocol of a contender: a library that encodes, grows and predicts."""

import abc
import os
import time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.suite.tasks import Task

NUM_THREADS = os.cpu_count() or 1


class Timing(NamedTuple):
    """Seconds of one call; None where a library cannot tell the parts apart.

    Attributes:
        together: From the raw table to the model; or of a prediction.
        encoding: From the raw table to bins and codes.
        growth: From bins and codes to the model.
        cpu: CPU seconds of all cores, of the whole call.
    """

    together: float
    encoding: float | None = None
    growth: float | None = None
    cpu: float | None = None


class Contender(abc.ABC):
    """A library that is asked to do a task, with all cores."""

    def __init__(self, task: Task):
        self.task = task

    @abc.abstractmethod
    def encode(self, X: Any, y: np.ndarray) -> Any:
        """Returns what the library grows on: bins, codes or numbers."""

    @abc.abstractmethod
    def grow(self, encoded: Any) -> Any:
        """Returns the model."""

    @abc.abstractmethod
    def predict(self, model: Any, X: Any) -> np.ndarray:
        """Returns the class, or the number, of every row."""

    def fit(self, X: Any, y: np.ndarray) -> Any:
        """Returns the model of a raw table, as a user would make it."""
        return self.grow(self.encode(X, y))

    def timed_fit(self, X: Any, y: np.ndarray) -> tuple[Any, Timing]:
        """Returns a model of the raw table, and what its parts took."""
        encoded, encoding = timed(lambda: self.encode(X, y))
        model, growth = timed(lambda: self.grow(encoded))
        return model, Timing(encoding + growth, encoding, growth)


class Undivided(Contender):
    """A library whose encoding is not to be had by itself, or that has none."""

    def timed_fit(self, X: Any, y: np.ndarray) -> tuple[Any, Timing]:
        """Returns a model of the raw table, and what it took."""
        model, seconds = timed(lambda: self.fit(X, y))
        return model, Timing(seconds)


def timed(call):
    """Returns the result of a call, and its seconds."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def word_columns(X: Any) -> list[str]:
    """The columns of categories of a frame; a matrix has none."""
    return [] if isinstance(X, np.ndarray) else list(X.select_dtypes("category").columns)


def chosen_class(shares: np.ndarray) -> np.ndarray:
    """The likeliest class, from the share of every class or from that of the second of two."""
    return (shares > 0.5).astype(np.int32) if shares.ndim == 1 else shares.argmax(axis=1).astype(np.int32)
