"""The `foveal requests` commands: what each message of a session was answered with, and why."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import click

from ..ipc.client import Client
from ..ipc.errors import NOT_FOUND
from . import terminal
from .command import (
    CALL_TIMEOUT_S,
    Command,
    CommandGroup,
    ask,
    connect,
    current_folder,
    cwd_option,
    json_option,
    settings_of,
)
from .errors import CliError, hint_if_unknown
from .history import LAST, sent_contexts
from .items import item_label
from .times import local_time, since_option, until_option

LIST_LIMIT = 1_000
CONTEXTS_SEARCHED = 100

EXAMPLES = (
    "foveal requests show                  # the last one of this project",
    "foveal requests show --sent > context.md",
    "foveal requests list s-1",
    "foveal requests show s-1 req_0123456789abcdef",
    "foveal requests export > requests.jsonl",
)


@click.group(
    "requests", cls=CommandGroup, short_help="What each message was answered with.", examples=EXAMPLES
)
def requests_command() -> None:
    """Look at the requests of a session: which items each message got, why, and what exactly was sent."""


@requests_command.command("list", cls=Command, short_help="List the requests of a session.")
@click.argument("session_id", metavar="[SESSION]", required=False)
@click.option(
    "--limit",
    type=click.IntRange(1, LIST_LIMIT),
    default=20,
    show_default=True,
    help="Maximum number of requests.",
)
@cwd_option
@json_option
@click.pass_context
def list_command(
    context: click.Context, session_id: str | None, limit: int, cwd: str | None, as_json: bool
) -> None:
    """List the requests of SESSION, the latest first; without it, or with `last`, those of the session with
    the last one."""
    if session_id in {None, LAST}:
        session_id = _last_request(context, cwd or current_folder())[0]
    params = {"session_id": session_id, "limit": limit if as_json else min(limit + 1, LIST_LIMIT)}
    reply = ask(context, "ListRequests", params, hint="foveal sessions list")
    found = reply["requests"][:limit]
    terminal.say_reply(reply, as_json, requests_table(found) if found else "no requests")
    if not as_json:
        terminal.note_more(len(reply["requests"]), limit, LIST_LIMIT)


@requests_command.command("show", cls=Command, short_help="Show a request: its items, slices and time.")
@click.argument("session_id", metavar="[SESSION]", required=False)
@click.argument("request_id", metavar="[REQUEST]", required=False)
@click.option("--sent", is_flag=True, help="Print the context that was sent, exactly as it was.")
@click.option("--messages", is_flag=True, help="Print the messages and tools as JSON.")
@cwd_option
@json_option
@click.pass_context
def show_command(
    context: click.Context,
    session_id: str | None,
    request_id: str | None,
    sent: bool,
    messages: bool,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Show a request: the items that were in it and those that were considered, with scores.

    Without REQUEST, or with `last`, it is the last one of SESSION; without both, or with `last` alone, the
    last one of this project.
    """
    if sent and messages:
        raise click.UsageError("--sent and --messages exclude each other", context)
    session_id = None if session_id == LAST else session_id
    request_id = None if request_id == LAST else request_id
    if session_id is None:
        session_id, request_id = _last_request(context, cwd or current_folder())
    elif request_id is None:
        request_id = _last_of(context, session_id)
    params = {
        "session_id": session_id,
        "request_id": request_id,
        "content": sent or messages or as_json,
    }
    hint = f"foveal requests list {shlex.quote(session_id)}"
    reply = ask(context, "GetRequest", params, hint=hint)
    if as_json:
        terminal.say_json(reply)
    elif sent or messages:
        _print_content(reply, messages=messages)
    else:
        for line in describe(reply):
            terminal.say(line)
        terminal.flush()
        if reply["problem"]:
            terminal.note(reply["problem"])


@requests_command.command("export", cls=Command, short_help="Write requests as lines of JSON, for analysis.")
@click.argument("session_ids", nargs=-1, metavar="[SESSION]...")
@click.option("--content", is_flag=True, help="With what was sent: code, and what people and agents wrote.")
@since_option
@until_option
@cwd_option
@json_option
@click.pass_context
def export_command(
    context: click.Context,
    session_ids: tuple[str, ...],
    content: bool,
    since: str | None,
    until: str | None,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Write the requests of SESSIONs, or of this project, as JSON Lines, the oldest first.

    Each line is what show --json prints; without --content it holds names, numbers and hashes only. --json
    writes one list of them.
    Requests of sessions that were never created, or are gone, are included.
    """
    bounds = {"content": content, "since": since, "before": until}
    with connect(settings_of(context)) as client, hint_if_unknown("foveal sessions list"):
        chosen: list[dict[str, str]] = [{"session_id": session_id} for session_id in session_ids]
        given = {name: value for name, value in bounds.items() if value}
        wanted = [{**params, **given} for params in chosen or [{"cwd": cwd or current_folder()}]]
        found = (request for params in wanted for request in _exported(client, params))
        if as_json:
            terminal.say_json({"requests": list(found)})
            return
        for request in found:
            terminal.say(json.dumps(request))


def _exported(client: Client, params: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the requests of ExportRequests, page by page to save memory."""
    page: dict[str, Any] = {"next": params.get("since", "")}
    while "next" in page:
        since = {"since": page["next"]} if page["next"] else {}
        page = client.call("ExportRequests", {**params, **since}, CALL_TIMEOUT_S)
        yield from page["requests"]


SESSIONS_SEARCHED = 20
"""Sessions that are asked for their last request, the most recently active first."""


def _last_request(context: click.Context, folder: str) -> tuple[str, str]:
    """Return the ids of the session and of the last request in a project. Raises `CliError` without one."""
    for given in islice(sent_contexts(context, folder), CONTEXTS_SEARCHED):
        if given.get("request_id"):
            return given["session_id"], given["request_id"]
    sessions = ask(context, "ListSessions", {"cwd": folder})["sessions"]
    latest: list[tuple[str, str, str]] = []
    for session in sessions[:SESSIONS_SEARCHED]:
        found = ask(context, "ListRequests", {"session_id": session["session_id"], "limit": 1})["requests"]
        latest += [(request["at"], session["session_id"], request["request_id"]) for request in found]
    if not latest:
        raise CliError(
            "no session of this project has a request yet",
            "foveal last shows what was sent last, in a session or not",
            NOT_FOUND,
        )
    return max(latest)[1:]


def _last_of(context: click.Context, session_id: str) -> str:
    """Return the id of the last request of a session. Raises `CliError` without one."""
    params = {"session_id": session_id, "limit": 1}
    found = ask(context, "ListRequests", params, hint="foveal sessions list")["requests"]
    if not found:
        raise CliError(f"the session {session_id} has no request yet", "foveal sessions list", NOT_FOUND)
    return str(found[0]["request_id"])


def requests_table(requests: Sequence[Mapping[str, Any]]) -> str:
    """Return requests as a table, in their order."""
    header = ("REQUEST", "AT", "ITEMS", "REFERRED", "TOKENS", "MS", "REMARK")
    rows = [
        (
            request["request_id"],
            local_time(request["at"]),
            f"{request['items']:,}",
            "" if request.get("referred") is None else f"{request['referred']:,}",
            f"{request['tokens']:,}",
            f"{request['elapsed_ms']:,.1f}",
            ", ".join(_remarks(request)),
        )
        for request in requests
    ]
    return terminal.table(header, rows, right=(2, 3, 4, 5), texts=(6,), spare=(3, 5))


def describe(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about a request: its head, its items, what was considered, its slices, its times."""
    yield terminal.styled(terminal.clean(request["request_id"]), bold=True)
    yield terminal.clean(
        f"{local_time(request['at'])}, {terminal.count(request['tokens'], 'token')},"
        f" {terminal.size(request['bytes'])}, {request['elapsed_ms']:.1f} ms"
    )
    referred = request.get("referred")
    yield from _section("items", [_used(item, referred) for item in request["items"]])
    yield from _section("considered and left out", [_left(item) for item in request.get("considered", ())])
    yield from _section("slices", [_slice(part) for part in request.get("slices", ())])
    steps = request.get("steps_ms") or {}
    yield from _section("degraded", request["degraded"])
    yield from _section("time", [f"{took:>9.1f} ms  {step}" for step, took in steps.items()])


def _print_content(reply: Mapping[str, Any], *, messages: bool) -> None:
    """Print what was sent. Raises `CliError` where it is gone."""
    if "context" not in reply:
        raise CliError(reply["problem"] or "the content of this request is not kept any more")
    if messages:
        terminal.say_json({"messages": reply["messages"], "tools": reply["tools"]})
    elif terminal.is_terminal(sys.stdout):
        terminal.say(terminal.clean_lines(reply["context"]))
    else:
        terminal.write(reply["context"])  # a pipe gets the very text
    terminal.flush()
    if reply["problem"]:
        terminal.warn(reply["problem"])


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
        yield from (terminal.clean(f"  {line}") for line in lines)


def _used(item: Mapping[str, Any], referred: Sequence[Mapping[str, Any]] | None) -> str:
    """Return an item of a request with its mode and score, and whether a reply referred to it."""
    key = {name: item.get(name, "") for name in ("type", "name", "server_name")}
    found = [{name: item.get(name, "") for name in key} for item in referred or ()]
    mark = "  (the reply referred to it)" if key in found else ""
    return f"{item['include_mode']:<7} {_score(item)}  {item_label(item)}{mark}"


def _left(item: Mapping[str, Any]) -> str:
    return f"{item['reason']:<7} {_score(item)}  {item_label(item)}"


def _score(item: Mapping[str, Any]) -> str:
    score = item.get("similarity_score")
    return "    " if score is None else f"{score:.2f}"


def _slice(part: Mapping[str, Any]) -> str:
    cut = " (shortened)" if part["compressed"] else ""
    head = f"{part['layer']:<7} {part['tokens']:>6,} tokens  {part['type']:<12} "
    name = part.get("path") or ("" if part["id"] == part["type"] else part["id"])
    name = terminal.end_of_path(name, terminal.room(2 + len(head) + len(cut)))
    return f"{head}{name}{cut}".rstrip()


def _remarks(request: Mapping[str, Any]) -> Iterator[str]:
    if request.get("degraded"):
        yield "degraded"
    if request.get("pruned"):
        yield f"no content: {request['pruned']}"
