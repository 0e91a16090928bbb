"""`foveal query` over a real daemon: results to the output, remarks beside them, grep's exit codes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from foveal.cli.query import remarks

from tests.conftest import SMALL_PROJECT, DaemonProcess, git, running_daemon, write_files

TIMEOUT_S = 90


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """Give one daemon to all tests of this file."""
    with running_daemon(tmp_path_factory.mktemp("d")) as process:
        yield process


@pytest.fixture(scope="module")
def root(daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give one indexed project to all tests of this file."""
    root = write_files(tmp_path_factory.mktemp("p") / "shop", SMALL_PROJECT)
    steps = "".join(f"        self.step(number, {number})\n" for number in range(60))
    store = f"class Store:\n    def replenish(self, number):\n{steps}"
    write_files(root, {"src/shopping.py": '"""Sessions of another shop."""\n', "lib/store.py": store})
    git(root, "init", "-q")
    daemon.open_ready(root)
    return root


def run(daemon: DaemonProcess, cwd: Path, *arguments: str, given: bytes = b"") -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "foveal", "query", *arguments],
        check=False,
        cwd=cwd,
        env=daemon.environ | {"NO_COLOR": "1"},
        input=given,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def found(daemon: DaemonProcess, cwd: Path, *arguments: str) -> list[str]:
    """Return the paths of the results, in their order."""
    code, output, errors = run(daemon, cwd, "--json", *arguments)
    results = json.loads(output)["results"]
    assert (code, errors) == (0 if results else 1, "")
    return [result["path"] for result in results]


def test_a_question_is_answered(daemon: DaemonProcess, root: Path) -> None:
    code, output, errors = run(daemon, root, "how does the store replenish?", "--limit", "10")
    assert code == 0
    head, why, *lines = output.splitlines()
    assert re.fullmatch(r" 1 lib/store\.py:\d+  Store(\.replenish)? \((class|method)\)  0\.\d\d", head)
    assert "words #1" in why
    assert any(re.match(r" +\d+[:-]  +def replenish\(self, number\):", line) for line in lines)
    route, *_, count = errors.splitlines()
    assert route == "note: semantic: asks in words: how does the store replenish"
    assert re.fullmatch(r"note: \d files? in \d+\.\d ms", count)
    assert run(daemon, root, "how does the store replenish?", "--limit", "10", "-q") == (0, output, "")


def test_an_agent_gets_one_place_whole_or_a_few(daemon: DaemonProcess, root: Path) -> None:
    code, output, _ = run(daemon, root, "Store.replenish")
    head, *lines = output.splitlines()
    assert (code, head) == (0, "lib/store.py:2-62 Store.replenish (method)")
    assert lines[0] == "2     def replenish(self, number):"
    assert "61         self.step(number, 59)" in lines[:-2] or "62         self.step(number, 59)" in lines
    code, output, _ = run(daemon, root, "who calls login?")
    assert (code, len(output.splitlines())) == (0, 1), "a line for each reference"
    code, output, _ = run(daemon, root, "session login total")
    heads = [line for line in output.splitlines() if re.match(r"\S+:\d+-\d+", line)]
    assert code == 0
    assert 1 <= len(heads) <= 4


@pytest.mark.parametrize(
    ("relation", "question", "expected"),
    [
        ("callers", "login", ["src/shop/cart.py"]),
        ("callers", "Wer ruft `login` auf?", ["src/shop/cart.py"]),
        ("importers", "src/shop/auth.py", ["src/shop/cart.py"]),
        ("callees", "main", ["web/money.ts"]),
        ("connection", "checkout login", ["src/shop/cart.py", "src/shop/auth.py"]),
        ("callers", "checkout", []),
    ],
)
def test_a_relation_is_answered_by_the_graph_alone(
    daemon: DaemonProcess, root: Path, relation: str, question: str, expected: list[str]
) -> None:
    assert found(daemon, root, question, "--relation", relation) == expected


def test_an_unknown_or_contradicted_relation_is_refused(daemon: DaemonProcess, root: Path) -> None:
    code, output, errors = run(daemon, root, "login", "--relation", "caller")
    assert (code, output) == (1, "")
    assert "relation" in errors
    assert "callers" in errors
    code, output, errors = run(daemon, root, "login", "--relation", "callers", "--route", "semantic")
    assert (code, output) == (1, "")
    assert "relation is answered by the structure, not by the route semantic" in errors


def test_nothing_found_is_grep_s_exit_code(daemon: DaemonProcess, root: Path) -> None:
    code, output, errors = run(daemon, root, "zzyzx qwfpgj")
    assert (code, output) == (1, "")
    assert re.search(r"^note: nothing found in \d+\.\d ms: nothing in the project has ", errors, re.MULTILINE)
    assert run(daemon, root, "zzyzx qwfpgj", "-q") == (1, "", "")
    code, output, errors = run(daemon, root, "")
    assert (code, output) == (1, "")
    assert "the question is empty" in errors
    assert found(daemon, root, "zzyzx qwfpgj") == []


def test_the_question_can_come_from_the_input(daemon: DaemonProcess, root: Path) -> None:
    trace = (
        b"Traceback (most recent call last):\n"
        b'  File "/srv/app/src/shop/cart.py", line 5, in checkout\n'
        b"    login('x')\nTypeError: boom \xff\n"
    )
    code, output, errors = run(daemon, root, "-", given=trace)
    assert code == 0
    assert output.startswith("src/shop/cart.py:")
    assert "note: hybrid: " in errors
    code, output, errors = run(daemon, root, "-", given=b"x" * (17 << 20))
    assert (code, output) == (1, "")
    assert errors.startswith("error: the question is larger than 16,777,216 bytes\n")


def test_filters(daemon: DaemonProcess, root: Path) -> None:
    def check(arguments: list[str], expected: set[str]) -> None:
        assert set(found(daemon, root, "session login total", *arguments)) == expected

    shop = {"src/shop/auth.py", "src/shop/sessions.py", "src/shop/cart.py"}
    check(["--path", "src/shop"], shop)
    check(["--path", "src/shop/"], shop)
    check(["--path", "src/sho"], {*shop, "src/shopping.py"})
    check(["--path", "."], {*shop, "src/shopping.py", "web/money.ts", "web/app.ts"})
    check(["--path", str(root / "web")], {"web/money.ts", "web/app.ts"})
    check(["--glob", "{auth,money}.*"], {"src/shop/auth.py", "web/money.ts"})
    check(["--language", "typescript"], {"web/money.ts", "web/app.ts"})
    check(
        ["--language", "typescript", "--language", "python", "--glob", "s*"],
        {*shop, "src/shopping.py"} - {"src/shop/auth.py", "src/shop/cart.py"},
    )
    assert found(daemon, root, "replenish", "--kind", "method", "--kind", "section") == ["lib/store.py"]
    assert found(daemon, root, "replenish", "--kind", "section") == []
    check(["--symbol", "Session"], {"src/shop/sessions.py"})
    check(["--since", "1h", "--path", "web/money.ts"], {"web/money.ts"})
    check(["--since", "2999-01-01"], set())
    check(["--min-score", "1"], set())
    assert len(found(daemon, root, "session login total", "--limit", "2")) == 2


def test_a_route_can_be_forced(daemon: DaemonProcess, root: Path) -> None:
    question = "who imports src/shop/auth.py?"
    assert found(daemon, root, question) == ["src/shop/cart.py"]
    _, output, errors = run(daemon, root, question)
    assert output == "src/shop/cart.py:1    from .auth import login  [via src/shop/auth.py]\n"
    assert errors.startswith("note: structural: ")
    _, _, errors = run(daemon, root, question, "--route", "semantic")
    assert "; the caller chose semantic over structural" in errors


def test_places_are_seen_from_where_the_user_is(daemon: DaemonProcess, root: Path, tmp_path: Path) -> None:
    def first(cwd: Path, *arguments: str) -> str:
        code, output, errors = run(daemon, cwd, "expire a session", "-q", *arguments)
        assert (code, errors) == (0, "")
        return output.split(":")[0].split()[0]

    assert first(root) == "src/shop/sessions.py"
    assert first(root / "web") == "../src/shop/sessions.py"
    assert first(root / "src" / "shop", "--path", ".") == "sessions.py"
    assert first(root / "src", "--path", "shop") == "shop/sessions.py"
    assert first(tmp_path, "--cwd", str(root)) == str(root / "src/shop/sessions.py")


def test_a_question_may_begin_with_a_dash(daemon: DaemonProcess, root: Path) -> None:
    assert found(daemon, root, "--", "--replenish")[0] == "lib/store.py"


def test_a_scope_asks(daemon: DaemonProcess, root: Path) -> None:
    scope = daemon.call("GetContext", cwd=str(root), focus_paths=["src/shop/cart.py"])["scope_id"]
    assert found(daemon, root, "login session")[0] != "src/shop/cart.py"
    assert found(daemon, root, "login session", "--scope", scope)[0] == "src/shop/cart.py"


def test_a_project_seen_for_the_first_time_is_read_before(daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(
        tmp_path / "new", {f"f{number}.py": f"def name{number}(): pass\n" for number in range(300)}
    )
    git(root, "init", "-q")
    assert found(daemon, root, "name299")[0] == "f299.py"


def test_errors(daemon: DaemonProcess, root: Path) -> None:
    def check(arguments: list[str], code: int, error: str) -> None:
        status, output, errors = run(daemon, root, *arguments)
        assert (status, output) == (code, "")
        assert errors.startswith(f"error: {error}")
        assert "Traceback" not in errors

    check([], 2, "missing argument 'QUESTION'")
    check(
        ["how", "do", "we"], 2, "got unexpected extra arguments (do we)\nhint: put the question into quotes"
    )
    check(["x", "--language", "pyton"], 1, "--language has the unknown name 'pyton'; is it python")
    check(["x", "--glob", "!a"], 1, "--glob can't be used: ")
    check(["x", "--glob", "src/[ab"], 1, "--glob can't be used: nothing closes the '[' in 'src/[ab'")
    check(["x", "--kind", "clas"], 1, "--kind has the unknown name 'clas'; is it class? here there can be ")
    check(["x", "--path", "/etc"], 1, "/etc/ lies outside of the project ")
    check(["x", "--since", "yesterday"], 2, "invalid value for '--since': yesterday is no time: write ")
    check(["x", "--since", "999999w"], 2, "invalid value for '--since': 999999w is no time")
    check(["x", "--limit", "-1"], 2, "invalid value for '--limit'")
    check(["x", "--limit", "0"], 2, "invalid value for '--limit': 0 is not in the range 1<=x<=1000")
    check(["x", "--min-score", "2"], 2, "invalid value for '--min-score'")
    check(["x", "--route", "astral"], 2, "invalid value for '--route'")
    check(["x", "--scope", "none"], 1, "no scope 'none'")
    check(["x", "--cwd", "nowhere"], 2, "invalid value for '--cwd': nowhere is not a folder")


def test_a_terminal_gets_colours_and_a_pipe_the_very_text(daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", {"a.py": 'def parse():\n    return "\x1b]0;pwned\x07"\n'})
    git(root, "init", "-q")
    daemon.open_ready(root)
    assert "\x1b]0;pwned\x07" in run(daemon, root, "parse", "-q")[1]
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "foveal", "query", "parse"]
    with subprocess.Popen(
        command, cwd=root, env=daemon.environ | {"TERM": "xterm"}, stdout=theirs, stderr=theirs
    ):
        os.close(theirs)
        seen = b""
        try:
            while data := os.read(ours, 65536):
                seen += data
        except OSError:  # how Linux ends a terminal whose other side is closed
            pass
    os.close(ours)
    assert b"\x1b[35m\x1b[1ma.py\x1b[0m:\x1b[32m1\x1b[0m" in seen
    assert b"\x1b[94mdef\x1b[0m" in seen
    assert b"\x1b]0;" not in seen
    assert b"\x1b[2mnote: hybrid: " in seen


def test_remarks() -> None:
    reply: dict[str, Any] = {"route": "hybrid", "evidence": ["a", "b"], "degraded": [], "elapsed_ms": 1.25}

    def check(changes: dict[str, Any], expected: list[str]) -> None:
        assert list(remarks({**reply, "results": [{"path": "a.py"}], **changes})) == expected

    check({}, ["hybrid: a; b", "1 file in 1.2 ms"])
    check({"degraded": ["no words"]}, ["hybrid: a; b", "degraded: no words", "1 file in 1.2 ms"])
    check({"evidence": []}, ["hybrid", "1 file in 1.2 ms"])
    places = [{"path": path} for path in ("a.py", "b.py", "a.py")]
    check({"results": places[:2]}, ["hybrid: a; b", "2 files in 1.2 ms"])
    check({"results": places}, ["hybrid: a; b", "3 places of 2 files in 1.2 ms"])
    references = [{**place, "certainty": "name"} for place in places]
    check({"results": references}, ["hybrid: a; b", "3 places of 2 files in 1.2 ms"])
    check({"results": references[1:2]}, ["hybrid: a; b", "1 place in 1.2 ms"])
    check({"results": []}, ["hybrid: a; b", "nothing found in 1.2 ms"])
    check({"results": [], "hint": "ask"}, ["hybrid: a; b", "nothing found in 1.2 ms: ask"])
