"""The product's links at the call sites that an oracle judged."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from foveal.daemon.index.link_table import STATES
from foveal.daemon.index.records import Link
from foveal.daemon.index.service import Reader

from .sites import Site, Target

EVERY_LINK = 1 << 40
"""No limit: the product's own is for answers that are read."""

_TWIN = re.compile(r"~\d+")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the product says of one site: `state` is a link's, or `missing` where it knows of no call there;
    `target` is None for what isn't resolved, and where a module itself is meant."""

    state: str
    target: Target | None = None


def ask_product(folder: Path, sites: Iterable[Site]) -> dict[Site, Answer]:
    """Return what the index in `folder` says of call sites; sites and links of one line and name are paired
    in their order."""
    by_name: dict[str, list[Site]] = defaultdict(list)
    for site in sites:
        by_name[site.name].append(site)
    reader = Reader(str(folder))
    try:
        found: dict[Site, Link | None] = {}
        for name, group in by_name.items():
            links = reader.links.named(name, ("call", "decorate"), STATES, EVERY_LINK)
            found.update(_paired(group, links))
        targets = {link.target for link in found.values() if link is not None and link.target}
        definitions = reader.links.definitions(targets)
    finally:
        reader.close()
    by_id = {
        number: Target(
            definition.path,
            definition.symbol.start_line,
            _TWIN.sub("", definition.symbol.name),
            definition.symbol.kind,
        )
        for number, definition in definitions.items()
    }
    return {
        site: Answer(link.state, by_id.get(link.target)) if link is not None else Answer("missing")
        for site, link in found.items()
    }


def _paired(sites: list[Site], links: list[Link]) -> Mapping[Site, Link | None]:
    """Pair sites with links. A line that names one thing more often than it has links has the last one said
    for the rest: the product keeps one link of what is written alike."""
    by_line: dict[tuple[str, int, str], list[Link]] = defaultdict(list)
    for link in links:
        by_line[link.path, link.line, link.kind].append(link)
    found: dict[Site, Link | None] = {}
    for site in sites:
        waiting = by_line.get((site.path, site.line, site.kind), [])
        found[site] = (waiting.pop(0) if len(waiting) > 1 else waiting[0]) if waiting else None
    return found
