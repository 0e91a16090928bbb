"""The values of `daemon/graph` that other rooms may hold."""

from __future__ import annotations

from .border import CROSSING, INHERITS, Decided
from .code_graph import CALLS, CLASSES, FOUND_MAX, Certainty, Findings, FindPlaces, FoundPlace, Meaning
from .connection import IMPACT_DEPTH
from .subjects import PLACE
from .usages import NEIGHBOURS_MAX, UNCALLED, Needed, Role
