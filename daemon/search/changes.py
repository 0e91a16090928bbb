"""What a diff breaks: its changed definitions, who calls them outside of it, and which tests reach them."""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from ..graph.records import CLASSES, Findings, FoundPlace, Meaning
from ..graph.service import CodeGraph, callers, find_places, references, tests_within, uses_of_gone
from ..index.records import Definition
from ..languages.shared.language import language_of
from ..languages.shared.qualified_names import base_name
from ..languages.shared.records import Symbol
from ..privacy.secret_values import mask_piece
from ..project.records import ChangedFile, Diff
from ..project.service import ContentReader, read_diff, role_of, split_lines
from ..workspace.records import ProjectSnapshot

CHANGES_MAX: Final = 200
"""Maximum number of changed definitions that are looked up: each takes some milliseconds."""

PLACES_MAX: Final = 100
"""Maximum number of callers and of tests shown of a definition, each."""

TESTS_DEPTH: Final = 3
"""Maximum number of calls between a test and a changed definition; beyond it nearly every test reaches nearly
everything."""

RENAMED_LEAST: Final = 0.75
"""Minimum share of equal lines and members of a removed and an added definition that count as one renamed."""

RENAMED_LINES_MAX: Final = 200
"""Maximum number of first lines and members of a definition that are compared with another's."""

RENAMES_MAX: Final = 40
"""Maximum number of removed and of added definitions of a file that are compared, each."""

LINE_CHARACTERS: Final = 160

ChangeKind = Literal["signature", "removed", "renamed", "body"]

CALLED: Final = frozenset({"function", "method", "macro", *CLASSES})
"""Kinds of definitions that are called; of others every reference counts."""


class DefinitionChange(NamedTuple):
    """A changed definition of a file: before, after, or both. `node` is its name now, else its former one."""

    path: str
    kind: ChangeKind
    before: Symbol | None
    after: Symbol | None

    @property
    def symbol(self) -> Symbol:
        """The definition as it is now, else as it was."""
        symbol = self.after or self.before
        assert symbol is not None
        return symbol


def read_changes(snapshot: ProjectSnapshot, span: str) -> Diff:
    """Return the texts that a span changes, without hidden files. Raises as `read_diff` does."""
    limit = snapshot.config.scan.max_file_bytes
    return read_diff(span, snapshot.tree, snapshot.policy, limit, snapshot.system)


def describe_changes(
    snapshot: ProjectSnapshot, diff: Diff, symbols: Sequence[tuple[Symbol, ...]]
) -> tuple[dict[str, Any], int]:
    """Return the changed definitions of a diff with what they break, those with changed names first, and the
    number of files that wait to be linked, whose references may be missing.

    `symbols` are the definitions of each file's text before, then after. Blocks. Raises `DatabaseError`.
    """
    changes: list[DefinitionChange] = []
    added = 0
    for at, file in enumerate(diff.files):
        found, new = changed_definitions(file, symbols[2 * at], symbols[2 * at + 1])
        changes += found
        added += new
    in_tests = {each.path for each in changes if _is_test(each.path)}
    changes = [each for each in changes if each.kind in {"signature", "renamed"} or each.path not in in_tests]
    changes.sort(key=lambda each: (_KINDS.index(each.kind), each.path, each.symbol.start_line))
    with snapshot.reader() as reader, reader.snapshot():
        graph = CodeGraph(snapshot.tree, reader)
        lines = _Lines(snapshot)
        inside = {(each.path, each.after.name) for each in changes if each.after is not None}
        described = [_described(each, graph, lines, inside) for each in changes[:CHANGES_MAX]]
        unlinked = reader.links.unlinked()
    # What nothing outside uses breaks nothing; the order within is kept.
    described.sort(key=lambda each: each["kind"] in {"removed", "renamed"} and not each["callers"])
    reached = Counter(
        path
        for path, _ in {
            (test["path"], test["enclosing"] or test["line"]) for each in described for test in each["tests"]
        }
    )
    reached.update(dict.fromkeys(in_tests - reached.keys(), 0))
    answer = {
        "before": diff.before,
        "after": diff.after,
        "files": sum(map(_holds_code, symbols[::2], symbols[1::2])) + diff.more,
        "added": added,
        "changes": described,
        "more": max(len(changes) - CHANGES_MAX, 0),
        "tests": [{"path": path, "reached": count} for path, count in _by_count(reached)],
    }
    return answer, unlinked


def changed_definitions(
    file: ChangedFile, before: Sequence[Symbol], after: Sequence[Symbol]
) -> tuple[list[DefinitionChange], int]:
    """Return a file's changed definitions, and the number of new ones.

    A definition changes with its own lines, not with those of definitions inside it; spaces at the ends of
    lines, empty lines and a common indentation don't count.
    """
    old, new = _own_texts(file.before, before), _own_texts(file.after, after)
    gone = [name for name in old if name not in new]
    fresh = [name for name in new if name not in old]
    renamed = _renamed(gone, fresh, old, new)
    now_named = {name: renamed.get(name, name) for name in old}
    lost = set(gone)
    for name in gone:  # members keep their names in a renamed class; outer definitions come first
        owner, _, last = name.rpartition(".")
        if owner in lost and name not in renamed:
            now_named[name] = f"{now_named[owner]}.{last}"
    changes = []
    for name, other in now_named.items():
        was, old_text = old[name]
        now, new_text = new.get(other, (None, ()))
        if name in renamed:
            changes.append(DefinitionChange(file.path, "renamed", was, now))
        elif now is None:
            owner = name.rpartition(".")[0]
            if owner not in lost or now_named[owner] in new:  # else it goes with its class
                changes.append(DefinitionChange(file.path, "removed", was, None))
        elif now.kind in CALLED and _plain(was.signature) != _plain(now.signature):
            changes.append(DefinitionChange(file.path, "signature", was, now))
        elif old_text != new_text:
            changes.append(DefinitionChange(file.path, "body", was, now))
    return changes, len(new.keys() - set(now_named.values()))


def _own_texts(text: str, symbols: Sequence[Symbol]) -> dict[str, tuple[Symbol, tuple[str, ...]]]:
    """Return each definition by its name, with its own lines in a form that can be compared."""
    lines = split_lines(text)
    owner = [-1] * (len(lines) + 2)
    code = [each for each in symbols if each.kind != "section"]
    for at, symbol in enumerate(code):  # outer definitions come first
        for number in range(symbol.start_line, min(symbol.end_line, len(lines)) + 1):
            owner[number] = at
    own: list[list[str]] = [[] for _ in code]
    for number, line in enumerate(lines, 1):
        if owner[number] >= 0 and line.strip():
            own[owner[number]].append(line.rstrip())
    found = {}
    for symbol, mine in zip(code, own, strict=True):
        margin = min((len(line) - len(line.lstrip()) for line in mine), default=0)
        found[symbol.name] = (symbol, tuple(line[margin:] for line in mine))
    return found


def _renamed(
    gone: Sequence[str],
    fresh: Sequence[str],
    old: dict[str, tuple[Symbol, tuple[str, ...]]],
    new: dict[str, tuple[Symbol, tuple[str, ...]]],
) -> dict[str, str]:
    """Return the new name of each removed definition that an added one of its kind resembles most, by their
    own lines and the names of their members."""

    def plain(names: Sequence[str], own: dict[str, tuple[Symbol, tuple[str, ...]]]) -> dict[str, list[str]]:
        members = defaultdict[str, list[str]](list)
        for each in own:
            for at, char in enumerate(each):
                if char == ".":
                    members[each[:at]].append(each[at:])
        return {
            name: [*(line.replace(base_name(name), "·") for line in own[name][1]), *members[name]]
            for name in names[:RENAMES_MAX]
        }

    pairs = []
    added = plain(fresh, new)
    for name, before in plain(gone, old).items():
        for other, after in added.items():
            same_kind = old[name][0].kind == new[other][0].kind
            if not same_kind or name.rpartition(".")[0] != other.rpartition(".")[0]:
                continue
            if abs(len(before) - len(after)) > max(len(before), len(after)) * (1 - RENAMED_LEAST):
                continue
            matcher = difflib.SequenceMatcher(
                None, before[:RENAMED_LINES_MAX], after[:RENAMED_LINES_MAX], autojunk=False
            )
            if (
                matcher.real_quick_ratio() >= RENAMED_LEAST
                and matcher.quick_ratio() >= RENAMED_LEAST
                and (share := matcher.ratio()) >= RENAMED_LEAST
            ):
                pairs.append((-share, name, other))
    found: dict[str, str] = {}
    for _, name, other in sorted(pairs):
        if name not in found and other not in found.values():
            found[name] = other
    return found


def _described(
    change: DefinitionChange, graph: CodeGraph, lines: _Lines, inside: set[tuple[str, str]]
) -> dict[str, Any]:
    symbol, path = change.symbol, change.path
    described: dict[str, Any] = {
        "node_id": f"{path}#{symbol.name}",
        "path": path,
        "symbol": symbol.name,
        "symbol_kind": symbol.kind,
        "kind": change.kind,
        "start_line": symbol.start_line if change.after else 0,
        "end_line": symbol.end_line if change.after else 0,
    }
    if change.before is not None and change.kind in {"signature", "renamed"}:
        before, after = lines.shown(change.before.signature), lines.shown(symbol.signature)
        described |= {"before": before, "after": after, "parameters": parameter_changes(before, after)}
    if change.before is not None and change.kind == "renamed":
        described["former"] = change.before.name
    found = Findings()
    if change.before is not None and change.kind in {"removed", "renamed"}:
        found = uses_of_gone(path, change.before.name, graph)
    meant = _meaning(change, graph)
    used, near = found, Findings()
    if meant is not None:
        if change.kind != "renamed":
            used = find_places(callers if symbol.kind in CALLED else references, [meant], graph)
        near = tests_within([meant], graph, TESTS_DEPTH)
    nodes = graph.definitions(each.node for each in (*used.found, *near.found))
    outside = [each for each in used.found if not _is_inside(each, nodes, inside)]
    certain = [each for each in outside if each.certainty != "name"]
    # Of a body that changed, calls that only share its name say little; they are counted.
    chosen = certain if change.kind == "body" else outside
    described["callers"] = [_place(each, nodes, lines) for each in chosen[:PLACES_MAX]]
    described["callers_total"] = len(chosen)
    described["by_name"] = len(outside) - len(certain)
    reaching = _distinct(near.found, nodes)
    described["tests"] = [_place(each, nodes, lines) for each in reaching[:PLACES_MAX]]
    described["tests_total"] = len(reaching)
    if used.more or near.more:
        described["partial"] = True
    return described


def _meaning(change: DefinitionChange, graph: CodeGraph) -> Meaning | None:
    """Return the changed definition as the graph knows it; None if the index doesn't have it."""
    if change.after is None:
        return None
    name = change.after.name
    found = [each for each in graph.links.definitions_at(change.path, name) if each.symbol.name == name]
    return Meaning(name, base_name(name), tuple(found), len(found)) if found else None


def _holds_code(before: Sequence[Symbol], after: Sequence[Symbol]) -> bool:
    return any(each.kind != "section" for each in (*before, *after))


def _is_test(path: str) -> bool:
    return role_of(path, language_of(path)) == "test"


def _is_inside(place: FoundPlace, nodes: dict[int, Definition], inside: set[tuple[str, str]]) -> bool:
    node = nodes.get(place.node)
    return node is not None and (node.path, node.symbol.name) in inside


def _distinct(found: Sequence[FoundPlace], nodes: dict[int, Definition]) -> list[FoundPlace]:
    """Return tests that reach a definition, each once, the nearest first: those that only call something of
    its name if there are no others, none that only import its file."""
    found = [each for each in found if not each.why.startswith("imports")]
    certain = [each for each in found if each.certainty != "name"] or found
    unique: dict[tuple[str, int], FoundPlace] = {}
    for each in certain:
        unique.setdefault((each.path, each.node or -each.line), each)
    # Helpers, fixtures and applications under test lie in test files too.
    named = {number: "test" in node.symbol.name.lower() for number, node in nodes.items()}
    return sorted(unique.values(), key=lambda each: (each.distance, not named.get(each.node, True)))


def _place(place: FoundPlace, nodes: dict[int, Definition], lines: _Lines) -> dict[str, Any]:
    node = nodes.get(place.node)
    described: dict[str, Any] = {
        "path": place.path,
        "line": place.line,
        "enclosing": node.symbol.name if node is not None and node.path == place.path else "",
        "text": lines.at(place.path, place.line),
        "certainty": place.certainty,
    }
    if place.steps:
        described["calls"] = len(place.steps)
        described["via"] = place.via
    return described


class _Lines:
    """Lines of the project's files as an agent may see them."""

    def __init__(self, snapshot: ProjectSnapshot) -> None:
        limit = snapshot.config.scan.max_file_bytes
        self._contents = ContentReader(snapshot.tree.root, snapshot.system, limit, {}, snapshot.policy)
        self._masks = snapshot.policy.mask_values
        self._lines: dict[str, list[str]] = {}

    def at(self, path: str, line: int) -> str:
        """Return a line without its indentation, "" if the file has it no more."""
        if path not in self._lines:
            self._lines[path] = split_lines(self._contents.read(path).text)
        lines = self._lines[path]
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        return text if len(text) <= LINE_CHARACTERS else f"{text[: LINE_CHARACTERS - 1]}…"

    def shown(self, signature: str) -> str:
        """Return a signature on one line."""
        text = " ".join(signature.split())
        return mask_piece(text).text if self._masks else text


def parameter_changes(before: str, after: str) -> list[str]:
    """Return how the parameters of a signature change, one a word: `-timeout`, `+retries`, `limit→most`."""
    old, new = _parameters(before), _parameters(after)
    removed = [name for name in old if name not in new]
    added = [name for name in new if name not in old]
    if len(removed) == len(added) == 1 and list(old).index(removed[0]) == list(new).index(added[0]):
        return [f"{removed[0]}→{added[0]}"]
    changed = [f"-{name}" for name in removed] + [f"+{name}" for name in added]
    kept = [name for name in old if name in new]
    if not changed and kept != [name for name in new if name in old]:
        return ["order"]
    return changed


def _parameters(signature: str) -> dict[str, None]:
    """Return the names of a signature's parameters, in order."""
    quoted = _QUOTED_IN_RUST if _RUST.match(signature) else _QUOTED
    inner = _first_list(quoted.sub('""', signature))
    names: dict[str, None] = {}
    for part in _parts(inner):
        bare = part.partition("=")[0].partition(":")[0].strip()
        words = _NAME.findall(bare)
        if words:
            # Go and TypeScript name a parameter before its type, C and Java behind it.
            named = (
                words[-1]
                if len(words) > 1 and bare.endswith(words[-1]) and not _GO.search(signature)
                else words[0]
            )
            names[named] = None
    return names


def _first_list(signature: str) -> str:
    """Return what is in the parentheses of a definition's head: behind the name and its generics, not a Go
    receiver."""
    receiver = re.match(r"func\s*\([^)]*\)\s*", signature)
    start, generics = -1, 0
    for at in range(receiver.end() if receiver else 0, len(signature)):
        char = signature[at]
        if char == "(" and not generics:
            start = at
            break
        generics += (char == "<") - (char == ">" and signature[at - 1] not in "=-" and generics > 0)
    if start < 0:
        start = signature.find("(")  # an operator's name may hold a single <
    if start < 0:
        return ""
    depth = 0
    for at in range(start, len(signature)):
        depth += (signature[at] in "([{") - (signature[at] in ")]}")
        if not depth:
            return signature[start + 1 : at]
    return signature[start + 1 :]


def _parts(inner: str) -> Iterator[str]:
    depth, begun = 0, 0
    for at, char in enumerate(inner):
        depth += (char in "([{<") - (char in ")]}>" and inner[at - 1 : at + 1] not in {"=>", "->"})
        if char == "," and depth <= 0:
            yield inner[begun:at]
            begun = at + 1
    yield inner[begun:]


def _plain(signature: str) -> str:
    return re.sub(r"\s+|,(?=\s*\))", "", signature)


def _by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


_KINDS: Final[tuple[ChangeKind, ...]] = ("signature", "removed", "renamed", "body")
_NAME = re.compile(r"[^\W\d][\w$]*")
_GO = re.compile(r"^\s*func\b")
_RUST = re.compile(r'(?:pub(?:\([^)]*\))?\s+)?[\w" ]*?\b(?:fn|impl|struct|enum|trait)\b')
_QUOTED_TWICE = r'"(?:[^"\\]|\\.)*(?:"|$)'
_QUOTED = re.compile(
    rf"{_QUOTED_TWICE}|(?<!\d)'(?:[^'\\]|\\.)*(?:'|$)|(?:(?<==)|(?<== ))`[^`]*(?:`|$)", re.DOTALL
)
_QUOTED_IN_RUST = re.compile(_QUOTED_TWICE, re.DOTALL)
"""Strings, to the end if one is cut off. In Rust a single quote begins a lifetime."""
