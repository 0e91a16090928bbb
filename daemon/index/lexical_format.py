"""Owns the format of the lexical index: its fields, its version, and what the engine's errors mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import tantivy

from . import terms
from .lexical_files import LexicalAbsent, LexicalDamaged, LexicalUnwritable

TEXT_FIELDS = ("body", "path", "symbols")
"""The fields that are searched: a chunk's text, its file's path, and the names of its definitions."""

FORMAT = f"foveal-1-{terms.VERSION}"
"""Names the fields and the way in which terms were cut. It stands in the index as the tokenizer's name."""


def make_schema() -> tantivy.Schema:
    """Make the fields: ids to answer with, keys to filter and delete by, terms to search; no text is kept."""
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("chunk", fast=True)
    builder.add_unsigned_field("file", fast=True)
    # As text: the engine's Python binding takes a number to delete for a signed one, which matches no id, and
    # each deletion by query holds 9 KB until the commit.
    builder.add_text_field("file_key", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    for field in TEXT_FIELDS:
        builder.add_text_field(field, tokenizer_name=FORMAT, index_option="freq")
    return builder.build()


def register_terms(index: tantivy.Index) -> None:
    """Have the engine take terms as they come, between spaces. What is searched for isn't cut at all."""
    whitespace = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer(FORMAT, whitespace)


def check_format(found: str) -> None:
    """Raise `LexicalDamaged` for an index of another format."""
    if found != FORMAT:
        raise LexicalAbsent(f"the lexical index has the format {found}, this program's is {FORMAT}")


@contextmanager
def raising(error_class: type[LexicalDamaged | LexicalUnwritable]) -> Iterator[None]:
    """Turn the engine's errors into ours: it raises ValueError for nearly all of them, and panics on some."""
    try:
        yield
    except (ValueError, RuntimeError, OSError) as error:
        raise error_class(f"the lexical index: {error}") from error
    except BaseException as error:
        # A panic isn't an Exception, and its class can't be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise error_class(f"the lexical index: {error}") from error
