"""No page shuts anybody out: axe-core finds nothing in either theme, and the keyboard reaches every control."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, ViewportSize

from tests.browser_cases import Site, accessibility_faults, browser, overflow_px, page, site
from tests.conftest import SMALL_PROJECT, write_files

__all__ = ["browser", "page", "site"]

ADDRESSES = {
    "home": "/",
    "sessions": "/sessions?project={root}",
    "session": "/sessions/s1",
    "turn": "/turns/{after}",
    "difference": "/turns/{after}/difference?with={before}",
    "rules": "/knowledge?project={root}&kind=rules",
    "references": "/knowledge?project={root}&kind=references",
    "tools": "/knowledge?project={root}&kind=tools",
    "decisions": "/knowledge?project={root}&kind=decisions",
    "quarantine": "/knowledge?project={root}&kind=quarantine",
    "decision": "/knowledge/decisions/{decision}?project={root}",
    "prune": "/knowledge/decisions/prune?project={root}&max_count=1",
    "explore": "/explore?project={root}&q=how+do+sessions+expire",
    "file": "/explore/file?project={root}&path=src/shop/auth.py",
    "definition": "/explore/file?project={root}&path=src/shop/auth.py%23login",
    "usage": "/usage",
    "usage by session": "/usage?by=session",
    "project": "/project?project={root}",
    "diagnostics": "/diagnostics",
}

PHONE = ViewportSize(width=360, height=800)

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


@pytest.fixture(scope="module")
def ids(site: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give a project in which agents worked, and what they left."""
    root = write_files(tmp_path_factory.mktemp("p") / "shop", SMALL_PROJECT)
    daemon = site.daemon
    daemon.open_ready(root)
    daemon.call("CreateSession", cwd=str(root), session_id="s1", name="Sessions", agent_name="codex")
    daemon.call("SetRelevantContext", session_id="s1", set_name="ports", items=["8080"])
    for kind in ("rule", "reference"):
        item = {"type": kind, "name": f"a-{kind}", "text": "Be kind.", "include": "always"}
        daemon.call("PutItem", cwd=str(root), item={**item, "description": "How to be"})
    left = {"decision": "Keep carts for a day", "agent_id": "codex", "session_id": "s1"}
    decision = daemon.call("GraftExperience", cwd=str(root), experience=left)["experience_ids"][0]
    asked = {"cwd": str(root), "session_id": "s1", "agent_name": "codex"}
    before, after = [
        daemon.call("GetContext", **asked, prompt=prompt)["context_id"]
        for prompt in ("how do sessions expire?", "who calls login?")
    ]
    return {"root": quote(str(root)), "before": before, "after": after, "decision": decision}


@pytest.mark.parametrize("name", ADDRESSES)
def test_axe_finds_nothing_in_either_theme(page: Page, site: Site, ids: dict[str, str], name: str) -> None:
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        page.goto(site.address + ADDRESSES[name].format(**ids))
        assert accessibility_faults(page) == [], scheme
    page.set_viewport_size(PHONE)
    assert overflow_px(page) <= 0
    assert accessibility_faults(page) == []


@pytest.mark.parametrize("name", ADDRESSES)
def test_the_keyboard_reaches_every_control_and_the_focus_is_seen(
    page: Page, site: Site, ids: dict[str, str], name: str
) -> None:
    page.goto(site.address + ADDRESSES[name].format(**ids))
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
    assert [control for at, control in enumerate(controls) if at not in reached] == []
    assert [control for at, control in enumerate(controls) if at not in seen] == []
