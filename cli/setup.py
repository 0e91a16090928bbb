"""The commands `foveal init` and `completion`: what a person runs first."""

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
from ..hooks.install.host_files import INSTALLABLE, host_files, installable_host, registered_program
from ..hooks.install.plan import (
    Change,
    HostFiles,
    apply,
    plan_install,
)
from ..ipc.client import Client
from ..ipc.version import __version__
from . import terminal
from .command import (
    CALL_TIMEOUT_S,
    FOLDER,
    Command,
    absolute,
    check_json_can_ask,
    connect,
    dry_run_option,
    is_inside,
    json_option,
    settings_of,
    yes_option,
)
from .errors import FAILED, CliError
from .hooks import (
    HOST_CHOICE,
    HOST_NAMES,
    describe_change,
    explained,
    plain_diff,
    running_program,
    settings_place,
    summarize,
)

FIRST_TOKENS = 1_500
"""Tokens of the first context: as many as a prompt brings to an agent at most."""

INIT_EXAMPLES = (
    "foveal init                                         # shows what it found, asks once",
    'foveal init ~/src/shop --question "how do sessions expire?"',
    "foveal init --host claude-code --yes                # without asking, as in a script",
)


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


@click.command(
    "init",
    cls=Command,
    short_help="Set foveal up: agents, this project, a first context.",
    examples=INIT_EXAMPLES,
)
@click.argument("project", required=False, type=FOLDER)
@click.option(
    "--host",
    "names",
    multiple=True,
    metavar="HOST",
    type=HOST_CHOICE,
    help=f"Only this agent, found or not: {', '.join(HOST_NAMES)}.",
)
@click.option("--no-hosts", is_flag=True, help="Register no agent, only index the project.")
@click.option("--no-mcp", is_flag=True, help="Register hooks only, without the MCP server.")
@click.option(
    "--question", metavar="TEXT", help="What the first context is for [default: the start of a session]."
)
@click.option("--diff", is_flag=True, help="Show each line that changes in settings files.")
@yes_option
@dry_run_option
@json_option
@click.pass_context
def init_command(
    context: click.Context,
    project: str | None,
    names: tuple[str, ...],
    no_hosts: bool,
    no_mcp: bool,
    question: str | None,
    diff: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Show which agents, editors and projects are here, ask once, and set foveal up for them.

    Agents get foveal's hooks and its MCP server, PROJECT (default: this folder's) is indexed, and a first
    context is printed. Running it again changes nothing that is set up already; 'foveal uninstall' takes all
    of it out again.
    """
    if no_hosts and names:
        raise click.UsageError("--host and --no-hosts don't go together", context)
    if project is not None and not os.path.isdir(absolute(project)):
        raise CliError(f"{project} is not a folder", "foveal init FOLDER")
    asks = not (yes or dry_run)
    say = nothing if as_json else terminal.say
    with explained():
        place = settings_place(context, None if project is None else absolute(project))
        program = running_program(context)
    root = _project_around(os.path.realpath(absolute(project or "")), os.path.realpath(place.home))
    hosts = None if no_hosts else list(_found_hosts(place, program, names, mcp=not no_mcp))
    asks = asks and any(found.changes for found in hosts or ())
    check_json_can_ask(context, as_json=as_json, asks=asks or (as_json and not (yes or dry_run)))
    editors = dict(_found_editors(place))
    for line in _describe_found(hosts, editors, root, diff=diff):
        say(line)
    terminal.flush()
    hosts = hosts or []
    if names and (broken := [found for found in hosts if found.problem]):
        raise CliError(f"{broken[0].host.title}: {broken[0].problem}", broken[0].fix)
    chosen = [found for found in hosts if not found.problem]
    if asks:
        picked = _ask_which(chosen, root)
        if picked is None:
            terminal.note("nothing was changed")
            context.exit(FAILED)
        chosen = picked
    changed = not dry_run and _register(chosen, place, program, mcp=not no_mcp, say=say)
    report: dict[str, Any] = {
        "changed": changed,
        "program": program,
        "hosts": [found.as_map() for found in hosts],
        "editors": editors,
        "chosen": [found.host.name for found in chosen],
        "project": None,
        "context": None,
    }
    if dry_run:
        say("nothing was changed: --dry-run only shows it")
    elif root is not None:
        with connect(settings_of(context)) as client:
            report["project"] = _index(client, root, say)
            if question is None and not (yes or as_json) and terminal.is_terminal(sys.stdin):
                question = _ask_question(root)
            report["context"] = _first_context(client, root, question or "", say)
    if as_json:
        terminal.say_json(report)
    elif not dry_run:
        _say_what_now(chosen, root)


def nothing(line: str = "") -> None:
    """Say nothing: for --json, in the place of `terminal.say`."""


def _found_hosts(
    place: SettingsPlace, program: str, names: Sequence[str], *, mcp: bool
) -> Iterator[FoundHost]:
    """Yield the agents that are installed here, or those that were named, with what is to change."""
    wanted = [installable_host(name) for name in dict.fromkeys(names)]
    for host in wanted or [host for host in INSTALLABLE if host.default_level == "user"]:
        level = host.default_level
        try:
            files = host_files(host, level, place, registered_program(program, host, level), __version__)
        except InstallError as error:
            if wanted:
                yield FoundHost(host, "", problem=str(error), fix=error.hint)
            continue
        found = _how_found(host, files, place)
        if not found and not wanted:
            continue
        try:
            yield FoundHost(host, found, plan_install(files, mcp=mcp, plugin=_is_plugin(files)))
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
        for _ in range(target.folders + 1):
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
        yield terminal.styled("Agents", bold=True)
    for found in hosts or ():
        yield f"  {found.host.title} ({terminal.short_path(found.found) or 'not found here'}): {found.state}"
        if found.problem:
            yield terminal.clean(f"    ✗ {found.problem}{f' ({found.fix})' if found.fix else ''}")
        for change in found.changes:
            yield f"    {summarize(change)} ({lines_changed(change)})"
            yield from describe_change(change) if diff else ()
    if hosts is not None and not hosts:
        yield "  none found; foveal init --host NAME registers one all the same"
    if editors:
        yield terminal.styled("Editors", bold=True)
        for name, how in editors.items():
            yield f"  {name}: {how}"
    yield terminal.styled("Project", bold=True)
    if root is None:
        yield "  none: this folder belongs to your home folder; run foveal init in a project's, or make a"
        yield "  .foveal folder in this one"
    else:
        kind = "git repository" if os.path.lexists(os.path.join(root, ".git")) else "folder without git"
        yield f"  {terminal.short_path(root)} ({kind}): to index"


def lines_changed(change: Change) -> str:
    """Return how many lines a change adds and removes."""
    diff = [line[:1] for line in list(plain_diff(change))[2:]]
    added, removed = diff.count("+"), diff.count("-")
    parts = [f"{amount:,} {what}" for amount, what in ((added, "added"), (removed, "removed")) if amount]
    return f"lines: {', '.join(parts)}"


def _ask_which(hosts: Sequence[FoundHost], root: str | None) -> list[FoundHost] | None:
    """Ask once which agents are registered; return them, None for no at all."""
    by_name = {found.host.name: found for found in hosts}
    listed = _titles(hosts)
    index = f", and index {terminal.short_path(root)}" if root else ""

    def picked(answer: str) -> list[FoundHost] | None:
        words = answer.lower().replace(",", " ").split()
        if words in (["y"], ["yes"]):
            return list(hosts)
        if words in (["n"], ["no"]):
            return None
        try:
            return [by_name[installable_host(word).name] for word in words]
        except (InstallError, KeyError):
            raise click.BadParameter(f"answer y, n, or some of: {' '.join(by_name)}") from None

    choice = f", or some of: {' '.join(by_name)}" if len(by_name) > 1 else ""
    found: list[FoundHost] | None = click.prompt(
        f"Register foveal with {listed}{index}?\nY or n{choice}",
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


def _register(hosts: Iterable[FoundHost], place: SettingsPlace, program: str, *, mcp: bool, say: Any) -> bool:
    """Apply the changes, host by host: two hosts may share a file, so each is planned anew. Returns whether
    there were any."""
    changed = False
    for found in hosts:
        level = found.host.default_level
        own = registered_program(program, found.host, level)
        with explained():
            files = host_files(found.host, level, place, own, __version__)
            changes = plan_install(files, mcp=mcp, plugin=_is_plugin(files))
            found.copies += apply(changes)
        changed = changed or bool(changes)
        for change in changes:
            say(f"done: {summarize(change)}")
        if changes and found.host.next_step:
            say(f"  {found.host.next_step}")
    return changed


def _index(client: Client, root: str, say: Any) -> dict[str, Any]:
    from .progress import open_and_wait, project_status

    opened, ready = open_and_wait(client, root)
    say(ready)
    terminal.flush()
    return project_status(client, opened)


def _ask_question(root: str) -> str:
    name = terminal.clean(os.path.basename(root))
    asked: str = click.prompt(
        f"A question about {name}, or Enter for none", default="", show_default=False, err=True
    )
    return asked.strip()


def _first_context(client: Client, root: str, question: str, say: Any) -> dict[str, Any]:
    """Print what an agent gets for a question, or at the start of a session, and return the reply."""
    from .context import remarks

    params = {"cwd": root, "prompt": question, "max_tokens": FIRST_TOKENS, "reserve_tokens": 0}
    reply: dict[str, Any] = client.call("GetContext", params, CALL_TIMEOUT_S)
    say()
    what = f"for: {terminal.clean(question)}" if question else "at the start of a session"
    say(terminal.styled(f"What an agent gets {what}", bold=True))
    say()
    say(terminal.clean_lines(reply["context"].rstrip("\n")))
    say()
    say(f"({remarks(reply)[-1]})")
    return reply


def _say_what_now(chosen: Sequence[FoundHost], root: str | None) -> None:
    terminal.say()
    rows = (
        ('foveal context "…"', "the whole context for a prompt, 8,000 tokens"),
        ("foveal last", "what an agent got last, and why"),
        ("foveal query", "search by names, words and meaning"),
        ("foveal dashboard", "all of it in the browser"),
        ("foveal uninstall", "takes all of this out again"),
    )
    terminal.say(terminal.styled("From now on", bold=True))
    if chosen:
        terminal.say(f"  New sessions of {_titles(chosen)} get context by themselves.")
    for command, what in rows if root else rows[-2:]:
        terminal.say(f"  {command:<20} {what}")


def action_map(change: Change) -> dict[str, str]:
    """Return a change for programs, in a word."""
    return {"path": change.target.path, "action": summarize(change).partition(" ")[0]}


SHELLS = ("bash", "zsh", "fish")
COMPLETION_EXAMPLES = (
    'eval "$(foveal completion bash)"                                # in ~/.bashrc',
    'eval "$(foveal completion zsh)"                                 # in ~/.zshrc, after compinit',
    "foveal completion fish > ~/.config/fish/completions/foveal.fish",
)


@click.command(
    "completion", cls=Command, short_help="Print a shell's completion.", examples=COMPLETION_EXAMPLES
)
@click.argument("shell", type=click.Choice(SHELLS))
@json_option
def completion_command(shell: str, as_json: bool) -> None:
    """Print what SHELL runs to complete foveal's commands, options and values with the Tab key."""
    from click.shell_completion import ShellComplete, get_completion_class

    from .app import foveal

    found = get_completion_class(shell)
    assert found is not None
    # The class for bash would run bash to learn its version.
    script = ShellComplete.source(found(foveal, {}, "foveal", "_FOVEAL_COMPLETE"))
    terminal.say_reply({"shell": shell, "script": script}, as_json, script.rstrip("\n"))
