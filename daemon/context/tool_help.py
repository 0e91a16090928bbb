"""Help beside an agent's own search: where it found nothing, found too much, or read a long file whole.

Agents search with their own tools whatever is offered to them, and most of these calls need no help; so all
others are answered with nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from ...hooks.hosts.tool_uses import ToolUse
from ..core.storage import DatabaseError
from ..core.work import Work
from ..graph.service import nearest
from ..index.service import Reader, query_terms
from ..languages.shared.qualified_names import base_name
from ..languages.shared.records import Symbol
from ..privacy.policy import Policy
from ..privacy.secret_gate import SecretGate, gate_of
from ..project.service import split_lines
from ..rules.service import rule_files
from ..search.records import Filter, FoundDefinition, SearchQuery
from ..search.service import SearchService
from ..workspace.records import ProjectSnapshot
from ..workspace.service import Project, deadline_of
from . import render
from .focus import prompt_words
from .hit_slices import SHOWN_SHARE, as_shown, found_in
from .known_files import KnownFiles
from .likely_places import LINES_READ, best_line, place_line
from .skeleton import printable
from .tokens import counter_of

HITS_MIN: Final = 31
"""Minimum number of hits that an agent is helped to choose among."""

LINES_MIN: Final = 501
"""Minimum lines of a file that is read whole for its outline."""

NOTHING_TOKENS: Final = 150
CHOICE_TOKENS: Final = 250
OUTLINE_TOKENS: Final = 300
"""Maximum tokens of the help where nothing was found, for many hits, and for a long file, with the tag around
it."""

TAG_CHARACTERS: Final = 40
"""Characters of that tag and of the line feeds beside it."""

CHOICE_MAX: Final = 5
FITTING_MAX: Final = 2
GUESSES_MAX: Final = 4
"""Maximum number of definitions among many hits, of a long file, and where nothing was found."""

NAMES_MAX: Final = 3
"""Maximum number of names in a pattern that are looked up, and of near names that are said for each."""

HELP_MIN: Final = 0.05
"""Minimum probability of a place. Beside prompts that got their context, commits of four code bases in
benchmarks/needed edited 8 of 84 definitions that help named above it, and 1 of 99 below."""

SEARCHED: Final = 60
"""Number of files among whose definitions is chosen."""

SHORTEST: Final = 4
"""Minimum letters of a name in a pattern; a shorter one is near to too many."""


class ToolHelp(Struct, frozen=True):
    """The text for the model, "" for none, and keys of what it says, each said once in a conversation."""

    text: str = ""
    keys: tuple[str, ...] = ()


NO_HELP: Final = ToolHelp()


class HelpRequest(Struct, frozen=True):
    """The use of a tool in a folder, the agent's task, and whether something with a key was said already."""

    use: ToolUse
    folder: str
    task: str
    is_said: Callable[[str], bool]


class ToolHelpService:
    """Helps where an agent's own search needs it. On the event loop only; the index is read in threads."""

    def __init__(self, searching: SearchService, work: Work) -> None:
        self._searching = searching
        self._work = work

    async def help(
        self, project: Project, policy: Policy, request: HelpRequest, deadline_ms: int
    ) -> ToolHelp:
        """Return the help for the use of a tool; none for a project that isn't indexed yet."""
        use, task = request.use, request.task
        words = " ".join((*_names(use.pattern), task)).strip()
        settings = project.config.context
        is_off = not settings.tool_help or not settings.hook_tokens or policy.max_tokens == 0
        if is_off or not project.index_state.searchable:
            return NO_HELP
        snapshot = project.snapshot(policy)
        inside = partial(_inside, snapshot.tree.root, request.folder)
        if use.read:
            path = inside(use.read)
            build = partial(_outline, snapshot, request, path)
            if path not in snapshot.tree.files or request.is_said(f"outline:{path}"):
                return NO_HELP
            try:
                if not await self._work.in_builder(partial(_is_long, snapshot, path)):
                    return NO_HELP
            except DatabaseError:
                return NO_HELP
            ask = SearchQuery(task, 1, Filter(path_prefix=path), definitions=True)
        elif not use.places:
            build = partial(_nothing, snapshot, request)
            ask = SearchQuery(words, SEARCHED, definitions=True)
        elif len(use.places) >= HITS_MIN and task:
            hits = [(inside(path), line) for path, line in use.places]
            hits = [(path, line) for path, line in hits if path in snapshot.tree.files]
            if len(hits) < HITS_MIN:
                return NO_HELP
            build = partial(_choice, snapshot, request, hits)
            ask = SearchQuery(words, SEARCHED, first=frozenset(path for path, _ in hits), definitions=True)
        else:
            return NO_HELP
        found: list[FoundDefinition] = []
        if ask.text:
            result = await self._searching.search(project, ask, deadline_of(project, deadline_ms), policy)
            rules = rule_files(snapshot.tree.root, snapshot.rules.sources, ())
            found = [definition for _, definition in found_in(result.hits, rules)]
            found.sort(key=lambda each: (-each.probability, each.path, each.first))
        try:
            return await self._work.in_builder(partial(build, found))
        except DatabaseError:
            return NO_HELP


def _inside(root: str, folder: str, path: str) -> str:
    """Return a path relative to the root; one outside of it stays absolute."""
    whole = os.path.normpath(os.path.join(folder, path))
    return whole[len(root) + 1 :] if whole.startswith(f"{root}/") else whole


def _names(pattern: str) -> list[str]:
    """Return the names in a pattern, without the escapes and signs of regular expressions and globs."""
    plain = re.sub(r"\\[a-zA-Z]|\[[^\]]*\]", " ", pattern.replace(r"\_", "_"))
    words = re.findall(rf"[^\W\d]\w{{{SHORTEST - 1},}}", plain)
    return list(dict.fromkeys(words))[:NAMES_MAX]


class _HelpLines:
    """The lines of one help: those that fit, the keys of what they say, and what they need of the project."""

    def __init__(self, snapshot: ProjectSnapshot, reader: Reader, request: HelpRequest, tokens: int) -> None:
        self.files = KnownFiles(snapshot, reader)
        self.text = ""
        self.keys: list[str] = []
        self._is_said = request.is_said
        self._gate: SecretGate = gate_of([request.task, request.use.pattern])
        self._terms = frozenset(query_terms(" ".join(sorted(prompt_words(request.task)))).weights)
        counter, _ = counter_of(snapshot.config.context.token_counter, "")
        self._count = counter.count
        most = snapshot.policy.max_tokens
        self._room = (tokens if most is None else min(tokens, most)) - counter.count("x" * TAG_CHARACTERS)

    def open(self, line: str) -> None:
        """Take the room of a line that stands before the others, or after them."""
        self._room -= self._count(line)

    def add(self, line: str, key: str) -> bool:
        """Add a line; False if there is no room."""
        cost = self._count(line)
        if cost > self._room:
            return False
        self._room -= cost
        self.text += line
        self.keys.append(key)
        return True

    def place(self, path: str, found: FoundDefinition | Symbol) -> str:
        """Return the line of a definition as its file is now, "" if it is hidden, gone, or was said."""
        content = self.files.read(path)
        if content.problem or self.files.unsaved(path):
            return ""
        if isinstance(found, Symbol):
            found = FoundDefinition(path, found, found.start_line, found.end_line, 0.0)
        symbol = as_shown(found, self.files.symbols(path))
        if (found.symbol is not None and symbol is None) or self._is_said(place_key(path, found)):
            return ""
        last = min(found.last, found.first + LINES_READ - 1)
        name = symbol.name if symbol is not None else ""
        _, line = best_line(split_lines(content.text)[found.first - 1 : last], found.first, name, self._terms)
        return place_line(path, f"{found.first}-{found.last}", name, self._gate.of_code(line))

    def add_places(self, found: Iterable[FoundDefinition], most: int) -> int:
        """Add the lines of some definitions; return their number."""
        added = 0
        for definition in found:
            if added == most:
                break
            line = self.place(definition.path, definition)
            added += bool(line) and self.add(line, place_key(definition.path, definition))
        return added

    def help(self, head: str, *keys: str) -> ToolHelp:
        """Return the help: what it is about, and the lines in a fence; none if that alone has no room."""
        if not self.text or self._room < 0:
            return NO_HELP
        return ToolHelp(f"{head}\n```\n{self.text}```", (*self.keys, *keys))


def place_key(path: str, found: FoundDefinition) -> str:
    """Return the key of a place."""
    name = found.symbol.name if found.symbol is not None else f"{found.first}"
    return f"place:{path}#{name}"


NOTHING_HEAD: Final = "Nothing matches. Nearest names and places for the task, as guesses:"
CHOICE_HEAD: Final = "Of {hits} hits, the definitions that fit the task best:"
OUTLINE_HEAD: Final = "{path} has {lines:,} lines.{first} Its outline:"
FITTING_HEAD: Final = " First what fits the task best."


def _nothing(snapshot: ProjectSnapshot, request: HelpRequest, found: list[FoundDefinition]) -> ToolHelp:
    with snapshot.reader() as reader, reader.snapshot():
        lines = _HelpLines(snapshot, reader, request, NOTHING_TOKENS)
        lines.open(f"{NOTHING_HEAD}\n```\n```")
        for name in _names(request.use.pattern):
            for path, symbol in _near(name, snapshot, reader):
                line = lines.place(path, symbol)
                if line:
                    lines.add(line, f"place:{path}#{symbol.name}")
        new = [each for each in _probable(found) if place_key(each.path, each) not in lines.keys]
        lines.add_places(new, GUESSES_MAX)
        return lines.help(NOTHING_HEAD)


def _probable(found: Sequence[FoundDefinition]) -> Iterator[FoundDefinition]:
    """Yield the whole definitions that are probable enough to be said unasked, the best first.

    The head of a class has hits and words of all its members, and says little about any."""
    whole = [each for each in found if each.symbol is not None and each.last == each.symbol.end_line]
    least = max(HELP_MIN, SHOWN_SHARE * max((each.probability for each in whole), default=0.0))
    yield from (each for each in whole if each.probability >= least)


def _near(name: str, snapshot: ProjectSnapshot, reader: Reader) -> Iterator[tuple[str, Symbol]]:
    """Yield the definitions with a name, else those with the name nearest to it."""
    known = reader.definitions_named(name, NAMES_MAX)
    if not known:
        near, is_sure = nearest(name, snapshot.tree, reader)
        known = reader.definitions_named(near[0], NAMES_MAX) if is_sure else ()
    yield from ((path, symbol) for path, symbol in known if symbol.kind != "section")


def _choice(
    snapshot: ProjectSnapshot,
    request: HelpRequest,
    hits: Sequence[tuple[str, int]],
    found: list[FoundDefinition],
) -> ToolHelp:
    lines_by_path: dict[str, set[int]] = {}
    for path, line in hits:
        lines_by_path.setdefault(path, set()).add(line)

    def has_hit(each: FoundDefinition) -> bool:
        at = lines_by_path.get(each.path, ())
        return any(not line or each.first <= line <= each.last for line in at)

    with snapshot.reader() as reader, reader.snapshot():
        lines = _HelpLines(snapshot, reader, request, CHOICE_TOKENS)
        head = CHOICE_HEAD.format(hits=f"{len(hits):,}")
        lines.open(f"{head}\n```\n```")
        lines.add_places([each for each in _probable(found) if has_hit(each)], CHOICE_MAX)
        return lines.help(head)


def _is_long(snapshot: ProjectSnapshot, path: str) -> bool:
    with snapshot.reader() as reader:
        content = KnownFiles(snapshot, reader).read(path)
        return not content.problem and content.text.count("\n") >= LINES_MIN - 1


def _outline(
    snapshot: ProjectSnapshot, request: HelpRequest, path: str, found: list[FoundDefinition]
) -> ToolHelp:
    with snapshot.reader() as reader, reader.snapshot():
        lines = _HelpLines(snapshot, reader, request, OUTLINE_TOKENS)
        if path in rule_files(snapshot.tree.root, snapshot.rules.sources, ()):
            return NO_HELP
        text = lines.files.read(path).text
        head = partial(OUTLINE_HEAD.format, path=printable(path), lines=len(split_lines(text)))
        lines.open(f"{head(first=FITTING_HEAD)}\n```\n```{_MORE.format(left=1_000)}")
        symbols = _by_weight(lines.files.symbols(path))
        if not symbols:
            return NO_HELP
        lines.add_places([each for each in _probable(found) if each.path == path], FITTING_MAX)
        fitting, keys = lines.text, tuple(lines.keys)
        lines.text = ""
        shown: list[tuple[int, str]] = []
        for depth, symbol in symbols:
            name = render.inline(base_name(symbol.name))
            line = f"{'  ' * depth}{symbol.start_line}-{symbol.end_line} {name}\n"
            if not lines.add(line, ""):
                break
            shown.append((symbol.start_line, line))
        left = len(symbols) - len(shown)
        lines.text = fitting + "".join(line for _, line in sorted(shown))
        lines.text += _MORE.format(left=left) if left else ""
        lines.keys = list(keys)
        return lines.help(head(first=FITTING_HEAD if fitting else ""), f"outline:{path}")


_MORE = "and {left} smaller ones\n"


def _by_weight(symbols: Sequence[Symbol]) -> list[tuple[int, Symbol]]:
    """Return the definitions of a file with their depths, the longest first, so none before one around it."""
    around: list[Symbol] = []
    found = []
    for symbol in sorted(symbols, key=lambda each: (each.start_line, -each.end_line)):
        while around and around[-1].end_line < symbol.end_line:
            around.pop()
        found.append((len(around), symbol))
        around.append(symbol)
    found.sort(key=lambda pair: (pair[1].start_line - pair[1].end_line, pair[0], pair[1].start_line))
    return found
