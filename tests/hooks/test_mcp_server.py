"""An agent's host meets tools, resources and prompts over the real pump and daemon, at both eras."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
from foveal.hooks.hosts.host import SERVER_FIELDS
from foveal.hooks.mcp_server.resources import RESOURCES
from foveal.hooks.mcp_server.server import FORMER_TOOLS, INSTRUCTIONS, TOOLS
from mcp import Client, MCPError
from mcp.types import ListRootsResult, Root, TextContent, TextResourceContents
from pydantic import FileUrl

from tests.conftest import DEADLINE_S, DaemonProcess, write_files
from tests.hook_cases import context_of
from tests.mcp_cases import ERAS, answer, connected, refusal, text_of


@pytest.mark.parametrize("era", ERAS)
async def test_tools_resources_and_prompts(shared_daemon: DaemonProcess, ready: Path, era: str) -> None:
    async with connected(shared_daemon, ready, era) as client:
        assert client.instructions == INSTRUCTIONS
        await check_tools(client)
        listed = (await client.list_resources()).resources
        assert [str(one.uri) for one in listed] == [one.uri for one in RESOURCES]
        expected = {
            "map": "money.ts",
            "rules": "Use the repository's logger.",
            "experiences": "keep the ``` out",
        }
        for name, words in expected.items():
            (content,) = (await client.read_resource(f"foveal://{name}")).contents
            assert isinstance(content, TextResourceContents)
            assert words in content.text
        for uri in ("foveal://nope", "foveal://[", "file:///etc/passwd"):
            with pytest.raises(MCPError, match="there is no resource"):
                await client.read_resource(uri)
        prompts = {one.name for one in (await client.list_prompts()).prompts}
        assert prompts == {"resume_session", "review_changes"}
        resumed = await prompt(client, "resume_session")
        assert "README.md" in resumed
        assert "keep the ``` out" in resumed
        review = await prompt(client, "review_changes", paths="src/shop/auth.py", about="the logger")
        assert "Use the repository's logger." in review
        assert "def login" in review
        wrong: tuple[tuple[str, dict[str, str]], ...]
        wrong = (("nope", {}), ("resume_session", {"session_id": "nobody"}), ("review_changes", {"x": "y"}))
        for name, arguments in wrong:
            with pytest.raises(MCPError):
                await client.get_prompt(name, arguments)


async def check_tools(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
    hints = {tool.name: tool.annotations for tool in tools}
    assert all(hint is not None and hint.open_world_hint is False for hint in hints.values())
    writing = {name for name, hint in hints.items() if hint and not hint.read_only_hint}
    assert writing == {"set_relevant_context", "record_decision"}
    assert [tool.name for tool in tools if (tool.meta or {}).get("anthropic/alwaysLoad")] == ["get_context"]
    assert "checkout" in await answer(client, "search_code", query="who calls login", path=None, kinds=None)
    await answer(client, "record_decision", decision="keep the ``` out")
    await answer(client, "set_relevant_context", set_name="files", items=["README.md"])
    assert "missing required field `query`" in await refusal(client, "search_code")
    assert "glob can't be used" in await refusal(client, "search_code", query="x", glob="[")
    former: dict[str, tuple[dict[str, Any], str]] = {
        "find_symbol": ({"name": "login", "path": None}, "return Session(user)"),
        "changes": ({}, "no definition changed"),
        "expand_focus": ({"nodes": ["README.md"]}, "ocus"),
        "get_relevant_context": ({"set_name": "files"}, "README.md"),
        "list_decisions": ({"query": "keep"}, "keep the ``` out"),
        "status": ({}, "Project `"),
    }
    assert former.keys() == FORMER_TOOLS.keys()
    for name, (given, said) in former.items():
        assert said in await answer(client, name, **given), name
    with pytest.raises(MCPError, match="there are get_context"):
        await client.call_tool("no_such_tool", {})


async def test_hooks_of_a_host_are_answered_without_a_process(
    shared_daemon: DaemonProcess, ready: Path
) -> None:
    asked = dict.fromkeys(SERVER_FIELDS, "")
    asked |= {"session_id": "served", "cwd": str(ready), "prompt_id": "p1", "prompt": "fix `login`"}
    asked |= {"hook_event_name": "UserPromptSubmit"}
    async with connected(shared_daemon, ready, "legacy", name="claude-code") as client:
        said = context_of("claude-code", "UserPromptSubmit", await answer(client, "hook", **asked))
        assert "return Session(user)" in said
        assert await answer(client, "hook", **asked) == "", "as if it came by a process, too"
        tool = {"tool_name": "Read", "tool_input": json.dumps({"file_path": str(ready / "README.md")})}
        told = {**asked, "hook_event_name": "PostToolUse", "tool_use_id": "t1", **tool}
        assert await answer(client, "hook", **told) == ""
        refused = {"session_id": "s", "hook_event_name": "Stop", "cwd": "nowhere"}
        for given in ({}, {"hook_event_name": 7}, {**refused, "hook_event_name": "Nope"}, refused):
            assert await answer(client, "hook", **given) == "", "it fails open"
    entries = shared_daemon.call("GetTimeline", session_id="served")["entries"]
    assert {entry["kind"] for entry in entries} == {"prompt", "read"}
    async with connected(shared_daemon, ready, "legacy", name="tester") as client:
        with pytest.raises(MCPError, match="there is no tool"):
            await client.call_tool("hook", asked)


async def prompt(client: Client, name: str, **arguments: str) -> str:
    (message,) = (await client.get_prompt(name, arguments)).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


async def test_sessions_are_a_clients_own_or_named(
    shared_daemon: DaemonProcess, ready: Path, tmp_path: Path
) -> None:
    async with (
        connected(shared_daemon, ready, "auto", "--session", "mine") as one,
        connected(shared_daemon, ready, "legacy") as two,
    ):
        calls = [answer(client, "search_code", query="login") for client in (one, two) for _ in range(20)]
        await asyncio.gather(*calls)
        await answer(one, "set_relevant_context", set_name="ports", items=["1111"])
        assert "Nothing is set." in await answer(two, "recall", about="session")
    for cwd in (ready, tmp_path):  # a host may start the server of a plugin in the plugin's folder
        async with connected(shared_daemon, cwd, "legacy", "--session", "mine") as client:
            assert "1111" in await answer(client, "recall", about="session")
            assert str(ready) in await answer(client, "recall", about="status")
    async with connected(shared_daemon, ready, "legacy", "--session", "not an id") as client:
        said = await refusal(client, "set_relevant_context", set_name="ports", items=["1"])
        assert "session_id must have" in said


async def test_project_from_folder_root_or_option(
    shared_daemon: DaemonProcess, ready: Path, tmp_path: Path
) -> None:
    files = {".git/HEAD": "ref: refs/heads/main\n", "b.py": "def b(): ...\n"}
    other = write_files(tmp_path / "other root", files)

    async def roots(context: Any) -> ListRootsResult:
        gone = Root(uri=FileUrl((tmp_path / "gone").as_uri()))
        return ListRootsResult(roots=[gone, Root(uri=FileUrl(other.as_uri()))])

    async def project(*arguments: str, cwd: Path, **options: Any) -> str:
        async with connected(shared_daemon, cwd, "legacy", *arguments, **options) as client:
            return (await answer(client, "status")).removeprefix("Project `").partition("`")[0]

    assert await project(cwd=ready / "src" / "shop") == str(ready)
    assert await project(cwd=ready, list_roots_callback=roots) == str(other)
    assert await project("--cwd", str(ready), cwd=tmp_path, list_roots_callback=roots) == str(ready)


async def test_hung_and_killed_daemons(daemon: DaemonProcess, shop: Path) -> None:
    """A call can be cancelled while the daemon hangs; a killed one is reported, and started again."""
    daemon.open_ready(shop)
    async with connected(daemon, shop, "auto") as client:
        await answer(client, "set_relevant_context", set_name="ports", items=["1"])
        before = daemon.pid
        faces = [one for one in psutil.Process(before).children() if "foveal.dashboard.app" in one.cmdline()]
        os.kill(before, signal.SIGSTOP)
        cancelled, call = [
            asyncio.create_task(client.call_tool("search_code", {"query": "login"})) for _ in range(2)
        ]
        await client.list_prompts()  # needs no daemon; by then the calls are being answered
        cancelled.cancel()
        await asyncio.wait([cancelled])
        assert cancelled.cancelled()
        await asyncio.to_thread(daemon.stop, signal.SIGKILL)
        try:
            said = text_of(await call)
        except MCPError as error:
            said = str(error)
        assert "daemon" in said
        assert "again" in said
        assert "`1`" in await answer(client, "recall", about="session")
        assert daemon.pid != before
        ended, alive = await asyncio.to_thread(psutil.wait_procs, faces, DEADLINE_S)
        assert (len(ended), alive) == (1, []), "connections end with their daemon"
