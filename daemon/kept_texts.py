"""Owns what is kept and told of a caller's own words: the same, without values that look like secrets.

An agent is answered with what it was sent as it gave it. What stays on the disk or is looked at later is for
more eyes, and people paste keys into prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .ledger.messages import Said, Sent
from .ledger.request_record import RequestRecord
from .policy.policy import Policy
from .privacy.secret_values import mask_piece


def kept_of(record: RequestRecord, sent: Sent) -> tuple[RequestRecord, Sent]:
    """Return a request as it is kept, with the number of values that were masked. Takes some milliseconds for
    100 KB, so never on the event loop. What is of the project is masked already."""
    prompt = mask_piece(sent.user_prompt)
    system = mask_piece(sent.system_prompt)  # a template may put the prompt into it
    said = [mask_piece(one.content) for one in sent.history]
    count = prompt.count + system.count + sum(one.count for one in said)
    if not count:
        return record, sent
    history = tuple(Said(one.role, masked.text) for one, masked in zip(sent.history, said, strict=True))
    kept = replace(sent, user_prompt=prompt.text, system_prompt=system.text, history=history)
    return replace(record, masked=count), kept


def told_of(texts: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """Return the texts of an answer, and the `prompt` that it was asked with, as they are told later: what
    its caller said is masked, as the policy of its agent has it. Not for the event loop."""
    told = dict(texts)
    for name in ("prompt", "system_prompt", "user_prompt"):
        if name in told:
            told[name] = policy.mask(told[name])
    if "messages" in told:
        told["messages"] = [{**one, "content": policy.mask(one["content"])} for one in told["messages"]]
    return told
