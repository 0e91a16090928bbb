"""Contexts and scopes in a browser: a slice is looked at, a focus changed, and the drawing follows."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser_cases import Site, accessibility_faults, browser, overflow_px, page, signed_in, site
from tests.conftest import SMALL_PROJECT, write_files

__all__ = ["browser", "page", "site"]

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
    page.goto(f"{site.address}/contexts/{context_id}")
    assert page.locator("#text-context").evaluate("one => one.textContent") == text
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


def test_an_address_of_a_part_opens_the_text_at_it(
    page: Page, site: Site, given: tuple[str, str, str]
) -> None:
    page.goto(f"{site.address}/contexts/{given[1]}")
    expect(page.locator("#sent-context pre")).not_to_be_visible()
    page.locator("tr", has_text="src/shop/auth.py").first.get_by_role("link", name="Text of auth.py").click()
    expect(page.locator(".part:target")).to_contain_text("def login")
    expect(page.locator(".part:target")).to_be_in_viewport()


def test_the_focus_is_changed_and_the_drawing_follows(
    page: Page, site: Site, given: tuple[str, str, str]
) -> None:
    page.goto(f"{site.address}/scopes/{given[0]}")
    added = page.locator(".cell.t-expansion")
    expect(added).to_have_count(0)
    box = page.get_by_label("Add a file or a definition")
    box.press_sequentially("web/mon")
    expect(page.locator("#files option")).to_have_attribute("value", "web/money.ts")
    box.fill("web/money.ts")
    box.press("Enter")
    expect(added).to_have_count(1)
    expect(added).to_contain_text("money.ts")
    box.fill("no/such.py")
    box.press("Enter")
    expect(page.locator("#messages")).to_contain_text("The project has no no/such.py")
    page.locator(".nodes li", has_text="money.ts").get_by_role("button", name="Remove").click()
    expect(added).to_have_count(0)
    assert site.daemon.call("GetScope", scope_id=given[0])["expanded"] == []


def test_a_region_changes_around_who_types_in_it(
    page: Page, site: Site, root: str, given: tuple[str, str, str]
) -> None:
    page.goto(f"{site.address}/scopes/{given[0]}")
    box = page.get_by_label("Add a file or a definition")
    box.press_sequentially("src/shop/se")
    site.daemon.call("ExpandFocus", scope_id=given[0], node_ids=["web/money.ts"])
    expect(page.locator(".nodes")).to_contain_text("web/money.ts")
    expect(box).to_be_focused()
    box.press_sequentially("ssions.py")
    expect(box).to_have_value("src/shop/sessions.py")
    site.daemon.call("ContractFocus", scope_id=given[0], node_ids=["web/money.ts"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_can_be_used_by_everyone(
    browser: Browser, site: Site, given: tuple[str, str, str], scheme: str
) -> None:
    scope_id, context_id, _ = given
    pages = [
        "/contexts",
        f"/contexts/{context_id}?why=src/none.py",
        f"/scopes/{scope_id}",
        f"/scopes/{scope_id}/difference",
    ]
    with signed_in(browser, site, color_scheme=scheme) as window:
        for address in pages:
            window.goto(site.address + address)
            assert accessibility_faults(window) == [], address
            for width in (360, 2560) if scheme == "light" else ():
                window.set_viewport_size({"width": width, "height": 800})
                assert overflow_px(window) <= 0, (address, width)


def test_a_context_reads_well_without_scripts(
    browser: Browser, site: Site, given: tuple[str, str, str]
) -> None:
    with signed_in(browser, site, java_script_enabled=False) as window:
        window.goto(f"{site.address}/contexts/{given[1]}")
        window.locator(".cell", has_text="auth.py").first.click()
        expect(window.locator("tr:target")).to_contain_text("src/shop/auth.py")
        window.get_by_label("A file of the project").fill("src/shop/sessions.py")
        window.get_by_role("button", name="Ask").click()
        expect(window.locator("#why")).to_contain_text("imported by src/shop/auth.py")
