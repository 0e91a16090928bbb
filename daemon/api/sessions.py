"""Owns the methods about sessions: parameters in, plain maps out; knows no wire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from ..app.engine import Engine
from ..core.errors import InvalidRequest
from ..core.parameters import LIST_MAX, MISSING, Parameters
from ..sessions.context_sets import SetMode, SetOutcome, name_warnings
from ..sessions.request_record import key_map
from ..sessions.service import SessionChange
from ..sessions.session import ItemOutcome, Session, SessionSummary
from .rules import item_key_of

Method = Callable[[Parameters], Awaitable[dict[str, Any]]]

MODES = ("replace", "merge")


class SessionMethods:
    """The methods by name over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._sessions = engine.sessions
        self.methods: Mapping[str, Method] = {
            "CreateSession": self._create,
            "GetSession": self._get,
            "ListSessions": self._list,
            "UpdateSession": self._update,
            "ResumeSession": self._resume,
            "EndSession": self._end,
            "AddSessionItem": self._add_item,
            "RemoveSessionItem": self._remove_item,
            "SetRelevantContext": self._set_context,
            "GetRelevantContext": self._get_context,
        }

    async def _create(self, parameters: Parameters) -> dict[str, Any]:
        session_id, name = parameters.text("session_id", ""), parameters.text("name", "")
        agent_name, selection = parameters.text("agent_name", ""), parameters.text_or_map("selection")
        project = await self._engine.projects.at(parameters.text("cwd"))
        session = await self._sessions.create(
            project, session_id, name=name, agent_name=agent_name, selection=selection
        )
        self._engine.item_search.warm(project.root, project.instructions.items.items)
        self._engine.context_log.forget_window(session.id)
        return session_map(session)

    async def _get(self, parameters: Parameters) -> dict[str, Any]:
        return session_map(await self._sessions.get(_id(parameters)))

    async def _list(self, parameters: Parameters) -> dict[str, Any]:
        root = None
        if parameters.has("cwd"):
            root = await self._engine.projects.root_of(parameters.text("cwd"))
        sessions = await self._sessions.list(root)
        return {
            "sessions": [_summary_map(one) for one in sessions],
            "warnings": list(self._sessions.take_warnings()),
        }

    async def _update(self, parameters: Parameters) -> dict[str, Any]:
        context = parameters.map("context")
        sets: list[tuple[str, tuple[str, ...], SetMode]] = []
        for name, mode in (("set_context", "replace"), ("union_context", "merge")):
            part = parameters.part(name)
            if part is not None:
                entries = _entries(part, "items")
                sets.append((part.text("set_name", empty=False), entries, cast("SetMode", mode)))
        change = SessionChange(
            name=parameters.optional_text("name"),
            current_intent=parameters.optional_text("current_intent"),
            env_hint=parameters.optional_text("env_hint"),
            selection=parameters.text_or_map("selection"),
            context=None if context is None else _sets(context),
            sets=tuple(sets),
        )
        session, outcomes = await self._sessions.update(_id(parameters), change)
        warnings = [warning for one in outcomes for warning in one.warnings]
        return {**session_map(session), "warnings": list(dict.fromkeys(warnings))}

    async def _resume(self, parameters: Parameters) -> dict[str, Any]:
        session, resume = await self._sessions.resume(_id(parameters))
        self._engine.context_log.forget_window(session.id)
        return {
            "session_id": session.id,
            "text": resume.text,
            "context": _context_map(resume.context),
            "missing_files": list(resume.missing_files),
        }

    async def _end(self, parameters: Parameters) -> dict[str, Any]:
        session = await self._sessions.end(_id(parameters))
        return {"session_id": session.id, "ended": session.ended}

    async def _add_item(self, parameters: Parameters) -> dict[str, Any]:
        key = item_key_of(parameters)
        return _item_outcome(*await self._sessions.add_item(_id(parameters), key))

    async def _remove_item(self, parameters: Parameters) -> dict[str, Any]:
        key = item_key_of(parameters)
        return _item_outcome(*await self._sessions.remove_item(_id(parameters), key))

    async def _set_context(self, parameters: Parameters) -> dict[str, Any]:
        name, entries = parameters.text("set_name", empty=False), _entries(parameters, "items")
        mode = cast("SetMode", parameters.choice("mode", "replace", MODES))
        change = SessionChange(sets=((name, entries, mode),))
        _, outcomes = await self._sessions.update(_id(parameters), change)
        return _set_outcome(outcomes[0])

    async def _get_context(self, parameters: Parameters) -> dict[str, Any]:
        session = await self._sessions.get(_id(parameters))
        name = parameters.optional_text("set_name")
        if name is None:
            return {"context": _context_map(session.context)}
        items = list(session.context.get(name, ()))
        return {
            "context": {name: items},
            "set_name": name,
            "items": items,
            "warnings": list(name_warnings(name)),
        }


def session_map(session: Session) -> dict[str, Any]:
    """Return a session as the wire has it; times are None for never."""
    return {
        "session_id": session.id,
        "project": session.project_root,
        "name": session.name,
        "agent_name": session.agent_name,
        "created": session.created,
        "last_observed": session.last_observed or None,
        "last_idle": session.last_idle or None,
        "ended": session.ended or None,
        "current_intent": session.current_intent,
        "env_hint": session.env_hint,
        "context": _context_map(session.context),
        "items": [{**key_map(one.key), "include": one.include} for one in session.items],
        "removed": [key_map(key) for key in session.removed],
        "selection": dict(session.selection),
        "revision": session.revision,
    }


def _summary_map(summary: SessionSummary) -> dict[str, Any]:
    return {
        "session_id": summary.id,
        "project": summary.project_root,
        "name": summary.name,
        "agent_name": summary.agent_name,
        "created": summary.created,
        "last_observed": summary.last_observed or None,
        "last_idle": summary.last_idle or None,
        "ended": summary.ended or None,
        "current_intent": summary.current_intent,
        "items": summary.items,
        "context_items": summary.context_items,
        "revision": summary.revision,
    }


def _item_outcome(session: Session, outcome: ItemOutcome) -> dict[str, Any]:
    items = [{**key_map(one.key), "include": one.include} for one in session.items]
    return {"changed": outcome.changed, "text": outcome.text, "items": items}


def _set_outcome(outcome: SetOutcome) -> dict[str, Any]:
    return {
        "text": outcome.text,
        "set_name": outcome.set_name,
        "items": list(outcome.items),
        "added": list(outcome.added),
        "removed": list(outcome.removed),
        "warnings": list(outcome.warnings),
    }


def _context_map(context: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {name: list(entries) for name, entries in context.items()}


def _id(parameters: Parameters) -> str:
    return parameters.text("session_id", empty=False)


def _entries(parameters: Parameters, name: str) -> tuple[str, ...]:
    entries = parameters.texts(name)
    if entries is None:
        parameters.text(name, MISSING)  # raises: it is missing
        raise InvalidRequest(f"{name} must be a list of strings", name)
    return entries


def _sets(context: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return all sets that a caller gives; null clears one."""
    if len(context) > LIST_MAX:
        raise InvalidRequest("context has too many sets", "context")
    parameters = Parameters(context, "context.")
    for name in context:
        if not isinstance(name, str):
            raise InvalidRequest("context must be a map from names to lists of strings", "context")
    return {name: parameters.texts(name) or () for name in context}
