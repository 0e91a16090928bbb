"""Owns how decisions read for a person: one of them, its history, and lines that could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import terminal
from .terminal import local_time


def describe(experience: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about a decision: when, its id and who, what, why, on which files."""
    outcome = experience.get("outcome", {})
    marks = [outcome["kind"]] if outcome else []
    if experience["provenance"]["trust"] == "low":
        marks.append("low trust")
    mark = f" [{', '.join(marks)}]" if marks else ""
    head = "  ".join(
        (local_time(experience["timestamp"]), experience["experience_id"], experience["agent_id"])
    )
    decision = terminal.clean_lines(experience["decision"]).replace("\n", "\n  ")
    yield f"{terminal.styled(terminal.clean(head), dim=True)}{mark}"
    yield f"  {decision}"
    for label, value in (
        ("why", experience["rationale"]),
        ("error", outcome.get("error", "")),
        ("files", ", ".join(experience["files_touched"])),
    ):
        if value:
            yield f"  {label}: {terminal.clean(value)}"


def describe_whole(reply: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about all that is known of a decision: where it comes from, and what became of it."""
    experience = reply["experience"]
    yield from describe(experience)
    provenance = experience["provenance"]
    origin = " ".join(filter(None, (provenance["source"], provenance["reference"])))
    for label, value in (
        ("session", experience["session_id"]),
        ("commit", experience["commit"]),
        ("from", origin),
    ):
        if value:
            yield f"  {label}: {terminal.clean(value)}"
    if reply["deleted"]:
        yield "  deleted: foveal decisions restore brings it back"
    for edit in reply["history"]:
        yield f"  {local_time(edit['at'])}  {terminal.clean(_edit(edit))}"


def describe_line(line: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about a line in quarantine: when and where, why, and how it begins."""
    head = f"{local_time(line['at'])}  {line['file']}:{line['line']} ({terminal.size(line['size_bytes'])})"
    yield terminal.styled(terminal.clean(head), dim=True)
    yield f"  {terminal.clean(line['reason'])}"
    yield f"  {terminal.clean(line['text'].rstrip())}"


def _edit(edit: Mapping[str, Any]) -> str:
    """Return an edit in words."""
    if edit["kind"] == "mark":
        by = f" by {edit['experience_id']}" if "experience_id" in edit else ""
        by += f", since its commit {edit['commit'][:12]} was undone" if "commit" in edit else ""
        return f"marked as {edit['outcome']['kind']}{by}"
    if edit["kind"] != "update":
        return f"{edit['kind']}d"
    changes = [f"{name} {edit[name]!r}" for name in ("decision", "rationale") if name in edit]
    if "trust" in edit:
        changes.append(f"trust {edit['trust']}")
    if "outcome" in edit:
        changes.append(f"outcome {edit['outcome']['kind'] or 'none'}")
    if "files_touched" in edit:
        changes.append(f"files {', '.join(edit['files_touched']) or 'none'}")
    if "commit" in edit:
        changes.append(f"commit {edit['commit'][:12] or 'none'}")
    return "changed: " + "; ".join(changes)
