"""Answers requests about the code of a project from an index that is as fresh as requested.

If the index isn't fresh in time, `degraded` in the answer says so.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Container, Sequence
from functools import partial
from math import inf
from typing import Any, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..config.linked import LinkedProject
from ..core.errors import FovealError, NotFound
from ..core.storage import DatabaseError
from ..core.work import Deadline, Work
from ..index.records import LinkFirst
from ..languages.shared.qualified_names import base_name
from ..languages.shared.records import Symbol
from ..privacy.policy import NO_POLICY, Policy
from ..privacy.secret_gate import gate_of
from ..project.records import Diff
from ..workspace.records import ProjectSnapshot
from ..workspace.service import Project, TreeFreshness, deadline_of
from .linked_answers import LINKED_WAIT_S, OtherProject, chosen, lowered, of_files, placed, shifts, together
from .lookups import describe_node, describe_symbols, find_files
from .query import NOTHING_FOUND, DescribedHits, SearchQuery, SearchResult
from .search_service import SearchService

Freshness = Literal["shown", "tree", "no"]

ATTEMPTS = 3
"""Maximum attempts to answer while shown files change; after that `degraded` says that a file is stale."""

SHORT_CHARACTERS = 4_000
"""Maximum characters of a question that is searched for secrets on the event loop, which takes 0.5 ms."""

Answer = dict[str, Any]
"""An answer as an object of the protocol."""

T = TypeVar("T")


class ProjectCall(Struct, frozen=True):
    """The common part of requests about a project: the agent's policy, the freshness, and the deadline."""

    project: Project
    policy: Policy
    fresh: Freshness
    deadline: Deadline

    @classmethod
    def begin(
        cls,
        project: Project,
        policy: Policy = NO_POLICY,
        fresh: Freshness = "shown",
        deadline_ms: int | None = None,
    ) -> ProjectCall:
        """Return the call for a request that arrived just now; its deadline begins here."""
        return cls(project, policy, fresh, deadline_of(project, deadline_ms))

    @property
    def snapshot(self) -> ProjectSnapshot:
        """The current state of the project, limited to what the agent may see."""
        return self.project.snapshot(self.policy)


class Asked(Struct, frozen=True):
    """A question in one project: the call, what was found, and the project if another one links it."""

    call: ProjectCall
    result: SearchResult
    linked: LinkedProject | None = None

    def said(self, known: Container[str]) -> list[str]:
        """Return what may be missing of a linked project, unless the other one's answer says it already."""
        prefix = self.linked.prefix if self.linked is not None else ""
        return [f"{prefix}: {why}" for why in self.result.degraded if why not in known]


class SearchAnswers:
    """Answers requests about open projects. Runs on the event loop only; indexes are read in threads."""

    def __init__(self, searching: SearchService, freshness: TreeFreshness, work: Work) -> None:
        self._searching = searching
        self._freshness = freshness
        self._work = work

    async def node(self, call: ProjectCall, node_id: str) -> Answer:
        """Return a file or definition with its imports and importers.

        Raises `NotFound`, or `PermissionDenied` if the agent may not see it.
        """
        degraded = [*call.snapshot.degraded, *await self._settle(call)]

        async def read() -> tuple[Answer | None, Sequence[str]]:
            return await self._work.in_builder(partial(describe_node, call.snapshot, node_id))

        node = await self._read_fresh(call, read, degraded)
        if node is None:
            raise NotFound(
                f"no node {node_id!r:.200} in {call.project.root}: name a file by its path relative to the"
                " root, a definition as path#Name, a section as path#Title/Subtitle"
            )
        return {**node, "degraded": degraded, "clock": call.project.clock}

    async def linked_node(
        self, call: ProjectCall, node_id: str, asked: ProjectCall, linked: LinkedProject
    ) -> Answer:
        """Return a node of a linked project, as the project `asked` sees it; see `node`."""
        node = await self.node(call, node_id)
        found = await self._neighbours(node, [(call, linked.prefix), (asked, "")])
        return _with_neighbours(placed(linked, node), found)

    async def own_node(self, call: ProjectCall, node_id: str, others: Sequence[OtherProject]) -> Answer:
        """Return a node with its neighbours in linked projects; see `node`."""
        node = await self.node(call, node_id)
        opened = await self.elsewhere(others, call, SearchQuery("", 0), node["degraded"])
        beside = [(each.call, each.linked.prefix) for each in opened if each.linked is not None]
        return _with_neighbours(node, await self._neighbours(node, [(call, ""), *beside]))

    async def _neighbours(
        self, node: Answer, calls: Sequence[tuple[ProjectCall, str]]
    ) -> dict[str, list[Answer]]:
        if "symbol" not in node or "callers" not in node or len(calls) < 2:
            return {}
        projects = [(call.snapshot, prefix) for call, prefix in calls]
        until = _until(calls[0][0])
        read = partial(_neighbours_in, projects, node["path"], node["symbol"], until)
        found, missing = await self._work.in_builder(read)
        node["degraded"] += missing
        return found

    async def changes(self, call: ProjectCall, span: str) -> Answer:
        """Return what a range of commits, or the work tree, breaks; `changes.py` describes it.

        Raises `NotFound` without a repository, and `InvalidRequest` for a range that git doesn't know.
        """
        degraded = [*call.snapshot.degraded, *await self._settle(call)]
        diff = await self._work.in_builder(partial(_read_changes, call.snapshot, span))
        texts = [(file.path, text) for file in diff.files for text in (file.before, file.after)]
        symbols = await self._searching.parse(texts)
        try:
            found, unlinked = await self._described_changes(call, diff, symbols)
            if unlinked:
                names = tuple(dict.fromkeys(base_name(each["symbol"]) for each in found["changes"]))
                await self._searching.link_first(call.project, names, call.deadline)
                found, unlinked = await self._described_changes(call, diff, symbols)
        except DatabaseError as error:
            raise NotFound(f"the index can't be read ({error}): ask again when it was built anew") from error
        if unlinked:
            degraded.append(f"{unlinked:,} files wait to be linked: callers and tests in them may be missing")
        return {"project": call.project.root, **found, "degraded": degraded, "clock": call.project.clock}

    async def _described_changes(
        self, call: ProjectCall, diff: Diff, symbols: Sequence[tuple[Symbol, ...]]
    ) -> tuple[Answer, int]:
        return await self._work.in_builder(partial(_describe_changes, call.snapshot, diff, symbols))

    async def files(self, call: ProjectCall, query: str, limit: int) -> tuple[list[str], int]:
        """Return the files whose paths match, at most `limit`, and the number of all matches."""
        return await self._work.in_builder(partial(find_files, call.snapshot.tree.files, query, limit))

    async def symbols(self, call: ProjectCall, query: str, limit: int) -> Answer:
        """Return the definitions whose names match."""
        project, degraded = call.project, list[str]()
        await self._freshness.wait_searchable(project, call.deadline)
        wanted = LinkFirst(project.root, (), (query.lower(),))
        await self._searching.read_first(project, call.deadline, wanted)

        async def read() -> tuple[list[Answer], Sequence[str]]:
            return await self._described(partial(describe_symbols, call.snapshot, query, limit), degraded)

        described = await self._read_fresh(call, read, degraded)
        return {
            "project": project.root,
            "symbols": described,
            "partial": project.state in {"scanning", "indexing"},
            "degraded": [*call.snapshot.degraded, *degraded],
            "clock": project.clock,
        }

    async def query(
        self,
        call: ProjectCall,
        question: SearchQuery,
        others: Sequence[OtherProject] = (),
        beside: Sequence[OtherProject] = (),
    ) -> Answer:
        """Answer a question with hits and their snippets, of the project and of other ones; nothing of those
        `beside` is shown, but what crosses from or to them."""
        degraded: list[str] = []
        elsewhere = self._work.start(self.elsewhere(others, call, question, degraded), "ask others")
        degraded += await self._settle(call)
        found = await self._searching.search(call.project, question, call.deadline, call.policy)
        asked = [Asked(call, found), *await elsewhere]
        if beside and found.intent == "structural":
            asked += await self.elsewhere(beside, call, SearchQuery("", 0), degraded)
        if len(asked) > 1 and any(each.result.intent == "structural" for each in asked):
            asked = await self._over_borders(question, asked)
        if beside or len(asked) == 1:
            degraded += (why for each in asked[1:] for why in each.said(degraded))
            result, results = await self._lines(asked[0], question, degraded, together=asked[1:] and asked)
        else:
            result, results = await self._together(asked, question, degraded)
        reply = {
            "intent": result.intent,
            "route": result.route,
            "evidence": list(result.evidence),
            "results": results,
            "degraded": [*call.snapshot.degraded, *result.degraded, *degraded],
            "clock": call.project.clock,
        }
        if result.hint:
            reply["hint"] = result.hint
        if not call.policy.mask_values:
            return reply
        find = partial(gate_of, [question.text])
        gate = find() if len(question.text) <= SHORT_CHARACTERS else await self._work.in_builder(find)
        if not gate.knows_any:
            return reply  # the method's guard masks what needs it
        return await self._work.in_builder(partial(gate.of_record, reply))

    async def _over_borders(self, question: SearchQuery, asked: Sequence[Asked]) -> list[Asked]:
        until = _until(asked[0].call)
        return await self._work.in_builder(partial(_over_borders, question, asked, until))

    async def elsewhere(
        self,
        others: Sequence[OtherProject],
        call: ProjectCall,
        question: SearchQuery,
        degraded: list[str],
    ) -> list[Asked]:
        """Return what is found in other projects; `degraded` gets those that are late or fail."""
        asking = [self._work.start(self._ask_other(each, call, question), "ask another") for each in others]
        if asking:
            await asyncio.wait(asking, timeout=call.deadline.left(LINKED_WAIT_S))
        found = []
        for other, future in zip(others, asking, strict=True):
            try:
                found.append(future.result())
            except asyncio.InvalidStateError:
                future.cancel()
                degraded.append(f"{other.linked.prefix} didn't answer in time")
            except FovealError as error:
                degraded.append(f"{other.linked.prefix} can't be asked: {error}")
        return found

    async def _ask_other(self, other: OtherProject, call: ProjectCall, question: SearchQuery) -> Asked:
        """Search another project, within the time that the answer waits for it. An empty question only opens
        it."""
        deadline = Deadline(asyncio.get_running_loop().time() + call.deadline.left(LINKED_WAIT_S))
        there = ProjectCall(await other.open(), other.policy, call.fresh, deadline)
        late = await self._settle(there)
        if not question.text.strip():
            return Asked(there, replace(NOTHING_FOUND, degraded=tuple(late)), other.linked)
        question = replace(question, first=frozenset())
        found = await self._searching.search(there.project, question, deadline, other.policy)
        said = (*there.snapshot.degraded, *found.degraded, *late)
        return Asked(there, replace(found, degraded=said), other.linked)

    async def _together(
        self, asked: Sequence[Asked], question: SearchQuery, degraded: list[str]
    ) -> tuple[SearchResult, list[Answer]]:
        """Return the results of several projects, and how the first of those that are shown was found."""
        own, results, leading = asked[0].result, list[Answer](), list[SearchResult]()
        found = [each.result for each in asked]
        for each, by, shown in zip(asked, shifts(found), chosen(found), strict=True):
            if each.linked is not None:
                degraded += each.said({*own.degraded, *degraded})
            if shown:
                missing: list[str] = []
                result, lines = await self._lines(each, question, missing, by, asked)
                prefix = f"{each.linked.prefix}: " if each.linked is not None else ""
                degraded += (prefix + why for why in missing)
                leading.append(result)
                known = of_files(result, is_own=each.linked is None)
                for line in lines:
                    if not line.get("certainty"):
                        line.setdefault("probability", known.get(line["node_id"], 0.0))
                if each.linked is not None:
                    said = {"repository": each.linked.name, "root": each.linked.root}
                    lines = [placed(each.linked, line) | said for line in lines]
                results += lines
        lead = next(iter(leading), own)
        is_graph = bool(results) and bool(results[0].get("certainty"))
        limit = question.graph_limit if is_graph else question.for_agent or question.limit
        return replace(lead, degraded=own.degraded), together(results, limit)

    async def _lines(
        self,
        asked: Asked,
        question: SearchQuery,
        degraded: list[str],
        lowered_by: float = 0.0,
        together: Sequence[Asked] = (),
    ) -> tuple[SearchResult, list[Answer]]:
        """Return the results in the form of the reply. If a shown file changed, the search is repeated, and
        so is what crosses from or to the projects that were asked `together`."""
        call, result, is_first = asked.call, asked.result, True

        async def read() -> tuple[list[Answer], Sequence[str]]:
            nonlocal result, is_first
            if not is_first:
                result = await self._searching.search(call.project, question, call.deadline, call.policy)
                if asked.result.intent == "structural" and together:
                    again = [replace(each, result=result) if each is asked else each for each in together]
                    crossed = await self._over_borders(question, again)
                    result = crossed[[each is asked for each in together].index(True)].result
            is_first = False
            result = lowered(result, lowered_by)
            return await self._described(partial(_describe, call.snapshot, question, result), degraded)

        lines = await self._read_fresh(call, read, degraded, words=True)
        return result, lines

    async def _read_fresh(
        self,
        call: ProjectCall,
        read: Callable[[], Awaitable[tuple[T, Sequence[str]]]],
        degraded: list[str],
        *,
        words: bool = False,
    ) -> T:
        """Call `read`, which returns a result and its stale files, until no file is stale.

        If files stay stale, `degraded` gets a message."""
        for attempt in range(ATTEMPTS):
            result, stale = await read()
            if not stale or call.fresh == "no":
                break
            last = attempt == ATTEMPTS - 1
            if last or not await self._freshness.refresh(call.project, stale, call.deadline, words=words):
                degraded.append(f"{stale[0]} changed and could not be read again in time")
                break
        return result

    async def _described(
        self, describe: Callable[[], tuple[list[Answer], list[str]]], degraded: list[str]
    ) -> tuple[list[Answer], Sequence[str]]:
        """Return the descriptions; none, and a message in `degraded`, if the index can't be read."""
        try:
            return await self._work.in_builder(describe)
        except DatabaseError as error:
            degraded.append(f"the index can't be read ({error}): ask again when it was built anew")
            return [], ()

    async def _settle(self, call: ProjectCall) -> list[str]:
        """Wait until the index is fresh enough; return messages about what it may still miss."""
        project, deadline = call.project, call.deadline
        if call.fresh == "tree" and await self._freshness.sync(project, deadline):
            return []
        await self._freshness.wait_searchable(project, deadline)
        late = ["the tree was not compared with the disk in time"] if call.fresh == "tree" else []
        return [*late, *filter(None, (project.index_state.unsettled(project.tree, call.policy),))]


def _until(call: ProjectCall) -> float:
    """Return the deadline of a call on `time.monotonic`, which threads can ask."""
    return time.monotonic() + call.deadline.left(inf)


def _over_borders(question: SearchQuery, asked: Sequence[Asked], until: float) -> list[Asked]:
    from .border_hits import over_borders  # imported here for the same reason as below

    answered = [
        (
            each.call.snapshot,
            each.linked.prefix if each.linked is not None else os.path.basename(each.call.project.root),
            each.result,
        )
        for each in asked
    ]
    found = over_borders(question, answered, until)
    return [replace(each, result=result) for each, result in zip(asked, found, strict=True)]


def _neighbours_in(
    projects: Sequence[tuple[ProjectSnapshot, str]], path: str, symbol: str, until: float
) -> tuple[dict[str, list[Answer]], list[str]]:
    from .border_hits import neighbours_over_borders  # imported here too

    return neighbours_over_borders(projects, path, symbol, until)


def _with_neighbours(node: Answer, found: dict[str, list[Answer]]) -> Answer:
    """Return a node with its neighbours in other projects, which replace what was known by name only; `more`
    also names the lists that are cut here."""
    from ..graph.records import NEIGHBOURS_MAX  # loaded by a thread before

    merged: dict[str, list[Answer]] = {}
    more: list[str] = []
    for relation, entries in found.items():
        taken = {(each["path"], each["line"], each.pop("name", "")) for each in entries}
        known = node.get(relation, [])
        own = [each for each in known if (each["path"], each["line"], each.get("name", "")) not in taken]
        merged[relation] = [*entries[:NEIGHBOURS_MAX], *own]
        if len(entries) > NEIGHBOURS_MAX and relation not in node.get("more", ()):
            more.append(relation)
    return node | merged | ({"more": [*node.get("more", ()), *more]} if more else {})


def _read_changes(snapshot: ProjectSnapshot, span: str) -> Diff:
    from .changes import read_changes  # imported here for the same reason as below

    return read_changes(snapshot, span)


def _describe_changes(
    snapshot: ProjectSnapshot, diff: Diff, symbols: Sequence[tuple[Symbol, ...]]
) -> tuple[Answer, int]:
    from .changes import describe_changes  # loaded here too

    return describe_changes(snapshot, diff, symbols)


def _describe(snapshot: ProjectSnapshot, question: SearchQuery, result: SearchResult) -> DescribedHits:
    # Imported here, in a thread, because loading this module takes longer than starting the daemon.
    from .results import describe_hits

    return describe_hits(snapshot, question, result)
