"""A date becomes its time, weekday, month and hour, in the zone of its column."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from sasanet.errors import InvalidInputError, UnknownLevelWarning
from sasanet.table.bags import dates
from sasanet.table.columns import Columns, with_rulers
from sasanet.table.encoder import TableEncoder
from sasanet.table.thinning import recode, thin_knots

TIMES = pd.to_datetime(["2026-11-15 14:30", "2026-12-25 00:00", None, "2027-01-04 08:00"])
ROME = "Europe/Rome"


def learned(values, **settings):
    frame = pd.DataFrame({"x": values})
    encoder = TableEncoder(**settings).fit(frame)
    return encoder, encoder.transform(frame)


@pytest.mark.parametrize(
    "values",
    [
        TIMES.to_series(index=range(4)),
        TIMES.as_unit("s"),
        TIMES.astype(object),
        pd.Series(TIMES).astype("timestamp[us][pyarrow]"),
        [None if pd.isna(time) else time.to_pydatetime() for time in TIMES],
        [None if pd.isna(time) else np.datetime64(time) for time in TIMES],
        TIMES.to_period("min"),
        TIMES.to_period("min").astype(object),
        pd.Categorical(TIMES),
    ],
    ids=lambda values: type(values).__name__ + str(getattr(values, "dtype", "")),
)
def test_times_of_any_type_are_read_alike(values):
    encoder, cells = learned(values)
    wanted, same = learned(TIMES)
    np.testing.assert_array_equal(cells, same)
    assert encoder.columns == wanted.columns
    assert [part.name for part in encoder.columns[0].parts] == ["time", "weekday", "month", "hour"]
    assert np.isnan(cells[2]).all()


def test_days_have_no_hour_and_are_read_in_their_own_calendar():
    days = [dt.date(2026, 11, 15), dt.date(1, 1, 1), dt.date(9999, 12, 31), None]
    encoder, cells = learned(pd.Series(days, dtype=object))
    time, weekday, month = encoder.columns[0].parts
    assert weekday.levels == ("Monday", "Friday", "Sunday")
    assert month.levels == ("January", "November", "December")
    assert cells[:3, 0].tolist() == [1, 0, 2]
    assert time.knots[1] == 1794700800


def test_clock_and_calendar_are_those_of_the_zone_of_the_column():
    late = pd.Series(pd.to_datetime(["2026-11-15 23:30"]).tz_localize("UTC"))
    parts = dates.expand(
        late.dt.tz_convert(ROME), "x", dates.zone_of(late.dt.tz_convert(ROME), "x")
    )
    assert [parts[name][0] for name in ("weekday", "hour")] == ["Monday", 0.5]
    parts = dates.expand(late, "x", "UTC")
    assert [parts[name][0] for name in ("weekday", "hour")] == ["Sunday", 23.5]
    assert parts["time"][0] == dates.expand(late, "x", ROME)["time"][0]


def test_times_of_another_zone_are_turned_to_the_clock_of_training():
    local = pd.Series(TIMES.tz_localize(ROME))
    encoder, cells = learned(local)
    for other in (
        local.dt.tz_convert("Asia/Tokyo"),
        local.astype(object),
        local.map(lambda time: None if pd.isna(time) else time.isoformat()),
    ):
        np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"x": other})), cells)


@pytest.mark.parametrize(
    ("trained", "given", "sentence"),
    [
        (TIMES.tz_localize(ROME), TIMES, "with a time zone, as in training .Europe/Rome."),
        (TIMES, TIMES.tz_localize(ROME), "without a time zone, as in training"),
        (TIMES, ["2026-02-30"] * 4, "must hold dates as in training, got '2026-02-30'"),
        (TIMES, [1.5] * 4, "must hold dates as in training, got 1.5"),
        (TIMES, [[1]] * 4, "must hold dates as in training"),
        (TIMES, [dt.time(12)] * 4, "must hold dates as in training"),
    ],
)
def test_cells_unlike_those_of_training_are_refused(trained, given, sentence):
    encoder, _ = learned(trained)
    frame = pd.DataFrame({"x": given})
    for call in (
        lambda: encoder.transform(frame),
        lambda: encoder.transform_row({"x": frame["x"][0]}),
    ):
        with pytest.raises(InvalidInputError, match=sentence):
            call()


def test_columns_of_several_zones_are_refused():
    hours = [dt.timezone(dt.timedelta(hours=h)) for h in (1, 2)]
    both = pd.Series([dt.datetime(2026, 1, 1, tzinfo=zone) for zone in hours], dtype=object)
    with pytest.raises(InvalidInputError, match=r"one time zone, got .*UTC\+01:00.*UTC\+02:00"):
        learned(both)
    some = pd.Series([both[0], dt.datetime(2026, 1, 1)], dtype=object)
    with pytest.raises(InvalidInputError, match="all have a time zone, or none, got both"):
        learned(some)
    encoder, cells = learned(both[:1])
    assert encoder.columns[0].zone == "UTC+01:00"
    np.testing.assert_array_equal(
        TableEncoder.from_dict(encoder.to_dict()).transform(pd.DataFrame({"x": both[:1]})), cells
    )


def test_an_empty_column_of_dates_is_absent():
    encoder, cells = learned(pd.Series([pd.NaT, pd.NaT]))
    assert np.isnan(cells).all()
    later = pd.DataFrame({"x": TIMES})
    with pytest.warns(UnknownLevelWarning, match=r"'x' \(weekday\)"):
        assert np.isnan(encoder.transform(later)[:, 0]).all()


def test_a_month_never_seen_gets_place_0_and_a_warning():
    encoder, _ = learned(TIMES)
    with pytest.warns(UnknownLevelWarning, match=r"'x' \(month\) \['July'\]") as of_table:
        cells = encoder.transform(pd.DataFrame({"x": pd.to_datetime(["2026-07-05"])}))
    assert cells[0, 2] == 0
    with pytest.warns(UnknownLevelWarning) as of_row:
        np.testing.assert_array_equal(encoder.transform_row([pd.Timestamp("2026-07-05")]), cells)
    assert str(of_row[0].message) == str(of_table[0].message)


def test_rows_are_read_alone_as_in_a_table():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, None], "x": TIMES, "b": list("uvuv"), "z": TIMES})
    encoder = TableEncoder().fit(frame)
    assert encoder.layout.owners == (1, 1, 1, 3, 3, 3)
    found = [encoder.transform_row(row.to_dict()) for _, row in frame.iterrows()]
    np.testing.assert_array_equal(np.concatenate(found), encoder.transform(frame))


def test_what_was_learned_survives_json():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, None], "x": TIMES.tz_localize(ROME)})
    encoder = TableEncoder().fit(frame)
    again = TableEncoder.from_dict(encoder.to_dict())
    assert again.columns == encoder.columns
    assert "parts" not in encoder.to_dict()["columns"][0]  # plain columns are saved as before


def test_nothing_is_kept_that_fewer_rows_have():
    encoder = TableEncoder(min_level_count=2).fit(pd.DataFrame({"x": TIMES}))
    time, weekday, month = encoder.columns[0].parts
    assert (weekday.levels, month.levels) == ((), ())
    assert not set(time.knots) & set(TIMES.dropna().as_unit("s").asi8.tolist())


def test_knots_of_times_can_be_thinned():
    frame = pd.DataFrame({"x": pd.date_range("2026-01-01", periods=200, freq="h")})
    encoder = TableEncoder(n_knots=64).fit(frame)
    cells = encoder.transform(frame)
    thin = thin_knots(encoder, cells, 8)
    assert [part.places for part in thin.columns[0].parts][:2] == [8, 8]
    np.testing.assert_allclose(recode(cells, encoder, thin), thin.transform(frame), atol=1e-5)


def test_rulers_are_put_back_into_their_bags():
    frame = pd.DataFrame({"x": TIMES, "a": [1.0, 2.0, 3.0, 4.0], "z": TIMES})
    encoder = TableEncoder().fit(frame)
    columns = encoder.columns
    assert with_rulers(columns, encoder.rulers) == columns
    assert len(Columns.of(columns)) == 3
    # Broken twin: in another order the parts would be those of other columns.
    assert with_rulers(columns, encoder.rulers[::-1]) != columns


def test_codes_that_are_dates_must_be_text():
    with pytest.raises(InvalidInputError, match="must not hold dates as numbers or levels"):
        learned(TIMES, categorical_features=["x"])
    encoder, _ = learned(TIMES.astype(str), categorical_features=["x"])
    assert encoder.columns[0].kind == "category"
