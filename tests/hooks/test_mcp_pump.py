"""The pump says only what is JSON-RPC, survives its daemon, ends with its input, and imports little."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from foveal.hooks.mcp_pump import (
    MAX_LINE_BYTES,
    NoMessage,
    answered_id,
    encode,
    error_line,
    read_line,
)
from foveal.hooks.pump import DRAIN_S
from foveal.ipc.paths import read_daemon_info

from tests.conftest import DEADLINE_S, DaemonProcess
from tests.mcp_cases import INITIALIZE, bare_host, request

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def test_invalid_lines_get_errors(shared_daemon: DaemonProcess, shop: Path) -> None:
    cases: list[tuple[Any, Any, int]] = [
        (b"{nonsense\n", None, -32700),
        (b"\xff\xfe\n", None, -32700),
        (b"[" * 100_000 + b"\n", None, -32700),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]\n', None, -32600),
        (b'"text"\n', None, -32600),
        ({"id": 5, "method": "tools/list"}, 5, -32600),
        ({"jsonrpc": "2.0", "id": 5}, 5, -32600),
        ({"jsonrpc": "2.0", "id": 5, "method": 7}, 5, -32600),
        ({"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": []}, "a", -32600),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"}, None, -32600),
        (b" " * (MAX_LINE_BYTES + 10) + b"\n", None, -32600),
    ]
    with bare_host(shared_daemon.environ, shop) as host:
        host.send(b"\n", b"  \n")
        for number, (line, told_id, code) in enumerate(cases):
            host.send(line)
            reply = host.receive()
            assert (reply["id"], reply["error"]["code"]) == (told_id, code), line[:100]
            assert len(host.ask(number, "tools/list")["result"]["tools"]) == 9
        assert host.ask("x", "nope/nope")["error"]["code"] == -32601
        assert host.end() == 0


def test_half_a_surrogate_pair_is_replaced(shared_daemon: DaemonProcess, shop: Path) -> None:
    with bare_host(shared_daemon.environ, shop) as host:
        arguments = {"decision": "half \ud83d of a smiley"}
        reply = host.ask(1, "tools/call", name="record_decision", arguments=arguments)
        assert reply["result"]["structuredContent"]["recorded"] is True
        reply = host.ask(2, "tools/call", name="list_decisions", arguments={})
        (decision,) = reply["result"]["structuredContent"]["decisions"]
        assert decision["decision"] == "half ? of a smiley"


def test_many_requests_at_once_are_all_answered(shared_daemon: DaemonProcess, shop: Path) -> None:
    with bare_host(shared_daemon.environ, shop) as host:
        prompt = "how do sessions expire? " * 800
        calls = [
            request(number, "tools/call", name="search_code", arguments={"query": prompt})
            for number in range(50)
        ]
        host.send(*calls)
        assert sorted(host.receive()["id"] for _ in calls) == list(range(50))
        assert host.end() == 0


def test_new_daemon_gets_the_opening_messages(daemon: DaemonProcess, shop: Path) -> None:
    with bare_host(daemon.environ, shop) as host:
        host.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE})
        assert host.receive()["result"]["protocolVersion"] == "2025-11-25"
        host.send(INITIALIZED)
        before = daemon.pid
        for number, how in enumerate((signal.SIGKILL, signal.SIGTERM), 2):
            daemon.stop(how)
            host.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}})
            host.send({"jsonrpc": "2.0", "id": number, "method": "tools/list"})
            reply = host.receive()
            assert reply["id"] == number
            assert len(reply["result"]["tools"]) == 9
            assert daemon.pid != before
        assert host.end() == 0


def test_stopped_daemon_starts_when_needed(daemon: DaemonProcess, shop: Path) -> None:
    with bare_host(daemon.environ, shop) as host:
        host.ask(1, "tools/list")
        daemon.stop()
        host.send(INITIALIZED, b"{nonsense\n")
        host.receive()
        # A notification that opens nothing and a broken line need no daemon.
        assert read_daemon_info(str(daemon.state)) is None
        host.ask(2, "tools/list")
        assert read_daemon_info(str(daemon.state)) is not None


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


def test_requests_without_daemon_get_errors(shop: Path, daemon: DaemonProcess) -> None:
    with bare_host(daemon.environ, shop, "--socket", str(shop / "none.sock")) as host:
        for number in (1, 2):
            error = host.ask(number, "tools/list")["error"]
            assert error["code"] == -32000
            assert "no daemon listens on" in error["message"]
        assert host.end() == 0


def test_pump_ends_with_its_input(daemon: DaemonProcess, shop: Path) -> None:
    with bare_host(daemon.environ, shop) as host:
        host.ask(1, "tools/list")
        os.kill(daemon.pid, signal.SIGSTOP)
        try:
            host.send(request(2, "tools/call", name="status", arguments={}))
            assert host.end() == 0
        finally:
            os.kill(daemon.pid, signal.SIGCONT)


def test_pump_answers_requests_before_end_of_input(shared_daemon: DaemonProcess, shop: Path) -> None:
    shared_daemon.open_ready(shop)
    with bare_host(shared_daemon.environ, shop) as host:
        host.ask(1, "tools/list")
        assert host.process.stdin is not None
        host.send(request(2, "prompts/list"))
        host.process.stdin.close()
        assert host.receive()["id"] == 2
        assert host.process.wait(DEADLINE_S) == 0


def test_pump_waits_for_its_last_answer(shared_daemon: DaemonProcess, shop: Path) -> None:
    shared_daemon.call("Ping")
    with bare_host(shared_daemon.environ, shop) as host:
        assert host.process.stdin is not None
        assert host.process.stdout is not None
        fcntl.fcntl(host.process.stdout, fcntl.F_SETPIPE_SZ, 4096)  # less than the answer takes
        host.send(request(1, "tools/list"))
        host.process.stdin.close()
        select.select([host.process.stdout], [], [], DEADLINE_S)
        with pytest.raises(subprocess.TimeoutExpired):
            host.process.wait(DRAIN_S / 4)
        assert host.receive()["id"] == 1
        assert host.process.wait(DEADLINE_S) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
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


def test_pump_imports_little() -> None:
    code = (
        "import sys, foveal.hooks.mcp_pump; "
        "heavy = {'asyncio', 'mcp', 'pydantic', 'aiohttp', 'msgpack', 'click', 'subprocess', 'foveal.daemon'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=DEADLINE_S
    )
    assert done.stdout == "[]\n"


def test_pump_help_names_options(shared_daemon: DaemonProcess) -> None:
    command = [sys.executable, "-m", "foveal", "mcp", "--help"]
    done = subprocess.run(
        command, env=shared_daemon.environ, capture_output=True, text=True, check=True, timeout=DEADLINE_S
    )
    assert all(option in done.stdout for option in ("--project", "--session", "--socket"))


def line(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


@pytest.mark.parametrize(
    ("data", "method", "request_id"),
    [
        (line(id=1, method="a"), "a", 1),
        (line(id="x", method="a", params={"b": [1]}), "a", "x"),
        (line(id=0, method="a"), "a", 0),
        (line(method="a"), "a", None),
        (line(id=1, result={}), "", None),
        (line(id=1, error={"code": 1, "message": "m"}), "", None),
    ],
)
def test_messages(data: bytes, method: str, request_id: Any) -> None:
    read = read_line(data)
    assert read is not None
    assert (read.method, read.request_id, read.data) == (method, request_id, data)


@pytest.mark.parametrize("data", [b"\n", b"  \r\n"])
def test_empty_lines(data: bytes) -> None:
    assert read_line(data) is None


@pytest.mark.parametrize(
    ("data", "told_id", "code"),
    [
        (b"x\n", None, -32700),
        (b"\xc3\x28\n", None, -32700),
        (b"[]\n", None, -32600),
        (b"null\n", None, -32600),
        (b'{"id": 1, "method": "a"}\n', 1, -32600),
        (line(id=None, method="a"), None, -32600),
        (line(id=True, method="a"), None, -32600),
        (line(id=1, method=""), 1, -32600),
        (line(id=1, method="a", params=None), 1, -32600),
        (line(id=1, result=1, error={}), 1, -32600),
        (line(result=1), None, -32600),
    ],
)
def test_invalid_messages_are_refused(data: bytes, told_id: Any, code: int) -> None:
    with pytest.raises(NoMessage) as raised:
        read_line(data)
    reply = json.loads(raised.value.reply)
    assert (reply["id"], reply["error"]["code"]) == (told_id, code)
    assert raised.value.reply.endswith(b"\n")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (line(method="notifications/cancelled", params={"requestId": 7}), 7),
        (line(method="notifications/cancelled", params={"requestId": [7]}), None),
        (line(method="notifications/cancelled"), None),
        (line(method="notifications/progress", params={"requestId": 7}), None),
    ],
)
def test_cancelled_ids(data: bytes, expected: Any) -> None:
    read = read_line(data)
    assert read is not None
    assert read.cancelled_id == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (line(id=3, result={}), 3),
        (error_line("x", -32000, "m"), "x"),
        (line(id=3, method="roots/list"), None),
        (line(method="notifications/message"), None),
        (error_line(None, -32700, "m"), None),
    ],
)
def test_answered_ids(data: bytes, expected: Any) -> None:
    assert answered_id(data) == expected


@pytest.mark.parametrize(
    ("data", "sent"),
    [
        (b'{"jsonrpc":"2.0","method":"a"}', b'{"jsonrpc":"2.0","method":"a"}\n'),
        (b'{"jsonrpc":"2.0","method":"\\ud800"}\n', b'{"jsonrpc":"2.0","method":"?"}\n'),
        (b'{"jsonrpc":"2.0","method":"\\uD83D\\uDE00"}\n', '{"jsonrpc":"2.0","method":"😀"}\n'.encode()),
    ],
)
def test_lines_that_the_server_would_drop_are_repaired(data: bytes, sent: bytes) -> None:
    read = read_line(data)
    assert read is not None
    assert read.data == sent
    assert json.loads(encode(read.message)) == json.loads(sent)
