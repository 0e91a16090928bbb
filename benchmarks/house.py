"""The size of the house: files, lines, rooms, floors, circles and names, today beside what is wanted.

$ python -m benchmarks.house [--json] [--no-requests]
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from statistics import median
from types import CodeType, FrameType
from typing import Any

from foveal.ipc.client import Client, ensure_daemon
from foveal.ipc.paths import default_socket

from .own_daemon import WAIT_S, environment, open_project, wait_until
from .questions import definitions, prompts

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("daemon", "ipc", "dashboard", "hooks", "cli")
SMALL = 60
"""Lines of code below which a file is small."""

SAMPLE = ("ipc", "cli")
"""Folders of the product that the traced daemon is asked about."""

FOCUS = ["ipc/client.py", "ipc/paths.py", "cli/app.py"]
"""Files in focus of the context that is asked for again and again."""

SAMPLES = 9
"""Requests of a kind; the median says how many functions run for one."""

TRACED = "--traced-daemon"


@dataclass(frozen=True, slots=True)
class Figure:
    """A row of the table."""

    name: str
    today: str
    wanted: str = ""


@dataclass(frozen=True, slots=True)
class Module:
    """A Python file of the product by its path, with the files that it imports."""

    path: str
    lines: int
    tree: ast.Module
    imports: frozenset[str]


def main(arguments: list[str] | None = None) -> int:
    """Count and print."""
    if (arguments or sys.argv[1:]) == [TRACED]:
        _run_traced()
        return 0
    parser = argparse.ArgumentParser(prog="python -m benchmarks.house", description=__doc__)
    parser.add_argument(
        "--no-requests", action="store_true", help="don't run a daemon to count its functions"
    )
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args(arguments)
    modules = read_modules(ROOT)
    figures = [*_figures(modules), *([] if options.no_requests else _requests())]
    if options.json:
        print(json.dumps({one.name: one.today for one in figures}, indent=1))
        return 0
    width = max(len(figure.name) for figure in figures)
    print(f"{'':{width}}  {'today':>14}  wanted")
    for one in figures:
        print(f"{one.name:{width}}  {one.today:>14}  {one.wanted}")
    for circle in circles({name: module.imports for name, module in modules.items()}):
        print(f"circle: {', '.join(sorted(circle))}")
    print("\nfolder: files, lines of code")
    folders: dict[str, list[int]] = defaultdict(list)
    for module in modules.values():
        folders[_room(module.path)].append(module.lines)
    for folder, lines in sorted(folders.items(), key=lambda item: -sum(item[1])):
        print(f"  {folder:22} {len(lines):4} {sum(lines):7,}")
    return 0


def read_modules(root: Path) -> dict[str, Module]:
    """Return the product's files: neither tests nor benchmarks."""
    paths = [*root.glob("*.py"), *(path for room in ROOMS for path in (root / room).rglob("*.py"))]
    names = {path.relative_to(root).as_posix() for path in paths}
    modules = {}
    for name in sorted(names):
        text = (root / name).read_text(encoding="utf-8")
        tree = ast.parse(text)
        modules[name] = Module(
            name, code_lines(text, tree), tree, frozenset(_imports(name, tree, names)) - {name}
        )
    return modules


def code_lines(text: str, tree: ast.Module) -> int:
    """Count lines with code: no blank ones, no comments, no docstrings (of constants and fields neither)."""
    passed = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    passed |= {tokenize.ENCODING, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in passed:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def circles(graph: Mapping[str, frozenset[str]]) -> list[frozenset[str]]:
    """Return the strongly connected components of two nodes or more."""
    return [component for component in _components(graph) if len(component) > 1]


def mutual_rooms(graph: Mapping[str, frozenset[str]]) -> list[tuple[str, str]]:
    """Return the pairs of rooms that import each other; a room is a folder of daemon/ or one on top."""
    edges = {(_room_of(path), _room_of(target)) for path, targets in graph.items() for target in targets}
    return sorted((one, other) for one, other in edges if one < other and (other, one) in edges)


def floors(graph: Mapping[str, frozenset[str]], above: str, below: str = "") -> int:
    """Return the number of files in the longest chain of imports from a folder down, each circle taken as one
    file; with `below` of the chains that end in that folder."""
    component = {node: one for one in _components(graph) for node in one}
    below_of: dict[frozenset[str], set[frozenset[str]]] = {one: set() for one in component.values()}
    for node, targets in graph.items():
        below_of[component[node]] |= {component[target] for target in targets} - {component[node]}
    longest: dict[frozenset[str], int] = {}
    for one in TopologicalSorter(below_of).static_order():
        chains = [longest[under] for under in below_of[one] if under in longest]
        if chains or any(node.startswith(below) for node in one):
            longest[one] = 1 + max(chains, default=0)
    return max((count for one, count in longest.items() if any(n.startswith(above) for n in one)), default=0)


def _figures(modules: Mapping[str, Module]) -> Iterator[Figure]:
    graph = {name: module.imports for name, module in modules.items()}
    importers = Counter(target for module in modules.values() for target in module.imports)
    code = [one for one in modules.values() if not one.path.endswith("__init__.py")]
    single = sum(importers[one.path] == 1 for one in code)
    small = sum(one.lines < SMALL for one in code)
    classes = Counter(
        node.name for one in modules.values() for node in ast.walk(one.tree) if isinstance(node, ast.ClassDef)
    )
    twice = [name for name, count in classes.items() if count > 1 and not name.startswith("_")]
    most = ", ".join(f"{name} {count}" for name, count in classes.most_common(4) if name in twice)
    untyped = sum(_untyped(one.tree) for one in modules.values())
    found = circles(graph)
    largest = max(map(len, found), default=0)
    functions = sum(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for one in modules.values()
        for node in ast.walk(one.tree)
    )
    pairs = mutual_rooms(graph)
    through, entries = _doors(graph)
    yield Figure("Python files", f"{len(modules):,}", "at most 385")
    yield Figure("  of them with one importer", f"{single}")
    yield Figure(f"  of them under {SMALL} lines of code", f"{small}")
    yield Figure("lines of code", f"{sum(one.lines for one in modules.values()):,}", "at most 66,000")
    yield Figure("functions", f"{functions:,}", "under 5,800")
    yield Figure("lines of code in tests", f"{_lines_below(ROOT / 'tests'):,}", "at most 50,000")
    yield Figure("lines of code in benchmarks", f"{_lines_below(ROOT / 'benchmarks'):,}", "at most 11,000")
    yield Figure("pairs of rooms that import each other", f"{len(pairs)}", "0")
    yield Figure("imports into a room with a door that go to it", f"{through} of {entries}", "all")
    yield Figure("floors from cli/ down", f"{floors(graph, 'cli/')}", "at most 12")
    yield Figure("floors from cli/ down to ipc/", f"{floors(graph, 'cli/', 'ipc/')}", "at most 10")
    yield Figure("files directly in daemon/", f"{_direct(modules)}", "none but __init__.py")
    yield Figure("dict[str, Any] in signatures", f"{untyped}", "only at the wire")
    yield Figure("class names for two or more things", f"{len(twice)}", f"0 (most today: {most or 'none'})")
    yield Figure("circles of imports", f"{len(found)}", f"0 (largest today: {largest} files)")


def _direct(modules: Mapping[str, Module]) -> int:
    return sum(path.startswith("daemon/") and path.count("/") == 1 for path in modules) - 1


def _doors(graph: Mapping[str, frozenset[str]]) -> tuple[int, int]:
    """Count the imports into rooms with a service.py: those that go to it or to records.py, and all."""
    entries = [
        target
        for path, targets in graph.items()
        for target in targets
        if _room_of(path) != _room_of(target) and f"{_room_of(target)}/service.py" in graph
    ]
    doors = [one for one in entries if one.endswith(("/service.py", "/records.py"))]
    return len(doors), len(entries)


def _lines_below(folder: Path) -> int:
    texts = (
        path.read_text(encoding="utf-8") for path in folder.rglob("*.py") if "node_modules" not in path.parts
    )
    return sum(code_lines(text, ast.parse(text)) for text in texts)


def _room_of(path: str) -> str:
    parts = path.split("/")
    return (
        "/".join(parts[: 2 if parts[0] == "daemon" else 1])
        if len(parts) > (parts[0] == "daemon") + 1
        else "."
    )


def _room(path: str) -> str:
    parts = path.split("/")
    return "/".join(parts[:-1][:2]) or "."


def _untyped(tree: ast.Module) -> int:
    """Count the annotations of parameters and results that hold `dict[str, Any]`."""
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            written = [one.annotation for one in every if one is not None] + [node.returns]
            count += sum("dict[str, Any]" in ast.unparse(one) for one in written if one)
    return count


def _imports(name: str, tree: ast.Module, names: set[str]) -> Iterator[str]:
    """Yield the files that a file imports, those too that a function imports or that are for types only."""
    package = name.split("/")[:-1]
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
        for alias in node.names:
            inside = "/".join([*base, alias.name]) + ".py"
            package_file = "/".join([*base, "__init__.py"])
            yield from names & {inside} or names & {"/".join(base) + ".py"} or names & {package_file}


def _components(graph: Mapping[str, frozenset[str]]) -> list[frozenset[str]]:
    """Return the strongly connected components: of each node what it reaches and is reached by."""

    @cache
    def reached(node: str) -> frozenset[str]:
        seen, waiting = {node}, [node]
        while waiting:
            for target in graph[waiting.pop()] - seen:
                seen.add(target)
                waiting.append(target)
        return frozenset(seen)

    return list({frozenset(one for one in reached(node) if node in reached(one)) for node in graph})


# What runs for a request


def _requests() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fv-") as temporary:
        root = Path(temporary) / "project"
        for folder in SAMPLE:
            shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
        (root / ".git").mkdir()
        asked, names = prompts(root, 2 * SAMPLES), definitions(root)
        with _traced(environment(Path(temporary), "[embedding]\nenabled = false\n")) as (client, recorder):
            open_project(client, root)
            warm, new = asked[:SAMPLES], asked[SAMPLES:]
            for prompt in warm:
                client.call("GetContext", {"cwd": str(root), "prompt": prompt}, WAIT_S)
            kinds: Mapping[str, tuple[str, list[dict[str, Any]], str]] = {
                "cached GetContext": ("GetContext", [{"focus_paths": FOCUS}] * SAMPLES, "at most 55 (15)"),
                "new prompt, embedding off": (
                    "GetContext",
                    [{"prompt": one} for one in new],
                    "at most 700 (80)",
                ),
                "structural question": (
                    "Query",
                    [{"query": f"who calls {name}?"} for name in names[:SAMPLES]],
                    "at most 250 (40)",
                ),
                "question in words": ("Query", [{"query": one} for one in warm], "at most 330 (40)"),
            }
            for name, (method, params, wanted) in kinds.items():
                counts = [recorder.count(method, {"cwd": str(root)} | param) for param in params]
                functions, files = (int(median(each)) for each in zip(*counts, strict=True))
                yield Figure(f"functions (files) that run: {name}", f"{functions} ({files})", wanted)


class _Recorder:
    """Asks a traced daemon which functions of the product ran for a request."""

    def __init__(self, client: Client, process: subprocess.Popen[str]) -> None:
        self._client = client
        self._process = process

    def count(self, method: str, params: Mapping[str, Any]) -> tuple[int, int]:
        """Send a request and return how many functions of how many files ran."""
        self._say("start")
        self._client.call(method, params, WAIT_S)
        found = self._say("stop")
        return len(found), len({path for path, _, _ in found})

    def _say(self, word: str) -> list[tuple[str, int, str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return [tuple(load) for load in json.loads(self._process.stdout.readline())]


@contextmanager
def _traced(environ: Mapping[str, str]) -> Iterator[tuple[Client, _Recorder]]:
    """Run a daemon whose functions are recorded while it is told to."""
    command = [sys.executable, "-m", "benchmarks.house", TRACED]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, env=dict(environ), cwd=ROOT
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it serves
        with ensure_daemon(None, environ, WAIT_S) as client:
            if client.call("Ping")["pid"] != process.pid:
                raise RuntimeError("another daemon answers than the traced one")
            try:
                yield client, _Recorder(client, process)
            finally:
                client.call("Shutdown")


def _run_traced() -> None:
    """Be the daemon, with a profile function in each thread; lines on stdin start and stop the recording."""
    from foveal.__main__ import main as run

    ran: set[CodeType] = set()
    recording = threading.Event()

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and recording.is_set():
            ran.add(frame.f_code)

    def listen() -> None:
        sys.setprofile(None)
        socket = Path(default_socket(os.environ))
        wait_until(socket.exists, "the daemon's socket")
        print("[]", flush=True)
        answer: list[tuple[str, int, str]] = []
        for line in sys.stdin:
            if line.strip() == "start":
                ran.clear()
                recording.set()
                answer = []
            else:
                recording.clear()
                answer = sorted(_told(ran.copy()))
            print(json.dumps(answer), flush=True)

    threading.setprofile(profile)
    threading.Thread(target=listen, daemon=True).start()
    sys.setprofile(profile)
    sys.argv[1:] = ["up", "--foreground"]
    run()


def _told(ran: set[CodeType]) -> Iterator[tuple[str, int, str]]:
    for code in ran:
        path = Path(code.co_filename).resolve()
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in (*ROOMS, "__main__.py"):
            yield path.relative_to(ROOT).as_posix(), code.co_firstlineno, code.co_qualname


if __name__ == "__main__":
    sys.exit(main())
