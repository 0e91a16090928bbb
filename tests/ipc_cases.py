"""A server with a method of each kind, for tests of the wire and its clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from foveal.ipc.connection import Connection, Limits
from foveal.ipc.errors import RpcError
from foveal.ipc.listener import bind
from foveal.ipc.server import Server


class Methods:
    """A handler with one method of each kind, and what it saw."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self.calls = self.started = self.cancelled = self.running = self.most_running = 0
        self.changed = asyncio.Condition()
        self.gate = asyncio.Event()
        self.logged: list[tuple[str, str]] = []

    def __call__(self, connection: Connection, method: str, params: dict[str, Any]) -> Any:
        self.calls += 1
        match method:
            case "Echo" | "Note":
                return params
            case "Drop":
                return self.drop(connection)
            case "Subscribe" if "drop" in params.get("topics", ()):
                return self.drop(connection)
            case "Subscribe" if "wrong" not in params.get("topics", ()):
                self.connections.append(connection)
                return params
            case "Wait":
                return self.wait(params)
            case "Fail":
                raise params_error(params["error"])
            case "FailLater":
                return self.fail_later(params["error"])
            case "Unpackable":
                return object()
            case "Large":
                return "x" * params["size"]
        raise RpcError("unknown_method", f"there is no method {method}")

    async def wait(self, params: dict[str, Any]) -> dict[str, Any]:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await self.count("started")
            await self.gate.wait()
        except asyncio.CancelledError:
            await self.count("cancelled")
            raise
        finally:
            self.running -= 1
        return params

    def drop(self, connection: Connection) -> asyncio.Future[Any]:
        connection.close()
        return asyncio.get_running_loop().create_future()

    async def fail_later(self, error: str) -> None:
        await asyncio.sleep(0)
        raise params_error(error)

    async def count(self, name: str) -> None:
        async with self.changed:
            setattr(self, name, getattr(self, name) + 1)
            self.changed.notify_all()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20), self.changed:
            await self.changed.wait_for(condition)

    def log(self, error: BaseException, method: str) -> None:
        self.logged.append((type(error).__name__, method))


def params_error(name: str) -> BaseException:
    return {
        "known": LookupError("the known one"),
        "rpc": RpcError("busy", "later", {"n": 1}),
        "unforeseen": ZeroDivisionError("secret"),
        "cancelled": asyncio.CancelledError(),
    }[name]


def to_error(error: Exception) -> RpcError | None:
    return RpcError("not_found", str(error)) if type(error) is LookupError else None


@asynccontextmanager
async def serving(
    path: str, limits: Limits | None = None, **options: Any
) -> AsyncIterator[tuple[Server, Methods]]:
    methods = Methods()
    async with Server(methods, to_error, methods.log, limits=limits, **options) as server:
        server.start(bind(path))
        yield server, methods
