"""Many pages of one browser for a day: one stream for all, a lost connection, signing out, what is in hand."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from tests.browser_cases import Site
from tests.conftest import SMALL_PROJECT, write_files

PAGES = 8
"""More than the six connections that a browser has to one host."""

FOLLOWED = "body[data-stream=open]"


@pytest.fixture(scope="module")
def root(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_files(tmp_path_factory.mktemp("p") / "shop", SMALL_PROJECT)
    site.daemon.open_ready(folder)
    return folder


@pytest.fixture
def streams(page: Page) -> list[Page]:
    """Give the pages that opened a stream of events, in their order."""
    opened: list[Page] = []

    def note(request: Request) -> None:
        if request.method == "GET" and "/events?" in request.url:
            opened.append(request.frame.page)

    page.context.on("request", note)
    return opened


def graft(site: Site, root: Path, decision: str) -> str:
    experience = {"decision": decision, "agent_id": "codex", "session_id": "s1"}
    left = site.daemon.call("GraftExperience", cwd=str(root), experience=experience)
    return str(left["experience_ids"][0])


def test_all_pages_of_a_browser_share_one_stream_which_outlives_each_of_them(
    site: Site, page: Page, root: Path, streams: list[Page]
) -> None:
    page.goto(f"{site.address}/diagnostics")
    expect(page.locator(FOLLOWED)).to_have_count(1)
    before = len(streams)
    opened = [page.context.new_page() for _ in range(PAGES)]
    for number, one in enumerate(opened):
        one.goto(
            f"{site.address}/knowledge?project={root}&kind=decisions"
            if number
            else f"{site.address}/diagnostics"
        )
    for one in opened:
        expect(one.locator(FOLLOWED)).to_have_count(1)
    assert len(streams) == before
    graft(site, root, "Seen everywhere")
    for one in (page, opened[0]):
        expect(one.locator("#events")).to_contain_text("experience.grafted")
    for one in opened[1:]:
        expect(one.locator("#timeline")).to_contain_text("Seen everywhere")
    page.close()
    graft(site, root, "Seen by who is left")
    for one in opened[1:]:
        expect(one.locator("#timeline")).to_contain_text("Seen by who is left")
    assert len(streams) == before + 1
    assert streams[-1] in opened
    graft(site, root, "Seen by the next stream")
    expect(opened[-1].locator("#timeline")).to_contain_text("Seen by the next stream")


def test_every_page_says_that_the_connection_is_lost_and_goes_on_when_it_is_back(
    site: Site, page: Page, root: Path
) -> None:
    second = page.context.new_page()
    for one in (page, second):
        one.goto(f"{site.address}/knowledge?project={root}&kind=decisions")
        expect(one.locator(FOLLOWED)).to_have_count(1)
    site.daemon.stop(signal.SIGKILL)
    for one in (page, second):
        expect(one.locator("#connection")).to_contain_text("The connection to the daemon is lost")
    site.daemon.open_ready(root)
    graft(site, root, "After the restart")
    for one in (page, second):
        expect(one.locator("#connection")).to_be_hidden()
        expect(one.locator("#timeline")).to_contain_text("After the restart")


def test_who_is_signed_out_is_told_and_a_new_login_serves_the_open_pages(
    browser: Browser, site: Site, root: Path
) -> None:
    """In a window of its own: Chromium notes each refused request in the console."""
    with browser.new_context() as context:
        old = context.new_page()
        old.goto(site.login_url())
        experience_id = graft(site, root, "Marked after a new login")
        old.goto(f"{site.address}/knowledge/decisions/{experience_id}?project={root}")
        expect(old.locator(FOLLOWED)).to_have_count(1)
        site.daemon.call("RevokeDashboard")
        expect(old.locator("#connection")).to_contain_text("You are signed out")
        expect(old.locator("body")).to_have_attribute("data-stream", "out")
        new = context.new_page()
        new.goto(site.login_url())
        expect(old.locator("#connection")).to_be_hidden()
        new.goto(site.login_url())  # each login has its own key for changes
        old.get_by_role("button", name="Worked").click()
        expect(old.locator("#decision")).to_contain_text("worked")


def test_an_entry_that_goes_leaves_the_focus_to_the_next(site: Site, page: Page, root: Path) -> None:
    for number in range(3):
        graft(site, root, f"In a row {number}")
    page.goto(f"{site.address}/knowledge?project={root}&kind=decisions")
    row = page.locator(".decision", has_text="In a row 1")
    row.get_by_role("button", name="Delete").press("Enter")
    expect(row).to_have_count(0)
    expect(page.get_by_role("link", name="In a row 0")).to_be_focused()
    page.keyboard.press("u")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(row).to_have_count(1)
    expect(page.get_by_role("link", name="In a row 0")).to_be_focused()


def test_what_is_read_stays_where_it_is_when_an_entry_comes_above(site: Site, page: Page, root: Path) -> None:
    for number in range(6):
        graft(site, root, f"Below {number}")
    page.set_viewport_size({"width": 800, "height": 300})
    page.goto(f"{site.address}/knowledge?project={root}&kind=decisions")
    expect(page.locator(FOLLOWED)).to_have_count(1)
    read = page.locator(".decision", has_text="Below 0")
    top = "one => new Promise((done) => requestAnimationFrame(() => done(one.getBoundingClientRect().top)))"
    read.scroll_into_view_if_needed()
    before = read.evaluate(top)
    graft(site, root, "Above")
    expect(page.locator("#timeline")).to_contain_text("Above")
    assert abs(read.evaluate(top) - before) < 2
