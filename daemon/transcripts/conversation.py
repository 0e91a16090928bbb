"""The state of an agent's conversation during reading: its turns, edits, checks and candidates."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct, field

from .candidates import MAX_CANDIDATES, Candidate, best, candidate_of, folded, telling_words, without_overlaps
from .entry import Entry
from .outcomes import (
    MAX_FILES,
    CheckResult,
    changes_files,
    check_of,
    commits,
    files_of,
    is_among,
    is_check,
    is_prose_file,
    is_source,
    taken_back,
    telling_line,
)
from .sentences import MAX_TEXT, Voice
from .statements import complains, statements_in

_FEW_WORDS = 3
"""Minimum telling words of a new request; a shorter prompt, such as `ok`, requests nothing new."""
_MAX_EDITED = 400
"""Maximum number of edited files kept for a turn and for a commit, the latest ones."""
_MAX_WAITING = 200
"""Maximum number of calls waiting for their results."""
_SHARE_AS_ASKED = 0.6
"""Minimum share of telling words shared with the user's request for a statement to repeat it."""
_EDITED = re.compile(
    r"(?i)^\W*(?:\w+ ){0,3}?(?:edited|wrote|written|updated|created|modified|patched|applied|saved|changed)\b"
)
"""The beginnings of outputs that report an edit without a call."""
_MAX_USER_TEXT = 3_000
"""Maximum characters of a typed message; a longer one is pasted."""
_INTERRUPTED = "[Request interrupted"
_SURE = 0.8
"""Minimum probability of a decision of which no change is known."""


class Turn(Struct):
    """The events since the user's last message."""

    number: int = 0
    edited: dict[str, None] = field(default_factory=dict)
    read: dict[str, None] = field(default_factory=dict)
    changed: bool = False
    taken_back: tuple[str, ...] = ()
    """The last undo by git."""
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
    asked: frozenset[str] = frozenset()
    """Telling words of the user's request."""

    def settle(self) -> None:
        """Drop those of the last words that the events after them don't make likely."""
        dropped = {id(candidate) for candidate in self.open if not candidate.is_likely}
        self.candidates = [each for each in self.candidates if id(each) not in dropped]
        self.candidates = without_overlaps(self.candidates)[-MAX_CANDIDATES:]
        self.open = []

    def events(self, candidate: Candidate) -> set[str]:
        """Return what happened before a candidate, as evidence."""
        found = {
            "source was edited": self.source_edited,
            "just edited": self.just_edited,
            "complaint": self.complaint,
            "complaint, before any edit": self.complaint and not self.source_edited,
            "as asked": len(candidate.words & self.asked) >= _SHARE_AS_ASKED * len(candidate.words),
        }
        return {event for event, happened in found.items() if happened}


def judge(candidate: Candidate, check: CheckResult | None) -> None:
    """Set a candidate's outcome from the last check after the edits, and from its own words."""
    kind, features = candidate.statement.kind, candidate.statement.features
    if kind == "standing":
        return
    if kind == "attempt" and "undone" in features:
        candidate.outcome, candidate.error = "reverted", ""
    elif kind == "attempt" and "replacement" not in features:
        candidate.outcome = "failure"
    elif check:
        candidate.outcome, candidate.error = ("success", "") if check.passed else ("failure", check.error)
    else:
        candidate.error = ""


def with_one_cause(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates of a turn without causes that a check refuted, if a later one is as probable."""
    causes = [candidate for candidate in candidates if candidate.statement.kind == "cause"]
    dropped = {
        id(cause)
        for at, cause in enumerate(causes)
        if cause.refuted and any(cause.probability <= later.probability for later in causes[at + 1 :])
    }
    return [candidate for candidate in candidates if id(candidate) not in dropped]


class AgentConversation:
    """An agent's part of a transcript, read entry by entry."""

    def __init__(self) -> None:
        self._turn = Turn()
        self._earlier: list[Candidate] = []
        self._said: list[Entry] = []
        """The agent's last words, until it is known whether it continues."""
        self._waiting: dict[str, Entry] = {}
        """Calls without a result yet, by id."""
        self._failure = ""
        """Failures since the agent's last words."""
        self._uncommitted: dict[str, None] = {}
        self._committed: dict[str, None] = {}
        self._changed = self._called = False
        self._asked_before: tuple[frozenset[str], bool] = (frozenset(), False)
        """Telling words of the last request that was more than `continue`, and whether it complained."""
        self._last: Entry | None = None

    def add(self, entry: Entry) -> None:
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
                return
        if entry.kind != "result":
            self._last = entry

    def conclude(self) -> list[Candidate]:
        """Return the final candidates in order; no further entries may be added."""
        unfinished = (
            not self._said
            and not self._turn.reported
            and self._last is not None
            and self._last.kind == "call"
        )
        if self._said:
            self._speak("report")
        self._end_turn(broken_off=unfinished)
        if unfinished and not self._changed:
            return []
        return folded(self._earlier)

    def _user(self, entry: Entry) -> None:
        interrupted = _INTERRUPTED in entry.text[:200]
        finished = bool(self._said) or self._turn.reported
        self._speak("narration" if interrupted else "report")
        if interrupted or finished:
            self._end_turn(broken_off=interrupted)
        if not interrupted:
            text = entry.text[:_MAX_USER_TEXT]
            if len(words := telling_words(text)) >= _FEW_WORDS:
                self._asked_before = (words, complains(text))
            self._turn.asked, self._turn.complaint = self._asked_before
        if interrupted or entry.sidechain or len(entry.text) > _MAX_USER_TEXT:
            return
        for statement in statements_in(entry.text, "user"):
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
                candidate.events = turn.events(candidate)
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

    def _call(self, entry: Entry) -> None:
        self._called = True
        if entry.tool in ("edit", "write") and not entry.call_id:
            self._edit(entry.paths)
        elif entry.tool == "agent":
            self._changed = self._turn.changed = self._turn.source_edited = True
        elif entry.tool == "run":
            self._run(entry)
        elif entry.tool == "read":
            self._turn.read |= dict.fromkeys(entry.paths[: _MAX_EDITED - len(self._turn.read)])
        if entry.call_id:
            self._waiting[entry.call_id] = entry
            if len(self._waiting) > _MAX_WAITING:
                del self._waiting[next(iter(self._waiting))]

    def _edit(self, paths: Sequence[str], *, of_source: bool = True) -> None:
        turn = self._turn
        turn.changed = self._changed = True
        turn.check = None
        if of_source and is_source(paths):
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
                known[path] = None
            while len(known) > _MAX_EDITED:
                del known[next(iter(known))]

    def _run(self, entry: Entry) -> None:
        if back := taken_back(entry.command):
            if back.commits:
                paths = tuple(self._committed or self._uncommitted)
            else:
                paths = back.paths or tuple(self._uncommitted)
            self._take_back(paths)
        elif changes_files(entry.command):
            self._edit(entry.paths)
        if commits(entry.command):
            self._committed, self._uncommitted = self._uncommitted, {}

    def _take_back(self, paths: Sequence[str]) -> None:
        turn = self._turn
        turn.taken_back = tuple(paths)[-MAX_FILES:]
        for candidate in (*self._earlier, *turn.candidates):
            if candidate.statement.kind == "attempt":
                candidate.confirmed = True
                continue  # it states its own outcome
            if candidate.voice == "narration" and not candidate.confirmed:
                continue  # it announces the following text
            files = candidate.files or self._files(candidate)
            if candidate.voice != "user" and any(is_among(path, paths) for path in files):
                candidate.outcome, candidate.error = "reverted", ""
                candidate.files = files
        for path in paths:
            self._uncommitted.pop(path, None)

    def _result(self, entry: Entry) -> None:
        if not entry.call_id:
            # Plain text holds the output of tools, not their calls: they may have changed files.
            self._edit((), of_source=_EDITED.match(entry.text[:200]) is not None)
            return
        call = self._waiting.pop(entry.call_id, None)
        if call is None:
            return
        if call.tool in ("edit", "write"):
            if not entry.failed:  # a refused or failed edit changed nothing
                self._edit(call.paths)
        elif call.tool == "run" and is_check(call.command):
            self._checked(check_of(entry.text, failed=entry.failed))
        elif call.tool == "run" and entry.failed:
            self._failure = telling_line(entry.text)

    def _checked(self, check: CheckResult) -> None:
        if not self._turn.changed and not self._turn.reported:
            self._judge_earlier(check)
        self._turn.check = check
        self._failure = check.error
        for candidate in self._turn.open:
            candidate.refuted = not check.passed

    def _judge_earlier(self, check: CheckResult) -> None:
        """Apply a check before the first edit of a turn to the previous turn."""
        for candidate in self._earlier:
            if candidate.turn == self._turn.number - 1 and not candidate.outcome:
                judge(candidate, check)

    def _end_turn(self, *, broken_off: bool) -> None:
        turn = self._turn
        turn.settle()
        held = [candidate for candidate in turn.candidates if self._holds(candidate, broken_off=broken_off)]
        for candidate in with_one_cause(held):
            candidate.files = candidate.files or self._files(candidate)
            if candidate.outcome == "":
                judge(candidate, turn.check if turn.changed else None)
            self._earlier.append(candidate)
        self._earlier = best(folded(self._earlier), MAX_CANDIDATES)
        self._turn = Turn(turn.number + 1)

    def _holds(self, candidate: Candidate, *, broken_off: bool) -> bool:
        """Whether anything came of a candidate: without a change nothing was decided."""
        if candidate.voice == "user":
            return True
        is_finding = (
            candidate.statement.kind == "cause"
            and candidate.voice == "report"
            and "contrast" not in candidate.statement.features
        )
        if candidate.voice == "narration" or broken_off:
            return candidate.confirmed or self._turn.changed
        if not self._called or not (self._changed or is_finding):
            # Plain text has no calls. A subagent that explores or reviews edits nothing, and its report is
            # all that is left of it.
            is_all = not self._called or (candidate.entry.agent_id and candidate.statement.kind == "choice")
            return is_finding or (bool(is_all) and candidate.probability >= _SURE)
        if "acts" not in candidate.statement.features and self._turn.edited:
            return not all(map(is_prose_file, self._turn.edited))
        return True

    def _files(self, candidate: Candidate) -> tuple[str, ...]:
        if candidate.voice == "user":
            return ()
        edited, read = tuple(self._turn.edited), tuple(self._turn.read)
        near = tuple(candidate.near) or edited or self._turn.taken_back
        if not near and len(read) == 1:
            near = read  # the only file that it can be about
        return files_of(candidate.statement.source, edited or read, near)
