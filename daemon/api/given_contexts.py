"""Owns the methods about contexts that were given: parameters in, plain maps out; knows no wire."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..app.engine import Engine
from ..context.context_log import GIVEN_MAX, TEXT_FIELDS, Given
from ..core.errors import FovealError, NotFound
from ..core.parameters import Parameters
from ..privacy.policy import Policy
from .method_parts import Method, timed

LIST_MAX = 100
"""Maximum number of contexts listed in one reply: 2 ms of the event loop."""

PROMPT_CHARACTERS = 200
"""Maximum characters of a prompt's first line in a list."""

MASKED_CHARACTERS = 2_000
"""Characters of it that are masked before it is cut, so that no half of a secret is left."""

COUNTED = ("slices", "dropped", "gaps", "degraded")
"""Lists of an answer of which a list of contexts tells the number."""

TOLD = ("tokens", "bytes", "partial", "truncated", "layers")
"""What a list tells of an answer as it was."""

WHOLE = ("gaps", "degraded", "items", "clock", "masked", "resident_tokens", "saved_tokens")
"""What is told of one context beside that, where the answer had it."""


class GivenContextMethods:
    """The methods by name over one engine.

    A context is told only to who may see all that its agent could, by the rules as they are now: who may not
    doesn't learn that it exists.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._contexts = engine.context_log.contexts
        self.methods: Mapping[str, Method] = {
            "ListContexts": self._list,
            "GetBuiltContext": self._get,
            "ExplainPath": self._explain,
        }

    async def _list(self, parameters: Parameters) -> dict[str, Any]:
        limit = parameters.integer("limit", 50, 1, LIST_MAX) or 1
        chosen = await self._chosen(parameters)
        seen: list[Given] = []
        allowed: dict[tuple[str, tuple[str, ...], Policy], bool] = {}
        for given in chosen:
            key = (given.scope.root, given.agent_names, given.policy)
            if key not in allowed:
                allowed[key] = await self._may_list(given, parameters)
            if allowed[key]:
                seen.append(given)
                if len(seen) == limit:
                    break
        new = [given for given in seen if given.heading is None]
        headings = await asyncio.to_thread(lambda: [_heading(one.request.prompt, one.policy) for one in new])
        for given, heading in zip(new, headings, strict=True):
            given.heading = heading
        return {"contexts": [self._entry(given) for given in seen]}

    async def _chosen(self, parameters: Parameters) -> list[Given]:
        """Return the contexts that a list is asked for, whoever asks, the one given last first. Raises
        `PermissionDenied` where it is one of a project about which the agent may not ask."""
        before = parameters.text("before", "")
        scope_id, session_id = parameters.optional_text("scope_id"), parameters.optional_text("session_id")
        root = None
        if parameters.has("cwd"):
            root = await self._engine.projects.root_of(parameters.text("cwd"))
            await self._engine.permissions.as_one_of(root, parameters, ())
        chosen = [
            given
            for given in self._contexts.latest_first()
            if root in {None, given.scope.root}
            and scope_id in {None, given.scope.id}
            and session_id in {None, given.scope.session_id}
        ]
        if not before:
            return chosen
        ids = [given.id for given in chosen]
        return chosen[ids.index(before) + 1 :] if before in ids else []

    async def _get(self, parameters: Parameters) -> dict[str, Any]:
        given = await self._given(parameters)
        scope, reply = given.scope, given.reply
        found = {
            **self._entry(given),
            **{name: list(reply.get(name, ())) for name in COUNTED},
            **{name: reply[name] for name in WHOLE if name in reply},
            "focus_paths": list(scope.focus_paths),
            "expanded": list(scope.expanded),
            "constraints": list(scope.constraints),
            "problem": "" if given.has_text else "its text isn't kept any more, only what it was made of",
        }
        # In a thread: a prompt may be megabytes of pasted logs.
        texts = {name: reply[name] for name in TEXT_FIELDS if name in reply}
        return found | await asyncio.to_thread(
            told_of, texts | {"prompt": given.request.prompt}, given.policy
        )

    async def _explain(self, parameters: Parameters) -> dict[str, Any]:
        started = time.perf_counter()
        path = parameters.text("path", empty=False)
        given = await self._given(parameters)
        project = await self._engine.projects.open_root(given.scope.root)
        await self._engine.permissions.prepare(project, given.policy)
        explained = await self._engine.explaining.explain(project, given, path)
        return timed({"context_id": given.id, "path": path, **explained}, started)

    async def _given(self, parameters: Parameters) -> Given:
        """Return the context that is asked for. Raises `NotFound` for one that isn't this agent's to see,
        `PermissionDenied`."""
        context_id = parameters.text("context_id", empty=False)
        given = self._contexts.get(context_id)
        if given is None or not await self._may_see(given, parameters):
            raise NotFound(
                f"no context {context_id!r:.80}: the daemon keeps the last {GIVEN_MAX} since it started, and"
                " tells an agent of those only that it may see whole; ListContexts names them"
            )
        return given

    async def _may_see(self, given: Given, parameters: Parameters) -> bool:
        """Whether nothing that is in a context is hidden from who asks. Raises `PermissionDenied` for an
        agent that may not ask at all."""
        policy = await self._engine.permissions.as_one_of(given.scope.root, parameters, given.agent_names)
        return policy.sees_all_of(given.policy)

    async def _may_list(self, given: Given, parameters: Parameters) -> bool:
        try:
            return await self._may_see(given, parameters)
        except FovealError:  # it may not ask, or the project's rules can't be read
            return False

    def _entry(self, given: Given) -> dict[str, Any]:
        scope, request, reply = given.scope, given.request, given.reply
        found = {
            "context_id": given.id,
            "scope_id": scope.id,
            "project": scope.root,
            "at": _iso(given.at),
            "first_at": _iso(given.first_at),
            "times": given.times,
            "agent_name": given.agent_name,
            "session_id": scope.session_id,
            "prompt": given.heading,
            "task_type": request.task_type,
            "format": request.format,
            "model": request.model,
            **{name: reply[name] for name in TOLD},
            "tokens_before": given.tokens_before,
            "max_tokens": request.max_tokens,
            "reserve_tokens": request.reserve_tokens,
            "max_bytes": request.max_bytes,
            "elapsed_ms": given.elapsed_ms,
            "last_elapsed_ms": given.last_elapsed_ms,
            "cached": given.cached,
            **{name: len(reply.get(name, ())) for name in COUNTED},
            "text_kept": given.has_text,
        }
        if given.request.preview:
            found["preview"] = True
        if given.request_id:
            found["request_id"] = given.request_id
        if self._contexts.get(given.previous) is not None:
            found["previous"] = given.previous
            if given.is_same:
                found["same_as"] = given.previous
        return found


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _heading(prompt: str, policy: Policy) -> str:
    """Return the first line of a prompt, at most so much of it, without what looks like a secret."""
    first = policy.mask(prompt.lstrip()[:MASKED_CHARACTERS]).partition("\n")[0].rstrip()
    return first if len(first) <= PROMPT_CHARACTERS else f"{first[: PROMPT_CHARACTERS - 1]}…"


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
