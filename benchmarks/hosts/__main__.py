"""Entry point: python -m benchmarks.hosts runs real hosts with foveal, and prints a matrix of checks."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .costs import tables
from .delivery import Check
from .model_server import serving
from .programs import BY_NAME, Installed, install
from .trial import Trial
from .world import World, remove

CACHE = Path.home() / ".cache" / "foveal-hosts"


def main() -> int:
    """Run and print; the exit status is 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hosts", description=__doc__)
    parser.add_argument("--clone", type=Path, required=True, help="a git repository of httpx")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where hosts are installed")
    parser.add_argument("--only", action="append", choices=BY_NAME, default=[], help="these hosts only")
    parser.add_argument("--full", action="store_true", help="ten prompts, for the table of costs")
    parser.add_argument("--json-file", type=Path, help="also write the results there")
    parser.add_argument("--sessions", type=Path, help="also write what the model saw there")
    options = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="fvh-", ignore_cleanup_errors=True) as temporary:
        for name in options.only or BY_NAME:
            installed = install(BY_NAME[name], options.cache)
            if isinstance(installed, str):
                print(f"{BY_NAME[name].name}: skipped: {installed}", flush=True)
                continue
            trial = _try(installed, Path(temporary) / name, options.clone, full=options.full)
            title = f"{installed.program.name} {installed.version}"
            results[title] = {
                "checks": {one.name: (one.ok, one.detail) for one in trial.checks},
                "characters": trial.costs.characters,
                "hooks": trial.costs.hooks,
                "session": trial.session.lines,
            }
            _report(title, trial.checks)
            if options.json_file:  # after each host: the whole run is long
                options.json_file.write_text(json.dumps(results, indent=1))
    if options.sessions:
        lines = [f"## {title}\n\n" + "\n".join(found["session"]) for title, found in results.items()]
        options.sessions.write_text("\n\n".join(lines) + "\n")
    if options.full:
        print("\n" + "\n".join(tables(results)))
    print("\n" + "\n".join(matrix(results)))
    return int(any(ok is False for one in results.values() for ok, _ in one["checks"].values()))


def _try(installed: Installed, folder: Path, clone: Path, *, full: bool) -> Trial:
    folder.mkdir()
    with serving() as model:
        world = World(folder, clone, installed, model)
        trial = Trial(world, full=full)
        try:
            trial.go()
        except Exception:  # noqa: BLE001 - one host may not end the others' runs
            traceback.print_exc()
            trial.checks.append(Check("ran to its end", ok=False, detail=traceback.format_exc(limit=1)))
            world.stop_daemon()
        world.end_processes()
        remove(folder)
    return trial


def matrix(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the matrix: a check a row, a host a column, and why a check failed below."""
    yield f"| check | {' | '.join(results)} |"
    yield f"|---|{'---|' * len(results)}"
    names = dict.fromkeys(name for result in results.values() for name in result["checks"])
    for name in names:
        cells = (_sign(result["checks"].get(name, (None, ""))[0]) for result in results.values())
        yield f"| {name} | {' | '.join(cells)} |"
    for title, result in results.items():
        for name, (ok, detail) in result["checks"].items():
            if ok is False:
                yield f"\n{title}, {name}: {detail}"


def _sign(ok: bool | None) -> str:
    return {True: "yes", False: "**no**", None: ""}[ok]


def _report(title: str, checks: list[Check]) -> None:
    print(f"\n{title}")
    for one in checks:
        sign = {True: "ok", False: "NO", None: "-"}[one.ok]
        print(f"  {sign:3} {one.name}{f': {one.detail}' if one.detail else ''}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
