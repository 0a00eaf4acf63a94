"""`maxloss serve` with a source: the target's kind is found from its first rows, as `tail` finds it."""

from __future__ import annotations

import httpx
import pytest

TARGETS = {
    "numbers": (lambda i: f"{i % 7 + 0.25 * (i % 4)}", float),
    "texts": (lambda i: ("low", "middle", "high")[i % 3], str),
    "two texts": (lambda i: ("no", "yes")[i % 2], str),
    "booleans": (lambda i: ("false", "true")[i % 2], bool),
}


@pytest.mark.parametrize(("label", "kind"), TARGETS.values(), ids=TARGETS)
def test_a_followed_file_is_learned_whatever_its_target_is(started, wait_until, tmp_path, label, kind) -> None:
    text = "".join(f"{i % 7},{i % 3},{i % 2},{label(i)}\n" for i in range(60))
    (tmp_path / "live.csv").write_text("a,b,c,y\n" + text)
    socket = tmp_path / "serve.sock"
    process = started("serve", "state", "live.csv", "--follow", "--target", "y", "--listen", f"unix:{socket}")
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), base_url="http://localhost") as client:

        def has_learned() -> bool:
            assert process.poll() is None, process.stderr.read().decode()
            return socket.exists() and 'maxloss_rows{state="learned"} 60' in client.get("/metrics").text

        wait_until(has_learned)
        said = client.post("/predict", json={"a": 1, "b": 1, "c": 1}).json()
        assert isinstance(said["prediction"], kind)


def test_a_target_that_is_misspelt_leaves_nothing_that_refuses_the_right_one(maxloss, day, started, wait_until) -> None:
    folder = day.parent
    refused = maxloss("serve", "state", day, "--target", "fruad", "--listen", f"unix:{folder / 'a.sock'}")
    assert refused.code == 2, refused.err
    assert "did you mean 'fraud'?" in refused.err.splitlines()[-1]
    assert not list((folder / "state").glob("ckpt-*"))
    process = started("serve", "state", day, "--target", "fraud", "--listen", f"unix:{folder / 'b.sock'}")
    wait_until(lambda: (folder / "b.sock").exists() or process.poll() is not None)
    assert process.poll() is None, process.stderr.read().decode()
