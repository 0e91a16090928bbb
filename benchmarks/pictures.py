"""Pictures of every page of the dashboard in both themes and three widths: python -m benchmarks.pictures.

The pages are about this repository, in which the daemon did what agents ask of it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from foveal.ipc.client import Client
from playwright.sync_api import Page, sync_playwright

from .own_daemon import WAIT_S, environment, open_project, running

REPOSITORY = Path(__file__).resolve().parents[1]

WIDTHS = {"narrow": (360, 800), "laptop": (1280, 800), "wide": (2560, 1300)}
"""The narrowest phone, a laptop, a large screen, in CSS pixels."""

MISSING = frozenset({"not-open", "not-found"})
"""Pages that say that there is nothing, with 404."""

PROMPTS = (
    "How does a request become a context?",
    "Where is the budget of a context decided, and what is cut first?",
    "Which tests reach the linker?",
    f"What is wrong with {'one_word_that_never_ends_' * 12}, which a log had?",
)

DECISIONS = (
    ("Keep SQLite as the truth and derive the lexical index from it", "success", "It can be rebuilt."),
    ("Retry the embedder three times before giving up", "failure", "It hid a broken model for an hour."),
    ("Cache rendered contexts by their focus alone", "reverted", "A prompt may name any file of the tree."),
)


def main() -> int:
    """Draw what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("pictures"))
    parser.add_argument("--only", default="", help="only pages whose name holds this")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or sys.exit("chromium isn't installed; run: make system")
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fv-") as temporary:
        root = Path(temporary).resolve() / "foveal"
        subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{REPOSITORY}", str(root)], check=True)
        with running(environment(Path(temporary), "[embedding]\nenabled = false\n")) as client:
            pages = _addresses(client, root)
            url = client.call("OpenDashboard", {}, WAIT_S)["url"]
            with sync_playwright() as playwright:
                arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
                browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
                page = browser.new_page()
                page.goto(url)
                for name, address in pages.items():
                    if options.only in name:
                        _draw(page, name, "/".join(url.split("/")[:3]) + address, options.folder)
                browser.close()
    return 0


def _addresses(client: Client, root: Path) -> Mapping[str, str]:
    """Do in a project what agents do; return the address of every page by its name."""

    def call(method: str, **params: Any) -> Any:
        return client.call(method, {"cwd": str(root), **params}, WAIT_S)

    open_project(client, root)
    for decision, outcome, rationale in DECISIONS:
        call("GraftExperience", experience={
            "decision": decision, "rationale": rationale, "outcome": {"kind": outcome},
            "agent_id": "claude-code", "session_id": "s", "files_touched": ["daemon/engine/engine.py"],
        })  # fmt: skip
    for mode in ("always", "manual", "agent"):
        call("PutItem", item={"type": "rule", "name": f"style-{mode}", "text": "Write short sentences.",
                              "description": "Style", "include": mode})  # fmt: skip
    call("CreateSession", session_id="s", name="Limit the sessions", agent_name="claude-code")
    for prompt in PROMPTS:
        reply = call("GetContext", prompt=prompt, session_id="s", format="messages")
    closed = root.parent / "not-open-now"
    closed.mkdir()
    client.call("OpenProject", {"path": str(closed)}, WAIT_S)
    client.call("CloseProject", {"path": str(closed)}, WAIT_S)
    experience = call("ListExperiences")["experiences"][0]["experience_id"]
    about, turn = f"project={quote(str(root))}", f"/turns/{quote(reply['context_id'])}"
    return {
        "overview": "/",
        "explore": f"/explore?{about}&q=how+is+a+budget+kept",
        "file": f"/explore/file?{about}&path=README.md",
        "turn": turn,
        "difference": f"{turn}/difference",
        "sessions": f"/sessions?{about}",
        "session": "/sessions/s",
        "rules": f"/knowledge?{about}",
        "decisions": f"/knowledge?{about}&kind=decisions",
        "decision": f"/knowledge/decisions/{quote(experience)}?{about}",
        "prune": f"/knowledge/decisions/prune?{about}&max_count=3",
        "usage": "/usage",
        "project": f"/project?{about}",
        "diagnostics": "/diagnostics",
        "not-open": f"/explore?project={quote(str(closed))}",
        "not-found": "/nothing-here",
    }


def _draw(page: Page, name: str, address: str, folder: Path) -> None:
    """Draw a page, which must be what it is taken for: a page of an error looks well too."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        for width, (across, down) in WIDTHS.items():
            page.set_viewport_size({"width": across, "height": down})
            reply = page.goto(address)
            if reply is None or reply.status != (404 if name in MISSING else 200):
                raise SystemExit(f"{address} was answered with {reply and reply.status}")
            file = folder / f"{name}-{theme}-{width}.png"
            page.screenshot(path=file, full_page=width != "wide")
            print(file)


if __name__ == "__main__":
    sys.exit(main())
