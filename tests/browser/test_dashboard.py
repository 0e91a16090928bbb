"""What a reader does on the dashboard, in a real browser: keys, live pages, search, undo, a daemon that dies."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser_cases import Site, browser, page, signed_in, site
from tests.conftest import SMALL_PROJECT, write_files

__all__ = ["browser", "page", "site"]

ADDRESSES = {
    "overview": "/",
    "explore": "/explore?project={root}&q=how+do+sessions+expire",
    "file": "/explore/file?project={root}&path=src/shop/auth.py",
    "definition": "/explore/file?project={root}&path=src/shop/auth.py%23login",
    "turn": "/turns/{context_id}",
    "sessions": "/sessions?project={root}",
    "session": "/sessions/s1",
    "rules": "/knowledge?project={root}",
    "tools": "/knowledge?project={root}&kind=tools",
    "decisions": "/knowledge?project={root}&kind=decisions",
    "decision": "/knowledge/decisions/{experience_id}?project={root}",
    "prune": "/knowledge/decisions/prune?project={root}&max_count=1",
    "quarantine": "/knowledge?project={root}&kind=quarantine",
    "usage": "/usage",
    "project": "/project?project={root}",
    "diagnostics": "/diagnostics",
    "an error": "/nothing",
}


@pytest.fixture(scope="module")
def ids(site: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give a project in which agents worked, and what they left."""
    root = write_files(tmp_path_factory.mktemp("p") / "shop", SMALL_PROJECT)
    daemon = site.daemon
    daemon.open_ready(root)
    daemon.call("CreateSession", cwd=str(root), session_id="s1", name="Sessions", agent_name="codex")
    daemon.call("SetRelevantContext", session_id="s1", set_name="ports", items=["8080"])
    left = [
        daemon.call(
            "GraftExperience",
            cwd=str(root),
            experience={"decision": f"Decision {number}", "agent_id": "codex", "session_id": "s1"},
        )["experience_ids"][0]
        for number in range(3)
    ]
    asked = {"cwd": str(root), "prompt": "how do sessions expire?", "session_id": "s1", "agent_name": "codex"}
    reply = daemon.call("GetContext", **asked)
    return {
        "root": str(root),
        "context_id": reply["context_id"],
        "scope_id": reply["scope_id"],
        "request_id": reply["request_id"],
        "experience_id": left[0],
    }


def show(page: Page, site: Site, ids: dict[str, str], name: str) -> None:
    page.goto(site.address + ADDRESSES[name].format(**ids))


def test_pages_are_reached_by_keys_alone(page: Page, site: Site, ids: dict[str, str]) -> None:
    show(page, site, ids, "overview")
    page.keyboard.press("g")
    page.keyboard.press("k")
    page.wait_for_url("**/knowledge*")
    page.get_by_role("link", name="Decisions").press("Enter")
    page.wait_for_url("**kind=decisions*")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/knowledge/decisions/x_*")
    page.keyboard.press("Control+k")
    page.keyboard.type("metr")
    page.keyboard.press("Enter")
    page.wait_for_url("**/diagnostics*")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()


def test_results_come_while_somebody_types(page: Page, site: Site, ids: dict[str, str]) -> None:
    page.goto(f"{site.address}/explore?project={ids['root']}")
    page.locator("h1").click()  # the field has the focus at first, where the key is a letter
    page.keyboard.press("/")
    page.keyboard.type("who calls login?")
    expect(page.locator("#results")).to_contain_text("cart.py")
    expect(page.locator("#understood")).to_contain_text("structural")
    assert "who+calls+login" in page.url
    page.keyboard.press("ArrowDown")
    assert page.evaluate("() => document.activeElement.closest('.hit') !== null")


def test_a_deleted_decision_comes_back_by_undo(page: Page, site: Site, ids: dict[str, str]) -> None:
    show(page, site, ids, "decisions")
    row = page.locator(".decision", has_text="Decision 1")
    row.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("2 decisions").or_(row)).not_to_have_count(2)
    expect(row).to_have_count(0)
    page.locator("#messages").get_by_role("button", name="Undo").click()
    expect(row).to_have_count(1)


def test_what_a_pruning_takes_is_shown_first(page: Page, site: Site, tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", SMALL_PROJECT)
    site.daemon.open_ready(root)
    for number in range(3):
        experience = {"decision": f"Old {number}", "agent_id": "a", "session_id": "s"}
        site.daemon.call("GraftExperience", cwd=str(root), experience=experience)
    page.goto(f"{site.address}/knowledge/decisions/prune?project={root}")
    page.get_by_label("All but the newest").fill("1")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("2 decisions would go, 1 stay")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Remove them for good").click()
    expect(page.locator("#preview")).to_contain_text("Nothing would go")
    assert site.daemon.call("ListExperiences", cwd=str(root))["total"] == 1


def test_an_index_is_watched_while_it_grows(page: Page, site: Site, tmp_path: Path) -> None:
    page.goto(site.address)
    root = write_files(
        tmp_path / "growing", {f"m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(400)}
    )
    site.daemon.call("OpenProject", path=str(root))
    card = page.locator(".project", has_text="growing")
    expect(card).to_contain_text("400 files")
    expect(card).to_contain_text("ready")
    write_files(root, {"more.py": "x = 1\n"})
    expect(card).to_contain_text("401 files")


def test_a_context_appears_on_an_open_page(page: Page, site: Site, ids: dict[str, str]) -> None:
    show(page, site, ids, "overview")
    expect(page.locator("#latest")).to_contain_text("how do sessions expire?")
    site.daemon.call("GetContext", cwd=ids["root"], prompt="what is a cart?", agent_name="cursor")
    expect(page.locator("#latest")).to_contain_text("what is a cart?")


def test_events_are_seen_as_they_come(page: Page, site: Site, ids: dict[str, str]) -> None:
    show(page, site, ids, "diagnostics")
    expect(page.locator("#state")).to_have_text("connected")
    site.daemon.call("SetRelevantContext", session_id="s1", set_name="ports", items=["9090"])
    expect(page.locator("#events li").first).to_contain_text("context.changed")


def test_pages_are_read_without_scripts(browser: Browser, site: Site, ids: dict[str, str]) -> None:
    with signed_in(browser, site, java_script_enabled=False) as page:
        for name in ADDRESSES:
            if name != "an error":
                show(page, site, ids, name)
                expect(page.locator("h1")).to_have_count(1)
                assert page.locator(".scripted:visible").count() == 0


def test_colours_can_be_chosen_and_stay(page: Page, site: Site, ids: dict[str, str]) -> None:
    show(page, site, ids, "overview")
    switch = page.locator("[data-theme-switch]")
    switch.click()
    switch.click()
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    show(page, site, ids, "diagnostics")
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"


def test_an_open_page_outlives_the_daemon(page: Page, site: Site, ids: dict[str, str]) -> None:
    show(page, site, ids, "overview")
    expect(page.locator("#connection")).to_be_hidden()
    site.daemon.stop(signal.SIGKILL)
    expect(page.locator("#connection")).to_be_visible()
    site.daemon.call("Ping")  # starts the daemon again
    expect(page.locator("#connection")).to_be_hidden()
    site.daemon.call("GetContext", cwd=ids["root"], prompt="after the restart")
    expect(page.locator("#latest")).to_contain_text("after the restart")
