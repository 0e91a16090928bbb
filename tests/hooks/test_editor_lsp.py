"""`foveal lsp` speaks LSP with an editor over pipes: it reports documents, finds definitions, survives its daemon."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from foveal.hooks.editors.lsp_frames import MAX_BODY_BYTES
from foveal.ipc.paths import read_daemon_info

from tests.conftest import DEADLINE_S, DaemonProcess


class Editor:
    """An editor that writes bytes to the pump and reads frames from it, as they are."""

    def __init__(self, process: subprocess.Popen[bytes], root: Path) -> None:
        self.process = process
        self.root = root
        self._received = b""
        self._id = 0

    def uri(self, path: str) -> str:
        return (self.root / path).as_uri()

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, **params: Any) -> int:
        self._id += 1
        self.send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return self._id

    def receive(self) -> Any:
        """Return the next message. Whatever the pump writes must be one."""
        head = self._until(lambda: self._received.partition(b"\r\n\r\n"))
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n"))
        size = int(fields[b"Content-Length"])
        while len(self._received) < size:
            self._read()
        body, self._received = self._received[:size], self._received[size:]
        message = json.loads(body)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request; return the next message, which must answer it."""
        request_id = self.request(method, **params)
        reply = self.receive()
        assert reply["id"] == request_id, reply
        return reply

    def result(self, method: str, **params: Any) -> Any:
        reply = self.ask(method, **params)
        assert "error" not in reply, reply
        return reply["result"]

    def initialize(self, **params: Any) -> Any:
        folders = [{"uri": self.root.as_uri(), "name": "shop"}]
        result = self.result(
            "initialize",
            **{"processId": None, "capabilities": {}, "rootUri": None, "workspaceFolders": folders, **params},
        )
        self.notify("initialized")
        return result

    def open(self, path: str, text: str | None = None) -> None:
        text = (self.root / path).read_text() if text is None else text
        item = {"uri": self.uri(path), "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", textDocument=item)

    def change(self, path: str, *texts: str) -> None:
        document = {"uri": self.uri(path), "version": 2}
        self.notify(
            "textDocument/didChange", textDocument=document, contentChanges=[{"text": text} for text in texts]
        )

    def told(self, method: str, path: str) -> None:
        self.notify(f"textDocument/{method}", textDocument={"uri": self.uri(path)})

    def definition(self, path: str, line: int, character: int) -> Any:
        position = {"line": line, "character": character}
        return self.result("textDocument/definition", textDocument={"uri": self.uri(path)}, position=position)

    def symbols(self, query: str) -> Any:
        return self.result("workspace/symbol", query=query)

    def end(self) -> int:
        """Say goodbye as the protocol asks; return the code that the pump ends with."""
        assert self.ask("shutdown")["result"] is None
        self.notify("exit")
        assert self.process.stdout is not None
        assert self._received + self.process.stdout.read() == b""
        return self.process.wait(DEADLINE_S)

    def _until(self, split: Any) -> bytes:
        while not (parts := split())[1]:
            self._read()
        found: bytes = parts[0]
        self._received = parts[2]
        return found

    def _read(self) -> None:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], DEADLINE_S)
        assert ready, "the pump says nothing"
        data = os.read(self.process.stdout.fileno(), 65536)
        assert data, f"the pump ended: {self._received!r}"
        self._received += data


@contextmanager
def editor(daemon: DaemonProcess, root: Path, *arguments: str) -> Iterator[Editor]:
    """Start `foveal lsp` with pipes of our own; at the end it is gone."""
    process = subprocess.Popen(
        [sys.executable, "-m", "foveal", "lsp", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=daemon.environ,
        cwd=root,
    )
    with process:
        try:
            yield Editor(process, root)
        finally:
            if process.poll() is None:
                process.kill()


def shown(daemon: DaemonProcess, root: Path, path: str) -> str:
    context: str = daemon.call("GetContext", cwd=str(root), focus_paths=[path])["context"]
    return context


def wait_shown(daemon: DaemonProcess, root: Path, path: str, text: str, *, there: bool = True) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while (text in shown(daemon, root, path)) != there:
        assert time.monotonic() < deadline, shown(daemon, root, path)


def test_definitions(shared_daemon: DaemonProcess, shop: Path) -> None:
    shared_daemon.open_ready(shop)
    (shop / "more.py").write_text("x")
    with editor(shared_daemon, shop) as one:
        one.initialize()
        for path in ("src/shop/auth.py", "src/shop/cart.py", "web/app.ts"):
            one.open(path)

        def check(path: str, line: int, character: int, *expected: tuple[str, int, int]) -> None:
            found = [
                (place["uri"], place["range"]["start"]["line"], place["range"]["start"]["character"])
                for place in one.definition(path, line, character)
            ]
            assert found == [(one.uri(target), *place) for target, *place in expected]

        check("src/shop/auth.py", 8, 14, ("src/shop/sessions.py", 5, 6))  # a call
        check("src/shop/auth.py", 2, 24, ("src/shop/sessions.py", 5, 6))  # an import
        check("src/shop/auth.py", 2, 32, ("src/shop/sessions.py", 15, 4))
        check("src/shop/auth.py", 6, 5, ("src/shop/auth.py", 6, 4))  # the definition itself
        check("src/shop/auth.py", 11, 22, ("src/shop/sessions.py", 5, 6))  # a type, by its name
        check("src/shop/cart.py", 4, 9, ("src/shop/auth.py", 6, 4))  # the end of the word counts
        check("web/app.ts", 3, 11, ("web/money.ts", 1, 16))
        check("src/shop/auth.py", 9, 0)  # no word
        check("src/shop/auth.py", 3, 20)  # nothing has this name
        check("src/shop/auth.py", 999, 3)
        check("src/shop/sessions.py", 1, 3)  # not open
        one.change("src/shop/auth.py", "wrong", "\n\n😀 = expire\n")
        check("src/shop/auth.py", 2, 7, ("src/shop/sessions.py", 15, 4))  # in units of UTF-16
        assert one.end() == 0


def test_symbols(shared_daemon: DaemonProcess, shop: Path) -> None:
    shared_daemon.open_ready(shop)
    with editor(shared_daemon, shop) as one:
        one.initialize()

        def check(query: str, *expected: tuple[str, int]) -> None:
            found = {(symbol["name"], symbol["kind"]) for symbol in one.symbols(query)}
            assert found == set(expected), query

        check("expire", ("expire", 12))
        check("Session.touch", ("touch", 6))
        check("session", ("Session", 5))
        check("max_age", ("MAX_AGE", 14))
        # As it is typed: the beginning, beginnings of words, letters in order.
        check("exp", ("expire", 12))
        check("Session.to", ("touch", 6))
        check("ma", ("MAX_AGE", 14), ("main", 12))
        check("MA", ("MAX_AGE", 14), ("main", 12))
        check("ckout", ("checkout", 12))
        check("chot", ("checkout", 12))
        check("who calls expire?", ("logout", 12))
        check("zzyzx")
        check("`'\"\\")
        check("")
        assert one.end() == 0


def test_documents_are_followed_from_change_to_close(shared_daemon: DaemonProcess, shop: Path) -> None:
    shared_daemon.open_ready(shop)
    path = "web/app.ts"
    with editor(shared_daemon, shop) as one:
        one.initialize()
        one.open(path)
        one.change(path, "// typed, and not saved\n")
        wait_shown(shared_daemon, shop, path, "// typed, and not saved")
        (shop / path).write_text("// saved\n")
        one.told("didSave", path)
        wait_shown(shared_daemon, shop, path, "// saved")
        one.change(path, "// a second time\n")
        one.symbols("total")  # what waits to be told is told before
        assert "// a second time" in shown(shared_daemon, shop, path)
        one.told("didClose", path)
        wait_shown(shared_daemon, shop, path, "// saved")
        one.open(path)
        one.change(path, "// left behind\n")
        wait_shown(shared_daemon, shop, path, "// left behind")
        one.process.kill()  # an editor that crashes takes its texts with it
        wait_shown(shared_daemon, shop, path, "// left behind", there=False)


def test_malformed_messages_get_errors(shared_daemon: DaemonProcess, shop: Path) -> None:
    shared_daemon.open_ready(shop)
    with editor(shared_daemon, shop) as one:
        one.initialize()

        def check(body: Any, told_id: Any, code: int) -> None:
            one.send(body)
            reply = one.receive()
            assert (reply["id"], reply["error"]["code"]) == (told_id, code), reply
            assert [symbol["name"] for symbol in one.symbols("expire")] == ["expire"]

        check(b"{nonsense", None, -32700)
        check(b"\xff\xfe", None, -32700)
        check(b"[" * 100_000, None, -32700)
        check(b"[]", None, -32700)
        check({"jsonrpc": "2.0", "id": "a", "method": "nope/nope", "params": {}}, "a", -32601)
        check({"jsonrpc": "2.0", "id": "b", "method": "textDocument/definition", "params": {}}, "b", -32602)
        check({"jsonrpc": "2.0", "id": "c", "method": "textDocument/definition", "params": [1]}, "c", -32602)
        check({"id": "d", "method": "workspace/symbol", "params": {"query": "x"}}, "d", -32600)
        one.notify("textDocument/didChange", textDocument={}, contentChanges=7)
        one.notify("no/such/thing", anything=1)
        one.send({"jsonrpc": "2.0", "id": "z", "result": None})  # answers what nobody asked
        one.send(b" " * (MAX_BODY_BYTES + 1))
        assert "was left out" in one.receive()["params"]["message"]
        assert [symbol["name"] for symbol in one.symbols("expire")] == ["expire"]
        assert one.end() == 0


@pytest.mark.parametrize(
    "data",
    [b"nonsense\r\n\r\n", b"x" * 100_000, b"Content-Length: -1\r\n\r\n", b"Content-Length: 9\r\n\r\n{"],
)
def test_invalid_frames_end_the_pump(shared_daemon: DaemonProcess, shop: Path, data: bytes) -> None:
    with editor(shared_daemon, shop) as one:
        output, errors = one.process.communicate(data, timeout=DEADLINE_S)
        assert (one.process.returncode, output) == (1, b"")
        assert errors.startswith(b"foveal lsp: the ")
        assert errors.count(b"\n") == 1


def test_lsp_pump_exits_by_the_protocol(shared_daemon: DaemonProcess, shop: Path) -> None:
    with editor(shared_daemon, shop) as one:
        one.initialize()
        assert one.ask("shutdown")["result"] is None
        assert one.ask("workspace/symbol", query="x")["error"]["code"] == -32600
        one.notify("exit")
        assert one.process.wait(DEADLINE_S) == 0
    with editor(shared_daemon, shop) as one:
        one.initialize()
        one.notify("exit")
        assert one.process.wait(DEADLINE_S) == 1
        assert one.process.stderr is not None
        assert one.process.stderr.read() == b""


def test_new_daemon_gets_open_documents(daemon: DaemonProcess, shop: Path) -> None:
    daemon.open_ready(shop)
    with editor(daemon, shop) as one:
        one.initialize()
        one.open("src/shop/auth.py")
        one.open("web/app.ts")
        one.change("web/app.ts", "// typed, and not saved\n")
        for how in (signal.SIGKILL, signal.SIGTERM):
            daemon.stop(how)
            one.change("src/shop/auth.py", "\nexpire\n")
            assert read_daemon_info(str(daemon.state)) is None or how is signal.SIGKILL, "typing starts none"
            (place,) = one.definition("src/shop/auth.py", 1, 3)
            assert place["uri"] == one.uri("src/shop/sessions.py")
            wait_shown(daemon, shop, "web/app.ts", "// typed, and not saved")
        assert one.end() == 0


def test_unreachable_daemon_is_reported(daemon: DaemonProcess, shop: Path) -> None:
    with editor(daemon, shop, "--socket", str(shop / "none.sock")) as one:
        reply = one.ask("initialize", processId=None, capabilities={}, rootUri=None)
        assert reply["error"]["code"] == -32803
        assert "can't be reached" in reply["error"]["message"]
        one.open("web/app.ts")
        assert one.end() == 0
        assert read_daemon_info(str(daemon.state)) is None
