"""Decisions come out of a conversation with what happened around them, and nothing where none was carried out."""

from __future__ import annotations

from collections.abc import Iterator

from foveal.daemon.transcripts.entry import Entry, Tool
from foveal.daemon.transcripts.extraction import MAX_FINDINGS, MinedDecision, extract
from msgspec.structs import replace

CHOICE = "I used a token bucket instead of a fixed window because bursts doubled the load."


class Transcript:
    """Entries as they are written, one a line."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def _add(self, entry: Entry) -> Transcript:
        self.entries.append(replace(entry, line=len(self.entries) + 1, session_id="s1"))
        return self

    def user(self, text: str = "Please fix it.") -> Transcript:
        return self._add(Entry("user", 0, text))

    def agent(self, text: str) -> Transcript:
        return self._add(Entry("agent", 0, text, at="2026-01-31T12:00:00Z"))

    def call(
        self, tool: Tool, *paths: str, command: str = "", output: str = "", failed: bool = False
    ) -> Transcript:
        name = f"c{len(self.entries)}"
        self._add(Entry("call", 0, tool=tool, call_id=name, paths=paths, command=command))
        return self._add(Entry("result", 0, output, call_id=name, failed=failed))

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
    assert (finding.outcome, finding.error, finding.trust) == ("success", "", "normal")
    assert (finding.line, finding.at, finding.session_id) == (6, "2026-01-31T12:00:00Z", "s1")


def test_no_choice_without_a_change() -> None:
    assert not Transcript().user().call("read", "a.py").agent(CHOICE).found()
    assert Transcript().user().run("sed -i s/a/b/ a.py").agent(CHOICE).found()
    assert Transcript().user().call("agent").agent(CHOICE).found()


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


def test_half_a_surrogate_pair_breaks_nothing() -> None:
    finding = Transcript().user().edit("a.py").agent(f"{CHOICE} \ud83d").one()
    assert finding.decision.startswith("I used a token bucket")


def test_a_cause_needs_no_change() -> None:
    text = "The root cause was a missing index on `orders`, so every page scanned the whole table."
    assert Transcript().user().call("read", "a.py").agent(text).found()


def test_description_counts_only_after_source_edits() -> None:
    text = "Keys are hashed rather than compared because they are long."
    assert Transcript().user().edit("src/a.py").agent(text).found()
    assert not Transcript().user().edit("docs/a.md").agent(text).found()


def test_announcement_counts_if_files_change() -> None:
    text = "I'll use a mutex instead of a channel because there is one writer."
    assert not Transcript().user().agent(text).call("read", "a.go").agent("Done.").found()
    finding = Transcript().user().agent(text).edit("a.go").edit("b.go").agent("Done.").one()
    assert finding.files == ("a.go", "b.go")


def test_failed_or_refused_edit_does_not_count() -> None:
    text = "I'll use a mutex instead of a channel because there is one writer."
    transcript = Transcript().user().agent(text).call("edit", "a.go", output="refused", failed=True)
    assert not transcript.agent("Understood.").found()


def test_a_failed_check_gives_the_outcome_and_the_error() -> None:
    output = "F.\nE   TypeError: object of type 'generator' has no len()\n1 failed, 9 passed"
    finding = Transcript().user().edit("a.py").run("pytest", output, failed=True).agent(CHOICE).one()
    assert finding.outcome == "failure"
    assert "TypeError" in finding.error


def test_only_a_check_after_the_last_edit_counts() -> None:
    assert Transcript().user().edit("a.py").run("pytest").edit("b.py").agent(CHOICE).one().outcome == ""


def test_check_before_first_edit_counts_for_previous_turn() -> None:
    transcript = Transcript().user().edit("a.py").agent(CHOICE).user("Run the tests.")
    assert transcript.run("pytest", "12 passed").agent("All pass.").one().outcome == "success"


def test_git_restore_undoes_a_decision() -> None:
    for command in ("git checkout -- src/limit.py", "git restore src", "git reset --hard", "git stash"):
        transcript = Transcript().user().edit("/w/src/limit.py").agent(CHOICE).user("Undo it.").run(command)
        assert transcript.agent("It is as it was.").one().outcome == "reverted", command
    transcript = Transcript().user().edit("/w/src/limit.py").agent(CHOICE).user("Undo another file.")
    assert transcript.run("git checkout -- src/other.py").agent("Done.").one().outcome == ""


def test_git_revert_undoes_a_commit() -> None:
    transcript = Transcript().user().edit("a.py").run("git commit -am x").agent(CHOICE).user("Undo it.")
    assert transcript.run("git revert --no-edit HEAD").agent("Done.").one().outcome == "reverted"


def test_interrupted_run_counts_only_started_work() -> None:
    text = "I decided to use pika instead of kombu because it is small."
    interrupted = "[Request interrupted by user]"
    assert not Transcript().user().agent(text).call("read", "a.py").user(interrupted).found()
    assert not Transcript().user().agent(text).call("read", "a.py").found()
    assert Transcript().user().agent(text).edit("a.py").found()


def test_report_and_narration_merge() -> None:
    transcript = Transcript().user().agent("The API rejects lists. I'll send a dict for each item instead.")
    transcript.edit("api.py").agent(
        "I send each item as a dict rather than a list because lists are rejected."
    )
    assert len(transcript.found()) == 1


def test_of_several_causes_the_last_counts() -> None:
    transcript = (
        Transcript()
        .user()
        .agent("The root cause is the cache, which is never cleared after a failed request.")
        .edit("a.py")
        .run("pytest", "1 failed")
    )
    transcript.agent(
        "The root cause is the clock, which jumps back while the request is being retried."
    ).edit("b.py").agent("Done.")
    assert transcript.one().decision.startswith("The root cause is the clock")


def test_a_standing_decision_of_the_user() -> None:
    transcript = Transcript().user("Add a column. We decided never to store ids unencrypted.").edit("m.py")
    finding = transcript.agent("Done.").one()
    assert finding.decision == "We decided never to store ids unencrypted."
    assert (finding.files, finding.outcome) == ((), "")


def test_steering_text_gets_low_trust() -> None:
    text = "I chose the mirror over the registry because https://example.org/x is faster."
    assert Transcript().user().edit("a.py").agent(text).one().trust == "low"


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
    def entries() -> Iterator[Entry]:
        for number in range(50_000):
            yield Entry("call", number, tool="edit", call_id=str(number), paths=(f"f{number}.py",))
            if number % 50 == 0:
                yield Entry("agent", number, f"I'll use plan {number} instead of plan {number + 1}.")
        yield Entry("agent", 50_001, CHOICE)

    assert len(extract(entries())) <= MAX_FINDINGS


def test_empty_transcript_has_no_findings() -> None:
    assert extract([]) == []
    assert not Transcript().user().found()


UNMARKED = "`parse()` reads the date as local time, so each row shifts by an hour."


def test_weak_cause_counts_before_the_edit_for_a_complaint() -> None:
    complaint = "The report shows wrong hours, find out why."
    finding = Transcript().user(complaint).agent(UNMARKED).edit("src/a.py").agent("Done.").one()
    assert finding.decision == UNMARKED
    assert not Transcript().user(complaint).agent(UNMARKED).call("read", "a.py").agent("Done.").found()
    assert not Transcript().user(complaint).agent(UNMARKED).edit("tests/test_a.py").agent("Done.").found()
    assert not Transcript().user("Add a flag.").agent(UNMARKED).edit("src/a.py").agent("Done.").found()


def test_own_mistake_is_no_cause() -> None:
    transcript = (
        Transcript().user("Fix the wrong hours.").edit("src/a.py").run("pytest", "1 failed", failed=True)
    )
    assert not transcript.agent(UNMARKED).edit("src/a.py").agent("Done.").found()


def test_purpose_counts_next_to_the_edit() -> None:
    text = "I give each row a version so that two writers can't overwrite each other, because locks end with a request."
    assert Transcript().user().agent(text).edit("src/a.py").agent("Done.").found()
    assert not Transcript().user().agent(text).call("read", "a.py").agent("Done.").found()


def test_abandoned_attempt_counts_after_a_try() -> None:
    text = "`mmap` is no faster here: the file is read once. I'm dropping that."
    tried = (
        Transcript()
        .user()
        .edit("src/a.py")
        .run("./bench", "9 ms")
        .agent(text)
        .edit("src/a.py")
        .agent("Done.")
    )
    finding = tried.one()
    assert finding.outcome == "failure"
    assert "mmap" in finding.decision
    assert not Transcript().user().agent(text).edit("src/a.py").agent("Done.").found()


def test_necessary_work_is_no_choice() -> None:
    text = "The store isn't exposed yet, so I'll add a getter."
    assert not Transcript().user("Add a route.").agent(text).edit("src/a.py").agent("Done.").found()


def test_announced_cause_is_its_neighbour() -> None:
    cause = "`Pool.take` hands out a socket before the old reader let go of it."
    for text in (
        f"Found it. {cause}",
        f"Found the reason.\n\n{cause}",
        f"{cause} That's the bug.",
        f"That explains the hang. {cause}",
    ):
        transcript = Transcript().user("Why does the client hang?").agent(text).edit("src/pool.py")
        finding = transcript.agent("Done.").one()
        assert cause in finding.decision, text
    asked_nothing = Transcript().user("Add the holidays to the calendar.").agent(f"Found it. {cause}")
    assert not asked_nothing.edit("src/pool.py").agent("Done.").found()
    slip = Transcript().user("Why does the client hang?").edit("src/a.py").run("./x", "boom", failed=True)
    assert not slip.agent("Got it. I mistyped the name of the pool.").edit("src/a.py").agent("Done.").found()


def test_consequence_belongs_to_its_cause() -> None:
    text = "The root cause was that the lease is taken twice because nobody checks it. Every restart doubles the workers."
    finding = Transcript().user("Why so many workers?").edit("src/a.py").agent(text).one()
    assert "taken twice" in finding.decision
    assert "doubles" in finding.rationale


def test_present_state_needs_reason_or_alternative() -> None:
    def reports(text: str) -> bool:
        return bool(Transcript().user("Load charts late.").edit("src/a.py").agent(text).found())

    assert not reports("- Panels are now built by `Lazy`, which only reads their titles.")
    assert not reports(
        "`rg OldPanel src` finds nothing any more. Themes would have to be updated by their owners."
    )
    assert not reports("- The frame uses `b.svg` instead of the old `a.svg`.")
    assert reports("- Panels are built by `Lazy` instead of by a registry, because most are never opened.")
    assert reports("- At most 5 panels are open, since a sixth exhausts the memory.")
    removed = "- I removed the preloading. It made scrolling stutter and didn't improve the start."
    assert Transcript().user().edit("src/a.py").run("./bench", "9 ms").agent(removed).found()
    assert not Transcript().user().edit("src/a.py").run("./bench", "9 ms").agent(removed[:27]).found()


def test_requested_work_is_no_choice() -> None:
    transcript = Transcript().user("Log lines should carry UTC instead of local time.").edit("src/a.py")
    assert not transcript.agent("- Log lines carry `UTC` instead of local time.").found()


def test_user_rule_keeps_its_reason() -> None:
    held = (
        Transcript().user("Payloads must never contain names, because topics can't be purged.").agent("Ok.")
    )
    assert held.one().decision.startswith("Payloads must never")
    agreed = Transcript().user("No mirrors in production. We settled that with the operators in May.")
    assert "No mirrors" in agreed.agent("Ok.").one().decision
    assert not Transcript().user("We settled that with the operators in May.").agent("Ok.").found()
    assert not Transcript().user("It must not break, because we have a demo.").agent("Ok.").found()
