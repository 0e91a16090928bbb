"""No page shuts anybody out: axe-core finds nothing, keys reach every control, no word or phone breaks a page."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.browser_cases import Site, accessibility_faults, overflow_px, signed_in
from tests.conftest import SMALL_PROJECT, write_files

ADDRESSES = {
    "home": "/",
    "sessions": "/sessions?project={root}",
    "session": "/sessions/s1",
    "items": "/sessions/s1?tab=items",
    "sets": "/sessions/s1?tab=context",
    "turn": "/turns/{after}?why=src/none.py",
    "map": "/turns/{after}?view=map",
    "difference": "/turns/{after}/difference?with={before}",
    "scopes": "/scopes?project={root}",
    "scope": "/scope/{scope}?why=src/none.py",
    "rules": "/knowledge?project={root}&kind=rules",
    "references": "/knowledge?project={root}&kind=references",
    "tools": "/knowledge?project={root}&kind=tools",
    "decisions": "/knowledge?project={root}&kind=decisions",
    "quarantine": "/knowledge?project={root}&kind=quarantine",
    "decision": "/knowledge/decisions/{decision}?project={root}",
    "prune": "/knowledge/decisions/prune?project={root}&max_count=1",
    "explore": "/explore?project={root}&q=how+do+sessions+expire",
    "file": "/explore/file?project={root}&path=src/shop/auth.py%23login",
    "usage": "/usage?by=session",
    "project": "/project?project={root}",
    "diagnostics": "/diagnostics",
}
BY_KEYS = ("home", "items", "turn", "scope", "rules", "decision", "explore", "project", "diagnostics")
"""Pages whose controls are reached one by one; the others have the same ones."""

WORD = "one_word_that_never_ends_" * 12

CONTROLS = """() => {
    const all = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]';
    const reached = [...document.querySelectorAll(all)].filter((one) =>
        one.tabIndex >= 0 && !one.disabled && one.checkVisibility({ visibilityProperty: true }) && !one.closest('dialog:not([open])'));
    window.controls = reached;
    document.activeElement?.blur();
    return reached.map((one) => one.outerHTML.slice(0, 160));
}"""
"""Keeps every control that somebody can see and use, in the order of the page; returns their beginnings."""

FOCUSED = """() => {
    const one = document.activeElement;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one);
    const seen = (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1) || boxShadow !== 'none';
    return [window.controls.indexOf(one), seen];
}"""
"""Returns the number of the control that has the focus, or -1, and whether its focus can be seen."""

WIDEST = """() => [...document.querySelectorAll('main *, header *')].filter((one) => {
    const box = one.getBoundingClientRect();
    const place = one.closest('.graph, pre, svg') ?? document.documentElement;
    return place === document.documentElement && getComputedStyle(one).position !== 'absolute'
        && one.checkVisibility() && box.right > document.documentElement.clientWidth + 1;
}).map((one) => `${one.tagName}.${one.className}: ${one.textContent.trim().slice(0, 60)}`)"""
"""What of a page reaches over its right edge, also within what can be scrolled."""


@pytest.fixture(scope="module")
def ids(site: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give a project in which agents worked, whose names and prompts are as long as somebody may write them."""
    root = write_files(tmp_path_factory.mktemp("p") / "shop", SMALL_PROJECT)
    daemon, cwd = site.daemon, {"cwd": str(root)}
    daemon.open_ready(root)
    daemon.call("CreateSession", **cwd, session_id="s1", name=WORD[:150], agent_name="codex")
    daemon.call("SetRelevantContext", session_id="s1", set_name="ports", items=["8080"])
    for kind in ("rule", "reference"):
        item = {"type": kind, "name": f"{kind}_{WORD[:90]}", "text": "Be kind.", "include": "always"}
        daemon.call("PutItem", **cwd, item={**item, "description": f"{WORD} and words. " * 5})
    said = {"decision": WORD, "rationale": WORD, "agent_id": WORD[:60], "session_id": "s1"}
    left = {**said, "files_touched": [f"src/{WORD[:200]}"]}
    decision = daemon.call("GraftExperience", **cwd, experience=left)["experience_ids"][0]
    asked = {**cwd, "session_id": "s1", "agent_name": WORD[:60], "constraints": [WORD]}
    before, after = (
        daemon.call("GetContext", **asked, prompt=prompt) for prompt in ("how do sessions expire?", WORD)
    )
    scope = daemon.call(
        "GetContext", **{**asked, "agent_id": "sub"}, parent_scope_id=after["scope_id"], prompt="sessions"
    )["scope_id"]
    daemon.call("ExpandFocus", scope_id=scope, node_ids=["src/shop/auth.py#login"])
    return {
        "root": quote(str(root)),
        "before": before["context_id"],
        "after": after["context_id"],
        "decision": decision,
        "scope": scope,
    }


def test_every_page_serves_all(page: Page, site: Site, ids: dict[str, str]) -> None:
    for name, address in ADDRESSES.items():
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(site.address + address.format(**ids))
        assert (page.evaluate(WIDEST), overflow_px(page)) == ([], 0), name
        assert accessibility_faults(page) == [], name
        if name in BY_KEYS:
            check_keys(page)
        page.emulate_media(color_scheme="dark")
        assert accessibility_faults(page, "color-contrast") == [], f"{name}, dark"
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 360, "height": 740})
        with suppress(PlaywrightTimeout):  # charts are drawn again after the page has its new size
            page.wait_for_function(f"() => !({WIDEST})().length", timeout=2_000)
        assert (page.evaluate(WIDEST), overflow_px(page)) == ([], 0), f"{name} on a phone"


def check_keys(page: Page) -> None:
    """Check that the tabulator reaches every control, and that each shows it."""
    controls = page.evaluate(CONTROLS)
    reached: set[int] = set()
    seen: set[int] = set()
    for _ in range(2 * len(controls) + 10):  # a date has a stop for each of its parts
        page.keyboard.press("Tab")
        at, is_seen = page.evaluate(FOCUSED)
        reached.add(at)
        if is_seen:
            seen.add(at)
        if len(reached - {-1}) == len(controls):
            break
    assert [control for at, control in enumerate(controls) if at not in reached & seen] == []


def test_pages_are_read_without_scripts(browser: Browser, site: Site, ids: dict[str, str]) -> None:
    with signed_in(browser, site, java_script_enabled=False) as page:
        for address in ADDRESSES.values():
            page.goto(site.address + address.format(**ids))
            expect(page.locator("h1")).to_have_count(1)
            assert page.locator(".scripted:visible").count() == 0


def test_paper_shows_no_header_and_no_form(page: Page, site: Site, ids: dict[str, str]) -> None:
    page.emulate_media(media="print")
    for name in ("rules", "decision", "sessions"):
        page.goto(site.address + ADDRESSES[name].format(**ids))
        assert page.locator("h1").is_visible()
        for shown in page.locator("header, nav.pages, form, button, dialog").all():
            assert not shown.is_visible(), name


def test_colours_can_be_chosen_and_stay(page: Page, site: Site) -> None:
    page.goto(site.address)
    page.locator("[data-theme-switch]").dblclick()
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    page.goto(f"{site.address}/diagnostics")
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
