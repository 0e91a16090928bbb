"""The product under measure: a real daemon with its real model, asked over the socket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foveal.ipc.client import Client

from .. import own_daemon
from ..own_daemon import WAIT_S, environment, open_project
from .passages import Passage

DEADLINE_MS = 120_000
"""No context is cut short for want of time: what is measured is what it would hold."""

MAX_BYTES = 16_000_000


@dataclass(frozen=True, slots=True)
class Context:
    """One answer: the text, and what the daemon says of it (for the analysis, never for the judgement)."""

    text: str
    slices: tuple[Mapping[str, Any], ...]
    degraded: tuple[str, ...]


class Product:
    """A running daemon."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def open(self, root: Path) -> None:
        """Open a project and wait until all of it is indexed, linked and embedded."""
        open_project(self._client, root, embedded=True)

    def close(self, root: Path) -> None:
        """Close a project, so that the next one has the memory."""
        self._client.call("CloseProject", {"path": str(root)}, WAIT_S)

    def context(self, root: Path, text: str, budget: int) -> Context:
        """Return the context of so many tokens for a prompt, all of them for the context.

        Raises `RuntimeError` for one that is partial: its figures would say nothing.
        """
        params: dict[str, Any] = {
            "cwd": str(root),
            "prompt": text,
            "max_tokens": budget,
            "reserve_tokens": 0,
            "max_bytes": MAX_BYTES,
            "deadline_ms": DEADLINE_MS,
        }
        reply = self._client.call("GetContext", params, WAIT_S)
        if reply["partial"]:
            raise RuntimeError(f"{root}: the context is partial ({'; '.join(reply['degraded'])})")
        return Context(reply["context"], tuple(reply["slices"]), tuple(reply["degraded"]))

    def hits(self, root: Path, text: str, limit: int) -> list[Passage]:
        """Return the places that a question with the prompt's text finds, best first."""
        params = {"cwd": str(root), "query": text, "limit": limit, "deadline_ms": DEADLINE_MS}
        results = self._client.call("Query", params, WAIT_S)["results"]
        return [Passage(result["path"], result["start_line"], result["end_line"]) for result in results]


@contextmanager
def running(folder: Path, *, embed: bool = True) -> Iterator[Product]:
    """Run a daemon whose state, settings and home lie in `folder`; it is ended, its state stays."""
    settings = f"[embedding]\nenabled = {str(embed).lower()}\n"
    with own_daemon.running(environment(folder, settings)) as client:
        yield Product(client)


def index_folder(folder: Path, name: str) -> Path:
    """Return the folder of the index of a project that a daemon keeps whose state lies in `folder`."""
    (found,) = (
        one for one in (folder / "state" / "projects").iterdir() if one.name.rpartition("-")[0] == name
    )
    return found
