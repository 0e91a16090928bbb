"""Decisions are found in the transcripts that real hosts wrote (tests/host_transcripts), with their files."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.transcripts.miner import mine

SAMPLES = Path(__file__).parents[1] / "host_transcripts"
Expected = tuple[str, str, str, tuple[str, ...]]
"""A finding's agent, the beginnings of its decision and its rationale, and its files."""

COUNTER = ("I put the counter into its own module", "Nothing else needs it")
BUFFER = ("I decided to keep one buffer per response", "Responses may be cancelled")


@pytest.mark.parametrize(
    ("name", "owner", "expected"),
    [
        (
            "claude-code/main-transcript",
            "",
            [
                (
                    "",
                    "I decided to parse the docstrings lazily",
                    "Most applications",
                    ("starlette/schemas.py",),
                )
            ],
        ),
        ("claude-code/main-transcript-background-compact", "", []),
        (
            "claude-code/subagent-transcript",  # it read a file, ran a command and edited nothing
            "a832dcec9e5befdba",
            [
                (
                    "a832dcec9e5befdba",
                    "I decided to keep the minimum size check in GZipMiddleware",
                    "The responder cannot see the headers",
                    ("starlette/middleware/gzip.py",),
                )
            ],
        ),
        (
            "codex/rollout-direct-apply-patch",
            "",
            [("", "I chose a plain function instead", "There is no state", ("starlette/_okapi.py",))],
        ),
        ("codex/rollout-codemode-edit", "", [("", *COUNTER, ("starlette/_kudu.py",))]),
        (
            "codex/rollout-codemode-subagent",
            "01a206be-524e-72e2-a806-e9ad54fcbfe4",
            [
                (
                    "01a206be-524e-72e2-a806-e9ad54fcbfe4",
                    "I decided to compare the total body length",
                    "Streamed responses",
                    ("starlette/middleware/gzip.py",),
                )
            ],
        ),
        (
            "codex/rollout-codemode-parent",  # the report of its subagent, which has a rollout of its own
            "",
            [("/home/dev/gzip_study", "I decided to compare the total body", "Streamed responses", ())],
        ),
        (
            "codex/rollout-multi-agent-v1-subagent",  # its patch failed, so it edited nothing
            "01a206bc-1835-71d3-967d-cf720d8a2a23",
            [
                (
                    "01a206bc-1835-71d3-967d-cf720d8a2a23",
                    "I decided to compare the whole body length",
                    "Streamed responses",
                    (),
                )
            ],
        ),
        ("copilot/events-edit", "", [("", *COUNTER, ("starlette/_gnu.py",))]),
        (
            "copilot/events-subagent",  # one file holds both agents
            "",
            [("0838d498-86a4-4047-835c-40a0ef49544b", *BUFFER, ("starlette/middleware/gzip.py",))],
        ),
        ("gemini/chat-session", "", [("", *COUNTER, ("starlette/_impala.py",))]),
        ("opencode/main-edit", "", [("", *COUNTER, ("pkg/gzip.py",))]),
        ("opencode/main-delegates", "", []),
        (
            "opencode/subagent",
            "ses_df5ce342effef1M07TfhlOdsh7",
            [("ses_df5ce342effef1M07TfhlOdsh7", *BUFFER, ("pkg/gzip.py",))],
        ),
        (
            "opencode/explorer",  # it only read
            "ses_df5cdbfd2ffeH2pRvcB35n8tkC",
            [
                (
                    "ses_df5cdbfd2ffeH2pRvcB35n8tkC",
                    "I decided to keep the size check in one place",
                    "The header is known only there.",
                    ("pkg/gzip.py",),
                )
            ],
        ),
    ],
)
def test_decisions_of_real_hosts_are_found(name: str, owner: str, expected: list[Expected]) -> None:
    mined = mine(str(SAMPLES / f"{name}.jsonl"), None)
    cwd = "" if mined.source == "gemini" else "/home/dev/project"
    assert (mined.owner, mined.cwd, mined.finished) == (owner, cwd, True)
    assert (mined.skipped_lines, mined.unknown_records) == (0, 0)
    assert len(mined.findings) == len(expected)
    for finding, (agent, decision, rationale, files) in zip(mined.findings, expected, strict=True):
        assert finding.agent_id == agent
        assert finding.decision.startswith(decision)
        assert finding.rationale.startswith(rationale)
        assert tuple(path.removeprefix("/home/dev/project/") for path in finding.files) == files
