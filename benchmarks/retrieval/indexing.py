"""The indexing of a code base: the product's own indexer, driven in a process of its own."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from foveal.daemon.config.settings import ScanConfig
from foveal.daemon.core.system import System
from foveal.daemon.index.indexer import ProjectIndexer
from foveal.daemon.index.project_index import CONTENT_VERSION
from foveal.daemon.index.records import OpenProject
from foveal.daemon.index.service import Reader
from foveal.daemon.index.terms import VERSION as TERMS_VERSION

VERSION = f"{CONTENT_VERSION}/{TERMS_VERSION}"
"""An index that was made in another way is made anew, so that its figures are those of this code."""


@dataclass(frozen=True, slots=True)
class IndexFigures:
    """What the first index of a project took: seconds from nothing to all contents, and the most memory of
    the process in megabytes; how much there was to index."""

    version: str
    files: int
    chunks: int
    seconds: float
    peak_mb: float


def ensure_index(root: Path, folder: Path, *, fresh: bool = False) -> IndexFigures:
    """Bring the index of `root` in `folder` up to date, made anew with `fresh` or if there is none.

    The figures are always those of the time when it was made.
    """
    note = folder / "figures.json"
    figures = IndexFigures(**json.loads(note.read_text(encoding="ascii"))) if note.is_file() else None
    if fresh or figures is None or figures.version != VERSION:
        shutil.rmtree(folder, ignore_errors=True)
        figures = None
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        made = pool.submit(index, str(root.resolve()), str(folder)).result()
    if figures is None:
        figures = made
        note.write_text(json.dumps(asdict(figures)), encoding="ascii")
    return figures


def index(root: str, folder: str) -> IndexFigures:
    """Run the indexer until it has nothing left to do."""
    scan = ScanConfig()
    command = OpenProject(
        root=root,
        folder=folder,
        max_file_bytes=scan.max_file_bytes,
        exclude=scan.exclude,
        skip_folders_extra=scan.skip_folders_extra,
        poll_interval_ms=scan.poll_interval_ms,
        sweep_interval_s=scan.sweep_interval_s,
    )
    started = time.perf_counter()
    indexer = ProjectIndexer(command, System(), lambda event: None, lambda: None)
    try:
        while indexer.patience() == 0.0:
            indexer.step()
    finally:
        indexer.close()
    seconds = time.perf_counter() - started
    reader = Reader(folder)
    try:
        files, chunks = len(reader.load_files()), reader.chunks.count()
    finally:
        reader.close()
    return IndexFigures(VERSION, files, chunks, round(seconds, 2), round(_peak_mb(), 1))


def folder_bytes(folder: Path) -> int:
    """Return the size of what lies in a folder, 0 if it isn't there: a small project has no vector file."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _peak_mb() -> float:
    """Return the most memory that this process ever had; getrusage would count that of its parent too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6
