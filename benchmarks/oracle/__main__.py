"""Record what a daemon answers on real code bases, or compare with what was recorded.

    $ python -m benchmarks.oracle --clones CLONES --tasks TASKS --record FILE.jsonl.gz
    $ python -m benchmarks.oracle --clones CLONES --compare FILE.jsonl.gz

A comparison sends the requests that the file holds, in their order. The exit status is 1 if an answer
differs.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import platformdirs
from foveal.ipc.client import Client
from foveal.ipc.errors import RpcError

from .. import options
from ..literals.__main__ import LIST
from ..needed.projects import CodeBase, provide
from ..own_daemon import WAIT_S, environment, open_project, running
from ..retrieval.repositories import read_repositories
from .requests import ROOT, Request, requests

PROJECTS = ("httpx", "flask", "gin", "express", "gson", "sidekiq", "guzzle", "serde")
"""Code bases of 100 to 400 files in seven languages, of those that benchmarks.literals pins."""

PORTION = 60
"""Files that are added at a time; from 64 on the indexer has other processes read too."""

SETTINGS = "[embedding]\nenabled = false\n"
MODIFIED = 1_700_000_000
"""The time of every file, in seconds since 1970: a checkout's own would differ from run to run."""

RULES = {
    "CLAUDE.md": "# Rules\n\nUse the logger, never print.\n\n@README.md\n",
    ".cursor/rules/tests.mdc": "---\nglobs: ['**/test*']\n---\nOne assertion a test.\n",
}
"""Instruction files that each code base has besides its own."""

DIFFERING = frozenset(
    ("scope_id", "context_id", "request_id", "experience_id", "experience_ids", "clock", "elapsed_ms", "at")
)
"""Fields of answers that are new in each run: ids, times, durations."""

RANDOM_ID = re.compile(r"\bx_[0-9a-f]{16}\b")
"""The id of a decision, which stands in ids of slices and in JSON contexts too."""

SHOWN_LINES = 12


def main(arguments: list[str] | None = None) -> int:
    """Run and print."""
    given = _parser().parse_args(arguments)
    repositories = {repository.name: repository for repository in read_repositories(LIST)}
    expected = list(_read(given.compare)) if given.compare else []
    answers: list[dict[str, Any]] = []
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="fv-") as temporary,
        running(environment(Path(temporary), SETTINGS)) as client,
    ):
        for name in given.only or PROJECTS:
            code = provide(repositories[name], given.clones, given.state.absolute() / "projects")
            if expected:
                sent = [Request(row["method"], row["params"]) for row in expected if row["project"] == name]
            else:
                sent = requests(code, given.tasks)
            root = Path(temporary) / name
            _open(client, code, root)
            answers += _ask(client, root, sent, Path(temporary))
            client.call("CloseProject", {"path": str(root)}, WAIT_S)
            print(f"{name}: {len(sent)} requests, {time.monotonic() - started:.0f} s", file=sys.stderr)
    if given.record:
        _write(given.record, answers)
    print(
        ", ".join(f"{count} {method}" for method, count in Counter(row["method"] for row in answers).items())
    )
    if not given.compare:
        return 0
    asked = {row["id"] for row in answers}
    return compare([row for row in expected if row["id"] in asked], answers, given.shown)


def compare(expected: Sequence[Mapping[str, Any]], answers: Iterable[Mapping[str, Any]], shown: int) -> int:
    """Print which answers differ, the first `shown` of them as differences; return the exit status."""
    now = {row["id"]: row for row in answers}
    differing = [row for row in expected if now[row["id"]]["answer"] != row["answer"]]
    counts = Counter(row["method"] for row in differing)
    for method, count in Counter(row["method"] for row in expected).items():
        print(f"{method}: {counts[method]} of {count} differ")
    for row in differing[:shown]:
        print(f"\n{row['id']} {json.dumps(row['params'], ensure_ascii=False)[:300]}")
        before, after = _lines(row["answer"]), _lines(now[row["id"]]["answer"])
        lines = difflib.unified_diff(before, after, "recorded", "now", lineterm="", n=1)
        for line in [*lines][2 : 2 + SHOWN_LINES]:
            print(f"  {line[:200]}")
    return int(bool(differing))


def stripped(value: Any, places: Mapping[str, str]) -> Any:
    """Return an answer without what is new in each run, and with marks for absolute paths."""
    if isinstance(value, dict):
        return {key: stripped(one, places) for key, one in value.items() if key not in DIFFERING}
    if isinstance(value, list | tuple):
        return [stripped(one, places) for one in value]
    if isinstance(value, bytes):
        return stripped(value.decode("utf-8", "backslashreplace"), places)
    if isinstance(value, str):
        for path, mark in places.items():
            value = value.replace(path, mark)
        value = RANDOM_ID.sub("{experience}", value)
    return value


def _ask(client: Client, root: Path, sent: Iterable[Request], home: Path) -> Iterator[dict[str, Any]]:
    counts: Counter[str] = Counter()
    for request in sent:
        params = json.loads(json.dumps(request.params).replace(ROOT, str(root)))
        try:
            answer = client.call(request.method, params, WAIT_S)
        except RpcError as error:
            answer = {"code": error.code, "message": error.message, "data": error.data}
        counts[request.method] += 1
        yield {
            "id": f"{root.name}/{request.method}/{counts[request.method]}",
            "project": root.name,
            "method": request.method,
            "params": request.params,
            "answer": stripped(answer, {str(root): ROOT, str(home): "{home}"}),
        }


def _open(client: Client, code: CodeBase, root: Path) -> None:
    """Copy a code base to `root` and have it indexed, a portion of the files after the other.

    More files are read by several processes at once, and chunks get their numbers, by which equal scores are
    ordered, as it happens.
    """
    shutil.copytree(code.root / ".git", root / ".git")
    given = {name: text.encode() for name, text in RULES.items()}
    given |= {name: (code.root / name).read_bytes() for name in code.paths}
    names = sorted(given)
    for begin in range(0, len(names), PORTION):
        for name in names[begin : begin + PORTION]:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(given[name])
            os.utime(path, (MODIFIED, MODIFIED))
        open_project(client, root)
        client.call("CloseProject", {"path": str(root)}, WAIT_S)
    open_project(client, root)


def _lines(answer: Any) -> list[str]:
    """Return an answer as lines, those of long texts each by itself."""
    return json.dumps(answer, indent=1, ensure_ascii=False, sort_keys=True).replace("\\n", "\n").split("\n")


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def _write(path: Path, answers: Iterable[Mapping[str, Any]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in answers)


def _parser() -> argparse.ArgumentParser:
    parser = options.parser("oracle", __doc__)
    options.add_clones(parser)
    cache = Path(platformdirs.user_cache_dir("foveal-benchmarks"))
    add = parser.add_argument
    add("--tasks", type=Path, default=cache / "needed" / "tasks", help="tasks that benchmarks.needed mined")
    add("--shown", type=int, default=20, help="differences that are printed (default: %(default)s)")
    add("--record", type=Path, metavar="FILE", help="write the answers there, gzipped JSON lines")
    add("--compare", type=Path, metavar="FILE", help="compare with the answers there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
