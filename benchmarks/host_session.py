"""A host's conversation as its hooks see it, and the text that they bring for the model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from foveal.ipc.client import Client

HOST = "claude-code"

DEADLINE_MS = 60_000
"""Over the socket no prompt goes without its context for want of time."""

PROGRAM_S = 60.0
"""Seconds after which a hook hangs; Claude Code waits for 30 s."""

Hook = Callable[[Mapping[str, Any]], str]
"""Takes an event's payload and returns what the hook prints."""


def over_socket(client: Client) -> Hook:
    """Send events as the hook program does, with all the time that an answer takes."""

    def answer(payload: Mapping[str, Any]) -> str:
        given = {"host": HOST, "payload": payload, "deadline_ms": DEADLINE_MS}
        output = client.call("HookEvent", given, DEADLINE_MS / 1000)["output"]
        return str(output or "")

    return answer


def by_program(command: Sequence[str], environ: Mapping[str, str]) -> Hook:
    """Run the hook program as a host does: an answer that is late is none. `command` is foveal's."""

    def answer(payload: Mapping[str, Any]) -> str:
        done = subprocess.run(
            [*command, "hook", HOST],
            input=json.dumps(payload),
            env=dict(environ),
            cwd=payload["cwd"],
            capture_output=True,
            text=True,
            timeout=PROGRAM_S,
            check=False,
        )
        return done.stdout

    return answer


class HostSession:
    """One conversation of Claude Code. Each method returns the text that the model gets, often none."""

    def __init__(self, hook: Hook, root: Path, session_id: str) -> None:
        self._hook = hook
        self._about = {"session_id": session_id, "cwd": str(root)}

    def start(self) -> str:
        """Begin."""
        return self._send("SessionStart", source="startup")

    def prompt(self, text: str) -> str:
        """Send what a person wrote."""
        return self._send("UserPromptSubmit", prompt=text)

    def ran(self, command: str, output: str) -> str:
        """Tell of a command that the agent ran in its shell."""
        response = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        return self._send(
            "PostToolUse", tool_name="Bash", tool_input={"command": command}, tool_response=response
        )

    def end(self) -> None:
        """End."""
        self._send("SessionEnd", reason="other")

    def _send(self, name: str, **fields: Any) -> str:
        output = self._hook(self._about | {"hook_event_name": name} | fields)
        specific = json.loads(output or "{}").get("hookSpecificOutput", {})
        return str(specific.get("additionalContext", ""))
