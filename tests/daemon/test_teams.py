"""Two machines of a team: what one embedded the other takes from a real Redis; nothing goes out when it is off."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DaemonProcess, running_daemon, write_files
from tests.redis_cases import SlowProxy, redis_cluster, redis_server, wait_until

FILES = {
    ".git/HEAD": "",
    **{f"kite/m{n}.py": f"def fly_{n}(wind):\n    return wind * {n} + {n} ** 2\n" for n in range(30)},
}
PASSWORD = "sesame-4711-abcdef"


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder whose path leaves room for the names of sockets."""
    return tmp_path_factory.mktemp("t")


@contextmanager
def machine(
    folder: Path, settings: str, extra: dict[str, str] | None = None
) -> Iterator[tuple[DaemonProcess, str]]:
    write_files(folder, {"config/config.toml": f"[embedding]\n{settings}\n"})
    (folder / "state").mkdir(mode=0o700)
    root = write_files(folder / "kite", FILES)
    with running_daemon(folder, extra, embedding=True) as daemon:
        daemon.open_ready(root)
        yield daemon, str(root)


def embedded(daemon: DaemonProcess, root: str) -> dict[str, Any]:
    """Wait until all of a project is embedded; returns what Status says of the store."""

    def is_done() -> bool:
        project = daemon.call("Status", cwd=root)["projects"][0]
        return bool(project["embedding"] == "done")

    assert wait_until(is_done), daemon.log()[-3000:]
    shared: dict[str, Any] = daemon.call("Status")["embedder"].get("shared", {})
    return shared


def foveal(daemon: DaemonProcess, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "foveal", *words]
    return subprocess.run(command, env=daemon.environ, capture_output=True, text=True, check=False)


def written(daemon: DaemonProcess) -> int:
    shared = daemon.call("Status")["embedder"]["shared"]
    return 0 if shared["waiting"] else int(shared["written"])


def test_what_one_machine_embedded_another_takes(short: Path) -> None:
    with redis_server(short / "redis", "--requirepass", PASSWORD) as server:
        settings = f'shared = "{server.url}"\nshared_password = "env:CACHE_PASSWORD"'
        extra = {"CACHE_PASSWORD": PASSWORD}
        with machine(short / "a", settings, extra) as (first, root):
            assert embedded(first, root)["found"] == 0
            contents = first.call("Status", cwd=root)["projects"][0]["embedded"]
            assert contents >= 30
            assert wait_until(lambda: written(first) == contents)
        with machine(short / "b", settings, extra) as (second, root):
            shared = embedded(second, root)
            assert (shared["found"], shared["missing"], shared["written"]) == (contents, 0, 0)
            assert shared["problem"] == ""
            assert not second.call("Status")["embedder"]["loaded"], "the model wasn't even needed"
            reply = second.call("Query", cwd=root, query="fly with the wind", limit=5)
            assert reply["results"]
            told = [str(second.call("Status")), second.log(), foveal(second, "status").stdout]
            assert PASSWORD not in "".join(told)


def test_a_push_shares_what_was_embedded_before(short: Path) -> None:
    with redis_cluster(short / "redis") as nodes:
        with machine(short / "a", "") as (first, root):
            embedded(first, root)
            failed = foveal(first, "embed", "--wait", "--push", root)
            assert failed.returncode == 1
            assert "embedding.shared" in failed.stderr
            first.stop()
            write_files(short / "a", {"config/config.toml": f'[embedding]\nshared = "{nodes[1].url}"\n'})
            pushed = foveal(first, "embed", "--wait", "--push", root)
            assert pushed.returncode == 0, pushed.stderr
            contents = first.call("Status", cwd=root)["projects"][0]["embedded"]
            assert f"({contents} of {contents} contents written, 0 were there)" in pushed.stdout
            assert sum(int(node.cli("dbsize")) for node in nodes) == contents
            nodes[0].stop()
            half = foveal(first, "embed", "--push", root)
            assert half.returncode == 1
            assert "not all embeddings are shared" in half.stderr
        with machine(short / "b", f'shared = "{nodes[1].url}"') as (second, root):
            shared = embedded(second, root)
            assert 0 < shared["found"] < contents
            assert shared["problem"]


def test_a_store_that_hangs_or_is_gone_costs_nothing_and_is_said(short: Path) -> None:
    with redis_server(short / "redis") as server:
        os.kill(server.pid, signal.SIGSTOP)
        with machine(short / "a", f'shared = "{server.url}"') as (daemon, root):
            shared = embedded(daemon, root)
            assert "didn't answer" in shared["problem"]
            assert shared["found"] == 0
        os.kill(server.pid, signal.SIGCONT)
    settings = f'shared = "redis://:{PASSWORD}@127.0.0.1:1"'
    with machine(short / "b", settings) as (daemon, root):
        shared = embedded(daemon, root)
        assert shared["problem"] == "redis://127.0.0.1:1 can't be reached (ConnectionError)"
        assert PASSWORD not in str(daemon.call("Status")) + daemon.log()


def test_nothing_goes_out_when_it_is_off(short: Path) -> None:
    with redis_server(short / "redis") as server, SlowProxy(server.port, 0.0) as counted:
        files = {"foveal.toml": f'[embedding]\nshared = "{counted.url}"\n'}
        with machine(short / "a", "") as (daemon, _):
            root = str(write_files(short / "other", {**FILES, **files}))
            status = daemon.open_ready(root)
            assert any("embedding.shared belongs into the user's own" in text for text in status["degraded"])
            embedded(daemon, root)
            assert "shared" not in daemon.call("Status")["embedder"]
        assert counted.connections == 0
        with machine(short / "b", f'shared = "{counted.url}"') as (daemon, root):
            embedded(daemon, root)
        assert counted.connections > 0, "the counter counts"


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        (f'shared = "http://:{PASSWORD}@example.com"', "must be the URL of a Redis server"),
        (f'shared = "redis://x"\nshared_password = "{PASSWORD}"', "must say where it is"),
    ],
)
def test_a_setting_that_can_not_be_is_refused_without_its_value(
    short: Path, setting: str, problem: str
) -> None:
    write_files(short, {"config/config.toml": f"[embedding]\n{setting}\n"})
    with running_daemon(short, embedding=True) as daemon:
        refused = foveal(daemon, "up")
        assert refused.returncode != 0
        assert problem in refused.stderr
        assert PASSWORD not in refused.stderr + refused.stdout
