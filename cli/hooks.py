"""The `foveal hooks` commands, which register foveal with agents, editors and git.

Needs no daemon. Nothing is written before a person saw the difference and said yes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from ..hooks.hosts.hook_format import parts_of
from ..hooks.hosts.host import LEVELS, Host, Level, SettingsHooks, SettingsPlace
from ..hooks.hosts.last_events import read as last_events
from ..hooks.install.host_files import INSTALLABLE, check_level, installable_host
from ..hooks.install.plan import (
    Change,
    HostFiles,
    apply,
    copies_left,
    plan_install,
    plan_uninstall,
    remove_copies,
)
from ..hooks.install.program import installed_version
from ..hooks.install.settings_entries import MCP
from ..hooks.install.state import HostState, inspect, problems
from ..ipc.paths import state_folder
from ..ipc.version import __version__
from . import terminal
from .check import Check, to_text
from .command import Remark, Run, command
from .errors import CliError
from .group import group
from .hosts import (
    HOST_CHOICE,
    action_map,
    describe_change,
    explained,
    files_of,
    left_alone,
    plain_diff,
    running_program,
    settings_place,
    summarize,
)
from .options import CWD, DRY_RUN, YES, argument, flag
from .terminal import styled
from .text import clean, count, local_time, short_path


@group("Register foveal with agents and git.")
def hooks_command() -> None:
    """Register foveal with a host, so that its agents get context automatically.

    Hosts are agents, editors and git. Their settings files are edited in place: other registrations, comments
    and formatting stay. A copy is kept beside each file.

    For example:

        foveal hooks install claude-code           # shows what changes, and asks
        foveal hooks install claude-code --plugin  # as a plugin, with a skill
        foveal hooks install cursor --project      # for all who work on this project
        foveal hooks check                         # does it all still work?
        foveal hooks uninstall claude-code
    """


HOST = argument("host", "HOST", type=HOST_CHOICE)
OF_LEVEL = (
    flag("--user level", "In your own settings, for all projects [default but for git].", flag_value="user"),
    flag("--project level", "In this project's settings.", flag_value="project"),
)
PURGE = flag("--purge", "Delete the kept copies of earlier settings as well.")


@command(
    "Register foveal with a host.",
    HOST,
    *OF_LEVEL,
    click.Option(["--mcp/--no-mcp"], default=True, help="Register the MCP server as well [default: yes]."),
    flag("--plugin", "Install the whole plugin, with a skill (claude-code only)."),
    click.Option(
        ["--in-server/--no-in-server"],
        default=None,
        help="Run the hooks of prompts and tools in the MCP server, without a process (claude-code only).",
    ),
    flag("--status-line", "Show in the status line what was sent (claude-code only)."),
    YES,
    DRY_RUN,
    CWD,
    group=hooks_command,
)
def install(run: Run) -> None:
    """Register foveal with HOST: hooks for its events, and foveal's MCP server.

    Running it again changes nothing, or brings an older registration up to date.
    """
    if run.plugin and not installable_host(run.host).plugin_folder:
        names = ", ".join(found.name for found in INSTALLABLE if found.plugin_folder)
        raise run.usage(f"--plugin is for {names}")
    if run.plugin and not run.mcp:
        raise run.usage("the MCP server is part of the plugin, so --no-mcp doesn't go with it")
    if run.status_line and (run.plugin or not installable_host(run.host).status_line):
        names = ", ".join(found.name for found in INSTALLABLE if found.status_line)
        raise run.usage(f"--status-line is for {names}, without --plugin")
    if run.in_server:
        _check_in_server(run)
    with explained():
        host, files = _chosen(run, line=run.status_line, calls_server=run.in_server)
        changes, left = plan_install(files, mcp=run.mcp, plugin=run.plugin), left_alone(files)
    backups = _carry_out(run, changes, nothing="it is registered already")
    changed = bool(changes) and not run.dry_run
    remarks = [*left, *([host.next_step] if changed and host.next_step else [])]
    run.show(_done_map(changes, backups, changed=changed), [Remark(line) for line in remarks])


@command(
    "Take foveal out of a host's settings.",
    HOST,
    *OF_LEVEL,
    PURGE,
    YES,
    DRY_RUN,
    CWD,
    group=hooks_command,
)
def uninstall(run: Run) -> None:
    """Take everything out of HOST's settings that install put there; nothing else changes."""
    with explained():
        _, files = _chosen(run)
        changes = plan_uninstall(files)
    backups = _carry_out(run, changes, nothing="it isn't registered")
    with explained():
        left = copies_left(files)
        deleted = left if run.purge and not run.dry_run else ()
        remove_copies(deleted)
    done = _done_map(changes, backups, changed=bool(deleted or (changes and not run.dry_run)))
    verb = "deleted" if run.purge else "kept (--purge deletes it)"
    lines = (f"copy of earlier settings {verb}: {short_path(copy)}" for copy in left)
    kept = {"copies_left": [] if deleted else list(left), "copies_deleted": list(deleted)}
    run.show({**done, **kept}, () if run.dry_run else lines)


Found = Sequence[tuple[HostState, list[dict[str, str]]]]
"""The states of hosts, each with what is wrong with it."""


def _states(run: Run, hosts: Sequence[Host]) -> tuple[str, Found]:
    """Return the program that runs, and how it is registered with hosts."""
    with explained():
        place, program = settings_place(run, run.cwd), running_program(run)
        states = [inspect(host, level, place, program, __version__) for host in hosts for level in LEVELS]
        return program, [(state, _problems(state, place, program)) for state in states]


@command("List where foveal is registered.", CWD, group=hooks_command)
def list_hosts(run: Run) -> None:
    """List with which hosts foveal is registered, in which files, for which events, and what they run."""
    program, found = _states(run, INSTALLABLE)
    hosts = [state_map(state, wrong) for state, wrong in found]
    run.show({"program": program, "hosts": hosts}, _describe_all(found))


def _describe_all(found: Found) -> Iterator[str]:
    shown = [(state, wrong) for state, wrong in found if state.is_registered or wrong]
    for state, wrong in shown:
        yield from describe_state(state)
        for problem in wrong:
            yield f"  {styled('!', fg='yellow', bold=True)} {clean(problem['text'])}"
    if not shown:
        yield "foveal is registered nowhere"
        yield Remark("foveal hooks install HOST registers it")


@command(
    "Say what keeps hooks from running.",
    argument("host", "[HOST]", type=HOST_CHOICE, required=False),
    CWD,
    group=hooks_command,
)
def check(run: Run) -> None:
    """Look at all registrations, or at those with HOST. Ends with 1 if something is wrong."""
    hosts = (installable_host(run.host),) if run.host else INSTALLABLE
    program, found = _states(run, hosts)
    missing = bool(run.host) and not any(state.is_registered for state, _ in found)
    seen = last_events(state_folder(run.settings.environ))
    registered = {state.host.name for state, _ in found if state.is_registered}
    about = {
        host.name: host_facts(host, run.settings.environ, seen) for host in hosts if host.name in registered
    }
    maps = [{**state_map(state, wrong), **about.get(state.host.name, {})} for state, wrong in found]
    run.show({"program": program, "hosts": maps}, _report(found, hosts[0] if missing else None, about))
    if missing or any(wrong for _, wrong in found):
        run.fail()


def host_facts(
    host: Host, environ: Mapping[str, str], seen: Mapping[str, tuple[str, str]]
) -> dict[str, str | None]:
    """Return what is known of a host itself: its version, what it reads, and its last event."""
    event, at = seen.get(host.name, (None, None))
    return {
        "version": installed_version(host.program or host.name, environ) or None,
        "reads": host.native_rules.summary or None if host.native_rules else None,
        "last_event": event,
        "last_event_at": at,
    }


def describe_facts(name: str, facts: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the lines about a registered host itself."""
    version = facts["version"]
    # Git and editors have no program of an agent, by which `foveal init` would find them.
    unknown = ": no program of it in PATH" if installable_host(name).program else ""
    yield f"  {name}{f': version {clean(version)}' if version else unknown}"
    if facts["reads"]:
        yield f"    reads by itself: {facts['reads']}"
    event, at = facts["last_event"], facts["last_event_at"]
    yield (
        f"    last event: {clean(event)} at {local_time(at)}"
        if event and at
        else ("    last event: none yet")
    )


def _report(
    found: Found, missing: Host | None, about: Mapping[str, Mapping[str, str | None]]
) -> Iterator[str]:
    silent = True
    for state, wrong in found:
        name = f"{state.host.name}, {state.level}"
        for problem in wrong:
            yield _wrong(name, problem["text"], problem["fix"])
        if state.is_registered and not wrong:
            yield to_text(Check(name, "ok", f"{name}: {count(len(state.events), 'event')} registered"))
        silent = silent and not wrong and not state.is_registered
    if missing:
        yield _wrong(missing.name, "not registered", f"foveal hooks install {missing.name}")
    elif silent:
        yield "foveal is registered nowhere"
    for host, facts in about.items():
        yield from describe_facts(host, facts)


def _wrong(name: str, text: str, fix: str) -> str:
    """Return a problem and its fix: a foveal command to run, or another instruction."""
    is_command = fix.startswith("foveal ")
    line = to_text(Check(name, "wrong", f"{name}: {text}", fix if is_command else ""))
    return line if is_command or not fix else f"{line}\n    {clean(fix)}"


def _problems(state: HostState, place: SettingsPlace, program: str) -> list[dict[str, str]]:
    return [
        {"text": problem.text, "fix": problem.fix} for problem in problems(state, place, program, __version__)
    ]


def _check_in_server(run: Run) -> None:
    """Refuse hooks in the server where the host can't run them, or has no such server."""
    host = installable_host(run.host)
    settings = host.hooks.settings if host.hooks else None
    if not isinstance(settings, SettingsHooks) or not settings.in_server or run.plugin or not run.mcp:
        raise run.usage("--in-server is for claude-code, with the MCP server and without --plugin")
    version = installed_version(host.program, run.settings.environ)
    if version and parts_of(version) < settings.in_server_since:
        since = ".".join(map(str, settings.in_server_since))
        raise CliError(f"{host.title} {version} has no such hooks", f"update it to {since} or later")


def _chosen(run: Run, *, line: bool = False, calls_server: bool | None = None) -> tuple[Host, HostFiles]:
    host = installable_host(run.host)
    place = settings_place(run, run.cwd)
    level: Level = run.level or host.default_level
    check_level(host, level, place)
    return host, files_of(host, level, place, running_program(run), line=line, calls_server=calls_server)


def _carry_out(run: Run, changes: Sequence[Change], *, nothing: str) -> tuple[str, ...]:
    """Show the changes, ask, and do them; returns the copies of the earlier files. Ends with 1 where a person
    says no."""
    asks = not (run.yes or run.dry_run)
    run.check_can_ask(asks=asks and bool(changes or run.as_json))
    for line in (line for change in changes for line in describe_change(change)):
        run.say(line)
    if asks and changes:
        run.confirm(f"Change {count(len(changes), 'file')}?", "nothing was changed")
    with explained():
        copies = () if run.dry_run else apply(changes)
    if not changes:
        run.say(f"nothing to do: {nothing}")
    for change in () if run.dry_run else changes:
        run.say(f"done: {summarize(change)}")
    for copy in copies:
        run.say(f"the earlier file is kept as {short_path(copy)}")
    terminal.flush()
    return copies


def _done_map(changes: Sequence[Change], backups: Sequence[str], *, changed: bool) -> dict[str, Any]:
    """Return what was done, or would be, for programs."""
    maps = [{**action_map(change), "diff": "\n".join(plain_diff(change))} for change in changes]
    return {"changed": changed, "changes": maps, "backups": list(backups)}


def describe_state(state: HostState) -> Iterator[str]:
    """Yield the lines about a host at a level where foveal is registered."""
    how = " as a plugin" if state.is_plugin else ""
    yield styled(f"{state.host.name}, {state.level}{how}", bold=True)
    for file in state.files:
        if file.problem:
            yield f"  {clean(file.problem)}"
        elif file.holds:
            yield f"  {short_path(file.path)}: {', '.join(map(_event, file.events)) or 'registered'}"
    for program in state.programs:
        yield f"  runs {clean(program)}"


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
    return "MCP server" if name == MCP else clean(name)
