"""Entry point: python -m benchmarks.hosts.own_search runs real hosts whose scripted agent searches as it can,
with and without foveal's help beside its searches, for users' reports of what commits fixed.

The agent greps the words of the report, names of code first and long words next, and reads what help names,
else the file with the most hits. Prompts get no context, so that only the help differs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from ..needed.tasks import Task, mine, told
from ..retrieval.repositories import clone_of, read_repositories
from .delivery import ELEMENT
from .model_server import serving
from .programs import BY_NAME, HostProgram, install
from .script import Command, Request, Say, Step
from .world import SETTINGS, World, remove

DATA = Path(__file__).parents[1] / "needed" / "data"
MOST = 26
"""Number of commits that are mined, as in benchmarks/needed."""
CALLS_MAX = 14
FOLLOWED = 3
"""Number of the places in one help that the agent reads."""
AROUND = 25
"""Lines that it reads before and after a hit."""


class Searcher:
    """The agent: `reached` is the call that read an edited definition, 0 for none; `read` are characters."""

    def __init__(self, task: Task) -> None:
        self.calls = self.reached = self.read = 0
        self.helps: list[str] = []
        self.useful = 0
        self._task = task
        words = dict.fromkeys(re.findall(r"[A-Za-z_]\w{4,}", task.text))
        self._words = sorted(words, key=lambda word: (not re.search(r"_|.[A-Z]", word), -len(word)))
        self._places: list[tuple[str, int, int]] = []
        self._seen: set[tuple[str, int, int]] = set()
        self._searching = False

    def __call__(self, request: Request) -> Step:
        """Return the next step."""
        last = max((at for at, one in enumerate(request.messages) if one.role == "assistant"), default=-1)
        text = "\n".join(message.text for message in request.messages[last + 1 :])
        self.read += len(text) if self.calls else 0
        helps = [one for one in ELEMENT.findall(text) if "## " not in one] if self.calls else []
        if helps:
            named = re.findall(r"^(\S+):(\d+)-(\d+) ", "\n".join(helps), re.MULTILINE)
            self._places = [(path, int(first), int(to)) for path, first, to in named[:FOLLOWED]]
            self.helps += helps
            self.useful += any(self._is_needed(path, int(first), int(to)) for path, first, to in named)
        elif self._searching:
            hits = re.findall(r"^(?:.*\")?([\w./-]+\.\w+):(\d+):", text.replace("\\n", "\n"), re.MULTILINE)
            [(path, _)] = Counter(path for path, _ in hits).most_common(1) or [("", 0)]
            at = next((int(line) for found, line in hits if found == path), 0)
            self._places = [(path, max(1, at - AROUND), at + AROUND)] if at else []
        self._places = [place for place in self._places if place not in self._seen]
        if self.reached or self.calls == CALLS_MAX or not (self._places or self._words):
            return Say("Done.")
        self.calls += 1
        self._searching = not self._places
        if self._searching:
            return Command(f"git grep -n {self._words.pop(0)}")
        path, first, to = place = self._places.pop(0)
        self._seen.add(place)
        self.reached = self.calls if self._is_needed(path, first, to) else 0
        return Command(f"sed -n {first},{to}p {path}")

    def _is_needed(self, path: str, first: int, to: int) -> bool:
        edits = self._task.edits
        return any(one.path == path and one.first <= to and first <= one.last for one in edits)


def main() -> None:
    """Run both arms on each task and print a line for each, and the sums."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hosts.own_search", description=__doc__)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "foveal-hosts")
    parser.add_argument("--project", nargs="+", default=["flask", "gin"])
    parser.add_argument("--host", nargs="+", choices=BY_NAME, default=["claude", "codex"])
    parser.add_argument("--most", type=int, default=8, help="tasks a project")
    options = parser.parse_args()
    print("| host | help | tasks | reached | calls until reached | characters | helps | tokens | useful |")
    for name in options.host:
        for on in (True, False):
            found = [
                one
                for project in options.project
                for one in _arm(BY_NAME[name], project, options, "true" if on else "false")
            ]
            _report(name, on, found)


def _arm(host: HostProgram, project: str, options: argparse.Namespace, setting: str) -> list[Searcher]:
    repository = next(one for one in read_repositories(DATA / "repositories.toml") if one.name == project)
    tasks = told(DATA / "reports.toml", mine(clone_of(options.clones, repository), repository, MOST))
    installed = install(host, options.cache)
    assert not isinstance(installed, str), installed
    folder = Path(tempfile.mkdtemp(prefix="fvs-"))
    at = ["git", "-C", str(folder / "clone")]
    bare = str(clone_of(options.clones, repository))
    subprocess.run(["git", "clone", "-q", "--no-checkout", bare, str(folder / "clone")], check=True)
    subprocess.run([*at, "checkout", "-q", "-B", "pinned", repository.revision], check=True)
    settings = f"{SETTINGS}[context]\nhook_tokens = 0\ntool_help = {setting}\n"
    found = []
    with serving() as model:
        world = World(folder, folder / "clone", installed, model, settings)
        world.foveal("hooks", "install", host.host, "--yes")
        with world.daemon():
            for task in tasks[: options.most]:
                found.append(Searcher(task))
                world.run({task.text.splitlines()[0]: found[-1]}, task.text)
                print(f"  {host.name} {setting} {task.id}: {found[-1].reached}/{found[-1].calls}", flush=True)
        world.end_processes()
        remove(folder)
    return found


def _report(name: str, on: bool, found: Sequence[Searcher]) -> None:
    helps = [help_ for one in found for help_ in one.helps]
    reached = [one.reached for one in found if one.reached]
    calls = mean(one.reached or one.calls + 1 for one in found)
    tokens = mean(map(len, helps)) / 4 if helps else 0
    row = (name, on, len(found), len(reached), f"{calls:.1f}", f"{mean(one.read for one in found):,.0f}")
    share = f"{len(helps)} of {sum(one.calls for one in found)}"
    print(f"| {' | '.join(map(str, row))} | {share} | {tokens:.0f} | {sum(one.useful for one in found)} |")


if __name__ == "__main__":
    main()
