"""Decisions as lines of JSON: the commands `foveal decisions export` and `import`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import click

from . import terminal
from .command import Run, command
from .errors import CliError
from .options import CWD, argument
from .text import count

EXPORT_PAGE = 1_000
"""Decisions asked for at once."""


IMPORTED = ("agent_id", "session_id", "decision", "rationale", "files_touched", "timestamp", "outcome")
"""The fields of an exported decision that it keeps where it is imported."""


REQUIRED = ("decision", "agent_id", "session_id")
"""Those that it can't be without."""


@command("Print all decisions as JSON lines.", CWD)
def export_command(run: Run) -> None:
    """Print this project's decisions as JSON lines, the oldest first, each with its id, agent, session, time,
    files, outcome and provenance. 'foveal decisions import' reads them. --json prints one list."""
    found = list(_all_decisions(run))[::-1]
    lines = (json.dumps(experience, ensure_ascii=False, sort_keys=True) for experience in found)
    run.show({"experiences": found}, lines)


@command(
    "Add decisions from JSON lines.",
    argument("file", type=click.File(encoding="utf-8")),
    CWD,
)
def import_command(run: Run) -> None:
    """Add the decisions of FILE ('-' for standard input) to this project, with their agents, sessions, times,
    files and outcomes. A decision that is there already, even if it was edited there or here since, is left
    as it is. Nothing is added if a line can't be read.

    For example:

        foveal decisions import decisions.jsonl
        foveal decisions export | ssh HOST foveal decisions import --cwd /srv/shop -
    """
    decisions = [_decision_in(line, number) for number, line in enumerate(run.file, 1) if line.strip()]
    total = {"grafted": 0, "duplicates": 0}
    skipped: list[str] = []
    here = Counter(map(_moment, _all_decisions(run)))
    there = Counter(_moment(decision) for decision, _ in decisions)
    for number, (decision, trust) in enumerate(decisions, 1):
        moment = _moment(decision)
        if decision.get("timestamp") and here[moment] == there[moment] == 1:
            total["duplicates"] += 1  # its text may have been edited
            continue
        reply = run.ask("GraftExperience", cwd=run.folder, experience=decision)
        for name in total:
            total[name] += reply[name]
        skipped += [f"decision {number}: {skip['reason']}" for skip in reply["skipped"]]
        if trust == "low" and reply["grafted"]:
            run.ask("UpdateExperience", cwd=run.folder, experience_id=reply["experience_ids"][0], trust=trust)
    done = f"imported: {total['grafted']:,}, known already: {total['duplicates']:,}"
    run.show({**total, "skipped": skipped}, [done])
    for reason in skipped:
        terminal.warn(reason)
    if skipped:
        raise CliError(f"{count(len(skipped), 'decision')} could not be added")


def _moment(decision: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what an edit doesn't change: by whom a decision was made, and when."""
    return tuple(decision.get(name) for name in ("agent_id", "session_id", "timestamp"))


def _all_decisions(run: Run) -> Iterator[dict[str, Any]]:
    """Yield all decisions of a project once, the newest first."""
    seen: set[str] = set()
    page: dict[str, Any] = {"next": None}
    while "next" in page:
        page = run.ask(
            "ListExperiences", cwd=run.folder, limit=EXPORT_PAGE, before=page["next"], all_worktrees=True
        )
        new = [one for one in page["experiences"] if one["experience_id"] not in seen]
        seen.update(experience["experience_id"] for experience in new)
        yield from new


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
