"""Owns frontmatter: the YAML on top of a Markdown file, read from files that nobody vouched for.

The only part that knows yaml, and loads it for the first such file: 10 ms that the daemon's start doesn't
have. Every scalar is read as text (the base loader, a subset of the safe one), so no value can be a surprise:
not `on` for a boolean, a date that doesn't exist, or a number of 60,000 digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from ..project.globs import split_globs

MAX_FRONTMATTER = 65_536
"""Characters; those of real rules stay under one thousand."""
MAX_DEPTH = 16
"""Lists and maps within each other."""
GLOB_KEYS = ("globs", "glob", "paths", "applyTo")
"""The keys under which Claude, Cursor, Copilot, Cline and Windsurf keep globs."""

_DELIMITER = re.compile(r"^---[ \t]*$", re.MULTILINE)
_GLOB_LINE = re.compile(rf"^((?:{'|'.join(GLOB_KEYS)})[ \t]*:[ \t]+)([*{{!].*)$", re.MULTILINE)
_STAR_ITEM = re.compile(r"^([ \t]*-[ \t]+)(\*.*)$", re.MULTILINE)
_VALUE_LINE = re.compile(r"^([A-Za-z][\w-]*[ \t]*:[ \t]+|[ \t]*-[ \t]+)([^\s|>#].*)$", re.MULTILINE)
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'")
_COMMENT = re.compile(r"[ \t]#.*$")


class Frontmatter(Struct, frozen=True):
    """The head of a file and what comes below it.

    `line` is the line of the file on which `body` begins, from 1. `present` tells an empty head from none.
    A head that can't be used has no fields and isn't in the body, and `problem` says what is wrong.
    """

    fields: Mapping[str, object]
    body: str
    line: int
    present: bool
    problem: str = ""

    def text(self, key: str) -> str:
        """Return a field as one line of text; empty where it is missing, a list or a map."""
        value = self.fields.get(key)
        return " ".join(value.split()) if isinstance(value, str) else ""

    def flag(self, key: str) -> bool:
        """Tell whether a field says yes, in any of YAML's ways to say so."""
        return self.text(key).casefold() in ("true", "yes", "on")

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a field that is a list, or a text with commas; without quotes that were left inside."""
        value = self.fields.get(key)
        values = value if isinstance(value, list) else [value]
        parts = [part for value in values if isinstance(value, str) for part in split_globs(value)]
        bare = [part[1:-1].strip() if _QUOTED.fullmatch(part) else part for part in parts]
        return tuple(part for part in bare if part)


def split_frontmatter(text: str) -> Frontmatter:
    """Part a file's text, with line ends of one line feed, into its frontmatter and its body.

    Besides YAML it reads what rule files in the wild have: globs without quotes, which YAML takes for an
    alias (`globs: *.ts,**/*.tsx`, also in lists), and a colon within a description. Anchors and aliases
    are refused, since a few of them can stand for gigabytes. Never raises.
    """
    opening = _DELIMITER.match(text)
    closing = opening and _DELIMITER.search(text, opening.end() + 1)
    if opening is None or closing is None:
        return Frontmatter(MappingProxyType({}), text, 1, present=False)
    head = text[opening.end() + 1 : closing.start()]
    body = text[closing.end() + 1 :]
    line = 3 + head.count("\n")
    try:
        fields = _load_leniently(head)
    except ValueError as error:
        return Frontmatter(MappingProxyType({}), body, line, present=False, problem=str(error))
    if fields is None:  # two rules across the page with prose between them
        return Frontmatter(MappingProxyType({}), text, 1, present=False)
    return Frontmatter(MappingProxyType(fields), body, line, present=True)


def _load_leniently(head: str) -> dict[str, object] | None:
    """Read a map; `None` for a plain text. Raises `ValueError` with one line for a person."""
    import yaml

    if len(head) > MAX_FRONTMATTER:
        raise ValueError(f"it has {len(head)} characters, at most {MAX_FRONTMATTER} are read")
    head = _STAR_ITEM.sub(_quote, _GLOB_LINE.sub(_quote, head))
    try:
        return _load(head)
    except yaml.YAMLError as error:
        try:
            return _load(_VALUE_LINE.sub(_quote, head))
        except yaml.YAMLError:
            raise ValueError(_one_line(error)) from None  # the first one speaks of what the author wrote


def _load(head: str) -> dict[str, object] | None:
    """Read a map; `None` for a plain text. Raises `YAMLError`, or `ValueError` for what is refused."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    depth = 0
    for event in yaml.parse(head, Loader=loader):
        if getattr(event, "anchor", None) is not None:
            raise ValueError("it has an anchor or an alias (&, *), which aren't read")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:  # before the loader recurses into it
                raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    value = yaml.load(head, Loader=loader)  # noqa: S506 - the base loader builds str, list and dict only
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        return None
    if not isinstance(value, dict):
        raise ValueError("it is a list, not a map of 'key: value' lines")
    return {str(key): field for key, field in value.items()}


def _quote(match: re.Match[str]) -> str:
    """Quote the value of a line, or each part of a `[list]`; leave what is quoted or was never closed."""
    value = _COMMENT.sub("", match[2]).strip()
    if _QUOTED.fullmatch(value):
        return match[0]
    if value[0] == "[":
        if not value.endswith("]"):
            return match[0]
        parts = [part if _QUOTED.fullmatch(part) else _quoted(part) for part in split_globs(value[1:-1])]
        return f"{match[1]}[{', '.join(parts)}]"
    if value[0] in "\"'" and not value.endswith(value[0]):
        return match[0]
    return match[1] + _quoted(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _one_line(error: Exception) -> str:
    import yaml

    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        # The head begins on the file's second line, and marks count from 0.
        return f"{error.problem} on line {error.problem_mark.line + 2}"
    return " ".join(str(error).split())
