"""The input of one build and what its steps share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from ..compression.compress import Compress, compress
from ..config.settings import WeightsConfig
from ..index.store import Reader
from ..languages.shared.language import fence_tag, language_of
from ..project.metadata import ProjectMetadata
from ..project.snapshot import ProjectSnapshot
from ..rules.instruction_places import RuleFiles, rule_files
from ..rules.items import ItemPlan, plan_without_session
from ..search.query import Hit, Need
from .content import Content, split_lines
from .excerpt import FileSource
from .focus import prompt_words
from .known_files import KnownFiles
from .prompts import TemplateFolder
from .requests import ContextRequest
from .scopes import Scope
from .sent_content import Resident
from .tokens import TokenCounter, counter_of


class GatheredSources(Struct, frozen=True):
    """The input of one build.

    `constraints_above` are those of the scopes above. `hits` are what was found for the prompt, best first:
    all that may ever be shown, of which the budget takes as many as it has room for. Without a `plan` the
    items are those of the instruction files, by their modes. `degraded` says what could not be asked, and
    `unfinished` what there was no time for, both in words. With `quick` no file and no index is read: what
    is in focus is shown by itself. `metadata` is what the project says of itself, None where that isn't
    known. `meaning` says how near experiences are to the prompt, by id. `resident` is what the conversation
    holds and need not be sent again, None where all is to be sent; `boosts` what earlier use adds to weights,
    by path and by the ids of items; `templates` where those of prompts lie; `compress` what shortens
    documents. `need` is what the prompt of a hook needs of the code, None where that isn't known; where it is
    improbable there are no hits.
    """

    snapshot: ProjectSnapshot
    scope: Scope
    request: ContextRequest
    constraints_above: Sequence[str] = ()
    hits: Sequence[Hit] = ()
    plan: ItemPlan | None = None
    degraded: Sequence[str] = ()
    unfinished: Sequence[str] = ()
    quick: bool = False
    metadata: ProjectMetadata | None = None
    meaning: Mapping[str, float] = field(default_factory=dict)
    resident: Resident | None = None
    boosts: Mapping[str, float] = field(default_factory=dict)
    templates: Sequence[TemplateFolder] = ()
    compress: Compress = compress
    need: Need | None = None


class BuildState(Struct):
    """One build. It is used by one thread and gone with it.

    `rule_files` are shown as rules or not at all: what no mode lets in must not come in as something that
    was found. `words` are those of the prompt. The steps note in `gaps` what is missing, in `wanted` the
    definitions that are asked for in files that are in focus as a whole, in `passed_over` files of rules in
    a folder in focus, of which the map says nothing either, and in `left_out` dependencies that have nothing
    to show for now.
    """

    gathered: GatheredSources
    snapshot: ProjectSnapshot
    scope: Scope
    request: ContextRequest
    reader: Reader | None
    plan: ItemPlan
    files: KnownFiles
    rule_files: RuleFiles
    weights: WeightsConfig
    words: frozenset[str]
    counter: TokenCounter
    degraded: tuple[str, ...]
    gaps: list[str]
    wanted: dict[str, set[str]] = field(default_factory=dict)
    passed_over: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)
    file_lines: dict[str, Sequence[str]] = field(default_factory=dict)
    sources: dict[str, FileSource] = field(default_factory=dict)

    def lines_of(self, path: str) -> Sequence[str]:
        """Return the lines of a file as it was read for this build, none of one that can't be read."""
        known = self.file_lines.get(path)
        if known is None:
            known = self.file_lines[path] = split_lines(self.files.read(path).text)
        return known

    def source(self, path: str, content: Content) -> FileSource:
        """Return a file's content with its definitions, of which nothing is known in an unsaved buffer."""
        known = self.sources.get(path)
        if known is None or known.text is not content.text:
            tag, unsaved = fence_tag(language_of(path)), self.files.unsaved(path)
            symbols = () if unsaved else self.files.symbols(path)
            known = self.sources[path] = FileSource(path, content.text, tag, symbols, self.gathered.compress)
        return known


def begin(gathered: GatheredSources, reader: Reader | None) -> BuildState:
    """Return the state of a build that begins; `reader` is None where there is no index."""
    snapshot, request = gathered.snapshot, gathered.request
    plan = gathered.plan or plan_without_session(snapshot.rules.items)
    counter, problem = counter_of(snapshot.config.context.token_counter, request.model)
    return BuildState(
        gathered,
        snapshot,
        gathered.scope,
        request,
        reader,
        plan,
        KnownFiles(snapshot, reader),
        rule_files(snapshot.tree.root, snapshot.rules.sources, plan.removed),
        snapshot.config.weights.of_task(request.task_type),
        prompt_words(request.prompt),
        counter,
        (*snapshot.degraded, *gathered.degraded, *plan.degraded, *filter(None, (problem,))),
        [*gathered.unfinished, *_left_out(gathered.need)],
    )


def _left_out(need: Need | None) -> tuple[str, ...]:
    if need is None or need.is_probable:
        return ()
    return (f"what was found for the prompt is left out: {need.reason}",)


def content_key(content: Content, lines: tuple[int, int] | None = None) -> str:
    """Return what two slices that show the same text share; empty where there is no text."""
    if content.shown is None or not content.text.strip():
        return ""
    return f"{content.shown.digest.hex()}:{lines or ''}"
