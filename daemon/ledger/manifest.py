"""Owns the manifest: which pieces each part of a request consists of; knows no table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from ..core.lazy_dataclass import dataclass
from ..item.item_keys import ItemKey
from .messages import LAYOUT, ItemPart, Said, Sent


class DamagedManifest(Exception):  # the ledger catches it; it never reaches a person as such
    """Bytes that no manifest can be read from."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The shape of what was sent and, for each text in it, its pieces in their order."""

    layout: int
    roles: Sequence[str]
    references: Sequence[Sequence[str]]
    rules: Sequence[Sequence[str]]
    tools: Sequence[Sequence[str]]
    texts: Sequence[Sequence[int]]

    @property
    def pieces(self) -> set[int]:
        """All pieces, each once."""
        return set(chain.from_iterable(self.texts))


def texts_of(parts: Sent) -> list[bytes]:
    """Return all texts of the parts in the order that a manifest has them in."""
    items = (*parts.references, *parts.rules, *parts.tools)
    texts = [
        *(parts.context, parts.system_prompt, parts.user_prompt),
        *(one.content for one in parts.history),
        *(one.text for one in items),
        *(one.schema for one in parts.tools),
    ]
    return [text.encode("utf-8", "surrogatepass") for text in texts]


def manifest_of(parts: Sent, texts: Sequence[Sequence[int]]) -> Manifest:
    """Return the manifest of parts whose texts consist of these pieces."""
    return Manifest(
        LAYOUT,
        [one.role for one in parts.history],
        _names(parts.references),
        _names(parts.rules),
        _names(parts.tools),
        texts,
    )


def rebuilt(manifest: Manifest, content: Mapping[int, bytes]) -> tuple[Sent, tuple[str, ...]]:
    """Return the parts, and the names of those whose content is gone or damaged: these are empty."""
    names = _text_names(manifest)
    texts, missing = [], []
    for name, ids in zip(names, manifest.texts, strict=True):
        try:
            texts.append(b"".join(content[one] for one in ids).decode("utf-8", "surrogatepass"))
        except (KeyError, UnicodeDecodeError):
            texts.append("")
            missing.append(name)
    return _parts(manifest, texts), tuple(missing)


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return a manifest as JSON."""
    plain = {name: getattr(manifest, name) for name in _FIELDS}
    return json.dumps(plain, separators=(",", ":")).encode("ascii")


def manifest_in(data: bytes) -> Manifest:
    """Read a manifest; whoever calls has compared its hash. Raises `DamagedManifest`."""
    try:
        plain: dict[str, Any] = json.loads(data)
        manifest = Manifest(*(plain[name] for name in _FIELDS))
        if len(manifest.texts) != len(_text_names(manifest)):
            raise DamagedManifest("has more or fewer texts than parts")
    except Exception as error:
        raise DamagedManifest(f"can't be read ({error})") from error
    return manifest


_FIELDS = ("layout", "roles", "references", "rules", "tools", "texts")


def _names(items: Sequence[ItemPart]) -> list[list[str]]:
    return [[one.key.name, one.key.server_name] for one in items]


def _text_names(manifest: Manifest) -> list[str]:
    """Return what a person is told of each text, in their order."""
    return [
        *("the context", "the system prompt", "the user's message"),
        *(f"message {number} of the history" for number in range(1, len(manifest.roles) + 1)),
        *(f"the reference {name}" for name, _ in manifest.references),
        *(f"the rule {name}" for name, _ in manifest.rules),
        *(f"the tool {name} of {server}" for name, server in manifest.tools),
        *(f"the schema of the tool {name} of {server}" for name, server in manifest.tools),
    ]


def _parts(manifest: Manifest, texts: Sequence[str]) -> Sent:
    rest = iter(texts)
    context, system_prompt, user_prompt = next(rest), next(rest), next(rest)
    history = tuple(Said(role, next(rest)) for role in manifest.roles)
    references = tuple(ItemPart(ItemKey("reference", *one), next(rest)) for one in manifest.references)
    rules = tuple(ItemPart(ItemKey("rule", *one), next(rest)) for one in manifest.rules)
    described = [(ItemKey("tool", *one), next(rest)) for one in manifest.tools]
    tools = tuple(ItemPart(key, text, next(rest)) for key, text in described)
    return Sent(context, system_prompt, user_prompt, history, references, rules, tools)
