"""Owns the answer to why a file is in a context that was given, or why it isn't; knows no wire."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from functools import partial
from typing import Any

from ..core.errors import InvalidRequest
from ..core.work import Work
from ..privacy.permissions import Permissions
from ..project.freshness import deadline_of
from ..project.project import Project
from ..project.roots import relative_path
from ..project.snapshot import ProjectSnapshot
from ..search.query import SearchQuery
from ..search.service import SearchService
from .absence_reasons import Absence, why_no_item, why_not_related, why_not_there
from .focus import split_node_id
from .given_contexts import Given
from .reasons import PathReasons, taken_hits, told_by_context
from .scopes import ScopeTable

RANKS_MAX = 100
"""So far a file is looked for among what is found for a prompt: contexts take a tenth of these."""

SEARCH_MS = 5_000
"""Maximum wait for the search, in ms: no context depends on it."""


class Explaining:
    """Explains contexts. On the event loop only; what blocks runs in the builders' threads.

    All that is asked is asked under the policy that the context was built under, so that an answer tells no
    more than its agent could have known.
    """

    def __init__(
        self, scopes: ScopeTable, searching: SearchService, permissions: Permissions, work: Work
    ) -> None:
        self._scopes = scopes
        self._searching = searching
        self._permissions = permissions
        self._work = work

    async def explain(self, project: Project, given: Given, asked: str) -> dict[str, Any]:
        """Return whether a file is shown in a context or only named, its slices, reasons and advice in
        sentences, and what could not be asked.

        `asked` is a path or a node id. Raises `InvalidRequest` for a path outside of the project.
        """
        snapshot = project.snapshot(given.policy)
        path = _path_of(snapshot, asked)
        reply: Mapping[str, Any] = dict(given.reply)  # its texts may be forgotten while a thread reads them
        told = await self._work.in_builder(partial(told_by_context, given.scope, given.request, reply, path))
        if told.slices:
            return _answer(snapshot, told, (), (), ())
        absence = await self._work.in_builder(partial(why_not_there, snapshot, path))
        reasons, degraded = list(absence.reasons), list[str]()
        if not absence.is_final and not told.is_settled:
            reasons += await self._why_not_led_to(project, given, snapshot, reply, path, degraded)
        advice = self._advice(given, absence, path)
        return _answer(snapshot, told, reasons, advice, degraded)

    async def _why_not_led_to(
        self,
        project: Project,
        given: Given,
        snapshot: ProjectSnapshot,
        reply: Mapping[str, Any],
        path: str,
        degraded: list[str],
    ) -> list[str]:
        """Return why neither focus nor prompt leads to a file of the tree, the surest first."""
        reasons = []
        if self._is_in_focus_now(given, path):
            reasons.append("it was put in focus after this context was built: ask for the context again")
        items = await self._permissions.items(project, given.policy)
        holds = list(why_no_item(items.items, project.root, path))
        if holds:
            return [*reasons, *holds]
        if reply["partial"]:
            reasons.append(
                "the context was partial: its deadline passed, or the project wasn't indexed whole"
            )
        related = partial(why_not_related, snapshot, given.request, reply, path)
        reasons += await self._work.in_builder(lambda: list(related()))
        return [*reasons, await self._rank(project, given, reply, path, degraded)]

    async def _rank(
        self, project: Project, given: Given, reply: Mapping[str, Any], path: str, degraded: list[str]
    ) -> str:
        """Return where a file stands in the search for the prompt, as it is answered now."""
        prompt, taken = given.request.prompt, taken_hits(reply)
        if not prompt.strip():
            return "the request had no prompt, so that nothing was searched for it"
        if not project.config.context.hits_max:
            return "nothing is searched for prompts: context.hits_max is 0"
        ask = SearchQuery(prompt, RANKS_MAX, definitions=True)
        found = await self._searching.search(project, ask, deadline_of(project, SEARCH_MS), given.policy)
        degraded += found.degraded
        ranks = {hit.path: place for place, hit in enumerate(found.hits, 1)}
        found_files = "file" if taken == 1 else "files"
        took = f"this context shows {taken or 'no'} {found_files} that it found"
        if given.request.news and found.need is not None and not found.need.is_probable:
            took = f"what was found for the prompt is left out: {found.need.reason}"
        if path not in ranks:
            return f"the search for the prompt doesn't find it among the first {RANKS_MAX}; {took}"
        hit = found.hits[ranks[path] - 1]
        place = f"the search for the prompt has it at place {ranks[path]} (score {hit.score:.2f})"
        needed = [[one.probability for one in each.definitions] for each in found.hits]
        best = max((one for each in needed for one in each), default=0.0)
        if not best or hit.certainty:
            return f"{place}; {took}"
        own = max((one.probability for one in hit.definitions), default=0.0)
        needs = f"needed with probability {own:g}" if own else "hardly needed"
        return f"{place}, {needs}, the best place with probability {best:g}; {took}"

    def _is_in_focus_now(self, given: Given, path: str) -> bool:
        scope = self._scopes.get(given.scope.id) if given.scope.id in self._scopes else given.scope
        new = {*scope.focus_paths, *scope.expanded} - {*given.scope.focus_paths, *given.scope.expanded}
        return path in {node.partition("#")[0] for node in new}

    def _advice(self, given: Given, absence: Absence, path: str) -> tuple[str, ...]:
        """Return what would bring a file in, as commands."""
        if not absence.by_focus or self._is_in_focus_now(given, path):
            return ()
        quoted = shlex.quote(path)
        if given.scope.id in self._scopes:
            focus = f"put it in focus: foveal expand {given.scope.id} {quoted}"
        else:
            focus = f"put it in focus: foveal context --focus {quoted}"
        return (focus,) if absence.is_final else (focus, f"or name it in the prompt: {path}")


def _answer(
    snapshot: ProjectSnapshot,
    told: PathReasons,
    reasons: list[str] | tuple[str, ...],
    advice: tuple[str, ...],
    degraded: list[str] | tuple[str, ...],
) -> dict[str, Any]:
    """Return the answer, without a sentence that names what is hidden from the context's agent."""
    policy, root = snapshot.policy, snapshot.tree.root
    return {
        "shown": bool(told.slices),
        "named": told.named,
        "slices": list(told.slices),
        "reasons": list(policy.sentences(dict.fromkeys([*told.reasons, *reasons]), root)),
        "advice": list(policy.sentences(dict.fromkeys([*told.advice, *advice]), root)),
        "degraded": list(policy.sentences(dict.fromkeys([*snapshot.degraded, *degraded]), root)),
    }


def _path_of(snapshot: ProjectSnapshot, asked: str) -> str:
    """Return the path that is asked about, relative to the root; symlinks in it aren't followed, since where
    they lead is nothing that was asked. Raises `InvalidRequest` for one outside."""
    root = snapshot.tree.root
    path, _ = split_node_id(snapshot.tree.files, asked)
    if os.path.isabs(path) and not f"{path}/".startswith(f"{root.rstrip('/')}/"):
        return relative_path(root, path)  # by another way to the root
    relative = os.path.relpath(os.path.join(root, path), root)
    if relative == "." or relative == ".." or relative.startswith("../") or "\0" in path:
        raise InvalidRequest(f"path must name a file of {root}, not {asked!r:.200}", "path")
    return relative
