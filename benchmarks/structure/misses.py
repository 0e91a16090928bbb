"""The list of misses: which links are wrong and which calls are not found, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .product import Answer
from .sites import Site, Target, Verdict, last_name


def misses_of(
    package: str, verdicts: Mapping[Site, Verdict], answers: Mapping[Site, Answer]
) -> Iterator[str]:
    """Yield the disagreements in the order of the source.

    They begin with `wrong` for a resolved link that leads elsewhere, `by name` for a call that is only listed
    by its name, `lost` for one that the whole answer lacks.
    """
    for site, verdict in sorted(verdicts.items()):
        answer = answers.get(site)
        if answer is None or verdict.outcome == "unknown":
            continue
        if answer.target is None and verdict.outcome == "project":
            names = {last_name(target.name) for target in verdict.targets}
            fault = "by name" if answer.state == "name" and site.name in names else "lost"
        elif answer.target is not None and not verdict.accepts(answer.target):
            fault = "wrong"
        else:
            continue
        expected = ", ".join(_written(target) for target in verdict.targets[:2]) or verdict.outcome
        answered = _written(answer.target) if answer.target is not None else answer.state
        place = f"{package}/{site.path}:{site.line}"
        yield f"{fault}: {site.form} {place} `{site.code}` expected {expected}, answered {answered}"


def _written(target: Target) -> str:
    return f"{target.path}#{target.name}"
