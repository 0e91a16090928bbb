"""Claude Code's transcripts: the records, tool calls and rewinds of its JSON Lines as entries.

The format isn't documented, so nothing is assumed and unknown records are skipped. A file is the conversation
of an agent, or of a subagent (`agent-<id>.jsonl`, all of it `isSidechain` with the same `agentId`). Older
versions wrote subagents' records between those of their parent, marked by `sidechain`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from .entry import (
    TOOLS,
    Recent,
    Record,
    TranscriptEntry,
    TranscriptReader,
    call_of,
    map_at,
    maps_at,
    parts_at,
    record_of,
    text_at,
)
from .injections import said
from .transcript_file import Line

HANDBACK = "SubagentHandback"
PLAN = "ExitPlanMode"

_EXIT_CODE = re.compile(r"\A\s*Exit code (-?\d+)\b")


def has_failed(block: Record, outcome: object) -> bool:
    """Whether a result is an error: by the host's flag, a command's exit code, or an interruption."""
    if block.get("is_error") is True:
        return True
    if isinstance(outcome, dict) and outcome.get("interrupted") is True:
        return True
    content = parts_at(block, "content")
    found = _EXIT_CODE.match(content[0][:40]) if content else None
    return found is not None and found[1] != "0"


def report_of(outcome: object) -> tuple[str, str] | None:
    """Return the id and the final report of a subagent that ended; None for a subagent that continues."""
    if not isinstance(outcome, dict) or text_at(outcome, "status") != "completed":
        return None
    report = "\n\n".join(parts_at(outcome, "content"))
    return (text_at(outcome, "agentId"), report) if report else None


_CHAIN = frozenset({"user", "assistant", "system", "attachment", "progress"})
"""Types of records of the conversation; the others are the host's own bookkeeping."""
_SYNTHETIC = "<synthetic>"
PROMPTS_MAX = 100_000
"""Maximum number of prompts compared; the longest conversations have some thousand."""


def prompt_of(record: Record) -> str:
    """Return the words of a person, or of a subagent's parent, in a record; "" for other records."""
    if (
        text_at(record, "type") != "user"
        or record.get("isMeta") is True
        or record.get("isCompactSummary") is True
        or "toolUseResult" in record
    ):
        return ""
    message = map_at(record, "message")
    if any(text_at(part, "type") == "tool_result" for part in maps_at(message, "content")):
        return ""
    return said("\n".join(parts_at(message, "content")))


class ClaudeCodeReader(TranscriptReader):
    """Reads a transcript. The blocks of a message may be spread over several records, which share its id."""

    source = "claude-code"

    def __init__(self) -> None:
        super().__init__()
        self._begun = False
        self._seen: Recent[int, None] = Recent()

    @staticmethod
    def recognises(record: Record) -> bool:
        """Whether a record is one of Claude Code's conversations."""
        is_known = text_at(record, "type") in _CHAIN and "uuid" in record
        return is_known and ("sessionId" in record or "isSidechain" in record)

    @staticmethod
    def rewinds(lines: Iterable[Line]) -> Iterator[range]:
        """Yield the lines that rewinds abandoned; only lines that may hold a prompt are parsed.

        After a rewind the file still holds the abandoned turns. The new prompt has the same parent as the
        prompt that it replaces; the abandoned turn is between the two.
        """
        first: dict[tuple[str, str], int] = {}
        for line in lines:
            if line.data is None or b'"user"' not in line.data or b'"tool_result"' in line.data:
                continue
            record = record_of(line.data)
            if record is None or not (parent := text_at(record, "parentUuid")) or not prompt_of(record):
                continue
            key = (text_at(record, "agentId"), parent)
            if key in first:
                yield range(first[key], line.number)
            if key in first or len(first) < PROMPTS_MAX:
                first[key] = line.number

    def entries_of(self, line: int, record: Record) -> list[TranscriptEntry]:
        """Return the entries of a record."""
        kind = text_at(record, "type")
        blank = self._blank(line, record) if kind in _CHAIN else TranscriptEntry("agent", line)
        if kind == "assistant":
            return self._assistant(blank, record)
        if kind == "user":
            return self._user(blank, record)
        if kind == "attachment":
            return self._attachment(blank, record)
        return []

    def _assistant(self, blank: TranscriptEntry, record: Record) -> list[TranscriptEntry]:
        message = map_at(record, "message")
        if record.get("isApiErrorMessage") is True or message.get("model") == _SYNTHETIC:
            return []
        entries: list[TranscriptEntry] = []
        blocks = maps_at(message, "content")
        if not blocks and (text := text_at(message, "content")):
            blocks = [{"type": "text", "text": text}]
        for block in blocks:
            kind = text_at(block, "type")
            # Some versions rewrite a message as it grows: each block counts once.
            key = hash((text_at(message, "id"), kind, text_at(block, "id", "text")))
            if "id" in message and key in self._seen:
                continue
            self._seen.note(key, None)
            if kind == "text":
                entries += blank.message("agent", said(text_at(block, "text")))
            elif kind == "tool_use":
                entries += self._call(blank, block)
        return entries

    def _call(self, blank: TranscriptEntry, block: Record) -> list[TranscriptEntry]:
        name, call_id, given = text_at(block, "name"), text_at(block, "id"), map_at(block, "input")
        if name == HANDBACK:
            self._calls.note(call_id, "own")
            return blank.message("handback", said(text_at(given, "message")))
        call = call_of(TOOLS.get(name, "other"), given, "file_path", "notebook_path")
        plan = said(text_at(given, "plan")) if name == PLAN else ""
        return [*blank.message("agent", plan), *self.called(blank, name, call_id, call)]

    def _user(self, blank: TranscriptEntry, record: Record) -> list[TranscriptEntry]:
        entries: list[TranscriptEntry] = []
        message = map_at(record, "message")
        if record.get("isCompactSummary") is True:
            summary = said("\n".join(parts_at(message, "content")))
            return blank.message("boundary", summary)
        if prompt := prompt_of(record):
            return blank.message("user", prompt)
        for block in maps_at(message, "content"):
            if text_at(block, "type") == "tool_result":
                entries += self._result(blank, record, block)
        return entries

    def _result(self, blank: TranscriptEntry, record: Record, block: Record) -> list[TranscriptEntry]:
        call_id, outcome = text_at(block, "tool_use_id"), record.get("toolUseResult")
        if report := report_of(outcome):
            agent_id, text = report
            blank = replace(blank, agent_id=agent_id or blank.agent_id, call_id=call_id, sidechain=True)
            return blank.message("handback", said(text))
        output = "\n".join(parts_at(block, "content"))
        return self.ended(blank, call_id, output, failed=has_failed(block, outcome))

    def _attachment(self, blank: TranscriptEntry, record: Record) -> list[TranscriptEntry]:
        """Add a prompt that was typed while the agent worked, without text of hooks and hosts."""
        attachment = map_at(record, "attachment")
        if (
            text_at(attachment, "type") != "queued_command"
            or attachment.get("commandMode", "prompt") != "prompt"
        ):
            return []
        return blank.message("user", said("\n".join(parts_at(attachment, "prompt"))))

    def _blank(self, line: int, record: Record) -> TranscriptEntry:
        """Return an entry with what all entries of a record share; the first record names the owner."""
        agent_id, is_sidechain = text_at(record, "agentId"), record.get("isSidechain") is True
        if not self._begun:
            self._begun = True
            self.owner = agent_id if is_sidechain else ""
            self.cwd = text_at(record, "cwd")
        return TranscriptEntry(
            "agent",
            line,
            at=text_at(record, "timestamp"),
            agent_id=agent_id,
            session_id=text_at(record, "sessionId"),
            sidechain=is_sidechain and not (self.owner and agent_id == self.owner),
        )
