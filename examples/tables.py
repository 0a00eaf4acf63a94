"""Made-up tables to try the commands on: `python -m examples.tables flights flights.csv`.

flights      dates, airports and carriers; was the flight late?
clicks       nested JSON lines; whether somebody bought is known later, by id (a second file, `labels.jsonl`)
messages     short messages, some of them unwanted
flowers      three kinds, told by four lengths
houses       prices
requests     a web server's log; for a while, late in it, half of all requests are slow
payments     four ways to pay; fraud by voucher, one payment in a hundred, follows a rule of its own
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

__all__ = ["TABLES", "main"]

AIRPORTS = ("AMS", "ATH", "BCN", "CDG", "FRA", "LHR", "MAD", "OSL", "VIE", "ZRH")
CARRIERS = ("Blue", "Green", "Red")
PAGES = ("basket", "home", "product", "search")
WORDS = "the to you and a in is it for on me your of my at that now call with so not get if can when"
CHATS = "home later sorry ok lol mum tomorrow dinner sleep bus class thanks love miss room tell wait"
OFFERS = "free prize win cash urgent claim reply txt mobile guaranteed award service stop offer"
SHOP = ("basket", "checkout", "help", "home", "product", "search")
KINDS = {"round": (5.0, 3.4, 1.5, 0.25), "long": (5.9, 2.8, 4.3, 1.3), "tall": (6.6, 3.0, 5.5, 2.0)}


def flights(generator: random.Random, rows: int) -> Iterator[str]:
    """Yield a CSV of flights in the order of departure; evenings, one airport and one carrier are late more often."""
    yield "flight,departure,carrier,origin,destination,miles,late"
    departure = datetime(2026, 1, 1, 5)
    for number in range(rows):
        departure += timedelta(minutes=generator.expovariate(1 / 7))
        if departure.hour < 5:
            departure = departure.replace(hour=5, minute=0)
        carrier, origin = generator.choice(CARRIERS), generator.choice(AIRPORTS)
        destination = generator.choice([airport for airport in AIRPORTS if airport != origin])
        miles = 150 + 90 * abs(AIRPORTS.index(origin) - AIRPORTS.index(destination))
        slow = 0.3 * (origin == "LHR") + 0.3 * (carrier == "Red") * (miles > 500)
        chance = 0.04 + 0.5 * (departure.hour >= 17) + slow
        late = "yes" if generator.random() < chance else "no"
        yield f"F{number:05},{departure:%Y-%m-%d %H:%M:%S},{carrier},{origin},{destination},{miles},{late}"


def clicks(generator: random.Random, rows: int) -> Iterator[str]:
    """Yield visits as nested JSON, without what came of them."""
    for number in range(rows):
        row = visit(generator, number)
        del row["bought"]
        yield json.dumps(row)


def labels(generator: random.Random, rows: int) -> Iterator[str]:
    """Yield what came of the same visits; one in fifty is never known."""
    for number in range(rows):
        row = visit(generator, number)
        if number % 50:
            yield json.dumps({"id": row["id"], "bought": row["bought"]})


def visit(generator: random.Random, number: int) -> dict[str, object]:
    """Return a visit; those of members who look at several things buy more often."""
    member, seconds = generator.random() < 0.3, round(generator.expovariate(1 / 60), 1)
    pages = [generator.choice(PAGES) for _ in range(generator.randint(1, 4))]
    chance = 0.02 + 0.3 * member * ("product" in pages) + 0.4 * ("basket" in pages) * (seconds > 60)
    user = {"member": member, "age": generator.randint(18, 80)}
    page = {"first": pages[0], "seen": pages, "seconds": seconds}
    return {"id": f"c{number}", "user": user, "page": page, "bought": generator.random() < chance}


def messages(generator: random.Random, rows: int) -> Iterator[str]:
    """Yield messages of common words and some of their kind's own; one in eight is unwanted."""
    yield "id,text,unwanted"
    for number in range(rows):
        unwanted = generator.random() < 0.125
        own, common = (OFFERS if unwanted else CHATS).split(), WORDS.split()
        words = [generator.choice(own if generator.random() < 0.4 else common) for _ in range(generator.randint(6, 20))]
        if unwanted:
            words.insert(generator.randrange(len(words)), f"0{generator.randrange(10**9):09}")
        yield f'm{number},"{" ".join(words)}!",{"yes" if unwanted else "no"}'


def flowers(generator: random.Random, rows: int) -> Iterator[str]:
    """Yield a CSV of three kinds."""
    yield "plant,sepal_length,sepal_width,petal_length,petal_width,kind"
    for number in range(rows):
        kind = generator.choice(list(KINDS))
        yield ",".join([f"p{number}", *(f"{generator.gauss(mean, 0.3):.2f}" for mean in KINDS[kind]), kind])


def houses(generator: random.Random, rows: int) -> Iterator[str]:
    """Yield a CSV of houses with their prices, as a spreadsheet of continental Europe writes it."""
    yield "house;rooms;area;district;built;price"
    for number in range(rows):
        area, built = generator.uniform(35, 220), generator.randint(1890, 2025)
        district = generator.choice(("centre", "harbour", "hill"))
        factor = {"centre": 5200, "harbour": 4100, "hill": 3300}[district]
        price = area * factor * (1 + 0.002 * (built - 1960)) * generator.gauss(1.0, 0.08)
        yield f"h{number};{int(area / 25) + 1};{area:.1f};{district};{built};{price:.2f}".replace(".", ",")


def requests(generator: random.Random, rows: int) -> Iterator[str]:
    """Yield a CSV of requests; searches are slow, and half of all requests between two thirds and five sixths."""
    yield "time,method,path,bytes,running,slow"
    time = datetime(2026, 3, 2, 8)
    for number in range(rows):
        time += timedelta(seconds=generator.expovariate(4))
        path, running = generator.choice(SHOP), min(1 + int(generator.expovariate(1 / 6)), 40)
        failing = rows * 2 // 3 <= number < rows * 5 // 6
        chance = 0.5 if failing else 0.9 if path == "search" else 0.02 + 0.01 * running
        slow, method = generator.random() < chance, "POST" if path in ("basket", "checkout") else "GET"
        yield f"{time:%Y-%m-%d %H:%M:%S},{method},/{path},{generator.randint(200, 9000)},{running},{int(slow)}"


def payments(generator: random.Random, rows: int) -> Iterator[str]:
    """Yield a CSV of payments; large ones of young accounts are fraud, of vouchers small ones in quick succession."""
    yield "payment,amount,account_age,pause,kind,fraud"
    for number in range(rows):
        kind = "voucher" if generator.random() < 0.01 else generator.choice(("card", "card", "transfer", "wallet"))
        side = 1 if (fraud := generator.random() < 0.3) else -1
        if kind == "voucher":
            amount, age, pause = generator.gauss(-1.2 * side, 0.6), generator.gauss(0, 1), generator.gauss(-4 * side, 1)
        else:
            amount, age, pause = generator.gauss(1.8 * side, 1), generator.gauss(-1.2 * side, 1), generator.gauss(0, 1)
        yield f"p{number},{amount:.3f},{age:.3f},{pause:.3f},{kind},{int(fraud)}"


TABLES = {
    "flights": flights,
    "messages": messages,
    "clicks": clicks,
    "labels": labels,
    "flowers": flowers,
    "houses": houses,
    "requests": requests,
    "payments": payments,
}


def main() -> None:
    """Write one table."""
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in TABLES:
        raise SystemExit(f"tables must be given one of {', '.join(TABLES)}, a file and, if you like, a number of rows")
    rows = int(sys.argv[3]) if len(sys.argv) == 4 else 20_000
    lines = TABLES[sys.argv[1]](random.Random(7), rows)
    Path(sys.argv[2]).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
