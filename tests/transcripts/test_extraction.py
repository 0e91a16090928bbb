"""Decisions come out of a conversation with what happened around them, and nothing where none was carried out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.memory.records import Draft, Provenance
from foveal.daemon.transcripts.cursor import Cursor
from foveal.daemon.transcripts.entry import Tool, TranscriptEntry
from foveal.daemon.transcripts.extraction import MAX_FINDINGS, Mined, MinedDecision, draft_of, extract
from msgspec.structs import replace

CHOICE = "I used a token bucket instead of a fixed window because bursts doubled the load."


class Transcript:
    """Entries as they are written, one a line."""

    def __init__(self) -> None:
        self.entries: list[TranscriptEntry] = []

    def _add(self, entry: TranscriptEntry) -> Transcript:
        self.entries.append(replace(entry, line=len(self.entries) + 1, session_id="s1"))
        return self

    def user(self, text: str = "Please fix it.") -> Transcript:
        return self._add(TranscriptEntry("user", 0, text))

    def agent(self, text: str) -> Transcript:
        return self._add(TranscriptEntry("agent", 0, text, at="2026-01-31T12:00:00Z"))

    def call(
        self, tool: Tool, *paths: str, command: str = "", output: str = "", failed: bool = False
    ) -> Transcript:
        name = f"c{len(self.entries)}"
        self._add(TranscriptEntry("call", 0, tool=tool, call_id=name, paths=paths, command=command))
        return self._add(TranscriptEntry("result", 0, output, call_id=name, failed=failed))

    def edit(self, *paths: str) -> Transcript:
        return self.call("edit", *paths)

    def run(self, command: str, output: str = "", *, failed: bool = False) -> Transcript:
        return self.call("run", command=command, output=output, failed=failed)

    def found(self) -> list[MinedDecision]:
        return extract(iter(self.entries))

    def one(self) -> MinedDecision:
        (finding,) = self.found()
        return finding


def test_a_report_with_edits_and_passing_tests() -> None:
    finding = Transcript().user().edit("/w/src/limit.py").run("pytest -q", "12 passed").agent(CHOICE).one()
    assert finding.decision == "I used a token bucket instead of a fixed window"
    assert finding.rationale == "Bursts doubled the load."
    assert finding.files == ("/w/src/limit.py",)
    assert (finding.outcome, finding.error) == ("success", "")
    assert (finding.line, finding.at, finding.session_id) == (6, "2026-01-31T12:00:00Z", "s1")


def test_a_subagent_chooses_without_a_change() -> None:
    def found(text: str, *paths: str, agent_id: str = "a1") -> list[MinedDecision]:
        transcript = Transcript().user()
        for path in paths:
            transcript.call("read", path)
        entries = transcript.agent(text).entries
        return extract(replace(entry, agent_id=agent_id) for entry in entries)

    (finding,) = found(CHOICE, "/w/limit.py")
    assert (finding.rationale, finding.files) == ("Bursts doubled the load.", ("/w/limit.py",))
    (finding,) = found(CHOICE, "/w/limit.py", "/w/other.py")
    assert not finding.files
    (finding,) = found(
        "I kept `limit.py` instead of a new module because it has the clock.", "/w/limit.py", "b.py"
    )
    assert finding.files == ("/w/limit.py",)
    assert not found(CHOICE, "/w/limit.py", agent_id="")
    assert not found("I used a token bucket for the limit.", "/w/limit.py")
    assert not found("I tried a token bucket, but bursts doubled the load.", "/w/limit.py")


def test_a_failed_check_gives_the_outcome_and_the_error() -> None:
    output = "F.\nE   TypeError: object of type 'generator' has no len()\n1 failed, 9 passed"
    finding = Transcript().user().edit("a.py").run("pytest", output, failed=True).agent(CHOICE).one()
    assert finding.outcome == "failure"
    assert "TypeError" in finding.error


def test_git_restore_undoes_a_decision() -> None:
    for command in ("git checkout -- src/limit.py", "git restore src", "git reset --hard", "git stash"):
        transcript = Transcript().user().edit("/w/src/limit.py").agent(CHOICE).user("Undo it.").run(command)
        assert transcript.agent("It is as it was.").one().outcome == "reverted", command
    transcript = Transcript().user().edit("/w/src/limit.py").agent(CHOICE).user("Undo another file.")
    assert transcript.run("git checkout -- src/other.py").agent("Done.").one().outcome == ""


def test_report_and_narration_merge() -> None:
    said = "I'll send a dict for each item instead of a list, because the API rejects lists of items."
    report = "- I send each item as a dict instead of a list, since lists are rejected."
    finding = Transcript().user().agent(said).edit("api.py").run("pytest", "9 passed").agent(report).one()
    assert (finding.files, finding.outcome) == (("api.py",), "success")


def test_subagents_in_a_transcript_are_separate() -> None:
    inner = Transcript().user().agent(CHOICE).call("read", "x.py")
    outer = (
        Transcript().user().edit("a.py").agent("I chose a queue over threads because threads die at reload.")
    )
    mixed = [replace(one, sidechain=True, agent_id="a1") for one in inner.entries] + outer.entries
    assert [one.decision for one in extract(mixed)] == ["I chose a queue over threads"]


def test_findings_are_limited_and_in_order() -> None:
    names = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "theta", "iota", "kappa", "lambda"]
    lines = [f"- I chose {one} storage over {one} files because {one} readers wait." for one in names]
    found = Transcript().user().edit("a.py").agent("\n".join(lines)).found()
    assert len(found) == MAX_FINDINGS


def test_memory_is_bounded() -> None:
    def entries() -> Iterator[TranscriptEntry]:
        for number in range(50_000):
            yield TranscriptEntry("call", number, tool="edit", call_id=str(number), paths=(f"f{number}.py",))
            if number % 50 == 0:
                yield TranscriptEntry(
                    "agent", number, f"I'll use plan {number} instead of plan {number + 1}."
                )
        yield TranscriptEntry("agent", 50_001, CHOICE)

    assert len(extract(entries())) <= MAX_FINDINGS


MUTEX = "I'll use a mutex instead of a channel because there is one writer."
ROOT_CAUSE = "The root cause was a missing index on `orders`, so every page scanned the whole table."
HASHED = "Keys are hashed rather than compared because they are long."
DROPPED = "`mmap` is no faster here: the file is read once. I'm dropping that."
HANDED_OUT = "`Pool.take` hands out a socket before the old reader let go of it."
INTERRUPTED = "[Request interrupted by user]"
COMPLAINT = "The report shows wrong hours, find out why."
UNMARKED = "`parse()` reads the date as local time, so each row shifts by an hour."


def asked(text: str = "Please fix it.") -> Transcript:
    return Transcript().user(text)


@pytest.mark.parametrize(
    ("transcript", "findings"),
    [
        (asked(), 0),
        (asked().call("read", "a.py").agent(CHOICE), 0),
        (asked().run("sed -i s/a/b/ a.py").agent(CHOICE), 1),
        (asked().call("agent").agent(CHOICE), 1),
        (asked().edit("a.py").agent(f"{CHOICE} \ud83d"), 1),
        (asked().call("read", "a.py").agent(ROOT_CAUSE), 1),
        (asked().edit("src/a.py").agent(HASHED), 1),
        (asked().agent(MUTEX).edit("a.go").agent("Done."), 1),
        (asked().agent(MUTEX).edit("a.go"), 1),
        (asked().agent(MUTEX).call("read", "a.go"), 0),
        (asked().agent(MUTEX).call("read", "a.go").user(INTERRUPTED), 0),
        (asked().agent(MUTEX).call("edit", "a.go", output="refused", failed=True).agent("Understood."), 0),
        (asked(COMPLAINT).agent(UNMARKED).edit("src/a.py").agent("Done."), 1),
        (asked(COMPLAINT).agent(UNMARKED).call("read", "a.py").agent("Done."), 0),
        (asked(COMPLAINT).agent(UNMARKED).edit("tests/test_a.py").agent("Done."), 0),
        (asked("Add a flag.").agent(UNMARKED).edit("src/a.py").agent("Done."), 0),
        (asked().edit("src/a.py").run("./bench", "9 ms").agent(DROPPED).edit("src/a.py").agent("Done."), 1),
        (asked().agent(DROPPED).edit("src/a.py").agent("Done."), 0),
        (asked().edit("src/a.py").agent("- The frame uses `b.svg` instead of the old `a.svg`."), 0),
        (asked(COMPLAINT).agent(f"Found the reason. {HANDED_OUT}").edit("src/a.py").agent("Done."), 1),
        (asked("Add the holidays.").agent(f"Found it. {HANDED_OUT}").edit("src/a.py").agent("Done."), 0),
    ],
)
def test_decision_needs_the_events_around_it(transcript: Transcript, findings: int) -> None:
    assert len(transcript.found()) == findings


@pytest.mark.parametrize(
    ("transcript", "outcome"),
    [
        (asked().edit("a.py").run("pytest").edit("b.py").agent(CHOICE), ""),
        (asked().edit("src/a.py").run("./bench").agent(DROPPED).edit("src/a.py").agent("Done."), "failure"),
        (
            asked().edit("a.py").run("git commit -am x").agent(CHOICE).user("Undo it.")
            .run("git revert --no-edit HEAD").agent("Done."),
            "reverted",
        ),
    ],
)  # fmt: skip
def test_outcome_is_that_of_the_events_after_it(transcript: Transcript, outcome: str) -> None:
    assert transcript.one().outcome == outcome


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("Add a column. We decided never to store ids unencrypted.", "We decided never to store"),
        ("Payloads must never contain names, because topics can't be purged.", "Payloads must never"),
        ("No mirrors in production. We settled that with the operators in May.", "No mirrors"),
        ("We settled that with the operators in May.", ""),
        ("It must not break, because we have a demo.", ""),
    ],
)
def test_standing_decision_of_the_user(text: str, decision: str) -> None:
    found = asked(text).edit("m.py").agent("Done.").found()
    assert [one.decision.startswith(decision) for one in found] == [True] * bool(decision)
    assert all((one.files, one.outcome) == ((), "") for one in found)


# A finding becomes a draft that says whose it is, where it stands, and which files of the project it names.


FINDING = MinedDecision(
    "Use WAL", "Readers wait", ("src/db.py",), "failure", "it locked", 7, "2026-11-20T10:00:00.000Z",
    "ab12", "s1",
)  # fmt: skip
MINED = Mined("claude-code", "ab12", "", Cursor(1, 2, "", 0, 0), (FINDING,), (), 0, finished=True)


def draft(mined: Mined = MINED, *, root: str = "/w/app", agent_id: str = "", session_id: str = "") -> Draft:
    """Return the draft of what was mined."""
    return draft_of(mined.findings[0], mined, "/t.jsonl", root, agent_id, session_id)


def found(**changes: object) -> Mined:
    """Return a mined finding with other fields."""
    return replace(MINED, findings=(replace(FINDING, **changes),))


def test_draft_holds_the_finding() -> None:
    assert draft() == Draft(
        "Use WAL", "ab12", "s1", "Readers wait", ("src/db.py",), "failure", "it locked",
        "2026-11-20T10:00:00.000Z", provenance=Provenance("claude-code", "/t.jsonl:7", "normal"),
    )  # fmt: skip
    assert draft(found(at="yesterday")).timestamp == ""


def test_draft_agent_and_session() -> None:
    def check(mined: Mined, given: str, expected: str) -> None:
        assert draft(mined, agent_id=given).agent_id == expected

    check(MINED, "", "ab12")
    check(MINED, "coder", "coder")
    check(found(agent_id=""), "", "claude-code")
    check(found(agent_id=""), "coder", "coder")
    check(found(agent_id="other"), "coder", "other")
    check(replace(found(agent_id="ab12"), owner=""), "main", "ab12")
    assert draft(session_id="mine").session_id == "mine"


def test_files_are_placed_in_the_project(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "app"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(root)

    def check(cwd: str, file: str, expected: str) -> None:
        mined = replace(found(files=(file,)), cwd=cwd)
        assert draft(mined, root=str(root)).files_touched == (expected,)

    check("", "a.py", "a.py")
    check("", "/x/a.py", "/x/a.py")
    check(str(root), "a.py", f"{root}/a.py")
    check(str(root), f"{root}/a.py", f"{root}/a.py")
    check(str(root / "sub"), "../a.py", f"{root}/sub/../a.py")
    check(str(root / "sub"), f"{root}/a.py", f"{root}/a.py")
    check(f"{tmp_path}/link", f"{tmp_path}/link/a.py", f"{root}/a.py")
    check(f"{tmp_path}/link/sub", "a.py", f"{root}/sub/a.py")
    check("/workspace", "a.py", "a.py")
    check("/workspace", "/workspace/a.py", "/workspace/a.py")
    check("relative", "a.py", "a.py")
