"""What a reader does on the dashboard, in a real browser: keys, live pages, search, undo."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser_cases import Site, signed_in
from tests.conftest import SMALL_PROJECT, write_files


@pytest.fixture(scope="module")
def root(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give a project in which agents worked, and what they left."""
    folder = write_files(tmp_path_factory.mktemp("p") / "shop", SMALL_PROJECT)
    site.daemon.open_ready(folder)
    for number in range(3):
        experience = {"decision": f"Decision {number}", "agent_id": "codex", "session_id": "s1"}
        site.daemon.call("GraftExperience", cwd=str(folder), experience=experience)
    return str(folder)


def test_pages_are_reached_by_keys_alone(page: Page, site: Site, root: str) -> None:
    page.goto(site.address)
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


def test_results_come_while_somebody_types(page: Page, site: Site, root: str) -> None:
    page.goto(f"{site.address}/explore?project={root}")
    page.locator("h1").click()  # the field has the focus at first, where the key is a letter
    page.keyboard.press("/")
    page.keyboard.type("who calls login?")
    expect(page.locator("#results")).to_contain_text("cart.py")
    expect(page.locator("#understood")).to_contain_text("the structure")
    assert "who+calls+login" in page.url
    page.keyboard.press("ArrowDown")
    assert page.evaluate("() => document.activeElement.closest('.hit') !== null")


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


@pytest.fixture(scope="module")
def ids(site: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give the id of a turn, and a project that was open before."""
    root = write_files(tmp_path_factory.mktemp("p") / "shop", SMALL_PROJECT)
    closed = write_files(tmp_path_factory.mktemp("c") / "was-open", SMALL_PROJECT)
    for folder in (root, closed):
        site.daemon.open_ready(folder)
    site.daemon.call("CloseProject", path=str(closed))
    reply = site.daemon.call("GetContext", cwd=str(root), prompt="sessions")
    return {"closed": quote(str(closed)), "context": reply["context_id"]}


def test_days_are_those_of_the_reader(
    site: Site, browser: Browser, ids: dict[str, str], tmp_path: Path
) -> None:
    root = write_files(tmp_path / "days", SMALL_PROJECT)
    for hour in ("2026-03-02T00:30:00Z", "2026-03-01T23:30:00Z", "2026-03-01T09:00:00Z"):
        left = {"decision": f"At {hour}", "agent_id": "codex", "session_id": "s", "timestamp": hour}
        site.daemon.call("GraftExperience", cwd=str(root), experience=left)
    address = f"{site.address}/knowledge?project={quote(str(root))}&kind=decisions"
    for zone, days in (
        ("UTC", ["March 2, 2026", "March 1, 2026"]),
        ("Asia/Tokyo", ["March 2, 2026", "March 1, 2026"]),
        ("America/New_York", ["March 1, 2026"]),
    ):
        with signed_in(browser, site, timezone_id=zone, locale="en-US") as page:
            page.goto(address)
            expect(page.locator(".day h2")).to_have_text(days)
            assert page.locator(".decision").count() == 3
    with signed_in(browser, site, java_script_enabled=False) as page:
        page.goto(address)
        expect(page.locator(".day h2")).to_have_text(["2 March 2026 UTC", "1 March 2026 UTC"])


def test_a_folder_is_excluded_by_two_clicks_and_undone(page: Page, site: Site, tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop", {**SMALL_PROJECT, "docs/a.md": "# A\n", ".fovealignore": "*.log\n"})
    site.daemon.open_ready(root)
    page.goto(f"{site.address}/project?project={root}")
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
    page.goto(f"{site.address}/project?project={root}")
    page.get_by_role("link", name="Forget old…").click()
    expect(page.locator("#content")).to_contain_text("This removes the index, 1 context")
    page.get_by_role("button", name="Forget old").click()
    page.wait_for_url(f"{site.address}/")
    known = site.daemon.call("ListProjects")
    assert str(root) not in [one["root"] for one in (*known["projects"], *known["closed"])]
    assert (root / "src").exists()


def test_scope_is_reached_pinned_to_and_released(page: Page, site: Site, tmp_path: Path) -> None:
    root = write_files(tmp_path / "scoped", SMALL_PROJECT)
    site.daemon.open_ready(root)
    scope = site.daemon.call(
        "GetContext", cwd=str(root), prompt="how do sessions expire?", agent_name="codex"
    )
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(site.address)
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Scopes").click()
    page.get_by_role("link", name="how do sessions expire?").first.click()
    expect(page.get_by_role("heading", name="Not in focus, and why")).to_be_visible()
    page.get_by_label("Add a file").fill("web/app.ts")
    page.get_by_role("button", name="Add to focus").click()
    expect(page.locator("#scope .nodes")).to_contain_text("web/app.ts")
    expect(page.locator("#messages")).to_contain_text("tokens now")
    box = page.locator("#scope .box", has_text="app.ts").first
    box.locator("summary").press("Enter")
    expect(box.locator("pre")).to_be_visible()
    box.get_by_role("button", name="Unpin").click()
    expect(page.locator("#scope .nodes")).to_have_count(0)
    assert site.daemon.call("GetScope", scope_id=scope["scope_id"])["expanded"] == []
    page.get_by_role("button", name="Release").click()
    page.wait_for_url("**/scopes?project=*")
    expect(page.locator("#scopes")).to_contain_text("No scope")
    page.go_back()
    expect(page.locator("h1")).to_have_text("A released scope")
