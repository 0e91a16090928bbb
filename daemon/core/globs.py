"""Glob patterns, with which rules and focus paths name files. Doesn't access the disk.

pathspec isn't used, for three reasons: its patterns have no braces, a folder's name matches everything below
the folder, and its regular expressions backtrack (`a*a*a*a*a*a*a*a*b` against 60 letters took 9 s). Patterns
come from untrusted repositories, so here every star is atomic: matching takes time proportional to at most
the length of the pattern times that of the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

MAX_PATTERN = 4096
"""Maximum characters of a pattern; no path is longer on Linux (PATH_MAX)."""
MAX_ALTERNATIVES = 256
"""Maximum number of patterns that the braces of one pattern stand for."""
MAX_EXPANDED = 16_384
"""Maximum characters of all these patterns together."""
MAX_NESTING = 16
"""Maximum depth of nested braces."""

_SPECIAL = re.compile(r"[\\*?\[\]{},!]")


class Glob(Struct, frozen=True):
    """A compiled pattern. Globs of the same pattern are equal."""

    pattern: str
    everything: bool
    """Whether it matches every path, as `**`, `*` and `**/*` do."""
    expression: re.Pattern[str]

    def matches(self, path: str) -> bool:
        """Whether the glob matches a file's path (POSIX, relative to the root); case-sensitive."""
        return self.expression.fullmatch(path) is not None


@lru_cache(maxsize=1024)
def compile_glob(pattern: str) -> Glob:
    """Compile a pattern.

    - `*` and `?` match within one name, also a leading dot; `**` as a whole name matches any number of
      folders, and at the end everything below; `[a-z]`, `[!a-z]` and `[^a-z]` match one character;
      `{a,b}` stands for both, nested too; a backslash escapes the character after it.
    - A pattern without a slash matches at any depth, one with a slash from the root on, also when the
      slash is its first character or `./` stands in front; with a slash at its end it matches everything
      below.
    - Unlike .gitignore, `src` matches a file of that name, not what is below it, and there is no negation.

    Raises `ValueError`, fit for a person to read, for an empty pattern, a leading `!`, a `..`, a backslash
    that escapes nothing and what exceeds `MAX_PATTERN`, `MAX_ALTERNATIVES`, `MAX_EXPANDED`, `MAX_NESTING`.
    """
    alternatives = [_names(anchored) for anchored in anchored_globs(pattern)]
    expression = re.compile("|".join(f"(?:{path_expression(names)})" for names in alternatives), re.DOTALL)
    return Glob(pattern, any(_matches_everything(names) for names in alternatives), expression)


def split_globs(text: str) -> tuple[str, ...]:
    """Split a list at its commas, but not at those within braces or after a backslash.

    Space around a pattern and empty patterns are dropped: `*.ts, src/**/*.{js,jsx}` gives two.
    """
    parts: list[str] = []
    start = 0
    for comma in _commas(text, _brace_pairs(text), 0, len(text)):
        parts.append(text[start:comma])
        start = comma + 1
    parts.append(text[start:])
    return tuple(stripped for part in parts if (stripped := part.strip()))


def escape_glob(path: str) -> str:
    """Return a path with its special characters escaped, to be used as a part of a pattern with a slash."""
    return _SPECIAL.sub(r"\\\g<0>", path)


def rebase_glob(pattern: str, folder: str) -> tuple[str, ...]:
    """Return the patterns that match below `folder` what `pattern` matches below the root.

    `folder` is a path, not a pattern; empty means the root. Raises `ValueError` as `compile_glob` does.
    """
    compile_glob(pattern)
    if not folder:
        return (pattern,)
    return tuple(f"{escape_glob(folder)}/{anchored}" for anchored in anchored_globs(pattern))


def anchored_globs(pattern: str) -> tuple[str, ...]:
    """Expand a pattern into patterns without braces, each relative to the root.

    Raises `ValueError` as `compile_glob` does, except for errors that are only found when a single name is
    compiled.
    """
    if len(pattern) > MAX_PATTERN:
        raise ValueError(f"a glob of {len(pattern)} characters: at most {MAX_PATTERN} are allowed")
    if pattern.startswith("!"):
        raise ValueError(f"the glob {pattern!r} is negated, which isn't supported: name what should match")
    expanded = dict.fromkeys(_expand(pattern, _brace_pairs(pattern), 0, len(pattern), 0))
    return tuple(_anchor(alternative, pattern) for alternative in expanded)


def _anchor(alternative: str, pattern: str) -> str:
    names = [name for name in alternative.split("/") if name not in ("", ".")]
    if ".." in names:
        raise ValueError(f"the glob {pattern!r} leaves the project with '..': count it from the root")
    if not names and alternative.strip("."):
        return "**"  # "/" and "./": everything below the root
    if not names:
        raise ValueError(f"the glob {pattern!r} has an empty pattern: name the files, such as '*.py'")
    if "/" not in alternative:
        return f"**/{alternative}"
    return "/".join([*names, "**"] if alternative.endswith("/") else names)


def _brace_pairs(text: str) -> dict[int, int]:
    """Return the position of the closing brace for each opening brace; unpaired braces are plain text."""
    pairs: dict[int, int] = {}
    open_braces: list[int] = []
    escaped = False
    for position, character in enumerate(text):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "{":
            open_braces.append(position)
        elif character == "}" and open_braces:
            pairs[open_braces.pop()] = position
    return pairs


def _commas(text: str, pairs: dict[int, int], start: int, end: int) -> Iterator[int]:
    """Yield the commas between two positions that are outside of inner braces and not escaped."""
    position = start
    while position < end:
        character = text[position]
        if character == ",":
            yield position
        if character == "\\":
            position += 1
        elif character == "{":
            position = pairs.get(position, position)
        position += 1


def _expand(text: str, pairs: dict[int, int], start: int, end: int, depth: int) -> list[str]:
    """Expand the braces in a part of the text; return the resulting strings in the order of the text."""
    if depth > MAX_NESTING:
        raise ValueError(f"a glob with braces nested more than {MAX_NESTING} deep: write them out")
    results = [""]
    position = literal = start
    while position < end:
        if text[position] == "\\":
            position += 2
            continue
        closing = pairs.get(position)
        if closing is None:
            position += 1
            continue
        results = [result + text[literal:position] for result in results]
        choices: list[str] = []
        begin = position + 1
        for comma in [*_commas(text, pairs, begin, closing), closing]:
            choices += _expand(text, pairs, begin, comma, depth + 1)
            _check_expansion(len(choices), 0)
            begin = comma + 1
        _check_expansion(
            len(results) * len(choices),
            len(choices) * sum(map(len, results)) + len(results) * sum(map(len, choices)),
        )
        results = [result + choice for result in results for choice in choices]
        position = literal = closing + 1
    _check_expansion(len(results), sum(map(len, results)) + len(results) * (end - literal))
    return [result + text[literal:end] for result in results]


def _check_expansion(count: int, characters: int) -> None:
    if count > MAX_ALTERNATIVES or characters > MAX_EXPANDED:
        raise ValueError(
            f"a glob whose braces stand for {count} patterns of {characters} characters: at most "
            f"{MAX_ALTERNATIVES} and {MAX_EXPANDED} are allowed"
        )


def _names(anchored: str) -> list[str]:
    """Split a pattern into its names, with each run of `**` made one."""
    names: list[str] = []
    for name in anchored.split("/"):
        if name != "**" or names[-1:] != ["**"]:
            names.append(name)
    return names


def _matches_everything(names: list[str]) -> bool:
    return names[0] == "**" and all(name.strip("*") == "" for name in names[1:]) and len(names) <= 2


def path_expression(names: list[str]) -> str:
    """Return a regular expression for the names of a pattern that `fullmatch` compares with a path.

    Raises `ValueError` for a backslash that escapes nothing.

    The names between two `**` match as far left as possible, without backtracking. For a star the leftmost
    match is always enough, and so the search doesn't try every combination.
    """
    groups: list[list[str]] = [[]]
    for name in names:
        if name == "**":
            groups.append([])
        else:
            groups[-1].append(_name_expression(name))
    first, middle, last = groups[0], groups[1:-1], groups[-1]
    if len(groups) == 1:
        return "/".join(first)
    parts = [f"{name}/" for name in first]
    parts += [f"(?>(?:.*?/)??{''.join(f'{name}/' for name in group)})" for group in middle]
    parts.append(f"(?:.*/)?{'/'.join(last)}" if last else ".+")
    return "".join(parts)


def _name_expression(name: str) -> str:
    """Translate one name: the text before, between and after its stars."""
    chunks: list[str] = [""]
    position = 0
    while position < len(name):
        character = name[position]
        position += 1
        if character == "*":
            if chunks[-1] or len(chunks) == 1:
                chunks.append("")
        elif character == "?":
            chunks[-1] += "[^/]"
        elif character == "\\":
            if position == len(name):
                raise ValueError(f"the backslash in {name!r} escapes nothing: paths are written with '/'")
            chunks[-1] += re.escape(name[position])
            position += 1
        elif character == "[" and (closing := _class_end(name, position)):
            chunks[-1] += _class_expression(name[position:closing])
            position = closing + 1
        else:
            chunks[-1] += re.escape(character)
    if len(chunks) == 1:
        return chunks[0]
    between = "".join(f"(?>[^/]*?{chunk})" for chunk in chunks[1:-1])
    return f"{chunks[0]}{between}[^/]*{chunks[-1]}"


def _class_end(name: str, start: int) -> int:
    """Return where the class that begins before `start` ends, or 0; a `]` in first place belongs to it."""
    first = start + 1 if name[start : start + 1] in ("!", "^") else start
    return name.find("]", first + 1) if "]" in name[first + 1 :] else 0


def _class_expression(content: str) -> str:
    negated = content[0] in "!^"
    members = content[1:] if negated else content
    parts: list[str] = []
    position = 0
    while position < len(members):
        low = high = members[position]
        position += 1
        if members[position : position + 1] == "-" and position + 1 < len(members):
            high = members[position + 1]
            position += 2
        if low <= high:
            parts.append(f"{re.escape(low)}-{re.escape(high)}")
    if negated:
        return f"[^/{''.join(parts)}]"
    return f"(?!/)[{''.join(parts)}]" if parts else "(?!)"
