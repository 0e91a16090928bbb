"""What an agent's own tool searched or read and what that brought, whichever host it belongs to.

Read as loosely as payloads are: a command or an output of another form than expected says nothing.
"""

from __future__ import annotations

import os.path
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from .fields import Fields

PLACES_MAX: Final = 1_000
"""Maximum number of lines of an output that are read for places, at 2 microseconds each."""

COMMAND_MAX: Final = 2_000
"""Maximum characters of a command that is read."""

PATTERN_MAX: Final = 300
"""Maximum characters of a pattern; a longer one is no search for a name."""

READING: Final = frozenset(("read", "view", "readfile", "read_file"))
SEARCHING: Final = frozenset(("grep", "rg", "grep_search", "search_file_content", "ripgrep"))
LISTING: Final = frozenset(("glob", "find_files"))
SHELLS: Final = frozenset(("bash", "shell", "run_shell_command", "exec_command", "execute"))
"""The tools of hosts by what they do, in lower case."""

PARTIAL: Final = ("offset", "limit", "view_range", "start_line", "end_line", "startLine", "endLine", "pages")
"""Fields of a call that reads a part of a file."""


class ToolUse(Struct, frozen=True):
    """A search with an agent's own tools, or a file that it read whole.

    `pattern` is what was looked for in the contents of files or in their names. `places` are the hits as path
    and line, 0 for an unknown one. `read` is the path of a file that was read whole, "" for a search.
    Paths are absolute or relative to the agent's folder.
    """

    pattern: str = ""
    places: tuple[tuple[str, int], ...] = ()
    read: str = ""


def tool_use(fields: Fields) -> ToolUse | None:
    """Return the search or the read file of a payload that comes after a tool, None for another tool."""
    tool = fields.text("tool_name", "toolName").lower()
    given = fields.part("tool_input", "toolArgs")
    result = fields.part("tool_response", "toolResult", "tool_output")
    if result.has("error") or result.text("resultType") in {"failure", "denied"}:
        return None
    if given.flag("run_in_background", "is_background") or result.flag("backgroundTaskId", "interrupted"):
        return None
    if tool in READING:
        path = given.text("file_path", "absolute_path", "path", "filePath")
        return ToolUse(read=path) if path and not given.has(*PARTIAL) else None
    if tool in SHELLS:
        return _of_command(given.text("command", "cmd"), _output(fields, result), result)
    if tool not in SEARCHING | LISTING or given.text("output_mode") == "count" or given.flag("offset"):
        return None
    pattern = given.text("pattern", "query", "regex")
    files = result.texts("filenames")
    text = result.text("content") if result.has("filenames") else _output(fields, result)
    if not pattern or (result.has("filenames") is False and not _answered(fields)):
        return None
    return _search(pattern, text or "\n".join(files))


def _answered(fields: Fields) -> bool:
    return fields.has("tool_response", "toolResult", "tool_output")


def _output(fields: Fields, result: Fields) -> str:
    """Return what a tool printed."""
    named = result.text("stdout", "llmContent", "textResultForLlm", "output", "content")
    text = named or ("" if result.has("stdout") else fields.text("tool_response", "tool_output"))
    framed = _FRAMED.match(text)
    if framed:
        return framed[1].removeprefix("(empty)")
    return text[:-STATUS_CHARACTERS] + _STATUS.sub("", text[-STATUS_CHARACTERS:])


def _search(pattern: str, text: str, folder: str = "", paths: Sequence[str] = ()) -> ToolUse | None:
    """Return a search with the places in its output. `paths` are those that a command searched in."""
    if len(pattern) > PATTERN_MAX:
        return None
    if not text.strip() or _NOTHING.match(text):
        return ToolUse(pattern)
    only = paths[0] if len(paths) == 1 and _FILE.search(paths[0]) else ""
    places = tuple((os.path.join(folder, path), line) for path, line in _places(text, only))
    return ToolUse(pattern, places) if places else None


def _places(text: str, only: str) -> Iterator[tuple[str, int]]:
    """Yield the places in the output of a search; `only` is the path of the only file searched."""
    current = only
    for line in text.splitlines()[:PLACES_MAX]:
        if line.startswith("File: "):
            current = line[6:]
        elif only and (found := _NUMBERED.match(line)):
            yield only, int(found[1])
        elif found := _PLACE.match(line):
            yield found[1], int(found[2])
        elif (found := _NUMBERED.match(line)) and current:
            yield current, int(found[1])
        elif (found := _IN_FILE.match(line)) and ("/" in found[1] or "." in found[1]):
            if found[2]:
                current = found[1]
            else:
                yield found[1], 0
        elif only and line.strip():
            yield only, 0


# Possessive, since outputs hold what files hold: no line may take more than its length.
_PLACE = re.compile(r"(?:\./)?([^\s:]++):(\d{1,9})[:)]")
_FILE = re.compile(r"[^/]\.\w+$")
_NUMBERED = re.compile(r"\s{0,9}(?:L|Line )?(\d{1,9}):")
_IN_FILE = re.compile(r"(?:\./)?([^\s:]++)((?: \(\d{1,9} match\(es\)\))?:$)?(?::|$)")
_FRAMED = re.compile(
    r"(?:<untrusted_context>|Command: [^\n]*\nDirectory: [^\n]*)\nOutput: (.*?)\n"
    r"(?:Error: |Exit Code: |Process Group PGID: )",
    re.DOTALL,
)
"""The output of a command as Gemini CLI and Qwen Code give it to the model."""
_STATUS, STATUS_CHARACTERS = re.compile(r"\n?<shellId: [^<>\n]*>\s*\Z"), 200
"""What Copilot adds to the output of a command, and the maximum of its characters: in a long output the
pattern would be tried at each place."""
_NOTHING = re.compile(r"\W{0,9}(?:no (?:matches|files|results|match)\b|found 0\b|0 matches\b)", re.IGNORECASE)


# Commands of a shell


PASSING: Final = frozenset(("head", "tail", "sort", "uniq", "cat", "less"))
"""Programs behind a search that leave its hits as they are, or fewer of them."""

GREPS: Final = frozenset(("rg", "grep", "egrep", "fgrep", "ag", "ack"))
FINDERS: Final = frozenset(("fd", "fdfind"))

VALUED: Final = frozenset(
    (
        *("--glob", "--iglob", "--type", "--type-not", "--max-count", "--context", "--after-context"),
        *("--before-context", "--max-depth", "--threads", "--sort", "--include", "--exclude"),
        *("--exclude-dir", "--max-columns", "--color", "--extension"),
    )
)
"""Long options that take the next word unless they have their value in them."""

VALUED_LETTERS: Final = "ABCmgtTjdMD"
FINDER_LETTERS: Final = "eEtdSocj"
EXECUTING: Final = frozenset(("-x", "-X", "--exec", "--exec-batch"))
OTHER_LETTERS: Final = frozenset("cvqLZ0")
OTHER_OPTIONS: Final = frozenset(
    (
        *("--count", "--count-matches", "--invert-match", "--quiet", "--files-without-match", "--files"),
        *("--json", "--replace", "--null", "--passthru", "--version", "--help"),
    )
)
"""Options with which an output lists no hits."""


def _of_command(command: str, text: str, result: Fields) -> ToolUse | None:
    """Return the search of a command that does nothing but search, or the file that it prints."""
    if len(command) > COMMAND_MAX:
        return None
    folder = ""
    command = _QUIET.sub("", command.strip())
    if moved := _MOVED.match(command):
        folder, command = moved[1], command[moved.end() :]
    words = _words(command)
    if not words or (result.text("stderr").strip() and not text.strip()):
        return None
    first, *others = words
    if any(not other or other[0] not in PASSING for other in others):
        return None
    program, arguments = os.path.basename(first[0]), first[1:]
    if program == "git" and arguments[:1] == ["grep"]:
        program, arguments = "grep", arguments[1:]
    if program == "cat" and len(arguments) == 1 and not others and not arguments[0].startswith("-"):
        return ToolUse(read=os.path.join(folder, arguments[0])) if text.strip() else None
    if program in GREPS | FINDERS:
        pattern, paths = _of_grep(arguments, is_finder=program in FINDERS)
    elif program == "find":
        pattern, paths = _of_find(arguments), []
    else:
        return None
    if not pattern:
        return None
    is_search = program in GREPS
    return _search(pattern, text, folder=folder, paths=paths if is_search else ())


def _words(command: str) -> list[list[str]]:
    """Return the words of each program in a pipeline, nothing for a command of another form."""
    if "\n" in command or "`" in command or "$(" in command:
        return []
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    found: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word == "|":
                found.append([])
            elif word and set(word) <= set("|&;<>()"):
                return []
            else:
                found[-1].append(word)
    except ValueError:
        return []
    return found if all(found) else []


def _of_grep(arguments: Sequence[str], *, is_finder: bool) -> tuple[str, list[str]]:
    """Return pattern and paths of a search, "" if its output lists no hits."""
    patterns: list[str] = []
    rest: list[str] = []
    valued = set(FINDER_LETTERS if is_finder else VALUED_LETTERS)
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += words
        elif word in {"-e", "--regexp", "-f", "--file"} and not is_finder:
            patterns.append(next(words, "") if word in {"-e", "--regexp"} else "")
        elif word.partition("=")[0] in OTHER_OPTIONS or (is_finder and word in EXECUTING):
            return "", []
        elif word.startswith("--"):
            if word in VALUED:
                next(words, None)
        elif word.startswith("-") and len(word) > 1:
            letters = word[1:].rstrip("0123456789")
            if letters.endswith("e") and not is_finder:
                patterns.append(next(words, ""))
            elif letters[-1:] in valued and letters == word[1:]:
                next(words, None)
            elif OTHER_LETTERS.intersection(letters) and not valued & set(letters):
                return "", []
        else:
            rest.append(word)
    if not patterns:
        patterns, rest = rest[:1], rest[1:]
    return "|".join(patterns), rest


def _of_find(arguments: Sequence[str]) -> str:
    """Return the name that find looks for, "" if it does more with what it finds."""
    names = [
        value for option, value in pairwise(arguments) if option in {"-name", "-iname", "-path", "-ipath"}
    ]
    others = any(word.startswith(("-exec", "-ok", "-delete", "-printf", "!", "-not")) for word in arguments)
    return names[0] if len(names) == 1 and not others else ""


_QUIET = re.compile(r"\s*2>\s*(?:/dev/null|&1)|\s*(?:\|\||;)\s*true\s*$")
_MOVED = re.compile(r"cd\s+([^\s;&|<>\"'$`]+)\s*(?:&&|;)\s*")
