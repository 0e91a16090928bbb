"""Owns the methods about feedback: what turned out to be of use, and forgetting it; knows no wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from ..app.engine import Engine
from ..core.parameters import Parameters
from ..rules.items import ItemType
from .method_parts import Method


class FeedbackMethods:
    """The methods by name over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.methods: Mapping[str, Method] = {
            "GetFeedback": self._get,
            "ClearFeedback": self._clear,
        }

    async def _get(self, parameters: Parameters) -> dict[str, Any]:
        project = await self._engine.projects.at(parameters.text("cwd"))
        project.pending_edits.settle()
        boosts = sorted(project.feedback.boosts.items(), key=lambda one: (-one[1], one[0]))
        return {
            "root": project.root,
            "enabled": project.config.context.feedback,
            "boosts": [{**_named(key), "boost": boost} for key, boost in boosts],
        }

    async def _clear(self, parameters: Parameters) -> dict[str, Any]:
        project = await self._engine.projects.at(parameters.text("cwd"))
        cleared = project.feedback.clear()
        await self._engine.projects.save_feedback(project)
        return {"root": project.root, "cleared": cleared}


def _named(key: str) -> dict[str, str]:
    """Return what a key of the feedback names: an item, or a file."""
    kind, colon, name = key.partition(":")
    if not colon or kind not in get_args(ItemType):
        return {"path": key}
    server, slash, tool = name.partition("/")
    return (
        {"type": kind, "name": tool, "server_name": server}
        if slash and kind == "tool"
        else {"type": kind, "name": name}
    )
