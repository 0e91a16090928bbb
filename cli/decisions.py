"""The commands that note a decision (`foveal decide`) and list and change them (`foveal decisions`)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from ..ipc.errors import INVALID_PARAMS, NOT_FOUND
from . import terminal
from .command import (
    Command,
    CommandGroup,
    F,
    ask,
    current_folder,
    cwd_option,
    json_option,
    locate,
    typed_names,
    yes_option,
)
from .decision_lines import export_command, import_command
from .errors import CliError, as_typed
from .times import local_time, since_option, until_option

OUTCOMES = ("success", "failure", "reverted")
EXAMPLE = 'foveal decide "tokens expire after an hour" --why "audit finding 7" --file src/auth.py'
EXAMPLES = (
    "foveal decisions",
    "foveal decisions list --outcome failure --since 2025-01-31",
    "foveal decisions show x_0123456789abcdef",
    "foveal decisions mark x_0123456789abcdef --outcome reverted",
    "foveal decisions prune --older-than 365 --outcome success",
)
LIST_LIMIT = 1_000
SESSION = "command-line"
"""The default session of decisions that a person notes."""


def missing_option(command: F) -> F:
    """Add --allow-missing."""
    text = "Take a --file that isn't there, such as one that was deleted."
    return click.option("--allow-missing", is_flag=True, help=text)(command)


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


@click.command("decide", cls=Command, short_help="Note a decision.", examples=[EXAMPLE])
@click.argument("decision")
@click.option("--why", metavar="TEXT", help="The reason.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file that it is about.")
@missing_option
@click.option("--agent", metavar="NAME", help="Who decided [default: your login name].")
@click.option("--session", metavar="ID", default=SESSION, show_default=True, help="In which session.")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="What came of it.")
@click.option("--error", metavar="TEXT", help="What went wrong, with --outcome failure.")
@cwd_option
@json_option
@click.pass_context
def decide_command(
    context: click.Context,
    decision: str,
    why: str | None,
    files: tuple[str, ...],
    allow_missing: bool,
    agent: str | None,
    session: str,
    outcome: str | None,
    error: str | None,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Note a DECISION, so that later contexts about the same files show it."""
    if error is not None and outcome != "failure":
        raise click.UsageError("--error says what went wrong: it goes with --outcome failure", context)
    folder = cwd or current_folder()
    experience: dict[str, Any] = {
        "decision": decision,
        "agent_id": agent or login_name(),
        "session_id": session,
        "files_touched": _located(context, files, folder, allow_missing=allow_missing),
    }
    if why is not None:
        experience["rationale"] = why
    if outcome is not None:
        experience["outcome"] = {"kind": outcome} | ({} if error is None else {"error": error})
    reply = ask(context, "GraftExperience", {"cwd": folder, "experience": experience})
    for warning in reply.get("warnings", ()):
        terminal.warn(warning)
    for skipped in reply["skipped"]:
        reason = as_typed(skipped["reason"], skipped.get("field", ""), typed_names(context))
        raise CliError(f"the decision was not noted: {reason}", code=INVALID_PARAMS)
    noted = "already noted earlier" if reply["duplicates"] else f"noted: {reply['experience_ids'][0]}"
    terminal.say_reply(reply, as_json, noted)


@click.group(
    "decisions", cls=DecisionsGroup, short_help="List, show and change decisions.", examples=EXAMPLES
)
def decisions_command() -> None:
    """List and change what was decided in this project; without a command they are listed.

    What is deleted can be restored until it is pruned.
    """


@decisions_command.command("list", cls=Command, short_help="List the decisions, newest first.")
@click.option("--query", metavar="WORDS", help="Only decisions with all of these words.")
@click.option("--agent", "agent_id", metavar="NAME", help="Only of this agent.")
@click.option("--session", "session_id", metavar="ID", help="Only of this session.")
@click.option("--outcome", type=click.Choice((*OUTCOMES, "none")), help="With this outcome.")
@click.option("--trust", type=click.Choice(("normal", "low")), help="With this trust.")
@since_option
@until_option
@click.option("--deleted", is_flag=True, help="Only deleted ones.")
@click.option(
    "--limit",
    type=click.IntRange(0, LIST_LIMIT),
    default=20,
    show_default=True,
    help="Maximum number of decisions.",
)
@cwd_option
@json_option
@click.pass_context
def list_command(
    context: click.Context,
    /,
    cwd: str | None,
    as_json: bool,
    **filters: Any,
) -> None:
    """List this project's decisions, the newest first."""
    reply = ask(context, "ListExperiences", {"cwd": cwd or current_folder(), **filters})
    if as_json:
        terminal.say_json(reply)
        return
    for experience in reply["experiences"]:
        _say_all(describe(experience))
    shown, limit = len(reply["experiences"]), filters.pop("limit")
    nothing = "no decision matches" if any(filters.values()) else "no decisions"
    is_cut = limit == LIST_LIMIT or shown < limit  # a large page ends early
    _say_rest(
        shown,
        reply["total"],
        nothing,
        "foveal decisions export has all" if is_cut else "--limit shows more",
    )


@decisions_command.command("show", cls=Command, short_help="Show a decision and what became of it.")
@click.argument("experience_id", metavar="ID")
@cwd_option
@json_option
@click.pass_context
def show_command(context: click.Context, experience_id: str, cwd: str | None, as_json: bool) -> None:
    """Show a decision by its ID: all that is known of it, and each later change."""
    reply = _call(context, "GetExperience", cwd or current_folder(), experience_id)
    if as_json:
        terminal.say_json(reply)
    else:
        _say_all(describe_whole(reply))


decisions_command.add_command(export_command)
decisions_command.add_command(import_command)


def _located(context: click.Context, files: Sequence[str], folder: str, *, allow_missing: bool) -> list[str]:
    """Return files as the daemon takes them. Raises `CliError` for one that isn't there."""
    folders = dict.fromkeys((folder, current_folder()))
    found = [locate(path, list(folders)) for path in files]
    if found and not allow_missing:
        root = ask(context, "OpenProject", {"cwd": folder})["root"]
        for given, path in zip(files, found, strict=True):
            if not os.path.lexists(os.path.join(root, path)):
                places = dict.fromkeys(map(terminal.short_path, (folder, root)))
                where = "" if os.path.isabs(given) else f" in {' or '.join(places)}"
                raise CliError(
                    f"there is no {given}{where}",
                    "look at its name; --allow-missing takes a file that was deleted",
                    NOT_FOUND,
                )
    return found


@decisions_command.command("quarantine", cls=Command, short_help="List the lines that can't be read.")
@click.option(
    "--limit",
    type=click.IntRange(0, LIST_LIMIT),
    default=20,
    show_default=True,
    help="Maximum number of lines.",
)
@cwd_option
@json_option
@click.pass_context
def quarantine_command(context: click.Context, limit: int, cwd: str | None, as_json: bool) -> None:
    """List lines of the pool's files that could not be read, the last one first, and why."""
    params = {"cwd": cwd or current_folder(), "limit": limit}
    reply = ask(context, "ListQuarantine", params)
    if as_json:
        terminal.say_json(reply)
        return
    for line in reply["lines"]:
        _say_all(describe_line(line))
    more = "those are the latest" if limit == LIST_LIMIT else "--limit shows more"
    _say_rest(len(reply["lines"]), reply["total"], "no lines in quarantine", more)


def login_name() -> str:
    """Return the login name, or the user id of a user without a name."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid-{os.getuid()}"


def _say_all(lines: Iterator[str]) -> None:
    for line in lines:
        terminal.say(line)


def _say_rest(shown: int, total: int, nothing: str, more: str = "--limit shows more") -> None:
    """Say that there is nothing, or how many entries the limit left out."""
    if not total:
        terminal.say(nothing)
    elif shown < total:
        terminal.flush()
        terminal.note(f"{shown:,} of {total:,}; {more}")


PRUNE_EXAMPLES = (
    "foveal decisions prune --older-than 365 --outcome success",
    "foveal decisions prune --irrelevant --dry-run",
    "foveal decisions prune --keep 0 --yes      # all of them",
)


@decisions_command.command("edit", cls=Command, short_help="Change what a decision says.")
@click.argument("experience_id", metavar="ID")
@click.option("--decision", metavar="TEXT", help="What was decided.")
@click.option("--why", metavar="TEXT", help="The reason; an empty text removes it.")
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="PATH",
    help="A file that it is about; replaces all earlier files.",
)
@click.option("--no-files", is_flag=True, help="Remove all its files.")
@missing_option
@cwd_option
@json_option
@click.pass_context
def edit_command(
    context: click.Context,
    experience_id: str,
    decision: str | None,
    why: str | None,
    files: tuple[str, ...],
    no_files: bool,
    allow_missing: bool,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Change a decision by its ID. Other fields stay; `decisions show` lists the earlier values."""
    if files and no_files:
        raise click.UsageError("--file and --no-files exclude each other", context)
    folder = cwd or current_folder()
    changes: dict[str, Any] = {"decision": decision, "rationale": why}
    if files or no_files:
        changes["files_touched"] = _located(context, files, folder, allow_missing=allow_missing)
    _update(context, folder, experience_id, changes, as_json=as_json)


@decisions_command.command("mark", cls=Command, short_help="Say what came of a decision.")
@click.argument("experience_id", metavar="ID")
@click.option("--outcome", type=click.Choice((*OUTCOMES, "none")), help="What came of it.")
@click.option("--error", metavar="TEXT", help="What went wrong, with --outcome failure.")
@click.option(
    "--trust", type=click.Choice(("normal", "low")), help="Decisions of low trust are left out of contexts."
)
@cwd_option
@json_option
@click.pass_context
def mark_command(
    context: click.Context,
    experience_id: str,
    outcome: str | None,
    error: str | None,
    trust: str | None,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Mark a decision, by its ID, with its outcome or its trust."""
    if error is not None and outcome != "failure":
        raise click.UsageError("--error says what went wrong: it goes with --outcome failure", context)
    changes: dict[str, Any] = {"trust": trust}
    if outcome is not None:
        kind = {"kind": "" if outcome == "none" else outcome}
        changes["outcome"] = kind if error is None else {**kind, "error": error}
    _update(context, cwd or current_folder(), experience_id, changes, as_json=as_json)


@decisions_command.command("delete", cls=Command, short_help="Delete a decision; it can be restored.")
@click.argument("experience_id", metavar="ID")
@cwd_option
@json_option
@click.pass_context
def delete_command(context: click.Context, experience_id: str, cwd: str | None, as_json: bool) -> None:
    """Delete a decision by its ID. No context shows it, and it can be restored until it is pruned."""
    reply = _call(context, "DeleteExperience", cwd or current_folder(), experience_id)
    if as_json:
        terminal.say_json(reply)
    else:
        found = reply["experience"]["experience_id"]
        terminal.say(terminal.clean(f"{'deleted' if reply['deleted'] else 'deleted already'}: {found}"))


@decisions_command.command("restore", cls=Command, short_help="Bring a deleted decision back.")
@click.argument("experience_id", metavar="ID")
@cwd_option
@json_option
@click.pass_context
def restore_command(context: click.Context, experience_id: str, cwd: str | None, as_json: bool) -> None:
    """Bring back a decision that was deleted, by its ID."""
    reply = _call(context, "RestoreExperience", cwd or current_folder(), experience_id)
    if as_json:
        terminal.say_json(reply)
    else:
        found = reply["experience"]["experience_id"]
        terminal.say(terminal.clean(f"{'restored' if reply['restored'] else 'not deleted before'}: {found}"))


@decisions_command.command(
    "prune", cls=Command, short_help="Remove decisions for good.", examples=PRUNE_EXAMPLES
)
@click.option(
    "--older-than",
    "max_age_days",
    metavar="DAYS",
    type=click.IntRange(0, 1_000_000),
    help="Decisions older than this.",
)
@click.option(
    "--keep",
    "max_count",
    metavar="N",
    type=click.IntRange(0, 1_000_000_000),
    help="Decisions beyond the newest N.",
)
@click.option(
    "--outcome",
    "outcomes",
    multiple=True,
    type=click.Choice((*OUTCOMES, "none")),
    help="Only those with this outcome.",
)
@click.option("--irrelevant", is_flag=True, help="Only those whose files are all gone from the project.")
@click.option("--deleted", is_flag=True, help="Only those that were deleted.")
@click.option("--dry-run", is_flag=True, help="Only show which would go.")
@yes_option
@cwd_option
@json_option
@click.pass_context
def prune_command(
    context: click.Context, /, dry_run: bool, yes: bool, cwd: str | None, as_json: bool, **criteria: Any
) -> None:
    """Show the decisions that would go, ask, and remove them for good.

    --older-than and --keep are limits: a decision over either of them goes. The other options narrow this:
    only decisions that match all of them go.
    """
    if all(value in (None, ()) or value is False for value in criteria.values()):
        raise click.UsageError("say which decisions to prune; see --help", context)
    params = {"cwd": cwd or current_folder(), **criteria}
    reply = ask(context, "PruneExperiences", {**params, "dry_run": True})
    terminal.check_can_ask(asks=bool(reply["pruned"]) and not dry_run and not yes)
    if not as_json:
        _preview(reply)
    if reply["pruned"] and not dry_run and (yes or _confirmed(reply)):
        reply = ask(context, "PruneExperiences", params)
    if as_json:
        terminal.say_json({**reply, "dry_run": dry_run})
    elif not reply["dry_run"]:
        terminal.say(f"pruned: {reply['pruned']:,}, {reply['kept']:,} are left")


def _preview(reply: dict[str, Any]) -> None:
    """Show what would go."""
    for experience in reply["experiences"]:
        _say_all(describe(experience))
    more = reply["pruned"] - len(reply["experiences"])
    if more > 0:
        terminal.say(f"and {more:,} older ones")
    terminal.flush()
    terminal.note(
        f"{terminal.count(reply['pruned'], 'decision')} would go for good, {reply['kept']:,} would be left"
        if reply["pruned"]
        else "no decision matches: nothing to prune"
    )


def _confirmed(reply: dict[str, Any]) -> bool:
    """Ask whether the shown decisions may go."""
    return click.confirm(f"Remove {terminal.count(reply['pruned'], 'decision')} for good?", err=True)


def _update(
    context: click.Context, folder: str, experience_id: str, changes: dict[str, Any], *, as_json: bool
) -> None:
    if all(value is None for value in changes.values()):
        raise click.UsageError("no change was given; see --help", context)
    reply = _call(context, "UpdateExperience", folder, experience_id, **changes)
    if as_json:
        terminal.say_json(reply)
        return
    _say_all(describe(reply["experience"]))


def _call(
    context: click.Context, method: str, folder: str, experience_id: str, **more: Any
) -> dict[str, Any]:
    params = {"cwd": folder, "experience_id": experience_id, **more}
    return ask(context, method, params, hint="foveal decisions")


def describe(experience: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about a decision: when, its id and who, what, why, on which files."""
    outcome = experience.get("outcome", {})
    marks = [outcome["kind"]] if outcome else []
    if experience["provenance"]["trust"] == "low":
        marks.append("low trust")
    if dated := experience.get("dated"):
        marks.append(f"dated {local_time(dated)} by a wrong clock")
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
    facts = {"session": experience["session_id"], "commit": experience["commit"], "from": origin}
    for label, value in facts.items():
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
