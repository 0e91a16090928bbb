"""Equal requests have equal keys, and requests that differ in anything have different ones."""

from __future__ import annotations

from foveal.daemon.context.requests import ContextRequest
from foveal.daemon.sessions.records import SentMessage
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

REQUEST = ContextRequest("prompt", (SentMessage("user", "hi"),), "review", 9_000, 1_000, 50_000, "json")

OTHERS = [
    ContextRequest(),
    REQUEST,
    replace(REQUEST, prompt="promp"),
    replace(REQUEST, prompt="promptreview", task_type=""),
    replace(REQUEST, task_type="debug"),
    replace(REQUEST, history=()),
    replace(REQUEST, history=(SentMessage("userhi", ""),)),
    replace(REQUEST, history=(SentMessage("user", "hi"), SentMessage("user", "hi"))),
    replace(REQUEST, max_tokens=9_001),
    replace(REQUEST, reserve_tokens=1_001),
    replace(REQUEST, max_tokens=90_001, reserve_tokens=0),
    replace(REQUEST, max_bytes=50_001),
    replace(REQUEST, format="messages"),
    replace(REQUEST, include_items=(("rule", "a", ""),)),
    replace(REQUEST, exclude_items=(("rule", "a", ""),)),
    replace(REQUEST, include_items=(("tool", "a", "s"),)),
    replace(REQUEST, model="gpt-4o"),
    replace(REQUEST, delta=True),
    replace(REQUEST, news=True),
]


def test_different_requests_have_different_keys() -> None:
    assert len({request.key for request in OTHERS}) == len(OTHERS)
    changed = {one.name for other in OTHERS for one in fields(other) if _differs(other, one.name)}
    # Who asks is none of it: equal requests differ by the policy that follows. Nor is whether it counts as sent.
    asking = {"agent_name", "agent_type", "preview"}
    assert changed == {one.name for one in fields(ContextRequest)} - asking
    assert ContextRequest(agent_name="a", agent_type="b", preview=True).key == ContextRequest().key


def _differs(other: ContextRequest, name: str) -> bool:
    return bool(getattr(other, name) != getattr(REQUEST, name))


@given(st.text(), st.text())
def test_equal_requests_have_equal_keys(prompt: str, task: str) -> None:
    assert ContextRequest(prompt, task_type=task).key == ContextRequest(prompt, task_type=task).key
