"""Entry point: python -m benchmarks.hooks prints what a hook's process costs beyond a bare interpreter."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from foveal.ipc.client import ensure_daemon

from ..statistics import Measure, table

TARGET_MS = 60.0
"""Of the median beyond the interpreter's start."""

DEADLINE_S = 60.0
FILES = {
    "CLAUDE.md": "# Rules\n\nUse the logger.\n",
    "shop/sessions.py": 'def expire(session):\n    """End a session now."""\n    session.close()\n',
}


def main() -> int:
    """Run and print; the exit status is 1 if the target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hooks", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="processes of each kind")
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory(prefix="fv-", ignore_cleanup_errors=True) as temporary:
        measures = measure(Path(temporary), count)
    print(table(measures))
    return int(any(one.met is False for one in measures))


def measure(folder: Path, count: int) -> list[Measure]:
    """Measure so many processes of each kind, with a daemon whose files lie in `folder`."""
    environ = _environment(folder)
    with ensure_daemon(None, environ, DEADLINE_S) as client:
        try:
            return _measure(folder, environ, count)
        finally:
            client.call("Shutdown", {}, DEADLINE_S)


def _measure(folder: Path, environ: Mapping[str, str], count: int) -> list[Measure]:
    """Take samples in turn, so that what the machine does besides reaches all alike."""
    root = folder / "project"
    bare = Measure("python -I -S -c pass")
    started = Measure("python -c pass, with its site packages")
    kinds = {
        "a turn's end": ("Stop", {}),
        "a prompt, first of its session": ("UserPromptSubmit", {"prompt": "How does a session end?"}),
        "no daemon": ("Stop", {}),
    }
    whole = {name: Measure(f"foveal hook claude-code: {name}") for name in kinds}
    beyond = {name: Measure(f"the same beyond the bare interpreter: {name}") for name in kinds}
    beyond["a turn's end"].target = beyond["no daemon"].target = TARGET_MS
    alone = {**environ, "FOVEAL_SOCKET": str(folder / "none.sock")}
    for number in range(count):
        first = _timed([sys.executable, "-I", "-S", "-c", "pass"], b"", environ)
        bare.samples.append(first)
        started.samples.append(_timed([sys.executable, "-c", "pass"], b"", environ))
        for name, (event, more) in kinds.items():
            fields = {"hook_event_name": event, "session_id": f"s{number}", "cwd": str(root), **more}
            command = [sys.executable, "-m", "foveal", "hook", "claude-code"]
            taken = _timed(command, json.dumps(fields).encode(), alone if name == "no daemon" else environ)
            whole[name].samples.append(taken)
            beyond[name].samples.append(taken - first)
    for one in (started, *whole.values()):
        one.baseline = bare
    return [bare, started, *whole.values(), *beyond.values()]


def _timed(command: list[str], data: bytes, environ: Mapping[str, str]) -> float:
    """Return the milliseconds that a whole process takes, from its start to its end."""
    begun = time.perf_counter()
    subprocess.run(command, input=data, env=dict(environ), stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - begun) * 1000


def _environment(folder: Path) -> dict[str, str]:
    """Make folders of a user of their own, and a small project."""
    for name, text in FILES.items():
        path = folder / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "project" / ".git").mkdir()
    (folder / "run").mkdir(mode=0o700)
    (folder / "config").mkdir()
    (folder / "config" / "config.toml").write_text("[embedding]\nenabled = false\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOVEAL_", "XDG_"))}
    return {
        **kept,
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "FOVEAL_STATE_DIR": str(folder / "state"),
        "FOVEAL_CONFIG_DIR": str(folder / "config"),
    }


if __name__ == "__main__":
    sys.exit(main())
