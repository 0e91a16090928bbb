"""The run: pictures of every page in both themes and several widths, or how quick pages are.

python -m benchmarks.dashboard pictures FOLDER     a PNG of each page, theme and width
python -m benchmarks.dashboard times               first paint of Home with many projects and sessions
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, Page, Response, sync_playwright

from .daemon import DEADLINE_S, copied_project, fill, own_daemon

REPOSITORY = Path(__file__).resolve().parents[2]

WIDTHS = {"narrow": (360, 800), "laptop": (1280, 800), "wide": (2560, 1300)}
"""The narrowest phone, a laptop, a large screen, in CSS pixels."""

MISSING = frozenset({"not-open", "not-found"})
"""Pages that say that there is nothing, with 404."""

FIRST_PAINT_MS = 200.0
"""Of Home on a warm daemon with 50 projects and 1,000 sessions."""

PAGE_BYTES = 300_000


def main() -> int:
    """Run what was asked for; the exit status is 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard", description=__doc__)
    parser.add_argument("what", choices=("pictures", "times"))
    parser.add_argument("folder", nargs="?", type=Path, default=Path("pictures"))
    parser.add_argument("--project", type=Path, default=REPOSITORY, help="what the pages are about")
    parser.add_argument("--only", default="", help="only pages whose name holds this")
    parser.add_argument("--projects", type=int, default=50)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    chromium = shutil.which("chromium") or sys.exit("chromium isn't installed; run: make system")
    with tempfile.TemporaryDirectory(prefix="fv-") as temporary, own_daemon(Path(temporary)) as client:
        root = copied_project(options.project, Path(temporary) / options.project.name)
        ids = fill(client, root)
        if options.what == "times":
            _crowd(client, Path(temporary), options.projects, options.sessions)
        url = client.call("OpenDashboard", {}, DEADLINE_S)["url"]
        with sync_playwright() as playwright:
            arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
            browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
            try:
                if options.what == "times":
                    return _time(browser, url, ids, options.rounds)
                return _draw(browser, url, ids, options.folder, options.only)
            finally:
                browser.close()


def addresses(ids: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the address of every page by its name."""
    about = f"project={quote(ids['root'])}"
    return {
        "overview": "/",
        "explore": f"/explore?{about}&q=how+is+a+budget+kept",
        "explore-empty": f"/explore?{about}",
        "file": f"/explore/file?{about}&path={quote(ids['path'])}",
        "contexts": f"/contexts?{about}",
        "context": f"/contexts/{quote(ids['context_id'])}",
        "scope": f"/scopes/{quote(ids['scope_id'])}",
        "sessions": f"/sessions?{about}",
        "session": f"/sessions/{quote(ids['session_id'])}",
        "request": f"/sessions/{quote(ids['session_id'])}/requests/{quote(ids['request_id'])}",
        "rules": f"/knowledge?{about}",
        "decisions": f"/knowledge?{about}&kind=decisions",
        "usage": "/usage",
        "project": f"/project?{about}",
        "diagnostics": "/diagnostics",
        "difference": f"/scopes/{quote(ids['scope_id'])}/difference",
        "decision": f"/knowledge/decisions/{quote(ids['experience_id'])}?{about}",
        "prune": f"/knowledge/decisions/prune?{about}&max_count=3",
        "not-open": f"/explore?project={quote(ids['closed'])}",
        "not-found": "/nothing-here",
    }


def _draw(browser: Browser, url: str, ids: Mapping[str, Any], folder: Path, only: str) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    context = browser.new_context()
    page = context.new_page()
    page.goto(url)
    origin = "/".join(url.split("/")[:3])
    for name, address in addresses(ids).items():
        if only not in name:
            continue
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            for width, (across, down) in WIDTHS.items():
                page.set_viewport_size({"width": across, "height": down})
                _open(page, origin + address, 404 if name in MISSING else 200)
                file = folder / f"{name}-{theme}-{width}.png"
                page.screenshot(path=file, full_page=width != "wide")
                print(file)
    return 0


def _time(browser: Browser, url: str, ids: Mapping[str, Any], rounds: int) -> int:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(url)
    origin = "/".join(url.split("/")[:3])
    rows = {
        name: _paints(page, origin + address, rounds if name == "overview" else 3)
        for name, address in addresses(ids).items()
        if name not in MISSING
    }
    for name, row in rows.items():
        print(json.dumps({"page": name, **row}))
    missed = rows["overview"]["first_paint_ms"] > FIRST_PAINT_MS
    return int(missed or any(row["bytes"] > PAGE_BYTES for row in rows.values()))


def _open(page: Page, address: str, status: int = 200) -> Response:
    """Open a page, which must be what it is taken for: a page of an error is quick, and looks well."""
    reply = page.goto(address)
    if reply is None or reply.status != status:
        raise SystemExit(f"{address} was answered with {reply and reply.status}, not {status}")
    return reply


def _paints(page: Page, address: str, rounds: int) -> dict[str, float]:
    """Return the median first paint and answer of a page, in ms, and the bytes of its text."""
    paints, answers, size = [], [], 0
    for _ in range(rounds):
        size = len(_open(page, address).body())
        painted = page.evaluate(
            """() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => {
                const paint = performance.getEntriesByName('first-contentful-paint')[0];
                const load = performance.getEntriesByType('navigation')[0];
                done([paint ? paint.startTime : null, load.responseStart, load.responseEnd]);
            }, 50)))"""
        )
        if painted[0] is not None:
            paints.append(painted[0])
        answers.append(painted[2])
    return {
        "first_paint_ms": round(statistics.median(paints), 1) if paints else -1.0,
        "answered_ms": round(statistics.median(answers), 1),
        "bytes": size,
    }


def _crowd(client: Any, folder: Path, projects: int, sessions: int) -> None:
    """Open many small projects, and make many sessions."""
    roots = []
    for number in range(projects - 1):
        root = folder / "many" / f"project-{number:02}"
        root.mkdir(parents=True)
        (root / "main.py").write_text(f"def main():\n    return {number}\n", encoding="utf-8")
        client.call("OpenProject", {"path": str(root)}, DEADLINE_S)
        roots.append(str(root))
    for number in range(sessions):
        params = {"cwd": roots[number % len(roots)], "session_id": f"s{number}", "name": f"Session {number}"}
        client.call("CreateSession", params, DEADLINE_S)


if __name__ == "__main__":
    raise SystemExit(main())
