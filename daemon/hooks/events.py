"""Owns the events of agents as the daemon knows them; knows no host's words and no payload."""

from __future__ import annotations

from msgspec import Struct


class Origin(Struct, frozen=True):
    """Who an event is of.

    `host` is the agent's program, `session_id` its conversation (a subagent's is that of its parent), `cwd`
    an absolute folder. `agent_id` and `agent_type` are those of a subagent. The main agent has no id, and a
    type only where it was started as one (Claude Code's `--agent`). The `moment` tells an event from others
    of its kind: the id of the prompt or the tool call, else a digest. `agent_name` is empty unless who sent
    the event gave one.
    """

    host: str
    session_id: str
    cwd: str
    agent_id: str = ""
    agent_type: str = ""
    moment: str = ""
    agent_name: str = ""

    @property
    def policy_name(self) -> str:
        """The name under which the agent's rules are looked up: its own, a subagent's type, the host's."""
        return self.agent_name or (self.agent_type if self.agent_id else "") or self.host


class SessionStarted(Struct, frozen=True):
    """A conversation begins with an empty window."""

    origin: Origin


class SessionResumed(Struct, frozen=True):
    """A conversation goes on, perhaps days later or under another id."""

    origin: Origin


class SessionCompacted(Struct, frozen=True):
    """A conversation goes on after its window was summed up: what was injected before is gone."""

    origin: Origin


class PromptSubmitted(Struct, frozen=True):
    """A prompt is about to be answered. Hosts also submit some by themselves, such as wake-ups."""

    origin: Origin
    prompt: str
    by_person: bool = True


class SubagentAnnounced(Struct, frozen=True):
    """An agent is about to start a subagent with this task; the subagent has no id yet."""

    origin: Origin
    agent_type: str
    task: str


class SubagentStarting(Struct, frozen=True):
    """A subagent begins. `task` is empty where the host doesn't tell it."""

    origin: Origin
    task: str = ""


class SubagentStopped(Struct, frozen=True):
    """A subagent is done. `transcript_path` and `report`, its last words, may be empty."""

    origin: Origin
    transcript_path: str = ""
    report: str = ""


class FileEdited(Struct, frozen=True):
    """An agent wrote files, absolute or relative to `origin.cwd`; none where it used another tool."""

    origin: Origin
    paths: tuple[str, ...] = ()


class TurnEnded(Struct, frozen=True):
    """An agent waits for its user. `transcript_path` is that of the conversation, perhaps empty."""

    origin: Origin
    transcript_path: str = ""


class WindowCompacting(Struct, frozen=True):
    """A window is about to be summed up."""

    origin: Origin


class SessionEnding(Struct, frozen=True):
    """A conversation ends; it may be resumed. `transcript_path` as where a turn ends."""

    origin: Origin
    transcript_path: str = ""


class RepositoryMoved(Struct, frozen=True):
    """A repository has another commit checked out than before, also a new one."""

    origin: Origin


Event = (
    SessionStarted
    | SessionResumed
    | SessionCompacted
    | PromptSubmitted
    | SubagentAnnounced
    | SubagentStarting
    | SubagentStopped
    | FileEdited
    | TurnEnded
    | WindowCompacting
    | SessionEnding
    | RepositoryMoved
)
