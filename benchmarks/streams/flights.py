"""Flights of one year that never flew: what a timetable knows, and by how many minutes each was late."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.streams.stream import NUMBER, Stream

__all__ = ["late_flights", "make_flights"]

AIRPORTS, CARRIERS, DAYS = 60, 9, 365
# A hub is busy, a small field is not: the share of the k-th airport falls as 1 / k.
LATE = 15.0
STORM_SHARE = 0.03


def make_flights(seed: int, rows: int) -> Stream:
    """Return flights in the order of their departure, labelled by their delay in minutes.

    Delays are those of a day that goes wrong: they grow with the hour, at hubs, before holidays and in the storms that
    close one airport for a day, add what the carrier is known for, and have a long tail to the right. In the second
    half of the year one carrier repairs its timetable and another loses its own.
    """
    generator = np.random.default_rng(seed)
    day = np.sort(generator.integers(0, DAYS, rows))
    minute = np.clip(generator.normal(14.0, 4.5, rows) * 60.0, 300.0, 1435.0)
    minute = minute[np.lexsort((minute, day))]
    shares = 1.0 / np.arange(1, AIRPORTS + 1)
    origin = generator.choice(AIRPORTS, rows, p=shares / shares.sum())
    # Never where it came from.
    destination = (origin + 1 + generator.choice(AIRPORTS - 1, rows)) % AIRPORTS
    carrier = generator.integers(0, CARRIERS, rows)
    distance = np.abs(origin - destination) * 71.0 + generator.uniform(120.0, 240.0, rows)
    expected = expected_delay(generator, day, minute, origin, carrier, distance)
    delay = np.round(expected + generator.gumbel(-4.0, 7.0, rows) + generator.exponential(4.0, rows) - 6.0)
    table = timetable(day, minute, origin, destination, carrier, distance)
    late = delay > LATE
    return Stream(table, delay, {"late": late, "from a small airport": origin >= AIRPORTS // 2}, kind=NUMBER)


def expected_delay(
    generator: np.random.Generator,
    day: NDArray[Any],
    minute: NDArray[Any],
    origin: NDArray[Any],
    carrier: NDArray[Any],
    distance: NDArray[Any],
) -> NDArray[np.float64]:
    """Return the delay that the day, the hour, the airports, the weather and the carrier explain."""
    known_for = generator.normal(0.0, 4.0, CARRIERS)
    later = known_for.copy()
    later[:2] = known_for[1::-1] + np.array([-5.0, 8.0])
    by_carrier = np.where(day < DAYS // 2, known_for[carrier], later[carrier])
    by_hour = 9.0 * np.maximum(minute / 60.0 - 10.0, 0.0) / 10.0
    crowded = 8.0 / (1.0 + origin) * (minute > 960.0)
    storm = generator.random((AIRPORTS, DAYS)) < STORM_SHARE
    weather = np.where(storm[origin, day], 25.0 + 20.0 * (minute > 840.0), 0.0)
    holidays = np.where(np.isin(day, (183, 184, 326, 327, 355, 356, 357)), 12.0, 0.0)
    return by_hour + crowded + weather + holidays + by_carrier - distance / 900.0


def timetable(
    day: NDArray[Any],
    minute: NDArray[Any],
    origin: NDArray[Any],
    destination: NDArray[Any],
    carrier: NDArray[Any],
    distance: NDArray[Any],
) -> Any:
    """Return the columns that are known before departure."""
    import pyarrow as pa

    first = date(2023, 1, 1)
    dates = [first + timedelta(days=int(number)) for number in range(DAYS)]
    return pa.table(
        {
            "date": pa.array([dates[number].isoformat() for number in day]),
            "month": pa.array([float(dates[number].month) for number in day]),
            "day_of_week": pa.array([float(dates[number].isoweekday()) for number in day]),
            "departure": pa.array(np.floor(minute / 60.0) * 100.0 + np.floor(minute % 60.0)),
            "carrier": pa.array([f"C{number}" for number in carrier]),
            "origin": pa.array([f"A{number:02}" for number in origin]),
            "destination": pa.array([f"A{number:02}" for number in destination]),
            "distance": pa.array(np.round(distance)),
        }
    )


def late_flights(seed: int, rows: int) -> Stream:
    """Return the same flights, labelled by whether they were late by more than a quarter of an hour."""
    stream = make_flights(seed, rows)
    late = stream.slices["late"]
    small = stream.slices["from a small airport"]
    slices = {"late": late, "in time": ~late, "late, from a small airport": late & small}
    return Stream(stream.table, late, slices, "late, from a small airport")
