"""Decisions can be read, filtered, marked, deleted and restored from pages; pruning shows what would go."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from foveal.dashboard.pages.decisions import ROWS, SAID, by_day

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]

HOSTILE = "Use <script>alert(1)</script> & \"quotes\" in 'names'"
DECISIONS = {
    "Keep one writer": "success",
    "Retry three times": "failure",
    HOSTILE: "",
    "Cache by focus": "reverted",
}


@pytest.fixture(scope="module")
def root(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_files(tmp_path_factory.mktemp("p"), SMALL_PROJECT)
    shared_daemon.open_ready(folder)
    for decision, kind in DECISIONS.items():
        experience = {
            "decision": decision,
            "agent_id": "codex",
            "session_id": "s",
            "files_touched": ["src/a.py"],
        }
        outcome = {"outcome": {"kind": kind}} if kind else {}
        shared_daemon.call("GraftExperience", cwd=str(folder), experience={**experience, **outcome})
    return folder


async def do(pages: Pages, method: str, **params: object) -> dict[str, object]:
    async with pages.post(f"/actions/{method}", json=params) as reply:
        assert reply.status == 200, await reply.text()
        found: dict[str, object] = await reply.json()
        return found


def address(root: Path, path: str = "", **query: str) -> str:
    base = f"/knowledge/decisions{path}" if path else "/knowledge"
    query = query if path else {"kind": "decisions", **query}
    return f"{base}?project={quote(str(root))}" + "".join(f"&{k}={v}" for k, v in query.items())


def quarantine(root: Path) -> str:
    return f"/knowledge?project={quote(str(root))}&kind=quarantine"


async def test_the_timeline_shows_all_with_their_outcomes_and_escapes_them(pages: Pages, root: Path) -> None:
    text = await read(pages, address(root))
    assert "4 decisions" in text
    assert 'class="decision success"' in text
    assert 'class="decision none"' in text
    assert "<script>alert" not in text
    assert "Use &lt;script&gt;alert(1)&lt;/script&gt; &amp;" in text


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"outcome": "failure"}, ["Retry three times"]),
        ({"q": "one+writer"}, ["Keep one writer"]),
        ({"outcome": "none"}, ["Use &lt;script"]),
        ({"agent": "nobody"}, []),
        ({"until": "2020-01-01"}, []),
    ],
)
async def test_filters_hold(pages: Pages, root: Path, query: dict[str, str], shown: list[str]) -> None:
    text = await read(pages, address(root, **query))
    assert text.count('class="decision ') == len(shown)
    assert all(one in text for one in shown)
    assert shown or "No decision matches" in text


async def test_one_can_be_marked_and_its_history_tells(pages: Pages, root: Path) -> None:
    listed = await read(pages, address(root, q="Cache"))
    ident = "x_" + listed.split('href="/knowledge/decisions/x_')[1].split("?")[0]
    await do(pages, "UpdateExperience", cwd=str(root), experience_id=ident, outcome={"kind": "success"})
    text = await read(pages, address(root, f"/{ident}"))
    assert "worked</span>" in text
    assert "<strong>Changed</strong>" in text
    await do(pages, "UpdateExperience", cwd=str(root), experience_id=ident, outcome={"kind": "reverted"})


async def test_days_are_named_as_those_of_utc_where_no_script_runs(pages: Pages, root: Path) -> None:
    text = await read(pages, address(root))
    assert text.count("<h2>") == text.count('<span class="soft small">UTC</span></h2>') >= 1
    assert text.count("data-at=") == 4


async def test_all_that_a_change_makes_stale_is_drawn_anew(pages: Pages, root: Path) -> None:
    """What a page says of a decision, and what it offers to do with it, lies in regions that follow changes."""
    listed = await read(pages, address(root))
    assert "4 decisions" in listed.split('id="timeline"')[1]
    ident = "x_" + listed.split('href="/knowledge/decisions/x_')[1].split("?")[0]
    text = await read(pages, address(root, f"/{ident}"))
    regions = text.split("data-live=")
    assert len(regions) == 3
    assert "Hold back" in regions[2]
    assert 'id="edit"' in regions[2]
    await do(pages, "UpdateExperience", cwd=str(root), experience_id=ident, trust="low")
    assert "Trust it" in (await read(pages, address(root, f"/{ident}"))).split("data-live=")[2]
    await do(pages, "UpdateExperience", cwd=str(root), experience_id=ident, trust="normal")


async def test_what_is_deleted_can_be_restored(pages: Pages, root: Path) -> None:
    listed = await read(pages, address(root, q="Retry"))
    ident = listed.split('data-method="DeleteExperience"')[1].split("x_")[1].split("&#34;")[0]
    params = {"cwd": str(root), "experience_id": f"x_{ident}"}
    await do(pages, "DeleteExperience", **params)
    assert "3 decisions" in await read(pages, address(root))
    assert 'data-method="RestoreExperience"' in await read(pages, address(root, deleted="1"))
    assert "It is deleted" in await read(pages, address(root, f"/x_{ident}"))
    await do(pages, "RestoreExperience", **params)
    assert "4 decisions" in await read(pages, address(root))


async def test_pruning_is_looked_at_before_it_is_done(pages: Pages, root: Path) -> None:
    text = await read(pages, address(root, "/prune", max_count="1"))
    assert "3 decisions</strong> would go, 1 stay" in text
    assert "4 decisions" in await read(pages, address(root))
    assert "Choose what may go" in await read(pages, address(root, "/prune"))
    assert "Nothing would go" in await read(pages, address(root, "/prune", max_age_days="1000"))


@pytest.mark.parametrize("query", [{"max_count": "-1"}, {"max_age_days": "many"}, {"max_count": "9" * 30}])
async def test_a_bad_limit_is_refused_in_words(pages: Pages, root: Path, query: dict[str, str]) -> None:
    async with pages.get(address(root, "/prune", **query)) as reply:
        assert reply.status == 400
        assert "must be a number from 0" in await reply.text()


async def test_bad_lines_are_in_quarantine(
    pages: Pages, root: Path, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    assert "Nothing is in quarantine" in await read(pages, quarantine(root))
    other = write_files(
        tmp_path / "q", {"foveal.toml": '[experience]\npath = "pool.jsonl"\n', "pool.jsonl": "<b>not json\n"}
    )
    shared_daemon.open_ready(other)
    files = shared_daemon.call("GetTrust", cwd=str(other))["files"]
    given = [{"path": file["path"], "digest": file["digest"]} for file in files]
    shared_daemon.call("Trust", cwd=str(other), files=given)
    shared_daemon.call("ListExperiences", cwd=str(other))
    text = await read(pages, quarantine(other))
    assert "&lt;b&gt;not json" in text
    assert "1 line" in text


def test_days_are_those_of_utc_in_the_order_given() -> None:
    ones = [
        {"timestamp": text}
        for text in ("2026-03-02T00:10:00Z", "2026-03-01T23:50:00Z", "2026-03-01T01:00:00Z")
    ]
    assert [(day, len(found)) for day, found in by_day(ones)] == [("2 March 2026", 1), ("1 March 2026", 2)]


async def test_a_timeline_goes_on_and_shows_the_beginnings_of_long_texts(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    folder = write_files(tmp_path / "long", SMALL_PROJECT)
    shared_daemon.open_ready(folder)
    for number in range(ROWS + 1):
        experience = {"agent_id": "codex", "session_id": "", "decision": f"{number} " + "<x>" * 1_000}
        shared_daemon.call("GraftExperience", cwd=str(folder), experience=experience)
    texts = [await read(pages, address(folder, page=str(number))) for number in (1, 2)]
    assert sum(text.count('class="decision ') for text in texts) == ROWS + 1
    assert "page=2" in texts[0]
    assert texts[1].count("&lt;x&gt;") < SAID


async def test_a_decision_of_a_session_that_was_never_made_has_no_dead_link(pages: Pages, root: Path) -> None:
    text = await read(pages, address(root))
    one = text.split('data-stop class="said" href="')[1].split('"')[0]
    shown = await read(pages, one.replace("&amp;", "&"))
    assert 'href="/sessions/s"' not in shown
    assert "It was named but never created" in shown


async def test_a_day_is_asked_for_in_a_zone_and_stays_in_its_field(pages: Pages, root: Path) -> None:
    text = await read(pages, address(root, since="2026-11-23T00:00:00%2B09:00"))
    assert 'name="since" value="2026-11-23"' in text
