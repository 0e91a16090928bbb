"""Owns the checks of the machine: interpreter, dependencies, git, limits and disk; asks no daemon."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from .. import __version__
from . import terminal
from .check import Check

IMPORT_TIMEOUT_S = 60
"""All dependencies together import in about 3 s; cold disks take longer."""

MIN_PYTHON = (3, 11)
MIN_WATCHES = 65_536
"""Folders that may be watched, of all programs together; a large project has some 10,000 folders."""

WANTED_WATCHES = 524_288
"""What editors that watch whole trees recommend; one that is used takes 1 KB of the kernel's memory."""

MIN_OPEN_FILES = 1_024
"""A connection takes one file, an open project about ten."""

DISK_WRONG_BYTES = 50_000_000
DISK_WARNING_BYTES = 500_000_000
"""A project of 7,000 files has an index of some 30 MB."""


def check_python() -> Check:
    """Look at the interpreter's version."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MIN_PYTHON:
        wanted = ".".join(map(str, MIN_PYTHON))
        return Check("python", "wrong", f"Python {version} is too old", f"install Python {wanted} or newer")
    return Check("python", "ok", f"foveal {__version__} on Python {version} ({sys.executable})")


def check_dependencies() -> Check:
    """Import every dependency, in a process of its own: a broken library may crash instead of raising."""
    import json
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - this interpreter with a program of ours
            [sys.executable, "-P", "-c", _IMPORT_ALL],  # -P: nothing is imported from the current folder
            capture_output=True,
            text=True,
            check=False,
            timeout=IMPORT_TIMEOUT_S,
        )
        report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return Check(
            "dependencies", "wrong", "importing the dependencies takes longer than a minute", _REINSTALL
        )
    except (ValueError, IndexError):
        reason = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        return Check("dependencies", "wrong", f"the dependencies can't be imported: {reason}", _REINSTALL)
    if report["unknown"]:
        return Check("dependencies", "warning", f"foveal isn't installed as a package: {report['unknown']}")
    if report["broken"]:
        listed = "; ".join(f"{name}: {reason}" for name, reason in sorted(report["broken"].items()))
        return Check("dependencies", "wrong", f"dependencies that can't be imported: {listed}", _REINSTALL)
    listed = ", ".join(f"{name} {version}" for name, version in sorted(report["versions"].items()))
    return Check("dependencies", "ok", f"{len(report['versions'])} dependencies: {listed}")


def check_git() -> Check:
    """Look for git, which gives ignore rules and history."""
    import subprocess

    git = shutil.which("git")
    if git is None:
        text = "git is missing: ignore rules are read without it, and no file counts as often changed"
        return Check("git", "warning", text, "install git")
    try:
        done = subprocess.run([git, "--version"], capture_output=True, text=True, check=True, timeout=10)  # noqa: S603 - found on the user's PATH
    except (OSError, subprocess.SubprocessError) as error:
        return Check("git", "wrong", f"{git} doesn't run: {error}", "install git anew")
    return Check("git", "ok", done.stdout.strip())


def check_open_files() -> Check:
    """Look at how many files a process may open; the daemon raises its own limit as far as it may."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return Check("open files", "ok", "any number of files can be open")
    if hard < MIN_OPEN_FILES:
        fix = f"raise the hard limit: ulimit -Hn {MIN_OPEN_FILES * 4}"
        return Check("open files", "warning", f"only {hard:,} files can be open at once", fix)
    return Check("open files", "ok", f"{hard:,} files can be open at once")


def check_disk(state: str) -> Check:
    """Look at the space that is left where the state lies."""
    folder = state
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    free = shutil.disk_usage(folder).free
    text = f"{terminal.size(free)} free in {terminal.short_path(folder)}"
    if free < DISK_WRONG_BYTES:
        return Check(
            "disk", "wrong", f"only {text}", "free some space, or set FOVEAL_STATE_DIR to another disk"
        )
    if free < DISK_WARNING_BYTES:
        return Check("disk", "warning", f"only {text}")
    return Check("disk", "ok", text)


def check_watches(status: Mapping[str, Any]) -> Iterator[Check]:
    """Compare the system's watches with what the open projects take (Linux), and look for lost ones.

    `status` is the daemon's own, empty where none answers.
    """
    unwatched = [project for project in status.get("projects", []) if project["watch"] == "polling"]
    limit = _read_number("/proc/sys/fs/inotify/max_user_watches")
    fix = f"sudo sysctl -w fs.inotify.max_user_watches={WANTED_WATCHES}" if limit < WANTED_WATCHES else ""
    for project in unwatched:
        reasons = "; ".join(project["degraded"]) or "the system gives no watches"
        text = f"{terminal.short_path(project['root'])} is polled for changes: {reasons}"
        yield Check("watches", "warning", text, fix and f"{fix} && foveal restart")
    if not limit:
        return
    used = sum(_watches_of(pid) for pid in (status.get("pid"), status.get("indexer_pid")) if pid)
    taken = f", {used:,} taken by the open projects" if status else ""
    text = f"{limit:,} folders can be watched{taken}"
    if limit < MIN_WATCHES or used > limit * 0.8:
        yield Check("watches", "warning", f"only {text}; large projects would be polled", fix)
    else:
        yield Check("watches", "ok", text)
    instances = _read_number("/proc/sys/fs/inotify/max_user_instances")
    if 0 < instances < 128:
        wanted = "sudo sysctl -w fs.inotify.max_user_instances=1024"
        yield Check("watches", "warning", f"only {instances} watchers can run at the same time", wanted)


_REINSTALL = "install foveal anew, in a fresh virtual environment"

_IMPORT_ALL = """\
import importlib, importlib.metadata as metadata, json, re
report = {"versions": {}, "broken": {}, "unknown": ""}
try:
    wanted = metadata.requires("foveal") or []
except metadata.PackageNotFoundError as error:
    wanted, report["unknown"] = [], str(error)
modules = {}
for module, distributions in metadata.packages_distributions().items():
    for distribution in distributions:
        modules.setdefault(re.sub("[-_.]+", "-", distribution).lower(), []).append(module)
for requirement in wanted:
    if "extra ==" in requirement:
        continue
    name = re.match(r"[\\w.-]+", requirement).group()
    try:
        report["versions"][name] = metadata.version(name)
        for module in modules.get(re.sub("[-_.]+", "-", name).lower(), []):
            if not module.startswith("_"):
                importlib.import_module(module)
    except Exception as error:
        report["broken"][name] = f"{type(error).__name__}: {error}"
print(json.dumps(report))
"""


def _watches_of(pid: int) -> int:
    """Count the inotify watches of a process, 0 where the system doesn't tell."""
    found = 0
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fdinfo"):
            # A descriptor may be closed meanwhile.
            with contextlib.suppress(OSError), open(f"/proc/{pid}/fdinfo/{name}", "rb") as file:
                found += sum(line.startswith(b"inotify ") for line in file)
    return found


def _read_number(path: str) -> int:
    try:
        with open(path, "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0
