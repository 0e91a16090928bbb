"""What a host is put through, and what is checked in the requests that it sends to the model."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from .delivery import ELEMENT, START, TAG, Check, Sent, answered, deliveries
from .script import Delegate, Edit, Mcp, Read, Request, Say, Script, Wait
from .world import MARKER, Run, World

CURSOR_RULE = "CURSOR-RULE-2718"

FIRST = "Why does a redirect strip headers in _redirect_headers?"
SECOND = "Where does GZipDecoder flush its decompressor?"
TALK = "yes, continue"
STUDY = "Let a subagent study the digest authentication."
TASK = "Find out how DigestAuth counts its nonces and name the counter."
LOOK = "Let a subagent look for the cookie handling, without any change."
LOOK_TASK = "Look for the place where Cookies are merged, and say which one to keep."
SEARCH = "Search with foveal for the timeout configuration."
FAILING = "Change the line that is not there."
ANSWERED = "What is fenced or in code marks comes from the project"
"""The beginning of an answer of foveal's MCP server."""
NEXT = "What was decided about redirects?"
AFTER = "How does BasicAuth build its header?"
REST_S = 150.0
"""Seconds until the decisions of a resting conversation are found: it rests for 120."""
ALONE = "Say that foveal is away."

SHOWN = {
    FIRST: "httpx/_client.py",
    SECOND: "httpx/_decoders.py",
    AFTER: "httpx/_auth.py",
    TALK: "",
}
"""The file that the context of a prompt must show; talk gets no context."""

MAIN_DECISION = "I decided to copy the headers in _redirect_headers instead of changing the request"
SUB_DECISION = "I chose to name the nonce counter in DigestAuth instead of the client"
LOOK_DECISION = "I chose to keep the merge in _merge_cookies instead of the transport"


def script_for(world: World) -> Script:
    """Return the steps of all prompts for a world's host."""

    def path(name: str) -> str:
        return str(world.root / name)

    # Where the start's text comes after a tool, one is needed.
    look = [] if world.host.resumes else [Read(path("httpx/_client.py"))]
    search = Mcp("search_code", {"query": "timeout configuration"})
    wait = [Wait()] if world.host.waits else []
    steps: dict[str, Sequence[Say | Read | Edit | Delegate | Wait | Mcp]] = {
        FIRST: [
            Read(path("httpx/_client.py")),
            Edit(
                path("httpx/_client.py"),
                "        headers = Headers(request.headers)",
                "        headers = Headers(request.headers)  # a copy",
            ),
            Say(f"{MAIN_DECISION}, because the first request may be sent again."),
        ],
        SECOND: [Say("In httpx/_decoders.py.")],
        TALK: [Say("I go on.")],
        STUDY: [Delegate(TASK), *wait, Say("The study is done.")],
        TASK: [
            Read(path("httpx/_auth.py")),
            Edit(
                path("httpx/_auth.py"),
                "        self._nonce_count += 1",
                "        self._nonce_count += 1  # one more request",
            ),
            Say(f"{SUB_DECISION}, because two clients may share a server."),
        ],
        LOOK: [Delegate(LOOK_TASK, reads_only=True), *wait, Say("The look is done.")],
        LOOK_TASK: [
            Read(path("httpx/_models.py")),
            Say(f"{LOOK_DECISION}, because only the client knows all cookies."),
        ],
        SEARCH: [*[search] * (1 + world.host.defers_tools), Say("Found.")],
        FAILING: [
            Read(path("httpx/_urls.py")),
            Edit(path("httpx/_urls.py"), "this line is not there", "nor this"),
            Say("It is not there."),
        ],
        NEXT: [*look, Say("To copy the headers.")],
        AFTER: [Say("In httpx/_auth.py.")],
        ALONE: [Say("It is away.")],
    }
    return steps


class Trial:
    """A host's trial; `checks` are its results."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.checks: list[Check] = []
        self._script = script_for(world)
        self._sent: list[Sent] = []

    def go(self) -> None:
        """Register foveal and run the host through everything."""
        world = self.world
        self._check("installed", "done" in world.foveal("hooks", "install", world.host.host, "--yes"))
        with world.daemon():
            self._first_session()
            self._next_session()
            self._alone()
        self.checks += deliveries(self._sent, late=world.host.late_contexts)

    def _check(self, name: str, ok: bool | None, detail: str = "") -> None:
        self.checks.append(Check(name, ok, "" if ok else detail))

    def _first_session(self) -> None:
        world = self.world
        first = self._prompt(FIRST, "")
        last = _main(first, FIRST)
        text = last.text if last else ""
        starts = text.count(START)
        self._check("start once", starts == 1, f"{starts} times")
        rules = text.count(MARKER)
        self._check("AGENTS.md once", rules == 1, f"{rules} times")
        self._check("other rules once", text.count(CURSOR_RULE) == 1, f"{text.count(CURSOR_RULE)} times")
        own = [request for request in first.requests if not request.tools]
        titled = not any(TAG in request.text for request in own)
        self._check("own requests bare", titled if own else None, "the title's request has the context")
        second = self._prompt(SECOND, "continue")
        self._check_second(first, second)
        self._prompt(TALK, "continue")
        if world.host.has_subagents:
            self._subagents()
        search = self._prompt(SEARCH, "continue")
        request = _main(search, SEARCH)
        listed = bool(request and any("search_code" in name for name in request.tools))
        listed = listed or bool(request and "search_code" in request.text)
        answered = bool(request and ANSWERED in request.text.rpartition(SEARCH)[2])
        self._check("MCP listed, called", listed and answered, f"listed {listed}, answered {answered}")
        self._prompt(FAILING, "continue")
        self._check_events()
        if world.host.compact is not None:
            self._compact(world.host.compact)

    def _check_second(self, first: Run, second: Run) -> None:
        if not self.world.host.resumes:
            for name in ("resume repeats none", "start kept", "prompt brings news only"):
                self._check(name, None, "it resumes no session without a terminal")
            return
        last, request = _main(first, FIRST), _main(second, SECOND)
        text = request.text if request else ""
        starts = text.count(START)
        self._check("resume repeats none", starts <= 1, f"the start is there {starts} times")
        kept = START in text and CURSOR_RULE in text
        self._check("start kept", kept, "the start's text is gone, but said to be unchanged")
        new = _elements(text) - (_elements(last.text) if last else set())
        news = sum(map(len, new))
        maps = any("## Project Map" in element or "## Map" in element for element in new)
        self._check("prompt brings news only", news <= 6_000 and not maps, f"{news:,} characters, map {maps}")

    def _subagents(self) -> None:
        study = self._prompt(STUDY, "continue")
        own = [request for request in study.requests if _is_about(request, TASK)]
        if not own:
            self._check("subagent's context", False, "no subagent ran")
            return
        injected = " ".join(_elements(own[-1 if self.world.host.late_contexts else 0].text))
        found = "_auth.py" in injected
        self._check("subagent's context", found, f"{len(injected):,} characters without httpx/_auth.py")
        times = len(ELEMENT.findall(own[-1].text))
        self._check("subagent's context once", times <= 1, f"{times} times")
        self._prompt(LOOK, "continue")

    def _check_events(self) -> None:
        payloads = self.world.payloads()
        prompts = [one.event for one in payloads if one.event and one.event.kind == "prompt"]
        ours = [event.prompt for event in prompts if TAG in event.prompt or "<hook_context>" in event.prompt]
        self._check("nothing of ours as a prompt", not ours, f"{len(ours)} of {len(prompts)} prompts")
        handed = [event for event in prompts if event.by_person and event.prompt.startswith("<task-notif")]
        self._check("hand-backs ignored", not handed, f"{len(handed)} taken as a person's")
        paths = {
            path for one in payloads if one.event and one.event.kind == "edit" for path in one.event.paths
        }
        names = {os.path.basename(path) for path in paths}
        wanted = {"_client.py"} | ({"_auth.py"} if self.world.host.has_subagents else set())
        self._check("edits noticed", wanted <= names, f"only {sorted(names)}")
        self._check("failed edit ignored", "_urls.py" not in names, "_urls.py counts as edited")

    def _compact(self, command: Callable[[], list[str]]) -> None:
        done = self.world.run_command(self._script, command())
        after = self._prompt(AFTER, "continue")
        request = _main(after, AFTER)
        starts = request.text.count(START) if request else 0
        self._check("compaction restores", starts == 1, f"the start is there {starts} times, {done.status}")

    def _next_session(self) -> None:
        world = self.world

        def holds(decision: str, name: str, needs_file: bool) -> Callable[[], bool]:
            def look() -> bool:
                found = [one for one in world.decisions() if decision in one["decision"]]
                return len(found) == 1 and (not needs_file or name in found[0]["files_touched"])

            return look

        wanted = [("main decision", MAIN_DECISION, "httpx/_client.py", True)]
        if world.host.has_subagents:
            wanted.append(("subagent's decision", SUB_DECISION, "httpx/_auth.py", True))
            wanted.append(("looking subagent's", LOOK_DECISION, "", False))
        for name, decision, path, needs_file in wanted:
            ok = world.settle(holds(decision, path, needs_file), REST_S if world.host.rests else 8.0)
            found = [one["files_touched"] for one in world.decisions() if decision in one["decision"]]
            self._check(name, ok, f"{len(found)} times, files {found}")
        run = self._prompt(NEXT, "")
        request = _main(run, NEXT)
        self._check("next session has it", bool(request and MAIN_DECISION in request.text), "it isn't there")

    def _alone(self) -> None:
        """Run the host while the daemon is stopped, hung, and killed."""
        world = self.world
        pid = world.client.call("Ping")["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            slow = self._prompt(ALONE, "")
        finally:
            os.kill(pid, signal.SIGCONT)
        self._check("daemon hung", _is_answered(slow), f"status {slow.status}: {slow.output[-200:]}")
        os.kill(pid, signal.SIGKILL)
        killed = self._prompt(ALONE, "")
        self._check("daemon killed", _is_answered(killed), f"status {killed.status}: {killed.output[-200:]}")
        spool = Path(world.environ["FOVEAL_STATE_DIR"]) / "hook-spool"
        parts = list(spool.glob("*.tmp")) if spool.exists() else []
        self._check("nothing half-written", not parts, f"{len(parts)} files in the spool")
        world.stop_daemon()

    def _prompt(self, prompt: str, more: str) -> Run:
        run = self.world.run(self._script, prompt, more)
        self._sent.append(Sent(prompt, SHOWN.get(prompt), run.requests, run.output))
        return run


def _main(run: Run, prompt: str) -> Request | None:
    """Return the last request of a run that answers a prompt with tools at hand."""
    return answered(run.requests, prompt)


def _is_about(request: Request, task: str) -> bool:
    """Whether a request is of the subagent with a task."""
    return task in request.text and not any(prompt in request.text for prompt in (FIRST, STUDY))


def _elements(text: str) -> set[str]:
    return set(ELEMENT.findall(text))


def _is_answered(run: Run) -> bool:
    return run.status == 0 and any(request.answer == "It is away." for request in run.requests)
