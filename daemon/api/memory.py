"""Owns the methods about experiences: parameters in, plain maps out; knows no wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..app.engine import Engine
from ..core.errors import InvalidRequest
from ..core.parameters import MISSING, Parameters
from ..memory.draft import draft_of
from ..memory.edits import Edit, changed_fields
from ..memory.experience import Experience
from ..memory.pruning import Criteria
from ..memory.records import Known
from ..memory.service import ExperienceListing
from .method_parts import Method

OUTCOMES = ("success", "failure", "reverted")
NO_OUTCOME = "none"
"""What a list of outcomes calls that of an experience that has none."""
TRUSTS = ("normal", "low")
LIST_LIMIT = 1_000
SHOWN_MAX = 100
"""Maximum number of pruned experiences in a reply: enough to see what they are."""
CHANGEABLE = ("decision", "rationale", "files_touched", "outcome", "trust", "commit")


class ExperienceMethods:
    """The methods by name over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.methods: Mapping[str, Method] = {
            "GraftExperience": self._graft,
            "ListExperiences": self._list,
            "GetExperience": self._get,
            "UpdateExperience": self._update,
            "DeleteExperience": self._delete,
            "RestoreExperience": self._restore,
            "PruneExperiences": self._prune,
            "ListQuarantine": self._list_quarantine,
        }

    async def _graft(self, parameters: Parameters) -> dict[str, Any]:
        cwd = parameters.text("cwd")
        fields = parameters.map("experience")
        if parameters.has("transcript_path"):
            if fields is not None:
                raise InvalidRequest("give experience or transcript_path, not both", "transcript_path")
            return await self._graft_transcript(parameters)
        if fields is None:
            raise InvalidRequest(
                "experience is missing; it must be a map with decision, agent_id, session_id, or"
                " transcript_path the path of a conversation",
                "experience",
            )
        draft = draft_of(fields)
        result = await self._engine.experiences.graft(await self._engine.projects.at(cwd), draft)
        return {
            "grafted": result.grafted,
            "duplicates": result.duplicates,
            "skipped": [{"reason": reason} for _, reason in result.skipped],
            "experience_ids": list(result.ids),
            "warnings": [warning for _, warning in result.warnings],
        }

    async def _graft_transcript(self, parameters: Parameters) -> dict[str, Any]:
        path = parameters.text("transcript_path")
        session_id, agent_id = parameters.text("session_id", ""), parameters.text("agent_id", "")
        project = await self._engine.projects.at(parameters.text("cwd"))
        return await self._engine.grafting.graft_transcript(project, path, session_id, agent_id)

    async def _list(self, parameters: Parameters) -> dict[str, Any]:
        listing = ExperienceListing(
            parameters.integer("limit", 50, 0, LIST_LIMIT) or 0,
            parameters.optional_text("agent_id"),
            parameters.optional_text("session_id"),
            _outcome(parameters.choice("outcome", MISSING, (*OUTCOMES, NO_OUTCOME)))
            if parameters.has("outcome")
            else None,
            parameters.choice("trust", MISSING, TRUSTS) if parameters.has("trust") else None,
            parameters.optional_text("since"),
            parameters.optional_text("until"),
            parameters.optional_text("query"),
            parameters.flag("deleted"),
        )
        project = await self._engine.projects.at(parameters.text("cwd"))
        experiences, total = await self._engine.experiences.listed(project, listing)
        return {"experiences": [experience_map(one) for one in experiences], "total": total}

    async def _get(self, parameters: Parameters) -> dict[str, Any]:
        experience_id = parameters.text("experience_id", empty=False)
        project = await self._engine.projects.at(parameters.text("cwd"))
        return _known_map(await self._engine.experiences.get(project, experience_id))

    async def _update(self, parameters: Parameters) -> dict[str, Any]:
        experience_id = parameters.text("experience_id", empty=False)
        fields = {name: parameters.fields[name] for name in CHANGEABLE if parameters.has(name)}
        project = await self._engine.projects.at(parameters.text("cwd"))
        return _known_map(await self._engine.experiences.update(project, experience_id, fields))

    async def _delete(self, parameters: Parameters) -> dict[str, Any]:
        experience_id = parameters.text("experience_id", empty=False)
        project = await self._engine.projects.at(parameters.text("cwd"))
        known, changed = await self._engine.experiences.delete(project, experience_id)
        return {"deleted": changed, "experience": experience_map(known.current)}

    async def _restore(self, parameters: Parameters) -> dict[str, Any]:
        experience_id = parameters.text("experience_id", empty=False)
        project = await self._engine.projects.at(parameters.text("cwd"))
        known, changed = await self._engine.experiences.restore(project, experience_id)
        return {"restored": changed, "experience": experience_map(known.current)}

    async def _prune(self, parameters: Parameters) -> dict[str, Any]:
        criteria = Criteria(
            parameters.integer("max_age_days", None, 0, 1_000_000),
            parameters.integer("max_count", None, 0, 1_000_000_000),
            _outcomes(parameters),
            parameters.flag("irrelevant"),
            parameters.flag("deleted"),
        )
        if criteria.is_empty:
            raise InvalidRequest(
                "nothing says what to prune: give max_age_days, max_count, outcomes, irrelevant or deleted",
                "max_age_days",
            )
        dry_run = parameters.flag("dry_run")
        project = await self._engine.projects.at(parameters.text("cwd"))
        result = await self._engine.experiences.prune(project, criteria, dry_run=dry_run)
        return {
            "pruned": len(result.pruned),
            "kept": result.kept,
            "dry_run": dry_run,
            "experiences": [experience_map(one) for one in result.pruned[:SHOWN_MAX]],
        }

    async def _list_quarantine(self, parameters: Parameters) -> dict[str, Any]:
        limit = parameters.integer("limit", 50, 0, LIST_LIMIT) or 0
        project = await self._engine.projects.at(parameters.text("cwd"))
        lines, total = await self._engine.experiences.quarantined(project, limit)
        return {
            "lines": [
                {
                    "at": one.at,
                    "file": one.file,
                    "line": one.number,
                    "size_bytes": one.size,
                    "reason": one.reason,
                    "text": one.text,
                }
                for one in lines
            ],
            "total": total,
        }


def experience_map(experience: Experience) -> dict[str, Any]:
    """Return an experience as the wire has it; an outcome and marks only where there are some."""
    provenance = experience.provenance
    found: dict[str, Any] = {
        "experience_id": experience.id,
        "timestamp": experience.timestamp,
        "agent_id": experience.agent_id,
        "session_id": experience.session_id,
        "decision": experience.decision,
        "rationale": experience.rationale,
        "files_touched": list(experience.files_touched),
        "commit": experience.commit,
        "provenance": {
            "source": provenance.source,
            "reference": provenance.reference,
            "trust": provenance.trust,
        },
    }
    if experience.outcome:
        error = {"error": experience.error} if experience.error else {}
        found["outcome"] = {"kind": experience.outcome} | error
    if experience.marks:
        found["marks"] = [
            {"kind": mark.kind, "at": mark.at, "experience_id": mark.by or experience.id}
            for mark in experience.marks
        ]
    return found


def _known_map(known: Known) -> dict[str, Any]:
    return {
        "experience": experience_map(known.current),
        "deleted": known.deleted,
        "history": [_edit_map(edit) for edit in known.edits],
    }


def _edit_map(edit: Edit) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": edit.kind, "at": edit.timestamp, **changed_fields(edit.changes)}
    if "files_touched" in found:
        found["files_touched"] = list(found["files_touched"])
    return found | ({"experience_id": edit.by} if edit.by else {})


def _outcomes(parameters: Parameters) -> frozenset[str] | None:
    outcomes = parameters.texts("outcomes")
    if outcomes is None:
        return None
    known = (*OUTCOMES, NO_OUTCOME)
    for one in outcomes:
        if one not in known:
            raise InvalidRequest(
                f"outcomes names {one!r:.60}, which is none; there are {', '.join(known)}", "outcomes"
            )
    return frozenset(map(_outcome, outcomes))


def _outcome(name: str) -> str:
    return "" if name == NO_OUTCOME else name
