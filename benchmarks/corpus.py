"""The code bases that are measured on: source distributions by pinned version, fetched once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zlib
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


def part(source: Path, target: Path, count: int) -> Path:
    """Copy `count` files of a code base, so that a benchmark may edit them.

    Its Python files come first, those of its package before its tests, folder by folder, so that what they
    import is there as far as it can be; then the others, in the order of their paths.
    """
    paths = sorted(str(path.relative_to(source)) for path in source.rglob("*") if path.is_file())
    paths.sort(key=lambda path: (not path.endswith(".py"), path.startswith(("tests/", "docs/"))))
    for path in paths[:count]:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, target / path)
    (target / ".git").mkdir(parents=True, exist_ok=True)  # the root of a project, and no repository
    return target.resolve()


def python_files(root: Path) -> list[str]:
    """Return source files of some size, in an order that spreads over the folders and is always the same."""
    found = [path for path in root.rglob("*.py") if 1_000 < path.stat().st_size < 20_000]
    found.sort(key=lambda path: (zlib.crc32(path.name.encode()), str(path)))
    return [str(path.relative_to(root)) for path in found]
