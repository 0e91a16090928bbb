"""The frozen view of a project that a context is built from; it doesn't show later changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from msgspec import Struct

from ..config.settings import ProjectConfig
from ..core.system import System
from ..index.lexical_handle import LexicalHandle
from ..index.store import Reader
from ..memory.recall import Chosen
from ..privacy.policy import NO_POLICY, Policy
from ..project.tree import Tree
from ..rules.instruction_files import RuleSet


class ProjectSnapshot(Struct, frozen=True):
    """The state of one project at one moment.

    `reader` lends a connection to the index for one thread; it raises `DatabaseError` if there is no index
    yet. `lexical` is the lexical index. `relevant_experiences(focus, neighbours, words, limit, meaning)`
    chooses from the pool (see `choose`). `overlays` maps relative paths to unsaved texts. `degraded` are the
    problems of the whole project.

    `policy` is that of the agent: the other fields hold nothing that it denies, and code that reads files
    must ask it.
    """

    tree: Tree
    rules: RuleSet
    config: ProjectConfig
    overlays: Mapping[str, str]
    degraded: tuple[str, ...]
    reader: Callable[[], AbstractContextManager[Reader]]
    lexical: LexicalHandle
    relevant_experiences: Callable[
        [set[str], set[str], set[str], int, Mapping[str, float]], tuple[Chosen, ...]
    ]
    system: System
    policy: Policy = NO_POLICY
