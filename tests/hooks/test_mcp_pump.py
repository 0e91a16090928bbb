"""The pump says only what is JSON-RPC, survives its daemon, ends with its input, and imports little."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest
from foveal.hooks.mcp_pump import MAX_LINE_BYTES
from foveal.hooks.mcp_server.server import TOOLS
from foveal.hooks.pump import DRAIN_S
from foveal.ipc.paths import read_daemon_info

from tests.conftest import DEADLINE_S, DaemonProcess
from tests.mcp_cases import INITIALIZE, bare_host, request

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def test_lines_of_every_kind(shared_daemon: DaemonProcess, shop: Path) -> None:
    cases: list[tuple[Any, Any, int]] = [
        (b"{nonsense\n", None, -32700),
        (b"\xff\xfe\n", None, -32700),
        (b"[" * 100_000 + b"\n", None, -32700),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]\n', None, -32600),
        (b'"text"\n', None, -32600),
        ({"id": 5, "method": "tools/list"}, 5, -32600),
        (message(id=5), 5, -32600),
        (message(id=5, method=7), 5, -32600),
        (message(id=5, method=""), 5, -32600),
        (message(id="a", method="tools/list", params=[]), "a", -32600),
        (message(id=1.5, method="tools/list"), None, -32600),
        (message(id=None, method="tools/list"), None, -32600),
        (message(id=1, result=1, error={}), 1, -32600),
        (message(result=1), None, -32600),
        (b" " * (MAX_LINE_BYTES + 10) + b"\n", None, -32600),
    ]
    with bare_host(shared_daemon.environ, shop) as host:
        host.send(b"\n", b"  \n", message(id=1, result={}), message(method="notifications/cancelled"))
        for number, (line, told_id, code) in enumerate(cases):
            host.send(line)
            reply = host.receive()
            assert (reply["id"], reply["error"]["code"]) == (told_id, code), line[:100]
            assert len(host.ask(number, "tools/list")["result"]["tools"]) == len(TOOLS)
        assert host.ask("x", "nope/nope")["error"]["code"] == -32601
        arguments = {"decision": "half \ud83d of a smiley"}
        reply = host.ask(1, "tools/call", name="record_decision", arguments=arguments)
        assert not reply["result"].get("isError")
        reply = host.ask(2, "tools/call", name="recall", arguments={})
        assert "`half ? of a smiley`" in reply["result"]["content"][0]["text"]
        query = {"query": "how do sessions expire? " * 800}
        calls = [request(number, "tools/call", name="search_code", arguments=query) for number in range(50)]
        host.send(*calls)
        assert sorted(host.receive()["id"] for _ in calls) == list(range(50))
        assert host.end() == 0


def message(**fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **fields}


def test_new_daemon_gets_the_opening_messages(daemon: DaemonProcess, shop: Path) -> None:
    with bare_host(daemon.environ, shop) as host:
        host.send(message(id=1, method="initialize", params=INITIALIZE))
        assert host.receive()["result"]["protocolVersion"] == "2025-11-25"
        host.send(INITIALIZED)
        before = daemon.pid
        for number, how in enumerate((signal.SIGKILL, signal.SIGTERM), 2):
            daemon.stop(how)
            host.send(message(method="notifications/cancelled", params={"requestId": 99}), b"{nonsense\n")
            host.receive()
            # A notification that opens nothing and a broken line need no daemon.
            info = read_daemon_info(str(daemon.state))
            assert info is None or info.pid == before
            host.send(message(id=number, method="tools/list"))
            reply = host.receive()
            assert reply["id"] == number
            assert len(reply["result"]["tools"]) == len(TOOLS)
            assert daemon.pid != before
        assert host.end() == 0


def test_lost_requests_are_answered_with_an_error(daemon: DaemonProcess, shop: Path) -> None:
    with bare_host(daemon.environ, shop) as host:
        host.ask(1, "tools/call", name="status", arguments={})
        os.kill(daemon.pid, signal.SIGSTOP)
        host.send(request("a", "tools/call", name="status", arguments={}))
        host.send(request("b", "tools/call", name="status", arguments={}))
        host.ask(2, "prompts/list")  # answered without the daemon, after the others were taken
        host.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "b"}})
        host.ask(3, "prompts/list")
        daemon.stop(signal.SIGKILL)
        reply = host.receive()
        assert reply["id"] == "a"
        said = reply.get("error") or reply["result"]["content"][0]
        assert "ask again" in said.get("message", "") or "call the tool again" in said.get("text", "").lower()
        assert "result" in host.ask(4, "tools/call", name="status", arguments={})
        assert host.end() == 0


def test_pump_ends_with_its_input(shared_daemon: DaemonProcess, shop: Path) -> None:
    with bare_host(shared_daemon.environ, shop) as host:
        host.ask(1, "tools/list")
        os.kill(shared_daemon.pid, signal.SIGSTOP)
        try:
            host.send(request(2, "tools/call", name="status", arguments={}))
            assert host.end() == 0
        finally:
            os.kill(shared_daemon.pid, signal.SIGCONT)


def test_pump_waits_for_its_last_answer(shared_daemon: DaemonProcess, shop: Path) -> None:
    shared_daemon.call("Ping")
    with bare_host(shared_daemon.environ, shop) as host:
        assert host.process.stdin is not None
        assert host.process.stdout is not None
        fcntl.fcntl(host.process.stdout, fcntl.F_SETPIPE_SZ, 4096)  # less than the answers take
        host.send(request(1, "tools/list"), request(2, "tools/list"))
        host.process.stdin.close()
        select.select([host.process.stdout], [], [], DEADLINE_S)
        with pytest.raises(subprocess.TimeoutExpired):
            host.process.wait(DRAIN_S / 4)
        assert {host.receive()["id"], host.receive()["id"]} == {1, 2}
        assert host.process.wait(DEADLINE_S) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_pump_leaves_nothing_behind(shared_daemon: DaemonProcess, shop: Path, number: int) -> None:
    shared_daemon.call("Ping")  # else the pump starts the daemon, which is meant to stay
    with bare_host(shared_daemon.environ, shop) as host:
        host.ask(1, "tools/list")
        children = psutil.Process(host.process.pid).children(recursive=True)
        host.process.send_signal(number)
        host.process.wait(DEADLINE_S)
        assert children == []
        assert host.process.stderr is not None
        assert host.process.stderr.read() == b""
