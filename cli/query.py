"""The command `foveal query`: the question with its filters, and how the results are printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import click

from ..ipc.errors import RpcError
from . import terminal
from .command import Reply, Run, command, given
from .connection import CALL_TIMEOUT_S, connect
from .context import FRESH
from .errors import message_of
from .highlight import highlight
from .options import CWD, QUIET, argument, choice, flag, number, option, score, time_option
from .progress import wait_until_known
from .settings import current_folder, seen_from
from .terminal import styled
from .text import clean, clean_lines, count, lines_of

LISTS = {"tree": "structure", "lexical": "words", "vector": "meaning"}
"""The names of the indexes in which a result may rank; unknown ones keep their name."""


INDENT = "   "


NEEDS = {"within": "In:", "value": "Names:", "call": "Calls:"}
"""The headings of what a definition needs, by role."""


ROUTES = ("structural", "positional", "semantic", "hybrid")


OF_ALL = ("cycles", "unused")
"""Relations that need no question: they may be asked of the whole project."""


FILTERS = {"languages": "--language", "kinds": "--kind", "glob": "--glob", "relation": "--relation"}
"""The options of the fields whose values only the daemon can check."""


INDEX_WAIT_S = 60.0
"""Maximum wait in seconds for a new project to be read (a second for some hundred files); then the answer
comes from what is known."""


AGENT_PLACES = 8
"""Maximum places for an agent if none is clearly the best, a line each."""


@command(
    "Find the code that answers a question.",
    argument("query", "[QUESTION]", required=False),
    CWD,
    number(
        "--limit",
        1,
        1000,
        "Maximum number of files, one place in each; of places, where the structure answers, as for callers"
        " [default: 10 on a terminal].",
    ),
    choice("--route", ROUTES, "How to search, instead of what the question suggests."),
    option(
        "--relation",
        "NAME",
        "Ask the structure for this of the names in QUESTION: callers, callees, references, definition,"
        " importers, imports, subclasses, superclasses, implementations, overrides, tests, impact, outline,"
        " connection, cycles, unused. The last two need no QUESTION.",
    ),
    option("--path path_prefix", "PREFIX", "Only in this folder or file, or in paths that begin so."),
    option("--glob", "PATTERN", "Only in files that match, such as 'src/**/*.{ts,tsx}'."),
    option("--language languages", "NAME", "Only in this language: go, python, …", multiple=True),
    option("--kind kinds", "NAME", "Only what is this: function, class, section, …", multiple=True),
    option("--symbol", "NAME", "Only in this definition or section, such as Session.login."),
    time_option("--since changed_since", "Only in files changed since then: 2026-01-31, or 3h, 2d, 1w ago."),
    score("--min-score", 0, 1, "Nothing with a lower score."),
    FRESH,
    option("--scope scope_id", "ID", "Prefer files in the focus of this scope."),
    flag("--all-projects", "In all projects that foveal knows, also those that this one doesn't link."),
    QUIET,
    argument_hint='put the question into quotes: foveal query "how do sessions expire?"',
)
def query_command(run: Run) -> None:
    """Find the code that answers QUESTION: by its words, by its meaning, and by names and imports.

    A QUESTION of - is read from the standard input: a stack trace, a log, an issue. One that begins with a
    dash goes behind --. Results go to the standard output, the best first, a place in each file; how they
    were looked for goes to the standard error. Exits with 1 if nothing was found.

    Not on a terminal, as for an agent, one place that is clearly the best comes whole, with the values of
    constants that it names and the heads of what it calls; else up to eight places, a line each. Callers and
    other answers of the structure come completely, a line each. A --limit gives the list.

    For example:

        foveal query "how do sessions expire?"
        foveal query "what calls Session.login?"
        foveal query "who imports src/auth.py?"
        foveal query SessionStore --kind class --path src
        foveal query "retry with a pause" --language go --since 2w --limit 3
        make test 2>&1 | foveal query -
    """
    if run.query is None and run.relation not in OF_ALL:
        raise click.MissingParameter(ctx=run.context, param_hint="'QUESTION'", param_type="argument")
    text = terminal.read_text("question") if run.query == "-" else run.query or ""
    for_agent = run.limit is None and not run.as_json and not terminal.is_terminal(sys.stdout)
    params = run.without("quiet") | {
        "query": text,
        "limit": AGENT_PLACES if for_agent else run.limit,
        "for_agent": for_agent,
        "path_prefix": None if run.path_prefix is None else _prefix(run),
        "all_projects": run.all_projects or None,
    }
    with connect(run.settings) as client:
        if run.scope_id is None and run.fresh != "no":
            wait_until_known(client, run.folder, INDEX_WAIT_S)
        try:
            reply = client.call("Query", given(params), CALL_TIMEOUT_S)
        except RpcError as error:
            field = str((error.data or {}).get("field"))
            if field not in FILTERS:
                raise
            raise run.usage(message_of(error).replace(field, FILTERS[field], 1)) from error
    describe = describe_for_agent if for_agent else describe_results
    run.show(reply, describe(reply, os.path.realpath(current_folder())))
    if not run.as_json and not run.quiet:
        terminal.flush()
        for remark in remarks(reply):
            terminal.note(remark)
    if not reply["results"]:
        run.fail()


def remarks(reply: Reply) -> Iterator[str]:
    """Yield what a person should know of an answer besides its results; the hint for an empty answer comes
    last."""
    yield ": ".join(filter(None, (reply["route"], "; ".join(reply["evidence"]))))
    for reason in reply["degraded"]:
        yield f"degraded: {reason}"
    if reply["results"]:
        yield f"{_how_many(reply)} in {reply['elapsed_ms']:.1f} ms"
    else:
        known = ("", *reply["evidence"])
        hint = f": {reply['hint']}" if reply.get("hint", "") not in known else ""
        yield f"nothing found in {reply['elapsed_ms']:.1f} ms{hint}"


def _how_many(reply: Reply) -> str:
    """Return the number of results: of files, if each is another file, else of places."""
    results = reply["results"]
    files = len({result["path"] for result in results})
    if files == len(results):
        return count(files, "place" if are_references(reply) else "file")
    return f"{count(len(results), 'place')} of {count(files, 'file')}"


def _prefix(run: Run) -> str:
    """Return a path as the daemon takes it; a folder gets a slash at its end, so that it means only what is
    in it."""
    found = run.locate(run.path_prefix)
    is_folder = os.path.isabs(found) and os.path.isdir(found)
    return os.path.join(found, "") if is_folder else found


def describe_results(reply: Reply, folder: str) -> Iterator[str]:
    """Yield the lines about the results of a reply, best first, paths as seen from a folder."""
    if are_references(reply):
        yield from describe_references(reply, folder)
        return
    for rank, result in enumerate(reply["results"], 1):
        if rank > 1:
            yield ""
        place = seen_from(folder, reply["project"], result["path"])
        yield _headline(rank, result, place)
        reasons = _reasons(result)
        if reasons:
            yield INDENT + styled(clean(reasons), dim=True)
        yield from _snippet(result)
        if result.get("more"):
            others = ", ".join(_other(place, result) for place in result["more"])
            yield INDENT + styled(clean(f"also {others}"), dim=True)


def describe_for_agent(reply: Reply, folder: str) -> Iterator[str]:
    """Yield the lines about the results of a reply for an agent: one place whole with what it needs, or a
    line for each of a few with its matching line, without ranks and scores."""
    results = reply["results"]
    if are_references(reply) and not results[0].get("definition"):
        yield from describe_references(reply, folder)
        return
    for result in results:
        place = seen_from(folder, reply["project"], result["path"])
        name = (
            f" {_name(result['symbol'], result['kind'])} ({result['kind']})" if result.get("symbol") else ""
        )
        head = f"{place}:{lines_of(result['start_line'], result['end_line'])}{name}"
        if "definition" not in result:
            yield clean(f"{head} - {result['line']}: {_code(result, coloured=False)}")
            continue
        yield clean(head)
        yield from numbered(result["definition"], result["start_line"])
        if result["truncated"]:
            yield f"{INDENT}… up to line {result['end_line']}"
        if result.get("remark"):
            yield clean(f"It {result['remark']}.")
        yield from _needs(result, reply["project"], folder)


def _needs(result: Reply, project: str, folder: str) -> Iterator[str]:
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
        yield clean(f"{INDENT}{where}{need['start_line']}: {first.strip()}")
        yield from (f"{INDENT}{clean(line)}" for line in others)


def numbered(text: str, first: int) -> Iterator[str]:
    """Yield the lines of a text, each behind its number."""
    for at, line in enumerate(text.replace("\r\n", "\n").split("\n"), first):
        yield f"{at} {line}".rstrip()


def _headline(rank: int, result: Reply, place: str) -> str:
    path = styled(clean(place), fg="magenta", bold=True)
    line = styled(str(result["line"]), fg="green")
    what = ""
    if result.get("symbol"):
        name = clean(_name(result["symbol"], result["kind"]))
        what = f"{styled(name, bold=True)} ({clean(result['kind'])})  "
    return f"{rank:>2} {path}:{line}  {what}{result['score']:.2f}"


def _reasons(result: Reply) -> str:
    """Return why a result was found: its ranks in the lists that have it, and what speaks for its file."""
    ranks = sorted(result["sources"].items(), key=lambda source: (source[1], source[0]))
    found = [", ".join(f"{LISTS.get(name, name)} #{rank}" for name, rank in ranks)]
    found += result["why"]
    if result.get("via"):
        found.append(f"through {result['via']}")
    if result.get("certainty") == "name":
        found.append("by its name alone")
    if result.get("repository"):
        found.append(f"in {result['repository']}")
    return "; ".join(filter(None, found))


def _snippet(result: Reply) -> Iterator[str]:
    """Yield the lines of a snippet with their numbers, as grep does: `:` marks the most relevant line."""
    coloured = terminal.use_colour(sys.stdout, os.environ)
    text = result["snippet"].replace("\r\n", "\n")
    if coloured or terminal.is_terminal(sys.stdout):
        text = clean_lines(text)
    lines = highlight(text, result["path"]) if coloured else text.split("\n")
    first = result["snippet_line"]
    width = len(str(first + len(lines) - 1))
    for at, line in enumerate(lines, first):
        best = at == result["line"]
        gutter = styled(f"{at:>{width}}{':' if best else '-'}", fg="green", dim=not best)
        yield f"{INDENT}{gutter}{f' {line}' if line else ''}"


def _other(place: Reply, result: Reply) -> str:
    """Return another place in the file of a result: its line and what it is."""
    _, _, symbol = place["node_id"].partition("#")
    name = "" if symbol == result.get("symbol") else _name(symbol, place["kind"])
    return f"{lines_of(place['start_line'], place['end_line'])} {name}".rstrip()


def _name(symbol: str, kind: str) -> str:
    """Return the name of a definition, or a section's own heading without those above it."""
    return symbol.rpartition("/")[2] if kind == "section" else symbol


CODE_MAX = 120
"""Maximum characters of a shown line of code."""


COLUMN_MAX = 60
"""Maximum width of a column; a longer place or name doesn't widen it."""


def are_references(reply: Reply) -> bool:
    """Whether all results come from the graph of references."""
    return bool(reply["results"]) and all(result.get("certainty") for result in reply["results"])


def describe_references(reply: Reply, folder: str) -> Iterator[str]:
    """Yield a line for each result: path and line, the symbol, the code, and how sure it is if it isn't."""
    rows = [
        (
            f"{clean(seen_from(folder, reply['project'], result['path']))}:{result['line']}",
            clean(result.get("enclosing", "")),
        )
        for result in reply["results"]
    ]
    widths = [max(min(len(row[column]), COLUMN_MAX) for row in rows) for column in (0, 1)]
    coloured = terminal.use_colour(sys.stdout, os.environ)
    for result, (place, symbol) in zip(reply["results"], rows, strict=True):
        path, _, line = place.rpartition(":")
        shown = f"{styled(path, fg='magenta', bold=True)}:{styled(line, fg='green')}"
        parts = [
            shown + " " * (widths[0] - len(place)),
            styled(symbol, bold=True) + " " * (widths[1] - len(symbol)),
            _code(result, coloured=coloured),
        ]
        notes = _notes(result)
        if notes:
            parts.append(styled(clean(f"[{notes}]"), dim=True))
        yield "  ".join(parts).rstrip()


def _code(result: Reply, *, coloured: bool) -> str:
    """Return the line of the reference, without what stands before it."""
    lines = result["snippet"].replace("\r\n", "\n").split("\n")
    at = result["line"] - result["snippet_line"]
    line = lines[at].strip() if 0 <= at < len(lines) else ""
    line = clean(f"{line[:CODE_MAX]}…" if len(line) > CODE_MAX else line)
    return highlight(line, result["path"])[0] if coloured and line else line


def _notes(result: Reply) -> str:
    """Return how sure a result is, if only by its name, and what leads there."""
    notes = []
    if result["certainty"] == "name":
        near = (why for why in result["why"] if "the nearest name is" in why)
        notes.append(next(near, "by name"))
    reference = result.get("reference")
    if reference:
        notes.append(f"at {reference['path']}:{reference['line']}")
    via = result.get("via")
    if via and via != result.get("enclosing") and not reference:
        notes.append(f"via {via}")
    return "; ".join(notes)
