"""Entry point: python -m benchmarks.mcp prints what MCP takes to start, and to answer beside the socket."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foveal.ipc.client import Client, ensure_daemon

from ..statistics import Measure, table

START_TARGET_MS = 300.0
"""Of the median, where the daemon has served MCP before: a host waits for it before the first turn."""

ANSWER_TARGET_MS = 20.0
"""Of how much longer an answer takes through pump, faces process and SDK than on the daemon's socket."""

DEADLINE_S = 120.0

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}

KINDS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "get_context": (
        "GetContext",
        "prompt",
        {"session_id": "benchmark", "max_tokens": 3333, "reserve_tokens": 0},
    ),
    "search_code": ("Query", "query", {"limit": 8}),
}
"""By tool the method behind it, the field of the question, and the same limits as the tool's own."""

Ask = Callable[[str, Mapping[str, Any]], Any]


def main() -> int:
    """Run and print; the exit status is 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp", description=__doc__)
    parser.add_argument("--count", type=int, default=40, help="samples of each kind")
    parser.add_argument("--files", type=int, default=1000, help="files of the project")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fv-") as temporary:
        environ = _environment(Path(temporary))
        root = _project(Path(temporary) / "project", options.files)
        with ensure_daemon(None, environ, DEADLINE_S) as client:
            _open_ready(client, root)
            measures = _starts(root, environ, options.count)
            measures += _answers(client, root, environ, options.count)
            client.call("Shutdown", {}, DEADLINE_S)
    print(table(measures))
    return int(any(measure.met is False for measure in measures))


def _starts(root: str, environ: Mapping[str, str], count: int) -> list[Measure]:
    """Measure from the start of a pump to the list of tools; for the first one the SDK is loaded too."""
    first = Measure("foveal mcp to tools/list: the daemon's first host")
    later = Measure("foveal mcp to tools/list: each later host", target=START_TARGET_MS)
    for measure in (first, *[later] * count):
        begun = time.perf_counter()
        with _host(root, environ) as ask:
            ask("tools/list", {})
            measure.samples.append((time.perf_counter() - begun) * 1000)
    return [first, later]


def _answers(client: Client, root: str, environ: Mapping[str, str], count: int) -> list[Measure]:
    """Measure questions on the socket and through MCP in turn, each a new one, since contexts are kept."""
    measures = []
    with _host(root, environ) as ask:
        for tool, (method, field, limits) in KINDS.items():
            direct, through = Measure(f"{method} on the socket"), Measure(f"{tool} through MCP")
            longer = Measure(f"{tool}: how much longer", target=ANSWER_TARGET_MS)
            for number in range(count):
                own, its = (f"how is price {number * 2 + turn} made" for turn in range(2))
                begun = time.perf_counter()
                client.call(method, {"cwd": root, field: own, **limits}, DEADLINE_S)
                between = time.perf_counter()
                answer = ask("tools/call", {"name": tool, "arguments": {field: its}})
                ended = time.perf_counter()
                assert not answer.get("isError"), answer
                direct.samples.append((between - begun) * 1000)
                through.samples.append((ended - between) * 1000)
                longer.samples.append(through.samples[-1] - direct.samples[-1])
            measures += [direct, through, longer]
    return measures


@contextmanager
def _host(root: str, environ: Mapping[str, str]) -> Iterator[Ask]:
    """Start a pump as a host does; gives a function that sends a request and returns the result."""
    command = [sys.executable, "-m", "foveal", "mcp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=root, env=dict(environ), stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def ask(method: str, params: Mapping[str, Any]) -> Any:
            sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
            stdin.write(json.dumps(sent).encode() + b"\n")
            stdin.flush()
            return json.loads(stdout.readline())["result"]

        yield ask
        stdin.close()


def _project(root: Path, files: int) -> str:
    """Write a project of small modules that use each other."""
    (root / "shop").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "CLAUDE.md").write_text("# Rules\n\nUse the logger.\n")
    for number in range(files):
        used = f"from shop.module_{number // 2} import price_{number // 2}\n\n\n" if number else ""
        body = "".join(
            f'def {name}_{number}(value):\n    """Make a {name}."""\n    return value + {number}\n\n\n'
            for name in ("price", "order", "customer", "invoice")
        )
        (root / "shop" / f"module_{number}.py").write_text(used + body)
    return str(root)


def _open_ready(client: Client, root: str) -> None:
    client.call("Subscribe", {"topics": ["index.progress"]}, DEADLINE_S)
    if client.call("OpenProject", {"path": root}, DEADLINE_S)["state"] != "ready":
        for event in client.events(DEADLINE_S):
            if event["data"].get("state") == "ready":
                return


def _environment(folder: Path) -> dict[str, str]:
    """Make folders of a user of their own."""
    for name in ("run", "config"):
        (folder / name).mkdir(mode=0o700)
    (folder / "config" / "config.toml").write_text("[embedding]\nenabled = false\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOVEAL_", "XDG_"))}
    return {
        **kept,
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "FOVEAL_STATE_DIR": str(folder / "state"),
        "FOVEAL_CONFIG_DIR": str(folder / "config"),
        "CLAUDE_PROJECT_DIR": "",
    }


if __name__ == "__main__":
    sys.exit(main())
