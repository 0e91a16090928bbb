"""Knowledge and Explore in a real browser: the clicks that each task takes, changes with their undo."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser_cases import Site
from tests.conftest import SMALL_PROJECT, write_files
from tests.server_cases import RAW_SERVER

SESSION = "payment-bug"


@pytest.fixture(scope="module")
def root(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a project with three rules, an approved server and a session."""
    folder = tmp_path_factory.mktemp("p")
    server = {"command": sys.executable, "args": [str(folder / "raw.py"), "pages"]}
    servers = json.dumps({"mcpServers": {"raw": server}})
    write_files(folder, {**SMALL_PROJECT, "raw.py": RAW_SERVER, ".mcp.json": servers})
    site.daemon.open_ready(folder)
    for name, include in (("api errors", "always"), ("commits", "manual"), ("naming", "agent")):
        rule = {"type": "rule", "name": name, "include": include, "text": f"Text of {name}."}
        site.daemon.call("PutItem", cwd=str(folder), item={**rule, "priority_level": 400})
    (file,) = site.daemon.call("ListToolServers", cwd=str(folder), refresh=False)["files"]
    named = {name: file[name] for name in ("path", "digest", "section")}
    site.daemon.call("ApproveToolServers", cwd=str(folder), **named)
    site.daemon.call("ListToolServers", cwd=str(folder))
    site.daemon.call("CreateSession", cwd=str(folder), session_id=SESSION, name="Payment bug")
    return folder


def items(site: Site, root: Path) -> dict[str, Any]:
    return {item["name"]: item for item in site.daemon.call("ListItems", cwd=str(root))["items"]}


@contextmanager
def at_most(clicks: int, page: Page) -> Iterator[None]:
    """Fail if the page gets more clicks than a task may cost."""
    page.evaluate(
        "() => { window.clicks = 0; addEventListener('click', (event) => { if (event.detail) window.clicks += 1 }, true) }"
    )
    yield
    assert 0 < page.evaluate("() => window.clicks") <= clicks


def test_a_rule_is_created_in_three_clicks_and_undone(site: Site, page: Page, root: Path) -> None:
    page.goto(f"{site.address}/knowledge?project={root}")
    with at_most(3, page):
        page.get_by_role("button", name="New rule").click()
        page.keyboard.type("Never build SQL from strings, bind parameters.")
        page.get_by_role("button", name="Create").click()
        row = page.locator("li.item", has_text="never build sql from strings, bind")
        expect(row).to_contain_text("Never build SQL from strings, bind parameters.")
    rule = items(site, root)["never build sql from strings, bind"]
    assert (rule["include"], rule["text"]) == ("always", "Never build SQL from strings, bind parameters.")
    page.get_by_role("button", name="Undo").click()
    expect(row).to_have_count(0)


def test_a_rule_is_pinned_in_two_clicks_into_all_sessions_or_one(site: Site, page: Page, root: Path) -> None:
    page.goto(f"{site.address}/knowledge?project={root}")
    with at_most(2, page):
        page.get_by_role("button", name="Pin naming").click()
        page.get_by_role("button", name="All sessions").click()
        expect(page.locator("li.item", has_text="Text of naming")).to_contain_text("Always")
    assert items(site, root)["naming"]["include"] == "always"
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("li.item", has_text="Text of naming")).to_contain_text("Agent")
    page.goto(f"{site.address}/knowledge?project={root}")
    with at_most(2, page):
        page.get_by_role("button", name="Pin commits").click()
        page.get_by_role("button", name="Payment bug").click()
        expect(page.locator(".message")).to_contain_text("commits is pinned into Payment bug")
    session = site.daemon.call("GetSession", session_id=SESSION)
    assert "commits" in [item["name"] for item in session["items"]]
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".message")).to_contain_text("Undone")
    session = site.daemon.call("GetSession", session_id=SESSION)
    assert "commits" not in [item["name"] for item in session["items"]]


def test_a_decision_is_created_and_deleted_in_two_clicks(site: Site, page: Page, root: Path) -> None:
    page.goto(f"{site.address}/knowledge?project={root}")
    page.get_by_role("link", name="Decisions").click()
    page.get_by_role("button", name="New decision").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Decision").fill("Keep sessions in SQLite")
    dialog.get_by_label("Why").fill("One writer, many readers.")
    dialog.get_by_label("Files").fill("src/shop/sessions.py")
    dialog.get_by_role("button", name="Create").click()
    row = page.locator(".decision", has_text="Keep sessions in SQLite")
    for text in ("One writer, many readers.", "src/shop/sessions.py", "outcome unknown"):
        expect(row).to_contain_text(text)
    page.goto(f"{site.address}/knowledge?project={root}&kind=decisions")
    with at_most(2, page):
        row.get_by_role("button", name="Delete").click()
        expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_have_count(1)


def test_a_hit_leads_to_its_file_and_the_turns_that_showed_it(site: Site, page: Page, root: Path) -> None:
    asked = {"cwd": str(root), "focus_paths": ["src/shop/auth.py"], "prompt": "how does a login end?"}
    context_id = site.daemon.call("GetContext", **asked)["context_id"]
    page.goto(f"{site.address}/explore?project={root}&q=login")
    page.locator(".hit [data-stop]", has_text="auth.py").first.click()
    page.wait_for_url("**/explore/file?*")
    link = page.locator("#turns").get_by_role("link", name="how does a login end?")
    expect(link).to_have_attribute("href", f"/turns/{context_id}")
    page.locator(".graph").get_by_role("link", name="cart.py").press("Enter")
    page.wait_for_url("**path=src%2Fshop%2Fcart.py*")
    page.locator("#definitions .list a").first.click()
    expect(page.locator("#definition-title")).to_be_visible()


def test_a_deleted_rule_comes_back_by_undo(site: Site, page: Page, root: Path) -> None:
    page.goto(f"{site.address}/knowledge?project={root}")
    page.get_by_role("button", name="Delete naming").click()
    row = page.locator("li.item", has_text="Text of naming")
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_be_visible()
    (item,) = [
        one for one in site.daemon.call("ListItems", cwd=str(root))["items"] if one["name"] == "naming"
    ]
    assert (item["text"], item["include"], item["priority_level"]) == ("Text of naming.", "agent", 400)
