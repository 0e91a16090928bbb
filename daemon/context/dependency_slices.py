"""Slices of related files: outlines of files that the focus imports, that import it, or lie beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from ..languages.shared.language import file_tag, language_of
from ..project.service import role_of
from .build_state import BuildState, content_key
from .file_forms import OutlineForms, name_of
from .focus import FocusNode, package_files
from .selection import Slice

IMPORTS_MIN, TOKENS_PER_IMPORT = 6, 400
"""Minimum number of imported files in a context. A context may have one more for
each `TOKENS_PER_IMPORT` tokens of its budget."""

TOKENS_PER_NAME = 160
"""Tokens of a context with a prompt for each imported file. A line that names one takes 25 to 65, 47 on
average, so that they take a quarter of a small context. With the files that import the focus and those
beside it they take a third of one of 3,000 tokens (three prompts on scrapy: .28 to .40)."""

IMPORTERS_MAX, TOKENS_PER_IMPORTER = 20, 400
"""Maximum number of files shown that import the focus, and the tokens of the context for each of them. On 18
commits, contexts with these files show .03 more of the files changed together with the focus."""

IMPORTER_VALUE = 0.8
"""Weight of a file that imports the focus, relative to one that the focus imports."""

SIBLINGS_MAX, TOKENS_PER_SIBLING = 40, 800
"""Maximum number of files shown from the folder of the focus, and the tokens of the context for each of them.
On 25 prompts, contexts with these files show .05 to .1 more of the files changed together with the focus."""

SIBLING_VALUE = 0.6
"""Weight of a file in the folder of the focus, relative to one that the focus imports."""

IMPORTERS_PLACE, SIBLINGS_PLACE = 100_000, 200_000
"""Order of the slices: imported files come first, then importers, then siblings."""


def dependencies(state: BuildState, nodes: Sequence[FocusNode]) -> dict[str, str]:
    """Return the files that the focus imports, each with its first importer; missing ones become gaps.

    The number is limited by `context.dependencies_max` and by the size of the context.
    """
    importer_of: dict[str, str] = {}
    inside = {node.path for node in nodes}
    for path in _in_focus(nodes):
        for imported in state.files.imports(path):
            if imported.missing:
                state.gaps.append(
                    f"{path}:{imported.imported.line} imports {imported.imported.module}, which doesn't exist"
                )
            elif imported.target:
                for target in package_files(state.snapshot.tree.layout, imported.target):
                    if target not in inside:
                        importer_of.setdefault(target, path)
    most = state.snapshot.config.context.dependencies_max
    wanted = min(most, IMPORTS_MIN + state.request.context_tokens // TOKENS_PER_IMPORT)
    if state.request.prompt.strip():
        wanted = min(wanted, state.request.context_tokens // TOKENS_PER_NAME)
    if len(importer_of) > wanted:
        why = f": at most {most}" if wanted == most else " for want of room"
        state.gaps.append(
            f"{len(importer_of) - wanted:,} of {len(importer_of):,} imported files are left out{why}"
        )
    return dict(list(importer_of.items())[:wanted])


def siblings(state: BuildState, nodes: Sequence[FocusNode], known: Collection[str]) -> dict[str, str]:
    """Return files in the folders of the focus, each with the file in focus beside it.

    The number depends on the size of the context and of the focus. `known` files are left out, and tests come
    last. Without a prompt there are none, since they only help with a task.
    """
    folders = state.snapshot.tree.layout.folders
    paths = _in_focus(nodes)
    most = min(SIBLINGS_MAX, state.request.context_tokens // TOKENS_PER_SIBLING) // max(len(paths), 1)

    def beside(path: str) -> Iterator[str]:
        folder = path.rpartition("/")[0]
        names = folders[folder].files if folder in folders else ()
        return (f"{folder}/{name}" if folder else name for name in names)

    ranked = _related(state, nodes, known, beside, paths[:most])
    return dict(islice((pair for pair in ranked if state.files.has_definitions(pair[0])), most))


def importers(state: BuildState, nodes: Sequence[FocusNode], known: Collection[str]) -> dict[str, str]:
    """Return files that import the focus, each with the file that it imports.

    The number depends on the size of the context. `known` files are left out; files in the same folder come
    first, tests last. Without a prompt there are none, as with `siblings`.
    """
    ranked = _related(state, nodes, known, state.files.importers, _in_focus(nodes))
    return dict(ranked[: min(IMPORTERS_MAX, state.request.context_tokens // TOKENS_PER_IMPORTER)])


def _in_focus(nodes: Sequence[FocusNode]) -> list[str]:
    return list(dict.fromkeys(node.path for node in nodes if node.role == "focus"))


def _related(
    state: BuildState,
    nodes: Sequence[FocusNode],
    known: Collection[str],
    related: Callable[[str], Iterable[str]],
    paths: Sequence[str],
) -> list[tuple[str, str]]:
    """Return the files related to these paths, each with the first of them, the nearest first."""
    found: dict[str, str] = {}
    left_out, files = {node.path for node in nodes} | set(known), state.snapshot.tree.files
    for path in paths if state.request.prompt.strip() else ():
        for other in related(path):
            if other in files and other not in left_out and other not in state.rule_files:
                found.setdefault(other, path)
    return sorted(found.items(), key=lambda pair: _distance(*pair))


def outline_slices(
    state: BuildState, related: Mapping[str, str], relation: str, value: float = 1.0, place: int = 0
) -> Iterator[Slice]:
    """Yield an outline of each file that has anything to show.

    `related` maps each file to the file in focus that it is related to; `relation` names that relation, such
    as "imported by". `value` is what such a file is worth compared with an imported one, and `place` is the
    position of the first.
    """
    weight = round(state.weights.dependency * value, 4)
    for position, (path, other) in enumerate(related.items(), place):
        piece = _outline(state, path, f"{relation} {name_of(other)}", f"{relation} {other}", weight, position)
        if piece is not None:
            yield piece


def _outline(
    state: BuildState, path: str, relation: str, source: str, weight: float, position: int
) -> Slice | None:
    content = state.files.note(path)
    if content.problem and content.shown is None:
        state.gaps.append(f"{path}, {source}, is left out: {content.problem}")
        return None
    symbols = state.files.symbols(path)
    imports = () if symbols else state.files.imports(path)
    passed_on = [imported.target for imported in imports if imported.target]
    if not symbols and not passed_on and state.files.is_bare(path):
        state.left_out.add(path)
        return None
    forms = OutlineForms(path, relation, content, symbols, file_tag(path, content.text), passed_on)
    return Slice(
        id=f"dependency:{path}",
        type="dependency",
        layer="focus",
        weight=weight,
        order=(4, position),
        smallest=forms(0),
        grow=forms,
        full_characters=forms.full_characters,
        path=path,
        source=source,
        content=content_key(content),
    )


def _distance(importer: str, imported: str) -> tuple[bool, bool, str]:
    is_test = role_of(importer, language_of(importer)) == "test"
    return is_test, importer.rpartition("/")[0] != imported.rpartition("/")[0], importer
