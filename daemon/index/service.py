"""What other rooms may call of `daemon/index`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .chunks import embedded_text
from .lexical_files import check_files, check_format, read_listing
from .lexical_handle import LexicalHandle
from .store import Reader, check_index
from .symbol_cache import masked_symbols
from .terms import document_terms, looks_like_identifier, path_terms, query_terms

if TYPE_CHECKING:  # it loads the engine, which the daemon needs for the first question only
    from .lexical_reader import LexicalReader
