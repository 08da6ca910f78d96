"""Inputs that a program must survive: files that are damaged, huge, empty or strange, and options out of range.

Every attack is a command line and the files that it reads. They are the same in every run: what is drawn is drawn from
a seed.
"""

import gzip
import io
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

SEED = 20
NUM_DAMAGED = 150

HUGE = 200_000
"""Characters of a huge cell; Python's csv module stops at 131,072."""

TABLE = "a,b,y\n" + "1,red,yes\n2,blue,no\n3,red,yes\n4,blue,no\n" * 3
"""A good table: numbers, words and a target of two classes."""

NUMBERS = "a,b,y\n" + "1,red,1.5\n2,blue,2.5\n3,red,1.5\n4,blue,4\n" * 3
"""The same with a target of numbers."""

ARFF = (
    "@relation r\n@attribute a real\n@attribute b {red,blue}\n@attribute y {yes,no}\n@data\n" + TABLE.split("\n", 1)[1]
)

SMALL = ("--set", "max_depth=2")


class Attack(NamedTuple):
    """A command that reads something strange.

    Attributes:
        name: The strange thing.
        arguments: The command line.
        files: The files beside those that every attack finds: the good table as `good.csv` and `numbers.csv`, and the
            models `m.jaxtree` of classes, `r.jaxtree` of numbers and `f.jaxtree`, a forest.
        stdin: The standard input.
        outcome: The end that the command must have: "read" for success, a part of the message of a refusal, None for
            either.
    """

    name: str
    arguments: tuple[str, ...]
    files: dict[str, bytes]
    stdin: bytes = b""
    outcome: str | None = None


def attacks() -> list[Attack]:
    """Returns all attacks."""
    return [*fits_of_tables(), *models_of_tables(), *options(), *places(), *damaged_files()]


def fits_of_tables() -> Iterator[Attack]:
    """Fits of every strange table."""
    for name, (file, content, outcome) in strange_tables().items():
        yield Attack(f"fit: {name}", ("fit", file, "-t", "y", "-o", "new", *SMALL), {file: content}, outcome=outcome)


def _rows(*cells: str, times: int = 3) -> str:
    return "".join(cell + "\n" for cell in cells) * times


def strange_tables() -> dict[str, tuple[str, bytes, str | None]]:
    """Tables by what is strange in them: a file's name, its content, and what a fit of the target `y` must do."""
    texts = {**_lines_of_cells(), **_numbers(), **_targets(), **_arff()}
    tables = {
        name: ("t.csv", text.encode() if isinstance(text, str) else text, outcome)
        for name, (text, outcome) in texts.items()
    }
    return tables | {name: ("t.bin", *both) for name, both in _binary().items()}


def _lines_of_cells() -> dict[str, tuple[str | bytes, str | None]]:
    body = TABLE.split("\n", 1)[1]
    long = "x" * HUGE
    many = [f"c{place}" for place in range(5000)]
    return {
        "nothing": ("", None),
        "a blank": (" ", None),
        "line ends alone": ("\n\r\n\r", None),
        "a byte order mark alone": (b"\xef\xbb\xbf", None),
        "a header alone": ("a,b,y\n", None),
        "a header without a line end": ("a,b,y", None),
        "a comma alone": (",", None),
        "commas alone": (",,\n,,\n,,\n", None),
        "one column": ("y\nyes\nno\n", None),
        "one column that is another": ("a\n1\n2\n", None),
        "a target alone": ("y,y2\nyes,\nno,\n", None),
        "names that repeat": ("a,a,y\n" + body, None),
        "the target repeats": ("a,y,y\n" + body, None),
        "names that repeat but for spaces": ("a, a ,y\n" + body, None),
        "blank names": (",,y\n" + body, None),
        "blank name like a numbered one": ("x1,,y\n" + body, None),
        "all names blank": (",,\n" + body, None),
        "names of numbers": ("1,2,y\n" + body, None),
        "names with quotes": ('"a ""b""","\'",y\n' + body, None),
        "names with brackets of markup": ("[red]a[/],[/nothing],y\n" + body, None),
        "names with control characters": ("a\x1b[31m,b\x07,y\n" + body, None),
        "names with line ends": ('"a\nb",b,y\n' + body, None),
        "names of emoji": ("🌳,👩‍🌾,y\n" + body, None),
        "a huge name": (f"{long},b,y\n" + body, None),
        "a huge name in quotes": (f'"{long}",b,y\n' + body, None),
        "a huge cell": ("a,b,y\n" + body + f"1,{long},yes\n", None),
        "a huge cell in quotes": ("a,b,y\n" + body + f'1,"{long}",yes\n', None),
        "a huge cell in the target": ("a,b,y\n" + body + f"1,red,{long}\n", None),
        "a huge line that is no table": (long, None),
        "many columns": (",".join([*many, "y"]) + "\n" + _rows(*["1," * 5000 + "yes", "2," * 5000 + "no"]), None),
        "many columns without the target": (",".join(many) + "\n" + _rows(",".join("1" * 5000)), None),
        "byte order mark": (b"\xef\xbb\xbf" + TABLE.encode(), None),
        "byte order mark and quotes": (b'\xef\xbb\xbf"a","b","y"\n' + body.encode(), None),
        "UTF-16": (TABLE.encode("utf-16"), None),
        "UTF-16 big-endian": (b"\xfe\xff" + TABLE.encode("utf-16-be"), None),
        "UTF-16 without a mark": (TABLE.encode("utf-16-le"), None),
        "UTF-32": (TABLE.encode("utf-32"), None),
        "latin-1": (TABLE.replace("red", "größe").encode("latin-1"), None),
        "one byte that is no UTF-8": (TABLE.encode() + b"1,\xff,yes\n", None),
        "surrogates": (TABLE.encode() + b"1,\xed\xa0\x80,yes\n", None),
        "NUL bytes": (TABLE.replace("red", "r\0d"), None),
        "NUL bytes in names": (TABLE.replace("a,b", "a\0,b"), None),
        "NUL bytes alone": (b"\0" * 100, None),
        "control characters": (TABLE.replace("red", "r\x01\x1b[2J"), None),
        "emoji": (TABLE.replace("red", "🌳").replace("blue", "👩‍🌾"), None),
        "right-to-left": (TABLE.replace("red", "أحمر\u202e"), None),
        "carriage returns alone": (TABLE.replace("\n", "\r"), "read"),
        "carriage returns alone, quoted": (TABLE.replace("red", '"red"').replace("\n", "\r"), "read"),
        "carriage returns alone, tabs": (TABLE.replace(",", "\t").replace("\n", "\r"), "read"),
        "carriage returns and line feeds": (TABLE.replace("\n", "\r\n"), "read"),
        "mixed line ends": ("a,b,y\r\n1,red,yes\r2,blue,no\n3,red,yes\r\n4,blue,no\r5,red,no", None),
        "two carriage returns a line": (TABLE.replace("\n", "\r\r\n"), None),
        "a line end in a cell": (TABLE.replace("red", '"r\ned"'), "read"),
        "a carriage return in a cell": (TABLE.replace("red", '"r\red"'), "read"),
        "form feeds and line separators": (TABLE.replace("red", "r\x0c\u2028\x85d"), None),
        "blank lines between": (TABLE.replace("\n", "\n\n"), None),
        "an unclosed quote": ('a,b,y\n1,"red,yes\n2,blue,no\n', None),
        "an unclosed quote in the header": ('a,"b,y\n1,red,yes\n2,blue,no\n', None),
        "an unclosed quote at the end": (TABLE + '1,red,"yes', None),
        "quotes within cells": (TABLE.replace("red", 'r"e"d'), None),
        "a quote after a cell": (TABLE.replace("red", '"red"x'), None),
        "rows too long": (TABLE + "1,red,yes,1,2\n", None),
        "rows too short": (TABLE + "1\n", None),
        "rows of one cell": ("a,b,y\n1\n2\n3\n", None),
        "trailing commas": (TABLE.replace("\n", ",\n"), None),
        "HTML": ("<!DOCTYPE html>\n<html><body>404, not found</body></html>\n", None),
        "JSON": (json.dumps([{"a": 1, "y": "yes"}, {"a": 2, "y": "no"}]), None),
        "JSON lines": ('{"a": 1, "y": "yes"}\n{"a": 2, "y": "no"}\n', None),
        "XML": ('<?xml version="1.0"?>\n<rows><row y="1"/></rows>\n', None),
        "a program": ("#!/bin/sh\necho hello\n", None),
        "only question marks": ("a,b,y\n" + _rows("?,?,yes", "?,?,no"), "read"),
        "a column without values": ("a,b,y\n" + _rows("1,,yes", "2,,no"), "read"),
        "constant columns": ("a,b,y\n" + _rows("1,red,yes", "1,red,no"), "read"),
        "true and false": ("a,b,y\n" + _rows("true,TRUE,yes", "false,False,no"), "read"),
        "true, false and a word": ("a,b,y\n" + _rows("true,t,yes", "false,f,no", "maybe,,no"), "read"),
        "dates": ("a,b,y\n" + _rows("2020-01-01,12:30,yes", "2021-02-03,23:59:59,no"), "read"),
        "words like missing ones": ("a,b,y\n" + _rows("NULL,n/a,yes", "None,#N/A,no"), "read"),
        "a word in every row": ("a,b,y\n" + "".join(f"w{r},{r},{'yn'[r % 2]}\n" for r in range(300)), "read"),
    }


def _numbers() -> dict[str, tuple[str | bytes, str | None]]:
    cells = {
        "infinities": ("inf", "-inf"),
        "infinity in words": ("Infinity", "1"),
        "overflow": ("1e309", "-1e309"),
        "the largest number": ("1.7976931348623157e308", "-1.7976931348623157e308"),
        "large numbers": ("1e308", "-1e308"),
        "a number with a thousand digits": ("9" * 1000, "1"),
        "integers of 400 digits": ("1" * 400, "2" * 400),
        "integers of 300 digits": ("1" * 300, "2" * 300),
        "underflow": ("1e-400", "-1e-400"),
        "the smallest numbers": ("5e-324", "-5e-324"),
        "numbers beyond 2**53": ("9007199254740993", "9007199254740992"),
        "2**63": ("9223372036854775808", "-9223372036854775809"),
        "2**64": ("18446744073709551616", "18446744073709551615"),
        "minus zero": ("-0.0", "0"),
        "hexadecimals": ("0x10", "0x20"),
        "decimal commas": ('"1,5"', '"2,5"'),
        "underscores": ("1_000", "2_000"),
        "signs": ("+1", "--1"),
        "not a number": ("nan", "1"),
        "NaN spelt otherwise": ("-nan", "NAN"),
        "percentages": ("10%", "20%"),
        "Arabic digits": ("١", "٢"),
    }
    return {name: ("a,b,y\n" + _rows(f"{one},red,yes", f"{two},blue,no"), None) for name, (one, two) in cells.items()}


def _targets() -> dict[str, tuple[str | bytes, str | None]]:
    def of(*targets: object, times: int = 3) -> str:
        return "a,b,y\n" + _rows(*(f"{place},red,{y}" for place, y in enumerate(targets)), times=times)

    return {
        "no target": ("a,b,z\n1,red,yes\n", None),
        "a target without values": (of("", "?"), None),
        "a target of one class": (of("yes", "yes"), None),
        "a target of one class and missing values": (of("yes", "?"), None),
        "a target of one number": (of("1.5", "1.5"), None),
        "a target with one known row": (of("yes", "", "", times=1), None),
        "a target of two rows": (of("yes", "no", times=1), "read"),
        "a target of one row of a number": (of("1.5", times=1), None),
        "a target of as many classes as rows": (of(*(f"c{row}" for row in range(4)), times=1), "read"),
        "a target of true and false": (of("true", "FALSE"), "read"),
        "a target of true, false and missing": (of("true", "FALSE", ""), "read"),
        "a target of dates": (of("2020-01-01", "2021-01-01"), "read"),
        "a target of emoji": (of("🌳", "👩‍🌾"), "read"),
        "a target of huge words": (of("x" * HUGE, "y" * HUGE, times=2), "read"),
        "a target of infinities": (of("inf", "1"), None),
        "a target of overflow": (of("1e309", "1"), None),
        "a target of large numbers": (of("1e308", "-1e308", "0.5"), None),
        "a target of tiny numbers": (of("5e-324", "0.5e-300", "0"), None),
        "a target of numbers beyond 2**53": (of("9007199254740993", "9007199254740992"), None),
        "a target of 2**63": (of("9223372036854775808", "1"), None),
        "a target of 2**64 and halves": (of("18446744073709551616", "0.5"), None),
        "a target of 400 digits": (of("1" * 400, "2" * 400), None),
        "a target of minus zero": (of("-0.0", "0", "1"), "read"),
        "a target of numbers and words": (of("1", "2", "yes"), "read"),
        "a target of control characters": (of("\x01", "\x1b[31m"), None),
    }


def _arff() -> dict[str, tuple[str | bytes, str | None]]:
    head = ARFF.split("@data\n")[0]
    long = "x" * HUGE
    kind = "@attribute a real"
    return {
        "ARFF": (ARFF, "read"),
        "ARFF with carriage returns alone": (ARFF.replace("\n", "\r"), "read"),
        "ARFF with comments": ("% hello\n\n" + ARFF.replace("@data\n", "@data\n% more\n"), "read"),
        "ARFF in capitals": (ARFF.replace("@relation", "@RELATION").replace("@data", "@DATA"), "read"),
        "ARFF without data": (head, None),
        "ARFF without rows": (head + "@data\n", None),
        "ARFF without attributes": ("@relation r\n@data\n1,2\n", None),
        "ARFF without anything": ("@relation r\n@data\n", None),
        "ARFF of a relation alone": ("@relation", None),
        "ARFF with an attribute of no kind": (ARFF.replace(kind, "@attribute a"), None),
        "ARFF with an attribute of no name": (ARFF.replace(kind, "@attribute"), None),
        "ARFF with an attribute of an empty name": (ARFF.replace(kind, "@attribute '' real"), None),
        "ARFF with an unclosed name": (ARFF.replace(kind, "@attribute 'a real"), None),
        "ARFF with unclosed categories": (ARFF.replace("{red,blue}", "{red,blue"), None),
        "ARFF with no categories": (ARFF.replace("{red,blue}", "{}"), None),
        "ARFF with an empty category": (ARFF.replace("{red,blue}", "{red,,blue}"), None),
        "ARFF with categories that repeat": (ARFF.replace("{red,blue}", "{red,blue,red}"), None),
        "ARFF with a category not declared": (ARFF.replace("{red,blue}", "{red,green}"), None),
        "ARFF with a class not declared": (ARFF.replace("{yes,no}", "{yes,nein}"), None),
        "ARFF with a class declared twice": (ARFF.replace("{yes,no}", "{yes,no,yes}"), None),
        "ARFF with a class that never comes": (ARFF.replace("{yes,no}", "{yes,no,maybe}"), "read"),
        "ARFF with one class": (ARFF.replace("{yes,no}", "{yes}").replace(",no\n", ",yes\n"), None),
        "ARFF with a word for a number": (ARFF + "one,red,yes\n", None),
        "ARFF with an infinite number": (ARFF + "1e309,red,yes\n", None),
        "ARFF with words": (ARFF.replace("{red,blue}", "string"), "read"),
        "ARFF with dates": (ARFF.replace(kind, '@attribute a date "yyyy-MM-dd"'), None),
        "ARFF with relations": (
            "@relation r\n@attribute bag relational\n@attribute a real\n@end bag\n"
            "@attribute y {yes,no}\n@data\n'1',yes\n",
            None,
        ),
        "ARFF of sparse rows": (head + "@data\n{0 1, 1 red, 2 yes}\n{0 2}\n", None),
        "ARFF with weights of rows": (head + "@data\n1,red,yes,{2}\n", None),
        "ARFF with short rows": (ARFF + "1,red\n", None),
        "ARFF with long rows": (ARFF + "1,red,yes,no\n", None),
        "ARFF with an unclosed quote": (ARFF + "1,'red,yes\n", None),
        "ARFF with an escape at the end": (ARFF + "1,red,yes\\\n", None),
        "ARFF with quotes of both kinds": (ARFF + "1,\"red\",'yes'\n", "read"),
        "ARFF with a huge category": (ARFF.replace("red", long), "read"),
        "ARFF with a huge name": (ARFF.replace("attribute a", f"attribute {long}"), "read"),
        "ARFF with a huge cell of words": (ARFF.replace("{red,blue}", "string") + f"1,{long},yes\n", "read"),
        "ARFF with names that repeat": (ARFF.replace("attribute b", "attribute a"), None),
        "ARFF with NUL bytes": (ARFF.replace("red", "r\0d"), None),
        "ARFF in UTF-16": (ARFF.encode("utf-16"), None),
        "ARFF in latin-1": (ARFF.replace("red", "größe").encode("latin-1"), "read"),
        "ARFF all missing": (head + "@data\n?,?,yes\n?,?,no\n", "read"),
        "ARFF all missing targets": (head + "@data\n1,red,?\n2,blue,?\n", None),
        "ARFF with an unknown line": (ARFF.replace("@data", "@nonsense\n@data"), None),
    }


def _written(frame: pl.DataFrame, kind: str) -> bytes:
    whole = io.BytesIO()
    {"parquet": frame.write_parquet, "arrow": frame.write_ipc}[kind](whole)
    return whole.getvalue()


def _binary() -> dict[str, tuple[bytes, str | None]]:
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal

    y = pl.Series("y", ["yes", "no"] * 6)
    columns = {
        "lists": pl.Series([[1, 2], [3]] * 6),
        "structs": pl.Series([{"p": 1}, {"p": 2}] * 6),
        "fixed arrays": pl.Series([[1, 2], [3, 4]] * 6, dtype=pl.Array(pl.Int64, 2)),
        "bytes": pl.Series([b"\xff\x00", b"b"] * 6),
        "decimals": pl.Series([Decimal("1.5"), Decimal("2.5")] * 6),
        "dates": pl.Series([date(2020, 1, 1), date(2021, 1, 1)] * 6),
        "times": pl.Series([time(1, 2), time(3, 4)] * 6),
        "moments": pl.Series([datetime(2020, 1, 1), datetime(2021, 1, 1)] * 6),
        "durations": pl.Series([timedelta(1), timedelta(2)] * 6),
        "nulls": pl.Series([None] * 12),
        "truth values": pl.Series([True, None, False] * 4),
        "categories": pl.Series(["p", "q", None] * 4, dtype=pl.Categorical),
        "an enumeration": pl.Series(["p", "q"] * 6, dtype=pl.Enum(["p", "q", "r"])),
        "small integers": pl.Series([-128, 127] * 6, dtype=pl.Int8),
        "unsigned integers": pl.Series([2**64 - 1, 0] * 6, dtype=pl.UInt64),
        "long integers": pl.Series([2**62, 0] * 6, dtype=pl.Int128),
        "infinities": pl.Series([float("inf"), 1.0] * 6),
        "NaN": pl.Series([float("nan"), 1.0] * 6),
        "single precision": pl.Series([3.4e38, 1.0] * 6, dtype=pl.Float32),
        "blank words": pl.Series(["", "  "] * 6),
    }
    tables: dict[str, tuple[bytes, str | None]] = {}
    for name, column in columns.items():
        kind = "arrow" if name == "long integers" else "parquet"
        tables[f"{kind} with {name}"] = _written(pl.DataFrame({"a": column, "y": y}), kind), None
        if name not in ("small integers", "blank words", "single precision"):
            target = pl.DataFrame({"a": range(12), "y": column.alias("y")})
            tables[f"{kind} with a target of {name}"] = _written(target, kind), None
    good = pl.read_csv(io.StringIO(TABLE))
    parquet, arrow = _written(good, "parquet"), _written(good, "arrow")
    return tables | {
        "Parquet": (parquet, "read"),
        "Arrow": (arrow, "read"),
        "Parquet without rows": (_written(good.head(0), "parquet"), None),
        "Parquet without columns": (_written(pl.DataFrame(), "parquet"), None),
        "Arrow without rows": (_written(good.head(0), "arrow"), None),
        "Arrow without columns": (_written(pl.DataFrame(), "arrow"), None),
        "Parquet of four bytes": (b"PAR1", None),
        "Parquet cut short": (parquet[: len(parquet) // 2], None),
        "Parquet without its footer": (parquet[:-8], None),
        "Parquet with a footer too long": (parquet[:-8] + b"\xff\xff\xff\x7fPAR1", None),
        "Parquet with bytes at the end": (parquet + b"more", None),
        "Arrow of six bytes": (b"ARROW1", None),
        "Arrow cut short": (arrow[: len(arrow) // 2], None),
        "Feather of version 1": (b"FEA1" + bytes(100), None),
        "gzip": (gzip.compress(TABLE.encode()), "read"),
        "gzip of nothing": (gzip.compress(b""), None),
        "gzip of gzip": (gzip.compress(gzip.compress(TABLE.encode())), None),
        "gzip of Parquet": (gzip.compress(parquet), "read"),
        "gzip cut short": (gzip.compress(TABLE.encode())[:-9], None),
        "gzip of two bytes": (b"\x1f\x8b", None),
        "gzip with bytes at the end": (gzip.compress(TABLE.encode()) + b"more", None),
        "ZIP": (b"PK\x03\x04" + bytes(range(256)), None),
        "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), None),
        "a pickle": (b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}.", None),
        "an Excel file": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(300), None),
    }


def models_of_tables() -> Iterator[Attack]:
    """Commands that read a model, on strange tables that have its columns or do not."""
    commands = {
        "predict": ("predict", "m.jaxtree", "t", "--proba", "--keep", "a"),
        "evaluate": ("evaluate", "m.jaxtree", "t", "--json"),
        "explain": ("explain", "m.jaxtree", "t", "--format", "jsonl"),
        "explain by Shapley values": ("explain", "m.jaxtree", "t", "--shap"),
        "show": ("show", "m.jaxtree", "--html", "new", "--data", "t"),
        "evaluate numbers": ("evaluate", "r.jaxtree", "t"),
    }
    tables = list(strange_tables().items())
    for place, (name, (_, content, _)) in enumerate(tables):
        command = list(commands)[place % len(commands)]
        yield Attack(f"{command}: {name}", commands[command], {"t": content})


def options() -> Iterator[Attack]:
    """Options out of range."""
    fit = ("fit", "good.csv", "-t", "y", "-o", "new", *SMALL)
    numbers = ("fit", "numbers.csv", "-t", "y", "-o", "new", *SMALL)
    search = ("search", "good.csv", "-t", "y", "--cv", "2")
    explain = ("explain", "m.jaxtree", "good.csv")
    predict = ("predict", "m.jaxtree", "good.csv")
    huge = "9" * 5000
    lines = [
        *((*fit, "--cv", cv) for cv in ("0", "-1", "1", "13", "99999999999999999999999", "x", "")),
        *((*fit, "--seed", seed) for seed in ("-1", "4294967296", "1e3", huge, str(2**63))),
        *((*fit, "-a", algorithm) for algorithm in ("x", "", "CART", "cart ")),
        *((*numbers, "-a", algorithm) for algorithm in ("c45", "id3")),
        *((*fit, "--task", task) for task in ("x", "", "regression")),
        (*numbers, "--task", "classification"),
        *((*fit, "--separator", separator) for separator in ("", "ab", "é", "\n", "\r", '"', "a", "0", " ", "\0", "x")),
        *((*fit, "--missing", missing) for missing in ("yes", "red", "", "1")),
        (*fit, "--missing", "yes", "--missing", "no"),
        *((*fit, "--weight", weight) for weight in ("x", "a", "b", "y", "")),
        *((*fit, "--ignore", ignore) for ignore in ("x", "a", "a,b", "y", "", ",", "a,a")),
        *((*fit, "--numeric", numeric) for numeric in ("b", "y", "x", "a")),
        *((*fit, "--categorical", words) for words in ("a", "x", "y", "")),
        *((*fit, "--target", target) for target in ("b", "x", "a", "")),
        *((*fit, "--device", device) for device in ("tpu", "gpu", "x", "")),
        *((*fit, "--cores", cores) for cores in ("0", "-1", "100000", huge)),
        (*fit, "--no-header"),
        (*fit[:-2], "--no-header", "-t", "x2"),
        *(
            (*fit, "--set", setting)
            for setting in (
                *("nonsense", "=", "=1", "max_depth=", "max_depth=x", "max_depth=-1", "max_depth=0", "max_depth=1.5"),
                *(f"max_depth={huge}", "max_depth=inf", "max_depth=nan", "max_depth=true", "max_depth=none"),
                *("random_state=x", "random_state=-1", "criterion=x", "criterion=1", "ccp_alpha=-1", "ccp_alpha=inf"),
                *(
                    "max_features=0",
                    "max_features=99",
                    "max_features=1.5",
                    "min_samples_leaf=0",
                    "min_samples_leaf=1e9",
                ),
                *("class_weight=x", "class_weight=balanced", "pruning=x", "max_bins=1", "max_bins=1e9", "splitter=x"),
                *("min_samples_split=nan", "max_leaf_nodes=1", "monotonic_cst=1", "missing=x", "get_params=1"),
            )
        ),
        *(
            (*fit, "--prune", pruning)
            for pruning in (
                *("x", "", ":", "none:1", "pessimistic:x", "pessimistic:-1", "pessimistic:2", "dropout:p=2,q=0"),
                *("dropout:p=0.1,p=0.2", "dropout:,", "cost-complexity:x", "reduced-error:2", "dropout:1,2,3,4,5,6,7"),
            )
        ),
        (*fit, "--prune", "none", "--prune", "reduced-error"),
        *((*search, "--set", grid) for grid in ("x=1", "max_depth=3:1", "max_depth=1:99999999", "max_depth=1:5:0")),
        *((*search, "--set", grid) for grid in (f"max_depth=1:{huge}", "max_depth=,", "max_depth=x", "max_depth")),
        (*search, "--set", "max_depth=1", "--set", "max_depth=2"),
        (*search, "--set", "min_samples_leaf=1:99999", "--set", "min_samples_split=2:99999", "--set", "max_depth=1:99"),
        *((*search, "--set", "max_depth=1", "--cv", cv) for cv in ("0", "1", "13", huge)),
        *((*search, "--set", "max_depth=1", "--scoring", scoring) for scoring in ("x", "", "r2", "roc_auc", "f1")),
        *((*search, "--set", "max_depth=1", "-a", algorithm) for algorithm in ("forest", "soft", "x")),
        *((*search, "--set", "max_depth=1", "--results", results) for results in ("x", "x.xls", ".", "no/x.csv")),
        *(
            (*explain, "--rows", rows)
            for rows in (
                "9999",
                "0",
                "-1",
                "2:1",
                "1:",
                ":",
                "",
                ",",
                "x",
                "1,x",
                "1:99",
                huge,
                f"1:{huge}",
                "1.5",
                "١",
            )
        ),
        (*explain, "--format", "x"),
        *((*predict, "--keep", keep) for keep in ("x", "", "a,b")),
        *((*predict, "--format", form) for form in ("x", "", "CSV")),
        (*predict, "--keep", "prediction"),
        ("predict", "r.jaxtree", "numbers.csv", "--proba"),
        *((*predict, "-o", output) for output in ("x", "x.xls", ".", "no/p.csv", "p.csv/x.csv", "good.csv/x.csv", "")),
        *(("show", "f.jaxtree", "--tree", tree) for tree in ("-1", "2", "9999", huge, "x", "0")),
        ("show", "f.jaxtree"),
        ("show", "m.jaxtree", "--tree", "0"),
        *(("show", "m.jaxtree", "--style", style) for style in ("x", "", "weka", "id3", "c45", "simplecart")),
        ("show", "m.jaxtree", "--data", "good.csv"),
        ("show", "m.jaxtree", "--html", "new", "--data", "good.csv", "--target", "b"),
        ("show", "m.jaxtree", "--html", "new", "--data", "good.csv", "--target", "x"),
        ("show", "m.jaxtree", "--html", "new", "--title", "<script>\0\x1b"),
        ("evaluate", "m.jaxtree", "good.csv", "-t", "a"),
        ("evaluate", "m.jaxtree", "good.csv", "-t", "x"),
        ("evaluate", "m.jaxtree", "good.csv", "--weight", "b"),
        ("evaluate", "m.jaxtree", "good.csv", "--weight", "x"),
        ("evaluate", "r.jaxtree", "numbers.csv", "-t", "b"),
        ("evaluate", "m.jaxtree", "numbers.csv"),
        ("evaluate", "r.jaxtree", "good.csv"),
        ("evaluate", "r.jaxtree", "huge.csv", "--json"),
        ("nonsense",),
        ("fit",),
        ("fit", "good.csv"),
        ("fit", "good.csv", "more.csv", "-t", "y", "-o", "new"),
        ("fit", "good.csv", "-t", "y", "-o", "new", "--nonsense"),
        ("",),
    ]
    for line in lines:
        name = " ".join(line)
        yield Attack(
            name if len(name) < 120 else f"{name[:117]}...", line, {"huge.csv": b"a,b,y\n1,red,1e308\n2,red,-1e308\n"}
        )


def places() -> Iterator[Attack]:
    """Files that are not there, are no files, or cannot be read or written."""
    for path in ("nowhere.csv", ".", "/", "no/where.csv", "", "x" * 300, "good.csv/x", "~/x", "*.csv", "m.jaxtree"):
        yield Attack(f"fit: {path[:20]!r}", ("fit", path, "-t", "y", "-o", "new"), {})
    for path in (".", "/", "no/m", "", "x" * 300, "good.csv/m", "/proc/m"):
        yield Attack(f"fit into {path[:20]!r}", ("fit", "good.csv", "-t", "y", "-o", path, *SMALL), {})
    for path in ("nowhere", ".", "/", "", "x" * 300, "good.csv", "good.csv/m", "/dev/null"):
        yield Attack(f"show {path[:20]!r}", ("show", path), {})
        yield Attack(f"predict by {path[:20]!r}", ("predict", path, "good.csv"), {})
    for name, content in {
        "nothing": b"",
        "a blank": b" ",
        "noise": bytes(range(256)) * 9,
        "a table": TABLE.encode(),
    }.items():
        yield Attack(f"fit: standard input of {name}", ("fit", "-", "-t", "y", "-o", "-", *SMALL), {}, content)
        yield Attack(f"predict: standard input of {name}", ("predict", "m.jaxtree", "-"), {}, content)


def damaged_files() -> Iterator[Attack]:
    """Files of every kind, models too, with bytes changed, cut out, repeated or put in; and noise."""
    draw = random.Random(SEED)
    good = pl.read_csv(io.StringIO(TABLE))
    kinds = {
        "CSV": TABLE.encode(),
        "ARFF": ARFF.encode(),
        "Parquet": _written(good, "parquet"),
        "Arrow": _written(good, "arrow"),
        "gzip": gzip.compress(TABLE.encode(), mtime=0),
        "model": Path("m.jaxtree").read_bytes() if Path("m.jaxtree").exists() else b"",
        "noise": draw.randbytes(400),
    }
    for number in range(NUM_DAMAGED):
        kind = list(kinds)[number % len(kinds)]
        files = {"t": _damaged(kinds[kind], draw)}
        command = ("show", "t") if kind == "model" else ("fit", "t", "-t", "y", "-o", "new", *SMALL)
        yield Attack(f"damaged {kind} {number}", command, files)


def _damaged(content: bytes, draw: random.Random) -> bytes:
    damaged = bytearray(content or b"\0")
    for _ in range(draw.choice((1, 3, 20))):
        place, length = draw.randrange(len(damaged)), draw.choice((1, 2, 10))
        match draw.randrange(4):
            case 0:
                damaged[place : place + length] = draw.randbytes(length)
            case 1 if len(damaged) > 2 * length:
                del damaged[place : place + length]
            case 2:
                damaged[place:place] = damaged[place : place + length] * draw.choice((1, 50))
            case _:
                damaged[place:place] = draw.choice(
                    (b"\0", b'"', b"'", b",", b"\n", b"\r", b"{", b"@", b"\xff", b"1e999")
                )
    return bytes(damaged)
