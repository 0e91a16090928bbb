"""What other rooms may call of `daemon/workspace`."""

from __future__ import annotations

from .freshness import TreeFreshness, before_search, deadline_of
from .index_view import read_together
from .indexer_client import IndexerClient
from .open_projects import OpenProjects
from .project import Project
