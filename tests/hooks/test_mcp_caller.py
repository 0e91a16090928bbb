"""What one connection asks the daemon: a daemon that hangs is given up, sessions are made when needed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from foveal.hooks.mcp_server.caller import ClientIdentity, DaemonSession, choose_folder, from_unavailable
from foveal.hooks.mcp_server.context_tools import GET_CONTEXT
from foveal.hooks.mcp_server.session_tools import STATUS
from foveal.ipc.aclient import DaemonLink
from foveal.ipc.errors import DaemonUnavailable

from tests.conftest import DaemonProcess


class NotingLink(DaemonLink):
    """A link that notes which methods were called."""

    def __init__(self, socket: str) -> None:
        super().__init__(socket)
        self.called: list[str] = []

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        self.called.append(method)
        return await super().call(method, params)


@asynccontextmanager
async def desk(
    daemon: DaemonProcess, root: Path, session: str, call_s: float = 60.0
) -> AsyncIterator[tuple[DaemonSession, NotingLink]]:
    link = NotingLink(daemon.socket)
    try:
        yield (
            DaemonSession(ClientIdentity(cwd=str(root), chosen=False, session_id=session), link, call_s),
            link,
        )
    finally:
        await link.close()


async def test_hanging_daemon_times_out(daemon: DaemonProcess, shop: Path) -> None:
    daemon.open_ready(shop)
    async with desk(daemon, shop, "hang", call_s=0.2) as (one, link):
        os.kill(daemon.pid, signal.SIGSTOP)
        try:
            with pytest.raises(DaemonUnavailable, match=r"didn't answer OpenProject within 0\.2 s") as raised:
                await STATUS.call(one.about("tester"), {})
        finally:
            os.kill(daemon.pid, signal.SIGCONT)
        assert "call the tool again" in str(from_unavailable(raised.value)).lower()
    async with desk(daemon, shop, "hang") as (one, link):  # and the same daemon answers when it runs again
        answer, _ = await STATUS.call(one.about("tester"), {})
        assert answer["project"] == str(shop)
        assert link.called == ["OpenProject", "Status"]


async def test_delta_names_shown_parts(shared_daemon: DaemonProcess, shop: Path) -> None:
    shared_daemon.open_ready(shop)
    asked = {"prompt": "login", "focus_paths": ["src/shop/auth.py"]}
    async with desk(shared_daemon, shop, "delta") as (one, link):
        first, _ = await GET_CONTEXT.call(one.about("tester"), asked)
        assert "return Session(user)" in first["context"]
        again, _ = await GET_CONTEXT.call(one.about("tester"), asked)
        assert again["context"] == first["context"], "it is asked for"
        second, _ = await GET_CONTEXT.call(one.about("tester"), asked | {"delta": True})
        assert "return Session(user)" not in second["context"]
        assert "- `src/shop/auth.py`: unchanged, as sent before" in second["context"]
        assert second["saved_tokens"] > 0
        assert "saved_tokens" not in first
        assert link.called == ["GetContext"] * 3


async def test_too_large_context_does_not_count_as_shown(shared_daemon: DaemonProcess, shop: Path) -> None:
    quotes = '"' * 90  # as JSON each is two characters, so that the first context is above the limit
    body = "".join(f"VALUE_{number} = '{quotes}'\n" for number in range(40))
    (shop / "quotes.py").write_text(body)
    shared_daemon.open_ready(shop)
    asked = {"prompt": "quotes", "focus_paths": ["quotes.py"], "max_tokens": 2000}
    async with desk(shared_daemon, shop, "unseen") as (one, link):
        first, _ = await GET_CONTEXT.call(one.about("tester"), asked)
        assert link.called.count("GetContext") > 1
        assert one.has_unseen
        second, _ = await GET_CONTEXT.call(one.about("tester"), asked | {"delta": True})
        assert "ResumeSession" in link.called
        assert not set(lines(second["context"])) - set(lines(first["context"])), "the same is shown"
        assert "unchanged, as sent before" not in second["context"]


def lines(context: str) -> list[str]:
    return [line for line in context.splitlines() if "VALUE_" in line]


async def test_concurrent_calls_make_one_session(shared_daemon: DaemonProcess, shop: Path) -> None:
    async with desk(shared_daemon, shop, "once") as (one, _):
        inquiry = one.about("tester")
        await asyncio.gather(
            *[
                inquiry.ask_session("SetRelevantContext", set_name="ports", items=[str(port)], mode="merge")
                for port in range(1, 6)
            ]
        )
        kept = await inquiry.ask_plain("GetRelevantContext", session_id="once")
        assert sorted(kept["context"]["ports"]) == ["1", "2", "3", "4", "5"]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Give a project with a folder in it, and another whose name needs quoting."""
    one, other = tmp_path / "one", tmp_path / "größer & b"
    (one / "sub").mkdir(parents=True)
    other.mkdir()
    (tmp_path / "link").symlink_to(one)
    return one, other


def test_folder_without_roots_is_the_pumps(folders: tuple[Path, Path]) -> None:
    one, _ = folders
    assert choose_folder(str(one), []) == str(one)


def test_folder_in_a_root_is_the_pumps(folders: tuple[Path, Path], tmp_path: Path) -> None:
    one, other = folders
    for cwd in (one, one / "sub", tmp_path / "link"):
        assert choose_folder(str(cwd), [other.as_uri(), one.as_uri()]) == str(cwd)


def test_folder_outside_roots_is_the_first_root(folders: tuple[Path, Path], tmp_path: Path) -> None:
    one, other = folders
    uris = [
        "https://example.org/x",
        "file://elsewhere/x",
        "file:relative",
        "file:///\0",
        "http://[",
        (tmp_path / "gone").as_uri(),
        other.as_uri(),
        one.as_uri(),
    ]
    assert choose_folder("/", uris) == str(other)
    assert choose_folder("/", [other.as_uri().replace("file://", "file://localhost")]) == str(other)
    assert choose_folder("/", uris[:6]) == "/"


def test_root_with_common_prefix_differs(folders: tuple[Path, Path]) -> None:
    one, other = folders
    near = one.parent / "one more"
    near.mkdir()
    assert choose_folder(str(near), [one.as_uri(), other.as_uri()]) == str(one)
