"""The input of one build of a context, and the state that its steps share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from ..compression.records import Compress
from ..compression.service import compress
from ..config.settings import WeightsConfig
from ..index.service import Reader
from ..languages.shared.language import file_tag
from ..project.records import Content, ProjectMetadata
from ..rules.records import ItemPlan, RuleFiles
from ..rules.service import plan_without_session, rule_files
from ..search.records import FoundDefinition, Hit, Need
from ..sessions.records import Scope
from ..workspace.records import ProjectSnapshot
from .excerpt import FileSource
from .focus import prompt_words
from .known_files import KnownFiles
from .prompts import TemplateFolder
from .requests import ContextRequest
from .sent_content import ConversationContent
from .tokens import TokenCounter, counter_of

NO_READERS: Mapping[str, Reader] = {}


class GatheredSources(Struct, frozen=True):
    """The input of one build.

    - `constraints_above`: the constraints of the ancestor scopes.
    - `is_foreign`: the scope's own constraints are of an agent that may see more, and stay with it.
    - `hits`: the search hits for the prompt, best first; the budget decides how many are shown.
    - `plan`: the items to include; without one, those of the instruction files by their modes.
    - `degraded`, `unfinished`: sources that failed and sources that ran out of time, in words.
    - `quick`: read only a few files in focus and no index.
    - `metadata`: the project's description from its manifests and git, None if unknown.
    - `meaning`: the similarity of experiences to the prompt, by id.
    - `resident`: the content that the conversation already holds, None to send everything.
    - `templates`: the folders of prompt templates.
    - `compress`: the function that shortens documents.
    - `linked`: the linked projects that it may show, by the prefixes of their paths.
    - `need`: how probably a hook's prompt needs code, None if unknown; if improbable there are no hits, and
      `unneeded` has those that were found.
    """

    snapshot: ProjectSnapshot
    scope: Scope
    request: ContextRequest
    constraints_above: Sequence[str] = ()
    hits: Sequence[Hit] = ()
    plan: ItemPlan | None = None
    degraded: Sequence[str] = ()
    unfinished: Sequence[str] = ()
    is_foreign: bool = False
    quick: bool = False
    metadata: ProjectMetadata | None = None
    meaning: Mapping[str, float] = field(default_factory=dict)
    resident: ConversationContent | None = None
    templates: Sequence[TemplateFolder] = ()
    compress: Compress = compress
    need: Need | None = None
    unneeded: Sequence[Hit] = ()
    linked: Mapping[str, ProjectSnapshot] = field(default_factory=dict)


class BuildState(Struct):
    """The state shared by the steps of one build. Used by one thread.

    `rule_files` are shown as rules or not at all: no search hit may bring in a rule that no mode includes.
    `words` are the words of the prompt. The steps add to

    - `gaps`: the missing parts, in words;
    - `wanted`: requested definitions, by the path of a file that is in focus as a whole;
    - `passed_over`: instruction files inside a folder in focus, which the map doesn't show either;
    - `left_out`: related files that have nothing to show at the moment;
    - `passed`: found definitions that are too improbable or too many, each with the reasons in words, and
      `least`, the probability from which on one is shown. Contexts of all sizes show those from `sure` on and
      those in `firsts`, the best ones of the first files by their paths and first lines;
    - `least_whole`: the probability from which on one is shown whole rather than named as a likely place, and
      `unsure_tokens`, those of less probable ones that are shown whole all the same.
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
    passed: list[tuple[str, FoundDefinition]] = field(default_factory=list)
    least: float = 0.0
    sure: float = 0.0
    firsts: set[tuple[str, int]] = field(default_factory=set)
    least_whole: float = 0.0
    unsure_tokens: int = 0
    sources: dict[str, FileSource] = field(default_factory=dict)

    def source(self, path: str, content: Content) -> FileSource:
        """Return a file's content with its definitions, which are unknown for an unsaved buffer."""
        cached = self.sources.get(path)
        if cached is None or cached.text is not content.text:
            tag, unsaved = file_tag(path, content.text), self.files.unsaved(path)
            symbols = () if unsaved else self.files.symbols(path)
            cached = self.sources[path] = FileSource(path, content.text, tag, symbols, self.gathered.compress)
        return cached


def begin(
    gathered: GatheredSources, reader: Reader | None, readers: Mapping[str, Reader] = NO_READERS
) -> BuildState:
    """Return the initial state of a build; `reader` is None without an index, and `readers` are those of
    linked projects by prefix."""
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
        KnownFiles(
            snapshot,
            reader,
            {prefix: KnownFiles(each, readers.get(prefix)) for prefix, each in gathered.linked.items()},
        ),
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
    """Return a key that is equal for slices that show the same text; "" without text."""
    if content.shown is None or not content.text.strip():
        return ""
    return f"{content.shown.digest.hex()}:{lines or ''}"
