"""`foveal context` prints the context and nothing else to the output, and says the rest beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_cases import CommandLine, in_terminal
from tests.conftest import write_files


def test_it_prints_the_context_and_remarks_beside_it(foveal: CommandLine) -> None:
    foveal.json("up", ".")
    asked = ("context", "how do sessions expire?", "--focus", "src/shop/auth.py", "--focus", "gone.py")
    code, output, errors = foveal(*asked)
    assert (code, output.startswith("# PROJECT CONTEXT\n"), output[-1]) == (0, True, "\n")
    assert "Use the repository's logger." in output
    assert "def login(user: str) -> Session:" in output
    assert all(line.startswith("note: ") for line in errors.splitlines())
    assert "note: focus path 'gone.py' doesn't exist in the project; name a file" in errors
    assert " ms" in errors.splitlines()[-1]
    assert foveal(*asked)[1] == output, "the same project gives the same bytes"
    assert foveal(*asked, "-q") == (0, output, "")
    assert ", from the cache" in (foveal("context", "a cart"), foveal("context", "a cart"))[1][2]
    write_files(foveal.folder, {"src/shop/auth.py": "def refund():\n    pass\n"})
    assert "def refund():" in foveal(*asked)[1], "an edit shows in the next call"


def test_the_prompt_can_come_from_the_input(foveal: CommandLine) -> None:
    foveal.json("up", ".")
    prompt = "what does web/money.ts do?"
    assert foveal("context", "-", "-q", given=prompt.encode()) == foveal("context", prompt, "-q")
    assert foveal("context", "-", "-q", given=b"\xff\xfe not UTF-8")[0] == 0
    code, output, errors = foveal("context", "-", given=b"x" * (17 << 20))
    assert (code, output) == (1, "")
    assert errors == "error: the prompt is larger than 16,777,216 bytes\nhint: send the part that matters\n"


def test_options_reach_the_daemon(foveal: CommandLine, tmp_path: Path) -> None:
    foveal.json("up", ".")
    output = foveal.says("context", "--constraint", "no new dependencies", "--max-bytes", "400", "-q")
    assert "no new dependencies" in output
    assert len(output.encode()) <= 400
    told = ("--task-type", "bugfix", "--fresh", "tree", "--deadline-ms", "20000", "--max-tokens", "1000")
    scope = foveal.json("context", *told, "--session", "s-1")["scope_id"]
    shown = foveal.daemon.call("GetScope", scope_id=scope)
    assert (shown["session_id"], shown["task_type"]) == ("s-1", "bugfix")
    note = "note: no session s-1 is known"
    assert note in foveal("context", "--session", "s-1")[2]
    foveal.daemon.call("CreateSession", cwd=str(foveal.folder), session_id="s-1")
    assert note not in foveal("context", "--session", "s-1")[2]
    history = '{"role": "user", "content": "hello"}\n{"role": "assistant", "content": "Hello!"}\n'
    write_files(tmp_path, {"talk.jsonl": history, "talk.json": f"[{history.strip().replace(chr(10), ',')}]"})
    for name in ("talk.jsonl", "talk.json"):
        messages = foveal(
            "context", "go on", "--format", "messages", "--history", str(tmp_path / name), "-q"
        )[1]
        said = [message["content"] for message in json.loads(messages)]
        assert [text for text in said if text in {"hello", "Hello!", "go on"}] == ["hello", "Hello!", "go on"]
    options = ("--agent", "reviewer", "--model", "some-model", "--session", "s-7", "--reserve-tokens", "0")
    first = foveal.json("context", "expire", *options)
    again = foveal.json("context", "expire", *options, "--delta")
    assert again["saved_tokens"] > 0
    assert again["tokens"] < first["tokens"]
    child = foveal.json("context", "--parent-scope", first["scope_id"], "--agent", "b")
    assert child["scope_id"] != first["scope_id"]
    errors = foveal.fails("context", "--parent-scope", "scope_none", "--agent", "c")
    assert "scope_none" in errors
    assert "Call " not in errors


def test_a_session_is_named_chosen_or_offered(foveal: CommandLine) -> None:
    root = str(foveal.folder)
    foveal.json("up", ".")
    assert foveal("context", "--session", "last")[2].startswith("error: no session of this project is open\n")
    assert "session" not in foveal("context", "a cart")[2]
    for session_id in ("s-old", "s-new"):
        foveal.daemon.call("CreateSession", cwd=root, session_id=session_id, agent_name="claude-code")
    foveal.json(
        "items", "put", "rule", "sql", "--include", "manual", "--text", "Never build SQL from strings."
    )
    foveal.json("sessions", "add", "s-new", "rule", "sql")
    code, plain, errors = foveal("context", "a cart")
    assert (code, "Never build SQL" in plain) == (0, False)
    assert errors.startswith(
        "note: this is of no session; for what claude-code's session s-new (last heard of 20"
    )
    assert " would get, add: --session last\n" in errors
    code, output, errors = foveal("context", "a cart", "--session", "last")
    assert (code, "Never build SQL" in output) == (0, True)
    assert errors.startswith("note: what claude-code's session s-new ")
    built = foveal.json("contexts", "--session", "s-new")["contexts"]
    assert [context["preview"] for context in built] == [True], (
        "an agent isn't taken to have what is looked at"
    )
    looked = foveal.json("context", "--session", "last", "--focus", "src/shop/auth.py", "--task-type", "x")
    assert "src/shop/auth.py" in str(looked["slices"])
    other = foveal.json("context", "--session", "last", "--focus", "web/money.ts", "--task-type", "x")
    assert other["context"] != looked["context"]
    sessions = [scope.get("session_id") for scope in foveal.daemon.call("ListScopes")["scopes"]]
    assert "s-new" not in sessions, "what is only looked at makes no scope"
    foveal.set("FOVEAL_SESSION", "s-new")
    assert foveal("context", "a cart", "--preview", "-q")[1] == output
    foveal.daemon.call("EndSession", session_id="s-new")
    assert "session s-old" in foveal("context", "--session", "last")[2]


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("--focus", "/etc/passwd"), 1, "/etc/passwd lies outside of the project"),
        (
            ("--focus", "../../../../etc/passwd"),
            1,
            "{cwd}/../../../../etc/passwd lies outside of the project",
        ),
        (("--focus", ""), 2, "a --focus is empty"),
        (("--max-tokens", "0"), 2, "invalid value for '--max-tokens'"),
        (("--max-tokens", "99999999999"), 1, "max_tokens must be from 1 to "),
        (("--cwd", "none"), 2, "invalid value for '--cwd': none is not a folder"),
        (("--format", "yaml"), 2, "invalid value for '--format'"),
        (("x", "--history", "gone.json"), 1, "gone.json: No such file"),
        (
            ("x", "--history", "README.md"),
            2,
            "invalid value for '--history': README.md holds no messages: each is",
        ),
        (("how", "do", "we"), 2, "got unexpected extra arguments (do we)\nhint: put the prompt into quotes"),
    ],
)
def test_errors(foveal: CommandLine, arguments: tuple[str, ...], code: int, error: str) -> None:
    told = foveal.fails("context", *arguments, code=code).replace(str(foveal.folder), "{cwd}")
    assert told.startswith((f"error: {error}", f"error: {{cwd}}/{error}"))


def test_a_terminal_is_not_steered_by_a_file(foveal: CommandLine) -> None:
    foveal.json("up", ".")
    write_files(foveal.folder, {"evil.txt": "\x1b]0;pwned\x07 and \x1b[2J\n"})
    assert "\x1b]0;pwned\x07" in foveal.says("context", "--focus", "evil.txt", "-q")
    plain = {name: value for name, value in foveal.daemon.environ.items() if name != "NO_COLOR"}
    shown = in_terminal(plain, foveal.folder, "context", "--focus", "evil.txt")
    assert b"\\x1b]0;pwned\\x07 and \\x1b[2J" in shown
    assert b"\x1b]0;" not in shown
    assert b"\x1b[2mnote: " in shown
    assert b"\x1b" not in in_terminal({**plain, "NO_COLOR": "1"}, foveal.folder, "context", "-q")
