"""Owns the slices of what is in focus: files and definitions in the forms that they can take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..project.tree import Symbol
from .build_state import BuildState, content_key
from .content import Content
from .file_forms import DefinitionForms, FileForms, name_of, unshown_form
from .focus import FOCUS_MAX, FocusNode
from .slices import Form, GrowForm, Slice, fixed

NAMED_VALUE = 0.9
"""What a file or definition that the prompt names outright is worth beside a hit with the best score."""

QUICK_FILES = 8
"""So many files in focus are read where there is no time: a millisecond each."""

COPY_CHARACTERS = 200
"""A longer text isn't shown a second time where another file in focus has the same."""

UNREAD = Content("", None, "there was no time to read it")


def focus_slices(state: BuildState, nodes: Sequence[FocusNode]) -> Iterator[Slice]:
    """Yield a slice for each node, whether it can be shown or not."""
    most = QUICK_FILES if state.gathered.quick else FOCUS_MAX
    first: dict[str, str] = {}
    for position, node in enumerate(nodes):
        content = state.files.note(node.path) if position < most else UNREAD
        symbol = _symbol(state, node, content)
        lines = (symbol.start_line, symbol.end_line) if symbol else None
        key = content_key(content, lines)
        original = first.setdefault(key, node.node_id) if key else node.node_id
        if original != node.node_id and len(content.text) > COPY_CHARACTERS:
            form, grow, full = fixed(unshown_form(node, f"The same content as {name_of(original)}."))
        else:
            form, grow, full = _forms(state, node, content, symbol)
        yield Slice(
            id=f"{node.role}:{node.node_id}",
            type=node.role,
            layer="focus",
            weight=_weight(state, node),
            order=(3, position),
            smallest=form,
            grow=grow,
            full_characters=full,
            path=node.path,
            source=node.source,
            lines=lines,
            content=key if original == node.node_id else "",
            content_characters=0 if node.symbol else len(content.text),
        )


def _weight(state: BuildState, node: FocusNode) -> float:
    if node.role == "document":
        return round(state.weights.document * NAMED_VALUE, 4)
    return state.weights.session_set if node.role == "session_set" else state.weights.focus


def _symbol(state: BuildState, node: FocusNode, content: Content) -> Symbol | None:
    """Return the definition that a node is, None for a file.

    Where a definition lies in an unsaved buffer isn't known: that is shown as a file.
    """
    if not node.symbol or content.problem or state.files.unsaved(node.path):
        return None
    return next((one for one in state.files.symbols(node.path) if one.name == node.symbol), None)


def _forms(
    state: BuildState, node: FocusNode, content: Content, symbol: Symbol | None
) -> tuple[Form, GrowForm, int]:
    if content.problem:
        state.gaps.append(f"{node.path} is in focus but not shown: {content.problem}")
        return fixed(unshown_form(node, f"Not shown: {content.problem}."))
    unsaved, source = state.files.unsaved(node.path), state.source(node.path, content)
    forms: FileForms | DefinitionForms
    if symbol is not None:
        forms = DefinitionForms(source, symbol, symbol.start_line, symbol.end_line, state.words)
    elif node.symbol and not unsaved:
        state.gaps.append(f"{node.node_id} is in focus, but {node.path} has no definition of that name")
        return fixed(unshown_form(node, "Not found in this file."))
    else:
        wanted = state.wanted.get(node.path, ())
        forms = FileForms(node, source, state.words, wanted, cut=content.cut, unsaved=unsaved)
    return forms(0), forms, forms.full_characters
