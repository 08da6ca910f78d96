"""Records in files: they come back as they were, and what is none of its type is refused by the name of its field."""

import dataclasses
import json
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pytest
from jaxtyping import Float, Float64, Int32, Shaped

from jaxtree.arrays import AnyArray, OptionalArray
from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.files.container import ModelFile
from jaxtree.files.records import check, read_record, require, write_record


class Range(NamedTuple):
    low: Float64[np.ndarray, " bin"]
    high: Float64[np.ndarray, " bin"]


class Word(NamedTuple):
    text: str
    names: Shaped[np.ndarray, " name"]


@dataclasses.dataclass(frozen=True)
class Everything:
    ranges: tuple[Range, ...]
    table: Int32[np.ndarray, "row column"]
    marks: Float[AnyArray, " row"]
    other: OptionalArray
    part: Range | Word | None
    kind: Literal["small", "large"]
    size: int | Literal["auto"] | None
    pair: tuple[int, int]
    curves: dict[str, list[float]]
    is_new: bool
    share: float
    anything: Any

    constant: ClassVar[int] = 3


@check.register
def _(part: Range) -> None:
    require((part.low <= part.high).all(), "a range ends before it begins")


def everything(**changed):
    ranges = tuple(Range(np.arange(size) * 1.0, np.arange(size) + 0.5) for size in (2, 0, 3))
    fields = {
        "ranges": ranges,
        "table": np.arange(6, dtype=np.int32).reshape(2, 3),
        "marks": np.array([1.5, np.inf], np.float32),
        "other": None,
        "part": Word("a", np.array(["x", "yz"])),
        "kind": "small",
        "size": "auto",
        "pair": (1, 2),
        "curves": {"loss": [1.0, 0.5]},
        "is_new": True,
        "share": float("nan"),
        "anything": (1, {"a": [None]}),
    }
    return Everything(**{**fields, **changed})


def through_json(record):
    header, arrays = write_record(record, Everything)
    return ModelFile(json.loads(json.dumps(header, allow_nan=False)), arrays)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"size": 3},
        {"size": None},
        {"part": None},
        {"part": Range(np.ones(1), np.ones(1))},
        {"other": np.zeros((1, 2))},
    ],
    ids=repr,
)
def test_a_record_comes_back(changed):
    record = everything(**changed)
    back = read_record(through_json(record), Everything)
    assert repr(back) == repr(record)
    assert (back.table.dtype, back.marks.dtype) == (np.int32, np.float32)


def test_arrays_of_one_field_stand_in_one_array():
    header, arrays = through_json(everything())
    assert [part["low"] for part in header["ranges"]] == [[2], [0], [3]]
    assert arrays["ranges.low"].tolist() == [0, 1, 0, 1, 2]


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda h, a: h.pop("kind"), "does not have the parts of Everything"),
        (lambda h, a: h.update(more=1), "does not have the parts of Everything"),
        (lambda h, a: h.update(kind="huge"), "kind must be .*small.*, got 'huge'"),
        (lambda h, a: h.update(size=1.0), "size must be int or 'auto' or None, got 1.0"),
        (lambda h, a: h.update(size=True), "size must be"),
        (lambda h, a: h.update(is_new=1), "is_new must be bool, got 1"),
        (lambda h, a: h.update(share=1), "share must be float, got 1"),
        (lambda h, a: h.update(pair=[1, 2, 3]), "pair is none of its type"),
        (lambda h, a: h.update(pair=[1, "2"]), "pair must be int"),
        (lambda h, a: h.update(curves=[1.0]), "curves is none of its type"),
        (lambda h, a: h.update(curves={"loss": ["low"]}), "curves.loss must be float"),
        (lambda h, a: h.update(anything={"what": 1}), "unknown kind"),
        (lambda h, a: h.update(part={"Everything": {}}), "unknown kind"),
        (lambda h, a: h["part"]["Word"].update(names=["x"]), r"part.names must be Shaped\[ndarray, 'name'\]"),
        (lambda h, a: h["ranges"].append(3), "ranges does not have the parts of Range"),
        (lambda h, a: h["ranges"][0].update(low=[1]), "more numbers than are described|same|must be"),
        (lambda h, a: h["ranges"].pop(), "ranges.low.* has more numbers than are described"),
        (lambda h, a: h.update(table=[3, 3]), "table has fewer numbers"),
        (lambda h, a: h.update(table=[6]), "table must be Int32.*'row column'.*, got int32 of shape"),
        (lambda h, a: h.update(table=[3, 2]), r"marks must be Float\[ndarray, 'row'\], got float32 of shape \(2,\)"),
        (lambda h, a: h.update(table=[-1, 6]), "impossible shape"),
        (lambda h, a: h.update(table=[0, 2**30, 2**30, 2**30]), "impossible shape|must be|more numbers"),
        (lambda h, a: h.update(table="all"), "table must be Int32"),
        (lambda h, a: a.pop("table"), "table has fewer numbers"),
        (lambda h, a: a.update(table=a["table"].astype(float)), "table must be Int32.*got float64"),
        (lambda h, a: a.update(table=a["table"].reshape(2, 3)), "more than one axis"),
        (lambda h, a: a.update(unknown=np.zeros(2)), "unknown.* has more numbers"),
        (lambda h, a: a["ranges.high"].fill(-1), "ends before it begins"),
    ],
)
def test_what_is_none_of_its_type_is_refused(wrong, words):
    content = through_json(everything())
    wrong(content.header, content.arrays)
    with pytest.raises(ModelFileError, match=words):
        read_record(content, Everything)


def test_what_files_do_not_hold_is_refused():
    with pytest.raises(InvalidInputError, match="a model file holds"):
        write_record(everything(anything=object()), Everything)
