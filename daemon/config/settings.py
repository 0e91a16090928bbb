"""The settings: every key with its type, range and default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from fnmatch import fnmatchcase
from typing import Any

from ..privacy.policy import NO_TABLES, AgentTables
from .item_selection import ItemSelection
from .linked import LinkedConfig, ProjectLinks
from .source import ProjectRule, setting

USER_FILE = "config.toml"


LOG_LEVELS = ("debug", "info", "warning", "error")
"""The levels of the log, the most detailed first."""


@dataclass(frozen=True, slots=True)
class DaemonConfig:
    """`[daemon]`: the life of the process and its log."""

    idle_shutdown_minutes: float = setting(
        120.0,
        "The daemon ends itself after this time without a connected client and without work. 0 means never.",
        unit="minutes",
        between=(0, 525_600),
    )
    shutdown_deadline_ms: int = setting(
        5_000,
        "How long a shutdown waits for running requests before it cancels them.",
        unit="ms",
        between=(100, 600_000),
    )
    log_level: str = setting("info", "The least severe message that is logged.", choices=LOG_LEVELS)
    log_max_bytes: int = setting(
        5_000_000,
        "The log file is rotated when it reaches this size.",
        unit="bytes",
        between=(10_000, 1_000_000_000),
    )
    log_backups: int = setting(3, "How many rotated log files are kept.", between=(0, 100))


@dataclass(frozen=True, slots=True)
class ScanConfig:
    """`[scan]`: which files of a project are read, and how changes are found."""

    max_file_bytes: int = setting(
        1_048_576,
        "A larger file is listed in the tree, but its content is not read.",
        project="smaller",
        unit="bytes",
        between=(1, 67_108_864),
    )
    exclude: tuple[str, ...] = setting(
        (),
        "Patterns in the syntax of .gitignore, relative to a project's root, of files that are left out. "
        "A project's patterns are added to the user's, but those that start with `!` are ignored.",
        project="add",
    )
    skip_folders_extra: tuple[str, ...] = setting(
        (),
        "Names of folders that are skipped wherever they lie, in addition to the built-in list of vendored "
        "and generated ones. A project's names are added to the user's.",
        project="add",
        folder_names=True,
    )
    poll_interval_ms: int = setting(
        2_000,
        "The pause between two scans of the tree where the system can't report changes.",
        unit="ms",
        between=(100, 3_600_000),
    )
    sweep_interval_s: int = setting(
        60,
        "The pause between two comparisons of the whole tree with the disk, in case the system lost an "
        "event. If a comparison takes long, the pause is a thousand times as long, up to ten minutes.",
        unit="s",
        between=(1, 86_400),
    )


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """`[embedding]`: how the meaning of code is indexed. Only the user's own file decides that."""

    enabled: bool = setting(
        True,
        "Whether chunks of code are embedded. Without it search is by words, names and structure.",
    )
    model: str = setting(
        "",
        "The name of an embedding model that fastembed knows, such as `BAAI/bge-small-en-v1.5`, which it "
        "fetches over the network on first use. Empty for the model that comes with foveal and needs no "
        "network. With `endpoint` it is the name of a model there, such as `nomic-embed-text`.",
    )
    endpoint: str = setting(
        "",
        "The base URL of an OpenAI-compatible service that embeds, to which `/embeddings` is added, such as "
        "`http://127.0.0.1:11434/v1` for Ollama. Chunks of code and questions are sent there, with values "
        "masked that look like secrets; with a key to another machine only over HTTPS. Empty for none.",
    )
    endpoint_key: str = setting(
        "",
        "Where the key for that service is: `env:NAME` for an environment variable of the daemon, "
        "`file:PATH` for a file that only you can read. Empty for none.",
    )
    endpoint_timeout_ms: int = setting(
        60_000,
        "How long that service may take for 16 chunks. A question waits at most 5 s for it.",
        unit="ms",
        between=(100, 600_000),
    )
    threads: int = setting(
        0, "Processor cores that embed in the background. 0 means half of them.", between=(0, 256)
    )
    idle_minutes: float = setting(
        10.0,
        "The process that embeds ends after this time without questions and without work, and starts again "
        "when it is needed.",
        unit="minutes",
        between=(0.05, 525_600),
    )
    max_bytes: int = setting(
        2_000_000_000,
        "The maximum size of the database of embeddings. Above it, the least recently used are deleted.",
        unit="bytes",
        between=(10_000_000, 1_000_000_000_000),
    )
    shared: str = setting(
        "",
        "The URL of a Redis or Valkey server (`redis://` or `rediss://`, a cluster too) where a team shares "
        "embeddings: vectors and digests of contents go there, nothing else (docs/teams.md). Empty for none. "
        "Needs `foveal[team]`.",
    )
    shared_password: str = setting(
        "",
        "Where the password for that server is: `env:NAME` for an environment variable of the daemon, "
        "`file:PATH` for a file. Empty if there is none, or if it is in the URL.",
    )
    shared_secret: str = setting(
        "",
        "Where the team's secret is, as `env:NAME` or `file:PATH`. Without the secret nobody can test "
        "whether the server holds a text that they know, and vectors written without it are rejected.",
    )
    shared_days: int = setting(
        30,
        "Embeddings that nobody used for this time expire on that server.",
        unit="days",
        between=(1, 3_650),
    )


@dataclass(frozen=True, slots=True)
class CompressionConfig:
    """`[compression]`: whether a model shortens large documents. Only the user's own file decides that."""

    enabled: bool = setting(
        False,
        "Whether parts of documents that don't fit are sent to a model, which shortens them. Values that "
        "look like secrets are masked before. No context waits for the model: later ones use its results.",
    )
    endpoint: str = setting(
        "",
        "The base URL of an OpenAI-compatible service, to which `/chat/completions` is added, such as "
        "`http://127.0.0.1:11434/v1`.",
    )
    model: str = setting("", "The name of the model at that service.")
    api_key_env: str = setting(
        "", "The environment variable of the daemon that holds the service's key. Empty for none."
    )
    timeout_ms: int = setting(
        10_000, "How long the model may take for one text.", unit="ms", between=(100, 600_000)
    )
    min_tokens: int = setting(500, "A shorter text is never sent.", unit="tokens", between=(50, 1_000_000))


@dataclass(frozen=True, slots=True)
class ScopesConfig:
    """`[scopes]`: how many scopes are kept before the least recently used one is evicted."""

    max_memory_bytes: int = setting(
        268_435_456,
        "The memory that all scopes together may use.",
        unit="bytes",
        between=(1_048_576, 68_719_476_736),
    )
    max_count: int = setting(5_000, "The number of scopes that are kept.", between=(1, 1_000_000))


@dataclass(frozen=True, slots=True)
class ContextConfig:
    """`[context]`: the size of a context where the request doesn't say, and how it is counted."""

    max_tokens: int = setting(
        4_000,
        "The model's tokens that the context and the reply share. The prompt and the conversation aren't "
        "counted.",
        project="smaller",
        unit="tokens",
        between=(1, 10_000_000),
    )
    reserve_tokens: int = setting(
        2_000,
        "The part of `max_tokens` that is kept free for the reply, at most a quarter of it.",
        project="smaller",
        unit="tokens",
        between=(0, 10_000_000),
    )
    hook_tokens: int = setting(
        1_500,
        "The most that a hook adds to a prompt; it adds less, or nothing, if the prompt probably needs less. "
        "The start of a session or a subagent may be as large as its host accepts. 0: prompts and an "
        "agent's own searches get nothing.",
        project="smaller",
        unit="tokens",
        between=(0, 1_000_000),
    )
    tool_help: bool = setting(
        True,
        "Whether an agent's own search gets a few lines of help where it found nothing or more than 30 hits, "
        "or read a file of more than 500 lines whole.",
        project="set",
    )
    max_bytes: int = setting(
        100_000,
        "The size of a rendered context in UTF-8.",
        project="smaller",
        unit="bytes",
        between=(1, 16_000_000),
    )
    deadline_ms: int = setting(
        5_000,
        "When this has passed, the best context so far is returned and marked as partial.",
        project="smaller",
        unit="ms",
        between=(1, 600_000),
    )
    dependencies_max: int = setting(
        50,
        "How many files imported by the focus are loaded with it.",
        project="smaller",
        between=(0, 10_000),
    )
    hits_max: int = setting(
        60,
        "How many files that are found for a prompt may have a definition in a context.",
        project="smaller",
        between=(0, 100),
    )
    experiences_max: int = setting(
        5, "How many decisions a context shows at the most.", project="smaller", between=(0, 1_000)
    )
    outside_folders: tuple[str, ...] = setting(
        (),
        "Folders outside of projects, absolute or with `~`. A session may name files outside of its project "
        "in its set `files`: those in these folders may enter contexts, all others are named and never read.",
    )
    token_counter: str = setting(
        "estimate",
        "How tokens are counted: a quarter of the characters, or exactly, with the vocabulary of the model "
        "that a request names. `exact` needs the extra of that name: `pip install foveal[exact]`.",
        choices=("estimate", "exact"),
    )
    models: tuple[tuple[str, int], ...] = ()
    """`[context.models]`: globs of models' names with `max_tokens` for them, in the order of the file."""
    model_caps: tuple[tuple[str, int], ...] = ()
    """Upper bounds of these from the project's file, also by globs of models' names."""

    def max_tokens_of(self, model: str) -> int:
        """Return `max_tokens` for a model's name: that of the first glob that matches, else the general
        one."""
        wanted = _of_model(self.models, model)
        if wanted is None:
            wanted = self.max_tokens
        cap = _of_model(self.model_caps, model)
        return wanted if cap is None else min(wanted, cap)


def _weight(default: float, description: str, project: ProjectRule = "set") -> float:
    return setting(default, description, project=project, between=(0.0, 1.0))


@dataclass(frozen=True, slots=True)
class WeightsConfig:
    """`[weights]`: what is kept first when the token budget is short, from 0 (dropped first) to 1."""

    project_meta: float = _weight(1.0, "What the project is: its name, languages, commands, branch.")
    # A project can't change the weights of what the user and the caller ask for ("no").
    rule: float = _weight(1.0, "Rules of the project and of the user.", "no")
    constraint: float = _weight(1.0, "Constraints of the caller and of the scopes above it.", "no")
    focus: float = _weight(0.95, "The files and symbols in focus, and what was expanded.")
    reference: float = _weight(0.8, "References of the project, the user and the session.", "no")
    document: float = _weight(
        1.0,
        "Definitions that were found for the prompt. The best one has this weight, the others a share of it.",
    )
    compressed_segment: float = _weight(0.8, "The parts of a large document that are nearest to the prompt.")
    session_set: float = _weight(0.7, "Files of the session's context sets.")
    dependency: float = _weight(0.7, "Signatures of what the focus imports.")
    agent_history: float = _weight(0.6, "Recent decisions of agents.")
    hot: float = _weight(0.5, "Files that were recently edited, opened or asked for.")
    skeleton: float = _weight(0.4, "The map of the project's folders and files.")
    tasks: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = ()
    """`[weights.TASK_TYPE]`: the weights that differ for a type of task, by its name."""

    def of_task(self, task_type: str) -> WeightsConfig:
        """Return the weights for a type of task; those that its table doesn't name are the general ones."""
        own: dict[str, Any] = next((dict(weights) for name, weights in self.tasks if name == task_type), {})
        return replace(self, **own)


@dataclass(frozen=True, slots=True)
class ExperienceConfig:
    """`[experience]`: how long decisions are kept, and whether a project shares them."""

    max_age_days: int = setting(
        0,
        "Older decisions are pruned automatically: when a project is opened, and once a day. 0 means never.",
        unit="days",
        between=(0, 100_000),
    )
    max_count: int = setting(
        0,
        "The maximum number of decisions; the oldest beyond it are pruned automatically. 0 means no limit.",
        between=(0, 10_000_000),
    )
    path: str = setting(
        "",
        "A `.jsonl` file in the project, relative to its root, that new decisions go to and that is read "
        "beside the private ones, so that a team shares it through git. It takes effect once the project is "
        "trusted. Nothing in it is pruned automatically.",
        project="set",
    )


@dataclass(frozen=True, slots=True)
class SelectionConfig:
    """`[selection]`: how items of mode `agent` are chosen, see `parse_selection`.

    `[selection.agents.NAME]` is the same for agents of that name. The user's table for an agent overrides the
    project's.
    """

    user: ItemSelection = field(default_factory=ItemSelection)
    project: ItemSelection = field(default_factory=ItemSelection)
    user_agents: Mapping[str, ItemSelection] = field(default_factory=dict)
    project_agents: Mapping[str, ItemSelection] = field(default_factory=dict)

    def levels(self, agent_name: str) -> tuple[ItemSelection, ...]:
        """Return the settings for an agent; each overrides the ones before it."""
        agents = (self.project_agents.get(agent_name), self.user_agents.get(agent_name))
        return (self.user, self.project, *(agent for agent in agents if agent is not None))


@dataclass(frozen=True, slots=True)
class PrivacyConfig:
    """`[privacy]`: what is kept out of every answer. Only the user's own file decides that."""

    show_files: tuple[str, ...] = setting(
        (),
        "Globs, relative to a project's root, of files that are shown although their names say that they "
        "hold secrets (`.env`, private keys, credentials). All other such files are named in the map of a "
        "project, and nothing of what is in them is read for an answer or an index.",
    )
    mask_values: bool = setting(
        True,
        "Whether values that look like keys, tokens and passwords are replaced by `[masked]` in what is "
        "shown.",
    )


@dataclass(frozen=True, slots=True)
class HistoryConfig:
    """`[history]`: how long past contexts and requests are kept. Only the user's own file decides that."""

    days: int = setting(
        30,
        "Past contexts, the texts of requests, and the timelines of sessions are removed after this time.",
        unit="days",
        between=(1, 3_650),
    )
    max_mb: int = setting(
        512,
        "The maximum size of the file of past contexts and requests. Above it, the oldest are removed first.",
        unit="MB",
        between=(1, 1_000_000),
    )


@dataclass(frozen=True, slots=True)
class DashboardConfig:
    """`[dashboard]`: its port and the editor of its links. Only the user's own file decides that."""

    port: int = setting(
        0,
        "The port on 127.0.0.1. 0 means any free port, and the same one from then on. If the port is taken, "
        "another one is used, and `foveal dashboard` says so.",
        between=(0, 65_535),
    )
    editor: str = setting(
        "vscode",
        "The editor in which files open: `vscode`, `vscode-insiders`, `vscodium`, `cursor`, `windsurf`, "
        "`zed`, `idea`, `pycharm`, `sublime`, `neovim` (where something is registered for `nvim://`), or an "
        "address of an editor's own scheme with `{path}` and `{line}` in it, such as "
        "`myeditor://open?file={path}&line={line}`.",
    )


@dataclass(frozen=True, slots=True)
class AppletConfig:
    """`[applet]`: where the applet of a session is opened again. Only the user's own file decides that."""

    url: str = setting(
        "",
        "The address of an applet, such as `https://apps.example/{slug}?{params}`, with `{slug}` in it and "
        "perhaps `?{params}` at its end; http, https or a scheme of an application. A session's page, "
        "`foveal sessions` and the text of a resume offer it as a link; foveal itself never opens it. Empty "
        "means no link.",
    )


@dataclass(frozen=True, slots=True)
class UserConfig:
    """The whole configuration as the user's own file gives it; `UserConfig()` is every default."""

    daemon: DaemonConfig = field(default_factory=DaemonConfig)
    scan: ScanConfig = field(default_factory=ScanConfig)
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    compression: CompressionConfig = field(default_factory=CompressionConfig)
    scopes: ScopesConfig = field(default_factory=ScopesConfig)
    context: ContextConfig = field(default_factory=ContextConfig)
    weights: WeightsConfig = field(default_factory=WeightsConfig)
    experience: ExperienceConfig = field(default_factory=ExperienceConfig)
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    privacy: PrivacyConfig = field(default_factory=PrivacyConfig)
    history: HistoryConfig = field(default_factory=HistoryConfig)
    dashboard: DashboardConfig = field(default_factory=DashboardConfig)
    applet: AppletConfig = field(default_factory=AppletConfig)
    agents: AgentTables = NO_TABLES
    """`[agents.NAME]`: what agents may not see, see `parse_agent_tables`."""
    linked: LinkedConfig = field(default_factory=LinkedConfig)


@dataclass(frozen=True, slots=True)
class ProjectConfig:
    """The settings of a project: the user's values, narrowed by the project's file."""

    scan: ScanConfig = field(default_factory=ScanConfig)
    context: ContextConfig = field(default_factory=ContextConfig)
    weights: WeightsConfig = field(default_factory=WeightsConfig)
    experience: ExperienceConfig = field(default_factory=ExperienceConfig)
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    privacy: PrivacyConfig = field(default_factory=PrivacyConfig)
    agents: AgentTables = NO_TABLES
    """The tables of both files, and those of the linked projects."""
    linked: ProjectLinks = field(default_factory=ProjectLinks)
    """The other projects that it links, in the order of `agents.linked`."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The folders and the user that the process runs with, absolute; the composition root fills it."""

    home: str
    state_dir: str
    config_dir: str
    uid: int
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment variables of the daemon, for definitions of MCP servers that refer to them."""

    @property
    def config_path(self) -> str:
        """The user's configuration file, whether it exists or not."""
        return os.path.join(self.config_dir, USER_FILE)


TABLES: Mapping[str, type] = {
    "daemon": DaemonConfig,
    "scan": ScanConfig,
    "embedding": EmbeddingConfig,
    "compression": CompressionConfig,
    "scopes": ScopesConfig,
    "context": ContextConfig,
    "weights": WeightsConfig,
    "experience": ExperienceConfig,
    "privacy": PrivacyConfig,
    "history": HistoryConfig,
    "dashboard": DashboardConfig,
    "applet": AppletConfig,
}
"""The tables of the user's file, in their order in the documentation."""
FREE_TABLES = ("items", "selection", "agents", "linked")
"""Tables without fixed keys: each of `[[items]]` is an item, `[selection]` says how items are chosen, each of
`[agents]` says what an agent may not see, `linked` names other projects."""
FORMER_KEYS = frozenset({("context", "feedback")})
"""Keys of former versions, with their tables: they change nothing, and no warning names them."""
KEYS: Mapping[str, Mapping[str, Field[object]]] = {
    table: {key.name: key for key in fields(owner) if "rule" in key.metadata}
    for table, owner in TABLES.items()
}
"""Each table's keys by name; a key is a field of the dataclasses above that has a rule."""


def _of_model(globs: tuple[tuple[str, int], ...], model: str) -> int | None:
    name = model.lower()
    return next((tokens for glob, tokens in globs if name and fnmatchcase(name, glob.lower())), None)
