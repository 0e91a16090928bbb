"""The site answers with pages, figures and events of a real daemon; what goes wrong is a page, or JSON."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from urllib.parse import quote

import click
import pytest
from foveal.cli.app import App
from foveal.dashboard.site import make_site
from foveal.dashboard.view import FOLDER, NAVIGATION, STATIC
from prometheus_client.parser import text_string_to_metric_families
from yarl import URL

from tests.conftest import DEADLINE_S, SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]


@pytest.mark.parametrize("address", [address for _, address, _ in NAVIGATION])
async def test_each_page_of_the_navigation_is_there_without_a_project(pages: Pages, address: str) -> None:
    text = await read(pages, address)
    assert text.count("<h1>") == 1
    assert 'aria-current="page"' in text
    assert "style=" not in text
    assert "<script>" not in text


async def test_figures_are_what_prometheus_reads(pages: Pages, shared_daemon: DaemonProcess) -> None:
    shared_daemon.call("Ping")
    async with pages.get("/metrics") as reply:
        assert reply.content_type == "text/plain"
        families = {family.name: family for family in text_string_to_metric_families(await reply.text())}
    latency = families["foveal_request_duration_seconds"]
    counts = {
        sample.labels["method"]: sample.value for sample in latency.samples if sample.name.endswith("_count")
    }
    assert counts["Ping"] >= 1
    for method, count in counts.items():
        buckets = [
            one.value
            for one in latency.samples
            if one.name.endswith("_bucket") and one.labels["method"] == method
        ]
        assert buckets == sorted(buckets)
        assert buckets[-1] == count
    memory = {one.labels["process"]: one.value for one in families["foveal_resident_memory_bytes"].samples}
    assert memory["daemon"] > 1_000_000


async def test_events_are_passed_on(pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", SMALL_PROJECT)
    shared_daemon.open_ready(root)
    async with asyncio.timeout(DEADLINE_S), pages.get("/events?topics=context.built") as reply:
        assert reply.content_type == "text/event-stream"
        assert (await reply.content.readline()).startswith(b"retry: ")
        asked = asyncio.to_thread(shared_daemon.call, "GetContext", cwd=str(root), prompt="sessions")
        built = asyncio.create_task(asked)
        while (await reply.content.readline()) != b"event: context.built\n":
            pass
        data = json.loads((await reply.content.readline()).removeprefix(b"data: "))
        assert data["data"]["context_id"] == (await built)["context_id"]


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/nothing", 404, "There is no such page"),
        ("/diagnostics?period=year", 400, "Period is one of hour, day"),
        ("/diagnostics?since=today", 400, "Since must be a time such as"),
        ("/turns/none", 404, '<p class="row"><a href="/sessions">Sessions</a><a href="/">Home</a>'),
        ("/sessions/none", 404, "Not found"),
    ],
)
async def test_what_is_not_there_is_a_page_that_says_so(
    pages: Pages, address: str, status: int, said: str
) -> None:
    async with pages.get(address) as reply:
        assert reply.status == status
        text = await reply.text()
    assert said in text
    assert 'href="/"' in text


async def test_pages_change_by_listed_methods_only(pages: Pages) -> None:
    async with pages.post("/actions/Shutdown", json={}) as reply:
        assert reply.status == 404
        assert (await reply.json())["code"] == "unknown_method"
    async with pages.post("/actions/SetEmbedding", json=[]) as reply:
        assert reply.status == 400
    async with pages.post("/actions/ReleaseScope", json={"scope_id": "none"}) as reply:
        assert (await reply.json())["code"] == "not_found"


@pytest.mark.parametrize("address", ["/files?project={}&q=a", "/knowledge/one?project={}&type=rule&name=x"])
async def test_reading_a_page_opens_no_project(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path, address: str
) -> None:
    folder = write_files(tmp_path / "stranger", {"a.py": "x = 1\n"})
    async with pages.get(address.format(folder)) as reply:
        assert reply.status in (400, 404)
    roots = [project["root"] for project in shared_daemon.call("ListProjects")["projects"]]
    assert str(folder) not in roots


async def test_a_project_that_is_not_open_is_offered_to_be_opened(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = str(write_files(tmp_path / "my shop", SMALL_PROJECT).resolve())
    shared_daemon.open_ready(root)
    shared_daemon.call("CreateSession", cwd=root, session_id="of-my-shop")
    reply = shared_daemon.call("GetContext", cwd=root, prompt="sessions", session_id="of-my-shop")
    shared_daemon.call("CloseProject", path=root)
    query = f"project={quote(root)}"
    for address in ("explore", "knowledge", "knowledge/decisions/none", "explore/file"):
        async with pages.get(f"/{address}?{query}&q=a+b") as answer:
            text = await answer.text()
            assert (answer.status, answer.content_type) == (404, "text/html")
        assert "my shop is not open now" in text
        assert 'data-method="OpenProject"' in text
        assert f'data-goes="/{address}?{query}&amp;q=a+b"' in text
        assert f"foveal up &#39;{root}&#39;" in text
    for address in (
        "/",
        f"/sessions?{query}",
        f"/turns/{reply['context_id']}?why=a.py",
        "/sessions/of-my-shop",
    ):
        assert "my shop" in await read(pages, address), address
    for address in (f"/files?{query}&q=a", f"/knowledge/one?{query}&type=rule&name=x"):
        async with pages.get(address) as answer:
            assert (answer.status, answer.content_type) == (404, "application/json")
            assert (await answer.json())["code"] == "not_found"
    listed = shared_daemon.call("ListProjects")
    assert {"root": root, "state": "closed"} in listed["closed"]
    assert root not in [project["root"] for project in listed["projects"]]
    shared_daemon.call("OpenProject", path=root)
    assert root not in [one["root"] for one in shared_daemon.call("ListProjects")["closed"]]


HOSTILE = ("-1", "9" * 5_000, "%00%ff%fe", "%3Cscript%3Ealert(1)")


@pytest.mark.parametrize("value", HOSTILE)
async def test_no_parameter_makes_a_page_fail(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path, value: str
) -> None:
    root = shared_daemon.open_ready(write_files(tmp_path / "p", SMALL_PROJECT))["root"]
    scope = shared_daemon.call("GetContext", cwd=root, prompt="sessions")
    about = f"project={quote(root)}"
    names = ("page", "scopes", "before", "order", "limit", "q", "path", "mode", "state", "why")
    others = ("max_age_days", "max_count", "outcomes", "since", "until", "trust", "session", "agent", "sent")
    query = "&".join(f"{name}={value}" for name in (*names, *others))
    addresses = [address for _, address, _ in NAVIGATION]
    addresses += ["/explore/file", "/knowledge/decisions/prune", "/files", "/knowledge/one"]
    addresses += [f"/turns/{scope['context_id']}", f"/turns/{scope['context_id']}/difference"]
    for address in addresses:
        for given in (f"{about}&{query}", f"project={value}"):
            async with pages.get(URL(f"{address}?{given}", encoded=True)) as answer:
                text = await answer.text()
                assert answer.status in (200, 400, 404), f"{address} {given[:200]}: {text[:2000]}"
                assert answer.content_type == "application/json" or "<script>alert" not in text


def test_pages_name_no_file_of_another_host() -> None:
    files = [*Path(FOLDER, "templates").glob("*.html"), *Path(STATIC).glob("*.*")]
    loads = re.compile(
        r"""(?:\bsrc=|<link [^>]*href=|url\(|@import |\bfrom |\bimport\(?|fetch\(|EventSource\()\s*["'`]?([^\s"'`)>]+)"""
    )
    named = [(path.name, found[1]) for path in files for found in loads.finditer(path.read_text("utf-8"))]
    assert {"base.html", "page.js"} <= {name for name, _ in named}
    assert not [name for name, address in named if re.match(r"(?:\w+:)?//", address)]


def test_templates_name_commands_that_there_are() -> None:
    templates = "\n".join(path.read_text("utf-8") for path in Path(FOLDER, "templates").glob("*.html"))
    named = {tuple(one.split()) for one in re.findall(r"<code>foveal ((?:[a-z]+ ?){1,2})", templates)}
    assert ("decide",) in named
    for first, *rest in named:
        command = App().get_command(click.Context(App()), first)
        assert command is not None, first
        if rest and isinstance(command, click.Group):
            assert command.get_command(click.Context(command), rest[0]) is not None, (first, *rest)


def test_each_address_of_a_template_is_served() -> None:
    served = {resource.canonical for resource in make_site("/nowhere", 1).router.resources()}
    templates = Path(FOLDER, "templates").glob("*.html")
    named = {
        (template.name, address)
        for template in templates
        for both in re.findall(r"""href\(['"](/[\w/]*)['"][,)]|href="(/[\w/]*)[?"]""", template.read_text())
        for address in filter(None, both)
    }
    assert len(named) > 20
    assert {(name, address) for name, address in named if address not in served} == set()
