"""Sessions, requests and items in a real browser: changes with their undo, two tabs, the page last open."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser_cases import Site
from tests.conftest import SMALL_PROJECT, running_daemon, write_files
from tests.server_cases import RAW_SERVER

SESSION = "payment-bug"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Give the dashboard of a daemon with an address for applets."""
    folder = tmp_path_factory.mktemp("d")
    write_files(folder, {"config/config.toml": '[applet]\nurl = "https://apps.example/{slug}?{params}"\n'})
    with running_daemon(folder) as daemon:
        yield Site(daemon)


@pytest.fixture(scope="module")
def root(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("p")
    server = {"command": sys.executable, "args": [str(folder / "raw.py"), "pages"]}
    servers = json.dumps({"mcpServers": {"raw": server}})
    write_files(folder, {**SMALL_PROJECT, "raw.py": RAW_SERVER, ".mcp.json": servers})
    site.daemon.open_ready(folder)
    for name, include in (("api errors", "always"), ("commits", "manual"), ("naming", "agent")):
        item = {
            "type": "rule",
            "name": name,
            "include": include,
            "text": f"Text of {name}.",
            "priority_level": 400,
        }
        site.daemon.call("PutItem", cwd=str(folder), item=item)
    (file,) = site.daemon.call("ListToolServers", cwd=str(folder), refresh=False)["files"]
    named = {name: file[name] for name in ("path", "digest", "section")}
    site.daemon.call("ApproveToolServers", cwd=str(folder), **named)
    site.daemon.call("ListToolServers", cwd=str(folder))
    return folder


@pytest.fixture(autouse=True)
def session(site: Site, root: Path) -> Any:
    """Give each test the same session, with two sets."""
    known = site.daemon.call("ListSessions")["sessions"]
    if not any(one["session_id"] == SESSION for one in known):
        site.daemon.call("CreateSession", cwd=str(root), session_id=SESSION, name="Payment bug")
    context = {"files": [f"{root}/src/shop/auth.py"], "ports": ["8080"]}
    return site.daemon.call("UpdateSession", session_id=SESSION, context=context)


def kept(site: Site) -> Any:
    return site.daemon.call("GetSession", session_id=SESSION)["context"]


def names(site: Site) -> list[str]:
    return [item["name"] for item in site.daemon.call("GetSession", session_id=SESSION)["items"]]


def test_a_set_is_edited_and_the_event_arrives_in_a_second_tab(site: Site, page: Page) -> None:
    second = page.context.new_page()
    second.goto(f"{site.address}/sessions/{SESSION}?tab=context")
    live = page.context.new_page()
    live.goto(f"{site.address}/diagnostics")
    expect(live.locator("#state")).to_have_text("connected")
    page.goto(f"{site.address}/sessions/{SESSION}?tab=context")
    page.get_by_label("Set", exact=True).fill("endpoints")
    page.get_by_label("Entry").fill("https://example.org/charges")
    page.get_by_label("Entry").press("Enter")
    added = page.get_by_role("link", name="https://example.org/charges")
    expect(added).to_be_visible()
    expect(second.get_by_role("link", name="https://example.org/charges")).to_be_visible()
    expect(live.locator("#events")).to_contain_text("context.changed")
    page.get_by_role("button", name="Undo").click()
    expect(added).to_have_count(0)
    expect(second.get_by_role("link", name="https://example.org/charges")).to_have_count(0)
    assert "endpoints" not in kept(site)


def test_undo_leaves_what_others_did_meanwhile(site: Site, page: Page) -> None:
    def others_add(port: str) -> None:
        site.daemon.call(
            "SetRelevantContext", session_id=SESSION, set_name="ports", items=[port], mode="merge"
        )

    page.goto(f"{site.address}/sessions/{SESSION}?tab=context")
    page.get_by_role("button", name="Remove 8080").click()
    expect(page.get_by_role("link", name="8080")).to_have_count(0)
    others_add("9090")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="8080")).to_be_visible()
    assert kept(site)["ports"] == ["9090", "8080"]
    page.get_by_label("Set", exact=True).fill("ports")
    page.get_by_label("Entry").fill("5000")
    page.get_by_label("Entry").press("Enter")
    expect(page.get_by_role("link", name="5000")).to_be_visible()
    others_add("6000")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="5000")).to_have_count(0)
    assert kept(site)["ports"] == ["9090", "8080", "6000"]


def test_an_applet_is_captured_and_a_resume_offers_it_and_opens_nothing(site: Site, page: Page) -> None:
    page.goto(f"{site.address}/sessions/{SESSION}?tab=context")
    box = page.get_by_label("Applet: its address")
    box.fill("https://apps.example/git-diff?file=src%2Fa%20b.py")
    box.press("Enter")
    link = page.get_by_role("link", name="Reopen git-diff")
    expect(link.first).to_have_attribute("href", "https://apps.example/git-diff?file=src%2Fa%20b.py")
    assert kept(site)["applet"] == ["git-diff", "file=src/a b.py"]
    box.fill("board view=side by side tab=2")
    page.get_by_role("button", name="Capture").click()
    expect(page.get_by_role("link", name="Reopen board")).to_be_visible()
    assert kept(site)["applet"] == ["board", "view=side by side", "tab=2"]
    page.locator(".message").last.get_by_role("button", name="Undo").click()
    expect(link.first).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#reopen")).to_have_attribute(
        "href", "https://apps.example/git-diff?file=src%2Fa%20b.py"
    )
    expect(page.locator(".message").last).to_contain_text("Resumed: 1 file, applet git-diff, 1 port.")
    assert page.url.startswith(site.address)
    assert len(page.context.pages) == 1


def test_an_item_is_completed_added_and_removed(site: Site, page: Page) -> None:
    page.goto(f"{site.address}/sessions/{SESSION}?tab=items")
    box = page.get_by_placeholder("Add a rule")
    box.fill("comm")
    expect(page.locator("#names-rule option")).to_have_count(1)
    assert page.locator("#names-rule option").get_attribute("value") == "commits"
    box.fill("commits")
    box.press("Enter")
    row = page.locator("#list-rule li", has_text="commits")
    removing = row.get_by_role("button", name="Remove commits")
    expect(removing).to_be_visible()
    assert "commits" in names(site)
    removing.click()
    expect(row.get_by_role("button", name="Pin")).to_be_visible()
    page.locator(".message", has_text="Removed").get_by_role("button", name="Undo").click()
    expect(row.get_by_role("button", name="Remove commits")).to_be_visible()
    site.daemon.call("RemoveSessionItem", session_id=SESSION, type="rule", name="commits")
