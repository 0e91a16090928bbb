"""Ten walks through the dashboard by keyboard alone, and pages that stay open through an hour of traffic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser_cases import Site, signed_in
from tests.conftest import SMALL_PROJECT, write_files

STEPS = 120
"""Maximum presses of Tab between two controls of a walk; the longest page has some eighty."""

EVENTS = 4_000
"""Events of an hour in which an agent's turn is built each second, and its files change."""

IS_FOCUSED = "one => one === document.activeElement || one.contains(document.activeElement)"


@dataclass
class Walk:
    """A reader without a mouse, on one page."""

    page: Page
    address: str
    root: str

    def opens(self, path: str) -> None:
        self.page.goto(f"{self.address}{path}")

    def presses(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def types(self, text: str, then: str = "Enter") -> None:
        self.page.keyboard.type(text)
        self.presses(then)

    def tabs_to(self, wanted: Locator) -> None:
        """Press Tab until a control has the focus, and see that it shows that."""
        expect(wanted.first).to_be_visible()
        for _ in range(STEPS):
            self.presses("Tab")
            if wanted.first.evaluate(IS_FOCUSED):
                return
        raise AssertionError(f"{STEPS} times Tab don't reach {wanted}")

    def enters(self, wanted: Locator) -> None:
        self.tabs_to(wanted)
        self.presses("Enter")

    def arrives(self, pattern: str) -> None:
        self.page.wait_for_url(pattern, wait_until="load")

    def goes_back(self, pattern: str) -> None:
        """Go back as Alt and the left arrow do."""
        self.page.go_back()
        self.arrives(pattern)

    def opens_a_turn(self) -> None:
        """Open the session, and its first turn by keys."""
        self.opens("/sessions/s1")
        self.presses("ArrowDown", "Enter")
        self.arrives("**/turns/*")


@pytest.fixture(scope="module")
def root(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give a project with a session of two turns, a decision and two rules."""
    folder = write_files(tmp_path_factory.mktemp("p") / "shop", SMALL_PROJECT)
    site.daemon.open_ready(folder)
    cwd = {"cwd": str(folder)}
    site.daemon.call("CreateSession", **cwd, session_id="s1", name="Payment bug", agent_name="codex")
    for prompt in ("how do sessions expire?", "who logs in?"):
        site.daemon.call("GetContext", **cwd, session_id="s1", agent_name="codex", prompt=prompt)
    for name in ("naming", "errors"):
        rule = {"type": "rule", "name": name, "include": "manual", "text": f"Text of {name}."}
        site.daemon.call("PutItem", **cwd, item=rule)
    left = {"decision": "Expire sessions lazily", "agent_id": "codex", "session_id": "s1"}
    site.daemon.call("GraftExperience", **cwd, experience=left)
    return str(folder)


@pytest.fixture(scope="module")
def window(browser: Browser, site: Site) -> Iterator[Page]:
    """Give one window for all walks, which each begin at an address."""
    with signed_in(browser, site) as page:
        yield page


@pytest.fixture
def walk(window: Page, site: Site, root: str) -> Walk:
    return Walk(window, site.address, root)


def test_walk_from_home_to_a_turn_and_back(walk: Walk) -> None:
    walk.opens("/")
    walk.presses("ArrowDown")
    expect(walk.page.get_by_role("link", name="Payment bug")).to_be_focused()
    shown = "one => getComputedStyle(one, '::after').content"
    assert "20" in walk.page.locator("#latest time").first.evaluate(shown), "the exact time, as on hover"
    walk.enters(walk.page.locator("#latest a", has_text="who logs in?"))
    walk.arrives("**/turns/*")
    walk.goes_back(f"{walk.address}/")
    walk.presses("ArrowDown", "Enter")
    walk.arrives("**/sessions/s1")


def test_walk_past_the_navigation_to_the_content(walk: Walk) -> None:
    walk.opens("/usage")
    walk.presses("Tab", "Enter", "Tab")
    assert walk.page.evaluate("() => document.activeElement.closest('main') !== null")


def test_walk_from_a_question_to_a_file(walk: Walk) -> None:
    walk.opens(f"/explore?project={quote(walk.root)}")
    walk.presses("Escape", "/")
    walk.types("how do sessions expire", "ArrowDown")
    expect(walk.page.locator("#results")).to_contain_text("sessions.py")
    walk.presses("Escape", "ArrowDown")
    assert walk.page.evaluate("() => document.activeElement.closest('.hit') !== null")
    walk.presses("Enter")
    walk.arrives("**/explore/file*")
    walk.goes_back("**/explore?*sessions*")


def test_walk_by_the_palette_to_any_page(walk: Walk) -> None:
    walk.opens("/usage")
    walk.presses("Control+k")
    walk.types("diagn")
    walk.arrives("**/diagnostics*")
    walk.presses("Control+k", "Escape", "?")
    expect(walk.page.get_by_role("dialog", name="Keys")).to_be_visible()
    walk.presses("Escape")
    walk.goes_back("**/usage*")


def test_walk_through_the_sessions_to_one(walk: Walk) -> None:
    walk.opens("/")
    walk.presses("g", "s")
    walk.arrives("**/sessions*")
    walk.presses("/")
    walk.types("payment")
    walk.arrives("**/sessions?q=payment*")
    walk.presses("ArrowDown", "Enter")
    walk.arrives("**/sessions/s1")
    walk.presses("ArrowDown", "Enter")
    walk.arrives("**/turns/*")


def test_walk_to_why_a_file_is_not_in(walk: Walk) -> None:
    walk.opens_a_turn()
    walk.tabs_to(walk.page.get_by_label("Why is a file in, or not?"))
    walk.types("web/money.ts")
    expect(walk.page.locator("#why .notice")).to_contain_text("web/money.ts is n")


def test_walk_to_what_changed_between_two_turns(walk: Walk) -> None:
    walk.opens_a_turn()
    walk.enters(walk.page.get_by_role("button", name="Compare", exact=True))
    walk.arrives("**/difference?with=*")
    walk.enters(walk.page.get_by_role("link", name="The other way round"))
    expect(walk.page.locator("h1")).to_have_text("What changed")
    walk.goes_back("**/difference?with=*")
    walk.goes_back("**/turns/*")


def test_walk_over_the_map(walk: Walk) -> None:
    walk.opens_a_turn()
    walk.enters(walk.page.get_by_role("link", name="Map", exact=True))
    walk.arrives("**view=map*")
    walk.tabs_to(walk.page.locator("a.cell").first)
    walk.presses("ArrowDown", "Enter")
    expect(walk.page.locator("#chosen [data-of] pre")).to_be_visible()
    walk.enters(walk.page.locator("#chosen").get_by_role("button", name="Close"))
    expect(walk.page.locator("a.cell").nth(1)).to_be_focused()


def test_walk_to_a_new_rule_and_its_undo(walk: Walk) -> None:
    walk.opens(f"/knowledge?project={quote(walk.root)}&kind=rules")
    walk.enters(walk.page.get_by_role("button", name="New rule"))
    walk.page.keyboard.type("Bind parameters of each query.")
    walk.enters(walk.page.get_by_role("button", name="Create"))
    row = walk.page.locator("li.item", has_text="Bind parameters of each query.")
    expect(row).to_have_count(1)
    walk.presses("u", "Enter")
    expect(row).to_have_count(0)


def test_walk_to_a_decision_and_its_outcome(walk: Walk) -> None:
    walk.opens(f"/knowledge?project={quote(walk.root)}&kind=decisions")
    walk.presses("ArrowDown", "Enter")
    walk.arrives("**/knowledge/decisions/x_*")
    walk.enters(walk.page.get_by_role("button", name="Worked"))
    expect(walk.page.locator("#decision")).to_contain_text("worked")
    walk.presses("u", "Enter")
    expect(walk.page.locator("#decision .badge", has_text="worked")).to_have_count(0)
    walk.goes_back("**kind=decisions*")


@pytest.mark.parametrize("path", ["/", "/diagnostics"])
def test_page_left_open_stays_small(walk: Walk, path: str) -> None:
    page = walk.page
    with page.context.new_page() as other:  # it holds the stream, so that this page hears what is passed on
        other.goto(f"{walk.address}/usage")
        expect(other.locator("body[data-stream=open]")).to_have_count(1)
        walk.opens(path)
        expect(page.locator("body[data-stream=open]")).to_have_count(1)
        page.evaluate(TRAFFIC, EVENTS // 10)  # what the page keeps of its first events is its own
        before = weight(page)
        asked = page.evaluate(TRAFFIC, EVENTS)
        after = weight(page)
    assert after["nodes"] < before["nodes"] + 12_000, "of 500 events, each in some twenty nodes"
    assert after["heap"] < before["heap"] + 8_000_000
    assert after["jsEventListeners"] < before["jsEventListeners"] + 100
    assert 0 < asked < EVENTS / 20, "a burst is one redrawing"


def weight(page: Page) -> dict[str, float]:
    """Return the nodes, also those that only a script holds, the listeners, and the bytes of the heap."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    found = session.send("Memory.getDOMCounters")
    heap = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return {**found, "heap": heap}


TRAFFIC = """async (events) => {
    let asked = 0;
    const own = window.fetch;
    window.fetch = (...given) => { asked += 1; return own(...given); };
    const topics = ["context.built", "project.changed", "index.progress", "session.changed"];
    const channel = new BroadcastChannel("foveal-events");
    for (let at = 0; at < events; at += 1) {
        const data = { context_id: `c_${at}`, project: "/p", agent_name: "a", tokens: 10, elapsed_ms: 1, cached: false };
        channel.postMessage({ kind: "event", event: { topic: topics[at % topics.length], at: 1e9 + at, data } });
        if (at % 100 === 0) await new Promise((done) => setTimeout(done, 4));
    }
    await new Promise((done) => setTimeout(done, 400));
    channel.close();
    window.fetch = own;
    return asked;
}"""
"""Passes on events as the page that holds the stream does; returns how often the page asked the server."""
