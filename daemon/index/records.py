"""The values of `daemon/index` that other rooms may hold."""

from __future__ import annotations

from .chunk_table import ChunkPlace, ChunkText, StoredChunk
from .lexical_files import LexicalDamaged, LexicalHit
from .link_table import Definition, Link
from .message_table import Changed
from .messages import (
    EDITS_MAX,
    ActiveProject,
    CloseProject,
    Command,
    Event,
    LinkFirst,
    OpenProject,
    Parsed,
    ParseTexts,
    ProjectProgress,
    RebuildLexical,
    Refreshed,
    RefreshFiles,
    Reindex,
    SyncTree,
    TreeDelta,
)
from .store import FILE_NAME, FileActivity
from .symbol_cache import KEPT_SYMBOLS, MASKED_SYMBOLS
from .terms import MAX_WORD, STOP_WORDS, QueryTerms
