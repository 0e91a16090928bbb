"""What a diff breaks, in lines: for each changed definition its callers and the tests that reach it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

CALLERS_SHOWN, TESTS_SHOWN, FILES_SHOWN = 20, 4, 30
"""Maximum number of lines of callers and of tests of a definition, and of test files; the rest is counted."""

WORDS = {"signature": "signature changed", "removed": "removed", "renamed": "renamed", "body": "changed"}
"""What happened to a definition, by its kind of change."""

QUIET = {
    "signature": "signature changed, with no known caller outside the diff and no known test:",
    "body": "changed, with no known caller outside the diff and no known test:",
    "removed": "removed, and no call or import of it is known any more:",
}
"""The heading of changes that need one line each, because nothing is known to use them."""


def summary(reply: Mapping[str, Any]) -> str:
    """Return the line that says what was compared, and how much changed."""
    kinds = [each["kind"] for each in reply["changes"]]
    parts = [f"{kinds.count(kind)} {word}" for kind, word in WORDS.items() if kind in kinds]
    parts += [f"{reply['added']} new"] if reply["added"] else []
    what = ", ".join(parts) or "no definition changed"
    return f"{reply['before']} -> {reply['after']}: {what}; {_counted(reply['files'], 'source file')}"


def groups(reply: Mapping[str, Any], seen: Callable[[str], str] = str) -> Iterator[list[str]]:
    """Yield the lines about each changed definition, then those about the tests. `seen` is how a path is
    shown."""
    quiet: dict[str, list[str]] = {}
    for change in reply["changes"]:
        title = "" if change["callers_total"] or change["tests_total"] else QUIET.get(change["kind"], "")
        if title:
            line = f":{change['start_line']}" if change["start_line"] else ""
            how = _parameters(change)
            quiet.setdefault(title, []).append(f"  {seen(change['path'])}{line} {change['symbol']}{how}")
        else:
            yield list(_change(change, seen))
    yield from ([title, *names] for title, names in quiet.items())
    if reply["more"]:
        yield [f"{reply['more']} more changed definitions, which were not looked up"]
    if reply["tests"]:
        shown = [
            f"  {seen(each['path'])} ({_counted(each['reached'], 'test') if each['reached'] else 'changed'})"
            for each in reply["tests"][:FILES_SHOWN]
        ]
        yield ["test files to run:", *shown, *_rest(len(reply["tests"]) - len(shown), "file")]


def _change(change: Mapping[str, Any], seen: Callable[[str], str]) -> Iterator[str]:
    lines = f":{change['start_line']}-{change['end_line']}" if change["start_line"] else ""
    name = f"{change['former']} -> {change['symbol']}" if change.get("former") else change["symbol"]
    yield f"{seen(change['path'])}{lines} {name}: {WORDS[change['kind']]}{_parameters(change)}"
    if change.get("before"):
        yield f"  was  {change['before']}"
        yield f"  now  {change['after']}"
    gone = change["kind"] in {"removed", "renamed"}
    total = change["callers_total"]
    if total:
        yield f"  {'still used' if gone else 'callers outside the diff'} ({total}):"
        yield from (f"    {_caller(each, seen)}" for each in change["callers"][:CALLERS_SHOWN])
        yield from (
            f"    {line}" for line in _rest(total - min(len(change["callers"]), CALLERS_SHOWN), "caller")
        )
    else:
        yield (
            "  no call or import of its former name is known"
            if gone
            else "  no known caller outside the diff"
        )
    if change["by_name"] and change["kind"] == "body":
        yield f"  {_counted(change['by_name'], 'more call')} of something of its name"
    if change["tests_total"]:
        yield f"  tests ({change['tests_total']}):"
        yield from (f"    {_test(each, seen)}" for each in change["tests"][:TESTS_SHOWN])
        yield from (
            f"    {line}"
            for line in _rest(change["tests_total"] - min(len(change["tests"]), TESTS_SHOWN), "test")
        )
    elif not gone:
        yield "  no test found that reaches it over calls"


def _parameters(change: Mapping[str, Any]) -> str:
    parameters = ", ".join(change.get("parameters", ()))
    return f" ({parameters})" if parameters else ""


def _caller(place: Mapping[str, Any], seen: Callable[[str], str]) -> str:
    by_name = "  [by name]" if place["certainty"] == "name" else ""
    around = f"  {place['enclosing']}" if place["enclosing"] else ""
    return f"{seen(place['path'])}:{place['line']}{around} - {place['text']}{by_name}"


def _test(place: Mapping[str, Any], seen: Callable[[str], str]) -> str:
    calls = place.get("calls", 0)
    how = "by name" if place["certainty"] == "name" else "directly" if calls <= 1 else f"over {calls} calls"
    name = f"  {place['enclosing']}" if place["enclosing"] else ""
    return f"{seen(place['path'])}:{place['line']}{name} ({how})"


def _rest(left: int, noun: str) -> list[str]:
    return [f"and {_counted(left, f'more {noun}')}"] if left > 0 else []


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
