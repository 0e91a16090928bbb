"""What other rooms may call of `daemon/graph`."""

from __future__ import annotations

from .border import Crossing, CrossingBudget, Side, across
from .code_graph import CodeGraph, at_definition, find_places, node_id_of
from .connection import connection, impact, tests, tests_within
from .file_links import cycles, importers, imports, outline
from .hierarchy import implementations, overrides, subclasses, superclasses
from .parallels import parallels
from .subjects import fitting, meaning_of, near_titles, nearest
from .usages import callees, callers, is_uncalled, needed_by, neighbours, references, unused, uses_of_gone
