"""A list of tools is kept for one configuration of a server, bounded, and a failure doesn't lose it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.errors import StateError
from foveal.daemon.core.system import System
from foveal.daemon.rules.server_config import McpServer
from foveal.daemon.rules.tool_lists import (
    MAX_LISTS,
    ListedTool,
    ToolList,
    ToolLister,
    ToolLists,
    tool_items,
)
from msgspec.structs import replace

from tests import server_cases
from tests.server_cases import http_server, raw_server, sdk_server

SERVER = replace(server_cases.SERVER, host="gemini", line=4, denied=("drop",))
LIST = ToolList(
    (ListedTool("search", "Finds", '{"type":"object"}'), ListedTool("drop", "", "")),
    listed_at="2026-01-01T00:00:00Z",
)


def lists_in(folder: Path) -> ToolLists:
    return ToolLists(str(folder / "lists"), System())


def test_tool_list_is_for_one_configuration(tmp_path: Path) -> None:
    lists = lists_in(tmp_path)
    assert lists.load(SERVER) is None
    assert lists.store(SERVER, LIST) == LIST
    assert lists_in(tmp_path).load(SERVER) == LIST
    assert lists.load(replace(SERVER, name="other", line=9)) == LIST
    assert lists.load(replace(SERVER, command="y")) is None


def test_a_failure_keeps_the_tools_that_were_known(tmp_path: Path) -> None:
    lists = lists_in(tmp_path)
    failed = ToolList(problem="it hangs", listed_at="2026-01-02T00:00:00Z")
    assert lists.store(SERVER, failed) == failed
    lists.store(SERVER, LIST)
    assert lists.store(SERVER, failed) == replace(failed, tools=LIST.tools)
    assert lists.store(SERVER, ToolList()) == ToolList()


def test_tools_become_items_without_those_that_are_forbidden(tmp_path: Path) -> None:
    lists = lists_in(tmp_path)
    lists.store(SERVER, LIST)
    (item,) = lists.items((replace(SERVER, command="y"), SERVER))
    assert (item.type, item.name, item.server_name, item.include) == ("tool", "search", "web", "always")
    assert (item.source, item.line) == (SERVER.source, 4)
    assert (item.description, item.text) == ("Finds", '{"type":"object"}')
    assert tool_items(replace(SERVER, allowed=()), LIST) == ()


@pytest.mark.parametrize(
    "content",
    [
        "{",
        '{"version": 2}',
        {"tools": [{"name": "", "description": "", "input_schema": ""}]},
        {"tools": 1},
    ],
)
def test_a_damaged_file_counts_as_none(tmp_path: Path, content: str | dict[str, Any]) -> None:
    lists = lists_in(tmp_path)
    lists.store(SERVER, LIST)
    path = tmp_path / "lists" / f"{SERVER.digest}.json"
    text = content if isinstance(content, str) else json.dumps(json.loads(path.read_text()) | content)
    path.write_text(text)
    assert lists.load(SERVER) is None
    assert lists.items((SERVER,)) == ()
    assert lists.store(SERVER, LIST) == LIST


def test_the_lists_unused_for_longest_go_first(tmp_path: Path) -> None:
    lists = lists_in(tmp_path)
    lists.store(SERVER, LIST)
    path = tmp_path / "lists" / f"{SERVER.digest}.json"
    os.utime(path, (1, 1))
    for number in range(MAX_LISTS):
        (path.parent / f"{number}.json").write_text("{}")
    newer = replace(SERVER, command="y")
    lists.store(newer, LIST)
    assert lists.load(newer) == LIST
    assert lists.load(SERVER) is None
    assert len(os.listdir(path.parent)) == MAX_LISTS


def test_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "lists").write_text("")
    with pytest.raises(StateError, match="lists"):
        lists_in(tmp_path).store(SERVER, LIST)


DEADLINE_S = 100.0
"""For servers that answer: long, since machines that run tests are busy."""


def lister(**extra: bool) -> ToolLister:
    environ = {**os.environ, "SECRET": "hunter22", "AWS_SECRET": "never passed on"}
    return ToolLister(environ, "/", System(), timeout_s=DEADLINE_S, **extra)


def listed(*servers: McpServer) -> tuple[ToolList, ...]:
    return lister().list_tools(servers)


def names(found: ToolList) -> list[str]:
    assert found.problem == ""
    return [tool.name for tool in found.tools]


def test_each_server_has_its_own_outcome(tmp_path: Path) -> None:
    key = {"environment": (("KEY", "${SECRET}"),)}
    modes = "exit", "closed", "error", "wrong", "old", "pages", "endless", "names", "many", "noisy"
    servers = [raw_server(tmp_path, mode, **key) for mode in modes]
    flooding = [raw_server(tmp_path, mode, timeout_s=2.0) for mode in ("flood", "lines")]
    sdk, *outcomes, flood, lines = listed(sdk_server(tmp_path), *servers, *flooding)
    assert names(sdk) == ["add", "close"]
    assert [tool.description for tool in sdk.tools] == ["Add two numbers.", "Close the shop"]
    assert '"first":{"title":"First","type":"integer"}' in sdk.tools[0].input_schema
    assert sdk.listed_at.endswith("Z")
    assert all(problem.startswith(("it ended", "it didn't")) for problem in (flood.problem, lines.problem))
    found = dict(zip(modes, outcomes, strict=True))
    problems = {mode: each.problem for mode, each in found.items() if each.problem}
    assert problems == {
        "exit": "it ended before it listed its tools: no key ***",
        "closed": problems["closed"],
        "error": "it answered with an error: no key ***",
        "wrong": "its list of tools isn't as MCP has it",
        "old": problems["old"],
    }
    assert "1987-01-01" in problems["old"]
    assert "before it listed its tools" in problems["closed"]
    assert names(found["pages"]) == ["page0", "page1", "page2"]
    assert names(found["endless"]) == ["same"]
    assert found["endless"].left_out > 0
    assert names(found["names"]) == ["good"]
    assert found["names"].tools[0].description == "a\ufffd[2J\ufffdb c"
    assert found["names"].left_out == 5
    assert (len(found["many"].tools), found["many"].left_out) == (512, 88)
    assert len(found["many"].tools[0].description) == 2_048
    shown = found["noisy"].tools[0].description.split()
    assert "KEY" in shown
    assert not {"SECRET", "AWS_SECRET", "PYTHONSAFEPATH"} & set(shown)


def test_servers_that_hang_and_children_of_others_are_ended(tmp_path: Path) -> None:
    readers = []
    for name in ("hold", "orphan"):
        os.mkfifo(tmp_path / name)
        readers.append(os.open(tmp_path / name, os.O_RDONLY | os.O_NONBLOCK))
    hanging = raw_server(tmp_path, "hold", str(tmp_path / "hold"), timeout_s=1.0)
    held, child = listed(hanging, raw_server(tmp_path, "orphan", str(tmp_path / "orphan")))
    assert held.problem == "it didn't list its tools within 1 s"
    assert names(child) == ["child"], "only its own list is lost"
    for reader in readers:  # the end of each pipe comes once nobody has it open for writing
        os.set_blocking(reader, True)
        while os.read(reader, 100):
            pass
        os.close(reader)


def test_close_ends_running_servers(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    one = lister()
    found: list[ToolList] = []
    thread = threading.Thread(
        target=lambda: found.extend(one.list_tools([raw_server(tmp_path, "hold", str(pipe))]))
    )
    thread.start()
    with pipe.open() as reader:
        assert reader.readline() == "started\n"
        one.close()
        assert reader.read() == ""
    thread.join()
    assert [each.problem for each in found] == ["it wasn't listed: it was ended early"]
    (refused,) = one.list_tools([raw_server(tmp_path, "good")])
    assert refused.problem == "it wasn't listed: the daemon is ending"


def test_servers_end_with_the_daemon(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    server = raw_server(tmp_path, "hold", str(pipe))
    code = (
        "import os, sys\n"
        "from foveal.daemon.rules.server_config import McpServer\n"
        "from foveal.daemon.rules.tool_lists import ToolLister\n"
        "from foveal.daemon.core.system import System\n"
        f"ToolLister(os.environ, '/', System(), timeout_s=100).list_tools([{server!r}])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    with pipe.open() as reader:
        assert reader.readline() == "started\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert reader.read() == ""


def test_unlaunchable_servers_start_no_process(tmp_path: Path) -> None:
    server = raw_server(tmp_path, "good")
    found = listed(
        replace(server, command="no-such-program-anywhere"),
        replace(server, environment=(("KEY", "${GONE_ENTIRELY}"),)),
        replace(server, transport="http", url="https://example.org/mcp"),
    )
    assert [each.tools for each in found] == [(), (), ()]
    assert "isn't found" in found[0].problem
    assert "GONE_ENTIRELY isn't set" in found[1].problem
    assert "no network" in found[2].problem


def test_servers_over_http(tmp_path: Path) -> None:
    blank = replace(raw_server(tmp_path, "http"), transport="http", command="", arguments=())
    with http_server() as address:
        paths = ("/mcp", "/denied", "/denied", "/elsewhere")
        servers = [replace(blank, url=address + path) for path in paths]
        servers[1] = replace(servers[1], headers=(("Authorization", "Bearer ${SECRET}"),))
        *found, refused = listed(*servers, replace(blank, url="http://127.0.0.1:9/mcp"))
        (endless,) = listed(replace(blank, url=f"{address}/endless"))
    assert names(found[0]) == names(found[1]) == ["remote"]
    assert [bool(each.problem) for each in found[2:]] == [True] * 2
    assert endless.problem == "it wasn't listed: it was ended early", "before it took all memory"
    assert "can't be reached" in refused.problem


def test_the_daemon_never_imports_the_sdk() -> None:
    code = (
        "import sys, foveal.daemon.rules.approvals\n"
        "print(*{'mcp', 'anyio', 'pydantic', 'httpx2'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []
