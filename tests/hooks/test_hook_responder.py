"""What each event does and brings: a start, prompts, subagents, edits, compaction, ends; each part may fail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

import pytest
from foveal.daemon.context.records import NO_HELP, ToolHelp
from foveal.daemon.core.errors import DeadlineExceeded, FovealError
from foveal.daemon.hooks.answer import text_limit
from foveal.daemon.hooks.payloads import EVENTS_MAX, REPEAT_S, SAME_MS, RecentEvents
from foveal.daemon.hooks.responder import (
    SENT_MAX,
    TASKS_MAX,
    WINDOWS_MAX,
    Clock,
    HookContext,
    HookContextRequest,
    OpenedSession,
    Responder,
    Window,
    Windows,
)
from foveal.hooks.hosts.events import Event, Origin
from foveal.hooks.hosts.hook_answer import NO_OUTPUT, NOTHING, HookAnswer, OutputLimit
from foveal.hooks.hosts.tool_uses import ToolUse
from msgspec.structs import replace

ROOM = OutputLimit(4_000)
MAIN = Origin("codex", "s1", "/w")
CHILD = replace(MAIN, agent_id="a1", agent_type="explorer")


class Recorder:
    """A ground that notes what it is asked; `sessions` are the ids of those that were begun."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.asks: list[HookContextRequest] = []
        self.sessions: set[str] = set()
        self.context_sets: Mapping[str, tuple[str, ...]] = {}
        self.resume_text = ""
        self.text = "# PROJECT CONTEXT\n"
        self.failure: Exception | None = None
        self.hang = False
        self.answered = ""
        """The session's latest prompt, if an earlier daemon answered it."""
        self.late = ""
        """The prompt for which the search runs out of time."""

    async def open_session(self, origin: Origin) -> OpenedSession:
        self.calls.append("open")
        self._fail()
        resumed = origin.session_id in self.sessions
        self.sessions.add(origin.session_id)
        return OpenedSession(resumed, self.resume_text if resumed else "", self.context_sets)

    async def continue_session(self, origin: Origin) -> OpenedSession | None:
        self.calls.append("continue")
        self._fail()
        known = origin.session_id in self.sessions
        return OpenedSession(True, self.resume_text, self.context_sets) if known else None

    async def task_in(self, origin: Origin, transcript_path: str) -> str:
        self.calls.append(f"task in {transcript_path}")
        return "study the login"

    async def is_answered(self, origin: Origin, prompt: str) -> bool:
        return prompt == self.answered

    async def knows_session(self, origin: Origin) -> bool:
        return origin.session_id in self.sessions

    async def sets(self, origin: Origin) -> Mapping[str, tuple[str, ...]] | None:
        return self.context_sets if origin.session_id in self.sessions else None

    async def asks_something(self, prompt: str) -> bool:
        return prompt != "yes"

    async def context(self, request: HookContextRequest) -> HookContext:
        self.calls.append("context")
        self.asks.append(request)
        if self.hang:
            await asyncio.get_running_loop().create_future()
        self._fail()
        text = "" if request.prompt == "nothing found" else f"{self.text}{request.prompt}"
        return HookContext(late=True) if self.late and request.prompt == self.late else HookContext(text)

    async def prepare(self, request: HookContextRequest) -> None:
        self.calls.append("prepare")
        self.asks.append(request)

    async def tool_help(
        self, origin: Origin, use: ToolUse, task: str, is_said: Callable[[str], bool], deadline_ms: int
    ) -> ToolHelp:
        self.calls.append(f"help {use.pattern or use.read} for {task}")
        self._fail()
        return NO_HELP if is_said(use.pattern) else ToolHelp(f"help with {use.pattern}", (use.pattern,))

    async def note_edits(self, origin: Origin, paths: tuple[str, ...]) -> None:
        self.calls.append(f"edited {' '.join(paths)}")

    async def repository_moved(self, origin: Origin) -> None:
        self.calls.append("moved")

    async def idle(self, origin: Origin) -> None:
        self.calls.append("idle")

    async def end(self, origin: Origin) -> None:
        self.calls.append("end")

    def forget_window(self, origin: Origin) -> None:
        self.calls.append("forget")

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def ground() -> Recorder:
    return Recorder()


@pytest.fixture
def responder(ground: Recorder) -> Responder:
    return Responder(ground)


async def ask(
    responder: Responder, event: Event, room: OutputLimit = ROOM, within_s: float = 60.0
) -> HookAnswer:
    return await responder.answer(event, room, Clock(asyncio.get_running_loop().time, within_s))


async def test_start_brings_sections_and_context(ground: Recorder, responder: Responder) -> None:
    answer = await ask(responder, Event("start", MAIN))
    assert "set_relevant_context" in answer.context
    assert "`s1`" in answer.context
    assert answer.context.endswith("# PROJECT CONTEXT\n</foveal-context>")
    assert answer.message == ""
    assert ground.calls == ["forget", "open", "context"]
    [asked] = ground.asks
    assert asked.prompt == ""
    assert 3_000 < asked.limit.characters < 4_000 - len("set_relevant_context")
    assert 0 < asked.deadline_ms < 60_000


async def test_resumed_window_gets_nothing_again(ground: Recorder, responder: Responder) -> None:
    ground.resume_text, ground.context_sets = "Intent: mend the login", {"files": ("/a",)}
    first = await ask(responder, Event("resume", MAIN))
    assert "set_relevant_context" in first.context, "foveal didn't know the session"
    await ask(responder, Event("end", MAIN))
    ground.calls.clear()
    answer = await ask(responder, Event("resume", MAIN))
    sets = "<foveal-context>\nIntent: mend the login\n</foveal-context>"
    assert answer == HookAnswer(sets, "foveal: context restored (1 files)")
    assert ground.calls == ["continue"]
    prompt = await ask(responder, Event("prompt", MAIN, "where is the login?"))
    assert "set_relevant_context" not in prompt.context


async def test_fork_gets_its_new_id_only(ground: Recorder, responder: Responder) -> None:
    await ask(responder, Event("start", MAIN))
    fork = replace(MAIN, session_id="s2")
    answer = await ask(responder, Event("resume", fork, is_fork=True))
    assert "`s2`" in answer.context
    assert len(answer.context) < 300
    assert "set_relevant_context" not in (await ask(responder, Event("prompt", fork, "login?"))).context


async def test_prompt_of_a_start_is_answered_once(ground: Recorder, responder: Responder) -> None:
    answer = await ask(responder, Event("start", MAIN, "where is the login?"))
    assert answer.context.endswith("where is the login?\n</foveal-context>")
    assert await ask(responder, Event("prompt", MAIN, "where is the login?"), NO_OUTPUT) == NOTHING
    assert await ask(responder, Event("edit", MAIN)) == NOTHING, "no context is owed"
    await ask(responder, Event("prompt", MAIN, "where is the login?"), NO_OUTPUT)
    assert (await ask(responder, Event("edit", MAIN))).context, "asked again, it is owed"


async def test_task_is_answered_once(ground: Recorder, responder: Responder) -> None:
    await ask(responder, Event("subagent", CHILD, "study the login"))
    assert await ask(responder, Event("prompt", CHILD, "study the login")) == NOTHING
    assert (await ask(responder, Event("prompt", CHILD, "and the logout"))).context


async def test_task_is_read_from_the_parents_transcript(ground: Recorder, responder: Responder) -> None:
    answer = await ask(responder, Event("subagent", CHILD, transcript_path="/t"))
    assert "task in /t" in ground.calls
    assert answer.context.endswith("study the login\n</foveal-context>")


async def test_prompt_brings_its_context(ground: Recorder, responder: Responder) -> None:
    await ask(responder, Event("start", MAIN))
    first = await ask(responder, Event("prompt", MAIN, "one"))
    assert first.context == "<foveal-context>\n# PROJECT CONTEXT\none\n</foveal-context>"
    assert await ask(responder, Event("prompt", MAIN, "one")) == NOTHING, "it has that"
    assert (await ask(responder, Event("prompt", MAIN, "two"))).context
    assert await ask(responder, Event("prompt", MAIN, "three", by_person=False)) == NOTHING
    assert await ask(responder, Event("prompt", MAIN, " ")) == NOTHING
    await ask(responder, Event("compacting", MAIN))
    again = await ask(responder, Event("prompt", MAIN, "one"))
    assert "set_relevant_context" in again.context
    assert again.context.endswith("one\n</foveal-context>")
    assert ground.calls.count("forget") == 2


async def test_empty_prompt_gets_nothing(ground: Recorder, responder: Responder) -> None:
    await ask(responder, Event("start", MAIN))
    ground.calls.clear()
    for event in (Event("prompt", MAIN, "yes"), Event("prompt", CHILD, "yes")):
        assert await ask(responder, event) == NOTHING
        assert await ask(responder, event, NO_OUTPUT) == NOTHING
    assert ground.calls == []
    assert await ask(responder, Event("prompt", MAIN, "nothing found")) == NOTHING
    ground.context_sets = {"files": ("/a",)}
    assert await ask(responder, Event("prompt", MAIN, "yes")) == HookAnswer(
        message="foveal: session context changed (files +1)"
    )


async def test_subagent_has_its_own_window(ground: Recorder, responder: Responder) -> None:
    await ask(responder, Event("start", MAIN))
    await ask(responder, Event("prompt", MAIN, "one"))
    await ask(responder, Event("subagent", CHILD, "look"))
    await ask(responder, Event("compacting", CHILD))
    assert await ask(responder, Event("prompt", MAIN, "one")) == NOTHING, "the main agent has all it had"
    assert (await ask(responder, Event("subagent", CHILD, "look"))).context
    assert (await ask(responder, Event("prompt", CHILD, "one"))).context, (
        "some hosts tell a subagent's prompts"
    )
    await ask(responder, Event("compacting", MAIN))
    assert "set_relevant_context" not in (await ask(responder, Event("prompt", CHILD, "two"))).context
    assert "set_relevant_context" in (await ask(responder, Event("prompt", MAIN, "one"))).context


async def test_cancelled_answer_does_not_count_as_sent(ground: Recorder, responder: Responder) -> None:
    async def given_up(event: Event) -> None:
        ground.hang = True
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await ask(responder, event)
        ground.hang = False

    await given_up(Event("start", MAIN))
    await given_up(Event("prompt", MAIN, "one"))
    assert "set_relevant_context" in (await ask(responder, Event("prompt", MAIN, "one"))).context
    await ask(responder, Event("prompt", MAIN, "two"), NO_OUTPUT)
    await given_up(Event("edit", MAIN))
    assert (await ask(responder, Event("edit", MAIN))).context.endswith("two\n</foveal-context>"), (
        "still owed"
    )


async def test_pending_prompt_is_answered_after_a_tool(ground: Recorder, responder: Responder) -> None:
    await ask(responder, Event("start", MAIN))
    ground.calls.clear()
    assert await ask(responder, Event("prompt", MAIN, "one"), NO_OUTPUT) == NOTHING
    assert ground.calls == ["prepare"]
    assert await ask(responder, Event("edit", CHILD), ROOM) == NOTHING, "a subagent isn't asked"
    assert (await ask(responder, Event("edit", MAIN, paths=("/w/a.py",)))).context.endswith(
        "one\n</foveal-context>"
    )
    assert await ask(responder, Event("edit", MAIN)) == NOTHING
    assert ground.calls == ["prepare", "edited /w/a.py", "context"]


async def test_first_tool_brings_what_the_start_could_not(ground: Recorder, responder: Responder) -> None:
    tool = Event("edit", MAIN, transcript_path="/t", read=("/w/a.py",))
    for _ in range(2):  # the host sends the same event at the start and with each prompt
        assert await ask(responder, Event("resume", MAIN), NO_OUTPUT) == NOTHING
    begun = (await ask(responder, tool)).context
    assert "set_relevant_context" in begun
    assert begun.endswith("study the login\n</foveal-context>"), "the prompt is in the transcript"
    assert await ask(responder, tool) == NOTHING, "it was asked once"
    await ask(responder, Event("prompt", MAIN, "two"), NO_OUTPUT)
    later = (await ask(responder, Event("edit", MAIN))).context
    assert "set_relevant_context" not in later
    assert later.endswith("two\n</foveal-context>")


async def test_prompt_that_an_earlier_daemon_answered_isnt_answered_again(
    ground: Recorder, responder: Responder
) -> None:
    ground.sessions, ground.answered = {"s1"}, "study the login"
    found = Event("edit", MAIN, transcript_path="/t")
    assert await ask(responder, found) == NOTHING
    assert ground.asks == []
    searched = replace(found, use=ToolUse("expire"))
    await ask(responder, searched)
    assert ground.calls[-1] == "help expire for study the login"


async def test_late_start_is_tried_once_more(ground: Recorder, responder: Responder) -> None:
    tool = Event("edit", MAIN, transcript_path="/t")
    await ask(responder, Event("resume", MAIN), NO_OUTPUT)
    ground.late = "study the login"
    assert "set_relevant_context" in (await ask(responder, tool)).context
    ground.late = ""
    assert (await ask(responder, Event("edit", MAIN))).context.endswith("study the login\n</foveal-context>")


async def test_first_tool_of_a_subagent_brings_its_task(ground: Recorder, responder: Responder) -> None:
    assert await ask(responder, Event("subagent", CHILD, transcript_path="/t"), NO_OUTPUT) == NOTHING
    other = replace(CHILD, agent_id="a2")
    assert await ask(responder, Event("edit", other)) == NOTHING
    assert (await ask(responder, Event("edit", CHILD))).context.endswith("study the login\n</foveal-context>")
    assert await ask(responder, Event("edit", CHILD)) == NOTHING


@pytest.mark.parametrize("next_event", [Event("edit", MAIN), Event("prompt", MAIN, "yes")])
async def test_what_was_late_comes_with_the_next_event_and_once(
    ground: Recorder, responder: Responder, next_event: Event
) -> None:
    await ask(responder, Event("start", MAIN))
    ground.late = "one"
    clock = Clock(asyncio.get_running_loop().time, 60.0)
    assert await responder.answer(Event("prompt", MAIN, "one"), ROOM, clock) == NOTHING
    assert clock.ran_out, "the timeline is told"
    ground.late = ""
    assert (await ask(responder, next_event)).context.endswith("one\n</foveal-context>")
    assert await ask(responder, next_event) == NOTHING


async def test_nothing_is_kept_where_several_agents_share_a_window(
    ground: Recorder, responder: Responder
) -> None:
    nameless = replace(MAIN, session_id="")
    await ask(responder, Event("start", nameless))
    ground.late = "one"
    assert await ask(responder, Event("prompt", nameless, "one")) == NOTHING
    ground.late = ""
    assert await ask(responder, Event("edit", nameless)) == NOTHING, "another agent's tool, perhaps"


async def test_a_late_prompt_survives_one_tool_that_gave_up(ground: Recorder, responder: Responder) -> None:
    await ask(responder, Event("start", MAIN))
    ground.late = "one"
    await ask(responder, Event("prompt", MAIN, "one"))
    ground.hang = True
    for _ in range(2):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await ask(responder, Event("edit", MAIN))
    ground.hang, ground.late = False, ""
    assert await ask(responder, Event("edit", MAIN)) == NOTHING


async def test_what_is_late_twice_is_dropped(ground: Recorder, responder: Responder) -> None:
    await ask(responder, Event("start", MAIN))
    ground.late = "one"
    assert await ask(responder, Event("prompt", MAIN, "one")) == NOTHING
    assert await ask(responder, Event("prompt", MAIN, "yes")) == NOTHING
    asked = len(ground.asks)
    assert await ask(responder, Event("prompt", MAIN, "yes")) == NOTHING
    assert await ask(responder, Event("edit", MAIN)) == NOTHING
    assert len(ground.asks) == asked
    ground.late = ""
    assert (await ask(responder, Event("prompt", MAIN, "two"))).context.endswith("two\n</foveal-context>")


async def test_a_prompt_that_came_with_the_start_can_be_late(ground: Recorder, responder: Responder) -> None:
    ground.late = "one"
    assert "set_relevant_context" in (await ask(responder, Event("start", MAIN, "one"))).context
    assert await ask(responder, Event("prompt", MAIN, "one")) == NOTHING
    ground.late = ""
    assert (await ask(responder, Event("edit", MAIN))).context.endswith("one\n</foveal-context>")


async def test_subagent_gets_context_for_its_task(ground: Recorder, responder: Responder) -> None:
    await ask(responder, Event("announce", MAIN, "review it", agent_type="reviewer"))
    await ask(responder, Event("announce", MAIN, "look at it", agent_type="explorer"))
    answer = await ask(responder, Event("subagent", CHILD))
    assert answer.context.endswith("look at it\n</foveal-context>")
    assert ground.calls == ["prepare", "context", "context"], "what the task adds, and the start"
    assert [asked.prompt for asked in ground.asks] == ["look at it", "look at it", ""]
    assert all(asked.origin == CHILD for asked in ground.asks)
    assert await ask(responder, Event("subagent", CHILD, "look at it")) == NOTHING, "it goes on, and has that"
    other = replace(CHILD, agent_id="a2")
    assert (await ask(responder, Event("subagent", other, "look at it"))).context
    assert await ask(responder, Event("subagent", other, "more"), NO_OUTPUT) == NOTHING
    assert await ask(responder, Event("subagent_end", CHILD, transcript_path="/t", report="done")) == NOTHING


async def test_end_events_reach_the_backend(ground: Recorder, responder: Responder) -> None:
    await ask(responder, Event("turn_end", MAIN), NO_OUTPUT)
    await ask(responder, Event("end", MAIN), NO_OUTPUT)
    await ask(responder, Event("moved", MAIN), NO_OUTPUT)
    assert ground.calls == ["idle", "end", "moved"]


async def test_conversation_without_id_is_keyed_by_folder(ground: Recorder, responder: Responder) -> None:
    nameless = Origin("copilot", "", "/w")
    answer = await ask(responder, Event("start", nameless))
    assert "set_relevant_context" not in answer.context
    assert "open" not in ground.calls
    assert (await ask(responder, Event("prompt", nameless, "one"))).context


async def test_start_that_outlives_a_compaction_is_not_sent_again(responder: Responder) -> None:
    cursor = replace(MAIN, host="cursor")
    for keeps, again in ((True, False), (False, True)):
        await ask(responder, Event("start", cursor))
        await ask(responder, Event("compacting", cursor, keeps_start=keeps))
        answer = await ask(responder, Event("prompt", cursor, "one"))
        assert ("set_relevant_context" in answer.context) is again
        assert "one" in answer.context, "what came with prompts is lost"


async def test_first_line_of_a_text_counts(ground: Recorder, responder: Responder) -> None:
    limit = OutputLimit(4_000, 1_000, lead="L" * 300)
    await ask(responder, Event("start", MAIN))
    answer = await ask(responder, Event("prompt", MAIN, "one"), limit)
    assert answer.context.startswith(f"<foveal-context>\n{limit.lead}\n\n")
    assert ground.asks[-1].limit == OutputLimit(text_limit(limit), 900)
    assert text_limit(limit) == text_limit(OutputLimit(4_000)) - 302


@pytest.mark.parametrize("failure", [FovealError("no"), DeadlineExceeded("late"), TimeoutError()])
async def test_failing_part_is_left_out(
    ground: Recorder, responder: Responder, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    ground.failure = failure
    with caplog.at_level(logging.WARNING):
        assert await ask(responder, Event("prompt", MAIN, "one")) == NOTHING
    assert len(caplog.records) == 3, "its session, the context of the prompt, and that of the start"
    ground.failure = None
    assert (await ask(responder, Event("prompt", MAIN, "two"))).context


def test_repeated_event_is_recognized() -> None:
    now = 0.0
    repeats = RecentEvents(lambda: now)

    def check(expected: bool, event: Event) -> None:
        assert repeats.is_repeated(event) is expected

    check(False, Event("prompt", MAIN, "go on"))
    check(True, Event("prompt", replace(MAIN, host="cursor"), "go on"))
    check(False, Event("prompt", MAIN, "go on!"))
    check(False, Event("prompt", replace(MAIN, moment="p2"), "go on"))
    check(False, Event("prompt", replace(MAIN, session_id="s2"), "go on"))
    check(False, Event("turn_end", MAIN))
    now = REPEAT_S - 0.1
    check(True, Event("turn_end", MAIN))
    now = REPEAT_S
    check(False, Event("turn_end", MAIN))
    for number in range(EVENTS_MAX):
        check(False, Event("turn_end", replace(MAIN, moment=str(number))))
    check(False, Event("turn_end", MAIN))


def test_events_at_different_times_of_the_host_are_different() -> None:
    repeats = RecentEvents(lambda: 0.0)

    def check(expected: bool, at_ms: int) -> None:
        assert repeats.is_repeated(Event("resume", replace(MAIN, at_ms=at_ms))) is expected

    check(False, 1_000_000)
    check(True, 1_000_000)
    check(True, 1_000_000 + SAME_MS)
    check(False, 1_000_001 + SAME_MS)
    check(True, 1_000_001 + SAME_MS)
    check(True, 0)


def test_windows_are_bounded() -> None:
    windows = Windows()
    for number in range(WINDOWS_MAX + 1):
        windows.at(str(number)).started = True
    assert windows.get("0") is None
    assert windows.at("1").started
    windows.drop("1")
    assert not windows.at("1").started
    window = Window()
    for number in range(SENT_MAX + 1):
        assert window.is_new(str(number))
    assert window.is_new("0")
    assert not window.is_new(str(SENT_MAX))
    for number in range(TASKS_MAX + 1):
        window.announce("x", str(number))
    assert (window.take_task("y"), window.take_task("x"), window.take_task("x")) == ("", "1", "2")


def searched(pattern: str, origin: Origin = MAIN) -> Event:
    return Event("edit", origin, use=ToolUse(pattern))


async def test_search_that_needs_help_gets_it_once(ground: Recorder, responder: Responder) -> None:
    await ask(responder, Event("start", MAIN))
    await ask(responder, Event("prompt", MAIN, "why do sessions end?"))
    await ask(responder, Event("prompt", MAIN, "yes"))
    answer = await ask(responder, searched("sesion"))
    assert "help with sesion" in answer.context
    assert ground.calls[-1] == "help sesion for why do sessions end?", "the last prompt that asks something"
    assert await ask(responder, searched("sesion")) == NOTHING
    await ask(responder, Event("restart", MAIN))
    assert await ask(responder, searched("sesion")) == answer, "the window lost it"


async def test_subagent_gets_help_for_its_own_task(ground: Recorder, responder: Responder) -> None:
    await ask(responder, Event("prompt", MAIN, "mend the login"))
    await ask(responder, Event("subagent", CHILD, "study the logout"))
    await ask(responder, searched("logut", CHILD))
    assert ground.calls[-1] == "help logut for study the logout"


async def test_no_help_where_it_can_not_be_given(ground: Recorder, responder: Responder) -> None:
    assert await ask(responder, searched("sesion"), NO_OUTPUT) == NOTHING
    assert not ground.calls, "nothing is searched for a host that takes no text"
    ground.failure = DeadlineExceeded("too late")
    assert await ask(responder, searched("sesion")) == NOTHING


async def test_late_context_comes_before_help(ground: Recorder, responder: Responder) -> None:
    await ask(responder, Event("start", MAIN))
    await ask(responder, Event("prompt", MAIN, "mend the login"), NO_OUTPUT)
    assert "mend the login" in (await ask(responder, searched("sesion"))).context
    assert "help with sesion" in (await ask(responder, searched("sesion"))).context
