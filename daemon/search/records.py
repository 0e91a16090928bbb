"""The values of `daemon/search` that other rooms may hold."""

from __future__ import annotations

from .answers import Asked, ProjectCall
from .filters import Filter
from .linked_answers import OtherProject
from .lookups import FILES_MAX, FILES_SHOWN
from .query import NOTHING_FOUND, FoundDefinition, Hit, Need, Relation, Route, SearchQuery, SearchResult
