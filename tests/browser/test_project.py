"""A folder is excluded and a project forgotten by at most three clicks from the first page."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser_cases import Site, browser, page, site
from tests.conftest import SMALL_PROJECT, write_files

__all__ = ["browser", "page", "site"]


def test_a_folder_is_excluded_by_two_clicks_and_undone(page: Page, site: Site, tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop", {**SMALL_PROJECT, "docs/a.md": "# A\n", ".fovealignore": "*.log\n"})
    site.daemon.open_ready(root)
    page.goto(f"{site.address}/?project={root}")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Project").click()
    page.get_by_role("button", name="Exclude docs/").click()
    expect(page.locator("#excluded")).to_contain_text("/docs/")
    assert (root / ".fovealignore").read_text("utf-8") == "*.log\n/docs/\n"
    page.locator("#messages").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Exclude docs/")).to_be_visible()
    assert (root / ".fovealignore").read_text("utf-8") == "*.log\n"
    page.get_by_label("Folder or file").fill("src/shop/auth.py")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Include /src/shop/auth.py again").click()
    expect(page.get_by_role("button", name="Include /src/shop/auth.py again")).to_have_count(0)
    assert (root / ".fovealignore").read_text("utf-8") == "*.log\n"
    site.daemon.call("CloseProject", path=str(root))


def test_a_project_is_forgotten_by_three_clicks_that_say_what_goes(
    page: Page, site: Site, tmp_path: Path
) -> None:
    root = write_files(tmp_path / "old", SMALL_PROJECT)
    site.daemon.open_ready(root)
    site.daemon.call("GetContext", cwd=str(root), prompt="how do sessions expire?")
    page.goto(f"{site.address}/?project={root}")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Project").click()
    page.get_by_role("link", name="Forget old…").click()
    expect(page.locator("#content")).to_contain_text("This removes the index, 1 context")
    page.get_by_role("button", name="Forget old").click()
    page.wait_for_url(f"{site.address}/")
    known = site.daemon.call("ListProjects")
    assert str(root) not in [one["root"] for one in (*known["projects"], *known["closed"])]
    assert (root / "src").exists()


def test_a_scope_is_listed_and_released(page: Page, site: Site, tmp_path: Path) -> None:
    root = write_files(tmp_path / "scoped", SMALL_PROJECT)
    site.daemon.open_ready(root)
    site.daemon.call("GetContext", cwd=str(root), prompt="how do sessions expire?", agent_name="codex")
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(f"{site.address}/project?project={root}")
    expect(page.locator("#scopes tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Release").click()
    expect(page.locator("#scopes")).to_contain_text("No scopes yet")
