"""The conversation with a language server over its standard streams; knows no language."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

IN_FLIGHT = 200
"""Requests that are sent before their answers are read: few enough that neither pipe fills up."""

Settings = Callable[[str], object]
"""What the server is told of a section of its configuration."""


class ServerGone(Exception):
    """A language server ended."""


class LanguageServer:
    """One server on one project; a context manager, which ends it."""

    def __init__(self, command: Sequence[str], root: Path, settings: Settings) -> None:
        self._settings = settings
        self._number = 0
        self._replies: dict[int, Any] = {}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            self._initialize(root)
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _initialize(self, root: Path) -> None:
        folder = {"uri": root.as_uri(), "name": root.name}
        self.call(
            "initialize",
            {
                "processId": None,
                "rootUri": root.as_uri(),
                "workspaceFolders": [folder],
                "capabilities": {"workspace": {"configuration": True, "workspaceFolders": True}},
            },
        )
        self.notify("initialized", {})

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdout.close()
        with suppress(BrokenPipeError):  # what a server that ended never took is still in the buffer
            self._process.stdin.close()

    def call(self, method: str, params: object) -> Any:
        """Return the result of one request; raises `ServerGone`."""
        return self.call_all(method, [params])[0]

    def call_all(self, method: str, params: Iterable[object]) -> list[Any]:
        """Return the results of requests of one method, in their order; None where the server failed."""
        waiting = list(params)
        results = []
        for start in range(0, len(waiting), IN_FLIGHT):
            numbers = [self._send_request(method, each) for each in waiting[start : start + IN_FLIGHT]]
            results += [self._wait(number) for number in numbers]
        return results

    def notify(self, method: str, params: object) -> None:
        """Tell the server something that it doesn't answer."""
        self._send({"method": method, "params": params})

    def _send_request(self, method: str, params: object) -> int:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        return self._number

    def _wait(self, number: int) -> Any:
        while number not in self._replies:
            message = self._receive()
            if "method" not in message:
                self._replies[message["id"]] = message
            elif "id" in message:
                self._send({"id": message["id"], "result": self._answer(message)})
        reply = self._replies.pop(number)
        return reply.get("result")

    def _answer(self, message: Any) -> object:
        if message["method"] == "workspace/configuration":
            return [self._settings(item.get("section", "")) for item in message["params"]["items"]]
        return None

    def _send(self, message: dict[str, object]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise ServerGone("the language server ended") from error

    def _receive(self) -> Any:
        stream = self._process.stdout
        assert stream is not None
        length = 0
        while (line := stream.readline()) != b"\r\n":
            if not line:
                raise ServerGone("the language server ended")
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(stream.read(length))
