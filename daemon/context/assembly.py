"""Owns the sandwich: from a frozen project, a scope and a request to the context and the record of it.

Pure but for reading the files that it shows; it runs in a thread, never on the event loop.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..experience.experience import Experience
from ..index.store import Reader
from ..project.languages import fence_tag, language_of
from ..project.tree import FileRecord, ResolvedImport, Symbol
from ..snapshot import ProjectSnapshot
from ..storage import DatabaseError
from . import render
from .budget import Limits, Selection, select
from .content import Content, ContentReader, Shown, still_holds
from .excerpt import Source, excerpt, fenced, numbered, outline
from .focus import FocusNode, mentioned, package_files, prompt_words, resolve_paths
from .globs import compile_glob
from .items import Item
from .requests import ContextRequest
from .scopes import HotNode, Scope
from .skeleton import draw_skeleton, printable
from .slices import CHARACTERS_PER_TOKEN, Form, GrowForm, Slice, SliceType, count_tokens, fixed
from .suggest import suggested

SKELETON_CHARACTERS = 16_000
"""A map larger than 4,000 tokens isn't read any more, however large the budget."""

SKELETON_SHARE = 0.25
"""And it takes at most this much of the budget, even where nothing else wants it."""

DECISION_CHARACTERS = 2_000
"""A decision or its rationale is cut here in a context; it is whole in the pool."""

GAPS_MAX = 20
REFITS_MAX = 4


@dataclass(frozen=True, slots=True)
class Built:
    """A rendered context with its record.

    `stale` are relative paths whose definitions in the index are older than their content on the disk;
    the context was built without these definitions. `shown` proves what it shows (see `still_holds`), unless
    it isn't `lasting`: a file or the index could not be read, and no stamp would tell when it can.
    """

    reply: Mapping[str, Any]
    shown: tuple[Shown, ...]
    stale: tuple[str, ...]
    memory_bytes: int
    lasting: bool = True


def build(
    snapshot: ProjectSnapshot, scope: Scope, constraints_above: Sequence[str], request: ContextRequest
) -> Built:
    """Build a context. Never raises for what a project contains: what is missing goes into `gaps`."""
    try:
        with snapshot.reader() as reader, reader.snapshot():
            return _Assembly(snapshot, scope, constraints_above, request, reader, snapshot.degraded).run()
    except DatabaseError as error:  # none yet, or damaged, which may show only in the middle
        problem = f"the index can't be read ({error}): no definitions and no imports are known"
        degraded = (*snapshot.degraded, problem)
        return _Assembly(snapshot, scope, constraints_above, request, None, degraded).run()


class _Assembly:
    """One build. The state that its steps share, which would otherwise be arguments of each of them."""

    def __init__(
        self,
        snapshot: ProjectSnapshot,
        scope: Scope,
        constraints_above: Sequence[str],
        request: ContextRequest,
        reader: Reader | None,
        degraded: Sequence[str],
    ) -> None:
        self._snapshot = snapshot
        self._scope = scope
        self._constraints = tuple(dict.fromkeys([*constraints_above, *scope.constraints]))
        self._above = frozenset(constraints_above)
        self._request = request
        self._reader = reader
        self._degraded = list(degraded)
        self._weights = snapshot.config.weights
        self._contents = ContentReader(
            snapshot.tree.root, snapshot.system, snapshot.config.scan.max_file_bytes, snapshot.overlays
        )
        self._gaps: list[str] = []
        self._stale: dict[str, None] = {}
        self._shown: dict[str, Shown] = {}
        self._lasting = reader is not None
        self._words = prompt_words(request.prompt)
        self._wanted: dict[str, set[str]] = {}
        """Definitions that were asked for in files that are in focus as a whole."""

    def run(self) -> Built:
        """Gather the slices, fit them into the budget, render."""
        primary = self._focus_nodes()
        dependencies = self._dependencies(primary)
        focus = {node.path for node in primary}
        slices = [
            *self._rules(focus),
            *self._constraint_slices(),
            *self._experiences(focus, set(dependencies)),
            *self._focus_slices(primary),
            *self._dependency_slices(dependencies),
            *self._horizon(focus, set(dependencies)),
        ]
        return self._fit(slices)

    # Anchor

    def _rules(self, focus: set[str]) -> Iterator[Slice]:
        for warning in self._snapshot.rules.warnings:
            self._gaps.append(warning)
        for position, item in enumerate(self._snapshot.rules.items):
            if not _rule_applies(item, focus):
                continue
            grow = partial(render.rule_form, item.name, item.text)
            yield Slice(
                id=f"rule:{item.name}",
                type="rule",
                layer="anchor",
                weight=self._weights.rule,
                order=(0, item.priority_level, position),
                smallest=grow(0),
                grow=grow,
                full_characters=len(grow(1 << 40).text),
                path=item.name,
                source=f"{item.name}:{item.line}, {item.include}",
            )

    def _constraint_slices(self) -> Iterator[Slice]:
        for position, text in enumerate(self._constraints):
            grow = partial(render.list_item, text)
            smallest, _, _ = fixed(grow(200))
            yield Slice(
                id=f"constraint:{position}",
                type="constraint",
                layer="anchor",
                weight=self._weights.constraint,
                order=(1, position),
                smallest=smallest,
                grow=grow,
                full_characters=len(grow(1 << 40).text),
                source="an ancestor scope" if text in self._above else "the caller",
            )

    def _experiences(self, focus: set[str], neighbours: set[str]) -> Iterator[Slice]:
        limit = self._snapshot.config.context.experiences_max
        chosen = self._snapshot.relevant_experiences(focus, neighbours, set(self._words), limit)
        for position, experience in enumerate(chosen):
            grow = partial(_experience_form, experience)
            yield Slice(
                id=f"experience:{experience.id}",
                type="agent_history",
                layer="anchor",
                weight=self._weights.agent_history,
                order=(2, position),
                smallest=grow(200),
                grow=grow,
                full_characters=len(grow(1 << 40).text),
                source=f"{experience.agent_id}, {experience.timestamp}",
            )

    # Focus

    def _focus_nodes(self) -> list[FocusNode]:
        tree = self._snapshot.tree
        primary, gaps = resolve_paths(tree, self._scope.focus_paths, "focus")
        expanded, more_gaps = resolve_paths(tree, self._scope.expanded, "expansion")
        self._gaps.extend([*gaps, *more_gaps])
        nodes = {node.node_id: node for node in primary}
        named = self._named_nodes() if self._reader and self._request.prompt else []
        for node in (*expanded, *named):
            if node.path not in nodes:
                nodes.setdefault(node.node_id, node)
            elif node.symbol:  # the file in focus shows it, and shows it first if it doesn't fit
                self._wanted.setdefault(node.path, set()).add(node.symbol)
        return list(nodes.values())

    def _named_nodes(self) -> list[FocusNode]:
        """Return what the prompt names; where that and the focus are empty, what it seems to be about."""
        assert self._reader is not None
        tree = self._snapshot.tree
        named = mentioned(tree, self._reader, self._request.prompt)
        if named or self._scope.focus_paths or self._scope.expanded:
            return named
        return suggested(tree, self._reader, self._words)

    def _dependencies(self, nodes: Sequence[FocusNode]) -> dict[str, str]:
        """Return the files that the focus imports, with the first importer; names what is missing."""
        found: dict[str, str] = {}
        inside = {node.path for node in nodes}
        for path in dict.fromkeys(node.path for node in nodes if node.role == "focus"):
            for imported in self._imports(path):
                if imported.missing:
                    module = imported.imported.module
                    self._gaps.append(
                        f"{path}:{imported.imported.line} imports {module}, which doesn't exist"
                    )
                elif imported.target:
                    for target in package_files(self._snapshot.tree.layout, imported.target):
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
            content = self._contents.read(node.path)
            self._show(content)
            if content.problem:
                self._gaps.append(f"{node.path} is in focus but not shown: {content.problem}")
                heading = f"`{render.inline(node.node_id)}`"
                form, grow, full = fixed(Form(render.block(heading, f"Not shown: {content.problem}.\n")))
            else:
                form, grow, full = self._node_forms(node, content)
            kind: SliceType = node.role
            yield Slice(
                id=f"{kind}:{node.node_id}",
                type=kind,
                layer="focus",
                weight=self._weights.document if kind == "document" else self._weights.focus,
                order=(3, position),
                smallest=form,
                grow=grow,
                full_characters=full,
                path=node.path,
                source=node.source,
            )

    def _node_forms(self, node: FocusNode, content: Content) -> tuple[Form, GrowForm, int]:
        unsaved = self._contents.unsaved(node.path)
        symbols = () if unsaved else self._symbols(node.path, content)
        source = Source(node.path, content.text, self._tag(node.path), symbols)
        if not node.symbol or unsaved:  # where a definition lies in an unsaved buffer isn't known
            whole = _FileForms(
                node,
                source,
                self._words,
                self._wanted.get(node.path, ()),
                cut=content.cut,
                unsaved=unsaved,
            )
            return whole(0), whole, whole.full_characters
        wanted = next((symbol for symbol in symbols if symbol.name == node.symbol), None)
        if wanted is None:
            self._gaps.append(f"{node.node_id} is in focus, but {node.path} has no definition of that name")
            return fixed(Form(render.block(f"`{render.inline(node.node_id)}`", "Not found in this file.\n")))
        part = _SymbolForms(node, source, wanted, self._words)
        return part(0), part, part.full_characters

    def _dependency_slices(self, dependencies: Mapping[str, str]) -> Iterator[Slice]:
        for position, (path, importer) in enumerate(dependencies.items()):
            content = self._contents.read(path)
            self._show(content)
            if content.problem and content.shown is None:
                self._gaps.append(f"{path}, which {importer} imports, is left out: {content.problem}")
                continue
            symbols = self._symbols(path, content)
            passed_on = [one.target for one in self._imports(path) if one.target] if not symbols else []
            forms = _OutlineForms(path, importer, symbols, self._tag(path), passed_on)
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
        hot = [
            node
            for node in self._scope.hot
            if node.path in self._snapshot.tree.files and node.path not in focus
        ]
        if hot:
            yield Slice("hot", "hot", "horizon", self._weights.hot, (5, 0), *fixed(Form(_hot_text(hot))))
        layout = self._snapshot.tree.layout
        if layout.folders[""].total <= sum(path in self._snapshot.tree.files for path in focus):
            return  # nothing beside the focus
        near = focus | dependencies
        share = int(self._request.context_tokens * CHARACTERS_PER_TOKEN * SKELETON_SHARE)
        most = min(share, SKELETON_CHARACTERS)

        def grow(characters: int) -> Form:
            room = min(characters, most) - 40
            drawn, folded = draw_skeleton(layout, focus, near, room)
            return Form(fenced(drawn, "text"), compressed=folded)

        yield Slice(
            "skeleton", "skeleton", "horizon", self._weights.skeleton, (5, 1), grow(0), grow, most
        )  # fmt: skip

    # What the steps share

    def _imports(self, path: str) -> tuple[ResolvedImport, ...]:
        if self._reader is None or self._contents.unsaved(path):
            return self._reader.imports(path) if self._reader else ()
        content = self._contents.read(path)
        return self._reader.imports(path) if self._indexed(path, content) else ()

    def _symbols(self, path: str, content: Content) -> tuple[Symbol, ...]:
        if self._reader is None or not self._indexed(path, content):
            return ()
        return self._reader.symbols(path)

    def _indexed(self, path: str, content: Content) -> bool:
        """Whether what the index knows of a file was read from the very content that is on the disk."""
        if self._reader is None or content.shown is None or path in self._stale:
            return False
        record = self._reader.record(path)
        if record is not None and record.skipped:
            return False
        if record is None or not _same_content(record, content.shown):
            if path in self._snapshot.tree.files or content.text:
                self._stale[path] = None
            return False
        return True

    def _show(self, content: Content) -> None:
        """Note what the answer says of a file: its text, its definitions, or that it has none of these."""
        if content.shown is not None:
            self._shown.setdefault(content.shown.path, content.shown)
        elif content.problem:
            self._lasting = False

    def _tag(self, path: str) -> str:
        return fence_tag(language_of(path))

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
            return render.render_json(os.path.basename(self._snapshot.tree.root), selection.chosen)
        return render.render_markdown(selection.chosen)

    def _record(self, selection: Selection, context: str) -> Built:
        self._name_dropped(selection.dropped)
        request, project = self._request, os.path.basename(self._snapshot.tree.root)
        layers = {"anchor": 0, "focus": 0, "horizon": 0}
        for one, form in selection.chosen:
            layers[one.layer] += form.tokens
        truncated = bool(selection.dropped) or any(form.compressed for _, form in selection.chosen)
        reply: dict[str, Any] = {
            "scope_id": self._scope.id,
            "context": context,
            "tokens": count_tokens(context),
            "bytes": len(context.encode("utf-8", "replace")),
            "truncated": truncated,
            "gaps": _capped(self._gaps),
            "degraded": self._degraded,
            "layers": layers,
            "slices": [render.slice_summary(one, form) for one, form in selection.chosen],
            "items": [
                {"type": "rule", "name": one.path, "include_mode": one.source.rpartition(", ")[2]}
                for one, _ in selection.chosen
                if one.type == "rule"
            ],
        }
        if request.format in {"prompts", "messages"}:
            reply["system_prompt"], reply["user_prompt"] = render.prompts(project, request, context)
        if request.format == "messages":
            reply["messages"] = render.messages(project, request, context)
        chosen = {one.path for one, _ in selection.chosen}
        shown = tuple(
            shown
            for path, shown in sorted(self._shown.items())
            if os.path.relpath(path, self._snapshot.tree.root) in chosen
        )
        memory = 2 * len(context) + 400 * len(selection.chosen) + 300 * len(shown)
        return Built(reply, shown, tuple(self._stale), memory, self._lasting)

    def _name_dropped(self, dropped: Sequence[Slice]) -> None:
        if dropped:
            named = ", ".join(one.path or one.id for one in dropped[:5])
            more = f" and {len(dropped) - 5:,} more" if len(dropped) > 5 else ""
            self._gaps.append(f"no room in the budget for {named}{more}: ask with a larger max_tokens")


class _FileForms:
    """A file in focus: whole where it fits, else its definitions and as many bodies as there is room for."""

    def __init__(
        self,
        node: FocusNode,
        source: Source,
        words: Iterable[str],
        wanted: Iterable[str],
        *,
        cut: bool,
        unsaved: bool,
    ) -> None:
        self._source = source
        self._words = tuple(words)
        self._wanted = frozenset(wanted)
        self._count = len(source.lines)
        mark = ", unsaved" if unsaved else ""
        self._heading = f"`{render.inline(node.path)}` ({_lines(self._count)}{mark})"
        self._cut = cut
        self._node = node
        self._whole = (
            render.code_block(self._heading, source.text, source.tag) if source.text.strip() else None
        )
        self.full_characters = 0 if cut or self._whole is None else len(self._whole)
        if cut:
            self.full_characters = len(source.text)

    def __call__(self, characters: int) -> Form:
        """Give the fullest form within so many characters; the least is a line that names the file."""
        if self._whole is None:
            return Form(render.block(self._heading, "The file is empty.\n"))
        if not self._cut and len(self._whole) <= characters:
            return Form(self._whole)
        room = characters - len(self._heading) - 180
        if room < 80:
            names = _defines(self._source.symbols)
            return Form(
                render.block(self._heading, f"{names or 'Not shown for want of room.'}\n"), compressed=True
            )
        text, left_out = excerpt(self._source, self._words, self._wanted, room)
        note = f"{left_out:,} lines left out: expand `{render.inline(self._node.path)}` or a definition of it"
        if self._cut:
            note = f"The file is too large to be shown whole; {note}"
        return Form(render.code_block(self._heading, text, self._source.tag, note), compressed=True)


class _SymbolForms:
    """One definition in focus, with its line numbers."""

    def __init__(self, node: FocusNode, source: Source, symbol: Symbol, words: Iterable[str]) -> None:
        self._symbol = symbol
        self._node = node
        self._heading = f"`{render.inline(node.node_id)}` (lines {symbol.start_line}-{symbol.end_line})"
        lines = source.lines[symbol.start_line - 1 : symbol.end_line]
        self._tag = source.tag
        text = "\n".join(numbered(lines, symbol.start_line, len(str(symbol.end_line))))
        self._whole = render.code_block(self._heading, text, self._tag)
        self._lines = text.split("\n")
        self.full_characters = len(self._whole)

    def __call__(self, characters: int) -> Form:
        """Give the definition whole or cut after a line; the least is its signature."""
        if len(self._whole) <= characters:
            return Form(self._whole)
        room = characters - len(self._heading) - 160
        kept: list[str] = []
        for line in self._lines:
            room -= len(line) + 1
            if room < 0:
                break
            kept.append(line)
        if not kept:
            text = outline([self._symbol], self._tag, docs=True)
            return Form(render.code_block(self._heading, text, self._tag), compressed=True)
        note = f"{len(self._lines) - len(kept):,} more lines"
        return Form(render.code_block(self._heading, "\n".join(kept), self._tag, note), compressed=True)


class _OutlineForms:
    """A dependency: its signatures with documentation where they fit, else fewer, else its names."""

    def __init__(
        self, path: str, importer: str, symbols: Sequence[Symbol], tag: str, passed_on: Sequence[str]
    ) -> None:
        self._heading = f"`{render.inline(path)}` (imported by `{render.inline(importer)}`)"
        self._symbols = symbols
        self._tag = tag
        self._passed_on = list(dict.fromkeys(passed_on))
        self._forms = [self._least()]
        if symbols:
            for depth, docs in ((0, False), (1, False), (99, True)):
                text = outline(symbols, tag, docs=docs, depth=depth)
                self._forms.append(Form(render.code_block(self._heading, text, tag), compressed=depth < 99))
        self.full_characters = max(len(form.text) for form in self._forms)

    def __call__(self, characters: int) -> Form:
        """Give the fullest of the forms within so many characters."""
        fitting = [form for form in self._forms if len(form.text) <= characters]
        return fitting[-1] if fitting else self._forms[0]

    def _least(self) -> Form:
        names = _defines(self._symbols) or "Defines nothing that is known."
        if self._passed_on:  # a barrel: what it imports is what it offers
            listed = ", ".join(f"`{render.inline(path)}`" for path in self._passed_on[:12])
            more = f" and {len(self._passed_on) - 12:,} more" if len(self._passed_on) > 12 else ""
            names = f"Defines nothing itself; it imports {listed}{more}."
        return Form(render.block(self._heading, f"{names}\n"), compressed=bool(self._symbols))


def _rule_applies(item: Item, focus: set[str]) -> bool:
    if item.include == "always":
        return True
    if item.include != "glob":
        return False
    return any(glob.matches(path) for glob in map(compile_glob, item.globs) for path in focus)


def _experience_form(experience: Experience, characters: int) -> Form:
    limit = min(characters, DECISION_CHARACTERS)
    mark = ""
    if experience.outcome == "failure":
        mark = f" (failed: {render.inline(experience.error)[:200]})" if experience.error else " (failed)"
    elif experience.outcome == "reverted":
        mark = " (reverted)"
    agent = render.inline(experience.agent_id) or "agent"
    first = render.list_item(f"{agent}: {experience.decision}", limit)
    text = first.text.rstrip("\n") + mark + "\n"
    compressed = first.compressed
    for label, value in (("why", experience.rationale), ("files", ", ".join(experience.files_touched))):
        line = f"  {label}: {render.inline(value)}"
        if not value:
            continue
        if len(text) + len(line) + 1 <= characters and len(line) <= DECISION_CHARACTERS:
            text += line + "\n"
        else:
            compressed = True
    return Form(text, compressed)


def _hot_text(hot: Sequence[HotNode]) -> str:
    lines = [f"- `{printable(node.path)}` ({node.reason})" for node in hot]
    return "Active files:\n\n" + "\n".join(lines) + "\n\n"


def _defines(symbols: Sequence[Symbol]) -> str:
    names = [symbol.name for symbol in symbols if symbol.depth == 0]
    if not names:
        return ""
    listed = ", ".join(f"`{render.inline(name)[:60]}`" for name in names[:8])
    more = f" and {len(names) - 8:,} more" if len(names) > 8 else ""
    return f"Defines {listed}{more}."


def _lines(count: int) -> str:
    return f"{count:,} line{'s' * (count != 1)}"


def _same_content(record: FileRecord, shown: Shown) -> bool:
    return bool(record.digest) and record.digest == shown.digest


def _capped(gaps: Sequence[str]) -> list[str]:
    unique = list(dict.fromkeys(gaps))
    if len(unique) <= GAPS_MAX:
        return unique
    return [*unique[: GAPS_MAX - 1], f"{len(unique) - GAPS_MAX + 1:,} more gaps"]


__all__ = ["Built", "build", "still_holds"]
