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
    assert "note: focus path 'gone.py' doesn't exist in the project\n" in errors
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


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("--focus", "/etc/passwd"), 1, "/etc/passwd lies outside of the project"),
        (
            ("--focus", "../../../../etc/passwd"),
            1,
            "{cwd}/../../../../etc/passwd lies outside of the project",
        ),
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
