"""The limits that docs/reliability.md names are those of the code."""

from __future__ import annotations

import pytest
from foveal.benchmarks.mutations.mutation import ROOT
from foveal.daemon.access.service import dashboard
from foveal.daemon.compression import compress, model_compressor
from foveal.daemon.context import built, sent_content
from foveal.daemon.core import storage, write_behind
from foveal.daemon.core.system import RACY_NS
from foveal.daemon.hooks import payloads, responder
from foveal.daemon.index import chunk_table, crash_guard, symbol_cache
from foveal.daemon.memory import pool_file
from foveal.daemon.sessions import session_store
from foveal.daemon.sessions.records import DeliveryLimits
from foveal.daemon.workspace import hot_files
from foveal.hooks import spool
from foveal.ipc.connection import HEAVY_BYTES, Limits
from foveal.ipc.holdings import TURN_MESSAGES

PAGE = " ".join((ROOT / "docs" / "reliability.md").read_text(encoding="utf-8").split())

IPC, LOG = Limits(), DeliveryLimits()
MB = 1 << 20
WORDS = {2: "twice", 4: "four"}

PHRASES = (
    f"{IPC.partial_bytes // MB} MB of incomplete frames",
    f"{IPC.working_bytes // MB} MB of large requests being worked on",
    f"{IPC.heavy_bytes_a_second // MB} MB a second of decoded frames above {HEAVY_BYTES // MB} MB",
    f"{IPC.unread_bytes // MB} MB of unread replies",
    f"gets {WORDS[TURN_MESSAGES]} messages a turn",
    f"has at most {IPC.process_requests_in_flight:,} requests being worked on",
    f"{IPC.events_queued:,} events per connection; connections: {IPC.connections:,}, or",
    f"A file that crashes or hangs the indexer {WORDS[crash_guard.DEATHS_MAX]} is left out",
    f"{built.BYTES_MAX // MB} MB for all scopes together",
    f"{sent_content.WINDOWS_MAX:,} conversations, {sent_content.SLICES_MAX:,} slices each",
    f"{sent_content.HELD_MAX:,} slices in total",
    f"`history.days`, and {LOG.max_contexts:,} contexts |",
    f"{compress.KEPT_CHARACTERS / 1_000_000} million characters; {chunk_table.UNPACKED_BYTES // 1_000_000} MB; ",
    f"; {model_compressor.ANSWERS_CHARACTERS // 1_000_000} million characters",
    f"records for {LOG.record_days} days; {LOG.max_per_session:,} records per session, {LOG.max_requests:,} in total",
    f"{LOG.entries_per_session:,} entries per session",
    f"{write_behind.WAITING_BYTES // MB} MB waiting to be written | `test_write_behind.py`",
    f"{session_store.MAX_SESSIONS:,} on disk, none whole in memory",
    f"parts of {pool_file.ROTATE_BYTES // 1_000_000} MB",
    f"cut to {storage.WAL_BYTES // MB} MB at a checkpoint",
    f"{responder.WINDOWS_MAX:,}; {payloads.EVENTS_MAX:,}; {spool.MAX_FILES} files of {spool.MAX_BYTES // MB} MB",
    f"{hot_files.BUFFERS_MAX} a project, {hot_files.BUFFER_CHARACTERS // 1_000_000} million characters each",
    f"{symbol_cache.SYMBOLS_MAX:,} definitions of about 350 bytes",
    f"less than {RACY_NS // 1_000_000} ms back",
)  # fmt: skip


@pytest.mark.parametrize("phrase", PHRASES)
def test_the_page_names_the_limits_of_the_code(phrase: str) -> None:
    assert phrase in PAGE


def test_logins_have_a_limit_too() -> None:
    assert "dashboard logins and unused codes | a fixed number" in PAGE
    assert max(dashboard.CODES_MAX, dashboard.SESSIONS_MAX) <= 100
