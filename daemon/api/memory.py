"""The methods about experiences: decisions of agents and their outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, convert
from msgspec.structs import replace

from ..access.service import require_all
from ..core.errors import InvalidRequest, PermissionDenied
from ..core.parameters import LIST_MAX, NonEmpty, Texts
from ..engine.service import EngineMethods
from ..memory.records import Criteria, Edit, Experience, ExperienceListing, Known, Place, Provenance
from ..memory.service import as_it_is, changed_fields, cursor_after, draft_of, sees_whole, visible_experience
from ..privacy.policy import Policy
from ..workspace.service import Project
from .marks import Claim, Count, File, KindOfItem, NameOfItem, Plain, Root, Server, Text, Touched
from .method import ProjectRequest, method, reply_of

LIST_LIMIT = 1_000
PAGE_BYTES = 14_000_000
"""Maximum size of the texts on a page: a message of the wire has 16 MiB."""

SHOWN_MAX = 100
"""Maximum number of pruned experiences shown in a reply."""

Outcome = Literal["success", "failure", "reverted", "none"]
"""The outcome of a decision; `none` if it is unknown."""

Limit = Annotated[int, Meta(ge=0, le=LIST_LIMIT)]


class GraftRequest(ProjectRequest, frozen=True, kw_only=True):
    experience: dict[str, Any] | None = None
    transcript_path: str | None = None
    session_id: str = ""
    agent_id: str = ""


class SkippedReply(Struct, frozen=True):
    reason: Text[str]
    line: Plain[int | UnsetType] = UNSET
    field: Plain[str | UnsetType] = UNSET


class GraftReply(Struct, frozen=True):
    grafted: Plain[int]
    duplicates: Plain[int]
    skipped: list[SkippedReply]
    experience_ids: Plain[list[str]]
    warnings: Text[list[str]]


class ListExperiencesRequest(ProjectRequest, frozen=True, kw_only=True):
    agent_id: str | None = None
    session_id: str | None = None
    outcome: Outcome | None = None
    trust: Literal["normal", "low"] | None = None
    since: str | None = None
    until: str | None = None
    query: str | None = None
    deleted: bool = False
    all_worktrees: bool = False
    limit: Limit = 50
    before: str = ""


class OutcomeReply(Struct, frozen=True):
    kind: Plain[str]
    error: Claim[str | UnsetType] = UNSET


class MarkReply(Struct, frozen=True):
    kind: Plain[str]
    at: Plain[str]
    experience_id: Plain[str]


class PlaceReply(Struct, frozen=True):
    """The work tree in which an experience was made."""

    name: Text[str]
    state: Literal["here", "elsewhere", "gone"]


class ExperienceReply(Struct, frozen=True, kw_only=True, rename={"id": "experience_id"}):
    """An experience, with the attributes of `Experience`."""

    id: Plain[str]
    timestamp: Plain[str]
    agent_id: Text[str]
    session_id: Text[str]
    decision: Claim[str]
    rationale: Claim[str]
    files_touched: Touched[tuple[str, ...]]
    commit: Plain[str]
    provenance: Text[Provenance]
    outcome: OutcomeReply | UnsetType = UNSET
    marks: list[MarkReply] | UnsetType = UNSET
    worktree: PlaceReply | UnsetType = UNSET


class ExperiencesReply(Struct, frozen=True):
    experiences: list[ExperienceReply]
    total: Plain[int]
    next: Plain[str | UnsetType] = UNSET
    elsewhere: Plain[int] = 0
    question: Text[str | UnsetType] = UNSET


class ExperienceRequest(ProjectRequest, frozen=True, kw_only=True):
    experience_id: NonEmpty


class EditedOutcome(Struct, frozen=True):
    """The outcome that an edit gave; without a kind it removed the outcome."""

    kind: Plain[str]
    error: Claim[str | UnsetType] = UNSET


class EditReply(Struct, frozen=True, kw_only=True):
    """An edit of an experience with the fields that it changed."""

    kind: Plain[str]
    at: Plain[str]
    decision: Claim[str | UnsetType] = UNSET
    rationale: Claim[str | UnsetType] = UNSET
    files_touched: Touched[tuple[str, ...] | UnsetType] = UNSET
    outcome: EditedOutcome | UnsetType = UNSET
    trust: Plain[str | UnsetType] = UNSET
    commit: Plain[str | UnsetType] = UNSET
    experience_id: Plain[str | UnsetType] = UNSET


class KnownReply(Struct, frozen=True):
    experience: ExperienceReply
    deleted: bool
    history: list[EditReply]


class UpdateExperienceRequest(ExperienceRequest, frozen=True, kw_only=True):
    decision: str | None = None
    rationale: str | None = None
    files_touched: Texts | None = None
    outcome: dict[str, Any] | None = None
    trust: str | None = None
    commit: str | None = None


class DeletedReply(Struct, frozen=True):
    deleted: bool
    experience: ExperienceReply


class RestoredReply(Struct, frozen=True):
    restored: bool
    experience: ExperienceReply


class PruneRequest(ProjectRequest, frozen=True, kw_only=True):
    max_age_days: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    max_count: Annotated[int, Meta(ge=0, le=1_000_000_000)] | None = None
    outcomes: Annotated[tuple[Outcome, ...], Meta(max_length=LIST_MAX)] | None = None
    irrelevant: bool = False
    deleted: bool = False
    dry_run: bool = False


class PruneReply(Struct, frozen=True):
    pruned: Count[int]
    kept: Count[int]
    dry_run: bool
    experiences: list[ExperienceReply]


class AdoptRequest(ProjectRequest, frozen=True, kw_only=True):
    path: NonEmpty
    never: bool = False


class AdoptReply(Struct, frozen=True):
    root: Root[str]
    path: Text[str]
    adopted: Count[int]


class QuarantineRequest(ProjectRequest, frozen=True, kw_only=True):
    limit: Limit = 50


class QuarantinedLine(Struct, frozen=True):
    at: Plain[str]
    file: Text[str]
    line: Plain[int]
    size_bytes: Plain[int]
    reason: Text[str]
    text: Text[str]


class QuarantineReply(Struct, frozen=True):
    lines: list[QuarantinedLine]
    total: Count[int]


class Boost(Struct, frozen=True, kw_only=True):
    """A file or an item with a higher weight for a prompt."""

    path: File[str | UnsetType] = UNSET
    type: KindOfItem[str | UnsetType] = UNSET
    name: NameOfItem[str | UnsetType] = UNSET
    server_name: Server[str | UnsetType] = UNSET
    boost: Plain[float]


class FeedbackReply(Struct, frozen=True):
    root: Root[str]
    enabled: bool = False
    boosts: list[Boost] = []


class ClearFeedbackReply(Struct, frozen=True):
    root: Root[str]
    cleared: Count[int] = 0


class ExperienceMethods(EngineMethods):
    """The methods over one engine."""

    @method("GraftExperience", policy="project", access="add")
    async def graft(self, request: GraftRequest) -> GraftReply:
        """Store an experience `{decision, agent_id, session_id, rationale?, files_touched?, outcome?: {kind:
        "success" | "failure" | "reverted", error?}, timestamp?}`, or the decisions of the conversation at
        `transcript_path` ([transcripts](transcripts.md)). The experience is durable when the reply arrives.
        Only the new part of a transcript is read; `skipped` lists unreadable lines."""
        fields, path = request.experience, request.transcript_path
        root = await self._engine.projects.root_of(request.cwd)
        view = await self._engine.permissions.view(root, request.agent)
        if path is not None:
            if view.policy.is_limited:
                raise PermissionDenied(
                    "a conversation may tell of what is hidden from this agent: give the experience itself"
                )
            if fields is not None:
                raise InvalidRequest("give experience or transcript_path, not both", "transcript_path")
            project = await self._engine.projects.at(request.cwd)
            found = await self._engine.grafting.graft(project, path, request.session_id, request.agent_id)
            self._engine.timeline.read_transcript(project.root, request.session_id, found.cwd, found.activity)
            self._engine.timeline.decided(project.root, project.pool.some(found.experience_ids))
            skipped = [
                SkippedReply(line.reason, UNSET if line.line is None else line.line) for line in found.skipped
            ]
            return reply_of(GraftReply, found, skipped=skipped)
        if fields is None:
            raise InvalidRequest(
                "experience is missing; it must be a map with decision, agent_id, session_id, or"
                " transcript_path the path of a conversation",
                "experience",
            )
        draft = draft_of(fields)
        _check_hides_nothing(
            view.policy, root, draft.files_touched, draft.decision, draft.rationale, draft.error
        )
        project = await self._engine.projects.at(request.cwd)
        result = await self._engine.experiences.graft(project, draft)
        self._engine.timeline.decided(project.root, project.pool.some(result.ids if result.grafted else ()))
        return GraftReply(
            result.grafted,
            result.duplicates,
            [SkippedReply(draft.reason, field=draft.field) for draft in result.skipped],
            list(result.ids),
            [warning for _, warning in result.warnings],
        )

    @method("ListExperiences", policy="project", access="read")
    async def list_experiences(self, request: ListExperiencesRequest) -> ExperiencesReply:
        """List experiences, newest first. `next` is present if there is more: pass it as `before`. Large
        pages end early. `elsewhere` counts those that show in other work trees of the repository only; with
        `all_worktrees` they are listed too, and `worktree` says where each was made; agents with a name get
        neither. `question` is what a person is asked about a project of the same repository, see
        AdoptExperiences."""
        # The policy of another work tree may hide from an agent what the one here doesn't.
        everywhere = request.all_worktrees and not request.agent.is_named
        listing = ExperienceListing(
            request.limit + 1,
            request.agent_id,
            request.session_id,
            None if request.outcome is None else _outcome(request.outcome),
            request.trust,
            request.since,
            request.until,
            request.query,
            request.deleted,
            request.before,
            everywhere,
        )
        project = await self._engine.projects.at(request.cwd)
        await self._engine.commit_marks.settle(project)
        # Before they are counted and cut to the limit: the number of hidden ones would tell of them.
        policy = await self._engine.permissions.require(project, request.agent)
        seen = partial(visible_experience, policy, root=project.root) if policy.is_limited else as_it_is
        found, total, elsewhere = await self._engine.experiences.read(
            project, lambda pool: (*pool.list(listing, seen), pool.count_elsewhere(listing, seen))
        )
        elsewhere = 0 if request.agent.is_named else elsewhere
        page = _fitting(found[: request.limit])
        more = cursor_after(page[-1]) if page and len(page) < len(found) else UNSET
        places: Sequence[Place | None] = (None,) * len(page)
        if everywhere:
            places = await self._engine.experiences.read(project, lambda pool: pool.places(page))
        question = "" if request.agent.is_named else await self._engine.projects.previous.question(project)
        listed = list(map(experience_reply, page, places))
        return ExperiencesReply(listed, total, more, elsewhere, question or UNSET)

    @method("GetExperience", policy="project", access="read")
    async def get(self, request: ExperienceRequest) -> KnownReply:
        """Return an experience; an entry of its `history` is `{kind, at, experience_id?, …}` with the
        fields that the edit changed."""
        project = await self._engine.projects.at(request.cwd)
        await self._engine.commit_marks.settle(project)
        known = await self._known(project, request)
        policy = await self._engine.permissions.require(project, request.agent)
        # An edit may have named what is hidden, though the experience no longer does.
        whole = all(sees_whole(policy, each, project.root) for each in (known.original, known.current))
        return _known(known if whole else replace(known, edits=()))

    @method("UpdateExperience", policy="project", access="own")
    async def update(self, request: UpdateExperienceRequest) -> KnownReply:
        """Change an experience. An outcome without a kind removes it, and so does an empty commit."""
        given = {name: getattr(request, name) for name in UpdateExperienceRequest.__annotations__}
        fields = {name: value for name, value in given.items() if value is not None}
        project, policy = await self._own(request)
        _check_hides_nothing(
            policy,
            project.root,
            request.files_touched or (),
            request.decision or "",
            request.rationale or "",
            str((request.outcome or {}).get("error") or ""),
        )
        return _known(await self._engine.experiences.update(project, request.experience_id, fields))

    @method("DeleteExperience", policy="project", access="own")
    async def delete(self, request: ExperienceRequest) -> DeletedReply:
        """Delete an experience; it can be restored until it is pruned."""
        project, _ = await self._own(request)
        known, changed = await self._engine.experiences.delete(project, request.experience_id)
        return DeletedReply(changed, experience_reply(known.current))

    @method("RestoreExperience", policy="project", access="own")
    async def restore(self, request: ExperienceRequest) -> RestoredReply:
        """Bring a deleted experience back."""
        project, _ = await self._own(request)
        known, changed = await self._engine.experiences.restore(project, request.experience_id)
        return RestoredReply(changed, experience_reply(known.current))

    @method("PruneExperiences", policy="project", access="person")
    async def prune(self, request: PruneRequest) -> PruneReply:
        """Remove experiences for good, by at least one criterion; `experiences` has the newest 100 removed
        experiences."""
        outcomes = request.outcomes
        criteria = Criteria(
            request.max_age_days,
            request.max_count,
            None if outcomes is None else frozenset(map(_outcome, outcomes)),
            request.irrelevant,
            request.deleted,
        )
        if criteria.is_empty:
            raise InvalidRequest(
                "nothing says what to prune: give max_age_days, max_count, outcomes, irrelevant or deleted",
                "max_age_days",
            )
        project = await self._engine.projects.at(request.cwd)
        await self._engine.commit_marks.settle(project)
        result = await self._engine.experiences.prune(project, criteria, dry_run=request.dry_run)
        shown = [experience_reply(experience) for experience in result.pruned[:SHOWN_MAX]]
        return PruneReply(len(result.pruned), result.kept, request.dry_run, shown)

    @method("AdoptExperiences", policy="project", access="person")
    async def adopt(self, request: AdoptRequest) -> AdoptReply:
        """Take over the experiences of a project of the same repository that was at `path` and is gone, or
        copy those of a clone there; with `never` only ask no more. `adopted` counts the new ones. For
        a person and agents that may see all of every project."""
        if request.agent.is_named:  # it is shown what any project of the repository may hide from it
            await self._engine.permissions.require_everywhere(request.agent)
            for root in await self._engine.projects.closed():
                require_all((await self._engine.permissions.view(root, request.agent)).policy)
        project = await self._engine.projects.at(request.cwd)
        path, adopted = await self._engine.projects.previous.answer(
            project, request.path, takes=not request.never
        )
        return AdoptReply(project.root, path, adopted)

    @method("ListQuarantine", policy="project", access="person")
    async def list_quarantine(self, request: QuarantineRequest) -> QuarantineReply:
        """List lines of the project's experiences that can't be read, the last first."""
        project = await self._engine.projects.at(request.cwd)
        lines, total = await self._engine.experiences.read(
            project, lambda pool: pool.quarantined(request.limit)
        )
        return QuarantineReply(
            [
                QuarantinedLine(line.at, line.file, line.line, line.size, line.reason, line.shown)
                for line in lines
            ],
            total,
        )

    @method("GetFeedback", policy="project", access="read")
    async def feedback(self, request: ProjectRequest) -> FeedbackReply:
        """Return no files and items: none weighs more because it was of use. GetUsage and GetItemUsage say
        what was of use; this method stays for clients of former versions."""
        return FeedbackReply((await self._engine.projects.at(request.cwd)).root)

    @method("ClearFeedback", policy="project", access="person")
    async def clear_feedback(self, request: ProjectRequest) -> ClearFeedbackReply:
        """Forget nothing, see GetFeedback: `cleared` is 0."""
        return ClearFeedbackReply((await self._engine.projects.at(request.cwd)).root)

    async def _known(self, project: Project, request: ExperienceRequest) -> Known:
        """Return the experience of a request; an agent with a name is told of none that shows in other work
        trees only, whose policies may hide it. Raises `NotFound`."""
        here = request.agent.is_named
        return await self._engine.experiences.read(
            project, lambda pool: pool.get(request.experience_id, here=here)
        )

    async def _own(self, request: ExperienceRequest) -> tuple[Project, Policy]:
        """Return the project and the policy of a request to change an experience.

        Raises `PermissionDenied` for one that is hidden from the agent, in whole or in part, or whose agent
        may see more.
        """
        project = await self._engine.projects.at(request.cwd)
        view = await self._engine.permissions.view(project.root, request.agent)
        if request.agent.is_named or view.policy.is_limited:
            known = await self._known(project, request)
            versions = (known.original, known.current)
            whole = all(sees_whole(view.policy, version, project.root) for version in versions)
            if not whole or not view.sees_all_of(known.current.agent_id):
                raise PermissionDenied(
                    "this experience isn't this agent's to change: it is about what"
                    f" {view.policy.sources} hides, or is of an agent that may see that"
                )
        return project, view.policy


def _check_hides_nothing(policy: Policy, root: str, files: Iterable[str], *texts: str) -> None:
    """Raise `PermissionDenied` for an experience about what is hidden from its agent."""
    below = f"{root.rstrip('/')}/"
    if any(policy.denies(path.removeprefix(below)) for path in files) or any(
        policy.names_denied(text, root) for text in texts
    ):
        raise PermissionDenied(f"the experience is about what {policy.sources} hides from this agent")


def experience_reply(experience: Experience, place: Place | None = None) -> ExperienceReply:
    """Return an experience as the wire type; outcome and marks only if it has any."""
    worktree = UNSET if place is None else reply_of(PlaceReply, place)
    marks = [MarkReply(mark.kind, mark.at, mark.by or experience.id) for mark in experience.marks]
    outcome = OutcomeReply(experience.outcome, experience.error or UNSET) if experience.outcome else UNSET
    return reply_of(ExperienceReply, experience, outcome=outcome, marks=marks or UNSET, worktree=worktree)


def _fitting(experiences: Sequence[Experience]) -> Sequence[Experience]:
    """Return the first experiences whose texts fit into an answer, at least one."""
    room = PAGE_BYTES
    for place, experience in enumerate(experiences):
        texts = (experience.decision, experience.rationale, experience.error, *experience.files_touched)
        room -= sum(len(text) if text.isascii() else 4 * len(text) for text in texts)
        if room < 0 and place:
            return experiences[:place]
    return experiences


def _known(known: Known) -> KnownReply:
    return KnownReply(experience_reply(known.current), known.deleted, [_edit(edit) for edit in known.edits])


def _edit(edit: Edit) -> EditReply:
    found: dict[str, object] = {"kind": edit.kind, "at": edit.timestamp, **changed_fields(edit.changes)}
    return convert(found | ({"experience_id": edit.by} if edit.by else {}), EditReply)


def _outcome(name: str) -> str:
    return "" if name == "none" else name
