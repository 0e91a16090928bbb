"""A turn in a browser: what it missed is asked and pinned, slices are looked at, and turns compared."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser_cases import Site, signed_in
from tests.conftest import SMALL_PROJECT, write_files

PROMPT = "How does a login make a session? " + "Long words: " + "x" * 120


@pytest.fixture(scope="module")
def root(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = write_files(tmp_path_factory.mktemp("p"), SMALL_PROJECT)
    site.daemon.open_ready(folder)
    return str(folder)


@pytest.fixture(scope="module")
def given(site: Site, root: str) -> tuple[str, str, str]:
    """Give the ids of a scope and of two contexts of it, and the text of the latter."""
    first = site.daemon.call("GetContext", cwd=root, session_id="looked", agent_name="claude", prompt=PROMPT)
    asked = {"cwd": root, "session_id": "looked", "agent_name": "claude", "focus_paths": ["src/shop/auth.py"]}
    second = site.daemon.call("GetContext", **asked, constraints=["Be kind"])
    assert first["scope_id"] == second["scope_id"]
    return second["scope_id"], second["context_id"], second["context"]


def test_a_slice_is_looked_at_by_mouse_and_by_keys(
    page: Page, site: Site, given: tuple[str, str, str]
) -> None:
    _, context_id, text = given
    page.goto(f"{site.address}/turns/{context_id}")
    assert page.locator("#text-context").evaluate("one => one.textContent") == text
    page.get_by_role("link", name="Map", exact=True).click()
    cell = page.locator(".cell", has_text="auth.py").first
    cell.click()
    chosen = page.locator("#chosen [data-of]")
    expect(chosen).to_contain_text("src/shop/auth.py")
    expect(chosen.locator("pre")).to_contain_text("def login")
    expect(page.locator("tr.looked")).to_contain_text("src/shop/auth.py")
    assert page.url.endswith(f"#slice-{cell.get_attribute('data-slice')}")
    cell.press("ArrowDown")
    expect(page.locator(".cell:focus")).not_to_have_text("auth.py")
    expect(chosen).not_to_contain_text("def login")
    page.locator("#chosen").get_by_role("button", name="Close").click()
    expect(page.locator("#chosen")).to_contain_text("How to read it")


def test_why_a_file_was_not_in_the_last_context_costs_two_clicks(
    page: Page, site: Site, root: str, given: tuple[str, str, str]
) -> None:
    site.daemon.call("CreateSession", cwd=root, session_id="asking")
    latest = {"cwd": root, "session_id": "asking", "focus_paths": ["src/shop/auth.py"]}
    site.daemon.call("GetContext", **latest, prompt="What does the latest turn show?")
    page.goto(site.address)
    page.locator("#latest a[href^='/turns/']", has_text="the same prompt").first.click()
    page.wait_for_url("**/turns/*")  # with its scripts, which complete names
    box = page.get_by_label("Why is a file in, or not?")
    box.press_sequentially("web/mon")
    expect(page.locator("#files option")).to_have_attribute("value", "web/money.ts")
    box.fill("web/money.ts")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#why .notice")).to_contain_text("web/money.ts is n")
    assert page.locator("#why .notice li").count() > 0


def test_a_near_miss_is_pinned_by_one_click_and_unpinned_by_another(
    page: Page, site: Site, root: str
) -> None:
    asked = {"cwd": root, "session_id": "tight", "prompt": "How does a login make a session?"}
    reply = site.daemon.call("GetContext", **asked, max_tokens=90, reserve_tokens=0)
    page.goto(f"{site.address}/turns/{reply['context_id']}")
    row = page.locator("#near tbody tr").first
    row.get_by_role("button", name="Pin", exact=True).click()
    expect(row).to_contain_text("pinned")
    assert len(site.daemon.call("GetScope", scope_id=reply["scope_id"])["expanded"]) == 1
    page.get_by_role("button", name="Undo").click()
    expect(row.get_by_role("button", name="Pin", exact=True)).to_be_visible()
    assert site.daemon.call("GetScope", scope_id=reply["scope_id"])["expanded"] == []


def test_the_focus_is_changed_and_the_next_turn_previewed(
    page: Page, site: Site, given: tuple[str, str, str]
) -> None:
    page.goto(f"{site.address}/turns/{given[1]}")
    box = page.get_by_label("Add a file or a definition")
    box.press_sequentially("web/mon")
    expect(page.locator("#nodes option")).to_have_attribute("value", "web/money.ts")
    box.fill("no/such.py")
    box.press("Enter")
    expect(page.locator("#messages")).to_contain_text("The project has no no/such.py")
    box.fill("web/money.ts")
    site.daemon.call("ExpandFocus", scope_id=given[0], node_ids=["web/app.ts"])
    expect(page.locator(".nodes")).to_contain_text("web/app.ts")
    expect(box).to_be_focused()  # the list changes around who types
    expect(box).to_have_value("web/money.ts")
    box.press("Enter")
    expect(page.locator(".nodes li", has_text="money.ts")).to_contain_text("added since")
    page.get_by_role("button", name="Preview the next turn").click()
    expect(page.locator(".verdict")).to_contain_text("preview")
    expect(page.locator(".ranked")).to_contain_text("web/money.ts")
    for name in ("money.ts", "app.ts"):
        page.locator(".nodes li", has_text=name).get_by_role("button", name="Remove").click()
        expect(page.locator(".nodes li", has_text=name)).to_have_count(0)
    assert site.daemon.call("GetScope", scope_id=given[0])["expanded"] == []


def test_a_turn_reads_well_without_scripts(browser: Browser, site: Site, given: tuple[str, str, str]) -> None:
    with signed_in(browser, site, java_script_enabled=False) as window:
        window.goto(f"{site.address}/turns/{given[1]}?view=map")
        window.locator(".cell", has_text="auth.py").first.click()
        expect(window.locator("tr:target")).to_contain_text("src/shop/auth.py")
        window.get_by_label("Why is a file in, or not?").fill("src/shop/sessions.py")
        window.get_by_role("button", name="Ask").click()
        expect(window.locator("#why")).to_contain_text("imported by src/shop/auth.py")
