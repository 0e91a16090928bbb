"""The shared state of a run: its size, its folder, code bases, and a warm project."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from foveal.ipc.client import Client

from . import corpus
from .own_daemon import Opening, daemon_mb, environment, open_project, running

PROJECT_FILES = 3_000
QUICK_FILES = 120
"""Of the warm project. In a quick run targets that speak of more files aren't judged."""


class Bench:
    """One run. `skipped` says which peers could not be asked, and why, `failed` which benchmarks ended in an
    error."""

    def __init__(self, *, quick: bool, source: Path | None = None) -> None:
        self.quick = quick
        self.skipped: list[str] = []
        self.failed: list[str] = []
        self._source = source
        self._warm: WarmProject | None = None
        self._stack = ExitStack()
        # A socket's path must be short.
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fv-")))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._warm is not None:
            self._warm.stop()
        self._stack.close()

    def count(self, whole: int, quick: int) -> int:
        """Return how many samples are taken, or how many files there are."""
        return quick if self.quick else whole

    def new_folder(self, name: str) -> Path:
        """Make an empty folder of the run."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))

    @cached_property
    def source(self) -> Path:
        """The code base, Django unless another was named; never edited."""
        return (self._source or corpus.fetch()).resolve()

    def part(self, count: int) -> Path:
        """Copy so many files of the code base."""
        return corpus.part(self.source, self.new_folder("p") / "project", count)

    @property
    def warm(self) -> WarmProject:
        """The project that is indexed and embedded, opened at first use."""
        if self._warm is None:
            self._warm = WarmProject(self, self.count(PROJECT_FILES, QUICK_FILES))
        return self._warm

    @property
    def is_full_size(self) -> bool:
        """Whether the warm project has as many files as the targets speak of."""
        return not self.quick


class WarmProject:
    """A project of the code base's files with a daemon of its own, wholly indexed and embedded."""

    def __init__(self, bench: Bench, count: int) -> None:
        self.home = bench.new_folder("w")
        self.root = bench.part(count)
        self.files = corpus.python_files(self.root)
        self.environ = environment(self.home)
        self._stack = ExitStack()
        self.client: Client
        self._start()
        self.opening: Opening = open_project(self.client, self.root, embedded=True)

    def restart(self, settings: str = "") -> None:
        """Start the daemon again with other settings, its state kept, and open the project."""
        self.stop()
        environment(self.home, settings)
        self._start()
        open_project(self.client, self.root, embedded=True)

    def stop(self) -> None:
        """Stop the daemon; its state stays."""
        self._stack.close()

    def memory_mb(self) -> float:
        """Return the resident memory of the daemon's own process."""
        return daemon_mb(self.client)

    def thirty_kilobytes(self) -> dict[str, Any]:
        """Return a request for about 30 KB of 20 files: some in focus, the others what they import."""
        for count in range(1, 20):
            params = {
                "cwd": str(self.root),
                "focus_paths": self.files[:count],
                "max_tokens": 9_600,
                "reserve_tokens": 2_000,
            }
            reply = self.client.call("GetContext", params)
            if sum(1 for one in reply["slices"] if one.get("path")) >= 20:
                break
        return params

    def _start(self) -> None:
        self._stack = ExitStack()
        self.client = self._stack.enter_context(running(self.environ))
