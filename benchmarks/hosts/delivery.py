"""What a prompt brings to the model, and what a host prints for its user: checks of recorded requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from .script import Request

START = "## Session context"
"""The heading of the context that a session begins with."""

TAG = "foveal-context"
ELEMENT = re.compile(
    r"(?:<|&lt;|\[)foveal-context(?:>|&gt;|\]).*?(?:<|&lt;|\[)/foveal-context(?:>|&gt;|\])", re.DOTALL
)

_FAILED = r"\b(?:fail\w*|errors?|cancel\w*|timed? ?out|denied|not found|exited|invalid|panicked)\b"
_COMPLAINT = re.compile(
    rf"^.*\bhooks?\b.*{_FAILED}"
    rf"|^\W*(?:(?:error|warning)\W+)?foveal\b.*{_FAILED}"
    r"|^Traceback \(most recent call last\)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line about a hook, or one of foveal's own, that tells a failure."""


class Check(Struct, frozen=True):
    """A check's name and result: None if it doesn't apply, and why it failed or doesn't apply."""

    name: str
    ok: bool | None
    detail: str = ""


class Sent(Struct, frozen=True):
    """A prompt, the requests that its host made for it, and what the host printed.

    `file` is what its context must show: "" for talk, which gets no context, None if that isn't checked.
    """

    prompt: str
    file: str | None
    requests: Sequence[Request]
    output: str


def deliveries(sent: Sequence[Sent], *, late: bool = False) -> Iterator[Check]:
    """Yield the checks of a session's prompts: their contexts, none for talk, nothing printed of a failure.

    With `late` the host sends a context after the next tool call, so that none need stand beside its prompt.
    """
    tasks = [one for one in sent if one.file]
    talk = [one for one in sent if one.file == ""]
    beside = _check("context beside its prompt", tasks, _missing_context)
    yield Check(beside.name, None, "it comes after the next tool call") if late else beside
    yield _check("talk brings nothing", talk, _needless_context)
    yield _check("no complaint is printed", sent, _complaint)


def answered(requests: Sequence[Request], prompt: str) -> Request | None:
    """Return the last request that answers a prompt with tools at hand."""
    found = [request for request in requests if request.tools and prompt in request.text]
    return found[-1] if found else None


def elements_beside(request: Request, prompt: str) -> list[str]:
    """Return foveal's elements that came with a prompt: between the model's answers before and to it."""
    turns: list[list[str]] = [[]]
    for message in request.messages:
        if message.role in ("assistant", "tool"):
            turns.append([])
        else:
            turns[-1].append(message.text)
    own = [turn for turn in turns if any(prompt in ELEMENT.sub("", text) for text in turn)]
    return ELEMENT.findall("\n".join(own[-1])) if own else []


def _check(name: str, sent: Sequence[Sent], fault: Callable[[Sent], str]) -> Check:
    faults = [f"{one.prompt!r}: {said}" for one in sent if (said := fault(one))]
    return Check(name, bool(sent) and not faults, "; ".join(faults) if sent else "no prompt was sent")


def _missing_context(sent: Sent) -> str:
    request = answered(sent.requests, sent.prompt)
    if request is None:
        return "it didn't reach the model"
    # Some hosts get the start and the context of the first prompt in one.
    brought = [
        element
        for element in elements_beside(request, sent.prompt)
        if START not in element or "## Focus Area" in element
    ]
    if any(str(sent.file) in element for element in brought):
        return ""
    return f"{len(brought)} elements beside it, none with {sent.file}"


def _needless_context(sent: Sent) -> str:
    request = answered(sent.requests, sent.prompt)
    if request is None:
        return "it didn't reach the model"
    brought = [element for element in elements_beside(request, sent.prompt) if START not in element]
    return f"{sum(map(len, brought)):,} characters" if brought else ""


def _complaint(sent: Sent) -> str:
    found = _COMPLAINT.search(sent.output.replace(sent.prompt, ""))
    return found[0][:200] if found else ""
