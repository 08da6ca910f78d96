"""The file of a search that is written while it runs, from which it is taken up again.

A *journal* has lines of JSON: the first says what the search was made with, every other one is the fit of a setting on
a fold, in the order in which they ended. It is only appended to, so that whatever ends the process (Ctrl-C, `kill -9`)
leaves all lines but perhaps the last, which is cut off when it is read again. Parquet, whose index stands at its end,
would have to be written anew for every fit, by a library that searches do not need. Lines reach the system one by one,
and the disk once a second and at the end. Numbers read back with the same bits: floats as Python writes them, arrays as
their bytes in base 64.
"""

import base64
import contextlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.files.writing import check_writable, write_file
from jaxtree.search.evaluation import Fitted, Parameters, Search

FORMAT = "jaxtree search, 1"

SECONDS_BETWEEN_SYNCS = 1.0

HINTS = {
    "folds": "folds that are shuffled without a random_state are others each time",
    "jaxtree": "another version may compute other numbers",
}
"""Why something may differ although the user has changed nothing."""

MadeWith = dict[str, str]
"""The table, settings and so on that a search was made with: names, and values or hashes of them."""


class KnownFit(NamedTuple):
    """A fit from a journal.

    Attributes:
        fitted: The fit.
        was_paused: Whether its model may go on; it begins anew then, with the same bits.
    """

    fitted: Fitted
    was_paused: bool


def made_with(search: Search, settings: Sequence[Parameters], scoring: Any, options: Mapping[str, Any]) -> MadeWith:
    """Returns what the results of a search depend on.

    Args:
        search: The problem.
        settings: The parameters of the settings.
        scoring: The scoring that the user gave.
        options: Further options of the search.

    Raises:
        InvalidInputError: The estimator draws from a generator, so that no fit of it can be made again.
    """
    for own in (search.estimator.get_params(), *settings):
        for name, value in own.items():
            if isinstance(value, np.random.RandomState | np.random.Generator):
                raise InvalidInputError(
                    f"resume needs fits that can be repeated, and {name} is a generator, which goes on from fit to "
                    "fit: give a whole number"
                )
    return {
        "jaxtree": jaxtree.__version__,
        "table": _identity(search.X),
        "target": _identity(search.y),
        "fit arguments": _identity({name: _identity(value) for name, value in search.fit_params.items()}),
        "estimator": _identity(search.estimator),
        "settings": f"{len(settings)}: {_identity([_words(own) for own in settings])}",
        "folds": f"{len(search.splits)}: {_identity([np.asarray(rows) for split in search.splits for rows in split])}",
        "scoring": _words(scoring),
        "options": _words(options),
    }


def _identity(value: Any) -> str:
    """Returns a hash of a value, the same in every process."""
    import joblib  # with which scikit-learn's estimators run, and nothing that is imported before them

    if isinstance(value, BaseEstimator):
        kind = type(value)
        return str(joblib.hash((kind.__module__, kind.__qualname__, _words(value.get_params()))))
    try:
        return str(joblib.hash(value))
    except Exception:  # of what cannot be pickled, such as a frame with objects of one's own
        return str(joblib.hash(repr(value)))


def _words(value: Any) -> str:
    """Returns a value in words that are the same in every process: functions by name and code, arrays by their hash."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_words(own)}" for name, own in sorted(value.items(), key=str)) + "}"
    if isinstance(value, list | tuple | set):
        return "[" + ", ".join(map(_words, sorted(value, key=str) if isinstance(value, set) else value)) + "]"
    if isinstance(value, np.ndarray):
        return _identity(value)
    code = getattr(value, "__code__", None)
    if code is not None:
        return f"{value.__module__}.{value.__qualname__} {_identity((code.co_code, code.co_names))}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


class Journal:
    """The journal of a search, open to be written; a context manager that closes it.

    Args:
        path: The file, which is begun if it is not there, or empty.
        made_with: The table, settings and so on of the search.

    Attributes:
        num_known: The number of fits that it had when it was opened.

    Raises:
        InvalidInputError: The file is of another search, of another kind, damaged, or in use by another process.
        OSError: It cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike, made_with: MadeWith):
        self._path = os.fspath(path)
        if self._path.endswith((".parquet", ".pq")):
            raise InvalidInputError(
                f"resume writes lines of JSON, which can be appended to, and no Parquet: name the file "
                f"{os.path.splitext(self._path)[0]}.jsonl, got {self._path!r}"
            )
        check_writable(self._path)
        if not os.path.exists(self._path) or not os.path.getsize(self._path):
            write_file(self._path, _line({"format": FORMAT, "made_with": made_with}))
        # `__exit__` closes it, and the lock goes with it.
        self._file = open(self._path, "r+b")  # noqa: SIM115
        try:
            self._lock()
            self._known = dict(self._read(made_with))
            # The next line stands behind the last whole one.
            self._file.truncate()
        except BaseException:
            self._file.close()
            raise
        self.num_known, self._synced = len(self._known), time.monotonic()

    def __enter__(self) -> Self:
        """Returns the journal."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the file, all of whose lines are on the disk then."""
        self._sync()
        self._file.close()

    def known(self, rung: int, number: int, fold: int) -> KnownFit | None:
        """Returns the fit of a setting on a fold in a batch; None if there is none."""
        return self._known.pop((rung, number, fold), None)

    def keep(self, rung: int, number: int, fold: int, fitted: Fitted) -> None:
        """Writes a fit."""
        record = {
            "setting": number,
            "fold": fold,
            "rung": rung,
            "result": fitted.result,
            "num_rounds": fitted.num_rounds,
            "curve": _packed(fitted.curve),
            "predicted": None if fitted.predicted is None else _packed(fitted.predicted),
            "was_paused": fitted.paused is not None,
        }
        self._file.write(_line(record))
        self._file.flush()
        if time.monotonic() - self._synced > SECONDS_BETWEEN_SYNCS:
            self._sync()

    def _sync(self) -> None:
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def _lock(self) -> None:
        """Locks the file where the system can."""
        try:
            import fcntl
        except ImportError:  # Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidInputError(f"another process writes into {self._path!r}: name another file") from None

    def _read(self, made_with: MadeWith) -> Iterator[tuple[tuple[int, int, int], KnownFit]]:
        """Reads the fits, and leaves the file where the last whole line ends."""
        head, end = _parsed(self._file.readline()), self._file.tell()
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise InvalidInputError(f"{self._path!r} is no file of a search that resume has written: name another one")
        self._check(head.get("made_with", {}), made_with)
        for number, line in enumerate(self._file, 2):
            record = _parsed(line)
            if record is None:
                if self._file.read(1):
                    raise InvalidInputError(
                        f"line {number} of {self._path!r} is damaged, and more lines follow: delete the file to search "
                        "anew"
                    )
                break  # what was being written when the process ended
            end += len(line)
            yield _known_fit(record)
        self._file.seek(end)

    def _check(self, old: MadeWith, new: MadeWith) -> None:
        """Raises InvalidInputError if the file is of another search."""
        other = [name for name in new if old.get(name) != new[name]]
        if not other:
            return
        said = [f"{name} ({HINTS[name]})" if name in HINTS else name for name in other]
        shown = [f"{name} was {old.get(name)}, and is {new[name]}" for name in other if name in ("jaxtree", "scoring")]
        raise InvalidInputError(
            f"{self._path!r} has the results of another search, which differs in its {', '.join(said)}"
            f"{'; ' if shown else ''}{'; '.join(shown)}. Name another file, or delete it to search anew"
        )


def _line(record: dict[str, Any]) -> bytes:
    # NaN and infinity stand there as Python writes and reads them.
    return json.dumps(record, separators=(",", ":"), default=_plain).encode() + b"\n"


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    return value.item()


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The record of a line; None if it is not whole."""
    with contextlib.suppress(ValueError):
        record = json.loads(line) if line.endswith(b"\n") else None
        return record if isinstance(record, dict) else None
    return None


def _known_fit(record: dict[str, Any]) -> tuple[tuple[int, int, int], KnownFit]:
    """The place and the fit of a record."""
    predicted = record["predicted"]
    fitted = Fitted(
        record["result"],
        record["num_rounds"],
        _unpacked(record["curve"]),
        None if predicted is None else _unpacked(predicted),
    )
    return (record["rung"], record["setting"], record["fold"]), KnownFit(fitted, record["was_paused"])


def _packed(values: Float[np.ndarray, "..."]) -> list[Any]:
    """An array as its type, its shape and its bytes in base 64."""
    own = np.asarray(values)
    plain = np.ascontiguousarray(own, own.dtype.newbyteorder("<"))
    return [plain.dtype.str, list(own.shape), base64.b64encode(plain.tobytes()).decode()]


def _unpacked(packed: list[Any]) -> Float[np.ndarray, "..."]:
    kind, shape, words = packed
    values = np.frombuffer(base64.b64decode(words), kind).reshape(shape)
    return values.astype(values.dtype.newbyteorder("="))
