"""The events of agents in the daemon's own terms, whichever host sent them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .tool_uses import ToolUse

EventKind = Literal[
    "start",
    "resume",
    "restart",
    "prompt",
    "announce",
    "subagent",
    "subagent_end",
    "edit",
    "turn_end",
    "compacting",
    "end",
    "moved",
]


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


class Event(Struct, frozen=True):
    """An event; the fields that its kind doesn't have are empty.

    - `start`: a conversation begins with an empty context window; `prompt` is its first, if the host sends
      it.
    - `resume`: it continues with the injected texts in its window, perhaps days later. With `is_fork` it is a
      copy under a new id.
    - `restart`: it continues without these texts: its window was summarized, or the host doesn't keep them.
      `prompt` is the next one, if the host sends it.
    - `prompt`: a prompt is about to be answered. Hosts also submit prompts themselves, such as wake-ups; then
      it is not `by_person`.
    - `announce`: an agent is about to start a subagent of `agent_type` with the task `prompt`; the subagent
      has no id yet.
    - `subagent`: it begins. `prompt` is its task; if the host doesn't send it, the transcript of the parent,
      at `transcript_path`, may contain it.
    - `subagent_end`: it finished. `transcript_path` and `report`, its last message, may be empty.
    - `edit`: an agent used a tool. `paths` are the files it wrote, `read` those it read, absolute or relative
      to `origin.cwd`. `use` says what it searched and found, or read whole. `transcript_path` is set if no
      event brings the prompt that is answered, which the transcript may contain.
    - `turn_end`: an agent waits for its user; `end`: a conversation ends, and may be resumed.
      `transcript_path` is the conversation's, perhaps empty.
    - `compacting`: a context window is about to be summarized. With `keeps_start` the text that it began with
      stays.
    - `moved`: a repository's checked-out commit changed, perhaps to a new commit.
    """

    kind: EventKind
    origin: Origin
    prompt: str = ""
    by_person: bool = True
    is_fork: bool = False
    agent_type: str = ""
    transcript_path: str = ""
    report: str = ""
    paths: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    use: ToolUse | None = None
    keeps_start: bool = False
