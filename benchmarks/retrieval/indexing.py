"""The indexing of a code base: the product's own indexer, driven in a process of its own."""

from __future__ import annotations

import multiprocessing
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from foveal.daemon.config.settings import ScanConfig
from foveal.daemon.core.system import System
from foveal.daemon.index.indexer import ProjectIndexer
from foveal.daemon.index.project_index import CONTENT_VERSION
from foveal.daemon.index.records import OpenProject
from foveal.daemon.index.terms import VERSION as TERMS_VERSION

VERSION = f"{CONTENT_VERSION}/{TERMS_VERSION}"
"""An index that was made in another way is made anew, so that its answers are those of this code."""


def ensure_index(root: Path, folder: Path, *, fresh: bool = False) -> None:
    """Bring the index of `root` in `folder` up to date, made anew with `fresh` or if there is none."""
    note = folder / "made-by"
    if fresh or not note.is_file() or note.read_text(encoding="ascii") != VERSION:
        shutil.rmtree(folder, ignore_errors=True)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(index, str(root.resolve()), str(folder)).result()
    note.write_text(VERSION, encoding="ascii")


def index(root: str, folder: str) -> None:
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
    indexer = ProjectIndexer(command, System(), lambda event: None, lambda: None)
    try:
        while indexer.patience() == 0.0:
            indexer.step()
    finally:
        indexer.close()
