"""Owns the sandwich: from a frozen project, a scope and a request to the context and the record of it.

Pure but for reading the files that it shows; it runs in a thread, never on the event loop.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import InvalidRequest
from ..index.store import Reader
from ..project.languages import fence_tag, language_of
from ..project.roots import relative_path
from ..retrieval.hits import Hit
from ..snapshot import ProjectSnapshot
from ..storage import DatabaseError
from . import render
from .budget import Limits, Selection, select
from .content import Content, Shown
from .excerpt import Source
from .file_forms import FileForms, OutlineForms, SymbolForms, unshown_form
from .focus import FocusNode, mentioned, package_files, prompt_words, resolve_paths
from .forms import SkeletonForms, experience_form, hot_form
from .hit_forms import HitForms, found_symbols, reasons_of
from .item_plan import ItemPlan, LeftOutItem, PlannedItem, plan_without_session
from .known_files import KnownFiles
from .reply import Conversation, conversation_of, reply_of
from .requests import ContextRequest
from .scopes import Scope
from .skeleton import printable
from .slices import CHARACTERS_PER_TOKEN, Form, GrowForm, Slice, count_tokens, fixed

SKELETON_SHARE = 0.25
"""The map takes at most this much of the budget, even where nothing else wants it."""

LEAST_CHARACTERS = 200
"""A constraint or a decision enters with so many characters at first."""

UNLIMITED = 1 << 40
"""More characters than any form has."""

HIT_CHARACTERS = (8_000, 5_000, 4_000, 3_000)
"""What was found for a prompt takes at most so many characters, the best first; more of its file is named.
Of the usual 6,000 tokens, 24,000 characters, the first five take no more than these."""

REFITS_MAX = 4
"""So often the limits are lowered where the text came out larger than its slices promised."""


@dataclass(frozen=True, slots=True)
class Built:
    """A rendered context with its record.

    `stale` are relative paths whose definitions in the index are older than their content on the disk;
    the context was built without these definitions. `shown` proves what it shows (see `still_holds`), unless
    it isn't `lasting`: a file or the index could not be read, and no stamp would tell when it can. `items`
    are in it, `left_out` were considered and are not. `conversation` is what prompts, messages and
    records are made of, None where none is wanted.
    """

    reply: Mapping[str, Any]
    shown: tuple[Shown, ...]
    stale: tuple[str, ...]
    memory_bytes: int
    lasting: bool = True
    items: tuple[PlannedItem, ...] = ()
    left_out: tuple[LeftOutItem, ...] = ()
    conversation: Conversation | None = None


def build(
    snapshot: ProjectSnapshot,
    scope: Scope,
    constraints_above: Sequence[str],
    request: ContextRequest,
    hits: Sequence[Hit] = (),
    degraded: Sequence[str] = (),
    plan: ItemPlan | None = None,
) -> Built:
    """Build a context. Never raises for what a project contains: what is missing goes into `gaps`.

    `hits` are what was found for the prompt, best first, and `degraded` what could not be asked for it.
    Without a `plan` the items are those of the instruction files, by their modes.
    """
    plan = plan or plan_without_session(snapshot.rules.items)
    reasons = (*snapshot.degraded, *degraded, *plan.degraded)
    try:
        with snapshot.reader() as reader, reader.snapshot():
            return _Assembly(snapshot, scope, constraints_above, request, hits, reader, reasons, plan).run()
    except DatabaseError as error:  # none yet, or damaged, which may show only in the middle
        problem = f"the index can't be read ({error}): no definitions and no imports are known"
        reasons = (*reasons, problem)
        return _Assembly(snapshot, scope, constraints_above, request, (), None, reasons, plan).run()


class _Assembly:
    """One build. The state that its steps share, which would otherwise be arguments of each of them."""

    def __init__(
        self,
        snapshot: ProjectSnapshot,
        scope: Scope,
        constraints_above: Sequence[str],
        request: ContextRequest,
        hits: Sequence[Hit],
        reader: Reader | None,
        degraded: Sequence[str],
        plan: ItemPlan,
    ) -> None:
        self._snapshot = snapshot
        self._scope = scope
        self._above = tuple(constraints_above)
        self._request = request
        self._hits = hits
        self._reader = reader
        self._degraded = degraded
        self._plan = plan
        self._items: list[PlannedItem] = []
        self._rule_files = {item.name for item in snapshot.rules.items}
        """Shown as rules or not at all: what no mode lets in must not come in as something that was found."""
        self._project = os.path.basename(snapshot.tree.root)
        self._weights = snapshot.config.weights
        self._files = KnownFiles(snapshot, reader)
        self._gaps: list[str] = []
        self._words = prompt_words(request.prompt)
        self._wanted: dict[str, set[str]] = {}
        """Definitions that were asked for in files that are in focus as a whole."""
        self._left_out: set[str] = set()
        """Dependencies that have nothing to show, for now."""

    def run(self) -> Built:
        """Gather the slices, fit them into the budget, render."""
        primary = self._focus_nodes()
        hits = self._fresh_hits(primary)
        dependencies = self._dependencies(primary)
        focus = {node.path for node in primary} | {hit.path for hit in hits}
        self._gaps.extend([*self._snapshot.rules.warnings, *self._plan.gaps])
        self._items = self._plan.entering(focus)
        slices = [
            *self._item_slices(),
            *self._constraints(),
            *self._experiences(focus, set(dependencies)),
            *self._focus_slices(primary),
            *self._hit_slices(hits),
            *self._dependency_slices(dependencies),
            *self._horizon(focus, set(dependencies)),
        ]
        return self._fit(slices)

    # Anchor

    def _item_slices(self) -> Iterator[Slice]:
        """Yield rules, and references, which stand before the focus; tools are no text of a context."""
        for position, planned in enumerate(self._items):
            item = planned.item
            if item.type == "tool":
                continue
            is_rule, is_file = item.type == "rule", render.is_file(item)
            grow = partial(render.rule_form, printable(item.name), item.text, is_file=is_file)
            yield Slice(
                id=planned.slice_id,
                type="rule" if is_rule else "reference",
                layer="anchor" if is_rule else "focus",
                weight=self._weights.rule if is_rule else self._weights.document,
                order=(0, item.priority_level, position),
                smallest=grow(0),
                grow=grow,
                full_characters=len(grow(UNLIMITED).text),
                path=item.name if is_file else "",
                source=f"{item.name}:{item.line}, {planned.include}",
                score=planned.score,
            )

    def _constraints(self) -> Iterator[Slice]:
        unique = dict.fromkeys([*self._above, *self._scope.constraints])
        for position, text in enumerate(unique):
            grow = partial(render.list_item, text)
            yield Slice(
                id=f"constraint:{position}",
                type="constraint",
                layer="anchor",
                weight=self._weights.constraint,
                order=(1, position),
                smallest=grow(LEAST_CHARACTERS),
                grow=grow,
                full_characters=len(grow(UNLIMITED).text),
                source="an ancestor scope" if text in self._above else "the caller",
            )

    def _experiences(self, focus: set[str], neighbours: set[str]) -> Iterator[Slice]:
        limit = self._snapshot.config.context.experiences_max
        chosen = self._snapshot.relevant_experiences(focus, neighbours, set(self._words), limit)
        for position, experience in enumerate(chosen):
            grow = partial(experience_form, experience)
            yield Slice(
                id=f"experience:{experience.id}",
                type="agent_history",
                layer="anchor",
                weight=self._weights.agent_history,
                order=(2, position),
                smallest=grow(LEAST_CHARACTERS),
                grow=grow,
                full_characters=len(grow(UNLIMITED).text),
                source=f"{experience.agent_id}, {experience.timestamp}",
            )

    # Focus

    def _focus_nodes(self) -> list[FocusNode]:
        tree = self._snapshot.tree
        primary, gaps = resolve_paths(tree, self._scope.focus_paths, "focus")
        expanded, more_gaps = resolve_paths(tree, self._scope.expanded, "expansion")
        self._gaps.extend([*gaps, *more_gaps])
        if gaps or more_gaps:
            self._files.lasting = False  # nothing would tell that what is missing has come
        nodes = {node.node_id: node for node in primary}
        for node in (*expanded, *self._session_nodes(), *self._named_nodes()):
            if node.path not in nodes:
                nodes.setdefault(node.node_id, node)
            elif node.symbol:  # the file in focus shows it, and shows it first if it doesn't fit
                self._wanted.setdefault(node.path, set()).add(node.symbol)
        return list(nodes.values())

    def _session_nodes(self) -> list[FocusNode]:
        """Return the files of the session that lie in the project; what lies elsewhere is never read."""
        root, nodes = self._snapshot.tree.root, []
        for path in self._plan.files:
            try:
                relative = relative_path(root, path)
            except InvalidRequest:
                self._gaps.append(f"{path}, a file of the session, lies outside of the project: not shown")
                continue
            if relative in self._snapshot.tree.files or os.path.isfile(os.path.join(root, relative)):
                nodes.append(FocusNode(relative, "", "document", "a file of the session"))
            else:
                self._gaps.append(f"{path}, a file of the session, is no file (any more)")
                self._files.lasting = False  # nothing would tell that it has come
        return nodes

    def _named_nodes(self) -> list[FocusNode]:
        """Return what the prompt names outright."""
        if self._reader is None or not self._request.prompt:
            return []
        found = mentioned(self._snapshot.tree, self._reader, self._request.prompt)
        return [node for node in found if node.path not in self._rule_files]

    def _fresh_hits(self, nodes: Sequence[FocusNode]) -> list[Hit]:
        """Return what was found for the prompt and isn't in focus; what is shows its found parts first."""
        inside = {node.path for node in nodes}
        for hit in self._hits:
            if hit.path in inside:
                self._wanted.setdefault(hit.path, set()).update(found_symbols(hit))
        return [hit for hit in self._hits if hit.path not in inside | self._rule_files]

    def _dependencies(self, nodes: Sequence[FocusNode]) -> dict[str, str]:
        """Return the files that the focus imports, with the first importer; names what is missing."""
        found: dict[str, str] = {}
        inside = {node.path for node in nodes}
        for path in dict.fromkeys(node.path for node in nodes if node.role == "focus"):
            for one in self._files.imports(path):
                if one.missing:
                    self._gaps.append(
                        f"{path}:{one.imported.line} imports {one.imported.module}, which doesn't exist"
                    )
                elif one.target:
                    for target in package_files(self._snapshot.tree.layout, one.target):
                        if target not in inside:
                            found.setdefault(target, path)
        limit = self._snapshot.config.context.dependencies_max
        if len(found) > limit:
            self._gaps.append(
                f"{len(found) - limit:,} of {len(found):,} imported files are left out: at most {limit}"
            )
        return dict(list(found.items())[:limit])

    def _focus_slices(self, nodes: Sequence[FocusNode]) -> Iterator[Slice]:
        for position, node in enumerate(nodes):
            content = self._files.note(node.path)
            form, grow, full = self._node_forms(node, content)
            yield Slice(
                id=f"{node.role}:{node.node_id}",
                type=node.role,
                layer="focus",
                weight=self._weights.document if node.role == "document" else self._weights.focus,
                order=(3, position),
                smallest=form,
                grow=grow,
                full_characters=full,
                path=node.path,
                source=node.source,
            )

    def _node_forms(self, node: FocusNode, content: Content) -> tuple[Form, GrowForm, int]:
        if content.problem:
            self._gaps.append(f"{node.path} is in focus but not shown: {content.problem}")
            return fixed(unshown_form(node, f"Not shown: {content.problem}."))
        unsaved = self._files.unsaved(node.path)
        symbols = () if unsaved else self._files.symbols(node.path)
        source = Source(node.path, content.text, fence_tag(language_of(node.path)), symbols)
        forms: FileForms | SymbolForms
        if not node.symbol or unsaved:  # where a definition lies in an unsaved buffer isn't known
            wanted = self._wanted.get(node.path, ())
            forms = FileForms(node, source, self._words, wanted, cut=content.cut, unsaved=unsaved)
            return forms(0), forms, forms.full_characters
        symbol = next((symbol for symbol in symbols if symbol.name == node.symbol), None)
        if symbol is None:
            self._gaps.append(f"{node.node_id} is in focus, but {node.path} has no definition of that name")
            return fixed(unshown_form(node, "Not found in this file."))
        forms = SymbolForms(node, source, symbol)
        return forms(0), forms, forms.full_characters

    def _hit_slices(self, hits: Sequence[Hit]) -> Iterator[Slice]:
        for position, hit in enumerate(hits):
            content = self._files.note(hit.path)
            if content.problem:
                self._gaps.append(f"{hit.path} was found for the prompt but is not shown: {content.problem}")
                continue
            unsaved = self._files.unsaved(hit.path)
            symbols = () if unsaved else self._files.symbols(hit.path)
            source = Source(hit.path, content.text, fence_tag(language_of(hit.path)), symbols)
            most = HIT_CHARACTERS[min(position, len(HIT_CHARACTERS) - 1)]
            forms = HitForms(hit, source, self._words, most)
            yield Slice(
                id=f"document:{hit.node_id}",
                type="document",
                layer="focus",
                weight=self._weights.document,
                order=(3, len(self._scope.focus_paths) + len(self._scope.expanded) + position),
                smallest=forms(0),
                grow=forms,
                full_characters=forms.full_characters,
                path=hit.path,
                source=f"found for the prompt: {reasons_of(hit)}",
                score=hit.score,
            )

    def _dependency_slices(self, dependencies: Mapping[str, str]) -> Iterator[Slice]:
        for position, (path, importer) in enumerate(dependencies.items()):
            content = self._files.note(path)
            if content.problem and content.shown is None:
                self._gaps.append(f"{path}, which {importer} imports, is left out: {content.problem}")
                continue
            symbols = self._files.symbols(path)
            imports = () if symbols else self._files.imports(path)
            passed_on = [one.target for one in imports if one.target]
            if not symbols and not passed_on and self._files.is_bare(path):
                self._left_out.add(path)
                continue
            forms = OutlineForms(path, importer, content, symbols, fence_tag(language_of(path)), passed_on)
            yield Slice(
                id=f"dependency:{path}",
                type="dependency",
                layer="focus",
                weight=self._weights.dependency,
                order=(4, position),
                smallest=forms(0),
                grow=forms,
                full_characters=forms.full_characters,
                path=path,
                source=f"imported by {importer}",
            )

    # Horizon

    def _horizon(self, focus: set[str], dependencies: set[str]) -> Iterator[Slice]:
        files, layout = self._snapshot.tree.files, self._snapshot.tree.layout
        hot = [node for node in self._scope.hot if node.path in files and node.path not in focus]
        if hot:
            yield Slice("hot", "hot", "horizon", self._weights.hot, (5, 0), *fixed(hot_form(hot)))
        if layout.folders[""].total <= sum(path in files for path in focus):
            return  # nothing beside the focus
        share = int(self._request.context_tokens * CHARACTERS_PER_TOKEN * SKELETON_SHARE)
        forms = SkeletonForms(layout, focus, focus | dependencies, share)
        weight, full = self._weights.skeleton, forms.full_characters
        yield Slice("skeleton", "skeleton", "horizon", weight, (5, 1), forms(0), forms, full)

    # Fitting

    def _fit(self, slices: Sequence[Slice]) -> Built:
        """Select, render, and check the whole against the limits, which is what is promised."""
        request = self._request
        frame = count_tokens(" " * render.FRAME_CHARACTERS)
        tokens = max(request.context_tokens - frame, 0)
        room = max(request.max_bytes - render.FRAME_CHARACTERS, 0)
        for _ in range(REFITS_MAX):
            selection = select(slices, Limits(tokens, room))
            context = self._render(selection)
            size = len(context.encode("utf-8", "replace"))
            used = count_tokens(context)
            if used <= request.context_tokens and size <= request.max_bytes:
                break
            # JSON escapes and lists its slices: give the next attempt so much less.
            tokens = int(tokens * min(0.95, request.context_tokens / max(used, 1)))
            room = int(room * min(0.95, request.max_bytes / max(size, 1)))
        else:
            selection, context = Selection((), tuple(slices)), ""
        return self._record(selection, context)

    def _render(self, selection: Selection) -> str:
        if self._request.format == "json":
            return render.render_json(self._project, selection.chosen)
        return render.render_markdown(selection.chosen)

    def _record(self, selection: Selection, context: str) -> Built:
        request = self._request
        fitting = {one.id for one, _ in selection.chosen} | self._fitting_tools()
        items = tuple(one for one in self._items if one.slice_id in fitting)
        missed = (one for one in self._items if one.score is not None and one.slice_id not in fitting)
        conversation = None
        if request.format in {"prompts", "messages"} or (request.prompt and self._scope.session_id):
            conversation = conversation_of(self._project, request, selection.chosen, context, items)
        reply = reply_of(
            self._scope.id, request, selection, context, items, self._gaps, self._degraded, conversation
        )
        told = {one.path for one, _ in selection.chosen} | self._left_out
        shown = tuple(shown for path, shown in sorted(self._files.shown.items()) if path in told)
        memory = 2 * len(context) + 400 * len(selection.chosen) + 300 * len(shown) + 200 * len(items)
        return Built(
            reply,
            shown,
            tuple(self._files.stale),
            memory + (conversation.memory_bytes if conversation else 0),
            self._files.lasting,
            items,
            (*self._plan.left_out, *(LeftOutItem(one.item, one.score or 0.0, "budget") for one in missed)),
            conversation,
        )

    def _fitting_tools(self) -> set[str]:
        """Return the ids of the tools whose descriptions together take no more than `max_bytes`."""
        tools = [one for one in self._items if one.item.type == "tool"]
        room, fitting = self._request.max_bytes, set()
        for one in tools:
            size = len(one.item.description.encode("utf-8", "replace"))
            size += len(one.item.text.encode("utf-8", "replace"))
            if size <= room:
                fitting.add(one.slice_id)
                room -= size
        if len(fitting) < len(tools):
            self._gaps.append(
                f"{len(tools) - len(fitting):,} of {len(tools):,} tools are left out: their descriptions take"
                " more than max_bytes"
            )
        return fitting
