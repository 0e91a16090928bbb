"""The files and definitions in focus, named by caller or session, and their slices."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence

from ..core.errors import InvalidRequest
from ..languages.shared.records import Symbol
from ..project.records import Content
from ..project.service import relative_path, split_node_id
from .build_state import BuildState, content_key
from .file_forms import DefinitionForms, FileForms, name_of, unshown_form
from .focus import FOCUS_MAX, FocusNode, resolve_paths
from .selection import Form, GrowForm, Slice, fixed

NEAR_COMPARED = 1_000
"""Maximum definitions of a file that an unknown name is compared with; that takes 20 ms."""

NEAR_NAMED = 3
"""Maximum definitions that are named instead of an unknown one."""


def focus_nodes(state: BuildState) -> list[FocusNode]:
    """Return the nodes in focus from the caller, from ExpandFocus and from the session.

    Definitions in files that are in focus as a whole are added to the state's `wanted` instead.
    """
    tree, policy = state.snapshot.tree, state.snapshot.policy
    primary, gaps = resolve_paths(tree, state.scope.focus_paths, "focus", policy)
    expanded, more_gaps = resolve_paths(tree, state.scope.expanded, "expansion", policy)
    state.gaps.extend([*gaps, *more_gaps])
    if gaps or more_gaps:
        state.files.lasting = False  # no stamp would tell that a missing file was created
    nodes = {node.node_id: node for node in _without_rules(state, primary)}
    for node in (*_without_rules(state, expanded), *_session_nodes(state)):
        if node.path not in nodes:
            nodes.setdefault(node.node_id, node)
        elif node.symbol:  # the file in focus shows it, before others if it must be shortened
            state.wanted.setdefault(node.path, set()).add(node.symbol)
    return list(nodes.values())


def paths_called_for(state: BuildState, nodes: Sequence[FocusNode]) -> set[str]:
    """Return the paths that rules' patterns are matched against: those that caller and session put in focus.

    They need not exist. Files that were only found or named in the prompt don't activate rules."""
    resolved = {node.path for node in nodes if node.role != "document"}
    return _exact_paths(state) | resolved | {path for _, path in _session_paths(state) if path}


def _without_rules(state: BuildState, nodes: Sequence[FocusNode]) -> list[FocusNode]:
    """Return the nodes without instruction files, except those that were requested by their exact paths.

    A rule that was removed from the session isn't shown even then, which becomes a gap.
    """
    root, exact = state.snapshot.tree.root, _exact_paths(state)
    kept = []
    for node in nodes:
        if node.path not in state.rule_files:
            kept.append(node)
        elif node.path not in exact:
            state.passed_over.add(node.path)
        elif state.rule_files.is_removed(root, node.path, state.files.read(node.path).text):
            state.gaps.append(f"{node.path} is in focus but not shown: its rule was removed from the session")
        else:
            kept.append(node)
    return kept


def _exact_paths(state: BuildState) -> set[str]:
    """Return the paths that the caller put in focus or expanded, without folders and globs resolved."""
    files = state.snapshot.tree.files
    return {split_node_id(files, path)[0] for path in (*state.scope.focus_paths, *state.scope.expanded)}


def _session_nodes(state: BuildState) -> list[FocusNode]:
    """Return the files of the session; those outside of the project only from allowed folders."""
    root, nodes = state.snapshot.tree.root, []
    for path, relative in _session_paths(state):
        if not relative:
            if content_problem := state.files.read(path).problem:
                state.gaps.append(f"{path}, a file of the session, is not shown: {content_problem}")
            else:
                nodes.append(FocusNode(path, "", "session_set", "a file of the session"))
            continue
        if relative in state.rule_files:
            state.gaps.append(
                f"{path}, a file of the session, holds rules, which are shown as rules if included"
            )
        elif relative in state.snapshot.tree.files or os.path.isfile(os.path.join(root, relative)):
            nodes.append(FocusNode(relative, "", "session_set", "a file of the session"))
        else:
            state.gaps.append(f"{path}, a file of the session, is no file (any more)")
            state.files.lasting = False  # no stamp would show that the file was created
    return nodes


def _session_paths(state: BuildState) -> list[tuple[str, str]]:
    """Return the files of the session, each with its path relative to the root, "" if outside of it."""
    return [(path, _inside(state.snapshot.tree.root, path)) for path in state.plan.files]


def _inside(root: str, path: str) -> str:
    """Return the path of a file relative to the root, "" if it lies outside of it."""
    try:
        return relative_path(root, path)
    except InvalidRequest:
        return ""


QUICK_FILES = 8
"""Maximum number of files in focus that a quick build reads, a millisecond each."""

COPY_CHARACTERS = 200
"""Minimum characters of a file that isn't shown again if another file in focus is identical."""

UNREAD = Content("", None, "there was no time to read it")


def focus_slices(state: BuildState, nodes: Sequence[FocusNode]) -> Iterator[Slice]:
    """Yield a slice for each node; one that can't be shown says why."""
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
            weight=state.weights.session_set if node.role == "session_set" else state.weights.focus,
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


def _symbol(state: BuildState, node: FocusNode, content: Content) -> Symbol | None:
    """Return the definition of a node, None for a file and for definitions in unsaved buffers.

    The lines of definitions in unsaved buffers aren't known, so these are shown as files.
    """
    if not node.symbol or content.problem or state.files.unsaved(node.path):
        return None
    return next((symbol for symbol in state.files.symbols(node.path) if symbol.name == node.symbol), None)


def _near(state: BuildState, node: FocusNode) -> str:
    """Name the definitions that an unknown name may mean: those inside others, or spelled alike."""
    names = list(dict.fromkeys(symbol.name for symbol in state.files.symbols(node.path)))
    last = node.symbol.rpartition(".")[2]
    found = [name for name in names if name.rpartition(".")[2] == last]
    near = found or difflib.get_close_matches(node.symbol, names[:NEAR_COMPARED], cutoff=0.8)
    if not near:
        return "the path alone is all of it"
    return f"there is {', '.join(f'{node.path}#{name}' for name in near[:NEAR_NAMED])}"


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
        missing = f"{node.node_id} is in focus, but {node.path} has no definition of that name"
        state.gaps.append(f"{missing}; {_near(state, node)}")
        return fixed(unshown_form(node, "Not found in this file."))
    else:
        wanted = state.wanted.get(node.path, ())
        forms = FileForms(node, source, state.words, wanted, cut=content.cut, unsaved=unsaved)
    return forms(0), forms, forms.full_characters
