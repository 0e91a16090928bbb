"""Owns what a context is built from: everything that was gathered for one request, frozen.

A further source of slices is a field here with an empty default, filled where contexts are gathered and read
where they are assembled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ..compression.compress import Compress, compress
from ..project.metadata import ProjectMetadata
from ..project.snapshot import ProjectSnapshot
from ..rules.item_plan import ItemPlan
from ..search.hits import Hit
from .prompts import TemplateFolder
from .requests import ContextRequest
from .scopes import Scope
from .sent_content import Resident

if TYPE_CHECKING:
    from ..search.need import Need


class GatheredSources(Struct, frozen=True):
    """The input of one build.

    `constraints_above` are those of the scopes above. `hits` are what was found for the prompt, best first:
    all that may ever be shown, of which the budget takes as many as it has room for. Without a `plan` the
    items are those of the instruction files, by their modes. `degraded` says what could not be asked, and
    `unfinished` what there was no time for, both in words. With `quick` no file and no index is read: what
    is in focus is shown by itself. `metadata` is what the project says of itself, None where that isn't
    known. `meaning` says how near experiences are to the prompt, by id. `resident` is what the conversation
    holds and need not be sent again, None where all is to be sent; `boosts` what earlier use adds to weights,
    by path and by the ids of items; `templates` where those of prompts lie; `compress` what shortens
    documents. `need` is what the prompt of a hook needs of the code, None where that isn't known; where it is
    improbable there are no hits.
    """

    snapshot: ProjectSnapshot
    scope: Scope
    request: ContextRequest
    constraints_above: Sequence[str] = ()
    hits: Sequence[Hit] = ()
    plan: ItemPlan | None = None
    degraded: Sequence[str] = ()
    unfinished: Sequence[str] = ()
    quick: bool = False
    metadata: ProjectMetadata | None = None
    meaning: Mapping[str, float] = field(default_factory=dict)
    resident: Resident | None = None
    boosts: Mapping[str, float] = field(default_factory=dict)
    templates: Sequence[TemplateFolder] = ()
    compress: Compress = compress
    need: Need | None = None
