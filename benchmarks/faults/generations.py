"""A project all of whose files change together: whatever a daemon says of it shows how old it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foveal.ipc.client import Client
from foveal.ipc.errors import RpcError

from .home import DEADLINE_S

SYMBOLS_MAX = 500
EDITED = 8
"""While so many files are read that were just saved, a project goes on to be ready."""
_GENERATION = re.compile(r"walrus_(\d+)_of_(\d+)")


@dataclass
class Generations:
    """A project of `count` files at `root`; each defines one function, named for the generation."""

    root: Path
    count: int
    now: int = 0

    def write(self, numbers: Iterable[int] | None = None) -> None:
        """Write all files of the next generation, or only some of them, which leaves two in the project."""
        self.now += 1
        for number in range(self.count) if numbers is None else numbers:
            path = self.root / f"d{number % 40}" / f"f{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"def walrus_{number}_of_{self.now}() -> int:\n    return {self.now}\n")

    def stale(self, text: str) -> list[str]:
        """Return what a text says of a former generation."""
        return [found[0] for found in _GENERATION.finditer(text) if int(found[2]) != self.now]

    def lies(self, client: Client) -> tuple[str, str]:
        """Ask Status and for definitions and a context; return the state, and what was wrong and not said.

        An answer that is `partial` or `degraded` says that it may be wrong; Status says it by its state.
        """
        cwd = str(self.root)
        (project,) = _ask(client, "Status", cwd=cwd).get("projects") or [{}]
        symbols = _ask(client, "FindSymbols", cwd=cwd, query="walrus", limit=SYMBOLS_MAX)
        path = f"d{1 % 40}/f1.py"
        context = _ask(client, "GetContext", cwd=cwd, focus_paths=[path])
        wrong = []
        names = [symbol["symbol"] for symbol in symbols.get("symbols", ())]
        silent = symbols and not symbols["partial"] and not symbols["degraded"]
        if old := self.stale(" ".join(names)):
            # Each of these was compared with its file before it was told.
            wrong.append(f"{old[0]} and {len(old) - 1} more were told as definitions")
        if silent and len(names) < min(self.count, SYMBOLS_MAX):
            wrong.append(f"{len(names)} definitions of {self.count} were told as all there are")
        if context and self.stale(context["context"]):
            wrong.append(f"a context shows {self.stale(context['context'])[0]}")
        state = str(project.get("state", ""))
        if state == "ready" and not project["degraded"]:
            unread = project["files_pending"]
            figures = project["files"], project["symbols"] + unread
            if figures != (self.count, self.count) or unread > EDITED:
                wrong.append(f"Status says ready with {figures} files and definitions, {unread} unread")
            state = "indexing" if unread else state
        return state, "; ".join(wrong)


def _ask(client: Client, method: str, **params: Any) -> dict[str, Any]:
    """Ask; an error is an answer that claims nothing."""
    try:
        answer: dict[str, Any] = client.call(method, params, DEADLINE_S)
    except RpcError:
        return {}
    return answer
