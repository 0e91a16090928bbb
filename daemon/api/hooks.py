"""Owns the method that answers agents' hooks: a host's event in, the text to print out; knows no wire."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ..app.engine import Engine
from ..core.errors import InvalidRequest
from ..core.parameters import Parameters
from ..core.system import System
from ..hooks.answer import NOTHING
from ..hooks.dialects import speaker_of
from ..hooks.events import SessionEnding, SubagentStopped, TurnEnded
from ..hooks.fields import fields_in
from ..hooks.grafts import HookGrafts
from ..hooks.repeats import Repeats
from ..hooks.responder import Clock, Responder
from ..privacy.permissions import agent_in
from ..project.projects import Project
from .hook_backend import DaemonHookBackend
from .method_parts import DEADLINE_MAX_MS, Method

DEADLINE_MS = 2_000
"""Where a request doesn't say when its answer is of no use any more: hosts wait 3 s for a prompt's hook."""

PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR")
"""A host's own word on which project it works in: the payload's folder follows the agent."""


class HookMethods:
    """The method by name over one engine. `run` must be running as a task while requests are served."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._responder = Responder(DaemonHookBackend(engine))
        self._repeats = Repeats(lambda: asyncio.get_running_loop().time())
        self._grafts = HookGrafts(engine.state_dir, self._graft, self._graft_conversation, System())
        self.methods: Mapping[str, Method] = {"HookEvent": self._hook_event}

    async def run(self) -> None:
        """Graft what subagents found out, also what hooks kept without a daemon; never ends by itself."""
        await self._grafts.run()

    async def _hook_event(self, parameters: Parameters) -> dict[str, Any]:
        host, name = parameters.text("host"), parameters.text("event", "")
        payload, variables = parameters.text_or_map("payload"), parameters.map("variables") or {}
        within_ms = parameters.integer("deadline_ms", DEADLINE_MS, 1, DEADLINE_MAX_MS) or DEADLINE_MS
        clock = Clock(asyncio.get_running_loop().time, within_ms / 1000)
        fields = fields_in("" if payload is None else payload)
        name = name or fields.text("hook_event_name", "hookEventName")
        cwd = _project_folder(variables) or parameters.text("cwd", "")
        speaker = speaker_of(host, fields, name, {key: str(value) for key, value in variables.items()})
        event = speaker.reads.read(fields, name, cwd)
        if event is None or self._repeats.is_repeated(event):
            return {"output": ""}
        event = replace(event, origin=replace(event.origin, agent_name=agent_in(parameters)[0]))
        if not os.path.isabs(event.origin.cwd):
            raise InvalidRequest("the payload names no folder; give cwd, an absolute path", "cwd")
        if isinstance(event, TurnEnded | SessionEnding | SubagentStopped):
            text = payload if isinstance(payload, str) else json.dumps(payload, default=repr)
            await self._keep(speaker.reads.host, name, event, text)
        answer = await self._responder.answer(event, speaker.reads.room(name), clock)
        return {"output": "" if answer == NOTHING else speaker.writes.write(name, answer)}

    async def _keep(
        self, host: str, name: str, event: TurnEnded | SessionEnding | SubagentStopped, text: str
    ) -> None:
        """Keep what is to be grafted; one that ends or rests may have been preceded by what found no time."""
        if isinstance(event, SubagentStopped):
            await self._grafts.keep(host, name, event.origin.cwd, text)
        else:
            self._grafts.look()
            await self._grafts.rest(host, name, event, text)

    async def _graft(self, cwd: str, path: str, session_id: str, agent_id: str) -> None:
        project = await self._engine.projects.at(cwd)
        await self._engine.grafting.graft_transcript(project, path, session_id, agent_id)
        self._look_at_commits(project)

    async def _graft_conversation(self, cwd: str, path: str, session_id: str, agent_id: str) -> None:
        project = await self._engine.projects.at(cwd)
        await self._engine.grafting.graft_own(project, path, session_id, agent_id)
        self._look_at_commits(project)

    def _look_at_commits(self, project: Project) -> None:
        self._engine.commit_marks.look(project)  # what was decided may have been committed meanwhile


def _project_folder(variables: Mapping[str, Any]) -> str:
    found = (variables.get(name) for name in PROJECT_VARIABLES)
    return next((one for one in found if isinstance(one, str) and os.path.isabs(one)), "")
