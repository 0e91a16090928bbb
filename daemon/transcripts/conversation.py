"""The state of an agent's conversation during reading: its turns, edits, checks and candidates."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from .candidates import (
    MAX_CANDIDATES,
    Candidate,
    Scene,
    best,
    candidate_of,
    folded,
    is_source,
    telling_words,
)
from .cues import meets
from .entry import Entry
from .evidence import CAUSE
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
    taken_back,
    telling_line,
)
from .report import MAX_TEXT, Voice
from .statements import complains, statements_in

_FEW_WORDS = 3
"""Minimum characters of a new request; a shorter prompt, such as `ok`, requests nothing new."""


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
    complaint: bool = False
    """The user asked about a fault."""
    asked: frozenset[str] = frozenset()
    """Telling words of the user's request."""

    def ask(self, text: str, before: tuple[frozenset[str], bool]) -> None:
        """Record the user's request; `continue` repeats the previous one."""
        words = telling_words(text)
        self.asked, self.complaint = (words, complains(text)) if len(words) >= _FEW_WORDS else before

    def settle(self) -> None:
        """Drop narration that later events don't confirm; of several causes in a text keep the best."""
        for candidate in self.open:
            candidate.settle()
        causes = [candidate for candidate in self.open if candidate.statement.kind == "cause"]
        weak = [cause for cause in causes if cause.statement.needs]
        best = max(weak, key=lambda cause: cause.weight, default=None) if len(weak) == len(causes) else None
        dropped = {id(cause) for cause in weak if cause is not best and not cause.take_otherwise()}
        self.candidates = [
            candidate
            for candidate in self.candidates
            if id(candidate) not in dropped and (candidate.is_borne_out or candidate.voice != "narration")
        ]


def judge(candidate: Candidate, check: CheckResult | None) -> None:
    """Set a candidate's outcome from the last check after the edits, and from its own words."""
    kind = candidate.statement.kind
    if kind == "standing":
        return
    if kind == "undone":
        candidate.outcome, candidate.error = "reverted", ""
    elif kind == "attempt" and not candidate.statement.replaced:
        candidate.outcome = "reverted" if candidate.statement.removed else "failure"
        candidate.error = "" if candidate.statement.removed else candidate.error
    elif check:
        candidate.outcome, candidate.error = ("success", "") if check.passed else ("failure", check.error)
    else:
        candidate.error = ""


def with_one_cause(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates of a turn without causes that the last one, or the report's, superseded.

    An earlier cause stays if it led to an edit on which no check failed.
    """
    causes = [candidate for candidate in candidates if candidate.statement.kind == "cause"]
    reported = [cause for cause in causes if cause.voice == "report"]
    mended = [cause for cause in causes if cause.scene.edited_next and not cause.refuted]
    if reported:  # a report may leave out the first repairs
        wanted = reported + [cause for cause in mended if cause.statement.evidence[0] == CAUSE]
    else:
        wanted = mended + causes[-1:]
    return [
        candidate
        for candidate in candidates
        if candidate.statement.kind != "cause" or any(candidate is cause for cause in wanted)
    ]


_MAX_EDITED = 400
"""Maximum number of edited files kept for a turn and for a commit, the latest ones."""
_SURE = 5.0
"""Minimum evidence for a choice if no file is known: a report that chose, with a reason."""
_MAX_WAITING = 200
"""Maximum number of calls waiting for their results."""
_SHARED_WITH_ASKED = 2
_SHARE_AS_ASKED = 0.6
"""Minimum share and number of telling words shared with the user's request for a text to be about it."""
_EDITED = (
    r"(?i)^\W*(?:\w+ ){0,3}?(?:edited|wrote|written|updated|created|modified|patched|applied|saved|changed)\b"
)
"""The beginnings of outputs that report an edit without a call."""
_MAX_USER_TEXT = 3_000
"""Maximum characters of a typed message; a longer one is pasted."""


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
        self._just_edited = self._ran = False
        """Sources were edited since the agent's last words; something was run since the last edit."""
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
        interrupted = "[Request interrupted" in entry.text[:200]
        finished = bool(self._said) or self._turn.reported
        self._speak("narration" if interrupted else "report")
        if interrupted or finished:
            self._end_turn(broken_off=interrupted)
        if not interrupted:
            self._turn.ask(entry.text[:_MAX_USER_TEXT], self._asked_before)
            self._asked_before = (self._turn.asked, self._turn.complaint)
        if interrupted or entry.sidechain or len(entry.text) > _MAX_USER_TEXT:
            return
        for statement in statements_in(entry.text, "user"):
            self._turn.candidates.append(candidate_of(statement, "user", self._turn.number, entry))
        del self._turn.candidates[:-MAX_CANDIDATES]

    def _speak(self, voice: Voice) -> None:
        """Process the agent's last words as a report or as narration, now that it is known which."""
        if not self._said:
            return
        turn, failure = self._turn, self._failure
        turn.settle()
        turn.open = []
        for entry in self._said:
            for statement in statements_in(entry.text, voice):
                candidate = candidate_of(statement, voice, turn.number, entry)
                candidate.scene = self._scene(candidate)
                if failure and voice == "narration":
                    candidate.evidence = ("something failed before it",)
                    candidate.error = failure
                turn.candidates.append(candidate)
                turn.open.append(candidate)
        del turn.candidates[:-MAX_CANDIDATES]
        turn.reported = voice == "report"
        self._said, self._failure = [], ""
        self._just_edited = False

    def _scene(self, candidate: Candidate) -> Scene:
        turn = self._turn
        shared = (candidate.words | telling_words(candidate.statement.source)) & turn.asked
        return Scene(
            tried=turn.source_edited,
            just_edited=self._just_edited,
            ran=self._ran or bool(self._failure),
            repairing=turn.source_edited and turn.check is not None and not turn.check.passed,
            complaint=turn.complaint,
            on_the_point=len(shared) >= _SHARED_WITH_ASKED,
            as_asked=len(candidate.words & turn.asked) >= _SHARE_AS_ASKED * len(candidate.words),
            reported=candidate.voice == "report",
        )

    def _call(self, entry: Entry) -> None:
        self._called = True
        if entry.tool in ("edit", "write") and not entry.call_id:
            self._edit(entry.paths)
        elif entry.tool == "agent":
            self._changed = self._turn.changed = True
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
            turn.source_edited = self._just_edited = True
            self._ran = False
            for candidate in turn.open:
                candidate.scene.edited_next = True
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
        for candidate in turn.open:
            candidate.scene.taken_back_next = True
        for candidate in (*self._earlier, *turn.candidates):
            if candidate.statement.kind in ("attempt", "undone"):
                candidate.confirmed = True
            if candidate.voice == "narration" and not candidate.confirmed:
                continue  # it announces the following text
            if candidate.statement.kind == "attempt" and candidate.statement.needs:
                continue  # it states its own outcome
            files = candidate.files or self._files(candidate)
            if candidate.voice != "user" and any(is_among(path, paths) for path in files):
                candidate.outcome, candidate.error = "reverted", ""
                candidate.files = files
        for path in paths:
            self._uncommitted.pop(path, None)

    def _result(self, entry: Entry) -> None:
        if not entry.call_id:
            # Plain text holds the output of tools, not their calls: they may have changed files.
            self._edit((), of_source=meets(_EDITED, entry.text[:200]))
            return
        call = self._waiting.pop(entry.call_id, None)
        if call is None:
            return
        if call.tool in ("edit", "write"):
            if not entry.failed:  # a refused or failed edit changed nothing
                self._edit(call.paths)
        elif call.tool == "run":
            self._ran = self._ran or not changes_files(call.command)
            self._ran_to(call, entry)

    def _ran_to(self, call: Entry, entry: Entry) -> None:
        """Process the result of a command."""
        if is_check(call.command):
            self._checked(check_of(entry.text, failed=entry.failed))
        elif entry.failed:
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
            if candidate.outcome == "" and turn.check and turn.changed:
                judge(candidate, turn.check)
            elif candidate.outcome == "":
                judge(candidate, None)
            if broken_off and candidate.voice != "user":
                candidate.evidence = (*candidate.evidence, "the run was broken off")
            self._earlier.append(candidate)
        self._earlier = best(folded(self._earlier), MAX_CANDIDATES)
        self._turn = Turn(turn.number + 1)

    def _holds(self, candidate: Candidate, *, broken_off: bool) -> bool:
        statement = candidate.statement
        if candidate.voice == "user":
            return True
        if not candidate.is_borne_out:
            return False
        if statement.needs_change:
            return candidate.confirmed
        if candidate.voice == "narration" or broken_off:
            return candidate.confirmed or self._turn.changed
        if statement.describes and not any(not is_prose_file(path) for path in self._turn.edited):
            return False
        if not self._called:  # a transcript without calls, such as plain text, has no edits either
            return statement.kind == "cause" or statement.weight >= _SURE
        if self._changed or statement.kind == "cause":
            return True
        # A subagent that explores, plans or reviews edits nothing, and its report is all that is left of it.
        return bool(candidate.entry.agent_id) and statement.kind == "choice" and statement.weight >= _SURE

    def _files(self, candidate: Candidate) -> tuple[str, ...]:
        if candidate.voice == "user":
            return ()
        edited, read = tuple(self._turn.edited), tuple(self._turn.read)
        near = tuple(candidate.near) or edited or self._turn.taken_back
        if not near and len(read) == 1:
            near = read  # the only file that it can be about
        return files_of(candidate.statement.source, edited or read, near)
