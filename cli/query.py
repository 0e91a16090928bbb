"""The command `foveal query`: the question with its filters, and how the results are printed."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Any

import click

from . import terminal
from .command import (
    CALL_TIMEOUT_S,
    Command,
    connect,
    current_folder,
    cwd_option,
    json_option,
    locate,
    read_text,
    seen_from,
    settings_of,
)
from .errors import FAILED
from .progress import spinner, wait_until_known
from .times import time_option

LISTS = {"tree": "structure", "lexical": "words", "vector": "meaning"}
"""The names of the indexes in which a result may rank; unknown ones keep their name."""

INDENT = "   "

NEEDS = {"within": "In:", "value": "Names:", "call": "Calls:"}
"""The headings of what a definition needs, by role."""

ROUTES = ("structural", "positional", "semantic", "hybrid")
OF_ALL = ("cycles", "unused")
"""Relations that need no question: they may be asked of the whole project."""

FRESHNESS = ("shown", "tree", "no")

INDEX_WAIT_S = 60.0
"""Maximum wait in seconds for a new project to be read (a second for some hundred files); then the answer
comes from what is known."""

AGENT_PLACES = 4
"""Maximum places for an agent if none is clearly the best."""

EXAMPLES = (
    'foveal query "how do sessions expire?"',
    'foveal query "what calls Session.login?"',
    'foveal query "who imports src/auth.py?"',
    "foveal query SessionStore --kind class --path src",
    'foveal query "retry with a pause" --language go --since 2w --limit 3',
    "make test 2>&1 | foveal query -",
)
ARGUMENT_HINT = 'put the question into quotes: foveal query "how do sessions expire?"'


@click.command(
    "query",
    cls=Command,
    short_help="Find the code that answers a question.",
    examples=EXAMPLES,
    argument_hint=ARGUMENT_HINT,
)
@click.argument("question", required=False)
@cwd_option
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1, 1000),
    help="Maximum number of files [default: 10]; in a pipe, at most 4 or the best alone.",
)
@click.option(
    "--route", type=click.Choice(ROUTES), help="How to search, instead of what the question suggests."
)
@click.option(
    "--relation",
    metavar="NAME",
    help="Ask the structure for this of the names in QUESTION: callers, callees, references, definition,"
    " importers, imports, subclasses, superclasses, implementations, overrides, tests, impact, outline,"
    " connection, cycles, unused. The last two need no QUESTION.",
)
@click.option(
    "--path", "path_prefix", metavar="PREFIX", help="Only in this folder or file, or in paths that begin so."
)
@click.option("--glob", metavar="PATTERN", help="Only in files that match, such as 'src/**/*.{ts,tsx}'.")
@click.option(
    "--language", "languages", multiple=True, metavar="NAME", help="Only in this language: go, python, …"
)
@click.option(
    "--kind", "kinds", multiple=True, metavar="NAME", help="Only what is this: function, class, section, …"
)
@click.option("--symbol", metavar="NAME", help="Only in this definition or section, such as Session.login.")
@time_option(
    "--since", "changed_since", help="Only in files changed since then: 2026-01-31, or 3h, 2d, 1w ago."
)
@click.option("--min-score", metavar="S", type=click.FloatRange(0, 1), help="Nothing with a lower score.")
@click.option(
    "--fresh",
    type=click.Choice(FRESHNESS),
    help="What is compared with the disk: the files shown [default], the whole tree, nothing.",
)
@click.option("--scope", "scope_id", metavar="ID", help="Prefer files in the focus of this scope.")
@click.option("-q", "--quiet", is_flag=True, help="No remarks on the standard error.")
@json_option
@click.pass_context
def query_command(
    context: click.Context,
    /,
    question: str | None,
    cwd: str | None,
    limit: int | None,
    path_prefix: str | None,
    quiet: bool,
    as_json: bool,
    **filters: Any,
) -> None:
    """Find the code that answers QUESTION: by its words, by its meaning, and by names and imports.

    A QUESTION of - is read from the standard input: a stack trace, a log, an issue. One that begins with a
    dash goes behind --. Results go to the standard output, the best first, a place in each file; how they
    were looked for goes to the standard error. Exits with 1 if nothing was found.

    Not on a terminal, as for an agent, one place that is clearly the best comes whole, with the values of
    constants that it names and the heads of what it calls; else up to four places. A --limit gives the list.
    """
    if question is None and filters["relation"] not in OF_ALL:
        raise click.MissingParameter(ctx=context, param_hint="'QUESTION'", param_type="argument")
    settings = settings_of(context)
    folder = cwd or current_folder()
    text = read_text("question") if question == "-" else question or ""
    for_agent = limit is None and not as_json and not terminal.is_terminal(sys.stdout)
    given = {
        **filters,
        "cwd": folder,
        "query": text,
        "limit": AGENT_PLACES if for_agent else limit,
        "for_agent": for_agent,
        "path_prefix": None if path_prefix is None else _prefix(path_prefix, folder, cwd),
    }
    params = {name: value for name, value in given.items() if value not in (None, ())}
    with connect(settings) as client:
        if filters["scope_id"] is None and filters["fresh"] != "no":
            wait_until_known(client, folder, INDEX_WAIT_S)
        if terminal.is_terminal(sys.stderr) and not quiet:
            with spinner(settings, folder):
                reply = client.call("Query", params, CALL_TIMEOUT_S)
        else:
            reply = client.call("Query", params, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
    else:
        describe = describe_for_agent if for_agent else describe_results
        for line in describe(reply, text, os.path.realpath(current_folder())):
            terminal.say(line)
        if not quiet:
            terminal.flush()
            for remark in remarks(reply):
                terminal.note(remark)
    if not reply["results"]:
        context.exit(FAILED)


def remarks(reply: dict[str, Any]) -> Iterator[str]:
    """Yield what a person should know of an answer besides its results; the hint for an empty answer comes
    last."""
    yield ": ".join(filter(None, (reply["route"], "; ".join(reply["evidence"]))))
    for reason in reply["degraded"]:
        yield f"degraded: {reason}"
    if reply["results"]:
        yield f"{_how_many(reply)} in {reply['elapsed_ms']:.1f} ms"
    else:
        hint = f": {reply['hint']}" if reply.get("hint") else ""
        yield f"nothing found in {reply['elapsed_ms']:.1f} ms{hint}"


def _how_many(reply: dict[str, Any]) -> str:
    """Return the number of results: of files, if each is another file, else of places."""
    results = reply["results"]
    files = len({result["path"] for result in results})
    if files == len(results):
        return terminal.count(files, "place" if are_references(reply) else "file")
    return f"{terminal.count(len(results), 'place')} of {terminal.count(files, 'file')}"


def _prefix(given: str, folder: str, cwd: str | None) -> str:
    """Return a path as the daemon takes it; a folder gets a slash at its end, so that it means only what is
    in it."""
    folders = [folder] if cwd is None else [folder, current_folder()]
    found = locate(given, folders)
    is_folder = os.path.isabs(found) and os.path.isdir(found)
    return os.path.join(found, "") if is_folder else found


def describe_results(reply: dict[str, Any], question: str, folder: str) -> Iterator[str]:
    """Yield the lines about the results of a reply, best first, paths as seen from a folder."""
    if are_references(reply):
        yield from describe_references(reply, question, folder)
        return
    words = question_words(question) if terminal.use_colour(sys.stdout, os.environ) else None
    for rank, result in enumerate(reply["results"], 1):
        if rank > 1:
            yield ""
        place = seen_from(folder, reply["project"], result["path"])
        yield _headline(rank, result, place)
        reasons = _reasons(result)
        if reasons:
            yield INDENT + terminal.styled(terminal.clean(reasons), dim=True)
        yield from _snippet(result, words)
        if result.get("more"):
            others = ", ".join(_other(place, result) for place in result["more"])
            yield INDENT + terminal.styled(terminal.clean(f"also {others}"), dim=True)


def describe_for_agent(reply: dict[str, Any], question: str, folder: str) -> Iterator[str]:
    """Yield the lines about the results of a reply for an agent: one place whole with what it needs, or the
    lines that match of a few, without ranks and scores."""
    results = reply["results"]
    if are_references(reply) and not results[0].get("definition"):
        yield from describe_references(reply, question, folder)
        return
    for number, result in enumerate(results):
        if number:
            yield ""
        place = seen_from(folder, reply["project"], result["path"])
        name = (
            f" {_name(result['symbol'], result['kind'])} ({result['kind']})" if result.get("symbol") else ""
        )
        yield terminal.clean(f"{place}:{terminal.lines_of(result['start_line'], result['end_line'])}{name}")
        if "definition" in result:
            yield from _numbered(result["definition"], result["start_line"])
            if result["truncated"]:
                yield f"{INDENT}… up to line {result['end_line']}"
            yield from _needs(result, reply["project"], folder)
        else:
            yield from _snippet(result, None)


def _needs(result: dict[str, Any], project: str, folder: str) -> Iterator[str]:
    """Yield what a definition needs, in its order, with a heading for each role."""
    said = ""
    for need in result.get("needs", ()):
        if need["role"] != said:
            said = need["role"]
            yield NEEDS.get(said, said)
        path = need["node_id"].partition("#")[0]
        where = "" if path == result["path"] else f"{seen_from(folder, project, path)}:"
        text = need["text"] if need["role"] == "value" else " ".join(need["text"].split())
        first, *others = text.split("\n")
        yield terminal.clean(f"{INDENT}{where}{need['start_line']}: {first.strip()}")
        yield from (f"{INDENT}{terminal.clean(line)}" for line in others)


def _numbered(text: str, first: int) -> Iterator[str]:
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), first):
        yield f"{number} {line}".rstrip()


def _headline(rank: int, result: dict[str, Any], place: str) -> str:
    path = terminal.styled(terminal.clean(place), fg="magenta", bold=True)
    line = terminal.styled(str(result["line"]), fg="green")
    what = ""
    if result.get("symbol"):
        name = terminal.clean(_name(result["symbol"], result["kind"]))
        what = f"{terminal.styled(name, bold=True)} ({terminal.clean(result['kind'])})  "
    return f"{rank:>2} {path}:{line}  {what}{result['score']:.2f}"


def _reasons(result: dict[str, Any]) -> str:
    """Return why a result was found: its ranks in the lists that have it, and what speaks for its file."""
    ranks = sorted(result["sources"].items(), key=lambda source: (source[1], source[0]))
    found = [", ".join(f"{LISTS.get(name, name)} #{rank}" for name, rank in ranks)]
    found += result["why"]
    if result.get("via"):
        found.append(f"through {result['via']}")
    if result.get("certainty") == "name":
        found.append("by its name alone")
    return "; ".join(filter(None, found))


def _snippet(result: dict[str, Any], words: re.Pattern[str] | None) -> Iterator[str]:
    """Yield the lines of a snippet with their numbers, as grep does: `:` marks the most relevant line."""
    coloured = terminal.use_colour(sys.stdout, os.environ)
    text = result["snippet"].replace("\r\n", "\n")
    if coloured or terminal.is_terminal(sys.stdout):
        text = terminal.clean_lines(text)
    lines = highlight(text, result["language"], words) if coloured else text.split("\n")
    first = result["snippet_line"]
    width = len(str(first + len(lines) - 1))
    for number, line in enumerate(lines, first):
        best = number == result["line"]
        gutter = terminal.styled(f"{number:>{width}}{':' if best else '-'}", fg="green", dim=not best)
        yield f"{INDENT}{gutter}{f' {line}' if line else ''}"


def _other(place: dict[str, Any], result: dict[str, Any]) -> str:
    """Return another place in the file of a result: its line and what it is."""
    _, _, symbol = place["node_id"].partition("#")
    name = "" if symbol == result.get("symbol") else _name(symbol, place["kind"])
    return f"{terminal.lines_of(place['start_line'], place['end_line'])} {name}".rstrip()


def _name(symbol: str, kind: str) -> str:
    """Return the name of a definition, or a section's own heading without those above it."""
    return symbol.rpartition("/")[2] if kind == "section" else symbol


CODE_MAX = 120
"""Maximum characters of a shown line of code."""

COLUMN_MAX = 60
"""Maximum width of a column; a longer place or name doesn't widen it."""


def are_references(reply: dict[str, Any]) -> bool:
    """Whether all results come from the graph of references."""
    return bool(reply["results"]) and all(result.get("certainty") for result in reply["results"])


def describe_references(reply: dict[str, Any], question: str, folder: str) -> Iterator[str]:
    """Yield a line for each result: path and line, the symbol, the code, and how sure it is if it isn't."""
    rows = [
        (
            f"{terminal.clean(seen_from(folder, reply['project'], result['path']))}:{result['line']}",
            terminal.clean(result.get("enclosing", "")),
        )
        for result in reply["results"]
    ]
    widths = [max(min(len(row[column]), COLUMN_MAX) for row in rows) for column in (0, 1)]
    coloured = terminal.use_colour(sys.stdout, os.environ)
    for result, (place, symbol) in zip(reply["results"], rows, strict=True):
        path, _, line = place.rpartition(":")
        shown = f"{terminal.styled(path, fg='magenta', bold=True)}:{terminal.styled(line, fg='green')}"
        parts = [
            shown + " " * (widths[0] - len(place)),
            terminal.styled(symbol, bold=True) + " " * (widths[1] - len(symbol)),
            _code(result, question, coloured=coloured),
        ]
        notes = _notes(result)
        if notes:
            parts.append(terminal.styled(terminal.clean(f"[{notes}]"), dim=True))
        yield "  ".join(parts).rstrip()


def _code(result: dict[str, Any], question: str, *, coloured: bool) -> str:
    """Return the line of the reference, without what stands before it."""
    lines = result["snippet"].replace("\r\n", "\n").split("\n")
    at = result["line"] - result["snippet_line"]
    line = lines[at].strip() if 0 <= at < len(lines) else ""
    line = terminal.clean(f"{line[:CODE_MAX]}…" if len(line) > CODE_MAX else line)
    return highlight(line, result["language"], question_words(question))[0] if coloured and line else line


def _notes(result: dict[str, Any]) -> str:
    """Return how sure a result is, if only by its name, and what leads there."""
    notes = []
    if result["certainty"] == "name":
        notes.append("by name")
    reference = result.get("reference")
    if reference:
        notes.append(f"at {reference['path']}:{reference['line']}")
    via = result.get("via")
    if via and via != result.get("enclosing") and not reference:
        notes.append(f"via {via}")
    return "; ".join(notes)


LEXERS = {
    "assembly": "nasm",
    "astro": "html",
    "gitconfig": "ini",
    "gitignore": "bash",
    "gomod": "go",
    "jsonc": "json",
    "jsonl": "json",
    "just": "makefile",
    "mdx": "markdown",
    "prisma": "graphql",
    "svelte": "html",
}
"""Lexers of languages whose own name is no lexer."""

THEME = "ansi_dark"
"""A theme of the terminal's own sixteen colours, which fits any background."""

EMPHASIS = "bold underline"

STOP_WORDS = frozenset(
    {
        *("about", "all", "and", "any", "are", "but", "can", "could", "did", "does", "doing", "done", "each"),
        *("find", "for", "from", "get", "has", "have", "how", "into", "its", "make", "not", "show", "should"),
        *("that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "use", "used"),
        *("uses", "using", "was", "were", "what", "when", "where", "which", "who", "why", "will", "with"),
        *("would", "you", "your"),
    }
)
"""Words of questions that say nothing about the code and aren't emphasised."""

WORDS_MAX = 64
"""Maximum emphasised words of a question, which may be a pasted log."""


def highlight(code: str, language: str, words: re.Pattern[str] | None) -> list[str]:
    """Return the lines of some code with ANSI colours; a language that has no lexer stays plain.

    `words` are emphasised. The code must hold no control characters but tabs and line breaks.
    """
    from rich.console import Console
    from rich.syntax import Syntax

    text = Syntax(code, LEXERS.get(language, language or "text"), theme=THEME).highlight(code)
    text.rstrip()
    if words is not None:
        text.highlight_regex(words, EMPHASIS)
    console = Console(force_terminal=True, color_system="standard", legacy_windows=False)
    with console.capture() as capture:
        console.print(text, soft_wrap=True)
    lines = capture.get().split("\n")[:-1]
    return lines + [""] * (code.count("\n") + 1 - len(lines))


def question_words(question: str) -> re.Pattern[str] | None:
    """Return a pattern that finds a question's words in code, None for a question that has none.

    A word is found in other forms of it and as a part of an identifier: `sessions` in `expireSession`, but
    `port` not in `import`.
    """
    words = [word for word in _WORD.findall(question.lower()) if word not in STOP_WORDS]
    stems = dict.fromkeys(_stem(word) for word in words[:WORDS_MAX])
    if not stems:
        return None
    # The longest first, since of several alternatives the first one that fits is taken.
    return re.compile("|".join(map(_found_in_code, sorted(stems, key=len, reverse=True))))


_WORD = re.compile(r"[^\W_]{3,40}")
_ENDING = re.compile(r"(?<=[^\W_]{4})(?:ing|ed|es|s|e)$")


def _stem(word: str) -> str:
    return _ENDING.sub("", word)


def _found_in_code(stem: str) -> str:
    """Return a pattern for a stem that begins a word or a part of an identifier, to the end of that."""
    begins_word = rf"(?<![^\W_])(?i:{re.escape(stem)})"
    begins_part = rf"{re.escape(stem.capitalize())}|(?<=[a-z0-9]){re.escape(stem.upper())}"
    return rf"(?:{begins_word}|{begins_part})(?:[a-z]+|[A-Z]+(?![a-z]))?"
