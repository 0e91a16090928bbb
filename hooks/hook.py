"""The process of a hook: it reads an event from standard input and prints the daemon's answer. Fails open.

Whatever goes wrong, the host sees exit status 0, an empty standard output and nothing on standard error: an
agent must never be held up by its context. `hooks.log` of the state folder holds the error. The daemon parses
the payload and returns the bytes to print. Imports the standard library and msgpack only, since each event
pays for it; no host's file is imported.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Final, NoReturn

    from ..ipc.client import Client

MAX_PAYLOAD_BYTES: Final = 8 * 1024 * 1024
"""Maximum bytes of a payload; hosts put whole files into it. A larger one is read to its end and dropped."""

START_S: Final = 3.0
PROMPT_S: Final = 2.0
END_S: Final = 0.4
OTHER_S: Final = 1.0
"""Maximum seconds of a hook from its first line on, below the timeouts that are registered: 5 s where a
session starts or ends, 3 s where a person waits and where Codex ends a session."""

BUDGETS_S: Final[Mapping[str, float]] = {
    "SessionStart": START_S,
    "sessionStart": START_S,
    "UserPromptSubmit": PROMPT_S,
    "userPromptSubmitted": PROMPT_S,
    "beforeSubmitPrompt": PROMPT_S,
    "BeforeAgent": PROMPT_S,
    "TaskStart": PROMPT_S,
    "TaskResume": PROMPT_S,
    "SubagentStart": PROMPT_S,
    "subagentStart": PROMPT_S,
    "SessionEnd": END_S,
    "sessionEnd": END_S,
    "SessionShutdown": END_S,
    "cline PostToolUse": PROMPT_S,
    "droid PostToolUse": PROMPT_S,
    "PreInvocation": PROMPT_S,
}
"""Maximum seconds by event, or by host and event where a prompt's context comes with another event."""

AWAITED: Final = frozenset(("SessionStart", "sessionStart"))
"""Events that start a daemon and wait for it: at the start of a session no person waits yet."""

STARTING: Final = AWAITED | {
    *("UserPromptSubmit", "userPromptSubmitted", "beforeSubmitPrompt", "BeforeAgent"),
    *("TaskStart", "TaskResume", "PreInvocation"),
}
"""Events that start a daemon if none runs. Those outside `AWAITED` don't wait for it."""

KEPT: Final = frozenset(
    (
        *("SubagentStop", "subagentStop", "SessionEnd", "sessionEnd"),
        *("Stop", "StopFailure", "AfterAgent", "agentStop", "stop"),
        *("TaskComplete", "TaskCancel", "SessionShutdown"),
    )
)
"""Events that are written to the spool first: they name the transcript with an agent's findings, and a host
that ends kills its hooks."""

ANSWER_SHARE: Final = 0.8
"""Share of the remaining time for the daemon to start, and again to answer; the rest is for the way back."""

VARIABLES: Final = (
    "CLAUDE_PROJECT_DIR",
    "CURSOR_PROJECT_DIR",
    "FACTORY_PROJECT_DIR",
    "CURSOR_VERSION",
    "AI_AGENT",
)
"""Environment variables of hosts that the daemon gets; AI_AGENT names Claude Code's version."""

USAGE: Final = (
    "Usage: foveal hook HOST [EVENT]\n\n"
    "  Answers one event of an agent, which comes as JSON on the standard input.\n"
    "  HOST is the agent's name, such as claude-code; agents run this by themselves after:\n"
    "  foveal hooks install HOST\n"
)


def run(arguments: Sequence[str]) -> NoReturn:
    """Answer one event and end the process with status 0, whatever happens."""
    started = time.monotonic()
    name = ""
    try:
        if list(arguments) == ["--help"]:
            _write(USAGE.encode())
        elif arguments and not os.isatty(0):
            event = _read_event(arguments, started)
            name = event.name
            _write(_answer(event))
    except BaseException as error:  # noqa: BLE001 - whatever it is, also a signal, must not reach the host
        _log(arguments, name, error)
    # Python's own exit takes time, and may write to standard error.
    os._exit(0)


class HookCall:
    """An event: `name` is the host's, "" if unknown; `deadline` is a monotonic time; `spooled` is its file
    in the spool, "" for none."""

    __slots__ = ("deadline", "host", "name", "payload", "spooled")

    def __init__(self, host: str, name: str, payload: bytes, started: float) -> None:
        self.host = host
        self.payload = payload
        self.name = name or event_name(payload)
        self.spooled = ""
        self.deadline = started + budget_s(host, self.name)

    @property
    def left_s(self) -> float:
        """The remaining seconds; never 0, which would mean no limit."""
        return max(self.deadline - time.monotonic(), 0.001)


def budget_s(host: str, name: str) -> float:
    """Return the maximum seconds of a host's event."""
    return BUDGETS_S.get(f"{host} {name}", BUDGETS_S.get(name, OTHER_S))


def event_name(payload: bytes) -> str:
    """Return an event's name from an unparsed payload; it decides the time limit only.

    Quotes are escaped inside JSON strings, so a match is a field's name.
    """
    for field in (b'"hook_event_name"', b'"hookEventName"'):
        start = payload.find(field)
        if start >= 0:
            value = payload[start + len(field) : start + len(field) + 80].lstrip(b" \t\r\n:")
            return value[1:].partition(b'"')[0].decode("ascii", "replace") if value[:1] == b'"' else ""
    return ""


def _read_event(arguments: Sequence[str], started: float) -> HookCall:
    """Read standard input to its end, within the event's time."""
    from select import POLLIN, poll

    waiting = poll()
    waiting.register(0, POLLIN)
    named = arguments[1] if len(arguments) > 1 else ""
    parts: list[bytes] = []
    size = 0
    deadline = started + PROMPT_S  # until something says which event it is
    while waiting.poll(max(0, (deadline - time.monotonic()) * 1000)):
        part = os.read(0, 1 << 16)
        if not part:
            if size > MAX_PAYLOAD_BYTES:
                raise ValueError(f"the payload has {size:,} bytes; at most {MAX_PAYLOAD_BYTES:,} are taken")
            return HookCall(arguments[0], named, b"".join(parts), started)
        if not size:
            deadline = started + budget_s(arguments[0], named or event_name(part))
        size += len(part)
        if size <= MAX_PAYLOAD_BYTES:
            parts.append(part)
    raise TimeoutError("the host didn't end the standard input")


def _answer(event: HookCall) -> bytes:
    """Return the bytes to print; an event that must not be lost is spooled before."""
    if event.name in KEPT:
        try:
            event.spooled = _spool(event)
        except Exception as error:  # noqa: BLE001 - the daemon may still take it
            _log([event.host], event.name, error)
    client = _connect(event)
    if client is None:
        return b""
    with client:
        return _ask(client, event)


def _connect(event: HookCall) -> Client | None:
    """Connect to the daemon; None if none runs and the event doesn't wait for the one that it starts."""
    from ..ipc.client import Client
    from ..ipc.paths import find_socket

    found = find_socket(None, os.environ)
    try:
        return Client.connect(found.path, event.left_s)
    except (FileNotFoundError, ConnectionRefusedError):
        if event.name not in STARTING or found.explicit:
            return None
    return _start_daemon(event.left_s * ANSWER_SHARE if event.name in AWAITED else 0.0)


def _ask(client: Client, event: HookCall) -> bytes:
    params: dict[str, Any] = {
        "host": event.host,
        "event": event.name,
        "payload": event.payload.decode("utf-8", "replace"),
        "cwd": _cwd(),
        "variables": {name: os.environ[name] for name in VARIABLES if os.environ.get(name)},
    }
    if event.spooled:
        params["spooled"] = event.spooled
    params["deadline_ms"] = max(1, int(event.left_s * ANSWER_SHARE * 1000))
    output = client.call("HookEvent", params, event.left_s)["output"]
    return output.encode("utf-8", "replace") if isinstance(output, str) else b""


def _spool(event: HookCall) -> str:
    from ..ipc.paths import state_folder
    from .spool import keep

    return keep(state_folder(os.environ), (event.host, event.name, _cwd()), event.payload)


def _start_daemon(within_s: float) -> Client | None:
    """Start a daemon and connect to it; None if the event doesn't wait for it."""
    from ..ipc.client import ensure_daemon
    from ..ipc.errors import DaemonUnavailable

    try:
        return ensure_daemon(None, os.environ, within_s)
    except DaemonUnavailable as error:
        if within_s or "can't be started" in str(error):
            raise
    return None


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _write(output: bytes) -> None:
    while output:
        output = output[os.write(1, output) :]


def _log(arguments: Sequence[str], name: str, error: BaseException) -> None:
    try:
        from ..ipc.paths import state_folder
        from .hook_log import note

        host = arguments[0] if arguments else "?"
        note(state_folder(os.environ), f"{host} {name or '?'}: {type(error).__name__}: {error}")
    except BaseException:  # noqa: BLE001, S110 - without a log there is nobody left to tell
        pass
