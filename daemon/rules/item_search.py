"""Owns the search for an agent's items: which of those that an agent may get by itself a request is about.

Knows neither the model nor the process that it is in: whoever composes this hands in what compares texts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Literal, Protocol, TypeVar

from msgspec import Struct

from ..core.errors import FovealError
from .item_choice import LEXICAL_WEIGHT, Choice, ItemEvidence, ItemScore, choose
from .item_keys import ItemKey
from .item_text import CHUNK_CHARACTERS, chunks, item_text
from .item_words import ItemWords, WordEvidence, item_words
from .items import Item
from .selection import Profiles

MAX_DOCUMENTS = 4_096
"""Chunks of items that are compared with one query, which is what the embedder keeps in memory."""

MAX_PREPARED = 8_192
"""Items whose chunks and words are remembered, some KB each; all are forgotten when there are more."""

MAX_BATCHES = 16
"""As many sets of items are remembered as were prepared: those of the sessions that talk now."""

EMBEDDING_SHARE = 0.8
"""Of the time that an answer has: so long texts may be embedded, the rest is for the way there and back."""

NAMING_WEIGHT = 0.7
"""What was said earlier can name an item when it weighs as much as this: the last two messages."""

T = TypeVar("T")


class CompareTexts(Protocol):
    """The cosines of texts, for each query those with all documents, and the positions of the documents that
    have no vector yet, as the time was up before."""

    @property
    def rows(self) -> Sequence[Sequence[float]]:
        """Return a row for each query."""

    @property
    def pending(self) -> Sequence[int]:
        """Return positions in the documents; their cosines say nothing."""


class TextScoring(Protocol):
    """Compares texts by meaning."""

    async def score_texts(
        self, queries: tuple[str, ...], documents: tuple[str, ...], within_s: float
    ) -> CompareTexts:
        """Return the scores; what was never embedded is, in one batch, as far as the time allows.

        Raises `FovealError` with the reason where that can't be done.
        """


class InThread(Protocol):
    """Runs blocking work in another thread."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Return what the work does."""


class ItemMatches(Struct, frozen=True):
    """What a search chose, rules and references before tools, the best first; what it considered and left, in
    the same order; and in words, what could not be searched."""

    taken: tuple[ItemScore, ...] = ()
    considered: tuple[ItemScore, ...] = ()
    degraded: tuple[str, ...] = ()


class ItemSearch:
    """Searches items. On the event loop only; what takes time runs in a thread."""

    def __init__(self, scoring: TextScoring, in_thread: InThread) -> None:
        self._scoring = scoring
        self._in_thread = in_thread
        self._prepared: dict[Item, _Prepared] = {}
        self._batches: dict[tuple[Item, ...], _Batch] = {}

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
        """Return those items that a message is about, given what was said before it.

        `items` are all that may come, in the order in which they are searched where there are too many;
        `barred` says why some may not be taken. Nothing is raised: where the search fails nothing is taken,
        and `degraded` says why.
        """
        wanted = [item for item in items if profiles.of(item.type) is not None]
        texts = query_texts(message, history)
        if not wanted or not texts:
            return ItemMatches()
        batch = await self._in_thread(partial(self._batch, tuple(wanted)))
        queries = tuple(dict.fromkeys(one.text for one in texts))
        try:
            async with asyncio.timeout(within_s):
                scores = await self._scoring.score_texts(queries, batch.documents, within_s * EMBEDDING_SHARE)
        except TimeoutError:
            return ItemMatches(degraded=(f"{_NOT_SEARCHED}: the embedding model didn't answer in time",))
        except FovealError as error:
            return ItemMatches(degraded=(f"{_NOT_SEARCHED}: {error}",))
        rows = dict(zip(queries, scores.rows, strict=True))
        pending = frozenset(scores.pending)
        conclude = partial(_conclude, batch, texts, rows, pending, profiles, barred or {})
        choice = await self._in_thread(conclude)
        return ItemMatches(choice.taken, choice.considered, _degraded(batch, pending))

    async def warm(self, items: Sequence[Item], within_s: float) -> int:
        """Have the texts of items embedded, so that a search needs only the message; returns how many are
        left. Raises `FovealError` and `TimeoutError`."""
        batch = await self._in_thread(partial(self._batch, tuple(items)))
        async with asyncio.timeout(within_s):
            scores = await self._scoring.score_texts((), batch.documents, within_s * EMBEDDING_SHARE)
        return len(scores.pending)

    def _batch(self, items: tuple[Item, ...]) -> _Batch:
        """Return these items prepared, as they were for the last request in most cases."""
        batch = self._batches.get(items)
        if batch is None:
            batch = self._prepare(items)
            if len(self._batches) >= MAX_BATCHES:
                self._batches.clear()
            self._batches[items] = batch
        return batch

    def _prepare(self, items: Sequence[Item]) -> _Batch:
        """Cut items into documents, each text once."""
        documents: dict[str, int] = {}
        parts: list[_Part] = []
        skipped = 0
        for item in items:
            one = self._prepared_item(item)
            new = [text for text in one.chunks if text not in documents]
            if len(documents) + len(new) > MAX_DOCUMENTS:
                skipped += 1
                continue
            for text in new:
                documents[text] = len(documents)
            parts.append(_Part(item, one.words, tuple(documents[text] for text in one.chunks)))
        evidence = WordEvidence([part.words for part in parts])
        return _Batch(tuple(documents), tuple(parts), evidence, skipped)

    def _prepared_item(self, item: Item) -> _Prepared:
        one = self._prepared.get(item)
        if one is None:
            if len(self._prepared) >= MAX_PREPARED:
                self._prepared.clear()
            one = self._prepared[item] = _Prepared(chunks(item_text(item)), item_words(item))
        return one


_NOT_SEARCHED = "items of mode agent are left out"


class _Prepared(Struct, frozen=True):
    chunks: tuple[str, ...]
    words: ItemWords


class _Part(Struct, frozen=True):
    """An item with the positions of its chunks in the documents."""

    item: Item
    words: ItemWords
    positions: tuple[int, ...]


class _Batch(Struct, frozen=True):
    """What is compared at once: documents, what they are of, its words, and how many items were too many."""

    documents: tuple[str, ...]
    parts: tuple[_Part, ...]
    words: WordEvidence
    skipped: int


def _conclude(
    batch: _Batch,
    texts: Sequence[QueryText],
    rows: Mapping[str, Sequence[float]],
    pending: frozenset[int],
    profiles: Profiles,
    barred: Mapping[ItemKey, Literal["removed", "denied"]],
) -> Choice:
    """Put together what meaning and words say of each item, and choose."""
    covers = [batch.words.cover(one.text) for one in texts]
    named = {n for one in texts if one.weight >= NAMING_WEIGHT for n in batch.words.named(one.text)}
    found = []
    for n, part in enumerate(batch.parts):
        known = [position for position in part.positions if position not in pending]
        lexical = [one.weight * cover[n] for one, cover in zip(texts, covers, strict=True)]
        cosines, totals = [], []
        for position in known:
            similar = [one.weight * rows[one.text][position] for one in texts]
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
"""Of the message: 6,000 characters. A longer one has a pasted log or file; its beginning and end say most."""

HISTORY_MESSAGES = 6
"""Maximum number of earlier messages that count; older ones would weigh next to nothing."""

HISTORY_CHUNKS = 2
"""Of each earlier message: its beginning and its end, where questions and conclusions stand."""

HISTORY_WEIGHT = 0.9
HISTORY_DECAY = 0.8
"""What the message before the current one weighs, and how the weight falls with each one before that. A
message such as `yes, do it` says all by what stands before it; a new subject has higher scores of its own.
Too few of the labelled queries have a history to choose these by them."""


class QueryText(Struct, frozen=True):
    """A piece of what is searched for, at most `CHUNK_CHARACTERS` long. `weight` is 1 for the message's own
    pieces and less the older a message is."""

    text: str
    weight: float


def query_texts(message: str, history: Sequence[Mapping[str, object]] = ()) -> tuple[QueryText, ...]:
    """Return the pieces of a message and of what was said before it, the latest first.

    `history` is `{role, content}` in the order of the conversation. System messages say nothing of what is
    asked and are left out, as is what has no text.
    """
    found = [QueryText(text, 1.0) for text in _ends(chunks_of(message), MESSAGE_CHUNKS)]
    weight = HISTORY_WEIGHT
    said = (one.get("content") for one in reversed(history) if one.get("role") in ("user", "assistant"))
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
    """Return at most so many texts, half of them from the end."""
    if len(texts) <= most:
        return texts
    return (*texts[: most - most // 2], *texts[-(most // 2) :])
