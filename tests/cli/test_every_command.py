"""What all commands have: --cwd, --json and --socket, and tables that fit on a terminal of 80 columns."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import foveal as foveal_package
import pytest
from foveal.cli.app import PROGRAMS
from foveal.cli.app import foveal as program
from foveal.cli.progress import Bar
from rich.cells import cell_len

from tests.command_cases import CommandLine, Terminal
from tests.conftest import SMALL_PROJECT, DaemonProcess, git, write_files

LONG = "a-folder-with-a-long-name-as-they-are-in-large-repositories/and-another-one-below-it/shop"
"""More characters than a terminal has columns."""

COLUMNS = 80

LISTS = (
    ("projects",),
    ("status",),
    ("contexts",),
    ("scopes",),
    ("sessions", "list"),
    ("sessions", "list", "--all"),
    ("requests", "list"),
    ("requests", "show"),
    ("items", "list"),
    ("items", "usage"),
    ("metrics",),
    ("tools", "list"),
    ("last",),
    ("usage",),
    ("usage", "--all", "--by", "project"),
    ("forget", "--dry-run"),
    ("decisions", "list"),
    ("decisions", "quarantine"),
    ("hooks", "list"),
    ("status", "--skipped"),
)
"""Commands that print tables."""


def commands(
    group: click.Group, path: tuple[str, ...] = (), *, groups: bool = False
) -> Iterator[tuple[str, click.Command]]:
    """Yield all commands of the tree that do something, with their names; with `groups` also the groups."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name), groups=groups)
        if groups or not isinstance(command, click.Group):
            yield " ".join((*path, name)), command


ALL = dict(commands(program))


def test_those_that_need_a_daemon_only_print_json(foveal: CommandLine) -> None:
    up = foveal.json("up", ".")
    assert (up["started"], up["project"]["root"]) == (False, str(foveal.folder)) or up["started"]
    assert foveal.json("logs", "-n", "1")["lines"]
    assert foveal.json("restart")["pid"] == foveal.daemon.call("Ping")["pid"]
    assert foveal.json("down")["stopped"] is True
    assert foveal.json("down") == {"stopped": False, "pid": None}


def test_a_folder_stands_for_the_current_one(foveal: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    here = ("--cwd", str(foveal.folder))
    assert foveal.json("up", *here)["project"]["root"] == str(foveal.folder)
    assert foveal.json("reindex", *here)["root"] == str(foveal.folder)
    for command in ("status", "projects"):
        roots = [project["root"] for project in foveal.json(command, *here)["projects"]]
        assert roots == [str(foveal.folder)]
    assert foveal.json("open", "src", *here)["root"].startswith(str(foveal.folder))
    assert "is not a folder" in foveal.fails("down", "--cwd", "nowhere", code=2)
    foveal.json("close", "src", *here)


WRONG: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("context", "x", "--max-tokens", "9", "--reserve-tokens", "9"),
        "invalid_params",
        "reserve_tokens (9) leaves nothing of max_tokens (9)",
    ),
    (("decide", " "), "invalid_params", "the decision was not noted: decision is empty"),
    (("sessions", "show", "none"), "not_found", "no session 'none'"),
    (
        ("requests", "export", "--since", "yesterday"),
        "usage",
        "invalid value for '--since': yesterday is no time",
    ),
    (("no-such",), "usage", "there is no command 'no-such'"),
    (("query", "x", "--cwd", "nowhere"), "usage", "invalid value for '--cwd'"),
    (("watch", "bogus"), "usage", "invalid value for 'TOPIC': 'bogus' is not one of"),
    (("decisions", "import", "/nowhere"), "usage", "invalid value for 'FILE'"),
    (("tools", "mode", "s", "always"), "not_found", "no server 's' is configured"),
    (("items", "delete", "rule", "none"), "not_found", "there is no rule none"),
    (
        ("forget", "/nowhere", "--yes"),
        "not_found",
        "nothing is known of /nowhere; to see what is: foveal projects",
    ),
    (("status", "--socket", "/nowhere/s"), "no_daemon", "no daemon runs on /nowhere/s"),
    (("requests", "show"), "not_found", "no session of this project has a request yet"),
)
"""Command lines that fail, with the code for programs and how the message begins."""


def test_an_error_says_what_is_wrong_and_is_json_for_programs(foveal: CommandLine) -> None:
    foveal.json("open", ".")
    for arguments, code, message in WRONG:
        exit_code, output, errors = foveal(*arguments, "--json")
        assert output.count("\n") == 1, (arguments, output)
        error = json.loads(output)["error"]
        assert (exit_code, error["code"]) == (2 if code == "usage" else 1, code), arguments
        assert error["message"].startswith(message), (arguments, error)
        assert errors.startswith(f"error: {error['message']}\n")
        assert ("hint" in error) == ("\nhint: " in errors)
        assert foveal(*arguments)[1:] == ("", errors), "without --json nothing is printed"


def test_a_bug_is_json_for_programs_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("foveal.cli.about.find_daemon", lambda settings: 1 / 0)
    for arguments in (["version", "--json"], ["version"]):
        with pytest.raises(ZeroDivisionError):
            program.main(arguments, prog_name="foveal")
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], "ZeroDivisionError" in error["message"]) == ("internal", True)


ENDLESS = {"watch", "dashboard", "down", "restart"}
"""Commands that go on, open a browser, or end the daemon of other tests; `down` and `restart` print JSON in a
test above."""


def minimal(name: str, command: click.Command) -> list[str]:
    """Return a command line that changes nothing outside of the daemon, with an `x` for each argument that
    must be given."""
    words = name.split()
    options = {option for known in command.params for option in known.opts}
    for parameter in command.params:
        if isinstance(parameter, click.Argument) and parameter.required:
            kind = parameter.type
            words.append(str(kind.choices[0]) if isinstance(kind, click.Choice) else "x")
    words += ["--dry-run"] if "--dry-run" in options else ["--yes"] if "--yes" in options else []
    return [*words, "--json"]


def test_every_command_prints_one_json_document_whatever_happens(foveal: CommandLine) -> None:
    names = [name for name in ALL if name not in ENDLESS]
    assert len(names) >= 55
    for name in names:
        arguments = minimal(name, ALL[name])
        code, output, errors = foveal(*arguments)
        document = json.loads(output)
        failed = isinstance(document, dict) and set(document) == {"error"}
        assert code in ({1, 2} if failed else {0, 1}), (arguments, code, errors)
        assert errors.startswith("error: ") or not failed, arguments
        assert "Traceback" not in errors


def test_empty_lists_say_whether_anything_was_asked_for(foveal: CommandLine) -> None:
    assert foveal.says("contexts") == "no agent got a context yet\n"
    for filtered in (("--path", "a.py"), ("--session", "s"), ("--since", "2001-01-01")):
        assert foveal.says("contexts", *filtered) == "no context matches\n"
    assert foveal.says("decisions") == foveal.says("decisions", "--limit", "0") == "no decisions\n"
    for chosen in (("--agent", "bob"), ("--since", "2001-01-01"), ("--deleted",)):
        assert foveal.says("decisions", *chosen) == "no decision matches\n"


def documented() -> Iterator[tuple[str, str]]:
    """Yield the command lines of the documents and of the examples of the help, each with where it stands."""
    for name, command in [("foveal", program), *commands(program, groups=True)]:
        for line in (command.help or "").splitlines():
            if found := re.search(r"^ {4}(?:.*[|(] ?)?(foveal [^|)]*)", line):
                yield f"{name} --help", re.split(r" [|>&]+ ", found[1])[0]
    root = Path(foveal_package.__file__).parent
    for page in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        for line in page.read_text(encoding="utf-8").splitlines():
            if found := re.search(r"^\s*\$ (?:.*[|(] ?|cd .* && )?(foveal(?: .*)?)$", line):
                yield page.name, re.split(r' [|>]|\)"', found[1])[0]


def test_the_documents_name_commands_that_there_are() -> None:
    lines = list(documented())
    assert len(lines) > 120
    for page, line in lines:
        command: click.Command = program
        words = shlex.split(line, comments=True)[1:]
        if words[:1] in ([name] for names in PROGRAMS.values() for name in names):
            continue
        path = ["foveal"]
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            path.append(words.pop(0))
            found = command.get_command(click.Context(command), path[-1])
            assert found is not None, (page, line)
            command = found
        if path[-1] == "decisions":
            continue  # its options are those of the command that is left out
        try:
            command.make_context(" ".join(path), words, parent=click.Context(program))
        except (click.NoSuchOption, click.MissingParameter, click.BadOptionUsage) as error:
            pytest.fail(f"{page}: {line}: {error.message}")
        except (click.UsageError, click.exceptions.Exit) as error:
            if "unexpected extra" in str(error):
                pytest.fail(f"{page}: {line}: {error}")


@pytest.fixture
def deep(
    shared_daemon: DaemonProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    """Give the command line of 80 columns in a project with a long path, with long paths in it."""
    deep = "src/a/package/that/lies/far/below/the/root/of/its/project/as/they/do/in/java/Sessions.py"
    servers = {"mcpServers": {"a-server-with-a-long-name": {"command": "/opt/" + "deep/" * 20 + "server"}}}
    files = {**SMALL_PROJECT, deep: "def expire_every_session() -> None: ...\n"}
    root = write_files(tmp_path / LONG, {**files, ".mcp.json": json.dumps(servers)})
    git(root, "init", "-q")
    line = CommandLine(shared_daemon, root, monkeypatch, capsys)
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    session = line.says("sessions", "create", "--name", "a name of some length " * 4).strip()
    line.says("sessions", "set", session, "--intent", "mend how sessions expire in every place " * 3)
    for prompt in ("expire every session", "and then " * 40):
        line("context", prompt, "--session", session, "--agent", "a-long-agent-name", "--focus", deep)
    line.says("decide", "expire sessions after an hour " * 5, "--file", deep)
    line.says("items", "put", "rule", "a-rule-" * 12, "--include", "manual", "--text", "Log. " * 40)
    return line


def test_no_table_is_broken_by_a_path(deep: CommandLine) -> None:
    for arguments in LISTS:
        code, output, errors = deep(*arguments)
        assert code in {0, 1}, errors
        assert output, arguments
        for line in output.splitlines():
            # Sentences may be longer; what stands in columns may not.
            assert "  " not in line.strip() or cell_len(line) <= COLUMNS, (arguments, line)


@pytest.mark.parametrize("width", [COLUMNS, 200])
def test_a_bar_stays_on_its_line(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", Terminal())
    with Bar("scanning") as bar:
        shown: Any = bar._progress  # the bar has no other outside than what it draws
        for note in ("", "1,234/s, about 12 min 5 s left"):
            bar.show("embedding", 123_456, 999_999, note, path=f"/home/me/{LONG}")
            [line] = shown.console.render_lines(shown.get_renderable(), pad=False)
            text = "".join(segment.text for segment in line)
            assert cell_len(text) <= width
            assert "123,456/999,999" in text
            assert note in text
            assert "/shop" in text or (note and width == COLUMNS)
