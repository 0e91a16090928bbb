"""The policy of an agent: which paths and items are hidden from it, and whether secrets are masked. It comes
from the `[agents.NAME]` tables of the configuration.

A project's tables come with a repository: they can only restrict more than the user's own tables.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidRequest
from ..core.globs import Glob, compile_glob
from ..core.parameters import read_request
from .secret_files import is_secret_file
from .secret_values import mask_secrets

T = TypeVar("T")

ANOTHERS = "the rules of another project"

RULES_FILE = "foveal.toml"
"""The file that names hidden paths, and may have texts of denied items."""

_WORD = re.compile(r"[^\s,;:()\[\]{}<>'\"`|]+")
"""A word of a sentence that may be a path."""


class Policy(Struct, frozen=True):
    """The policy of an agent in a project. Equal policies share cached answers.

    `rules` name its sources, such as `[agents.intern] in foveal.toml`. `deny_paths` are globs relative to
    the root; a folder's covers all below it, and upper and lower case count as the same, as they do for some
    file systems. `deny_items` are `tool`, `tool:NAME` or `tool:SERVER/NAME` with
    globs in the names. `max_tokens` bounds a context, None for no more than the configuration does.
    `shown_secrets` are globs of files that the user lets through although their names call them secret.
    `linked` are the agent's policies in the projects that this one links: each decides over the paths that
    lead into its project.
    """

    agent: str = ""
    rules: tuple[str, ...] = ()
    allow: bool = True
    deny_paths: tuple[str, ...] = ()
    deny_items: tuple[str, ...] = ()
    max_tokens: int | None = None
    shown_secrets: tuple[str, ...] = ()
    mask_values: bool = True
    linked: tuple[LinkedPolicy, ...] = ()

    @property
    def is_limited(self) -> bool:
        """Whether paths or items are hidden from the agent, here or in a linked project."""
        return bool(self.deny_paths or self.deny_items) or any(each.policy.hides_any for each in self.linked)

    @property
    def denies_paths(self) -> bool:
        """Whether any paths are denied to the agent, here or in a linked project."""
        return bool(self.deny_paths) or any(each.denies_any for each in self.linked)

    @property
    def hides_any(self) -> bool:
        """Whether anything is hidden from the agent, or everything."""
        return self.is_limited or not self.allow

    @property
    def sources(self) -> str:
        """The rules that hide something from the agent, in words. A linked project that it may not see
        isn't named."""
        there = (
            f"{each.policy.sources} of {each.prefix}" if each.policy.allow else ANOTHERS
            for each in self.linked
            if each.policy.hides_any
        )
        return " and ".join(dict.fromkeys((*self.rules, *there)))

    def refusal(self) -> str:
        """Return why an agent gets nothing at all, as a sentence, empty if it may ask."""
        if self.allow:
            return ""
        return (
            f"The agent {self.agent or 'without a name'} is not allowed here by {' and '.join(self.rules)}."
            " Ask the project's owner to change that."
        )

    def sees_all_of(self, other: Policy) -> bool:
        """Tell whether this policy shows everything that another one shows.

        It compares the rules, not the paths that they match: equivalent patterns count as different.
        """
        theirs = {each.root: each.policy for each in other.linked}
        return (
            self.allow
            and set(self.deny_paths) <= set(other.deny_paths)
            and set(self.deny_items) <= set(other.deny_items)
            and set(self.shown_secrets) >= set(other.shown_secrets)
            and self.mask_values <= other.mask_values
            and all(
                not there.allow or mine.policy.sees_all_of(there)
                for mine in self.linked
                for there in (theirs.get(mine.root, NO_POLICY),)
            )
        )

    def denies(self, path: str) -> bool:
        """Tell whether a rule denies a file or folder, by its relative POSIX path; then its name is hidden
        too."""
        if self.linked and (found := self.in_linked(path)) is not None:
            return found[0].denies(found[1])
        if not self.deny_paths:
            return False
        folded = folded_path(path)
        if any(glob.matches(folded) for glob in _denying(self.deny_paths)):
            return True
        # Compare the path as it is too: folded to lower case, a range such as [Z-a] has other letters.
        return folded != path and any(glob.matches(path) for glob in _globs(self.deny_paths))

    def hides(self, path: str) -> bool:
        """Whether a file's content is hidden, by a rule or because it holds secrets.

        A file of secrets keeps its name in the map of a project: it is good to know that there is one.
        """
        return bool(self.why_hidden(path))

    def why_hidden(self, path: str) -> str:
        """Return why a path is hidden, in words that follow "it is not shown:", or ""."""
        if self.linked and (found := self.in_linked(path)) is not None:
            there = found[0].policy
            return there.why_hidden(found[1]) if there.allow else f"hidden from this agent by {ANOTHERS}"
        if self.denies(path):
            return f"hidden from this agent by deny_paths of {' and '.join(self.rules)}"
        if (self.deny_paths or self.deny_items) and folded_path(path) == RULES_FILE:
            return f"{RULES_FILE} says what is hidden from this agent"
        if self.is_secret(path):
            return "files that hold secrets by their names are shown to nobody"
        return ""

    def is_secret(self, path: str) -> bool:
        """Whether a file's name marks it as holding secrets, and the user's `show_files` doesn't allow it."""
        return is_secret_file(path) and not any(glob.matches(path) for glob in _globs(self.shown_secrets))

    def mask(self, text: str) -> str:
        """Return a text as it may be shown, without the values in it that look like secrets."""
        return mask_secrets(text).text if self.mask_values else text

    def in_linked(self, path: str) -> tuple[LinkedPolicy, str] | None:
        """Return the policy for a path that leads into a linked project, relative or absolute, and the path
        from the root there; None for any other path."""
        path = posixpath.normpath(path) if ".." in path else path
        for each in self.linked:
            for start in (each.prefix, each.root):
                if path.startswith(start) and path[len(start) :][:1] in {"", "/", "#"}:
                    return each, path[len(start) + 1 :]
        return None

    def names_denied(self, text: str, root: str = "") -> bool:
        """Whether a text names a path that is denied to the agent: relative, absolute below `root` or in a
        linked project, or as a module (`secret.vault`). Names without a folder or an ending may be any
        words."""
        if self.linked and self.denies_paths:
            words = (match.group().rstrip(".!?*_").lstrip("!?*_") for match in _WORD.finditer(text))
            if any(
                found[0].denies(found[1].partition("#")[0])
                for word in words
                if (found := self.in_linked(word)) is not None
            ):
                return True
        if not self.deny_paths:
            return False
        below = f"{root.rstrip('/')}/" if root else ""
        for match in _WORD.finditer(text):
            word = match.group().strip(".!?*_").partition("#")[0]
            if below and word.startswith(below):
                word = word[len(below) :]
            if "/" not in word and "." not in word:
                continue
            if self.denies(word) or ("/" not in word and self.denies(word.replace(".", "/"))):
                return True
        return False

    def sentences(self, texts: Iterable[str], root: str = "") -> tuple[str, ...]:
        """Return the sentences that name no denied path, with their secrets masked."""
        return tuple(self.mask(text) for text in texts if not self.names_denied(text, root))

    def visible(self, things: Iterable[T], path_of: Callable[[T], str]) -> list[T]:
        """Return the things whose paths aren't hidden, in their order."""
        return [thing for thing in things if not self.hides(path_of(thing))]

    def denies_item(self, kind: str, name: str, server_name: str = "") -> bool:
        """Tell whether an item of this type and name is denied."""
        full = f"{server_name}/{name}" if server_name else name
        for pattern in self.deny_items:
            denied, _, names = pattern.partition(":")
            if denied == kind and (
                not names or any(compile_glob(names).matches(known) for known in (name, full))
            ):
                return True
        return False


class LinkedPolicy(Struct, frozen=True):
    """An agent's policy in a linked project; one that isn't allowed there sees nothing of it.

    `root` is that project's, and `prefix` leads to it from the root of the project that links it: `../api`.
    """

    prefix: str
    root: str
    policy: Policy

    @property
    def denies_any(self) -> bool:
        """Whether any paths of the project are denied to the agent."""
        return self.policy.denies_paths or not self.policy.allow

    def denies(self, path: str) -> bool:
        """Tell whether a path is denied to the agent, from the root of the linked project."""
        return not self.policy.allow or self.policy.denies(path)


NO_POLICY = Policy()
"""The policy without any table: only files of secrets are hidden."""


def combined(policies: Iterable[Policy]) -> Policy:
    """Combine policies: their restrictions add up. `NO_POLICY` for none."""
    result: Policy | None = None
    for policy in policies:
        if result is None or result == policy:
            result = policy
            continue
        limits = [each for each in (result.max_tokens, policy.max_tokens) if each is not None]
        result = replace(
            result,
            agent=" and ".join(filter(None, (result.agent, policy.agent))),
            rules=tuple(dict.fromkeys((*result.rules, *policy.rules))),
            allow=result.allow and policy.allow,
            deny_paths=tuple(dict.fromkeys((*result.deny_paths, *policy.deny_paths))),
            deny_items=tuple(dict.fromkeys((*result.deny_items, *policy.deny_items))),
            max_tokens=min(limits, default=None),
            shown_secrets=tuple(each for each in result.shown_secrets if each in policy.shown_secrets),
            mask_values=result.mask_values or policy.mask_values,
            linked=tuple(
                replace(one, policy=combined((one.policy, other.policy)))
                for one, other in zip(result.linked, policy.linked, strict=True)
            ),
        )
    return NO_POLICY if result is None else result


def folded_path(path: str) -> str:
    """Return a path or glob in lower case and Unicode form NFC, so that names are equal if some file system
    treats them as the same."""
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()


@lru_cache(maxsize=256)
def _denying(patterns: tuple[str, ...]) -> tuple[Glob, ...]:
    """Return the compiled denied patterns; a pattern for everything below a folder also covers the folder."""
    folders = [
        folder if "/" in folder else f"/{folder}"  # without a slash it would match at any depth
        for pattern in patterns
        if pattern.endswith(("/", "/**")) and (folder := pattern.removesuffix("**").rstrip("/"))
    ]
    return _globs(tuple(dict.fromkeys(folded_path(each) for each in (*patterns, *folders))))


@lru_cache(maxsize=256)
def _globs(patterns: tuple[str, ...]) -> tuple[Glob, ...]:
    """Return the compiled patterns; each also covers everything below a folder that it matches."""
    return tuple(
        compile_glob(each)
        for pattern in patterns
        for each in ((pattern,) if pattern.endswith(("/", "/**")) else (pattern, f"{_anchored(pattern)}/**"))
    )


def _anchored(pattern: str) -> str:
    """Return an equivalent pattern to which a slash can be appended."""
    return pattern if "/" in pattern.rstrip("/") else f"**/{pattern}"


ITEM_TYPES = ("rule", "reference", "tool")
PATTERNS_MAX = 1_000
"""Maximum number of patterns in a table; each shown path is compared with all of them."""


class AgentTable(Struct, frozen=True):
    """One table: for agents whose name or type is `pattern` or matches it as a glob."""

    pattern: str
    allow: bool = True
    deny_paths: tuple[str, ...] = ()
    deny_items: tuple[str, ...] = ()
    max_tokens: int | None = None


class LinkedTables(Struct, frozen=True):
    """The tables of a linked project, with its `root` and the `prefix` that leads there."""

    prefix: str
    root: str
    tables: AgentTables


class AgentTables(Struct, frozen=True):
    """The tables of both files, and those of linked projects."""

    user: tuple[AgentTable, ...] = ()
    project: tuple[AgentTable, ...] = ()
    linked: tuple[LinkedTables, ...] = ()

    def policy_for(self, name: str, kind: str = "", shown_secrets: tuple[str, ...] = ()) -> Policy:
        """Return the policy for an agent of a name and a type, each empty if unknown.

        Of each file the most specific table applies: that of the name, then that of the type, then the glob
        with the most literal characters, of equal ones the first. Names are compared as `folded_name` has
        them; tables of one file whose names it makes equal all apply. All restrictions add up.
        """
        found = [
            (table, where)
            for tables, where in ((self.user, "config.toml"), (self.project, "foveal.toml"))
            for table in _most_specific(tables, name, kind)
        ]
        limits = [table.max_tokens for table, _ in found if table.max_tokens is not None]
        return Policy(
            name or kind if found else "",
            tuple(f"[agents.{_key(table.pattern)}] in {where}" for table, where in found),
            all(table.allow for table, _ in found),
            tuple(dict.fromkeys(path for table, _ in found for path in table.deny_paths)),
            tuple(dict.fromkeys(item for table, _ in found for item in table.deny_items)),
            min(limits) if limits else None,
            shown_secrets,
            linked=tuple(
                LinkedPolicy(each.prefix, each.root, each.tables.policy_for(name, kind, shown_secrets))
                for each in self.linked
            ),
        )


NO_TABLES = AgentTables()


def parse_agent_tables(tables: object) -> tuple[AgentTable, ...]:
    """Read the content of `[agents]`. Raises `InvalidRequest` with the unusable field."""
    if not isinstance(tables, Mapping):
        raise InvalidRequest("agents must be a table with an agent's name for each table in it", "agents")
    return tuple(_parse(str(name), table) for name, table in tables.items())


def _parse(name: str, table: object) -> AgentTable:
    field = f"agents.{_key(name)}"
    if not isinstance(table, Mapping):
        raise InvalidRequest(f"{field} must be a table", field)
    known = AgentTable.__struct_fields__[1:]
    if unknown := sorted(map(str, set(table).difference(known))):
        # A misspelt key would leave open what somebody wanted to deny.
        raise InvalidRequest(
            f"{field} has the unknown key {unknown[0]}; known are {', '.join(sorted(known))}", field
        )
    given = read_request(AgentTable, {**table, "pattern": name}, f"{field}.")
    for place, patterns in (("deny_paths", given.deny_paths), ("deny_items", given.deny_items)):
        if len(patterns) > PATTERNS_MAX:
            raise InvalidRequest(
                f"{field}.{place} has {len(patterns):,} patterns; at most {PATTERNS_MAX:,}",
                f"{field}.{place}",
            )
    if given.max_tokens is not None and given.max_tokens < 0:
        raise InvalidRequest(
            f"{field}.max_tokens must be a whole number of tokens, 0 or more", f"{field}.max_tokens"
        )
    _check_glob(name, field)
    _check_glob(folded_name(name), field)  # names are compared with this form too
    for pattern in given.deny_paths:
        _check_glob(pattern, f"{field}.deny_paths")
        _check_glob(folded_path(pattern), f"{field}.deny_paths")  # names are compared with this form too
    for pattern in given.deny_items:
        kind, colon, names = pattern.partition(":")
        if kind not in ITEM_TYPES:
            raise InvalidRequest(
                f"{field}.deny_items: {pattern!r:.60} must begin with rule, reference or tool",
                f"{field}.deny_items",
            )
        if colon:
            _check_glob(names, f"{field}.deny_items")
    return given


def _check_glob(pattern: str, field: str) -> None:
    try:
        compile_glob(pattern)
    except ValueError as error:
        raise InvalidRequest(f"{field}: {error}", field) from error


def _most_specific(tables: tuple[AgentTable, ...], name: str, kind: str) -> list[AgentTable]:
    """Return the most specific table, with those of the same folded name; none if none matches."""
    best: tuple[int, int, AgentTable] | None = None
    for table in tables:
        rank = _rank(table.pattern, name, kind)
        if rank is not None and (best is None or rank > best[:2]):
            best = (*rank, table)
    if best is None:
        return []
    chosen = folded_name(best[2].pattern)
    return [table for table in tables if folded_name(table.pattern) == chosen]


def _rank(pattern: str, name: str, kind: str) -> tuple[int, int] | None:
    """Return how closely a pattern matches, higher for closer, None if it doesn't."""
    folded = folded_name(pattern)
    if folded == folded_name(name):
        return 3, 0
    if kind and folded == folded_name(kind):
        return 2, 0
    if _name_matches(pattern, name) or (kind and _name_matches(pattern, kind)) or folded == "*":
        return 1, sum(character not in "*?[]{}!" for character in pattern)
    return None


def _name_matches(pattern: str, name: str) -> bool:
    """Whether a glob matches an agent's name, folded or as both are: folded, `[!A-Z]` means other letters."""
    folded = compile_glob(folded_name(pattern))
    return folded.matches(folded_name(name)) or compile_glob(pattern).matches(name)


@lru_cache(maxsize=1024)
def folded_name(name: str) -> str:
    """Return an agent's name in a form that is equal for names that look the same but for their case: NFKC,
    case folded, without invisible characters, and with single spaces between words.

    Letters of different alphabets that look alike stay different.
    """
    folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", name)).casefold()
    return " ".join(_INVISIBLE.sub("", unicodedata.normalize("NFKC", folded)).split())


_INVISIBLE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Control characters but white space, what Unicode calls default ignorable, the blank of Braille, and halves
of surrogate pairs."""


def _key(name: str) -> str:
    """Return a name as a key of TOML."""
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else f'"{name}"'
