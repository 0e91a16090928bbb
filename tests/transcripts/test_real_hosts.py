"""Decisions and touched files are found in the transcripts that real hosts wrote (tests/host_transcripts)."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.transcripts.miner import mine

SAMPLES = Path(__file__).parents[1] / "host_transcripts"
Expected = tuple[str, str, str, str]
"""A finding's agent, the beginnings of its decision and its rationale, and its file."""

ROOT = "/home/dev/project/"
COUNTER = ("", "I put the counter into its own module", "Nothing else needs it")
BUFFER = ("I decided to keep one buffer per response", "Responses may be cancelled")
LENGTH = ("I decided to compare the total body", "Streamed responses")
GZIP = "starlette/middleware/gzip.py"
CLAUDE, CODEX, OLD_CODEX = (
    "a832dcec9e5befdba", "01a206be-524e-72e2-a806-e9ad54fcbfe4", "01a206bc-1835-71d3-967d-cf720d8a2a23",
)  # fmt: skip
COPILOT = "0838d498-86a4-4047-835c-40a0ef49544b"
QWEN = "general-purpose-call_9a8c72015506"
CLINE = "agent_1795886465679_o89c0f"
OPENCODE, EXPLORER = "ses_df5ce342effef1M07TfhlOdsh7", "ses_df5cdbfd2ffeH2pRvcB35n8tkC"


def sample(name: str) -> Path:
    """Return a transcript; Cline's are each one object."""
    return SAMPLES / (f"{name}.messages.json" if name.startswith("cline/") else f"{name}.jsonl")


@pytest.mark.parametrize(
    ("name", "owner", "expected"),
    [
        (
            "claude-code/main-transcript",
            "",
            [("", "I decided to parse the docstrings lazily", "Most applications", "starlette/schemas.py")],
        ),
        ("claude-code/main-transcript-background-compact", "", []),
        (
            "claude-code/subagent-transcript",  # it read a file, ran a command and edited nothing
            CLAUDE,
            [(CLAUDE, "I decided to keep the minimum size check", "The responder cannot see", GZIP)],
        ),
        (
            "codex/rollout-direct-apply-patch",
            "",
            [("", "I chose a plain function instead", "There is no state", "starlette/_okapi.py")],
        ),
        ("codex/rollout-codemode-edit", "", [(*COUNTER, "starlette/_kudu.py")]),
        ("codex/rollout-codemode-subagent", CODEX, [(CODEX, *LENGTH, GZIP)]),
        # the report of its subagent, which has a rollout of its own
        ("codex/rollout-codemode-parent", "", [("/home/dev/gzip_study", *LENGTH, "")]),
        (
            "codex/rollout-multi-agent-v1-subagent",  # its patch failed, so it edited nothing
            OLD_CODEX,
            [(OLD_CODEX, "I decided to compare the whole body length", "Streamed responses", "")],
        ),
        ("copilot/events-edit", "", [(*COUNTER, "starlette/_gnu.py")]),
        ("copilot/events-subagent", "", [(COPILOT, *BUFFER, GZIP)]),  # one file holds both agents
        ("gemini/chat-session", "", [(*COUNTER, "starlette/_impala.py")]),
        ("qwen-code/main-transcript", "", []),  # its only edit was refused
        ("qwen-code/subagent-transcript", QWEN, [(QWEN, *BUFFER, GZIP)]),
        (
            "cline/main-edit",
            "",
            [("", "I decided to copy the headers", "The first request", "httpx/_client.py")],
        ),
        ("cline/main-delegates", "", []),
        (
            "droid/session",
            "",
            [("", "I decided to read the docstrings once", "Most applications", "starlette/schemas.py")],
        ),
        (
            "cline/subagent",
            CLINE,
            [(CLINE, "I chose to name the nonce counter", "Two clients", "httpx/_auth.py")],
        ),
        ("opencode/main-edit", "", [(*COUNTER, "pkg/gzip.py")]),
        ("opencode/main-delegates", "", []),
        ("opencode/subagent", OPENCODE, [(OPENCODE, *BUFFER, "pkg/gzip.py")]),
        (
            "opencode/explorer",  # it only read
            EXPLORER,
            [(EXPLORER, "I decided to keep the size check", "The header is known only there", "pkg/gzip.py")],
        ),
    ],
)
def test_decisions_of_real_hosts_are_found(name: str, owner: str, expected: list[Expected]) -> None:
    mined = mine(str(sample(name)), None)
    cwd = "" if mined.source in {"gemini", "cline"} else ROOT.rstrip("/")
    assert (mined.owner, mined.cwd, mined.finished) == (owner, cwd, True)
    assert mined.skipped_lines == 0
    assert len(mined.findings) == len(expected)
    for finding, (agent, decision, rationale, file) in zip(mined.findings, expected, strict=True):
        assert finding.agent_id == agent
        assert finding.decision.startswith(decision)
        assert finding.rationale.startswith(rationale)
        assert [path.removeprefix(ROOT) for path in finding.files] == [file] * bool(file)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-code/main-transcript", "read starlette/schemas.py, edited starlette/schemas.py"),
        ("claude-code/main-transcript-background-compact", "named starlette/routing.py"),
        ("claude-code/subagent-transcript", f"read {GZIP}"),
        ("codex/rollout-codemode-edit", "edited starlette/_kudu.py, named applications.py"),
        ("codex/rollout-codemode-subagent", f"read {GZIP}, edited {GZIP}"),
        ("codex/rollout-direct-apply-patch", "edited starlette/_okapi.py"),
        ("codex/rollout-multi-agent-v1-subagent", f"read {GZIP}"),
        (
            "copilot/events-edit",
            "edited starlette/_gnu.py, read starlette/schemas.py, named applications.py",
        ),
        ("copilot/events-subagent", f"read {GZIP}, edited {GZIP}"),
        (
            "gemini/chat-session",
            "edited starlette/_impala.py, named applications.py, named starlette/routing.py",
        ),
        ("qwen-code/main-transcript", "named applications.py, named starlette/routing.py"),
        ("qwen-code/subagent-transcript", f"read {GZIP}"),  # its edit failed
        ("droid/session", "read starlette/schemas.py, edited starlette/schemas.py"),
        ("cline/main-edit", "read httpx/_client.py, edited httpx/_client.py"),
        ("cline/subagent", "read httpx/_auth.py, edited httpx/_auth.py"),
        ("opencode/main-edit", "read pkg/gzip.py, edited pkg/gzip.py, named applications.py"),
    ],
)
def test_activities_in_transcripts_of_real_hosts(name: str, expected: str) -> None:
    mined = mine(str(sample(name)), None)
    found = {f"{item.how} {item.path.removeprefix(ROOT)}" for item in mined.activity}
    assert found == set(expected.split(", "))
    assert all(item.first and item.first <= item.last for item in mined.activity)
