"""Help beside an agent's own search over a real daemon: rare, short, masked, and said once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from foveal.daemon.context.tokens import ESTIMATE
from foveal.daemon.context.tool_help import (
    CHOICE_MAX,
    CHOICE_TOKENS,
    NO_HELP,
    NOTHING_TOKENS,
    OUTLINE_TOKENS,
    HelpRequest,
    ToolHelpService,
)
from foveal.daemon.core.storage import DatabaseError
from foveal.daemon.privacy.policy import NO_POLICY
from foveal.hooks.hosts.tool_uses import ToolUse

from tests.conftest import DaemonProcess, write_files
from tests.daemon.test_hooks import context

TASK = "Why does the retry of a payment wait too long before the next attempt?"
KEY = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"


MISSPELT: dict[str, Any] = {
    "tool_name": "Bash",
    "tool_input": {"command": "rg -n atempt_delay"},
    "tool_response": {"stdout": "", "stderr": ""},
}


def body(name: str, text: str) -> str:
    return f"def {name}(order):\n    {text}\n    return order\n\n\n"


LONG = [f"reconcile_settlement_of_all_open_orders_{end}" for end in ("daily", "weekly", "yearly")]
PROJECT = {
    **{
        f"src/accounting/settlement/of_year_{year}.py": "".join(
            body(name, "return order.everything_that_was_settled_until_the_end_of(order.year, order.month)")
            for name in LONG
        )
        for year in range(3)
    },
    "foveal.toml": "[context]\nhook_tokens = 1\n",  # or the prompt's context would say it before
    "src/payment.py": body("retry_payment", "wait = attempt_delay(order)  # before the next attempt")
    + body("attempt_delay", "delay = 2 ** order.attempts")
    + body("charge_card", f'key = "{KEY}"'),
    "src/long.py": "".join(body(f"helper_{number}", "order.check()") for number in range(130))
    + body("payment_backoff", "delay = order.retry  # how long a payment waits"),
    "src/short.py": body("ship", "order.send()"),
    **{f"src/part_{number}.py": body(f"part_{number}", "order.check()") for number in range(40)},
}


@pytest.fixture(scope="module")
def asked(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give what runs a tool in a session that has a task: (session, command, output) -> text."""
    root = write_files(tmp_path_factory.mktemp("help") / "shop", PROJECT)
    shared_daemon.call("Ping")
    shared_daemon.open_ready(root)
    begun: set[str] = set()
    calls = iter(range(1_000))

    def run(session: str, command: str, output: str, **changed: Any) -> str:
        sid = {"session_id": session}
        if session not in begun:
            context(shared_daemon, root, "claude-code", "SessionStart", **sid)
            context(shared_daemon, root, "claude-code", "UserPromptSubmit", prompt=TASK, **sid)
            begun.add(session)
        fields: dict[str, Any] = {
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "tool_response": {"stdout": output, "stderr": ""},
            "tool_use_id": f"t{next(calls)}",
            **sid,
            **changed,
        }
        return context(shared_daemon, root, "claude-code", "PostToolUse", **fields)

    return run


def test_nothing_found_brings_near_names(asked: Any) -> None:
    text = asked("near", "rg -n atempt_delay src", "")
    assert "src/payment.py:6-8 attempt_delay — def attempt_delay(order):" in text
    assert ESTIMATE.count(text) <= NOTHING_TOKENS
    assert asked("near", "rg -n atempt_delay", "") == "", "it was said"
    assert "attempt_delay" in asked("near2", "rg -n atempt_delay", "")


def test_what_the_agent_of_a_session_may_not_see_is_not_named(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    files = {
        "foveal.toml": "[context]\nhook_tokens = 1\n[agents.intern]\ndeny_paths = ['secret/**']\n",
        "secret/vault.py": body("open_vault", "order.open()"),
        "src/shop.py": body("close_shop", "order.close()"),
    }
    root = write_files(tmp_path / "shop", files)
    shared_daemon.open_ready(root)
    for agent, names_it in (("intern", False), ("", True)):
        name = {"agent_name": agent} if agent else {}
        session = shared_daemon.call("CreateSession", cwd=str(root), **name)["session_id"]
        missed = {**MISSPELT, "tool_input": {"command": "rg -n open_valut"}}
        text = context(shared_daemon, root, "claude-code", "PostToolUse", session_id=session, **missed)
        assert ("open_vault" in text) is names_it, "hooks name no agent"


def test_name_outside_of_the_folder_searched_is_told(asked: Any) -> None:
    assert "src/payment.py:6-8 attempt_delay" in asked("where", "rg -n 'attempt_delay\\(' tests", "")


def test_help_is_cut_at_its_tokens(asked: Any) -> None:
    text = asked("cut", f"rg -n '{'|'.join(LONG)}' tests", "")
    assert text.count(" — ") >= 3
    assert NOTHING_TOKENS - 60 < ESTIMATE.count(text) <= NOTHING_TOKENS


def test_many_hits_are_narrowed_to_what_fits_the_task(asked: Any) -> None:
    names = [name for name in PROJECT if "part" in name]
    lines = [f"{name}:2:    order.check()" for name in names]
    assert asked("many", "rg -n order src", "\n".join(lines[:30])) == "", "few enough to read"
    output = "\n".join([*lines, "src/payment.py:2:    wait = attempt_delay(order)"])
    text = asked("many", "rg -n order src", output)
    assert f"Of {len(lines) + 1} hits" in text
    assert "src/payment.py:1-3 retry_payment — wait = attempt_delay(order)" in text
    assert text.count(" — ") <= CHOICE_MAX
    assert ESTIMATE.count(text) <= CHOICE_TOKENS
    assert "attempt_delay —" not in text, "it has no hit"
    assert asked("many", "rg -n order .", output) == "", "it was said"


def test_hits_outside_of_the_project_do_not_count(asked: Any) -> None:
    output = "\n".join(f"/usr/lib/part.py:{number}:order" for number in range(60))
    output += "\nsrc/payment.py:2:    wait = attempt_delay(order)"
    assert asked("outside", "rg -n order /usr/lib src", output) == ""


def test_long_file_read_whole_brings_its_outline_once(asked: Any) -> None:
    text = asked("long", "cat src/long.py", PROJECT["src/long.py"])
    assert "src/long.py has 655 lines." in text
    assert "src/long.py:651-653 payment_backoff — delay = order.retry" in text
    assert "1-3 helper_0\n" in text
    assert "smaller ones" in text
    assert ESTIMATE.count(text) <= OUTLINE_TOKENS
    read = {"tool_name": "Read", "tool_input": {"file_path": "src/long.py"}, "tool_response": {}}
    assert asked("long", "", "", **read) == "", "it was said"
    assert "655 lines" in asked("long2", "", "", **read)
    part = {**read, "tool_input": {"file_path": "src/long.py", "offset": 10}}
    assert asked("long3", "", "", **part) == "", "only a part was read"
    assert asked("long3", "cat src/short.py", PROJECT["src/short.py"]) == ""


def test_other_tools_are_answered_with_nothing(asked: Any) -> None:
    assert asked("other", "make test", "") == ""
    assert asked("other", "rg -n ship src", "src/short.py:1:def ship(order):") == ""


def test_secrets_are_masked(asked: Any) -> None:
    text = asked("secret", "rg -n charge_crad", "")
    assert "charge_card" in text
    assert KEY not in text


def test_what_the_context_showed_is_not_said_again(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop", {**PROJECT, "foveal.toml": ""})
    shared_daemon.open_ready(root)
    sid = {"session_id": "held"}
    context(shared_daemon, root, "claude-code", "SessionStart", **sid)
    shown = context(shared_daemon, root, "claude-code", "UserPromptSubmit", prompt=TASK, **sid)
    assert "retry_payment" in shown
    assert "payment.py:" not in context(shared_daemon, root, "claude-code", "PostToolUse", **MISSPELT, **sid)


@pytest.mark.parametrize("limit", [0, 20, 100])
def test_help_is_within_the_limit_of_the_agent(
    shared_daemon: DaemonProcess, tmp_path: Path, limit: int
) -> None:
    settings = f"{PROJECT['foveal.toml']}[agents.claude-code]\nmax_tokens = {limit}\n"
    root = write_files(tmp_path / "shop", {**PROJECT, "foveal.toml": settings})
    shared_daemon.open_ready(root)
    sid = {"session_id": f"limit{limit}"}
    context(shared_daemon, root, "claude-code", "SessionStart", **sid)
    context(shared_daemon, root, "claude-code", "UserPromptSubmit", prompt=TASK, **sid)
    text = context(shared_daemon, root, "claude-code", "PostToolUse", **MISSPELT, **sid)
    assert ("attempt_delay" in text) == (limit == 100)
    assert ESTIMATE.count(text) <= limit
    read = {"tool_name": "Read", "tool_input": {"file_path": "src/long.py"}, "tool_response": {}}
    text = context(shared_daemon, root, "claude-code", "PostToolUse", **read, **sid, tool_use_id="t2")
    assert bool(text) == (limit == 100)
    assert ESTIMATE.count(text) <= limit


def test_index_that_cannot_be_read_brings_no_help() -> None:
    def reader() -> NoReturn:
        raise DatabaseError("there is no index")

    async def called(run: Callable[[], object]) -> object:
        return run()

    tree = SimpleNamespace(root="/w", files={"long.py": None})
    snapshot = SimpleNamespace(tree=tree, reader=reader, policy=NO_POLICY)
    config = SimpleNamespace(context=SimpleNamespace(tool_help=True, hook_tokens=1))
    state = SimpleNamespace(searchable=True)
    project: Any = SimpleNamespace(config=config, index_state=state, snapshot=lambda _: snapshot)
    work: Any = SimpleNamespace(in_builder=called)
    searching: Any = None
    request = HelpRequest(ToolUse(read="long.py"), "/w", TASK, lambda _: False)
    helping = ToolHelpService(searching, work).help(project, NO_POLICY, request, 100)
    assert asyncio.run(helping) == NO_HELP


@pytest.mark.parametrize("setting", ["tool_help = false", "hook_tokens = 0"])
def test_setting_turns_help_off(shared_daemon: DaemonProcess, tmp_path: Path, setting: str) -> None:
    files = {**PROJECT, "foveal.toml": f"[context]\n{setting}\n"}
    root = write_files(tmp_path / "shop", files)
    shared_daemon.open_ready(root)
    sid = {"session_id": f"off_{setting[:4]}"}
    context(shared_daemon, root, "claude-code", "SessionStart", **sid)
    context(shared_daemon, root, "claude-code", "UserPromptSubmit", prompt=TASK, **sid)
    assert context(shared_daemon, root, "claude-code", "PostToolUse", **MISSPELT, **sid) == ""
