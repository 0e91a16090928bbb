"""The command `foveal init`: sets foveal up for the agents, editors and projects that are here."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from ..hooks.hosts.host import Host, SettingsPlace
from ..hooks.install.errors import InstallError
from ..hooks.install.host_files import INSTALLABLE, installable_host
from ..hooks.install.plan import Change, HostFiles, apply, plan_install
from ..ipc.client import Client
from . import terminal
from .command import Run, command
from .connection import connect
from .context import remarks
from .errors import CliError
from .hosts import (
    HOST_CHOICE,
    HOST_NAMES,
    action_map,
    describe_change,
    explained,
    files_of,
    left_alone,
    lines_changed,
    running_program,
    settings_place,
    summarize,
)
from .options import DRY_RUN, FOLDER, YES, argument, flag, option
from .progress import call, open_and_wait, project_status
from .settings import absolute, is_inside
from .terminal import styled
from .text import clean, clean_lines, short_path

FIRST_TOKENS = 1_500
"""Tokens of the first context: as many as a prompt brings to an agent at most."""


@dataclass(slots=True)
class FoundHost:
    """A host of this machine or one that was named: how it was found, and what registering it changes.

    `problem` says why it can't be registered, and is empty if it can.
    """

    host: Host
    found: str
    changes: tuple[Change, ...] = ()
    problem: str = ""
    fix: str = ""
    copies: list[str] = field(default_factory=list)

    @property
    def state(self) -> str:
        """What is to be done, in a word."""
        if self.problem:
            return "problem"
        return "to register" if self.changes else "registered"

    def as_map(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "host": self.host.name,
            "found": self.found,
            "state": self.state,
            "problem": self.problem,
            "changes": [action_map(change) for change in self.changes],
        }


@command(
    "Set foveal up: agents, this project, a first context.",
    argument("project", required=False, type=FOLDER),
    option(
        "--host names",
        "HOST",
        f"Only this agent, found or not: {', '.join(HOST_NAMES)}.",
        multiple=True,
        type=HOST_CHOICE,
    ),
    flag("--no-hosts", "Register no agent, only index the project."),
    flag("--no-mcp", "Register hooks only, without the MCP server."),
    option("--question", "TEXT", "What the first context is for [default: the start of a session]."),
    flag("--diff", "Show each line that changes in settings files."),
    YES,
    DRY_RUN,
)
def init_command(run: Run) -> None:
    """Show which agents, editors and projects are here, ask once, and set foveal up for them.

    Agents get foveal's hooks and its MCP server, PROJECT (default: this folder's) is indexed, and a first
    context is printed. Running it again changes nothing that is set up already; 'foveal uninstall' takes all
    of it out again.

    For example:

        foveal init                                         # shows what it found, asks once
        foveal init ~/src/shop --question "how do sessions expire?"
        foveal init --host claude-code --yes                # without asking, as in a script
    """
    if run.no_hosts and run.names:
        raise run.usage("--host and --no-hosts don't go together")
    folder = absolute(run.project or "")
    if not os.path.isdir(folder):
        raise CliError(f"{run.project} is not a folder", "foveal init FOLDER")
    with explained():
        place = settings_place(run, None if run.project is None else folder)
        program = running_program(run)
    root = _project_around(os.path.realpath(folder), os.path.realpath(place.home))
    hosts = None if run.no_hosts else list(_found_hosts(run, place, program))
    asks = not (run.yes or run.dry_run)
    changes = any(found.changes for found in hosts or ())
    run.check_can_ask(asks=asks and (changes or run.as_json))
    editors = dict(_found_editors(place))
    for line in _describe_found(hosts, editors, root, diff=run.diff):
        run.say(line)
    terminal.flush()
    hosts = hosts or []
    if run.names and (broken := [found for found in hosts if found.problem]):
        raise CliError(f"{broken[0].host.title}: {broken[0].problem}", broken[0].fix)
    chosen = [found for found in hosts if not found.problem]
    if asks and changes:
        while not (picked := _ask_which(chosen, root)):
            if picked is None:
                terminal.note("nothing was changed")
                run.fail()
            for line in _describe_diffs(chosen):
                run.say(line)
            terminal.flush()
        chosen = picked
    report: dict[str, Any] = {
        "changed": not run.dry_run and _register(run, chosen, place, program),
        "program": program,
        "hosts": [found.as_map() for found in hosts],
        "editors": editors,
        "chosen": [found.host.name for found in chosen],
        "project": None,
        "context": None,
    }
    if run.dry_run:
        run.say("nothing was changed: --dry-run only shows it")
    elif root is not None:
        with connect(run.settings) as client:
            opened, ready = open_and_wait(client, path=root)
            run.say(ready)
            terminal.flush()
            report["project"] = project_status(client, opened)
            question = run.question
            if question is None and not (run.yes or run.as_json) and terminal.is_terminal(sys.stdin):
                question = _ask_question(root)
            report["context"] = _first_context(run, client, root, question or "")
    run.show(report, () if run.dry_run else _what_now(chosen, root))


def _found_hosts(run: Run, place: SettingsPlace, program: str) -> Iterator[FoundHost]:
    """Yield the agents that are installed here, or those that were named, with what is to change."""
    wanted = [installable_host(name) for name in dict.fromkeys(run.names)]
    for host in wanted or [host for host in INSTALLABLE if host.default_level == "user"]:
        try:
            files = files_of(host, host.default_level, place, program)
        except InstallError as error:
            if wanted:
                yield FoundHost(host, "", problem=str(error), fix=error.hint)
            continue
        found = _how_found(host, files, place)
        if not found and not wanted:
            continue
        try:
            changes = plan_install(files, mcp=not run.no_mcp, plugin=_is_plugin(files))
            yield FoundHost(host, found, changes)
        except InstallError as error:
            yield FoundHost(host, found, problem=str(error), fix=error.hint)
        except OSError as error:
            yield FoundHost(host, found, problem=f"{error.filename}: {error.strerror}")


def _project_around(folder: str, home: str) -> str | None:
    """Return the root of the project that a folder belongs to, as the daemon finds it; None if that is the
    home folder or one above it, which are no projects."""
    for marker in (".foveal", ".git"):
        above = folder
        while above != os.path.dirname(above):
            if os.path.lexists(os.path.join(above, marker)):
                return None if is_inside(home, above) else above
            above = os.path.dirname(above)
    return None if is_inside(home, folder) else folder


def _is_plugin(files: HostFiles) -> bool:
    """Whether foveal is registered as a plugin, which stays so."""
    return any(os.path.exists(target.path) for target in files.plugin)


def _how_found(host: Host, files: HostFiles, place: SettingsPlace) -> str:
    """Return the program or the settings by which a host is known to be here, "" if it isn't."""
    path = shutil.which(host.program, path=place.environ.get("PATH", "")) if host.program else None
    if path and os.path.isabs(path):
        return path
    for target in (*files.hooks, *files.mcp):
        folder = target.path
        for _ in range(target.folders + 1 - target.shared):
            if os.path.lexists(folder):
                return folder
            folder = os.path.dirname(folder)
    return ""


def _found_editors(place: SettingsPlace) -> Iterator[tuple[str, str]]:
    """Yield the editors that foveal has a plugin for and that are here, with what to run for it."""
    path = place.environ.get("PATH", "")
    start = ".local/share/nvim/site/pack/foveal/start"
    if os.path.lexists(os.path.join(place.home, start, "foveal")):
        yield "Neovim", "its plugin is there"
    elif shutil.which("nvim", path=path):
        yield "Neovim", f'mkdir -p ~/{start} && ln -s "$(foveal editors path neovim)" ~/{start}/foveal'
    if shutil.which("code", path=path) or os.path.isdir(os.path.join(place.home, ".vscode")):
        yield "VS Code", 'cd "$(foveal editors path vscode)", then as docs/editors.md says'


def _describe_found(
    hosts: Sequence[FoundHost] | None, editors: Mapping[str, str], root: str | None, *, diff: bool
) -> Iterator[str]:
    """Yield the lines about what is here and what would change; nothing about agents without `hosts`."""
    if hosts is not None:
        yield styled("Agents", bold=True)
    for found in hosts or ():
        yield f"  {found.host.title} ({short_path(found.found) or 'not found here'}): {found.state}"
        if found.problem:
            yield clean(f"    ✗ {found.problem}{f' ({found.fix})' if found.fix else ''}")
        for change in found.changes:
            yield f"    {summarize(change)} ({lines_changed(change)})"
            yield from describe_change(change) if diff else ()
    if hosts is not None and not hosts:
        yield "  none found; foveal init --host NAME registers one all the same"
    if editors:
        yield styled("Editors", bold=True)
        for name, how in editors.items():
            yield f"  {name}: {how}"
    yield styled("Project", bold=True)
    if root is None:
        yield "  none: this folder belongs to your home folder; run foveal init in a project's, or make a"
        yield "  .foveal folder in this one"
    else:
        kind = "git repository" if os.path.lexists(os.path.join(root, ".git")) else "folder without git"
        yield f"  {short_path(root)} ({kind}): to index"


def _describe_diffs(hosts: Iterable[FoundHost]) -> Iterator[str]:
    """Yield each line that changes in the settings of hosts, file by file."""
    for found in hosts:
        for change in found.changes:
            yield ""
            yield from describe_change(change)


def _ask_which(hosts: Sequence[FoundHost], root: str | None) -> list[FoundHost] | None:
    """Ask which agents are registered; return them, None for no at all, an empty list to see the changes."""
    by_name = {found.host.name: found for found in hosts}
    listed = _titles(hosts)
    index = f", and index {short_path(root)}" if root else ""

    def picked(answer: str) -> list[FoundHost] | None:
        words = answer.lower().replace(",", " ").split()
        if words in (["y"], ["yes"]):
            return list(hosts)
        if words in (["n"], ["no"]):
            return None
        if words in (["d"], ["diff"]):
            return []
        try:
            return [by_name[installable_host(word).name] for word in words]
        except (InstallError, KeyError):
            raise click.BadParameter(f"answer y, n, d, or some of: {' '.join(by_name)}") from None

    choice = f", or some of: {' '.join(by_name)}" if len(by_name) > 1 else ""
    found: list[FoundHost] | None = click.prompt(
        f"Register foveal with {listed}{index}?\nY, n, d to see each line that changes{choice}",
        default="y",
        show_default=False,
        value_proc=picked,
        err=True,
    )
    return found


def _titles(hosts: Sequence[FoundHost]) -> str:
    """Return the names of hosts as in a sentence: `Claude Code, Cursor and Codex`."""
    titles = [found.host.title for found in hosts]
    return " and ".join(filter(None, (", ".join(titles[:-1]), titles[-1])))


def _register(run: Run, hosts: Iterable[FoundHost], place: SettingsPlace, program: str) -> bool:
    """Apply the changes, host by host: two hosts may share a file, so each is planned anew. Returns whether
    there were any."""
    changed = False
    for found in hosts:
        with explained():
            files = files_of(found.host, found.host.default_level, place, program)
            changes = plan_install(files, mcp=not run.no_mcp, plugin=_is_plugin(files))
            found.copies += apply(changes)
            left = left_alone(files)
        changed = changed or bool(changes)
        for change in changes:
            run.say(f"done: {summarize(change)}")
        if changes and found.host.next_step:
            run.say(f"  {found.host.next_step}")
        for line in left:
            run.say(line)
    return changed


def _ask_question(root: str) -> str:
    name = clean(os.path.basename(root))
    asked: str = click.prompt(
        f"A question about {name}, or Enter for none", default="", show_default=False, err=True
    )
    return asked.strip()


def _first_context(run: Run, client: Client, root: str, question: str) -> dict[str, Any]:
    """Print what an agent gets for a question, or at the start of a session, and return the reply."""
    params = {"cwd": root, "prompt": question, "max_tokens": FIRST_TOKENS, "reserve_tokens": 0}
    reply = call(client, "GetContext", **params)
    what = f"for: {clean(question)}" if question else "at the start of a session"
    head = styled(f"What an agent gets {what}", bold=True)
    for line in ("", head, "", clean_lines(reply["context"].rstrip("\n")), "", f"({remarks(reply)[-1]})"):
        run.say(line)
    return reply


def _what_now(chosen: Sequence[FoundHost], root: str | None) -> Iterator[str]:
    """Yield the lines about what to run next."""
    rows = (
        ('foveal context "…"', "the whole context for a prompt, up to 3,000 tokens"),
        ("foveal last", "what an agent got last, and why"),
        ("foveal query", "search by names, words and meaning"),
        ("foveal dashboard", "all of it in the browser"),
        ("foveal uninstall", "takes all of this out again"),
    )
    yield ""
    yield styled("From now on", bold=True)
    if chosen:
        yield f"  New sessions of {_titles(chosen)} get context by themselves."
    yield from (f"  {command:<20} {what}" for command, what in (rows if root else rows[-2:]))
