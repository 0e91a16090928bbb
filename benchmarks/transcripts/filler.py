"""The filler of long transcripts: calls of tools, their output and idle remarks, always the same."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

_REMARKS = (
    "Now I'll look at the tests.",
    "Let me check how this is called.",
    "Next I'll read the configuration.",
    "Let me search for other uses of it.",
    "I need to see what the caller passes, because the name says little.",
    "The handler returns early here instead of raising, let me see why.",
)
_OUTPUT = (
    "def load(path):\n    # chosen over json because it keeps comments\n    return parse(path)",
    "src/app/load.py:12: # we decided to use a list here, since order matters",
    "README.md\nsetup.cfg\nsrc\ntests",
    "root cause: see the ticket\nUse the pool instead of a connection for each call.",
    "4 files changed, 12 insertions(+), 3 deletions(-)",
)
_COMMANDS = ("ls -la", "git log --oneline -5", "rg -n load src", "cat src/app/load.py", "git diff --stat")


def filler_lines(before: str, count: int) -> Iterator[str]:
    """Yield `count` calls and their results as lines in the format of the line `before`.

    Their output holds phrases of decisions, which are others' words. Raises `ValueError` for an unknown
    format.
    """
    record = json.loads(before)
    chance = random.Random(count)
    for number in range(count):
        remark = chance.choice(_REMARKS) if chance.random() < 0.2 else ""
        command, output = chance.choice(_COMMANDS), "\n".join(chance.choices(_OUTPUT, k=chance.randint(1, 6)))
        for line in _lines(record, number, remark, command, output):
            yield json.dumps(line, ensure_ascii=False) + "\n"


def _lines(
    before: dict[str, Any], number: int, remark: str, command: str, output: str
) -> list[dict[str, Any]]:
    if "payload" in before:
        return _codex(before, number, remark, command, output)
    if "role" in before:
        said = [{"role": "assistant", "content": remark}] if remark else []
        return [*said, {"role": "tool", "tool": {"name": "bash", "command": command}, "content": output}]
    if "message" in before:
        return _claude_code(before, number, remark, command, output)
    raise ValueError("filler follows a line of no known format")


def _codex(
    before: dict[str, Any], number: int, remark: str, command: str, output: str
) -> list[dict[str, Any]]:
    call = f"filler{number}"
    payloads: list[dict[str, Any]] = [
        {"type": "function_call", "name": "shell", "call_id": call,
         "arguments": json.dumps({"command": ["bash", "-lc", command]})},
        {"type": "function_call_output", "call_id": call,
         "output": json.dumps({"output": output, "metadata": {"exit_code": 0}})},
    ]  # fmt: skip
    if remark:
        content = [{"type": "output_text", "text": remark}]
        payloads.insert(0, {"type": "message", "role": "assistant", "content": content})
    stamp = before.get("timestamp", "")
    return [{"timestamp": stamp, "type": "response_item", "payload": payload} for payload in payloads]


def _claude_code(
    before: dict[str, Any], number: int, remark: str, command: str, output: str
) -> list[dict[str, Any]]:
    envelope = {key: value for key, value in before.items() if key in _ENVELOPE}
    call = f"filler{number}"
    said = [{"type": "text", "text": remark}] if remark else []
    use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": False}
    lines = [
        {"type": "assistant", "message": {"id": f"f{number}", "role": "assistant", "content": [block]}}
        for block in (*said, use)
    ]
    lines.append(
        {
            "type": "user",
            "message": {"role": "user", "content": [result]},
            "toolUseResult": {"stdout": output},
        }
    )
    return [{**envelope, **line} for line in lines]


_ENVELOPE = ("isSidechain", "agentId", "sessionId", "cwd", "timestamp", "version")
