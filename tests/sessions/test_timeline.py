"""The timeline tells what happened in a session, once, and marks the shown places that were of use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, get_args

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.core.times import timestamp_of
from foveal.daemon.sessions.session_events import TimelineKind, Use, UseSign
from foveal.daemon.sessions.session_store import SessionStore
from foveal.daemon.sessions.timeline import SessionEvent
from foveal.daemon.transcripts.records import Activity

from tests.delivery_cases import Opened, opened


def event(kind: TimelineKind, *paths: str, cwd: str = "/p", **fields: Any) -> SessionEvent:
    return SessionEvent("ses", "codex", cwd, kind, paths=paths, **fields)


async def told(at: Opened) -> list[tuple[str, str, str]]:
    page = await at.timeline.page("ses", 10, "")
    entries = [stored.entry for stored in reversed(page.entries)]
    return [(entry.kind, entry.agent_id, entry.text) for entry in entries]


async def test_pages_follow_each_other(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        for number in range(5):
            at.timeline.record(event("prompt", text=f"prompt {number}"))
        page = await at.timeline.page("ses", 2, "")
        assert (page.project, [one.entry.text for one in page.entries]) == ("/p", ["prompt 4", "prompt 3"])
        page = await at.timeline.page("ses", 3, page.next)
        assert [one.entry.text for one in page.entries] == ["prompt 2", "prompt 1", "prompt 0"]
        assert page.next == ""
        with pytest.raises(InvalidRequest):
            await at.timeline.page("ses", 2, "yesterday")


async def test_a_context_belongs_to_the_entry_that_it_was_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        at.timeline.record(event("prompt", text="Why?"))
        assert at.timeline.too_late("ses", "")
        assert not at.timeline.too_late("ses", "")
        [stored] = (await at.timeline.page("ses", 1, "")).entries
        assert (stored.entry.outcome, stored.tokens) == ("too late", None)
        for _ in range(2):
            at.timeline.attach(("ses", ""), "c1", "req_1", "Why?", "sam")
        at.give("c1", paths=["a.py"])
        [stored] = (await at.timeline.page("ses", 9, "")).entries
        entry = stored.entry
        assert (entry.context_id, entry.request_id, entry.agent_name, entry.outcome) == (
            "c1",
            "req_1",
            "sam",
            "",
        )
        assert (stored.tokens, stored.shown, stored.used) == (20, 1, None), "nothing tells of use yet"
        at.timeline.named("ses", ["/p/a.py"])
        [stored] = (await at.timeline.page("ses", 9, "")).entries
        assert (stored.shown, stored.used) == (1, 1)
        assert (at.timeline.has_shown("ses"), at.timeline.has_shown("t")) == (True, False)


async def test_a_context_for_another_prompt_is_not_that_of_the_open_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        at.timeline.record(event("prompt", text="thanks"))
        at.timeline.attach(("ses", ""), "c1", "req_1", "Why?", "sam")
        at.timeline.record(event("prompt", text="How?"))
        at.timeline.attach(("ses", ""), "c2", "req_2", "", "sam")
        entries = [one.entry for one in (await at.timeline.page("ses", 9, "")).entries]
    assert sorted((one.text, one.context_id) for one in entries) == [
        ("How?", "c2"),
        ("Why?", "c1"),
        ("thanks", ""),
    ]


async def test_a_session_is_last_heard_when_anything_happened_in_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        at.timeline.record(event("start"))
        at.clock.pass_on(minutes=5)
        at.timeline.record(event("prompt", text="thanks"))  # needs no context
        heard = {"ses": timestamp_of(at.clock.now())}
        assert await at.timeline.heard() == await at.timeline.heard("ses") == heard
        store = SessionStore(str(tmp_path / "sessions"), at.clock)
        for name in ("ses", "other"):
            store.create("/p", [], session_id=name)
            at.clock.pass_on(minutes=5)
        later = {"ses": timestamp_of(at.clock.now())}
        assert [one.id for one in store.list("/p", heard).sessions] == ["other", "ses"]
        first, _ = store.list("/p", later).sessions
    assert (first.id, first.last_observed) == ("ses", later["ses"])


async def test_the_latest_prompt_with_a_context_is_answered(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        assert not await at.timeline.is_answered("ses", "Why?")
        at.timeline.record(event("prompt", text="Why?\nTell me."))
        assert not await at.timeline.is_answered("ses", "Why?\nTell me."), "it has no context yet"
        at.timeline.attach(("ses", ""), "c1", "req_1", "Why?\nTell me.", "sam")
        at.timeline.record(event("edit", "a.py"))
        assert await at.timeline.is_answered("ses", "Why?\nTell me.")
        assert not await at.timeline.is_answered("ses", "How?")
        at.timeline.record(event("compaction"))
        assert not await at.timeline.is_answered("ses", "Why?\nTell me."), "its window was emptied"


async def test_edits_of_an_agent_become_one_entry_for_a_while(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        at.timeline.record(event("edit", "a.py", "/etc/hosts"))
        at.clock.pass_on(minutes=1)
        at.timeline.record(event("edit", "b.py", "a.py"))
        at.clock.pass_on(minutes=3)
        at.timeline.record(event("edit", "c.py"))
        at.timeline.record(event("read", "d.py"))
        at.timeline.record(event("edit", "e.py", agent_id="x"))
        page = await at.timeline.page("ses", 9, "")
    paths = [stored.entry.paths for stored in reversed(page.entries)]
    assert paths == [("a.py", "b.py"), ("c.py",), ("d.py",), ("e.py",)]


async def test_task_of_a_subagent_is_told_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        at.timeline.record(event("subagent", agent_id="a", text="Find it"))
        at.timeline.record(event("prompt", agent_id="a", text="Find it"))
        at.timeline.record(event("subagent", agent_id="b"))
        at.timeline.record(event("prompt", agent_id="b", text="Look there"))
        at.timeline.record(event("prompt", agent_id="b", text="And there"))
        expected = [
            ("subagent", "a", "Find it"),
            ("subagent", "b", "Look there"),
            ("prompt", "b", "And there"),
        ]
        assert await told(at) == expected


async def test_without_a_project_paths_are_left_out(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        at.timeline.record(event("start", cwd="/nowhere"))
        at.timeline.record(event("edit", "/nowhere/a.py", cwd="/nowhere"))
        assert await at.kinds() == ["start"]


async def test_no_text_of_a_client_damages_the_file(tmp_path: Path) -> None:
    odd = "a\udcff\0b"
    async with opened(tmp_path) as at:
        at.give(odd, paths=[odd], session=odd, root=f"/{odd}", scope=odd, agent=odd, text=odd)
        at.timeline.attach((odd, odd), odd, odd, odd, odd)
        at.timeline.record(SessionEvent(odd, odd, f"/{odd}", "edit", odd, odd, odd, (odd, "", "/", "../..")))
        at.timeline.record(event("edit", odd, f"/p/{odd}", "a.py", text=odd))
        activity = [Activity(how, odd, 1, odd, odd, odd) for how in get_args(Use)]
        at.timeline.read_transcript(f"/{odd}", odd, odd, activity)
        at.timeline.read_transcript("/p", "ses", odd, [*activity, Activity("read", "/p/a.py", 2, "", "", "")])
        at.timeline.named(odd, [odd])
        assert await at.kinds() == ["edit", "read"]
        report = await at.deliveries.usage("session", f"/{odd}", "", "")
        assert [(row.key, row.turns) for row in report.rows] == [(odd, 1)]
        assert (await at.deliveries.usage("type", None, "", "")).total.turns == 1
        assert len(await at.deliveries.used_places(odd)) <= 1
        assert (await at.timeline.page(odd, 10, "")).entries
        assert len(await at.rows()) == 1
        await at.timeline.forget_project(f"/{odd}")
        assert await at.kinds(odd) == []
    assert not any("damaged" in name for name in os.listdir(tmp_path))


async def test_a_transcript_adds_only_what_hooks_did_not_report(tmp_path: Path) -> None:
    def edits(line: int, *paths: str, at: str = "2026-03-01T12:00:20Z") -> list[Activity]:
        return [Activity("edited", f"/p/{path}", line, at, at) for path in paths]

    async with opened(tmp_path) as at:
        at.timeline.record(event("edit", "a.py"))
        at.clock.pass_on(minutes=30)
        for paths in (["a.py"], ["a.py", "b.py"], ["a.py", "b.py", "c.py"]):
            at.timeline.read_transcript("/p", "ses", "/p", edits(7, *paths))
        at.timeline.read_transcript("/p", "ses", "/p", edits(9, "a.py", at="2026-03-01T12:10:00Z"))
        page = await at.timeline.page("ses", 10, "")
    assert [stored.entry.paths for stored in page.entries] == [("a.py",), ("b.py", "c.py"), ("a.py",)]


async def test_loose_names_mean_the_only_shown_file_that_ends_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        at.give("c", paths=["src/a/x.py", "src/b/x.py", "src/y.py"])

        async def used(path: str, *, exact: bool = False) -> list[str]:
            if exact:
                at.deliveries.put(UseSign("ses", "named", f"/p/{path}", at.deliveries.now()))
            else:
                named = Activity("named", path, 1, "", "")
                at.timeline.read_transcript("/p", "ses", "/p", [named])
            return [place.path for place in await at.deliveries.used_places("c")]

        assert await used("x.py") == [], "two files end so"
        assert await used("y.py", exact=True) == [], "another file"
        assert await used("xy.py") == []
        assert await used("b/x.py") == ["src/b/x.py"]
        assert await used("y.py") == ["src/b/x.py", "src/y.py"]


async def test_only_places_shown_before_their_use_are_used(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        at.give("c1", paths=["a.py"])
        at.clock.pass_on(seconds=1)
        at.timeline.record(event("read", "a.py"))
        at.clock.pass_on(seconds=1)
        at.give("c2", paths=["a.py"])
        at.timeline.record(event("edit", "b.py"))
        at.give("c3", paths=["a.py"], session="t")
        assert [place.how for place in await at.deliveries.used_places("c1")] == ["read"]
        assert await at.deliveries.used_places("c2") == await at.deliveries.used_places("c3") == []
        report = await at.deliveries.usage("session", None, "", "")
        assert {row.key: (row.turns, row.places_shown, row.places_used) for row in report.rows} == {
            "ses": (2, 2, 1),
            "t": (1, 0, 0),
        }
