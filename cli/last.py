"""The command `foveal last`: the context that an agent got last, and what `last` means elsewhere."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from ..ipc.errors import NOT_FOUND
from . import terminal
from .command import Reply, Run, command
from .errors import CliError
from .options import ALL, flag
from .text import clean, count, end_of_path, lines_of, local_time, short_path, shortened, size

PAGE = 100
"""Contexts asked for at once, while the last one is looked for."""


SHOWN_MAX = 12
"""Maximum places that `foveal last` lists."""


LABEL_WIDTH = NEAR_WIDTH = 10

LAST = "last"
"""The name of the context that `last_context` finds."""


LAYERS = {"anchor": "always", "focus": "focus", "horizon": "map"}


@command(
    "Show what was sent last, and why.",
    flag("--text", "Print exactly the text that was sent."),
    *ALL,
)
def last_command(run: Run) -> None:
    """Show the context that an agent of this project got last: a verdict, what was in it, what it cost, which
    of it was used, and what came near but wasn't sent.

    For example:

        foveal last
        foveal last --all            # of all projects
        foveal last --text           # the exact text
    """
    sent = last_context(run, None if run.everywhere else run.folder)
    if run.text and not run.as_json:
        print_sent(run, sent["context_id"], "foveal last shows what it consisted of")
        return
    reply = run.ask("GetBuiltContext", "foveal contexts", context_id=sent["context_id"])
    run.show(reply, describe_last(reply))


def print_sent(run: Run, context_id: str, hint: str) -> None:
    """Print a context as it was given. Raises `CliError` where its text is gone."""
    reply = run.ask("GetBuiltContext", "foveal contexts", context_id=context_id)
    if run.as_json:
        terminal.say_json(reply)
    elif not reply["text_kept"]:
        raise CliError(reply["problem"], hint)
    else:
        terminal.say_text(reply["context"])


def sent_contexts(run: Run, folder: str | None) -> Iterator[dict[str, Any]]:
    """Yield the contexts that agents got of a folder's project, or of all, the latest first: no previews."""
    page: list[dict[str, Any]] = []
    while True:
        before = page[-1]["context_id"] if page else None
        page = run.ask("ListContexts", cwd=folder, limit=PAGE, before=before)["contexts"]
        yield from (context for context in page if not context.get("preview"))
        if len(page) < PAGE:
            return


def last_context(run: Run, folder: str | None) -> dict[str, Any]:
    """Return the context that `last` means: the latest that an agent got. Raises `CliError` without one."""
    if (sent := next(sent_contexts(run, folder), None)) is not None:
        return sent
    where = "any project" if folder is None else "this project"
    raise CliError(
        f"no agent got a context of {where} yet (a preview is none)", 'foveal context "…"', NOT_FOUND
    )


def budget(context: Reply) -> int:
    """Return the tokens that a context could have."""
    return max(int(context["max_tokens"] - context["reserve_tokens"]), 0)


def describe_last(given: Reply) -> Iterator[str]:
    """Yield the lines about a context: its verdict, its head, what it showed, what was used, the near
    misses, and the commands that show more."""
    if given.get("verdict"):
        for line in textwrap.wrap(clean(given["verdict"]), min(terminal.room(0), 1_000)):
            yield terminal.styled(line, bold=True)
    for label, value in (
        ("context", given["context_id"]),
        ("project", end_of_path(short_path(given["project"]), terminal.room(LABEL_WIDTH))),
        (
            "at",
            local_time(given["at"]) + (f", sent {given['times']:,} times" if given["times"] > 1 else ""),
        ),
        ("for", ", ".join(filter(None, (given["agent_name"], given["session_id"])))),
        ("prompt", shortened(given["prompt"], terminal.room(LABEL_WIDTH))),
        ("cost", f"{given['tokens']:,} of {count(budget(given), 'token')}, {size(given['bytes'])}"),
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
    first, *rest = textwrap.wrap(clean(text), min(terminal.room(LABEL_WIDTH), 1_000)) or [""]
    yield f"{label + ':':<{LABEL_WIDTH}}{first}"
    yield from (f"{'':<{LABEL_WIDTH}}{line}" for line in rest)


def _shown(given: Reply) -> Iterator[str]:
    """Yield the places that were shown, those with the most tokens first, under a line that counts them."""
    slices = sorted(given["slices"], key=lambda part: -part["tokens"])
    if not slices:
        return
    more = f", the largest {SHOWN_MAX}" if len(slices) > SHOWN_MAX else ""
    yield f"sent ({count(len(slices), 'part')}{more}):"
    for part in slices[:SHOWN_MAX]:
        start = part.get("start_line")
        lines = f":{lines_of(start, part['end_line'])}" if start and part.get("end_line") else ""
        cut = " (shortened)" if part["compressed"] else ""
        head = f"  {part['tokens']:>6,}  {LAYERS.get(part['layer'], part['layer']):<6}  "
        name = f"{part['path']}{lines}" if part.get("path") else str(part["id"]).replace("_", " ")
        yield clean(head + end_of_path(name, terminal.room(len(head) + len(cut))) + cut)


def _used(given: Reply) -> Iterator[str]:
    used = given.get("used")
    if used is None:
        return
    if not used:
        yield f"{'used:':<{LABEL_WIDTH}}nothing of it yet, as far as hooks tell"
        return
    yield f"used ({count(len(used), 'file')}):"
    for place in used:
        head = f"  {place['how']:<6}  "
        yield clean(head + end_of_path(place["path"], terminal.room(len(head))))


def _near(given: Reply) -> Iterator[str]:
    near = given.get("near") or []
    if near:
        yield "came near, and wasn't sent:"
    for place in near:
        name = place["path"] or f"{place['kind']} {place.get('name', '')}"
        if place.get("line"):
            name += f":{place['line']}"
        score = "" if place["score"] is None else f"{place['score']:.2f}"
        most = terminal.room(NEAR_WIDTH)
        what = " ".join(filter(None, (end_of_path(name, most), place.get("symbol", ""))))
        yield f"  {score:>6}  {clean(shortened(what, most))}"
        # --json has how it was found, too.
        why = place["reason"].removesuffix(f"; found by {place.get('found_by', '')}")
        yield f"{'':<{NEAR_WIDTH}}{clean(shortened(why, most))}"
