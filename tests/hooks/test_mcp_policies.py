"""MCP tells an agent nothing that is hidden from it, and serves it nothing where it isn't allowed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DaemonProcess
from tests.mcp_cases import connected, text_of
from tests.policy_cases import HIDDEN_FROM, PATH_WORDS, LinkerView

ARGUMENTS: Mapping[str, dict[str, Any]] = {
    "get_context": {"prompt": "treasure ledger", "focus_paths": ["secret", "src/app.py"]},
    "search_code": {"query": "treasure chamber of the ledger"},
    "set_relevant_context": {"set_name": "notes", "items": ["mine"]},
    "record_decision": {"decision": "Sort the ledger by day"},
    "recall": {},
    "find_symbol": {"name": "thing", "all": True},
    "changes": {"range": "HEAD..HEAD~1"},
    "expand_focus": {"nodes": ["secret/AGENTS.md", "src/other.py"]},
    "get_relevant_context": {},
    "status": {},
}
"""By tool; the last five are names of former tools, each another part of the present ones."""


@pytest.fixture(scope="module")
def world(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> LinkerView:
    return LinkerView(shared_daemon, tmp_path_factory.mktemp("mcp-policies"))


@pytest.mark.parametrize("agent", HIDDEN_FROM)
async def test_tools_tell_an_agent_nothing_that_is_hidden(world: LinkerView, agent: str) -> None:
    told, refused = [], set()
    async with connected(world.daemon, Path(world.root), "auto", name=agent) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} <= set(ARGUMENTS)
        for tool, arguments in ARGUMENTS.items():
            result = await client.call_tool(tool, arguments)
            told.append(text_of(result))
            if result.is_error:
                refused.add(tool)
                assert "not allowed here by [agents.stranger]" in text_of(result), tool
    assert len(told) >= 9
    # The stranger has no session, since it may not begin one, and a session that isn't there has no sets.
    assert refused == (set(ARGUMENTS) - {"get_relevant_context"} if agent == "stranger" else set())
    text = "\n".join(told).lower()
    names = (world.root.lower(), "[agents.stranger]")  # it knows where it is, and is told why it is refused
    for name in names:
        text = text.replace(name, "")
    assert [word for word in HIDDEN_FROM[agent] if word in text] == []
    assert all(word in text for word in PATH_WORDS) == (agent in {"lead", "clerk"})
