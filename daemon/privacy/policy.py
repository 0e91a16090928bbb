"""The policy of an agent: which paths and items are hidden from it, and whether secrets are masked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..project.globs import Glob, compile_glob
from .secret_files import is_secret_file
from .secret_values import mask_secrets

T = TypeVar("T")

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
    """

    agent: str = ""
    rules: tuple[str, ...] = ()
    allow: bool = True
    deny_paths: tuple[str, ...] = ()
    deny_items: tuple[str, ...] = ()
    max_tokens: int | None = None
    shown_secrets: tuple[str, ...] = ()
    mask_values: bool = True

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
        return (
            self.allow
            and set(self.deny_paths) <= set(other.deny_paths)
            and set(self.deny_items) <= set(other.deny_items)
            and set(self.shown_secrets) >= set(other.shown_secrets)
            and self.mask_values <= other.mask_values
        )

    def denies(self, path: str) -> bool:
        """Tell whether a rule denies a file or folder, by its relative POSIX path; then its name is hidden
        too."""
        if not self.deny_paths:
            return False
        folded = folded_path(path)
        if any(glob.matches(folded) for glob in _denying(self.deny_paths)):
            return True
        # A range of letters such as [Z-a] is another one without its capitals.
        return folded != path and any(glob.matches(path) for glob in _globs(self.deny_paths))

    def hides(self, path: str) -> bool:
        """Whether nothing of a file's content may be shown: by a rule, or since it holds secrets.

        A file of secrets keeps its name in the map of a project: it is good to know that there is one.
        """
        return bool(self.why_hidden(path))

    def why_hidden(self, path: str) -> str:
        """Return why a path is hidden, in words that follow "it is not shown:", or ""."""
        if self.denies(path):
            return f"hidden from this agent by deny_paths of {' and '.join(self.rules)}"
        if (self.deny_paths or self.deny_items) and folded_path(path) == RULES_FILE:
            return f"{RULES_FILE} says what is hidden from this agent"
        if self.is_secret(path):
            return "files that hold secrets by their names are shown to nobody"
        return ""

    def is_secret(self, path: str) -> bool:
        """Whether a file holds secrets by its name, and the user doesn't let it through all the same."""
        return is_secret_file(path) and not any(glob.matches(path) for glob in _globs(self.shown_secrets))

    def mask(self, text: str) -> str:
        """Return a text as it may be shown, without the values in it that look like secrets."""
        return mask_secrets(text).text if self.mask_values else text

    def names_denied(self, text: str, root: str = "") -> bool:
        """Whether a text in words names a path that is taken from the agent: relative, absolute below `root`,
        or as a module (`secret.vault`). Names without a folder or an ending may be any words."""
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
            if denied == kind and (not names or any(_names_match(names, one) for one in (name, full))):
                return True
        return False


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
            rules=_union(result.rules, policy.rules),
            allow=result.allow and policy.allow,
            deny_paths=_union(result.deny_paths, policy.deny_paths),
            deny_items=_union(result.deny_items, policy.deny_items),
            max_tokens=min(limits, default=None),
            shown_secrets=tuple(each for each in result.shown_secrets if each in policy.shown_secrets),
            mask_values=result.mask_values or policy.mask_values,
        )
    return NO_POLICY if result is None else result


def folded_path(path: str) -> str:
    """Return a path or glob in the form in which names that some file systems treat as the same are equal."""
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


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
        compile_glob(one)
        for pattern in patterns
        for one in ((pattern,) if pattern.endswith(("/", "/**")) else (pattern, f"{_anchored(pattern)}/**"))
    )


def _anchored(pattern: str) -> str:
    """Return an equivalent pattern to which a slash can be appended."""
    return pattern if "/" in pattern.rstrip("/") else f"**/{pattern}"


def _names_match(pattern: str, name: str) -> bool:
    return compile_glob(pattern).matches(name) if pattern != "*" else True
