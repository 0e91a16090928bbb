"""Nothing runs before it is approved or unasked; once listed, tools are items until the configuration changes."""

from __future__ import annotations

import json
import os
from pathlib import Path

from foveal.daemon.core.system import System
from foveal.daemon.rules.approvals import Approvals, approved_servers, file_states, list_tools
from foveal.daemon.rules.server_config import read_server_files
from foveal.daemon.rules.server_definition import ServerFile
from foveal.daemon.rules.tool_lists import ToolLister, ToolLists

from tests.server_cases import raw_server

SYSTEM = System()


class Machine:
    """A project with a configuration, and the state of a daemon."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "p"
        self.root.mkdir()
        (folder / "home").mkdir()
        self.home = str(folder / "home")
        self.approvals = Approvals(str(folder / "approvals.json"), SYSTEM)
        self.lists = ToolLists(str(folder / "lists"), SYSTEM)
        self.lister = ToolLister(os.environ, self.home, SYSTEM, timeout_s=100)

    def configure(self, *modes: str) -> ServerFile:
        definitions = {}
        for mode in modes:
            server = raw_server(self.root, mode)
            definitions[mode] = {
                "command": server.command,
                "args": list(server.arguments),
                "env": {"KEY": "${KEY:-none}"},
            }
        definitions["foveal"] = {"command": "foveal", "args": ["mcp"]}
        (self.root / ".mcp.json").write_text(json.dumps({"mcpServers": definitions}))
        (file,) = self.files
        return file

    @property
    def files(self) -> tuple[ServerFile, ...]:
        return read_server_files(str(self.root), self.home, SYSTEM).files

    def listed(self, *, again: bool = False) -> dict[str, str]:
        found = list_tools(self.files, self.approvals.load(), self.lists, self.lister, again=again)
        return {server.name: each.problem for server, each in found}

    def tools(self) -> list[str]:
        servers = approved_servers(self.files, self.approvals.load())
        return [f"{item.server_name}.{item.name}" for item in self.lists.items(servers)]

    def left_out(self) -> dict[str, str]:
        states = file_states(self.files, self.approvals.load(), self.lists)
        return {each.server.name: each.left_out for state in states for each in state.servers}


def test_from_a_configuration_to_items(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    file = machine.configure("good", "exit")
    assert machine.listed() == {}
    assert machine.tools() == []
    assert set(machine.left_out().values()) == {"the file isn't approved as it is now", "it is foveal itself"}
    machine.approvals.approve(file, file.digest)
    assert machine.tools() == []
    assert list(machine.listed()) == ["good", "exit"]
    assert machine.tools() == ["good.environment"]
    assert machine.left_out() == {"good": "", "exit": "", "foveal": "it is foveal itself"}
    (state,) = file_states(machine.files, machine.approvals.load(), machine.lists)
    assert state.approved
    good, failed, _ = state.servers
    assert good.tools is not None
    assert good.tools.problem == ""
    assert good.variables == ("KEY",)
    assert good.runs.endswith("raw.py good")
    assert failed.tools is not None
    assert "status 3" in failed.tools.problem

    assert machine.listed() == {}  # what is known isn't run again unless that is asked for
    machine.configure("good", "pages")
    assert machine.listed() == {}  # the file has changed
    assert machine.tools() == []
    machine.approvals.approve(machine.files[0], machine.files[0].digest)
    assert machine.tools() == ["good.environment"]
    assert machine.listed() == {"pages": ""}
    assert machine.listed(again=True) == {"good": "", "pages": ""}
    assert len(machine.tools()) == 4
    machine.approvals.revoke(str(machine.root / ".mcp.json"))
    assert machine.tools() == []


def test_a_more_specific_file_goes_first(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.configure("good")
    home = Path(machine.home) / ".claude.json"
    home.write_text(
        json.dumps({"mcpServers": {"good": {"command": "sh"}, "off": {"command": "sh", "disabled": True}}})
    )
    for file in machine.files:
        machine.approvals.approve(file, file.digest)
    _, user = file_states(machine.files, machine.approvals.load(), machine.lists)
    assert [each.left_out for each in user.servers] == [
        "a more specific file has a server of that name",
        "it is disabled there",
    ]
