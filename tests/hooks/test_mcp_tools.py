"""Each tool, resource and prompt says what it is, in schemas that hold and in docs/mcp.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.hooks.mcp_server import resources
from foveal.hooks.mcp_server.resources import PROMPTS
from foveal.hooks.mcp_server.server import INSTRUCTIONS, TOOLS
from foveal.hooks.mcp_server.tool import ANSWER_TOKENS, Tool
from jsonschema import Draft202012Validator

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_schemas_and_texts(tool: Tool) -> None:
    for schema in (tool.arguments.schema(), dict(tool.reply)):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert len(tool.description) < 2000


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_docs_name_each_tool_with_its_size(tool: Tool) -> None:
    limit = tool.arguments.schema()["properties"].get("max_tokens")
    sizes = f"{limit['default']}, {limit['maximum']}" if limit else str(ANSWER_TOKENS)
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{tool.name}` ")]
    assert row.endswith(f"| {tool.effect} | {sizes} |")


def test_docs_name_each_resource_prompt_and_limit() -> None:
    for resource in resources.RESOURCES:
        assert f"| `{resource.uri}` |" in PAGE
    for prompt in PROMPTS:
        arguments = ", ".join(f"`{name}?`" for name in prompt.arguments.schema()["properties"])
        assert f"`{prompt.name}` ({arguments})" in PAGE
    assert f"Each has {resources.DEFAULT_TOKENS} tokens at most" in PAGE
    assert f"between {resources.LEAST_TOKENS} and {resources.MOST_TOKENS}" in PAGE


def test_tool_descriptions_are_short() -> None:
    assert len(INSTRUCTIONS) < 2000
    read = sum(len(tool.description) + len(str(tool.arguments.schema())) for tool in TOOLS)
    assert read / 4 < 2500
