"""A model that was switched on shortens documents for later contexts; a dead or a silent one costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.compression.test_model_compressor import answers, serving
from tests.conftest import DaemonProcess, running_daemon, write_files

DOCUMENT = "".join(
    f"## Chapter {number}\n\nThe harbour of town {number} opens at {number} and takes {number * 3} ships. "
    f"Its pilots are on duty in week {number}, and fees are due before landing.\n\n"
    for number in range(1, 300)
)
MADE = "".join(
    f"The harbour of town {number} opens at {number}; fees are due before landing.\n" for number in range(40)
)
KEY = "sk-proj-" + "a1B2" * 10


@contextmanager
def compressing(folder: Path, url: str, more: str = "") -> Iterator[tuple[DaemonProcess, str]]:
    settings = f'[compression]\nenabled = true\nendpoint = "{url}"\nmodel = "small"\n{more}'
    write_files(folder, {"config/config.toml": settings})
    with running_daemon(folder) as daemon:
        root = write_files(folder / "kite", {"guide.md": DOCUMENT + f"\ntoken: {KEY}\n", ".git/HEAD": ""})
        daemon.open_ready(root)
        yield daemon, str(root)


def ask(daemon: DaemonProcess, root: str) -> dict[str, Any]:
    asked = {
        "cwd": root,
        "focus_paths": ["guide.md"],
        "prompt": "When are harbour fees due?",
        "max_tokens": 2000,
    }
    found: dict[str, Any] = daemon.call("GetContext", **asked)
    return found


def test_what_the_model_made_is_in_a_later_context_and_no_secret_was_sent(tmp_path: Path) -> None:
    with serving(answers(MADE)) as endpoint, compressing(tmp_path, endpoint.url) as (daemon, root):
        first = ask(daemon, root)
        assert "town 7 opens at 7; fees" not in first["context"]
        assert "fees are due" in first["context"]
        while "town 7 opens at 7; fees" not in ask(daemon, root)["context"]:
            assert not daemon.call("Status")["compressor"]["failures"]
        reply = ask(daemon, root)
        assert "[COMPRESSED]" in reply["context"]
        status = daemon.call("Status")["compressor"]
        assert (status["enabled"], status["model"], status["endpoint"]) == (True, "small", endpoint.url)
        assert status["calls"] >= 1
        assert KEY not in str(endpoint.asked)


def test_a_dead_endpoint_costs_nothing_and_is_told(tmp_path: Path) -> None:
    with compressing(tmp_path, "http://127.0.0.1:9") as (daemon, root):
        assert "fees are due" in ask(daemon, root)["context"]
        while not daemon.call("Status")["compressor"]["failures"]:
            assert "fees are due" in ask(daemon, root)["context"]


def test_a_project_cannot_switch_it_on(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    settings = '[compression]\nenabled = true\nendpoint = "http://127.0.0.1:9"\nmodel = "small"\n'
    root = write_files(tmp_path / "kite", {"foveal.toml": settings, "guide.md": DOCUMENT, ".git/HEAD": ""})
    status = shared_daemon.open_ready(root)
    assert any("compression.enabled belongs into the user's own" in one for one in status["degraded"])
    assert shared_daemon.call("Status")["compressor"] is None
