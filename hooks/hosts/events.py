"""The events of agents in the daemon's own terms, whichever host sent them."""

from __future__ import annotations

from msgspec import Struct


class Origin(Struct, frozen=True):
    """The origin of an event.

    `host` is the agent's program, `session_id` its conversation (for a subagent, its parent's), `cwd` an
    absolute folder. `agent_id` and `agent_type` belong to a subagent. The main agent has no id, and a type
    only if it was started with a type (Claude Code's `--agent`). `moment` distinguishes the event from others
    of its kind: the id of the prompt or tool call, else a digest. `agent_name` is empty unless the sender
    gave a name. `version` is the host's, empty if it isn't known. `at_ms` is the host's time of the event in
    milliseconds since 1970, 0 if it sends none.
    """

    host: str
    session_id: str
    cwd: str
    agent_id: str = ""
    agent_type: str = ""
    moment: str = ""
    agent_name: str = ""
    version: str = ""
    at_ms: int = 0

    @property
    def policy_name(self) -> str:
        """The name under which the agent's rules are looked up: its own, a subagent's type, or the host's."""
        return self.agent_name or (self.agent_type if self.agent_id else "") or self.host


class SessionStarted(Struct, frozen=True):
    """A conversation begins with an empty context window. `prompt` is its first, if the host sends it."""

    origin: Origin
    prompt: str = ""


class SessionResumed(Struct, frozen=True):
    """A conversation continues with the injected texts in its window, perhaps days later.

    With `is_fork` it is a copy under a new id.
    """

    origin: Origin
    is_fork: bool = False


class SessionCompacted(Struct, frozen=True):
    """A conversation continues without the texts that were injected: its window was summarized, or the host
    doesn't keep them. `prompt` is the next one, if the host sends it."""

    origin: Origin
    prompt: str = ""


class PromptSubmitted(Struct, frozen=True):
    """A prompt that is about to be answered. Hosts also submit prompts themselves, such as wake-ups."""

    origin: Origin
    prompt: str
    by_person: bool = True


class SubagentAnnounced(Struct, frozen=True):
    """An agent is about to start a subagent with this task; the subagent has no id yet."""

    origin: Origin
    agent_type: str
    task: str


class SubagentStarting(Struct, frozen=True):
    """A subagent begins. `task` is empty if the host doesn't send it; then the transcript of the parent, at
    `transcript_path`, may contain it."""

    origin: Origin
    task: str = ""
    transcript_path: str = ""


class SubagentStopped(Struct, frozen=True):
    """A subagent finished. `transcript_path` and `report`, its last message, may be empty."""

    origin: Origin
    transcript_path: str = ""
    report: str = ""


class FileEdited(Struct, frozen=True):
    """An agent used a tool. `paths` are the files it wrote, `read` those it read, absolute or relative to
    `origin.cwd`."""

    origin: Origin
    paths: tuple[str, ...] = ()
    read: tuple[str, ...] = ()


class TurnEnded(Struct, frozen=True):
    """An agent waits for its user. `transcript_path` is the conversation's, perhaps empty."""

    origin: Origin
    transcript_path: str = ""


class WindowCompacting(Struct, frozen=True):
    """A context window is about to be summarized."""

    origin: Origin


class SessionEnding(Struct, frozen=True):
    """A conversation ends; it may be resumed. `transcript_path` is the conversation's, perhaps empty."""

    origin: Origin
    transcript_path: str = ""


class RepositoryMoved(Struct, frozen=True):
    """A repository's checked-out commit changed, perhaps to a new commit."""

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
