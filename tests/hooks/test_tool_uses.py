"""What an agent's own tool searched or read, from the calls and outputs of all hosts."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.hooks.hosts.fields import Fields
from foveal.hooks.hosts.tool_uses import PATTERN_MAX, PLACES_MAX, ToolUse, tool_use

HITS = "src/a.py:3:def pay():\n./src/b.py:7:    pay()\nsrc/b.py-8-    done()\n--\n"
PLACES = (("src/a.py", 3), ("src/b.py", 7))


def of_bash(command: str, stdout: str = "", stderr: str = "") -> ToolUse | None:
    response = {"stdout": stdout, "stderr": stderr, "interrupted": False}
    given = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": response}
    return tool_use(Fields(given))


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("rg -n pay", "pay"),
        ("rg -n 'pay|refund' src tests | head -50", "pay|refund"),
        ('grep -rn "pay" src/ 2>/dev/null | sort | uniq', "pay"),
        ("grep -rn --include='*.py' pay . || true", "pay"),
        ("grep -rnE -A 3 pay src", "pay"),
        ("grep -rn -e pay src", "pay"),
        ("/usr/bin/rg -g '*.py' -t py --max-count 3 -- pay src", "pay"),
        ("git grep -n pay", "pay"),
    ],
)
def test_searches_of_a_shell(command: str, pattern: str) -> None:
    assert of_bash(command) == ToolUse(pattern)
    assert of_bash(command, HITS) == ToolUse(pattern, places=PLACES)


@pytest.mark.parametrize(
    "command",
    [
        "ls src",
        "rg -c pay",
        "rg --count pay",
        "grep -v pay src/a.py",
        "grep -q pay src/a.py",
        "rg pay | xargs sed -i s/pay/buy/",
        "rg pay | wc -l",
        "rg pay && make",
        "rg $(cat names)",
        "rg pay > found",
        "rg 'pay",
        "rg pay\nrg refund",
        "rg " + "x" * (PATTERN_MAX + 1),
        "find . -name '*.pyc' -delete",
        "find . -type f",
        "make test",
        "",
    ],
)
def test_other_commands_say_nothing(command: str) -> None:
    assert of_bash(command, HITS) is None
    assert of_bash(command) is None


def test_a_search_that_failed_found_nothing_out() -> None:
    assert of_bash("grep -rn pay nowhere", stderr="grep: nowhere: No such file or directory") is None


def test_the_folder_and_the_only_file_of_a_search_belong_to_its_places() -> None:
    moved = of_bash("cd /w/shop && rg -n pay", HITS)
    assert moved == ToolUse("pay", places=(("/w/shop/src/a.py", 3), ("/w/shop/src/b.py", 7)))
    assert of_bash("rg -n pay src/a.py", "3:def pay():\n") == ToolUse("pay", places=(("src/a.py", 3),))
    assert of_bash("grep -n x src/a.py", "10:20: x\n") == ToolUse("x", places=(("src/a.py", 10),))
    assert of_bash("rg pay src/a.py", "def pay():\n") == ToolUse("pay", places=(("src/a.py", 0),))
    assert of_bash("rg pay", "src/a.py:def pay():\n") == ToolUse("pay", places=(("src/a.py", 0),))


def test_names_of_files_are_searched() -> None:
    listed = "./src/a.py\n./src/b.py\n"
    places = (("src/a.py", 0), ("src/b.py", 0))
    assert of_bash("find . -name '*.py'", listed) == ToolUse("*.py", places=places)
    assert of_bash("fd pay src") == ToolUse("pay")
    for options in ("-e java", "--extension java", "--extension=java", "-HIe java", "-E build -e java"):
        assert of_bash(f"fd {options} UserService") == ToolUse("UserService"), options
    assert of_bash("fd pay -x wc") is None


def test_whole_files_are_read() -> None:
    assert of_bash("cat src/a.py", "def pay():\n") == ToolUse(read="src/a.py")
    assert of_bash("cat src/a.py | head", "def pay():\n") is None
    for tool, name in (("Read", "file_path"), ("read_file", "absolute_path"), ("view", "path")):
        given: dict[str, Any] = {"tool_name": tool, "tool_input": {name: "/w/a.py"}}
        assert tool_use(Fields(given)) == ToolUse(read="/w/a.py")
        part = {"tool_name": tool, "tool_input": {name: "/w/a.py", "offset": 3}}
        assert tool_use(Fields(part)) is None


@pytest.mark.parametrize(
    ("tool", "response", "places"),
    [
        ("Grep", {"mode": "files_with_matches", "filenames": [], "numFiles": 0}, ()),
        ("Grep", {"filenames": ["src/a.py"], "numFiles": 1}, (("src/a.py", 0),)),
        ("Grep", {"mode": "content", "filenames": [], "content": HITS}, PLACES),
        ("grep", {"textResultForLlm": HITS, "resultType": "success"}, PLACES),
        ("grep", {"textResultForLlm": "No matches found.", "resultType": "success"}, ()),
        ("grep_search", {"llmContent": 'No matches found for pattern "pay".'}, ()),
        (
            "grep_search",
            {
                "llmContent": "Found 2 matches:\n---\nFile: src/a.py\nL3: def pay():\n---\nFile: src/b.py\nL7: pay()"
            },
            PLACES,
        ),
        (
            "grep",
            "Found 2 matches\n/w/a.py:\n  Line 3: def pay():\n  Line 7: pay()\n",
            (("/w/a.py", 3), ("/w/a.py", 7)),
        ),
        (
            "grep",
            "[grep content: 2 matches]\n\nsrc/a.py (1 match(es)):\n  3: pay\n\nsrc/b.py (1 match(es)):\n  7: pay",
            PLACES,
        ),
    ],
)
def test_search_tools(tool: str, response: Any, places: tuple[tuple[str, int], ...]) -> None:
    given = {"tool_name": tool, "tool_input": {"pattern": "pay"}, "tool_response": response}
    assert tool_use(Fields(given)) == ToolUse("pay", places=places)


def test_output_of_a_command_may_be_framed() -> None:
    def framed(output: str) -> dict[str, Any]:
        text = f"Command: rg -n pay\nDirectory: (root)\nOutput: {output}\nError: (none)\nExit Code: 1\n"
        call = {"tool_name": "run_shell_command", "tool_input": {"command": "rg -n pay"}}
        return {**call, "tool_response": {"llmContent": text}}

    call = {"tool_name": "run_shell_command", "tool_input": {"command": "rg -n pay"}}
    text = "<untrusted_context>\nOutput: (empty)\nExit Code: 1\nProcess Group PGID: 9\n</untrusted_context>"
    assert tool_use(Fields({**call, "tool_response": {"llmContent": text}})) == ToolUse("pay")
    shell = {"toolName": "bash", "toolArgs": {"command": "rg -n pay"}}
    status = {"resultType": "success", "textResultForLlm": "\n<shellId: 0 completed with exit code 1>"}
    assert tool_use(Fields({**shell, "toolResult": status})) == ToolUse("pay")
    assert tool_use(Fields(framed("(empty)"))) == ToolUse("pay")
    assert tool_use(Fields(framed("src/a.py:3:pay"))) == ToolUse("pay", places=(("src/a.py", 3),))


def test_failed_and_counting_searches_say_nothing() -> None:
    failed = {"tool_name": "Grep", "tool_input": {"pattern": "pay"}, "tool_response": {"error": "x"}}
    assert tool_use(Fields(failed)) is None
    counting = {"tool_name": "Grep", "tool_input": {"pattern": "pay", "output_mode": "count"}}
    assert tool_use(Fields({**counting, "tool_response": "src/a.py:3"})) is None
    assert tool_use(Fields({"tool_name": "Grep", "tool_input": {"pattern": "pay"}})) is None, "no result"


@pytest.mark.parametrize(
    ("given", "response"),
    [
        ({"run_in_background": True}, {}),
        ({"is_background": True}, {}),
        ({}, {"backgroundTaskId": "b1"}),
        ({}, {"interrupted": True}),
    ],
)
def test_output_that_is_not_there_yet_says_nothing(given: dict[str, Any], response: dict[str, Any]) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "rg -n pay", **given}}
    assert tool_use(Fields({**call, "tool_response": {"stdout": "", "stderr": "", **response}})) is None


def test_later_hits_of_a_search_say_nothing() -> None:
    call = {"tool_name": "Grep", "tool_response": {"filenames": [], "numFiles": 0}}
    assert tool_use(Fields({**call, "tool_input": {"pattern": "pay", "offset": 20}})) is None
    assert tool_use(Fields({**call, "tool_input": {"pattern": "pay", "offset": 0}})) == ToolUse("pay")


def test_many_hits_are_bounded() -> None:
    found = of_bash("rg -n pay", "src/a.py:3:pay\n" * (PLACES_MAX + 10))
    assert found is not None
    assert len(found.places) == PLACES_MAX


@pytest.mark.parametrize("line", ["." * 90_000, "a" * 90_000, " " * 90_000, "(" * 90_000, "a.b/" * 20_000])
def test_long_line_is_read_once(line: str) -> None:
    """Were it read once for each of its characters, this would take minutes."""
    of_bash("rg -n pay src", line)
    of_bash(f"rg {line}", line)
