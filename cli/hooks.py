"""The `foveal hooks` commands, which register foveal with agents, editors and git, and `foveal editors`.

Needs no daemon. Nothing is written before a person saw the difference and said yes.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from ..hooks.hosts.host import LEVELS, Host, Level, SettingsPlace
from ..hooks.hosts.last_events import read as last_events
from ..hooks.install.errors import InstallError
from ..hooks.install.host_files import (
    INSTALLABLE,
    check_level,
    host_files,
    installable_host,
    project_root,
    registered_program,
)
from ..hooks.install.plan import (
    Change,
    HostFiles,
    apply,
    copies_left,
    plan_install,
    plan_uninstall,
    remove_copies,
)
from ..hooks.install.program import find_program, installed_version
from ..hooks.install.settings_entries import MCP
from ..hooks.install.state import HostState, inspect, problems
from ..ipc.paths import state_folder
from ..ipc.version import __version__
from . import terminal
from .command import (
    Command,
    CommandGroup,
    check_json_can_ask,
    current_folder,
    cwd_option,
    dry_run_option,
    json_option,
    settings_of,
    yes_option,
)
from .errors import FAILED, CliError
from .terminal import Check, to_text
from .times import local_time

MAX_DIFF_LINES = 400
"""Maximum lines shown of one file's diff; the longest registration takes about 150."""

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}

F = TypeVar("F", bound=Callable[..., Any])

HOST_NAMES = [host.name for host in INSTALLABLE]
HOST_CHOICE = click.Choice([*HOST_NAMES, *(alias for host in INSTALLABLE for alias in host.aliases)])

EXAMPLES = (
    "foveal hooks install claude-code           # shows what changes, and asks",
    "foveal hooks install claude-code --plugin  # as a plugin, with a skill",
    "foveal hooks install cursor --project      # for all who work on this project",
    "foveal hooks check                         # does it all still work?",
    "foveal hooks uninstall claude-code",
)


HELP = f"""Register foveal with a host, so that its agents get context automatically.

Hosts are {", ".join(HOST_NAMES[:-1])} and {HOST_NAMES[-1]}. Their settings files are edited
in place: other registrations, comments and formatting stay. A copy is kept beside each file.
"""


@click.group(
    "hooks",
    cls=CommandGroup,
    short_help="Register foveal with agents and git.",
    help=HELP,
    examples=EXAMPLES,
)
def hooks_command() -> None:
    """Register foveal with a host."""


def _host_argument(command: F) -> F:
    return click.argument("host", type=HOST_CHOICE, metavar="HOST")(command)


def _level_options(command: F) -> F:
    command = click.option("--project", "level", flag_value="project", help="In this project's settings.")(
        command
    )
    return click.option(
        "--user",
        "level",
        flag_value="user",
        help="In your own settings, for all projects [default but for git].",
    )(command)


@hooks_command.command("install", cls=Command, short_help="Register foveal with a host.")
@_host_argument
@_level_options
@click.option("--mcp/--no-mcp", default=True, help="Register the MCP server as well [default: yes].")
@click.option("--plugin", is_flag=True, help="Install the whole plugin, with a skill (claude-code only).")
@yes_option
@dry_run_option
@cwd_option
@json_option
@click.pass_context
def install_command(
    context: click.Context,
    host: str,
    level: Level | None,
    mcp: bool,
    plugin: bool,
    dry_run: bool,
    yes: bool,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Register foveal with HOST: hooks for its events, and foveal's MCP server.

    Running it again changes nothing, or brings an older registration up to date.
    """
    if plugin and not installable_host(host).plugin_folder:
        names = ", ".join(found.name for found in INSTALLABLE if found.plugin_folder)
        raise click.UsageError(f"--plugin is for {names}", context)
    if plugin and not mcp:
        raise click.UsageError(
            "the MCP server is part of the plugin, so --no-mcp doesn't go with it", context
        )
    with explained():
        chosen, files = _chosen(context, host, level, cwd)
        changes = plan_install(files, mcp=mcp, plugin=plugin)
    backups = _carry_out(
        context, changes, dry_run=dry_run, yes=yes, as_json=as_json, nothing="it is registered already"
    )
    if as_json:
        terminal.say_json(_done_map(changes, backups, changed=bool(changes) and not dry_run))
    if changes and not dry_run and not as_json and chosen.next_step:
        terminal.note(chosen.next_step)


@hooks_command.command("uninstall", cls=Command, short_help="Take foveal out of a host's settings.")
@_host_argument
@_level_options
@click.option("--purge", is_flag=True, help="Delete the kept copies of earlier settings as well.")
@yes_option
@dry_run_option
@cwd_option
@json_option
@click.pass_context
def uninstall_command(
    context: click.Context,
    host: str,
    level: Level | None,
    purge: bool,
    dry_run: bool,
    yes: bool,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Take everything out of HOST's settings that install put there; nothing else changes."""
    with explained():
        _, files = _chosen(context, host, level, cwd)
        changes = plan_uninstall(files)
    backups = _carry_out(
        context, changes, dry_run=dry_run, yes=yes, as_json=as_json, nothing="it isn't registered"
    )
    with explained():
        left = copies_left(files)
        deleted = left if purge and not dry_run else ()
        remove_copies(deleted)
    if as_json:
        changed = bool(deleted or (changes and not dry_run))
        kept = {"copies_left": [] if deleted else list(left), "copies_deleted": list(deleted)}
        terminal.say_json({**_done_map(changes, backups, changed=changed), **kept})
    elif not dry_run:
        verb = "deleted" if purge else "kept (--purge deletes it)"
        for copy in left:
            terminal.say(f"copy of earlier settings {verb}: {terminal.short_path(copy)}")
        terminal.flush()


@hooks_command.command("list", cls=Command, short_help="List where foveal is registered.")
@cwd_option
@json_option
@click.pass_context
def list_command(context: click.Context, cwd: str | None, as_json: bool) -> None:
    """List with which hosts foveal is registered, in which files, for which events, and what they run."""
    with explained():
        place, program = settings_place(context, cwd), running_program(context)
        states = [
            inspect(host, level, place, program, __version__) for host in INSTALLABLE for level in LEVELS
        ]
        found = [(state, _problems(state, place, program)) for state in states]
    if as_json:
        terminal.say_json({"program": program, "hosts": [state_map(state, wrong) for state, wrong in found]})
        return
    shown = [(state, wrong) for state, wrong in found if state.is_registered or wrong]
    for state, wrong in shown:
        for line in describe_state(state):
            terminal.say(line)
        for problem in wrong:
            terminal.say(
                f"  {terminal.styled('!', fg='yellow', bold=True)} {terminal.clean(problem['text'])}"
            )
    if not shown:
        terminal.say("foveal is registered nowhere")
        terminal.flush()
        terminal.note("foveal hooks install HOST registers it")


@hooks_command.command("check", cls=Command, short_help="Say what keeps hooks from running.")
@click.argument("host", type=HOST_CHOICE, metavar="[HOST]", required=False)
@cwd_option
@json_option
@click.pass_context
def check_command(context: click.Context, host: str | None, cwd: str | None, as_json: bool) -> None:
    """Look at all registrations, or at those with HOST. Ends with 1 if something is wrong."""
    with explained():
        place, program = settings_place(context, cwd), running_program(context)
        hosts = (installable_host(host),) if host else INSTALLABLE
        states = [inspect(each, level, place, program, __version__) for each in hosts for level in LEVELS]
        found = [(state, _problems(state, place, program)) for state in states]
    missing = bool(host) and not any(state.is_registered for state in states)
    settings = settings_of(context)
    seen = last_events(state_folder(settings.environ))
    registered = {state.host.name for state in states if state.is_registered}
    about = {each.name: host_facts(each, settings.environ, seen) for each in hosts if each.name in registered}
    if as_json:
        maps = [{**state_map(state, wrong), **about.get(state.host.name, {})} for state, wrong in found]
        terminal.say_json({"program": program, "hosts": maps})
    else:
        for line in _report(found, hosts[0] if missing else None):
            terminal.say(line)
        for name, facts in about.items():
            for line in describe_facts(name, facts):
                terminal.say(line)
    if missing or any(wrong for _, wrong in found):
        context.exit(FAILED)


def host_facts(
    host: Host, environ: Mapping[str, str], seen: Mapping[str, tuple[str, str]]
) -> dict[str, str | None]:
    """Return what is known of a host itself: its version, what it reads, and its last event."""
    event, at = seen.get(host.name, (None, None))
    return {
        "version": (installed_version(host.program, environ) or None) if host.program else None,
        "reads": host.native_rules.summary or None if host.native_rules else None,
        "last_event": event,
        "last_event_at": at,
    }


def describe_facts(name: str, facts: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the lines about a registered host itself."""
    version = facts["version"]
    yield f"  {name}: {f'version {terminal.clean(version)}' if version else 'no program of it in PATH'}"
    if facts["reads"]:
        yield f"    reads by itself: {facts['reads']}"
    event, at = facts["last_event"], facts["last_event_at"]
    yield (
        f"    last event: {terminal.clean(event)} at {local_time(at)}"
        if event and at
        else ("    last event: none yet")
    )


def _report(found: Sequence[tuple[HostState, list[dict[str, str]]]], missing: Host | None) -> Iterator[str]:
    silent = True
    for state, wrong in found:
        name = f"{state.host.name}, {state.level}"
        for problem in wrong:
            yield _wrong(name, problem["text"], problem["fix"])
        if state.is_registered and not wrong:
            yield to_text(
                Check(name, "ok", f"{name}: {terminal.count(len(state.events), 'event')} registered")
            )
        silent = silent and not wrong and not state.is_registered
    if missing:
        yield _wrong(missing.name, "not registered", f"foveal hooks install {missing.name}")
    elif silent:
        yield "foveal is registered nowhere"


def _wrong(name: str, text: str, fix: str) -> str:
    """Return a problem and its fix: a foveal command to run, or another instruction."""
    is_command = fix.startswith("foveal ")
    line = to_text(Check(name, "wrong", f"{name}: {text}", fix if is_command else ""))
    return line if is_command or not fix else f"{line}\n    {terminal.clean(fix)}"


def _problems(state: HostState, place: SettingsPlace, program: str) -> list[dict[str, str]]:
    return [
        {"text": problem.text, "fix": problem.fix} for problem in problems(state, place, program, __version__)
    ]


def _chosen(
    context: click.Context, name: str, level: Level | None, cwd: str | None
) -> tuple[Host, HostFiles]:
    host = installable_host(name)
    place = settings_place(context, cwd)
    chosen = level or host.default_level
    check_level(host, chosen, place)
    program = registered_program(running_program(context), host, chosen)
    return host, host_files(host, chosen, place, program, __version__)


def settings_place(context: click.Context, cwd: str | None) -> SettingsPlace:
    """Return where settings lie: the home, the project's root, the environment. Raises `InstallError`."""
    environ = settings_of(context).environ
    home = environ.get("HOME", "")
    if not os.path.isabs(home):
        raise InstallError(
            "HOME is not an absolute path, so your settings can't be found", "set HOME to your home folder"
        )
    return SettingsPlace(home, project_root(os.path.realpath(cwd or current_folder())), environ)


def running_program(context: click.Context) -> str:
    """Return the path of the foveal that runs. Raises `InstallError`."""
    return find_program(sys.argv[0], sys.executable, settings_of(context).environ)


def _carry_out(
    context: click.Context,
    changes: Sequence[Change],
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    nothing: str,
) -> tuple[str, ...]:
    """Show the changes, ask, and do them; returns the copies of the earlier files. Ends with 1 where a person
    says no."""
    asks = not (yes or dry_run)
    check_json_can_ask(context, as_json=as_json, asks=asks and bool(changes or as_json))
    say = (lambda line: None) if as_json else terminal.say
    for line in (line for change in changes for line in describe_change(change)):
        say(line)
    terminal.flush()
    if asks and changes and not click.confirm(f"Change {terminal.count(len(changes), 'file')}?", err=True):
        terminal.note("nothing was changed")
        context.exit(FAILED)
    with explained():
        copies = () if dry_run else apply(changes)
    if not changes:
        say(f"nothing to do: {nothing}")
    for change in () if dry_run else changes:
        say(f"done: {summarize(change)}")
    for copy in copies:
        say(f"the earlier file is kept as {terminal.short_path(copy)}")
    terminal.flush()
    return copies


def _done_map(changes: Sequence[Change], backups: Sequence[str], *, changed: bool) -> dict[str, Any]:
    """Return what was done, or would be, for programs."""
    return {
        "changed": changed,
        "changes": [change_map(change) for change in changes],
        "backups": list(backups),
    }


@contextmanager
def explained() -> Iterator[None]:
    """Turn what the installer refuses into what a person sees."""
    try:
        yield
    except InstallError as error:
        raise CliError(str(error), error.hint) from error


def describe_change(change: Change) -> Iterator[str]:
    """Yield the unified diff of a change, coloured on a terminal."""
    path = terminal.short_path(change.target.path)
    before = "/dev/null" if change.found.data is None else path
    after = "/dev/null" if change.after is None else path
    old, new = _lines(change.found.data), _lines(change.after)
    diff = list(difflib.unified_diff(old, new, before, after, lineterm=""))
    for number, line in enumerate(diff[:MAX_DIFF_LINES]):
        shown = terminal.clean_lines(line.rstrip("\r"))
        yield terminal.styled(shown, bold=True) if number < 2 else _coloured(shown)
    if len(diff) > MAX_DIFF_LINES:
        yield f"... {terminal.count(len(diff) - MAX_DIFF_LINES, 'more line')}"
    if change.found.place != change.target.path and change.found.data is not None:
        yield f"(written to {terminal.short_path(change.found.place)})"


def summarize(change: Change) -> str:
    """Return a change in a word and its path."""
    verb = "remove" if change.after is None else "create" if change.found.data is None else "change"
    return f"{verb} {terminal.short_path(change.target.path)}"


def change_map(change: Change) -> dict[str, Any]:
    """Return a change for programs."""
    action = summarize(change).partition(" ")[0]
    return {"path": change.target.path, "action": action, "diff": "\n".join(plain_diff(change))}


def describe_state(state: HostState) -> Iterator[str]:
    """Yield the lines about a host at a level where foveal is registered."""
    how = " as a plugin" if state.is_plugin else ""
    yield terminal.styled(f"{state.host.name}, {state.level}{how}", bold=True)
    for file in state.files:
        if file.problem:
            yield f"  {terminal.clean(file.problem)}"
        elif file.holds:
            yield f"  {terminal.short_path(file.path)}: {', '.join(map(_event, file.events)) or 'registered'}"
    for program in state.programs:
        yield f"  runs {terminal.clean(program)}"


def state_map(state: HostState, problems: Sequence[dict[str, str]]) -> dict[str, Any]:
    """Return a host at a level for programs."""
    return {
        "host": state.host.name,
        "level": state.level,
        "registered": state.is_registered,
        "plugin": state.is_plugin,
        "events": list(state.events),
        "mcp": state.has_mcp,
        "programs": list(state.programs),
        "files": [
            {"path": file.path, "exists": file.exists, "registered": file.holds, "problem": file.problem}
            for file in state.files
        ],
        "problems": list(problems),
    }


def _event(name: str) -> str:
    return "MCP server" if name == MCP else terminal.clean(name)


def plain_diff(change: Change) -> Iterator[str]:
    """Yield the unified diff of a change as it is."""
    old, new = _lines(change.found.data), _lines(change.after)
    yield from difflib.unified_diff(old, new, change.target.path, change.target.path, lineterm="")


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode(errors="replace").split("\n") if data else []


def _coloured(line: str) -> str:
    colour = _COLOURS.get(line[:1])
    return terminal.styled(line, fg=colour) if colour else line


PLUGIN_FOLDER: Final = Path(__file__).resolve().parent.parent / "hooks" / "editors"

PLUGINS: Final = ("neovim", "vscode")

PLUGIN_EXAMPLES = (
    "foveal editors path neovim",
    'ln -s "$(foveal editors path neovim)" ~/.local/share/nvim/site/pack/foveal/start/foveal',
)


@click.group(
    "editors", cls=CommandGroup, short_help="Show where the editors' plugins lie.", examples=PLUGIN_EXAMPLES
)
@json_option
@click.pass_context
def editors_command(context: click.Context, as_json: bool) -> None:
    """Find the plugins for Neovim and VS Code, which are part of this package."""
    if as_json and context.invoked_subcommand is None:
        terminal.say_json(_folders())


@editors_command.command("path", cls=Command, short_help="Print the folder of a plugin, or of all.")
@click.argument("editor", type=click.Choice(PLUGINS), required=False)
@json_option
def path_command(editor: str | None, as_json: bool) -> None:
    """Print the folder of an editor's plugin, without one the folder that has all of them.

    It is the one of the foveal that runs, wherever that is installed, and changes with it.
    """
    folders = _folders()
    terminal.say_reply(folders, as_json, folders[editor or "folder"])


def _folders() -> dict[str, str]:
    """Return the folder of each plugin, and the one that has all. Raises `CliError` if one is missing."""
    missing = [name for name in PLUGINS if not (PLUGIN_FOLDER / name).is_dir()]
    if missing:
        raise CliError(
            f"{PLUGIN_FOLDER} has no {missing[0]}", "install foveal again: its files are not complete"
        )
    return {"folder": str(PLUGIN_FOLDER), **{name: str(PLUGIN_FOLDER / name) for name in PLUGINS}}
