"""The commands on what was sent: `foveal last`, `contexts`, `why` and `usage`, which says what it cost."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from ..ipc.errors import NOT_FOUND, RpcError
from . import terminal
from .command import (
    Command,
    all_option,
    ask,
    current_folder,
    cwd_option,
    json_option,
    list_options,
    locate,
)
from .errors import CliError
from .times import local_time, since_option, until_option

PAGE = 100
"""Contexts asked for at once, while the last one is looked for."""

ENTRIES_LOOKED_AT = 50
"""Latest entries of a timeline that are looked at for a prompt whose context came too late."""

SHOWN_MAX = 12
"""Maximum places that `foveal last` lists."""

LABEL_WIDTH = NEAR_WIDTH = 10

LAYERS = {"anchor": "always", "focus": "focus", "horizon": "map"}
LAST_EXAMPLES = (
    "foveal last",
    "foveal last --all            # of all projects",
    "foveal last --text           # the exact text",
)


@click.command("last", cls=Command, short_help="Show what was sent last, and why.", examples=LAST_EXAMPLES)
@click.option("--text", is_flag=True, help="Print exactly the text that was sent.")
@list_options
@click.pass_context
def last_command(
    context: click.Context, text: bool, cwd: str | None, everywhere: bool, as_json: bool
) -> None:
    """Show the context that an agent of this project got last: a verdict, what was in it, what it cost, which
    of it was used, and what came near but wasn't sent."""
    folder = cwd or current_folder()
    sent = last_context(context, None if everywhere else folder)
    reply = ask(context, "GetBuiltContext", {"context_id": sent["context_id"]}, hint="foveal contexts")
    if text and not as_json:
        if not reply["text_kept"]:
            raise CliError(reply["problem"], "foveal last shows what it consisted of")
        terminal.say_text(reply["context"])
        return
    terminal.say_reply(reply, as_json, *describe_last(reply))
    if not as_json:
        _note_late(context, sent)


def _note_late(context: click.Context, sent: Mapping[str, Any]) -> None:
    """Tell of a later prompt of a session that got no context in time: it isn't in the list of contexts."""
    if not sent["session_id"]:
        return
    try:
        params = {"session_id": sent["session_id"], "limit": ENTRIES_LOOKED_AT}
        entries = ask(context, "GetTimeline", params)["entries"]
    except RpcError:  # a session without a timeline
        return
    late = late_after(entries, sent["context_id"])
    if late is not None:
        what = f"“{late['text']}”" if late.get("text") else f"the {late['kind']}"
        terminal.flush()
        terminal.note(
            f"{what} ({local_time(late['at'])}) came later and got no context: what was prepared wasn't ready"
            " in time. Ask again, or see: foveal doctor"
        )


def late_after(entries: Sequence[Mapping[str, Any]], context_id: str) -> Mapping[str, Any] | None:
    """Return the last entry after a context that got none in time, of a timeline with the latest first."""
    for entry in entries:
        if entry.get("context_id") == context_id:
            return None
        if entry.get("outcome") == "too late":
            return entry
    return None


def sent_contexts(context: click.Context, folder: str | None) -> Iterator[dict[str, Any]]:
    """Yield the contexts that agents got of a folder's project, or of all, the latest first: no previews."""
    page: list[dict[str, Any]] = []
    while True:
        params = {"cwd": folder, "limit": PAGE, "before": page[-1]["context_id"] if page else None}
        page = ask(context, "ListContexts", params)["contexts"]
        yield from (given for given in page if not given.get("preview"))
        if len(page) < PAGE:
            return


def last_context(context: click.Context, folder: str | None) -> dict[str, Any]:
    """Return the context that `last` means: the latest that an agent got. Raises `CliError` without one."""
    for given in sent_contexts(context, folder):
        return given
    where = "any project" if folder is None else "this project"
    raise CliError(
        f"no agent got a context of {where} yet (a preview is none)", 'foveal context "…"', NOT_FOUND
    )


def describe_last(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about a context: its verdict, its head, what it showed, what was used, the near
    misses, and the commands that show more."""
    if given.get("verdict"):
        for line in textwrap.wrap(terminal.clean(given["verdict"]), min(terminal.room(0), 1_000)):
            yield terminal.styled(line, bold=True)
    room = max(given["max_tokens"] - given["reserve_tokens"], 0)
    for label, value in (
        ("context", given["context_id"]),
        ("project", terminal.end_of_path(terminal.short_path(given["project"]), terminal.room(LABEL_WIDTH))),
        (
            "at",
            local_time(given["at"]) + (f", sent {given['times']:,} times" if given["times"] > 1 else ""),
        ),
        ("for", ", ".join(filter(None, (given["agent_name"], given["session_id"])))),
        ("prompt", terminal.shortened(given["prompt"], terminal.room(LABEL_WIDTH))),
        ("cost", f"{given['tokens']:,} of {terminal.count(room, 'token')}, {terminal.size(given['bytes'])}"),
        ("limit", "" if given.get("verdict") else given.get("limit", "")),
    ):
        if value:
            yield from _labelled(label, value)
    yield from _shown(given)
    yield from _used(given)
    yield from _near(given)
    # The verdict names what is degraded.
    degraded = () if given.get("verdict") else given["degraded"]
    for label, lines in (("missing", given["gaps"]), ("degraded", degraded)):
        for line in lines:
            yield from _labelled(label, line)
    yield ""
    yield "the exact text: foveal last --text"
    yield f"why a file is in it, or isn't: foveal why {given['context_id']} PATH"


def _labelled(label: str, text: str) -> Iterator[str]:
    """Yield a text behind its label; what doesn't fit on the line goes on below it."""
    first, *rest = textwrap.wrap(terminal.clean(text), min(terminal.room(LABEL_WIDTH), 1_000)) or [""]
    yield f"{label + ':':<{LABEL_WIDTH}}{first}"
    yield from (f"{'':<{LABEL_WIDTH}}{line}" for line in rest)


def _shown(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the places that were shown, those with the most tokens first, under a line that counts them."""
    slices = sorted(given["slices"], key=lambda part: -part["tokens"])
    if not slices:
        return
    more = f", the largest {SHOWN_MAX}" if len(slices) > SHOWN_MAX else ""
    yield f"sent ({terminal.count(len(slices), 'part')}{more}):"
    for part in slices[:SHOWN_MAX]:
        start = part.get("start_line")
        lines = f":{terminal.lines_of(start, part['end_line'])}" if start and part.get("end_line") else ""
        cut = " (shortened)" if part["compressed"] else ""
        head = f"  {part['tokens']:>6,}  {LAYERS.get(part['layer'], part['layer']):<6}  "
        name = f"{part['path']}{lines}" if part.get("path") else str(part["id"]).replace("_", " ")
        yield terminal.clean(head + terminal.end_of_path(name, terminal.room(len(head) + len(cut))) + cut)


def _used(given: Mapping[str, Any]) -> Iterator[str]:
    used = given.get("used")
    if used is None:
        return
    if not used:
        yield f"{'used:':<{LABEL_WIDTH}}nothing of it yet, as far as hooks tell"
        return
    yield f"used ({terminal.count(len(used), 'file')}):"
    for place in used:
        head = f"  {place['how']:<6}  "
        yield terminal.clean(head + terminal.end_of_path(place["path"], terminal.room(len(head))))


def _near(given: Mapping[str, Any]) -> Iterator[str]:
    near = given.get("near") or []
    if near:
        yield "came near, and wasn't sent:"
    for place in near:
        name = place["path"] or f"{place['kind']} {place.get('name', '')}"
        if place.get("line"):
            name += f":{place['line']}"
        score = "" if place["score"] is None else f"{place['score']:.2f}"
        most = terminal.room(NEAR_WIDTH)
        what = " ".join(filter(None, (terminal.end_of_path(name, most), place.get("symbol", ""))))
        yield f"  {score:>6}  {terminal.clean(terminal.shortened(what, most))}"
        why = place["reason"].partition("; found by")[0]  # --json has how it was found, too
        yield f"{'':<{NEAR_WIDTH}}{terminal.clean(terminal.shortened(why, most))}"


LIST_LIMIT = 100
PROMPT_CHARACTERS = 50
LAST = "last"
"""The name of the context that `last_context` finds."""

CONTEXTS_EXAMPLES = (
    "foveal contexts",
    "foveal contexts last > context.md",
    "foveal contexts --path src/auth.py    # which turns showed this file",
    "foveal contexts --session s-1 --json | jq '.contexts[].tokens'",
)
WHY_EXAMPLES = (
    "foveal why last src/auth.py",
    "foveal why c_0123456789abcdef docs/plan.md --json",
)


@click.command(
    "contexts",
    cls=Command,
    short_help="List the contexts that agents got.",
    examples=CONTEXTS_EXAMPLES,
)
@click.argument("context_id", metavar="[CONTEXT]", required=False)
@all_option
@click.option("--scope", metavar="ID", help="Of this scope.")
@click.option("--session", metavar="ID", help="Of this session.")
@click.option("--path", metavar="PATH", help="Those that showed this file.")
@click.option("--agent", metavar="NAME", help="Of this agent.")
@since_option
@until_option
@click.option(
    "--limit",
    type=click.IntRange(1, LIST_LIMIT),
    default=20,
    show_default=True,
    help="Maximum number of contexts.",
)
@json_option
@click.pass_context
def contexts_command(
    context: click.Context,
    /,
    context_id: str | None,
    limit: int,
    cwd: str | None,
    everywhere: bool,
    scope: str | None,
    session: str | None,
    path: str | None,
    as_json: bool,
    **chosen: Any,
) -> None:
    """List the contexts that agents got, the latest first.

    With CONTEXT, an id or `last`, print exactly the text of that context.
    """
    folder = cwd or current_folder()
    if context_id is not None:
        _show(context, context_id, folder, as_json=as_json)
        return
    params = {
        **chosen,
        "limit": limit if as_json else min(limit + 1, LIST_LIMIT),
        "cwd": None if everywhere else folder,
        "scope_id": scope,
        "session_id": session,
        "path": None if path is None else locate(path, [folder]),
    }
    reply = ask(context, "ListContexts", params)
    given = reply["contexts"][:limit]
    filtered = any(value is not None for name, value in params.items() if name not in {"cwd", "limit"})
    nothing = "no context matches" if filtered else "no agent got a context yet"
    terminal.say_reply(reply, as_json, contexts_table(given, everywhere=everywhere) if given else nothing)
    if not as_json:
        terminal.note_more(len(reply["contexts"]), limit, LIST_LIMIT)


@click.command(
    "why", cls=Command, short_help="Say why a file is in a context, or why not.", examples=WHY_EXAMPLES
)
@click.argument("context_id", metavar="CONTEXT")
@click.argument("path")
@cwd_option
@json_option
@click.pass_context
def why_command(context: click.Context, context_id: str, path: str, cwd: str | None, as_json: bool) -> None:
    """Say why PATH is in CONTEXT, an id or `last`, or what kept it out and what would bring it in.

    PATH may also be the name of a rule or reference. Exits with 1 where nothing of it is shown.
    """
    folder = cwd or current_folder()
    folders = [folder] if cwd is None else [folder, current_folder()]
    sent = last_context(context, folder) if context_id == LAST else None
    found = context_id if sent is None else str(sent["context_id"])
    params = {"context_id": found, "path": locate(path, folders)}
    reply = ask(context, "ExplainPath", params, hint="foveal contexts")
    terminal.say_reply(reply, as_json, *describe_explanation(reply, path))
    if not as_json:
        terminal.note_degraded(reply)
        if sent is not None:
            _note_late(context, sent)
    if not reply["shown"]:
        context.exit(1)


def contexts_table(contexts: Sequence[Mapping[str, Any]], *, everywhere: bool) -> str:
    """Return contexts as a table, in their order; with `everywhere` it has a column for the project."""
    header = ["CONTEXT", "AT", "TIMES", "TOKENS", "OF", "MS", "FOR", "PROMPT"]
    rows = [
        [
            given["context_id"],
            local_time(given["at"]),
            f"{given['times']:,}",
            f"{given['tokens']:,}",
            f"{max(given['max_tokens'] - given['reserve_tokens'], 0):,}",
            f"{given['elapsed_ms']:,.1f}",
            given["agent_name"] or given["session_id"],
            terminal.shortened(given["prompt"], PROMPT_CHARACTERS),
        ]
        for given in contexts
    ]
    if everywhere:
        header.append("PROJECT")
        for row, context in zip(rows, contexts, strict=True):
            row.append(terminal.short_path(context["project"]))
    # Where there is no room, the middle columns go first: their figures are in the context itself.
    return terminal.table(header, rows, right=(2, 3, 4, 5), paths=(8,), texts=(6, 7), spare=(2, 5, 4))


def describe_explanation(reply: Mapping[str, Any], path: str) -> Sequence[str]:
    """Return the lines about a reply to ExplainPath: a verdict, the reasons, what to do."""
    verdict = "shown" if reply["shown"] else "only named" if reply["named"] else "not in it"
    return [
        f"{terminal.styled(terminal.clean(path), bold=True)}: {verdict}",
        *(f"  {terminal.clean(reason)}" for reason in reply["reasons"]),
        *(f"  -> {terminal.clean(advice)}" for advice in reply["advice"]),
    ]


def _show(context: click.Context, context_id: str, folder: str, *, as_json: bool) -> None:
    """Print a context as it was given. Raises `CliError` where its text is gone."""
    params = {"context_id": _resolved(context, context_id, folder)}
    reply = ask(context, "GetBuiltContext", params, hint="foveal contexts")
    if as_json:
        terminal.say_json(reply)
    elif not reply["text_kept"]:
        raise CliError(reply["problem"], "foveal contexts ID --json still shows what it consisted of")
    else:
        terminal.say_text(reply["context"])


def _resolved(context: click.Context, context_id: str, folder: str) -> str:
    """Return an id, of the last context of the project for `last`. Raises `CliError` where there is none."""
    if context_id != LAST:
        return context_id
    return str(last_context(context, folder)["context_id"])


GROUPS = ("day", "project", "host", "session", "type")
USAGE_EXAMPLES = (
    "foveal usage                       # tokens of this project by day",
    "foveal usage --all --by project",
    "foveal usage --by type --since 2026-01-01 --json",
)
NEVER_USED_MAX = 10


@click.command(
    "usage", cls=Command, short_help="Show what contexts cost, and what was used.", examples=USAGE_EXAMPLES
)
@click.option(
    "--by", type=click.Choice(GROUPS), default="day", show_default=True, help="What a row is about."
)
@since_option
@until_option
@all_option
@json_option
@click.pass_context
def usage_command(
    context: click.Context,
    by: str,
    since: str | None,
    until: str | None,
    cwd: str | None,
    everywhere: bool,
    as_json: bool,
) -> None:
    """Show the tokens that contexts took, how many of the places they showed were used, what was never used,
    and what foveal saved.

    A place counts as used if the agent read, edited or named its file after it was shown.
    """
    params = {
        "cwd": None if everywhere else cwd or current_folder(),
        "by": by,
        "since": since,
        "until": until,
    }
    reply = ask(context, "GetUsage", params)
    terminal.say_reply(reply, as_json, *describe_usage(reply, by))


def describe_usage(reply: Mapping[str, Any], by: str) -> Iterator[str]:
    """Yield the lines about a reply to GetUsage: a table with a total, what was never used, what was
    saved."""
    rows = reply["rows"]
    if not rows:
        yield "no agent got a context in this time"
        return
    yield usage_table([*rows, {**reply["total"], "key": "total"}], by)
    never = reply["never_used"]
    if never:
        yield ""
        yield f"shown most and never used ({terminal.count(len(never), 'file')}):"
        for place in never[:NEVER_USED_MAX]:
            head = f"  {place['shown']:>5,} times  "
            yield terminal.clean(head + terminal.end_of_path(place["path"], terminal.room(len(head))))
        if len(never) > NEVER_USED_MAX:
            yield f"  and {len(never) - NEVER_USED_MAX:,} more: --json lists them"
    saved = reply["saved"]
    if saved and saved["characters"]:
        yield ""
        yield f"saved: about {saved['characters']:,} characters that agents didn't read"
        yield terminal.clean(f"  ({saved['basis']})")


def usage_table(rows: Sequence[Mapping[str, Any]], by: str) -> str:
    """Return the rows of GetUsage as a table, in their order."""
    header = (by.upper(), "TURNS", "TOKENS", "SHOWN", "USED", "SHARE", "SESSIONS")
    cells = [
        (
            _key(row, by),
            f"{row['turns']:,}",
            f"{row['tokens']:,}",
            f"{row['places_shown']:,}",
            f"{row['places_used']:,}",
            f"{row['places_used'] / row['places_shown']:.0%}" if row["places_shown"] else "",
            f"{row['sessions']:,}",
        )
        for row in rows
    ]
    of_path = {"paths": (0,)} if by == "project" else {"texts": (0,)}
    return terminal.table(header, cells, right=tuple(range(1, 7)), spare=(6,), **of_path)


def _key(row: Mapping[str, Any], by: str) -> str:
    key = str(row["key"])
    if by == "project" and key != "total":
        return terminal.short_path(key)
    return str(row.get("name") or key) or "(none)"
