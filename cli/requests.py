"""The `foveal requests` commands: what each message of a session was answered with, and why."""

from __future__ import annotations

import json
import shlex
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ..ipc.client import Client
from ..ipc.errors import NOT_FOUND, RpcError
from . import terminal
from .command import Remark, Reply, Run, command, given, list_command
from .connection import connect
from .errors import CliError, hint_if_unknown
from .group import group
from .items import item_label, level_of
from .last import LAST, sent_contexts
from .options import CWD, SINCE, UNTIL, argument, flag, limit
from .progress import call
from .table import Column, number, words
from .text import clean, count, end_of_path, local_time, shortened, size

LIST_LIMIT = 1_000
CONTEXTS_SEARCHED = 100

SESSIONS = "foveal sessions list"


def _remarks(request: Reply) -> list[str]:
    gone = [f"no content: {request['pruned']}"] if request.get("pruned") else []
    return [*(["degraded"] if request.get("degraded") else []), *gone]


COLUMNS = (
    Column("REQUEST", "request_id"),
    Column("AT", lambda request: local_time(request["at"])),
    number("ITEMS", "items"),
    number(
        "REFERRED",
        lambda request: "" if request.get("referred") is None else f"{request['referred']:,}",
        spare=1,
    ),
    number("TOKENS", "tokens"),
    number("MS", lambda request: f"{request['elapsed_ms']:,.1f}", spare=2),
    words("REMARK", lambda request: ", ".join(_remarks(request))),
)


@group("What each message was answered with.")
def requests_command() -> None:
    """Look at the requests of a session: which items each message got, why, and what exactly was sent.

    For example:

        foveal requests show                  # the last one of this project
        foveal requests show --sent > context.md
        foveal requests list s-1
        foveal requests show s-1 req_0123456789abcdef
        foveal requests export > requests.jsonl
    """


def _session(run: Run) -> dict[str, str]:
    """Return the session that is named, or the one with the last request."""
    named = run.session_id not in {None, LAST}
    return {"session_id": run.session_id if named else _last_request(run)[0]}


@list_command(
    "ListRequests",
    "List the requests of a session.",
    argument("session_id", "[SESSION]", required=False),
    limit(1, LIST_LIMIT, "requests"),
    CWD,
    rows="requests",
    columns=COLUMNS,
    nothing="no requests",
    most=LIST_LIMIT,
    sends=_session,
    hint=SESSIONS,
    group=requests_command,
)
def list_requests() -> None:
    """List the requests of SESSION, the latest first; without it, or with `last`, those of the session with
    the last one."""


@command(
    "Show a request: its items, slices and time.",
    argument("session_id", "[SESSION]", required=False),
    argument("request_id", "[REQUEST]", required=False),
    flag("--sent", "Print the context that was sent, exactly as it was."),
    flag("--messages", "Print the messages and tools as JSON."),
    CWD,
    group=requests_command,
)
def show(run: Run) -> None:
    """Show a request: the items that were in it and those that were considered, with scores.

    Without REQUEST, or with `last`, it is the last one of SESSION; without both, or with `last` alone, the
    last one of this project.
    """
    if run.sent and run.messages:
        raise run.usage("--sent and --messages exclude each other")
    session_id = None if run.session_id == LAST else run.session_id
    request_id = None if run.request_id == LAST else run.request_id
    if session_id is None:
        session_id, request_id = _last_request(run)
    elif request_id is None:
        request_id = _last_of(run, session_id)
    hint = f"foveal requests list {shlex.quote(session_id)}"
    content = run.sent or run.messages or run.as_json
    reply = run.ask("GetRequest", hint, session_id=session_id, request_id=request_id, content=content)
    if run.sent or run.messages:
        _print_content(reply, run)
    else:
        run.show(reply, describe(reply, {} if run.as_json else _descriptions(run, reply)))


def _descriptions(run: Run, request: Reply) -> dict[ItemKey, str]:
    """Return what today's items of a request are for; nothing where its project can't be asked."""
    try:
        listed = run.ask("ListItems", cwd=request["project"], content=False)
    except (CliError, RpcError):
        return {}
    return {_key(item): item.get("description", "") for item in listed["items"]}


@command(
    "Write requests as lines of JSON, for analysis.",
    argument("session_ids", "[SESSION]...", nargs=-1),
    flag("--content", "With what was sent: code, and what people and agents wrote."),
    SINCE,
    UNTIL,
    CWD,
    group=requests_command,
)
def export(run: Run) -> None:
    """Write the requests of SESSIONs, or of this project, as JSON Lines, the oldest first.

    Each line is what show --json prints; without --content it holds names, numbers and hashes only. --json
    writes one list of them.
    Requests of sessions that were never created, or are gone, are included.
    """
    bounds = given({"content": run.content or None, "since": run.since, "before": run.until})
    places = [{"session_id": session_id} for session_id in run.session_ids] or [{"cwd": run.folder}]
    with connect(run.settings) as client, hint_if_unknown(SESSIONS):
        found = (request for place in places for request in _exported(client, {**place, **bounds}))
        if run.as_json:
            terminal.say_json({"requests": list(found)})
            return
        for request in found:
            terminal.say(json.dumps(request))


def _exported(client: Client, params: Reply) -> Iterator[dict[str, Any]]:
    """Yield the requests of ExportRequests, page by page to save memory."""
    page: dict[str, Any] = {"next": params.get("since", "")}
    while "next" in page:
        page = call(
            client, "ExportRequests", **{**params, **({"since": page["next"]} if page["next"] else {})}
        )
        yield from page["requests"]


def _last_request(run: Run) -> tuple[str, str]:
    """Return the ids of the session and of the last request in a project. Raises `CliError` without one."""
    for context in islice(sent_contexts(run, run.folder), CONTEXTS_SEARCHED):
        if context.get("request_id"):
            return context["session_id"], context["request_id"]
    raise CliError(
        "no session of this project has a request yet",
        "foveal last shows what was sent last, in a session or not",
        NOT_FOUND,
    )


def _last_of(run: Run, session_id: str) -> str:
    """Return the id of the last request of a session. Raises `CliError` without one."""
    found = run.ask("ListRequests", SESSIONS, session_id=session_id, limit=1)["requests"]
    if not found:
        raise CliError(f"the session {session_id} has no request yet", SESSIONS, NOT_FOUND)
    return str(found[0]["request_id"])


def describe(request: Reply, descriptions: Mapping[ItemKey, str]) -> Iterator[str]:
    """Yield the lines about a request: its head, its items, what was considered, its slices, its times.

    Items stand by type, priority and name, each with its line of `descriptions`, if it has one.
    """
    yield terminal.styled(clean(request["request_id"]), bold=True)
    yield clean(
        f"{local_time(request['at'])}, {count(request['tokens'], 'token')},"
        f" {size(request['bytes'])}, {request['elapsed_ms']:.1f} ms"
    )
    referred = {_key(item) for item in request.get("referred") or ()}
    for kind in ("rule", "reference", "tool"):
        sent = sorted((item for item in request["items"] if item["type"] == kind), key=_order)
        yield from _section(f"{kind}s", [_item(item, descriptions, referred) for item in sent])
    left = sorted(request.get("considered", ()), key=lambda item: (item["type"], *_order(item)))
    yield from _section("considered and left out", [_item(item, descriptions, ()) for item in left])
    yield from _section("slices", [_slice(part) for part in request.get("slices", ())])
    steps = request.get("steps_ms") or {}
    yield from _section("degraded", request["degraded"])
    yield from _section("time", [f"{took:>9.1f} ms  {step}" for step, took in steps.items()])
    if request["problem"]:
        yield Remark(request["problem"])


def _print_content(reply: Reply, run: Run) -> None:
    """Print what was sent. Raises `CliError` where it is gone."""
    if run.as_json:
        terminal.say_json(reply)
        return
    if "context" not in reply:
        raise CliError(reply["problem"] or "the content of this request is not kept any more")
    if run.messages:
        terminal.say_json({"messages": reply["messages"], "tools": reply["tools"]})
    else:
        terminal.say_text(reply["context"])
    terminal.flush()
    if reply["problem"]:
        terminal.warn(reply["problem"])


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
        yield from (clean(f"  {line}") for line in lines)


ItemKey = tuple[str, str, str]
"""Type, name and server of an item; the server is empty for all but tools."""


def _key(item: Reply) -> ItemKey:
    return item["type"], item["name"], item.get("server_name", "")


def _order(item: Reply) -> tuple[int, str, str]:
    return item.get("priority_level", 1_000), item["name"].casefold(), item.get("server_name", "")


def _item(item: Reply, descriptions: Mapping[ItemKey, str], referred: Container[ItemKey]) -> str:
    """Return an item with its mode, or why it was left out, its priority and score, whether a reply referred
    to it, and what it is for."""
    mark = "  (the reply referred to it)" if _key(item) in referred else ""
    head = f"{item.get('reason') or item['include_mode']:<9} {level_of(item):>3}  {_score(item)}  "
    label = item_label(item) if "reason" in item else item_label(item).partition(" ")[2]  # below its type
    line = f"{head}{label}{mark}"
    about = descriptions.get(_key(item))
    return f"{line}  {shortened(about, terminal.room(len(line) + 4))}" if about else line


def _score(item: Reply) -> str:
    score = item.get("similarity_score")
    return "    " if score is None else f"{score:.2f}"


def _slice(part: Reply) -> str:
    cut = " (shortened)" if part["compressed"] else ""
    head = f"{part['layer']:<7} {part['tokens']:>6,} tokens  {part['type']:<12} "
    name = part.get("path") or ("" if part["id"] == part["type"] else part["id"])
    name = end_of_path(name, terminal.room(2 + len(head) + len(cut)))
    return f"{head}{name}{cut}".rstrip()
