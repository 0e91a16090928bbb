"""Owns what to run where the daemon knows no such name: it names methods, where a person runs commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..ipc.errors import NOT_FOUND, RpcError
from .errors import CliError


@contextmanager
def hint_if_unknown(hint: str) -> Iterator[None]:
    """Give an error about something that isn't there a hint. Raises `CliError` for it."""
    try:
        yield
    except RpcError as error:
        if error.code != NOT_FOUND:
            raise
        raise CliError(error.message, hint) from error
