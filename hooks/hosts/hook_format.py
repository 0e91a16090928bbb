"""The format of a host's hooks: how payloads are read as events, and how answers are written.

Claude Code made the format common: Codex, Gemini, VS Code, OpenCode and Qwen Code use it too. Others call the
same fields by other names, and no name means one thing here and another there, so each is looked for under
all of its names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from .events import Event, EventKind, Origin
from .fields import Fields, typed
from .hook_answer import NO_OUTPUT, HookAnswer, OutputLimit, json_line, without_angles
from .tool_uses import READING, tool_use

CLAUDE_KINDS: Mapping[str, EventKind] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "announce",
    "PostToolUse": "edit",
    "SubagentStart": "subagent",
    "SubagentStop": "subagent_end",
    "Stop": "turn_end",
    "StopFailure": "turn_end",
    "Notification": "turn_end",
    "PreCompact": "compacting",
    "SessionEnd": "end",
}
"""Claude Code's events by their names."""

CAMEL_CASE_KINDS: Mapping[str, EventKind] = {
    name[0].lower() + name[1:]: kind for name, kind in CLAUDE_KINDS.items()
}
"""The same names in camel case, as Cursor and Copilot have them."""

PERSONS = frozenset(("", "user", "sdk"))
"""Sources of prompts that a person wrote; the others are wake-ups and messages of other agents."""

HAND_BACK = "<task-notification>"
"""The beginning of a prompt with which a background subagent reports."""

SUBAGENT = "subagent"
"""The type of a subagent whose host doesn't tell it, as OpenCode."""

AGENT_TOOLS = frozenset(("Agent", "Task", "spawn_agent", "collaborationspawn_agent"))
PATCH_TOOL = "apply_patch"
EDITING_TOOLS = frozenset(
    (
        *("Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "replace", "edit", "create"),
        *("str_replace_editor", "editFiles", "createFile", "replace_string_in_file", "create_file"),
        *("Create", "fs_write"),
    )
)

PATHS_MAX = 100
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)
_VERSION = re.compile(r"[0-9]{1,9}(?![0-9])(?:\.[0-9]{1,9}(?![0-9]))*")
_APPLIED = re.compile(r"(?m)(?:^|\")(?:Success|Done)\b")


class HookFormat(Struct, frozen=True, kw_only=True):
    """The format of a host's hooks.

    `kinds` are the events that foveal uses. `limits` holds those whose answer may contain text for the model.
    With `replays` a resumed session of the host still has the injected texts. `default_agent` is the type of
    a subagent that is announced without one. `escapes` says that the host turns angle brackets in texts into
    entities, so that there may be none; `shows_messages` that its user sees messages. `answer_key` is the
    field for the text in the answer to an event in camel case, and `answer_also` are fields beside it, by
    event. `own_answer` writes the answer of a host with a form of its own, given the event's name and the
    text. `since` is the first version of the host that takes text for an event. `translated` returns an event
    whose fields no other host has, in Claude Code's words. `refine` changes what is the host's own in an
    event, or returns None for an event that foveal doesn't use.
    """

    host: str
    kinds: Mapping[str, EventKind]
    limits: Mapping[str, OutputLimit] = field(default_factory=dict)
    replays: bool = True
    default_agent: str = ""
    escapes: bool = False
    shows_messages: bool = True
    seeks_prompts: bool = False
    """Whether events of tools have the transcript's path, since the host may announce no prompts."""
    answer_key: str = ""
    answer_also: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    since: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    own_answer: Callable[[str, str], str] | None = None
    translated: Callable[[str, Fields], tuple[str, Fields]] = lambda name, fields: (name, fields)
    refine: Callable[[Event, Fields], Event | None] = lambda event, fields: event

    def limit(self, event_name: str, version: str = "") -> OutputLimit:
        """Return the maximum text for the model in the answer to an event of a version of the host ("" if it
        isn't known, which counts as an old one)."""
        if parts_of(version) < self.since.get(event_name, ()):
            return NO_OUTPUT
        return self.limits.get(event_name, NO_OUTPUT)

    def read(self, fields: Fields, name: str, cwd: str) -> Event | None:
        """Return the event of a payload, None for an event that foveal doesn't use.

        `name` is the event's as the host writes it; `cwd` is used if the payload names no folder.
        """
        own_name, (name, fields) = name, self.translated(name, fields)
        kind = self.kinds.get(name)
        if kind is None:
            return None
        event = _event(kind, _origin(self.host, kind, fields, cwd), fields, self)
        if event is not None and event.kind == "edit" and not event.paths and own_name not in self.limits:
            return None  # only hosts that take text after a tool are answered then
        return event and self.refine(event, fields)

    def write(self, name: str, answer: HookAnswer) -> str:
        """Return the text to print, "" for none."""
        context = without_angles(answer.context) if self.escapes else answer.context
        if self.own_answer:
            return self.own_answer(name, context) if context else ""
        if self.answer_key and name[:1].islower():
            also = self.answer_also.get(name, {})
            return json_line({**also, self.answer_key: context} if context else {})
        output: dict[str, object] = {}
        if answer.message and self.shows_messages:
            output["systemMessage"] = answer.message
        if context:
            output["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": context}
        return json_line(output)


def parts_of(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, none for an unknown one, which is then older than any."""
    found = _VERSION.match(version)
    return tuple(map(int, found[0].split("."))) if found else ()


def _origin(host: str, kind: EventKind, fields: Fields, cwd: str) -> Origin:
    parent = fields.text("parent_session_id", "parent_conversation_id", "parentAgentId")
    agent_type = fields.text("subagent_type", "agentName", "agentType", "agent_name", "agent_type")
    own = fields.text("conversation_id", "session_id", "sessionId")
    moment = fields.text(
        *(("prompt_id", "generation_id") if kind == "prompt" else ("tool_use_id", "toolCallId"))
    )
    return Origin(
        host=host,
        session_id=parent or own,
        cwd="".join(fields.texts("workspace_roots")[:1]) or fields.text("cwd") or cwd,
        agent_id=fields.text("agent_id", "agentId", "subagent_id") or (own if parent else ""),
        agent_type=agent_type or (SUBAGENT if parent else ""),
        moment=moment or fields.digest(),
        at_ms=0 if moment else fields.milliseconds("timestamp"),  # an id tells events apart better
    )


def _event(kind: EventKind, origin: Origin, fields: Fields, form: HookFormat) -> Event | None:
    given = fields.part("tool_input", "toolArgs")
    transcript = fields.text("transcript_path", "transcriptPath")
    match kind:
        case "start":
            source = fields.text("source", "trigger")
            if source in {"resume", "fork"} and form.replays:
                return Event("resume", origin, is_fork=source == "fork")
            prompt = fields.text("initialPrompt", "initial_prompt")
            return Event("restart" if source in {"resume", "fork", "compact"} else "start", origin, prompt)
        case "prompt":
            prompt = typed(fields.text("prompt"))
            by_person = fields.text("source") in PERSONS and not prompt.startswith(HAND_BACK)
            return Event("prompt", origin, prompt, by_person)
        case "announce" if fields.text("tool_name") in AGENT_TOOLS:
            agent_type = given.text("subagent_type", "agent_type") or form.default_agent
            task = given.text("message", "prompt", "task", "description")
            return Event("announce", origin, task, agent_type=agent_type)
        case "edit":
            edit = _edit(origin, fields, given)
            return replace(edit, transcript_path=transcript) if form.seeks_prompts else edit
        # Subagents without a type are the host's own, such as side questions and prompt suggestions.
        case "subagent" if origin.agent_type:
            return Event("subagent", origin, fields.text("task", "prompt"), transcript_path=transcript)
        case "subagent_end" if origin.agent_type:
            # `transcript_path` is the parent's, so only the subagent's own path counts.
            path = fields.text("agent_transcript_path", "agentTranscriptPath", "transcriptPath")
            report = fields.text("last_assistant_message", "response", "summary", "description")
            return Event("subagent_end", origin, transcript_path=path, report=report)
        case "turn_end" if fields.text("notification_type") not in {"", "idle_prompt"}:
            return None
        case "turn_end" | "end" if not origin.agent_id:  # else its parent continues
            return Event(kind, origin, transcript_path=transcript)
        case "compacting" | "moved":
            return Event(kind, origin)
    return None


def _edit(origin: Origin, fields: Fields, given: Fields) -> Event:
    tool = fields.text("tool_name", "toolName")
    path = given.text("file_path", "notebook_path", "absolute_path", "path", "filePath", "target_file")
    paths: tuple[str, ...] = (path,) if path and tool in EDITING_TOOLS else ()
    if tool == PATCH_TOOL:
        response = fields.text("tool_response")
        # Of an applied patch the output begins with `Success`, below its header.
        paths = patched_paths(given) if not response or _APPLIED.search(response) else ()
    elif fields.part("tool_response").has("error"):
        paths = ()
    elif not tool:
        paths = (fields.text("file_path"),) if fields.text("file_path") else ()
    read = (path,) if path and tool.lower() in READING else ()
    return Event("edit", origin, paths=paths, read=read, use=None if paths else tool_use(fields))


def patched_paths(given: Fields) -> tuple[str, ...]:
    """Return the files that a patch names, without duplicates; the patch is one of the call's texts."""
    found = [path for text in given.strings() for path in _PATCHED.findall(text)]
    return tuple(dict.fromkeys(found))[:PATHS_MAX]
