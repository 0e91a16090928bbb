"""The state of an agent's conversation during reading: its turns, edits, checks and candidates."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from .candidates import MAX_CANDIDATES, Candidate, best, candidate_of, folded, without_overlaps
from .entry import Recent, TranscriptEntry
from .outcomes import (
    MAX_FILES,
    CheckResult,
    changes_files,
    check_of,
    files_of,
    is_among,
    is_check,
    is_source,
    taken_back,
    telling_line,
)
from .sentences import MAX_TEXT, Voice
from .statements import complains, statements_in

_MAX_USER_TEXT = 3_000
"""Maximum characters of a message that are read; what follows is pasted."""
_SURE = 0.8
"""Minimum probability of a decision of which no change is known."""


class ConversationTurn(Struct):
    """The events since the user's last message."""

    number: int = 0
    edited: Recent[str, None] = field(default_factory=Recent)
    read: set[str] = field(default_factory=set)
    changed: bool = False
    check: CheckResult | None = None
    """The last check since the last edit."""
    candidates: list[Candidate] = field(default_factory=list)
    open: list[Candidate] = field(default_factory=list)
    """Candidates from the agent's last words, to which the following edits belong."""
    reported: bool = False
    source_edited: bool = False
    """Source files (neither tests nor prose) were edited."""
    just_edited: bool = False
    """They were edited since the agent's last words."""
    complaint: bool = False
    """The user asked about a fault."""

    def settle(self) -> None:
        """Drop those of the last words that the events after them don't make likely."""
        dropped = {id(candidate) for candidate in self.open if not candidate.is_likely}
        self.candidates = [each for each in self.candidates if id(each) not in dropped]
        self.candidates = without_overlaps(self.candidates)[-MAX_CANDIDATES:]
        self.open = []

    def events(self) -> set[str]:
        """Return what happened before the agent's last words, as evidence."""
        found = {
            "source was edited": self.source_edited,
            "just edited": self.just_edited,
            "complaint": self.complaint,
            "complaint, before any edit": self.complaint and not self.source_edited,
        }
        return {event for event, happened in found.items() if happened}


def judge(candidate: Candidate, check: CheckResult | None) -> None:
    """Set a candidate's outcome from the last check after the edits, and from its own words."""
    kind, features = candidate.statement.kind, candidate.statement.features
    if kind == "standing":
        return
    if kind == "attempt" and "undone" in features:
        candidate.outcome, candidate.error = "reverted", ""
    elif kind == "attempt":
        candidate.outcome = "failure"
    elif check:
        candidate.outcome, candidate.error = ("success", "") if check.passed else ("failure", check.error)
    else:
        candidate.error = ""


class AgentConversation:
    """An agent's part of a transcript, read entry by entry."""

    def __init__(self) -> None:
        self._turn = ConversationTurn()
        self._earlier: list[Candidate] = []
        self._said: list[TranscriptEntry] = []
        """The agent's last words, until it is known whether it continues."""
        self._waiting: Recent[str, TranscriptEntry] = Recent()
        """Calls without a result yet, by id."""
        self._failure = ""
        """Failures since the agent's last words."""
        self._uncommitted: Recent[str, None] = Recent()
        """Files edited since the last undo."""
        self._changed = self._called = False

    def add(self, entry: TranscriptEntry) -> None:
        """Process the next entry."""
        match entry.kind:
            case "agent":
                if sum(len(entry.text) for entry in self._said) < MAX_TEXT:
                    self._said.append(entry)
            case "handback":
                self._speak("narration")
                self._said = [entry]
                self._speak("report")
            case "boundary":
                self._speak("narration")
                self._said = [entry]
                self._speak("summary")
            case "call":
                self._speak("narration")
                self._call(entry)
            case "result":
                self._result(entry)
            case "user":
                self._user(entry)
            case _:
                pass

    def conclude(self) -> list[Candidate]:
        """Return the final candidates in order; no further entries may be added."""
        self._speak("report")
        self._end_turn()
        return folded(self._earlier)

    def _user(self, entry: TranscriptEntry) -> None:
        finished = bool(self._said) or self._turn.reported
        self._speak("report")
        if finished:
            self._end_turn()
        self._turn.complaint = complains(entry.text[:_MAX_USER_TEXT])
        if entry.sidechain:
            return
        for statement in statements_in(entry.text[:_MAX_USER_TEXT], "user"):
            self._turn.candidates.append(candidate_of(statement, "user", self._turn.number, entry))
        del self._turn.candidates[:-MAX_CANDIDATES]

    def _speak(self, voice: Voice) -> None:
        """Process the agent's last words as a report or as narration, now that it is known which."""
        if not self._said:
            return
        turn = self._turn
        turn.settle()
        for entry in self._said:
            for statement in statements_in(entry.text, voice):
                candidate = candidate_of(statement, voice, turn.number, entry)
                candidate.events = turn.events()
                if voice == "report" and (entry.agent_id or not self._called):
                    candidate.events.add("source was edited")  # all that is left of the work
                if self._failure and voice == "narration":
                    candidate.events.add("something failed before it")
                    candidate.error = self._failure
                turn.candidates.append(candidate)
                turn.open.append(candidate)
        turn.reported = voice == "report"
        turn.just_edited = False
        self._said, self._failure = [], ""

    def _call(self, entry: TranscriptEntry) -> None:
        self._called = True
        if entry.tool in ("edit", "write") and not entry.call_id:
            self._edit(entry.paths)
        elif entry.tool == "agent":
            self._changed = self._turn.changed = self._turn.source_edited = True
        elif entry.tool == "run":
            self._run(entry)
        elif entry.tool == "read":
            self._turn.read.update(entry.paths)
        self._waiting.note(entry.call_id, entry)

    def _edit(self, paths: Sequence[str]) -> None:
        turn = self._turn
        turn.changed = self._changed = True
        turn.check = None
        if is_source(paths):
            turn.source_edited = turn.just_edited = True
            for candidate in turn.open:
                candidate.events.add("edited next")
        for candidate in turn.candidates:
            candidate.confirmed = True
        for candidate in turn.open:
            candidate.near += [path for path in paths if path not in candidate.near][:MAX_FILES]
        for known in (turn.edited, self._uncommitted):
            for path in paths:
                known.pop(path, None)
                known.note(path, None)

    def _run(self, entry: TranscriptEntry) -> None:
        if (paths := taken_back(entry.command)) is not None:
            self._take_back(paths or tuple(self._uncommitted))
        elif changes_files(entry.command):
            self._edit(entry.paths)

    def _take_back(self, paths: Sequence[str]) -> None:
        for candidate in (*self._earlier, *self._turn.candidates):
            if candidate.voice == "narration" and not candidate.confirmed:
                continue  # it announces the following text
            files = candidate.files or self._files(candidate)
            if candidate.voice != "user" and any(is_among(path, paths) for path in files):
                candidate.outcome, candidate.error = "reverted", ""
                candidate.files = files
        for path in paths:
            self._uncommitted.pop(path, None)

    def _result(self, entry: TranscriptEntry) -> None:
        if not entry.call_id:
            # Plain text holds the output of tools, not their calls: they may have changed files.
            self._edit(())
            return
        call = self._waiting.pop(entry.call_id, None)
        if call is None:
            return
        if call.tool in ("edit", "write"):
            if not entry.failed:  # a refused or failed edit changed nothing
                self._edit(call.paths)
        elif call.tool == "run" and is_check(call.command):
            self._turn.check = check_of(entry.text, failed=entry.failed)
            self._failure = self._turn.check.error
        elif call.tool == "run" and entry.failed:
            self._failure = telling_line(entry.text)

    def _end_turn(self) -> None:
        turn = self._turn
        turn.settle()
        for candidate in filter(self._holds, turn.candidates):
            candidate.files = candidate.files or self._files(candidate)
            if candidate.outcome == "":
                judge(candidate, turn.check if turn.changed else None)
            self._earlier.append(candidate)
        self._earlier = best(folded(self._earlier), MAX_CANDIDATES)
        self._turn = ConversationTurn(turn.number + 1)

    def _holds(self, candidate: Candidate) -> bool:
        """Whether anything came of a candidate: without a change nothing was decided."""
        if candidate.voice == "user":
            return True
        is_finding = (
            candidate.statement.kind == "cause"
            and candidate.voice == "report"
            and "contrast" not in candidate.statement.features
        )
        if candidate.voice == "narration":
            return candidate.confirmed or self._turn.changed
        if not self._called or not (self._changed or is_finding):
            # Plain text has no calls. A subagent that explores or reviews edits nothing, and its report is
            # all that is left of it.
            is_all = not self._called or (candidate.entry.agent_id and candidate.statement.kind == "choice")
            return is_finding or (bool(is_all) and candidate.probability >= _SURE)
        return True

    def _files(self, candidate: Candidate) -> tuple[str, ...]:
        if candidate.voice == "user":
            return ()
        # The only file that was read is the only one that it can be about.
        edited, read = tuple(self._turn.edited), tuple(self._turn.read)
        near = tuple(candidate.near) or edited or (read if len(read) == 1 else ())
        return files_of(candidate.statement.source, edited or read, near)
