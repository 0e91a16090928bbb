"""What other rooms may call of `daemon/index`."""

from __future__ import annotations

from .chunks import embedded_text
from .lexical_files import check_files, read_listing
from .lexical_handle import LexicalHandle
from .lexical_reader import LexicalReader, check_format
from .store import Reader, check_index
from .symbol_cache import masked_symbols
from .terms import document_terms, looks_like_identifier, path_terms, query_terms
