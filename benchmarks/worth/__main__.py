"""Whether foveal is worth its tokens.

    $ python -m benchmarks.worth contexts --clones CLONES --state STATE

`contexts` measures what each prompt's hook brings, without any agent.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from ..host_session import by_program, over_socket
from ..needed.projects import provide
from ..own_daemon import WAIT_S, environment, open_project, running, warm_up
from .contexts import PromptContext, ask, differing, table, to_maps
from .tasks import DATA, TaskSet, read_task_sets

OWN_PROGRAM = Path(sys.executable).with_name("foveal")


def main(arguments: list[str] | None = None) -> int:
    """Run and print."""
    options = _parser().parse_args(arguments)
    options.state = options.state.absolute()
    options.state.mkdir(parents=True, exist_ok=True)
    sets = read_task_sets(options.data, options.only)
    return int(options.do(sets, options))


def daemon_folder(state: Path, program: Path) -> Path:
    """Return the folder of the daemon of an installation: another version may not read this one's state."""
    digest = hashlib.sha256(str(program).encode()).hexdigest()[:8]
    return state / ("daemon" if program == OWN_PROGRAM else f"daemon-{digest}")


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
    add("--clones", type=Path, required=True, help="folder of the repositories' full clones")
    add("--state", type=Path, default=state, help="folder that keeps what was made (default: %(default)s)")
    add("--data", type=Path, default=DATA, help="folder of the tasks (default: %(default)s)")
    add("--only", nargs="+", default=[], metavar="NAME", help="these code bases only")
    add("--foveal", type=Path, default=OWN_PROGRAM, help="the installation (default: %(default)s)")
    commands = parser.add_subparsers(required=True)
    contexts = commands.add_parser("contexts", parents=[common], help="measure what prompts' hooks bring")
    contexts.set_defaults(do=_contexts)
    contexts.add_argument("--in-time", action="store_true", help="run the hook program, with its deadlines")
    models = ("warm", "cold", "off")
    contexts.add_argument("--model", choices=models, default="warm", help="of embedding: default %(default)s")
    contexts.add_argument("--again", choices=models, help="ask again after a restart, and compare the bytes")
    contexts.add_argument("--json", type=Path, metavar="FILE", help="write every context there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
