"""The search of items of mode `agent`: which of them a message is about.

An item's score is the best similarity of its chunks to the message in meaning, plus what its words add.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ..core.errors import DeadlineExceeded, FovealError
from ..core.work import Work
from ..embedding.service import EmbedderClient
from .items import CHUNK_CHARACTERS, MAX_CHUNKS, Item, ItemKey, chunks, item_text
from .selection import LEXICAL_WEIGHT, ItemEvidence, ItemScore, Profiles, choose

if TYPE_CHECKING:
    from ..index.records import QueryTerms

MAX_DOCUMENTS = 4_096
"""Maximum number of chunks compared with one query: the embedder keeps that many vectors in memory."""

MAX_PREPARED = 8_192
"""Maximum number of items whose chunks and words are cached, some KB each."""

MAX_BATCHES = 16
"""Maximum number of sets of items cached as prepared for a search: one for each session in use."""

EMBEDDING_SHARE = 0.8
"""Share of the time limit for embedding; the rest is for the way to the embedder and back."""

NAMING_WEIGHT = 0.7
"""Minimum weight of a message that can name an item: the current one and the two before it."""

WARM_S = 60.0
"""Maximum seconds of embedding texts in the background; the rest waits for the first search."""


class ItemMatches(Struct, frozen=True):
    """The items that a search took and those it considered and left, rules and references before tools, the
    best first; `degraded` says in words what could not be searched."""

    taken: tuple[ItemScore, ...] = ()
    considered: tuple[ItemScore, ...] = ()
    degraded: tuple[str, ...] = ()


class ItemSearch:
    """Searches items, and embeds those of projects in use in the background. On the event loop only; what
    takes time runs in a thread."""

    def __init__(self, semantics: EmbedderClient, work: Work) -> None:
        self._semantics = semantics
        self._work = work
        self._wanted: dict[str, tuple[Item, ...]] = {}
        """The items being embedded, by the root of their project."""
        self._warmed: set[str] = set()

    async def search(
        self,
        items: Sequence[Item],
        message: str,
        profiles: Profiles,
        *,
        within_s: float,
        history: Sequence[Mapping[str, object]] = (),
        barred: Mapping[ItemKey, Literal["removed", "denied"]] | None = None,
    ) -> ItemMatches:
        """Return the items that a message is about, given the messages before it.

        `items` are all candidates; where they are too many, the first are searched. `barred` names items that
        may not be taken, with the reason. Never raises: a failed search takes nothing; `degraded` says why.
        """
        wanted = [item for item in items if profiles.of(item.type) is not None]
        texts = query_texts(message, history)
        if not wanted or not texts:
            return ItemMatches()
        batch = await self._work.in_builder(partial(_batch_of, tuple(wanted)))
        queries = tuple(dict.fromkeys(query.text for query in texts))
        try:
            async with asyncio.timeout(within_s):
                scores = await self._semantics.score_texts(
                    queries, batch.documents, within_s * EMBEDDING_SHARE
                )
        except TimeoutError:
            return ItemMatches(degraded=(f"{_NOT_SEARCHED}: the embedding model didn't answer in time",))
        except FovealError as error:
            return ItemMatches(degraded=(f"{_NOT_SEARCHED}: {error}",))
        rows = dict(zip(queries, scores.rows, strict=True))
        pending = frozenset(scores.pending)
        scored = await self._work.in_builder(
            partial(_scored, batch, texts, rows, pending, profiles, barred or {})
        )
        taken = tuple(score for score in scored if score.taken)
        considered = tuple(score for score in scored if not score.taken)
        return ItemMatches(taken, considered, _degraded(batch, pending))

    async def embed(self, items: Sequence[Item], within_s: float) -> int:
        """Embed the texts of items, so that a search embeds only the message; returns how many are left.

        Raises `FovealError` and `TimeoutError`.
        """
        batch = await self._work.in_builder(partial(_batch_of, tuple(items)))
        async with asyncio.timeout(within_s):
            scores = await self._semantics.score_texts((), batch.documents, within_s * EMBEDDING_SHARE)
        return len(scores.pending)

    def warm(self, root: str, items: Iterable[Item]) -> None:
        """Embed the texts of a project's items of mode `agent` in the background, so that its first prompt
        waits for neither the model nor them. Takes some ms where both are there."""
        wanted = tuple(item for item in items if item.include == "agent")
        if not wanted or not self._semantics.enabled:
            return
        self._warmed.add(root)
        is_running = root in self._wanted
        self._wanted[root] = wanted
        if not is_running:
            self._work.start_background(self._warm(root), f"embed the items of {root}")

    def warm_again(self, root: str, items: Iterable[Item]) -> None:
        """Embed the items of a project again after they changed, if it was warmed before."""
        if root in self._warmed:
            self.warm(root, items)

    async def _warm(self, root: str) -> None:
        """Embed the wanted items, and again if others were wanted meanwhile."""
        done: tuple[Item, ...] = ()
        try:
            while (items := self._wanted[root]) != done:
                try:
                    left = await self.embed(items, WARM_S)
                except TimeoutError as error:
                    raise DeadlineExceeded("the embedding model didn't answer in time") from error
                if left:
                    raise DeadlineExceeded(f"{left:,} texts of items are not embedded yet")
                done = items
        finally:
            del self._wanted[root]


_NOT_SEARCHED = "items of mode agent are left out"


class _Prepared(Struct, frozen=True):
    """An item's chunks and words."""

    chunks: tuple[str, ...]
    words: ItemWords


class _Part(Struct, frozen=True):
    """An item with the positions of its chunks in the documents."""

    item: Item
    positions: tuple[int, ...]


class _Batch(Struct, frozen=True):
    """Items that are searched together: their chunks, each text once; their words; how many were too many."""

    documents: tuple[str, ...]
    parts: tuple[_Part, ...]
    words: WordEvidence
    skipped: int


@lru_cache(maxsize=MAX_PREPARED)
def _prepared(item: Item) -> _Prepared:
    return _Prepared(chunks(item_text(item)), item_words(item))


@lru_cache(maxsize=MAX_BATCHES)
def _batch_of(items: tuple[Item, ...]) -> _Batch:
    """Cut items into documents. Cached, since the next request mostly has the same items."""
    documents: dict[str, int] = {}
    parts: list[_Part] = []
    words: list[ItemWords] = []
    skipped = 0
    for item in items:
        prepared = _prepared(item)
        new = [text for text in prepared.chunks if text not in documents]
        if len(documents) + len(new) > MAX_DOCUMENTS:
            skipped += 1
            continue
        for text in new:
            documents[text] = len(documents)
        parts.append(_Part(item, tuple(documents[text] for text in prepared.chunks)))
        words.append(prepared.words)
    return _Batch(tuple(documents), tuple(parts), WordEvidence(words), skipped)


def _scored(
    batch: _Batch,
    texts: Sequence[QueryText],
    rows: Mapping[str, Sequence[float]],
    pending: frozenset[int],
    profiles: Profiles,
    barred: Mapping[ItemKey, Literal["removed", "denied"]],
) -> list[ItemScore]:
    """Combine similarity in meaning and in words for each item, and choose."""
    covers = [batch.words.cover(query.text) for query in texts]
    named = {n for query in texts if query.weight >= NAMING_WEIGHT for n in batch.words.named(query.text)}
    found = []
    for n, part in enumerate(batch.parts):
        lexical = [query.weight * cover[n] for query, cover in zip(texts, covers, strict=True)]
        cosines, totals = [], []
        for position in part.positions:
            if position not in pending:
                similar = [query.weight * rows[query.text][position] for query in texts]
                cosines.append(max(similar))
                totals.append(max(a + LEXICAL_WEIGHT * b for a, b in zip(similar, lexical, strict=True)))
        found.append(ItemEvidence(part.item, cosines, totals, max(lexical), n in named))
    return choose(found, profiles, barred)


def _degraded(batch: _Batch, pending: frozenset[int]) -> tuple[str, ...]:
    reasons = []
    waiting = sum(pending.issuperset(part.positions) for part in batch.parts if part.positions)
    if waiting:
        reasons.append(
            f"{waiting} of {len(batch.parts)} items of mode agent were not compared: their texts are still "
            "being embedded"
        )
    if batch.skipped:
        reasons.append(
            f"{batch.skipped} items of mode agent were not searched: all together are too long "
            f"(more than {MAX_DOCUMENTS:,} chunks)"
        )
    return tuple(reasons)


MESSAGE_CHUNKS = 12
"""Maximum number of chunks of the message, 6,000 characters. A longer one holds a pasted log or file, whose
beginning and end say most."""

HISTORY_MESSAGES = 6
"""Maximum number of earlier messages that count; older ones would weigh next to nothing."""

HISTORY_CHUNKS = 2
"""Maximum number of chunks of an earlier message: its beginning and its end, where questions and conclusions
are."""

HISTORY_WEIGHT = 0.9
HISTORY_DECAY = 0.8
"""The weight of the message before the current one, and the factor for each one before that. `yes, do it`
means what the messages before it say; a new subject has higher scores of its own. Not measured: too few of
the labelled queries have a history."""


class QueryText(Struct, frozen=True):
    """A piece of a query, at most `CHUNK_CHARACTERS` long. `weight` is 1 for pieces of the current message,
    less for older messages."""

    text: str
    weight: float


def query_texts(message: str, history: Sequence[Mapping[str, object]] = ()) -> tuple[QueryText, ...]:
    """Return the pieces of a message and of the messages before it, the latest first.

    `history` is `{role, content}` in the order of the conversation. System messages and messages without text
    are left out.
    """
    found = [QueryText(text, 1.0) for text in _ends(chunks_of(message), MESSAGE_CHUNKS)]
    weight = HISTORY_WEIGHT
    said = (
        message.get("content")
        for message in reversed(history)
        if message.get("role") in ("user", "assistant")
    )
    texts = (content for content in said if isinstance(content, str) and content.strip())
    for content, _ in zip(texts, range(HISTORY_MESSAGES), strict=False):
        found += [QueryText(text, weight) for text in _ends(chunks_of(content), HISTORY_CHUNKS)]
        weight *= HISTORY_DECAY
    return tuple(found)


def chunks_of(message: str) -> tuple[str, ...]:
    """Cut a message into chunks; of a very long one its beginning and its end."""
    half = MESSAGE_CHUNKS * CHUNK_CHARACTERS
    if len(message) <= 2 * half:
        return chunks(message)
    return chunks(message[:half]) + chunks(message[-half:])


def _ends(texts: Sequence[str], most: int) -> Sequence[str]:
    """Return at most `most` texts, half of them from the end."""
    if len(texts) <= most:
        return texts
    return (*texts[: most - most // 2], *texts[-(most // 2) :])


NAMED_MAX = 3
"""Maximum number of items with an identifier; a more common one identifies none of them."""

IDENTIFIERS_MAX = 50
"""Maximum number of identifiers in a piece of a query; more are a log or a listing."""

DOUBT = 1.5
"""Added to the total weight of a query's words (the rarest word weighs 1), so that a query of one word scores
less than one of ten words: `continue` scores .4 at most. Chosen together with `LEXICAL_WEIGHT`."""


class ItemWords(Struct, frozen=True):
    """The words of one item: its terms, those of its server too, its text, and the names that it goes by."""

    terms: frozenset[str]
    text: str
    names: tuple[str, ...]


def item_words(item: Item) -> ItemWords:
    """Return the words of an item, as far as its text is searched."""
    text = item_text(item)[: MAX_CHUNKS * CHUNK_CHARACTERS]
    stem = item.name.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    # A name that is an everyday word, such as `naming`, counts only as a word of the query.
    names = tuple(name for name in {item.name, stem} if len(name) > 3 and _UNLIKE_PROSE.search(name))
    return ItemWords(frozenset(_terms(f"{text} {item.server_name}")), text, names)


class WordEvidence:
    """The words of all items that are searched together; rare ones weigh more."""

    def __init__(self, items: Sequence[ItemWords]) -> None:
        self._items = items
        self._holding: dict[str, list[int]] = {}
        for position, item in enumerate(items):
            for term in item.terms:
                self._holding.setdefault(term, []).append(position)
        # The weight of a term that no item has.
        self._rarest = _weight(len(items), 0)

    def cover(self, text: str) -> list[float]:
        """Return for each item the share of a text's words that it has, by weight: from 0 to below 1."""
        covered = [0.0] * len(self._items)
        total = DOUBT
        for term, weight in _query_terms(text).weights.items():
            holding = self._holding.get(term, ())
            share = weight * _weight(len(self._items), len(holding)) / self._rarest
            total += share
            for position in holding:
                covered[position] += share
        return [weight / total for weight in covered]

    def named(self, text: str) -> set[int]:
        """Return the positions of the items that a text names: by their name, or by an identifier in them
        that few others hold."""
        found: set[int] = set()
        for identifier in _query_terms(text).identifiers[:IDENTIFIERS_MAX]:
            holders = self._holders(identifier.removesuffix("()"))
            if len(holders) <= NAMED_MAX:
                found.update(holders)
        for position, item in enumerate(self._items):
            if any(_stands_in(name, text) for name in item.names):
                found.add(position)
        return found

    def _holders(self, identifier: str) -> list[int]:
        terms = _terms(identifier)
        if not terms:
            return []
        # An item without one of its terms can't contain it, so few items are searched for the whole text.
        fewest = min((self._holding.get(term, ()) for term in terms), key=len)
        return [position for position in fewest if _stands_in(identifier, self._items[position].text)]


# The stemmer takes longer to load than the daemon to start, so the first search loads it, in a thread.
def _terms(text: str) -> Collection[str]:
    from ..index.service import document_terms

    return document_terms(text)


def _query_terms(text: str) -> QueryTerms:
    from ..index.service import query_terms

    return query_terms(text)


def _weight(items: int, holding: int) -> float:
    """Return Robertson's weight of a term, as BM25 has it, always positive."""
    return math.log(1 + (items - holding + 0.5) / (holding + 0.5))


_UNLIKE_PROSE = re.compile(r"[-_./]|[a-z][A-Z]")


def _stands_in(name: str, text: str) -> bool:
    """Whether a text holds a name as a whole, not as a part of a longer one."""
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if not _continues(text[max(start - 1, 0) : start]) and not _continues(text[end : end + 1]):
            return True
        start = text.find(name, end)
    return False


def _continues(character: str) -> bool:
    return character.isalnum() or character == "_"
