"""`foveal query` over a real daemon: results to the output, remarks beside them, grep's exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from foveal.cli.query import remarks

from tests.command_cases import CommandLine, in_terminal
from tests.conftest import SMALL_PROJECT, DaemonProcess, git, write_files

STEPS = "".join(f"        self.step(number, {number})\n" for number in range(60))
FILES = {
    **SMALL_PROJECT,
    "src/shopping.py": '"""Sessions of another shop."""\n',
    "lib/store.py": f"class Store:\n    def replenish(self, number):\n{STEPS}",
}


@pytest.fixture(scope="module")
def root(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give one indexed project to all tests of this file."""
    root = write_files(tmp_path_factory.mktemp("p") / "shop", FILES)
    git(root, "init", "-q")
    shared_daemon.open_ready(root)
    return root


@pytest.fixture
def foveal(
    shared_daemon: DaemonProcess,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    return CommandLine(shared_daemon, root, monkeypatch, capsys)


def found(foveal: CommandLine, *arguments: str) -> list[str]:
    """Return the paths of the results, in their order."""
    code, output, errors = foveal("query", "--json", *arguments)
    results = json.loads(output)["results"]
    assert (code, errors) == (0 if results else 1, "")
    return [result["path"] for result in results]


def test_a_question_is_answered(foveal: CommandLine) -> None:
    asked = ("query", "how does the store replenish?", "--limit", "10")
    code, output, errors = foveal(*asked)
    assert code == 0
    head, why, *lines = output.splitlines()
    assert re.fullmatch(r" 1 lib/store\.py:\d+  Store(\.replenish)? \((class|method)\)  0\.\d\d", head)
    assert "words #1" in why
    assert any(re.match(r" +\d+[:-]  +def replenish\(self, number\):", line) for line in lines)
    route, *_, count = errors.splitlines()
    assert route == "note: semantic: asks in words: how does the store replenish"
    assert re.fullmatch(r"note: \d files? in \d+\.\d ms", count)
    assert foveal(*asked, "-q") == (0, output, "")


def test_an_agent_gets_one_place_whole_or_a_few(foveal: CommandLine) -> None:
    head, *lines = foveal.says("query", "Store.replenish", "-q").splitlines()
    assert head == "lib/store.py:2-62 Store.replenish (method)"
    assert lines[0] == "2     def replenish(self, number):"
    assert "61         self.step(number, 59)" in lines[:-2] or "62         self.step(number, 59)" in lines
    assert len(foveal.says("query", "who calls login?", "-q").splitlines()) == 1, "a line for each reference"
    output = foveal.says("query", "session or user or total", "-q")
    places = output.splitlines()
    assert 1 < len(places) <= 8
    assert [line for line in places if not re.match(r"\S+:\d+-?\d* .*- \d+: \S", line)] == [], (
        "a line for each"
    )


def test_nothing_found_is_grep_s_exit_code(foveal: CommandLine) -> None:
    code, output, errors = foveal("query", "zzyzx qwfpgj")
    assert (code, output) == (1, "")
    assert re.search(r"^note: nothing found in \d+\.\d ms: nothing in the project has ", errors, re.MULTILINE)
    assert foveal("query", "zzyzx qwfpgj", "-q") == (1, "", "")
    assert found(foveal, "zzyzx qwfpgj") == []
    assert "the question is empty" in foveal("query", "")[2]


def test_the_question_can_come_from_the_input(foveal: CommandLine) -> None:
    trace = (
        b'Traceback (most recent call last):\n  File "/srv/app/src/shop/cart.py", line 5, in checkout\n'
        b"    login('x')\nTypeError: boom \xff\n"
    )
    code, output, errors = foveal("query", "-", given=trace)
    assert code == 0
    assert output.startswith("src/shop/cart.py:")
    assert "note: hybrid: " in errors
    code, output, errors = foveal("query", "-", given=b"x" * (17 << 20))
    assert (code, output) == (1, "")
    assert errors.startswith("error: the question is larger than 16,777,216 bytes\n")
    assert found(foveal, "--", "--replenish")[0] == "lib/store.py"


def test_a_project_seen_for_the_first_time_is_read_before(foveal: CommandLine, tmp_path: Path) -> None:
    root = write_files(tmp_path / "new", {f"f{n}.py": f"def name{n}(): pass\n" for n in range(300)})
    git(root, "init", "-q")
    foveal.at(root)
    assert found(foveal, "name299")[0] == "f299.py"
    told = foveal.fails("query", "root", "--cwd", "/etc")
    assert "the project of /etc would be /etc, a folder of the system. Run from" in told
    assert "foveal open /etc" in told


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        ((), 2, "missing argument 'QUESTION'"),
        (("how", "do"), 2, "got unexpected extra argument (do)\nhint: put the question into quotes"),
        (("x", "--language", "pyton"), 2, "--language has the unknown name 'pyton'; is it python"),
        (("x", "--glob", "src/[ab"), 2, "--glob can't be used: nothing closes the '[' in 'src/[ab'"),
        (("x", "--kind", "clas"), 2, "--kind has the unknown name 'clas'; is it class? here there can be "),
        (("x", "--path", "/etc"), 1, "/etc/ lies outside of the project "),
        (("x", "--relation", "caller"), 2, "--relation must be one of"),
        (
            ("login", "--relation", "callers", "--route", "semantic"),
            2,
            "--relation is answered by the structure, not by the route semantic",
        ),
        (("x", "--since", "yesterday"), 2, "invalid value for '--since': yesterday is no time: write "),
        (("x", "--limit", "0"), 2, "invalid value for '--limit': 0 is not in the range 1<=x<=1000"),
    ],
)
def test_errors(foveal: CommandLine, arguments: tuple[str, ...], code: int, error: str) -> None:
    assert foveal.fails("query", *arguments, code=code).startswith(f"error: {error}")


def test_a_terminal_gets_colours_and_a_pipe_the_very_text(foveal: CommandLine, tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", {"a.py": 'def parse():\n    return "\x1b]0;pwned\x07"\n'})
    git(root, "init", "-q")
    foveal.at(root)
    assert "\x1b]0;pwned\x07" in foveal.says("query", "parse", "-q")
    plain = {name: value for name, value in foveal.daemon.environ.items() if name != "NO_COLOR"}
    seen = in_terminal(plain, root, "query", "parse")
    assert b"\x1b[35m\x1b[1ma.py\x1b[0m:\x1b[32m1\x1b[0m" in seen
    assert b"\x1b[94mdef\x1b[0m" in seen
    assert b"\x1b]0;" not in seen
    assert b"\x1b[2mnote: hybrid: " in seen


def test_remarks() -> None:
    reply: dict[str, Any] = {"route": "hybrid", "evidence": ["a", "b"], "degraded": [], "elapsed_ms": 1.25}

    def check(changes: dict[str, Any], expected: list[str]) -> None:
        assert list(remarks({**reply, "results": [{"path": "a.py"}], **changes})) == expected

    check({"degraded": ["no words"]}, ["hybrid: a; b", "degraded: no words", "1 file in 1.2 ms"])
    check({"evidence": []}, ["hybrid", "1 file in 1.2 ms"])
    places = [{"path": path} for path in ("a.py", "b.py", "a.py")]
    check({"results": places[:2]}, ["hybrid: a; b", "2 files in 1.2 ms"])
    check({"results": places}, ["hybrid: a; b", "3 places of 2 files in 1.2 ms"])
    check({"results": [{"path": "b.py", "certainty": "name"}]}, ["hybrid: a; b", "1 place in 1.2 ms"])
    check({"results": [], "hint": "ask"}, ["hybrid: a; b", "nothing found in 1.2 ms: ask"])
