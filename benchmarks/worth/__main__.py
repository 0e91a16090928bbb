"""Whether foveal is worth its tokens.

$ python -m benchmarks.worth contexts --clones CLONES
$ python -m benchmarks.worth prepare --clones CLONES
$ python -m benchmarks.worth run --agent "agent --print {prompt_file}"
$ python -m benchmarks.worth sheet
$ python -m benchmarks.worth report --grades FILE
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from foveal.ipc.client import Client

from .. import options
from ..host_session import by_program, over_socket
from ..needed.projects import provide
from ..own_daemon import WAIT_S, environment, open_project, running, warm_up
from .agents import run_agents
from .contexts import PromptContext, ask, differing, table, to_maps
from .grading import report, write_sheet
from .seats import OWN_PROGRAM, arrange, daemon_folder, read_seats
from .tasks import DATA, TaskSet, read_task_sets

MODELS = ("warm", "cold", "off")


def main(arguments: list[str] | None = None) -> int:
    """Run and print."""
    given = _parser().parse_args(arguments)
    given.state = given.state.absolute()
    given.state.mkdir(parents=True, exist_ok=True)
    return ACTIONS[given.action](read_task_sets(given.data, given.only), given)


@contextmanager
def _daemon(given: argparse.Namespace, *, embed: bool = True) -> Iterator[tuple[Client, dict[str, str]]]:
    """Run the daemon of the installation, and give its environment too."""
    settings = f"[embedding]\nenabled = {str(embed).lower()}\n"
    environ = environment(daemon_folder(given.state, given.foveal), settings)
    with running(environ, [str(given.foveal), "up", "--foreground"]) as client:
        yield client, environ


def _prepare(sets: Sequence[TaskSet], given: argparse.Namespace) -> int:
    seats = arrange(sets, given.clones, given.state, given.foveal, given.data.absolute())
    with _daemon(given) as (client, _):
        for seat in seats:
            if seat.arm == "with":
                print(f"{seat.project} is indexed", file=sys.stderr, flush=True)
                open_project(client, seat.root, embedded=True)
    print("\n".join(str(seat.folder / "bin" / "worth-sh") for seat in seats))
    return 0


def _run(sets: Sequence[TaskSet], given: argparse.Namespace) -> int:
    with _daemon(given):
        run_agents(read_seats(given.state), sets, given.agent)
    return 0


def _stop(sets: Sequence[TaskSet], given: argparse.Namespace) -> int:
    with _daemon(given):
        return 0


def _sheet(sets: Sequence[TaskSet], given: argparse.Namespace) -> int:
    write_sheet(sets, read_seats(given.state), given.state)
    print(given.state / "sheet.md")
    return 0


def _report(sets: Sequence[TaskSet], given: argparse.Namespace) -> int:
    print(report(sets, read_seats(given.state), given.grades))
    return 0


def _contexts(sets: Sequence[TaskSet], given: argparse.Namespace) -> int:
    results = _ask_all(sets, given, given.model)
    print(table(results))
    if given.again:
        again = differing(results, _ask_all(sets, given, given.again))
        print(f"\nother bytes after a restart: {len(again)} of {len(results)} {', '.join(again)}")
    if given.json:
        given.json.write_text(json.dumps(to_maps(results), indent=1) + "\n", encoding="utf-8")
    return 0


def _ask_all(sets: Sequence[TaskSet], given: argparse.Namespace, model: str) -> list[PromptContext]:
    results: list[PromptContext] = []
    with _daemon(given, embed=model != "off") as (client, environ):
        hook = by_program([str(given.foveal)], environ) if given.in_time else over_socket(client)
        for each in sets:
            code = provide(each.repository, given.clones, given.state / "projects")
            print(f"{each.name}: {len(each.tasks)} prompts", file=sys.stderr, flush=True)
            open_project(client, code.root, embedded=True)
            if model == "warm":
                warm_up(client, code.root)
            results += ask(code, each.tasks, hook)
            client.call("CloseProject", {"path": str(code.root)}, WAIT_S)
    return results


ACTIONS: Mapping[str, Callable[[Sequence[TaskSet], argparse.Namespace], int]] = {
    "contexts": _contexts,
    "prepare": _prepare,
    "run": _run,
    "stop": _stop,
    "sheet": _sheet,
    "report": _report,
}


def _parser() -> argparse.ArgumentParser:
    parser = options.parser("worth", __doc__)
    add = parser.add_argument
    add("action", choices=ACTIONS)
    add("--data", type=Path, default=DATA, help="folder of the tasks (default: %(default)s)")
    add("--foveal", type=Path, default=OWN_PROGRAM, help="the installation (default: %(default)s)")
    add("--clones", type=Path, default=Path("clones"), help="folder of the code bases' full clones")
    add("--agent", default="", help="run: its command line, with {prompt_file}")
    add(
        "--grades", type=Path, nargs="+", default=[], help="report: graders' copies of grades.json, filled in"
    )
    add("--in-time", action="store_true", help="contexts: run the hook program, with its deadlines")
    add("--model", choices=MODELS, default="warm", help="contexts: of embedding (default: %(default)s)")
    add("--again", choices=MODELS, help="contexts: ask again after a restart, and compare the bytes")
    add("--json", type=Path, metavar="FILE", help="contexts: write every one there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
