"""Owns which definitions nobody refers to, as far as links can tell."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Final

from ..index.link_table import Definition
from .code_graph import CodeGraph
from .found import Findings, Found
from .hierarchy import is_kin
from .subjects import Meaning

KINDS: Final = ("class", "function", "macro", "method", "struct", "trait", "interface")
"""What may be unused; a constant or a field may be read as an attribute of something unknown."""

LIMITS: Final = (
    "nobody refers to these in the project's code; what frameworks, templates, strings, runners of tests or"
    " other projects call may be among them"
)


def unused(
    meanings: Sequence[Meaning], graph: CodeGraph, most: int, paths: Collection[str] | None
) -> Findings:
    """Return definitions that no reference means, outside of tests; at most `most`, by path and line.

    Left out are names that languages and frameworks call by themselves, what overrides something or is
    overridden, what is decorated, and what only lies in something unused.
    """
    named = [path for meaning in meanings for path in _paths(meaning)]
    candidates = graph.reader.graph.unreferenced(KINDS, named or paths)
    chosen = (
        each for each in candidates if not _SPARED.search(each.symbol.name) and not graph.is_test(each.path)
    )
    found: list[Definition] = []
    while len(found) <= most and (batch := list(islice(chosen, max(most, 20)))):
        found.extend(_kept(batch, found, graph))
    shown = [
        Found(each.path, each.symbol.start_line, each.id, "resolved", "", "nobody refers to it")
        for each in found[:most]
    ]
    return Findings(shown, (LIMITS,) if shown else (), len(found) > most)


def _kept(batch: Sequence[Definition], earlier: Sequence[Definition], graph: CodeGraph) -> list[Definition]:
    decorated = {link.scope for link in graph.links.out_of([each.id for each in batch], ("decorate",))}
    unused_names = {(each.path, each.symbol.name) for each in (*earlier, *batch)}
    kept = []
    for each in batch:
        owner = each.symbol.name.rpartition(".")[0]
        inner = (each.path, owner) in unused_names
        if each.id not in decorated and not inner and not (owner and is_kin(each, graph)):
            kept.append(each)
    return kept


def _paths(meaning: Meaning) -> list[str]:
    return list(meaning.files or dict.fromkeys(each.path for each in meaning.definitions))


_SPARED = re.compile(
    r"(?:^|\.)(?:__\w+__|main|Main|init|new|constructor|setUp|tearDown|toString|equals|hashCode|fmt|drop|from|default"
    r"|[Tt]est\w*|operator\W*|visit_\w+|do_[A-Z]+)(?:~\d+)?$|^[Tt]ests?\."
)
