"""Decisions can be read, filtered, marked, deleted and restored from pages; pruning shows what would go."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from foveal.dashboard.pages.decisions import ROWS, SAID, prune_reasons

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


async def test_pruning_is_looked_at_before_it_is_done(pages: Pages, root: Path) -> None:
    text = await read(pages, address(root, "/prune", max_count="1"))
    assert "3 decisions</strong> would go, 1 stay" in text
    assert text.count("not among the newest 1</span>") == 3
    assert "4 decisions" in await read(pages, address(root))
    assert "Choose what may go" in await read(pages, address(root, "/prune"))
    assert "Nothing would go" in await read(pages, address(root, "/prune", max_age_days="1000"))


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


def test_each_pruned_decision_says_why_it_goes() -> None:
    now = datetime(2030, 1, 9, tzinfo=UTC)
    old, new = {"timestamp": "2030-01-01T00:00:00Z"}, {"timestamp": "2030-01-08T00:00:00Z"}
    limits = {"max_age_days": 3, "max_count": 1}
    assert prune_reasons(old, limits, now) == ["older than 3 days"]
    assert prune_reasons(new, limits | {"irrelevant": True}, now) == [
        "not among the newest 1",
        "all its files are gone",
    ]
    assert prune_reasons(new, {"deleted": True}, now) == ["it was deleted"]
