"""What the scripted model answers: for each prompt a list of steps, and each host's own calls for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct


class Say(Struct, frozen=True):
    """A text that ends the turn. `tokens` is the size of the window that the model claims."""

    text: str
    tokens: int = 0


class Read(Struct, frozen=True):
    """Read a file of the project."""

    path: str


class Edit(Struct, frozen=True):
    """Replace `old` by `new` in a file of the project."""

    path: str
    old: str
    new: str


class Delegate(Struct, frozen=True):
    """Start a subagent and wait for it. With `reads_only` the host's kind that only looks around."""

    task: str
    reads_only: bool = False


class Wait(Struct, frozen=True):
    """Wait for the subagent, in hosts whose call to start one doesn't."""


class Mcp(Struct, frozen=True):
    """Call one of foveal's MCP tools."""

    tool: str
    arguments: Mapping[str, Any]


class Command(Struct, frozen=True):
    """Run a command in the shell."""

    text: str


Step = Say | Read | Edit | Delegate | Wait | Mcp | Command
Script = Mapping[str, "Sequence[Step] | Callable[[Request], Step]"]
"""The steps by prompt, or what chooses the next one. A prompt is recognized anywhere in a user's message."""


class Call(Struct, frozen=True):
    """A tool call as a host takes it. `is_custom` is a call of the Responses format with free text."""

    name: str
    arguments: Mapping[str, Any]
    namespace: str = ""
    is_custom: bool = False
    text: str = ""

    @property
    def json(self) -> str:
        """The arguments as JSON."""
        return json.dumps(self.arguments)


class Message(Struct, frozen=True):
    """A message of a request: its role, its text, and the number of tool calls in it."""

    role: str
    text: str
    calls: int = 0


class Request(Struct, frozen=True):
    """A host's request to the model, in all wire formats alike."""

    at: float
    path: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    answer: str = ""

    @property
    def text(self) -> str:
        """Everything that the model reads, but for the tools."""
        return "\n".join([self.system, *(message.text for message in self.messages)])

    def prompt_in(self, script: Script) -> tuple[str, int]:
        """Return the last prompt of a script in this request and the number of its done steps, or ""."""
        calls = 0
        for message in reversed(self.messages):
            if message.role != "assistant":
                found = [(message.text.rfind(prompt), prompt) for prompt in script]
                at, prompt = max(found, default=(-1, ""))
                if at >= 0:
                    return prompt, calls
            calls += message.calls
        return "", 0


def next_step(script: Script, request: Request) -> Step:
    """Return the model's next step; requests of the host for itself (titles, summaries) get a short text."""
    prompt, done = request.prompt_in(script)
    steps = script.get(prompt, ())
    if not request.tools or not prompt:
        return Say("A conversation about httpx.")
    if callable(steps):
        return steps(request)
    return steps[done] if done < len(steps) else Say("Done.")
