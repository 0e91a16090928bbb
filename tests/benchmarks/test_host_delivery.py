"""What a host's requests must show of foveal: a context beside its prompt, none for talk, no complaint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from foveal.benchmarks.hosts.delivery import START, Check, Sent, deliveries
from foveal.benchmarks.hosts.model_server import WIRES
from foveal.benchmarks.hosts.script import Request

TASK, TALK = "Where does GZipDecoder flush?", "yes, continue"
FILE = "httpx/_decoders.py"
BEGINNING = f"<foveal-context>\n{START}\n\n`{FILE}` was open last.\n</foveal-context>"
CONTEXT = f"<foveal-context>\n# PROJECT CONTEXT\n\n### `{FILE}`\n</foveal-context>"

Body = dict[str, Any]


def as_claude_code(turns: Sequence[tuple[str, str, str]], beginning: str) -> Body:
    """Return a request as Claude Code sends it: what hooks print stands in a system message after the prompt."""
    messages: list[Body] = []
    for number, (prompt, context, answer) in enumerate(turns):
        messages.append({"role": "user", "content": [{"type": "text", "text": prompt}]})
        hooks = [text for text in ("" if number else beginning, context) if text]
        if hooks:
            said = "\n".join(f"UserPromptSubmit hook additional context: {text}" for text in hooks)
            messages.append({"role": "system", "content": said})
        if answer:
            messages.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
    return {"system": "You are an agent.", "messages": messages, "tools": [{"name": "Read"}]}


def as_codex(turns: Sequence[tuple[str, str, str]], beginning: str) -> Body:
    """Return a request as Codex sends it: each hook's text is a message, a session's start before the prompt."""
    items: list[Body] = [message("developer", beginning)] if beginning else []
    for prompt, context, answer in turns:
        items.append(message("user", prompt))
        if context:
            items.append(message("developer", context))
        if answer:
            items.append(message("assistant", answer))
    return {"instructions": "You are an agent.", "input": items, "tools": [{"name": "exec"}]}


def message(role: str, text: str) -> Body:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


HOSTS: Mapping[str, Any] = {
    "/messages": as_claude_code,
    "/responses": as_codex,
}


def checked(
    wire: str,
    beginning: str = BEGINNING,
    for_task: str = CONTEXT,
    for_talk: str = "",
    output: str = "hook: UserPromptSubmit Completed\nDone.\n",
) -> dict[str, Check]:
    """Check a session of three prompts, of which the first is about something else, by its requests."""
    turns = [("What is this?", "", "A client."), (TASK, for_task, "There."), (TALK, for_talk, "")]
    sent = []
    for prompt, file, until in ((TASK, FILE, 2), (TALK, "", 3)):
        system, messages, tools = WIRES[wire][0](HOSTS[wire](turns[:until], beginning))
        requests = [Request(0.0, wire, system, tuple(messages), tuple(tools))]
        sent.append(Sent(prompt, file, requests, output))
    checks = {check.name: check for check in deliveries(sent)}
    assert checks.keys() == {BESIDE, TALK_NONE, PRINTED}
    return checks


BESIDE, TALK_NONE, PRINTED = "context beside its prompt", "talk brings nothing", "no complaint is printed"


def failed(checks: Mapping[str, Check]) -> set[str]:
    return {name for name, check in checks.items() if not check.ok}


@pytest.mark.parametrize("wire", HOSTS)
def test_session_as_it_should_be_passes(wire: str) -> None:
    assert failed(checked(wire)) == set()


@pytest.mark.parametrize("wire", HOSTS)
def test_hook_that_prints_nothing_fails(wire: str) -> None:
    assert failed(checked(wire, beginning="", for_task="")) == {BESIDE}
