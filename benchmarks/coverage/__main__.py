"""Owns the run: python -m benchmarks.coverage asks real prompts at five budgets and prints tables.

    $ python -m benchmarks.coverage --trees TREES --clones CLONES --mined COMMITS.jsonl ISSUES.jsonl

What is indexed, embedded and answered by the baselines is kept in --state. The exit status is 1 if ours isn't
ahead of each baseline at each budget in both measures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from ..retrieval.repositories import SPLITS, clone_of, read_repositories
from .measuring import BUDGETS, Options, measure
from .projects import provide
from .prompts import read_prompts, with_focus
from .report import is_ahead, markdown, to_map

MOST = 10
"""Prompts a project and file: the first ones."""

QUICK = (("beets", "composer", "restic", "detekt"), 4)
"""With --quick these projects alone, the smallest of each half, and so many prompts a project and file."""


def main(arguments: list[str] | None = None) -> int:
    """Run and print."""
    options = _parser().parse_args(arguments)
    only, most = QUICK if options.quick else (tuple(options.only), options.most or None)
    repositories = [
        one for one in read_repositories() if one.split in options.split and (not only or one.name in only)
    ]
    clones = {one.name: clone_of(options.clones, one) for one in repositories}
    prompts = read_prompts(options.mined, options.trees, clones, most)
    if not options.no_focus:
        prompts += with_focus(prompts)
    if not prompts:
        print("no prompt is chosen: none of the files has one about these projects", file=sys.stderr)
        return 2
    state = options.state.absolute()
    asked = [one for one in repositories if any(prompt.project == one.name for prompt in prompts)]
    codes = [provide(one, options.trees, options.clones, state / "projects") for one in asked]
    settings = Options(state, options.aider, not options.no_baselines, tuple(options.budgets))
    results = measure(codes, prompts, settings)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    date = datetime.now(UTC).date().isoformat()
    print(f"{machine}, {date}\n\n{markdown(results)}", flush=True)
    if options.json:
        body = {"machine": machine, "date": date} | to_map(results)
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    ahead = [is_ahead(results, split) for split in options.split]
    return 0 if options.no_baselines or all(ahead) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.coverage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    state = Path(platformdirs.user_cache_dir("foveal-benchmarks")) / "coverage"
    add = parser.add_argument
    add(
        "--trees",
        type=Path,
        required=True,
        help="folder of the pinned trees, as retrieval.checkout writes it",
    )
    add("--clones", type=Path, required=True, help="folder of the trees' git histories")
    add("--mined", type=Path, nargs="+", required=True, metavar="FILE", help="prompts about the trees")
    add("--aider", type=Path, metavar="PYTHON", help="interpreter of an environment with aider-chat 0.86.2")
    add("--state", type=Path, default=state, help="folder that keeps what was made (default: %(default)s)")
    add("--split", choices=SPLITS, nargs="+", default=list(SPLITS), help="which half (default: both)")
    add("--only", nargs="+", default=[], metavar="NAME", help="these projects only")
    add("--most", type=int, default=MOST, help="prompts a project and file, 0 for all (default: %(default)s)")
    add("--budgets", type=int, nargs="+", default=list(BUDGETS), help="in tokens (default: %(default)s)")
    add("--quick", action="store_true", help="four small projects, few prompts")
    add("--no-baselines", action="store_true", help="ask the product only")
    add("--no-focus", action="store_true", help="leave out the prompts with a focus file")
    add("--json", type=Path, metavar="FILE", help="write everything there, prompt by prompt")
    return parser


if __name__ == "__main__":
    sys.exit(main())
