"""A real browser on the dashboard of a real daemon, and what no page may do in it.

`browser`, `site` and `page` are fixtures of `tests/browser`. A `Site` belongs to a file's own
daemon; a `page` is a fresh window, signed in, which fails its test for an error in the console, a script
that failed, or a request to another host.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.conftest import DaemonProcess, need_tool, running_daemon

AXE = Path(__file__).parent / "browser" / "node_modules" / "axe-core" / "axe.min.js"

WAIT_MS = 20_000
"""Waits end long before; this is what a broken page costs a test."""

expect.set_options(timeout=WAIT_MS)


@dataclass
class Site:
    """The dashboard of one daemon."""

    daemon: DaemonProcess

    @property
    def address(self) -> str:
        """Where it is served, without the last slash."""
        return str(self.daemon.call("OpenDashboard", login=False)["address"]).rstrip("/")

    def login_url(self) -> str:
        """Return an address that signs a browser in, once."""
        return str(self.daemon.call("OpenDashboard")["url"])


@dataclass
class Watched:
    """What a window did that it mustn't."""

    host: str
    faults: list[str] = field(default_factory=list)

    def console(self, message: ConsoleMessage) -> None:
        """Note an error or a warning in the console, but for requests that failed while no daemon ran."""
        without_daemon = ("ERR_CONNECTION_REFUSED", "status of 502")
        if message.type in ("error", "warning") and not any(one in message.text for one in without_daemon):
            self.faults.append(f"{message.type}: {message.text}")

    def request(self, request: Request) -> None:
        """Note a request to another host."""
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self.host:
            self.faults.append(f"asked another host: {request.url}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Give the system's Chromium, one for all tests of a file: while Playwright runs, no asynchronous test can."""
    chromium = need_tool("chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        try:
            yield started
        finally:
            started.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Give the dashboard of a daemon of this file's own."""
    with running_daemon(tmp_path_factory.mktemp("d")) as daemon:
        yield Site(daemon)


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """Give a window that is signed in."""
    with signed_in(browser, site) as window:
        yield window


@contextmanager
def signed_in(browser: Browser, site: Site, **options: Any) -> Iterator[Page]:
    """Open a window, sign in, and hold what it did against what no page may do.

    `options` are those of a browser's context: `viewport`, `color_scheme`, `java_script_enabled`.
    """
    watched = Watched(urlsplit(site.address).netloc)
    context = browser.new_context(**options)
    context.set_default_timeout(WAIT_MS)
    try:
        window = context.new_page()
        window.on("console", watched.console)
        window.on("pageerror", lambda error: watched.faults.append(f"script failed: {error}"))
        window.on("request", watched.request)
        window.goto(site.login_url())
        yield window
    finally:
        context.close()
    assert not watched.faults, watched.faults


def accessibility_faults(window: Page, *rules: str) -> list[str]:
    """Return what axe-core finds on a page, a line each with where it is; by all rules, or these."""
    if not AXE.exists():
        message = "axe-core isn't installed: run make test where npm can be installed"
        if os.environ.get("FOVEAL_CI") == "1":
            pytest.fail(message)
        pytest.skip(message)
    # Through the debugger, since the page's own policy admits no script from elsewhere.
    if not window.evaluate("() => 'axe' in window"):
        window.evaluate(AXE.read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    found = window.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{fault['id']} ({fault['impact']}): {fault['help']}: {node['html'][:200]}"
        for fault in found["violations"]
        for node in fault["nodes"]
    ]


def overflow_px(window: Page) -> int:
    """Return by how much a page is wider than its window."""
    return int(
        window.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    )
