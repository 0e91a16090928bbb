"""Decisions as lines of JSON: the commands `foveal decisions export` and `import`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

import click

from . import terminal
from .command import Command, ask, current_folder, cwd_option, json_option
from .errors import CliError

EXPORT_PAGE = 1_000
"""Decisions asked for at once."""

IMPORTED = ("agent_id", "session_id", "decision", "rationale", "files_touched", "timestamp", "outcome")
"""The fields of an exported decision that it keeps where it is imported."""

REQUIRED = ("decision", "agent_id", "session_id")
"""Those that it can't be without."""


@click.command("export", cls=Command, short_help="Print all decisions as JSON lines.")
@cwd_option
@json_option
@click.pass_context
def export_command(context: click.Context, cwd: str | None, as_json: bool) -> None:
    """Print this project's decisions as JSON lines, the oldest first, each with its id, agent, session, time,
    files, outcome and provenance. 'foveal decisions import' reads them. --json prints one list."""
    found = reversed(list(_all_decisions(context, cwd or current_folder())))
    if as_json:
        terminal.say_json({"experiences": list(found)})
        return
    for experience in found:
        terminal.say(json.dumps(experience, ensure_ascii=False, sort_keys=True))


@click.command(
    "import",
    cls=Command,
    short_help="Add decisions from JSON lines.",
    examples=[
        "foveal decisions import decisions.jsonl",
        "foveal decisions export | ssh HOST foveal decisions import --cwd /srv/shop -",
    ],
)
@click.argument("file", type=click.File(encoding="utf-8"))
@cwd_option
@json_option
@click.pass_context
def import_command(context: click.Context, file: TextIO, cwd: str | None, as_json: bool) -> None:
    """Add the decisions of FILE ('-' for standard input) to this project, with their agents, sessions, times,
    files and outcomes. A decision that is there already is left as it is. Nothing is added if a line can't be
    read."""
    decisions = [_decision_in(line, number) for number, line in enumerate(file, 1) if line.strip()]
    folder = cwd or current_folder()
    total = {"grafted": 0, "duplicates": 0}
    skipped: list[str] = []
    for number, (decision, trust) in enumerate(decisions, 1):
        reply = ask(context, "GraftExperience", {"cwd": folder, "experience": decision})
        for name in total:
            total[name] += reply[name]
        skipped += [f"decision {number}: {skip['reason']}" for skip in reply["skipped"]]
        if trust == "low" and reply["grafted"]:
            changed = {"cwd": folder, "experience_id": reply["experience_ids"][0], "trust": trust}
            ask(context, "UpdateExperience", changed)
    if as_json:
        terminal.say_json({**total, "skipped": skipped})
    else:
        terminal.say(f"imported: {total['grafted']:,}, known already: {total['duplicates']:,}")
    for reason in skipped:
        terminal.warn(reason)
    if skipped:
        raise CliError(f"{terminal.count(len(skipped), 'decision')} could not be added")


def _all_decisions(context: click.Context, folder: str) -> Iterator[dict[str, Any]]:
    """Yield all decisions of a project once, the newest first. Raises `CliError` where a daemon of an earlier
    version doesn't give all of them."""
    seen: set[str] = set()
    page: dict[str, Any] = {"next": None}
    while "next" in page:
        params = {"cwd": folder, "limit": EXPORT_PAGE, "before": page["next"]}
        page = ask(context, "ListExperiences", params)
        new = [one for one in page["experiences"] if one["experience_id"] not in seen]
        seen.update(experience["experience_id"] for experience in new)
        yield from new
    if len(page["experiences"]) == EXPORT_PAGE and len(seen) < page["total"]:
        raise CliError(f"the daemon gave {len(seen):,} of {page['total']:,} decisions", "foveal restart")


def _decision_in(line: str, number: int) -> tuple[dict[str, Any], str]:
    """Return a line's decision for the wire, and its trust. Raises `CliError`."""
    try:
        found = json.loads(line)
    except ValueError as error:
        raise CliError(f"line {number} is no JSON: {error}; nothing was added") from error
    for name in REQUIRED:
        if not isinstance(found, dict) or not isinstance(found.get(name), str):
            raise CliError(f"line {number} has no {name}; nothing was added")
    provenance = found.get("provenance")
    trust = provenance.get("trust", "") if isinstance(provenance, dict) else ""
    return {name: found[name] for name in IMPORTED if name in found}, str(trust)
