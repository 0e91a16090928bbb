"""Outcomes of commands (test runs, failures, undo by git), and the files that a decision concerns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

MAX_ERROR = 240
"""Maximum characters of a failure's most telling line."""
_MAX_COMMAND = 4_000


class CheckResult(Struct, frozen=True):
    """The result of a test run or a build; `error` is the most telling line of a failure."""

    passed: bool
    error: str = ""


def is_check(command: str) -> bool:
    """Whether a command runs tests or a build."""
    return bool(re.search(_CHECK, without_heredocs(command)))


def changes_files(command: str) -> bool:
    """Whether a command changes files: in place, by redirection, by a package manager, by git."""
    return re.search(_CHANGING, without_heredocs(command)) is not None


def taken_back(command: str) -> tuple[str, ...] | None:
    """Return the paths whose changes a git command undoes, empty for all; None if it undoes nothing."""
    command = without_heredocs(command)
    if re.search(_UNDOES_ALL, command):
        return ()
    if re.search(rf"{_GIT}restore\s+--staged\s+(?!.*--worktree)", command):
        return None
    match = re.search(_UNDOES, command)
    if not match:
        return None
    paths = tuple(
        path.strip("'\"") for path in match["paths"].split() if not path.startswith(("-", ">", "2>"))
    )
    return () if any(path in (".", "./", ":/") for path in paths) else paths


def check_of(output: str, *, failed: bool) -> CheckResult:
    """Return the result in a check's output; a pipe may hide its failure."""
    if failed or re.search(_FAILED, output):
        return CheckResult(False, telling_line(output))
    return CheckResult(True)


def telling_line(output: str) -> str:
    """Return the most telling line of a failure's output, shortened, or ""."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for pattern in _TELLING:
        for line in reversed(lines):
            if re.search(pattern, line[:1_000]):
                return _short(line)
    return _short(lines[-1]) if lines else ""


def same_file(first: str, second: str) -> bool:
    """Whether two paths may mean one file: one ends in the other, by whole parts."""
    longer, shorter = sorted((_parts(first), _parts(second)), key=len, reverse=True)
    return bool(shorter) and longer[len(longer) - len(shorter) :] == shorter


def is_among(path: str, paths: Sequence[str]) -> bool:
    """Whether a path is among `paths`, or below a folder among them."""
    return any(same_file(path, other) or f"/{other.strip('/')}/" in f"/{path}" for other in paths)


def _parts(path: str) -> list[str]:
    return [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]


def _short(line: str) -> str:
    line = " ".join(line.strip("| ").split())
    return line if len(line) <= MAX_ERROR else f"{line[: MAX_ERROR - 1]}\u2026"


def without_heredocs(command: str) -> str:
    """Return a command without its here documents and quoted messages, which aren't run."""
    command = command[:_MAX_COMMAND]
    command = re.sub(
        r"<<-?\s*['\"]?(\w+)['\"]?(.*?)\n.*?(?:\n\s*\1\s*(?:\n|$)|$)", r"\2\n", command, flags=re.DOTALL
    )
    return re.sub(r"(\s-m\s+|\becho\s+)(?:\"[^\"]*\"|'[^']*')", r"\1x", command)


_GIT = r"(?:^|[;&|(\n]|&&)\s*(?:sudo\s+)?git(?:\s+-[cC]\s+\S+|\s+--?[\w-]+(?:=\S+)?)*\s+"
_UNDOES_ALL = (
    rf"{_GIT}(?:revert\b(?! --abort)|reset\s+--hard|checkout\s+\.(?:\s|$)"
    r"|stash(?:\s+(?:push|-u|--include\S*))*\s*(?:$|[;&|]))"
)
_UNDOES = (
    rf"{_GIT}(?:checkout(?:\s+[\w./~^-]+)?\s+--"
    r"|checkout(?=\s+(?:[\w@./-]+/)?[\w@.-]+\.[a-z]\w{0,5}(?:\s|$|[;&|]))"
    r"|restore(?:\s+-\S+)*)\s+(?P<paths>[^;&|\n]+)"
)
_CHECK = (
    r"(?:^|[\s;&|(/])(?:pytest|py\.test|tox|nox|nosetests|jest|vitest|mocha|ava|karma|cypress|playwright"
    r"|rspec|minitest|phpunit|pest|ctest|gotestsum|ginkgo|busted|bats|shellcheck|mypy|pyright|tsc|vue-tsc"
    r"|eslint|ruff\s+check|golangci-lint)(?=$|[\s;&|:)])|-m\s+(?:pytest|unittest|mypy)\b|(?<![\w-])(?:cargo"
    r"|go|dotnet|swift|mix|zig|bazel|deno|bun|flutter|dart|stack|cabal|sbt|gradlew?|mvnw?|lein|rake|rails"
    r"|composer|meson|ninja|just|task|make|invoke|hatch\s+run|npm(?:\s+run)?|yarn(?:\s+run)?|pnpm(?:\s+run)?"
    r"|manage\.py)(?:\s+-\S+)*\s+(?:run\s+|nextest\s+)?:?(?:\w+:)*(?:test|tests|check|verify|build|spec"
    r"|clippy|vet|lint|typecheck|bench)\w*|\bmake\s*(?:$|[;&|])"
)
_CHANGING = (
    r"\bsed\s+(?:-\w+\s+)*-\w*i|\bperl\s+-\w*i|(?<![0-9&<>=-])>{1,2}\s*(?!/dev/|/tmp/|&|\s)[\w./~$\"'-]*[a-z]"
    rf"|\btee\s+(?:-a\s+)?(?!/dev)\S|{_GIT}(?:apply|am|mv|rm|merge|cherry-pick|revert|rebase)\b|(?:^|[;&"
    r"|\n]\s*)(?:patch|mv|cp|rm|mkdir|touch|ln)\s|\b(?:npm|pnpm|yarn|bun)\s+(?:i|install|add|remove"
    r"|uninstall)\s+[^-\s]|\bpip3?\s+install\s+[^-\s.]|\b(?:poetry|uv|cargo|pdm)\s+(?:add|remove)\b"
    r"|\bgo\s+(?:get|mod)\b|\bapply_patch\b|\bcomby\b|\b(?:black|prettier|gofmt|rustfmt"
    r"|ruff\s+format)\b.*(?:-w|--write|\s\S+\.\w+)"
)
_FAILED = (
    r"(?m)\b[1-9]\d* (?:failed|failures?|errors?|failing)\b|^(?:FAIL|FAILED|ERROR|E  )\b|\bFAILED \("
    r"|test result: FAILED|^--- FAIL|\bBUILD FAIL|^error(?:\[\w+\])?: |: error(?: TS\d+)?: "
    r"|Traceback \(most recent call last\)|^npm ERR!|^make(?:\[\d+\])?: \*\*\*|Tests:\s+[1-9]\d* failed"
)
_TELLING = (
    (
        r"^(?:E\s+)?[\w.]*(?:Error|Exception|Panic|Failure|Timeout|Deadlock)\w*(?::|\b.*:)|^E\s{2,}\S"
        r"|\bpanicked at\b|^error(?:\[\w+\])?: |: error(?: \w+)?: |^fatal: "
    ),
    r"(?i)\berror\b|\bassert|\bexpected\b|\bfailed\b|\bfail\b|not found|refused|denied|timed out",
)


MAX_FILES = 8
"""Maximum files of a decision; a whole turn may edit hundreds."""


def files_of(text: str, edited: Sequence[str], near: Sequence[str]) -> tuple[str, ...]:
    """Return at most `MAX_FILES` paths: those that a text names, edited ones by their full path; if it names
    none, the files edited `near` it.

    An edited path is given as the host wrote it. All lists are oldest first, without duplicates.
    """
    named = named_paths(text)
    found: dict[str, None] = {}
    for name in named:
        matches = [path for path in edited if same_file(path, name)]
        found.update(dict.fromkeys(matches[-2:] or ([name] if "/" in name else [])))
    return tuple(found or dict.fromkeys(near))[:MAX_FILES]


def is_prose_file(path: str) -> bool:
    """Whether a file holds prose about code, by its extension."""
    return path.lower().endswith((".md", ".mdx", ".rst", ".txt", ".adoc", ".org"))


def named_paths(text: str) -> tuple[str, ...]:
    """Return the texts that look like file paths, without duplicates: with an extension, or a known name."""
    return tuple(
        dict.fromkeys(
            match[0].removeprefix("./")
            for match in re.finditer(_PATH, text[:4_000])
            if not re.match(_NO_FILE, match[0])
        )
    )


_PATH = (
    r"(?<![\w/@.:-])(?:\.{0,2}/)?(?:[\w@.+-]{1,80}/){0,12}[\w@+-][\w.@+-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,7}"
    r"(?![\w/(])|\b(?:[\w.-]+/)*(?:Makefile|Dockerfile|Gemfile|Jenkinsfile|Rakefile)\b"
)
_NO_FILE = (
    r"(?i)(?:e\.g|i\.e|z\.b|d\.h|vs|[a-z]+\.(?:js|net|io)$(?<!/)(?=(?:node|vue|next|express|asp|socket)\.))"
)


def is_source(paths: Sequence[str]) -> bool:
    """Whether any edited file holds neither tests nor prose; true if no path is known."""
    return not paths or any(not is_prose_file(path) and not re.search(_TESTS, path) for path in paths)


_TESTS = (
    r"(?i)(?:^|[/\\])(?:tests?|specs?|__tests__|__snapshots__|fixtures?|testdata|mocks?|e2e|golden)[/\\]"
    r"|(?:^|[/\\])(?:test_|conftest)[^/\\]*$|[._-](?:tests?|spec|snap|golden|stories)\.[^/\\]*$"
    r"|(?:Test|Tests|Spec|IT)\.(?:java|kt|swift|scala|cs|php)$|(?:lock|\.lock|lock\.json|lock\.yaml|\.sum)$"
)
