"""Measures a map of a project for a prompt, beside the repository map of aider."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from .bench import Bench
from .needed.aider import VERSION, WORKER
from .own_daemon import WAIT_S, environment, open_project, running
from .questions import prompts
from .statistics import Measure

TOKENS = 4_000
FILES = 300
"""Enough for a ratio: aider takes some minutes for the first map of 3,000."""


def run(bench: Bench) -> list[Measure]:
    """Measure the same prompts and tokens of both: the first one without anything kept, and later ones."""
    root = bench.part(FILES)
    asked = prompts(root, bench.count(30, 6))
    peer_first, peer_later = _aider(bench, root, asked)
    first = Measure(f"map of {FILES} files for a prompt, never seen", "s")
    later = Measure(f"map of {FILES} files for each later prompt")
    first.note = f"words and structure, {TOKENS:,} tokens"
    with running(environment(bench.new_folder("r"))) as client:
        started = time.perf_counter()
        open_project(client, root)
        for text in asked:
            moment = time.perf_counter()
            params = {"cwd": str(root), "prompt": text, "max_tokens": TOKENS, "reserve_tokens": 0}
            client.call("GetContext", params, WAIT_S)
            if not first.samples:
                first.samples.append(time.perf_counter() - started)
            else:
                later.samples.append((time.perf_counter() - moment) * 1000)
    if not peer_first.samples:
        return [first, later]
    first.baseline, later.baseline = peer_first, peer_later
    return [peer_first, first, peer_later, later]


def _aider(bench: Bench, root: Path, asked: list[str]) -> tuple[Measure, Measure]:
    """Ask aider in its own environment; both measures are empty where there is none."""
    first, later = Measure("aider: the first map", "s"), Measure("aider: each later map")
    python = shutil.which(bench.aider) if bench.aider else None
    if python is None:
        bench.skip(
            f"aider: name the Python of an environment that has aider-chat {VERSION} with --aider "
            "(python -m venv VENV; VENV/bin/pip install aider-chat)"
        )
        return first, later
    cache = bench.new_folder("a")
    files = sorted(str(path.relative_to(root)) for path in root.rglob("*.py"))
    chat = [{"text": text, "chat": [], "budgets": [TOKENS]} for text in asked]
    request = {"root": str(root), "files": files, "cache": str(cache / "tags"), "prompts": chat}
    done = subprocess.run(
        [python, "-I", str(WORKER), VERSION],
        input=json.dumps(request),
        capture_output=True,
        encoding="utf-8",
        env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(cache)},
        check=False,
    )
    if done.returncode:
        bench.skip(f"aider: {' / '.join(done.stderr.strip().splitlines()[-2:])}")
        return first, later
    seconds = [json.loads(line)["seconds"] for line in done.stdout.splitlines()]
    first.samples, later.samples = seconds[:1], [second * 1000 for second in seconds[1:]]
    return first, later
