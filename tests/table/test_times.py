"""Dates and durations are numbers of days, whatever table they come in, and come back as words."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from jaxtree.errors import InvalidTypeError
from jaxtree.files.records import read_record, write_record
from jaxtree.table import Encoder, summary
from jaxtree.table.schema import Column
from jaxtree.table.summary import merge_summaries
from jaxtree.table.times import TimeScale
from tests.marks import in_turn

DAYS = np.array(["2020-03-01", "2020-01-15", "NaT", "2021-06-30", "2020-01-16"], "datetime64[D]")
NUMBERS = [46.0, 0.0, np.nan, 532.0, 1.0]  # of days since 2020-01-15
DATES = [None if np.isnat(day) else day.item() for day in DAYS]
STAMPS = [pd.NaT if day is None else pd.Timestamp(day) for day in DATES]
BERLIN = [None if day is None else pd.Timestamp(day, tz="Europe/Berlin") for day in DATES]
SPANS = [datetime.timedelta(hours=3), None, datetime.timedelta(seconds=-5), datetime.timedelta(microseconds=7)]
SPANS_IN_DAYS = [0.125, np.nan, -5 / 86_400, 7e-6 / 86_400]


def arrow_column(values, kind):
    return pd.DataFrame({"x": pd.array(values, dtype=pd.ArrowDtype(kind))})


NAIVE = {
    **{f"numpy {unit}": DAYS.astype(f"datetime64[{unit}]")[:, None] for unit in ("D", "h", "s", "ms", "us", "ns")},
    "big endian": DAYS.astype(">M8[s]")[:, None],
    "of 30 minutes": DAYS.astype("M8[30m]")[:, None],
    "masked": np.ma.array(DAYS.astype("M8[s]"), mask=np.isnat(DAYS))[:, None],
    "structured": np.array([(day,) for day in DAYS], [("x", "M8[D]")]),
    "rows": [[day] for day in DATES],
    "rows of stamps": [[stamp] for stamp in STAMPS],
    "rows of NumPy's": [[day] for day in DAYS],
    "pandas": pd.DataFrame({"x": DAYS.astype("M8[ns]")}),
    "pandas in seconds": pd.DataFrame({"x": DAYS.astype("M8[s]")}),
    "pandas objects": pd.DataFrame({"x": DATES}, dtype=object),
    "pandas Arrow": arrow_column(STAMPS, pa.timestamp("us")),
    "pandas Arrow dates": arrow_column(DATES, pa.date32()),
    "polars": pl.DataFrame({"x": DATES}),
    "polars milliseconds": pl.DataFrame({"x": DATES}).cast(pl.Datetime("ms")),
    "polars lazy": pl.DataFrame({"x": DATES}).lazy(),
    "pyarrow": pa.table({"x": pa.array(DATES, pa.date32())}),
    "pyarrow date64": pa.table({"x": pa.array(DATES, pa.date64())}),
    "pyarrow nanoseconds": pa.table({"x": pa.array(DATES, pa.date32()).cast(pa.timestamp("ns"))}),
}
ZONED = {
    "rows": [[stamp] for stamp in BERLIN],
    "rows of datetimes": [[None if stamp is None else stamp.to_pydatetime()] for stamp in BERLIN],
    "pandas": pd.DataFrame({"x": pd.DatetimeIndex(DAYS).tz_localize("Europe/Berlin")}),
    "pandas of another zone": pd.DataFrame({"x": pd.Series(BERLIN).dt.tz_convert("Asia/Tokyo")}),
    "pandas Arrow": arrow_column(BERLIN, pa.timestamp("ns", "Europe/Berlin")),
    "polars": pl.DataFrame({"x": DATES})
    .cast(pl.Datetime("us", "UTC"))
    .with_columns(pl.col("x").dt.replace_time_zone("Europe/Berlin")),
    "pyarrow": pa.table({"x": pa.array(BERLIN, pa.timestamp("us", "Europe/Berlin"))}),
}
LENGTHS = {
    "rows": [[span] for span in SPANS],
    "rows of NumPy's": [[None if span is None else np.timedelta64(span)] for span in SPANS],
    "numpy": np.array([np.timedelta64("NaT") if span is None else np.timedelta64(span) for span in SPANS])[:, None],
    "pandas": pd.DataFrame({"x": pd.to_timedelta(SPANS)}),
    "pandas Arrow": arrow_column(SPANS, pa.duration("us")),
    "polars": pl.DataFrame({"x": SPANS}),
    "pyarrow": pa.table({"x": SPANS}),
}


@pytest.mark.parametrize("X", NAIVE.values(), ids=NAIVE)
def test_dates_of_every_table_are_days_since_the_first(X):
    encoder = Encoder().fit(X)
    assert encoder.schema_.columns[0].time == TimeScale("instant", (18_276, 0))
    np.testing.assert_array_equal(encoder.values(X)[:, 0], NUMBERS)
    np.testing.assert_array_equal(encoder.transform(X), [[2, 0, 4, 3, 1]])


@pytest.mark.parametrize("X", ZONED.values(), ids=ZONED)
def test_dates_with_a_time_zone_are_those_of_utc(X):
    encoder = Encoder().fit(X)
    assert encoder.schema_.columns[0].time == TimeScale("utc", (18_275, 23 * 3600 * 10**9))
    np.testing.assert_array_equal(encoder.values(X)[:, 0], [46.0, 0.0, np.nan, 532 - 1 / 24, 1.0])  # summer time


@pytest.mark.parametrize("X", LENGTHS.values(), ids=LENGTHS)
def test_durations_are_days(X):
    encoder = Encoder().fit(X)
    assert encoder.schema_.columns[0].time == TimeScale("duration", (0, 0))
    np.testing.assert_array_equal(encoder.values(X)[:, 0], SPANS_IN_DAYS)
    assert [encoder.schema_.code_in_words(0, code) for code in range(3)] == ["-5 s", "7 us", "3 h"]


def test_a_column_of_dates_is_the_column_of_its_numbers():
    dates, numbers = Encoder(), Encoder()
    codes = dates.fit_transform(DAYS[:, None])
    np.testing.assert_array_equal(codes, numbers.fit_transform(np.array(NUMBERS)[:, None]))
    assert dates.schema_.columns[0].bins == numbers.schema_.columns[0].bins


def test_the_order_of_rows_is_nothing_to_the_schema():
    shuffled = DAYS[np.array([3, 2, 4, 0, 1])]
    assert Encoder().fit(shuffled[:, None]).schema_ == Encoder().fit(DAYS[:, None]).schema_


def test_other_rows_are_counted_from_the_origin_of_the_fit():
    encoder = Encoder().fit(DAYS[:, None])
    later = np.array([["2019-12-31T12"], ["2020-01-17T06"], ["NaT"]], "datetime64[ms]")
    np.testing.assert_array_equal(encoder.values(later)[:, 0], [-14.5, 2.25, np.nan])
    assert encoder.transform(later).tolist() == [[0, 1, 4]]


def test_nanoseconds_near_the_origin_are_told_apart():
    ticks = np.datetime64("2020-01-01T10:00:00.000000000") + np.arange(5).astype("timedelta64[ns]")
    assert Encoder().fit_transform(ticks[:, None]).tolist() == [[0, 1, 2, 3, 4]]


def test_what_is_finer_than_a_nanosecond_is_cut_off():
    ticks = np.array([[1_999], [2_000], [3_001]], "timedelta64[ps]")
    assert Encoder().fit_transform(ticks).tolist() == [[0, 1, 2]]
    np.testing.assert_array_equal(Encoder().fit(ticks).values(ticks)[:, 0], np.array([1, 2, 3]) / 86_400e9)


def test_dates_that_nanoseconds_do_not_reach():
    far = np.array([["0001-01-01"], ["9999-12-31"]], "datetime64[s]")
    encoder = Encoder().fit(far)
    assert encoder.values(far).ravel().tolist() == [0.0, 3_652_058.0]
    assert encoder.schema_.code_in_words(0, 1) == "9999-12-31"


@pytest.mark.parametrize(
    "table",
    [
        DAYS[:, None],
        ZONED["pandas"]["x"].dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()[:, None],
        LENGTHS["numpy"],
    ],
    ids=["dates", "with time of day", "durations"],
)
def test_codes_become_times_that_have_the_same_codes(table):
    encoder = Encoder()
    codes = encoder.fit_transform(table)
    back = encoder.inverse_transform(codes)["x0"]
    np.testing.assert_array_equal(encoder.transform([[value] for value in back]), codes)


def test_codes_become_times_of_utc():
    encoder = Encoder()
    codes = encoder.fit_transform(ZONED["pandas"])
    assert encoder.inverse_transform(codes)["x"] == [
        None if stamp is None else stamp.to_pydatetime() for stamp in BERLIN
    ]


def test_thresholds_are_written_as_dates():
    schema = Encoder().fit(pd.DataFrame({"joined": DAYS.astype("M8[s]")})).schema_
    assert schema.branch_in_words(0, schema.threshold(0, 0, 1), 0) == "joined <= 2020-01-15 12:00"
    assert schema.branch_in_words(0, schema.threshold(0, 2, 3), 1) == "joined > 2020-10-30"
    assert schema.branch_in_words(0, np.inf, 1) == "joined is missing"
    assert schema.category_in_words(0, 2) == "joined = 2020-03-01"
    binned = Encoder(max_bins=2).fit(pd.DataFrame({"joined": DAYS.astype("M8[s]")})).schema_
    assert binned.category_in_words(0, 0) == "joined <= 2020-02-07 12:00"


WORDS = {
    0.0: "2020-01-01",
    0.25: "2020-01-01 06:00",
    1 / 3: "2020-01-01 08:00",
    10_000 + 1 / 3: "2047-05-19 08:00",
    -1 / 86_400: "2019-12-31 23:59:59",
    1.5 / 86_400: "2020-01-01 00:00:01.5",
    10_000 + 1e-6 / 86_400: "2047-05-19 00:00:00.000001",
}


@pytest.mark.parametrize(("number", "words"), WORDS.items())
def test_dates_in_words(number, words):
    assert TimeScale("instant", (18_262, 0)).in_words(number) == words
    assert TimeScale("utc", (18_262, 0)).in_words(number) == f"{words} UTC"


def test_every_microsecond_is_written_as_it_is():
    """Days of 30 years are rounded by up to 0.9 nanoseconds a thousand: no instant becomes the one before it."""
    scale = TimeScale("instant", (7_305, 0))
    instants = np.datetime64("2020-02-29T23:59:58", "us") + np.arange(0, 4_000_000, 977)
    for instant, number in zip(instants, scale.numbers(instants), strict=True):
        assert np.datetime64(scale.in_words(number)) == instant


@pytest.mark.parametrize(
    ("days", "words"), [(400.0, "400 days"), (0.5, "12 h"), (-1 / 1440, "-1 min"), (0.0, "0 days")]
)
def test_durations_in_words(days, words):
    assert TimeScale("duration", (0, 0)).in_words(days) == words


WRONG = {
    "had dates in fit, and now has dates with a time zone": (NAIVE["pandas"], ZONED["pandas"]),
    "had dates with a time zone in fit, and now has dates": (ZONED["pandas"], NAIVE["pandas"]),
    "had dates in fit, and now has durations": (NAIVE["pandas"], LENGTHS["pandas"]),
    "had dates in fit, and now has numbers such as 46": (NAIVE["pandas"], pd.DataFrame({"x": NUMBERS})),
    "had dates in fit, and now has categories such as '2020'": (NAIVE["pandas"], pd.DataFrame({"x": ["2020"]})),
    "had numbers in fit, and now has dates": (pd.DataFrame({"x": NUMBERS}), NAIVE["pandas"]),
    "had categories such as '2020' in fit, and now has dates": (pd.DataFrame({"x": ["2020"]}), NAIVE["pandas"]),
}


@pytest.mark.parametrize(("message", "tables"), WRONG.items())
def test_columns_of_another_kind_are_refused(message, tables):
    fitted, other = tables
    with pytest.raises(InvalidTypeError, match=message):
        Encoder().fit(fitted).transform(other)


@pytest.mark.parametrize(
    ("nothing", "fitted"),
    in_turn(
        [[[None]], [[np.nan]], [[np.datetime64("NaT", "s")]], [[np.timedelta64("NaT", "s")]]],
        [NAIVE["pandas"], pd.DataFrame({"x": NUMBERS}), pd.DataFrame({"x": ["a", None]})],
    ),
)
def test_a_column_of_missing_values_fits_every_kind(fitted, nothing):
    encoder = Encoder().fit(fitted)
    assert encoder.transform(nothing).tolist() == [[encoder.schema_.columns[0].num_values]]


def test_a_column_without_a_known_time_takes_anything():
    encoder = Encoder().fit(np.full((2, 1), "NaT", "M8[s]"))
    assert encoder.schema_.columns[0].time is None
    for other in (DAYS[:, None], [["a"]] * 5, [[1.0]] * 5):
        assert encoder.transform(other).tolist() == [[0] * 5]


def test_parts_have_one_origin(monkeypatch):
    """Whatever their order, and where not all rows are looked at for edges, too."""
    table = pd.DataFrame({"x": DAYS.astype("M8[us]"), "span": pd.to_timedelta(np.arange(5), "h")})
    parts = [table[3:], table[2:3], table[:2]]
    for most in (200_000, 3):
        monkeypatch.setattr(summary, "MAX_FITTED_ROWS", most)
        whole = Encoder(max_bins=3)
        codes = whole.fit_transform(pd.concat(parts))
        encoder = Encoder(max_bins=3)
        np.testing.assert_array_equal(encoder.fit_transform(parts), codes)
        assert encoder.schema_ == whole.schema_
        summaries = [Encoder().summarise(part, first_row=row) for part, row in zip(parts, (0, 2, 3), strict=True)]
        sent = [type(summary).from_bytes(summary.to_bytes()) for summary in summaries]
        merged = Encoder(max_bins=3).fit_summary(merge_summaries(sent[::-1]))
        assert [column.time for column in merged.schema_.columns] == [column.time for column in whole.schema_.columns]


def test_parquet_files_with_dates(tmp_path):
    pl.DataFrame({"x": DATES, "span": [*SPANS, None]}).write_parquet(tmp_path / "dates.parquet", row_group_size=2)
    encoder = Encoder()
    np.testing.assert_array_equal(encoder.fit_transform(tmp_path / "dates.parquet")[0], [2, 0, 4, 3, 1])
    np.testing.assert_array_equal(
        encoder.values(NAIVE["polars"].with_columns(span=pl.Series([*SPANS, None])))[:, 0], NUMBERS
    )


def test_times_are_no_categories():
    with pytest.raises(InvalidTypeError, match="'x0' has dates, which are numbers to a tree"):
        Encoder(categorical_features=[0]).fit(DAYS[:, None])


@pytest.mark.parametrize("X", [NAIVE["numpy s"], ZONED["pandas"], LENGTHS["numpy"]], ids=["naive", "utc", "duration"])
def test_files_keep_the_origin(X):
    (column,) = Encoder().fit(X).schema_.columns
    assert read_record(write_record(column, Column), Column) == column
