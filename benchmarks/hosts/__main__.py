"""Entry point: python -m benchmarks.hosts runs real hosts with foveal, and prints a matrix of checks."""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path

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
    options = parser.parse_args()
    results: dict[str, list[Check]] = {}
    with tempfile.TemporaryDirectory(prefix="fvh-", ignore_cleanup_errors=True) as temporary:
        for name in options.only or BY_NAME:
            installed = install(BY_NAME[name], options.cache)
            if isinstance(installed, str):
                print(f"{BY_NAME[name].name}: skipped: {installed}", flush=True)
                continue
            checks = _try(installed, Path(temporary) / name, options.clone)
            title = f"{installed.program.name} {installed.version}"
            results[title] = checks
            _report(title, checks)
    print("\n" + "\n".join(matrix(results)))
    return int(any(one.ok is False for checks in results.values() for one in checks))


def _try(installed: Installed, folder: Path, clone: Path) -> list[Check]:
    folder.mkdir()
    with serving() as model:
        world = World(folder, clone, installed, model)
        trial = Trial(world)
        try:
            trial.go()
        except Exception:  # noqa: BLE001 - one host may not end the others' runs
            traceback.print_exc()
            trial.checks.append(Check("ran to its end", ok=False, detail=traceback.format_exc(limit=1)))
            world.stop_daemon()
        world.end_processes()
        remove(folder)
    return trial.checks


def matrix(results: Mapping[str, list[Check]]) -> Iterator[str]:
    """Yield the lines of the matrix: a check a row, a host a column, and why a check failed below."""
    yield f"| check | {' | '.join(results)} |"
    yield f"|---|{'---|' * len(results)}"
    signs = {True: "yes", False: "**no**", None: ""}
    for name in dict.fromkeys(one.name for checks in results.values() for one in checks):
        found = ({one.name: one.ok for one in checks}.get(name) for checks in results.values())
        yield f"| {name} | {' | '.join(signs[ok] for ok in found)} |"
    for title, checks in results.items():
        for one in checks:
            if one.ok is False:
                yield f"\n{title}, {one.name}: {one.detail}"


def _report(title: str, checks: list[Check]) -> None:
    print(f"\n{title}")
    for one in checks:
        sign = {True: "ok", False: "NO", None: "-"}[one.ok]
        print(f"  {sign:3} {one.name}{f': {one.detail}' if one.detail else ''}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
