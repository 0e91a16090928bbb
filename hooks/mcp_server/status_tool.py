"""Owns the tool status: what foveal knows of the project now."""

from __future__ import annotations

from typing import Any

from .arguments import Arguments
from .caller import Inquiry
from .errors import ToolError
from .marks import inline, plain
from .tool import TEXT, TEXTS, WHOLE, Tool, left_out, reply


async def _status(inquiry: Inquiry, given: dict[str, Any]) -> dict[str, Any]:
    await inquiry.root()  # opens the project, which Status doesn't
    answer = await inquiry.ask("Status")
    if not answer["projects"]:
        raise ToolError("the project was closed", "call get_context, which opens it again")
    project = answer["projects"][0]
    counts = (
        "state",
        "files",
        "symbols",
        "embedding",
        "embedded",
        "pending",
        "watch",
        "rules",
        "experiences",
    )
    return {
        "project": project["root"],
        **{name: project[name] for name in counts},
        "session_id": inquiry.session_id,
        "version": answer["version"],
        "degraded": [plain(one) for one in (*project["degraded"], *answer["degraded"])],
    }


def _render(answer: dict[str, Any]) -> str:
    lines = [
        (
            f"Project {inline(answer['project'])}: {answer['state']}, {answer['files']} files, "
            f"{answer['symbols']} definitions, {answer['rules']} rules, {answer['experiences']} decisions."
        ),
        f"Search by meaning: {answer['embedding']}, {answer['pending']} to do. Watch: {answer['watch']}.",
        f"Session {inline(answer['session_id'], 200)}, foveal {answer['version']}.",
    ]
    return "\n".join([*lines, *answer["degraded"], *left_out(answer)])


STATUS = Tool(
    name="status",
    title="Show the state of the index",
    description=(
        "Show whether this project is indexed completely, and what doesn't work as it should. Use it when "
        "answers of the other tools look incomplete or say that they are. Not needed before using them."
    ),
    arguments=Arguments(),
    reply=reply(
        {
            "project": TEXT,
            "state": {**TEXT, "description": "scanning, indexing, ready or degraded"},
            "files": WHOLE,
            "symbols": WHOLE,
            "embedding": TEXT,
            "embedded": WHOLE,
            "pending": WHOLE,
            "watch": TEXT,
            "rules": WHOLE,
            "experiences": WHOLE,
            "session_id": TEXT,
            "version": TEXT,
            "degraded": TEXTS,
        }
    ),
    effect="reads",
    run=_status,
    render=_render,
)
