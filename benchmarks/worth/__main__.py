"""Whether foveal is worth its tokens.

$ python -m benchmarks.worth contexts --clones CLONES
$ python -m benchmarks.worth prepare --clones CLONES
$ python -m benchmarks.worth run --agent "agent --print {prompt_file}"
$ python -m benchmarks.worth sheet
$ python -m benchmarks.worth report GRADES
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import platformdirs

from ..host_session import by_program, over_socket
from ..needed.projects import provide
from ..own_daemon import WAIT_S, environment, open_project, running, warm_up
from .agents import run_agents
from .contexts import PromptContext, ask, differing, table, to_maps
from .grading import report, write_sheet
from .seats import OWN_PROGRAM, arrange, daemon_folder, read_seats
from .tasks import DATA, TaskSet, read_task_sets


def main(arguments: list[str] | None = None) -> int:
    """Run and print."""
    options = _parser().parse_args(arguments)
    options.state = options.state.absolute()
    options.state.mkdir(parents=True, exist_ok=True)
    sets = read_task_sets(options.data, options.only)
    return int(options.do(sets, options))


def _prepare(sets: Sequence[TaskSet], options: argparse.Namespace) -> int:
    seats = arrange(sets, options.clones, options.state, options.foveal, options.data.absolute())
    environ = environment(daemon_folder(options.state, options.foveal))
    with running(environ, [str(options.foveal), "up", "--foreground"]) as client:
        for seat in seats:
            if seat.arm == "with":
                print(f"{seat.project} is indexed", file=sys.stderr, flush=True)
                open_project(client, seat.root, embedded=True)
    print("\n".join(str(seat.folder / "bin" / "worth-sh") for seat in seats))
    return 0


def _run(sets: Sequence[TaskSet], options: argparse.Namespace) -> int:
    environ = environment(daemon_folder(options.state, options.foveal))
    with running(environ, [str(options.foveal), "up", "--foreground"]):
        run_agents(read_seats(options.state), sets, options.agent)
    return 0


def _stop(sets: Sequence[TaskSet], options: argparse.Namespace) -> int:
    with running(environment(daemon_folder(options.state, options.foveal))):
        return 0


def _sheet(sets: Sequence[TaskSet], options: argparse.Namespace) -> int:
    write_sheet(sets, read_seats(options.state), options.state)
    print(options.state / "sheet.md")
    return 0


def _report(sets: Sequence[TaskSet], options: argparse.Namespace) -> int:
    print(report(sets, read_seats(options.state), options.grades))
    return 0


def _contexts(sets: Sequence[TaskSet], options: argparse.Namespace) -> int:
    results = _ask_all(sets, options, options.model)
    print(table(results))
    if options.again:
        again = differing(results, _ask_all(sets, options, options.again))
        print(f"\nother bytes after a restart: {len(again)} of {len(results)} {', '.join(again)}")
    if options.json:
        options.json.write_text(json.dumps(to_maps(results), indent=1) + "\n", encoding="utf-8")
    return 0


def _ask_all(sets: Sequence[TaskSet], options: argparse.Namespace, model: str) -> list[PromptContext]:
    settings = f"[embedding]\nenabled = {str(model != 'off').lower()}\n"
    environ = environment(daemon_folder(options.state, options.foveal), settings)
    results: list[PromptContext] = []
    with running(environ, [str(options.foveal), "up", "--foreground"]) as client:
        hook = by_program([str(options.foveal)], environ) if options.in_time else over_socket(client)
        for each in sets:
            code = provide(each.repository, options.clones, options.state / "projects")
            print(f"{each.name}: {len(each.tasks)} prompts", file=sys.stderr, flush=True)
            open_project(client, code.root, embedded=True)
            if model == "warm":
                warm_up(client, code.root)
            results += ask(code, each.tasks, hook)
            client.call("CloseProject", {"path": str(code.root)}, WAIT_S)
    return results


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.worth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    state = Path(platformdirs.user_cache_dir("foveal-benchmarks")) / "worth"
    common = argparse.ArgumentParser(add_help=False)
    add = common.add_argument
    add("--state", type=Path, default=state, help="folder that keeps what was made (default: %(default)s)")
    add("--data", type=Path, default=DATA, help="folder of the tasks (default: %(default)s)")
    add("--only", nargs="+", default=[], metavar="NAME", help="these code bases only")
    add("--foveal", type=Path, default=OWN_PROGRAM, help="the installation (default: %(default)s)")
    commands = parser.add_subparsers(required=True)

    def command(name: str, do: Callable[..., int], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, parents=[common], help=text)
        made.set_defaults(do=do)
        return made

    contexts = command("contexts", _contexts, "measure what prompts' hooks bring, without any agent")
    prepare = command(
        "prepare", _prepare, "make both arms' checkouts, and index those of the arm with foveal"
    )
    for each in (contexts, prepare):
        each.add_argument("--clones", type=Path, required=True, help="folder of the code bases' full clones")
    run = command("run", _run, "have an agent answer every task in both arms")
    run.add_argument("--agent", required=True, help="its command line, with {prompt_file}")
    command("stop", _stop, "end the daemon that worth-sh began")
    command("sheet", _sheet, "write the answers for grading, without their arms")
    graded = command("report", _report, "print what both arms read, and their grades")
    graded.add_argument("grades", type=Path, nargs="*", help="graders' copies of grades.json, filled in")
    contexts.add_argument("--in-time", action="store_true", help="run the hook program, with its deadlines")
    models = ("warm", "cold", "off")
    contexts.add_argument("--model", choices=models, default="warm", help="of embedding: default %(default)s")
    contexts.add_argument("--again", choices=models, help="ask again after a restart, and compare the bytes")
    contexts.add_argument("--json", type=Path, metavar="FILE", help="write every context there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
