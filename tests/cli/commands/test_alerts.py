"""Alerts, by the command as a user types it."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

WORDS = ["--target", "y", "--model", "Perceptron", "--no-focus", "--no-scale", "--metric", "Accuracy", "-q"]


@pytest.fixture
def turning(tmp_path):
    """Four thousand rows that are learned at once, two thousand with many labels flipped, then as before."""
    lines = []
    for number in range(8000):
        x = 1 if number % 2 else -1
        flipped = 4000 <= number < 6000
        lines.append(f"{x},{int((x > 0) != (flipped and number % 3 > 0))},{'odd' if number % 5 == 0 else 'even'}")
    path = tmp_path / "turning.csv"
    path.write_text("\n".join(["x,y,kind", *lines]) + "\n")
    return path


def lines_of(done):
    lines = [line for line in done.err.splitlines() if not line.startswith("compiling ")]
    return [line.removeprefix("maxloss: ") for line in lines]


def test_an_alert_is_raised_once_and_is_over_once(maxloss, turning):
    done = maxloss("tail", turning, *WORDS, "--report-every", 500, "--alert", "since_last.accuracy < 0.9")
    assert done.code == 0
    found = lines_of(done)
    assert len(found) == 2
    assert found[0].startswith("alert: since_last.accuracy < 0.9: ")
    assert "at row 5,000" in found[0]
    assert found[1].startswith("alert over: since_last.accuracy < 0.9: 1.0000 at row 7,000")


def test_it_must_hold_for_its_rows_and_keeps_counting_after_a_resume(maxloss, turning):
    words = ["tail", turning, *WORDS, "--report-every", 500, "--alert", "since_last.Accuracy<0.9 for 1500"]
    straight = maxloss(*words)
    assert "so since row" in lines_of(straight)[0]
    said = []
    for limit in (4600, 5100, 8000):
        said += [line for line in lines_of(maxloss(*words, "-c", "state", "--limit", limit)) if "alert" in line]
    assert said[0].split(" at row")[0] == lines_of(straight)[0].split(" at row")[0]
    assert len(said) == len(lines_of(straight))
    assert maxloss(*words[:-1], "since_last.Accuracy<0.9 for 5000").err == ""


def test_exit_ends_the_run_with_its_own_code_and_a_checkpoint(maxloss, turning, tmp_path):
    words = ["tail", turning, *WORDS, "--report-every", 500, "-c", "state", "--alert", "since_last.Accuracy<0.9"]
    done = maxloss(*words, "--on-alert", "exit")
    assert done.code == 6
    from stream_maxloss.checkpoint import CheckpointStore

    assert CheckpointStore(tmp_path / "state").load().counters["rows"] == 5000


def test_a_command_gets_the_alert_and_its_failure_does_not_end_the_run(maxloss, turning, tmp_path):
    words = ["tail", turning, *WORDS, "--report-every", 500, "--alert", "since_last.Accuracy<90%"]
    done = maxloss(*words, "--on-alert", "run=sh -c 'cat >> alerts.jsonl'", "--on-alert", "run=false")
    assert done.code == 0
    first, second = map(json.loads, (tmp_path / "alerts.jsonl").read_text().replace("}{", "}\n{").splitlines())
    assert (first["alert"], first["rows"], first["over"]) == ("since_last.Accuracy<90%", 5000, False)
    assert second["over"]
    assert "the command of --on-alert ended with exit code 1" in done.err


def test_a_server_on_this_machine_is_told(maxloss, turning):
    taken = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            taken.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_address[1]}/alerts"
        words = ["tail", turning, *WORDS, "--slice-by", "kind", "--alert", "worst_slice.Accuracy<0.95"]
        assert maxloss(*words, "--on-alert", f"post={address}").code == 0
        assert taken[0]["alert"] == "worst_slice.Accuracy<0.95"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    done = maxloss(*words, "--on-alert", f"post={address}")
    assert done.code == 0
    assert "did not take the alert" in done.err


def test_reports_carry_the_alerts_that_hold(maxloss, turning):
    words = ["tail", turning, *WORDS[:-1], "-o", "jsonl", "--report-every", 500, "--alert", "slice.odd.Accuracy>0.5"]
    done = maxloss(*words, "--slice-by", "kind")
    end = json.loads(done.out.splitlines()[-1])
    assert end["alerts"] == ["slice.odd.Accuracy>0.5"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--alert", "Accuracy"], "--alert must be like 'worst_slice.Recall<0.5 for 10000', got 'Accuracy'"),
        (["--alert", "Accuracy<much"], "--alert must be like"),
        (["--alert", "Recall<0.5"], "must name a metric of the run, got 'Recall'; there are Accuracy"),
        (["--alert", "worst_slice.Accuracy<0.5"], "must come with --slice-by COLUMN"),
        (["--alert", "bad>3", "--on-alert", "sing"], "--on-alert must be exit, run=COMMAND or post="),
        (["--alert", "bad>3", "--on-alert", "post=http://example.com/"], "must be http:// on this machine"),
        (["--alert", "bad>3", "--on-alert", "post=file:///etc/passwd"], "must be http:// on this machine"),
        (["--alert", "bad>3", "--on-alert", "post=http://[::1"], "must be http:// on this machine"),
        (["--alert", "bad>3", "--on-alert", "post=http://127.0.0.1:99999/"], "must be http:// on this machine"),
        (["--alert", "Accuracy<nan"], "--alert must be like"),
    ],
    ids=[
        "no comparison",
        "no number",
        "no such metric",
        "no slices",
        "no such action",
        "elsewhere",
        "a file",
        "half an address",
        "no such port",
        "NaN",
    ],
)
def test_what_cannot_be_watched_is_one_line(maxloss, turning, words, message):
    done = maxloss("tail", turning, *WORDS, *words)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
