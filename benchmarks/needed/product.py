"""The product under measure: a real daemon with its real model, asked over the socket."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from foveal.ipc.client import Client, ensure_daemon

from .passages import Passage

WAIT_S = 600.0
DEADLINE_MS = 120_000
"""No context is cut short for want of time: what is measured is what it would hold."""

MAX_BYTES = 16_000_000
REPORT_S = 15.0


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
        self._client.call("OpenProject", {"path": str(root)}, WAIT_S)
        told = time.monotonic()
        while True:
            status = self._client.call("Status", {"cwd": str(root)}, WAIT_S)
            one = next(each for each in status["projects"] if each["root"] == str(root))
            if one["state"] == "ready" and not one["files_unlinked"] and one["embedding"] in ("done", "off"):
                return
            if one["embedding"] == "failed" or one["state"] == "degraded":
                raise RuntimeError(f"{root} can't be indexed: {one['degraded']}")
            if time.monotonic() - told > REPORT_S:
                told = time.monotonic()
                print(
                    f"  {one['state']}, {one['embedded']:,} chunks embedded, {one['pending']:,} wait",
                    file=sys.stderr,
                )
            time.sleep(0.2)

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
    with tempfile.TemporaryDirectory(prefix="fv-") as runtime:  # a socket's path must be short
        os.chmod(runtime, 0o700)
        environ = _environment(folder, Path(runtime))
        settings = f"[embedding]\nenabled = {str(embed).lower()}\n"
        (folder / "config" / "config.toml").write_text(settings, encoding="utf-8")
        with ensure_daemon(None, environ, WAIT_S) as client:
            process = psutil.Process(client.call("Ping")["pid"])
            try:
                yield Product(client)
            finally:
                client.call("Shutdown")
                process.wait(WAIT_S)


def index_folder(folder: Path, name: str) -> Path:
    """Return the folder of the index of a project that a daemon keeps whose state lies in `folder`."""
    (found,) = (
        one for one in (folder / "state" / "projects").iterdir() if one.name.rpartition("-")[0] == name
    )
    return found


def _environment(folder: Path, runtime: Path) -> dict[str, str]:
    for name in ("home", "state", "config"):
        (folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOVEAL_", "XDG_"))}
    return kept | {
        "HOME": str(folder / "home"),
        "XDG_RUNTIME_DIR": str(runtime),
        "FOVEAL_STATE_DIR": str(folder / "state"),
        "FOVEAL_CONFIG_DIR": str(folder / "config"),
    }
