"""The live page in a real browser; skipped where there is none."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import socket
import time
import urllib.request
from pathlib import Path

import pytest

CHROMIUM = os.environ.get("STREAM_MAXLOSS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
FLAGS += " --disable-component-update --disable-sync"
AXE = Path(__file__).parent / "axe" / "axe.min.js"


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium; install Debian's package chromium, or name one in STREAM_MAXLOSS_CHROMIUM")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield found
        found.close()


@pytest.fixture
def page(browser):
    """A page that takes note of what goes wrong in it."""
    found = browser.new_page(viewport={"width": 1280, "height": 900})
    found.problems = []
    found.hosts = set()
    found.on("console", lambda message: found.problems.append(message.text) if message.type == "error" else None)
    found.on("pageerror", lambda error: found.problems.append(str(error)))
    found.on("request", lambda request: found.hosts.add(request.url.split("/")[2]))
    yield found
    found.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def rows(count: int, seed: int, bad: str = "") -> list[dict]:
    generator = random.Random(seed)
    found = []
    for _ in range(count):
        a, kind = generator.gauss(0, 1), generator.choice(["http", "ftp"])
        found.append({"a": a, "b": generator.gauss(0, 1), "kind": kind, "y": (a > 0) != (kind == bad)})
    return found


def learn(port: int, data: list[dict]) -> None:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/learn", json.dumps(data).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/health/ready", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def text_of(page, selector: str) -> str:
    return page.locator(selector).inner_text()


def serious(page) -> list[str]:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{violation['id']}: {[node['html'][:120] for node in violation['nodes'][:3]]}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


def test_the_page_draws_updates_names_a_slice_that_goes_bad_and_survives_a_restart(page, started, wait_until):
    port = free_port()
    words = ["serve", "state", "--target", "y", "--slice-by", "kind", "--model", "HingeOGD", "--window", "100"]
    words += ["--listen", f"127.0.0.1:{port}", "--report-every", "0.5s"]
    service = started(*words)
    wait_until(lambda: is_ready(port))
    learn(port, rows(300, 1))
    page.goto(f"http://127.0.0.1:{port}/")
    wait_until(lambda: "300" in text_of(page, "#now"))
    wait_until(lambda: page.locator("#curves canvas").count() >= 3)
    assert page.locator("#slices tbody tr").count() == 2
    assert page.locator("#hard > li").count() == 10
    page.locator("#hard summary").first.focus()
    page.keyboard.press("Enter")  # as somebody without a mouse opens it
    hardest = text_of(page, "#hard > li:first-child")
    assert re.search(r"log@\d+", hardest)
    assert re.search("for its label .*[+−]\\d", hardest, flags=re.S)
    learn(port, rows(100, 2))
    wait_until(lambda: "400" in text_of(page, "#now"))
    assert (
        page.locator("#hard details[open]").count() <= 1
    )  # what was opened stays so, if it is still among the hardest
    assert text_of(page, "#alerts") == "no alerts"

    added = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/state"))["added"]
    learn(port, rows(200, 3, bad="ftp"))
    wait_until(lambda: "going bad: ftp" in text_of(page, "#alerts"))
    state = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/state"))
    reports = [point for point in state["points"][-(state["added"] - added) :] if point["slices"]["ftp"][2] is not None]
    assert reports[0]["slices"]["ftp"][2] < 0.5

    assert serious(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.emulate_media(color_scheme="dark")
    time.sleep(0.3)
    assert serious(page) == []

    assert page.problems == []
    service.terminate()
    assert service.wait(30) == 0
    wait_until(lambda: "connection lost" in text_of(page, "#link"))
    started(*words)
    wait_until(lambda: is_ready(port))
    wait_until(lambda: text_of(page, "#link").startswith("live"))
    assert "600" in text_of(page, "#now")
    # While nobody listened the browser says so itself; of the page there is nothing to say.
    assert [
        text for text in page.problems if "ERR_CONNECTION_REFUSED" not in text and "ERR_INCOMPLETE" not in text
    ] == []
    assert page.hosts == {f"127.0.0.1:{port}"}


def test_a_run_of_tail_and_its_checkpoints_are_watched(page, started, wait_until, rows_of, tmp_path):
    (tmp_path / "live.csv").write_text("\n".join(rows_of(400)) + "\n")
    port, other = free_port(), free_port()
    options = ["--target", "fraud", "--slice-by", "kind", "--model", "HingeOGD", "--window", "100"]
    run = started("tail", "live.csv", "--follow", *options, "-c", "state", "--checkpoint-every", "1s", "--watch", port)
    wait_until(lambda: (tmp_path / "state").is_dir() and run.poll() is None)

    def shown(where: int) -> bool:
        try:
            page.goto(f"http://127.0.0.1:{where}/")
        except Exception:
            return False
        return True

    wait_until(lambda: shown(port))
    wait_until(lambda: "400" in text_of(page, "#now"))
    with (tmp_path / "live.csv").open("a") as file:
        file.write("\n".join(rows_of(100, 8)[1:]) + "\n")
    wait_until(lambda: "500" in text_of(page, "#now"))
    wait_until(lambda: any("history" in p.read_text() for p in (tmp_path / "state").glob("ckpt-*/extra.json")))
    run.terminate()
    assert run.wait(30) == 0
    page.problems.clear()
    started("watch", "state", "--listen", f"127.0.0.1:{other}")
    wait_until(lambda: shown(other))
    wait_until(lambda: "500" in text_of(page, "#now"))
    wait_until(lambda: page.locator("#curves canvas").count() >= 3)
    assert serious(page) == []
