"""What other rooms may call of `daemon/search`."""

from __future__ import annotations

from .answers import SearchAnswers
from .filters import all_kinds, check_glob, kinds_in
from .linked_answers import lowered, placed, placed_hit, shifts
from .lookups import describe_node
from .need import is_small_talk
from .question import take_apart
from .search_service import SearchService
