"""Owns the rule by which a reply refers to an item of its request; knows no ledger and no count.

A reply refers to an item if it names it, or uses words that it can only have from it:

- Names. A name that looks like one (it has `_`, `-`, `.`, `/`, a digit or a hump: `get_issue`,
  `docs/style.md`) counts where it stands as a word of its own, and the last part of a path if no other item
  of the request ends so. A plain word (`search`) counts only as code: in backticks, called, or behind its
  server's name.
- Words. A word in the item's text that looks like a name counts if it stands neither in the other items nor
  in the message, the history or the rest of the context, where the reply could have it from as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ..item.item_keys import ItemKey
from .messages import ItemPart, Sent

MAX_CHARACTERS = 200_000
"""Of a reply, a message, or the context, from its beginning. A reply has about 4,000."""

MIN_WORD_CHARACTERS = 4
"""Shorter names (`id_`, `v2`) stand in too many texts."""


def referred(keys: Sequence[ItemKey], sent: Sent | None, reply: str) -> tuple[int, ...]:
    """Return the positions of those items that a reply refers to.

    Without what was `sent`, only names count. Case counts. Takes time linear in the texts.
    """
    text = reply[:MAX_CHARACTERS]
    words = frozenset(_WORD.findall(text))
    own = _own_words(sent) if sent is not None else {}
    endings = Counter(_ending(key.name) for key in keys)
    found = []
    for position, key in enumerate(keys):
        names = {key.name}
        if endings[_ending(key.name)] == 1:
            names.add(_ending(key.name))
        if (
            any(_is_named(name, key.server_name, text, words) for name in names)
            or own.get(key, _NONE) & words
        ):
            found.append(position)
    return tuple(found)


_NONE: frozenset[str] = frozenset()
_WORD = re.compile(r"\w+(?:(?:[./-]|::)\w+)*")
"""A word with what may join the parts of a name. Each sign belongs to one word at most: linear."""

_NAME_LIKE = re.compile(r"[_\d./-]|::|[a-z][A-Z]")
_WORD_NAME_LIKE = re.compile(r"[^\W\d]_+[^\W_]|[a-z][A-Z]|\w::\w")
"""Of a word in a text: no hyphens and no dots, which prose has too (`well-known`, `e.g.`), and no figures."""


def _ending(name: str) -> str:
    return name.rpartition("/")[2] or name


def _is_named(name: str, server: str, text: str, words: frozenset[str]) -> bool:
    if name not in text:  # the usual case, and a hundred times as fast as what follows
        return False
    if _NAME_LIKE.search(name) and len(name) >= MIN_WORD_CHARACTERS:
        return name in words or _stands_in(re.escape(name), text)
    code = rf"`{re.escape(name)}(?:\(\))?`|(?<!\w){re.escape(name)}\("
    behind = rf"|(?<!\w){re.escape(server)}(?:[./:]|::|__|\s){re.escape(name)}(?!\w)" if server else ""
    return re.search(code + behind, text) is not None


def _stands_in(escaped: str, text: str) -> bool:
    """Whether a name stands in a text with no part of a name on either side, though behind `server__`."""
    return re.search(rf"(?:(?<![\w/-])|(?<=__)){escaped}(?![\w/-])", text) is not None


def _own_words(sent: Sent) -> dict[ItemKey, frozenset[str]]:
    """Return the words that look like names and that only one item has."""
    items = (*sent.references, *sent.rules, *sent.tools)
    named = {one.key: _name_like(_text(one)) for one in items}
    shared = Counter(word for words in named.values() for word in words)
    elsewhere = _elsewhere(sent, items)
    return {
        key: frozenset(word for word in words if shared[word] == 1 and word not in elsewhere)
        for key, words in named.items()
    }


def _elsewhere(sent: Sent, items: Iterable[ItemPart]) -> frozenset[str]:
    """Return the words of all that was sent but the items, which the context may hold too."""
    context = sent.context[:MAX_CHARACTERS]
    for one in items:
        body = one.text.partition("\n\n")[2].strip()
        if len(body) >= MIN_WORD_CHARACTERS:
            context = context.replace(body, "\n")
    texts = (context, sent.user_prompt, *(one.content for one in sent.history[-_HISTORY:]))
    return frozenset(word for text in texts for word in _WORD.findall(text[:MAX_CHARACTERS]))


_HISTORY = 20
"""So many messages before the last one are looked at."""


def _text(one: ItemPart) -> str:
    return one.text[:MAX_CHARACTERS]


def _name_like(text: str) -> frozenset[str]:
    return frozenset(
        word
        for word in _WORD.findall(text)
        if len(word) >= MIN_WORD_CHARACTERS and _WORD_NAME_LIKE.search(word)
    )
