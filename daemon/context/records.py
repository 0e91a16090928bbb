"""The values of `daemon/context` that other rooms may hold."""

from __future__ import annotations

from .built import BYTES_MAX, SEARCH_UNFINISHED, BuiltContexts
from .requests import LONG_CHARACTERS, LONG_HISTORY, ContextRequest, Format, Freshness
from .scopes import SCOPE_SCHEMA, SCOPE_SCHEMA_VERSION
from .scoping import ScopeSelector
from .tool_help import NO_HELP, HelpRequest, ToolHelp
