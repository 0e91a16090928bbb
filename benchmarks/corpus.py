"""Owns the code bases that are measured on: source distributions by pinned version, fetched once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import platformdirs

DJANGO = ("Django", "5.2")
"""6,869 files, of them 2,818 in Python."""


def fetch(package: tuple[str, str] = DJANGO) -> Path:
    """Return the unpacked source distribution of a package; it is downloaded by pip if it isn't there.

    `FOVEAL_BENCH_CORPUS` names another folder to keep them in.
    """
    name, version = package
    folder = Path(os.environ.get("FOVEAL_BENCH_CORPUS") or platformdirs.user_cache_dir("foveal-benchmarks"))
    target = folder / f"{name}-{version}"
    if target.is_dir():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        print(f"fetching {name} {version} …", file=sys.stderr)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*command, "--dest", temporary, f"{name}=={version}"], check=True)
        (archive,) = Path(temporary).glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(temporary, filter="data")
        (unpacked,) = (path for path in Path(temporary).iterdir() if path.is_dir())
        unpacked.rename(target)
    return target


def copy(source: Path, target: Path) -> Path:
    """Copy a code base, so that a benchmark may edit it."""
    shutil.copytree(source, target, symlinks=True)
    return target.resolve()
