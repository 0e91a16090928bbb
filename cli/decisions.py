"""The `foveal decisions` commands: what was decided in a project, listed, changed and removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import click

from . import terminal
from .command import Remark, Reply, Run, command, show_command
from .decide import ALLOW_MISSING, ERROR, OUTCOMES, located_files, outcome_of
from .decision_lines import export_command, import_command
from .group import CommandGroup, group
from .options import CWD, SINCE, UNTIL, YES, argument, choice, flag, limit, number, option
from .settings import absolute
from .terminal import styled
from .text import clean, clean_lines, count, local_time, short_path, size

LIST_LIMIT = 1_000
ID = argument("experience_id", "ID")
KNOWN = "foveal decisions"
ALL_OUTCOMES = (*OUTCOMES, "none")
TRUST = ("normal", "low")


class DecisionsGroup(CommandGroup):
    """Commands on decisions; without one they are listed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; those without a command are those of `list`."""
        place = 0
        while place < len(args) and args[place].startswith("--socket"):
            place += 1 if "=" in args[place] else 2
        rest = args[place:]
        if not rest or (rest[0].startswith("-") and rest[0] != "--help"):
            args = [*args[:place], "list", *rest]
        return super().parse_args(ctx, args)


@group("List, show and change decisions.", cls=DecisionsGroup)
def decisions_command() -> None:
    """List and change what was decided in this project; without a command they are listed.

    What is deleted can be restored until it is pruned.

    For example:

        foveal decisions
        foveal decisions list --outcome failure --since 2025-01-31
        foveal decisions show x_0123456789abcdef
        foveal decisions mark x_0123456789abcdef --outcome reverted
        foveal decisions prune --older-than 365 --outcome success
    """


decision_command = partial(show_command, hint=KNOWN, group=decisions_command)
"""Declares a command on one decision."""


@show_command(
    "ListExperiences",
    "List the decisions, newest first.",
    option("--query", "WORDS", "Only decisions with all of these words."),
    option("--agent agent_id", "NAME", "Only of this agent."),
    option("--session session_id", "ID", "Only of this session."),
    choice("--outcome", ALL_OUTCOMES, "With this outcome."),
    choice("--trust", TRUST, "With this trust."),
    SINCE,
    UNTIL,
    flag("--deleted", "Only deleted ones."),
    flag("--all-worktrees", "Also those of the repository's other work trees."),
    limit(0, LIST_LIMIT, "decisions"),
    CWD,
    group=decisions_command,
)
def list_decisions(reply: Reply, run: Run) -> Iterator[str]:
    """List this project's decisions, the newest first.

    Of a repository with several work trees these are the decisions made in this one, and those whose commit
    is checked out here.
    """
    for experience in reply["experiences"]:
        yield from describe(experience)
    shown = len(reply["experiences"])
    nothing = "no decision matches" if any(run.without("cwd", "limit").values()) else "no decisions"
    is_cut = run.limit == LIST_LIMIT or shown < run.limit  # a large page ends early
    more = "foveal decisions export has all" if is_cut else "--limit shows more"
    yield from _rest(shown, reply["total"], nothing, more)
    if reply.get("elsewhere"):
        yield Remark(f"{reply['elsewhere']:,} more in other work trees; --all-worktrees shows them")
    if reply.get("question"):
        yield Remark(clean(reply["question"]))


@decision_command(
    "AdoptExperiences",
    "Take over the decisions of a moved project or a clone.",
    argument("path", "FOLDER"),
    flag("--never", "Take nothing over, and ask no more about this folder."),
    CWD,
    sends=lambda run: {**run.params, "path": absolute(run.path)},
)
def adopt(reply: Reply, run: Run) -> Iterator[str]:
    """Take over the decisions of the project that was at FOLDER: this one after a move, or a clone.

    'foveal decisions' says if there is one. Those of a moved project move here, those of a clone are copied.
    """
    done = (
        f"{count(reply['adopted'], 'decision')} taken over from" if not run.never else "asked no more about"
    )
    yield f"{done} {short_path(reply['path'])}"


@decision_command("GetExperience", "Show a decision and what became of it.", ID, CWD)
def show(reply: Reply, run: Run) -> Iterator[str]:
    """Show a decision by its ID: all that is known of it, and each later change."""
    experience = reply["experience"]
    yield from describe(experience)
    provenance = experience["provenance"]
    origin = " ".join(filter(None, (provenance["source"], provenance["reference"])))
    facts = {"session": experience["session_id"], "commit": experience["commit"], "from": origin}
    yield from (f"  {label}: {clean(value)}" for label, value in facts.items() if value)
    if reply["deleted"]:
        yield "  deleted: foveal decisions restore brings it back"
    yield from (f"  {local_time(edit['at'])}  {clean(_edit(edit))}" for edit in reply["history"])


decisions_command.add_command(export_command)
decisions_command.add_command(import_command)


@show_command(
    "ListQuarantine",
    "List the lines that can't be read.",
    limit(0, LIST_LIMIT, "lines"),
    CWD,
    group=decisions_command,
)
def quarantine(reply: Reply, run: Run) -> Iterator[str]:
    """List lines of the pool's files that could not be read, the last one first, and why."""
    for line in reply["lines"]:
        place = f"{line['file']}:{line['line']} ({size(line['size_bytes'])})"
        yield styled(clean(f"{local_time(line['at'])}  {place}"), dim=True)
        yield f"  {clean(line['reason'])}"
        yield f"  {clean(line['text'].rstrip())}"
    more = "those are the latest" if run.limit == LIST_LIMIT else "--limit shows more"
    yield from _rest(len(reply["lines"]), reply["total"], "no lines in quarantine", more)


def _rest(shown: int, total: int, nothing: str, more: str) -> Iterator[str]:
    """Yield that there is nothing, or how many entries the limit left out."""
    if not total:
        yield nothing
    elif shown < total:
        yield Remark(f"{shown:,} of {total:,}; {more}")


def _edited(run: Run) -> dict[str, Any]:
    if run.files and run.no_files:
        raise run.usage("--file and --no-files exclude each other")
    files = located_files(run) if run.files or run.no_files else None
    return _changes(run, decision=run.decision, rationale=run.why, files_touched=files)


def _changes(run: Run, **changes: Any) -> dict[str, Any]:
    if all(value is None for value in changes.values()):
        raise run.usage("no change was given; see --help")
    return {"cwd": run.folder, "experience_id": run.experience_id, **changes}


@decision_command(
    "UpdateExperience",
    "Change what a decision says.",
    ID,
    option("--decision", "TEXT", "What was decided."),
    option("--why", "TEXT", "The reason; an empty text removes it."),
    option("--file files", "PATH", "A file that it is about; replaces all earlier files.", multiple=True),
    flag("--no-files", "Remove all its files."),
    ALLOW_MISSING,
    CWD,
    sends=_edited,
)
def edit(reply: Reply, run: Run) -> Iterator[str]:
    """Change a decision by its ID. Other fields stay; `decisions show` lists the earlier values."""
    return describe(reply["experience"])


@decision_command(
    "UpdateExperience",
    "Say what came of a decision.",
    ID,
    choice("--outcome", ALL_OUTCOMES, "What came of it."),
    ERROR,
    choice("--trust", TRUST, "Decisions of low trust are left out of contexts."),
    CWD,
    sends=lambda run: _changes(run, outcome=outcome_of(run), trust=run.trust),
)
def mark(reply: Reply, run: Run) -> Iterator[str]:
    """Mark a decision, by its ID, with its outcome or its trust."""
    return describe(reply["experience"])


@decision_command("DeleteExperience", "Delete a decision; it can be restored.", ID, CWD)
def delete(reply: Reply, run: Run) -> Iterator[str]:
    """Delete a decision by its ID. No context shows it, and it can be restored until it is pruned."""
    done = "deleted" if reply["deleted"] else "deleted already"
    yield clean(f"{done}: {reply['experience']['experience_id']}")


@decision_command("RestoreExperience", "Bring a deleted decision back.", ID, CWD)
def restore(reply: Reply, run: Run) -> Iterator[str]:
    """Bring back a decision that was deleted, by its ID."""
    done = "restored" if reply["restored"] else "not deleted before"
    yield clean(f"{done}: {reply['experience']['experience_id']}")


@command(
    "Remove decisions for good.",
    number("--older-than max_age_days", 0, 1_000_000, "Decisions older than this.", "DAYS"),
    number("--keep max_count", 0, 1_000_000_000, "Decisions beyond the newest N."),
    choice("--outcome outcomes", ALL_OUTCOMES, "Only those with this outcome.", multiple=True),
    flag("--irrelevant", "Only those whose files are all gone from the project."),
    flag("--deleted", "Only those that were deleted."),
    flag("--dry-run", "Only show which would go."),
    YES,
    CWD,
    group=decisions_command,
)
def prune(run: Run) -> None:
    """Show the decisions that would go, ask, and remove them for good.

    --older-than and --keep are limits: a decision over either of them goes. The other options narrow this:
    only decisions that match all of them go.

    For example:

        foveal decisions prune --older-than 365 --outcome success
        foveal decisions prune --irrelevant --dry-run
        foveal decisions prune --keep 0 --yes      # all of them
    """
    params = run.without("dry_run", "yes")
    if all(value in (None, ()) or value is False for name, value in params.items() if name != "cwd"):
        raise run.usage("say which decisions to prune; see --help")
    reply = run.ask("PruneExperiences", **params, dry_run=True)
    asks = bool(reply["pruned"]) and not run.dry_run and not run.yes
    terminal.check_can_ask(asks=asks)
    if not run.as_json:
        run.show(reply, _preview(reply))
    question = f"Remove {count(reply['pruned'], 'decision')} for good?"
    if reply["pruned"] and not run.dry_run and (run.yes or click.confirm(question, err=True)):
        reply = run.ask("PruneExperiences", **params)
    if run.as_json:
        terminal.say_json({**reply, "dry_run": run.dry_run})
    elif not reply["dry_run"]:
        terminal.say(f"pruned: {reply['pruned']:,}, {reply['kept']:,} are left")


def _preview(reply: Reply) -> Iterable[str]:
    """Yield what would go."""
    for experience in reply["experiences"]:
        yield from describe(experience)
    more = reply["pruned"] - len(reply["experiences"])
    if more > 0:
        yield f"and {more:,} older ones"
    going = f"{count(reply['pruned'], 'decision')} would go for good, {reply['kept']:,} would be left"
    yield Remark(going if reply["pruned"] else "no decision matches: nothing to prune")


def describe(experience: Reply) -> Iterator[str]:
    """Yield the lines about a decision: when, its id and who, what, why, on which files."""
    outcome = experience.get("outcome", {})
    marks = [outcome["kind"]] if outcome else []
    if experience["provenance"]["trust"] == "low":
        marks.append("low trust")
    mark = f" [{', '.join(marks)}]" if marks else ""
    head = "  ".join(
        (local_time(experience["timestamp"]), experience["experience_id"], experience["agent_id"])
    )
    decision = clean_lines(experience["decision"]).replace("\n", "\n  ")
    yield f"{styled(clean(head), dim=True)}{mark}"
    yield f"  {decision}"
    for label, value in (
        ("why", experience["rationale"]),
        ("error", outcome.get("error", "")),
        ("files", ", ".join(experience["files_touched"])),
        ("work tree", _place(experience.get("worktree"))),
    ):
        if value:
            yield f"  {label}: {clean(value)}"


def _place(worktree: Reply | None) -> str:
    """Return the work tree in which a decision was made, in words."""
    if worktree is None or worktree["state"] == "here":
        return ""
    return f"{worktree['name']}{' (removed)' if worktree['state'] == 'gone' else ''}"


def _edit(edit: Reply) -> str:
    """Return an edit in words."""
    if edit["kind"] == "mark":
        by = f" by {edit['experience_id']}" if "experience_id" in edit else ""
        by += f", since its commit {edit['commit'][:12]} was undone" if "commit" in edit else ""
        return f"marked as {edit['outcome']['kind']}{by}"
    if edit["kind"] != "update":
        return f"{edit['kind']}d"
    shown = {name: edit[name] for name in ("decision", "rationale", "trust", "commit") if name in edit}
    if "outcome" in edit:
        shown["outcome"] = edit["outcome"]["kind"]
    if "files_touched" in edit:
        shown["files"] = ", ".join(edit["files_touched"])
    return "changed: " + "; ".join(f"{name} {value or 'none'}" for name, value in shown.items())
