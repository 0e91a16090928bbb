"""Pages keep their shape in a real browser: on a phone, with words that don't end, on paper, in any zone."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from tests.browser_cases import Site, browser, overflow_px, signed_in, site
from tests.conftest import SMALL_PROJECT, write_files

__all__ = ["browser", "site"]

PHONE = ViewportSize(width=360, height=740)
WORD = "one_word_that_never_ends_" * 12

WIDEST = """() => [...document.querySelectorAll('main *, header *')].filter((one) => {
    const box = one.getBoundingClientRect();
    const place = one.closest('.graph, pre, svg') ?? document.documentElement;
    return place === document.documentElement && getComputedStyle(one).position !== 'absolute'
        && one.checkVisibility() && box.right > document.documentElement.clientWidth + 1;
}).map((one) => `${one.tagName}.${one.className}: ${one.textContent.trim().slice(0, 60)}`)"""
"""What of a page reaches over its right edge, also within what can be scrolled."""

CUT = """() => [...document.querySelectorAll('.cell')].filter((one) => {
    const box = one.getBoundingClientRect();
    return [...one.children].some((text) => {
        const inside = text.getBoundingClientRect();
        return getComputedStyle(text).visibility !== 'hidden' && getComputedStyle(one).overflow !== 'hidden'
            && (inside.right > box.right + 1 || inside.bottom > box.bottom + 1);
    });
}).map((one) => one.textContent)"""
"""The labels of a drawing that stand out of their boxes."""


@pytest.fixture(scope="module")
def ids(site: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give a project whose names, prompts and descriptions are as long as somebody may write them."""
    root = write_files(tmp_path_factory.mktemp("p") / "shop", SMALL_PROJECT)
    daemon = site.daemon
    daemon.open_ready(root)
    cwd = {"cwd": str(root)}
    daemon.call("CreateSession", **cwd, session_id="s1", name=WORD[:150], agent_name="codex")
    for name in ("a", "b"):
        item = {"type": "rule", "name": f"{name}_{WORD[:90]}", "text": "Be kind.", "include": "always"}
        daemon.call("PutItem", **cwd, item={**item, "description": f"{WORD} and words. " * 5})
    reply = {}
    for prompt in ("sessions", WORD):
        reply = daemon.call("GetContext", **cwd, prompt=prompt, session_id="s1", agent_name=WORD[:60])
    left = {
        "decision": WORD,
        "rationale": WORD,
        "agent_id": WORD[:60],
        "session_id": "s1",
        "files_touched": [f"src/{WORD[:200]}"],
    }
    grafted = daemon.call("GraftExperience", **cwd, experience=left)["experience_ids"][0]
    closed = write_files(tmp_path_factory.mktemp("c") / "was-open", SMALL_PROJECT)
    daemon.open_ready(closed)
    daemon.call("CloseProject", path=str(closed))
    return {
        "root": quote(str(root)),
        "closed": quote(str(closed)),
        "context": reply["context_id"],
        "scope": reply["scope_id"],
        "request": reply["request_id"],
        "experience": grafted,
    }


ADDRESSES = (
    "/",
    "/turns/{context}",
    "/turns/{context}/difference",
    "/sessions?project={root}",
    "/sessions/s1",
    "/knowledge?project={root}",
    "/knowledge?project={root}&kind=decisions",
    "/knowledge/decisions/{experience}?project={root}",
    "/explore?project={root}&q=session",
    "/explore/file?project={root}&path=src/shop/auth.py",
    "/usage",
    "/project?project={root}",
    "/diagnostics",
)


def test_on_a_phone_nothing_is_wider_than_the_screen(
    site: Site, browser: Browser, ids: dict[str, str]
) -> None:
    with signed_in(browser, site, viewport=PHONE) as page:
        for address in ADDRESSES:
            page.goto(site.address + address.format(**ids))
            assert page.evaluate(WIDEST) == [], address
            assert overflow_px(page) == 0, address
            for link in page.locator(".pages a").all():
                box = link.bounding_box()
                assert box is not None
                assert box["x"] >= 0, address
                assert box["x"] + box["width"] <= PHONE["width"], address


def test_a_word_that_does_not_end_widens_no_table_and_labels_stay_in_their_boxes(
    site: Site, browser: Browser, ids: dict[str, str]
) -> None:
    with signed_in(browser, site, viewport={"width": 1280, "height": 800}) as page:
        for address in ADDRESSES:
            page.goto(site.address + address.format(**ids))
            assert page.evaluate(WIDEST) == [], address
            assert overflow_px(page) == 0, address
            assert page.evaluate(CUT) == [], address


def test_a_long_description_is_short_until_somebody_wants_it(
    site: Site, browser: Browser, ids: dict[str, str]
) -> None:
    with signed_in(browser, site) as page:
        page.goto(f"{site.address}/knowledge?project={ids['root']}")
        said = page.locator(".unfolds").first
        before = said.bounding_box()
        said.locator("summary").click()
        after = said.bounding_box()
        assert before is not None
        assert after is not None
        assert after["height"] > 2 * before["height"]


def test_paper_shows_no_header_and_no_form(site: Site, browser: Browser, ids: dict[str, str]) -> None:
    with signed_in(browser, site) as page:
        for address in (
            "/knowledge?project={root}",
            "/knowledge/decisions/{experience}?project={root}",
            "/sessions",
        ):
            page.goto(site.address + address.format(**ids))
            page.emulate_media(media="print")
            assert page.locator("h1").is_visible()
            for shown in page.locator("header, nav.pages, form, button, dialog").all():
                assert not shown.is_visible(), address
            page.emulate_media(media="screen")


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


def test_the_projects_are_picked_from_within_a_phones_screen(
    site: Site, browser: Browser, ids: dict[str, str]
) -> None:
    with signed_in(browser, site, viewport=PHONE) as page:
        page.goto(f"{site.address}/turns/{ids['context']}")
        page.locator(".picker summary").click()
        box = page.locator(".menu").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        page.locator(".menu a", has_text="shop").first.click()
        expect(page.locator("h1")).to_have_text("Sessions")


def test_a_closed_project_is_opened_by_its_button(site: Site, browser: Browser, ids: dict[str, str]) -> None:
    with browser.new_context(
        viewport=PHONE
    ) as context:  # not a watched one: that the page is a 404 is told in its console
        page = context.new_page()
        page.goto(site.login_url())
        reply = page.goto(f"{site.address}/explore?project={ids['closed']}&q=login")
        assert reply is not None
        assert reply.status == 404
        assert overflow_px(page) == 0
        page.get_by_role("button", name="Open was-open").click()
        expect(page.locator("h1")).to_have_text("Explore")
        expect(page.locator("input.question")).to_have_value("login")
    assert site.daemon.call("CloseProject", path=unquote(ids["closed"])) == {"closed": True}
