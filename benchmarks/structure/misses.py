"""The list of misses: which links are wrong and which calls are not found, each with its class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .product import Answer
from .sites import Site, Target, Verdict, last_name

EXAMPLES = 5


class Miss(NamedTuple):
    """One disagreement. `fault` is `wrong` for a resolved link that leads elsewhere, `by name` for a call
    that is only listed by its name, `lost` for one that the whole answer lacks; `reason` is its class."""

    package: str
    fault: str
    reason: str
    site: Site
    expected: str
    answered: str


def misses_of(package: str, verdicts: Mapping[Site, Verdict], answers: Mapping[Site, Answer]) -> list[Miss]:
    """Return the disagreements in the order of the source."""
    found = []
    for site, verdict in sorted(verdicts.items()):
        answer = answers.get(site)
        if answer is None or verdict.outcome == "unknown":
            continue
        if answer.target is not None and not verdict.accepts(answer.target):
            found.append(_miss(package, "wrong", site, verdict, answer))
        elif answer.target is None and verdict.outcome == "project":
            listed = answer.state == "name" and any(
                site.name == last_name(target.name) for target in verdict.targets
            )
            found.append(_miss(package, "by name" if listed else "lost", site, verdict, answer))
    return found


def summary(misses: Sequence[Miss], examples: int = EXAMPLES) -> str:
    """Return the classes of misses as Markdown, the largest first, each with a few examples."""
    counts = Counter((miss.fault, miss.reason) for miss in misses)
    lines = ["| fault | class | misses |", "|---|---|---|"]
    order = sorted(counts, key=lambda each: (_FAULTS.index(each[0]), -counts[each], each[1]))
    lines += [f"| {fault} | {reason} | {counts[fault, reason]} |" for fault, reason in order]
    for fault, reason in order:
        chosen = [miss for miss in misses if (miss.fault, miss.reason) == (fault, reason)]
        lines += ["", f"**{fault}: {reason}** ({len(chosen)})", ""]
        lines += [f"- {line(miss)}" for miss in chosen[:: max(len(chosen) // examples, 1)][:examples]]
    return "\n".join(lines)


def line(miss: Miss) -> str:
    """Return one miss as a line of text."""
    place = f"{miss.package}/{miss.site.path}:{miss.site.line}"
    return f"{place} `{miss.site.code}` expected {miss.expected}, answered {miss.answered}"


_FAULTS = ("wrong", "lost", "by name")


def _miss(package: str, fault: str, site: Site, verdict: Verdict, answer: Answer) -> Miss:
    expected = ", ".join(_written(target) for target in verdict.targets[:2]) or verdict.outcome
    if verdict.outcome == "variable":
        expected = f"the variable {expected}"
    answered = _written(answer.target) if answer.target is not None else answer.state
    return Miss(package, fault, _reason(site, verdict, answer), site, expected, answered)


def _reason(site: Site, verdict: Verdict, answer: Answer) -> str:
    if answer.target is None:
        return f"{site.form} ({answer.state})" if answer.state != "name" else site.form
    if verdict.outcome != "project":
        return f"{site.form} is {'outside' if verdict.outcome == 'external' else 'a variable'}"
    same = any(last_name(answer.target.name) == last_name(target.name) for target in verdict.targets)
    return f"{site.form} {'of another class or file' if same else 'something of another name'}"


def _written(target: Target) -> str:
    return f"{target.path}#{target.name}"
